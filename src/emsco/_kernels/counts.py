"""Bits through designs: the rows that leave at each stage, in all and class by class."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import (
    BoolArray,
    FloatArray,
    IntArray,
    LabelArray,
    SingleArray,
    StageArray,
    WordArray,
)
from emsco._kernels.bits import popcount
from emsco._kernels.compiler import helper, kernel


@helper()
def _count(undecided, leaving, correct_bits, first, end):
    """Rows of some words that leave, and that leave correctly; they are undecided no more."""
    n_leaving, n_correct = np.uint64(0), np.uint64(0)
    # Positions that cannot be negative spare a look at their sign, and take SIMD lanes.
    for w in range(np.uint64(first), np.uint64(end)):
        n_leaving += popcount(undecided[w] & leaving[w])
        n_correct += popcount(undecided[w] & correct_bits[w])
        undecided[w] &= ~leaving[w]
    return np.int64(n_leaving), np.int64(n_correct)


@helper()
def _count_weighted(undecided, leaving, correct_bits, weights, blocked, first, end):
    """Count as `_count`, each row as often as its word says; a blocked row stays."""
    n_leaving, n_correct = np.int64(0), np.int64(0)
    for w in range(np.uint64(first), np.uint64(end)):
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
    ends: IntArray,
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

    If `ends` is not empty, rows are also counted by class: class c has the words from `ends[c]` to
    `ends[c + 1]`, and `exits` and `correct_exits` have a column for each class, over all stages,
    before those of the stages.
    """
    n_words, is_plain = accepted.shape[1], len(weights) == 0
    n_counted = max(0, len(ends) - 1)
    for d in range(chains.shape[0]):
        for w in range(n_words):
            undecided[w] = ~np.uint64(0)
        for j in range(n_stages[d]):
            leaving, correct_bits = accepted[chains[d, j]], correct[chains[d, j]]
            if not is_plain:
                for w in range(n_words):
                    blocked[w] = 0
                for i in range(len(missing)):
                    if designs[d, i] == j:
                        for w in range(n_words):
                            blocked[w] |= missing[i, w]
            for c in range(max(1, n_counted)):
                first, end = (ends[c], ends[c + 1]) if n_counted else (0, n_words)
                if is_plain:
                    n_leaving, n_correct = _count(undecided, leaving, correct_bits, first, end)
                else:
                    n_leaving, n_correct = _count_weighted(
                        undecided, leaving, correct_bits, weights, blocked, first, end
                    )
                exits[d, n_counted + j] += n_leaving
                correct_exits[d, n_counted + j] += n_correct
                if n_counted:
                    exits[d, c] += n_leaving
                    correct_exits[d, c] += n_correct


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


@kernel()
def code_rows(
    truth: IntArray,
    given: LabelArray,
    stage: IntArray,
    confidence: SingleArray,
    codes: LabelArray,
    counts: IntArray,
    sure: FloatArray,
) -> None:
    """Code what happened to each row: three times its stage, plus 1 if correct and 2 if wrong.

    `counts` is codes × classes, and `sure` has a number for each stage: the summed confidence of
    the rows that are answered there. Both must be 0.
    """
    n_classes = counts.shape[1]
    for i in range(len(truth)):
        code = 3 * stage[i]
        if given[i] < n_classes:
            code += 1 if given[i] == truth[i] else 2
            sure[stage[i]] += confidence[i]
        codes[i] = np.uint8(code)
        counts[code, truth[i]] += 1


@kernel()
def count_pairs(
    first: LabelArray,
    second: LabelArray,
    truth: IntArray,
    counts: IntArray,
) -> None:
    """Count rows by two codes and their class; `counts` must be 0."""
    for i in range(len(truth)):
        counts[first[i], second[i], truth[i]] += 1


@kernel()
def follow_stage(
    number: int,
    winner: LabelArray,
    sure: FloatArray,
    thresholds: FloatArray,
    missing: BoolArray,
    given: LabelArray,
    stage: IntArray,
    confidence: SingleArray,
) -> None:
    """Send the rows that are undecided through one stage of a design.

    A row leaves if the stage is sure enough and misses no feature that it buys. `missing` has no
    entry if none is; `thresholds` has one for each class. In `given`, a label of as many as
    there are classes marks a row that is undecided.
    """
    n_classes = len(thresholds)
    for i in range(len(given)):
        if given[i] < n_classes:
            continue
        label = winner[i]
        confidence[i] = sure[i]
        stage[i] = number
        if sure[i] >= thresholds[label] and not (len(missing) and missing[i]):
            given[i] = label


@kernel()
def add_shares(
    given: LabelArray,
    stage: IntArray,
    truth: IntArray,
    rows: IntArray,
    share: SingleArray,
    paid: FloatArray,
    n_classes: int,
    sums: SingleArray,
) -> None:
    """Add up the decisions about each distinct row: answered, correct, and what they cost.

    Decision i is about row ``rows[i]`` and counts by ``share[i]``; `sums` has three lines.
    """
    for i in range(len(given)):
        row, part = rows[i], share[i]
        if given[i] < n_classes:
            sums[0, row] += part
            if given[i] == truth[i]:
                sums[1, row] += part
        sums[2, row] += part * np.float32(paid[stage[i]])


@helper()
def _enter(accepts, errs, cost, paid, subset, rows, before, left, after):
    """One more stage: what stays undecided, into `left`, and the counts so far, into `after`.

    Counts are of rows undecided, accepted and wrong, and what all have spent; `paid` is what those
    still undecided have cost each.
    """
    n_leaving, n_wrong = np.uint64(0), np.uint64(0)
    for w in range(len(rows)):
        n_leaving += popcount(rows[w] & accepts[subset, w])
        n_wrong += popcount(rows[w] & errs[subset, w])
        left[w] = rows[w] & ~accepts[subset, w]
    after[0] = before[0] - np.int64(n_leaving)
    after[1] = before[1] + np.int64(n_leaving)
    after[2] = before[2] + np.int64(n_wrong)
    after[3] = before[3] + before[0] * (cost[subset] - paid)


@helper()
def _end(accepts, errs, cost, paid, subset, rows, before, designs, lowest, total):
    """Count the design that goes on with a subset and ends with the full set."""
    full = len(accepts) - 1
    n_leaving, n_accepted, n_wrong = np.uint64(0), np.uint64(0), np.uint64(0)
    for w in range(len(rows)):
        here = rows[w] & accepts[subset, w]
        n_leaving += popcount(here)
        n_accepted += popcount(rows[w] & (accepts[subset, w] | accepts[full, w]))
        n_wrong += popcount(rows[w] & (errs[subset, w] | (errs[full, w] & ~accepts[subset, w])))
    spent = before[3] + before[0] * (cost[full] - paid)
    spent -= np.int64(n_leaving) * (cost[full] - cost[subset])
    accepted = before[1] + np.int64(n_accepted)
    correct = accepted - before[2] - np.int64(n_wrong)
    designs[accepted, correct] += 1
    total[accepted, correct] += spent
    lowest[accepted, correct] = min(lowest[accepted, correct], spent)


@kernel()
def tally_designs(
    accepts: WordArray,
    errs: WordArray,
    cost: IntArray,
    firsts: IntArray,
    max_subsets: int,
    rows: WordArray,
    counts: IntArray,
    designs: IntArray,
    lowest: IntArray,
    total: IntArray,
) -> None:
    """Count designs whose chain of subsets before the full set begins with one of `firsts`.

    Chains have at most `max_subsets` subsets, and the full set comes after each. `rows[d]` and
    `counts[d]` are what is undecided, and the counts, after d subsets: `rows[0]` is every row, and
    `counts[0]` says how many there are. Tables are by accepted and correct rows.
    """
    full = len(accepts) - 1
    chain = np.zeros(max_subsets + 1, dtype=np.int64)
    more = np.zeros(max_subsets + 1, dtype=np.int64)  # what the subset after this one adds to it
    for first in firsts:
        depth, subset = 0, first
        while True:
            paid, here = cost[chain[depth]], counts[depth]
            _end(accepts, errs, cost, paid, subset, rows[depth], here, designs, lowest, total)
            if depth + 1 < max_subsets:
                after = counts[depth + 1]
                _enter(accepts, errs, cost, paid, subset, rows[depth], here, rows[depth + 1], after)
                depth += 1
                chain[depth] = subset
                more[depth] = full & ~subset
            # To the next larger subset, or back to where another one follows.
            while depth > 0:
                more[depth] = (more[depth] - 1) & (full & ~chain[depth])
                if more[depth] != 0:
                    break
                depth -= 1
            if depth == 0:
                break
            subset = chain[depth] | more[depth]
