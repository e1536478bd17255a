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

import cython
from cython.cimports.emsco._kernels.arrays import (
    Bytes1,
    Floats1,
    Floats2,
    Ints1,
    Ints2,
    OutFloats1,
    OutFloats2,
    OutInts1,
    OutInts2,
    OutWords2,
    Words2,
    Words3,
)
from cython.cimports.emsco._kernels.bits import popcount

from emsco._base.typing import BoolArray, FloatArray, IntArray, WordArray

_EVERY = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
_MIX = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
_MIX_WRONG = cython.declare(cython.ulonglong, 0xC2B2AE3D27D4EB4F)


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
    weights: IntArray  # how much each row of a word counts
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
    counts: IntArray  # rows that leave at the stage tried now by level; then wrong ones
    at: IntArray  # current line; -1 at the end of the walk


class Finds(NamedTuple):
    """Objectives of designs that no known one beats, and the simplest design of each."""

    numbers: IntArray  # accepted, wrong, stages, designs, code of the stages, code of the levels
    spent: FloatArray
    slots: IntArray  # where each vector is, by hash
    tally: IntArray  # finds, subsets tried, designs settled


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _allowance(
    known: Floats2, accepted: cython.longlong, wrong: cython.longlong, shift: cython.int
) -> cython.double:
    """As in `chains`, where a call from here would take longer."""
    line: cython.longlong = 1
    return known[(accepted + (line << shift) - 1) >> shift, wrong >> shift]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note(
    numbers: OutInts2,
    costs: OutFloats1,
    slots: OutInts1,
    tally: OutInts1,
    accepted: cython.longlong,
    wrong: cython.longlong,
    spent: cython.double,
    stages: cython.longlong,
    count: cython.longlong,
    code: cython.longlong,
    levels: cython.longlong,
    apart: cython.bint,
) -> cython.void:
    """Add a design, or count it with those that have its objectives."""
    mask: cython.ulonglong = slots.shape[0] - 1
    place: cython.ulonglong = 0
    h: cython.ulonglong = cython.cast(cython.ulonglong, accepted)
    if not apart:
        h = (h * _MIX) & _EVERY
        h = ((h ^ cython.cast(cython.ulonglong, wrong)) * _MIX_WRONG) & _EVERY
        whole = cython.cast(cython.longlong, spent * 64.0)
        h = ((h ^ cython.cast(cython.ulonglong, whole)) * _MIX) & _EVERY
        place = (h ^ (h >> 29)) & mask
        while slots[place] >= 0:
            i = slots[place]
            if numbers[i, 0] == accepted and numbers[i, 1] == wrong and costs[i] == spent:
                numbers[i, 3] += count
                # Fewer stages, else the lower code of the stages, else that of the levels.
                if stages < numbers[i, 2] or (
                    stages == numbers[i, 2]
                    and (code < numbers[i, 4] or (code == numbers[i, 4] and levels < numbers[i, 5]))
                ):
                    numbers[i, 2], numbers[i, 4], numbers[i, 5] = stages, code, levels
                return
            place = (place + 1) & mask
    i = tally[0]
    slots[place] = i
    numbers[i, 0], numbers[i, 1], numbers[i, 2] = accepted, wrong, stages
    numbers[i, 3], numbers[i, 4], numbers[i, 5] = count, code, levels
    costs[i] = spent
    tally[0] = i + 1


def walk(
    rules: WalkRules,
    arrays: WalkArrays,
    known: Floats2,
    path: Path,
    finds: Finds,
    n_early: cython.longlong,
    n_last: cython.longlong,
    budget: cython.longlong,
) -> None:
    """Go on along a path until its end, or `budget` subsets are tried, or finds are many.

    Finds have room for as many designs as `finds.numbers` has lines, and keep some of it for all
    levels of a subset.

    One long loop on purpose, as in `chains`.
    """
    n_rows: cython.longlong = rules.n_rows
    max_stages: cython.longlong = rules.max_stages
    may_stop: cython.bint = rules.may_stop
    evaluation: cython.double = rules.evaluation
    most_paid: cython.double = rules.most_paid
    slack: cython.double = rules.slack
    shift: cython.int = rules.shift
    apart: cython.bint = rules.apart
    bits: Words3 = arrays.bits
    bounds: Words3 = arrays.bounds
    early: Bytes1 = arrays.early
    last: Bytes1 = arrays.last
    missing: Words2 = arrays.missing
    missing_mask: cython.longlong = arrays.missing_mask
    weights: Ints1 = arrays.weights
    cost: Floats1 = arrays.cost
    next_cost: Floats1 = arrays.next_cost
    place: Ints2 = arrays.place
    ways: Ints2 = arrays.ways
    numbers: OutInts2 = path.numbers
    amounts: OutFloats2 = path.amounts
    tried: OutInts1 = path.tried
    undecided: OutWords2 = path.undecided
    blocked: OutWords2 = path.blocked
    counts: OutInts2 = path.counts
    at: OutInts1 = path.at
    found: OutInts2 = finds.numbers
    found_spent: OutFloats1 = finds.spent
    slots: OutInts1 = finds.slots
    tally: OutInts1 = finds.tally
    full: cython.longlong = cost.shape[0] - 1
    n_words = bits.shape[1]
    n_levels = bits.shape[2] // 2
    room = found.shape[0] - n_levels
    strict = 1.0 - slack
    n_others = 0 if apart else n_levels  # levels that a level may do the same as
    d: cython.Py_ssize_t
    rows: cython.ulonglong
    n_open: cython.longlong
    n_doomed: cython.longlong
    accepted: cython.longlong
    wrong: cython.longlong
    n_designs: cython.longlong
    only: cython.bint
    may_end: cython.bint
    dear: cython.bint
    same: cython.bint
    is_new: cython.bint
    with cython.nogil:
        d = at[0]
        while d >= 0 and tally[1] < budget and tally[0] <= room:
            subset, accepted, wrong = numbers[d, 0], numbers[d, 3], numbers[d, 4]
            n_designs = numbers[d, 5]
            stages = d + 1
            n_left = n_rows - accepted
            if numbers[d, 2] >= n_levels:
                # Try the next subset: first as the last stage, then as one before it.
                added = numbers[d, 1]
                if added == 0:
                    d -= 1
                    continue
                t = subset | added
                # A walk has one first subset. Without a choice, the last stage buys everything.
                only = d == 0 or (stages == max_stages and not may_stop)
                numbers[d, 1] = 0 if only else (added - 1) & (full ^ subset)
                left = popcount(full ^ t)
                may_end = may_stop or t == full
                n_later = ways[left, max_stages - stages] * n_early
                n_all = n_later + (n_last if may_end else 0)
                tally[1] += 1
                rise = cost[t] - cost[subset] + evaluation
                spent = amounts[d, 0] + n_left * rise
                dear = cost[t] + stages * evaluation > most_paid
                if amounts[d, 1] < spent * strict or dear:
                    tally[2] += n_designs * n_all
                    continue
                bought = (t ^ subset) & missing_mask
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
                        more = accepted + counts[d, level]
                        worse = wrong + counts[d, n_levels + level]
                        if _allowance(known, more, worse, shift) >= spent * strict:
                            _note(
                                found, found_spent, slots, tally,
                                more, worse, spent, stages, n_designs,
                                numbers[d, 6] + stages * (place[0, t] - place[0, subset]),
                                numbers[d, 7] + level * (place[1, t] - place[1, subset]), apart,
                            )  # fmt: skip
                if n_later:
                    numbers[d, 2], tried[d], amounts[d, 2] = 0, t, spent
                continue
            # Try the next level of the subset as a stage before the last.
            level, t = numbers[d, 2], tried[d]
            numbers[d, 2] = level + 1
            if not early[level]:
                continue
            n_same, is_new = 1, True
            for other in range(n_others):
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
            accepted += counts[d, level]
            wrong += counts[d, n_levels + level]
            n_open, n_doomed = 0, 0
            for w in range(n_words):
                weight, rows = weights[w], undecided[d, w]
                rows &= blocked[d, w] | ~bits[t, w, level]
                undecided[d + 1, w] = rows
                n_open += weight * popcount(rows & bounds[t, w, 0])
                n_doomed += weight * popcount(rows & bounds[t, w, 1])
            max_accepted = accepted + n_open
            allowed = _allowance(known, max_accepted, wrong + n_doomed, shift)
            # All undecided rows pay for one more stage, and those that nobody accepts for
            # everything if designs buy everything.
            spent = amounts[d, 2]
            min_spent = spent + (n_rows - accepted) * next_cost[t]
            if not may_stop:
                rest = cost[full] - cost[t] + evaluation
                min_spent += (n_rows - max_accepted) * (rest - next_cost[t])
            if allowed < min_spent * strict:
                left = popcount(full ^ t)
                tally[2] += n_designs * ways[left, max_stages - stages]
                continue
            code, levels = numbers[d, 6], numbers[d, 7]
            new = place[0, t] - place[0, subset]
            digits_new = place[1, t] - place[1, subset]
            d += 1
            numbers[d, 0], numbers[d, 1], numbers[d, 2] = t, full ^ t, n_levels
            numbers[d, 3], numbers[d, 4], numbers[d, 5] = accepted, wrong, n_designs
            numbers[d, 6] = code + stages * new
            numbers[d, 7] = levels + level * digits_new
            amounts[d, 0], amounts[d, 1] = spent, allowed
        at[0] = d
