"""Compiled loops of rivals: regression trees, rows that walk them, and the objective of CSTC.

A tree is a heap: the children of node k are 2k + 1, for rows at or below its cut, and 2k + 2; a
leaf has the column -1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ROUNDING = 1e-12  # what is smaller than this share of a whole is taken for rounding


@njit(cache=True, nogil=True, error_model="numpy")
def grow_tree(rows, order, residuals, weights, penalties, depth):
    """Grow one tree layer by layer; return columns, cuts and values of its nodes, and rows' leaves.

    `order` has a line for each column: the rows from its smallest value to its largest;
    `penalties` is what a split on each column must gain first. Of cuts as good as each other the
    first counts, by column, then from below. The value of a node is the mean residual of its rows.
    """
    n_nodes = 2 ** (depth + 1) - 1
    columns, node = np.full(n_nodes, -1), np.zeros(len(rows), np.int64)
    cuts, values = np.zeros(n_nodes), np.zeros(n_nodes)
    for layer in range(depth + 1):
        first = 2**layer - 1
        # Weight, weighted sum, and what counts as rounding, for each node of the layer.
        totals, best = np.zeros((3, first + 1)), np.zeros((2, first + 1))
        for i in range(len(rows)):
            k = node[i] - first
            if k >= 0:
                totals[0, k] += weights[i]
                totals[1, k] += weights[i] * residuals[i]
                totals[2, k] += ROUNDING * weights[i] * residuals[i] * residuals[i]
        for k in range(first + 1):
            if totals[0, k] > 0.0:
                values[first + k] = totals[1, k] / totals[0, k]
        if layer == depth:
            break
        for c in range(len(order)):
            left = np.zeros((3, first + 1))  # weight, weighted sum, and the value of the last row
            for i in order[c]:
                k, x = node[i] - first, rows[i, c]
                if k < 0:
                    continue
                below, left_weight, right_weight = left[2, k], left[0, k], totals[0, k] - left[0, k]
                if left_weight > 0.0 and x > below and right_weight > ROUNDING * totals[0, k]:
                    right_sum = totals[1, k] - left[1, k]
                    gain = left[1, k] ** 2 / left_weight + right_sum**2 / right_weight
                    # differences first: a penalty may be so large that a gain is lost in it
                    better = (gain - best[0, k]) - (penalties[c] - best[1, k])
                    if columns[first + k] < 0 or better > totals[2, k]:
                        middle = 0.5 * below + 0.5 * x
                        columns[first + k] = c
                        cuts[first + k] = middle if middle < x else below
                        best[0, k], best[1, k] = gain, penalties[c]
                left[0, k] += weights[i]
                left[1, k] += weights[i] * residuals[i]
                left[2, k] = x
        for i in range(len(rows)):
            k = node[i]
            if columns[k] >= 0:
                node[i] = 2 * k + 1 if rows[i, columns[k]] <= cuts[k] else 2 * k + 2
    return columns, cuts, values, node


@njit(cache=True, nogil=True, error_model="numpy")
def walk_trees(rows, columns, cuts, values, reads):
    """Send rows down all trees, (n_rounds, n_scores, n_nodes); return the sums of their leaves.

    Inputs read on the way are marked in `reads`.
    """
    scores = np.zeros((len(rows), columns.shape[1]))
    for i in range(len(rows)):
        for t in range(columns.shape[0]):
            for s in range(columns.shape[1]):
                k = 0
                while columns[t, s, k] >= 0:
                    c = columns[t, s, k]
                    reads[i, c] = True
                    k = 2 * k + 1 if rows[i, c] <= cuts[t, s, k] else 2 * k + 2
                scores[i, s] += values[t, s, k]
    return scores


@njit(cache=True, nogil=True, error_model="numpy")
def block_terms(
    line, here, ends, errors, squares, values, targets, reads, costs, sparsity, sharpness, smoothing
):
    """Sum of the terms of CSTC's objective that depend on one node's line, and their gradient.

    The arguments are those of `SoftProblem` in `emsco_lab.rivals.cstc`; costs have its penalty in.
    """
    n_learners = len(line) - 2
    weights, intercept, threshold = line[:n_learners], line[n_learners], line[n_learners + 1]
    roots, gradient = np.empty_like(squares), np.zeros_like(line)
    norms, reached = np.zeros(squares.shape[:2]), np.zeros(squares.shape[:2])
    for a in range(len(costs)):
        total = smoothing
        for t in range(n_learners):
            total += reads[a, t] * weights[t] * weights[t]
        roots[:, :, a] = np.sqrt(squares[:, :, a] + total)
        norms += costs[a] * roots[:, :, a]
    value = 0.0
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
        gradient[n_learners] += slope
        gradient[n_learners + 1] -= turn
        for t in range(n_learners):
            gradient[t] += slope * values[i, t]
    for a in range(len(costs)):
        pull = costs[a] * (reached / roots[:, :, a]).sum()
        for t in range(n_learners):
            gradient[t] += pull * reads[a, t] * weights[t]
    sizes = 0.0
    for t in range(n_learners):
        size = np.sqrt(weights[t] * weights[t] + smoothing)
        sizes += sparsity * size
        gradient[t] += sparsity * weights[t] / size
    return value + sizes, gradient
