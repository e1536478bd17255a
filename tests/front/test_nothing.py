"""Buying nothing is a design: one label for everyone, or none, at no cost."""

import asyncio
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.documents import body_of, load_body
from support.services import serving

from emsco import Cascade, DeploymentWarning, EMSCOClassifier, FileError, Monitor, ParetoFront
from emsco.errors import DataWarning
from emsco.front.doubts import doubts_about
from emsco.front.rules import RULES, preference_in_words
from emsco.models.stage_models import PriorModels

pytestmark = pytest.mark.usefixtures("all_bags", "without_fsync")

SETTINGS = {
    "costs": {"a": 1.0, "b": 2.0, "c": 4.0},
    "estimator": "logistic",
    "max_stages": 2,
    "cv": 3,
    "evaluation_cost": 0.5,
    "delays": {"a": 1, "c": 5},
    "random_state": 0,
}


def _rows(n_rows=300, seed=0):
    """Ill is a third of the rows; three columns tell a little about it."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    ill = X.sum(axis=1) + rng.normal(size=n_rows) > 0.9
    return X, np.where(ill, "ill", "well")


@pytest.fixture(scope="module")
def clf():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EMSCOClassifier(**SETTINGS).fit(*_rows())


@pytest.fixture(scope="module")
def front(clf):
    return clf.front_


@pytest.fixture(scope="module")
def answers(front):
    """Everyone gets the commonest class."""
    return front[0]


@pytest.fixture(scope="module")
def rejects(front):
    """Nobody gets a label."""
    return front[-1]


@pytest.fixture(params=[0, -1], ids=["answers", "rejects"])
def place(request):
    return request.param


# What a fit adds


def test_a_front_begins_and_ends_with_a_design_that_buys_nothing(front, answers, rejects):
    nothing = [point for point in front if point.design.buys_nothing]
    assert nothing == [answers, rejects]
    y = _rows()[1]
    assert (answers.coverage, answers.cost) == (1, 0)
    assert answers.accuracy == pytest.approx((y == "well").mean())
    assert (rejects.coverage, rejects.accuracy, rejects.cost) == (0, 0, 0)
    assert (answers.shortlisted, rejects.shortlisted) == (True, False)


def test_they_are_judged_as_others_are(front, answers, rejects):
    always = front.references[0]
    assert answers.by_class == always.by_class
    assert answers.exit_confidence[0] == pytest.approx(answers.accuracy)
    assert answers.versus_everything.values[2] == pytest.approx(-front.costs.total)
    assert rejects.by_class.counts[0][-1] == always.by_class.rows[0]
    assert rejects.versus_everything.values[0] == -1
    assert not answers.is_informative
    assert not rejects.is_informative
    assert answers.mean_delay == rejects.worst_delay == 0


def test_they_are_expected_to_do_as_scored(answers, rejects):
    expected = answers.expected
    assert expected.figures == answers.objectives
    assert expected.coverage.low == expected.coverage.high == 1
    assert expected.accuracy.low < answers.accuracy < expected.accuracy.high
    assert rejects.expected.figures == rejects.objectives


def test_groups_widen_what_is_expected():
    X, y = _rows(120)
    settings = {**SETTINGS, "cv": "auto"}
    grouped = EMSCOClassifier(**settings).fit(X, np.sort(y), groups=np.arange(120) // 10)
    estimate = grouped.front_[0].expected.accuracy
    alone = EMSCOClassifier(**settings).fit(X, np.sort(y)).front_[0].expected.accuracy
    assert estimate.high - estimate.low > 2 * (alone.high - alone.low)


def test_a_proven_front_stays_proven_and_counts_are_those_of_the_search(front, answers):
    assert front.proven
    assert answers.n_tied == 1
    assert any(one.n_tied > 1 for one in front)


@pytest.mark.parametrize(
    ("changes", "n_added"),
    [
        ({"always_answer": True}, 1),
        ({"min_confidence": 0.9}, 1),  # a label that is not so sure is none
        ({"min_confidence": {"ill": 0.9, "well": 0.55}}, 2),
        ({"reject_below": 0.55}, 2),
        ({"allow_exclusion": False}, 0),
        ({"constraints": {"first": ["a"]}}, 0),
        ({"costs": {"a": 0, "b": 2, "c": 4}}, 2),  # a free feature need not be bought
        ({"search": "paper", "delays": None}, 0),
    ],
)
def test_what_must_be_bought_or_answered_decides_which_there_are(changes, n_added):
    fitted = EMSCOClassifier(**{**SETTINGS, "generations": 2, **changes}).fit(*_rows(120))
    nothing = [point for point in fitted.front_ if point.design.buys_nothing]
    assert len(nothing) == n_added
    if "always_answer" in changes:
        assert nothing[0].coverage == 1
    if changes.get("min_confidence") == 0.9:
        assert nothing[0].rejects_everyone


def test_weights_and_balanced_accuracy_count():
    X, y = _rows(120)
    weights = np.where(y == "ill", 5.0, 1.0)
    weighted = EMSCOClassifier(**SETTINGS, class_weight="balanced").fit(X, y, weights)
    answers = weighted.front_[0]
    share = weights[y == "ill"].sum() / weights.sum()
    assert answers.accuracy == pytest.approx(share)
    assert weighted.front_.cascade(answers).open().decision.confidence == pytest.approx(share)
    balanced = EMSCOClassifier(**SETTINGS, metric="balanced_accuracy").fit(X, y)
    assert [balanced.front_[i].accuracy for i in (0, -1)] == [0.5, 0]


# Deciding


def test_a_cascade_that_buys_nothing_decides_rows_at_once(front, answers):
    cascade, X = front.cascade(answers), _rows(7)[0]
    for table in (X, X.to_numpy(), X[["c"]], pd.DataFrame({"other": range(7)})):
        decisions = cascade.decide(table)
        assert decisions.labels.tolist() == ["well"] * 7
        assert set(decisions.stage.tolist()) == {1}
        assert not decisions.cost.any()
    assert cascade.decide(X, partial=True).labels.tolist() == ["well"] * 7
    assert repr(cascade) == "Cascade(buys nothing, answers everyone)"
    assert cascade.columns == ()
    assert cascade.predict_proba(X).sum(axis=1) == pytest.approx(1)


def test_a_case_is_decided_when_it_is_opened(front, answers, rejects):
    case = front.cascade(answers).open(budget=0)
    assert case.needs == ()
    assert case.decision.label == "well"
    assert case.decision.reason == "nothing is bought: 'well' is the commonest class"
    assert (case.decision.stage, case.decision.cost, case.decision.delay) == (1, 0, 0)
    assert front.cascade(answers).resume(case.to_json()).decision == case.decision
    case = front.cascade(rejects).open()
    assert not case.decision.accepted
    assert case.decision.reason == "nothing is bought: everyone is rejected"
    assert front.cascade(rejects).resume(case.to_json()).decision == case.decision


def test_rows_to_buy_for_are_decided_without_a_purchase(front, place):
    def acquire(names, ids):
        raise AssertionError((names, ids))

    cascade = front.cascade(front[place])
    decisions = cascade.run(["x", "y"], acquire)
    later = asyncio.run(cascade.arun(["x", "y"], acquire))
    assert decisions.accepted.tolist() == later.accepted.tolist() == [place == 0] * 2
    assert decisions.reasons.tolist() == later.reasons.tolist()
    assert decisions.cost.sum() == 0
    assert len(cascade.run([], acquire)) == 0


def test_it_gives_the_label_of_least_expected_cost(front, answers):
    careful = front.cascade(answers).with_error_costs({"ill": 50, "well": 1})
    decision = careful.open().decision
    assert decision.label == "ill"
    assert decision.reason == "nothing is bought: 'ill' is what costs least"
    assert careful.decide(_rows(3)[0]).labels.tolist() == ["ill"] * 3


def test_it_can_be_evaluated_and_monitored(front, place):
    X, y = _rows(80, seed=1)
    cascade, point = front.cascade(front[place]), front[place]
    seen = cascade.evaluate(X, y, error_cost=10, reject_cost=3)
    assert (seen.coverage, seen.cost) == (point.coverage, 0)
    assert seen.total.value == pytest.approx(10 * (y == "ill").mean() if place == 0 else 3)
    assert seen.intervals.cost == (0, 0)
    watched = Monitor(cascade, min_coverage=0.5).update(cascade.decide(X), y)
    assert watched.alarm == (place == -1)
    assert len(cascade.reliability(X, y)) == 1
    assert front.with_seen(X, y).seen[place].cost == 0


def test_a_service_decides_a_case_when_it_is_opened(front, answers, tmp_path):
    with serving(front.cascade(answers), tmp_path / "cases.sqlite") as client:
        status, state = client.post("/cases")
        assert status in (200, 201), state
        assert (state["needs"], state["label"]) == ([], "well")
        assert client.get("/cascade")[1]["stages"][0]["buys"] == []
        assert client.samples()["emsco_cases_cost_total"] == 0


# Choosing


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_takes_it_where_features_help(front, rule):
    assert not front.prefer(rule).design.buys_nothing


def test_limits_take_it_only_if_no_other_is_left(front, answers):
    cheapest = min(one.cost for one in front if not one.design.buys_nothing)
    assert front.select(max_cost=cheapest).cost == cheapest
    for rule in (None, *RULES):
        assert front.select(max_cost=cheapest / 2, rule=rule) == answers
    assert front.best_first()[-2:] == [0, len(front) - 1]


def test_the_economical_rule_takes_it_if_everything_is_no_better():
    X = _rows(150)[0]
    y = np.random.default_rng(3).permutation(np.repeat(["ill", "well"], [9, 141]))
    told = "buys nothing and answers everyone with 'well', because no design is better than"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        with pytest.warns(DeploymentWarning, match=told):
            fitted = EMSCOClassifier(**SETTINGS).fit(X, y)
    assert fitted.design_.buys_nothing
    why = preference_in_words("economical", fitted.point_)
    assert why == "the cheapest that answers everyone as well as buying everything (economical)"


def test_money_takes_what_costs_least_in_all(front, answers, rejects):
    assert front.select(error_cost=0.5, reject_cost=9) == answers
    assert front.select(error_cost=9, reject_cost=0.4) == rejects
    assert not front.select(error_cost=40, reject_cost=20).design.buys_nothing
    assert answers.total(10, 3).value == pytest.approx(10 * (1 - answers.accuracy))
    assert str(rejects.total(10, 3)) == "3 (3 to 3): features 0, errors 0, rejections 3"
    by_class = rejects.by_class
    share = by_class.rows[0] / by_class.rows.sum()
    dear = rejects.total(10, {"ill": 6, "well": 2})
    assert dear.value == pytest.approx(6 * share + 2 * (1 - share))


def test_without_a_price_of_rejections_nobody_is_rejected_for_nothing(front, rejects):
    everyone = [point for point in front if point.coverage == 1]
    answering = replace(front, points=(*everyone, rejects))
    assert answering.select(error_cost=40).coverage == 1
    assert answering.select(error_cost=40, reject_cost=0) == rejects


def test_the_cheapest_label_for_everyone_is_counted(front, answers):
    costs = {"error_cost": {"ill": 50, "well": 0.01}, "reject_cost": 40}
    assert front.select(**costs) != answers
    assert front.select(**costs, cheapest_label=True) == answers
    best = answers.total(**costs, cheapest_label=True)
    assert best.value == pytest.approx(0.01 * answers.accuracy)
    for point in front:
        likely = point.total(**costs)
        assert point.total(**costs, cheapest_label=True).value <= likely.value


def test_who_deploys_it_is_told_the_price_at_which_features_would_pay(front):
    costs = front.error_costs(0.5, 9)
    (doubt,) = doubts_about(front, front[0], costs=costs)
    words = r"At about (\S+) times these costs of errors and rejections, design (\d+) would pay\."
    times, number = re.search(words, str(doubt)).groups()
    buying = [one for one in front if not one.design.buys_nothing]
    for factor, pays in ((0.9 * float(times), False), (1.1 * float(times), True)):
        at = front.error_costs(0.5 * factor, 9 * factor)
        lowest = min(one.total_with(at).value for one in buying)
        assert (lowest < front[0].total_with(at).value) == pays
        assert (front[int(number)].total_with(at).value < front[0].total_with(at).value) == pays
    # Where nobody has cheaper errors, no price helps.
    wrong = (replace(one, correct_exits=(0,) * one.n_stages, expected=None) for one in front[1:-1])
    useless = replace(front, points=(front[0], *wrong))
    (doubt,) = doubts_about(useless, useless[0], costs=costs)
    assert str(doubt).endswith("would not change that: none of them has cheaper errors.")


def test_it_can_be_certified_and_comes_last(front, answers):
    X, y = _rows(200, seed=4)
    certificate = front.certify(X, y, max_cost=100, min_coverage=0.1, order=answers)
    assert certificate.deployed == answers
    assert certificate.covers(front.cascade(answers))
    planned = front.certify(X, y, max_cost=0.01, min_coverage=0.9)
    assert planned.order[-1] == 0


# Files


def test_cascades_and_fronts_come_back(front, place, tmp_path):
    cascade = front.cascade(front[place]).with_error_costs({"ill": 5, "well": 1})
    cascade.save(tmp_path / "cascade.json")
    loaded = Cascade.load(tmp_path / "cascade.json")
    assert loaded.stages.identity == cascade.stages.identity
    assert loaded.open().decision == cascade.open().decision
    front.save(tmp_path / "front.json")
    again = ParetoFront.load(tmp_path / "front.json")
    assert again.points == front.points
    assert isinstance(again.models.of_points[place], PriorModels)
    assert (
        again.cascade(place % len(front)).stages.identity
        == front.cascade(front[place]).stages.identity
    )
    first = front.cascade(1)
    first.save(tmp_path / "first.json")  # has no shares of classes
    assert "class_shares" not in (tmp_path / "first.json").read_text()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("class_shares", [0.5, 0.6]),
        ("class_shares", [1.5, -0.5]),
        ("class_shares", [1.0]),
        ("class_shares", None),
        ("parts", [{}]),
        ("stages", [{"buys": ["a"], "thresholds": 0, "models": []}]),
        ("stages", [{"buys": [], "thresholds": 0, "models": [0]}]),
        ("stages", [{"buys": [], "thresholds": 0, "models": []}] * 2),
    ],
)
def test_hostile_files_are_refused(front, answers, tmp_path, name, value):
    body = body_of(front.cascade(answers))
    with pytest.raises(FileError):
        load_body(tmp_path, Cascade, {**body, name: value})
