"""Search on a sample of the rows where there are many: which rows, and how many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from emsco._base.checks import check_whole, refused
from emsco._base.typing import FloatArray, IntArray, LabelArray
from emsco.data.splits import AUTO, HELD_OUT, check_simple_cv
from emsco.data.splits import MANY_ROWS as ONE_SPLIT
from emsco.data.training import TrainingData
from emsco.errors import Parameter, ParameterError

__all__ = ["check_screen_rows", "cv_of_sample", "n_screened", "screened"]

SCREENED_ROWS = 20_000  # that "auto" searches on: docs/how/scale.md
MANY_ROWS = 50_000  # "auto" screens from here up
_ROWS_A_SECOND = 200  # of a time limit that "auto" searches on
_WORTH_SCREENING = 10_000  # rows; with fewer, a search is quick enough for any time limit
_FEWEST = 1000  # rows of a class, if it has as many


def check_screen_rows(given: Any) -> str | int | None:
    """Return a checked `screen_rows`: "auto", a number of rows, or None for all of them."""
    if given is None or (isinstance(given, str) and given == AUTO):
        return given
    if isinstance(given, str):
        raise refused("screen_rows", 'be "auto", a number of rows or None', given)
    return check_whole("screen_rows", given, 100)


def n_screened(given: Mapping[str, Any], n_rows: int) -> int | None:
    """Rows that a fit searches on, given its parameters; None if all.

    Raises
    ------
    ParameterError
        If rows are to be screened where the paper's search or splits of the user's own do not
        allow it.
    """
    asked, limit = check_screen_rows(given["screen_rows"]), given["time_limit"]
    why = _why_not(given)
    if asked is None or (asked == AUTO and why is not None):
        return None
    if why is not None:
        raise refused("screen_rows", why, asked)
    if asked == AUTO:
        asked = SCREENED_ROWS if n_rows >= MANY_ROWS else n_rows
        if limit is not None and n_rows >= _WORTH_SCREENING:
            asked = min(int(asked), max(_FEWEST, round(_ROWS_A_SECOND * limit)))
    return int(asked) if int(asked) < n_rows else None


def cv_of_sample(cv: Any, n_rows: int, groups: Any) -> Any:
    """How to split a sample: "auto" holds out a part, as it does with all `n_rows` rows."""
    is_auto = isinstance(cv, str) and cv == AUTO
    return HELD_OUT if is_auto and groups is None and n_rows >= ONE_SPLIT else cv


def _why_not(given: Mapping[str, Any]) -> tuple[str | Parameter, ...] | None:
    """The rule that screening would break, if any."""
    if given["search"] == "paper":
        return ("be left out where ", Parameter("search"), ' is "paper", which sees all rows')
    try:
        check_simple_cv(given["cv"])
    except ParameterError:
        return ("be left out where ", Parameter("cv"), " has splits of its own")
    return None


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
    rows = _drawn(data.labels, weights, taken, np.random.default_rng(seed))
    ratio = np.where(fair == taken, 1.0, share * sizes / np.maximum(taken, 1))
    own = weights[rows] * ratio[data.labels[rows]]
    is_plain = data.weights is None and np.array_equal(fair, taken)
    return data.take(rows, None if is_plain else own), rows


def _drawn(
    labels: LabelArray, weights: FloatArray, taken: IntArray, rng: np.random.Generator
) -> IntArray:
    rows = []
    for label, n_taken in enumerate(taken.tolist()):
        own = np.flatnonzero((labels == label) & (weights > 0))
        rows.append(rng.choice(own, n_taken, replace=False))
    return np.sort(np.concatenate(rows))
