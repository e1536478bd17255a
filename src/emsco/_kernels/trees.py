"""Boosted trees for many subsets of the inputs at once, after QuickScorer (Lucchese et al. 2015).

The leaves of a tree are the bits of a mask, from left to right. A row starts with all leaves. Where
it goes right, the leaves on the left are out; the lowest bit that is left over is its leaf. Where
the input is not bought, all rows go the same way. What an input does to the masks is the same for
every subset, so it is found once for a block of rows, and each subset joins the inputs it has.

A row's values are added tree after tree, each sum rounded on its own, so that the result does not
depend on the other rows, blocks, subsets or threads.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    LabelArray,
    SingleArray,
    StageArray,
)
from emsco._kernels.bits import lowest_bit
from emsco._kernels.compiler import helper, kernel
from emsco._kernels.judgement import fill_probabilities, find_likeliest

MOST_LEAVES = 32
_EVERY = np.uint32(0xFFFFFFFF)
BLOCK = 512  # rows at a time: the masks of a tree stay in the fastest cache
_FEW = 8  # rows; they are walked one by one, because starting a loop over them takes longer


@kernel()
def trace_trees(
    starts: IntArray,
    left: IntArray,
    right: IntArray,
    is_leaf: BoolArray,
    order: IntArray,
    n_below: IntArray,
) -> bool:
    """Put the nodes of trees in pre-order, and count the leaves below each; false if it fails.

    `starts` has the first node of each tree and at the end the number of nodes. `left` and `right`
    have the children, counted from the first node of the tree. `n_below` is in the new order.
    """
    stack = np.empty(len(order) + 1, dtype=np.int64)
    for t in range(len(starts) - 1):
        start, end = starts[t], starts[t + 1]
        stack[0], depth, n = start, 1, start
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if n >= end or not start <= node < end:
                return False
            order[n] = node
            n += 1
            if not is_leaf[node]:
                stack[depth], stack[depth + 1] = start + right[node], start + left[node]
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


@kernel()
def code_rows(
    rows: FloatArray,
    reads: BoolArray,
    cuts: FloatArray,
    starts: IntArray,
    fill: FloatArray,
    codes: LabelArray,
) -> None:
    """Count the cuts below each value that is read, inputs × rows; `fill` stands for NaN."""
    for f in range(len(reads)):
        if not reads[f]:
            continue
        cuts_here = cuts[starts[f] : starts[f + 1]]
        for r in range(len(rows)):
            x = rows[r, f]
            if x != x:
                x = fill[f]
            below, n = 0, len(cuts_here)
            while n > 0:
                half = n // 2
                if cuts_here[below + half] < x:
                    below += half + 1
                    n -= half + 1
                else:
                    n = half
            codes[f, r] = below


@kernel()
def collapse(
    subsets: BoolArray,
    trees_of: IntArray,
    starts: IntArray,
    inputs: StageArray,
    blank_left: BoolArray,
    known_left: BoolArray,
    left: AnyArray,
    right: AnyArray,
    leaves: SingleArray,
    baseline: FloatArray,
    alive: AnyArray,
    base: FloatArray,
) -> None:
    """Find the leaves that a subset can reach in each tree; trees with one are added to `base`.

    `starts` has the first leaf of each tree; its first node is that less the number of the tree.
    At a node of `known_left`, all rows go left if its input is bought.
    `alive`, subsets × trees, holds 0 for a tree that was added to `base`, subsets × outputs.
    """
    for b in range(len(subsets)):
        t = 0
        for k in range(len(trees_of)):
            base[b, k] = baseline[k]
            for _ in range(trees_of[k]):
                n_leaves = starts[t + 1] - starts[t]
                reached = (np.uint64(1) << np.uint64(n_leaves)) - np.uint64(1)
                for i in range(starts[t] - t, starts[t + 1] - t - 1):
                    is_bought = subsets[b, inputs[i]]
                    if not is_bought or known_left[i]:
                        goes_left = is_bought or blank_left[i]
                        reached &= ~np.uint64(right[i] if goes_left else left[i])
                if reached & (reached - np.uint64(1)) == np.uint64(0):
                    base[b, k] += leaves[starts[t] + lowest_bit(np.uint32(reached))]
                    reached = np.uint64(0)
                alive[b, t] = reached
                t += 1


@helper()
def _keep_leaves(codes, cut, left, kept):
    """Take the leaves on the left from rows that go right."""
    others = ~left
    for r in range(len(codes)):
        kept[r] &= others if codes[r] > cut else _EVERY


@helper()
def _add_to_few(codes, subsets, trees_of, starts, inputs, cuts, left, leaves, alive, base, logits):
    """Add up the trees as `add_trees` does, row after row."""
    for b in range(len(subsets)):
        for r in range(codes.shape[1]):
            t = 0
            for k in range(len(trees_of)):
                total = base[b, k]
                for _ in range(trees_of[k]):
                    mask = np.uint32(alive[b, t])
                    if mask:
                        for i in range(starts[t] - t, starts[t + 1] - t - 1):
                            goes_right = subsets[b, inputs[i]] & (codes[inputs[i], r] > cuts[i])
                            mask &= ~np.uint32(left[i] if goes_right else 0)
                        total += leaves[starts[t] + lowest_bit(mask)]
                    t += 1
                logits[b, k, r] = total


@helper()
def _leaf_values(alive, subset, read, kept, values, mask, reached):
    """Value of the leaf that each row of a block reaches in a tree, for one subset."""
    is_first = True
    for i in range(len(read)):
        if not subset[read[i]]:
            continue
        if is_first:
            is_first = False
            for r in range(len(mask)):
                mask[r] = alive & kept[i, r]
        else:
            for r in range(len(mask)):
                mask[r] &= kept[i, r]
    for r in range(len(mask)):
        reached[r] = values[lowest_bit(mask[r])]


@helper()
def _add(reached, total):
    for r in range(len(reached)):
        total[r] += reached[r]


@kernel()
def add_trees(
    codes: LabelArray,
    subsets: BoolArray,
    trees_of: IntArray,
    starts: IntArray,
    inputs: StageArray,
    cuts: LabelArray,
    left: AnyArray,
    leaves: SingleArray,
    alive: AnyArray,
    order: IntArray,
    base: FloatArray,
    logits: FloatArray,
    kept: AnyArray,
    mask: AnyArray,
) -> None:
    """Add up the trees for rows and subsets: `logits` is subsets × outputs × rows.

    `order`, trees × subsets, puts subsets that reach the same leaves of a tree side by side: a row
    has the same leaf for all of them. `kept`, with a line for each input that a tree may read, and
    `mask` are scratch for a block.
    """
    n_rows, n_inputs = codes.shape[1], len(codes)
    if n_rows <= _FEW:
        _add_to_few(
            codes, subsets, trees_of, starts, inputs, cuts, left, leaves, alive, base, logits
        )
        return
    values = np.empty(MOST_LEAVES + 1)
    reached = np.empty(BLOCK)
    place = np.full(n_inputs, -1)
    read = np.empty(MOST_LEAVES, dtype=np.int64)
    asked = np.zeros(n_inputs, dtype=np.bool_)
    for b in range(len(subsets)):
        for f in range(n_inputs):
            asked[f] |= subsets[b, f]
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        t = 0
        for k in range(len(trees_of)):
            for b in range(len(subsets)):
                logits[b, k, start : start + n] = base[b, k]
            for _ in range(trees_of[k]):
                n_read = 0
                for i in range(starts[t] - t, starts[t + 1] - t - 1):
                    f = inputs[i]
                    if not asked[f]:
                        continue
                    if place[f] < 0:
                        place[f], read[n_read] = n_read, f
                        kept[n_read, :n] = _EVERY
                        n_read += 1
                    _keep_leaves(codes[f, start : start + n], cuts[i], left[i], kept[place[f], :n])
                for i in range(starts[t + 1] - starts[t]):
                    values[i] = leaves[starts[t] + i]
                last = np.uint64(0)
                for j in range(len(subsets)):
                    b = order[t, j]
                    if alive[b, t] == 0:
                        continue
                    if alive[b, t] != last:
                        last = alive[b, t]
                        _leaf_values(
                            last, subsets[b], read[:n_read], kept, values, mask[:n], reached
                        )
                    _add(reached[:n], logits[b, k, start : start + n])
                for i in range(n_read):
                    place[read[i]] = -1
                t += 1


@kernel()
def likeliest_of(
    logits: FloatArray,
    winner: IntArray,
    confidence: FloatArray,
) -> None:
    """Likeliest class and its probability: subsets × rows, of logits subsets × outputs × rows.

    The logits are used up.
    """
    n_rows = logits.shape[2]
    top = np.empty(min(n_rows, BLOCK))
    for b in range(len(logits)):
        for start in range(0, n_rows, BLOCK):
            n = min(BLOCK, n_rows - start)
            rows = slice(start, start + n)
            find_likeliest(logits[b, :, rows], n, top, winner[b, rows], confidence[b, rows])


@kernel()
def shares_of(
    logits: FloatArray,
    probabilities: FloatArray,
) -> None:
    """Probabilities of all classes, rows × classes, of one subset's logits, outputs × rows.

    The largest is the confidence of `likeliest_of`, to the last bit. The logits are used up.
    """
    n_rows = logits.shape[1]
    top, confidence = np.empty(n_rows), np.empty(n_rows)
    winner = np.empty(n_rows, dtype=np.int64)
    find_likeliest(logits, n_rows, top, winner, confidence)
    fill_probabilities(logits, winner, confidence, probabilities)
