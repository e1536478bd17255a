"""Certify designs of a front on rows that nothing has seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import check_choice, check_number, check_whole, refused
from emsco._base.text import counted
from emsco._base.typing import FloatArray, IntArray
from emsco.cascade import Cascade, FrontModels
from emsco.data.labels import check_truth, positions_of
from emsco.data.row_prints import RowPrints, digest_of_rows
from emsco.data.weights import check_weights
from emsco.designs.thresholds import answers_all
from emsco.errors import DataError, Parameter, Part, Row
from emsco.front.certificate import Certificate, DesignTest, TestedRows
from emsco.front.certification import RowResults, check_promises, fewest_rows
from emsco.front.point import ParetoPoint
from emsco.front.points import FrontPoints
from emsco.front.prospects import order_of, rows_for_nearest
from emsco.front.rules import RULES
from emsco.front.shape import FrontShape
from emsco.stats.promises import Promise

_FEW = 3  # rows that a message names


class Certifiable(FrontShape, Protocol):
    """A front with fitted models."""

    @property
    def models(self) -> FrontModels | None:
        """Fitted models of every point."""

    def cascade(self, point: ParetoPoint | int) -> Cascade:
        """Return the cascade of a point."""

    def position(self, point: ParetoPoint | int) -> int:
        """Return the position of a point."""

    def balanced_scores(self) -> FloatArray:
        """Return the balanced score of each point."""


class _Rows(NamedTuple):
    """Labelled rows to test on, in a drawn order."""

    inputs: FloatArray
    truth: IntArray
    weights: FloatArray | None
    about: TestedRows
    all_inputs: FloatArray  # also of rows that were not drawn, as they came


def check_delta(delta: object) -> float:
    """Return the level of a certificate, if it is one."""
    return check_number("delta", delta, 0, 1, "()")


def is_gapless(front: Certifiable) -> bool:
    """Whether no stage is skipped for a missing value, so that a last stage can answer all."""
    return front.models is None or front.models.encoding.gaps != "skip"


def certify(
    front: Certifiable,
    X: ArrayLike,
    y: ArrayLike,
    promises: Sequence[Promise],
    *,
    delta: float,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
    max_weight: float | None,
    order: Any,
    prefer: str,
    random_state: int,
    what: str = "X",
    first_row: int = 0,
) -> Certificate:
    """Test designs in a fixed order; see `ParetoFront.certify` for the parameters.

    Messages call the table `what` and count its rows from `first_row`.
    """
    first = front.cascade(0)  # refuses a front without models
    level, rule = check_delta(delta), check_choice("prefer", prefer, RULES)
    rows = _read(first, X, y, groups, sample_weight, max_weight, random_state, first_row)
    _refuse_seen(front.searched, rows.all_inputs, what, first_row)
    if groups is None:
        _refuse_repeated(front.searched, rows.all_inputs, what, first_row)
    numbers = wanted_order(front, order)
    numbers = numbers or order_of(front, promises, is_gapless=is_gapless(front))
    _refuse_too_few(front, promises, rows, level, numbers, what)
    tests: list[DesignTest] = []
    for test in _tests(front, numbers, promises, rows, level):
        tests.append(test)
        if test.p_value > level:
            break
    passed = [test.number for test in tests if test.p_value <= level]
    nearest, needed = None, None
    if not passed:
        others = _tests(front, numbers[len(tests) :], promises, rows, level)
        nearest = min([*tests, *others], key=lambda test: test.p_value)
        needed = _rows_needed(front, nearest, rows, level)
    return Certificate(
        tuple(promises),
        level,
        tuple(first.classes.tolist()),
        numbers,
        tuple(tests),
        _best_first(front, passed, rule),
        rows.about,
        date.today().isoformat(),
        nearest,
        needed,
    )


def _read(
    cascade: Cascade,
    X: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
    max_weight: float | None,
    random_state: int,
    first_row: int,
) -> _Rows:
    """Check rows, draw one from each group, and put them in a drawn order."""
    inputs = cascade.encoding.rows(X)
    truth = positions_of(check_truth(y, cascade.classes, len(inputs)), cascade.classes)
    if not len(inputs):
        raise DataError("X must have rows, got none.")
    weights, most = _check_weights(sample_weight, max_weight, len(inputs), first_row)
    seed = check_whole("random_state", random_state, 0)
    rng = np.random.default_rng(seed)
    drawn = _draw(groups, len(inputs), rng, first_row)
    digest = digest_of_rows(inputs, truth, *([] if weights is None else [weights]))
    about = TestedRows(len(inputs), len(drawn), digest, seed, groups is not None, most)
    own = None if weights is None else weights[drawn]
    return _Rows(inputs[drawn], truth[drawn], own, about, inputs)


def _check_weights(
    sample_weight: ArrayLike | None, max_weight: float | None, n_rows: int, first_row: int
) -> tuple[FloatArray | None, float | None]:
    """Return weights and their declared bound; neither comes without the other."""
    weights = check_weights(sample_weight, n_rows)
    if weights is None:
        if max_weight is not None:
            rule = ("be left out without ", Parameter("sample_weight"))
            raise refused("max_weight", rule, max_weight)
        return None, None
    if max_weight is None:
        raise refused(
            "max_weight",
            ("be the largest weight that a row can have if there is ", Parameter("sample_weight")),
            None,
            got="none",
            hint="declare it before you look at these rows",
        )
    most = check_number("max_weight", max_weight, 0, np.inf, "()")
    if (above := np.flatnonzero(weights > most)).size:
        raise DataError(
            Parameter("sample_weight"),
            f" must be at most the declared {most:g}, got {weights[above[0]]:g} in ",
            Row(first_row + int(above[0])),
            ".",
        )
    return weights, most


def _refuse_seen(searched: RowPrints | None, inputs: FloatArray, what: str, first_row: int) -> None:
    """Refuse rows that the search has seen."""
    seen = np.empty(0, dtype=np.int64) if searched is None else searched.seen_again(inputs)
    if not seen.size:
        return
    n_rows = counted(len(inputs), "row")
    got: tuple[Part, ...] = (
        f"{n_rows}, of which it has seen {counted(len(seen), 'row')} (",
        *_some_rows(first_row + seen),
        ")",
    )
    if len(seen) == len(inputs):
        got = (f"{n_rows} that it has all seen",)
    rule = f"{what} must hold rows that the search has not seen, got "
    raise DataError(rule, *got, "; collect fresh rows.")


def _some_rows(rows: IntArray) -> tuple[Part, ...]:
    """Return the first rows as parts of a message, and how many more there are."""
    shown: list[Part] = []
    for row in rows[:_FEW].tolist():
        shown += [", ", Row(row)] if shown else [Row(row)]
    return (*shown, f" and {len(rows) - _FEW:,} more") if len(rows) > _FEW else tuple(shown)


def _refuse_repeated(
    searched: RowPrints | None, inputs: FloatArray, what: str, first_row: int
) -> None:
    """Refuse rows that come twice: they would count as twice the evidence."""
    again = np.empty(0, dtype=np.int64) if searched is None else searched.repeated(inputs)
    if again.size:
        raise DataError(
            f"{what} must hold every row once, got {counted(len(again), 'row')} again (",
            *_some_rows(first_row + again),
            "); drop them, or name groups of rows.",
        )


def _draw(
    groups: ArrayLike | None, n_rows: int, rng: np.random.Generator, first_row: int
) -> IntArray:
    """Return the rows to test, in a drawn order: all, or one from each group."""
    drawn: IntArray = rng.permutation(n_rows)
    if groups is None:
        return drawn
    given = np.asarray(groups)
    if given.shape != (n_rows,):
        raise DataError(
            Parameter("groups"),
            f" must have one group for each of {n_rows} rows, got shape {given.shape}.",
        )
    if (missing := np.flatnonzero([one is None or one != one for one in given.tolist()])).size:
        raise DataError(
            Parameter("groups"),
            " must have a group for every row, got none in ",
            Row(first_row + int(missing[0])),
            ".",
        )
    _, first = np.unique(given[drawn].astype(np.str_), return_index=True)
    return drawn[np.sort(first)]


def wanted_order(front: Certifiable, order: Any) -> tuple[int, ...]:
    """Return positions of the designs that the user wants tested, each once; empty if none."""
    if order is None:
        return ()
    given = [order] if np.ndim(order) == 0 or isinstance(order, ParetoPoint) else list(order)
    if not given:
        raise refused("order", "name at least one design", order)
    return tuple(dict.fromkeys(front.position(one) for one in given))


def _refuse_too_few(
    front: Certifiable,
    promises: Sequence[Promise],
    rows: _Rows,
    delta: float,
    numbers: Sequence[int],
    what: str,
) -> None:
    """Refuse rows of which even a design without an error needs more; they are not spent."""
    for promise in promises:
        if promise.kind == "coverage" and any(_answers_all(front, i) for i in numbers):
            continue
        least = fewest_rows(promise, delta, by_betting=rows.weights is not None)
        there, of = len(rows.truth), ""
        if promise.kind == "recall":
            place = front.cascade(0).classes.tolist().index(promise.label)
            there, of = int((rows.truth == place).sum()), f" of class {promise.label!r}"
        if there < least:
            unit = "group" if rows.about.grouped else "row"
            raise DataError(
                f"{what} must have at least {counted(least, unit)}{of} for {promise} at ",
                Parameter("delta"),
                f" {delta:g}, even if every row is as promised, got {there:,}.",
            )


def _answers_all(front: Certifiable, number: int) -> bool:
    last = front.points[number].design.thresholds_or(front.min_confidence)[-1]
    return is_gapless(front) and answers_all(last)


def _tests(
    front: Certifiable,
    numbers: Sequence[int],
    promises: Sequence[Promise],
    rows: _Rows,
    delta: float,
) -> Iterator[DesignTest]:
    """Test one design after the other, as long as somebody asks for the next."""
    for number in numbers:
        cascade = front.cascade(number)
        decisions = cascade.decide_rows(rows.inputs)
        results = RowResults(
            tuple(cascade.classes.tolist()),
            rows.truth,
            decisions.given(cascade.classes),
            decisions.cost,
            float(cascade.stage_costs[-1]),
            _answers_all(front, number),
        )
        checks = check_promises(
            promises, results, delta, rows.weights, rows.about.max_weight or 1.0
        )
        yield DesignTest(number, cascade.stages.identity, front.points[number], checks)


def _rows_needed(front: Certifiable, nearest: DesignTest, rows: _Rows, delta: float) -> int | None:
    """Return the fresh rows that the nearest design takes; nobody plans for weighted rows."""
    if rows.weights is not None:
        return None
    return rows_for_nearest(front, nearest.point, nearest.checks, len(rows.truth), delta)


def _best_first(front: Certifiable, passed: list[int], rule: str) -> tuple[int, ...]:
    """Sort positions: the one that the rule prefers, then by the balanced score."""
    if not passed:
        return ()
    scores = front.balanced_scores()
    order = sorted(passed, key=lambda i: (front.points[i].is_informative, scores[i]), reverse=True)
    if rule != "balanced":
        part = tuple(front.points[i] for i in order)
        best = FrontPoints(part, front.costs, by_fitness=front.by_fitness).prefer(rule)
        first = order[part.index(best)]
        order = [first, *(i for i in order if i != first)]
    return tuple(order)
