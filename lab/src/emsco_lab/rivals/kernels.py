"""Regression trees, grown layer by layer over presorted columns, and the rows that walk them.

A tree is a heap: the children of node k are 2k + 1, for rows at or below its cut, and 2k + 2; a
leaf has the column -1.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, SmallIntArray
from emsco._kernels.compiler import helper, kernel

ROUNDING = 1e-12  # what is smaller than this share of a whole is taken for rounding


@kernel()
def grow_tree(
    rows: FloatArray,
    order: SmallIntArray,
    ordered: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
    penalties: FloatArray,
    columns: SmallIntArray,
    cuts: FloatArray,
    values: FloatArray,
    node: SmallIntArray,
    work: FloatArray,
) -> None:
    """Grow one tree, as deep as `columns`, `cuts` and `values` have room for nodes.

    `order` has a line for each column: the rows from its smallest value to its largest, and
    `ordered` those values; `penalties` is what a split on each column must gain first. Of cuts as
    good as each other the first counts, by column, then from below. The value of a node is the
    mean residual of its rows, and `node` becomes the leaf of each row. `work` is scratch: three
    tables of three lines, with room for the last layer.
    """
    totals, left, best = work[0], work[1], work[2]
    columns[:] = -1
    cuts[:] = 0.0
    node[:] = 0
    first = 0
    while first < len(columns):
        _add_up(residuals, weights, node, first, totals)
        for k in range(first + 1):
            values[first + k] = totals[1, k] / totals[0, k] if totals[0, k] > 0.0 else 0.0
        if 2 * first + 1 < len(columns):
            here = columns[first : 2 * first + 1], cuts[first : 2 * first + 1]
            _find_cuts(
                order, ordered, residuals, weights, penalties, node, first, here, totals, left, best
            )
            _move_on(rows, columns, cuts, node)
        first = 2 * first + 1


@helper()
def _add_up(residuals, weights, node, first, totals):
    """Weight, weighted sum and what counts as rounding, for each node of the layer at `first`."""
    totals[:] = 0.0
    for i in range(len(node)):
        k = node[i] - first
        if k >= 0:
            totals[0, k] += weights[i]
            totals[1, k] += weights[i] * residuals[i]
            totals[2, k] += ROUNDING * weights[i] * residuals[i] * residuals[i]


@helper()
def _find_cuts(
    order, ordered, residuals, weights, penalties, node, first, here, totals, left, best
):
    """The best column and cut for each node of the layer at `first`, in one pass over a column."""
    columns, cuts = here
    for c in range(len(order)):
        left[:] = 0.0
        for j in range(order.shape[1]):
            i = order[c, j]
            k = node[i] - first
            if k < 0:
                continue
            x, below = ordered[c, j], left[2, k]
            left_weight, right_weight = left[0, k], totals[0, k] - left[0, k]
            if left_weight > 0.0 and x > below and right_weight > ROUNDING * totals[0, k]:
                right_sum = totals[1, k] - left[1, k]
                gain = left[1, k] ** 2 / left_weight + right_sum**2 / right_weight
                # differences first: a penalty may be so large that a gain is lost in it
                better = (gain - best[0, k]) - (penalties[c] - best[1, k])
                if columns[k] < 0 or better > totals[2, k]:
                    middle = 0.5 * below + 0.5 * x
                    columns[k], cuts[k] = c, middle if middle < x else below
                    best[0, k], best[1, k] = gain, penalties[c]
            left[0, k] += weights[i]
            left[1, k] += weights[i] * residuals[i]
            left[2, k] = x


@helper()
def _move_on(rows, columns, cuts, node):
    """Send each row of a node that was split to one of its children."""
    for i in range(len(node)):
        k = node[i]
        if columns[k] >= 0:
            node[i] = 2 * k + 1 if rows[i, columns[k]] <= cuts[k] else 2 * k + 2


@kernel()
def walk_trees(
    rows: FloatArray,
    columns: SmallIntArray,
    cuts: FloatArray,
    values: FloatArray,
    feature_of: IntArray,
    scores: FloatArray,
    met: BoolArray,
) -> None:
    """Send rows down all trees, (n_rounds, n_scores, n_nodes), and add up the leaves they reach.

    Features met on the way are marked in `met`; `feature_of` tells which one a column is of.
    """
    for i in range(len(rows)):
        for t in range(columns.shape[0]):
            for s in range(columns.shape[1]):
                k = 0
                while columns[t, s, k] >= 0:
                    c = columns[t, s, k]
                    met[i, feature_of[c]] = True
                    k = 2 * k + 1 if rows[i, c] <= cuts[t, s, k] else 2 * k + 2
                scores[i, s] += values[t, s, k]


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

    The arguments are those of `Block` in `emsco_lab.rivals.cstc`; `roots`, `norms` and `reached`
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
