"""Sums over training rows and quasi-Newton steps, beside plain NumPy and the kernel uncompiled."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from support.kernels import frozen
from support.plain import plain

from emsco._kernels import logistic
from emsco.models.logistic import LogisticFitter
from emsco.models.rows import FitOptions, SplitData

N_INPUTS = 16
CLASSES = pytest.mark.parametrize("n_classes", [2, 3, 5])


def fitter_of(n_rows, n_classes, seed=0, n_inputs=N_INPUTS):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(n_rows, n_inputs)), rng.integers(0, n_classes, n_rows)
    rows, weights = np.arange(n_rows), rng.uniform(0.1, 3, n_rows)
    data = SplitData(X, labels.astype(np.uint8), rows, rows[:0], n_classes, weights)
    return LogisticFitter(data, FitOptions(rows[:0]))


def opened(fitter, size, n_models=3, curved=True, seed=1):
    """Fits at random weights."""
    rng, columns = np.random.default_rng(seed), np.zeros((n_models, size), dtype=np.int64)
    for line in columns:
        line[1:] = 1 + np.sort(rng.choice(N_INPUTS, size - 1, replace=False))
    fits = fitter._open(frozen(columns)[0])
    np.asarray(fits.coefs)[:] = rng.normal(size=np.shape(fits.coefs))
    np.asarray(fits.curved)[:] = curved
    return fits


def summed(fitter, fits, live=(0, 1, 2), rows=None):
    work = fitter._work(np.shape(fits.columns)[1])
    work[:] = np.nan
    logistic.sum_up(rows or fitter._rows, fits, np.array(live), work)
    return np.asarray(fits.gradient), np.asarray(fits.metric)


def plain_sums(fitter, fits, m):
    """Gradient by output, and Hessian by pairs of outputs, (n_outputs, size, n_outputs, size)."""
    x = np.asarray(fitter._rows.columns)[np.asarray(fits.columns)[m]]
    coefs = np.asarray(fits.coefs)[m]
    n_outputs, labels = len(coefs), np.asarray(fitter._rows.labels)
    logits = coefs @ x if n_outputs > 1 else np.vstack([np.zeros(x.shape[1]), coefs @ x])
    p, weights = softmax(logits, axis=0)[-n_outputs:], np.asarray(fitter._rows.weights)
    own = np.arange(max(2, n_outputs))[-n_outputs:, None]
    gradient = (weights * (p - (labels == own))) @ x.T
    between = weights * (p[:, None] * (np.eye(n_outputs)[:, :, None] - p))
    return gradient, np.einsum("klr,ir,jr->kilj", between, x, x)


@CLASSES
@pytest.mark.parametrize("n_rows", [1, 15, 255, 256, 257, 513])
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_sums_equal_the_plain_ones(n_rows, n_classes, size):
    fitter = fitter_of(n_rows, n_classes)
    fits = opened(fitter, size)
    gradient, metric = summed(fitter, fits, live=(0, 2))
    assert not gradient[1].any()
    for m in (0, 2):
        expected, hessian = plain_sums(fitter, fits, m)
        np.testing.assert_allclose(gradient[m], expected, atol=1e-11)
        n_outputs = len(expected)
        found = metric[m, 0].reshape(hessian.shape)
        for k in range(n_outputs):
            for other in range(k + 1):
                pair = np.tril(found[k, :, other])
                np.testing.assert_allclose(pair, np.tril(hessian[k, :, other]), atol=1e-11)


def test_a_model_that_is_not_curved_keeps_its_metric():
    fitter = fitter_of(300, 2)
    fits = opened(fitter, 4, curved=False)
    assert not summed(fitter, fits)[1].any()


@CLASSES
def test_a_model_adds_the_same_bits_alone_as_among_others(n_classes):
    fitter = fitter_of(700, n_classes)
    together, alone = opened(fitter, 6), opened(fitter, 6)
    summed(fitter, together)
    for m in (2, 0, 1):
        summed(fitter, alone, live=(m,))
    assert np.asarray(together.gradient).tobytes() == np.asarray(alone.gradient).tobytes()
    assert np.asarray(together.metric).tobytes() == np.asarray(alone.metric).tobytes()


@CLASSES
def test_a_probability_is_accurate_and_absurd_logits_stay_finite(n_classes):
    fitter = fitter_of(1, n_classes, n_inputs=N_INPUTS)
    logits = np.r_[np.linspace(-700, 40, 2001), -1e30, 1e30]
    fits = fitter._open(np.zeros((len(logits), 1), dtype=np.int64))
    np.asarray(fits.coefs)[:, -1, 0] = logits
    labels = np.zeros(1, dtype=np.uint8)
    rows = logistic.Rows(np.ones((1, 1)), labels, np.ones(1))
    gradient, _ = summed(fitter, fits, np.arange(len(logits)), rows)
    others = np.log(1 if n_classes == 2 else n_classes - 1)
    small = logits < 700
    exact = np.exp(-np.logaddexp(0, others - np.maximum(logits[small], -700)))
    np.testing.assert_allclose(gradient[small, -1, 0], exact, rtol=4e-13)
    assert gradient[-1, -1, 0] == 1


@CLASSES
def test_a_step_from_a_hessian_of_its_own_is_newtons(n_classes):
    fitter = fitter_of(400, n_classes)
    fits = opened(fitter, 4, n_models=1)
    before = np.array(fits.coefs)
    expected, hessian = plain_sums(fitter, fits, 0)
    expected[:, 1:] += before[0, :, 1:]
    n = expected.size
    ridge = np.diag(np.tile([0.0, 1, 1, 1], n // 4))
    step = -np.linalg.pinv(hessian.reshape(n, n) + ridge) @ expected.ravel()
    np.asarray(fits.slope)[:] = -np.inf
    line = np.empty((2, max(20, n)))
    logistic.advance(fitter._rows, 1.0, 1e-9, fits, np.zeros(1, np.int64), 1, fitter._work(4), line)
    moved = (np.asarray(fits.coefs) - before).ravel()
    common = np.zeros(n) if n == 4 else np.tile(moved.reshape(-1, 4).mean(axis=0), n // 4)
    common = common - (0 if n == 4 else np.tile(step.reshape(-1, 4).mean(axis=0), n // 4))
    np.testing.assert_allclose(moved - common, step, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernels_give_the_same_bits_compiled_and_not(n_classes, monkeypatch):
    subsets = np.random.default_rng(0).random((4, 3)) < 0.7
    subsets[:, 0] = True
    compiled = fitter_of(40, n_classes, n_inputs=3).fit(subsets)
    twins = plain("logistic")
    for name in ("Fits", "Rows", "advance", "begin", "sum_up"):
        monkeypatch.setattr(f"emsco.models.logistic.{name}", getattr(twins, name))
    again = fitter_of(40, n_classes, n_inputs=3).fit(subsets)
    np.testing.assert_allclose(compiled, again, rtol=1e-12, atol=1e-14)
