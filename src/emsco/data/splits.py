"""Splits into rows that train models and rows that score designs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)

from emsco._base.checks import is_number
from emsco._base.text import brief, first_line
from emsco._base.typing import AnyArray, FloatArray, IntArray, LabelArray
from emsco.data.keys import Keys
from emsco.errors import DataError, ParameterError

Split = tuple[IntArray, IntArray]

AUTO = "auto"
FEW_VALUES = 20_000  # rows times inputs; folds are repeated within: docs/how/scoring.md
MANY_ROWS = 20_000  # one part is held out from here up
N_FOLDS, N_REPEATS = 5, 4
HELD_OUT = 1 / 3


def check_simple_cv(cv: Any) -> str | float | int:
    """Return a `cv` that a file can hold: "auto", a fraction or a number of folds."""
    if isinstance(cv, str) and cv == AUTO:
        return AUTO
    if isinstance(cv, Integral) and is_number(cv) and int(cv) >= 2:
        return int(cv)
    if is_number(cv) and 0 < float(cv) < 1:
        return float(cv)
    raise ParameterError(
        'cv must be "auto", a fraction between 0 and 1, a number of folds from 2, or for a fit in '
        f"Python a splitter or a list of splits, got {cv!r}."
    )


def make_splits(
    cv: Any,
    X: AnyArray,
    labels: LabelArray,
    classes: Sequence[Any],
    groups: Any,
    seed: int,
    weights: FloatArray | None = None,
    repeat: bool = True,
    name: str = "cv",
) -> list[Split]:
    """Return pairs of (training rows, scored rows).

    Parameters
    ----------
    cv : "auto", float, int, splitter or iterable of (training, scored) pairs
        A fraction is the share of scored rows, stratified by class; a whole number is the number
        of stratified folds. Both are shuffled by `seed`. "auto" repeats folds if rows are few,
        and holds out a fraction if they are many.
    X : array of shape (n_rows, n_features)
    labels : ndarray of shape (n_rows,)
        Position of each row's class in `classes`.
    classes : sequence
    groups : array-like of shape (n_rows,) or None
        Groups for a splitter that asks for them, and for "auto".
    seed : int
    weights : ndarray of shape (n_rows,), optional
        Sample weights; rows of weight 0 do not count.
    repeat : bool
        Whether "auto" may repeat folds.
    name : str
        What messages call `cv`.
    """
    if cv is None or isinstance(cv, (bool, str)) or is_number(cv):
        cv = check_simple_cv(cv)
    n_rows, kept = len(labels), np.arange(len(labels))
    if cv == AUTO and weights is not None:
        kept = np.flatnonzero(weights > 0)
    if cv == AUTO and groups is not None:
        groups = known_groups(groups, n_rows)[kept]
    try:
        if isinstance(cv, str):
            made = _auto(labels[kept], X.shape[1], classes, groups, seed, repeat)
        elif isinstance(cv, float):
            made = [_fraction(labels, classes, cv, seed)]
        elif isinstance(cv, int):
            _check_class_sizes(labels, classes, cv, f"makes {cv} folds")
            made = _folds(labels, None, cv, seed)
        else:
            made = check_cv(cv, labels, classifier=True).split(X, labels, groups)
        pairs = [
            (kept[_row_numbers(train, len(kept))], kept[_row_numbers(scored, len(kept))])
            for train, scored in made
        ]
    except (TypeError, ValueError) as error:
        why = first_line(error).rstrip(".")
        raise DataError(f"{name} must suit the {n_rows} rows, but: {why}.") from error
    if not pairs:
        raise ParameterError(f"cv must make at least one split, got none from {cv!r}.")
    # A class may have rows and yet no weight, which is no better than no rows.
    counts = np.ones(len(labels)) if weights is None else weights
    for number, (train, scored) in enumerate(pairs):
        for part, part_rows in (("training", train), ("scored", scored)):
            if not counts[part_rows].any():
                above = "" if weights is None else " with a weight above 0"
                raise DataError(f"{name} must hold {part} rows{above} in split {number}, got none.")
        present = np.bincount(labels[train], counts[train], minlength=len(classes)) > 0
        if not present.all():
            missing = classes[int(np.argmin(present))]
            raise DataError(
                f"the training rows of split {number} must have every class, got none of "
                f"{missing!r}."
            )
    return pairs


def _auto(
    labels: LabelArray,
    n_inputs: int,
    classes: Sequence[Any],
    groups: AnyArray | None,
    seed: int,
    repeat: bool,
) -> Iterable[Split]:
    """Return the splits that "auto" means for these rows, all of which count."""
    n_rows = len(labels)
    if groups is None:
        n_smallest = int(np.bincount(labels, minlength=len(classes)).min())
        if n_rows >= MANY_ROWS or n_smallest < 2:
            return [_fraction(labels, classes, HELD_OUT, seed)]
    else:
        # Folds keep groups together, so that groups of a class count, not its rows.
        n_smallest = min(len(np.unique(groups[labels == k])) for k in range(len(classes)))
        if n_rows >= MANY_ROWS:
            # A third of the groups, as one of three folds: a fraction cannot keep groups together.
            n_folds = max(2, min(round(1 / HELD_OUT), n_smallest))
            return islice(_folds(labels, groups, n_folds, seed), 1)
    n_folds = max(2, min(N_FOLDS, n_smallest))
    max_repeats = N_REPEATS if repeat else 1
    # As often as the table is small: repeats cost as much again.
    n_repeats = max(1, min(max_repeats, FEW_VALUES // (n_rows * n_inputs)))
    # The first repeat has the seed itself, so that "auto" without repeats draws the same folds.
    more = np.random.SeedSequence(seed).generate_state(n_repeats - 1).tolist()
    return chain.from_iterable(_folds(labels, groups, n_folds, one) for one in (seed, *more))


def _folds(labels: LabelArray, groups: AnyArray | None, n_folds: int, seed: int) -> Iterable[Split]:
    """Return stratified folds; groups stay together."""
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds: Iterable[Split] = kind(n_folds, shuffle=True, random_state=seed).split(
        labels, labels, groups
    )
    return folds


def _fraction(labels: LabelArray, classes: Sequence[Any], share: float, seed: int) -> Split:
    """Score a share of the rows; the only row of a class always trains."""
    sizes = np.bincount(labels, minlength=len(classes))
    # With rows of one class only there would be nothing to score.
    if (sizes > 1).sum() < 2:
        _check_class_sizes(labels, classes, 2, "holds out a fraction")
    for label in np.flatnonzero(sizes == 1).tolist():
        warnings.warn(
            f"class {classes[label]!r} has one row, which trains and scores no design.",
            stacklevel=6,
        )
    once, many = np.flatnonzero(sizes[labels] == 1), np.flatnonzero(sizes[labels] > 1)
    splitter = StratifiedShuffleSplit(1, test_size=share, random_state=seed)
    train, scored = next(splitter.split(many, labels[many]))
    return np.concatenate([many[train], once]), many[scored]


def known_groups(groups: Any, n_rows: int) -> AnyArray:
    """Return the group of each row as an array of one type, one for every row."""
    keys = Keys.from_parameter("groups", groups, None, n_rows)
    keys.check_complete("groups")
    return np.asarray(keys.values)[keys.codes]


def _check_class_sizes(labels: LabelArray, classes: Sequence[Any], min_rows: int, why: str) -> None:
    for label, size in zip(classes, np.bincount(labels, minlength=len(classes)), strict=True):
        if size < min_rows:
            raise DataError(
                f"class {label!r} must have at least {min_rows} rows because cv {why}, got {size} "
                f"of n_samples={len(labels)}; give more rows or splits of your own."
            )


def _row_numbers(rows: Any, n_rows: int) -> IntArray:
    """Return row numbers, given numbers (negative ones count from the end) or a mask."""
    given = np.asarray(rows)
    try:
        numbers: IntArray = np.arange(n_rows)[given if given.size else given.astype(np.int64)]
    except IndexError as error:
        raise ValueError(f"{first_line(error)}, got {brief(rows)}") from None
    if numbers.ndim != 1:
        raise ValueError(f"rows must be a list of whole numbers, got {brief(rows)}")
    return numbers
