"""Runs on new rows with groups and subgroups: in chunks, from CSV and Parquet, and verdicts."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from support.settings import PLAIN
from typer.testing import CliRunner

from emsco import EMSCOClassifier
from emsco.app import cli
from emsco.app.files import parquet
from emsco.app.files.sources import FitFiles
from emsco.app.runs.evaluate import evaluate_run
from emsco.app.runs.fit import fit_files
from emsco.errors import DataError

NAMES = ["age", "panel", "scan"]


def patients(n_rows, seed):
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 3)) + ill[:, None] * np.array([0.5, 1.0, 2.0])
    return pd.DataFrame(X, columns=NAMES).assign(state=np.where(ill == 1, "ill", "well"))


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A run, and a table of rows that came later with wards, clinics and patients."""
    folder = tmp_path_factory.mktemp("clinic")
    patients(200, 0).to_csv(folder / "data.csv", index=False)
    settings = {"min_confidence": 0.8, "max_stages": 2, "search": "exact", **PLAIN}
    run = fit_files(FitFiles("state", data=folder / "data.csv"), folder / "run", **settings)
    rng = np.random.default_rng(9)
    new = patients(120, 2).assign(
        ward=rng.choice(["A", "B", "N/A"], 120),
        site=rng.integers(1, 12, 120),
        patient=rng.integers(0, 40, 120),
    )
    new["ward"] = new["ward"].replace("N/A", None)
    new.to_csv(folder / "new.csv", index=False)
    new.to_parquet(folder / "new.parquet")
    return SimpleNamespace(folder=folder, run=run, new=new)


def emsco(*arguments):
    return CliRunner().invoke(cli.app, list(map(str, arguments)))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("column", ["ward", "site"])
def test_files_have_the_figures_of_tables(clinic, ending, column):
    path = clinic.folder / f"new.{ending}"
    found = evaluate_run(clinic.run, path, by=column, groups="patient").new
    cascade, y = clinic.run.cascade, clinic.new["state"].to_numpy(str)
    expected = cascade.evaluate(clinic.new, y, by=column, groups="patient")
    assert found == expected
    assert found.by.column == column
    assert list(found.by)[-1] == (None if column == "ward" else 11)


def test_groups_and_subgroups_may_span_chunks(clinic, monkeypatch):
    path = clinic.folder / "new.parquet"
    whole = evaluate_run(clinic.run, path, by="ward", groups="patient").new
    monkeypatch.setattr(parquet, "_ROWS", 7)
    found = evaluate_run(clinic.run, path, by="ward", groups="patient").new
    assert found.rows.n_groups == whole.rows.n_groups
    assert found.intervals.accuracy == pytest.approx(whole.intervals.accuracy)
    assert found.intervals.cost == pytest.approx(whole.intervals.cost, rel=1e-5)
    assert list(found.by) == list(whole.by)
    for ward, one in found.by.items():
        assert one.exits[0].n_rows == whole.by[ward].exits[0].n_rows
        assert one.intervals.coverage == pytest.approx(whole.by[ward].intervals.coverage)
    assert found.by.below == whole.by.below


def test_the_promise_is_that_of_the_design_evaluated(clinic):
    for number in (clinic.run.chosen, len(clinic.run.front) - 1):
        found = evaluate_run(clinic.run, clinic.folder / "new.csv", point=number).new
        point = clinic.run.front[number]
        assert found.promise == point.compared_with(found).promise
        assert found.promise.basis == "expected"
        assert found.promise.cost.promise.limit == point.expected.cost.value


def test_a_point_without_expected_figures_promises_its_scored_ones(clinic):
    point = replace(clinic.run.point, expected=None)
    assert point.promised == ("scored", point.objectives)
    balanced = replace(clinic.run.point, metric="balanced_accuracy", accuracy=0.5)
    assert balanced.promised == ("scored", point.objectives)
    nothing = replace(point, exits=(0, 0), correct_exits=(0, 0), coverage=0.0)
    assert nothing.promised[1].accuracy == 0


def test_what_cannot_be_used_is_refused_with_a_sentence(clinic):
    path = clinic.folder / "new.csv"
    with pytest.raises(DataError, match=r"must have a column 'wart', got 'age'.*mean 'ward'\?"):
        evaluate_run(clinic.run, path, by="wart")
    with pytest.raises(DataError, match=r"a group in every row of column 'ward', got none in line"):
        evaluate_run(clinic.run, path, groups="ward")
    with pytest.raises(DataError, match=r"column 'scan' must have at most 50 different numbers"):
        evaluate_run(clinic.run, path, by="scan")


def test_the_command_shows_verdicts_and_subgroups(clinic):
    done = emsco("evaluate", clinic.run.folder, clinic.folder / "new.csv", "--by", "site")
    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert max(map(len, done.stdout.splitlines())) <= 80
    new = evaluate_run(clinic.run, clinic.folder / "new.csv", by="site").new
    assert "120 new rows, with 95 % intervals" in lines
    for line in new.figure_lines():
        assert " ".join(line) in lines
    assert " ".join(new.by.table(77).lines[3]) in lines
    assert new.by.sentence in lines


def test_json_has_intervals_verdicts_and_subgroups(clinic):
    arguments = ("--by", "ward", "--groups", "patient", "--json")
    done = emsco("evaluate", clinic.run.folder, clinic.folder / "new.csv", *arguments)
    new = json.loads(done.stdout)["new"]
    assert new["intervals"]["kind"] == "groups"
    assert new["effective"]["n_groups"] == clinic.new["patient"].nunique()
    assert new["promise"]["accuracy"]["verdict"] in ("kept", "not kept", "too few rows")
    assert [one["value"] for one in new["by"]["subgroups"]] == ["A", "B", None]
    assert len(new["by"]["subgroups"][0]["intervals"]["coverage"]) == 2


def test_the_classifier_knows_what_its_point_promised(clinic):
    rows = patients(200, 0)
    clf = EMSCOClassifier(min_confidence=0.8, max_stages=2, search="exact", **PLAIN)
    clf.fit(rows[NAMES], rows["state"])
    found = clf.evaluate(clinic.new, clinic.new["state"], by="ward", groups="patient")
    assert found.promise == clf.point_.compared_with(found).promise
    text, html = repr(found), found._repr_html_()
    for one in found.promise.promises:
        assert f": {one.verdict}" in text
        assert f"<td>{one.verdict}</td>" in html
    assert list(found.by) == ["A", "B", None]
    assert found == clf.cascade_.evaluate(
        clinic.new, clinic.new["state"], by="ward", groups="patient"
    )
    with pytest.raises(DataError, match=r"by must be a column of X, got 'sex' beside 'age', 'pan"):
        clf.evaluate(clinic.new, clinic.new["state"], by="sex")
