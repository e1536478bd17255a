"""Fronts that were searched for the lowest total of features, errors and rejections."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.documents import saved
from support.handmade import make_assessed_front, make_cascade, make_rows, with_expected, with_money

from emsco import Certificate, ErrorCosts, Monitor, ParameterError, Promise
from emsco.stats.reliability import reliability_of

ROWS, TRUTH = make_rows(300), np.arange(300) % 2
COSTS = {0: 20, 1: 100}

pytestmark = pytest.mark.usefixtures("without_fsync")


@pytest.fixture(scope="module")
def front():
    return with_money(with_expected(make_assessed_front()), COSTS)


# Tables and files


def test_they_come_back_from_a_file(front, tmp_path):
    loaded = saved(front, tmp_path)
    assert loaded.money == front.money
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


# Certificates and monitors of totals


@pytest.fixture(scope="module")
def fresh():
    rows = make_rows(400, seed=3)
    return rows, np.arange(400) % 2


def test_a_total_is_certified_with_the_costs_of_the_fit(front, fresh, tmp_path):
    rows, truth = fresh
    seen = front.cascade(1).evaluate(rows, truth, error_cost=COSTS, reject_cost=8).total.value
    certificate = front.certify(rows, truth, max_total=seen * 1.2, order=1)
    (check,) = certificate.tests[0].checks
    assert check.promise == Promise("total", seen * 1.2, costs=front.money)
    assert check.seen == pytest.approx(seen)
    assert 0 < check.p_value <= 0.05
    words = "20 for an error about 0, 100 about 1 and 8 for a rejection"
    assert f"a row costs at most {seen * 1.2:g} in all on average, with {words}" in repr(
        certificate
    )
    certificate.save(tmp_path / "certificate.json")
    loaded = Certificate.load(tmp_path / "certificate.json")
    assert loaded.promises == certificate.promises
    assert repr(loaded) == repr(certificate)
    worst = float(front.cascade(1).stage_costs.max()) + 100
    (sure,) = front.certify(rows, truth, max_total=worst, order=1).tests[0].checks
    assert sure.is_certain
    assert not front.certify(rows, truth, max_total=seen * 0.9, order=1).certified


def test_of_certified_designs_the_lowest_total_is_the_best(front, fresh):
    certificate = front.certify(*fresh, max_total=150.0)
    totals = [point.total_with(front.money).value for point in certificate.certified]
    assert len(totals) == 2
    assert totals == sorted(totals)


def test_other_costs_may_be_certified_and_without_any_there_is_no_total(front, fresh):
    rows, truth = fresh
    plain = make_assessed_front()
    with pytest.raises(ParameterError):
        plain.certify(rows, truth, max_total=30)
    with pytest.raises(ParameterError):
        front.certify(rows, truth, max_total=-1)
    costs = {"error_cost": 7, "reject_cost": 1}
    (check,) = plain.certify(rows, truth, max_total=90, order=0, **costs).tests[0].checks
    assert check.seen == pytest.approx(plain.cascade(0).evaluate(rows, truth, **costs).total.value)


def test_a_monitor_follows_a_promised_total(front, fresh, tmp_path):
    rows, truth = fresh
    cascade = front.cascade(1)
    decisions = cascade.decide(rows)
    costs = {"error_cost": COSTS, "reject_cost": 8}
    seen = cascade.evaluate(rows, truth, **costs).total.value
    monitor = Monitor(cascade, max_total=1.3 * seen, **costs).update(decisions)
    assert monitor.promises[0].n_rows == 0  # labels come later
    some = [*truth[:300], *[None] * 100]
    monitor = monitor.update(decisions, some, late=True)
    assert (monitor.n_rows, monitor.promises[0].n_rows, monitor.alarm) == (400, 300, False)
    given = decisions.given(cascade.classes)[:300]
    spent = decisions.cost[:300] + front.money.costs[truth[:300], given]
    assert monitor.promises[0].figure == pytest.approx(spent.mean())
    monitor.save(tmp_path / "monitor.json")
    loaded = Monitor.load(tmp_path / "monitor.json", cascade)
    assert repr(loaded) == repr(monitor)
    assert loaded.limits["max_total"] == 1.3 * seen
    broken = Monitor(cascade, max_total=0.6 * seen, **costs).update(decisions, truth)
    assert broken.alarm
    with pytest.raises(ParameterError):
        Monitor(cascade, max_total=9)


def test_a_monitor_takes_a_total_from_a_certificate(front, fresh):
    certificate = front.certify(*fresh, max_total=150.0, order=1)
    monitor = Monitor.from_certificate(certificate, front.cascade(1))
    assert [one.promise for one in monitor.promises] == list(certificate.promises)
