"""Certify designs of a front on rows that nothing has seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import check_choice, check_number, check_whole, refused
from emsco._base.text import counted
from emsco._base.typing import FloatArray, IntArray
from emsco.data.labels import check_truth, positions_of
from emsco.data.row_prints import RowPrints, digest_of_rows
from emsco.data.weights import check_weights
from emsco.errors import DataError, Parameter, Part, Row
from emsco.front.certificate.plan import (
    answers_everyone,
    check_delta,
    order_of,
    rows_for_nearest,
    wanted_order,
)
from emsco.front.certificate.record import Certificate, DesignTest, TestedRows
from emsco.front.certificate.test import RowResults, check_promises, fewest_rows
from emsco.front.rules import RULES
from emsco.stats.promises import Promise

if TYPE_CHECKING:
    from emsco.front.pareto_front import ParetoFront

_FEW = 3  # rows that a message names


def certify(
    front: ParetoFront,
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
    cascade = front.cascade(0)  # refuses a front without models
    delta, rule = check_delta(delta), check_choice("prefer", prefer, RULES)
    inputs = cascade.encoding.rows(X)
    truth = positions_of(check_truth(y, cascade.classes, len(inputs)), cascade.classes)
    if not len(inputs):
        raise DataError("X must have rows, got none.")
    weights, max_weight = _check_weights(sample_weight, max_weight, len(inputs), first_row)
    seed = check_whole("random_state", random_state, 0)
    # Drawn before anything is looked at: the order of rows must not depend on labels.
    drawn = _draw(groups, len(inputs), np.random.default_rng(seed), first_row)
    # Of all rows, not of those drawn, so that the same table has the same digest for any seed.
    digest = digest_of_rows(inputs, truth, *([] if weights is None else [weights]))
    about = TestedRows(len(inputs), len(drawn), digest, seed, groups is not None, max_weight)
    of_drawn = None if weights is None else weights[drawn]
    rows = _Rows(inputs[drawn], truth[drawn], of_drawn, about)
    if front.searched is not None:
        # Evidence from rows that chose the design would be counted twice.
        _refuse_seen(front.searched, inputs, what, first_row)
        again = front.searched.repeated(inputs)
        if groups is None and again.size:  # they would count as twice the evidence
            raise DataError(
                f"{what} must hold every row once, got {counted(len(again), 'row')} again (",
                *_some_rows(first_row + again),
                "); drop them, or name groups of rows.",
            )
    numbers = wanted_order(front, order) or order_of(front, promises)
    # Refused before any test, so that the rows are still fresh.
    _refuse_too_few(front, promises, rows, delta, numbers, what)

    # Each design is tested at the whole level, until the first that fails.
    tests: list[DesignTest] = []
    for test in _tests(front, numbers, promises, rows, delta):
        tests.append(test)
        if test.p_value > delta:
            break
    passed = [test.number for test in tests if test.p_value <= delta]

    best_first = front.best_first(passed)
    # By default the best balanced; another rule only moves its choice to the front.
    if passed and rule != "balanced":
        best = front.choose_among(rule, best_first)
        best_first = [best, *(i for i in best_first if i != best)]

    nearest, rows_needed = None, None
    if not passed:  # the rows are spent, so the others may be looked at, but not certified
        others = _tests(front, numbers[len(tests) :], promises, rows, delta)
        # The smallest p-value: what came nearest, not what would have been certified.
        nearest = min([*tests, *others], key=lambda test: test.p_value)
        if rows.weights is None:  # nobody plans for weighted rows
            n_rows = len(rows.truth)
            rows_needed = rows_for_nearest(front, nearest.point, nearest.checks, n_rows, delta)
    return Certificate(
        tuple(promises),
        delta,
        tuple(cascade.classes.tolist()),
        numbers,
        tuple(tests),
        tuple(best_first),
        rows.about,
        date.today().isoformat(),
        nearest,
        rows_needed,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Labelled rows to test on, in a drawn order."""

    inputs: FloatArray
    truth: IntArray
    weights: FloatArray | None
    about: TestedRows


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
    max_weight = check_number("max_weight", max_weight, 0, np.inf, "()")
    # A bet on weights needs their bound in advance; one row above it would void the test.
    if (above := np.flatnonzero(weights > max_weight)).size:
        raise DataError(
            Parameter("sample_weight"),
            f" must be at most the declared {max_weight:g}, got {weights[above[0]]:g} in ",
            Row(first_row + int(above[0])),
            ".",
        )
    return weights, max_weight


def _refuse_seen(searched: RowPrints, inputs: FloatArray, what: str, first_row: int) -> None:
    """Refuse rows that the search has seen."""
    seen = searched.seen_again(inputs)
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
    # A missing group differs from itself, as NaN does.
    if (missing := np.flatnonzero([one is None or one != one for one in given.tolist()])).size:
        raise DataError(
            Parameter("groups"),
            " must have a group for every row, got none in ",
            Row(first_row + int(missing[0])),
            ".",
        )
    # The first of each group in a drawn order is a random one of its rows.
    _, first = np.unique(given[drawn].astype(np.str_), return_index=True)
    return drawn[np.sort(first)]


def _refuse_too_few(
    front: ParetoFront,
    promises: Sequence[Promise],
    rows: _Rows,
    delta: float,
    numbers: Sequence[int],
    what: str,
) -> None:
    """Refuse rows of which even a design without an error needs more; they are not spent."""
    for promise in promises:
        # A design that answers everyone keeps any coverage without evidence.
        if promise.kind == "coverage" and any(answers_everyone(front, front[i]) for i in numbers):
            continue
        fewest = fewest_rows(promise, delta, by_betting=rows.weights is not None)
        there, of = len(rows.truth), ""
        # Only rows of the class count for its recall.
        if promise.kind == "recall":
            place = front.cascade(0).classes.tolist().index(promise.label)
            there, of = int((rows.truth == place).sum()), f" of class {promise.label!r}"
        if there < fewest:
            unit = "group" if rows.about.grouped else "row"
            raise DataError(
                f"{what} must have at least {counted(fewest, unit)}{of} for {promise} at ",
                Parameter("delta"),
                f" {delta:g}, even if every row is as promised, got {there:,}.",
            )


def _tests(
    front: ParetoFront,
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
            labels=tuple(cascade.classes.tolist()),
            truth=rows.truth,
            given=decisions.given(cascade.classes),
            cost=decisions.cost,
            worst_cost=float(cascade.stage_costs[-1]),
            answers_all=answers_everyone(front, front[number]),
        )
        # Without weights, every row weighs 1.
        max_weight = rows.about.max_weight or 1.0
        checks = check_promises(promises, results, delta, rows.weights, max_weight)
        yield DesignTest(number, cascade.stages.identity, front[number], checks)
