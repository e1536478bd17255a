"""Where the sums over rows are taken: in this process, on a GPU, or wherever the rows are held."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from emsco._base.checks import refused
from emsco._base.wings import open_wing
from emsco.data.elsewhere import RowsElsewhere
from emsco.models.engine import LogisticEngine, SplitRows

CPU = "cpu"
_OTHERS = re.compile(r"cuda(:\d+)?|torch")


@dataclass(frozen=True, slots=True)
class Backend:
    """Two functions that are all a place for sums has to offer.

    Attributes
    ----------
    cut : callable
        Takes the rows of one split there; called as ``cut(data, penalty)``, see `SplitRows.cut`.
    engine : callable
        Makes an engine of such splits; called as
        ``engine(splits, n_inputs, n_classes, basis=basis)``, see `LogisticEngine`.
    """

    cut: Callable[..., Any]
    engine: Callable[..., LogisticEngine]

    @classmethod
    def of(cls, rows: Any, device: str, n_jobs: int) -> Backend:
        """Return the place where rows are held; for rows in memory, the device asked for."""
        if isinstance(rows, RowsElsewhere):
            elsewhere: Backend = open_wing("elsewhere").backend()
            return elsewhere
        if device != CPU:
            on_device: Backend = open_wing("cuda").backend(device)
            return on_device
        return cls(SplitRows.cut, partial(LogisticEngine, n_jobs=n_jobs))


def check_device(value: Any) -> str:
    """Return the name of a device that is there: "cpu", "cuda", "cuda:1" and so on, or "torch".

    "cpu" is this library's own code. The others need PyTorch: "cuda" is a GPU, and "torch" runs
    the code for GPUs on the CPU, slowly, as tests do.

    Raises
    ------
    ParameterError
        If it is none of these, or no such GPU is there.
    EMSCOError
        If PyTorch is not installed.
    """
    if value == CPU:
        return CPU
    if not isinstance(value, str) or not _OTHERS.fullmatch(value):
        raise refused("device", 'be "cpu", "cuda" or a GPU by number such as "cuda:1"', value)
    open_wing("cuda").open_device(value)
    return value
