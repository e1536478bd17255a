"""Batched logistic regressions: the optimum, as scikit-learn finds it, in any batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed
from scipy.special import expit, softmax
from sklearn import config_context
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from emsco.errors import DataError
from emsco.models import logistic
from emsco.models.batches import ModelBatch, Models
from emsco.models.engine import SplitRows
from emsco.models.logistic import LogisticFitter
from emsco.models.scaling import Scaling
from emsco.models.shard import SplitData, cut_shards


@pytest.fixture(autouse=True)
def one_blas_thread():
    """Limit scikit-learn to one thread: tests run side by side."""
    with threadpool_limits(1):
        yield


def all_subsets(n_features):
    return (np.arange(1, 2**n_features)[:, None] >> np.arange(n_features) & 1).astype(bool)


def fit(X, y, subsets=None, penalty=1.0):
    """Weights (n_models, n_features + 1) of the given subsets, by default of all."""
    subsets = all_subsets(X.shape[1]) if subsets is None else subsets
    rows = np.arange(len(X))
    split = SplitRows.cut(SplitData(X, y.astype(np.uint8), rows, rows[:0]), penalty)
    return split.fitter.fit(subsets).spread(X.shape[1])


def largest_gradient(coefs, X, y, subsets=None):
    """Gradient of Σ log-loss + ½ |w|² over every model's own columns, in plain float64."""
    subsets = all_subsets(X.shape[1]) if subsets is None else subsets
    columns = Scaling.learn(X).columns(X)
    gradient = (expit(coefs @ columns) - y) @ columns.T
    gradient[:, 1:] = (gradient + coefs)[:, 1:] * subsets
    return np.abs(gradient).max()


def noisy_rows(n_rows=120, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n_rows)
    return rng.normal(size=(n_rows, n_features)) + y[:, None] * np.linspace(1, 0, n_features), y


def paper_rows(data):
    """Standardised training rows, labels, and standardised scored rows, made without emsco."""
    X = data.X[data.train]
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    return (X - mean) / deviation, data.y[data.train], (data.X[data.held_out] - mean) / deviation


def peer_probabilities(Z, y, Z_new, subsets):
    out = []
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for subset in subsets:
            peer = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
            peer.fit(Z[:, subset], y)
            out.append(peer.predict_proba(Z_new[:, subset])[:, 1])
    return np.array(out)


def newton_step(coefs, Z, y):
    """Newton step of plain NumPy from one model's weights, without the zeros."""
    x = np.column_stack([np.ones(len(Z)), Z])
    p = expit(x @ coefs)
    ridge = np.diag(np.r_[0.0, np.ones(Z.shape[1])])
    return -np.linalg.solve((x.T * (p * (1 - p))) @ x + ridge, x.T @ (p - y) + ridge @ coefs)


def fitter_of(X, y, weights=None, penalty=1.0, rows_per_shard=2**20):
    """Scaling of X, and a fitter for the classes of y."""
    n_classes, train = int(y.max()) + 1, np.arange(len(X))
    scaling = Scaling.learn(X, weights)
    labels = y.astype(np.uint8)
    data = SplitData(X, labels, train, train[:0], n_classes, weights)
    shards = cut_shards(data, scaling, rows_per_shard)
    total = len(X) if weights is None else weights.sum()
    return scaling, LogisticFitter(shards, X.shape[1], total, penalty, n_classes)


def probabilities(X, y, subsets, X_new=None, **settings):
    """Probabilities by subset, new row and class, in plain NumPy from the fitted weights."""
    scaling, fitter = fitter_of(X, y, **settings)
    coefs = fitter.fit(subsets).spread(X.shape[1])
    if coefs.ndim == 2:
        coefs = np.stack([np.zeros_like(coefs), coefs], axis=1)
    return softmax(coefs @ scaling.columns(X if X_new is None else X_new), axis=1).swapaxes(1, 2)


def peer(**settings):
    return LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000, **settings)


def largest_gradient_of_classes(X, y, subsets):
    """Gradient of Σ log-loss + ½ |W|² over every model's own columns, in plain float64."""
    scaling, fitter = fitter_of(X, y)
    coefs, columns = fitter.fit(subsets).spread(X.shape[1]), scaling.columns(X)
    p = softmax(coefs @ columns, axis=1)
    gradient = (p - np.eye(p.shape[1])[:, y]) @ columns.T
    gradient[:, :, 1:] = (gradient + coefs)[:, :, 1:] * subsets[:, None]
    return np.abs(gradient).max()


class TestManyClasses:
    @pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
    def test_probabilities_equal_scikit_learns_on_all_inputs(self, load):
        X, y = load(return_X_y=True)
        Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        ours = probabilities(X, y, np.ones((1, X.shape[1]), dtype=bool))[0]
        assert np.abs(ours - peer().fit(Z, y).predict_proba(Z)).max() < 1e-7

    @pytest.mark.parametrize(("load", "n_inputs"), [(load_iris, 4), (load_wine, 6)])
    def test_probabilities_equal_scikit_learns_on_every_subset(self, load, n_inputs):
        X, y = load(return_X_y=True)
        X = X[:, :n_inputs]
        Z, subsets = (X - X.mean(axis=0)) / X.std(axis=0), all_subsets(n_inputs)
        for subset, ours in zip(subsets, probabilities(X, y, subsets), strict=True):
            theirs = peer().fit(Z[:, subset], y).predict_proba(Z[:, subset])
            assert np.abs(ours - theirs).max() < 1e-7

    def test_a_fit_is_the_same_bits_alone_in_any_batch_and_in_any_shards(self):
        X, y = load_wine(return_X_y=True)
        X, y = np.tile(X[:, :5], (4, 1)), np.tile(y, 4)  # three blocks of rows
        X += np.random.default_rng(0).normal(size=X.shape)
        subsets = all_subsets(5)
        together = fitter_of(X, y)[1].fit(subsets).spread(5)
        cut = fitter_of(X, y, rows_per_shard=256)[1]
        order = np.random.default_rng(4).permutation(31)
        assert cut.fit(subsets[order]).spread(5).tobytes() == together[order].tobytes()
        alone = [cut.fit(subset[None]).spread(5) for subset in subsets]
        assert np.concatenate(alone).tobytes() == together.tobytes()

    def test_a_class_that_one_row_has(self):
        X, _ = noisy_rows(n_rows=2000)
        y = np.where(np.arange(2000) == 17, 2, np.arange(2000) % 2)
        assert largest_gradient_of_classes(X, y, all_subsets(5)) < 5e-9

    def test_a_model_of_constant_columns_only_knows_the_share_of_each_class(self):
        y = np.array([0, 1, 1, 2, 2, 2, 2, 2])
        shares = probabilities(np.full((8, 2), 5.0), y, np.ones((1, 2), dtype=bool))
        np.testing.assert_allclose(shares[0], np.tile([1 / 8, 2 / 8, 5 / 8], (8, 1)), rtol=1e-9)


class TestModels:
    @pytest.mark.parametrize("shape", [(31, 6), (31, 4, 6)])
    def test_weights_spread_over_all_inputs_make_the_same_models(self, shape):
        subsets = all_subsets(5)
        spread = np.random.default_rng(0).normal(size=shape)
        models = Models.from_subsets(subsets, spread)
        used = np.c_[np.ones(31, dtype=bool), subsets].reshape(31, *[1] * (len(shape) - 2), 6)
        assert models.spread(5).tolist() == np.where(used, spread, 0).tolist()
        assert models.n_outputs == (1 if len(shape) == 2 else 4)

    @pytest.mark.parametrize("n_classes", [2, 3, 7])
    def test_a_batch_takes_no_more_memory_than_is_said(self, n_classes):
        batch = ModelBatch.from_subsets(np.ones((10, 6), dtype=bool), n_classes)
        arrays = batch.gradient, batch.hessian, batch.step, batch.fitted.coefs, batch.slope
        taken = sum(array.nbytes for array in (*arrays, batch.norm, batch.passes))
        assert taken <= 10 * ModelBatch.bytes_per_model(6, n_classes)


class TestWeights:
    @settings(deadline=None, max_examples=30, derandomize=True)
    @given(
        counts=st.lists(st.integers(0, 4), min_size=12, max_size=90),
        n_classes=st.sampled_from([2, 3, 4]),
        seed=st.integers(0, 99),
    )
    def test_whole_numbers_fit_as_repeated_rows_do(self, counts, n_classes, seed):
        counts, rng = np.array(counts), np.random.default_rng(seed)
        X, y = rng.normal(size=(len(counts), 3)), rng.integers(0, n_classes, size=len(counts))
        y[:n_classes], counts[:n_classes] = np.arange(n_classes), counts[:n_classes] + 1
        weighted = probabilities(X, y, all_subsets(3), weights=counts.astype(float))
        repeated = probabilities(X.repeat(counts, axis=0), y.repeat(counts), all_subsets(3), X)
        assert np.abs(weighted - repeated).max() < 1e-9

    @pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
    def test_scikit_learn_agrees(self, load):
        X, y = load(return_X_y=True)
        weights = np.random.default_rng(2).choice([0.0, 0.3, 1.0, 7.5], size=len(X))
        Z = StandardScaler().fit(X, sample_weight=weights).transform(X)
        theirs = peer().fit(Z, y, sample_weight=weights).predict_proba(Z)
        ours = probabilities(X, y, np.ones((1, X.shape[1]), dtype=bool), weights=weights)[0]
        assert np.abs(ours - theirs).max() < 1e-7

    @pytest.mark.parametrize("size", [1e-6, 1e9])
    def test_tiny_and_huge_weights_are_fitted_to_the_optimum(self, size):
        X, y = load_iris(return_X_y=True)
        weights = size * np.random.default_rng(3).uniform(1, 2, size=len(X))
        ours = probabilities(X, y, np.ones((1, 4), dtype=bool), weights=weights, penalty=size)
        theirs = probabilities(X, y, np.ones((1, 4), dtype=bool), weights=weights / size)
        assert np.abs(ours - theirs).max() < 1e-7


class TestGaps:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_gaps_are_fitted_as_scikit_learns_imputer_fills_them(self, n_classes):
        X, y = load_iris(return_X_y=True)
        X, y = X[y < n_classes].copy(), y[y < n_classes]
        X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
        pipeline = make_pipeline(SimpleImputer(), StandardScaler(), peer()).fit(X, y)
        ours = probabilities(X, y, np.ones((1, 4), dtype=bool))[0]
        assert np.abs(ours - pipeline.predict_proba(X)).max() < 1e-7


class TestScikitLearnAgrees:
    @pytest.mark.parametrize(
        ("name", "every"),
        [
            ("pima", 16),
            *(
                pytest.param(*case, marks=pytest.mark.thorough)
                for case in (("pima", 1), ("heart", 5), ("credit", 19))
            ),
        ],
    )
    def test_probabilities_equal_scikit_learns_on_subsets_of_all_sizes(
        self, paper_set, name, every
    ):
        data = paper_set(name)
        Z, y, Z_new = paper_rows(data)
        subsets = all_subsets(Z.shape[1])[::-every]  # all of credit's take scikit-learn a minute
        peers = Parallel(n_jobs=2)(
            delayed(peer_probabilities)(Z, y, Z_new, part) for part in np.array_split(subsets, 4)
        )
        coefs = fit(data.X[data.train], y, subsets)
        ours = expit(coefs[:, :1] + coefs[:, 1:] @ Z_new.T)
        assert np.abs(ours - np.concatenate(peers)).max() < 1e-8

    @pytest.mark.parametrize(
        "name", ["pima", "heart", pytest.param("credit", marks=pytest.mark.thorough)]
    )
    def test_the_newton_step_that_is_left_moves_no_probability_of_any_subset(self, paper_set, name):
        data = paper_set(name)
        Z, y, Z_new = paper_rows(data)
        subsets, worst = all_subsets(Z.shape[1]), 0.0
        for subset, coefs in zip(subsets, fit(data.X[data.train], y), strict=True):
            step = newton_step(coefs[np.r_[True, subset]], Z[:, subset], y)
            moved = step[0] + Z_new[:, subset] @ step[1:]
            worst = max(worst, np.abs(moved).max() / 4)  # no probability is steeper than that
        assert worst < 1e-9

    @pytest.mark.parametrize("penalty", [0.1, 10.0])
    def test_the_penalty_is_the_inverse_of_scikit_learns_c(self, small_problem, penalty):
        X, y = small_problem
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        peer = LogisticRegression(
            C=1 / penalty, solver="newton-cholesky", tol=1e-10, max_iter=1000
        ).fit(Z, y)
        ours = fit(X, y, np.ones((1, 6), dtype=bool), penalty)[0]
        np.testing.assert_allclose(ours, np.r_[peer.intercept_, peer.coef_[0]], atol=1e-8)


class TestScaling:
    def test_columns_have_mean_0_and_deviation_1_below_a_line_of_ones(self, small_problem):
        X, _ = small_problem
        columns = Scaling.learn(X * 1e3 - 5).columns(X * 1e3 - 5)
        assert (columns[0] == 1).all()
        np.testing.assert_allclose(columns[1:].mean(axis=1), 0, atol=1e-13)
        np.testing.assert_allclose(columns[1:].std(axis=1), 1, rtol=1e-13)

    @pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e9, 1e-300])
    def test_a_constant_column_becomes_exactly_0(self, value):
        scaling = Scaling.learn(np.full((77, 1), value))
        assert not scaling.columns(np.full((77, 1), value))[1].any()
        assert scaling.deviation.tolist() == [1.0]

    @pytest.mark.parametrize("weights", [None, np.linspace(0, 1, 40)])
    def test_a_column_without_a_known_value_is_0_everywhere(self, weights):
        X = np.full((40, 1), np.nan)
        scaling = Scaling.learn(X, weights)
        assert [scaling.mean.tolist(), scaling.deviation.tolist()] == [[0.0], [1.0]]
        assert not scaling.columns(X)[1].any()

    @pytest.mark.parametrize("share", [0.0, 0.3])
    def test_whole_number_weights_are_repeated_rows(self, share):
        rng = np.random.default_rng(1)
        X, counts = rng.normal(3, 9, size=(100, 3)), rng.integers(0, 4, size=100)
        X[rng.random(X.shape) < share] = np.nan
        weighted = Scaling.learn(X, counts.astype(float))
        repeated = Scaling.learn(X.repeat(counts, axis=0))
        np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-13)
        np.testing.assert_allclose(weighted.deviation, repeated.deviation, rtol=1e-13)


class TestOptimum:
    def test_separable_classes(self):
        X, y = noisy_rows()
        X[:, 0] = 2.0 * y - 1
        assert largest_gradient(fit(X, y), X, y) < 5e-9

    def test_exact_copies_share_the_weight(self):
        X, y = noisy_rows()
        X[:, 3], X[:, 4] = X[:, 0], 7 - 3 * X[:, 1]
        coefs = fit(X, y)
        assert largest_gradient(coefs, X, y) < 5e-9
        np.testing.assert_allclose(coefs[-1, 4], coefs[-1, 1], rtol=1e-7)
        np.testing.assert_allclose(coefs[-1, 5], -coefs[-1, 2], rtol=1e-7)

    @pytest.mark.parametrize("distance", [1e-12, 1e-8, 1e-4])
    def test_nearly_equal_columns(self, distance):
        X, y = noisy_rows(n_rows=1000)
        X[:, 1] = X[:, 0] + distance * X[:, 4]
        assert largest_gradient(fit(X, y), X, y) < 5e-9

    def test_a_model_of_constant_columns_only_knows_the_share_of_each_class(self):
        y = np.arange(40) % 4 == 0
        coefs = fit(np.full((40, 2), 5.0), y)
        np.testing.assert_allclose(expit(coefs[:, 0]), 0.25, rtol=1e-10)
        assert not coefs[:, 1:].any()

    @pytest.mark.parametrize("size", [1e3, 1e9, 1e100])
    def test_huge_outliers(self, size):
        X, y = noisy_rows(n_rows=2000)
        X[5, 0], X[6, 1] = size, -size * (2.0 * y[6] - 1)  # one of them with the wrong label
        assert largest_gradient(fit(X, y), X, y) < 5e-9

    def test_one_row_of_a_class_among_thousands(self):
        X, _ = noisy_rows(n_rows=5000)
        y = np.arange(5000) == 17
        assert largest_gradient(fit(X, y), X, y) < 5e-9

    @pytest.mark.parametrize("y", [[0, 0, 0, 1], [0, 1, 0, 1], [1, 1, 0, 1]])
    def test_four_rows(self, y):
        X = np.array([[0.0, 1, 2], [1, 1, 0], [0, 5, 5], [3, 1, 1]])
        assert largest_gradient(fit(X, np.array(y)), X, np.array(y)) < 5e-9

    def test_a_fit_that_runs_out_of_passes_says_so(self, monkeypatch):
        X, y = noisy_rows()
        rows = np.arange(len(X))
        fitter = SplitRows.cut(SplitData(X, y.astype(np.uint8), rows, rows[:0])).fitter
        fitter.prepare()
        monkeypatch.setattr(logistic, "MOST_PASSES", 1)
        with pytest.warns(ConvergenceWarning):
            fitter.fit(all_subsets(5))


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


KINDS = ["normal", "constant", "copy", "line", "near", "outlier"]
KINDS += ["separating", "wrong_outlier", "heavy", "rare", "far"]


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=6),
    n_rows=st.sampled_from([4, 5, 8, 30, 257, 600]),
    share=st.sampled_from([0.5, 0.2, 0.01]),
    seed=st.integers(0, 2**32 - 1),
)
def test_nasty_data_are_fitted_to_the_optimum(kinds, n_rows, share, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < share
    y[:2] = rng.permutation([False, True])
    columns = [rng.normal(size=n_rows)]
    for kind in kinds:
        columns.append(nasty_column(kind, rng, y, columns[-1]))
    X = np.column_stack(columns[1:])
    assert largest_gradient(fit(X, y), X, y) < 5e-9


@settings(deadline=None, max_examples=30, derandomize=True)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    n_rows=st.sampled_from([6, 8, 30, 257, 600]),
    n_classes=st.sampled_from([3, 5]),
    seed=st.integers(0, 2**32 - 1),
)
def test_nasty_data_of_many_classes_are_fitted_to_the_optimum(kinds, n_rows, n_classes, seed):
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.geometric(0.6, size=n_rows) - 1, n_classes - 1)
    y[:n_classes] = rng.permutation(n_classes)
    columns = [rng.normal(size=n_rows)]
    for kind in kinds:
        columns.append(nasty_column(kind, rng, y, columns[-1]))
    X = np.column_stack(columns[1:])
    assert largest_gradient_of_classes(X, y, all_subsets(len(kinds))) < 5e-9


class TestBatches:
    @pytest.mark.parametrize("n_rows", [100, 700])
    def test_a_fit_is_the_same_bits_alone_in_any_batch_and_in_any_order(self, n_rows):
        X, y = noisy_rows(n_rows=n_rows, n_features=7, seed=3)
        subsets = all_subsets(7)
        together = fit(X, y)
        order = np.random.default_rng(4).permutation(len(subsets))
        shuffled = fit(X, y, subsets[order])
        alone = np.concatenate([fit(X, y, subset[None]) for subset in subsets])
        assert shuffled.tobytes() == together[order].tobytes()
        assert alone.tobytes() == together.tobytes()


class _Lost:
    """A shard whose sums are beyond all numbers."""

    n_train = 10

    def add_terms(self, batch, live):
        batch.gradient[live] = np.nan
        batch.hessian[live] = np.eye(len(batch.hessian[0]))


def test_a_model_without_numbers_is_refused_instead_of_saying_nan():
    with pytest.raises(DataError):
        LogisticFitter([_Lost()], n_inputs=2, n_rows=10).prepare()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_of_more_inputs_than_rows_are_the_same_in_the_space_of_the_rows(
    n_classes, monkeypatch
):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(24, 60)), (np.arange(24) % n_classes).astype(np.uint8)
    X[3, 5] = np.nan
    subsets = rng.random((5, 60)) < np.array([[1.0], [0.5], [0.8], [0.1], [0.3]])
    weights = []
    for wide in (50, 1000):
        monkeypatch.setattr("emsco.models.logistic._WIDE", wide)
        data = SplitData(X, labels, np.arange(18), np.arange(18, 24), n_classes)
        fitter = SplitRows.cut(data).fitter
        assert fitter.is_wide == (wide == 50)
        weights.append(fitter.fit(subsets).spread(60))
    np.testing.assert_allclose(*weights, atol=1e-9)
