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
InterruptedWarning   (UserWarning)  Ctrl-C ended a search early: not about data, so on its own

Each error is a sentence: what it is about, the rule, and what came instead. It names parameters as
Python spells them; the command line puts its options in their place.
"""

from __future__ import annotations

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
    "InterruptedWarning",
    "MemoryLimitError",
    "NoSuchDesign",
    "ParameterError",
    "ReadingWarning",
    "not_installed",
]


class EMSCOError(Exception):
    """Root of all errors that emsco raises on purpose.

    Attributes
    ----------
    row : int or None
        The row that the sentence names, as it counts them; a reader of text files names its line.
    """

    def __init__(self, *args: object, row: int | None = None) -> None:
        super().__init__(*args)
        self.row = row


class EMSCOWarning(UserWarning):
    """A warning whose sentence names parameters, as those of errors do."""


class DeploymentWarning(EMSCOWarning):
    """A doubt about the design that is deployed."""


class DataWarning(EMSCOWarning):
    """A column or a class of the training rows looks wrong."""


class ReadingWarning(EMSCOWarning):
    """A file was read in a way that had to be guessed, such as with another separator."""


class AnswerError(EMSCOError, RuntimeError):
    """A paid service has failed, answered something else than declared, or cost too much."""


class CheckpointError(EMSCOError, ValueError):
    """A checkpoint is of another problem, damaged, or cannot be read or written."""


class CostsError(EMSCOError, ValueError):
    """Costs are negative, not numbers, too few, too many, or name unknown features."""


class DataError(EMSCOError, ValueError):
    """Rows, labels or splits cannot be used as they are."""


class FileError(EMSCOError, ValueError):
    """A file is missing, damaged, too new, something else, or cannot be written."""


class MemoryLimitError(EMSCOError, MemoryError):
    """A result does not fit into the memory that it may take."""


class ParameterError(EMSCOError, ValueError):
    """A parameter is outside its rule."""


class NoSuchDesign(EMSCOError, LookupError):  # noqa: N818 - the name users were promised
    """No point of a front is within the limits asked for."""


class InterruptedWarning(UserWarning):
    """Ctrl-C has ended a search or a run early; what it has so far is kept."""


def not_installed(package: str, install: str | None = None) -> EMSCOError:
    """The error to raise where an optional package is missing, and how to get it."""
    return EMSCOError(f"{package} must be installed for this: pip install {install or package}")
