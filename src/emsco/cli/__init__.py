"""The command line: one module a command, and the only place that knows a flag's name."""

from emsco.cli.application import app, main

__all__ = ["app", "main"]
