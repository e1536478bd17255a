"""Boosted trees for many subsets of the inputs at once, after QuickScorer (Lucchese et al. 2015).

The leaves of a tree are the bits of a mask, from left to right. A row starts with all leaves. Where
it goes right, the leaves on the left are out; the lowest bit that is left over is its leaf. Where
the input is not bought, all rows go the same way. What an input does to the masks is the same for
every subset, so it is found once for a block of rows, and each subset joins the inputs it has.

A row's values are added tree after tree, each sum rounded on its own, so that the result does not
depend on the other rows, blocks, subsets or threads.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.emsco._kernels.arrays import (
    Bytes1,
    Bytes2,
    Floats1,
    Floats2,
    Ints1,
    Ints2,
    Mask,
    OutBytes1,
    OutBytes2,
    OutFloats1,
    OutFloats2,
    OutFloats3,
    OutInts1,
    OutInts2,
    Singles1,
    Stages1,
)
from cython.cimports.emsco._kernels.bits import lowest_bit
from cython.cimports.emsco._kernels.judgement import fill_probabilities, find_likeliest

_MOST_LEAVES = cython.declare(cython.Py_ssize_t, 32)
# Rows at a time: the masks of a tree stay in the fastest cache.
_BLOCK = cython.declare(cython.Py_ssize_t, 512)
# So few rows are walked one by one, because starting a loop over them takes longer.
_FEW = cython.declare(cython.Py_ssize_t, 8)
_EVERY = cython.declare(cython.uint, 0xFFFFFFFF)
MOST_LEAVES, BLOCK = _MOST_LEAVES, _BLOCK


def trace_trees(
    starts: Ints1,
    left: Ints1,
    right: Ints1,
    is_leaf: Bytes1,
    order: OutInts1,
    n_below: OutInts1,
) -> bool:
    """Put the nodes of trees in pre-order, and count the leaves below each; false if it fails.

    `starts` has the first node of each tree and at the end the number of nodes. `left` and `right`
    have the children, counted from the first node of the tree. `n_below` is in the new order.
    """
    stack: OutInts1 = np.empty(order.shape[0] + 1, dtype=np.int64)
    is_fine: cython.bint = True
    with cython.nogil:
        for t in range(starts.shape[0] - 1):
            start, end = starts[t], starts[t + 1]
            is_fine = _trace_tree(start, end, left, right, is_leaf, order, n_below, stack)
            if not is_fine:
                break
    return is_fine


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _trace_tree(
    start: cython.longlong,
    end: cython.longlong,
    left: Ints1,
    right: Ints1,
    is_leaf: Bytes1,
    order: OutInts1,
    n_below: OutInts1,
    stack: OutInts1,
) -> cython.bint:
    """Put the nodes of one tree in pre-order; false if it fails."""
    depth, n = 1, start
    stack[0] = start
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if n >= end or not start <= node < end:
            return False
        order[n] = node
        n += 1
        if not is_leaf[node]:
            stack[depth] = start + right[node]
            stack[depth + 1] = start + left[node]
            depth += 2
    if n != end:
        return False
    for i in range(end - 1, start - 1, -1):  # the stack now holds what is counted already
        if is_leaf[order[i]]:
            n_below[i] = 1
            stack[depth] = i
            depth += 1
        else:
            depth -= 1
            n_below[i] = n_below[stack[depth]] + n_below[stack[depth - 1]]
            stack[depth - 1] = i
    return True


def code_rows(
    rows: Floats2,
    reads: Bytes1,
    cuts: Floats1,
    starts: Ints1,
    fill: Floats1,
    codes: OutBytes2,
) -> None:
    """Count the cuts below each value that is read, inputs × rows; `fill` stands for NaN."""
    with cython.nogil:
        for f in range(reads.shape[0]):
            if not reads[f]:
                continue
            first, n_cuts = starts[f], starts[f + 1] - starts[f]
            for r in range(rows.shape[0]):
                x = rows[r, f]
                if x != x:
                    x = fill[f]
                below, n = first, n_cuts
                while n > 0:
                    half = (n + 1) // 2
                    below += half if cuts[below + half - 1] < x else 0
                    n -= half
                codes[f, r] = below - first


def collapse(
    subsets: Bytes2,
    trees_of: Ints1,
    starts: Ints1,
    inputs: Stages1,
    blank_left: Bytes1,
    known_left: Bytes1,
    left: cython.const[Mask][::1],
    right: cython.const[Mask][::1],
    leaves: Singles1,
    baseline: Floats1,
    alive: Mask[:, ::1],
    base: OutFloats2,
) -> None:
    """Find the leaves that a subset can reach in each tree; trees with one are added to `base`.

    `starts` has the first leaf of each tree; its first node is that less the number of the tree.
    At a node of `known_left`, all rows go left if its input is bought.
    `alive`, subsets × trees, holds 0 for a tree that was added to `base`, subsets × outputs.
    """
    reached: cython.uint
    goes_left: cython.bint
    t: cython.Py_ssize_t
    with cython.nogil:
        for b in range(subsets.shape[0]):
            t = 0
            for k in range(trees_of.shape[0]):
                base[b, k] = baseline[k]
                for _ in range(trees_of[k]):
                    reached = _EVERY >> (32 - (starts[t + 1] - starts[t]))
                    for i in range(starts[t] - t, starts[t + 1] - t - 1):
                        is_bought = subsets[b, inputs[i]]
                        if not is_bought or known_left[i]:
                            goes_left = is_bought or blank_left[i]
                            reached &= ~(right[i] if goes_left else left[i])
                    if reached & (reached - 1) == 0:
                        base[b, k] += leaves[starts[t] + lowest_bit(reached)]
                        reached = 0
                    alive[b, t] = reached
                    t += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_to_few(
    codes: Bytes2,
    subsets: Bytes2,
    trees_of: Ints1,
    starts: Ints1,
    inputs: Stages1,
    cuts: Bytes1,
    left: cython.const[Mask][::1],
    leaves: Singles1,
    alive: Mask[:, ::1],
    base: OutFloats2,
    logits: OutFloats3,
) -> cython.void:
    """Add up the trees as `add_trees` does, row after row."""
    mask: cython.uint
    goes_right: cython.bint
    t: cython.Py_ssize_t
    total: cython.double
    for b in range(subsets.shape[0]):
        for r in range(codes.shape[1]):
            t = 0
            for k in range(trees_of.shape[0]):
                total = base[b, k]
                for _ in range(trees_of[k]):
                    mask = alive[b, t]
                    if mask:
                        for i in range(starts[t] - t, starts[t + 1] - t - 1):
                            goes_right = subsets[b, inputs[i]] & (codes[inputs[i], r] > cuts[i])
                            mask = mask & ~left[i] if goes_right else mask
                        total += leaves[starts[t] + lowest_bit(mask)]
                    t += 1
                logits[b, k, r] = total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leaf_values(
    alive: Mask,
    subsets: Bytes2,
    b: cython.Py_ssize_t,
    read: OutInts1,
    n_read: cython.Py_ssize_t,
    kept: Mask[:, ::1],
    n: cython.Py_ssize_t,
    values: OutFloats1,
    mask: Mask[::1],
    reached: OutFloats1,
) -> cython.void:
    """Value of the leaf that each row of a block reaches in a tree, for one subset."""
    is_first: cython.bint = True
    for i in range(n_read):
        if not subsets[b, read[i]]:
            continue
        if is_first:
            is_first = False
            for r in range(n):
                mask[r] = alive & kept[i, r]
        else:
            for r in range(n):
                mask[r] &= kept[i, r]
    for q in range(n // 4):  # by fours: compilers do not unroll it themselves
        r = 4 * q
        reached[r] = values[lowest_bit(mask[r])]
        reached[r + 1] = values[lowest_bit(mask[r + 1])]
        reached[r + 2] = values[lowest_bit(mask[r + 2])]
        reached[r + 3] = values[lowest_bit(mask[r + 3])]
    for r in range(n // 4 * 4, n):
        reached[r] = values[lowest_bit(mask[r])]


def add_trees(
    codes: Bytes2,
    subsets: Bytes2,
    trees_of: Ints1,
    starts: Ints1,
    inputs: Stages1,
    cuts: Bytes1,
    left: cython.const[Mask][::1],
    leaves: Singles1,
    alive: Mask[:, ::1],
    order: Ints2,
    base: OutFloats2,
    logits: OutFloats3,
    kept: Mask[:, ::1],
    mask: Mask[::1],
) -> None:
    """Add up the trees for rows and subsets: `logits` is subsets × outputs × rows.

    `order`, trees × subsets, puts subsets that reach the same leaves of a tree side by side: a row
    has the same leaf for all of them. `kept`, with a line for each input that a tree may read, and
    `mask` are scratch for a block.
    """
    n_inputs, n_rows = codes.shape[0], codes.shape[1]
    if n_rows <= _FEW:
        with cython.nogil:
            _add_to_few(
                codes, subsets, trees_of, starts, inputs, cuts, left, leaves, alive, base, logits
            )
        return
    values: OutFloats1 = np.empty(_MOST_LEAVES + 1)
    reached: OutFloats1 = np.empty(_BLOCK)
    place: OutInts1 = np.full(n_inputs, -1)
    read: OutInts1 = np.empty(_MOST_LEAVES, dtype=np.int64)
    asked: OutBytes1 = np.zeros(n_inputs, dtype=np.uint8)
    every: Mask
    others: Mask
    last: Mask
    t: cython.Py_ssize_t
    n_read: cython.Py_ssize_t
    with cython.nogil:
        for b in range(subsets.shape[0]):
            for f in range(n_inputs):
                asked[f] |= subsets[b, f]
        for block in range((n_rows + _BLOCK - 1) // _BLOCK):
            start = _BLOCK * block
            n = min(_BLOCK, n_rows - start)
            t = 0
            for k in range(trees_of.shape[0]):
                for b in range(subsets.shape[0]):
                    for r in range(start, start + n):
                        logits[b, k, r] = base[b, k]
                for _ in range(trees_of[k]):
                    n_read = 0
                    for i in range(starts[t] - t, starts[t + 1] - t - 1):
                        f = inputs[i]
                        if not asked[f]:
                            continue
                        others = ~left[i]
                        every = left[i] | others
                        if place[f] < 0:
                            place[f], read[n_read] = n_read, f
                            for r in range(n):
                                kept[n_read, r] = every
                            n_read += 1
                        # Rows that go right lose the leaves on the left.
                        p, cut = place[f], cuts[i]
                        for r in range(n):
                            kept[p, r] &= others if codes[f, start + r] > cut else every
                    for i in range(starts[t + 1] - starts[t]):
                        values[i] = leaves[starts[t] + i]
                    last = 0
                    for j in range(subsets.shape[0]):
                        b = order[t, j]
                        if alive[b, t] == 0:
                            continue
                        if alive[b, t] != last:
                            last = alive[b, t]
                            _leaf_values(
                                last, subsets, b, read, n_read, kept, n, values, mask, reached
                            )
                        for r in range(n):
                            logits[b, k, start + r] += reached[r]
                    for i in range(n_read):
                        place[read[i]] = -1
                    t += 1


def likeliest_of(logits: OutFloats3, winner: OutInts2, confidence: OutFloats2) -> None:
    """Likeliest class and its probability: subsets × rows, of logits subsets × outputs × rows.

    The logits are used up.
    """
    n_rows = logits.shape[2]
    top: OutFloats1 = np.empty(min(n_rows, _BLOCK))
    with cython.nogil:
        for b in range(logits.shape[0]):
            for block in range((n_rows + _BLOCK - 1) // _BLOCK):
                start = _BLOCK * block
                n = min(_BLOCK, n_rows - start)
                find_likeliest(logits[b], start, n, top, winner[b], confidence[b])


def shares_of(logits: OutFloats2, probabilities: OutFloats2) -> None:
    """Probabilities of all classes, rows × classes, of one subset's logits, outputs × rows.

    The largest is the confidence of `likeliest_of`, to the last bit. The logits are used up.
    """
    n_rows = logits.shape[1]
    scratch: OutFloats2 = np.empty((2, n_rows))
    top: OutFloats1 = scratch[0]
    confidence: OutFloats1 = scratch[1]
    winner: OutInts1 = np.empty(n_rows, dtype=np.int64)
    with cython.nogil:
        find_likeliest(logits, 0, n_rows, top, winner, confidence)
        fill_probabilities(logits, n_rows, winner, confidence, 0, probabilities)
