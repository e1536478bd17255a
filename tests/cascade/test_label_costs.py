"""Labels of least expected cost, the same on every way through a cascade."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pandas as pd
import pytest
from support.handmade import (
    NAMES,
    assert_same_bits,
    make_averaged_cascade,
    make_cascade,
    make_rich_cascade,
    make_rich_rows,
    make_rows,
)

from emsco import Cascade, FileError, ParameterError

TWO = {0: 9, 1: 1}
THREE = [[0, 5, 1], [8, 0.5, 2], [1, 30, 0]]
CASES = {
    "one logit": (make_cascade(min_confidence=0.7), TWO),
    "averages": (make_averaged_cascade(min_confidence=0.6), TWO),
    "three classes, imputed": (make_rich_cascade(), THREE),
    "three classes, skipped": (make_rich_cascade("isotonic", "skip"), THREE),
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
    before, found = plain.decide(rows), careful.decide(rows)
    for name in ("accepted", "stage", "cost"):
        np.testing.assert_array_equal(getattr(found, name), getattr(before, name))
    chances = careful.predict_proba(rows)
    expected = chances @ careful.label_costs
    assert found.guesses.tolist() == careful.classes[expected.argmin(axis=1)].tolist()
    places = np.searchsorted(careful.classes, found.guesses)
    np.testing.assert_array_equal(found.confidence, chances[np.arange(120), places])
    assert (found.guesses != before.guesses).any()
    assert (found.confidence <= before.confidence + 1e-12).all()


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
    with pytest.raises(FileError, match="the case must be of this cascade"):
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


def test_costs_that_cannot_be_are_refused():
    with pytest.raises(ParameterError, match="error_cost must name the classes 0, 1, got 2"):
        make_cascade().with_error_costs({0: 1, 2: 1})


def test_evaluations_count_the_labels_that_are_given():
    plain, rows = make_cascade(min_confidence=0.55), make_rows(200)
    truth = (np.random.default_rng(0).random(200) < plain.predict_proba(rows)[:, 1]).astype(int)
    costs = {"error_cost": {0: 1, 1: 40}, "reject_cost": 2}
    before = plain.evaluate(rows, truth, **costs)
    found = plain.with_error_costs(costs["error_cost"]).evaluate(rows, truth, **costs)
    assert (found.coverage, found.cost) == (before.coverage, before.cost)
    assert found.by_class.recall[1] > before.by_class.recall[1]
    assert found.total.value < before.total.value


def test_reliability_is_that_of_the_likeliest_class(made):
    plain, careful, rows = made
    truth = np.random.default_rng(1).choice(plain.classes, len(rows))
    for some, other in zip(
        plain.reliability(rows, truth), careful.reliability(rows, truth), strict=True
    ):
        assert some.to_dict() == other.to_dict()


def test_the_cascade_says_which_labels_it_gives():
    careful = make_cascade().with_error_costs(TWO)
    assert "labels of least expected cost" in repr(careful)
    assert "label of least expected cost" in careful._repr_html_()
    assert "least expected cost" not in repr(make_cascade())
