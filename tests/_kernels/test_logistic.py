"""Sums over training rows and Newton steps, beside plain NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels import SIZES, frozen, random_batch, random_rows, sigmoid

from emsco._kernels import logistic
from emsco.models.batches import ModelBatch, mixing_of_pairs, orthonormal_basis

ROW_COUNTS = [1, 2, 63, 255, 256, 257, 511, 512, 513, 700]  # around blocks of 256


def add_terms(batch, rows, targets, live=None, weights=None):
    live = np.arange(len(batch.passes)) if live is None else live
    data = rows, targets, np.zeros(0) if weights is None else weights
    inputs = frozen(
        *data,
        *(array.astype(np.float32) for array in data),
        batch.models.columns,
        batch.models.sizes,
        batch.models.coefs,
        batch.fine,
        batch.curved,
        live,
    )
    work = np.full((2, logistic.BLOCK), np.nan)
    work32 = np.full((3 + batch.models.columns.shape[1], logistic.BLOCK), np.nan, dtype=np.float32)
    logistic.add_terms(*inputs, batch.gradient, batch.hessian, work, work32)


def plain_terms(batch, rows, targets, m, weights=1.0):
    x = rows[batch.models.columns[m, : batch.models.sizes[m]]]
    p = sigmoid(batch.models.coefs[m, : batch.models.sizes[m]] @ x).astype(np.float64)
    return x @ (weights * (p - targets)), (x * (weights * p * (1 - p))) @ x.T


class TestAddTerms:
    @pytest.mark.parametrize("n_rows", ROW_COUNTS)
    def test_fine_gradients_equal_the_plain_ones(self, n_rows):
        (rows, targets), batch = random_rows(n_rows), random_batch()
        batch.fine[:] = True
        add_terms(batch, rows, targets)
        for m, size in enumerate(SIZES):
            gradient, _ = plain_terms(batch, rows, targets, m)
            np.testing.assert_allclose(
                batch.gradient[m, :size], gradient, rtol=0, atol=2e-13 * n_rows
            )

    @pytest.mark.parametrize("n_rows", ROW_COUNTS)
    def test_coarse_gradients_equal_the_plain_ones_to_single_precision(self, n_rows):
        (rows, targets), batch = random_rows(n_rows), random_batch()
        add_terms(batch, rows, targets)
        for m, size in enumerate(SIZES):
            gradient, _ = plain_terms(batch, rows, targets, m)
            np.testing.assert_allclose(batch.gradient[m, :size], gradient, atol=3e-6 * n_rows**0.5)

    @pytest.mark.parametrize("fine", [True, False])
    @pytest.mark.parametrize("n_rows", ROW_COUNTS)
    def test_hessians_equal_the_plain_ones_to_single_precision(self, n_rows, fine):
        (rows, targets), batch = random_rows(n_rows), random_batch()
        batch.fine[:] = fine
        add_terms(batch, rows, targets)
        for m, size in enumerate(SIZES):
            lower = np.tril_indices(size)
            _, hessian = plain_terms(batch, rows, targets, m)
            computed = batch.hessian[m, :size, :size]
            np.testing.assert_allclose(computed[lower], hessian[lower], atol=3e-6 * n_rows**0.5)

    @pytest.mark.parametrize("fine", [True, False])
    def test_a_row_counts_as_much_as_it_weighs(self, fine):
        (rows, targets), batch = random_rows(700), random_batch()
        batch.fine[:] = fine
        weights = np.random.default_rng(8).uniform(0, 3, size=700)
        add_terms(batch, rows, targets, weights=weights)
        for m, size in enumerate(SIZES):
            lower = np.tril_indices(size)
            gradient, hessian = plain_terms(batch, rows, targets, m, weights)
            close = 1e-9 if fine else 2e-4
            np.testing.assert_allclose(batch.gradient[m, :size], gradient, atol=close)
            computed = batch.hessian[m, :size, :size]
            np.testing.assert_allclose(computed[lower], hessian[lower], atol=2e-4)

    def test_a_model_that_is_not_curved_keeps_its_hessian(self):
        (rows, targets), batch = random_rows(300), random_batch()
        batch.curved[::2] = False
        batch.hessian[:] = 7.0
        add_terms(batch, rows, targets)
        changed = (batch.hessian != 7.0).any(axis=(1, 2))
        assert changed.tolist() == batch.curved.tolist()

    def test_only_live_models_are_touched(self):
        (rows, targets), batch = random_rows(300), random_batch()
        add_terms(batch, rows, targets, live=np.array([2, 5, 16]))
        touched = batch.gradient.any(axis=1) & batch.hessian.any(axis=(1, 2))
        assert np.flatnonzero(touched).tolist() == [2, 5, 16]
        assert np.flatnonzero(batch.gradient.any(axis=1)).tolist() == [2, 5, 16]

    @pytest.mark.parametrize("fine", [True, False])
    def test_rows_cut_between_blocks_add_up_to_the_same_bits(self, fine):
        (rows, targets), whole, cut = random_rows(700), random_batch(), random_batch()
        whole.fine[:] = cut.fine[:] = fine
        add_terms(whole, rows, targets)
        for part in (slice(0, 256), slice(256, 512), slice(512, None)):
            add_terms(cut, rows[:, part].copy(), targets[part].copy())
        assert whole.gradient.tobytes() == cut.gradient.tobytes()
        assert whole.hessian.tobytes() == cut.hessian.tobytes()

    @pytest.mark.parametrize("fine", [True, False])
    def test_a_model_adds_the_same_bits_alone_as_among_others(self, fine):
        (rows, targets), together, alone = random_rows(700), random_batch(), random_batch()
        together.fine[:] = alone.fine[:] = fine
        add_terms(together, rows, targets)
        for m in reversed(range(len(SIZES))):
            add_terms(alone, rows, targets, live=np.array([m]))
        assert together.gradient.tobytes() == alone.gradient.tobytes()
        assert together.hessian.tobytes() == alone.hessian.tobytes()

    @pytest.mark.parametrize(
        ("fine", "error", "relative"), [(True, 2e-13, 4e-13), (False, 3e-7, 1e-5)]
    )
    def test_a_probability_is_accurate_down_to_the_smallest(self, fine, error, relative):
        """One row of target 0 and intercept z adds σ(z): the exponential, seen from outside."""
        logits = np.linspace(-700 if fine else -80, 40, 20_001)
        batch = ModelBatch.from_subsets(np.zeros((len(logits), 1), dtype=bool))
        batch.models.coefs[:, 0] = logits
        batch.fine[:] = fine
        add_terms(batch, np.ones((2, 1)), np.zeros(1))
        exact = sigmoid(logits if fine else logits.astype(np.float32).astype(np.float64))
        off = np.abs(batch.gradient[:, 0] - exact)
        assert off.max() <= error
        assert (off / exact).max() <= relative

    @pytest.mark.parametrize("fine", [True, False])
    def test_absurd_logits_stay_finite(self, fine):
        batch = ModelBatch.from_subsets(np.zeros((4, 1), dtype=bool))
        batch.models.coefs[:, 0] = [-1e30, -1e3, 1e3, 1e30]
        batch.fine[:] = fine
        add_terms(batch, np.ones((2, 1)), np.zeros(1))
        np.testing.assert_allclose(batch.gradient[:, 0], [0, 0, 1, 1], atol=1e-30)
        assert np.isfinite(batch.hessian).all()


def classes_batch(n_classes, sizes=SIZES, seed=11):
    """Models of many classes, of the given sizes, at random parameters."""
    few = random_batch(sizes, seed=seed)
    subsets = np.zeros((len(sizes), 16), dtype=bool)
    for m, size in enumerate(sizes):
        subsets[m, few.models.columns[m, 1:size] - 1] = True
    batch = ModelBatch.from_subsets(subsets, n_classes)
    shape = batch.models.coefs.shape
    batch.models.coefs[:] = np.random.default_rng(seed).normal(size=shape) / 2
    return batch


def add_terms_many(batch, rows, labels, live=None, weights=None):
    live = np.arange(len(batch.passes)) if live is None else live
    n_classes, width = batch.n_classes, batch.models.columns.shape[1]
    basis = orthonormal_basis(n_classes)
    targets = np.ascontiguousarray(basis[labels].T)
    double = frozen(rows, targets, np.zeros(0) if weights is None else weights, basis)
    single = frozen(*(array.astype(np.float32) for array in double))
    models = frozen(batch.models.columns, batch.models.sizes, batch.models.coefs)
    block = np.zeros((-(-width // 4) * 4,) * 2)
    logistic.add_terms_many(
        *double,
        *single,
        *models,
        *frozen(batch.fine, batch.curved, live),
        batch.gradient,
        batch.hessian,
        np.full((2 * n_classes, logistic.BLOCK), np.nan),
        np.full((2 * n_classes + width, logistic.BLOCK), np.nan, dtype=np.float32),
        np.full((n_classes, width), np.nan),
        block,
    )
    assert not block.any()


def turned(batch, m, n):
    """Hessian of model m in its n parameters, whole, from the sums by pairs of classes."""
    hessian, mixing = batch.hessian[m].copy(), mixing_of_pairs(batch.n_classes)
    scratch = np.full((2, len(mixing)), np.nan)
    logistic.turn_hessian(hessian, n, batch.n_directions, *frozen(mixing), scratch)
    lower = np.tril(hessian[:n, :n])
    return lower + np.tril(lower, -1).T


def plain_terms_many(batch, rows, labels, m, weights=1.0):
    """Gradient and Hessian of the loss in the parameters, through those of each class's weights."""
    basis, size = orthonormal_basis(batch.n_classes), batch.models.sizes[m]
    x = rows[batch.models.columns[m, :size]]
    logits = batch.fitted.coefs[m, :, :size] @ x
    q = np.exp(logits - logits.max(axis=0))
    p = q / q.sum(axis=0)
    gradient = (x * weights) @ (p - np.eye(batch.n_classes)[:, labels]).T @ basis
    bend = basis.T @ (np.einsum("kr,kl->rkl", p, np.eye(len(p))) - np.einsum("kr,lr->rkl", p, p))
    hessian = np.einsum("ir,rab,jr->iajb", x * weights, bend @ basis, x)
    n_parameters = size * batch.n_directions
    return gradient.ravel(), hessian.reshape(n_parameters, n_parameters)


class TestAddTermsMany:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("fine", [True, False])
    @pytest.mark.parametrize(("n_rows", "n_classes"), [(1, 3), (63, 5), (256, 3), (700, 4)])
    def test_sums_equal_the_plain_ones(self, n_rows, n_classes, fine, weighted):
        (rows, _), batch, rng = random_rows(n_rows), classes_batch(n_classes), np.random
        labels = rng.default_rng(1).integers(0, n_classes, size=n_rows)
        weights = rng.default_rng(2).uniform(0, 3, size=n_rows) if weighted else None
        batch.fine[:] = fine
        add_terms_many(batch, rows, labels, weights=weights)
        for m, n in enumerate(SIZES * batch.n_directions):
            plain = plain_terms_many(batch, rows, labels, m, 1.0 if weights is None else weights)
            close = 1e-11 if fine else 3e-4
            np.testing.assert_allclose(batch.gradient[m, :n], plain[0], rtol=0, atol=close)
            np.testing.assert_allclose(turned(batch, m, n), plain[1], rtol=0, atol=3e-4)

    @pytest.mark.parametrize("fine", [True, False])
    def test_neither_cuts_nor_other_models_change_a_bit(self, fine):
        (rows, _), labels = random_rows(700), np.arange(700) % 4
        whole, cut, alone = (classes_batch(4) for _ in range(3))
        whole.fine[:] = cut.fine[:] = alone.fine[:] = fine
        add_terms_many(whole, rows, labels)
        for part in (slice(0, 256), slice(256, 512), slice(512, None)):
            add_terms_many(cut, rows[:, part].copy(), labels[part])
        for m in reversed(range(len(SIZES))):
            add_terms_many(alone, rows, labels, live=np.array([m]))
        for batch in (cut, alone):
            assert batch.gradient.tobytes() == whole.gradient.tobytes()
            assert batch.hessian.tobytes() == whole.hessian.tobytes()

    def test_only_live_and_curved_models_are_touched(self):
        (rows, _), batch = random_rows(300), classes_batch(3)
        batch.curved[::2] = False
        add_terms_many(batch, rows, np.arange(300) % 3, live=np.array([2, 5, 16]))
        assert np.flatnonzero(batch.gradient.any(axis=1)).tolist() == [2, 5, 16]
        assert np.flatnonzero(batch.hessian.any(axis=(1, 2))).tolist() == [5]

    @pytest.mark.parametrize("fine", [True, False])
    def test_a_row_that_is_all_but_certain_still_bends(self, fine):
        """By p (1 - p) of the rare class, not by the rounding of a difference."""
        batch = ModelBatch.from_subsets(np.zeros((1, 1), dtype=bool), 3)
        batch.models.coefs[0, :2] = orthonormal_basis(3).T @ [20.0, 0.0, 0.0]
        batch.fine[:] = fine
        add_terms_many(batch, np.ones((2, 1)), np.zeros(1, dtype=int))
        _, exact = plain_terms_many(batch, np.ones((2, 1)), np.zeros(1, dtype=int), 0)
        np.testing.assert_allclose(turned(batch, 0, 2), exact, rtol=1e-4, atol=1e-13)

    @pytest.mark.parametrize("fine", [True, False])
    def test_absurd_logits_stay_finite(self, fine):
        batch = ModelBatch.from_subsets(np.zeros((4, 1), dtype=bool), 3)
        batch.models.coefs[:, 0] = [-1e30, -1e3, 1e3, 1e30]
        batch.fine[:] = fine
        add_terms_many(batch, np.ones((2, 1)), np.zeros(1, dtype=int))
        assert np.isfinite(batch.gradient).all()
        assert np.isfinite(batch.hessian).all()


def newton_step(gradient, hessian, penalty, n_free=1):
    ridge = penalty * np.eye(len(gradient))
    ridge[:n_free] = 0.0  # intercepts are free
    return -np.linalg.solve(np.tril(hessian) + np.tril(hessian, -1).T + ridge, gradient)


def start(batch, at_zero, at_full, penalty=1.0, n_free=1, bound=1.0):
    models = batch.models
    inputs = frozen(*at_zero, *at_full, models.columns, models.sizes)
    outputs = models.coefs, batch.step, batch.slope, batch.hessian
    logistic.start_models(*inputs[:2], bound, *inputs[2:4], penalty, n_free, *inputs[4:], *outputs)


def quadratic(seed, scale=1.0):
    """Gradient and Hessian of a convex quadratic over 17 columns."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(40, 17))
    return scale * rng.normal(size=17), root.T @ root


class TestStartModels:
    @pytest.mark.parametrize("penalty", [1.0, 0.25])
    def test_a_model_starts_at_the_minimum_of_the_full_models_quadratic(self, penalty):
        batch, (gradient, hessian) = random_batch(), quadratic(0)
        start(batch, (gradient, hessian), (1.2 * gradient, hessian), penalty)
        for m, size in enumerate(SIZES):
            c = batch.models.columns[m, :size]
            step = newton_step(1.2 * gradient[c], hessian[np.ix_(c, c)], penalty)
            np.testing.assert_allclose(batch.step[m, :size], step, rtol=1e-9, atol=1e-13)
            np.testing.assert_allclose(batch.slope[m], gradient[c] @ step, rtol=1e-9)
            assert batch.models.coefs[m, :size].tolist() == batch.step[m, :size].tolist()

    @pytest.mark.parametrize("factor", [-1.0, 5.0])
    def test_a_start_that_may_be_worse_than_zero_gives_way_to_the_quadratic_at_zero(self, factor):
        batch, (gradient, hessian) = random_batch(), quadratic(1)
        start(batch, (gradient, hessian), (factor * gradient, hessian))
        for m, size in enumerate(SIZES):
            c = batch.models.columns[m, :size]
            step = newton_step(gradient[c], hessian[np.ix_(c, c)], 1.0)
            np.testing.assert_allclose(batch.step[m, :size], step, rtol=1e-9, atol=1e-13)
            np.testing.assert_allclose(batch.slope[m], gradient[c] @ step, rtol=1e-9)

    def test_free_parameters_are_not_pulled_to_zero(self):
        batch, (gradient, hessian) = random_batch(SIZES[4:]), quadratic(0)
        start(batch, (gradient, hessian), (gradient, hessian), penalty=50.0, n_free=3)
        for m, size in enumerate(SIZES[4:]):
            c = batch.models.columns[m, :size]
            step = newton_step(gradient[c], hessian[np.ix_(c, c)], 50.0, n_free=3)
            np.testing.assert_allclose(batch.step[m, :size], step, rtol=1e-9, atol=1e-13)

    def test_the_hessians_are_left_empty(self):
        batch = random_batch()
        batch.hessian[:] = 3.0
        start(batch, quadratic(2), quadratic(2))
        assert not batch.hessian.any()
        assert (batch.slope < 0).all()


def advance(batch, live=None, penalty=1.0, tolerance=1e-9):
    """The models that go on; at zero their Hessian is one."""
    live = np.arange(len(batch.passes)) if live is None else live
    n_live = logistic.advance_models(
        penalty,
        batch.n_directions,
        tolerance,
        np.eye(17 * batch.n_directions),
        mixing_of_pairs(batch.n_classes),
        live,
        *frozen(*batch.parameters),
        batch.models.coefs,
        batch.gradient,
        batch.hessian,
        batch.step,
        batch.slope,
        batch.norm,
        batch.fine,
        batch.curved,
        batch.passes,
        np.full((2, batch.n_classes * batch.n_directions // 2), np.nan),
    )
    return live[:n_live].tolist()


class TestAdvanceModels:
    def test_a_step_is_newtons_with_the_penalty_on_all_but_the_intercept(self):
        (rows, targets), batch = random_rows(300), random_batch()
        add_terms(batch, rows, targets)
        batch.models.coefs.setflags(write=True)
        batch.curved.setflags(write=True)
        batch.fine.setflags(write=True)
        before, gradient, hessian = (
            array.copy() for array in (batch.models.coefs, batch.gradient, batch.hessian)
        )
        assert advance(batch, penalty=0.5) == list(range(17))
        for m, size in enumerate(SIZES):
            slope = gradient[m, :size] + 0.5 * np.r_[0.0, before[m, 1:size]]
            step = newton_step(slope, hessian[m, :size, :size], 0.5)
            np.testing.assert_allclose(batch.step[m, :size], step, rtol=1e-9, atol=1e-13)
            moved = batch.models.coefs[m, :size] - before[m, :size]
            np.testing.assert_allclose(moved, step, rtol=1e-9, atol=1e-13)

    def test_a_step_of_many_classes_leaves_all_intercepts_free(self):
        (rows, _), batch = random_rows(300), classes_batch(3)
        add_terms_many(batch, rows, np.arange(300) % 3)
        for array in (batch.models.coefs, batch.curved, batch.fine):
            array.setflags(write=True)
        before, gradient = batch.models.coefs.copy(), batch.gradient.copy()
        hessians = [turned(batch, m, n) for m, n in enumerate(2 * SIZES)]
        advance(batch, penalty=0.5)
        for m, n in enumerate(2 * SIZES):
            slope = gradient[m, :n] + 0.5 * np.r_[0.0, 0.0, before[m, 2:n]]
            step = newton_step(slope, hessians[m], 0.5, n_free=2)
            reach = np.sqrt(step @ step)
            share = 1.5 * (1 + np.log(reach / 1.5)) / reach if reach > 1.5 else 1.0
            np.testing.assert_allclose(batch.step[m, :n], share * step, rtol=1e-9, atol=1e-13)
            np.testing.assert_allclose(batch.slope[m], share * slope @ step, rtol=1e-9)

    def test_a_step_that_went_too_far_is_cut_back_to_where_the_slope_vanishes(self):
        batch = ModelBatch.from_subsets(np.ones((1, 1), dtype=bool))
        batch.fine[:] = True
        batch.models.coefs[:] = batch.step[:] = [[4.0, 0.0]]
        batch.slope[:], batch.gradient[:] = -1.0, [[0.75, 0.0]]  # the slope is now 3
        assert advance(batch) == [0]
        assert batch.models.coefs.tolist() == batch.step.tolist() == [[1.0, 0.0]]
        assert batch.slope.tolist() == [-0.25]

    def test_a_fine_model_with_a_small_gradient_is_done_and_the_others_go_on(self):
        batch = random_batch([2, 3, 4])
        batch.models.coefs.fill(0.0)
        batch.hessian[:] = np.eye(4)
        batch.gradient[:, 0] = [1e-3, 1e-10, 1e-3]
        batch.fine[:] = True
        batch.norm[:] = 1.0e-3
        assert advance(batch) == [0, 2]
        assert batch.passes.tolist() == [1, 1, 1]
        assert batch.curved.tolist()[::2] == [True, True]  # no progress: a new Hessian is due
        assert not batch.gradient[[0, 2]].any()

    def test_a_short_step_or_eight_passes_end_the_coarse_part(self):
        batch = random_batch([2, 2, 2])
        batch.models.coefs.fill(0.0)
        batch.hessian[:] = np.eye(4)
        batch.gradient[:, 0] = [5e-3, 1.0, 1.0]
        batch.passes[:] = [0, 0, 7]
        advance(batch)
        assert batch.fine.tolist() == [True, False, True]


@pytest.mark.parametrize("n_classes", [3, 7, 20])
def test_running_sums_turn_hessians_as_shares_of_pairs_do(n_classes):
    rng, n_columns, n = np.random.default_rng(n_classes), 4, n_classes - 1
    mixing = mixing_of_pairs(n_classes)
    sums = np.tril(rng.random((n_columns * n, n_columns * n)))
    one, other = sums.copy(), sums.copy()
    logistic.turn_hessian(one, len(one), n, mixing, np.full((2, len(mixing)), np.nan))
    scratch = np.full((2, n_classes**2), np.nan)
    logistic.turn_hessian(other, len(other), n, np.zeros((0, 0)), scratch)
    assert np.allclose(np.tril(one), np.tril(other), rtol=0, atol=1e-12 * n_classes)


def test_many_classes_are_fitted_as_scikit_learn_does():
    from sklearn.linear_model import LogisticRegression

    from emsco.models.engine import SplitRows
    from emsco.models.shard import SplitData

    rng = np.random.default_rng(0)
    y = np.arange(600) % 30
    X = rng.normal(size=(30, 9))[y] + rng.normal(size=(600, 9))  # 290 parameters
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    every = np.arange(600)
    fitter = SplitRows.cut(SplitData(X, y.astype(np.uint8), every, every[:0], 30)).fitter
    coefs = fitter.fit(np.ones((1, 9), dtype=bool)).coefs[0]
    logits = np.column_stack([np.ones(600), Z]) @ coefs.T
    ours = np.exp(logits - logits.max(axis=1, keepdims=True))
    peer = LogisticRegression(tol=1e-10, max_iter=3000).fit(Z, y).predict_proba(Z)
    assert np.abs(ours / ours.sum(axis=1, keepdims=True) - peer).max() < 1e-6
