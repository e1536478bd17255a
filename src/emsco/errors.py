"""Every error that emsco raises on purpose.

EMSCOError
├── CheckpointError  (ValueError)   a folder that a search cannot go on from
├── CostsError       (ValueError)   costs that cannot be used
├── DataError        (ValueError)   rows, labels or splits that cannot be used
├── FileError        (ValueError)   a file that cannot be read, written or trusted
├── MemoryLimitError (MemoryError)  a result that does not fit into memory_limit
├── ParameterError   (ValueError)   a parameter outside its rule
└── NoSuchDesign     (LookupError)  no point of a front is within the limits
"""

__all__ = [
    "CheckpointError",
    "CostsError",
    "DataError",
    "EMSCOError",
    "FileError",
    "InterruptedWarning",
    "MemoryLimitError",
    "NoSuchDesign",
    "ParameterError",
    "not_installed",
]


class EMSCOError(Exception):
    """Root of all errors that emsco raises on purpose."""


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
    """A parameter is outside its rule."""


class NoSuchDesign(EMSCOError, LookupError):  # noqa: N818 - the name users were promised
    """No point of a front is within the limits asked for."""


class InterruptedWarning(UserWarning):
    """Ctrl-C has ended a search or a run early; what it has so far is kept."""


def not_installed(package: str, install: str | None = None) -> EMSCOError:
    """The error to raise where an optional package is missing, and how to get it."""
    return EMSCOError(f"{package} must be installed for this: pip install {install or package}")
