"""Files of new rows, decided in chunks."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from support.clinic import NAMES, SETTINGS, patients, read_columns, write_rows
from support.handmade import NAMES as HANDMADE
from support.handmade import (
    make_cascade,
    make_protocol,
    make_rich_cascade,
    make_rich_rows,
    make_rows,
)

from emsco import Cascade, FeatureCosts
from emsco.app.files import csv as csv_files
from emsco.app.files import parquet
from emsco.app.files.reading import Reading
from emsco.app.files.sources import FitFiles
from emsco.app.runs.decide import decide_file
from emsco.app.runs.fit import fit_files
from emsco.errors import DataError


@pytest.fixture(scope="module")
def new(clinic):
    """New rows with columns in another order, an id, and labels that the cascade ignores."""
    X, y = clinic.rows["f"]
    more = {"id": [f"{i:03}" for i in range(150)], "ward": ['x, "y"\nz'] * 150}
    folder, order = clinic.folder, (2, 4, 1, 0, 3)
    write_rows(folder / "new.csv", X, y, order, labels=("who", "knows"), **more)
    write_rows(folder / "new.parquet", X, y, order, labels=("who", "knows"), **more)
    return folder


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_gets_the_decisions_of_its_rows(clinic, fitted, new, tmp_path, ending):
    out = tmp_path / f"decisions.{ending}"
    counts = decide_file(fitted.cascade, new / f"new.{ending}", out)
    expected = fitted.cascade.decide(clinic.rows["f"][0], partial=True)
    columns = read_columns(out)
    assert [text or "" for text in columns.pop("warnings")] == expected.warnings.tolist()
    assert columns == {
        "label": expected.labels.tolist(),
        "accepted": expected.accepted.tolist(),
        "confidence": expected.confidence.tolist(),
        "stage": expected.stage.tolist(),
        "cost": expected.cost.tolist(),
        "needs": [None] * 150,
    }
    assert 0 < expected.accepted.sum() < 150
    assert counts.n_rows == 150
    assert counts.n_accepted == sum(counts.exits) == expected.accepted.sum()
    assert counts.cost == pytest.approx(expected.cost.sum())
    assert counts.cost_of_everything == 150 * 53.5


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_of_a_cascade_that_branches_have_their_path_and_pay_for_it(tmp_path, ending):
    cascade, rows = make_protocol(), make_rows(300, seed=3)
    rows[::3, 1] = np.nan  # pulse is not bought yet
    new = tmp_path / "new.csv"
    pd.DataFrame(rows, columns=HANDMADE).to_csv(new, index=False)
    counts = decide_file(cascade, new, tmp_path / f"out.{ending}")
    expected = cascade.decide(pd.DataFrame(rows, columns=HANDMADE), partial=True)
    columns = read_columns(tmp_path / f"out.{ending}")
    assert columns["path"] == expected.path.tolist()
    assert counts.cost == pytest.approx(expected.cost.sum())
    rejected = ~expected.accepted & ~expected.waiting
    assert len({*expected.stage[rejected]}) > 1
    assert counts.n_rejected == rejected.sum()
    assert counts.exit_costs[-1] == pytest.approx(expected.cost[rejected].mean())
    assert counts.waiting == tuple(np.bincount(expected.waits_for, minlength=9)[1:])
    for j in np.unique(expected.waits_for[expected.waiting]):
        paid = expected.cost[expected.waits_for == j]
        assert (paid == counts.waiting_costs[j - 1]).all()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_kept_columns_come_first_and_as_they_were(fitted, new, tmp_path, ending):
    out = tmp_path / f"out.{ending}"
    decide_file(fitted.cascade, new / f"new.{ending}", out, ("ward", "id", "age"))
    if ending == "csv":
        text = {"id": pa.string()}
        options = pyarrow.csv.ConvertOptions(column_types=text)
        lines = pyarrow.csv.ParseOptions(newlines_in_values=True)
        written = pyarrow.csv.read_csv(out, convert_options=options, parse_options=lines)
    else:
        written = pq.read_table(out)
    assert written.column_names[:4] == ["ward", "id", "age", "label"]
    source = pq.read_table(new / "new.parquet").select(["ward", "id", "age"])
    assert written.select(["ward", "id", "age"]).equals(source)


def test_whole_numbers_stay_whole_and_the_label_of_a_rejected_row_is_empty(fitted, new, tmp_path):
    decide_file(fitted.cascade, new / "new.csv", tmp_path / "out.csv")
    labels = {line.split(",")[0] for line in (tmp_path / "out.csv").read_text().split("\n")[1:-1]}
    assert labels == {"", "0", "1"}
    decide_file(fitted.cascade, new / "new.csv", tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").field("label").type == pa.int64()


@pytest.mark.parametrize(
    ("labels", "written"),
    [(("well", "ill"), {"well", "ill", None}), ((False, True), {False, True, None})],
)
def test_labels_of_text_and_truth_values_keep_their_type(new, tmp_path, labels, written):
    data = write_rows(tmp_path / "data.csv", *patients(200), labels=labels)
    run = fit_files(FitFiles("sick", data), tmp_path / "run", **SETTINGS)
    for name in ("new.csv", "new.parquet"):
        decide_file(run.cascade, new / name, tmp_path / "out.parquet")
        assert set(read_columns(tmp_path / "out.parquet")["label"]) == written


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_value_that_cannot_be_used_far_down_is_refused_by_column_and_row(
    clinic, fitted, tmp_path, monkeypatch, ending
):
    X = clinic.rows["f"][0].copy()
    X[131, 3] = np.inf
    new = write_rows(tmp_path / f"new.{ending}", X)
    monkeypatch.setattr(csv_files, "_BLOCK", 512)
    monkeypatch.setattr(parquet, "_ROWS", 10)
    with pytest.raises(DataError):
        decide_file(fitted.cascade, new, tmp_path / f"out.{ending}")
    assert [path.name for path in tmp_path.iterdir()] == [new.name]


# Rows filled in part


def filled_in_part(n_rows=90):
    """Rows of the cascade of `make_rich_cascade`, each without some of its values."""
    table = make_rich_rows(n_rows)
    holes = np.random.default_rng(5).uniform(size=table.shape) < 0.2
    return table.astype({"smokes": object}).mask(holes, None)


def written(table, path, empty=""):
    """Write a table; `empty` is what missing values are in CSV."""
    if path.suffix == ".csv":
        table.to_csv(path, index=False, na_rep=empty)
    else:
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_rows_of_a_file_are_taken_as_far_as_they_go(tmp_path, monkeypatch, ending):
    cascade, table = make_rich_cascade(gaps="refuse"), filled_in_part()
    expected = cascade.decide(table, partial=True)
    assert {0, 1, 2} == set(expected.stage.tolist())
    shuffled = table.assign(id=range(90))[["sodium", "id", "age", "potassium", "ward"]]
    new, out = written(shuffled, tmp_path / f"new.{ending}"), tmp_path / f"out.{ending}"
    at_once = decide_file(cascade, new, out, ("id",))
    columns = read_columns(out)
    assert columns["id"] == list(range(90))
    assert [label or None for label in columns["label"]] == expected.labels.tolist()
    assert [text or "" for text in columns["needs"]] == expected.needs.tolist()
    assert columns["stage"] == expected.stage.tolist()
    assert columns["cost"] == pytest.approx(expected.cost)
    assert [one is None for one in columns["confidence"]] == (expected.stage == 0).tolist()
    monkeypatch.setattr(csv_files, "_BLOCK", 256)
    monkeypatch.setattr(parquet, "_ROWS", 7)
    assert decide_file(cascade, new, out, ("id",)) == at_once
    assert read_columns(out) == columns


def test_rows_that_wait_are_counted_by_stage_and_by_column(tmp_path):
    cascade, table = make_rich_cascade(gaps="refuse"), filled_in_part()
    expected = cascade.decide(table, partial=True)
    new = written(table, tmp_path / "new.csv")
    counts = decide_file(cascade, new, tmp_path / "out.csv")
    assert counts.n_rows == counts.n_accepted + counts.n_rejected + counts.n_waiting == 90
    assert counts.n_waiting == sum(counts.waiting) == expected.waiting.sum()
    stages = expected.stage[expected.waiting]
    assert counts.waiting == ((stages == 0).sum(), (stages == 1).sum())
    assert counts.waiting_costs == (0, cascade.stage_costs[0])
    assert counts.cost == pytest.approx(expected.cost.sum())
    needs = [name for text in expected.needs for name in text.split(";") if name]
    assert counts.needs == {name: needs.count(name) for name in set(needs)}
    assert list(counts.needs.values()) == sorted(counts.needs.values(), reverse=True)
    said = {"ward not seen in training": (expected.warnings != "").sum()}
    assert counts.warnings == said
    assert counts.absent == ()


@pytest.mark.parametrize("gaps", ["refuse", "impute", "skip"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_that_the_file_lacks_are_not_bought_yet(tmp_path, ending, gaps):
    cascade, table = make_rich_cascade(gaps=gaps), make_rich_rows(60)
    table = table.dropna() if gaps == "refuse" else table
    new = written(table[["age", "ward", "sodium"]], tmp_path / f"new.{ending}")
    counts = decide_file(cascade, new, tmp_path / f"out.{ending}")
    assert counts.absent == ("potassium",)
    assert counts.needs == {"potassium": counts.n_waiting}
    assert counts.waiting[0] == 0 < counts.n_waiting


def test_a_file_of_ids_alone_waits_for_the_first_stage_if_ids_are_kept(tmp_path):
    cascade, new, out = make_rich_cascade(), tmp_path / "new.csv", tmp_path / "out.csv"
    new.write_text("id\n7\n8\n")
    decide_file(cascade, new, out, ("id",))
    assert read_columns(out)["needs"] == ["age;ward"] * 2
    with pytest.raises(DataError, match="'age'"):
        decide_file(cascade, new, out)
    new.write_text("age;ward\n7;A\n")
    with pytest.raises(DataError, match="'age'"):
        decide_file(cascade, new, out, reading=Reading(separator=","))


@pytest.mark.parametrize("gaps", ["impute", "skip"])
@pytest.mark.parametrize(
    ("ending", "marker"),
    [("csv", ""), ("csv", "pending"), ("csv", "-999"), ("parquet", ""), ("parquet", "-999")],
)
def test_a_marker_tells_values_not_bought_from_missing_ones(
    tmp_path, monkeypatch, gaps, ending, marker
):
    cascade, table = make_rich_cascade(gaps=gaps), make_rich_rows(90)
    marks = np.random.default_rng(6).uniform(size=(90, 4)) < 0.2
    table, names = table[list(cascade.columns)], cascade.columns
    expected = cascade.decide_bought(table, not_bought=marks)
    assert expected.waiting.any()
    if ending == "csv":  # in CSV, NA then stands for values that could not be measured
        lines = [",".join(names)]
        for row, marked in zip(table.to_numpy().tolist(), marks, strict=True):
            cells = ["NA" if cell != cell else str(cell) for cell in row]
            shown = zip(cells, marked, strict=True)
            lines.append(",".join(f" {marker}" if one else cell for cell, one in shown))
        new = tmp_path / "new.csv"
        new.write_text("\n".join([*lines, ""]))
    else:  # in Parquet, null is the empty marker, and NaN could not be measured
        columns = {}
        for name, marked in zip(names, marks.T, strict=True):
            values = pa.array(table[name].to_numpy())
            stands_for = None
            if marker:
                stands_for = marker if name == "ward" else float(marker)
            columns[name] = pa.array(
                [
                    stands_for if one else v
                    for v, one in zip(values.to_pylist(), marked, strict=True)
                ],
                values.type,
            )
        new = tmp_path / "new.parquet"
        pq.write_table(pa.table(columns), new)
    out = tmp_path / f"out.{ending}"
    for size in (2**22, 256):
        monkeypatch.setattr(csv_files, "_BLOCK", size)
        monkeypatch.setattr(parquet, "_ROWS", size // 32)
        decide_file(cascade, new, out, not_bought=marker)
        written = read_columns(out)
        assert [text or "" for text in written["needs"]] == expected.needs.tolist()
        assert [label or None for label in written["label"]] == expected.labels.tolist()
        assert written["stage"] == expected.stage.tolist()


def test_a_run_with_weights_and_groups_decides_rows_filled_in_part(clinic, tmp_path):
    X, y = clinic.rows["f"]
    data = write_rows(tmp_path / "data.csv", X, y, weight=np.arange(150) % 3)
    costs = tmp_path / "costs.csv"
    costs.write_text(
        "feature,cost,group\nage,1,\npulse,2,\npanel,10,imaging\nscan,,imaging\nsex,0,\n"
    )
    files = FitFiles("sick", data, costs=costs, weights="weight")
    run = fit_files(files, tmp_path / "run", **{**SETTINGS, "always_answer": True})
    at_once = [i for i, point in enumerate(run.front) if "imaging" in point.design.buys[0]]
    run = run.choose(at_once[0])
    (tmp_path / "new.csv").write_text("age,pulse,sex,scan\n0.1,0.2,true,\n0.1,0.2,true,99\n")
    counts = decide_file(run.cascade, tmp_path / "new.csv", tmp_path / "out.csv")
    cascade = Cascade.load(tmp_path / "run" / "cascade.json")
    decisions = cascade.decide(pd.read_csv(tmp_path / "new.csv"), partial=True)
    assert read_columns(tmp_path / "out.csv")["needs"] == decisions.needs.tolist()
    assert counts.n_rejected == 0
    assert {"panel;scan", "panel"} == set(decisions.needs)


def test_the_price_of_a_row_may_come_with_what_it_buys(tmp_path):
    costs = {"age": 1, "pulse": 2, "scan": "price", "biopsy": 40}
    fees = {"visit": (3, ["scan", "biopsy"])}
    costs = FeatureCosts.from_mapping(costs, [*HANDMADE, "price"], fees=fees).with_usual([9.0])
    cascade = replace(make_cascade(), costs=costs)
    table = pd.DataFrame(make_rows(80), columns=HANDMADE)
    table.loc[::2, "scan"] = np.nan
    table["price"] = np.where(table.scan.isna(), np.nan, np.linspace(1, 5, 80))
    new, out = written(table, tmp_path / "new.csv"), tmp_path / "out.csv"
    counts, expected = decide_file(cascade, new, out), cascade.decide(table, partial=True)
    assert counts.cost == pytest.approx(expected.cost.sum())
    assert read_columns(out)["cost"] == pytest.approx(expected.cost)
    new = written(table.drop(columns="price"), tmp_path / "unpriced.csv")
    with pytest.raises(DataError):
        decide_file(cascade, new, out)


# VmHWM, since ru_maxrss starts from the peak of the parent process.
MEASURED = r"""
import re, sys
from pathlib import Path
from emsco.app.files import csv, parquet
from emsco.cascade import Cascade
from emsco.app.runs.decide import decide_file

csv._BLOCK, parquet._ROWS = 2**20, 2**14
cascade, *files = map(Path, sys.argv[1:])
for file in files:
    decide_file(Cascade.load(cascade), file, file.with_stem("out"))
    print(*re.findall(r"VmHWM: *\t *(\d+) kB", Path("/proc/self/status").read_text()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells a process its peak")
@pytest.mark.parametrize(
    ("ending", "n_rows"),
    [
        ("csv", (100_000, 500_000)),
        pytest.param("parquet", (200_000, 3_000_000), marks=pytest.mark.thorough),
    ],
)
def test_memory_does_not_grow_with_the_file(fitted, tmp_path, ending, n_rows):
    files = [tmp_path / f"{n}.{ending}" for n in n_rows]
    for n, file in zip(n_rows, files, strict=True):
        columns = dict.fromkeys(NAMES, np.arange(float(n)))
        table = pa.table(columns | {NAMES[4]: np.arange(n) % 2 == 0})  # true or false
        if ending == "csv":
            pyarrow.csv.write_csv(table, file)
        else:  # as large as in memory, in one group of rows
            pq.write_table(table, file, n, compression="none", use_dictionary=False)
    command = [sys.executable, "-c", MEASURED, fitted.folder / "cascade.json", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    small, large = (int(line) / 1024 for line in done.stdout.split())
    assert large - small < 64  # MiB; all rows at once would take twice that
