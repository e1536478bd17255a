"""Reword messages of the library for the command line: flags instead of parameters."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
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


def repeated(option: str, names: tuple[str, ...]) -> str:
    """Return an option once for each name, as one types it."""
    return " ".join(f"{option} {shlex.quote(name)}" for name in names)


# What to do, with options instead of parameters.
_HINTS: dict[Remedy, str] = {
    Remedy.AGAIN: "--again counts them once more",
    Remedy.ALLOW_EXCLUSION: "--allow-exclusion lets designs leave features out",
    Remedy.BINS: (
        "make a column of classes of it first, such as low and high, or name another one with "
        "--target"
    ),
    Remedy.CALIBRATE: "emsco fit --calibration sigmoid corrects that",
    Remedy.CHOOSE: "emsco choose takes other limits",
    Remedy.DATES: "--dates days makes them days since 1970-01-01",
    Remedy.DATE_ORDER: "--dates day-first or --dates month-first says which",
    Remedy.DECIMAL_COMMA: "--decimal , reads such numbers",
    Remedy.DECIMAL_POINT: "--decimal . keeps it as text",
    Remedy.ECONOMICAL: "emsco choose --prefer economical deploys one that is better",
    Remedy.GAPS: "emsco fit --gaps impute or --gaps skip allows missing values",
    Remedy.HEADER: "--no-header calls them column1, column2, …; --header takes them as names",
    Remedy.KEEP_TEXT: "--na '' keeps them",
    Remedy.LATE: "--late counts their labels alone",
    Remedy.LIMITS: "or be left out for --max-cost, --min-accuracy, --min-coverage or --min-recall",
    Remedy.NEW_MONITOR: "--reset starts a new one",
    Remedy.ODDITIES: "run.json and --json list all of them",
    Remedy.RARE_CLASS: (
        "emsco fit --class-weight balanced finds more of a rare class, with more false alarms"
    ),
    Remedy.RESUME: "emsco fit --resume goes on with it",
    Remedy.SEEN: "emsco fit --test adds them",
    Remedy.TOKEN: "--token-file names one, and --no-token does without",
}


_COMMAND: ContextVar[Any] = ContextVar("command", default=None)
_RUN: ContextVar[str] = ContextVar("run", default="RUN")  # as one types it


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
    """Return an option for a parameter, or what to do, with the names that it is about."""
    if isinstance(part, Parameter):
        return option_of(_COMMAND.get(), part.name)
    names = part.names
    match part.remedy:
        case Remedy.DROP:
            which = "it" if len(names) == 1 else "them"
            return f"leave {which} out with {repeated('--drop', names)}"
        case Remedy.KEEP:
            which = "it" if len(names) == 1 else "them"
            return f"{repeated('--keep', names)} keeps {which}"
        case Remedy.NA:
            return f"{repeated('--na', names)} says so"
        case Remedy.NEAREST:
            deploys = f"emsco choose {_RUN.get()} {names[0]}"
            return f"Loosen a limit, or deploy that design with {deploys}"
        case Remedy.RECALL:
            return (
                f"A fit with --class-weight balanced finds more of {', '.join(map(repr, names))}, "
                f"with more false alarms; so do prices: emsco choose {_RUN.get()} --error-cost … "
                "--reject-cost … --cheapest-label"
            )
        case Remedy.SEPARATOR:
            return f"{repeated('--separator', names)} reads it"
        case Remedy.TRUST:
            return f"add {repeated('--trust', names)}"
    return _HINTS[part.remedy]


def in_words(parts: tuple[Part, ...]) -> str:
    """Return parts of a message as text, with flags instead of parameters."""
    return "".join(_word(one) if isinstance(one, Parameter | Hint) else str(one) for one in parts)


@contextmanager
def speaking(command: Any, run: Path | None = None) -> Iterator[None]:
    """Let errors and warnings name the options of a command, and the run that it is about."""
    before = _COMMAND.set(command)
    run_before = _RUN.set("RUN" if run is None else shlex.quote(str(run)))
    try:
        yield
    except EMSCOError as error:
        error.args = (error.reworded(_word),)
        raise
    finally:
        _COMMAND.reset(before)
        _RUN.reset(run_before)


def warning_in_words(message: Warning | str) -> str:
    """Return the text of a warning, with flags instead of parameters."""
    return message.reworded(_word) if isinstance(message, EMSCOWarning) else str(message)
