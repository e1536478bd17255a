"""Files of new rows, decided in chunks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from support.clinic import NAMES, SETTINGS, patients, read_columns, write_rows

from emsco.app.files import csv as csv_files
from emsco.app.files import parquet
from emsco.app.files.sources import FitFiles
from emsco.app.runs.decide import decide_file
from emsco.app.runs.fit import fit_files
from emsco.errors import DataError, ParameterError


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
    expected = fitted.cascade.decide(clinic.rows["f"][0])
    assert read_columns(out) == {
        "label": expected.labels.tolist(),
        "accepted": expected.accepted.tolist(),
        "confidence": expected.confidence.tolist(),
        "stage": expected.stage.tolist(),
        "cost": expected.cost.tolist(),
    }
    assert 0 < expected.accepted.sum() < 150
    assert counts.n_rows == 150
    assert counts.n_accepted == sum(counts.exits) == expected.accepted.sum()
    assert counts.cost == pytest.approx(expected.cost.sum())
    assert counts.cost_of_everything == 150 * 53.5


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_many_tiny_chunks_decide_as_one(fitted, new, tmp_path, monkeypatch, ending):
    source = new / f"new.{ending.removesuffix('.gz')}"
    at_once = decide_file(fitted.cascade, source, tmp_path / f"whole.{ending}", ("id",))
    monkeypatch.setattr(csv_files, "_BLOCK", 256)
    monkeypatch.setattr(parquet, "_ROWS", 7)
    told = []
    in_parts = decide_file(
        fitted.cascade, source, tmp_path / f"parts.{ending}", ("id",), told.append
    )
    assert len(told) > 10
    assert told[-1] == 150
    assert in_parts == at_once
    read = pq.read_table if ending == "parquet" else pyarrow.csv.read_csv
    assert read(tmp_path / f"parts.{ending}") == read(tmp_path / f"whole.{ending}")


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
def test_a_file_without_rows_gives_a_table_without_rows(fitted, tmp_path, ending):
    new = write_rows(tmp_path / f"new.{ending}", np.empty((0, 5)))
    counts = decide_file(fitted.cascade, new, tmp_path / f"out.{ending}")
    columns = {"label": [], "accepted": [], "confidence": [], "stage": [], "cost": []}
    assert read_columns(tmp_path / f"out.{ending}") == columns
    assert (counts.n_rows, counts.cost, counts.cost_of_everything) == (0, 0, 0)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_empty_cell_far_down_is_refused_by_column_and_row(
    clinic, fitted, tmp_path, monkeypatch, ending
):
    X = clinic.rows["f"][0].copy()
    X[131, 3] = np.nan
    new = write_rows(tmp_path / f"new.{ending}", X)
    monkeypatch.setattr(csv_files, "_BLOCK", 512)
    monkeypatch.setattr(parquet, "_ROWS", 10)
    where = "line 133" if ending == "csv" else "row 132"
    words = rf"new\.{ending} must have no missing value .* in column 'scan', {where}; fit with"
    with pytest.raises(DataError, match=words):
        decide_file(fitted.cascade, new, tmp_path / f"out.{ending}")
    assert [path.name for path in tmp_path.iterdir()] == [new.name]


def test_the_file_of_new_rows_is_never_replaced_by_decisions(fitted, new):
    before = (new / "new.csv").read_bytes()
    with pytest.raises(ParameterError, match="out must be another file than new, got"):
        decide_file(fitted.cascade, new / "new.csv", new / ".." / new.name / "new.csv")
    assert (new / "new.csv").read_bytes() == before


def test_a_kept_column_is_never_replaced_by_a_decision(clinic, fitted, tmp_path):
    new = write_rows(tmp_path / "new.csv", clinic.rows["f"][0], label=["truth"] * 150)
    words = (
        r"keep must name columns other than those of decisions \(label, accepted, confidence, "
        r"stage, cost\), got 'label'; rename it\."
    )
    with pytest.raises(ParameterError, match=words):
        decide_file(fitted.cascade, new, tmp_path / "out.csv", ("label",))
    decide_file(fitted.cascade, new, tmp_path / "out.csv")


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
