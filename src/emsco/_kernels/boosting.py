"""Gradient boosting over binned columns: trees that grow where they gain most.

Columns hold bins, in a byte each; `BLANK` marks an input that is not bought. A row goes left at a
node if its bin is at most the node's, and blank ones go all the same way. Sums over the rows of a
node are kept by input and bin: gradient, curvature and count. Of two children only the smaller is
summed up; the larger has what is left of its parent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, LabelArray
from emsco._kernels.compiler import helper, kernel

BLANK = 255
_LEAST_CURVATURE = 1e-3  # of the rows on each side of a split


class Growth(NamedTuple):
    """Numbers that limit trees."""

    leaves: int  # most of a tree
    rate: float  # by which values of leaves are multiplied
    fewest: int  # rows of a leaf, at least
    l2: float  # added to the curvature of a leaf
    patience: int  # rounds without a lower loss on other rows; 0 to go on to the end


class Rows(NamedTuple):
    """Rows to train on, or to measure the loss on."""

    codes: LabelArray  # bins, (n_inputs, n_rows)
    labels: IntArray
    weights: FloatArray
    logits: FloatArray  # (n_outputs, n_rows), so far


class Trees(NamedTuple):
    """Nodes of trees, (n_trees, most nodes), the root first; those of round r follow each other."""

    inputs: AnyArray  # -1 for a leaf
    bins: AnyArray
    blank_left: BoolArray
    left: AnyArray  # the right child follows the left one
    values: FloatArray
    n_nodes: IntArray


class Scratch(NamedTuple):
    """Arrays that training uses and forgets."""

    slopes: FloatArray  # gradient and curvature of each row, (2, n_rows)
    ordered: FloatArray  # those of the rows of a node, one after the other, (n_rows, 2)
    rows: IntArray  # rows, node after node
    spare: IntArray
    sums: FloatArray  # gradient and curvature by input and bin, (leaves, n_inputs, 256, 2)
    counts: AnyArray  # rows by input and bin, (leaves, n_inputs, 256)
    ends: IntArray  # (most nodes, 3): first row, end, place of the sums
    best: FloatArray  # (most nodes, 4): gain, input, bin, whether blank ones go left
    totals: FloatArray  # (most nodes, 3)


@helper()
def _exponentials(logits, i):
    """Largest logit of a row, and the sum of the exponentials of all, less the largest."""
    top = logits[0, i]
    for k in range(1, len(logits)):
        top = max(top, logits[k, i])
    total = 0.0
    for k in range(len(logits)):
        total += np.exp(logits[k, i] - top)
    return top, total


@helper()
def _fill_shares(logits, shares):
    """Probability of each output of each row; of two classes, that of the second one."""
    n_outputs, n_rows = logits.shape
    for i in range(n_rows):
        if n_outputs == 1:
            shares[0, i] = 1.0 / (1.0 + np.exp(-logits[0, i]))
            continue
        top = logits[0, i]
        for k in range(1, n_outputs):
            top = max(top, logits[k, i])
        total = 0.0
        for k in range(n_outputs):
            shares[k, i] = np.exp(logits[k, i] - top)
            total += shares[k, i]
        for k in range(n_outputs):
            shares[k, i] /= total


@helper()
def _fill_slopes(rows, own, shares, slopes):
    """Gradient and curvature of the log loss of one output, whose class is `own`."""
    for i in range(len(shares)):
        p = shares[i]
        slopes[0, i] = (p - 1.0 if rows.labels[i] == own else p) * rows.weights[i]
        slopes[1, i] = p * (1.0 - p) * rows.weights[i]


@helper()
def _loss(rows):
    """Mean log loss of rows."""
    n_outputs, n_rows = rows.logits.shape
    total, weight = 0.0, 0.0
    for i in range(n_rows):
        if n_outputs == 1:
            z = rows.logits[0, i] if rows.labels[i] == 1 else -rows.logits[0, i]
            loss = np.log1p(np.exp(-z)) if z > 0 else np.log1p(np.exp(z)) - z
        else:
            top, loss = _exponentials(rows.logits, i)
            loss = np.log(loss) + top - rows.logits[rows.labels[i], i]
        total += rows.weights[i] * loss
        weight += rows.weights[i]
    return total / weight


@helper()
def _sum_up(codes, n_bins, first, end, scratch, place):
    """Sum up gradient, curvature and count of a node's rows by input and bin."""
    rows, slopes = scratch.rows[first:end], scratch.ordered[first:end]
    for j in range(len(rows)):
        slopes[j, 0], slopes[j, 1] = scratch.slopes[0, rows[j]], scratch.slopes[1, rows[j]]
    for a in range(len(codes)):
        sums, counts = scratch.sums[place, a], scratch.counts[place, a]
        sums[: n_bins[a]] = 0.0
        counts[: n_bins[a]] = 0
        sums[BLANK], counts[BLANK] = 0.0, 0
        _sum_input(codes[a], rows, slopes, sums, counts)


@helper()
def _sum_input(column, rows, slopes, sums, counts):
    """Sum up one input. Positions that cannot be negative spare a look at their sign."""
    for j in range(len(rows)):
        b = column[rows[j]]
        g, h = sums[b, 0] + slopes[j, 0], sums[b, 1] + slopes[j, 1]
        sums[b, 0], sums[b, 1] = g, h
        counts[b] += 1


@helper()
def _add_up(scratch, place, n_bins, total):
    """Add up the sums of one input, which are those of a node."""
    sums, counts = scratch.sums[place, 0], scratch.counts[place, 0]
    total[0], total[1], total[2] = sums[BLANK, 0], sums[BLANK, 1], counts[BLANK]
    for b in range(n_bins):
        total[0] += sums[b, 0]
        total[1] += sums[b, 1]
        total[2] += counts[b]


@helper()
def _take_off(scratch, place, other, n_bins):
    """Take the sums of a child off those of its parent."""
    for a in range(len(n_bins)):
        sums, gone = scratch.sums[place, a], scratch.sums[other, a]
        counts, fewer = scratch.counts[place, a], scratch.counts[other, a]
        for b in range(n_bins[a]):
            sums[b, 0] -= gone[b, 0]
            sums[b, 1] -= gone[b, 1]
        for b in range(n_bins[a]):
            counts[b] -= fewer[b]
        sums[BLANK, 0] -= gone[BLANK, 0]
        sums[BLANK, 1] -= gone[BLANK, 1]
        counts[BLANK] -= fewer[BLANK]


@helper()
def _find_split(sums, counts, n_bins, growth, total, best):
    """Find the split of a node that gains most; the gain is 0 if none may be made.

    Of splits as good as each other the first counts, by input, then by bin. If blank rows can go
    either way, the right comes first; if there are none, they go with the larger part. Gains are
    fractions, compared by multiplication, which is much quicker than division.
    """
    best[:] = 0.0
    whole = total[0] * total[0] / (total[1] + growth.l2)
    bar, curved = whole, total[1] + growth.l2
    n_rows = int(total[2])
    for a in range(len(sums)):
        by_bin, n_by_bin = sums[a], counts[a]
        has_blank = n_by_bin[BLANK] > 0
        for way in range(2 if has_blank else 1):  # blank rows on the right, then on the left
            g, h, n = 0.0, 0.0, 0
            if way == 1:
                g, h, n = by_bin[BLANK, 0], by_bin[BLANK, 1], int(n_by_bin[BLANK])
            last = n_bins[a] if has_blank and way == 0 else n_bins[a] - 1
            for b in range(last):
                g += by_bin[b, 0]
                h += by_bin[b, 1]
                n += n_by_bin[b]
                if n < growth.fewest or h < _LEAST_CURVATURE:
                    continue
                if n_rows - n < growth.fewest or total[1] - h < _LEAST_CURVATURE:
                    break
                rest, one, other = total[0] - g, h + growth.l2, curved - h
                above, below = g * g * other + rest * rest * one, one * other
                if above > bar * below:
                    bar = above / below
                    goes_left = way == 1 if has_blank else 2 * n > n_rows
                    best[0], best[1], best[2] = bar - whole, a, b
                    best[3] = 1.0 if goes_left else 0.0


@helper()
def _look(node, n_bins, growth, scratch):
    """Find how a leaf would be split, if it has enough rows."""
    if scratch.ends[node, 1] - scratch.ends[node, 0] >= 2 * growth.fewest:
        place = scratch.ends[node, 2]
        sums, counts = scratch.sums[place], scratch.counts[place]
        _find_split(sums, counts, n_bins, growth, scratch.totals[node], scratch.best[node])


@helper()
def _part(column, first, end, b, blank_left, scratch):
    """Put the rows of a node that go left before the others, in order; return where these begin."""
    n_left, n_right = first, 0
    for j in range(first, end):
        row = scratch.rows[j]
        code = column[row]
        if blank_left if code == BLANK else code <= b:
            scratch.rows[n_left] = row
            n_left += 1
        else:
            scratch.spare[n_right] = row
            n_right += 1
    for j in range(n_right):
        scratch.rows[n_left + j] = scratch.spare[j]
    return n_left


@helper()
def _begin(tree, trees, scratch, node, first, end, place):
    """Note a node as a leaf."""
    trees.inputs[tree, node] = -1
    scratch.ends[node, 0], scratch.ends[node, 1], scratch.ends[node, 2] = first, end, place
    scratch.best[node, 0] = 0.0


@helper()
def _grow(tree, rows, n_bins, growth, trees, scratch):
    """Grow one tree on the slopes of the rows."""
    n_rows = rows.codes.shape[1]
    for i in range(n_rows):
        scratch.rows[i] = i
    _begin(tree, trees, scratch, 0, 0, n_rows, 0)
    _sum_up(rows.codes, n_bins, 0, n_rows, scratch, 0)
    _add_up(scratch, 0, n_bins[0], scratch.totals[0])
    _look(0, n_bins, growth, scratch)
    n_nodes, n_leaves = 1, 1
    while n_leaves < growth.leaves:
        node = 0
        for k in range(1, n_nodes):
            if scratch.best[k, 0] > scratch.best[node, 0]:
                node = k
        if scratch.best[node, 0] <= 0.0:
            break
        _split(tree, node, n_nodes, n_leaves, rows, n_bins, growth, trees, scratch)
        n_nodes += 2
        n_leaves += 1
    trees.n_nodes[tree] = n_nodes


@helper()
def _split(tree, node, n_nodes, place, rows, n_bins, growth, trees, scratch):
    """Split a leaf in two, and find how these would be split."""
    a, b = int(scratch.best[node, 1]), int(scratch.best[node, 2])
    blank_left = scratch.best[node, 3] > 0.0
    first, end, parent = scratch.ends[node, 0], scratch.ends[node, 1], scratch.ends[node, 2]
    middle = _part(rows.codes[a], first, end, b, blank_left, scratch)
    scratch.best[node, 0] = 0.0
    trees.inputs[tree, node], trees.bins[tree, node] = a, b
    trees.blank_left[tree, node], trees.left[tree, node] = blank_left, n_nodes
    is_left_smaller = middle - first <= end - middle
    # The larger child takes the place of its parent.
    left_place, right_place = (place, parent) if is_left_smaller else (parent, place)
    _begin(tree, trees, scratch, n_nodes, first, middle, left_place)
    _begin(tree, trees, scratch, n_nodes + 1, middle, end, right_place)
    small = n_nodes if is_left_smaller else n_nodes + 1
    large = n_nodes + 1 if is_left_smaller else n_nodes
    at = scratch.ends[small, 0], scratch.ends[small, 1]
    _sum_up(rows.codes, n_bins, at[0], at[1], scratch, place)
    _take_off(scratch, parent, place, n_bins)
    _add_up(scratch, place, n_bins[0], scratch.totals[small])
    for c in range(3):
        scratch.totals[large, c] = scratch.totals[node, c] - scratch.totals[small, c]
    _look(n_nodes, n_bins, growth, scratch)
    _look(n_nodes + 1, n_bins, growth, scratch)


@helper()
def _add_leaves(tree, output, rows, growth, trees, scratch):
    """Give the leaves of a tree their values, and add them to the logits of the rows."""
    for node in range(trees.n_nodes[tree]):
        if trees.inputs[tree, node] >= 0:
            continue
        value = -growth.rate * scratch.totals[node, 0] / (scratch.totals[node, 1] + growth.l2)
        trees.values[tree, node] = value
        for j in range(scratch.ends[node, 0], scratch.ends[node, 1]):
            rows.logits[output, scratch.rows[j]] += value


@helper()
def _add_walks(tree, output, rows, trees):
    """Add the values of the leaves that other rows walk to."""
    for i in range(rows.codes.shape[1]):
        node = 0
        while trees.inputs[tree, node] >= 0:
            code = rows.codes[trees.inputs[tree, node], i]
            goes_left = code <= trees.bins[tree, node]
            if code == BLANK:
                goes_left = trees.blank_left[tree, node]
            node = trees.left[tree, node] + (0 if goes_left else 1)
        rows.logits[output, i] += trees.values[tree, node]


@kernel()
def boost(
    rows: Rows,
    held: Rows,
    n_bins: IntArray,
    growth: Growth,
    trees: Trees,
    losses: FloatArray,
    scratch: Scratch,
) -> int:
    """Add rounds of trees, one tree for each output, and return the number of rounds.

    If there are `held` rows, `losses` gets their loss after each round, and training ends once it
    has not fallen for `growth.patience` rounds.
    """
    n_outputs, best = rows.logits.shape[0], 0
    shares = np.empty_like(rows.logits)
    for r in range(len(losses)):
        _fill_shares(rows.logits, shares)
        for k in range(n_outputs):
            tree = r * n_outputs + k
            _fill_slopes(rows, 1 if n_outputs == 1 else k, shares[k], scratch.slopes)
            _grow(tree, rows, n_bins, growth, trees, scratch)
            _add_leaves(tree, k, rows, growth, trees, scratch)
            if held.codes.shape[1]:
                _add_walks(tree, k, held, trees)
        if held.codes.shape[1]:
            losses[r] = _loss(held)
            if losses[r] < losses[best]:
                best = r
            if growth.patience and r - best >= growth.patience:
                return r + 1
    return len(losses)
