"""Effective numbers of rows: how much rows with weights, or rows of few patients, tell.

A share over rows that are alike within groups is less certain than over as many independent rows.
The *effective* number is that of independent rows with the same certainty. Exact intervals for so
many rows are approximate intervals of the share (Korn and Graubard, 1998).
"""

from __future__ import annotations

from emsco._base.objectives import LEVEL
from emsco._base.typing import FloatArray


def kish(weights: FloatArray) -> float:
    """Kish's effective number of rows with weights: the square of their sum over that of squares.

    Examples
    --------
    >>> import numpy as np
    >>> kish(np.array([1.0, 1.0, 1.0])), kish(np.array([1.0, 1.0, 0.0]))
    (3.0, 2.0)
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def effective_rows(
    part: FloatArray, whole: FloatArray, variance: float, varied: int, n_rows: float
) -> float:
    """Return the effective number of rows of a ratio of two sums over groups.

    The spread of the groups around the ratio gives the design effect: how many times as large the
    variance is as that of independent rows. If hardly any group has both outcomes, the design
    effect is unknown; it is then drawn towards that of groups whose rows are all alike.

    Parameters
    ----------
    part, whole : ndarray of shape (n_groups,)
        Sums over the rows of each group, such as correct rows and answered rows.
    variance : float
        Variance of the ratio between independent rows of weight 1, such as p(1 - p).
    varied : int
        Number of groups with the rarer outcome.
    n_rows : float
        Effective number of the rows if they were independent.

    Examples
    --------
    Rows of a group that are all alike count as one:

    >>> import numpy as np
    >>> whole = np.full(100, 5.0)
    >>> part = np.where(np.arange(100) < 80, 5.0, 0.0)
    >>> round(effective_rows(part, whole, variance=0.16, varied=20, n_rows=500), -1)
    100.0
    """
    there = whole > 0
    part, whole = part[there], whole[there]
    n_groups = len(whole)
    if n_groups < 2 or n_rows <= 1:
        return min(1.0, n_rows)
    most = max(1.0, n_rows / kish(whole))
    found = most
    if variance > 0:
        ratio = part.sum() / whole.sum()
        spread = float(((part - ratio * whole) ** 2).sum()) * n_groups / (n_groups - 1)
        found = max(1.0, n_rows * spread / float(whole.sum()) ** 2 / variance)
    effect = (most + varied * found) / (1 + varied)
    return float(n_rows / effect) * _fewer(n_rows, n_groups)


def _fewer(n_rows: float, n_groups: int) -> float:
    """Correct for a spread that is known from few groups only."""
    from scipy import stats  # only here, since deciding does without SciPy

    rows, groups = stats.t.ppf((1 + LEVEL) / 2, [max(n_rows, n_groups) - 1, n_groups - 1])
    return float((rows / groups) ** 2)
