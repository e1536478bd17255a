"""Runs in folders: the same as the estimator's, kept whole, resumed, chosen from, put to use."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import PredefinedSplit

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts
from emsco.data import csv_files, tables
from emsco.data.sources import FitFiles
from emsco.errors import CheckpointError, DataError, FileError, ParameterError
from emsco.runs.decide import decide_file
from emsco.runs.fit import fit_files
from emsco.runs.run import Run
from emsco.scoring.journal import Journal
from emsco.search.progress import SearchProgress

NAMES = ("age", "pulse", "panel", "scan", "sex")
COSTS = dict(zip(NAMES, (1, 2, 10, 40, 0.5), strict=True))
SETTINGS = {"min_confidence": 0.8, "max_stages": 3, "population_size": 12, "generations": 8}
FILES = ["cascade.json", "front.json", "history.csv", "run.json"]


def patients(n_rows, seed=0):
    """Rows of two noisy classes; the last feature is a truth value."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n_rows)
    X = rng.normal(size=(n_rows, 5)) + y[:, None] * np.array([0.6, 0.8, 1.2, 1.6, 0.0])
    X[:, 4] = X[:, 4] > 0
    return X, y


def write_rows(path, X, y=None, order=range(5), labels=(0, 1), **more):
    """Features by name in some order, further columns, and the labels as column sick."""
    columns = {NAMES[i]: X[:, i].astype(bool) if i == 4 else X[:, i] for i in order}
    columns |= more | ({} if y is None else {"sick": np.asarray(labels)[y]})
    write = pq.write_table if path.suffix == ".parquet" else pyarrow.csv.write_csv
    write(pa.table(columns), path)
    return path


def read_columns(path):
    read = pq.read_table if path.suffix == ".parquet" else pyarrow.csv.read_csv
    return read(path).to_pydict()


def front_of(folder):
    return json.loads((folder / "front.json").read_text())["body"]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """Files of training, validation, test and new rows, with costs."""
    folder = tmp_path_factory.mktemp("clinic")
    parts = {
        name: patients(n, i)
        for i, (name, n) in enumerate(zip("dtvef", (300, 200, 100, 80, 150), strict=True))
    }
    costs = folder / "costs.csv"
    costs.write_text("feature,cost\n" + "".join(f"{n},{c}\n" for n, c in reversed(COSTS.items())))
    return SimpleNamespace(
        folder=folder,
        rows=parts,
        costs=costs,
        data=write_rows(folder / "data.csv", *parts["d"]),
        data_parquet=write_rows(folder / "data.parquet", *parts["d"]),
        train=write_rows(folder / "train.csv", *parts["t"]),
        val=write_rows(folder / "val.parquet", *parts["v"], order=(4, 2, 0, 3, 1)),
        test=write_rows(folder / "test.csv", *parts["e"], order=(3, 1, 4, 0, 2), ward=["x"] * 80),
    )


@pytest.fixture(scope="module")
def fitted(clinic):
    """A complete run on one file."""
    files = FitFiles("sick", data=clinic.data, costs=clinic.costs)
    return fit_files(files, clinic.folder / "fitted", seed=3, **SETTINGS)


@pytest.fixture(scope="module")
def tested(clinic):
    """A complete run on files of training, validation and test rows."""
    files = FitFiles("sick", None, clinic.train, clinic.val, clinic.test, clinic.costs)
    return fit_files(files, clinic.folder / "tested", seed=3, **SETTINGS)


@pytest.fixture(scope="module")
def estimated(clinic):
    costs = FeatureCosts.from_mapping(COSTS)
    return EMSCOClassifier(costs, random_state=3, **SETTINGS).fit(*clinic.rows["d"])


# The same as the estimator


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


def test_files_of_ones_own_are_a_predefined_split(clinic, tested):
    X, y = (np.concatenate(parts) for parts in zip(clinic.rows["t"], clinic.rows["v"], strict=True))
    split = PredefinedSplit([-1] * 200 + [0] * 100)
    by_hand = EMSCOClassifier(COSTS, random_state=3, cv=split, **SETTINGS)
    by_hand.fit(pa.table(dict(zip(NAMES, X.T, strict=True))).to_pandas(), y)
    assert tested.front.to_dicts() == by_hand.front_.to_dicts()
    assert {point.n_rows for point in tested.front} == {100}


def test_test_figures_stand_apart_from_those_of_validation(clinic, tested):
    for i, point in enumerate(front_of(tested.folder)["points"]):
        expected = tested.front.cascade(i).evaluate(*clinic.rows["e"])
        assert point["seen"]["n_rows"] == 80
        assert point["seen"]["accuracy"] == expected.accuracy
        assert point["scored"] == tested.front[i].scores_to_dict()
    assert tested.figures()[0]["seen"] == tested.front.seen[0].to_dict()


def test_a_run_without_test_rows_has_no_test_figures(fitted):
    assert {point["seen"] for point in fitted.figures()} == {None}
    assert fitted.front.seen is None


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


def test_run_json_tells_settings_seed_versions_and_data(clinic, fitted, tested):
    about = json.loads((fitted.folder / "run.json").read_text())["body"]
    assert about["seed"] == 3
    assert about["features"] == list(NAMES)
    assert about["held_out"] == 1 / 3
    assert about["files"]["data"] == str(clinic.data)
    assert SETTINGS.items() <= about["settings"].items()
    assert about["versions"]["numpy"] == np.__version__
    assert about["data"].startswith("sha256:")
    assert about["data"] != tested.about["data"]
    assert tested.about["held_out"] is None


def test_history_has_a_row_for_every_generation(fitted, estimated):
    history = read_columns(fitted.folder / "history.csv")
    assert history["generation"] == [record.generation for record in estimated.history_]
    assert history["n_front"] == [record.n_front for record in estimated.history_]
    assert history["best_cost"] == [record.best.cost for record in estimated.history_]


def test_a_complete_run_holds_its_four_files_and_no_checkpoint(fitted, tested):
    for run in (fitted, tested):
        assert sorted(path.name for path in run.folder.iterdir()) == FILES


# What is refused


def refuse_fit(words, files, folder, **settings):
    """Refused with exactly these words, and before anything is there."""
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


def test_numbers_that_are_no_classes_are_refused_by_their_column(clinic, tmp_path):
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
    words = f"{odd} must have only the labels [0, 1], got 'maybe' in row 14."
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
        "'panel', row 17; fit with gaps='impute' or gaps='skip' to allow missing values."
    )
    refuse_fit(words, FitFiles("sick", **files), tmp_path / "run")


def test_a_feature_missing_in_another_file_is_refused(clinic, tmp_path):
    val = write_rows(tmp_path / "val.csv", *patients(20), order=(0, 1, 2, 4))
    words = f"{val} must have a column 'scan', got 'age', 'pulse', 'panel', 'sex', 'sick'."
    refuse_fit(words, FitFiles("sick", None, clinic.train, val), tmp_path / "run")


@pytest.mark.parametrize("held_out", [0, 1, 5, np.nan])
def test_a_share_to_hold_out_that_is_none_is_refused(clinic, tmp_path, held_out):
    words = f"held_out must be a number in (0, 1), got {held_out}."
    refuse_fit(words, FitFiles("sick", clinic.data), tmp_path / "run", held_out=held_out)


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


def test_other_peoples_files_are_never_written_beside(clinic, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for resume in (False, True):
        with pytest.raises(FileError, match=r"which has 'notes\.txt'; name another\."):
            fit_files(FitFiles("sick", clinic.data), tmp_path, resume=resume, **SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_places_that_can_be_no_folder_are_refused(clinic, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="out must be a folder, got the file"):
        fit_files(FitFiles("sick", clinic.data), tmp_path / "file", **SETTINGS)
    with pytest.raises(FileError, match=r"out must be a folder, got '.*' \(Not a directory\)\."):
        fit_files(FitFiles("sick", clinic.data), tmp_path / "file" / "run", **SETTINGS)
    with pytest.raises(FileError, match=r"out must be a folder, got '.*' \(File name too long\)"):
        fit_files(FitFiles("sick", clinic.data), tmp_path / ("x" * 300), **SETTINGS)


# Interrupted, killed, resumed

LONG = SETTINGS | {"search": "evolution", "generations": 12}
PAUSED = """
import signal, sys
from emsco.scoring import journal
from emsco.cli import main
from emsco.search.progress import SearchProgress

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
signal.alarm(120)  # ends this process, should nobody else do so
journal._SECONDS = 0.0  # every generation is on disk when it is complete
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
    """The same fit as a process of the command line, which waits after its fourth generation."""
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


def test_a_killed_fit_goes_on_and_ends_with_the_same_front(clinic, undisturbed, tmp_path):
    folder = tmp_path / "run"
    process = paused_fit(clinic, folder)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint"]
    assert (folder / "checkpoint" / "journal.sqlite").exists()
    long_fit(clinic, folder, resume=True)
    assert front_of(folder) == front_of(undisturbed)
    assert sorted(path.name for path in folder.iterdir()) == FILES


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


def test_what_a_resumed_fit_found_before_is_not_scored_again(
    clinic, interrupt, monkeypatch, tmp_path
):
    release = interrupt()
    with pytest.warns(UserWarning, match="Search interrupted after 4 generations"):
        first = long_fit(clinic, tmp_path / "run")
    release()
    assert first.about["stop_reason"] == "interrupted after 4 generations"
    n_scored = []
    monkeypatch.setattr(Journal, "add", lambda *added: n_scored.append(len(added[1])))
    second = long_fit(clinic, tmp_path / "run", resume=True)
    last = read_columns(second.folder / "history.csv")
    known = dict(zip(last["generation"], last["n_designs"], strict=True))
    assert sum(n_scored) == known[12] - known[4]


def test_resume_with_nothing_there_says_so_and_begins(clinic, undisturbed, tmp_path):
    with pytest.warns(UserWarning, match=r"nothing to resume in .*run: a new search begins\."):
        long_fit(clinic, tmp_path / "run", resume=True)
    assert front_of(tmp_path / "run") == front_of(undisturbed)


def test_resume_of_a_complete_run_is_refused(clinic, undisturbed):
    got = f"got '{undisturbed}', which is complete."
    words = f"out must be a run that has not ended for resume, {got}"
    with pytest.raises(FileError, match="which is complete") as error:
        long_fit(clinic, undisturbed, resume=True)
    assert str(error.value) == words


@pytest.fixture
def interrupted(clinic, interrupt, tmp_path):
    """The folder of an interrupted run."""
    release = interrupt()
    with pytest.warns(UserWarning, match="Search interrupted after 4 generations"):
        run = long_fit(clinic, tmp_path / "run")
    release()
    return run.folder


def test_an_interrupted_run_is_not_written_over_without_being_asked(clinic, interrupted):
    with pytest.raises(FileError, match=r"which has 'cascade\.json'; resume=True goes on"):
        long_fit(clinic, interrupted)


def test_resume_with_other_settings_or_rows_says_what_differs(clinic, interrupted, fitted):
    with pytest.raises(CheckpointError, match=r"differs in min_confidence \(0\.8 there, 0\.9 here"):
        long_fit(clinic, interrupted, resume=True, min_confidence=0.9)
    with pytest.raises(CheckpointError, match=r"differs in X, y, cv;"):
        fit_files(FitFiles("sick", clinic.train), interrupted, resume=True, seed=5, **LONG)
    assert Run.open(interrupted).interrupted


def test_an_interrupted_run_can_be_chosen_from_decided_by_and_resumed(
    clinic, interrupted, undisturbed
):
    run = Run.open(interrupted).choose(len(Run.open(interrupted).front) - 1)
    decide_file(run.cascade, clinic.test, interrupted / "decisions.csv")
    long_fit(clinic, interrupted, resume=True)
    assert front_of(interrupted) == front_of(undisturbed)
    assert (interrupted / "decisions.csv").exists()


def test_a_run_killed_while_it_was_written_can_be_resumed(clinic, interrupted, undisturbed):
    (interrupted / "run.json").unlink()
    (interrupted / "front.json.123.tmp").write_text("half a fro")
    with pytest.raises(FileError, match=r"got '.*', which has no run\.json; resume=True goes on"):
        Run.open(interrupted)
    long_fit(clinic, interrupted, resume=True)
    assert sorted(path.name for path in interrupted.iterdir()) == FILES
    assert front_of(interrupted) == front_of(undisturbed)


def test_half_a_checkpoint_never_stands_in_the_way_of_a_complete_run(clinic, monkeypatch, tmp_path):
    def killed(folder):
        (folder / "journal.sqlite").unlink()
        raise KeyboardInterrupt("killed")

    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt, match="killed"):
        long_fit(clinic, tmp_path / "run")
    assert not Run.open(tmp_path / "run").interrupted


# Choosing


@pytest.fixture
def own(fitted, tmp_path):
    """A copy of a run, to be changed."""
    return Run.open(shutil.copytree(fitted.folder, tmp_path / "own"))


def test_another_point_is_deployed_and_found_again(own):
    number = (own.chosen + 1) % len(own.front)
    assert own.choose(number).chosen == number
    again = Run.open(own.folder)
    assert again.chosen == number
    assert again.point == own.front[number]
    wanted = own.front.cascade(number).models.coefs
    assert np.array_equal(again.cascade.models.coefs, wanted)


def test_a_choice_that_cannot_be_written_leaves_the_earlier_one(own, monkeypatch):
    def full(self, target):
        raise OSError(28, "No space left on device")

    before = (own.folder / "cascade.json").read_bytes()
    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(FileError, match=r"cascade\.json' \(No space left on device\)\."):
        own.choose((own.chosen + 1) % len(own.front))
    assert (own.folder / "cascade.json").read_bytes() == before
    assert sorted(path.name for path in own.folder.iterdir()) == FILES


def test_a_position_that_is_not_there_is_refused(own):
    with pytest.raises(
        ParameterError, match=rf"a whole number from 0 to {len(own.front) - 1}, got"
    ):
        own.choose(len(own.front))


@pytest.mark.parametrize("name", ["run.json", "front.json", "cascade.json"])
@pytest.mark.parametrize("damage", ["half", "changed", "other"])
def test_a_damaged_file_is_refused_by_its_name(own, name, damage):
    path = own.folder / name
    text = path.read_text()
    changes = {
        "half": text[: len(text) // 2],
        "changed": text.replace('"features": [\n', '"features": [\n"z",\n'),
        "other": "{}",
    }
    path.write_text(changes[damage])
    with pytest.raises(FileError, match=rf"'.*{name}' must (be|hold)"):
        Run.open(own.folder)


def test_a_missing_file_is_refused_by_its_name(own):
    (own.folder / "front.json").unlink()
    with pytest.raises(FileError, match=r"front\.json' \(No such file or directory\)\."):
        Run.open(own.folder)


def test_a_cascade_of_another_run_is_told_apart(own, tested):
    strangers = [
        i for i, p in enumerate(tested.front) if p.design not in {q.design for q in own.front}
    ]
    tested.front.cascade(strangers[0]).save(own.folder / "cascade.json")
    with pytest.raises(
        FileError, match=r"must be of a design in front\.json, got .*; choose a point"
    ):
        _ = Run.open(own.folder).chosen
    assert Run.open(own.folder).choose(0).chosen == 0


# Deciding files


@pytest.fixture(scope="module")
def new(clinic):
    """New rows with columns in another order, an id, and labels that nobody asked for."""
    X, y = clinic.rows["f"]
    more = {"id": [f"{i:03}" for i in range(150)], "ward": ['x, "y"\nz'] * 150}
    folder, order = clinic.folder, (2, 4, 1, 0, 3)
    write_rows(folder / "new.csv", X, y, order, labels=("who", "knows"), **more)
    write_rows(folder / "new.parquet", X, y, order, labels=("who", "knows"), **more)
    return folder


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_is_decided_as_its_rows_are(clinic, fitted, new, tmp_path, ending):
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
    monkeypatch.setattr(tables, "_ROWS", 7)
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
        found = pyarrow.csv.read_csv(out, convert_options=options, parse_options=lines)
    else:
        found = pq.read_table(out)
    assert found.column_names[:4] == ["ward", "id", "age", "label"]
    source = pq.read_table(new / "new.parquet").select(["ward", "id", "age"])
    assert found.select(["ward", "id", "age"]).equals(source)


def test_whole_numbers_stay_whole_and_the_label_of_a_rejected_row_is_empty(fitted, new, tmp_path):
    decide_file(fitted.cascade, new / "new.csv", tmp_path / "out.csv")
    labels = {line.split(",")[0] for line in (tmp_path / "out.csv").read_text().split("\n")[1:-1]}
    assert labels == {"", "0", "1"}
    decide_file(fitted.cascade, new / "new.csv", tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").field("label").type == pa.int64()


@pytest.mark.parametrize(
    ("labels", "found"),
    [(("well", "ill"), {"well", "ill", None}), ((False, True), {False, True, None})],
)
def test_labels_of_text_and_truth_values_stay_what_they_are(new, tmp_path, labels, found):
    data = write_rows(tmp_path / "data.csv", *patients(200), labels=labels)
    run = fit_files(FitFiles("sick", data), tmp_path / "run", **SETTINGS)
    for name in ("new.csv", "new.parquet"):
        decide_file(run.cascade, new / name, tmp_path / "out.parquet")
        assert set(read_columns(tmp_path / "out.parquet")["label"]) == found


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
    monkeypatch.setattr(tables, "_ROWS", 10)
    words = rf"new\.{ending} must have no missing value .* in column 'scan', row 132; fit with"
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


# Not by ru_maxrss, which begins with the peak of the process that started this one.
MEASURED = r"""
import re, sys
from pathlib import Path
from emsco.data import csv_files, tables
from emsco.cascade import Cascade
from emsco.runs.decide import decide_file

csv_files._BLOCK, tables._ROWS = 2**20, 2**14
cascade, *files = map(Path, sys.argv[1:])
for file in files:
    decide_file(Cascade.load(cascade), file, file.with_stem("out"))
    print(*re.findall(r"VmHWM: *\t *(\d+) kB", Path("/proc/self/status").read_text()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells a process its peak")
@pytest.mark.parametrize(
    ("ending", "n_rows"), [("csv", (200_000, 1_200_000)), ("parquet", (200_000, 3_000_000))]
)
def test_memory_does_not_grow_with_the_file(fitted, tmp_path, ending, n_rows):
    files = [tmp_path / f"{n}.{ending}" for n in n_rows]
    for n, file in zip(n_rows, files, strict=True):
        columns = dict.fromkeys(NAMES, np.arange(float(n)))
        table = pa.table(columns | {NAMES[4]: np.arange(n) % 2 == 0})  # which is true or false
        if ending == "csv":
            pyarrow.csv.write_csv(table, file)
        else:  # as large as in memory, in one group of rows
            pq.write_table(table, file, n, compression="none", use_dictionary=False)
    command = [sys.executable, "-c", MEASURED, fitted.folder / "cascade.json", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    small, large = (int(line) / 1024 for line in done.stdout.split())
    assert large - small < 64  # MiB; all rows at once would take twice that


def test_dropped_columns_are_no_features_and_need_not_be_numbers(tmp_path, clinic):
    X, y = patients(80)
    data = write_rows(tmp_path / "data.csv", X, y, ids=[f"p{i}" for i in range(80)])
    files = FitFiles("sick", data, drop=("ids",))
    run = fit_files(files, tmp_path / "run", **SETTINGS)
    assert run.front.costs.names == NAMES
    assert run.about["files"]["drop"] == ["ids"]


def test_costs_of_columns_that_are_dropped_by_name_are_ignored(clinic):
    read = FitFiles("sick", clinic.data, costs=clinic.costs, drop=("scan",)).read(held_out=0.5)
    assert read.costs.names == ("age", "pulse", "panel", "sex")
    assert read.costs.total == 13.5


def test_a_setting_that_is_refused_leaves_no_folder(tmp_path, clinic):
    with pytest.raises(ParameterError, match=r"^search must be one of"):
        fit_files(FitFiles("sick", clinic.data), tmp_path / "run", search="exakt")
    assert not (tmp_path / "run").exists()


def test_numbers_of_numpy_are_kept_as_plain_ones(tmp_path, clinic):
    settings = {**SETTINGS, "max_stages": np.int64(3)}
    fit_files(FitFiles("sick", clinic.data), tmp_path / "run", seed=np.int64(3), **settings)
    about = Run.open(tmp_path / "run").about
    assert (about["seed"], about["settings"]["max_stages"]) == (3, 3)
