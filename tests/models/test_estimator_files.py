"""Estimators in files: read back bit by bit, and never creating an untrusted type."""

from __future__ import annotations

import base64
import io
import json
import re
import sys
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from emsco._base.documents import Fields
from emsco.errors import FileError
from emsco.models import estimator_files as estimators
from emsco.models.estimator_files import EstimatorModel, estimator_text, read_estimator
from emsco.models.estimators import EstimatorFitter
from emsco.models.rows import FilledRows, SplitData

pytest.importorskip("skops.io")

RNG = np.random.default_rng(0)
LABELS = (np.arange(60) % 3).astype(np.uint8)
X = RNG.normal(size=(60, 4)) + LABELS[:, None]
CLASSIFIERS = {
    "forest": RandomForestClassifier(3),
    "boosting": HistGradientBoostingClassifier(max_iter=2),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    "calibrated SVM": CalibratedClassifierCV(SVC(), cv=2),
    "naive Bayes": GaussianNB(),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
}


def untrusted(text):
    return sorted(estimators._untrusted(base64.b64decode(text.split(",")[1])))


def fitted(prototype):
    rows = np.arange(60)
    given = FilledRows.of_split(SplitData(X, LABELS, rows, rows[:0], 3))
    fitter = EstimatorFitter(prototype, given)
    return fitter.models(np.array([[True, False, True, True]]))[0]


def again(stage, change=(), trusted=None):
    """Write the model as JSON, change some values, and read it."""
    values = {**json.loads(json.dumps(stage.to_dict())), **dict(change)}
    names = untrusted(values["estimator"]) if trusted is None else trusted
    return EstimatorModel.from_dict(Fields(values, "a file"), 4, 3, names)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_an_estimator_comes_back_and_says_the_same_to_the_bit(name):
    model = CLASSIFIERS[name].fit(X, LABELS)
    text = estimator_text(model)
    back = read_estimator(text, untrusted(text))
    assert back.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


@pytest.mark.parametrize("name", ["forest", "logistic"])
def test_a_stage_comes_back_with_its_gaps(name):
    stage = fitted(CLASSIFIERS[name])
    back = again(stage)
    rows = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    assert back.probabilities(rows).tobytes() == stage.probabilities(rows).tobytes()
    assert back.identity == stage.identity
    assert (back.inputs.tolist(), back.n_classes) == ([0, 2, 3], 3)


def test_types_that_are_not_trusted_are_named_with_the_way_out():
    text = estimator_text(CLASSIFIERS["neighbours"].fit(X, LABELS))
    kinds = untrusted(text)
    assert kinds
    with pytest.raises(FileError):
        read_estimator(text, where="triage.json")
    with pytest.raises(FileError):
        read_estimator(text, kinds[:-1])


def test_scikit_learns_own_plain_estimators_need_no_trust():
    stage = fitted(CLASSIFIERS["logistic"])
    assert again(stage, trusted=()).identity == stage.identity


def test_a_type_of_the_users_is_made_only_where_named():
    made = []

    class Watched(GaussianNB):
        def __setstate__(self, state):
            made.append(state)
            super().__setstate__(state)

    name = f"{__name__}.Watched"
    Watched.__qualname__ = "Watched"
    setattr(sys.modules[__name__], "Watched", Watched)  # noqa: B010 - as a module would have it
    text = estimator_text(Watched().fit(X, LABELS))
    made.clear()
    with pytest.raises(FileError):
        read_estimator(text)
    assert not made
    assert type(read_estimator(text, [name])) is Watched
    assert made


def test_another_version_of_scikit_learn_is_told_in_one_sentence():
    text = estimator_text(GaussianNB().fit(X, LABELS))
    older = re.sub(r"scikit-learn=[^;]*", "scikit-learn=0.1", text)
    with pytest.warns(UserWarning, match=r"was written with scikit-learn 0\.1 and read with"):
        read_estimator(older)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_estimator(text)


def test_what_skops_cannot_read_again_is_not_written():
    model = make_pipeline(FunctionTransformer(lambda rows: rows + 1), GaussianNB())
    with pytest.raises(FileError):
        estimator_text(model.fit(X, LABELS))


def fake_reading():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as members:
        members.writestr("schema.json", "{}")
    text = base64.b64encode(buffer.getvalue()).decode()
    return read_estimator(f"scikit-learn=1;base64,{text}")


# Damage


def test_damaged_text_is_refused():
    for text in ("", "pickle", "scikit-learn=1.0;base64,!!!"):
        with pytest.raises(FileError):
            read_estimator(text)
    for text in (
        "scikit-learn=1;base64,",
        "scikit-learn=1;base64,abc",
        "scikit-learn=1;base64,AAAA",
    ):
        with pytest.raises(FileError):
            read_estimator(text)
    with pytest.raises(FileError):
        fake_reading()


TEXT = estimator_text(make_pipeline(StandardScaler(), GaussianNB()).fit(X, LABELS))
CONTENT = base64.b64decode(TEXT.split(",")[1])


@given(place=st.integers(0, len(CONTENT) - 1), bits=st.integers(1, 255), cut=st.booleans())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_bytes_are_refused_or_change_nothing(place, bits, cut):
    content = bytearray(CONTENT)
    content[place] ^= bits
    spoilt = bytes(content[: place + 1] if cut else content)
    text = f"{TEXT.split(',')[0]},{base64.b64encode(spoilt).decode()}"
    try:
        back = read_estimator(text)
    except FileError:
        return
    assert back.predict_proba(X).tobytes() == read_estimator(TEXT).predict_proba(X).tobytes()


def test_content_that_swells_is_refused(monkeypatch):
    monkeypatch.setattr(estimators, "_FREE_CONTENT", 100)
    monkeypatch.setattr(estimators, "_MOST_TIMES", 0)
    with pytest.raises(FileError):
        read_estimator(TEXT)


@pytest.mark.parametrize("name", ["forest", "neighbours", "boosting", "calibrated SVM"])
def test_what_c_code_reads_unchecked_must_be_trusted(name):
    with pytest.raises(FileError):
        read_estimator(estimator_text(CLASSIFIERS[name].fit(X, LABELS)))


def test_a_model_whose_arrays_do_not_fit_is_refused():
    stage = fitted(CLASSIFIERS["naive Bayes"])
    stage.estimator.theta_ = stage.estimator.theta_[:, :1]
    stage.estimator.var_ = stage.estimator.var_[:2]
    with pytest.raises(FileError, match="'estimator'"):
        again(stage)


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": []},
        {"inputs": [0, 3, 2]},
        {"inputs": [0, 2, 4]},
        {"fill": [0.0]},
        {"fill": [0, 0, 1e999]},
        {"identity": 5},
        {"inputs": [0, 1], "fill": [0, 0]},
        {"estimator": estimator_text(StandardScaler().fit(X[:, :3]))},
        {"estimator": estimator_text(GaussianNB().fit(X[:, :3], LABELS + 1))},
    ],
)
def test_a_stage_that_makes_no_sense_is_refused(change):
    with pytest.raises(FileError):
        again(fitted(GaussianNB()), change)
