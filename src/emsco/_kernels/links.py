"""Chains of subsets whose models are fitted, with a threshold for each stage.

A *label* is a chain with its thresholds: the rows still undecided, the rows accepted and wrong, and
what was spent. Chains grow from small subsets to large ones, as in `chains`. Here the subsets are
a list, each has bits for several thresholds (*levels*), and only some labels of a subset are kept.
A label is dropped if another one of its subset is at least as good in accepted rows, wrong rows,
cost and stages; of too many, those that come nearest to the front stay. So the result is a good
front, not a proven one.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
from cython.cimports.emsco._kernels.arrays import (
    Bytes1,
    Floats1,
    Floats2,
    Ints1,
    OutFloats1,
    OutFloats2,
    OutInts2,
    OutWords1,
    OutWords2,
    Words2,
    Words3,
)
from cython.cimports.emsco._kernels.bits import popcount

from emsco._base.typing import FloatArray, IntArray, WordArray

# Times `width` labels of a subset are kept until all of them are known.
_SPARE = cython.declare(cython.int, 4)
SPARE = _SPARE
_DROPPED = cython.declare(cython.longlong, 1 << 32)  # added to the stages of a label not kept
_INFINITY = cython.declare(cython.double, float("inf"))


class Subsets(NamedTuple):
    """Subsets of the features from small to large, and the rows that their models accept."""

    members: WordArray  # features of each, 32 in a word
    cost: FloatArray
    accepts: WordArray  # by subset and level
    errs: WordArray  # accepted rows with the wrong label
    reach: WordArray  # rows that some larger subset accepts; of all subsets at the end
    missing: WordArray  # rows that lack a feature, by feature; none if no row lacks any
    weights: IntArray  # how much each row of a word counts


class Chains(NamedTuple):
    """Labels; the first is the empty chain."""

    undecided: WordArray
    counts: IntArray  # accepted, wrong, stages, label before, subset · levels + level
    spent: FloatArray
    behind: FloatArray  # how much cheaper a simple completion had to be to join the front
    spans: IntArray  # first and last label of each subset


class LinkRules(NamedTuple):
    """Numbers that hold for all chains."""

    n_rows: int
    max_stages: int
    may_stop: bool  # whether a design may leave features out
    evaluation: float
    most_paid: float
    slack: float
    shift: int
    width: int  # most labels of a subset
    is_plain: bool  # whether all rows have weight 1 and lack nothing


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
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_part(members: Words2, small: cython.Py_ssize_t, large: cython.Py_ssize_t) -> cython.bint:
    """Whether all features of one subset are in another."""
    for w in range(members.shape[1]):
        if members[small, w] & ~members[large, w]:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _block(
    members: Words2,
    missing: Words2,
    source: cython.Py_ssize_t,
    target: cython.Py_ssize_t,
    blocked: OutWords1,
) -> cython.void:
    """Rows that lack a feature which the step from one subset to a larger one buys."""
    bought: cython.ulonglong
    for w in range(blocked.shape[0]):
        blocked[w] = 0
    for i in range(missing.shape[0]):
        bought = members[target, i // 32]
        if source >= 0:
            bought &= ~members[source, i // 32]
        if (bought >> (i % 32)) & 1:
            for w in range(blocked.shape[0]):
                blocked[w] |= missing[i, w]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note(
    known: OutFloats2,
    accepted: cython.longlong,
    wrong: cython.longlong,
    spent: cython.double,
    shift: cython.int,
) -> cython.void:
    """Note in the allowances what a design costs, on the line of its accepted rows."""
    one: cython.longlong = 1
    line = accepted >> shift
    fewest = line << shift
    if accepted:
        fewest = (fewest * wrong + accepted - 1) // accepted
    for column in range((fewest + (one << shift) - 1) >> shift, known.shape[1]):
        if known[line, column] <= spent:
            break
        known[line, column] = spent


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(
    undecided: OutWords2,
    counts: OutInts2,
    spent: OutFloats1,
    behind: OutFloats1,
    old: cython.Py_ssize_t,
    new: cython.Py_ssize_t,
) -> cython.void:
    for w in range(undecided.shape[1]):
        undecided[new, w] = undecided[old, w]
    for c in range(counts.shape[1]):
        counts[new, c] = counts[old, c]
    spent[new] = spent[old]
    behind[new] = behind[old]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_beaten(
    counts: OutInts2,
    costs: OutFloats1,
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    accepted: cython.longlong,
    wrong: cython.longlong,
    stages: cython.longlong,
    spent: cython.double,
) -> cython.bint:
    """Whether a label of the same subset makes one with these counts superfluous."""
    for i in range(first, end):
        if (
            counts[i, 0] >= accepted
            and counts[i, 1] <= wrong
            and counts[i, 2] <= stages
            and costs[i] <= spent
        ):
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take_out_beaten(
    undecided: OutWords2,
    counts: OutInts2,
    spent: OutFloats1,
    behind: OutFloats1,
    first: cython.Py_ssize_t,
    new: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Take out the labels of a subset that `new`, the last of them, makes superfluous.

    Returns where labels end then; `new` is the last of them still.
    """
    i = first
    while i < new:
        if (
            counts[i, 0] <= counts[new, 0]
            and counts[i, 1] >= counts[new, 1]
            and counts[i, 2] >= counts[new, 2]
            and spent[i] >= spent[new]
        ):
            _move(undecided, counts, spent, behind, new - 1, i)
            _move(undecided, counts, spent, behind, new, new - 1)
            new -= 1
        else:
            i += 1
    return new + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _keep_nearest(
    undecided: OutWords2,
    counts: OutInts2,
    spent: OutFloats1,
    behind: OutFloats1,
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    width: cython.longlong,
) -> cython.Py_ssize_t:
    """Keep the labels of a subset that come nearest to the front, in their order."""
    if end - first <= width:
        return end
    for i in range(first, end):
        n_nearer = 0
        for j in range(first, end):
            if behind[j] < behind[i] or (behind[j] == behind[i] and j < i):
                n_nearer += 1
        if n_nearer >= width:
            counts[i, 2] += _DROPPED
    kept = first
    for i in range(first, end):
        if counts[i, 2] < _DROPPED:
            if i != kept:
                _move(undecided, counts, spent, behind, i, kept)
            kept += 1
    return kept


def fill_reach(subsets: Subsets) -> None:
    """Fill in the rows that some larger subset accepts, at whatever level."""
    members: Words2 = subsets.members
    accepts: Words3 = subsets.accepts
    reach: OutWords2 = subsets.reach
    n_subsets, n_levels, n_words = accepts.shape[0], accepts.shape[1], accepts.shape[2]
    with cython.nogil:
        for t in range(n_subsets):
            for u in range(t, n_subsets):
                if u == t or not _is_part(members, t, u):
                    continue
                for level in range(n_levels):
                    for w in range(n_words):
                        reach[t, w] |= accepts[u, level, w]
            for level in range(n_levels):
                for w in range(n_words):
                    reach[n_subsets, w] |= accepts[t, level, w]


def link_subsets(
    rules: LinkRules,
    subsets: Subsets,
    early: Bytes1,
    last: Bytes1,
    tries: Ints1,
    known: OutFloats2,
    chains: Chains,
    ends: OutInts2,
    ends_spent: OutFloats1,
    blocked: OutWords1,
    leaves: OutInts2,
) -> tuple[int, int]:
    """Grow chains through all subsets; return how many labels and designs there are.

    `ends` gets the designs that no known one beats: accepted, wrong, label before the last stage,
    subset · levels + level of the last stage; `ends_spent` what they cost. There may be more of
    them than it has room for. `known`, the allowances, takes note of them. `tries` are levels of a
    last stage with which labels are judged. `blocked` and `leaves` are room to work in.

    One long loop on purpose, as in `chains`.
    """
    n_rows: cython.longlong = rules.n_rows
    max_stages: cython.longlong = rules.max_stages
    may_stop: cython.bint = rules.may_stop
    evaluation: cython.double = rules.evaluation
    most_paid: cython.double = rules.most_paid
    slack: cython.double = rules.slack
    shift: cython.int = rules.shift
    width: cython.longlong = rules.width
    is_plain: cython.bint = rules.is_plain
    members: Words2 = subsets.members
    cost: Floats1 = subsets.cost
    accepts: Words3 = subsets.accepts
    errs: Words3 = subsets.errs
    reach: Words2 = subsets.reach
    missing: Words2 = subsets.missing
    weights: Ints1 = subsets.weights
    rows: OutWords2 = chains.undecided
    counts: OutInts2 = chains.counts
    spent_by: OutFloats1 = chains.spent
    behind_by: OutFloats1 = chains.behind
    spans: OutInts2 = chains.spans
    n_subsets, n_levels, n_words = accepts.shape[0], accepts.shape[1], accepts.shape[2]
    full = n_subsets - 1
    lacks_nothing: cython.bint = missing.shape[0] == 0
    n_labels: cython.Py_ssize_t = 1
    n_ends: cython.Py_ssize_t = 0
    may_end: cython.bint
    goes_on: cython.bint
    is_last: cython.bint
    is_idle: cython.bint
    behind: cython.double
    short: cython.double
    leaving: cython.longlong
    errors: cython.longlong
    n_open: cython.longlong
    here: cython.ulonglong
    with cython.nogil:
        for w in range(n_words):
            rows[0, w] = reach[n_subsets, w]
        for t in range(n_subsets):
            begun = n_labels
            may_end = may_stop or t == full
            all_next = cost[full] - cost[t] + evaluation
            rest = 0.0 if may_stop else all_next
            for s in range(-1, t):
                if s >= 0 and (spans[s, 0] == spans[s, 1] or not _is_part(members, s, t)):
                    continue
                step = cost[t] - (cost[s] if s >= 0 else 0.0) + evaluation
                if not is_plain:
                    _block(members, missing, s, t, blocked)
                first, end = 0, 1
                if s >= 0:
                    first, end = spans[s, 0], spans[s, 1]
                for q in range(first, end):
                    stages = counts[q, 2] + 1
                    if stages > max_stages or (not may_end and stages == max_stages):
                        continue
                    if cost[t] + stages * evaluation > most_paid:
                        continue
                    goes_on = t != full and stages < max_stages
                    spent = spent_by[q] + (n_rows - counts[q, 0]) * step
                    behind = _INFINITY
                    for level in range(n_levels):
                        is_last = last[level] and may_end
                        if not is_last and not (early[level] and goes_on):
                            continue
                        leaving, errors = 0, 0
                        if is_plain:
                            for w in range(n_words):
                                leaving += popcount(rows[q, w] & accepts[t, level, w])
                                errors += popcount(rows[q, w] & errs[t, level, w])
                        else:
                            for w in range(n_words):
                                here = rows[q, w] & ~blocked[w]
                                leaving += weights[w] * popcount(here & accepts[t, level, w])
                                errors += weights[w] * popcount(here & errs[t, level, w])
                        accepted = counts[q, 0] + leaving
                        wrong = counts[q, 1] + errors
                        leaves[level, 0], leaves[level, 1] = accepted, wrong
                        if not is_last:
                            continue
                        allowed = _allowance(known, accepted, wrong, shift)
                        behind = min(behind, spent - allowed)
                        if allowed >= spent * (1.0 - slack):
                            if n_ends < ends.shape[0]:
                                ends[n_ends, 0] = accepted
                                ends[n_ends, 1] = wrong
                                ends[n_ends, 2] = q
                                ends[n_ends, 3] = t * n_levels + level
                                ends_spent[n_ends] = spent
                            n_ends += 1
                            _note(known, accepted, wrong, spent, shift)
                    for level in range(n_levels if goes_on else 0):
                        # A stage that nobody leaves at is worse than none, unless values are
                        # missing: who lacks a feature of one stage may leave at the next.
                        is_idle = leaves[level, 0] == counts[q, 0] and lacks_nothing
                        if not early[level] or is_idle:
                            continue
                        accepted, wrong = leaves[level, 0], leaves[level, 1]
                        if _is_beaten(
                            counts, spent_by, begun, n_labels, accepted, wrong, stages, spent
                        ):
                            continue
                        n_open = 0
                        for w in range(n_words):
                            here = accepts[t, level, w]
                            if not is_plain:
                                here &= ~blocked[w]
                            here = rows[q, w] & ~here & reach[t, w]
                            rows[n_labels, w] = here
                            n_open += weights[w] * popcount(here)
                        best = accepted + n_open
                        min_spent = spent + (n_rows - best) * rest
                        allowed = _allowance(known, best, wrong, shift)
                        if allowed < min_spent * (1.0 - slack):
                            continue
                        # How much cheaper it had to be to join the front, if all features come
                        # next.
                        ended = spent + (n_rows - accepted) * all_next
                        short = behind
                        for i in range(tries.shape[0]):
                            leaving, errors = 0, 0
                            for w in range(n_words):
                                here = rows[n_labels, w]
                                leaving += weights[w] * popcount(here & accepts[full, tries[i], w])
                                errors += weights[w] * popcount(here & errs[full, tries[i], w])
                            more, worse = accepted + leaving, wrong + errors
                            short = min(short, ended - _allowance(known, more, worse, shift))
                        behind_by[n_labels] = short
                        counts[n_labels, 0] = accepted
                        counts[n_labels, 1] = wrong
                        counts[n_labels, 2] = stages
                        counts[n_labels, 3] = q
                        counts[n_labels, 4] = t * n_levels + level
                        spent_by[n_labels] = spent
                        n_labels = _take_out_beaten(
                            rows, counts, spent_by, behind_by, begun, n_labels
                        )
                        if n_labels - begun == _SPARE * width:
                            n_labels = _keep_nearest(
                                rows, counts, spent_by, behind_by, begun, n_labels, width
                            )
            n_labels = _keep_nearest(rows, counts, spent_by, behind_by, begun, n_labels, width)
            spans[t, 0], spans[t, 1] = begun, n_labels
    return n_labels, n_ends
