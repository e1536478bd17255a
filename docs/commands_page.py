"""Write the page of all commands from the commands themselves; conf.py does so for every build.

python docs/commands_page.py       print the page
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from emsco.app.cli import app

OPENING = """# Commands

Look up every command of emsco and every option that it takes. `emsco COMMAND --help` prints the
same. Where a command has many options, it prints those that most people need, and
`emsco COMMAND --help-all` prints all.
"""


def page() -> str:
    """Return the page as Markdown: commands in the order of `emsco --help`."""
    group: Any = typer.main.get_command(app)
    contents = [
        f"- [emsco {name}](#emsco-{name}): {command.help.splitlines()[0]}"
        for name, command in group.commands.items()
    ]
    sections = [section for command in _commands(group, "emsco") for section in _section(*command)]
    return "\n\n".join([OPENING, "\n".join(contents), *sections]) + "\n"


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")


def _section(path: str, command: Any) -> Iterator[str]:
    """Yield a heading, the help text and one table for each panel of options."""
    yield f"## {path}"
    context = typer.Context(command, info_name=path)
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f"`{path} {re.sub('[{}]', '', pieces)}`"
    yield _with_code(inspect.cleandoc(command.help or ""))
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        default = "Arguments" if parameter.param_type_name == "argument" else "Options"
        panel = getattr(parameter, "rich_help_panel", None) or default
        panels.setdefault(panel, []).append(parameter)
    for panel, parameters in panels.items():
        lines = [f"| {panel} | |", "|---|---|"]
        lines += map(_line, parameters)
        yield "\n".join(lines)


def _line(parameter: Any) -> str:
    """Return an argument or option as a line of a table."""
    words = _with_code(parameter.help or "")
    if parameter.required:
        words += " Required."
    if parameter.param_type_name == "argument":
        return f"| `{parameter.metavar}` | {words} |"
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if not parameter.is_flag:
        names += f" {parameter.metavar or 'VALUE'}"
        if parameter.default is not None:
            words += f" Default: `{parameter.default}`."
    return f"| {names} | {words} |"


def _with_code(text: str) -> str:
    """Put options between backticks, except in indented examples."""
    lines = text.splitlines()
    return "\n".join(
        line
        if line.startswith("    ")
        else re.sub(r"(?<![\w`-])--[a-z][\w-]*( '[^']*')?", r"`\g<0>`", line)
        for line in lines
    )


if __name__ == "__main__":
    print(page())
