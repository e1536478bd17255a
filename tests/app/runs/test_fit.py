"""Fits on files: kept in a run folder like the estimator's, refused, interrupted and resumed."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.model_selection import PredefinedSplit
from support.clinic import (
    COSTS,
    FILES,
    NAMES,
    SETTINGS,
    front_of,
    patients,
    read_columns,
    write_rows,
)

from emsco import EMSCOClassifier
from emsco.app.files.sources import FitFiles
from emsco.app.runs import fit as fit_module
from emsco.app.runs.decide import decide_file
from emsco.app.runs.fit import fit_files
from emsco.app.runs.run import Run
from emsco.errors import CheckpointError, FileError
from emsco.search.progress import SearchProgress


def test_a_run_has_the_front_and_the_cascade_of_the_estimator(fitted, estimated):
    assert fitted.front.to_dicts() == estimated.front_.to_dicts()
    assert fitted.front.proven == estimated.front_.proven
    assert fitted.cascade.design == estimated.design_
    assert np.array_equal(fitted.cascade.models.coefs, estimated.cascade_.models.coefs)
    assert fitted.point == estimated.point_


def test_a_run_opened_again_is_the_run(fitted):
    again = Run.open(fitted.folder)
    assert again.about == fitted.about
    assert again.front.to_dicts() == fitted.front.to_dicts()
    assert np.array_equal(again.cascade.models.coefs, fitted.cascade.models.coefs)
    assert again.chosen == fitted.chosen
    assert not again.interrupted


def test_csv_and_parquet_give_the_same_run(clinic, fitted, tmp_path):
    files = FitFiles("sick", data=clinic.data_parquet, costs=clinic.costs)
    fit_files(files, tmp_path / "run", seed=3, **SETTINGS)
    assert front_of(tmp_path / "run") == front_of(fitted.folder)


def test_separate_files_are_a_predefined_split(clinic, tested):
    X, y = (np.concatenate(parts) for parts in zip(clinic.rows["t"], clinic.rows["v"], strict=True))
    split = PredefinedSplit([-1] * 200 + [0] * 100)
    by_hand = EMSCOClassifier(COSTS, random_state=3, **SETTINGS | {"cv": split})
    by_hand.fit(pa.table(dict(zip(NAMES, X.T, strict=True))).to_pandas(), y)
    assert tested.front.to_dicts() == by_hand.front_.to_dicts()
    assert {point.n_rows for point in tested.front} == {100}


def test_test_rows_change_nothing_about_the_search(clinic, tested, tmp_path):
    files = FitFiles("sick", None, clinic.train, clinic.val, costs=clinic.costs)
    run = fit_files(files, tmp_path / "run", seed=3, **SETTINGS)
    assert run.front.to_dicts() == tested.front.to_dicts()


def test_labels_of_other_files_are_brought_to_the_type_of_the_first(clinic, tested, tmp_path):
    X, y = clinic.rows["v"]
    val = write_rows(tmp_path / "val.csv", X, y, labels=(0.0, 1.0))
    test = write_rows(tmp_path / "test.parquet", *clinic.rows["e"], labels=("0", "1"))
    files = FitFiles("sick", None, clinic.train, val, test, clinic.costs)
    run = fit_files(files, tmp_path / "run", seed=3, **SETTINGS)
    assert run.cascade.classes.dtype == np.int64
    assert front_of(run.folder) == front_of(tested.folder)


def test_run_json_holds_settings_seed_versions_and_data(clinic, fitted, tested):
    about = json.loads((fitted.folder / "run.json").read_text())["body"]
    assert about["seed"] == 3
    assert about["features"] == list(NAMES)
    assert (about["cv"], about["n_splits"]) == (1 / 3, 1)
    assert about["files"]["data"] == str(clinic.data)
    kept = {name: value for name, value in SETTINGS.items() if name != "cv"}
    assert kept.items() <= about["settings"].items()
    assert about["versions"]["numpy"] == np.__version__
    assert about["data"].startswith("sha256:")
    assert about["data"] != tested.about["data"]
    assert tested.about["cv"] is None


def test_history_has_a_row_for_every_generation(fitted, estimated):
    history = read_columns(fitted.folder / "history.csv")
    assert history["generation"] == [record.generation for record in estimated.history_]
    assert history["n_front"] == [record.n_front for record in estimated.history_]
    assert history["best_cost"] == [record.best.cost for record in estimated.history_]


def test_a_complete_run_holds_its_four_files_and_no_checkpoint(fitted, tested):
    for run in (fitted, tested):
        assert sorted(path.name for path in run.folder.iterdir()) == FILES


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


def test_an_existing_run_is_never_written_over(clinic, fitted):
    before = {path.name: path.read_bytes() for path in fitted.folder.iterdir()}
    words = (
        f"out must be a new or empty folder, got '{fitted.folder}', which has 'cascade.json'; "
        "name another."
    )
    with pytest.raises(FileError) as error:
        fit_files(FitFiles("sick", clinic.data), fitted.folder, **SETTINGS)
    assert str(error.value) == words
    assert {path.name: path.read_bytes() for path in fitted.folder.iterdir()} == before


def test_a_folder_with_other_files_is_refused(clinic, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for resume in (False, True):
        with pytest.raises(FileError, match=r"'notes\.txt'"):
            fit_files(FitFiles("sick", clinic.data), tmp_path, resume=resume, **SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


LONG = SETTINGS | {"search": "evolution", "generations": 12}
PAUSED = """
import signal, sys
from emsco.app.cli import main
from emsco.search.progress import SearchProgress

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
signal.alarm(120)  # ends this process if nobody else does
told = SearchProgress.generation

def pause(self, record):
    told(self, record)
    if record.generation == 4:
        print("paused", flush=True)
        signal.pause()

SearchProgress.generation = pause
main()
"""


def long_fit(clinic, folder, **more):
    return fit_files(FitFiles("sick", data=clinic.data), folder, seed=5, n_jobs=-1, **(LONG | more))


def paused_fit(clinic, folder):
    """Start the long fit as a command that waits after its fourth generation."""
    options = {"target": "sick", "out": folder, "seed": 5} | LONG
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    process = subprocess.Popen(
        [sys.executable, "-c", PAUSED, "fit", str(clinic.data), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "paused\n"
    return process


@pytest.fixture(scope="module")
def undisturbed(clinic):
    return long_fit(clinic, clinic.folder / "undisturbed").folder


@pytest.fixture
def interrupt(monkeypatch):
    """Presses Ctrl-C after the fourth generation."""
    told = SearchProgress.generation

    def press(self, record):
        told(self, record)
        if record.generation == 4:
            raise KeyboardInterrupt

    def arm():
        monkeypatch.setattr(SearchProgress, "generation", press)
        return lambda: monkeypatch.setattr(SearchProgress, "generation", told)

    return arm


def test_ctrl_c_keeps_what_was_found_and_the_fit_goes_on_later(clinic, undisturbed, tmp_path):
    folder = tmp_path / "run"
    process = paused_fit(clinic, folder)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    assert process.returncode == 130
    assert "Search ended: interrupted after 4 generations." in output
    assert errors.endswith(f"emsco: interrupted; --resume goes on with {folder}.\n")
    assert "Traceback" not in errors
    assert "UserWarning" not in errors
    assert Run.open(folder).interrupted
    long_fit(clinic, folder, resume=True)
    assert front_of(folder) == front_of(undisturbed)
    assert not Run.open(folder).interrupted


def test_a_fit_for_money_goes_on_with_the_same_costs(clinic, interrupt, tmp_path):
    settings = {name: value for name, value in LONG.items() if name != "min_confidence"}
    files, costs = FitFiles("sick", data=clinic.data), {"error_cost": 90.0, "reject_cost": 20.0}
    release = interrupt()
    with pytest.warns(UserWarning, match="nterrupted"):
        fit_files(files, tmp_path / "run", seed=5, **settings, **costs)
    release()
    run = fit_files(files, tmp_path / "run", seed=5, resume=True, **settings, **costs)
    assert run.about["settings"]["error_cost"] == 90
    assert Run.open(run.folder).error_costs() == run.front.money


@pytest.fixture
def interrupted(clinic, interrupt, tmp_path):
    """The folder of an interrupted run."""
    release = interrupt()
    with pytest.warns(UserWarning, match="nterrupted"):
        run = long_fit(clinic, tmp_path / "run")
    release()
    return run.folder


def test_an_interrupted_run_is_never_written_over_without_resume(clinic, interrupted):
    with pytest.raises(FileError, match=r"'answers\.sqlite'; resume goes on with it"):
        long_fit(clinic, interrupted)


def test_resume_with_other_settings_or_rows_names_the_difference(clinic, interrupted, fitted):
    with pytest.raises(CheckpointError, match="class_weight"):
        long_fit(clinic, interrupted, resume=True, class_weight="balanced")
    with pytest.raises(CheckpointError, match="X"):
        fit_files(FitFiles("sick", clinic.train), interrupted, resume=True, seed=5, **LONG)
    assert Run.open(interrupted).interrupted


def test_an_interrupted_run_can_be_used_and_resumed(clinic, interrupted, undisturbed):
    run = Run.open(interrupted).choose(len(Run.open(interrupted).front) - 1)
    decide_file(run.cascade, clinic.test, interrupted / "decisions.csv")
    long_fit(clinic, interrupted, resume=True)
    assert front_of(interrupted) == front_of(undisturbed)
    assert (interrupted / "decisions.csv").exists()


def test_a_run_killed_while_it_was_written_can_be_resumed(clinic, interrupted, undisturbed):
    (interrupted / "run.json").unlink()
    (interrupted / "front.json.123.tmp").write_text("half a fro")
    with pytest.raises(FileError, match=r"run\.json"):
        Run.open(interrupted)
    long_fit(clinic, interrupted, resume=True)
    assert sorted(path.name for path in interrupted.iterdir()) == FILES
    assert front_of(interrupted) == front_of(undisturbed)


class TestLateErrors:
    """What has been scored outlives every error."""

    @pytest.mark.thorough
    def test_a_fit_that_comes_second_leaves_the_first_ones_scores(self, clinic, tmp_path):
        folder = tmp_path / "run"
        process = paused_fit(clinic, folder)
        try:
            shutil.copytree(folder, tmp_path / "before")
            with pytest.raises(FileError):
                _fit_past_the_check(clinic, folder)
            assert (folder / "answers.sqlite").exists()
        finally:
            process.kill()
            process.communicate()

    def test_a_fit_that_comes_too_late_leaves_the_first_ones_run(self, clinic, fitted, tmp_path):
        folder = tmp_path / "run"
        with pytest.MonkeyPatch.context() as patch:
            check = fit_module._check_place
            checks = []

            def be_overtaken(*given):
                check(*given)
                checks.append(given)
                if len(checks) == 1:
                    shutil.copytree(fitted.folder, folder)

            patch.setattr(fit_module, "_check_place", be_overtaken)
            with pytest.raises(FileError):
                long_fit(clinic, folder)
        assert sorted(path.name for path in folder.iterdir()) == FILES


def _fit_past_the_check(clinic, folder):
    """Fit as if the folder had been empty a moment ago."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("emsco.app.runs.fit._check_place", lambda *_: None)
        long_fit(clinic, folder)
