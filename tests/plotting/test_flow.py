"""The flow of rows through a design."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from support.handmade import (
    make_assessed_front,
    make_branching_front,
    make_rows,
)
from support.settings import PLAIN

from emsco import EMSCOClassifier, FeatureCosts
from emsco.cascade import Decisions, Evaluation
from emsco.plotting.flow import Flow


@pytest.fixture(scope="module")
def fitted():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    costs = FeatureCosts.resolve({name: 1 + i % 4 for i, name in enumerate(X)}, list(X))
    model = EMSCOClassifier(costs=costs, max_stages=3, generations=5, random_state=0, **PLAIN)
    return model.fit(X.iloc[:400], y[:400]), X.iloc[400:], y[400:]


def test_a_flow_has_the_figures_of_its_point(fitted):
    model, _, _ = fitted
    for point in model.front_:
        flow = model.front_.flow(point)
        figures = (flow.coverage, flow.accuracy, flow.cost)
        assert figures == pytest.approx((point.coverage, point.accuracy, point.cost))


def test_a_flow_has_the_figures_of_its_evaluation(fitted):
    model, X, y = fitted
    report = model.evaluate(X, y)
    flow = report.flow()
    figures = (flow.coverage, flow.accuracy, flow.cost)
    assert figures == pytest.approx((report.coverage, report.accuracy, report.cost))


@pytest.mark.parametrize("seed", range(5))
def test_weights_that_do_not_add_up_to_the_last_bit_leave_no_rows_behind(seed):
    rng = np.random.default_rng(seed)
    stage = rng.integers(1, 4, size=50)
    decisions = Decisions(
        guesses=np.zeros(50),
        accepted=np.ones(50, dtype=bool),
        confidence=np.ones(50),
        stage=stage,
        cost=stage.astype(float),
    )
    weights = rng.integers(1, 9, size=50) / 10
    evaluation = Evaluation.from_decisions(
        decisions, np.zeros(50), weights, np.arange(2.0), [("a",)] * 3
    )
    flow = evaluation.flow()
    assert (flow.rejected, flow.stages[-1].staying) == (0, 0)


def test_rows_that_reach_a_stage_are_those_that_did_not_leave_before(fitted):
    model, X, y = fitted
    flow = model.evaluate(X, y).flow()
    left = flow.n_rows
    for stage in flow.stages:
        assert stage.reached == left
        left -= stage.left
    assert flow.rejected == left


def test_all_rows_are_in_the_histogram_of_costs(fitted):
    model, X, y = fitted
    flow = model.evaluate(X, y).flow()
    histogram = flow.cost_histogram()
    assert sum(rows for _, rows in histogram) == flow.n_rows
    assert histogram == sorted(histogram)


def test_a_row_that_three_rounds_of_folds_have_scored_counts_once():
    front = make_assessed_front()
    point = front[0]
    counts = {
        name: tuple(3 * n for n in getattr(point, name)) for name in ("exits", "correct_exits")
    }
    thrice = replace(front, points=(replace(point, n_rows=300, **counts), front[1]))
    assert thrice[0].rows_in_words == "100 rows, 3 times"
    assert point.rows_in_words == "100 rows"
    assert thrice.flow(0) == front.flow(0)


def test_rows_of_a_design_that_branches_flow_as_its_cascade_decides():
    front = make_branching_front()
    flow, cascade = front.flow(1), front.cascade(1)
    decisions = cascade.decide(make_rows(400, seed=3))
    passed = [[j + 1 for j in cascade.design.path(last - 1)] for last in decisions.stage]
    for stage in flow.stages:
        here, left = decisions.stage == stage.number, decisions.accepted
        assert stage.reached == sum(stage.number in path for path in passed)
        assert (stage.left, stage.rejected) == ((here & left).sum(), (here & ~left).sum())
    assert [stage.before for stage in flow.stages] == [0, 1, 2, 2, 2, 5, 1, 7]
    assert flow.rejected == (~decisions.accepted).sum() > 0
    assert flow.cost == pytest.approx(front[1].cost)
    assert [flow.known(stage) for stage in flow.stages[5:7]] == [
        ("age", "pulse", "biopsy"),
        ("age",),
    ]


def test_rejected_rows_of_a_design_that_branches_wait_for_their_own_path():
    front = make_branching_front()
    slow = replace(front, costs=front.costs.with_delays({"scan": 2, "biopsy": 7}))
    flow = slow.flow(1)
    assert flow.worst_delay == slow[1].worst_delay == 9
    assert flow.mean_delay == pytest.approx(slow[1].mean_delay)
    assert 0 < flow.mean_delay < 9


def flows_of_means():
    """Flows of rows that three rounds of folds have scored: a chain, and one that branches."""
    chain = Flow.from_counts(
        buys=[("a",), ("b",), ("c",)],
        costs=[1.0, 2.0, 3.0],
        delays=[0.0] * 3,
        n_rows=100,
        exits=[100 / 3, 100 / 3, 50 / 3],
        correct_exits=[30.0, 30.0, 15.0],
    )
    branching = make_branching_front().flow(1)
    stages = [
        replace(one, reached=one.reached / 3, left=one.left / 3, rejected=one.rejected / 3)
        for one in branching.stages
    ]
    n_rows, rejected = branching.n_rows / 3, branching.rejected / 3
    return chain, replace(branching, stages=tuple(stages), n_rows=n_rows, rejected=rejected)


@pytest.mark.parametrize("flow", flows_of_means(), ids=["chain", "branching"])
def test_whole_numbers_of_rows_add_up(flow):
    counted = flow.in_whole_rows()
    assert counted.n_rows == round(flow.n_rows)
    assert counted.accepted + counted.rejected == counted.n_rows == counted.stages[0].reached
    for stage, mean in zip(counted.stages, flow.stages, strict=True):
        going_on = sum(one.reached for one in counted.after(stage))
        assert stage.reached == stage.left + stage.rejected + going_on
        for name in ("left", "rejected"):
            assert getattr(stage, name) == int(getattr(stage, name))
            assert abs(getattr(stage, name) - getattr(mean, name)) < 1


def test_an_evaluation_of_a_cascade_that_branches_flows_as_its_rows_did():
    front, rows = make_branching_front(), make_rows(400, seed=3)
    cascade = front.cascade(1)
    y = cascade.decide(rows).guesses
    whole = cascade.evaluate(rows, y)
    flow, scored = whole.flow(cascade.design), front.flow(1)
    for stage, same in zip(flow.stages, scored.stages, strict=True):
        assert (stage.reached, stage.left, stage.rejected) == (
            same.reached,
            same.left,
            same.rejected,
        )
    assert flow.cost == pytest.approx(whole.cost)
    halves = [cascade.evaluate(rows[part], y[part]) for part in (slice(150), slice(150, None))]
    assert Evaluation.joined(halves).rejected_exits == whole.rejected_exits
    assert Evaluation.joined(halves).flow(cascade.design).stages == flow.stages
