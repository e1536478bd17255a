"""Parts and subgroups: the figures of each, as tables, and those that are worse."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.handmade import make_cascade, make_rows

from emsco import DataError

NAMES = ("age", "pulse", "scan", "biopsy")
RNG = np.random.default_rng(11)
ROWS = make_rows(300, seed=5)
WARDS = RNG.choice(["A", "B", "ICU"], 300, p=[0.5, 0.3, 0.2])
CASCADE = make_cascade()
GUESSES = CASCADE.decide(ROWS).guesses
TRUTH = np.where(RNG.random(300) < np.where(WARDS == "B", 0.6, 0.95), GUESSES, 1 - GUESSES)
MISSING = np.where(WARDS == "ICU", None, WARDS.astype(object))


@pytest.fixture(scope="module")
def evaluation():
    return CASCADE.evaluate(ROWS, TRUTH, by=WARDS)


def test_each_subgroup_has_the_evaluation_of_its_rows(evaluation):
    assert list(evaluation.by) == ["A", "B", "ICU"]
    for ward, one in evaluation.by.items():
        here = ward == WARDS
        assert one == CASCADE.evaluate(ROWS[here], TRUTH[here])
    with pytest.raises(KeyError, match="C"):
        evaluation.by["C"]


def test_the_rows_of_all_subgroups_are_all_rows(evaluation):
    plain = CASCADE.evaluate(ROWS, TRUTH)
    assert (evaluation.coverage, evaluation.exits, evaluation.by_class) == (
        plain.coverage,
        plain.exits,
        plain.by_class,
    )
    assert sum(one.n_rows for one in evaluation.by.values()) == 300


def test_rows_without_a_value_are_a_subgroup(evaluation):
    by = CASCADE.evaluate(ROWS, TRUTH, by=MISSING).by
    assert list(by) == ["A", "B", None]
    assert by[None] == evaluation.by["ICU"]
    assert by.to_pandas()["subgroup"].isna().tolist() == [False, False, True]
    assert by.to_polars()["subgroup"].to_list() == ["A", "B", None]
    assert "  missing " in repr(by)


@pytest.mark.parametrize("library", [pd, pl])
def test_a_column_of_the_table_need_not_be_a_feature(library, evaluation):
    table = library.DataFrame({**dict(zip(NAMES, ROWS.T, strict=True)), "ward": WARDS})
    by = CASCADE.evaluate(table, TRUTH, by="ward").by
    assert by.column == "ward"
    assert by.evaluations == evaluation.by.evaluations
    with pytest.raises(DataError, match="'wart'"):
        CASCADE.evaluate(table, TRUTH, by="wart")


def test_weights_and_groups_hold_within_subgroups():
    weights, patients = RNG.random(300), RNG.integers(0, 60, 300)
    by = CASCADE.evaluate(ROWS, TRUTH, weights, groups=patients, by=WARDS).by
    here = WARDS == "B"
    alone = CASCADE.evaluate(ROWS[here], TRUTH[here], weights[here], groups=patients[here])
    assert by["B"].intervals == alone.intervals
    assert by["B"].rows.n_groups == len(np.unique(patients[here]))


def test_a_subgroup_that_is_less_accurate_is_named(evaluation):
    assert evaluation.by.below == ("B",)
    assert evaluation.by.sentence == (
        "By subgroup, 'B' is less accurate than the others beyond chance."
    )
    assert evaluation.by.sentence in repr(evaluation)
    assert "less accurate than the others beyond chance" in evaluation._repr_html_()


def test_tables_have_figures_with_intervals(evaluation):
    table = evaluation.by.to_pandas()
    assert table["subgroup"].tolist() == ["A", "B", "ICU"]
    assert table["rows"].tolist() == [one.n_rows for one in evaluation.by.values()]
    low, high = evaluation.by["B"].intervals.accuracy
    assert table.loc[1, ["accuracy_low", "accuracy_high"]].tolist() == [low, high]
    assert evaluation.by.to_polars().columns == list(table)


def test_a_subgroup_of_few_rows_has_wide_intervals():
    by = CASCADE.evaluate(ROWS, TRUTH, by=np.arange(300) < 3).by
    assert by[True].n_rows == 3
    low, high = by[True].intervals.coverage
    assert high - low > 0.6


def test_plain_values_have_all_subgroups(evaluation):
    values = json.loads(json.dumps(evaluation.to_dict()))["by"]
    assert (values["column"], values["below"]) == ("subgroup", ["B"])
    assert [one["value"] for one in values["subgroups"]] == ["A", "B", "ICU"]
    assert values["subgroups"][1]["intervals"]["cost"] == list(evaluation.by["B"].intervals.cost)
    dates = np.where(WARDS == "B", np.datetime64("2026-01-02"), np.datetime64("2026-01-01"))
    evaluation = json.loads(json.dumps(CASCADE.evaluate(ROWS, TRUTH, by=dates).by.to_dict()))
    assert evaluation["below"] == ["2026-01-02"]
