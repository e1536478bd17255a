"""Splits into rows that train models and rows that score designs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
        f'cv must be "auto", a fraction between 0 and 1 or a number of folds from 2, got {cv!r}.'
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
    kept = np.arange(len(labels))
    if isinstance(cv, str) and cv == AUTO:
        kept = kept if weights is None else np.flatnonzero(weights > 0)
        groups = None if groups is None else known_groups(groups, len(labels))[kept]
        splitter = _auto_splitter(labels[kept], X.shape[1], classes, groups, seed, repeat)
    else:
        splitter = _splitter(cv, labels, classes, seed)
    rows = X if len(kept) == len(labels) else X[kept]
    try:
        pairs = [
            (kept[_row_numbers(train, len(kept))], kept[_row_numbers(scored, len(kept))])
            for train, scored in splitter.split(rows, labels[kept], groups)
        ]
    except (TypeError, ValueError) as error:
        why = first_line(error).rstrip(".")
        raise DataError(f"{name} must suit the {len(labels)} rows, but: {why}.") from error
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


def _splitter(cv: Any, labels: LabelArray, classes: Sequence[Any], seed: int) -> Any:
    if isinstance(cv, Integral) and is_number(cv) and int(cv) >= 2:
        _check_class_sizes(labels, classes, int(cv), f"makes {cv} folds")
        return StratifiedKFold(n_splits=int(cv), shuffle=True, random_state=seed)
    if is_number(cv) and 0 < float(cv) < 1:
        return _ScoredFraction(float(cv), classes, seed)
    try:
        if cv is None or is_number(cv) or isinstance(cv, (bool, str)):
            raise TypeError
        return check_cv(cv, labels, classifier=True)
    except (TypeError, ValueError):
        raise ParameterError(
            'cv must be "auto", a fraction between 0 and 1, a number of folds from 2, a splitter '
            f"or a list of splits, got {cv!r}."
        ) from None


def _auto_splitter(
    labels: LabelArray,
    n_inputs: int,
    classes: Sequence[Any],
    groups: AnyArray | None,
    seed: int,
    repeat: bool,
) -> Any:
    """Return the splitter that "auto" means for these rows, all of which count."""
    n_rows = len(labels)
    if groups is None:
        n_smallest = int(np.bincount(labels, minlength=len(classes)).min())
        if n_rows >= MANY_ROWS or n_smallest < 2:
            return _ScoredFraction(HELD_OUT, classes, seed)
    else:
        # Folds keep groups together, so that groups of a class count, not its rows.
        n_smallest = min(len(np.unique(groups[labels == k])) for k in range(len(classes)))
        if n_rows >= MANY_ROWS:
            # A third of the groups, as one of three folds: a fraction cannot keep groups together.
            return _Folds(max(2, min(round(1 / HELD_OUT), n_smallest)), (seed,), only_first=True)
    n_folds = max(2, min(N_FOLDS, n_smallest))
    max_repeats = N_REPEATS if repeat else 1
    # As often as the table is small: repeats cost as much again.
    n_repeats = max(1, min(max_repeats, FEW_VALUES // (n_rows * n_inputs)))
    # The first repeat has the seed itself, so that "auto" without repeats draws the same folds.
    more = np.random.SeedSequence(seed).generate_state(n_repeats - 1).tolist()
    return _Folds(n_folds, (seed, *more))


@dataclass(frozen=True, slots=True)
class _Folds:
    """A splitter that makes stratified folds, once for each seed; groups stay together."""

    n_folds: int
    seeds: tuple[int, ...]
    only_first: bool = False

    def split(self, X: AnyArray, labels: LabelArray, groups: Any) -> Iterator[Split]:
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        for seed in self.seeds:
            folds = kind(self.n_folds, shuffle=True, random_state=seed)
            for pair in folds.split(X, labels, groups):
                yield pair
                if self.only_first:
                    return


def known_groups(groups: Any, n_rows: int) -> AnyArray:
    """Return the group of each row as an array of one type, one for every row."""
    keys = Keys.from_parameter("groups", groups, None, n_rows)
    keys.check_complete("groups")
    return np.asarray(keys.values)[keys.codes]


@dataclass(frozen=True, slots=True)
class _ScoredFraction:
    """A splitter that scores a share of the rows; the only row of a class always trains."""

    share: float
    classes: Sequence[Any]
    seed: int

    def split(self, _X: AnyArray, labels: LabelArray, _groups: Any) -> Iterator[Split]:
        sizes = np.bincount(labels, minlength=len(self.classes))
        # With rows of one class only there would be nothing to score.
        if (sizes > 1).sum() < 2:
            _check_class_sizes(labels, self.classes, 2, "holds out a fraction")
        for label in np.flatnonzero(sizes == 1).tolist():
            warnings.warn(
                f"class {self.classes[label]!r} has one row, which trains and scores no design.",
                stacklevel=6,
            )
        once, many = np.flatnonzero(sizes[labels] == 1), np.flatnonzero(sizes[labels] > 1)
        splitter = StratifiedShuffleSplit(1, test_size=self.share, random_state=self.seed)
        train, scored = next(splitter.split(many, labels[many]))
        yield np.concatenate([many[train], once]), many[scored]


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
    if given.dtype == np.bool_:
        if given.shape != (n_rows,):
            raise ValueError(f"a mask must have {n_rows} entries, got shape {given.shape}")
        return np.flatnonzero(given)
    numbers = given.astype(np.int64)
    # Whole numbers as floats pass; anything else would be cut off without a word.
    if numbers.ndim != 1 or not np.array_equal(numbers, given):
        raise ValueError(f"rows must be a list of whole numbers, got {brief(rows)}")
    if outside := numbers[(numbers < -n_rows) | (numbers >= n_rows)].tolist():
        raise ValueError(f"there is no row {outside[0]}")
    return numbers % n_rows
