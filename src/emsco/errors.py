"""Every error that emsco raises on purpose.

EMSCOError
├── AnswerError      (RuntimeError) a paid service that fails, or answers something else
├── CheckpointError  (ValueError)   a folder that a search cannot go on from
├── CostsError       (ValueError)   costs that cannot be used
├── DataError        (ValueError)   rows, labels or splits that cannot be used
├── FileError        (ValueError)   a file that cannot be read, written or trusted
├── MemoryLimitError (MemoryError)  a result that does not fit into memory_limit
├── ParameterError   (ValueError)   a parameter outside its rule
└── NoSuchDesign     (LookupError)  no point of a front is within the limits

EMSCOWarning         (UserWarning)  a warning of emsco
├── DataWarning                     a column or class that looks wrong
├── ReadingWarning                  how a file was read, where that had to be guessed
└── DeploymentWarning               a doubt about the deployed design

A message is made of parts: text, the names of parameters, ways out, and numbers of rows. Python and
the command line name parameters and ways out differently, so each writes those parts in its own
words; a row of a text file is told by its line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

__all__ = [
    "AnswerError",
    "CheckpointError",
    "CostsError",
    "DataError",
    "DataWarning",
    "DeploymentWarning",
    "EMSCOError",
    "EMSCOWarning",
    "FileError",
    "Hint",
    "InterruptedWarning",
    "MemoryLimitError",
    "NoSuchDesign",
    "Parameter",
    "ParameterError",
    "Part",
    "ReadingWarning",
    "Remedy",
    "Row",
    "command_to_install",
    "not_installed",
]


class Remedy(Enum):
    """Ways out of an error that Python and the command line word differently.

    The value is Python's wording; ``{names}`` stands for the names that a `Hint` has.
    """

    AGAIN = "again=True counts them once more"
    ALLOW_EXCLUSION = "allow_exclusion=True lets designs leave features out"
    BINS = "make classes of it first, as pandas.qcut(y, 3, labels=False) does"
    CALIBRATE = "fit with calibration='sigmoid' to correct that"
    CHOOSE = "Run.choose deploys another design"
    DATES = "dates='days' makes them days since 1970-01-01"
    DATE_ORDER = "dates='day-first' or dates='month-first' says which"
    DECIMAL_COMMA = "decimal=',' reads such numbers"
    DECIMAL_POINT = "decimal='.' keeps it as text"
    DROP = "drop {names}"
    ECONOMICAL = "choose('economical') deploys one that is better"
    GAPS = "fit with gaps='impute' or gaps='skip' to allow missing values"
    HEADER = "header=False calls them column1, column2, …; header=True takes them as names"
    KEEP = "keep=({names},) keeps them"
    KEEP_TEXT = "na=() keeps them"
    LATE = "late=True counts their labels alone"
    LIMITS = "or limits such as {{'max_cost': 300}}"
    NA = "na=({names},) says so"
    NEAREST = "Loosen a limit, or choose that design by its number"
    NEW_MONITOR = "start a new Monitor"
    ODDITIES = "data_issues_ lists all of them"
    RARE_CLASS = "class_weight='balanced' finds more of a rare class, with more false alarms"
    RECALL = (
        "A fit with class_weight='balanced' finds more of {names}, with more false alarms; so do "
        "prices: choose(error_cost=…, reject_cost=…, cheapest_label=True)"
    )
    RESUME = "resume=True goes on with it"
    SEEN = "with_seen adds them"
    SEPARATOR = "separator={names} reads it"
    TOKEN = "give it one, or allow it to go without"
    TRUST = "load it with trusted=[{names}]"


@dataclass(frozen=True, slots=True)
class Parameter:
    """The name of a parameter inside a message, as Python spells it."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Hint:
    """A way out inside a message, and the names of what it is about, if any."""

    remedy: Remedy
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.remedy.value.format(names=", ".join(map(repr, self.names)))


@dataclass(frozen=True, slots=True)
class Row:
    """A row inside a message, by its number; for a text file it becomes a line."""

    number: int

    def __str__(self) -> str:
        return f"row {self.number}"


Part: TypeAlias = str | Parameter | Hint | Row


class _Message:
    """A message that knows its parts."""

    parts: tuple[Part, ...]
    args: tuple[object, ...]

    def __init__(self, *parts: Part) -> None:
        super().__init__("".join(map(str, parts)))  # type: ignore[call-arg]  # an exception's
        self.parts = parts

    @property
    def hint(self) -> Hint | None:
        """The way out that the message names, if Python and the command line word it apart."""
        return next((part for part in self.parts if isinstance(part, Hint)), None)

    def reworded(self, word: Callable[[Parameter | Hint], str]) -> str:
        """The message with other words for parameters and ways out.

        Examples
        --------
        >>> error = EMSCOError(Parameter("n_jobs"), " must be a whole number.")
        >>> error.reworded(lambda part: "Jobs")
        'Jobs must be a whole number.'
        """
        return "".join(
            word(part) if isinstance(part, Parameter | Hint) else str(part) for part in self.parts
        )

    def by_line(self, line_of: Callable[[int], int | None]) -> None:
        """Tell rows by their lines; `line_of` returns the line of a row, None if unknown."""
        told: list[Part] = []
        for part in self.parts:
            line = line_of(part.number) if isinstance(part, Row) else None
            told.append(part if line is None else f"line {line}")
        self.parts = tuple(told)
        self.args = ("".join(map(str, told)),)


class EMSCOError(_Message, Exception):
    """Root of all errors that emsco raises on purpose.

    Attributes
    ----------
    parts : tuple of str, Parameter, Hint or Row
        The message, in pieces. `hint` is the way out among them, if there is one.
    """


class EMSCOWarning(_Message, UserWarning):
    """A warning whose message has parts, as those of errors have."""


class DeploymentWarning(EMSCOWarning):
    """A doubt about the design that is deployed."""


class DataWarning(EMSCOWarning):
    """A column or a class of the training rows looks wrong."""


class ReadingWarning(EMSCOWarning):
    """A file was read in a way that had to be guessed, such as with another separator."""


class AnswerError(EMSCOError, RuntimeError):
    """A paid service has failed, answered something else than declared, or cost too much."""


class CheckpointError(EMSCOError, ValueError):
    """A checkpoint is of another problem, damaged, in use, or cannot be read or written."""


class CostsError(EMSCOError, ValueError):
    """Costs are negative, not numbers, too few, too many, or name unknown features."""


class DataError(EMSCOError, ValueError):
    """Rows, labels or splits cannot be used as they are."""


class FileError(EMSCOError, ValueError):
    """A file is missing, damaged, too new, something else, or cannot be written."""


class MemoryLimitError(EMSCOError, MemoryError):
    """A result does not fit into the memory that it may take."""


class ParameterError(EMSCOError, ValueError):
    """A parameter is outside its rule.

    Attributes
    ----------
    parameter : str or None
        Its name; by default the first that the message has. None where the error is about none.
    value : object
        What was given for it.
    """

    def __init__(self, *parts: Part, parameter: str | None = None, value: object = None) -> None:
        super().__init__(*parts)
        named = (part.name for part in parts if isinstance(part, Parameter))
        self.parameter = next(named, None) if parameter is None else parameter
        self.value = value


class NoSuchDesign(EMSCOError, LookupError):  # noqa: N818 - the name users were promised
    """No point of a front is within the limits asked for."""


class InterruptedWarning(UserWarning):
    """Ctrl-C has ended a search or a run early; what it has so far is kept."""


_MISSING = " must be installed for this: "


def not_installed(package: str, install: str | None = None) -> EMSCOError:
    """The error to raise where an optional package is missing, and how to get it."""
    return EMSCOError(f"{package}{_MISSING}pip install {install or package}")


def command_to_install(message: str) -> str:
    """The command that an error of `not_installed` recommends; "" for any other message.

    Examples
    --------
    >>> command_to_install(str(not_installed("catboost")))
    'pip install catboost'
    """
    return message.partition(_MISSING)[2]
