"""Bits through designs: the rows that leave at each stage, in all and class by class."""

from __future__ import annotations

import cython
from cython.cimports.emsco._kernels.arrays import (
    Bytes1,
    Bytes2,
    Floats1,
    Floats2,
    Ints1,
    Ints2,
    OutBytes1,
    OutInts1,
    OutInts2,
    OutSingles1,
    OutSingles2,
    OutWords1,
    OutWords2,
    Singles1,
    Stages2,
    Words1,
    Words2,
)
from cython.cimports.emsco._kernels.bits import popcount

_EVERY = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


def mark_rows(
    winner: Bytes2,
    confidence: Floats2,
    truth: Bytes1,
    units: Ints1,
    ends: Ints1,
    places: Ints1,
    order: Ints1,
    thresholds: Floats1,
    slots: Ints1,
    accepted: OutWords2,
    correct: OutWords2,
    sums: OutInts2,
    sure: OutBytes1,
) -> None:
    """Mark the scored rows that models accept at a threshold, and the correct ones, as bits.

    Answers of model ``places[s]`` are marked in slot ``slots[s]``. Bit b stands for row
    ``order[b]``; -1 is padding. A row is accepted where its confidence reaches the threshold of its
    class. `sums` gets the units of the accepted rows of each split, which ends where `ends` says.
    `sure` is scratch for a byte a row.
    """
    n_words = accepted.shape[1]
    accepts: cython.ulonglong
    corrects: cython.ulonglong
    bit: cython.ulonglong
    total: cython.longlong
    is_sure: cython.bint
    is_right: cython.bint
    with cython.nogil:
        for s in range(slots.shape[0]):
            m, slot, begin = places[s], slots[s], 0
            for k in range(ends.shape[0]):
                total = 0
                for r in range(begin, ends[k]):
                    is_sure = confidence[m, r] >= thresholds[winner[m, r]]
                    is_right = is_sure and winner[m, r] == truth[r]
                    sure[r] = (1 if is_sure else 0) + (2 if is_right else 0)
                    total += units[r] if is_sure else 0
                sums[s, k] = total
                begin = ends[k]
            for w in range(n_words):
                accepts, corrects = 0, 0
                for b in range(min(64, order.shape[0] - 64 * w)):
                    r = order[64 * w + b]
                    if r >= 0:
                        bit = sure[r]
                        accepts |= (bit & 1) << b
                        corrects |= (bit >> 1) << b
                accepted[slot, w], correct[slot, w] = accepts, corrects


def count_exits(
    accepted: Words2,
    correct: Words2,
    valid: Words1,
    refused: Bytes1,
    weights: Ints1,
    missing: Words2,
    prices: Ints2,
    priced: Ints1,
    designs: Stages2,
    chains: Ints2,
    n_stages: Ints1,
    ends: Ints1,
    exits: OutInts2,
    correct_exits: OutInts2,
    undecided: OutWords1,
    blocked: OutWords1,
) -> None:
    """Add, per design and stage, the rows that leave there and those that leave correctly.

    `chains` has the slot of each stage. At a slot that is `refused`, every row leaves, and none
    correctly. A row counts as often as `weights` says of its word. Where `missing`, features ×
    words, has a row's bit for a feature that a stage buys, the row does not leave there; `designs`
    has the stage that buys each feature. If `weights` is empty, each row counts once and `missing`
    is ignored. `undecided` and `blocked` are scratch for one bit per row.

    Before the stages, `exits` and `correct_exits` have a column for each class, over all stages, if
    `ends` is not empty: class c has the words from `ends[c]` to `ends[c + 1]`. Before all others
    comes a column for what the rows spend, if some features are `priced`: `prices` has a line for
    each of them, with the price of each bit's row times its weight, 0 for padding. A row pays for
    what a stage buys if it is undecided before.
    """
    n_words = accepted.shape[1]
    is_plain: cython.bint = weights.shape[0] == 0
    n_counted = max(0, ends.shape[0] - 1)
    n_spent = 1 if priced.shape[0] else 0
    here: cython.ulonglong
    right: cython.ulonglong
    with cython.nogil:
        for d in range(chains.shape[0]):
            for w in range(n_words):
                undecided[w] = _EVERY
            for j in range(n_stages[d]):
                m = chains[d, j]
                for f in range(priced.shape[0]):
                    if designs[d, priced[f]] == j:
                        exits[d, 0] += _price_of(undecided, prices, f)
                if not is_plain:
                    _block(missing, designs, d, j, blocked)
                for c in range(max(1, n_counted)):
                    first, end = 0, n_words
                    if n_counted:
                        first, end = ends[c], ends[c + 1]
                    n_leaving, n_correct = 0, 0
                    if is_plain and not refused[m]:
                        for w in range(first, end):
                            n_leaving += popcount(undecided[w] & accepted[m, w])
                            n_correct += popcount(undecided[w] & correct[m, w])
                            undecided[w] &= ~accepted[m, w]
                    else:
                        for w in range(first, end):
                            here = undecided[w] & (valid[w] if refused[m] else accepted[m, w])
                            weight = 1
                            if not is_plain:
                                here &= ~blocked[w]
                                weight = weights[w]
                            right = 0 if refused[m] else here & correct[m, w]
                            n_leaving += weight * popcount(here)
                            n_correct += weight * popcount(right)
                            undecided[w] &= ~here
                    exits[d, n_spent + n_counted + j] += n_leaving
                    correct_exits[d, n_spent + n_counted + j] += n_correct
                    if n_counted:
                        exits[d, n_spent + c] += n_leaving
                        correct_exits[d, n_spent + c] += n_correct


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _block(
    missing: Words2,
    designs: Stages2,
    d: cython.Py_ssize_t,
    stage: cython.Py_ssize_t,
    blocked: OutWords1,
) -> cython.void:
    """Mark the rows that lack a feature which a stage buys."""
    for w in range(blocked.shape[0]):
        blocked[w] = 0
    for i in range(missing.shape[0]):
        if designs[d, i] == stage:
            for w in range(blocked.shape[0]):
                blocked[w] |= missing[i, w]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _price_of(rows: OutWords1, prices: Ints2, f: cython.Py_ssize_t) -> cython.longlong:
    """Sum of the prices of some rows."""
    total: cython.longlong = 0
    bits: cython.ulonglong
    lowest: cython.ulonglong
    for w in range(rows.shape[0]):
        bits = rows[w]
        while bits:
            lowest = bits & (~bits + 1)
            total += prices[f, 64 * w + popcount(lowest - 1)]
            bits ^= lowest
    return total


def follow_stage(
    number: cython.longlong,
    winner: Bytes1,
    sure: Floats1,
    thresholds: Floats1,
    missing: Bytes1,
    given: OutBytes1,
    stage: OutInts1,
    confidence: OutSingles1,
) -> None:
    """Send the rows that are undecided through one stage of a design.

    A row leaves if the stage is sure enough and misses no feature that it buys. `missing` has no
    entry if none is; `thresholds` has one for each class. In `given`, a label of as many as
    there are classes marks a row that is undecided. Where logits are NaN, no class is the winner.
    """
    n_classes = thresholds.shape[0]
    any_missing: cython.bint = missing.shape[0] > 0
    with cython.nogil:
        for i in range(given.shape[0]):
            if given[i] < n_classes:
                continue
            confidence[i] = sure[i]
            stage[i] = number
            if winner[i] >= n_classes or (any_missing and missing[i]):
                continue
            if sure[i] >= thresholds[winner[i]]:
                given[i] = winner[i]


def add_shares(
    given: Bytes1,
    truth: Bytes1,
    paid: Floats1,
    rows: Ints1,
    share: Singles1,
    n_classes: cython.Py_ssize_t,
    sums: OutSingles2,
) -> None:
    """Add up the decisions about each distinct row: answered, correct, and what they cost.

    Decision i is about row ``rows[i]`` and counts by ``share[i]``; `sums` has three lines.
    """
    part: cython.float
    price: cython.float
    with cython.nogil:
        for i in range(given.shape[0]):
            row, part, price = rows[i], share[i], paid[i]
            if given[i] < n_classes:
                sums[0, row] += part
                if given[i] == truth[i]:
                    sums[1, row] += part
            sums[2, row] += part * price


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter(
    accepts: Words2,
    errs: Words2,
    rise: cython.longlong,
    subset: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
    rows: OutWords2,
    counts: OutInts2,
) -> cython.void:
    """One more stage: what stays undecided, and the counts so far, one line further on.

    Counts are of rows undecided, accepted and wrong, and what all have spent; `rise` is what the
    stage costs each row that is still undecided.
    """
    n_leaving = 0
    n_wrong = 0
    for w in range(rows.shape[1]):
        n_leaving += popcount(rows[depth, w] & accepts[subset, w])
        n_wrong += popcount(rows[depth, w] & errs[subset, w])
        rows[depth + 1, w] = rows[depth, w] & ~accepts[subset, w]
    counts[depth + 1, 0] = counts[depth, 0] - n_leaving
    counts[depth + 1, 1] = counts[depth, 1] + n_leaving
    counts[depth + 1, 2] = counts[depth, 2] + n_wrong
    counts[depth + 1, 3] = counts[depth, 3] + counts[depth, 0] * rise


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _end(
    accepts: Words2,
    errs: Words2,
    cost: Ints1,
    paid: cython.longlong,
    subset: cython.Py_ssize_t,
    depth: cython.Py_ssize_t,
    rows: OutWords2,
    counts: OutInts2,
    designs: OutInts2,
    lowest: OutInts2,
    total: OutInts2,
) -> cython.void:
    """Count the design that goes on with a subset and ends with the full set."""
    full = accepts.shape[0] - 1
    n_leaving = 0
    accepted = counts[depth, 1]
    wrong = counts[depth, 2]
    for w in range(rows.shape[1]):
        n_leaving += popcount(rows[depth, w] & accepts[subset, w])
        accepted += popcount(rows[depth, w] & (accepts[subset, w] | accepts[full, w]))
        wrong += popcount(
            rows[depth, w] & (errs[subset, w] | (errs[full, w] & ~accepts[subset, w]))
        )
    spent = counts[depth, 3] + counts[depth, 0] * (cost[full] - paid)
    spent -= n_leaving * (cost[full] - cost[subset])
    designs[accepted, accepted - wrong] += 1
    total[accepted, accepted - wrong] += spent
    lowest[accepted, accepted - wrong] = min(lowest[accepted, accepted - wrong], spent)


def tally_designs(
    accepts: Words2,
    errs: Words2,
    cost: Ints1,
    firsts: Ints1,
    max_subsets: cython.Py_ssize_t,
    rows: OutWords2,
    counts: OutInts2,
    chain: OutInts2,
    designs: OutInts2,
    lowest: OutInts2,
    total: OutInts2,
) -> None:
    """Count designs whose chain of subsets before the full set begins with one of `firsts`.

    Chains have at most `max_subsets` subsets, and the full set comes after each. `rows[d]` and
    `counts[d]` are what is undecided, and the counts, after d subsets: `rows[0]` is every row, and
    `counts[0]` says how many there are. `chain`, all 0, has a place for each subset and one more:
    itself, and what the one after it adds to it. Tables are by accepted and correct rows.
    """
    full = accepts.shape[0] - 1
    with cython.nogil:
        for f in range(firsts.shape[0]):
            depth, subset = 0, firsts[f]
            while True:
                paid = cost[chain[0, depth]]
                _end(accepts, errs, cost, paid, subset, depth, rows, counts, designs, lowest, total)
                if depth + 1 < max_subsets:
                    _enter(accepts, errs, cost[subset] - paid, subset, depth, rows, counts)
                    depth += 1
                    chain[0, depth] = subset
                    chain[1, depth] = full & ~subset
                # To the next larger subset, or back to where another one follows.
                while depth > 0:
                    chain[1, depth] = (chain[1, depth] - 1) & (full & ~chain[0, depth])
                    if chain[1, depth] != 0:
                        break
                    depth -= 1
                if depth == 0:
                    break
                subset = chain[0, depth] | chain[1, depth]
