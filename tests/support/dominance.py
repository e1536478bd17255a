"""Made-up scores of designs, and plain twins of dominance in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from emsco.designs.population import Designs
from emsco.scoring.scores import Counts

N_ROWS = 12

rows_of_designs = st.tuples(st.integers(0, N_ROWS), st.integers(0, N_ROWS), st.integers(0, 8)).map(
    lambda drawn: (drawn[0], min(drawn[1], drawn[0]), drawn[2])
)


def chains(stages):
    return Designs.of(np.array(stages, dtype=np.int16))


def scores_of(rows, n_rows=N_ROWS, per_one=1, beyond=None):
    """Scores of designs of one stage, from (accepted, correct, spent)."""
    accepted, correct, spent = (np.array(column) for column in zip(*rows, strict=True))
    excess = None if beyond is None else np.array(beyond, dtype=float)
    return Counts(n_rows, accepted[:, None], correct[:, None], spent, per_one, excess)


def points_of(rows):
    return [
        (accepted, Fraction(correct, accepted or 1), -spent) for accepted, correct, spent in rows
    ]


def plain_levels(points):
    levels = {}
    for one in sorted({*points}, reverse=True):  # what dominates a point comes before it
        levels[one] = max((levels[o] + 1 for o in levels if dominates(o, one)), default=0)
    return [levels[one] for one in points]


def dominates(one, other):
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def signs(values):
    return [[(a > b) - (a < b) for b in values] for a in values]
