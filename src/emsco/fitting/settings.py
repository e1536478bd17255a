"""Parameters of a fit: checks that need no rows, the paper's settings, and seeds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from emsco._base.checks import check_choice, check_jobs, check_number, check_whole, refused
from emsco._base.objectives import METRICS
from emsco._base.typing import AnyArray, FloatArray, IntArray, LabelArray
from emsco.costs import FeatureCosts
from emsco.data.random_states import draw_seed
from emsco.data.splits import HELD_OUT, check_simple_cv
from emsco.data.splits import MANY_ROWS as ONE_SPLIT
from emsco.data.training import TrainingData
from emsco.designs.constraints import Constraints
from emsco.designs.thresholds import (
    MinConfidence,
    ThresholdGrid,
    by_class,
    by_label,
    check_min_confidence,
    check_reject_below,
)
from emsco.errors import Parameter, ParameterError
from emsco.front import check_preference
from emsco.front.rules import DELAY_LIMITS
from emsco.models.backends import CPU, check_device
from emsco.models.recipe import AUTO, FAMILIES
from emsco.scoring.journal import stored_seed
from emsco.search.plan import check_provable
from emsco.search.settings import search_kind

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
    if search_kind(given["search"]) == "paper":
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


REFITS = ("average", "all", "first")

# Parameters of `EMSCOClassifier` as Hamilton & Fulp (2022) describe it.
PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "min_confidence": 0.75,
        "max_stages": None,
        "search": "paper",
        "prefer": "fittest",
        "cv": 1 / 3,
        "refit": "first",
        "estimator": None,
        "allow_exclusion": False,
    }
)

# Parameters that rows of workers limit: the values allowed beside None, and the rule in words.
_REMOTE = (
    ("estimator", (AUTO, FAMILIES[0]), f'be "{AUTO}" or "{FAMILIES[0]}"'),
    ("search_with", (FAMILIES[0],), f'be None or "{FAMILIES[0]}"'),
    ("calibration", (), "be None"),
    ("device", (CPU,), f'be "{CPU}"'),
)


def seed_of_fit(random_state: Any, checkpoint: str | os.PathLike[str] | None) -> int:
    """Draw the seed of a fit; that of a checkpoint is used if `random_state` is not a number."""
    drawn = draw_seed(random_state)
    if checkpoint is None or isinstance(random_state, Integral):
        return drawn
    stored = stored_seed(checkpoint)
    return drawn if stored is None else stored


def seeds_of_fit(seed: int) -> list[SeedSequence]:
    """Derive the seeds of the split, the search and the stage models from one number."""
    return SeedSequence(seed).spawn(3)


def check_parameters(given: Mapping[str, Any], classes: Sequence[object] | None = None) -> None:
    """Check the parameters of a fit that need no more of the data than its classes."""
    check_jobs(given["n_jobs"])
    check_provable(given["search"], check_choice("metric", given["metric"], METRICS))
    if given["time_limit"] is not None:
        check_number("time_limit", given["time_limit"], 0, np.inf, "()")
    for name in ("checkpoint", "cache"):
        _check_path(name, given[name])
    check_whole("verbose", given["verbose"], 0)
    check_preference(given["prefer"], classes, may_reject=given["always_answer"] is not True)
    check_refit(given["refit"])
    check_screen_rows(given["screen_rows"])
    check_device(given["device"])
    if given["search_with"] is not None:
        check_choice("search_with", given["search_with"], FAMILIES)


def with_remote_rows(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a fit whose rows are not in memory: its stages are logistic.

    Raises
    ------
    ParameterError
        If a parameter asks for what only rows in memory can have.
    """
    own = {**given, "estimator": FAMILIES[0]}
    for name, allowed, rule in _REMOTE:
        value = given[name]
        if not (value is None or (isinstance(value, str) and value in allowed)):
            where = "where rows stay with workers or on disk"
            raise refused(name, f"{rule} {where}", value, hint="fit a sample in memory for others")
    return own


def check_delay_limits(
    given: Mapping[str, Any], constraints: Constraints, costs: FeatureCosts
) -> None:
    """Refuse limits on delays that no search can keep, or where no feature has a delay."""
    chosen = given["prefer"] if isinstance(given["prefer"], Mapping) else {}
    limits = {f"constraints[{name!r}]": getattr(constraints, name) for name in DELAY_LIMITS}
    is_limited = any(limit is not None for limit in limits.values())
    check_provable(given["search"], given["metric"], has_delays=is_limited)
    limits |= {name: chosen.get(name) for name in DELAY_LIMITS}
    for name, limit in limits.items():
        if limit is not None and not costs.has_delays:
            raise refused(name, "be left out where no feature has a delay", limit)


def check_refit(given: Any) -> str:
    """Return which models to deploy; True means "all", and False means "first"."""
    if isinstance(given, (bool, np.bool_)):
        return "all" if given else "first"
    return check_choice("refit", given, REFITS)


def check_thresholds(
    given: Mapping[str, Any], classes: AnyArray, shares: FloatArray, n_rows: int
) -> tuple[MinConfidence, ThresholdGrid]:
    """Check the confidence that labels need; return the last stage's, and those of all stages.

    `shares` is the number of rows of each class or their weight, and `n_rows` the number of rows
    that are scored.
    """
    least = check_min_confidence(given["min_confidence"], classes, shares)
    final = _check_last(given, classes)
    is_paper, is_searched = given["search"] == "paper", isinstance(given["min_confidence"], str)
    if final is not None and is_paper:
        name = "always_answer" if given["always_answer"] else "reject_below"
        rule = (
            "be left out where ",
            Parameter("search"),
            ' is "paper", whose stages are all alike',
        )
        raise refused(name, rule, given[name])
    last = None if final is None else by_class(final, classes)
    if is_searched and not is_paper:
        grid = ThresholdGrid.searched(shares, n_rows, last, given["metric"])
        return by_label(grid.thresholds[grid.last[0]], classes), grid
    grid = ThresholdGrid.single(by_class(least, classes), last)
    return least if final is None else final, grid


def _check_last(given: Mapping[str, Any], classes: AnyArray) -> MinConfidence | None:
    """Check what the last stage needs to label a row; None if it is like the others."""
    answers, below = given["always_answer"], given["reject_below"]
    if not isinstance(answers, (bool, np.bool_)):
        raise refused("always_answer", "be True or False", answers)
    if not answers:
        return None if below is None else check_reject_below(below, classes)
    if below is not None:
        rule = ("be left out where ", Parameter("always_answer"), " is given")
        raise refused("reject_below", rule, below)
    if given["gaps"] == "skip":
        rule = (
            "be False where ",
            Parameter("gaps"),
            ' is "skip": a stage without a value is skipped',
        )
        raise refused("always_answer", rule, answers)
    return 0.0


def _check_path(name: str, value: Any) -> None:
    if value is not None and (not isinstance(value, (str, os.PathLike)) or not os.fspath(value)):
        raise refused(name, "be the path of a folder or None", value)
