"""Fronts that were searched for the lowest total of features, errors and rejections."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.documents import saved
from support.handmade import make_assessed_front, make_cascade, make_rows, with_expected, with_money

from emsco import ErrorCosts
from emsco.stats.reliability import reliability_of

ROWS, TRUTH = make_rows(300), np.arange(300) % 2
COSTS = {0: 20, 1: 100}

pytestmark = pytest.mark.usefixtures("without_fsync")


@pytest.fixture(scope="module")
def front():
    return with_money(with_expected(make_assessed_front()), COSTS)


# Tables and files


def test_columns_have_what_errors_cost_and_totals(front):
    tested = front.with_seen(ROWS, TRUTH)
    columns = tested.columns()
    for i, point in enumerate(tested):
        assert columns["error cost"][i] == tested.money.mean(point.by_class)
        assert columns["total"][i] == point.cost + columns["error cost"][i]
        assert columns["expected total"][i] == pytest.approx(columns["total"][i] + 1)
        assert columns["seen total"][i] == pytest.approx(
            tested.cascade(i).evaluate(ROWS, TRUTH, error_cost=COSTS, reject_cost=8).total.value
        )
    assert "total" not in make_assessed_front().columns()


def test_points_text_and_html_show_the_expected_total(front):
    total = front[1].total_with(front.money)
    assert (total.basis, total.value) == ("expected", front[1].expected.total.value)
    assert f", total={total.value:.4g}, " in repr(front[1])
    assert str(front[1].expected).endswith(f"total {front[1].expected.total}")
    heading, line = repr(front).splitlines()[1:3]
    assert heading.split()[-2:] == ["total", "design"]
    assert f"{total.value:9.4g}" in line
    assert "<th" in front._repr_html_()
    assert ">total<" in front._repr_html_()
    assert ">total<" not in make_assessed_front()._repr_html_()


def test_they_come_back_from_a_file(front, tmp_path):
    loaded = saved(front, tmp_path)
    assert loaded.money.equals(front.money)
    assert loaded.points == front.points
    assert loaded[0].exit_confidence is None
    assert loaded[1].total_with(front.money) == front[1].total_with(front.money)
    cascade = saved(front.cascade(1), tmp_path)
    assert cascade.stakes.tolist() == [20, 100]
    assert cascade.decide(ROWS).labels.tolist() == front.cascade(1).decide(ROWS).labels.tolist()


# Promises


def test_accuracy_is_promised_since_its_labels_were_scored(front):
    cascade = front.cascade(1)
    seen = cascade.evaluate(ROWS, TRUTH, error_cost=COSTS, reject_cost=8)
    report = front[1].compared_with(seen, cascade.label_costs)
    assert report.promise.accuracy.promise.limit == front[1].expected.accuracy.value
    assert report.total.promised == front[1].total_with(front.money)
    # At other prices, the same labels cost what was scored.
    other = cascade.evaluate(ROWS, TRUTH, error_cost=7, reject_cost=1)
    promised = front[1].compared_with(other, cascade.label_costs).total.promised
    assert promised == front[1].total(7, 1)
    # Labels by other costs were not scored.
    careful = cascade.with_error_costs({0: 1, 1: 500})
    seen = careful.evaluate(ROWS, TRUTH)
    assert front[1].compared_with(seen, careful.label_costs).promise.accuracy is None


@pytest.mark.parametrize(
    ("error_cost", "follow"),
    [
        (5, True),
        ({"a": 5, "b": 1, "c": 0.3}, True),
        ([[1, 6, 6], [2, 0, 2], [3, 3, 0]], True),
        ([[0, 6, 7], [2, 0, 2], [3, 3, 0]], False),
        ({"a": 5, "b": 1, "c": 0}, False),  # its stake is a little above 0
    ],
)
def test_labels_follow_stakes_if_errors_depend_on_the_true_class(error_cost, follow):
    costs = ErrorCosts.from_parameters(error_cost, 1, ("a", "b", "c"))
    assert costs.labels_follow_stakes == follow
    chances = np.random.default_rng(0).dirichlet(np.ones(3), 500)
    by_stakes = (chances * costs.stakes).argmax(axis=1)
    by_costs = (chances @ costs.of_labels).argmin(axis=1)
    if follow:
        assert by_stakes.tolist() == by_costs.tolist()


# Plain probabilities


def test_reliability_and_risk_are_about_plain_probabilities():
    cascade = replace(make_cascade((0, 0, 0, 0)), stakes=np.array([1.0, 4.0]))
    chances = cascade.predict_proba(ROWS)
    weighted = replace(cascade, stakes=None).predict_proba(ROWS)
    assert chances[:, 1] / chances[:, 0] == pytest.approx(weighted[:, 1] / weighted[:, 0] / 4)
    sure, correct = chances.max(axis=1), chances.argmax(axis=1) == TRUTH
    (record,) = cascade.reliability(ROWS, TRUTH)
    expected = reliability_of(sure, correct, None, 10, lowest=0.5, stage=1)
    assert record.confidence.tolist() == expected.confidence.tolist()
    assert record.accuracy.tolist() == expected.accuracy.tolist()
    whole, _ = cascade.risk_coverage(ROWS, TRUTH)
    for threshold, coverage in zip(whole.threshold, whole.coverage, strict=True):
        assert coverage == pytest.approx((sure >= threshold).mean())
    assert cascade.single_threshold is None
    assert replace(cascade, stakes=np.array([3.0, 3.0])).single_threshold == 0.8
