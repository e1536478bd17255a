"""Arrays and numbers that the kernels of `chaining` work on.

Numba's cache on disk looks at `chaining.py` alone. Change that file too when fields here move,
or a cached kernel reads the old ones.
"""

from __future__ import annotations

from typing import NamedTuple

from emsco._base.typing import FloatArray, IntArray, SmallIntArray, WordArray

__all__ = ["Candidates", "Labels", "Rules", "Space"]


class Space(NamedTuple):
    """Rows and costs of every subset, with bounds on all larger subsets."""

    accepts: WordArray
    errs: WordArray  # accepted rows with the wrong label
    missing: WordArray  # rows that lack some of these features, by subset of `missing_mask`
    missing_mask: int  # the features that some row lacks
    weights: WordArray  # how much each row of a word counts
    reach: WordArray  # accepted by some larger subset
    doomed: WordArray  # sure to be accepted by the tail, correct in no larger subset
    expensive: WordArray  # rows that no larger subset accepts for less, by level of cost
    rises: FloatArray  # by how much each level's cost is above the last one's, same for all
    cost: FloatArray
    next_cost: FloatArray  # least that a stage after this one costs; 0 for the full set
    place: IntArray  # sum of the digits' values of the subset's features in a chromosome number
    ways: IntArray  # ways to go on with m features in at most r stages, by m and r


class Labels(NamedTuple):
    """Chains, by what matters of them for their future."""

    undecided: WordArray  # of the rows that some larger subset accepts
    n_open: SmallIntArray  # how many these are
    accepted: SmallIntArray
    wrong: SmallIntArray
    spent: FloatArray
    allowed: FloatArray  # a future that spends more than this is dominated
    stages: SmallIntArray
    n_tied: IntArray
    code: IntArray  # the simplest one's chromosome number, later features as 0


class Candidates(NamedTuple):
    """Objectives of whole designs, with the simplest design and the number of them."""

    accepted: SmallIntArray
    wrong: SmallIntArray
    spent: FloatArray
    stages: SmallIntArray
    n_tied: IntArray
    code: IntArray


class Rules(NamedTuple):
    """Numbers that hold for a whole search."""

    n_rows: int
    max_stages: int
    tail: int  # 1 where the full set ends every design, else 0
    evaluation: float  # cost of running a stage
    most_paid: float  # largest cost of a row that is rejected
    binding: bool  # whether the number of stages can matter before the features run out
    slack: float  # costs this close, relatively, are equal
    shift: int  # allowances have a line for every 2 ** shift rows
    keep_all: bool  # whether chains that only one design stands for become labels, too
