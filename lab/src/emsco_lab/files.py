"""Sweeps and comparisons on files: read the rows, split them, run the study."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from emsco._base.checks import check_seed, refused
from emsco._base.typing import AnyArray, IntArray
from emsco.app.files.sources import FitFiles
from emsco.app.files.table_files import joined
from emsco.costs import FeatureCosts
from emsco.data.issues import DataIssueKind, data_issues_of, warnings_of
from emsco.data.training import TrainingData
from emsco.data.weights import check_weights
from emsco.errors import DataError, Parameter
from emsco_lab import (
    CostedRows,
    LabelledRows,
    MethodComparison,
    Parts,
    ThresholdSweep,
    compare_methods,
    divided,
    sweep_thresholds,
)


def name_of(files: FitFiles) -> str:
    """Name of the file to fit on, without its folder."""
    return Path(str(files.train if files.data is None else files.data)).name


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """Rows of all files together.

    Attributes
    ----------
    rows : LabelledRows
    costs : FeatureCosts
    fitted : tuple of ndarray or None
        Positions to fit on and to score on, if they have files of their own.
    test : ndarray or None
        Positions to test on, if they have a file of their own.
    """

    rows: LabelledRows
    costs: FeatureCosts
    fitted: tuple[IntArray, IntArray] | None
    test: IntArray | None


def _read(files: FitFiles, gaps: str = "refuse") -> _Read:
    if files.train is not None and files.test is None:
        raise refused(
            "test",
            ("be given beside ", Parameter("train"), " and ", Parameter("val")),
            None,
            got="none",
        )
    read = files.read(cv=0.5, gaps=gaps)
    table, y, weights = read.rows.table, read.rows.y, read.rows.weights
    if files.costs is None:
        data = TrainingData.from_table(table, y, None, read.costs, gaps)
        ids = [one for one in data_issues_of(data) if one.kind is DataIssueKind.IDENTIFIER]
        for warning in warnings_of(ids):
            warnings.warn(warning, stacklevel=3)
    test = None
    if read.test is not None:
        test = np.arange(len(y), len(y) + len(read.test.y))
        table, y = joined(table, read.test.table), np.concatenate([y, read.test.y])
        weights = None if weights is None else np.concatenate([weights, read.test.weights])
    if weights is not None:
        check_weights(weights, len(y))
    fitted = read.cv[0] if files.val is not None else None
    return _Read(LabelledRows(table, y, weights), read.costs, fitted, test)


def read_parts(files: FitFiles, seed: int = 0) -> Parts:
    """Read files, and split their rows into training, scored and test rows.

    Parts without a file of their own are split off at random, class by class: a quarter of all
    rows for the test, a third of the others to score designs.
    """
    check_seed("seed", seed)
    read = _read(files)
    y, test = read.rows.y, read.test
    if test is None:
        rest, test = _divided(np.arange(len(y)), y, 1 / 4, seed)
    else:
        rest = np.arange(len(y) - len(test))
    train, val = read.fitted or _divided(rest, y, 1 / 3, seed)
    parts = Parts(read.rows.X, y, read.costs, train, val, test, read.rows.weights)
    if parts.weights is None:
        return parts
    # No part may weigh nothing, and every class needs a weighted training row.
    counts = parts.weights > 0
    for what, rows in (("scored", val), ("test", test)):
        if not counts[rows].any():
            raise DataError(
                Parameter("weights"), f" must be above 0 for some {what} row, got none."
            )
    learnt = y[train[counts[train]]]
    for label in np.unique(y).tolist():
        if label not in learnt:
            raise DataError(
                Parameter("weights"),
                f" must be above 0 for some training row of every class, got none of {label!r}.",
            )
    return parts


def read_costed_rows(files: FitFiles) -> CostedRows:
    """Read files for a comparison; rows to train and to score on are fitted on alike.

    Values may be missing: every method fills in the mean and learns from the gap.
    """
    read = _read(files, gaps="impute")
    return CostedRows(read.rows, read.costs, read.test)


def _divided(rows: IntArray, y: AnyArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Split row numbers in two, each part in order."""
    first, second = divided(rows, y, share, seed)
    return np.sort(first), np.sort(second)


def compare_files(files: FitFiles, **settings: Any) -> MethodComparison:
    """Compare all methods on files; `compare_methods` documents the settings."""
    return compare_methods(read_costed_rows(files), name_of(files), **settings)


def sweep_files(files: FitFiles, *, seed: int = 0, **settings: Any) -> ThresholdSweep:
    """Sweep over thresholds on files; `sweep_thresholds` documents the settings."""
    sweep = sweep_thresholds(read_parts(files, seed), seed=seed, **settings)
    return replace(sweep, name=name_of(files))
