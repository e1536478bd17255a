"""Comparisons of methods on files."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from emsco._typing import AnyArray, IntArray
from emsco.errors import DataError, ParameterError
from emsco.experiments.own_data import OwnComparison, compare_methods
from emsco.experiments.searching import Parts
from emsco.runs import FitFiles
from emsco.tables import joined

__all__ = ["compare_files", "read_parts"]


def compare_files(files: FitFiles, *, seed: int = 0, **settings: Any) -> OwnComparison:
    """Compare all methods on files; see `compare_methods` about the settings.

    Rows that have no files of their own are split off at random, class by class: a quarter of all
    to test on, a third of the others to choose on.
    """
    return compare_methods(read_parts(files, seed), seed=seed, **settings)


def read_parts(files: FitFiles, seed: int = 0) -> Parts:
    """Rows of files, and which of them to fit on, to choose on and to test on."""
    if files.weights is not None:
        raise ParameterError("--weights must not be given: here every row counts the same.")
    if files.train is not None and files.test is None:
        raise ParameterError("--test must be given beside --train and --val, got none.")
    read = files.read(held_out=0.5)
    table, y = read.rows.table, read.rows.y
    everything = np.arange(len(y))
    if read.test is None:
        rest, test = _divided(everything, y, 1 / 4, seed)
    else:
        test = np.arange(len(y), len(y) + len(read.test.y))
        table, y = joined(table, read.test.table), np.concatenate([y, read.test.y])
        rest = everything
    train, val = read.cv[0] if files.val is not None else _divided(rest, y, 1 / 3, seed)
    return Parts(table, y, read.costs, train, val, test)


def _divided(rows: IntArray, y: AnyArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Rows in two parts, every class in the same shares."""
    try:
        first, second = train_test_split(rows, test_size=share, stratify=y[rows], random_state=seed)
    except ValueError as error:
        raise DataError(f"DATA must have rows enough of every class to be split: {error}") from None
    return np.sort(first), np.sort(second)
