"""A walk through all chains of subsets with a threshold, *level*, for each stage.

The walk goes deeper stage by stage and keeps nothing but the chain that it is at: the rows that are
undecided after each of its stages, and what they have cost. It may pause anywhere and go on later.

A chain is given up when a known design beats all that it can lead to. From a chain one can tell the
most rows that any future accepts, the fewest of them that are wrong, and the least that it costs.
Sharper bounds were tried: the most rows that any future labels correctly, and a look at a subset
before its rows are counted. They took longer than they saved.

Levels of a stage at which the same rows leave have the same futures. One of them, the lowest, goes
on for all of them. So a chain stands for a number of designs. Those that are given up or scored are
counted as settled; at the end their sum must be the size of the space.

With one level, a walk finds the fronts and ties of `chains`, but as it keeps no labels it meets the
same state again and again, the more often the more stages there are (lab/REPORT.md). Labels, in
turn, have one level alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, WordArray
from emsco._kernels.bits import popcount
from emsco._kernels.chains import allowance
from emsco._kernels.compiler import helper, kernel


class WalkRules(NamedTuple):
    """Numbers that hold for a whole walk."""

    n_rows: int
    max_stages: int
    may_stop: bool  # whether a design may leave features out
    evaluation: float
    most_paid: float  # largest cost of a row that is rejected
    slack: float  # costs this close, relatively, are equal
    shift: int  # allowances have a line for every 2 ** shift rows
    apart: bool  # whether each design is noted on its own, not one for all with its objectives


class WalkArrays(NamedTuple):
    """Rows and costs of every subset at every level, with bounds on what may follow."""

    bits: WordArray  # accepted rows by subset, word and level; then those with the wrong label
    bounds: WordArray  # rows that a larger subset accepts; those sure to be accepted, all wrong
    early: BoolArray  # levels of a stage before the last
    last: BoolArray  # levels of the last stage
    missing: WordArray  # rows that lack some of these features, by subset of `missing_mask`
    missing_mask: int
    weights: WordArray  # how much each row of a word counts
    cost: FloatArray
    next_cost: FloatArray  # least that one more stage costs
    place: IntArray  # sum of the digits' values of a subset's features, in two numbers: see `Finds`
    ways: IntArray  # ways to go on with m features in at most r stages, by m and r


class Path(NamedTuple):
    """The chain that a walk is at. Lines are stages; the first line is the empty chain."""

    numbers: IntArray  # subset, next features, next level, accepted, wrong, designs, two codes
    amounts: FloatArray  # spent; most that a future may cost; spent after the stage tried now
    tried: IntArray  # the subset that the next stage tries now
    undecided: WordArray
    blocked: WordArray  # rows that lack a feature which the stage tried now buys
    counts: WordArray  # rows that leave at the stage tried now by level; then wrong ones
    at: IntArray  # current line; -1 at the end of the walk


class Finds(NamedTuple):
    """Objectives of designs that no known one beats, and the simplest design of each."""

    numbers: IntArray  # accepted, wrong, stages, designs, code of the stages, code of the levels
    spent: FloatArray
    slots: IntArray  # where each vector is, by hash
    tally: IntArray  # finds, subsets tried, designs settled


@helper()
def _note(finds, accepted, wrong, spent, stages, count, code, levels, apart):
    """Add a design, or count it with those that have its objectives."""
    numbers, slots = finds.numbers, finds.slots
    mask = np.uint64(len(slots) - 1)
    place = np.uint64(0)
    if not apart:
        h = np.uint64(accepted) * np.uint64(0x9E3779B97F4A7C15)
        h = (h ^ np.uint64(wrong)) * np.uint64(0xC2B2AE3D27D4EB4F)
        h = (h ^ np.uint64(np.int64(spent * 64.0))) * np.uint64(0x9E3779B97F4A7C15)
        place = (h ^ (h >> np.uint64(29))) & mask
        while slots[place] >= 0:
            i = slots[place]
            if numbers[i, 0] == accepted and numbers[i, 1] == wrong and finds.spent[i] == spent:
                numbers[i, 3] += count
                if (stages, code, levels) < (numbers[i, 2], numbers[i, 4], numbers[i, 5]):
                    numbers[i, 2], numbers[i, 4], numbers[i, 5] = stages, code, levels
                return
            place = (place + np.uint64(1)) & mask
    i = finds.tally[0]
    slots[place] = i
    numbers[i, 0], numbers[i, 1], numbers[i, 2] = accepted, wrong, stages
    numbers[i, 3], numbers[i, 4], numbers[i, 5] = count, code, levels
    finds.spent[i] = spent
    finds.tally[0] = i + 1


@kernel()
def walk(
    rules: WalkRules,
    arrays: WalkArrays,
    known: FloatArray,
    path: Path,
    finds: Finds,
    n_early: int,
    n_last: int,
    budget: int,
) -> None:
    """Go on along a path until its end, or `budget` subsets are tried, or finds are many.

    Finds have room for as many designs as `finds.numbers` has lines, and keep some of it for all
    levels of a subset.

    One long loop on purpose, as in `chains`.
    """
    bits, bounds, early, last = arrays.bits, arrays.bounds, arrays.early, arrays.last
    missing, weights, cost = arrays.missing, arrays.weights, arrays.cost
    next_cost, place, ways = arrays.next_cost, arrays.place, arrays.ways
    full = len(cost) - 1
    n_words, n_levels = bits.shape[1], bits.shape[2] // 2
    numbers, amounts, undecided, blocked = path.numbers, path.amounts, path.undecided, path.blocked
    counts, tally = path.counts, finds.tally
    room = len(finds.numbers) - n_levels
    strict = 1.0 - rules.slack
    d = path.at[0]
    while d >= 0 and tally[1] < budget and tally[0] <= room:
        subset, accepted, wrong = numbers[d, 0], numbers[d, 3], numbers[d, 4]
        n_designs = numbers[d, 5]
        stages = d + 1
        n_left = rules.n_rows - accepted
        if numbers[d, 2] >= n_levels:
            # Try the next subset: first as the last stage, then as one before it.
            added = numbers[d, 1]
            if added == 0:
                d -= 1
                continue
            t = subset | added
            # A walk has one first subset. Without a choice, the last stage buys everything.
            only = d == 0 or (stages == rules.max_stages and not rules.may_stop)
            numbers[d, 1] = 0 if only else (added - 1) & (full ^ subset)
            left = np.int64(popcount(np.uint64(full ^ t)))
            may_end = rules.may_stop or t == full
            n_later = ways[left, rules.max_stages - stages] * n_early
            n_all = n_later + (n_last if may_end else 0)
            tally[1] += 1
            rise = cost[t] - cost[subset] + rules.evaluation
            spent = amounts[d, 0] + n_left * rise
            dear = cost[t] + stages * rules.evaluation > rules.most_paid
            if amounts[d, 1] < spent * strict or dear:
                tally[2] += n_designs * n_all
                continue
            bought = (t ^ subset) & arrays.missing_mask
            for i in range(2 * n_levels):
                counts[d, i] = 0
            for w in range(n_words):
                blocked[d, w] = missing[bought, w]
                weight, rows = weights[w], undecided[d, w] & ~missing[bought, w]
                if weight == 1:  # so that the loop needs no multiplication
                    for i in range(2 * n_levels):
                        counts[d, i] += popcount(rows & bits[t, w, i])
                else:
                    for i in range(2 * n_levels):
                        counts[d, i] += weight * popcount(rows & bits[t, w, i])
            if may_end:
                tally[2] += n_designs * n_last
                for level in range(n_levels):
                    if not last[level]:
                        continue
                    more = accepted + np.int64(counts[d, level])
                    worse = wrong + np.int64(counts[d, n_levels + level])
                    if allowance(known, more, worse, rules.shift) >= spent * strict:
                        _note(
                            finds, more, worse, spent, stages, n_designs,
                            numbers[d, 6] + stages * (place[0, t] - place[0, subset]),
                            numbers[d, 7] + level * (place[1, t] - place[1, subset]), rules.apart,
                        )  # fmt: skip
            if n_later:
                numbers[d, 2], path.tried[d], amounts[d, 2] = 0, t, spent
            continue
        # Try the next level of the subset as a stage before the last.
        level, t = numbers[d, 2], path.tried[d]
        numbers[d, 2] = level + 1
        if not early[level]:
            continue
        n_same, is_new = 1, True
        for other in range(0 if rules.apart else n_levels):
            if (
                other == level
                or not early[other]
                or counts[d, other] != counts[d, level]
                or counts[d, n_levels + other] != counts[d, n_levels + level]
            ):
                continue
            same = True
            for w in range(n_words):
                rows = bits[t, w, level] ^ bits[t, w, other]
                same &= (rows & undecided[d, w] & ~blocked[d, w]) == 0
            if same:
                n_same += 1
                is_new &= other > level
        if not is_new:  # a lower level went on for this one
            continue
        n_designs *= n_same
        accepted += np.int64(counts[d, level])
        wrong += np.int64(counts[d, n_levels + level])
        n_open, n_doomed = np.uint64(0), np.uint64(0)
        for w in range(n_words):
            weight, rows = weights[w], undecided[d, w]
            rows &= blocked[d, w] | ~bits[t, w, level]
            undecided[d + 1, w] = rows
            n_open += weight * popcount(rows & bounds[t, w, 0])
            n_doomed += weight * popcount(rows & bounds[t, w, 1])
        max_accepted = accepted + np.int64(n_open)
        allowed = allowance(known, max_accepted, wrong + np.int64(n_doomed), rules.shift)
        # All undecided rows pay for one more stage, and those that nobody accepts for everything
        # if designs buy everything.
        spent = amounts[d, 2]
        min_spent = spent + (rules.n_rows - accepted) * next_cost[t]
        if not rules.may_stop:
            rest = cost[full] - cost[t] + rules.evaluation
            min_spent += (rules.n_rows - max_accepted) * (rest - next_cost[t])
        if allowed < min_spent * strict:
            left = np.int64(popcount(np.uint64(full ^ t)))
            tally[2] += n_designs * ways[left, rules.max_stages - stages]
            continue
        before = numbers[d, 6], numbers[d, 7]
        new = place[0, t] - place[0, subset]
        digits_new = place[1, t] - place[1, subset]
        d += 1
        numbers[d, 0], numbers[d, 1], numbers[d, 2] = t, full ^ t, n_levels
        numbers[d, 3], numbers[d, 4], numbers[d, 5] = accepted, wrong, n_designs
        numbers[d, 6] = before[0] + stages * new
        numbers[d, 7] = before[1] + level * digits_new
        amounts[d, 0], amounts[d, 1] = spent, allowed
    path.at[0] = d
