"""Calibration: scikit-learn's maps, row by row, and back from a file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from emsco._base.documents import Fields
from emsco.errors import DataError, FileError, ParameterError
from emsco.models.calibration import KINDS, Calibrator, SigmoidMap, calibration_split


def whole(sentence):
    return f"^{re.escape(sentence)}$"


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


@pytest.mark.parametrize("kind", KINDS)
def test_an_overconfident_model_gets_closer_to_the_truth(kind):
    (X, y), (held, truth), (new, answers) = thirds(load_breast_cancer)
    X, held, new = (np.repeat(part[:, :2], 10, axis=1) for part in (X, held, new))
    model = GaussianNB().fit(X, y)  # takes ten copies of a column for ten measurements
    before = model.predict_proba(new)
    after = Calibrator.learn(kind, model.predict_proba(held), truth).apply(before)
    off_before, off_after = (np.square(said[:, 1] - answers).mean() for said in (before, after))
    assert off_after < off_before


def test_a_forest_that_says_0_or_1_needs_clipping():
    (X, y), (held, truth), (new, answers) = thirds(load_breast_cancer)
    forest = RandomForestClassifier(50, random_state=0).fit(X[:, :6], y)
    said, before = forest.predict_proba(held[:, :6]), forest.predict_proba(new[:, :6])
    without = Calibrator.learn("sigmoid", said, truth).apply(before)
    room = Calibrator.learn("sigmoid", said, truth, certain=0.5 / len(truth)).apply(before)
    assert np.square(room[:, 1] - answers).mean() < np.square(without[:, 1] - answers).mean()


# Sigmoids


def test_a_sigmoid_is_an_affine_map_of_log_odds():
    said, labels = made_up(200, 2)
    calibrator = Calibrator.learn("sigmoid", said, labels)
    odds = np.linspace(-9, 9, 50)
    given = 1 / (1 + np.exp(-odds))
    after = calibrator.apply(np.column_stack([1 - given, given]))[:, 1]
    sigmoid = calibrator.maps[0]
    expected = sigmoid.slope * odds + sigmoid.intercept
    np.testing.assert_allclose(np.log(after / (1 - after)), expected, atol=1e-6)


def test_calibrated_probabilities_hardly_change():
    rng = np.random.default_rng(0)
    odds = rng.normal(scale=2, size=20_000)
    given = 1 / (1 + np.exp(-odds))
    labels = (rng.random(20_000) < given).astype(np.uint8)
    calibrator = Calibrator.learn("sigmoid", np.column_stack([1 - given, given]), labels)
    assert calibrator.maps[0].slope == pytest.approx(1, abs=0.05)
    assert calibrator.maps[0].intercept == pytest.approx(0, abs=0.05)


def test_reversed_probabilities_are_reversed_back():
    said, labels = made_up(200, 2)
    assert Calibrator.learn("sigmoid", said, 1 - labels).maps[0].slope < 0


def test_equal_probabilities_become_the_share_of_the_class():
    said, labels = np.full((8, 2), 0.5), np.array([0, 0, 0, 0, 0, 0, 1, 1])
    calibrator = Calibrator.learn("sigmoid", said, labels)
    assert calibrator.maps[0].slope == 0
    smoothed = (2 * 3 / 4 + 6 * 1 / 8) / 8  # Platt's targets for 2 rows and for 6
    assert calibrator.apply(said)[0, 1] == pytest.approx(smoothed)


def test_newton_ends_where_the_gradient_is_zero_even_for_extreme_probabilities():
    rng = np.random.default_rng(3)
    given = np.concatenate([np.zeros(40), np.ones(40), rng.random(5), [1e-30, 1 - 1e-16]])
    has_class = given + rng.normal(scale=0.3, size=len(given)) > 0.5
    weights = rng.uniform(0.1, 5, len(given))
    sigmoid = SigmoidMap.learn(given, has_class, weights, 1e-12)
    n_with, n_others = weights[has_class].sum(), weights[~has_class].sum()
    targets = np.where(has_class, (n_with + 1) / (n_with + 2), 1 / (n_others + 2))
    wrong = weights * (sigmoid.apply(given) - targets)
    odds = np.log(np.clip(given, 1e-12, 1 - 1e-12) / (1 - np.clip(given, 1e-12, 1 - 1e-12)))
    assert abs(wrong.sum()) < 1e-9 * weights.sum()
    assert abs((wrong * odds).sum()) < 1e-8 * weights.sum()


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


def test_a_row_that_every_map_gives_0_has_all_classes_alike():
    knots = [{"inputs": [0.5], "outputs": [0.0]}] * 3
    fields = Fields({"kind": "isotonic", "maps": knots}, "a file")
    probabilities = Calibrator.from_dict(fields, 3).apply(np.array([[0.2, 0.3, 0.5]]))
    assert probabilities.tolist() == [[1 / 3, 1 / 3, 1 / 3]]


def test_applying_does_not_need_scikit_learn():
    code = """
        import sys, numpy as np
        from emsco.models.calibration import Calibrator
        from emsco.models.calibration import IsotonicMap, SigmoidMap
        said = np.array([[0.2, 0.8]])
        Calibrator("sigmoid", 2, (SigmoidMap(1.0, 0.0),)).apply(said)
        Calibrator("isotonic", 2, (IsotonicMap(said[0], said[0]),)).apply(said)
        print("sklearn" in sys.modules)
    """
    lines = "\n".join(line.strip() for line in code.splitlines())
    run = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# Refusals


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"kind": "beta"}, "a file, 'kind' must be 'sigmoid' or 'isotonic', got 'beta'."),
        ({"maps": [{}, {}]}, "a file, 'maps' must be 1 for 2 classes, got 2."),
        ({"maps": [{"slope": 1}]}, "a file, 'maps' 0 must have 'intercept', got ['slope']."),
        (
            {"maps": [{"slope": 1, "intercept": 0, "certain": 0.7}]},
            "a file, 'maps' 0, 'certain' must be a finite number from 1e-15 to 0.5, got 0.7.",
        ),
    ],
)
def test_a_damaged_calibrator_is_refused(change, sentence):
    values = Calibrator.learn("sigmoid", *made_up(30, 2)).to_dict()
    with pytest.raises(FileError, match=whole(sentence)):
        Calibrator.from_dict(Fields({**values, **change}, "a file"), 2)


@pytest.mark.parametrize(
    ("inputs", "outputs", "what"),
    [
        ([], [], "'inputs' must be rising numbers, at least one"),
        ([0.2, 0.2], [0.1, 0.3], "'inputs' must be rising numbers"),
        ([0.2, 0.4], [0.3, 0.1], "'outputs' must be numbers that never fall"),
        ([0.2, 0.4], [0.3], "'outputs' must be 2 finite numbers from 0 to 1"),
        ([0.2, 1.4], [0.3, 0.4], "'inputs' must be 2 finite numbers from 0 to 1"),
    ],
)
def test_knots_that_are_no_rising_line_are_refused(inputs, outputs, what):
    knots = {"inputs": inputs, "outputs": outputs}
    fields = Fields({"kind": "isotonic", "maps": [knots]}, "a file")
    with pytest.raises(FileError, match=what):
        Calibrator.from_dict(fields, 2)


def test_unknown_kinds_and_unusable_rows_are_refused():
    said, labels = made_up(30, 2)
    with pytest.raises(ParameterError, match='calibration must be one of "sigmoid", "isotonic"'):
        Calibrator.learn("platt", said, labels)
    with pytest.raises(DataError, match="probabilities must have a column for each"):
        Calibrator.learn("sigmoid", said[:, :1], labels)
    with pytest.raises(ParameterError, match=r"certain must be a number in \[1e-15, 0.5\]"):
        Calibrator.learn("sigmoid", said, labels, certain=0.0)
    with pytest.raises(DataError, match="calibration must have rows of positive weight"):
        Calibrator.learn("sigmoid", said, labels, np.zeros(30))


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


def test_only_training_rows_calibrate():
    labels = np.tile([0, 1], 20)
    fitting, calibrating = calibration_split(np.arange(10, 30), labels)
    assert (len(fitting), len(calibrating)) == (14, 6)
    assert min(*fitting, *calibrating) >= 10


@pytest.mark.parametrize(("classes", "name"), [(None, "1"), (["ill", "well"], "'well'")])
def test_a_class_with_one_row_cannot_calibrate(classes, name):
    labels = np.array([0, 0, 0, 1])
    sentence = f"class {name} must have at least 2 training rows, one of them to calibrate, got 1"
    with pytest.raises(DataError, match=sentence):
        calibration_split(np.arange(4), labels, classes=classes)
