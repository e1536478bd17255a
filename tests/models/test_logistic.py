"""Batched logistic regressions: the optimum, as scikit-learn finds it, in any batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from emsco._base.workers import Workers
from emsco.errors import DataError
from emsco.models import logistic
from emsco.models.logistic import LogisticFitter, check_finite
from emsco.models.rows import FitOptions, SplitData
from emsco.models.scaling import Scaling

KINDS = ["normal", "constant", "copy", "line", "near", "outlier"]
KINDS += ["separating", "wrong_outlier", "heavy", "rare", "far"]


@pytest.fixture(autouse=True)
def one_blas_thread():
    """Limit scikit-learn to one thread: tests run side by side."""
    with threadpool_limits(1):
        yield


def all_subsets(n_features):
    return (np.arange(1, 2**n_features)[:, None] >> np.arange(n_features) & 1).astype(bool)


def fitter_of(X, y, weights=None, penalty=1.0, n_jobs=1, n_classes=None):
    rows = np.arange(len(X))
    n_classes = n_classes or max(2, int(y.max()) + 1)
    data = SplitData(X, y.astype(np.uint8), rows, rows[:0], n_classes, weights)
    return LogisticFitter(data, FitOptions(rows[:0], Workers(n_jobs), penalty=penalty))


def fit(X, y, subsets=None, **more):
    """Weights (n_models, n_outputs, n_features + 1) of the given subsets, by default of all."""
    subsets = all_subsets(X.shape[1]) if subsets is None else subsets
    return fitter_of(X, y, **more).fit(subsets).reshape(len(subsets), -1, X.shape[1] + 1)


def probabilities(X, y, subsets=None, X_new=None, **more):
    """Probabilities by subset, new row and class, in plain NumPy from the fitted weights."""
    coefs = fit(X, y, subsets, **more)
    if coefs.shape[1] == 1:
        coefs = np.concatenate([np.zeros_like(coefs), coefs], axis=1)
    scaling = Scaling.learn(X, more.get("weights"))
    return softmax(coefs @ scaling.columns(X if X_new is None else X_new), axis=1).swapaxes(1, 2)


def largest_gradient(X, y, subsets=None):
    """Gradient of Σ log-loss + ½ |w|² over every model's own columns, in plain NumPy."""
    subsets = all_subsets(X.shape[1]) if subsets is None else subsets
    coefs, columns = fit(X, y, subsets), Scaling.learn(X).columns(X)
    if coefs.shape[1] == 1:
        residual = expit(coefs @ columns) - y
    else:
        residual = softmax(coefs @ columns, axis=1) - np.eye(coefs.shape[1])[:, y]
    gradient = residual @ columns.T
    gradient[:, :, 1:] = (gradient + coefs)[:, :, 1:] * subsets[:, None]
    return np.abs(gradient).max()


def noisy_rows(n_rows=120, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n_rows)
    return rng.normal(size=(n_rows, n_features)) + y[:, None] * np.linspace(1, 0, n_features), y


def peer(**more):
    return LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000, **more)


class TestScikitLearnAgrees:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
    def test_on_all_inputs(self, load, weighted):
        X, y = load(return_X_y=True)
        rng = np.random.default_rng(2)
        weights = rng.choice([0.0, 0.3, 1.0, 7.5], size=len(X)) if weighted else None
        Z = StandardScaler().fit(X, sample_weight=weights).transform(X)
        theirs = peer().fit(Z, y, sample_weight=weights).predict_proba(Z)
        ours = probabilities(X, y, np.ones((1, X.shape[1]), dtype=bool), weights=weights)[0]
        assert np.abs(ours - theirs).max() < 1e-7

    @pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_on_every_subset(self, n_classes, penalty):
        X, y = load_wine(return_X_y=True)
        X, y = X[y < n_classes, :6], y[y < n_classes]
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        for subset, ours in zip(all_subsets(6), probabilities(X, y, penalty=penalty), strict=True):
            theirs = peer(C=1 / penalty).fit(Z[:, subset], y).predict_proba(Z[:, subset])
            assert np.abs(ours - theirs).max() < 1e-7

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_where_an_imputer_fills_gaps(self, n_classes):
        X, y = load_iris(return_X_y=True)
        X, y = X[y < n_classes].copy(), y[y < n_classes]
        X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
        pipeline = make_pipeline(SimpleImputer(), StandardScaler(), peer()).fit(X, y)
        ours = probabilities(X, y, np.ones((1, 4), dtype=bool))[0]
        assert np.abs(ours - pipeline.predict_proba(X)).max() < 1e-7

    def test_where_classes_are_so_many_that_curvature_is_kept_by_class(self, monkeypatch):
        X, y = load_digits(return_X_y=True)
        X, y = X[:, 20:40], y
        coupled = probabilities(X, y, all_subsets(4) @ np.eye(4, 20, dtype=bool) | True)
        monkeypatch.setattr(logistic, "_COUPLED", 0)
        apart = probabilities(X, y, all_subsets(4) @ np.eye(4, 20, dtype=bool) | True)
        assert np.abs(coupled - apart).max() < 1e-7


@settings(deadline=None, max_examples=30, derandomize=True)
@given(
    counts=st.lists(st.integers(0, 4), min_size=12, max_size=90),
    n_classes=st.sampled_from([2, 3, 4]),
    seed=st.integers(0, 99),
)
def test_whole_weights_fit_as_repeated_rows_do(counts, n_classes, seed):
    counts, rng = np.array(counts), np.random.default_rng(seed)
    X, y = rng.normal(size=(len(counts), 3)), rng.integers(0, n_classes, size=len(counts))
    y[:n_classes], counts[:n_classes] = np.arange(n_classes), counts[:n_classes] + 1
    weighted = probabilities(X, y, weights=counts.astype(float))
    repeated = probabilities(X.repeat(counts, axis=0), y.repeat(counts), X_new=X)
    assert np.abs(weighted - repeated).max() < 1e-9


@pytest.mark.parametrize("size", [1e-6, 1e9])
def test_tiny_and_huge_weights_are_fitted_to_the_optimum(size):
    X, y = load_iris(return_X_y=True)
    weights = size * np.random.default_rng(3).uniform(1, 2, size=len(X))
    ours = probabilities(X, y, weights=weights, penalty=size)
    assert np.abs(ours - probabilities(X, y, weights=weights / size)).max() < 1e-7


def nasty_column(kind, rng, y, last):
    n = len(y)
    made = {
        "normal": rng.normal(size=n),
        "constant": np.full(n, 0.1),
        "copy": last.copy(),
        "line": 7 - 3 * last,
        "near": last * (1 + 1e-7 * rng.normal(size=n)),
        "outlier": np.r_[1e12, rng.normal(size=n - 1)],
        "separating": 2.0 * y - 1,
        "wrong_outlier": (2.0 * y - 1) * np.r_[-1e3, np.ones(n - 1)],
        "heavy": rng.standard_cauchy(n),
        "rare": np.r_[1.0, np.zeros(n - 1)],
        "far": 1e3 + 1e-8 * rng.normal(size=n),
    }
    return made[kind]


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=5),
    n_rows=st.sampled_from([6, 8, 30, 257, 600]),
    rate=st.sampled_from([0.5, 0.8, 0.99]),
    n_classes=st.sampled_from([2, 2, 3, 5]),
    seed=st.integers(0, 2**32 - 1),
)
def test_nasty_data_are_fitted_to_the_optimum(kinds, n_rows, rate, n_classes, seed):
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.geometric(rate, size=n_rows) - 1, n_classes - 1)
    y[:n_classes] = rng.permutation(n_classes)
    columns = [rng.normal(size=n_rows)]
    for kind in kinds:
        columns.append(nasty_column(kind, rng, y, columns[-1]))
    assert largest_gradient(np.column_stack(columns[1:]), y) < 5e-9


@pytest.mark.parametrize("size", [1e3, 1e9, 1e100])
def test_huge_outliers_and_a_class_of_one_row_are_fitted_to_the_optimum(size):
    X, y = noisy_rows(n_rows=2000)
    X[5, 0], X[6, 1] = size, -size * (2.0 * y[6] - 1)  # one of them with the wrong label
    assert largest_gradient(X, y) < 5e-9
    assert largest_gradient(X, np.where(np.arange(2000) == 17, 2, y)) < 5e-9


def test_copies_share_the_weight_and_constants_have_none():
    X, y = noisy_rows()
    X[:, 3], X[:, 4], X[:, 2] = X[:, 0], 7 - 3 * X[:, 1], 5
    coefs = fit(X, y)[-1, 0]
    np.testing.assert_allclose([coefs[4], -coefs[5]], coefs[1:3], rtol=1e-7)
    assert coefs[3] == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_is_the_same_bits_alone_in_any_batch_and_in_any_threads(n_classes, monkeypatch):
    X, y = noisy_rows(n_rows=700, n_features=6, seed=3)
    y[::5] = n_classes - 1
    subsets, order = all_subsets(6), np.random.default_rng(4).permutation(63)
    together = fit(X, y)
    alone = np.concatenate([fit(X, y, subset[None]) for subset in subsets])
    monkeypatch.setattr(logistic, "_WORTH_FITTING", 0)
    shuffled = fit(X, y, subsets[order], n_jobs=3)
    assert shuffled.tobytes() == together[order].tobytes()
    assert alone.tobytes() == together.tobytes()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_of_more_inputs_than_rows_are_the_same_in_the_space_of_the_rows(
    n_classes, monkeypatch
):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 60)), np.arange(24) % n_classes
    X[3, 5] = np.nan
    subsets = rng.random((5, 60)) < np.array([[1.0], [0.5], [0.8], [0.1], [0.3]])
    weights = []
    for wide in (50, 1000):
        monkeypatch.setattr(logistic, "_WIDE", wide)
        weights.append(fit(X, y, subsets))
    np.testing.assert_allclose(*weights, atol=1e-9)


def test_fits_that_end_badly_say_so(monkeypatch):
    X, y = noisy_rows()
    fitter = fitter_of(X, y)
    fitter.fit(all_subsets(5))
    monkeypatch.setattr(logistic, "MOST_PASSES", 1)
    with pytest.warns(ConvergenceWarning):
        fitter.fit(all_subsets(5))
    with pytest.raises(DataError):
        check_finite(np.array([1.0, np.nan]))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_batch_takes_no_more_memory_than_is_said(n_classes):
    X, y = noisy_rows()
    fitter = fitter_of(X, y, n_classes=n_classes)
    fits = fitter._open(np.tile(np.arange(6), (10, 1)))
    names = ("coefs", "gradient", "metric", "step", "turned", "steps", "changes")
    taken = sum(np.asarray(getattr(fits, name)).nbytes for name in names)
    assert taken <= 10 * fitter._bytes_per_model(6)


class TestScaling:
    def test_columns_have_mean_0_and_deviation_1_below_a_line_of_ones(self):
        X = noisy_rows()[0] * 1e3 - 5
        columns = Scaling.learn(X).columns(X)
        assert (columns[0] == 1).all()
        np.testing.assert_allclose(columns[1:].mean(axis=1), 0, atol=1e-13)
        np.testing.assert_allclose(columns[1:].std(axis=1), 1, rtol=1e-13)
        assert Scaling.learn(X).columns(X, np.array([7, 3])).tolist() == columns[:, [7, 3]].tolist()

    @pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e9, 1e-300, np.nan])
    def test_a_column_that_says_nothing_becomes_exactly_0(self, value):
        X = np.full((77, 1), value)
        for weights in (None, np.linspace(0, 1, 77)):
            scaling = Scaling.learn(X, weights)
            assert not scaling.columns(X)[1].any()
            assert scaling.deviation.tolist() == [1.0]

    @pytest.mark.parametrize("share", [0.0, 0.3])
    def test_whole_number_weights_are_repeated_rows(self, share):
        rng = np.random.default_rng(1)
        X, counts = rng.normal(3, 9, size=(100, 3)), rng.integers(0, 4, size=100)
        X[rng.random(X.shape) < share] = np.nan
        weighted = Scaling.learn(X, counts.astype(float))
        repeated = Scaling.learn(X.repeat(counts, axis=0))
        np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-13)
        np.testing.assert_allclose(weighted.deviation, repeated.deviation, rtol=1e-13)
