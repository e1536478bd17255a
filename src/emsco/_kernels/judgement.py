"""Rows through models: bits of scored rows, decisions of new rows.

Every product and sum of a logit and a confidence is rounded on its own, in one fixed order, so
that a row is decided alike in whatever batch or SIMD lane it lands.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import FloatArray, IntArray, LabelArray, SingleArray, WordArray
from emsco._kernels.bits import double_from_bits
from emsco._kernels.compiler import helper, kernel

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10
_LARGEST = 700.0
_ROWS = 128  # decided side by side, so that they share SIMD lanes and stay in cache


@helper()
def _exp_of_minus(x):
    """e⁻ˣ for x ≥ 0 to the last bit or two; every product and sum is rounded on its own.

    Rows must be decided alike in whatever SIMD lane they land, so this one is not
    compiled with fast-math.
    """
    t = -min(x, _LARGEST)
    k = np.floor(t * _LOG2_E + 0.5)
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
    return p * double_from_bits((np.int64(k) + 1023) << 52)


@helper()
def _confidence(logit):
    return 1.0 / (1.0 + _exp_of_minus(abs(logit)))


@kernel()
def confidence_of(
    logit: float,
) -> float:
    """Probability of the likelier of two classes."""
    confidence: float = _confidence(logit)
    return confidence


@helper()
def _logit_bounds(min_confidence):
    """Sizes of a logit below which no row is sure, and above which every row is.

    Between the two, which are further apart than any rounding, only the confidence itself tells.
    """
    if min_confidence <= 0.5:  # which the likelier of two classes always has
        return -1.0, -1.0
    doubt = 1.0 - min_confidence
    if doubt < 1e-12:
        return 0.0, np.inf
    middle = np.log(min_confidence / doubt)
    margin = 1e-9 + 1e-13 / (min_confidence * doubt)
    return middle - margin, middle + margin


@helper()
def _find_exits(logits, first, end, n, thresholds, bounds, stage, last):
    """First stage at which each row is sure, and its logit at the last stage that saw it.

    `thresholds` is stages × classes, and `bounds` has two numbers for each; see `_logit_bounds`.
    """
    for r in range(n):
        for j in range(first, end):
            last[r] = logits[j, r]
            size, k = abs(last[r]), 1 if last[r] > 0.0 else 0
            if size > bounds[j, k, 1] or (
                not size < bounds[j, k, 0] and _confidence(size) >= thresholds[j, k]
            ):
                stage[r] = j
                break


@helper()
def find_likeliest(logits, n, top, winner, confidence):
    """Likeliest class of each row and its probability; equal ones: the first class wins.

    `logits` is outputs × rows: one output is the logit of the second of two classes. More are
    left as multiples of the probabilities, 1 for the likeliest; `top` is scratch.
    """
    if len(logits) == 1:
        for r in range(n):
            winner[r] = 1 if logits[0, r] > 0.0 else 0
            confidence[r] = _confidence(logits[0, r])
        return
    for r in range(n):
        top[r] = logits[0, r]
    for k in range(1, len(logits)):
        for r in range(n):
            top[r] = max(top[r], logits[k, r])
    for r in range(n):
        winner[r] = -1
        confidence[r] = 0.0
    for k in range(len(logits)):
        for r in range(n):
            logits[k, r] = _exp_of_minus(top[r] - logits[k, r])
        for r in range(n):
            confidence[r] += logits[k, r]
            winner[r] = k if winner[r] < 0 and logits[k, r] == 1.0 else winner[r]
    for r in range(n):
        confidence[r] = 1.0 / confidence[r]


@helper()
def fill_probabilities(logits, likeliest, confidence, probabilities):
    """Probabilities of all classes, rows × classes, from what `find_likeliest` leaves behind."""
    for r in range(len(probabilities)):
        if len(logits) == 1:
            probabilities[r, likeliest[r]] = confidence[r]
            probabilities[r, 1 - likeliest[r]] = 1.0 - confidence[r]
        else:
            for k in range(len(logits)):
                probabilities[r, k] = logits[k, r] * confidence[r]


@kernel()
def judge_rows(
    rows: FloatArray,
    labels: LabelArray,
    columns: IntArray,
    sizes: IntArray,
    coefs: FloatArray,
    slots: IntArray,
    thresholds: FloatArray,
    valid: WordArray,
    accepted: WordArray,
    correct: WordArray,
    work: FloatArray,
    winner: IntArray,
) -> None:
    """Mark the scored rows that each model accepts, and the correct ones among them, as bits.

    `coefs` is models × outputs × columns; two classes have one output. A row is accepted where the
    probability of the likeliest class reaches that class's threshold, and where its bit in `valid`
    says that it is one. `work` has a line for each output and two more, for the 64 rows of a word,
    as `winner` has one.
    """
    n_rows, n_outputs = rows.shape[1], coefs.shape[1]
    logits, top, confidence = work[:n_outputs], work[n_outputs], work[n_outputs + 1]
    for m in range(len(sizes)):
        for start in range(0, n_rows, 64):
            n = min(64, n_rows - start)
            for k in range(n_outputs):
                for r in range(n):
                    logits[k, r] = coefs[m, k, 0]
                for i in range(1, sizes[m]):
                    b, x = coefs[m, k, i], rows[columns[m, i], start : start + n]
                    for r in range(n):
                        logits[k, r] += b * x[r]
            find_likeliest(logits, n, top, winner, confidence)
            accepts, corrects = np.uint64(0), np.uint64(0)
            for r in range(n):
                sure = np.uint64(confidence[r] >= thresholds[winner[r]])
                is_correct = np.uint64(winner[r] == labels[start + r])
                accepts |= sure << np.uint64(r)
                corrects |= (sure & is_correct) << np.uint64(r)
            accepted[slots[m], start // 64] = accepts & valid[start // 64]
            correct[slots[m], start // 64] = corrects & valid[start // 64]


@helper()
def _count_unsure(logits, n, sure, surest):
    """Rows whose logits, these and those before, were never larger in size than `sure`."""
    for r in range(n):
        surest[r] = max(surest[r], abs(logits[r]))
    n_unsure = 0
    for r in range(n):
        n_unsure += 1 if not surest[r] > sure else 0
    return n_unsure


@kernel()
def decide_rows(
    X: FloatArray,
    mean: FloatArray,
    inverse_scale: FloatArray,
    columns: IntArray,
    sizes: IntArray,
    coefs: FloatArray,
    thresholds: FloatArray,
    first: int,
    end: int,
    stage: IntArray,
    winner: IntArray,
    confidence: FloatArray,
) -> None:
    """Send each row of X through stages `first` to `end` - 1, in the order `judge_rows` adds up.

    `thresholds` is stages × classes. `stage` is the exit stage from 0, or the number of stages for
    a row that does not leave; `winner` and `confidence` are those of the last stage that saw the
    row.
    """
    n_rows, n_features = X.shape
    n_stages = len(sizes)
    length = min(n_rows, _ROWS)
    values = np.empty((n_features, length))  # standardised, a feature's rows side by side
    ready = np.empty(n_features, dtype=np.bool_)
    logits = np.empty((n_stages, length))
    last, surest = np.empty(length), np.empty(length)
    bounds = np.empty((n_stages, 2, 2))
    for j in range(first, end):
        for k in range(2):
            bounds[j, k, 0], bounds[j, k, 1] = _logit_bounds(thresholds[j, k])
    for start in range(0, n_rows, _ROWS):
        n = min(_ROWS, n_rows - start)
        rows = X[start : start + n]
        ready[:] = False
        surest[:] = -1.0
        n_left, j, sure = n, first, -1.0
        while n_left > 0 and j < end:  # all rows, until none is left: cheaper than picking some
            for r in range(n):
                logits[j, r] = coefs[j, 0]
            for i in range(1, sizes[j]):
                c, b = columns[j, i] - 1, coefs[j, i]
                if not ready[c]:
                    ready[c] = True
                    middle, scale = mean[c], inverse_scale[c]
                    for r in range(n):
                        values[c, r] = (rows[r, c] - middle) * scale
                for r in range(n):
                    logits[j, r] += b * values[c, r]
            sure = max(sure, bounds[j, 0, 1], bounds[j, 1, 1])  # of any stage so far
            n_left = _count_unsure(logits[j], n, sure, surest)
            j += 1
        left = stage[start : start + n]
        left[:] = n_stages
        _find_exits(logits, first, j, n, thresholds, bounds, left, last)
        for r in range(n):
            winner[start + r] = 1 if last[r] > 0.0 else 0
        for r in range(n):  # apart and in place, so that it is done in SIMD lanes
            last[r] = _confidence(last[r])
        for r in range(n):  # by hand: Numba compiles a copy of slices with a large error message
            confidence[start + r] = last[r]


@helper()
def _fill_logits(rows, mean, inverse_scale, columns, size, coefs, ready, values, logits):
    """Logits of one stage for a few rows, outputs × rows, in the order `judge_rows` adds up.

    `values` keeps the columns that are standardised already, as `ready` says.
    """
    n = len(rows)
    for i in range(1, size):
        c = columns[i] - 1
        if not ready[c]:
            ready[c] = True
            for r in range(n):
                values[c, r] = (rows[r, c] - mean[c]) * inverse_scale[c]
    for k in range(len(logits)):
        for r in range(n):
            logits[k, r] = coefs[k, 0]
        for i in range(1, size):
            b, x = coefs[k, i], values[columns[i] - 1]
            for r in range(n):
                logits[k, r] += b * x[r]


@kernel()
def decide_rows_many(
    X: FloatArray,
    mean: FloatArray,
    inverse_scale: FloatArray,
    columns: IntArray,
    sizes: IntArray,
    coefs: FloatArray,
    thresholds: FloatArray,
    first: int,
    end: int,
    stage: IntArray,
    winner: IntArray,
    confidence: FloatArray,
) -> None:
    """Send each row of X through stages `first` to `end` - 1, for any number of classes.

    For two classes it gives the bits of `decide_rows`, in up to twice the time.

    The inputs and outputs are those of `decide_rows`, but `coefs` is stages × classes × columns.
    """
    n_rows, n_inputs = X.shape
    n_outputs, length = coefs.shape[1], min(n_rows, _ROWS)
    values = np.empty((n_inputs, length))
    ready = np.empty(n_inputs, dtype=np.bool_)
    logits, top, surety = np.empty((n_outputs, length)), np.empty(length), np.empty(length)
    likeliest = np.empty(length, dtype=np.int64)
    stage[:], winner[:], confidence[:] = len(sizes), 0, np.nan
    for start in range(0, n_rows, _ROWS):
        rows = X[start : start + _ROWS]
        ready[:] = False
        n_left, j = len(rows), first
        while n_left > 0 and j < end:
            size = sizes[j]
            _fill_logits(
                rows, mean, inverse_scale, columns[j], size, coefs[j], ready, values, logits
            )
            find_likeliest(logits, len(rows), top, likeliest, surety)
            for r in range(start, start + len(rows)):
                if stage[r] < len(sizes):
                    continue
                winner[r], confidence[r] = likeliest[r - start], surety[r - start]
                if confidence[r] >= thresholds[j, winner[r]]:
                    stage[r] = j
                    n_left -= 1
            j += 1


@kernel()
def probabilities_of(
    X: FloatArray,
    mean: FloatArray,
    inverse_scale: FloatArray,
    columns: IntArray,
    sizes: IntArray,
    coefs: FloatArray,
    stage: int,
) -> FloatArray:
    """Probabilities of all classes, rows × classes, at one stage of `decide_rows_many`.

    The largest is the confidence that the row is decided with, to the last bit.
    """
    n_rows, n_inputs = X.shape
    n_outputs, length = coefs.shape[1], min(n_rows, _ROWS)
    column, size, coef = columns[stage], sizes[stage], coefs[stage]
    values = np.empty((n_inputs, length))
    ready = np.empty(n_inputs, dtype=np.bool_)
    logits, top, surety = np.empty((n_outputs, length)), np.empty(length), np.empty(length)
    likeliest = np.empty(length, dtype=np.int64)
    probabilities = np.empty((n_rows, max(2, n_outputs)))
    for start in range(0, n_rows, _ROWS):
        rows = X[start : start + _ROWS]
        ready[:] = False
        _fill_logits(rows, mean, inverse_scale, column, size, coef, ready, values, logits)
        find_likeliest(logits, len(rows), top, likeliest, surety)
        fill_probabilities(logits, likeliest, surety, probabilities[start : start + len(rows)])
    return probabilities


@kernel()
def guess_margins(
    margins: SingleArray,
    place: IntArray,
    subsets: IntArray,
    n_features: int,
    max_squares: int,
    guessed: SingleArray,
    squares: IntArray,
) -> None:
    """Mean of m(i) + m(j) - m(i, j) over up to `max_squares` squares of neighbours of a subset.

    `place` has the line of `margins` of each subset, -1 if it has none. `squares` counts.
    """
    n_rows = margins.shape[1]
    for k in range(len(subsets)):
        subset = subsets[k]
        for i in range(n_features):
            one = place[subset ^ (1 << i)]
            if one < 0 or squares[k] == max_squares:
                continue
            for j in range(i):
                other, both = place[subset ^ (1 << j)], place[subset ^ (1 << i) ^ (1 << j)]
                if other < 0 or both < 0 or squares[k] == max_squares:
                    continue
                squares[k] += 1
                for r in range(n_rows):
                    guessed[k, r] += margins[one, r] + margins[other, r] - margins[both, r]
        for r in range(n_rows if squares[k] else 0):
            guessed[k, r] /= np.float32(squares[k])
