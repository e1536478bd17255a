"""Tests of promises in a fixed order: how often they certify what is not true."""

import math

import numpy as np
import pytest
from support.certificates import KINDS, draw, false_rate

from emsco.front.certificate.plan import Counted, scored_p_value
from emsco.front.certificate.test import RowResults, check_promises, fewest_rows, n_passing
from emsco.stats.betting import mean_p_value, mean_p_values
from emsco.stats.promises import Promise
from emsco.stats.tests import share_p_value

DELTA, N_SETS = 0.05, 600  # python benchmarks trust tries whole fits
MOST = DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / N_SETS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_promise_that_is_just_missed_is_rarely_certified(kind):
    """The true figure sits exactly on the limit, where a false certificate is likeliest."""
    rate = false_rate(KINDS[kind], DELTA, N_SETS, seed=1)
    assert 0.005 < rate <= MOST


@pytest.mark.parametrize("kind", ["accuracy", "cost"])
def test_a_missed_promise_among_others_that_are_kept_is_rarely_certified(kind):
    others = [
        Promise("coverage", 0.5),
        Promise("recall", 0.4, "ill"),
        Promise("accuracy", 0.6, "ill"),
    ]
    assert 0.005 < false_rate([*KINDS[kind], *others], DELTA, N_SETS, seed=2) <= MOST


def test_all_promises_together_are_certified_no_more_often_than_one():
    every = [promise for promises in KINDS.values() for promise in promises]
    assert false_rate(every, DELTA, N_SETS, seed=2) <= MOST


def test_with_weights_a_promise_that_is_just_missed_is_rarely_certified():
    for kind in ("accuracy", "coverage", "recall"):
        assert false_rate(KINDS[kind], DELTA, N_SETS, seed=3, weighted=True) <= MOST


def test_a_design_after_a_good_one_is_no_more_often_certified_by_mistake():
    """The first design passes nearly always; the second is just missed."""
    promise = Promise("accuracy", 0.9)
    wrong = 0
    for kept in np.random.default_rng(4).binomial(200, [0.98, 0.9, 0.9], (N_SETS, 3)).tolist():
        wrong += n_passing((share_p_value(n, 200, promise.limit) for n in kept), DELTA) > 1
    assert wrong / N_SETS <= MOST


def test_a_design_far_inside_its_promises_is_mostly_certified():
    promises = [Promise("accuracy", 0.8), Promise("coverage", 0.6), Promise("cost", 7.0)]
    rng = np.random.default_rng(5)
    certified = [
        max(one.p_value for one in check_promises(promises, draw(rng, 150), DELTA)) <= DELTA
        for _ in range(60)
    ]
    assert np.mean(certified) > 0.9


def test_tests_end_with_the_first_that_fails():
    asked = []

    def one_by_one():
        for p in (0.01, 0.05, 0.06, 0.001):
            asked.append(p)
            yield p

    assert n_passing(one_by_one(), DELTA) == 2
    assert asked == [0.01, 0.05, 0.06]


def test_each_promise_counts_the_rows_that_it_is_about():
    truth = np.array([0, 0, 0, 1, 1, 1])
    given = np.array([0, 0, 1, 1, 2, 0])  # 2 is rejected
    results = RowResults(("well", "ill"), truth, given, np.full(6, 2.0), 4.0)
    promises = [
        Promise("accuracy", 0.5),
        Promise("accuracy", 0.5, "well"),
        Promise("coverage", 0.5),
        Promise("recall", 0.5, "ill"),
        Promise("cost", 3.0),
    ]
    checks = check_promises(promises, results, DELTA)
    counts = [(one.n_kept, one.n_rows) for one in checks]
    assert counts == [(3, 5), (2, 3), (5, 6), (1, 3), (None, 6)]
    exact = [share_p_value(kept, n, 0.5) for kept, n in counts[:-1]]
    assert [one.p_value for one in checks[:-1]] == exact
    assert checks[-1].seen == 2.0
    assert checks[-1].p_value == mean_p_value(np.full(6, 0.5), 0.75, DELTA)


@pytest.mark.parametrize(
    ("promise", "answers_all", "is_certain"),
    [
        (Promise("cost", 4.0), False, True),
        (Promise("cost", 3.9), False, False),
        (Promise("coverage", 1.0), True, True),
        (Promise("coverage", 1.0), False, False),
    ],
)
def test_what_a_design_cannot_miss_needs_no_test(promise, answers_all, is_certain):
    ones = np.ones(3, dtype=int)
    results = RowResults(("well", "ill"), ones, ones, np.full(3, 4.0), 4.0, answers_all)
    (check,) = check_promises([promise], results, DELTA)
    assert (check.is_certain, check.p_value == 0) == (is_certain, is_certain)


def test_a_promise_about_no_row_has_no_evidence():
    truth = np.zeros(9, dtype=int)
    results = RowResults(("well", "ill"), truth, truth + 2, np.ones(9), 1.0)
    checks = check_promises(
        [Promise("accuracy", 0.5), Promise("recall", 0.5, "ill")], results, DELTA
    )
    assert [(one.n_rows, one.p_value) for one in checks] == [(0, 1.0), (0, 1.0)]


def test_full_weights_give_the_bets_of_rows_without_weights():
    results = draw(np.random.default_rng(6), 120)
    (plain,) = check_promises([Promise("cost", 7.0)], results, DELTA)
    (weighted,) = check_promises([Promise("cost", 7.0)], results, DELTA, np.full(120, 3.0), 3.0)
    assert weighted.p_value == pytest.approx(plain.p_value)


def test_a_larger_bound_on_weights_weakens_the_evidence():
    results, weights = draw(np.random.default_rng(7), 200), np.ones(200)
    promise = Promise("coverage", 0.7)
    p_values = [
        check_promises([promise], results, DELTA, weights, most)[0].p_value for most in (1, 9)
    ]
    assert p_values[0] < p_values[1]


@pytest.mark.parametrize("limit", [0.8, 0.95, 0.99])
def test_with_one_row_less_than_the_fewest_no_design_can_pass(limit):
    promise = Promise("accuracy", limit)
    least = fewest_rows(promise, DELTA)
    assert share_p_value(least, least, limit) <= DELTA < share_p_value(least - 1, least - 1, limit)
    by_betting = fewest_rows(promise, DELTA, by_betting=True)
    assert mean_p_value(np.zeros(by_betting - 1), 1 - limit, DELTA) > DELTA


def test_whole_counts_on_scored_rows_have_the_exact_p_value():
    promise = Promise("recall", 0.8, "ill")
    assert scored_p_value(promise, Counted(50, 46), 1.0) == pytest.approx(
        share_p_value(46, 50, 0.8)
    )
    between = scored_p_value(promise, Counted(50, 45.5), 1.0)
    assert share_p_value(46, 50, 0.8) < between < share_p_value(45, 50, 0.8)
    assert scored_p_value(promise, Counted(50, 0), 1.0) == 1.0


def test_scored_costs_far_below_the_limit_are_strong_evidence():
    near = scored_p_value(Promise("cost", 5.5), Counted(100, 100, (1, 10), (50, 50)), 10.0)
    far = scored_p_value(Promise("cost", 8.0), Counted(100, 100, (1, 10), (50, 50)), 10.0)
    assert far < 0.001 < near
    assert scored_p_value(Promise("cost", 10.0), Counted(9, 9, (1, 10), (5, 4)), 10.0) == 0.0


def test_many_means_are_tested_as_one_is():
    values = np.random.default_rng(8).uniform(0, 0.5, (5, 40))
    assert mean_p_values(values, 0.3).tolist() == [mean_p_value(one, 0.3) for one in values]


def test_an_accuracy_of_one_label_and_a_recall_agree_with_mapie():
    """MAPIE rounds n times a risk up, so its p-value may have an error more; never one less."""
    control = pytest.importorskip("mapie.risk_control")
    rng = np.random.default_rng(9)
    truth = rng.integers(0, 2, 300)
    sure = np.clip(0.5 + 0.3 * (2 * truth - 1) + rng.normal(0, 0.25, 300), 0.01, 0.99)
    steps = np.array([0.2, 0.35, 0.5, 0.65, 0.8])
    for risk, kind, limit in (("precision", "accuracy", 0.85), ("recall", "recall", 0.8)):
        controller = control.BinaryClassificationController(
            lambda rows: np.column_stack([1 - rows, rows]),
            risk=risk,
            target_level=limit,
            confidence_level=1 - DELTA,
            list_predict_params=steps,
            fwer_method="fixed_sequence",
        )
        controller.calibrate(sure, truth)
        ours, counts = [], []
        for step in steps:
            given = np.where(sure >= step, 1, 0)
            results = RowResults((0, 1), truth, given, np.ones(300), 1.0)
            (check,) = check_promises([Promise(kind, limit, 1)], results, DELTA)
            ours.append(check.p_value)
            counts.append((check.n_kept, check.n_rows))
        theirs = controller.p_values[:, 0]
        one_more = [share_p_value(n_kept - 1, n_rows, limit) for n_kept, n_rows in counts]
        assert (np.array(ours) <= theirs + 1e-12).all()
        assert (theirs <= np.array(one_more) + 1e-12).all()
        assert np.isclose(ours, theirs).sum() >= 2
        order = range(len(steps))[:: -1 if risk == "precision" else 1]  # the easiest first
        passed = order[: n_passing([ours[i] for i in order], DELTA)]
        assert sorted(steps[list(passed)]) == sorted(controller.valid_predict_params)
        assert 0 < len(passed) < len(steps)
