"""The command line: a module has one command or a few alike; no other package knows a flag."""

from typing import TYPE_CHECKING, Any

from emsco.app.cli.endings import ending_quietly

if TYPE_CHECKING:
    from emsco.app.cli.application import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; Ctrl-C and a closed pipe end it quietly, even during imports."""
    with ending_quietly():
        from emsco.app.cli.application import run

        run()


def __getattr__(name: str) -> Any:
    """Import the application on first use, so that `main` can handle Ctrl-C before."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from emsco.app.cli.application import app

    return app
