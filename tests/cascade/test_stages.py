"""Stages: thresholds of their own and labels of least cost, the same on every way of deciding."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pandas as pd
import pytest
from support.documents import assert_same_cascade, saved
from support.handmade import (
    NAMES,
    assert_same_bits,
    make_averaged_cascade,
    make_cascade,
    make_front_of_thresholds,
    make_rich_cascade,
    make_rich_rows,
    make_rows,
    with_thresholds,
)

from emsco import Cascade, EMSCOClassifier, FileError

N_ROWS = 60
ROWS = make_rows(N_ROWS)
LADDERS = {
    "falling": (0.9, 0.75, 0.6),
    "rising": (0.6, 0.75, 0.9),
    "all answered": (0.9, 0.8, 0),
    "by class": ({0: 0.6, 1: 0.9}, 0.8, {0: 0.7, 1: 0}),
}
ladders = pytest.mark.parametrize("thresholds", LADDERS.values(), ids=LADDERS)


def plain_decisions(cascade, rows):
    """Exit stage (None: rejected), likeliest class and confidence, stage by stage in NumPy."""
    n_rows, n_stages = len(rows), cascade.n_stages
    stage, winner = np.full(n_rows, n_stages), np.zeros(n_rows, dtype=int)
    confidence, accepted = np.zeros(n_rows), np.zeros(n_rows, dtype=bool)
    labels = cascade.classes.tolist()
    for j, threshold in enumerate(cascade.thresholds):
        least = np.array(
            [threshold[label] if isinstance(threshold, dict) else threshold for label in labels]
        )
        p = cascade.stages.probabilities(rows, j)
        going = ~accepted
        winner[going], confidence[going] = p.argmax(axis=1)[going], p.max(axis=1)[going]
        leaves = going & (p.max(axis=1) >= least[p.argmax(axis=1)])
        if cascade.encoding.gaps == "skip":
            leaves &= ~np.isnan(rows[:, list(cascade.stages.inputs[j])]).any(axis=1)
        stage[leaves] = j + 1
        accepted |= leaves
    return cascade.classes[winner], accepted, confidence, stage


def assert_all_agree(cascade, X, y):
    """Compare decide, evaluate, predict_proba, cases, run and arun with the plain reference."""
    rows = cascade.encoding.rows(X)
    guesses, accepted, confidence, stage = plain_decisions(cascade, rows)
    decisions = cascade.decide(X)
    assert decisions.guesses.tolist() == guesses.tolist()
    assert decisions.accepted.tolist() == accepted.tolist()
    assert decisions.stage.tolist() == stage.tolist()
    assert decisions.confidence.tobytes() == confidence.tobytes()
    assert decisions.cost.tolist() == cascade.stage_costs[stage - 1].tolist()

    exits = cascade.evaluate(X, y).exits
    left = [(accepted & (stage == j + 1)).sum() for j in range(cascade.n_stages)]
    assert [one.n_rows for one in exits] == [*left, (~accepted).sum()]
    proba = cascade.predict_proba(X)
    assert proba.max(axis=1).tolist() == confidence.tolist()

    table = pd.DataFrame(X)

    def acquire(names, ids):
        return table.loc[list(ids), names]

    async def acquire_later(names, ids):
        return acquire(names, ids)

    ids = list(range(len(table)))
    reasons = [case_reason(cascade, table, i) for i in ids]
    for one in (
        cascade.run(ids, acquire),
        asyncio.run(cascade.arun(ids, acquire_later, batch_size=7)),
    ):
        assert_same_bits(one, decisions)
        assert one.reasons.tolist() == reasons
    return decisions


def case_reason(cascade, table, i):
    """Decide one row as a case, with a break after each stage; return its reason."""
    case, record = cascade.open(), table.loc[i].to_dict()
    while case.needs:
        case = cascade.resume(case.to_json())
        case.give({name: record[name] for name in case.needs})
    expected = cascade.decide(table.loc[[i]])
    now = case.decision
    assert (now.accepted, now.stage) == (expected.accepted[0], expected.stage[0])
    assert now.confidence == expected.confidence[0]
    assert now.label == (expected.guesses[0] if now.accepted else None)
    return now.reason


def named(cascade, n_rows=N_ROWS):
    X = pd.DataFrame(make_rows(n_rows), columns=cascade.design.names)
    return X, np.random.default_rng(1).integers(0, 2, size=n_rows)


class TestDeciding:
    @ladders
    @pytest.mark.parametrize("make", [make_cascade, make_averaged_cascade])
    def test_two_classes_agree_with_numpy(self, make, thresholds):
        cascade = with_thresholds(make(), thresholds)
        assert {*assert_all_agree(cascade, *named(cascade)).stage} >= {2, 3}

    @pytest.mark.parametrize("last", [0.75, 0, {"ill": 0.6, "unclear": 0, "well": 0.9}])
    @pytest.mark.parametrize("gaps", ["impute", "skip"])
    def test_three_classes_with_gaps_agree_with_numpy(self, gaps, last):
        cascade = with_thresholds(make_rich_cascade(gaps=gaps), (0.8, last))
        X = make_rich_rows(N_ROWS).astype({"smokes": object})
        X.loc[::7, "sodium"] = np.nan
        y = np.random.default_rng(2).choice(cascade.classes, size=N_ROWS)
        result = assert_all_agree(cascade, X, y)
        assert {*result.stage} == {1, 2}

    @pytest.mark.parametrize("gaps", ["impute", "skip"])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_averaged_boosted_trees_agree_with_numpy(self, n_classes, gaps):
        rng = np.random.default_rng(n_classes)
        X = pd.DataFrame(rng.normal(size=(240, 3)), columns=["age", "pulse", "scan"])
        y = (X["age"] + X["pulse"] + X["scan"] > 0).astype(int) + (n_classes > 2) * (X["age"] > 1)
        X.loc[::9, "scan"] = np.nan
        clf = EMSCOClassifier(
            estimator="boosting",
            gaps=gaps,
            min_confidence=0.7,
            max_stages=2,
            generations=2,
            population_size=8,
            cv=2,
            constraints={"first": ["age"], "together": [["pulse", "scan"]]},
            random_state=0,
        ).fit(X, y)
        point = next(point for point in clf.front_ if point.n_stages == 2)
        cascade = with_thresholds(clf.front_.cascade(point), (0.95, 0))
        assert cascade.n_models == 2
        result = assert_all_agree(cascade, X[:60], y[:60].to_numpy())
        lacks = X[:60].isna().any(axis=1).to_numpy() & (gaps == "skip")
        assert result.accepted[~lacks].all()
        assert not result.accepted[lacks & (result.stage == 2)].any()

    def test_thresholds_that_all_stages_share_decide_as_min_confidence_does(self):
        plain = make_cascade(min_confidence=0.85)
        shared = with_thresholds(make_cascade(min_confidence=0.6), (0.85,) * 3)
        assert_same_bits(plain.decide(ROWS), shared.decide(ROWS))
        assert shared.stages.identity == plain.stages.identity
        assert shared.thresholds == plain.thresholds == (0.85,) * 3

    def test_a_last_threshold_of_0_labels_everyone_and_says_so(self):
        cascade = with_thresholds(make_cascade(), (0.95, 0.9, 0))
        decisions = cascade.run(range(N_ROWS), lambda names, ids: named(cascade)[0].loc[ids, names])
        assert decisions.accepted.all()
        last = decisions.stage == 3
        assert {*decisions.reasons[last]} == {"last stage answers all"}
        assert {*decisions.reasons[~last]} == {"sure at stage 1", "sure at stage 2"}
        assert cascade.evaluate(*named(cascade)).coverage == 1

    def test_a_row_that_skips_the_last_stage_is_rejected_even_at_0(self):
        cascade = with_thresholds(make_rich_cascade(gaps="skip"), (1, 0))
        case = cascade.open().give({"age": 1.0, "ward": "A"})
        case.give({"sodium": None, "potassium": 1.0})
        assert not case.decision.accepted
        assert case.decision.reason == "never sure; values are missing at other stages"

    def test_a_row_that_skips_every_stage_is_rejected_for_its_missing_values(self):
        cascade, values = make_rich_cascade(gaps="skip"), make_rich_rows(3)
        values.loc[0, ["age", "sodium"]] = np.nan
        case = cascade.open()
        while case.needs:
            case.give(values.loc[0, list(case.needs)].to_dict())
        assert case.decision.reason == "values are missing at every stage"
        decisions = cascade.run([0], lambda names, ids: values.loc[ids, names])
        assert decisions.reasons.tolist() == ["values are missing at every stage"]

    @pytest.mark.parametrize(
        ("thresholds", "reason"),
        [
            ((0, 0.9, 0.9), "stage 1 answers all"),
            (({0: 0, 1: 0}, 0.9, 0.9), "stage 1 answers all"),
            (({0: 0, 1: 1}, 1, 1), "stage 1 gives 0 at any confidence"),
            ((0.5, 0.9, 0.9), "sure at stage 1"),
        ],
    )
    def test_reasons_tell_whether_confidence_was_needed(self, thresholds, reason):
        cascade = with_thresholds(make_cascade(), thresholds)
        said = {case_reason(cascade, named(cascade)[0], i) for i in range(20)}
        assert reason in said

    def test_a_case_of_other_thresholds_is_refused(self):
        one = with_thresholds(make_cascade(), (0.9, 0.8, 0.7))
        other = with_thresholds(make_cascade(), (0.9, 0.8, 0))
        with pytest.raises(ValueError, match="the case must be of this cascade"):
            other.resume(one.open().to_json())


class TestTrust:
    def test_a_stage_counts_the_rows_that_its_own_thresholds_let_through(self):
        cascade = with_thresholds(make_cascade(), (0.9, 0.6, 0))
        X, y = named(cascade)
        stage = cascade.decide(X).stage
        records = cascade.reliability(X, y)
        assert [one.rows.sum() for one in records] == [(stage >= j).sum() for j in (1, 2, 3)]

    def test_curves_have_the_threshold_only_if_there_is_a_single_one(self):
        cascade, (X, y) = make_cascade(), named(make_cascade())
        for thresholds, single in [
            ((0.8125, 0.8125, 0.8125), 0.8125),
            ((0.8125, 0.8125, 0.75), None),
            (({0: 0.8125, 1: 0.75},) * 3, None),
            ((0, 0, 0), None),
        ]:
            some = with_thresholds(cascade, thresholds)
            assert some.single_threshold == single
            assert (0.8125 in some.risk_coverage(X, y)[0].threshold) == (single is not None)


class TestFiles:
    @pytest.mark.parametrize("make", [make_cascade, make_averaged_cascade])
    @pytest.mark.parametrize("thresholds", [None, *LADDERS.values()])
    def test_a_cascade_comes_back_with_its_thresholds(self, make, thresholds, tmp_path):
        cascade = with_thresholds(make(), thresholds)
        loaded = saved(cascade, tmp_path)
        assert_same_cascade(loaded, cascade)
        assert loaded.thresholds == cascade.thresholds
        assert_same_bits(loaded.decide(ROWS), cascade.decide(ROWS))

    def test_a_front_comes_back_with_the_thresholds_of_each_design(self, tmp_path):
        front = make_front_of_thresholds((0.9, {0: 0.6, 1: 0.8}, 0))
        loaded = saved(front, tmp_path)
        assert [point.design for point in loaded] == [point.design for point in front]
        assert loaded[1].design.thresholds is None
        assert loaded.position(front[0]) == 0
        assert_same_bits(loaded.cascade(0).decide(ROWS), front.cascade(0).decide(ROWS))


TWO = {0: 9, 1: 1}
THREE = [[0, 5, 1], [8, 0.5, 2], [1, 30, 0]]
CASES = {
    "one logit": (make_cascade(min_confidence=0.7), TWO),
    "averages": (make_averaged_cascade(min_confidence=0.6), TWO),
    "three classes, imputed": (make_rich_cascade(), THREE),
    "three classes, skipped": (make_rich_cascade("skip"), THREE),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def made(request):
    """A plain cascade, one that gives the cheapest labels, and a table of rows."""
    cascade, costs = request.param
    is_rich = len(cascade.classes) == 3
    rows = make_rich_rows(120) if is_rich else pd.DataFrame(make_rows(120), columns=NAMES)
    return cascade, cascade.with_error_costs(costs), rows


def test_labels_have_the_least_expected_cost_and_nothing_else_changes(made):
    plain, careful, rows = made
    before, decisions = plain.decide(rows), careful.decide(rows)
    for name in ("accepted", "stage", "cost"):
        np.testing.assert_array_equal(getattr(decisions, name), getattr(before, name))
    chances = careful.predict_proba(rows)
    expected = chances @ careful.label_costs
    assert decisions.guesses.tolist() == careful.classes[expected.argmin(axis=1)].tolist()
    places = np.searchsorted(careful.classes, decisions.guesses)
    np.testing.assert_array_equal(decisions.confidence, chances[np.arange(120), places])
    assert (decisions.guesses != before.guesses).any()
    assert (decisions.confidence <= before.confidence + 1e-12).all()


def test_cases_runs_and_tables_agree_to_the_last_bit(made):
    _, careful, rows = made
    table = careful.decide(rows)

    def buy(names, ids):
        return rows.iloc[list(ids)][list(names)]

    async def buy_later(names, ids):
        return buy(names, ids)

    ids = range(len(rows))
    driven = careful.run(ids, buy, batch_size=7)
    awaited = asyncio.run(careful.arun(ids, buy_later))
    assert_same_bits(driven, table)
    assert_same_bits(awaited, table)
    for i in range(30):
        case = careful.open()
        while case.needs:
            case.give(rows.iloc[i][list(case.needs)].to_dict())
        now = case.decision
        assert (now.accepted, now.stage) == (table.accepted[i], table.stage[i])
        assert now.confidence == table.confidence[i]
        assert now.label == (table.guesses[i] if table.accepted[i] else None)


def test_a_case_says_that_its_label_costs_least():
    careful = make_cascade(min_confidence=0.5).with_error_costs({0: 1, 1: 1e6})
    case = careful.open().give({"age": 0.1, "pulse": 0.2})
    assert case.decision.label == 1
    assert case.decision.reason == "leaves at stage 1, where 1 costs least"
    with pytest.raises(FileError):
        make_cascade(min_confidence=0.5).resume(case.to_json())


def test_a_row_does_not_depend_on_its_neighbours(made):
    _, careful, rows = made
    whole = careful.decide(rows)
    alone = [careful.decide(rows.iloc[[i]]) for i in range(20)]
    assert [one.guesses[0] for one in alone] == whole.guesses[:20].tolist()
    assert [one.confidence[0] for one in alone] == whole.confidence[:20].tolist()


def test_one_number_leaves_the_likeliest_labels():
    plain, rows = make_cascade(), make_rows(100)
    same = plain.with_error_costs(7).decide(rows)
    assert same.guesses.tolist() == plain.decide(rows).guesses.tolist()
    back = plain.with_error_costs(TWO).with_error_costs(None)
    assert_same_bits(back.decide(rows), plain.decide(rows))


def test_files_keep_the_costs_of_labels(made, tmp_path):
    plain, careful, rows = made
    careful.save(tmp_path / "careful.json")
    again = Cascade.load(tmp_path / "careful.json")
    np.testing.assert_array_equal(again.label_costs, careful.label_costs)
    assert_same_bits(again.decide(rows), careful.decide(rows))
    plain.save(tmp_path / "plain.json")
    assert "label_costs" not in json.loads((tmp_path / "plain.json").read_text())
    assert Cascade.load(tmp_path / "plain.json").label_costs is None


def test_evaluations_count_the_labels_that_are_given():
    plain, rows = make_cascade(min_confidence=0.55), make_rows(200)
    truth = (np.random.default_rng(0).random(200) < plain.predict_proba(rows)[:, 1]).astype(int)
    costs = {"error_cost": {0: 1, 1: 40}, "reject_cost": 2}
    before = plain.evaluate(rows, truth, **costs)
    evaluation = plain.with_error_costs(costs["error_cost"]).evaluate(rows, truth, **costs)
    assert (evaluation.coverage, evaluation.cost) == (before.coverage, before.cost)
    assert evaluation.by_class.recall[1] > before.by_class.recall[1]
    assert evaluation.total.value < before.total.value


def test_reliability_is_that_of_the_likeliest_class(made):
    plain, careful, rows = made
    truth = np.random.default_rng(1).choice(plain.classes, len(rows))
    for some, other in zip(
        plain.reliability(rows, truth), careful.reliability(rows, truth), strict=True
    ):
        assert some.to_dict() == other.to_dict()
