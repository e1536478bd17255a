"""All designs of a space, one by one, counted by their accepted and correct rows."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import IntArray, WordArray
from emsco._kernels.bits import popcount
from emsco._kernels.compiling import helper, kernel


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
    most: int,
    rows: WordArray,
    counts: IntArray,
    designs: IntArray,
    lowest: IntArray,
    total: IntArray,
) -> None:
    """Count designs whose chain of subsets before the full set begins with one of `firsts`.

    Chains have at most `most` subsets, and the full set comes after each. `rows[d]` and
    `counts[d]` are what is undecided, and the counts, after d subsets: `rows[0]` is every row, and
    `counts[0]` says how many there are. Tables are by accepted and correct rows.
    """
    full = len(accepts) - 1
    chain = np.zeros(most + 1, dtype=np.int64)
    more = np.zeros(most + 1, dtype=np.int64)  # what the subset after this one adds to it
    for first in firsts:
        depth, subset = 0, first
        while True:
            paid, here = cost[chain[depth]], counts[depth]
            _end(accepts, errs, cost, paid, subset, rows[depth], here, designs, lowest, total)
            if depth + 1 < most:
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
