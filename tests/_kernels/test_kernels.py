"""Each compiled kernel beside a plain NumPy twin; inputs are frozen to catch mutation."""

from __future__ import annotations

import numpy as np
import pytest

from emsco._kernels import counts as counting
from emsco._kernels import judging as deciding
from emsco._kernels import logistic as fitting
from emsco._kernels import logistic as stepping
from emsco._kernels import slots as hashing
from emsco._kernels import variation as breeding
from emsco.models.batches import ModelBatch, Models, mixing_of_pairs, orthonormal_basis

ROW_COUNTS = [1, 2, 63, 255, 256, 257, 511, 512, 513, 700]  # around blocks of 256
SIZES = np.arange(1, 18)  # columns that a model reads, intercept included: every tail of a tile


def frozen(*arrays):
    for array in arrays:
        array.setflags(write=False)
    return arrays


def random_rows(n_rows, n_features=16, seed=0):
    """Standard normal columns below a line of ones, and targets."""
    rng = np.random.default_rng(seed)
    rows = np.vstack([np.ones(n_rows), rng.normal(size=(n_features, n_rows))])
    return rows, rng.integers(0, 2, size=n_rows).astype(np.float64)


def random_batch(sizes=SIZES, n_features=16, seed=1):
    """Models of the given sizes; weights past a model's last column are there to be ignored."""
    rng = np.random.default_rng(seed)
    subsets = np.zeros((len(sizes), n_features), dtype=bool)
    for m, size in enumerate(sizes):
        subsets[m, rng.choice(n_features, size - 1, replace=False)] = True
    batch = ModelBatch.from_subsets(subsets)
    batch.models.coefs[:] = rng.normal(size=batch.models.coefs.shape)
    return batch


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
    work = np.full((2, fitting.BLOCK), np.nan)
    work32 = np.full((3 + batch.models.columns.shape[1], fitting.BLOCK), np.nan, dtype=np.float32)
    fitting.add_terms(*inputs, batch.gradient, batch.hessian, work, work32)


def sigmoid(logit):
    """Without overflow, and in twice the digits where the platform has them."""
    q = np.exp(-np.abs(logit.astype(np.longdouble)))
    return np.where(logit >= 0, 1 / (1 + q), q / (1 + q))


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
            found = batch.hessian[m, :size, :size]
            np.testing.assert_allclose(found[lower], hessian[lower], atol=3e-6 * n_rows**0.5)

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
            found = batch.hessian[m, :size, :size]
            np.testing.assert_allclose(found[lower], hessian[lower], atol=2e-4)

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
        ("fine", "error", "relative"), [(True, 2e-13, 3e-13), (False, 3e-7, 1e-5)]
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
    fitting.add_terms_many(
        double,
        single,
        *models,
        *frozen(batch.fine, batch.curved, live),
        batch.gradient,
        batch.hessian,
        np.full((2 * n_classes, fitting.BLOCK), np.nan),
        np.full((2 * n_classes + width, fitting.BLOCK), np.nan, dtype=np.float32),
        np.full((n_classes, width), np.nan),
        block,
    )
    assert not block.any()


def turned(batch, m, n):
    """Hessian of model m in its n parameters, whole, from the sums by pairs of classes."""
    hessian, mixing = batch.hessian[m].copy(), mixing_of_pairs(batch.n_classes)
    scratch = np.full((2, len(mixing)), np.nan)
    stepping.turn_hessian(hessian, n, batch.n_directions, *frozen(mixing), *scratch)
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
    stepping.start_models(*inputs[:2], bound, *inputs[2:4], penalty, n_free, *inputs[4:], *outputs)


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
    n_live = stepping.advance_models(
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


def plain_logits(models, rows, m):
    """Added up column by column, each product and sum rounded on its own."""
    logit = np.full(rows.shape[1], models.coefs[m, 0])
    for i in range(1, models.sizes[m]):
        logit = logit + models.coefs[m, i] * rows[models.columns[m, i]]
    return logit


def plain_bits(models, rows, labels, m, thresholds):
    logit = plain_logits(models, rows, m)
    accepted = 1 / (1 + np.exp(-np.abs(logit))) >= np.where(logit > 0, thresholds[1], thresholds[0])
    return accepted, accepted & ((logit > 0) == (labels == 1))


def as_bits(words, n_rows):
    """Table of 64-bit words → (n_models, n_rows), and whether the bits past the rows are 0."""
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)
    return bits[:, :n_rows], not bits[:, n_rows:].any()


def judge(models, rows, labels, slots, thresholds, n_slots=None, valid=None):
    """A threshold for each class, or one for both of two."""
    thresholds = np.broadcast_to(thresholds, models.coefs.shape[1:-1] or 2).copy()
    n_words = -(-rows.shape[1] // 64)
    accepted = np.full((n_slots or len(slots), n_words), 2**64 - 1, dtype=np.uint64)
    correct = accepted.copy()
    valid = np.full(n_words, 2**64 - 1, dtype=np.uint64) if valid is None else valid
    inputs = frozen(
        rows, labels, models.columns, models.sizes, models.coefs, slots, thresholds, valid
    )
    if models.n_outputs == 1:
        scratch = np.full(64, np.nan), np.full(64, 7, dtype=np.uint64)
        deciding.judge_rows(*inputs, accepted, correct, *scratch)
    else:
        scratch = np.full((len(thresholds) + 2, 64), np.nan), np.full(64, -7)
        deciding.judge_rows_many(*inputs, accepted, correct, *scratch)
    return accepted, correct


class TestJudgeRows:
    @pytest.mark.parametrize("thresholds", [(0.75, 0.75), (0.6, 0.9), (0.0, 2.0)])
    @pytest.mark.parametrize("n_rows", [1, 2, 63, 64, 65, 128, 130, 257])
    def test_bits_equal_the_plain_ones(self, n_rows, thresholds):
        (rows, targets), models = random_rows(n_rows), random_batch().models
        slots, labels = np.random.default_rng(2).permutation(17), targets.astype(np.uint8)
        words = judge(models, rows, labels, slots, thresholds)
        (accepted, clean_1), (correct, clean_2) = (as_bits(word, n_rows) for word in words)
        assert clean_1
        assert clean_2
        for m, slot in enumerate(slots):
            wanted = plain_bits(models, rows, labels, m, thresholds)
            assert accepted[slot].tolist() == wanted[0].tolist()
            assert correct[slot].tolist() == wanted[1].tolist()

    def test_slots_of_other_subsets_stay_as_they_are(self):
        (rows, targets), models = random_rows(70), random_batch([3]).models
        slots = np.array([2])
        for words in judge(models, rows, targets.astype(np.uint8), slots, 0.75, n_slots=4):
            assert (words[[0, 1, 3]] == 2**64 - 1).all()
            assert (words[2] != 2**64 - 1).all()

    def test_equal_probabilities_are_accepted_at_one_half_and_the_first_class_wins(self):
        models = Models.from_subsets(np.ones((1, 2), dtype=bool))
        labels = np.array([0, 1, 1, 0, 1], dtype=np.uint8)
        accepted, correct = judge(models, np.ones((3, 5)), labels, np.array([0]), 0.5)
        assert accepted.tolist() == [[0b11111]]
        assert correct.tolist() == [[0b01001]]

    def test_a_model_makes_the_same_bits_alone_as_among_others(self):
        (rows, targets), models = random_rows(257), random_batch().models
        labels, slots = targets.astype(np.uint8), np.arange(17)
        together = judge(models, rows, labels, slots, 0.6)
        for m in range(17):
            part = Models(models.columns[m : m + 1], models.sizes[m : m + 1], models.coefs[[m]])
            alone = judge(part, rows, labels, np.array([0]), 0.6)
            assert [words[0].tolist() for words in alone] == [
                words[m].tolist() for words in together
            ]

    def test_a_bit_that_is_no_row_is_never_accepted(self):
        (rows, targets), models = random_rows(130), random_batch().models
        labels, valid = targets.astype(np.uint8), np.array([5, 2**63, 2], dtype=np.uint64)
        everything = judge(models, rows, labels, np.arange(17), 0.6)
        for part, whole in zip(
            judge(models, rows, labels, np.arange(17), 0.6, valid=valid), everything, strict=True
        ):
            assert part.tolist() == (whole & valid).tolist()


def models_of_classes(n_classes, seed=12):
    few = random_batch(seed=seed).models
    coefs = np.random.default_rng(seed).normal(size=(len(SIZES), n_classes, few.columns.shape[1]))
    return Models(few.columns, few.sizes, coefs)


def plain_likeliest(coefs, columns, rows):
    """Likeliest class and its probability; logits are added up column by column."""
    logits = np.repeat(coefs[:, :1], rows.shape[1], axis=1)
    for i, column in enumerate(columns[1:], start=1):
        logits = logits + coefs[:, i, None] * rows[column]
    shares = np.exp(logits - logits.max(axis=0))
    return shares.argmax(axis=0), 1 / shares.sum(axis=0)


class TestJudgeRowsMany:
    @pytest.mark.parametrize("n_classes", [3, 7])
    @pytest.mark.parametrize("n_rows", [1, 64, 130])
    def test_bits_equal_the_plain_ones(self, n_rows, n_classes):
        (rows, _), models, rng = random_rows(n_rows), models_of_classes(n_classes), np.random
        slots, labels = (
            rng.default_rng(2).permutation(17),
            rng.default_rng(3).integers(0, 3, n_rows),
        )
        thresholds = rng.default_rng(4).uniform(0.3, 0.9, size=n_classes)
        words = judge(models, rows, labels.astype(np.uint8), slots, thresholds)
        (accepted, clean_1), (correct, clean_2) = (as_bits(word, n_rows) for word in words)
        assert clean_1
        assert clean_2
        for m, slot in enumerate(slots):
            columns = models.columns[m, : models.sizes[m]]
            winner, confidence = plain_likeliest(models.coefs[m], columns, rows)
            wanted = confidence >= thresholds[winner]
            assert accepted[slot].tolist() == wanted.tolist()
            assert correct[slot].tolist() == (wanted & (winner == labels)).tolist()

    def test_of_equal_probabilities_the_first_class_wins(self):
        coefs = np.array([[[0.0], [1.0], [1.0]], [[5.0], [5.0], [5.0]]])
        models = Models(np.zeros((2, 1), dtype=int), np.ones(2, dtype=int), coefs)
        labels = np.array([0, 1, 2], dtype=np.uint8)
        accepted, correct = judge(models, np.ones((1, 3)), labels, np.arange(2), np.full(3, 1 / 3))
        assert accepted.tolist() == [[0b111], [0b111]]
        assert correct.tolist() == [[0b010], [0b001]]


def plain_exits(accepted, correct, chain, weights=None, blocked=None):
    """`blocked`: rows that each stage lets pass."""
    weights = np.ones(accepted.shape[1], dtype=int) if weights is None else weights
    undecided, exits = np.ones(accepted.shape[1], dtype=bool), []
    for j, slot in enumerate(chain):
        leaving = undecided & accepted[slot] & (True if blocked is None else ~blocked[j])
        exits.append((weights[leaving].sum(), weights[leaving & correct[slot]].sum()))
        undecided &= ~leaving
    return np.array(exits).T


def words_of(bits):
    padded = np.zeros((*bits.shape[:-1], -(-bits.shape[-1] // 64) * 64), dtype=bool)
    padded[..., : bits.shape[-1]] = bits
    return np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)


class TestCountExits:
    @pytest.mark.parametrize("n_rows", [1, 64, 65, 200])
    def test_counts_equal_the_plain_ones_and_are_added(self, n_rows):
        rng = np.random.default_rng(3)
        accepted = rng.random((12, n_rows)) < 0.4
        correct = accepted & (rng.random((12, n_rows)) < 0.7)
        words = words_of(np.array([accepted, correct]))
        chains, n_stages = rng.integers(0, 12, size=(50, 4)), rng.integers(1, 5, size=50)
        exits, correct_exits = np.full((2, 50, 4), 1000)
        scratch = np.full((2, words.shape[2]), 7, dtype=np.uint64)
        unweighted = np.zeros(0, dtype=np.int64), np.zeros((0, words.shape[2]), dtype=np.uint64)
        designs = np.zeros((50, 0), dtype=np.int16)
        inputs = frozen(words[0], words[1], *unweighted, designs, chains, n_stages)
        counting.count_exits(*inputs, exits, correct_exits, *scratch)
        for d, n in enumerate(n_stages):
            wanted = np.zeros((2, 4), dtype=int)
            wanted[:, :n] = plain_exits(accepted, correct, chains[d, :n])
            assert [exits[d].tolist(), correct_exits[d].tolist()] == (wanted + 1000).tolist()

    @pytest.mark.parametrize("n_features", [0, 5])
    def test_weights_and_gaps_equal_the_plain_ones(self, n_features):
        rng = np.random.default_rng(13)
        accepted = rng.random((12, 256)) < 0.4
        correct, missing = (
            accepted & (rng.random((12, 256)) < 0.7),
            rng.random((n_features, 256)) < 0.2,
        )
        weights, designs = rng.integers(1, 9, size=4), rng.integers(-1, 4, size=(50, n_features))
        chains, n_stages = rng.integers(0, 12, size=(50, 4)), rng.integers(1, 5, size=50)
        exits, correct_exits = np.zeros((2, 50, 4), dtype=np.int64)
        tables = words_of(accepted), words_of(correct), weights, words_of(missing)
        inputs = frozen(*tables, designs.astype(np.int16), chains, n_stages)
        counting.count_exits(*inputs, exits, correct_exits, *np.full((2, 4), 7, dtype=np.uint64))
        for d, n in enumerate(n_stages):
            blocked = [missing[designs[d] == j].any(axis=0) for j in range(n)]
            wanted = plain_exits(accepted, correct, chains[d, :n], weights.repeat(64), blocked)
            assert [exits[d, :n].tolist(), correct_exits[d, :n].tolist()] == wanted.tolist()

    @pytest.mark.parametrize("weighted", [False, True])
    def test_counts_by_class_equal_the_plain_ones_of_the_words_of_each_class(self, weighted):
        rng, ends = np.random.default_rng(5), np.array([0, 1, 1, 4])  # the second class has no row
        accepted = rng.random((12, 256)) < 0.4
        correct, missing = accepted & (rng.random((12, 256)) < 0.7), rng.random((5, 256)) < 0.2
        designs = rng.integers(-1, 4, size=(50, 5))
        weights = rng.integers(1, 9, size=4) if weighted else np.ones(4, dtype=np.int64)
        missing &= weighted
        chains, n_stages = rng.integers(0, 12, size=(50, 4)), rng.integers(1, 5, size=50)
        exits, correct_exits = np.full((2, 50, 3 + 4), 1000)
        given = weights[: 4 * weighted], words_of(missing)
        tables = words_of(accepted), words_of(correct), *given, designs.astype(np.int16)
        inputs, scratch = frozen(*tables, chains, n_stages), np.full((2, 4), 7, dtype=np.uint64)
        counting.count_exits_by_class(*inputs, exits, correct_exits, *scratch, *frozen(ends))
        for d, n in enumerate(n_stages):
            blocked = [missing[designs[d] == j].any(axis=0) for j in range(n)]
            wanted = np.full((2, 3 + 4), 1000)
            for c in range(3):
                own = slice(64 * ends[c], 64 * ends[c + 1])
                parts = accepted[:, own], correct[:, own], chains[d, :n], weights.repeat(64)[own]
                found = plain_exits(*parts, [some[own] for some in blocked])
                wanted[:, c] += found.sum(axis=1)
                wanted[:, 3 : 3 + n] += found
            assert [exits[d].tolist(), correct_exits[d].tolist()] == wanted.tolist()


def decide(X, mean, inverse, models, min_confidence):
    stage, winner = np.full((2, len(X)), -1)
    confidence = np.full(len(X), np.nan)
    thresholds = np.broadcast_to(min_confidence, (len(models.sizes), 2)).copy()
    inputs = frozen(X, mean, inverse, models.columns, models.sizes, models.coefs, thresholds)
    deciding.decide_rows(*inputs, 0, len(models.sizes), stage, winner, confidence)
    return stage, winner, confidence


def random_cascade(n_stages, n_features=9, seed=4):
    """Nested models of all features, their raw rows, and how to standardise them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_features)
    known = np.zeros((n_stages, n_features), dtype=bool)
    for j, part in enumerate(np.array_split(order, n_stages)):
        known[j:, part] = True
    models = Models.from_subsets(known, 0.5 * rng.normal(size=(n_stages, n_features + 1)))
    mean, deviation = rng.normal(size=n_features), rng.uniform(0.1, 9.0, size=n_features)
    X = mean + deviation * rng.normal(size=(300, n_features))
    return X, mean, 1 / deviation, models


def plain_decisions(X, mean, inverse, models, min_confidence):
    rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
    n_stages = len(models.sizes)
    logits = np.array([plain_logits(models, rows, j) for j in range(n_stages)])
    confidence = 1 / (1 + np.exp(-np.abs(logits)))
    thresholds = np.broadcast_to(min_confidence, (n_stages, 2))
    sure = confidence >= np.take_along_axis(thresholds, (logits > 0).astype(int), axis=1)
    stage = np.where(sure.any(axis=0), sure.argmax(axis=0), n_stages)
    seen = np.minimum(stage, n_stages - 1), np.arange(len(X))
    return stage, (logits[seen] > 0).astype(int), confidence[seen]


class TestDecideRows:
    @pytest.mark.parametrize(
        "min_confidence", [0, 0.3, 0.5, 0.6, 0.8, 0.99, (0.55, 0.8), (1.5, 0.4), (0, 0.9)]
    )
    @pytest.mark.parametrize("n_stages", [1, 2, 3, 9])
    def test_decisions_equal_the_plain_ones(self, n_stages, min_confidence):
        given = *random_cascade(n_stages), min_confidence
        stage, winner, confidence = decide(*given)
        plain_stage, plain_winner, plain_confidence = plain_decisions(*given)
        assert stage.tolist() == plain_stage.tolist()
        assert winner.tolist() == plain_winner.tolist()
        assert (np.abs(confidence - plain_confidence) <= 2 * np.spacing(plain_confidence)).all()

    @pytest.mark.parametrize(
        "thresholds",
        [
            [[0.9, 0.9], [0.7, 0.7], [0.0, 0.0]],
            [[0.6, 0.9], [0.8, 0.7], [0.0, 0.65]],
            [[1.0, 2.0], [0.0, 0.8], [0.5, 0.5]],
        ],
    )
    def test_every_stage_and_class_may_have_its_own_threshold(self, thresholds):
        given = *random_cascade(3), np.array(thresholds)
        found, plain = decide(*given), plain_decisions(*given)
        assert found[0].tolist() == plain[0].tolist()
        assert found[1].tolist() == plain[1].tolist()
        assert len({*found[0].tolist()}) > 1

    def test_rows_leave_early_even_if_a_later_stage_asks_for_less(self):
        X, mean, inverse, models = random_cascade(3)
        thresholds = np.array([[0.8, 0.8], [0.99, 0.99], [0.0, 0.0]])
        (stage, _, _), first = decide(X, mean, inverse, models, thresholds), thresholds[:1]
        alone = decide(X, mean, inverse, models, first)[0]
        assert (stage == 0).tolist() == (alone == 0).tolist()
        assert (stage < 3).all()

    def test_a_confidence_is_within_two_units_in_the_last_place(self):
        models = Models.from_subsets(np.ones((1, 1), dtype=bool), np.array([[0.0, 1.0]]))
        logit = np.concatenate([np.linspace(-45, 45, 50_001), [-1e4, -700.5, 700.5, 1e300]])
        _, winner, confidence = decide(logit[:, None], np.zeros(1), np.ones(1), models, 1.0)
        exact = sigmoid(np.abs(logit))
        assert np.abs((confidence - exact) / np.spacing(confidence)).max() <= 2
        assert winner.tolist() == (logit > 0).astype(int).tolist()

    def test_a_confidence_equal_to_the_threshold_is_accepted(self):
        X, mean, inverse, models = random_cascade(1)
        confidence = decide(X, mean, inverse, models, 0.5)[2]
        for row in range(20):
            stage, _, _ = decide(X, mean, inverse, models, confidence[row])
            assert stage[row] == 0
            above = np.nextafter(confidence[row], 1)
            assert decide(X, mean, inverse, models, above)[0][row] == 1

    def test_rows_are_decided_and_judged_alike_even_at_ties(self):
        X, mean, inverse, models = random_cascade(1)
        rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
        labels = np.random.default_rng(5).integers(0, 2, size=len(X)).astype(np.uint8)
        for tie in decide(X, mean, inverse, models, 0.5)[2]:
            stage, winner, _ = decide(X, mean, inverse, models, tie)
            words = judge(models, rows, labels, np.array([0]), tie)
            accepted, correct = (as_bits(word, len(X))[0][0] for word in words)
            assert accepted.tolist() == (stage == 0).tolist()
            assert correct.tolist() == ((stage == 0) & (winner == labels)).tolist()


def cascade_of_classes(n_classes, n_stages=3):
    """A random cascade of so many classes; of two, as one output."""
    X, mean, inverse, models = random_cascade(n_stages)
    if n_classes > 2:
        shape = n_stages, n_classes, models.coefs.shape[1]
        coefs = np.random.default_rng(14).normal(size=shape)
        models = Models(models.columns, models.sizes, coefs)
    return X, mean, inverse, models


def plain_decisions_many(X, mean, inverse, models, thresholds):
    """Row by row and stage by stage."""
    rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
    stage, winner, confidence = (
        np.full(len(X), len(models.sizes)),
        np.zeros(len(X)),
        np.full(len(X), np.nan),
    )
    for j, size in enumerate(models.sizes):
        coefs = models.coefs[j]
        if models.n_outputs == 1:
            coefs = np.vstack([0 * coefs, coefs])
        likeliest, surety = plain_likeliest(coefs, models.columns[j, :size], rows)
        open_ = stage == len(models.sizes)
        winner[open_], confidence[open_] = likeliest[open_], surety[open_]
        stage[open_ & (surety >= thresholds[j, likeliest])] = j
    return stage, winner, confidence


class TestDecideRowsMany:
    @pytest.mark.parametrize("n_classes", [2, 3, 6])
    def test_decisions_equal_the_plain_ones(self, n_classes):
        given = cascade_of_classes(n_classes)
        thresholds = np.random.default_rng(15).uniform(0.4, 0.8, size=(3, n_classes))
        found = given[3].decide(*frozen(*given[:3], thresholds), 0, 3)
        plain = plain_decisions_many(*given, thresholds)
        assert found[0].tolist() == plain[0].tolist()
        assert found[1].tolist() == plain[1].tolist()
        np.testing.assert_allclose(found[2], plain[2], rtol=1e-15, atol=0)

    @pytest.mark.parametrize("n_classes", [3, 5])
    def test_rows_are_decided_and_judged_alike_even_at_ties(self, n_classes):
        X, mean, inverse, models = cascade_of_classes(n_classes, n_stages=1)
        rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
        labels = np.random.default_rng(5).integers(0, n_classes, size=len(X)).astype(np.uint8)
        nothing = np.zeros((1, n_classes))
        for tie in models.decide(X, mean, inverse, nothing, 0, 1)[2][:100]:
            thresholds = np.full(n_classes, tie)
            stage, winner, _ = models.decide(X, mean, inverse, thresholds[None], 0, 1)
            words = judge(models, rows, labels, np.array([0]), thresholds)
            accepted, correct = (as_bits(word, len(X))[0][0] for word in words)
            assert accepted.tolist() == (stage == 0).tolist()
            assert correct.tolist() == ((stage == 0) & (winner == labels)).tolist()

    def test_a_row_is_decided_alike_alone_and_among_others(self):
        X, mean, inverse, models = cascade_of_classes(3)
        thresholds = np.full((3, 3), 0.6)
        together = np.array(models.decide(X, mean, inverse, thresholds, 0, 3))
        alone = [models.decide(X[[r]], mean, inverse, thresholds, 0, 3) for r in range(len(X))]
        assert np.array(alone)[:, :, 0].T.tolist() == together.tolist()


class TestProbabilities:
    @pytest.mark.parametrize("n_classes", [2, 3, 6])
    def test_the_largest_is_the_confidence_to_the_last_bit(self, n_classes):
        X, mean, inverse, models = cascade_of_classes(n_classes)
        for j in range(3):
            found = models.probabilities(*frozen(X, mean, inverse), j)
            stage, winner, confidence = models.decide(
                X, mean, inverse, np.full((3, n_classes), 2.0), j, j + 1
            )
            assert (stage == 3).all()
            assert found.max(axis=1).tobytes() == confidence.tobytes()
            assert found.argmax(axis=1).tolist() == winner.tolist()

    @pytest.mark.parametrize("n_classes", [2, 3, 6])
    def test_they_equal_the_plain_ones(self, n_classes):
        X, mean, inverse, models = cascade_of_classes(n_classes, n_stages=1)
        rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
        coefs = models.coefs[0] if n_classes > 2 else np.vstack([0 * models.coefs, models.coefs])
        shares = np.exp(coefs @ rows[models.columns[0]])
        found = models.probabilities(X, mean, inverse, 0)
        np.testing.assert_allclose(found, (shares / shares.sum(axis=0)).T, rtol=1e-12, atol=1e-15)


def random_keys(n_keys, n_words, seed=6):
    """Rows of words, many of them equal, which differ in one word or in many."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, size=(n_keys, n_words), dtype=np.uint64)
    keys[:, rng.integers(n_words)] = rng.integers(0, 20, size=n_keys)
    return keys[rng.integers(0, n_keys, size=2 * n_keys)]


class TestHashing:
    @pytest.mark.parametrize("n_words", [1, 2, 5])
    @pytest.mark.parametrize("n_index", [128, 1024])
    def test_slots_are_those_of_a_dictionary(self, n_words, n_index):
        wanted, places = random_keys(60, n_words), np.random.default_rng(7).permutation(120)
        known = {}
        for key in map(tuple, wanted.tolist()):
            known.setdefault(key, places[len(known)])
        index, keys = np.full(n_index, -1), np.zeros((120, n_words), dtype=np.uint64)
        slots, new = np.full((2, 120), -7)
        n_new = hashing.claim_slots(index, keys, *frozen(wanted, places), slots, new)
        assert n_new == len(known) < 120
        assert slots.tolist() == [known[tuple(key)] for key in wanted.tolist()]
        assert [tuple(key) for key in wanted[new[:n_new]].tolist()] == list(known)

    def test_a_claimed_key_is_found_and_another_is_not(self):
        wanted, strangers = random_keys(60, 3), random_keys(60, 3, seed=8)
        index, keys = np.full(256, -1), np.zeros((120, 3), dtype=np.uint64)
        slots, new, found = np.full((3, 120), -7)
        hashing.claim_slots(index, keys, *frozen(wanted, np.arange(120)), slots, new)
        hashing.find_slots(*frozen(index, keys, wanted), found)
        assert found.tolist() == slots.tolist()
        hashing.find_slots(*frozen(index, keys, strangers), found)
        assert found.tolist() == [-1] * 120

    def test_too_few_places_are_told_and_never_passed(self):
        index, keys = np.full(256, -1), np.zeros((3, 1), dtype=np.uint64)
        slots, new = np.full((2, 4), -7)
        wanted = np.arange(4, dtype=np.uint64)[:, None]
        assert hashing.claim_slots(index, keys, *frozen(wanted, np.arange(3)), slots, new) == -1

    def test_a_table_that_is_filled_again_knows_the_slots_that_were_entered(self):
        keys = np.unique(random_keys(60, 2), axis=0)
        index, found = np.full(256, -1), np.full(len(keys), -7)
        kept = np.flatnonzero(np.arange(len(keys)) % 3)
        slots, new = np.full((2, len(kept)), -7)
        assert hashing.claim_slots(index, keys, *frozen(keys[kept], kept), slots, new) == len(kept)
        hashing.find_slots(*frozen(index, keys, keys.copy()), found)
        assert found.tolist() == [i if i % 3 else -1 for i in range(len(keys))]


def random_designs(n_designs=200, n_features=9, max_stages=5, seed=9):
    draws = np.random.default_rng(seed).integers(0, max_stages, size=(n_designs, n_features))
    return np.array([np.unique(row, return_inverse=True)[1] for row in draws], dtype=np.int16)


def compressed(genes):
    used = sorted({gene for gene in genes.tolist() if gene >= 0})
    return [used.index(gene) if gene >= 0 else -1 for gene in genes.tolist()]


def half_up(x):
    return int(np.floor(x + 0.5))


class TestBreeding:
    def test_stages_are_renumbered_in_their_order(self):
        rows = np.random.default_rng(0).integers(-1, 40, size=(100, 6)).astype(np.int16)
        plain = [compressed(row) for row in rows]
        breeding.compress_rows(rows, np.full(100, -7))
        assert rows.tolist() == plain

    def test_sums_over_stages_equal_the_plain_ones(self):
        designs, values = random_designs(), np.random.default_rng(1).integers(0, 99, size=9) / 4
        designs[100:, 3:5] = -1
        totals = np.zeros((200, 6))
        breeding.add_up_stages(*frozen(designs, values), totals)
        known = designs[:, None, :] <= np.arange(6)[None, :, None]
        known &= (designs >= 0)[:, None, :]
        assert totals.tolist() == (known @ values).tolist()

    @pytest.mark.parametrize("rate", [0.0, 0.8, 1.0])
    @pytest.mark.parametrize("left_out", [0.0, 0.3, 0.9])
    def test_children_equal_the_plain_ones(self, rate, left_out):
        first, second = random_designs(), random_designs(seed=10)
        draws = np.random.default_rng(2).random((200, 12))
        for parents in (first, second):  # all but their last feature may be left out
            parents[:, :8][np.random.default_rng(6).random((200, 8)) < left_out] = -1
            parents[:] = [compressed(row) for row in parents]
        second[second[:, :8].max(axis=1) >= 0, 8] = -1
        second[:] = [compressed(row) for row in second]
        children = np.empty_like(first)
        breeding.cross_rows(*frozen(first, second, draws), rate, children)
        for a, b, u, child in zip(first, second, draws, children, strict=True):
            n_a, n_b = a.max() + 1, b.max() + 1
            n_child = (n_a, n_b, half_up((n_a + n_b) / 2))[int(3 * u[1])]
            takes_a = u[3:] < 0.5 if u[0] < rate else np.full(9, u[2] < 0.5)
            plain = np.where(takes_a, a, b)
            if u[0] < rate:
                ratios = (plain + 1) / np.where(takes_a, n_a, n_b)
                crossed = [max(0, half_up(ratio * n_child) - 1) for ratio in ratios]
                plain = np.where(plain < 0, -1, crossed)
            if plain.max() < 0:
                plain = a
            assert child.tolist() == plain.tolist()

    @pytest.mark.parametrize("rate", [0.1, 1.0])
    @pytest.mark.parametrize("exclusion", [False, True])
    @pytest.mark.parametrize("first", [-1, 4])
    def test_mutants_equal_the_plain_ones(self, rate, exclusion, first):
        designs, draws = random_designs(), np.random.default_rng(3).random((200, 9))
        draws[5] /= 1000 * rate  # all genes become -1 where that is a place
        cumulative = np.ones((4, 4))  # stages 0..3: the cap of four stages bites
        for highest in range(4):
            cumulative[highest, : highest + 1] = np.linspace(0, 1, highest + 2)[1:] ** 0.5
        mutants = np.empty_like(designs)
        scratch = np.full(len(cumulative) + 5, -7)
        given = (*frozen(designs, draws), rate, *frozen(cumulative))
        breeding.mutate_rows(*given, exclusion, first, mutants, scratch)
        for design, u, mutant in zip(designs, draws, mutants, strict=True):
            highest = min(design.max() + 1, 3)
            never = exclusion / (highest + 2)
            level = (u / rate - never) / (1 - never)
            drawn = np.minimum(np.searchsorted(cumulative[highest], level, side="right"), 3)
            genes = np.where(u < rate, np.where(level < 0, -1, drawn), design)
            if first >= 0:
                genes[first] = 0
            if genes.max() < 0:
                genes = design
            assert mutant.tolist() == compressed(genes)

    @pytest.mark.parametrize("slope", [0.0, 0.1])
    def test_gaps_equal_the_plain_ones(self, slope):
        rng = np.random.default_rng(4)
        points, front = (rng.integers(0, 9, size=(n, 3)) / 8 for n in (300, 12))
        distances = np.full(300, np.nan)
        breeding.measure_distances(*frozen(points, front), slope, distances)
        shortfall = front - points[:, None]
        behind = shortfall.min(axis=2) + slope * shortfall.sum(axis=2)
        plain = np.where((shortfall >= 0).all(axis=2), behind, 0.0).max(axis=1)
        assert (plain == 0).any()
        assert (plain > 0.25).any()
        np.testing.assert_allclose(distances, plain, rtol=1e-12, atol=0)

    def test_no_gap_lies_behind_an_empty_front(self):
        distances = np.full(2, np.nan)
        breeding.measure_distances(*frozen(np.zeros((2, 3)), np.zeros((0, 3))), 0.1, distances)
        assert distances.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n_classes", [3, 7, 20])
def test_running_sums_turn_hessians_as_shares_of_pairs_do(n_classes):
    rng, n_columns, n = np.random.default_rng(n_classes), 4, n_classes - 1
    mixing = mixing_of_pairs(n_classes)
    sums = np.tril(rng.random((n_columns * n, n_columns * n)))
    one, other = sums.copy(), sums.copy()
    stepping.turn_hessian(one, len(one), n, mixing, *np.full((2, len(mixing)), np.nan))
    scratch = np.full((2, n_classes**2), np.nan)
    stepping.turn_hessian(other, len(other), n, np.zeros((0, 0)), *scratch)
    assert np.allclose(np.tril(one), np.tril(other), rtol=0, atol=1e-12 * n_classes)


def test_many_classes_are_fitted_as_scikit_learn_does():
    from sklearn.linear_model import LogisticRegression

    from emsco.models.engine import SplitRows

    rng = np.random.default_rng(0)
    y = np.arange(600) % 30
    X = rng.normal(size=(30, 9))[y] + rng.normal(size=(600, 9))  # 290 parameters
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    every = np.arange(600)
    fitter = SplitRows.cut(X, y.astype(np.uint8), every, every[:0], n_classes=30).fitter
    coefs = fitter.fit(np.ones((1, 9), dtype=bool)).coefs[0]
    logits = np.column_stack([np.ones(600), Z]) @ coefs.T
    ours = np.exp(logits - logits.max(axis=1, keepdims=True))
    peer = LogisticRegression(tol=1e-10, max_iter=3000).fit(Z, y).predict_proba(Z)
    assert np.abs(ours / ours.sum(axis=1, keepdims=True) - peer).max() < 1e-6


def test_hashes_of_rows_are_those_of_plain_integers():
    words = np.random.default_rng(0).integers(0, 2**32, (50, 3), dtype=np.uint32)
    found = np.full(50, 7, dtype=np.uint64)
    hashing.hash_rows(*frozen(words), found)

    def mixed(row):
        h = 7
        for word in row:
            h = ((h ^ word) + 0x9E3779B97F4A7C15) % 2**64
            h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
            h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) % 2**64
            h ^= h >> 31
        return h

    assert found.tolist() == [mixed(row) for row in words.tolist()]
