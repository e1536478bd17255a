"""Rows on disk, for tables larger than memory: a leaf is read each time that it is asked for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.leaves import rows_of_leaf
from emsco._base.typing import FloatArray
from emsco.scale.remote import Held, Keeper, LeafTask, RemoteRows

_BYTES = 40  # that a fit takes for each value: the table, a copy by standardised columns, and more
_SHARE = 0.5  # of the machine's memory


def fits_into_memory(n_values: int) -> bool:
    """Tell whether a table of so many inputs, over all rows, can be fitted in memory."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on this system
        return True
    return _BYTES * n_values < _SHARE * memory


def on_disk(blocks: Iterable[FloatArray], n_rows: int, n_inputs: int) -> RemoteRows:
    """Write blocks of rows to a temporary file, from which they are read leaf by leaf.

    The file is in the folder for temporary files (TMPDIR), and goes with the rows.
    """
    with tempfile.TemporaryFile(prefix="emsco-rows-") as file:
        for block in blocks:
            np.ascontiguousarray(block, dtype=np.float64).tofile(file)
        file.flush()
        rows: Any = np.memmap(file, dtype=np.float64, mode="r", shape=(n_rows, n_inputs))

    def deal(leaves: Sequence[int]) -> list[Held]:
        held = [rows[rows_of_leaf(leaf)] for leaf in leaves]
        return [_HeldHere(tuple(leaves), Keeper(leaves, *held, n_threads=os.cpu_count() or 1))]

    return RemoteRows(n_rows, n_inputs, deal)


@dataclass(frozen=True, slots=True, eq=False)
class _HeldHere:
    """Leaves of a keeper in this process."""

    leaves: tuple[int, ...]
    keeper: Keeper

    def ask(self, task: LeafTask) -> Callable[[], dict[Any, Any]]:
        """Answer when asked to."""
        return lambda: self.keeper.answer(task)
