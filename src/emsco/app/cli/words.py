"""Reword messages of the library for the command line: flags instead of parameters."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from emsco.errors import EMSCOError, EMSCOWarning, Hint, Parameter, Part, Remedy

# Parameters whose option or argument has another name.
_NAMES = {
    "constraints['first']": "first",
    "constraints['max_mean_cost']": "max_mean_cost",
    "constraints['max_mean_delay']": "max_mean_delay",
    "constraints['max_worst_cost']": "max_worst_cost",
    "constraints['max_worst_delay']": "max_worst_delay",
    "constraints['together']": "together",
    "delays": "delay",
    "folder": "run",
    "methods": "method",
    "n_jobs": "jobs",
    "name": "set",
    "order": "point",
    "path": "out",
    "random_state": "seed",
    "rule": "prefer",
    "sample_weight": "weights",
    "sets": "set",
    "token": "token_file",
    "trusted": "trust",
}


# Parameters that a command need not have as an option, in words.
_WORDS = {
    "cv": "the split into folds",
    "data": "the rows",
    "path": "the file",
    "point": "the design",
}


def _drop(names: tuple[str, ...]) -> str:
    which = "it" if len(names) == 1 else "them"
    return f"leave {which} out with {repeated('--drop', names)}"


def repeated(option: str, names: tuple[str, ...]) -> str:
    """Return an option once for each name, as one types it."""
    return " ".join(f"{option} {shlex.quote(name)}" for name in names)


_HINTS: dict[Remedy, Callable[[tuple[str, ...]], str]] = {
    Remedy.AGAIN: lambda _: "--again counts them once more",
    Remedy.ALLOW_EXCLUSION: lambda _: "--allow-exclusion lets designs leave features out",
    Remedy.CALIBRATE: lambda _: "emsco fit --calibration sigmoid corrects that",
    Remedy.CHOOSE: lambda _: "emsco choose takes other limits",
    Remedy.DATES: lambda _: "--dates days makes them days since 1970-01-01",
    Remedy.DATE_ORDER: lambda _: "--dates day-first or --dates month-first says which",
    Remedy.DECIMAL_COMMA: lambda _: "--decimal , reads such numbers",
    Remedy.DECIMAL_POINT: lambda _: "--decimal . keeps it as text",
    Remedy.DROP: _drop,
    Remedy.ECONOMICAL: lambda _: "emsco choose --prefer economical deploys one that is better",
    Remedy.GAPS: lambda _: "emsco fit --gaps impute or --gaps skip allows missing values",
    Remedy.HEADER: lambda _: (
        "--no-header calls them column1, column2, …; --header takes them as names"
    ),
    Remedy.KEEP_TEXT: lambda _: "--na '' keeps them",
    Remedy.LATE: lambda _: "--late counts their labels alone",
    Remedy.LIMITS: lambda _: (
        "or be left out for --max-cost, --min-accuracy, --min-coverage or --min-recall"
    ),
    Remedy.NA: lambda names: f"{repeated('--na', names)} says so",
    Remedy.NEAREST: lambda names: (
        f"Loosen a limit, or deploy that design with emsco choose RUN {names[0]}"
    ),
    Remedy.NEW_MONITOR: lambda _: "--reset starts a new one",
    Remedy.ODDITIES: lambda _: "run.json and --json list all of them",
    Remedy.RARE_CLASS: lambda _: (
        "emsco fit --class-weight balanced finds more of a rare class, with more false alarms"
    ),
    Remedy.RESUME: lambda _: "emsco fit --resume goes on with it",
    Remedy.SEEN: lambda _: "emsco fit --test adds them",
    Remedy.SEPARATOR: lambda names: f"{repeated('--separator', names)} reads it",
    Remedy.TOKEN: lambda _: "--token-file names one, and --no-token does without",
    Remedy.TRUST: lambda names: f"add {repeated('--trust', names)}",
}

_COMMAND: ContextVar[Any] = ContextVar("command", default=None)


def option_of(command: Any, parameter: str) -> str:
    """Return the option or argument for a parameter; words if the command has none."""
    name = _NAMES.get(parameter, parameter)
    option = f"--{name.replace('_', '-')}"
    for one in command.params if command is not None else ():
        if one.param_type_name == "argument":
            if one.name == name:
                return str(one.metavar or name.upper())
        elif option in one.opts:
            return option
    return _WORDS.get(parameter, parameter.replace("_", " "))


def _word(part: Parameter | Hint) -> str:
    if isinstance(part, Hint):
        return _HINTS[part.remedy](part.names)
    return option_of(_COMMAND.get(), part.name)


def in_words(parts: tuple[Part, ...]) -> str:
    """Return parts of a message as text, with flags instead of parameters."""
    return "".join(_word(one) if isinstance(one, Parameter | Hint) else str(one) for one in parts)


@contextmanager
def speaking(command: Any) -> Iterator[None]:
    """Let errors and warnings name the options of a command."""
    before = _COMMAND.set(command)
    try:
        yield
    except EMSCOError as error:
        error.args = (error.reworded(_word),)
        raise
    finally:
        _COMMAND.reset(before)


def warning_in_words(message: Warning | str) -> str:
    """Return the text of a warning, with flags instead of parameters."""
    return message.reworded(_word) if isinstance(message, EMSCOWarning) else str(message)
