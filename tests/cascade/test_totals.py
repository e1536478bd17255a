"""What rows cost in all: features, errors and rejections."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.documents import ROWS, TRUTH
from support.handmade import make_cascade, make_front, with_thresholds

from emsco.errors import ParameterError
from emsco.stats.promises import Verdict

MATRIX = np.array([[1.0, 70.0], [900.0, 0.0]])
REJECT = {0: 30, 1: 80}


def row_totals(cascade, rows, truth):
    """What each row costs, one by one."""
    decisions = cascade.decide(rows)
    said = np.where(decisions.accepted, decisions.guesses, 2)
    priced = np.column_stack([MATRIX, [REJECT[0], REJECT[1]]])
    return decisions.cost + priced[truth, said]


def test_the_total_is_the_mean_over_rows():
    cascade = make_cascade()
    found = cascade.evaluate(ROWS, TRUTH, error_cost=MATRIX, reject_cost=REJECT)
    rows = row_totals(cascade, ROWS, TRUTH)
    assert found.total.value == pytest.approx(rows.mean())
    assert found.total.seen.features == pytest.approx(found.cost)
    assert found.total.seen.basis == "seen"
    assert found.total.verdict is None


def test_the_interval_of_a_seen_total_is_at_least_as_wide_as_that_of_its_rows():
    cascade = make_cascade()
    found = cascade.evaluate(ROWS, TRUTH, error_cost=MATRIX, reject_cost=REJECT).total.seen
    error = row_totals(cascade, ROWS, TRUTH).std() / np.sqrt(len(TRUTH))
    assert error <= found.standard_error < 2 * error


def test_weights_count_rows_several_times():
    cascade = make_cascade()
    weights = np.arange(len(TRUTH)) % 3
    found = cascade.evaluate(ROWS, TRUTH, weights, error_cost=MATRIX, reject_cost=REJECT)
    mean = np.average(row_totals(cascade, ROWS, TRUTH), weights=weights)
    assert found.total.value == pytest.approx(mean)


def test_without_costs_there_is_no_total():
    found = make_cascade().evaluate(ROWS, TRUTH)
    assert found.total is None
    assert "total" not in found.to_dict()
    assert "  total" not in repr(found)


def test_a_cascade_that_may_reject_needs_a_cost_of_rejections():
    with pytest.raises(ParameterError, match="reject_cost must be given beside error_cost"):
        make_cascade().evaluate(ROWS, TRUTH, error_cost=5)
    answers = with_thresholds(make_cascade(), (0.9, 0.8, 0))
    found = answers.evaluate(ROWS, TRUTH, error_cost=5)
    assert found.total.value == pytest.approx(found.cost + 5 * (1 - found.accuracy))


def test_the_total_stands_beside_what_was_promised():
    cascade, point = make_cascade(), make_front()[0]
    found = cascade.evaluate(ROWS, TRUTH, error_cost=500, reject_cost=40)
    told = point.compared_with(found).total
    assert told.promised == point.total(500, 40)
    assert told.verdict in Verdict
    assert f"scored {told.promised.value:.4g}: {told.verdict}" in repr(point.compared_with(found))
    assert told.to_dict()["verdict"] == str(told.verdict)
    assert told.to_dict()["promised"]["basis"] == "scored"
    names = [line[0].strip() for line in told.lines()]
    assert names == ["total", "features", "errors", "rejections"]
    assert "rejections" in point.compared_with(found)._repr_html_()
    cheap = replace(point, cost=0.0, coverage=1.0, correct_exits=point.exits)
    assert cheap.compared_with(found).total.verdict is Verdict.NOT_KEPT


def test_a_promise_without_a_total_stays_as_it_was():
    found = make_cascade().evaluate(ROWS, TRUTH)
    assert make_front()[0].compared_with(found).total is None
