"""Runs on labelled rows that came later: the estimator's figures, in chunks, beside known ones."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from support.settings import ONE_THRESHOLD, PLAIN
from typer.testing import CliRunner

from emsco import EMSCOClassifier
from emsco.app import cli
from emsco.app.files import parquet
from emsco.app.files.sources import FitFiles
from emsco.app.files.table_files import write_table
from emsco.app.runs.evaluate import evaluate_run, warn_of_searched
from emsco.app.runs.fit import fit_files
from emsco.app.runs.run import Run
from emsco.data.row_prints import Lookup, RowPrints
from emsco.errors import DataError, DataWarning, EMSCOError, ParameterError

NAMES = ("age", "panel", "scan")
LABELS = np.array(["sick", "well"])


def patients(n_rows, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n_rows)
    return rng.normal(size=(n_rows, 3)) + y[:, None] * np.array([0.5, 1.0, 2.0]), LABELS[y]


def write_rows(path, X, y, **more):
    """Features by name in another order than fitted, labels, and further columns."""
    columns = {name: X[:, i] for i, name in reversed(list(enumerate(NAMES)))}
    table = pa.table(columns | {"state": y} | more)
    (pq.write_table if path.suffix == ".parquet" else pyarrow.csv.write_csv)(table, path)
    return path


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A run with test rows, and a file of rows that came later."""
    folder = tmp_path_factory.mktemp("clinic")
    data = write_rows(folder / "data.csv", *patients(200, 0))
    test = write_rows(folder / "test.csv", *patients(60, 1))
    settings = {"min_confidence": 0.9, "max_stages": 3, "search": "exact", **PLAIN}
    costs = folder / "costs.csv"
    costs.write_text("feature,cost\nage,1\npanel,5\nscan,20\n")
    files = FitFiles("state", data=data, test=test, costs=costs)
    run = fit_files(files, folder / "run", **settings)
    X, y = patients(90, 2)
    return SimpleNamespace(
        folder=folder, run=run, X=X, y=y, new=write_rows(folder / "new.csv", X, y)
    )


def emsco(*arguments):
    """The command; errors of emsco's own are raised."""
    result = CliRunner().invoke(cli.app, list(map(str, arguments)))
    if isinstance(result.exception, EMSCOError):
        raise result.exception
    return result


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_figures_are_those_of_the_cascade_on_the_same_rows(clinic, tmp_path, ending):
    path = clinic.new
    if ending != ".csv":
        path = tmp_path / f"new{ending}"
        with write_table(path) as file:
            file.write(pyarrow.csv.read_csv(clinic.new).to_pydict())
    rows = pa.table(dict(zip(NAMES, clinic.X.T, strict=True)))
    evaluation = evaluate_run(clinic.run, path)
    assert evaluation.new == clinic.run.cascade.evaluate(rows, clinic.y)
    assert evaluation.number == clinic.run.chosen


def test_rows_that_took_part_in_the_search_are_told(clinic, tmp_path):
    X, y = patients(200, 0)
    mixed = write_rows(tmp_path / "mixed.csv", np.vstack([X[:30], patients(20, 5)[0]]), y[:50])
    with pytest.warns(DataWarning, match=r"mixed\.csv"):
        evaluate_run(clinic.run, mixed)


def test_chunks_change_nothing_and_are_reported(clinic, tmp_path, monkeypatch):
    path = write_rows(tmp_path / "new.parquet", clinic.X, clinic.y)
    whole, told = evaluate_run(clinic.run, path).new, []
    monkeypatch.setattr(parquet, "_ROWS", 7)
    parts = evaluate_run(clinic.run, path, report=told.append).new
    assert told == [0, *range(7, 90, 7), 90]
    assert replace(parts, cost=0, exits=()) == replace(whole, cost=0, exits=())
    assert parts.by_class == whole.by_class
    assert parts.cost == pytest.approx(whole.cost)
    assert parts.flow() == whole.flow()
    sure = [leave.confidence for leave in whole.exits]
    assert [leave.confidence for leave in parts.exits] == pytest.approx(sure)


def test_what_there_is_without_a_cascade_is_measured_on_the_new_rows(clinic, tmp_path, monkeypatch):
    path = write_rows(tmp_path / "new.parquet", clinic.X, clinic.y)
    rows = pa.table(dict(zip(NAMES, clinic.X.T, strict=True)))
    expected = clinic.run.front.references_on(rows, clinic.y)
    assert len(expected) == 3
    assert evaluate_run(clinic.run, path).references == expected
    monkeypatch.setattr(parquet, "_ROWS", 7)
    assert evaluate_run(clinic.run, path).references == expected


def test_labels_may_be_in_another_column(clinic, tmp_path):
    path = write_rows(tmp_path / "new.csv", clinic.X, np.full(90, "?"), outcome=clinic.y)
    assert evaluate_run(clinic.run, path, "outcome").new == evaluate_run(clinic.run, clinic.new).new


def test_rows_count_by_their_weights(clinic, tmp_path):
    X, y = patients(120, 4)
    data = write_rows(tmp_path / "data.csv", X, y, w=np.arange(120) % 3)
    files = FitFiles("state", data=data, weights="w")
    run = fit_files(files, tmp_path / "run", max_stages=2, search="exact", **ONE_THRESHOLD)
    weights = np.arange(90) % 4
    new = write_rows(tmp_path / "new.csv", clinic.X, clinic.y, w=weights)
    rows = pa.table(dict(zip(NAMES, clinic.X.T, strict=True)))
    assert evaluate_run(run, new).new == run.cascade.evaluate(rows, clinic.y, weights)
    write_rows(new, clinic.X, clinic.y, w=weights - 1.5)
    with pytest.raises(DataError, match="'w'"):
        evaluate_run(run, new)
    write_rows(new, clinic.X, clinic.y, w=0 * weights)
    with pytest.raises(DataError, match="'w'"):
        evaluate_run(run, new)
    with pytest.raises(ParameterError, match="'w'"):
        evaluate_run(run, new, "w")


# The command


def test_the_command_shows_scored_seen_and_new_figures(clinic):
    result = emsco("evaluate", clinic.run.folder, clinic.new)
    text = " ".join(re.sub("[│├└─█]", " ", result.stdout).split())
    assert result.exit_code == 0
    new = evaluate_run(clinic.run, clinic.new).new
    flow, n_scored = new.flow(), f"{clinic.run.point.n_rows} rows: coverage"
    for stage in flow.stages:
        assert f"leave: {stage.left} of {stage.reached}" in text
    assert f"new 90 rows: coverage {new.coverage:.1%}, accuracy {new.accuracy:.1%}, cost" in text
    assert f"scored {n_scored}" in text
    assert "seen 60 rows: coverage" in text


def test_json_holds_scored_seen_and_new_figures_and_out_keeps_them(clinic, tmp_path):
    out = tmp_path / "march.json"
    result = emsco("evaluate", clinic.run.folder, clinic.new, "--point", 1, "--out", out, "--json")
    output = json.loads(result.stdout)
    assert out.read_text() == result.stdout
    assert output["scored"]["n_rows"] == clinic.run.point.n_rows
    assert output["seen"] == json.loads(json.dumps(clinic.run.front.seen[1].to_dict()))
    new = evaluate_run(clinic.run, clinic.new, point=1).new
    assert output["new"] == json.loads(json.dumps(new.to_dict()))
    assert (output["number"], output["data"]) == (1, str(clinic.new))
    by_class = output["new"]["by_class"]
    assert by_class["labels"] == ["sick", "well"]
    assert [sum(line) for line in by_class["counts"]] == [(clinic.y == c).sum() for c in LABELS]
    assert by_class["recall"] == new.by_class.recall.tolist()
    assert by_class["commonest"] == new.by_class.commonest
    assert Run.open(clinic.run.folder).chosen == clinic.run.chosen
    with pytest.raises(ParameterError):
        emsco("evaluate", clinic.run.folder, clinic.new, "--out", clinic.new)


# Groups and subgroups: in chunks, from CSV and Parquet, and verdicts


def patient_table(n_rows, seed):
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 3)) + ill[:, None] * np.array([0.5, 1.0, 2.0])
    return pd.DataFrame(X, columns=list(NAMES)).assign(state=np.where(ill == 1, "ill", "well"))


@pytest.fixture(scope="module")
def wards(tmp_path_factory):
    """A run, and a table of rows that came later with wards, clinics and patients."""
    folder = tmp_path_factory.mktemp("wards")
    patient_table(200, 0).to_csv(folder / "data.csv", index=False)
    settings = {"min_confidence": 0.8, "max_stages": 2, "search": "exact", **PLAIN}
    run = fit_files(FitFiles("state", data=folder / "data.csv"), folder / "run", **settings)
    rng = np.random.default_rng(9)
    new = patient_table(120, 2).assign(
        ward=rng.choice(["A", "B", "N/A"], 120),
        site=rng.integers(1, 12, 120),
        patient=rng.integers(0, 40, 120),
    )
    new["ward"] = new["ward"].replace("N/A", None)
    new.to_csv(folder / "new.csv", index=False)
    new.to_parquet(folder / "new.parquet")
    return SimpleNamespace(folder=folder, run=run, new=new)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("column", ["ward", "site"])
def test_files_have_the_figures_of_tables(wards, ending, column):
    path = wards.folder / f"new.{ending}"
    evaluation = evaluate_run(wards.run, path, by=column, groups="patient").new
    cascade, y = wards.run.cascade, wards.new["state"].to_numpy(str)
    expected = cascade.evaluate(wards.new, y, by=column, groups="patient")
    assert evaluation == expected
    assert evaluation.by.column == column
    assert list(evaluation.by)[-1] == (None if column == "ward" else 11)


def test_groups_and_subgroups_may_span_chunks(wards, monkeypatch):
    path = wards.folder / "new.parquet"
    whole = evaluate_run(wards.run, path, by="ward", groups="patient").new
    monkeypatch.setattr(parquet, "_ROWS", 7)
    evaluation = evaluate_run(wards.run, path, by="ward", groups="patient").new
    assert evaluation.rows.n_groups == whole.rows.n_groups
    assert evaluation.intervals.accuracy == pytest.approx(whole.intervals.accuracy)
    assert evaluation.intervals.cost == pytest.approx(whole.intervals.cost, rel=1e-5)
    assert list(evaluation.by) == list(whole.by)
    for ward, one in evaluation.by.items():
        assert one.exits[0].n_rows == whole.by[ward].exits[0].n_rows
        assert one.intervals.coverage == pytest.approx(whole.by[ward].intervals.coverage)
    assert evaluation.by.below == whole.by.below


def test_the_promise_is_that_of_the_design_evaluated(wards):
    for number in (wards.run.chosen, len(wards.run.front) - 1):
        evaluation = evaluate_run(wards.run, wards.folder / "new.csv", point=number).new
        point = wards.run.front[number]
        assert evaluation.promise == point.compared_with(evaluation).promise
        assert evaluation.promise.basis == "expected"
        assert evaluation.promise.cost.promise.limit == point.expected.cost.value
        recall = [one.promise.limit for one in evaluation.promise.recall]
        assert recall == [one.value for one in point.expected.recall]
        seen = [one.seen for one in evaluation.promise.recall]
        assert seen == evaluation.by_class.recall.tolist()


def test_the_command_shows_verdicts_and_subgroups(wards):
    done = emsco("evaluate", wards.run.folder, wards.folder / "new.csv", "--by", "site")
    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert max(map(len, done.stdout.splitlines())) <= 80
    new = evaluate_run(wards.run, wards.folder / "new.csv", by="site").new
    assert "120 new rows, with 95 % intervals" in lines
    for line in new.figure_lines():
        assert " ".join(line) in lines
    assert " ".join(new.by.table(77).lines[3]) in lines
    assert new.by.sentence in lines


def test_the_classifier_knows_what_its_point_promised(wards):
    rows = patient_table(200, 0)
    clf = EMSCOClassifier(min_confidence=0.8, max_stages=2, search="exact", **PLAIN)
    clf.fit(rows[list(NAMES)], rows["state"])
    evaluation = clf.evaluate(wards.new, wards.new["state"], by="ward", groups="patient")
    assert evaluation.promise == clf.point_.compared_with(evaluation).promise
    text, html = repr(evaluation), evaluation._repr_html_()
    for one in evaluation.promise.promises:
        assert f": {one.verdict}" in text
        assert f"<td>{one.verdict}</td>" in html
    assert list(evaluation.by) == ["A", "B", None]
    assert evaluation == clf.cascade_.evaluate(
        wards.new, wards.new["state"], by="ward", groups="patient"
    )
    with pytest.raises(DataError, match="'sex'"):
        clf.evaluate(wards.new, wards.new["state"], by="sex")


def test_rows_that_are_nearly_those_of_the_search_are_counted_in_a_warning():
    rows = np.random.default_rng(0).normal(size=(80, 4))
    lookup = Lookup(RowPrints.from_rows(rows))
    lookup.add(rows.round(3))
    with pytest.warns(DataWarning, match=r"new\.csv"):
        warn_of_searched(lookup, 80, "new.csv")
    coarse = np.random.default_rng(1).integers(0, 9, (600, 4)) * 1.0
    lookup = Lookup(RowPrints.from_rows(coarse))
    lookup.add(coarse[:300])
    with pytest.warns(DataWarning):
        warn_of_searched(lookup, 300, "new.csv")
