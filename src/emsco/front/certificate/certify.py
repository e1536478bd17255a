"""Certify designs of a front on rows that nothing has seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import check_choice, check_number, check_whole
from emsco._base.text import counted
from emsco._base.typing import FloatArray, IntArray, Report
from emsco.data.keys import Keys
from emsco.data.labels import check_truth, positions_of
from emsco.data.row_prints import RowPrints, digest_of_rows
from emsco.data.weights import check_weights
from emsco.errors import DataError, EMSCOWarning, ParameterError
from emsco.front.certificate.plan import (
    LIKELY,
    answers_everyone,
    chance_to_pass,
    check_delta,
    first_of,
    order_of,
    rows_for_nearest,
    wanted_order,
    warn_of_little,
)
from emsco.front.certificate.record import Certificate, DesignTest, TestedRows
from emsco.front.certificate.test import RowResults, check_promises, fewest_rows
from emsco.front.point import ParetoPoint
from emsco.front.rules import RULES
from emsco.stats.promises import Promise

if TYPE_CHECKING:
    from emsco.front.pareto_front import ParetoFront

_MOST_LOOKED_AT = 25  # designs among which the nearest is sought, if none is certified


@dataclass(frozen=True, slots=True, eq=False)
class FreshRows:
    """Labelled rows that nothing has seen, to test on.

    Attributes
    ----------
    given : ndarray of shape (n_given, n_inputs)
        All rows, in the order given.
    inputs : ndarray of shape (n_rows, n_inputs)
        Those to test, in a drawn order: all, or one of each group.
    truth : ndarray of shape (n_rows,)
        Position of the class of each.
    weights : ndarray of shape (n_rows,) or None
    about : TestedRows
    what : str
        What messages call the table.
    """

    given: FloatArray
    inputs: FloatArray
    truth: IntArray
    weights: FloatArray | None
    about: TestedRows
    what: str

    @classmethod
    def from_table(
        cls,
        front: ParetoFront,
        X: ArrayLike,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        max_weight: float | None = None,
        random_state: int = 0,
        what: str = "X",
        first_row: int = 0,
    ) -> FreshRows:
        """Check rows, refuse those that the search has seen, and draw the order of the others.

        See `ParetoFront.certify` for the parameters. Messages call the table `what` and count its
        rows from `first_row`.
        """
        cascade = front.cascade(0)  # refuses a front without models
        given = cascade.encoding.rows(X)
        truth = positions_of(check_truth(y, cascade.classes, len(given)), cascade.classes)
        if not len(given):
            raise DataError("X must have rows, got none.")
        weights, max_weight = _check_weights(sample_weight, max_weight, len(given), first_row)
        seed = check_whole("random_state", random_state, 0)
        # Drawn before anything is looked at: the order of rows must not depend on labels.
        drawn = _draw(groups, len(given), np.random.default_rng(seed), first_row)
        if front.searched is not None:
            _refuse_seen(front.searched, given, what, first_row)
            # Of those drawn: rows of one group may be equal, rows of two groups are two.
            _refuse_repeated(front.searched, given, np.sort(drawn), what, first_row)
        # Of all rows, not of those drawn, so that the same table has the same digest for any seed.
        digest = digest_of_rows(given, truth, *([] if weights is None else [weights]))
        about = TestedRows(len(given), len(drawn), digest, seed, groups is not None, max_weight)
        weights = None if weights is None else weights[drawn]
        return cls(given, given[drawn], truth[drawn], weights, about, what)


def certify(
    front: ParetoFront,
    rows: FreshRows,
    promises: Sequence[Promise],
    *,
    delta: float,
    order: Any = None,
    deployed: ParetoPoint | int | None = None,
    prefer: str = "balanced",
    report: Report | None = None,
    begin: Callable[[tuple[int, ...]], None] | None = None,
) -> Certificate:
    """Test designs in a fixed order; see `ParetoFront.certify` for the parameters.

    The order follows from the scored rows, the promises, the deployed design and the *number* of
    fresh rows. Nothing that the fresh rows say has a part in it. So for every such number the order
    is fixed beforehand, and fixed-sequence testing holds: a false certificate needs the first
    design of the order that breaks a promise to pass its test, which has a chance of `delta` at
    most, whichever design that is.

    `begin(order)` is called before the first design is tested, while all rows are still fresh, and
    `report(done, total)` after each design.
    """
    delta, rule = check_delta(delta), check_choice("prefer", prefer, RULES)
    in_use = None if deployed is None else front.position(deployed)
    numbers = wanted_order(front, order)
    doubt = ""
    if not numbers:
        numbers, doubt = _order(front, promises, in_use, len(rows.truth), delta)
    # Refused before any test, so that the rows are still fresh.
    _refuse_too_few(front, promises, rows, delta, numbers)
    warn_of_little(front, promises)
    if doubt:
        warnings.warn(EMSCOWarning(doubt), stacklevel=3)  # this, its method, and the caller

    if begin:
        begin(numbers)
    # Each design is tested at the whole level, until the first that fails.
    tests: list[DesignTest] = []
    for test in _tests(front, numbers, promises, rows, delta):
        tests.append(test)
        has_failed = test.p_value > delta
        if report:
            report(len(tests), len(tests) if has_failed else len(numbers))
        if has_failed:
            break
    passed = [test.number for test in tests if test.p_value <= delta]

    best_first = front.best_first(passed)
    if (money := front.money) is not None:
        best_first.sort(key=lambda number: front[number].total_with(money).value)
    if passed:
        is_sorted = rule == "balanced" or money is not None
        best = best_first[0] if is_sorted else front.choose_among(rule, best_first)
        best = in_use if in_use in passed else best  # somebody has chosen it
        best_first = [best, *(i for i in best_first if i != best)]

    nearest, rows_needed = None, None
    if not passed:  # the rows are spent, so others may be looked at, but not certified
        looked_at = list(tests)
        numbers_left = numbers[len(tests) : _MOST_LOOKED_AT]
        for test in _tests(front, numbers_left, promises, rows, delta):
            looked_at.append(test)
            if report:
                report(len(looked_at), len(tests) + len(numbers_left))
        # The smallest p-value: what came nearest, not what would have been certified.
        nearest = min(looked_at, key=lambda test: test.p_value)
        if rows.weights is None:  # nobody plans for weighted rows
            n_rows = len(rows.truth)
            rows_needed = rows_for_nearest(front, nearest.point, nearest.checks, n_rows, delta)
    return Certificate(
        tuple(promises),
        delta,
        tuple(front.cascade(0).classes.tolist()),
        numbers,
        tuple(tests),
        tuple(best_first),
        rows.about,
        date.today().isoformat(),
        nearest,
        rows_needed,
    )


def _order(
    front: ParetoFront,
    promises: Sequence[Promise],
    in_use: int | None,
    n_rows: int,
    delta: float,
) -> tuple[tuple[int, ...], str]:
    """Return the order of tests, and a sentence if the deployed design is unlikely to pass.

    The deployed design comes first if it is likely to pass.
    """
    numbers = order_of(front, promises)
    if in_use is None:
        return numbers, ""
    chance = chance_to_pass(front, front[in_use], promises, n_rows, delta)
    if chance >= LIKELY:
        return first_of(front, in_use, numbers), ""
    begins = f"so the test begins with design {numbers[0]}, which is likelier to"
    if front[numbers[0]].design == front[in_use].design:
        begins = "and no other design is likelier to; plan for more rows"
    unlikely = f"the deployed design {in_use} is unlikely to pass on {counted(n_rows, 'row')}"
    return numbers, f"{unlikely} (chance about {chance:.0%}), {begins}."


def _check_weights(
    sample_weight: ArrayLike | None, max_weight: float | None, n_rows: int, first_row: int
) -> tuple[FloatArray | None, float | None]:
    """Return weights and their declared bound; neither comes without the other."""
    weights = check_weights(sample_weight, n_rows)
    if weights is None:
        if max_weight is not None:
            raise ParameterError(
                f"max_weight must be left out without sample_weight, got {max_weight!r}."
            )
        return None, None
    if max_weight is None:
        raise ParameterError(
            "max_weight must be the largest weight that a row can have if there is sample_weight, "
            "got none; declare it before you look at these rows."
        )
    max_weight = check_number("max_weight", max_weight, 0, np.inf, "()")
    # A bet on weights needs their bound in advance; one row above it would void the test.
    if (above := np.flatnonzero(weights > max_weight)).size:
        raise DataError(
            f"sample_weight must be at most the declared {max_weight:g}, got {weights[above[0]]:g} "
            f"in row {first_row + int(above[0])}.",
            row=first_row + int(above[0]),
        )
    return weights, max_weight


def _refuse_seen(searched: RowPrints, inputs: FloatArray, what: str, first_row: int) -> None:
    """Refuse rows that the search has seen, or nearly so."""
    seen = searched.seen_again(inputs)
    if not seen.rows.size:
        return
    row = first_row + int(seen.rows[0])
    raise DataError(
        f"{what} must hold rows that the search has not seen, got {counted(len(inputs), 'row')}, "
        f"of which it has seen {len(seen.rows):,} (first row {row}){seen.caveat}; "
        "collect fresh rows.",
        row=row,
    )


def _refuse_repeated(
    searched: RowPrints, given: FloatArray, drawn: IntArray, what: str, first_row: int
) -> None:
    """Refuse rows that repeat others, or nearly so: they would count as twice the evidence."""
    again = searched.repeated(given[drawn])
    if again.rows.size:
        row = first_row + int(drawn[again.rows[0]])
        raise DataError(
            f"{what} must hold every row once, got {counted(len(again.rows), 'row')} again "
            f"(first row {row}){again.caveat}; drop them, or name groups of rows.",
            row=row,
        )


def _draw(
    groups: ArrayLike | None, n_rows: int, rng: np.random.Generator, first_row: int
) -> IntArray:
    """Return the rows to test, in a drawn order: all, or one from each group."""
    drawn: IntArray = rng.permutation(n_rows)
    if groups is None:
        return drawn
    keys = Keys.from_parameter("groups", groups, None, n_rows)
    if (missing := keys.missing) is not None:
        raise DataError(
            f"groups must have a group for every row, got none in row {first_row + missing}.",
            row=first_row + missing,
        )
    # The first of each group in a drawn order is a random one of its rows.
    _, first = np.unique(keys.codes[drawn], return_index=True)
    return drawn[np.sort(first)]


def _refuse_too_few(
    front: ParetoFront,
    promises: Sequence[Promise],
    rows: FreshRows,
    delta: float,
    numbers: Sequence[int],
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
                f"{rows.what} must have at least {counted(fewest, unit)}{of} for {promise} at "
                f"delta {delta:g}, even if every row is as promised, got {there:,}."
            )


def _tests(
    front: ParetoFront,
    numbers: Sequence[int],
    promises: Sequence[Promise],
    rows: FreshRows,
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
            worst_cost=float(cascade.stage_costs.max()),
            answers_all=answers_everyone(front, front[number]),
        )
        # Without weights, every row weighs 1.
        max_weight = rows.about.max_weight or 1.0
        checks = check_promises(promises, results, delta, rows.weights, max_weight)
        yield DesignTest(number, cascade.stages.identity, front[number], checks)
