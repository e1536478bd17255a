"""Folders of Parquet files: one table, checked across files."""

import numpy as np
import pandas as pd
import pytest

from emsco.app.files import parquet
from emsco.app.files.sources import FitFiles
from emsco.app.runs.decide import decide_file
from emsco.app.runs.fit import fit_files
from emsco.errors import DataError, FileError

RNG = np.random.default_rng(0)
Y = RNG.choice(["ill", "well"], 240)
TABLE = pd.DataFrame(RNG.normal(size=(240, 3)) + (Y == "ill")[:, None], columns=list("abc"))
TABLE = TABLE.assign(d=RNG.choice(["x", "y", "z"], 240), w=RNG.integers(1, 4, 240), y=Y)
# One threshold, so that the front is small.
FIT = {"generations": 1, "population_size": 8, "estimator": "logistic", "min_confidence": 0.8}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "a.parquet", TABLE[:100])
    write(tmp_path / "data" / "b.pq", TABLE[100:])
    return tmp_path / "data"


def write(path, table):
    table.to_parquet(path, row_group_size=60)


def test_a_folder_is_fitted_and_decided_as_one_file_would_be(folder, tmp_path):
    one = tmp_path / "one.parquet"
    write(one, TABLE)
    runs = [
        fit_files(FitFiles("y", data=data, weights="w"), tmp_path / name, groups="d", **FIT)
        for data, name in ((one, "1"), (folder, "2"))
    ]
    fronts = [[repr(point) for point in run.front] for run in runs]
    assert fronts[0] == fronts[1]
    assert runs[0].about["data"] == runs[1].about["data"]
    written = [tmp_path / "1.csv", tmp_path / "2.csv"]
    for data, out in zip((one, folder), written, strict=True):
        decide_file(runs[0].cascade, data, out)
    assert written[0].read_text() == written[1].read_text()


def test_a_folder_without_parquet_files_is_refused(tmp_path):
    with pytest.raises(FileError, match="of Parquet files, got a folder without any"):
        FitFiles("y", data=tmp_path).read("auto")


def test_a_table_larger_than_memory_is_refused_with_its_size(folder, monkeypatch):
    monkeypatch.setattr(parquet, "_memory", lambda: 2e4)
    monkeypatch.setattr(parquet, "_BYTES", 1e9)
    said = r"data must fit into memory, got 240 rows of 6 columns, which take 1,440 GB of 0; give a"
    with pytest.raises(DataError, match=said):
        FitFiles("y", data=folder).read("auto")


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.drop(columns="b"),
        lambda t: t.assign(e=1),
        lambda t: t.assign(y=1),
        lambda t: t.assign(y=None),
        lambda t: t.assign(a=np.nan),
    ],
)
def test_a_file_unlike_the_others_is_named(folder, tmp_path, change):
    write(folder / "c.parquet", change(TABLE[:5]))
    with pytest.raises(DataError):
        fit_files(FitFiles("y", data=folder), tmp_path / "run", **FIT)
