"""The user's classifier: fitted once per subset, always the same, and cached on disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import product
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from emsco.errors import DataError, ParameterError
from emsco.models.estimators import (
    EstimatorFitter,
    seeded_clone,
    weight_name,
)
from emsco.models.rows import FilledRows, SplitData

N_ROWS, N_INPUTS = 90, 4
TRAIN, SCORED = np.arange(60), np.arange(60, 90)
SUBSETS = np.array([s for s in product([False, True], repeat=N_INPUTS) if any(s)])

CLASSIFIERS = {
    "forest": RandomForestClassifier(5),
    "boosting": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    "calibrated SVM": CalibratedClassifierCV(SVC(), cv=2),
    "naive Bayes": GaussianNB(),
    "discriminants": LinearDiscriminantAnalysis(),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
}


def make_rows(n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    labels = (np.arange(N_ROWS) % n_classes).astype(np.uint8)
    X = rng.normal(size=(N_ROWS, N_INPUTS)) + labels[:, None] * np.array([1.0, 0.5, 0.2, 0.0])
    return X, labels


def make_fitter(prototype, n_classes=2, weights=None, **settings):
    X, labels = make_rows(n_classes)
    given = {"X": X, "labels": labels, "seed": 7, "train": TRAIN, "scored": SCORED, **settings}
    of_fitter = {name: given.pop(name) for name in ("n_jobs",) if name in given}
    data = SplitData(n_classes=n_classes, weights=weights, **given)
    return EstimatorFitter(prototype, FilledRows.of_split(data), **of_fitter)


def answers(fitter, subsets, *more):
    return fitter.answers(subsets, fitter.fit(subsets, *more))


def assert_same_bits(some, other):
    for one, two in zip(some, other, strict=True):
        assert (one.dtype, one.shape) == (two.dtype, two.shape)
        assert one.tobytes() == two.tobytes()


# Fits


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_outcomes_are_those_of_a_plain_loop(name, n_classes):
    prototype = CLASSIFIERS[name]
    X, labels = make_rows(n_classes)
    subsets = SUBSETS[::3]
    winner, confidence = answers(make_fitter(prototype, n_classes), subsets)
    assert (winner.dtype, confidence.dtype) == (np.uint8, np.float64)
    for subset, won, sure in zip(subsets, winner, confidence, strict=True):
        model = seeded_clone(prototype, 7, subset).fit(X[TRAIN][:, subset], labels[TRAIN])
        said = model.predict_proba(X[SCORED][:, subset])
        np.testing.assert_allclose(sure, said.max(axis=1), atol=1e-9)
        decided = np.sort(said)[:, -1] - np.sort(said)[:, -2] > 1e-9
        assert (won == said.argmax(axis=1))[decided].all()


def test_the_first_of_equally_likely_classes_wins():
    X = np.tile([[0.0] * N_INPUTS, [0.0] * N_INPUTS], (N_ROWS // 2, 1))
    fitter = make_fitter(DecisionTreeClassifier(), X=X)
    winner, confidence = answers(fitter, SUBSETS[-1:])
    assert (winner == 0).all()
    assert (confidence == 0.5).all()


@pytest.mark.parametrize("name", ["forest", "boosting", "calibrated SVM"])
def test_neither_workers_nor_neighbours_nor_repetition_change_an_outcome(name):
    alone = [answers(make_fitter(CLASSIFIERS[name]), SUBSETS[i : i + 1]) for i in (3, 9, 3)]
    together = answers(make_fitter(CLASSIFIERS[name], n_jobs=2), SUBSETS[[3, 9, 3]])
    assert_same_bits([np.concatenate(parts) for parts in zip(*alone, strict=True)], together)


def test_models_are_the_very_ones_whose_outcomes_were_told():
    fitter = make_fitter(CLASSIFIERS["forest"])
    X, _ = make_rows()
    winner, confidence = answers(fitter, SUBSETS)
    for i, model in enumerate(fitter.models(SUBSETS)):
        said = model.probabilities(X[SCORED])
        assert said.argmax(axis=1).tolist() == winner[i].tolist()
        assert said.max(axis=1).tobytes() == confidence[i].tobytes()


def test_identities_tell_models_apart_and_are_the_same_again():
    first, second = (make_fitter(CLASSIFIERS["forest"]).models(SUBSETS) for _ in range(2))
    assert [model.identity for model in first] == [model.identity for model in second]
    assert len({model.identity for model in first}) == len(SUBSETS)
    other = make_fitter(CLASSIFIERS["forest"], seed=8).models(SUBSETS[-1:])
    assert other[0].identity != first[-1].identity


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_row_is_judged_alike_in_any_batch(name):
    X, _ = make_rows()
    model = make_fitter(CLASSIFIERS[name]).models(SUBSETS[-1:])[0]
    together = model.probabilities(X)
    assert (
        together.tobytes()
        == np.concatenate([model.probabilities(row[None]) for row in X]).tobytes()
    )
    assert together[::3].tobytes() == model.probabilities(X[::3]).tobytes()
    assert together.tobytes() == model.probabilities(np.asfortranarray(X)).tobytes()


def test_no_rows_have_no_probabilities():
    model = make_fitter(GaussianNB(), 3).models(SUBSETS[:1])[0]
    assert model.probabilities(np.zeros((0, N_INPUTS))).shape == (0, 3)


def test_a_class_that_was_never_seen_has_probability_0():
    X, labels = make_rows(3)
    train = TRAIN[labels[TRAIN] != 1]
    model = make_fitter(GaussianNB(), 3, train=train).models(SUBSETS[-1:])[0]
    said = model.probabilities(X[SCORED])
    assert said.shape == (30, 3)
    assert (said[:, 1] == 0).all()
    np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-9)


# Seeds


def test_random_states_follow_the_seed_and_the_subset():
    forest = RandomForestClassifier()
    drawn = {seeded_clone(forest, 0, subset).random_state for subset in SUBSETS}
    assert len(drawn) == len(SUBSETS)
    assert seeded_clone(forest, 1, SUBSETS[0]).random_state not in drawn
    assert seeded_clone(forest, 0, SUBSETS[0]).random_state in drawn
    assert forest.random_state is None


def test_all_random_states_inside_are_set_and_whole_numbers_kept():
    inner = make_pipeline(StandardScaler(), RandomForestClassifier())
    cv = StratifiedKFold(3, shuffle=True)
    fresh = seeded_clone(CalibratedClassifierCV(inner, cv=cv), 0, SUBSETS[0])
    assert isinstance(fresh.estimator[-1].random_state, int)
    assert isinstance(fresh.cv.random_state, int)
    assert cv.random_state is None
    kept = seeded_clone(RandomForestClassifier(random_state=3), 0, SUBSETS[0])
    assert kept.random_state == 3
    replaced = RandomForestClassifier(random_state=np.random.RandomState(0))
    assert isinstance(seeded_clone(replaced, 0, SUBSETS[0]).random_state, int)


@given(bits=st.lists(st.booleans(), min_size=1, max_size=200), seed=st.integers(0, 2**128))
@settings(max_examples=30, deadline=None)
def test_seeds_fit_into_31_bits(bits, seed):
    state = seeded_clone(DecisionTreeClassifier(), seed, np.array(bits)).random_state
    assert 0 <= state < 2**31


# Missing values


def test_gaps_are_filled_with_the_mean_of_known_training_values():
    X, labels = make_rows()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    ours = make_fitter(LogisticRegression(), X=X)
    pipeline = make_pipeline(SimpleImputer(), LogisticRegression())
    for subset, model in zip(SUBSETS, ours.models(SUBSETS), strict=True):
        theirs = clone(pipeline).fit(X[TRAIN][:, subset], labels[TRAIN])
        expected = theirs.predict_proba(X[:, subset])
        np.testing.assert_allclose(model.probabilities(X), expected, atol=1e-7)
        assert model.fill.tolist() == pytest.approx(theirs[0].statistics_.tolist())


# Weights


@pytest.mark.parametrize(
    "prototype", [GaussianNB(), DecisionTreeClassifier(), LogisticRegression()], ids=str
)
def test_whole_weights_are_repeated_rows(prototype):
    X, _ = make_rows()
    X[3, 0] = np.nan
    counts = np.random.default_rng(0).integers(0, 4, N_ROWS)
    rows = np.repeat(TRAIN, counts[TRAIN])
    weighted = make_fitter(prototype, weights=counts.astype(np.float64), X=X)
    repeated = make_fitter(prototype, X=X, train=rows)
    expected = answers(repeated, SUBSETS)[1]
    np.testing.assert_allclose(answers(weighted, SUBSETS)[1], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (GaussianNB(), "sample_weight"),
        (make_pipeline(StandardScaler(), GaussianNB()), "gaussiannb__sample_weight"),
        (CalibratedClassifierCV(SVC()), "sample_weight"),
        (KNeighborsClassifier(), None),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), None),
        (CalibratedClassifierCV(KNeighborsClassifier()), None),
        (CalibratedClassifierCV(make_pipeline(StandardScaler(), GaussianNB())), None),
    ],
    ids=str,
)
def test_weights_are_passed_by_the_name_that_reaches_the_classifier(estimator, name):
    assert weight_name(estimator) == name


def test_weights_reach_the_last_step_of_a_pipeline():
    X, labels = make_rows()
    weights = np.where(labels == 1, 5.0, 1.0)
    pipeline = make_pipeline(StandardScaler(), GaussianNB())
    said = make_fitter(pipeline, weights=weights).models(SUBSETS[-1:])[0].probabilities(X)
    fitted = clone(pipeline).fit(X[TRAIN], labels[TRAIN], gaussiannb__sample_weight=weights[TRAIN])
    np.testing.assert_allclose(said, fitted.predict_proba(X), atol=1e-9)


# Not a classifier


class Wordless(ClassifierMixin, BaseEstimator):
    """A classifier with NaN or misshapen probabilities."""

    def __init__(self, said=np.nan):
        self.said = said

    def fit(self, X, y):  # noqa: ARG002 - it learns nothing
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), self.said) if np.isnan(self.said) else np.ones((len(X), 3))


class Fussy(Wordless):
    """A classifier that refuses a single column."""

    def fit(self, X, y):
        if X.shape[1] < 2:
            raise RuntimeError("one column is not enough")
        return super().fit(X, y)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_fit_that_fails_says_with_which_inputs(n_jobs):
    with pytest.raises(ParameterError):
        answers(make_fitter(Fussy(), n_jobs=n_jobs), SUBSETS)


@pytest.mark.parametrize(
    ("said", "got"), [(np.nan, "NaN or infinite values"), (1.0, "shape (30, 3)")]
)
def test_probabilities_that_are_none_are_refused(said, got):
    with pytest.raises(DataError):
        answers(make_fitter(Wordless(said)), SUBSETS[:1])


# Ends


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="signals are sent the POSIX way")
def test_an_interrupt_leaves_nothing_running(tmp_path):
    code = """
        import os, sys, time
        from pathlib import Path
        import numpy as np
        from sklearn.naive_bayes import GaussianNB
        from emsco.models.estimators import EstimatorFitter
        from emsco.models.rows import FilledRows, SplitData

        class Slow(GaussianNB):
            def fit(self, X, y):
                Path(sys.argv[1], str(os.getpid())).touch()
                time.sleep(300)

        X = np.random.default_rng(0).normal(size=(20, 3))
        rows = np.arange(20)
        labels = (rows % 2).astype(np.uint8)
        given = FilledRows.of_split(SplitData(X, labels, rows, rows))
        fitter = EstimatorFitter(Slow(), given, n_jobs=2)
        try:
            fitter.fit(np.eye(3, dtype=bool))
        except KeyboardInterrupt:
            sys.exit(17)
    """
    script = tmp_path / "script.py"
    script.write_text(dedent(code))
    pids = tmp_path / "pids"
    pids.mkdir()
    with subprocess.Popen([sys.executable, script, pids], stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: len(list(pids.iterdir())) == 2)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=120) == 17
            wait_for(lambda: not any(runs(int(pid.name)) for pid in pids.iterdir()))
        except BaseException:
            process.kill()
            for pid in pids.iterdir():
                with suppress(ProcessLookupError):
                    os.kill(int(pid.name), signal.SIGKILL)
            raise


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"
