"""Calibration: scikit-learn's maps, row by row, and back from a file."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from emsco._base.documents import Fields
from emsco.errors import FileError
from emsco.models.calibration import KINDS, Calibrator, calibration_split


def thirds(load):
    """Rows to fit on, rows to calibrate on, new rows."""
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    return [(X[part], y[part]) for part in np.array_split(order, 3)]


def made_up(n_rows, n_classes, seed=0):
    """Probabilities that lean towards the true classes, and these classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_classes
    scores = rng.normal(size=(n_rows, n_classes)) + 2 * (labels[:, None] == np.arange(n_classes))
    odds = np.exp(scores)
    return odds / odds.sum(axis=1, keepdims=True), labels


def theirs(fitted, method, rows, y, weights=None):
    calibrated = CalibratedClassifierCV(FrozenEstimator(fitted), method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a frozen estimator takes no weights
        return calibrated.fit(rows, y, sample_weight=weights)


# Compared with scikit-learn


@pytest.mark.parametrize("weighted", [False, True])
def test_sigmoid_of_a_logistic_model_is_scikit_learns(weighted):
    (X, y), (held, truth), (new, _) = thirds(load_breast_cancer)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(truth)) if weighted else None
    model = LogisticRegression(C=0.01).fit(X[:, :4], y)
    reference = theirs(model, "sigmoid", held[:, :4], truth, weights)
    ours = Calibrator.learn("sigmoid", model.predict_proba(held[:, :4]), truth, weights)
    probabilities = ours.apply(model.predict_proba(new[:, :4]))
    np.testing.assert_allclose(probabilities, reference.predict_proba(new[:, :4]), atol=1e-6)


@pytest.mark.parametrize(("load", "width"), [(load_breast_cancer, 5), (load_iris, 2)])
def test_isotonic_is_scikit_learns_for_two_classes_and_for_three(load, width):
    (X, y), (held, truth), (new, _) = thirds(load)
    model = GaussianNB().fit(X[:, :width], y)
    reference = theirs(model, "isotonic", held[:, :width], truth)
    ours = Calibrator.learn("isotonic", model.predict_proba(held[:, :width]), truth)
    probabilities = ours.apply(model.predict_proba(new[:, :width]))
    np.testing.assert_allclose(probabilities, reference.predict_proba(new[:, :width]), atol=1e-12)


# Properties


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32), n_classes=st.integers(2, 5))
@settings(max_examples=25, deadline=None)
def test_rows_sum_to_one_and_do_not_depend_on_their_neighbours(kind, seed, n_classes):
    said, labels = made_up(60, n_classes, seed)
    calibrator = Calibrator.learn(kind, said, labels)
    new, _ = made_up(37, n_classes, seed + 1)
    new[0], new[1] = np.eye(n_classes)[:2]
    probabilities = calibrator.apply(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    alone = np.concatenate([calibrator.apply(row[None]) for row in new])
    assert probabilities.tobytes() == alone.tobytes()
    assert probabilities.tobytes() == calibrator.apply(np.asfortranarray(new)).tobytes()
    assert probabilities[::3].tobytes() == calibrator.apply(new[::3]).tobytes()


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32), n_classes=st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_whole_weights_are_repeated_rows(kind, seed, n_classes):
    said, labels = made_up(40, n_classes, seed)
    counts = np.random.default_rng(seed).integers(0, 4, 40)
    counts[:n_classes] = 1  # some weight must be there
    rows = np.repeat(np.arange(40), counts)
    repeated = Calibrator.learn(kind, said[rows], labels[rows])
    weighted = Calibrator.learn(kind, said, labels, counts.astype(np.float64))
    np.testing.assert_allclose(weighted.apply(said), repeated.apply(said), atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_calibrator_comes_back_from_text_bit_by_bit(kind, n_classes):
    calibrator = Calibrator.learn(kind, *made_up(50, n_classes))
    text = json.dumps(calibrator.to_dict())
    again = Calibrator.from_dict(Fields(json.loads(text), "a file"), n_classes)
    new, _ = made_up(30, n_classes, seed=9)
    assert again.apply(new).tobytes() == calibrator.apply(new).tobytes()


# Refusals


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "beta"},
        {"maps": [{}, {}]},
        {"maps": [{"slope": 1}]},
        {"maps": [{"slope": 1, "intercept": 0, "certain": 0.7}]},
    ],
)
def test_a_damaged_calibrator_is_refused(change):
    values = Calibrator.learn("sigmoid", *made_up(30, 2)).to_dict()
    with pytest.raises(FileError):
        Calibrator.from_dict(Fields({**values, **change}, "a file"), 2)


# Rows that calibrate


@given(
    sizes=st.lists(st.integers(2, 30), min_size=2, max_size=4),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=50, deadline=None)
def test_every_class_fits_and_calibrates_and_no_row_does_both(sizes, seed):
    labels = np.repeat(np.arange(len(sizes)), sizes).astype(np.uint8)
    rng = np.random.default_rng(seed)
    train = rng.permutation(len(labels))
    fitting, calibrating = calibration_split(train, labels, seed)
    assert sorted([*fitting, *calibrating]) == sorted(train)
    for part in (fitting, calibrating):
        assert set(labels[part]) == set(range(len(sizes)))
    for k, size in enumerate(sizes):
        n_calibrating = (labels[calibrating] == k).sum()
        assert abs(n_calibrating - size / 4) <= 1
    again = calibration_split(train, labels, seed)
    assert all(map(np.array_equal, again, (fitting, calibrating)))
