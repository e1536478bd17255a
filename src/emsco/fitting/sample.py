"""The rows that a fit searches on: all of them, or a sample if they are many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.typing import IntArray
from emsco.data.splits import HELD_OUT, Split, check_simple_cv, make_splits
from emsco.data.splits import MANY_ROWS as ONE_SPLIT
from emsco.data.training import TrainingData
from emsco.errors import ParameterError
from emsco.fitting.settings import FitSettings
from emsco.models.recipe import AUTO

SCREENED_ROWS = 20_000  # that "auto" searches on: docs/guides/data.md
MANY_ROWS = 50_000  # "auto" screens from here up
_ROWS_A_SECOND = 200  # of a time limit that "auto" searches on
_WORTH_SCREENING = 10_000  # rows; with fewer, a search is quick enough for any time limit
_FEWEST = 1000  # rows of a class, if it has as many


@dataclass(frozen=True, slots=True, eq=False)
class RowsToSplit:
    """Rows, and how to split them into training rows and scored rows.

    Attributes
    ----------
    data : TrainingData
    groups : array-like of shape (n_rows,) or None
    cv : object
        As `make_splits` takes it.
    seed : int
    """

    data: TrainingData
    groups: Any
    cv: Any
    seed: int

    def splits(self, *, repeat: bool) -> list[Split]:
        """Split the rows; with `repeat`, "auto" may repeat folds."""
        return make_splits(
            self.cv,
            self.data.rows,
            self.data.labels,
            self.data.classes.tolist(),
            self.groups,
            self.seed,
            self.data.weights,
            repeat=repeat,
        )

    def to_search(self, settings: FitSettings) -> RowsToSplit:
        """Return the rows to search on: these, or a sample of them."""
        n_all = len(self.data.labels)
        n_rows = n_screened(settings, n_all)
        if n_rows is None:
            return self
        sample, rows = screened(self.data, n_rows, self.seed)
        groups = None if self.groups is None else self.groups[rows]
        return RowsToSplit(sample, groups, cv_of_sample(self.cv, n_all, self.groups), self.seed)


def n_screened(settings: FitSettings, n_rows: int) -> int | None:
    """Rows that a fit searches on; None if all.

    Raises
    ------
    ParameterError
        If rows are to be screened where the paper's search or splits of the user's own do not
        allow it.
    """
    asked, limit = settings.screen_rows, settings.time_limit
    # Why rows cannot be screened, if so.
    why = ""
    if settings.is_paper:
        why = 'search is "paper", which sees all rows'
    else:
        try:
            check_simple_cv(settings.cv)
        except ParameterError:
            why = "cv has splits of its own"
    if asked is None or (asked == AUTO and why):
        return None
    if why:
        raise ParameterError(f"screen_rows must be left out where {why}, got {asked!r}.")
    if asked == AUTO:
        asked = SCREENED_ROWS if n_rows >= MANY_ROWS else n_rows
        if limit is not None and n_rows >= _WORTH_SCREENING:
            asked = min(int(asked), max(_FEWEST, round(_ROWS_A_SECOND * limit)))
    return int(asked) if int(asked) < n_rows else None


def cv_of_sample(cv: Any, n_rows: int, groups: Any) -> Any:
    """How to split a sample: "auto" holds out a part, as it does with all `n_rows` rows."""
    is_auto = isinstance(cv, str) and cv == AUTO
    return HELD_OUT if is_auto and groups is None and n_rows >= ONE_SPLIT else cv


def screened(data: TrainingData, n_rows: int, seed: int) -> tuple[TrainingData, IntArray]:
    """Draw a sample of the rows, class by class; return it with the row numbers.

    Classes keep their shares, but a rare one gets up to 1,000 rows, or all it has; then weights
    make up for it. Together, rare ones get at most half as many rows as were asked for.
    """
    weights = np.ones(len(data.labels)) if data.weights is None else data.weights
    sizes = np.bincount(data.labels[weights > 0], minlength=len(data.classes))
    share = n_rows / sizes.sum()
    fair = np.rint(share * sizes)
    fewest = min(_FEWEST, n_rows // (2 * len(sizes)))
    taken = np.minimum(sizes, np.maximum(fair, max(1, fewest))).astype(np.int64)
    rng = np.random.default_rng(seed)
    drawn = []
    for label, n_taken in enumerate(taken.tolist()):
        candidates = np.flatnonzero((data.labels == label) & (weights > 0))
        drawn.append(rng.choice(candidates, n_taken, replace=False))
    rows = np.sort(np.concatenate(drawn))
    if data.weights is None and np.array_equal(fair, taken):
        return data.take(rows, None), rows
    # A class with more rows than its share counts as much as before: each row weighs less.
    ratio = np.where(fair == taken, 1.0, share * sizes / np.maximum(taken, 1))
    return data.take(rows, weights[rows] * ratio[data.labels[rows]]), rows
