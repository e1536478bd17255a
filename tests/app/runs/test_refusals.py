"""Files and folders that a fit refuses."""

from __future__ import annotations

import numpy as np
import pyarrow.csv
import pytest
from support.clinic import SETTINGS, patients, write_rows

from emsco.app.files.sources import FitFiles
from emsco.app.runs.decide import decide_file
from emsco.app.runs.fit import fit_files
from emsco.errors import DataError, FileError, ParameterError


def refuse_fit(words, files, folder, **settings):
    """Refuse a fit with exactly these words, and before anything is written."""
    with pytest.raises((DataError, FileError, ParameterError), match="must") as error:
        fit_files(files, folder, **(SETTINGS | settings))
    assert str(error.value) == words
    assert not folder.exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, r"either data or train must be given, got neither\."),
        ({"data": "a", "train": "b"}, r"either data or train must be given, got both\."),
        ({"train": "b"}, "val must be given beside train, got none; a file given as data is"),
        ({"data": "a", "val": "b"}, "beside train, got data; give a as train, or b as test for"),
    ],
)
def test_files_that_contradict_each_other_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        FitFiles("sick", **given)


@pytest.mark.parametrize("label", ["healthy", "sick"])
def test_one_class_only_is_refused_by_file_and_column(tmp_path, label):
    X, y = patients(20)
    data = write_rows(tmp_path / "data.csv", X, y, labels=(label, label))
    words = f"{data} must have labels of two classes or more in column 'sick', got 1 ({label!r})."
    refuse_fit(words, FitFiles("sick", data), tmp_path / "run")


def test_more_classes_than_the_estimator_takes_are_refused(tmp_path):
    X, _ = patients(512)
    data = write_rows(tmp_path / "data.csv", X, np.arange(512) % 256, labels=range(256))
    words = f"{data} must have at most 255 classes in column 'sick', got 256."
    refuse_fit(words, FitFiles("sick", data), tmp_path / "run")


def test_measured_numbers_as_labels_are_refused_by_their_column(clinic, tmp_path):
    measured = clinic.rows["d"][0][0, 1].item()
    words = (
        f"{clinic.data} must have classes in column 'pulse', got numbers such as {measured!r}; "
        "target names another column."
    )
    refuse_fit(words, FitFiles("pulse", clinic.data), tmp_path / "run")


def test_more_than_two_classes_are_fitted_and_decided(tmp_path):
    X, y = patients(90)
    y[::3] = 2
    data = write_rows(tmp_path / "data.csv", X, y, labels=("no", "yes", "maybe"))
    run = fit_files(FitFiles("sick", data), tmp_path / "run", **SETTINGS | {"min_confidence": 0.4})
    assert run.cascade.classes.tolist() == ["maybe", "no", "yes"]
    decide_file(run.cascade, data, tmp_path / "out.csv")
    labels = pyarrow.csv.read_csv(tmp_path / "out.csv").column("label").to_pylist()
    wanted = run.cascade.decide(X).labels.tolist()
    assert labels == ["" if label is None else label for label in wanted]


@pytest.mark.parametrize("part", ["val", "test"])
def test_an_unknown_class_in_another_file_is_refused_before_the_search(clinic, tmp_path, part):
    X, y = patients(20)
    y[13] = 2
    odd = write_rows(tmp_path / "odd.csv", X, y, labels=("0", "1", "maybe"))
    files = {"train": clinic.train, "val": clinic.val, part: odd}
    words = f"{odd} must have only the labels [0, 1], got 'maybe' in line 15."
    refuse_fit(words, FitFiles("sick", **files), tmp_path / "run")


@pytest.mark.parametrize("part", ["data", "val", "test"])
def test_an_empty_cell_is_refused_by_file_column_and_row(clinic, tmp_path, part):
    X, y = patients(20)
    X[16, 2] = np.nan
    bad = write_rows(tmp_path / "bad.csv", X, y)
    bad.write_text(bad.read_text().replace("nan", ""))
    files = (
        {"data": bad} if part == "data" else {"train": clinic.train, "val": clinic.val, part: bad}
    )
    words = (
        f"{bad} must have no missing value (empty cell or NaN), got one in column "
        "'panel', line 18; fit with gaps='impute' or gaps='skip' to allow missing values."
    )
    refuse_fit(words, FitFiles("sick", **files), tmp_path / "run")


def test_a_feature_missing_in_another_file_is_refused(clinic, tmp_path):
    val = write_rows(tmp_path / "val.csv", *patients(20), order=(0, 1, 2, 4))
    words = f"{val} must have a column 'scan', got 'age', 'pulse', 'panel', 'sex', 'sick'."
    refuse_fit(words, FitFiles("sick", None, clinic.train, val), tmp_path / "run")


@pytest.mark.parametrize("cv", [0, 1, 2.5, np.nan, True, "third", None, [([0], [1])]])
def test_an_impossible_share_or_number_of_folds_is_refused(clinic, tmp_path, cv):
    rule = '"auto", a fraction between 0 and 1 or a number of folds from 2'
    words = f"cv must be {rule}, got {cv!r}."
    refuse_fit(words, FitFiles("sick", clinic.data), tmp_path / "run", cv=cv)


def test_an_existing_run_is_never_written_over(clinic, fitted):
    before = {path.name: path.read_bytes() for path in fitted.folder.iterdir()}
    words = (
        f"out must be a new or empty folder, got '{fitted.folder}', which has 'cascade.json'; "
        "name another."
    )
    with pytest.raises(FileError, match="new or empty") as error:
        fit_files(FitFiles("sick", clinic.data), fitted.folder, **SETTINGS)
    assert str(error.value) == words
    assert {path.name: path.read_bytes() for path in fitted.folder.iterdir()} == before


def test_a_folder_with_other_files_is_refused(clinic, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for resume in (False, True):
        with pytest.raises(FileError, match=r"which has 'notes\.txt'; name another\."):
            fit_files(FitFiles("sick", clinic.data), tmp_path, resume=resume, **SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_impossible_folders_are_refused(clinic, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="out must be a folder, got the file"):
        fit_files(FitFiles("sick", clinic.data), tmp_path / "file", **SETTINGS)
    with pytest.raises(FileError, match=r"out must be a folder, got '.*' \(Not a directory\)\."):
        fit_files(FitFiles("sick", clinic.data), tmp_path / "file" / "run", **SETTINGS)
    with pytest.raises(FileError, match=r"out must be a folder, got '.*' \(File name too long\)"):
        fit_files(FitFiles("sick", clinic.data), tmp_path / ("x" * 300), **SETTINGS)
