"""Rows through models: answers about scored rows, decisions of new rows.

Every product and sum of a logit and a confidence is rounded on its own, in one fixed order, so
that a row is decided alike in whatever batch or SIMD lane it lands.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.emsco._kernels.arrays import (
    Floats1,
    Floats2,
    Floats3,
    Ints1,
    Ints2,
    OutBytes2,
    OutFloats1,
    OutFloats2,
    OutInts1,
)
from cython.cimports.emsco._kernels.bits import power_of_two
from cython.cimports.libc.math import floor, log

from emsco._base.typing import FloatArray

_LOG2_E = cython.declare(cython.double, 1.4426950408889634)
_LN2_HIGH = cython.declare(cython.double, 0.6931471803691238)
_LN2_LOW = cython.declare(cython.double, 1.9082149292705877e-10)
_LARGEST = cython.declare(cython.double, 700.0)
_INFINITY = cython.declare(cython.double, float("inf"))
_NAN = cython.declare(cython.double, float("nan"))
# Rows decided side by side, so that they share SIMD lanes and stay in cache.
_ROWS = cython.declare(cython.Py_ssize_t, 128)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _exp_of_minus(x: cython.double) -> cython.double:
    """e⁻ˣ for x ≥ 0 to the last bit or two; every product and sum is rounded on its own."""
    t = -min(x, _LARGEST)
    k = floor(t * _LOG2_E + 0.5)
    r = (t - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1 / 479001600.0
    p = p * r + 1 / 39916800.0
    p = p * r + 1 / 3628800.0
    p = p * r + 1 / 362880.0
    p = p * r + 1 / 40320.0
    p = p * r + 1 / 5040.0
    p = p * r + 1 / 720.0
    p = p * r + 1 / 120.0
    p = p * r + 1 / 24.0
    p = p * r + 1 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * power_of_two(k)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _confidence(logit: cython.double) -> cython.double:
    return 1.0 / (1.0 + _exp_of_minus(abs(logit)))


def confidence_of(logit: cython.double) -> float:
    """Probability of the likelier of two classes."""
    return _confidence(logit)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_bounds(
    thresholds: Floats2, first: cython.Py_ssize_t, end: cython.Py_ssize_t, bounds: OutFloats2
) -> cython.void:
    """Sizes of a logit below which no row is sure, and above which every row is.

    Between the two, which are further apart than any rounding, only the confidence itself tells.
    `bounds` has both for each class of two, one class after the other, and a line for each stage.
    """
    for j in range(first, end):
        for k in range(2):
            least = thresholds[j, k]
            doubt = 1.0 - least
            if least <= 0.5:  # which the likelier of two classes always has
                bounds[j, 2 * k] = -1.0
                bounds[j, 2 * k + 1] = -1.0
            elif doubt < 1e-12:
                bounds[j, 2 * k] = 0.0
                bounds[j, 2 * k + 1] = _INFINITY
            else:
                middle = log(least / doubt)
                margin = 1e-9 + 1e-13 / (least * doubt)
                bounds[j, 2 * k] = middle - margin
                bounds[j, 2 * k + 1] = middle + margin


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_exits(
    logits: OutFloats2,
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    thresholds: Floats2,
    bounds: OutFloats2,
    stage: OutInts1,
    last: OutFloats1,
) -> cython.void:
    """First stage at which each row is sure, and its logit at the last stage that saw it.

    `thresholds` is stages × classes; for `bounds` see `_fill_bounds`. `stage` has the rows from
    `start` on.
    """
    for r in range(n):
        for j in range(first, end):
            last[r] = logits[j, r]
            size, k = abs(last[r]), 1 if last[r] > 0.0 else 0
            if size > bounds[j, 2 * k + 1] or (
                not size < bounds[j, 2 * k] and _confidence(size) >= thresholds[j, k]
            ):
                stage[start + r] = j
                break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_likeliest(
    logits: OutFloats2,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    top: OutFloats1,
    winner: OutInts1,
    confidence: OutFloats1,
) -> cython.void:
    """Likeliest class of each of `n` rows from `start` on and its probability, both from `start`.

    `logits` is outputs × rows: one output is the logit of the second of two classes. More are
    left as multiples of the probabilities, 1 for the likeliest, and of equal ones the first class
    wins. Where NaN or infinity leaves none likeliest, `winner` is -1 and the probability NaN.
    `top` is scratch.
    """
    if logits.shape[0] == 1:
        for r in range(start, start + n):
            winner[r] = 1 if logits[0, r] > 0.0 else 0
        for r in range(start, start + n):
            confidence[r] = _confidence(logits[0, r])
        return
    for r in range(n):
        top[r] = logits[0, start + r]
    for k in range(1, logits.shape[0]):
        for r in range(n):
            top[r] = max(top[r], logits[k, start + r])
    for r in range(start, start + n):
        winner[r] = -1
        confidence[r] = 0.0
    for k in range(logits.shape[0]):
        for r in range(n):
            logits[k, start + r] = _exp_of_minus(top[r] - logits[k, start + r])
        for r in range(start, start + n):
            confidence[r] += logits[k, r]
            winner[r] = k if winner[r] < 0 and logits[k, r] == 1.0 else winner[r]
    for r in range(start, start + n):
        confidence[r] = 1.0 / confidence[r]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill_probabilities(
    logits: OutFloats2,
    n: cython.Py_ssize_t,
    likeliest: OutInts1,
    confidence: OutFloats1,
    start: cython.Py_ssize_t,
    probabilities: OutFloats2,
) -> cython.void:
    """Probabilities of all classes, rows × classes, from what `find_likeliest` leaves behind.

    They are those of the first `n` rows, which are filled in from `start` on.
    """
    for r in range(n):
        if logits.shape[0] == 1:
            probabilities[start + r, likeliest[r]] = confidence[r]
            probabilities[start + r, 1 - likeliest[r]] = 1.0 - confidence[r]
        else:
            for k in range(logits.shape[0]):
                probabilities[start + r, k] = logits[k, r] * confidence[r]


def answer_rows(
    rows: Floats2,
    columns: Ints2,
    sizes: Ints1,
    coefs: Floats3,
    begin: cython.Py_ssize_t,
    winner: OutBytes2,
    confidence: OutFloats2,
    work: OutFloats2,
    likeliest: OutInts1,
) -> None:
    """Likeliest class of each row by each model, and its probability, from column `begin` on.

    `rows` is inputs × rows and `coefs` models × outputs × columns; two classes have one output.
    Where logits are NaN, so is the probability. `work` has a line for each output and two more, for
    64 rows, as `likeliest` has one.
    """
    n_rows, n_outputs = rows.shape[1], coefs.shape[1]
    logits: OutFloats2 = work[:n_outputs]
    top: OutFloats1 = work[n_outputs]
    sure: OutFloats1 = work[n_outputs + 1]
    with cython.nogil:
        for m in range(sizes.shape[0]):
            for start in range(0, n_rows, 64):
                n = min(64, n_rows - start)
                for k in range(n_outputs):
                    for r in range(n):
                        logits[k, r] = coefs[m, k, 0]
                    for i in range(1, sizes[m]):
                        c, b = columns[m, i], coefs[m, k, i]
                        for r in range(n):
                            logits[k, r] += b * rows[c, start + r]
                find_likeliest(logits, 0, n, top, likeliest, sure)
                for r in range(n):
                    winner[m, begin + start + r] = max(likeliest[r], 0)
                    confidence[m, begin + start + r] = sure[r]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_unsure(
    logits: OutFloats2,
    j: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    sure: cython.double,
    surest: OutFloats1,
) -> cython.Py_ssize_t:
    """Rows whose logits, at stage j and those before, were never larger in size than `sure`."""
    for r in range(n):
        surest[r] = max(surest[r], abs(logits[j, r]))
    n_unsure = 0
    for r in range(n):
        n_unsure += 1 if not surest[r] > sure else 0
    return n_unsure


def decide_rows(
    X: Floats2,
    mean: Floats1,
    inverse_scale: Floats1,
    columns: Ints2,
    sizes: Ints1,
    coefs: Floats2,
    thresholds: Floats2,
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    stage: OutInts1,
    winner: OutInts1,
    confidence: OutFloats1,
) -> None:
    """Send each row of X through stages `first` to `end` - 1, in the order `answer_rows` adds up.

    `thresholds` is stages × classes. `stage` is the exit stage from 0, or the number of stages for
    a row that does not leave; `winner` and `confidence` are those of the last stage that saw the
    row.
    """
    n_rows, n_inputs, n_stages = X.shape[0], X.shape[1], sizes.shape[0]
    length = min(n_rows, _ROWS)
    # All scratch at once: a decision of one row waits for little else. A line has a place for each
    # row and one that says whether it is filled, or four bounds.
    work: OutFloats2 = np.empty((n_inputs + 2 * n_stages + 2, max(length + 1, 4)))
    values: OutFloats2 = work[:n_inputs]  # standardised, an input's rows side by side
    logits: OutFloats2 = work[n_inputs : n_inputs + n_stages]
    bounds: OutFloats2 = work[n_inputs + n_stages : n_inputs + 2 * n_stages]
    last: OutFloats1 = work[n_inputs + 2 * n_stages]
    surest: OutFloats1 = work[n_inputs + 2 * n_stages + 1]
    sure: cython.double
    with cython.nogil:
        _fill_bounds(thresholds, first, end, bounds)
        for block in range((n_rows + _ROWS - 1) // _ROWS):
            start = _ROWS * block
            n = min(_ROWS, n_rows - start)
            for c in range(n_inputs):
                values[c, length] = 0.0  # not there yet
            for r in range(n):
                surest[r] = -1.0
            n_left, j, sure = n, first, -1.0
            while n_left > 0 and j < end:  # all rows, until none is left: cheaper than picking some
                for r in range(n):
                    logits[j, r] = coefs[j, 0]
                for i in range(1, sizes[j]):
                    c, b = columns[j, i] - 1, coefs[j, i]
                    if values[c, length] == 0.0:
                        values[c, length] = 1.0
                        middle, scale = mean[c], inverse_scale[c]
                        for r in range(n):
                            values[c, r] = (X[start + r, c] - middle) * scale
                    for r in range(n):
                        logits[j, r] += b * values[c, r]
                sure = max(sure, bounds[j, 1], bounds[j, 3])  # of any stage so far
                n_left = _count_unsure(logits, j, n, sure, surest)
                j += 1
            for r in range(start, start + n):
                stage[r] = n_stages
            _find_exits(logits, first, j, start, n, thresholds, bounds, stage, last)
            for r in range(n):
                winner[start + r] = 1 if last[r] > 0.0 else 0
            for r in range(n):  # apart, so that it is done in SIMD lanes
                confidence[start + r] = _confidence(last[r])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_logits(
    X: Floats2,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    mean: Floats1,
    inverse_scale: Floats1,
    columns: Ints2,
    j: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    coefs: Floats3,
    values: OutFloats2,
    logits: OutFloats2,
) -> cython.void:
    """Logits of stage j for a few rows, outputs × rows, in the order `answer_rows` adds up.

    `values` keeps the columns that are standardised already: their last place is 1, and 0 if not.
    """
    ready = values.shape[1] - 1
    for i in range(1, size):
        c = columns[j, i] - 1
        if values[c, ready] == 0.0:
            values[c, ready] = 1.0
            for r in range(n):
                values[c, r] = (X[start + r, c] - mean[c]) * inverse_scale[c]
    for k in range(logits.shape[0]):
        for r in range(n):
            logits[k, r] = coefs[j, k, 0]
        for i in range(1, size):
            c, b = columns[j, i] - 1, coefs[j, k, i]
            for r in range(n):
                logits[k, r] += b * values[c, r]


def decide_rows_many(
    X: Floats2,
    mean: Floats1,
    inverse_scale: Floats1,
    columns: Ints2,
    sizes: Ints1,
    coefs: Floats3,
    thresholds: Floats2,
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    stage: OutInts1,
    winner: OutInts1,
    confidence: OutFloats1,
) -> None:
    """Send each row of X through stages `first` to `end` - 1, for any number of classes.

    For two classes it gives the bits of `decide_rows`, in up to twice the time.

    The inputs and outputs are those of `decide_rows`, but `coefs` is stages × classes × columns.
    """
    n_rows, n_inputs, n_stages = X.shape[0], X.shape[1], sizes.shape[0]
    n_outputs, length = coefs.shape[1], min(n_rows, _ROWS)
    work: OutFloats2 = np.empty((n_inputs + n_outputs + 2, length + 1))
    values: OutFloats2 = work[:n_inputs]
    logits: OutFloats2 = work[n_inputs : n_inputs + n_outputs]
    top: OutFloats1 = work[n_inputs + n_outputs]
    surety: OutFloats1 = work[n_inputs + n_outputs + 1]
    likeliest: OutInts1 = np.empty(length, dtype=np.int64)
    with cython.nogil:
        for r in range(n_rows):
            stage[r] = n_stages
            winner[r] = 0
            confidence[r] = _NAN
        for block in range((n_rows + _ROWS - 1) // _ROWS):
            start = _ROWS * block
            n = min(_ROWS, n_rows - start)
            for c in range(n_inputs):
                values[c, length] = 0.0
            n_left, j = n, first
            while n_left > 0 and j < end:
                _fill_logits(
                    X,
                    start,
                    n,
                    mean,
                    inverse_scale,
                    columns,
                    j,
                    sizes[j],
                    coefs,
                    values,
                    logits,
                )
                find_likeliest(logits, 0, n, top, likeliest, surety)
                for r in range(n):
                    if stage[start + r] < n_stages:
                        continue
                    winner[start + r] = likeliest[r]
                    confidence[start + r] = surety[r]
                    if surety[r] >= thresholds[j, max(likeliest[r], 0)]:  # -1 is of NaN
                        stage[start + r] = j
                        n_left -= 1
                j += 1


def probabilities_of(
    X: Floats2,
    mean: Floats1,
    inverse_scale: Floats1,
    columns: Ints2,
    sizes: Ints1,
    coefs: Floats3,
    stage: cython.Py_ssize_t,
) -> FloatArray:
    """Probabilities of all classes, rows × classes, at one stage of `decide_rows_many`.

    The largest is the confidence that the row is decided with, to the last bit.
    """
    n_rows, n_inputs, size = X.shape[0], X.shape[1], sizes[stage]
    n_outputs, length = coefs.shape[1], min(n_rows, _ROWS)
    work: OutFloats2 = np.empty((n_inputs + n_outputs + 2, length + 1))
    values: OutFloats2 = work[:n_inputs]
    logits: OutFloats2 = work[n_inputs : n_inputs + n_outputs]
    top: OutFloats1 = work[n_inputs + n_outputs]
    surety: OutFloats1 = work[n_inputs + n_outputs + 1]
    likeliest: OutInts1 = np.empty(length, dtype=np.int64)
    probabilities = np.empty((n_rows, max(2, n_outputs)))
    filled: OutFloats2 = probabilities
    with cython.nogil:
        for block in range((n_rows + _ROWS - 1) // _ROWS):
            start = _ROWS * block
            n = min(_ROWS, n_rows - start)
            for c in range(n_inputs):
                values[c, length] = 0.0
            _fill_logits(
                X, start, n, mean, inverse_scale, columns, stage, size, coefs, values, logits
            )
            find_likeliest(logits, 0, n, top, likeliest, surety)
            fill_probabilities(logits, n, likeliest, surety, start, filled)
    return probabilities
