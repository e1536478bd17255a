"""Folders of Parquet files: one table, checked across files."""

import numpy as np
import pandas as pd
import pytest

from emsco.app.files import sources
from emsco.app.files.sources import FitFiles, ParquetFolder
from emsco.app.runs.fit import fit_files
from emsco.errors import DataError, FileError, ReadingWarning
from emsco.scale.remote import RemoteRows

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


def test_a_folder_is_fitted_as_one_file_would_be(folder, tmp_path, monkeypatch):
    write(tmp_path / "one.parquet", TABLE)
    one = fit_files(
        FitFiles("y", data=tmp_path / "one.parquet", weights="w"), tmp_path / "1", **FIT
    )
    many = fit_files(FitFiles("y", data=folder, weights="w"), tmp_path / "2", **FIT)
    monkeypatch.setattr(sources, "fits_into_memory", lambda _: False)
    with pytest.warns(ReadingWarning, match=r"is larger than memory, so its rows stay on disk"):
        large = fit_files(FitFiles("y", data=folder, weights="w"), tmp_path / "3", **FIT)
    fronts = [[repr(point) for point in run.front] for run in (one, many, large)]
    assert fronts[0] == fronts[1] == fronts[2]


def test_inputs_come_in_the_order_of_files_in_memory_and_on_disk(folder, monkeypatch):
    table = ParquetFolder(folder).only(["a", "d"])
    costs = FitFiles("y", data=folder).costs_of(("a", "d"))[0]
    encoding = table.learn_encoding(costs, "refuse")
    rows = table.rows(encoding)
    assert encoding.input_names == ("a", "d = x", "d = y", "d = z")
    np.testing.assert_array_equal(rows[:, 0], TABLE["a"])
    monkeypatch.setattr(sources, "fits_into_memory", lambda _: False)
    with pytest.warns(ReadingWarning, match="stages are logistic"):
        other = table.rows(encoding)
    assert isinstance(other, RemoteRows)
    np.testing.assert_array_equal(np.asarray(other[np.arange(240)]), rows)


def test_a_folder_without_parquet_files_is_refused(tmp_path):
    with pytest.raises(FileError, match="must be a folder of Parquet files, got none in it"):
        ParquetFolder(tmp_path)


def test_a_bad_value_is_named_by_its_row_in_its_file_also_where_gaps_are_imputed(folder):
    write(folder / "c.parquet", TABLE[:3].assign(a=[1.0, 1e200, 3.0]))
    table = ParquetFolder(folder).only(["a"])
    costs = FitFiles("y", data=folder).costs_of(("a",))[0]
    with pytest.raises(DataError, match=r"c\.parquet must .* 'a', row 2"):
        table.learn_encoding(costs, "impute")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.drop(columns="b"), r"c\.parquet must have the columns of a.parquet, got no"),
        (lambda t: t.assign(e=1), r"c\.parquet must have the columns of a.parquet, got 'e' too"),
        (lambda t: t.assign(y=1), r"one type in column 'y', got '\w+' in a.parquet and 1 in c.par"),
        (lambda t: t.assign(y=None), r"c\.parquet must have a label in every row, got none in row"),
        (
            lambda t: t.assign(d=1.5),
            r"data must have one kind of value in column 'd', got text in .*a\.parquet and numbers",
        ),
        (
            lambda t: t.assign(a=np.nan),
            r"c\.parquet must have no missing value .* column 'a', row 1",
        ),
    ],
)
def test_a_file_unlike_the_others_is_named(folder, tmp_path, change, said):
    write(folder / "c.parquet", change(TABLE[:5]))
    with pytest.raises(DataError, match=said):
        fit_files(FitFiles("y", data=folder), tmp_path / "run", **FIT)
