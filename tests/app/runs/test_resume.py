"""Fits that are killed or interrupted, and resumed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys

import pytest
from support.clinic import FILES, SETTINGS, front_of, read_columns

from emsco.app.files.sources import FitFiles
from emsco.app.runs.decide import decide_file
from emsco.app.runs.fit import fit_files
from emsco.app.runs.run import Run
from emsco.errors import CheckpointError, FileError, ParameterError
from emsco.scoring.journal import Journal
from emsco.search.progress import SearchProgress

LONG = SETTINGS | {"search": "evolution", "generations": 12}
PAUSED = """
import signal, sys
from emsco.scoring import journal
from emsco.app.cli import main
from emsco.search.progress import SearchProgress

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
signal.alarm(120)  # ends this process if nobody else does
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


def test_a_resumed_fit_scores_no_design_again(clinic, interrupt, monkeypatch, tmp_path):
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


def test_resume_of_an_empty_folder_warns_and_begins(clinic, undisturbed, tmp_path):
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


def test_an_interrupted_run_is_never_written_over_without_resume(clinic, interrupted):
    with pytest.raises(FileError, match=r"which has 'cascade\.json'; resume=True goes on"):
        long_fit(clinic, interrupted)


def test_resume_with_other_settings_or_rows_names_the_difference(clinic, interrupted, fitted):
    with pytest.raises(CheckpointError, match=r"differs in min_confidence \(0\.8 there, 0\.9 here"):
        long_fit(clinic, interrupted, resume=True, min_confidence=0.9)
    with pytest.raises(CheckpointError, match=r"differs in X, y, cv;"):
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
    with pytest.raises(FileError, match=r"got '.*', which has no run\.json; resume=True goes on"):
        Run.open(interrupted)
    long_fit(clinic, interrupted, resume=True)
    assert sorted(path.name for path in interrupted.iterdir()) == FILES
    assert front_of(interrupted) == front_of(undisturbed)


def test_a_partial_checkpoint_does_not_spoil_a_complete_run(clinic, monkeypatch, tmp_path):
    def killed(folder):
        (folder / "journal.sqlite").unlink()
        raise KeyboardInterrupt("killed")

    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt, match="killed"):
        long_fit(clinic, tmp_path / "run")
    assert not Run.open(tmp_path / "run").interrupted


class TestLateErrors:
    """What has been scored outlives every error."""

    @pytest.mark.parametrize("of", [CheckpointError, FileError])
    def test_scores_stay_and_the_fit_goes_on(self, clinic, undisturbed, tmp_path, monkeypatch, of):
        told = SearchProgress.generation

        def fill_disk(self, record):
            told(self, record)
            if record.generation == 4:
                raise of("the disk is full.")

        monkeypatch.setattr("emsco.scoring.journal._SECONDS", 0.0)
        monkeypatch.setattr(SearchProgress, "generation", fill_disk)
        with pytest.raises(of, match="the disk is full"):
            long_fit(clinic, tmp_path / "run", verbose=1)
        monkeypatch.setattr(SearchProgress, "generation", told)
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["checkpoint"]
        long_fit(clinic, tmp_path / "run", resume=True)
        assert front_of(tmp_path / "run") == front_of(undisturbed)

    @pytest.mark.thorough
    def test_a_fit_that_comes_second_leaves_the_first_ones_scores(self, clinic, tmp_path):
        folder = tmp_path / "run"
        process = paused_fit(clinic, folder)
        try:
            shutil.copytree(folder, tmp_path / "before")
            with pytest.raises(CheckpointError, match="no other fit is writing to"):
                _fit_past_the_check(clinic, folder)
            assert (folder / "checkpoint" / "journal.sqlite").exists()
        finally:
            process.kill()
            process.communicate()

    def test_an_error_before_the_first_score_leaves_no_folder(self, clinic, tmp_path):
        with pytest.raises(ParameterError):
            long_fit(clinic, tmp_path / "run", constraints={"max_worst_cost": 1e-9})
        assert not (tmp_path / "run").exists()


def _fit_past_the_check(clinic, folder):
    """Fit as if the folder had been empty a moment ago."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("emsco.app.runs.fit._check_place", lambda *_: None)
        long_fit(clinic, folder)
