"""Rows through classifiers: bits of held-out rows, counts of designs, decisions of new rows.

Every product and sum of a logit and a confidence is rounded on its own, in one fixed order, so
that a row is decided alike in whatever batch or SIMD lane it lands.
"""

import numpy as np

from emsco.kernels.bits import double_from_bits, popcount
from emsco.kernels.compiling import helper, kernel

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
def count_unusable(values, largest):
    """How many values are NaN or larger than `largest` in size."""
    n_unusable = 0
    for i in range(len(values)):
        n_unusable += not abs(values[i]) <= largest
    return n_unusable


@kernel()
def confidence_of(logit):
    """Probability of the likelier class."""
    return _confidence(logit)


@helper()
def _logit_bounds(min_confidence):
    """Sizes of a logit below which no row is sure, and above which every row is.

    Between the two, which are further apart than any rounding, only the confidence itself tells.
    """
    doubt = 1.0 - min_confidence
    if doubt < 1e-12:
        return 0.0, np.inf
    middle = np.log(min_confidence / doubt)
    margin = 1e-9 + 1e-13 / (min_confidence * doubt)
    return middle - margin, middle + margin


@kernel()
def judge_rows(
    rows, labels, columns, sizes, coefs, slots, min_confidence, accepted, correct, logit, sure
):
    """Bits of the held-out rows that each model accepts, and of those that it also gets right.

    `logit` and `sure` are scratch for the 64 rows of a word.
    """
    n_rows = rows.shape[1]
    for m in range(len(sizes)):
        for start in range(0, n_rows, 64):
            n = min(64, n_rows - start)
            for r in range(n):
                logit[r] = coefs[m, 0]
            for i in range(1, sizes[m]):
                b, x = coefs[m, i], rows[columns[m, i], start : start + n]
                for r in range(n):
                    logit[r] += b * x[r]
            for r in range(n):
                sure[r] = _confidence(logit[r]) >= min_confidence
            accepts, corrects = np.uint64(0), np.uint64(0)
            for r in range(n):
                right = np.uint64((logit[r] > 0.0) == (labels[start + r] == 1))
                accepts |= sure[r] << np.uint64(r)
                corrects |= (sure[r] & right) << np.uint64(r)
            accepted[slots[m], start // 64] = accepts
            correct[slots[m], start // 64] = corrects


@kernel()
def count_exits(accepted, correct, chains, n_stages, exits, hits, undecided):
    """Add, per design and stage, the rows that leave there and those that leave correctly.

    `undecided` is scratch for one bit per row.
    """
    n_words = accepted.shape[1]
    for d in range(chains.shape[0]):
        for w in range(n_words):
            undecided[w] = ~np.uint64(0)
        for j in range(n_stages[d]):
            leaving = accepted[chains[d, j]]
            right = correct[chains[d, j]]
            n_leaving, n_right = np.uint64(0), np.uint64(0)
            for w in range(n_words):
                n_leaving += popcount(undecided[w] & leaving[w])
                n_right += popcount(undecided[w] & right[w])
                undecided[w] &= ~leaving[w]
            exits[d, j] += np.int64(n_leaving)
            hits[d, j] += np.int64(n_right)


@kernel()
def decide_rows(
    X,
    mean,
    inverse_scale,
    columns,
    sizes,
    coefs,
    min_confidence,
    first,
    end,
    stage,
    winner,
    confidence,
):
    """Send each row of X through stages `first` to `end` - 1, in the order `judge_rows` adds up.

    `stage` is the exit stage from 0, or the number of stages for a row that does not leave;
    `winner` and `confidence` are those of the last stage that saw the row.
    """
    n_rows, n_features = X.shape
    n_stages = len(sizes)
    length = min(n_rows, _ROWS)
    values = np.empty((n_features, length))  # standardised, a feature's rows side by side
    ready = np.empty(n_features, dtype=np.bool_)
    logits = np.empty((n_stages, length))
    last, surest = np.empty(length), np.empty(length)
    unsure, sure = _logit_bounds(min_confidence)
    for start in range(0, n_rows, _ROWS):
        n = min(_ROWS, n_rows - start)
        rows = X[start : start + n]
        ready[:] = False
        surest[:] = -1.0
        n_left, j = n, first
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
            for r in range(n):
                surest[r] = max(surest[r], abs(logits[j, r]))
            n_left = 0
            for r in range(n):
                n_left += 1 if not surest[r] > sure else 0
            j += 1
        n_judged = j
        for r in range(n):
            stage[start + r] = n_stages
            for j in range(first, n_judged):
                last[r] = logits[j, r]
                size = abs(last[r])
                if size > sure or (not size < unsure and _confidence(size) >= min_confidence):
                    stage[start + r] = j
                    break
        for r in range(n):
            winner[start + r] = 1 if last[r] > 0.0 else 0
        for r in range(n):  # apart and in place, so that it is done in SIMD lanes
            last[r] = _confidence(last[r])
        confidence[start : start + n] = last[:n]
