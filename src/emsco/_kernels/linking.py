"""Chains of subsets whose models are fitted, with a threshold for each stage.

A *label* is a chain with its thresholds: the rows still undecided, the rows accepted and wrong, and
what was spent. Chains grow from small subsets to large ones, as in `chaining`. Here the subsets are
a list, each has bits for several thresholds (*levels*), and only some labels of a subset are kept:
of two where one has accepted no more rows, no fewer wrong ones, for no less, in no fewer stages,
the other one; and of too many, those that come nearest to the front. So the result is a good front,
not a proven one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, WordArray
from emsco._kernels.bits import popcount
from emsco._kernels.compiling import helper, kernel

__all__ = ["SPARE", "Chains", "LinkRules", "Subsets", "fill_reach", "link_subsets"]

SPARE = 16  # times `width` labels of a subset are kept until all of them are known


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


@helper()
def _allowance(known, accepted, wrong, shift):
    """Least known cost at no less coverage and accuracy than these; see `chaining`."""
    return known[(accepted + (1 << shift) - 1) >> shift, wrong >> shift]


@helper()
def _is_part(members, small, large):
    for w in range(members.shape[1]):
        if members[small, w] & ~members[large, w]:
            return False
    return True


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
def _leave(rows, accepts, errs, blocked, weights):
    """How many of these rows a stage accepts, and how many with the wrong label."""
    leaving, wrong = np.int64(0), np.int64(0)
    for w in range(len(rows)):
        here = rows[w] & ~blocked[w]
        leaving += np.int64(weights[w] * popcount(here & accepts[w]))
        wrong += np.int64(weights[w] * popcount(here & errs[w]))
    return leaving, wrong


@helper()
def _move(chains, old, new):
    for w in range(chains.undecided.shape[1]):
        chains.undecided[new, w] = chains.undecided[old, w]
    for c in range(chains.counts.shape[1]):
        chains.counts[new, c] = chains.counts[old, c]
    chains.spent[new] = chains.spent[old]
    chains.behind[new] = chains.behind[old]


@helper()
def _settle(chains, first, new):
    """Compare label `new` with those of its subset; return where labels end.

    That is at `new` if another makes it superfluous. Labels that it makes superfluous are taken
    out, and it moves to the end of the others.
    """
    i = first
    while i < new:
        more = chains.counts[i, 0] - chains.counts[new, 0]
        worse = chains.counts[i, 1] - chains.counts[new, 1]
        later = chains.counts[i, 2] - chains.counts[new, 2]
        dearer = chains.spent[i] - chains.spent[new]
        if more >= 0 and worse <= 0 and later <= 0 and dearer <= 0.0:
            return new
        if more <= 0 and worse >= 0 and later >= 0 and dearer >= 0.0:
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
    limit = np.partition(chains.behind[first:end], width - 1)[width - 1]
    kept = first
    for i in range(first, end):
        if chains.behind[i] <= limit and kept < first + width:
            if i != kept:
                _move(chains, i, kept)
            kept += 1
    return kept


@helper()
def _least_behind(rules, subsets, last, known, rows, accepted, wrong, spent):
    """How much cheaper the chain had to be, if all features come next, to join the front.

    Only the first and the last of the levels that a last stage may have are tried.
    """
    full = len(subsets.cost) - 1
    least, first, final = np.inf, -1, -1
    for level in range(len(last)):
        if last[level]:
            first = level if first < 0 else first
            final = level
    for level in (first, final):
        n_more, n_wrong = np.uint64(0), np.uint64(0)
        for w in range(len(rows)):
            n_more += subsets.weights[w] * popcount(rows[w] & subsets.accepts[full, level, w])
            n_wrong += subsets.weights[w] * popcount(rows[w] & subsets.errs[full, level, w])
        more, worse = accepted + np.int64(n_more), wrong + np.int64(n_wrong)
        least = min(least, spent - _allowance(known, more, worse, rules.shift))
    return least


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
    known: FloatArray,
    chains: Chains,
    found: IntArray,
    found_spent: FloatArray,
    blocked: WordArray,
) -> tuple[int, int]:
    """Grow chains through all subsets; return how many labels and designs there are.

    `found` gets the designs that no known one beats: accepted, wrong, label before the last stage,
    subset · levels + level of the last stage; `found_spent` what they cost. There may be more of
    them than it has room for.

    One long loop on purpose, as in `chaining`.
    """
    n_subsets, n_levels, n_words = subsets.accepts.shape
    full = n_subsets - 1
    for w in range(n_words):
        chains.undecided[0, w] = subsets.reach[n_subsets, w]
    n_labels, n_found = 1, 0
    for t in range(n_subsets):
        begun = n_labels
        may_end = rules.may_stop or t == full
        rest = 0.0 if rules.may_stop else subsets.cost[full] - subsets.cost[t] + rules.evaluation
        for s in range(-1, t):
            if s >= 0 and (
                chains.spans[s, 0] == chains.spans[s, 1] or not _is_part(subsets.members, s, t)
            ):
                continue
            step = subsets.cost[t] - (subsets.cost[s] if s >= 0 else 0.0) + rules.evaluation
            _block(subsets, s, t, blocked)
            first, end = (chains.spans[s, 0], chains.spans[s, 1]) if s >= 0 else (0, 1)
            for q in range(first, end):
                stages = chains.counts[q, 2] + 1
                if stages > rules.max_stages or (not may_end and stages == rules.max_stages):
                    continue
                if subsets.cost[t] + stages * rules.evaluation > rules.most_paid:
                    continue
                accepted_before, wrong_before = chains.counts[q, 0], chains.counts[q, 1]
                spent = chains.spent[q] + (rules.n_rows - accepted_before) * step
                behind = np.inf
                for level in range(n_levels if may_end else 0):
                    if not last[level]:
                        continue
                    leaving, errors = _leave(
                        chains.undecided[q], subsets.accepts[t, level], subsets.errs[t, level],
                        blocked, subsets.weights,
                    )  # fmt: skip
                    accepted, wrong = accepted_before + leaving, wrong_before + errors
                    allowed = _allowance(known, accepted, wrong, rules.shift)
                    behind = min(behind, spent - allowed)
                    if allowed >= spent * (1.0 - rules.slack):
                        if n_found < len(found):
                            found[n_found, 0] = accepted
                            found[n_found, 1] = wrong
                            found[n_found, 2] = q
                            found[n_found, 3] = t * n_levels + level
                            found_spent[n_found] = spent
                        n_found += 1
                if t == full or stages == rules.max_stages:
                    continue
                for level in range(n_levels):
                    if not early[level]:
                        continue
                    leaving, errors = _leave(
                        chains.undecided[q], subsets.accepts[t, level], subsets.errs[t, level],
                        blocked, subsets.weights,
                    )  # fmt: skip
                    if leaving == 0:  # a stage that nobody leaves at is worse than none
                        continue
                    n_open = np.uint64(0)
                    rows = chains.undecided[n_labels]
                    for w in range(n_words):
                        leaves = subsets.accepts[t, level, w] & ~blocked[w]
                        rows[w] = chains.undecided[q, w] & ~leaves & subsets.reach[t, w]
                        n_open += subsets.weights[w] * popcount(rows[w])
                    accepted, wrong = accepted_before + leaving, wrong_before + errors
                    best = accepted + np.int64(n_open)
                    least = spent + (rules.n_rows - best) * rest
                    allowed = _allowance(known, best, wrong, rules.shift)
                    if allowed < least * (1.0 - rules.slack):
                        continue
                    all_next = subsets.cost[full] - subsets.cost[t] + rules.evaluation
                    chains.behind[n_labels] = min(
                        behind,
                        _least_behind(
                            rules, subsets, last, known, rows, accepted, wrong,
                            spent + (rules.n_rows - accepted) * all_next,
                        ),
                    )  # fmt: skip
                    chains.counts[n_labels, 0] = accepted
                    chains.counts[n_labels, 1] = wrong
                    chains.counts[n_labels, 2] = stages
                    chains.counts[n_labels, 3] = q
                    chains.counts[n_labels, 4] = t * n_levels + level
                    chains.spent[n_labels] = spent
                    n_labels = _settle(chains, begun, n_labels)
                    if n_labels - begun == SPARE * rules.width:
                        n_labels = _keep_nearest(chains, begun, n_labels, 2 * rules.width)
        n_labels = _keep_nearest(chains, begun, n_labels, rules.width)
        chains.spans[t, 0], chains.spans[t, 1] = begun, n_labels
    return n_labels, n_found
