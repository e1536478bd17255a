"""Tests of fits that search for the lowest total of features, errors and rejections."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from emsco import Cascade, EMSCOClassifier, ParetoFront
from emsco.cascade.stages import cheapest_labels
from emsco.designs.grid import ThresholdGrid
from emsco.scoring.error_costs import ErrorCosts

COSTS = {"cough": 1.0, "fever": 2.0, "scan": 20.0}
ERRORS = {"ill": 300.0, "well": 20.0}


def clinic(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """One in six is ill; cheap tests say a little, and a scan nearly everything."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n_rows) < 1 / 6
    table = pd.DataFrame(
        {
            "cough": ill + rng.normal(0, 1.0, n_rows),
            "fever": ill + rng.normal(0, 0.8, n_rows),
            "scan": ill + rng.normal(0, 0.3, n_rows),
        }
    )
    return table, np.where(ill, "ill", "well")


def classifier(**settings) -> EMSCOClassifier:
    quick = {"estimator": "logistic", "generations": 10, "random_state": 0, "branches": 1}
    return EMSCOClassifier(COSTS, **{**quick, **settings})


@pytest.fixture(scope="module")
def fitted() -> EMSCOClassifier:
    return classifier(error_cost=ERRORS).fit(*clinic(600, 0))


def seen_total(clf: EMSCOClassifier) -> float:
    return clf.evaluate(*clinic(20_000, 1)).total.seen.value


def test_the_total_on_new_rows_is_lower_than_that_of_a_design_chosen_for_accuracy(fitted):
    accurate = classifier(always_answer=True).fit(*clinic(600, 0))
    accurate.choose(error_cost=ERRORS)
    assert seen_total(fitted) < 0.9 * seen_total(accurate)


def test_the_lowest_expected_total_is_deployed_and_kept_within_three_errors(fitted):
    totals = [point.total(ERRORS) for point in fitted.front_ if point.coverage == 1]
    promised = fitted.point_.total(ERRORS)
    assert promised.value == min(one.value for one in totals)
    assert promised.basis == "expected"
    assert abs(promised.value - seen_total(fitted)) < 3 * promised.standard_error


def test_everyone_is_answered_unless_a_rejection_has_a_cost(fitted):
    assert all(point.coverage in (0, 1) for point in fitted.front_)
    may_reject = classifier(error_cost=ERRORS, reject_cost=12).fit(*clinic(600, 0))
    assert 0 < may_reject.point_.coverage < 1
    assert seen_total(may_reject) < seen_total(fitted)


def test_labels_are_those_of_least_expected_cost_and_probabilities_are_plain(fitted):
    table, labels = clinic(20_000, 2)
    probabilities = fitted.predict_proba(table)
    costs = np.array([[0, ERRORS["ill"]], [ERRORS["well"], 0]])
    cheapest = fitted.classes_[cheapest_labels(probabilities, costs)]
    assert (fitted.predict(table) == cheapest).all()
    # Models are fitted on rows weighted by what errors cost, where half of all are ill.
    assert probabilities[:, 0].mean() == pytest.approx((labels == "ill").mean(), abs=0.02)


def test_a_case_is_decided_like_a_row_of_a_table(fitted):
    table, _ = clinic(50, 3)
    decisions = fitted.decide(table)
    for i, row in enumerate(table.to_dict("records")):
        case = fitted.cascade_.open()
        while case.needs:
            case.give({name: row[name] for name in case.needs})
        assert case.decision.label == decisions.labels[i]
        assert case.decision.confidence == pytest.approx(decisions.confidence[i])


def test_files_keep_the_costs(fitted, tmp_path):
    table, _ = clinic(200, 3)
    fitted.cascade_.save(tmp_path / "cascade.json")
    fitted.front_.save(tmp_path / "front.json")
    front = ParetoFront.load(tmp_path / "front.json")
    assert front.money == fitted.front_.money
    assert [one.total(ERRORS) for one in front] == [one.total(ERRORS) for one in fitted.front_]
    same = front.position(front.select())
    for cascade in (Cascade.load(tmp_path / "cascade.json"), front.cascade(same)):
        assert (cascade.decide(table).labels == fitted.decide(table).labels).all()
        assert (cascade.decide(table).confidence == fitted.decide(table).confidence).all()


def test_limits_choose_the_lowest_total_within_them(fitted):
    point = fitted.front_.select(max_cost=5)
    others = [one for one in fitted.front_ if one.cost <= 5 and one.coverage == 1]
    assert point.total(ERRORS).value == min(one.total(ERRORS).value for one in others)


def test_no_point_is_beaten_in_coverage_losses_and_cost(fitted):
    money = fitted.front_.money
    figures = [(money.mean(one.by_class), one.cost) for one in fitted.front_ if one.coverage == 1]
    for one in figures:
        assert not any(a <= one[0] and b <= one[1] and (a, b) != one for a, b in figures)


def test_a_matrix_decides_labels_also_if_errors_about_a_class_differ():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 900)
    table = pd.DataFrame({"x": truth + rng.normal(0, 0.7, 900), "noise": rng.normal(size=900)})
    matrix = np.array([[0, 1, 30], [1, 0, 1], [30, 1, 0]])
    clf = EMSCOClassifier(
        {"x": 0.1, "noise": 0.1},
        error_cost=matrix,
        estimator="logistic",
        generations=5,
        random_state=0,
        branches=1,
    ).fit(table, truth)
    labels = cheapest_labels(clf.predict_proba(table), matrix.astype(float))
    assert (clf.decide(table).labels == labels).all()
    # A mistake between the outer classes is so dear that nearly everyone is called 1.
    assert (labels == 1).mean() > 0.5


def test_cheap_errors_make_nothing_the_best_buy():
    with pytest.warns(UserWarning, match="buys nothing"):
        clf = classifier(error_cost=1).fit(*clinic(300, 0))
    assert clf.design_.buys_nothing


def test_thresholds_expect_an_error_of_the_same_cost_for_each_label():
    stakes = np.array([300.0, 20.0])
    grid = ThresholdGrid.searched(np.ones(2), 100, np.zeros(2), stakes=stakes)
    for thresholds in grid.thresholds[list(grid.early)]:
        expected = []
        for own in range(2):
            weighted = np.zeros(2)
            weighted[[own, 1 - own]] = thresholds[own], 1 - thresholds[own]
            plain = weighted / stakes
            expected.append((plain / plain.sum())[1 - own] * stakes[1 - own])
        if (thresholds < 0.999).all():  # the highest there is
            assert expected[0] == pytest.approx(expected[1], rel=0.06)


def test_stakes_are_what_errors_cost_beyond_correct_labels():
    costs = ErrorCosts.from_parameters([[1, 3, 5], [0, 0, 0], [2, 2, 2]], 0, (0, 1, 2))
    assert costs.stakes.tolist() == [3, 0.003, 0.003]
    assert ErrorCosts.from_parameters(0, 0, (0, 1)).stakes.tolist() == [1, 1]


def test_designs_that_branch_are_judged_by_money_too():
    rng = np.random.default_rng(0)
    n_rows = 900
    ward = rng.integers(0, 2, n_rows)
    ill = rng.random(n_rows) < 0.3
    blood = np.where(ward == 0, ill, 0.5) + rng.normal(0, 0.2, n_rows)
    scan = np.where(ward == 1, ill, 0.5) + rng.normal(0, 0.2, n_rows)
    table = pd.DataFrame({"ward": ward, "blood": blood, "scan": scan})
    labels = np.where(ill, "ill", "well")
    clf = EMSCOClassifier(
        {"ward": 0.1, "blood": 5, "scan": 5},
        error_cost=ERRORS,
        estimator="logistic",
        generations=5,
        random_state=0,
    ).fit(table[:600], labels[:600])
    assert not clf.design_.is_chain
    seen = clf.evaluate(table[600:], labels[600:])
    assert abs(clf.point_.total(ERRORS).value - seen.total.seen.value) < 4
    # Everyone buys one of the two tests, and hardly anyone both.
    assert seen.cost < 6


def test_one_label_for_everyone_is_the_one_that_a_matrix_makes_cheapest():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 300, p=[0.45, 0.45, 0.1])
    table = pd.DataFrame({"x": rng.normal(size=300), "noise": rng.normal(size=300)})
    # The third label costs next to nothing, whatever the class.
    matrix = [[0, 100, 1], [100, 0, 1], [40, 40, 0]]
    with pytest.warns(UserWarning, match="buys nothing"):
        clf = EMSCOClassifier(
            error_cost=matrix, estimator="logistic", generations=5, random_state=0, branches=1
        ).fit(table, truth)
    assert clf.design_.buys_nothing
    assert (clf.decide(table).labels == 2).all()
    assert clf.point_.total(matrix).value == pytest.approx(0.9, abs=0.05)


def test_rejecting_everyone_takes_part_in_every_choice_if_it_has_a_price():
    with pytest.warns(UserWarning, match="rejects everyone"):
        clf = classifier(error_cost=ERRORS, reject_cost=0.5).fit(*clinic(300, 0))
    assert clf.front_.select() is clf.point_
    assert clf.front_.select(max_cost=3).rejects_everyone


def test_limits_on_mean_costs_hold_on_plain_rows():
    clf = classifier(error_cost={"ill": 300, "well": 1}, constraints={"max_mean_cost": 6})
    clf.fit(*clinic(600, 0))
    assert max(point.cost for point in clf.front_) <= 6


def test_without_costs_of_labels_rows_get_the_likeliest_label_of_plain_rows(fitted):
    table, _ = clinic(500, 4)
    likely = fitted.cascade_.with_error_costs(None)
    probabilities = likely.predict_proba(table)
    decisions = likely.decide(table)
    assert (decisions.labels == fitted.classes_[probabilities.argmax(axis=1)]).all()
    assert decisions.confidence == pytest.approx(probabilities.max(axis=1))
