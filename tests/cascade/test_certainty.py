"""Intervals of evaluations: exact by counts, by weights and groups, joined, and in files."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from support.documents import ROWS, TRUTH, saved
from support.handmade import make_cascade, make_front, make_rows

from emsco import Decisions, Evaluation
from emsco._base.documents import Fields
from emsco._base.objectives import Objectives
from emsco.cascade.tally import Tally
from emsco.data.keys import Keys

RNG = np.random.default_rng(7)
N = 400
MANY = make_rows(N, seed=3)
PATIENTS = np.repeat(np.arange(N // 4), 4)


@pytest.fixture(scope="module")
def cascade():
    return make_cascade()


@pytest.fixture(scope="module")
def truth(cascade):
    """Labels that the cascade mostly gets right."""
    guesses = cascade.decide(MANY).guesses
    return np.where(RNG.random(N) < 0.85, guesses, 1 - guesses)


def exact(hits, rows):
    interval = stats.binomtest(int(hits), int(rows)).proportion_ci(method="exact")
    return pytest.approx((interval.low, interval.high), abs=1e-8)


def sampled(cascade, truth, groups, weights=None, parts=1):
    """Evaluate part by part."""
    tally = Tally(cascade.classes, cascade.design.buys, cascade.stages.costs)
    for which in np.array_split(np.arange(N), parts):
        some_weights = None if weights is None else weights[which]
        keys = Keys.from_column(groups[which])
        tally.add(cascade.decide(MANY[which]), truth[which], some_weights, keys)
    return tally.evaluation()


def test_shares_have_exact_intervals(cascade, truth):
    evaluation = cascade.evaluate(MANY, truth)
    at, by_class, labelled = (
        evaluation.intervals,
        evaluation.by_class,
        evaluation.by_class.answered.sum(),
    )
    assert at.kind == "exact"
    assert at.coverage == exact(labelled, N)
    assert at.accuracy == exact(by_class.correct.sum(), labelled)
    for report, limits in zip(evaluation.exits[:-1], at.exits, strict=True):
        assert limits == exact(report.n_correct, report.n_rows)
    for i in range(2):
        assert at.recall[i] == exact(by_class.correct[i], by_class.rows[i])
        assert at.precision[i] == exact(by_class.correct[i], by_class.given[i])


def test_the_cost_of_a_single_stage_is_certain():
    evaluation = make_cascade(stages=(0, 0, 0, 0)).evaluate(ROWS, TRUTH)
    assert evaluation.intervals.cost == (53.5, 53.5)


def test_intervals_of_nothing_have_the_whole_range(cascade):
    at = cascade.evaluate(np.zeros((0, 4)), []).intervals
    assert at.coverage == at.accuracy == (0, 1)
    assert at.cost == (3.5, 53.5)


def test_equal_weights_change_no_interval(cascade, truth):
    plain = cascade.evaluate(MANY, truth).intervals
    evaluation = cascade.evaluate(MANY, truth, np.full(N, 2.5))
    assert evaluation.intervals.kind == "weights"
    assert evaluation.intervals.accuracy == pytest.approx(plain.accuracy, abs=1e-6)
    assert evaluation.intervals.cost == pytest.approx(plain.cost, abs=1e-4)
    assert np.allclose(evaluation.intervals.recall, plain.recall)


def test_unequal_weights_widen_intervals_and_the_text_says_how_far(cascade, truth):
    weights = RNG.exponential(size=N)
    evaluation = cascade.evaluate(MANY, truth, weights)
    rows = weights.sum() ** 2 / (weights**2).sum()
    assert evaluation.rows.coverage == pytest.approx(rows)
    assert f"approximate 95 % intervals (weights: as of {rows:.0f} rows)" in repr(evaluation)


def test_rows_repeated_in_groups_tell_no_more_than_once(cascade, truth):
    few, labels = MANY[::4], truth[::4]
    once = cascade.evaluate(few, labels)
    again = np.repeat(np.arange(N // 4), 4)
    evaluation = cascade.evaluate(few[again], labels[again], groups=again)
    assert (evaluation.rows.kind, evaluation.rows.n_groups) == ("groups", N // 4)
    for name in ("coverage", "accuracy", "cost"):
        one, other = getattr(once.intervals, name), getattr(evaluation.intervals, name)
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.1)
    assert "approximate 95 % intervals (from 100 groups)" in repr(evaluation)


def test_the_interval_of_the_cost_holds_for_groups(cascade):
    rng, held, wide = np.random.default_rng(0), [], []
    costs = np.array(cascade.stages.costs)
    for _ in range(40):
        favourite = rng.dirichlet([2, 1, 1], 250).cumsum(axis=1)  # how the rows of a group leave
        left = (rng.random((250, 4, 1)) > favourite[:, None, :2]).sum(axis=2).ravel()
        cells = Tally(cascade.classes, cascade.design.buys, costs)
        cells.add(leaving(left, costs), np.zeros(1000, int), None, groups(4))
        low, high = cells.evaluation().intervals.cost
        held.append(low <= costs @ [0.5, 0.25, 0.25] <= high)
        wide.append(high - low)
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 40)
    shares = np.array([0.5, 0.25, 0.25])
    variance = costs**2 @ shares - (costs @ shares) ** 2
    known = 2 * 1.96 * np.sqrt(variance * (1 + 3 / 5) / 1000)  # Dirichlet's rows are 1/5 alike
    assert np.mean(wide) < 1.25 * known


def leaving(left, costs):
    """Decisions about rows that leave at these stages, all with label 0."""
    n = len(left)
    return Decisions(np.zeros(n, int), np.ones(n, bool), np.ones(n), left + 1, costs[left])


def groups(size):
    return Keys.from_column(np.repeat(np.arange(1000 // size), size))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parts", [3, 40])
def test_groups_that_span_parts_are_put_together(cascade, truth, weighted, parts):
    shuffled = RNG.permutation(PATIENTS)
    weights = RNG.random(N) if weighted else None
    whole = cascade.evaluate(MANY, truth, weights, groups=shuffled)
    evaluation = sampled(cascade, truth, shuffled, weights, parts)
    assert evaluation.rows.n_groups == 100
    for name in ("coverage", "accuracy", "cost"):
        one, other = getattr(evaluation.intervals, name), getattr(whole.intervals, name)
        assert one == pytest.approx(other, abs=1e-4)
    assert np.allclose(evaluation.rows.recall, whole.rows.recall)


def test_parts_with_weights_add_up_to_the_same_intervals(cascade, truth):
    weights = RNG.random(N)
    parts = [cascade.evaluate(MANY[i::3], truth[i::3], weights[i::3]) for i in range(3)]
    joined, whole = Evaluation.joined(parts), cascade.evaluate(MANY, truth, weights)
    assert joined.intervals.accuracy == pytest.approx(whole.intervals.accuracy)
    assert np.allclose(joined.rows.precision, whole.rows.precision)


@pytest.mark.parametrize("how", [{}, {"sample_weight": RNG.random(N)}, {"groups": PATIENTS}])
def test_intervals_come_back_from_plain_values(cascade, truth, how):
    evaluation = cascade.evaluate(MANY, truth, **how)
    values = json.loads(json.dumps(evaluation.to_dict()))
    again = Evaluation.from_dict(Fields(values, "a.json"), cascade.design.buys, cascade.classes)
    assert again == evaluation
    assert again.intervals == evaluation.intervals
    assert values["intervals"]["accuracy"] == list(evaluation.intervals.accuracy)
    assert values["intervals"]["level"] == 0.95


def test_intervals_of_weighted_test_rows_come_back_with_a_front(tmp_path):
    front = make_front().with_seen(ROWS, TRUTH, RNG.random(60))
    again = saved(front, tmp_path)
    assert again.seen[0].intervals == front.seen[0].intervals


def test_costs_that_differ_within_a_stage_have_students_interval():
    decisions, costs = leaving(np.zeros(50, int), np.array([1.0])), RNG.gamma(2, size=(2, 50))
    buys, classes = [("a",)], np.array([0, 1])
    parts = [
        Evaluation.from_decisions(
            replace(decisions, cost=cost), np.zeros(50, int), None, classes, buys
        )
        for cost in costs
    ]
    expected = stats.t.interval(0.95, 99, costs.mean(), stats.sem(costs.ravel()))
    assert Evaluation.joined(parts).intervals.cost == pytest.approx(expected)


class TestPromises:
    def test_figures_are_compared_with_intervals(self, cascade, truth):
        evaluation = cascade.evaluate(MANY, truth)
        better = Objectives(evaluation.coverage, evaluation.accuracy + 0.001, evaluation.cost / 2)
        verdicts = [str(one.verdict) for one in evaluation.against(better).promises]
        assert verdicts == ["kept", "as promised, within chance", "not kept"]

    def test_the_cascade_alone_knows_no_promise(self, cascade, truth):
        evaluation = cascade.evaluate(MANY, truth)
        assert evaluation.promise is None
        assert "promised" not in repr(evaluation) + evaluation._repr_html_()
        assert evaluation.to_dict()["promise"] is None
