"""Gradient boosting over binned columns: trees that grow where they gain most.

Columns hold bins, in a byte each; `BLANK` marks an input that is not bought. A row goes left at a
node if its bin is at most the node's, and blank ones go all the same way. Sums over the rows of a
node are kept by input and bin: gradient, curvature and count. Of two children only the smaller is
summed up; the larger has what is left of its parent.
"""

from __future__ import annotations

from dataclasses import dataclass

import cython
import numpy as np
from cython.cimports.emsco._kernels.arrays import (
    Bytes2,
    Floats1,
    Floats2,
    Ints1,
    OutBytes2,
    OutFloats1,
    OutFloats2,
    OutFloats4,
    OutHalfWords1,
    OutInts1,
    OutInts2,
    OutSmallInts3,
    OutStages2,
)
from cython.cimports.libc.math import exp, log, log1p

_BLANK = cython.declare(cython.int, 255)
BLANK = _BLANK
_LEAST_CURVATURE = cython.declare(cython.double, 1e-3)  # of the rows on each side of a split


@cython.cclass
@dataclass(eq=False, repr=False)
class Growth:
    """Numbers that limit trees."""

    leaves: cython.longlong  # most of a tree
    rate: cython.double  # by which values of leaves are multiplied
    fewest: cython.longlong  # rows of a leaf, at least
    l2: cython.double  # added to the curvature of a leaf
    patience: cython.longlong  # rounds without a lower loss on other rows; 0 to go on to the end


@cython.cclass
@dataclass(eq=False, repr=False)
class Rows:
    """Rows to train on, or to measure the loss on."""

    codes: Bytes2  # bins, (n_inputs, n_rows)
    labels: Ints1
    weights: Floats1
    logits: OutFloats2  # (n_outputs, n_rows), so far


@cython.cclass
@dataclass(eq=False, repr=False)
class Trees:
    """Nodes of trees, (n_trees, most nodes), the root first; those of round r follow each other."""

    inputs: OutStages2  # -1 for a leaf
    bins: OutStages2
    blank_left: OutBytes2
    left: OutStages2  # the right child follows the left one
    values: OutFloats2
    n_nodes: OutInts1


@cython.cclass
@dataclass(eq=False, repr=False)
class Scratch:
    """Arrays that training uses and forgets."""

    slopes: OutFloats2  # gradient and curvature of each row, (2, n_rows)
    ordered: OutFloats2  # those of the rows of a node, one after the other, (n_rows, 2)
    rows: OutHalfWords1  # rows, node after node
    spare: OutHalfWords1
    sums: OutFloats4  # gradient and curvature by input and bin, (leaves, n_inputs, 256, 2)
    counts: OutSmallInts3  # rows by input and bin, (leaves, n_inputs, 256)
    ends: OutInts2  # (most nodes, 3): first row, end, place of the sums
    best: OutFloats2  # (most nodes, 4): gain, input, bin, whether blank ones go left
    totals: OutFloats2  # (most nodes, 3)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_shares(logits: Floats2, shares: OutFloats2) -> cython.void:
    """Probability of each output of each row; of two classes, that of the second one."""
    n_outputs = logits.shape[0]
    top: cython.double
    total: cython.double
    for i in range(logits.shape[1]):
        if n_outputs == 1:
            shares[0, i] = 1.0 / (1.0 + exp(-logits[0, i]))
            continue
        top = logits[0, i]
        for k in range(1, n_outputs):
            top = max(top, logits[k, i])
        total = 0.0
        for k in range(n_outputs):
            shares[k, i] = exp(logits[k, i] - top)
            total += shares[k, i]
        for k in range(n_outputs):
            shares[k, i] /= total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_slopes(
    rows: Rows,
    own: cython.longlong,
    shares: Floats2,
    output: cython.Py_ssize_t,
    slopes: OutFloats2,
) -> cython.void:
    """Gradient and curvature of the log loss of one output, whose class is `own`."""
    labels, weights = rows.labels, rows.weights
    for i in range(shares.shape[1]):
        p = shares[output, i]
        slopes[0, i] = (p - 1.0 if labels[i] == own else p) * weights[i]
        slopes[1, i] = p * (1.0 - p) * weights[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _loss(rows: Rows) -> cython.double:
    """Mean log loss of rows."""
    logits, labels, weights = rows.logits, rows.labels, rows.weights
    n_outputs = logits.shape[0]
    total: cython.double = 0.0
    weight: cython.double = 0.0
    top: cython.double
    loss: cython.double
    for i in range(logits.shape[1]):
        if n_outputs == 1:
            z = logits[0, i] if labels[i] == 1 else -logits[0, i]
            loss = log1p(exp(-z)) if z > 0 else log1p(exp(z)) - z
        else:
            # The exponentials, less the largest, so that none overflows.
            top = logits[0, i]
            for k in range(1, n_outputs):
                top = max(top, logits[k, i])
            loss = 0.0
            for k in range(n_outputs):
                loss += exp(logits[k, i] - top)
            loss = log(loss) + top - logits[labels[i], i]
        total += weights[i] * loss
        weight += weights[i]
    return total / weight


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_up(
    codes: Bytes2,
    n_bins: Ints1,
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    scratch: Scratch,
    place: cython.Py_ssize_t,
) -> cython.void:
    """Sum up gradient, curvature and count of a node's rows by input and bin."""
    rows, slopes, ordered = scratch.rows, scratch.slopes, scratch.ordered
    sums, counts = scratch.sums, scratch.counts
    for j in range(first, end):
        ordered[j, 0], ordered[j, 1] = slopes[0, rows[j]], slopes[1, rows[j]]
    for a in range(codes.shape[0]):
        for b in range(n_bins[a]):
            sums[place, a, b, 0], sums[place, a, b, 1], counts[place, a, b] = 0.0, 0.0, 0
        sums[place, a, _BLANK, 0], sums[place, a, _BLANK, 1] = 0.0, 0.0
        counts[place, a, _BLANK] = 0
        for j in range(first, end):
            code = codes[a, rows[j]]
            g, h = sums[place, a, code, 0] + ordered[j, 0], sums[place, a, code, 1] + ordered[j, 1]
            sums[place, a, code, 0], sums[place, a, code, 1] = g, h
            counts[place, a, code] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_up(
    scratch: Scratch, place: cython.Py_ssize_t, n_bins: cython.longlong, node: cython.Py_ssize_t
) -> cython.void:
    """Add up the sums of one input, which are those of a node."""
    sums, counts, totals = scratch.sums, scratch.counts, scratch.totals
    g: cython.double = sums[place, 0, _BLANK, 0]
    h: cython.double = sums[place, 0, _BLANK, 1]
    n: cython.double = counts[place, 0, _BLANK]
    for b in range(n_bins):
        g += sums[place, 0, b, 0]
        h += sums[place, 0, b, 1]
        n += counts[place, 0, b]
    totals[node, 0], totals[node, 1], totals[node, 2] = g, h, n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take_off(
    scratch: Scratch, place: cython.Py_ssize_t, other: cython.Py_ssize_t, n_bins: Ints1
) -> cython.void:
    """Take the sums of a child off those of its parent."""
    sums, counts = scratch.sums, scratch.counts
    for a in range(n_bins.shape[0]):
        for b in range(n_bins[a]):
            sums[place, a, b, 0] -= sums[other, a, b, 0]
            sums[place, a, b, 1] -= sums[other, a, b, 1]
        for b in range(n_bins[a]):
            counts[place, a, b] -= counts[other, a, b]
        sums[place, a, _BLANK, 0] -= sums[other, a, _BLANK, 0]
        sums[place, a, _BLANK, 1] -= sums[other, a, _BLANK, 1]
        counts[place, a, _BLANK] -= counts[other, a, _BLANK]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _look(node: cython.Py_ssize_t, n_bins: Ints1, growth: Growth, scratch: Scratch) -> cython.void:
    """Find the split of a leaf that gains most; the gain is 0 if none may be made.

    Of splits as good as each other the first counts, by input, then by bin. If blank rows can go
    either way, the right comes first; if there are none, they go with the larger part. Gains are
    fractions, compared by multiplication, which is much quicker than division.
    """
    if scratch.ends[node, 1] - scratch.ends[node, 0] < 2 * growth.fewest:
        return
    sums, counts, best = scratch.sums, scratch.counts, scratch.best
    place, fewest, l2 = scratch.ends[node, 2], growth.fewest, growth.l2
    slope, curvature = scratch.totals[node, 0], scratch.totals[node, 1]
    n_rows = cython.cast(cython.longlong, scratch.totals[node, 2])
    best[node, 0], best[node, 1], best[node, 2], best[node, 3] = 0.0, 0.0, 0.0, 0.0
    curved = curvature + l2
    whole = slope * slope / curved
    bar: cython.double = whole
    g: cython.double
    h: cython.double
    n: cython.longlong
    last: cython.longlong
    has_blank: cython.bint
    goes_left: cython.bint
    for a in range(n_bins.shape[0]):
        has_blank = counts[place, a, _BLANK] > 0
        for way in range(2 if has_blank else 1):  # blank rows on the right, then on the left
            g, h, n = 0.0, 0.0, 0
            if way == 1:
                g, h = sums[place, a, _BLANK, 0], sums[place, a, _BLANK, 1]
                n = counts[place, a, _BLANK]
            last = n_bins[a] if has_blank and way == 0 else n_bins[a] - 1
            for b in range(last):
                g += sums[place, a, b, 0]
                h += sums[place, a, b, 1]
                n += counts[place, a, b]
                if n < fewest or h < _LEAST_CURVATURE:
                    continue
                if n_rows - n < fewest or curvature - h < _LEAST_CURVATURE:
                    break
                rest, one, other = slope - g, h + l2, curved - h
                above, below = g * g * other + rest * rest * one, one * other
                if above > bar * below:
                    bar = above / below
                    goes_left = way == 1 if has_blank else 2 * n > n_rows
                    best[node, 0], best[node, 1], best[node, 2] = bar - whole, a, b
                    best[node, 3] = 1.0 if goes_left else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _part(
    codes: Bytes2,
    a: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    b: cython.longlong,
    blank_left: cython.bint,
    scratch: Scratch,
) -> cython.Py_ssize_t:
    """Put the rows of a node that go left before the others, in order; return where these begin."""
    rows, spare = scratch.rows, scratch.spare
    n_left: cython.Py_ssize_t = first
    n_right: cython.Py_ssize_t = 0
    goes_left: cython.bint
    for j in range(first, end):
        row = rows[j]
        code = codes[a, row]
        goes_left = (code <= b) | ((code == _BLANK) & blank_left)
        # To both, without a branch: where it does not belong, the next one is put over it.
        rows[n_left] = spare[n_right] = row
        n_left += goes_left
        n_right += not goes_left
    for j in range(n_right):
        rows[n_left + j] = spare[j]
    return n_left


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(
    tree: cython.Py_ssize_t,
    trees: Trees,
    scratch: Scratch,
    node: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
) -> cython.void:
    """Note a node as a leaf."""
    trees.inputs[tree, node] = -1
    scratch.ends[node, 0], scratch.ends[node, 1], scratch.ends[node, 2] = first, end, place
    scratch.best[node, 0] = 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _grow(
    tree: cython.Py_ssize_t,
    rows: Rows,
    n_bins: Ints1,
    growth: Growth,
    trees: Trees,
    scratch: Scratch,
) -> cython.void:
    """Grow one tree on the slopes of the rows."""
    n_rows = rows.codes.shape[1]
    for i in range(n_rows):
        scratch.rows[i] = i
    _begin(tree, trees, scratch, 0, 0, n_rows, 0)
    _sum_up(rows.codes, n_bins, 0, n_rows, scratch, 0)
    _add_up(scratch, 0, n_bins[0], 0)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(
    tree: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    n_nodes: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
    rows: Rows,
    n_bins: Ints1,
    growth: Growth,
    trees: Trees,
    scratch: Scratch,
) -> cython.void:
    """Split a leaf in two, and find how these would be split."""
    a = cython.cast(cython.Py_ssize_t, scratch.best[node, 1])
    b = cython.cast(cython.longlong, scratch.best[node, 2])
    blank_left: cython.bint = scratch.best[node, 3] > 0.0
    first, end, parent = scratch.ends[node, 0], scratch.ends[node, 1], scratch.ends[node, 2]
    middle = _part(rows.codes, a, first, end, b, blank_left, scratch)
    scratch.best[node, 0] = 0.0
    trees.inputs[tree, node], trees.bins[tree, node] = a, b
    trees.blank_left[tree, node], trees.left[tree, node] = blank_left, n_nodes
    left, right = n_nodes, n_nodes + 1
    # The larger child takes the place of its parent.
    if middle - first <= end - middle:
        small, large = left, right
        _begin(tree, trees, scratch, left, first, middle, place)
        _begin(tree, trees, scratch, right, middle, end, parent)
    else:
        small, large = right, left
        _begin(tree, trees, scratch, left, first, middle, parent)
        _begin(tree, trees, scratch, right, middle, end, place)
    _sum_up(rows.codes, n_bins, scratch.ends[small, 0], scratch.ends[small, 1], scratch, place)
    _take_off(scratch, parent, place, n_bins)
    _add_up(scratch, place, n_bins[0], small)
    for c in range(3):
        scratch.totals[large, c] = scratch.totals[node, c] - scratch.totals[small, c]
    _look(left, n_bins, growth, scratch)
    _look(right, n_bins, growth, scratch)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_leaves(
    tree: cython.Py_ssize_t,
    output: cython.Py_ssize_t,
    rows: Rows,
    growth: Growth,
    trees: Trees,
    scratch: Scratch,
) -> cython.void:
    """Give the leaves of a tree their values, and add them to the logits of the rows."""
    logits, places = rows.logits, scratch.rows
    for node in range(trees.n_nodes[tree]):
        if trees.inputs[tree, node] >= 0:
            continue
        value = -growth.rate * scratch.totals[node, 0] / (scratch.totals[node, 1] + growth.l2)
        trees.values[tree, node] = value
        for j in range(scratch.ends[node, 0], scratch.ends[node, 1]):
            logits[output, places[j]] += value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_walks(
    tree: cython.Py_ssize_t, output: cython.Py_ssize_t, rows: Rows, trees: Trees
) -> cython.void:
    """Add the values of the leaves that other rows walk to."""
    codes, logits, inputs, bins = rows.codes, rows.logits, trees.inputs, trees.bins
    goes_left: cython.bint
    node: cython.Py_ssize_t
    for i in range(codes.shape[1]):
        node = 0
        while inputs[tree, node] >= 0:
            code = codes[inputs[tree, node], i]
            goes_left = code <= bins[tree, node]
            if code == _BLANK:
                goes_left = trees.blank_left[tree, node]
            node = trees.left[tree, node] + (0 if goes_left else 1)
        logits[output, i] += trees.values[tree, node]


def boost(
    rows: Rows,
    held: Rows,
    n_bins: Ints1,
    growth: Growth,
    trees: Trees,
    losses: OutFloats1,
    scratch: Scratch,
) -> int:
    """Add rounds of trees, one tree for each output, and return the number of rounds.

    If there are `held` rows, `losses` gets their loss after each round, and training ends once it
    has not fallen for `growth.patience` rounds.
    """
    n_outputs, n_rounds = rows.logits.shape[0], losses.shape[0]
    shares: OutFloats2 = np.empty((n_outputs, rows.logits.shape[1]))
    is_judged: cython.bint = held.codes.shape[1] > 0
    best: cython.Py_ssize_t = 0
    with cython.nogil:
        for r in range(n_rounds):
            _fill_shares(rows.logits, shares)
            for k in range(n_outputs):
                tree = r * n_outputs + k
                _fill_slopes(rows, 1 if n_outputs == 1 else k, shares, k, scratch.slopes)
                _grow(tree, rows, n_bins, growth, trees, scratch)
                _add_leaves(tree, k, rows, growth, trees, scratch)
                if is_judged:
                    _add_walks(tree, k, held, trees)
            if is_judged:
                losses[r] = _loss(held)
                if losses[r] < losses[best]:
                    best = r
                if growth.patience and r - best >= growth.patience:
                    n_rounds = r + 1
                    break
    return n_rounds
