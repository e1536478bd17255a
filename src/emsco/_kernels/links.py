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

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, WordArray
from emsco._kernels.bits import popcount
from emsco._kernels.chains import allowance
from emsco._kernels.compiler import helper, kernel

SPARE = 4  # times `width` labels of a subset are kept until all of them are known
_DROPPED = 1 << 32  # added to the stages of a label that is not kept


class Subsets(NamedTuple):
    """Subsets of the features from small to large, and the rows that their models accept."""

    members: WordArray  # features of each, 32 in a word
    cost: FloatArray
    accepts: WordArray  # by subset and level
    errs: WordArray  # accepted rows with the wrong label
    reach: WordArray  # rows that some larger subset accepts; of all subsets at the end
    missing: WordArray  # rows that lack a feature, by feature; none if no row lacks any
    weights: WordArray  # how much each row of a word counts


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


@helper()
def _is_part(members, small, large):
    """Whether all features of one subset are in another."""
    lacks = np.uint64(0)
    for w in range(members.shape[1]):
        lacks |= members[small, w] & ~members[large, w]
    return lacks == 0


@helper()
def _block(subsets, source, target, blocked):
    """Rows that lack a feature which the step from one subset to a larger one buys."""
    for w in range(len(blocked)):
        blocked[w] = np.uint64(0)
    for i in range(len(subsets.missing)):
        bit = np.uint64(1) << np.uint64(i % 32)
        had = source >= 0 and subsets.members[source, i // 32] & bit
        if subsets.members[target, i // 32] & bit and not had:
            for w in range(len(blocked)):
                blocked[w] |= subsets.missing[i, w]


@helper()
def _note(known, accepted, wrong, spent, shift):
    """Note in the allowances what a design costs, on the line of its accepted rows."""
    line = accepted >> shift
    fewest = -(-(line << shift) * wrong // accepted) if accepted else line << shift
    for column in range(-(-fewest >> shift), known.shape[1]):
        if known[line, column] <= spent:
            break
        known[line, column] = spent


@helper()
def _move(chains, old, new):
    for w in range(chains.undecided.shape[1]):
        chains.undecided[new, w] = chains.undecided[old, w]
    for c in range(chains.counts.shape[1]):
        chains.counts[new, c] = chains.counts[old, c]
    chains.spent[new] = chains.spent[old]
    chains.behind[new] = chains.behind[old]


@helper()
def _is_beaten(chains, first, end, accepted, wrong, stages, spent):
    """Whether a label of the same subset makes one with these counts superfluous."""
    for i in range(first, end):
        if (
            chains.counts[i, 0] >= accepted
            and chains.counts[i, 1] <= wrong
            and chains.counts[i, 2] <= stages
            and chains.spent[i] <= spent
        ):
            return True
    return False


@helper()
def _take_out_beaten(chains, first, new):
    """Take out the labels of a subset that `new`, the last of them, makes superfluous.

    Returns where labels end then; `new` is the last of them still.
    """
    i = first
    while i < new:
        if (
            chains.counts[i, 0] <= chains.counts[new, 0]
            and chains.counts[i, 1] >= chains.counts[new, 1]
            and chains.counts[i, 2] >= chains.counts[new, 2]
            and chains.spent[i] >= chains.spent[new]
        ):
            _move(chains, new - 1, i)
            _move(chains, new, new - 1)
            new -= 1
        else:
            i += 1
    return new + 1


@helper()
def _keep_nearest(chains, first, end, width):
    """Keep the labels of a subset that come nearest to the front, in their order."""
    if end - first <= width:
        return end
    for i in range(first, end):
        n_nearer = 0
        for j in range(first, end):
            nearer = chains.behind[j] < chains.behind[i]
            n_nearer += nearer or (chains.behind[j] == chains.behind[i] and j < i)
        chains.counts[i, 2] += _DROPPED if n_nearer >= width else 0
    kept = first
    for i in range(first, end):
        if chains.counts[i, 2] < _DROPPED:
            if i != kept:
                _move(chains, i, kept)
            kept += 1
    return kept


@kernel()
def fill_reach(subsets: Subsets) -> None:
    """Fill in the rows that some larger subset accepts, at whatever level."""
    n_subsets, n_levels, n_words = subsets.accepts.shape
    for t in range(n_subsets):
        for u in range(t, n_subsets):
            if u == t or not _is_part(subsets.members, t, u):
                continue
            for level in range(n_levels):
                for w in range(n_words):
                    subsets.reach[t, w] |= subsets.accepts[u, level, w]
        for level in range(n_levels):
            for w in range(n_words):
                subsets.reach[n_subsets, w] |= subsets.accepts[t, level, w]


@kernel()
def link_subsets(
    rules: LinkRules,
    subsets: Subsets,
    early: BoolArray,
    last: BoolArray,
    tries: IntArray,
    known: FloatArray,
    chains: Chains,
    ends: IntArray,
    ends_spent: FloatArray,
    blocked: WordArray,
    leaves: IntArray,
) -> tuple[int, int]:
    """Grow chains through all subsets; return how many labels and designs there are.

    `ends` gets the designs that no known one beats: accepted, wrong, label before the last stage,
    subset · levels + level of the last stage; `ends_spent` what they cost. There may be more of
    them than it has room for. `known`, the allowances, takes note of them. `tries` are levels of a
    last stage with which labels are judged. `blocked` and `leaves` are room to work in.

    One long loop on purpose, as in `chains`.
    """
    n_subsets, n_levels, n_words = subsets.accepts.shape
    full = n_subsets - 1
    accepts, errs, reach, weights = subsets.accepts, subsets.errs, subsets.reach, subsets.weights
    rows, counts, is_plain = chains.undecided, chains.counts, rules.is_plain
    for w in range(n_words):
        rows[0, w] = reach[n_subsets, w]
    n_labels, n_ends = 1, 0
    lacks_nothing = len(subsets.missing) == 0
    for t in range(n_subsets):
        begun = n_labels
        may_end = rules.may_stop or t == full
        all_next = subsets.cost[full] - subsets.cost[t] + rules.evaluation
        rest = 0.0 if rules.may_stop else all_next
        for s in range(-1, t):
            if s >= 0 and (
                chains.spans[s, 0] == chains.spans[s, 1] or not _is_part(subsets.members, s, t)
            ):
                continue
            step = subsets.cost[t] - (subsets.cost[s] if s >= 0 else 0.0) + rules.evaluation
            if not is_plain:
                _block(subsets, s, t, blocked)
            first, end = (chains.spans[s, 0], chains.spans[s, 1]) if s >= 0 else (0, 1)
            for q in range(first, end):
                stages = counts[q, 2] + 1
                if stages > rules.max_stages or (not may_end and stages == rules.max_stages):
                    continue
                if subsets.cost[t] + stages * rules.evaluation > rules.most_paid:
                    continue
                goes_on = t != full and stages < rules.max_stages
                spent = chains.spent[q] + (rules.n_rows - counts[q, 0]) * step
                behind = np.inf
                for level in range(n_levels):
                    is_last = last[level] and may_end
                    if not is_last and not (early[level] and goes_on):
                        continue
                    leaving, errors = np.uint64(0), np.uint64(0)
                    if is_plain:
                        for w in range(n_words):
                            leaving += popcount(rows[q, w] & accepts[t, level, w])
                            errors += popcount(rows[q, w] & errs[t, level, w])
                    else:
                        for w in range(n_words):
                            here = rows[q, w] & ~blocked[w]
                            leaving += weights[w] * popcount(here & accepts[t, level, w])
                            errors += weights[w] * popcount(here & errs[t, level, w])
                    accepted = counts[q, 0] + np.int64(leaving)
                    wrong = counts[q, 1] + np.int64(errors)
                    leaves[level, 0], leaves[level, 1] = accepted, wrong
                    if not is_last:
                        continue
                    allowed = allowance(known, accepted, wrong, rules.shift)
                    behind = min(behind, spent - allowed)
                    if allowed >= spent * (1.0 - rules.slack):
                        if n_ends < len(ends):
                            ends[n_ends, 0] = accepted
                            ends[n_ends, 1] = wrong
                            ends[n_ends, 2] = q
                            ends[n_ends, 3] = t * n_levels + level
                            ends_spent[n_ends] = spent
                        n_ends += 1
                        _note(known, accepted, wrong, spent, rules.shift)
                for level in range(n_levels if goes_on else 0):
                    # A stage that nobody leaves at is worse than none, unless values are missing:
                    # who lacks a feature of one stage may leave at the next.
                    is_idle = leaves[level, 0] == counts[q, 0] and lacks_nothing
                    if not early[level] or is_idle:
                        continue
                    accepted, wrong = leaves[level, 0], leaves[level, 1]
                    if _is_beaten(chains, begun, n_labels, accepted, wrong, stages, spent):
                        continue
                    n_open = np.uint64(0)
                    for w in range(n_words):
                        here = accepts[t, level, w]
                        if not is_plain:
                            here &= ~blocked[w]
                        here = rows[q, w] & ~here & reach[t, w]
                        rows[n_labels, w] = here
                        n_open += weights[w] * popcount(here)
                    best = accepted + np.int64(n_open)
                    min_spent = spent + (rules.n_rows - best) * rest
                    allowed = allowance(known, best, wrong, rules.shift)
                    if allowed < min_spent * (1.0 - rules.slack):
                        continue
                    # How much cheaper it had to be to join the front, if all features come next.
                    ended = spent + (rules.n_rows - accepted) * all_next
                    short = behind
                    for end_level in tries:
                        leaving, errors = np.uint64(0), np.uint64(0)
                        for w in range(n_words):
                            here = rows[n_labels, w]
                            leaving += weights[w] * popcount(here & accepts[full, end_level, w])
                            errors += weights[w] * popcount(here & errs[full, end_level, w])
                        more, worse = accepted + np.int64(leaving), wrong + np.int64(errors)
                        short = min(short, ended - allowance(known, more, worse, rules.shift))
                    chains.behind[n_labels] = short
                    counts[n_labels, 0] = accepted
                    counts[n_labels, 1] = wrong
                    counts[n_labels, 2] = stages
                    counts[n_labels, 3] = q
                    counts[n_labels, 4] = t * n_levels + level
                    chains.spent[n_labels] = spent
                    n_labels = _take_out_beaten(chains, begun, n_labels)
                    if n_labels - begun == SPARE * rules.width:
                        n_labels = _keep_nearest(chains, begun, n_labels, rules.width)
        n_labels = _keep_nearest(chains, begun, n_labels, rules.width)
        chains.spans[t, 0], chains.spans[t, 1] = begun, n_labels
    return n_labels, n_ends
