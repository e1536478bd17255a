"""Subgroups: which of them have a lower share than all others, beyond chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.typing import FloatArray

__all__ = ["CHANCE", "p_values_below"]

CHANCE = 0.05  # a p-value below is called beyond chance


def p_values_below(n_hits: ArrayLike, n_rows: ArrayLike) -> FloatArray:
    """Test of each subgroup whether its share is below that of all others together.

    Fisher's exact tests, corrected for their number by Holm's method. Effective numbers of rows
    are rounded, which makes the tests approximate. A subgroup without rows has 1.

    Examples
    --------
    >>> p_values_below([45, 90, 88], [60, 95, 95]).round(4).tolist()
    [0.0005, 1.0, 1.0]
    """
    from scipy import stats  # only here, since deciding does without SciPy

    from emsco.trust.over_splits import holm

    rows = np.rint(np.asarray(n_rows, dtype=np.float64))
    hits = np.minimum(np.rint(np.asarray(n_hits, dtype=np.float64)), rows)
    there = rows > 0
    found = np.ones(len(rows))
    tested = stats.hypergeom.cdf(hits[there], rows.sum(), hits.sum(), rows[there])
    found[there] = holm(tested)
    return found
