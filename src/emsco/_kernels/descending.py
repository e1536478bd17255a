"""The objective of a soft tree of classifiers as a function of one node, with its gradient."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import FloatArray
from emsco._kernels.compiling import helper, kernel


@helper()
def _fill_norms(weights, reads, costs, penalty, squares, smoothing, roots, norms):
    """Penalised norms of all paths below, from the squares of other nodes and these weights."""
    for a in range(len(costs)):
        total = smoothing
        for t in range(len(weights)):
            total += reads[a, t] * weights[t] * weights[t]
        for side in range(2):
            for leaf in range(squares.shape[1]):
                root = np.sqrt(squares[side, leaf, a] + total)
                roots[side, leaf, a] = root
                norms[side, leaf] += penalty * costs[a] * root


@helper()
def _add_penalties(weights, reads, costs, penalty, sparsity, smoothing, roots, reached, gradient):
    """Add what both penalties pull at each weight; the value of the one on sizes."""
    for a in range(len(costs)):
        pull = 0.0
        for side in range(2):
            for leaf in range(roots.shape[1]):
                pull += reached[side, leaf] / roots[side, leaf, a]
        pull *= penalty * costs[a]
        for t in range(len(weights)):
            gradient[t] += pull * reads[a, t] * weights[t]
    value = 0.0
    for t in range(len(weights)):
        size = np.sqrt(weights[t] * weights[t] + smoothing)
        value += sparsity * size
        gradient[t] += sparsity * weights[t] / size
    return value


@kernel()
def block_terms(
    line: FloatArray,
    values: FloatArray,
    targets: FloatArray,
    reads: FloatArray,
    costs: FloatArray,
    penalty: float,
    sparsity: float,
    sharpness: float,
    smoothing: float,
    here: FloatArray,
    ends: FloatArray,
    errors: FloatArray,
    squares: FloatArray,
    roots: FloatArray,
    norms: FloatArray,
    reached: FloatArray,
    gradient: FloatArray,
) -> float:
    """Sum of the terms that depend on one node's line; their gradient goes to `gradient`.

    The arguments are those of `Block` in `emsco.baselines.soft`; `roots`, `norms` and `reached`
    are scratch, of the shapes of `squares` and twice of its first two axes. The last two and
    `gradient` come filled with 0.
    """
    n_learners = values.shape[1]
    weights = line[:n_learners]
    intercept, threshold = line[n_learners], line[n_learners + 1]
    _fill_norms(weights, reads, costs, penalty, squares, smoothing, roots, norms)
    value, slopes, turns = 0.0, 0.0, 0.0
    for i in range(len(targets)):
        score = intercept
        for t in range(n_learners):
            score += values[i, t] * weights[t]
        up = 1.0 / (1.0 + np.exp(sharpness * (threshold - score)))
        gain, below = errors[0, i] - errors[1, i], errors[1, i]
        for leaf in range(norms.shape[1]):
            lower = norms[1, leaf] * ends[1, leaf, i]
            gain += norms[0, leaf] * ends[0, leaf, i] - lower
            below += lower
            reached[0, leaf] += here[i] * up * ends[0, leaf, i]
            reached[1, leaf] += here[i] * (1.0 - up) * ends[1, leaf, i]
        missed = score - targets[i]
        value += here[i] * (missed * missed + below + up * gain)
        turn = sharpness * here[i] * up * (1.0 - up) * gain
        slope = 2.0 * here[i] * missed + turn
        turns += turn
        slopes += slope
        for t in range(n_learners):
            gradient[t] += slope * values[i, t]
    gradient[n_learners] = slopes
    gradient[n_learners + 1] = -turns
    total: float = value + _add_penalties(
        weights, reads, costs, penalty, sparsity, smoothing, roots, reached, gradient
    )
    return total
