"""Cascades that branch: the same decision on every way of deciding, and the path it took."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.handmade import (
    NAMES,
    PROTOCOL,
    assert_same_bits,
    make_cascade,
    make_protocol,
    make_rows,
)

from emsco import Evaluation, FeatureCosts, Monitor
from emsco.data.encoding import Encoding
from emsco.designs.design import Design
from emsco.designs.questions import Question

ROWS = make_rows(400, seed=3)
TABLE = pd.DataFrame(ROWS, columns=NAMES)


def gone_through(cascade, row):
    """A case of a row that may lack values, as far as it goes."""
    case = cascade.open()
    while case.needs and all(row[name] == row[name] for name in case.needs):
        case.give({name: row[name] for name in case.needs})
    return case


def followed_one_by_one(cascade, rows):
    """Last stage, guess, confidence and acceptance of each row, by the tree itself in Python."""
    results = []
    for row in rows:
        j, is_sure = 0, False
        while j is not None and not is_sure:
            p = cascade.stages.probabilities(row[None], j)[0]
            known = j, int(p.argmax()), float(p.max())
            is_sure = known[2] >= cascade.thresholds[j]
            if j == 0:
                j = 1 if row[0] <= 0.2 else 6
            elif j == 1:
                j = 2 if row[1] <= -0.5 else 3 if known[1] == 1 else 4
            else:
                j = {4: 5, 6: 7}.get(j)
        results.append((*known, is_sure))
    return results


@pytest.mark.parametrize("n_models", [1, 3])
def test_rows_go_through_the_tree_as_its_questions_say(n_models):
    cascade = make_protocol(n_models=n_models)
    decisions = cascade.decide(TABLE)
    last, winner, confidence, accepted = zip(*followed_one_by_one(cascade, ROWS), strict=True)
    assert (decisions.stage - 1).tolist() == list(last)
    assert decisions.guesses.tolist() == list(winner)
    assert decisions.accepted.tolist() == list(accepted)
    np.testing.assert_allclose(decisions.confidence, confidence, rtol=1e-12)
    assert {3, 4, 6, 8} <= {*decisions.stage.tolist()}
    assert not decisions.accepted.all()


def test_a_case_buys_what_its_path_needs_and_says_which_path_it_took():
    cascade = make_protocol()
    decisions = cascade.decide(TABLE)
    for i, row in enumerate(TABLE.to_dict("records")[:100]):
        case = gone_through(cascade, row)
        one = case.decision
        assert (one.stage, one.accepted) == (decisions.stage[i], decisions.accepted[i])
        assert one.cost == decisions.cost[i]
        stages = [int(step.split()[1]) for step in one.path if step.startswith("stage ")]
        assert stages == [j + 1 for j in PROTOCOL.path(one.stage - 1)]
        assert ("age ≤ 0.2" in one.path) == (2 <= one.stage <= 6)


def path_of(case):
    """The path of a decided case, as decisions have it."""
    return " → ".join(step.removeprefix("stage ") for step in case.decision.path)


def test_decisions_have_the_path_of_each_row_in_words():
    cascade = make_protocol()
    decisions = cascade.decide(TABLE)
    bought = cascade.run(range(len(TABLE)), lambda names, ids: TABLE.loc[ids, names])
    for i, row in enumerate(TABLE.to_dict("records")[:100]):
        case = gone_through(cascade, row)
        assert decisions.path[i] == bought.path[i] == path_of(case)
    assert "1 → age ≤ 0.2 → 2 → pulse ≤ -0.5 → 3" in decisions.path
    assert decisions.to_frame()["path"].tolist() == decisions.path.tolist()
    assert "none of these" in decisions._repr_html_()
    assert make_cascade().decide(ROWS).path is None


def test_a_row_that_waits_has_the_path_to_the_stage_it_waits_for():
    cascade = make_protocol()
    some = TABLE.where(np.random.default_rng(0).random(TABLE.shape) < 0.6)
    decisions = cascade.decide(some, partial=True)
    for i, row in enumerate(some.to_dict("records")):
        case = gone_through(cascade, row)
        assert decisions.path[i] == path_of(case)
    assert ((decisions.waits_for > 0) == decisions.waiting).all()
    over = cascade.run([0], lambda names, ids: TABLE.loc[ids, names], budget=0.5)
    assert over.path.tolist() == [""]


def test_a_part_that_buys_nothing_answers_by_what_is_bought_already():
    cascade = make_protocol()
    for i in np.flatnonzero(cascade.decide(TABLE).stage == 4)[:3]:
        case = cascade.open().give({"age": ROWS[i, 0]}).give({"pulse": ROWS[i, 1]})
        assert case.decision.reason == "stage 4 answers all"


@pytest.mark.parametrize("batch_size", [None, 7])
def test_rows_that_buy_as_they_go_are_decided_as_whole_tables_are(batch_size):
    cascade = make_protocol()
    whole, asked = cascade.decide(TABLE), []

    def acquire(names, ids):
        asked.append((tuple(names), len(ids)))
        return TABLE.loc[ids, names]

    async def acquire_later(names, ids):
        return TABLE.loc[ids, names]

    ids = list(range(len(TABLE)))
    bought = cascade.run(ids, acquire, batch_size=batch_size)
    later = asyncio.run(cascade.arun(ids, acquire_later, batch_size=batch_size))
    assert_same_bits(bought, replace(whole, ids=bought.ids, reasons=bought.reasons))
    assert_same_bits(later, bought)
    if batch_size is None:  # parts in turn, each asked only for its own rows
        assert [names for names, _ in asked] == [
            ("age",), ("pulse",), ("scan",), ("biopsy",), ("scan",), ("scan",), ("pulse",)
        ]  # fmt: skip


def test_a_row_over_budget_is_rejected_before_the_stage_on_its_own_path():
    cascade = make_protocol()
    bought = cascade.run(range(len(TABLE)), lambda names, ids: TABLE.loc[ids, names], budget=20)
    assert bought.cost.max() <= 20
    over = [reason for reason in bought.reasons if "past the budget" in reason]
    assert over
    assert all("stage 5 would cost" in reason for reason in over)


def test_rows_filled_in_part_go_as_far_as_they_can_on_their_own_path():
    cascade = make_protocol()
    some = TABLE.where(np.random.default_rng(0).random(TABLE.shape) < 0.6)
    decisions = cascade.decide(some, partial=True)
    for i, row in enumerate(some.to_dict("records")):
        case = gone_through(cascade, row)
        lacking = [name for name in case.needs if row[name] != row[name]]
        assert decisions.needs[i] == ";".join(lacking)
        assert decisions.stage[i] == case.decision.stage
        assert decisions.cost[i] == case.decision.cost


def test_a_missing_value_goes_the_usual_way_and_the_case_says_so():
    cascade = make_protocol()
    encoding = replace(cascade.encoding, gaps="impute")
    cascade = replace(cascade, encoding=encoding)
    row = {**TABLE.iloc[0].to_dict(), "age": None, "pulse": -1.0}
    case = cascade.open().give({"age": None})
    assert case.needs == ("pulse",)
    assert any("like most rows" in step for step in case.decision.path)
    assert cascade.decide(pd.DataFrame([row]).astype(float)).stage[0] in (2, 3, 4, 5, 6)


def test_categories_and_missing_values_can_be_asked_about():
    names = ("referral", "scan")
    table = pd.DataFrame({"referral": ["GP", "ward", None, "clinic"], "scan": [0.1, 0.2, 0.3, 0.4]})
    from emsco.cascade.branching import BranchReader

    encoding = Encoding.learn(table, FeatureCosts.resolve(None, names), gaps="impute")
    parts = Design.nothing(names, 0), Design((-1, 0), names, (0,)), Design.nothing(names, 0)
    design = Design.branching(
        Design((0, -1), names, (0.9,)),
        [Question("referral"), Question("referral", among=("GP", "clinic"))],
        parts,
        usual=1,
    )
    reader = BranchReader(design.branches[0], encoding, (0, 1))
    new = pd.DataFrame({"referral": ["GP", "ward", None, "abroad"], "scan": [0.0] * 4})
    nobody = np.zeros(4, dtype=int), np.ones(4)
    part, lacking = reader.parts(encoding.rows(new), *nobody)
    assert part.tolist() == [1, 2, 0, 1]
    assert lacking.tolist() == [False, False, False, True]


def test_the_label_of_least_cost_does_not_change_the_path():
    cascade = make_protocol()
    careful = cascade.with_error_costs({0: 1, 1: 5})
    some, other = cascade.decide(TABLE), careful.decide(TABLE)
    assert (some.stage == other.stage).all()
    assert (some.guesses != other.guesses).any()
    for i, row in enumerate(TABLE.to_dict("records")[:30]):
        case = gone_through(careful, row)
        assert case.decision.confidence == pytest.approx(other.confidence[i])


LABELS = np.random.default_rng(0).integers(0, 2, len(TABLE))


def test_figures_of_each_path_are_those_of_its_rows():
    cascade = make_protocol()
    decisions, found = cascade.decide(TABLE), cascade.evaluate(TABLE, LABELS)
    parts = {
        "age ≤ 0.2": decisions.stage == 2,
        "age ≤ 0.2 → pulse ≤ -0.5": decisions.stage == 3,
        "age ≤ 0.2 → else likeliest class is 1": decisions.stage == 4,
        "age ≤ 0.2 → none of these": (decisions.stage == 5) | (decisions.stage == 6),
        "age > 0.2": decisions.stage >= 7,
    }
    assert list(found.by_path) == list(parts)
    for path, here in parts.items():
        one = found.by_path[path]
        assert one.n_rows == here.sum()
        assert one.coverage == pytest.approx(decisions.accepted[here].mean())
        assert one.cost == pytest.approx(decisions.cost[here].mean())
    assert "age ≤ 0.2 → pulse ≤ -0.5" in repr(found)
    assert "age ≤ 0.2 → pulse ≤ -0.5" in found._repr_html_()
    assert found.to_dict()["by_path"]["subgroups"][0]["value"] == "age ≤ 0.2"
    assert found.by_path.to_pandas()["path"].tolist() == list(parts)
    easy = cascade.design.with_thresholds((0.6, *cascade.thresholds[1:]))
    early = replace(cascade, design=easy).evaluate(TABLE, LABELS)
    assert next(iter(early.by_path)) == "before any branch"


def test_rejected_rows_paid_and_waited_for_their_own_path():
    cascade = make_protocol()
    cascade = replace(cascade, costs=cascade.costs.with_delays([0, 1, 5, 2]))
    decisions, found = cascade.decide(TABLE), cascade.evaluate(TABLE, LABELS)
    rejected, last = ~decisions.accepted, found.exits[-1]
    assert len({*decisions.cost[rejected]}) > 1
    assert last.cost == pytest.approx(decisions.cost[rejected].mean())
    assert last.delay == pytest.approx(decisions.delay[rejected].mean())
    assert found.mean_delay == pytest.approx(decisions.delay.mean())
    assert found.worst_delay == max(cascade.stage_delays) > last.delay
    assert [one.cost for one in found.exits[:-1]] == cascade.stage_costs.tolist()
    error = decisions.cost.std() / len(TABLE) ** 0.5
    assert found.intervals.cost.high - found.cost == pytest.approx(1.97 * error, rel=0.01)


def test_a_tree_that_answers_everyone_has_the_intervals_of_its_few_costs():
    cascade = make_protocol()
    everyone = tuple(0 if j in PROTOCOL.leaves else p for j, p in enumerate(cascade.thresholds))
    cascade = replace(cascade, design=PROTOCOL.with_thresholds(everyone))
    found = cascade.evaluate(TABLE, LABELS)
    assert found.coverage == 1
    assert found.cost_deviation is None
    assert found.cost == pytest.approx(cascade.decide(TABLE).cost.mean())


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, len(TABLE))])
def test_figures_of_parts_of_a_table_add_up(weights):
    cascade, truth = make_protocol(), np.array([0, 1])[LABELS]
    whole = cascade.evaluate(TABLE, LABELS, weights)
    tally, evaluations = cascade.tally(), []
    for some in np.array_split(np.arange(len(TABLE)), 40):
        of_rows = None if weights is None else weights[some]
        tally.add(cascade.decide(TABLE.iloc[some]), truth[some], of_rows)
        evaluations.append(cascade.evaluate(TABLE.iloc[some], LABELS[some], of_rows))
    joined = Evaluation.joined(evaluations)
    for found in (tally.evaluation(), joined):
        assert found.cost == pytest.approx(whole.cost)
        assert found.exits[-1].cost == pytest.approx(whole.exits[-1].cost)
        assert found.cost_deviation == pytest.approx(whole.cost_deviation)
        assert {*found.by_path} == {*whole.by_path}
        for path, one in whole.by_path.items():
            assert found.by_path[path].accuracy == pytest.approx(one.accuracy)
            assert found.by_path[path].cost == pytest.approx(one.cost)
    assert list(tally.evaluation().by_path) == list(whole.by_path)


def at_threshold(cascade, level):
    """The same cascade, with one threshold for all stages."""
    return replace(cascade, design=PROTOCOL.with_thresholds((level,) * PROTOCOL.n_stages))


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, len(TABLE))])
def test_risk_and_coverage_at_each_threshold_are_those_of_a_cascade_with_it(weights):
    cascade = make_protocol()
    whole, *of_stages = cascade.risk_coverage(TABLE, LABELS, weights)
    for i in range(0, len(whole.threshold), 20):
        found = at_threshold(cascade, whole.threshold[i]).evaluate(TABLE, LABELS, weights)
        assert whole.coverage[i] == pytest.approx(found.coverage)
        assert whole.risk[i] == pytest.approx(1 - found.accuracy)
        assert whole.cost[i] == pytest.approx(found.cost)
    assert len(of_stages) == PROTOCOL.n_stages
    scan = of_stages[6]  # alone, on all rows of its part
    assert scan.coverage.max() == 1
    np.testing.assert_allclose(scan.cost, 11)


def test_reliability_of_a_stage_is_that_of_the_rows_that_reach_it():
    cascade = make_protocol()
    decisions = cascade.decide(TABLE)
    records = cascade.reliability(TABLE, LABELS)
    reaching = [sum(j in PROTOCOL.path(k - 1) for k in decisions.stage.tolist()) for j in range(8)]
    assert [record.rows.sum() for record in records] == reaching


def test_a_monitor_counts_the_rows_of_each_path(tmp_path):
    cascade = make_protocol()
    decisions = cascade.decide(TABLE)
    monitor = Monitor(cascade, max_cost=60, min_coverage=0.2)
    monitor = monitor.update(decisions).update(decisions, LABELS, late=True)
    found = cascade.evaluate(TABLE, LABELS).by_path
    shares = {path: share for path, share in monitor.by_path.items() if share.value}
    assert list(shares) == list(found)
    for path, share in shares.items():
        assert share.value == found[path].n_rows / len(TABLE)
        assert share.low < share.value < share.high
    cost = next(one for one in monitor.promises if one.promise.is_ceiling)
    assert cost.figure == pytest.approx(decisions.cost.mean())
    monitor.save(tmp_path / "monitor.json")
    loaded = Monitor.load(tmp_path / "monitor.json", cascade)
    assert loaded.by_path == monitor.by_path
    assert loaded.to_dict()["by_path"]["age > 0.2"]["value"] == shares["age > 0.2"].value
    assert "path age ≤ 0.2 → none of these" in repr(monitor)
    assert "age ≤ 0.2 → none of these" in monitor._repr_html_()
    over = cascade.run([0], lambda names, ids: TABLE.loc[ids, names], budget=0.5)
    assert monitor.update(over).by_path["before any branch"].value == 1 / (len(TABLE) + 1)
