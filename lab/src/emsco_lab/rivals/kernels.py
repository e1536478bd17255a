"""Compiled loops of rivals: regression trees over presorted columns, and rows that walk them.

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
