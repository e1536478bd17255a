"""Checkpoints: what was fitted is not fitted again, and other problems are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from emsco import EMSCOClassifier
from emsco.designs.chromosomes import subsets_of_words
from emsco.errors import CheckpointError
from emsco.models.checkpoint import Checkpoint, stored_seed
from emsco.models.estimators import EstimatorJob

N_ROWS, N_CLASSES, N_INPUTS = 11, 3, 5
PROBLEM = {"X": "sha256:1", "class_weight": {"ill": 2.0}, "cv": ("a", "tuple")}
FINITE = {"generations": 4, "population_size": 20, "max_stages": 3, "random_state": 0}
QUICK = {**FINITE, "search": "evolution", "cv": 1 / 3, "estimator": DecisionTreeClassifier()}


def opened(folder, **more):
    return Checkpoint(folder / "answers.sqlite", 7, PROBLEM | more)


def subsets_of(numbers):
    return subsets_of_words(np.array(numbers, dtype=np.uint64)[:, None], N_INPUTS)


def said_by(subsets):
    """Answers that differ from subset to subset."""
    shares = np.sin(1.0 + subsets @ np.arange(1, 1 + N_INPUTS)[:, None] * np.arange(N_ROWS))
    return (np.abs(shares) * N_CLASSES).astype(np.uint8), shares


def ask(checkpoint, subsets, of="models ", fit=None, n_rows=N_ROWS):
    fitted = []

    def told(few, report):
        fitted.extend(map(tuple, few.tolist()))
        return (fit or said_by)(few)

    return fitted, checkpoint.answers(of, subsets, told, (n_rows, N_CLASSES))


@given(st.lists(st.lists(st.integers(1, 31), unique=True, min_size=1), max_size=5))
def test_a_subset_is_fitted_once_whenever_the_file_was_closed(tmp_path_factory, parts):
    folder, every = tmp_path_factory.mktemp("checkpoint"), []
    for numbers in parts:
        subsets = subsets_of(numbers)
        with opened(folder) as checkpoint:
            for again in (0, 1):  # from the file and from what is not yet written
                fitted, answers = ask(checkpoint, subsets)
                assert not (again and fitted)
                every += fitted
                for one, wanted in zip(answers, said_by(subsets), strict=True):
                    assert (one.dtype, one.tobytes()) == (wanted.dtype, wanted.tobytes())
    assert len(every) == len(set(every)) == len({number for part in parts for number in part})


def test_an_interrupt_keeps_what_was_fitted_and_other_models_have_answers_of_their_own(tmp_path):
    subsets, n_fitted = subsets_of(range(1, 32)), []

    def interrupted(few):
        n_fitted.append(len(few))
        if sum(n_fitted) > 10:
            raise KeyboardInterrupt
        return said_by(few)

    with pytest.raises(KeyboardInterrupt), opened(tmp_path) as checkpoint:
        ask(checkpoint, subsets, fit=interrupted)
    with opened(tmp_path) as checkpoint:
        assert len(ask(checkpoint, subsets)[0]) == 31 - sum(n_fitted[:-1]) < 31
        assert len(ask(checkpoint, subsets, of="others ")[0]) == 31


@pytest.mark.parametrize(
    ("n_rows", "winner", "confidence"),
    [(N_ROWS - 1, 0, 1.0), (N_ROWS, N_CLASSES, 1.0), (N_ROWS, 0, np.nan)],
)
def test_answers_that_no_model_of_the_problem_gives_are_refused(
    tmp_path, n_rows, winner, confidence
):
    def forged(few):
        return np.full((len(few), n_rows), winner), np.full((len(few), n_rows), confidence)

    with opened(tmp_path) as checkpoint:
        ask(checkpoint, subsets_of([3]), fit=forged, n_rows=n_rows)
    with opened(tmp_path) as checkpoint, pytest.raises(CheckpointError, match=r"answers\.sqlite"):
        ask(checkpoint, subsets_of([3]))


# Fits


def fit(problem, path=None, **settings):
    return EMSCOClassifier(**QUICK | {"checkpoint": path} | settings).fit(*problem)


@pytest.fixture
def fitted(monkeypatch):
    """Subsets that classifiers were fitted to for their answers, one by one."""
    subsets, answer = [], EstimatorJob.answer
    monkeypatch.setattr(EstimatorJob, "answer", lambda *job: subsets.append(1) or answer(*job))
    return subsets


def test_a_fit_that_is_started_again_fits_nothing_and_ends_alike(tmp_path, small_problem, fitted):
    plain = fit(small_problem)
    n_fitted = len(fitted)
    for more in ({}, {"memory_limit": "64MiB", "time_limit": 99, "refit": "all"}):
        one = fit(small_problem, tmp_path / "kept", **more)
        assert one.front_.points == plain.front_.points
        assert len(fitted) == 2 * n_fitted > 0
    fit(small_problem, tmp_path / "kept", always_answer=True, costs=range(1, 7))
    assert len(fitted) < 3 * n_fitted


@pytest.mark.parametrize("estimator", ["logistic", "boosting"])
def test_without_a_given_seed_the_checkpoint_provides_it(tmp_path, small_problem, estimator):
    given = {"path": tmp_path / "new" / "kept", "random_state": None, "estimator": estimator}
    first, again = (fit(small_problem, **given) for _ in range(2))
    assert first.front_.points == again.front_.points
    assert stored_seed(given["path"]) is not None


def test_a_checkpoint_of_another_problem_is_refused_by_what_differs(tmp_path, small_problem):
    X, y = small_problem
    fit((X, y), tmp_path / "kept")
    before = (tmp_path / "kept").read_bytes()
    for name, more, rows in (
        ("X", {}, (X * 2, y)),
        ("y", {}, (X, 1 - y)),
        ("sample_weight", {}, (X, y, np.full(len(y), 2.0))),
        ("random_state", {"random_state": 1}, (X, y)),
        ("cv", {"cv": 0.4}, (X, y)),
        ("estimator", {"estimator": DecisionTreeClassifier(max_depth=2)}, (X, y)),
        ("class_weight", {"class_weight": "balanced"}, (X, y)),
    ):
        with pytest.raises(CheckpointError, match=f"which is of another {name};"):
            fit(rows, tmp_path / "kept", **more)
    assert (tmp_path / "kept").read_bytes() == before


def test_a_fit_that_is_refused_leaves_no_file(tmp_path, small_problem):
    with pytest.raises(Exception, match="max_mean_cost"):
        fit(small_problem, tmp_path / "kept", constraints={"max_mean_cost": 1e-9})
    assert not (tmp_path / "kept").exists()
