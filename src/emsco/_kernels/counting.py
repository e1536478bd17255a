"""Bits through designs: the rows that leave at each stage, in all and class by class."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import IntArray, StageArray, WordArray
from emsco._kernels.bits import popcount
from emsco._kernels.compiling import helper, kernel


@helper()
def _count(undecided, leaving, correct_bits):
    """Rows that leave and rows that leave correctly; they are undecided no more."""
    n_leaving, n_correct = np.uint64(0), np.uint64(0)
    for w in range(len(undecided)):
        n_leaving += popcount(undecided[w] & leaving[w])
        n_correct += popcount(undecided[w] & correct_bits[w])
        undecided[w] &= ~leaving[w]
    return np.int64(n_leaving), np.int64(n_correct)


@helper()
def _count_weighted(undecided, leaving, correct_bits, weights, blocked):
    """Count as `_count`, each row as often as its word says; a blocked row stays."""
    n_leaving, n_correct = np.int64(0), np.int64(0)
    for w in range(len(undecided)):
        free = undecided[w] & ~blocked[w]
        n_leaving += weights[w] * np.int64(popcount(free & leaving[w]))
        n_correct += weights[w] * np.int64(popcount(free & correct_bits[w]))
        undecided[w] &= ~(free & leaving[w])
    return n_leaving, n_correct


@kernel()
def count_exits(
    accepted: WordArray,
    correct: WordArray,
    weights: IntArray,
    missing: WordArray,
    designs: StageArray,
    chains: IntArray,
    n_stages: IntArray,
    exits: IntArray,
    correct_exits: IntArray,
    undecided: WordArray,
    blocked: WordArray,
) -> None:
    """Add, per design and stage, the rows that leave there and those that leave correctly.

    A row counts as often as `weights` says of its word. Where `missing`, features × words, has a
    row's bit for a feature that a stage buys, the row does not leave there; `designs` has the
    stage that buys each feature. If `weights` is empty, each row counts once and `missing` is
    ignored. `undecided` and `blocked` are scratch for one bit per row.
    """
    n_words = accepted.shape[1]
    is_plain = len(weights) == 0
    for d in range(chains.shape[0]):
        for w in range(n_words):
            undecided[w] = ~np.uint64(0)
        for j in range(n_stages[d]):
            leaving, correct_bits = accepted[chains[d, j]], correct[chains[d, j]]
            if is_plain:
                n_leaving, n_correct = _count(undecided, leaving, correct_bits)
            else:
                for w in range(n_words):
                    blocked[w] = 0
                for i in range(len(missing)):
                    if designs[d, i] == j:
                        for w in range(n_words):
                            blocked[w] |= missing[i, w]
                n_leaving, n_correct = _count_weighted(
                    undecided, leaving, correct_bits, weights, blocked
                )
            exits[d, j] += n_leaving
            correct_exits[d, j] += n_correct


@kernel()
def count_exits_by_class(
    accepted: WordArray,
    correct: WordArray,
    weights: IntArray,
    missing: WordArray,
    designs: StageArray,
    chains: IntArray,
    n_stages: IntArray,
    exits: IntArray,
    correct_exits: IntArray,
    undecided: WordArray,
    blocked: WordArray,
    ends: IntArray,
) -> None:
    """Count as `count_exits`, and also by class, where words are sorted by class.

    Class c has the words from `ends[c]` to `ends[c + 1]`. `exits` and `correct_exits` have a
    column for each class, over all stages, before those of the stages.
    """
    n_classes = len(ends) - 1
    is_plain = len(weights) == 0
    for d in range(chains.shape[0]):
        for c in range(n_classes):
            first, end = ends[c], ends[c + 1]
            undecided[first:end] = ~np.uint64(0)
            for j in range(n_stages[d]):
                leaving = accepted[chains[d, j], first:end]
                correct_bits = correct[chains[d, j], first:end]
                if is_plain:
                    n_leaving, n_correct = _count(undecided[first:end], leaving, correct_bits)
                else:
                    blocked[first:end] = 0
                    for i in range(len(missing)):
                        if designs[d, i] == j:
                            for w in range(first, end):
                                blocked[w] |= missing[i, w]
                    n_leaving, n_correct = _count_weighted(
                        undecided[first:end],
                        leaving,
                        correct_bits,
                        weights[first:end],
                        blocked[first:end],
                    )
                exits[d, c] += n_leaving
                correct_exits[d, c] += n_correct
                exits[d, n_classes + j] += n_leaving
                correct_exits[d, n_classes + j] += n_correct


@helper()
def _price_of(rows, prices):
    """Sum of the prices of some rows."""
    total = np.int64(0)
    for w in range(len(rows)):
        bits, base = rows[w], 64 * w
        while bits:
            lowest = bits & (~bits + np.uint64(1))
            total += prices[base + np.int64(popcount(lowest - np.uint64(1)))]
            bits ^= lowest
    return total


@kernel()
def add_prices(
    accepted: WordArray,
    missing: WordArray,
    prices: IntArray,
    priced: IntArray,
    designs: StageArray,
    chains: IntArray,
    spent: IntArray,
    undecided: WordArray,
) -> None:
    """Add to `spent`, per design, what all rows together pay for features with prices by row.

    `prices` has a line for each such feature, `priced` says which it is, and a column for each bit:
    the price of its row, times its weight, and 0 for padding. A row pays for what a stage buys if
    it is undecided before. `missing` blocks rows as in `count_exits`.
    """
    n_words = accepted.shape[1]
    for d in range(chains.shape[0]):
        last = -1  # stage after which no priced feature is bought
        for f in range(len(priced)):
            last = max(last, designs[d, priced[f]])
        for w in range(n_words):
            undecided[w] = ~np.uint64(0)
        for j in range(last + 1):
            for f in range(len(priced)):
                if designs[d, priced[f]] == j:
                    spent[d] += _price_of(undecided, prices[f])
            if j == last:
                break
            leaving = accepted[chains[d, j]]
            for w in range(n_words):
                blocked = np.uint64(0)
                for i in range(len(missing)):
                    if designs[d, i] == j:
                        blocked |= missing[i, w]
                undecided[w] &= ~(leaving[w] & ~blocked)
