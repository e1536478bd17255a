"""Parts and subgroups: the figures of each, as tables, and those that are worse."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.handmade import make_cascade, make_rows

from emsco import DataError, ParameterError

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
    with pytest.raises(DataError, match=r"by must be a column of X, got 'wart' .* mean 'ward'\?"):
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


def test_it_is_said_if_none_is():
    by = CASCADE.evaluate(ROWS, GUESSES, by=WARDS).by
    assert by.below == ()
    assert "no subgroup is less accurate than the others beyond chance" in by.sentence
    one = CASCADE.evaluate(ROWS, TRUTH, by=np.full(300, "A")).by
    assert one.sentence == "All rows are of one subgroup by subgroup."


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


@pytest.mark.parametrize("dear", [1.0, 1e7])
def test_text_fits_and_20_subgroups_are_shown(dear):
    cascade = make_cascade(costs=(1, 2.5, 10, 40 * dear))
    wards = np.array([f"a very long name of a ward {i:02d}" for i in range(30)])
    evaluation = cascade.evaluate(ROWS, TRUTH, by=wards[np.arange(300) % 30])
    lines = repr(evaluation).splitlines()
    assert max(map(len, lines)) <= 80
    assert "10 more; by.to_pandas() has all." in lines
    assert "…" in evaluation._repr_html_()
    assert "30 subgroups by subgroup" in evaluation.by._repr_html_()


def test_numbers_without_end_are_refused_with_the_way_out():
    with pytest.raises(DataError, match=r"by must have at most 50 different numbers, got 300; put"):
        CASCADE.evaluate(ROWS, TRUTH, by=ROWS[:, 0])
    with pytest.raises(ParameterError, match="by must have one value for each row, since X has no"):
        CASCADE.evaluate(ROWS, TRUTH, by="ward")
    with pytest.raises(DataError, match=r"by must have one value for each of 300 rows, got 299\."):
        CASCADE.evaluate(ROWS, TRUTH, by=WARDS[1:])
