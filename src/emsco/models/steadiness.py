"""Whether the models of several splits agree on how many rows a threshold accepts.

Where many rows look alike, as with a single yes-or-no question, all of them have the same
confidence. If that is close to a threshold, the models of some splits accept all of them, and those
of others none. On average that looks like a rule that sends half of the rows on. Deployed, one
model decides, and everyone leaves or nobody does: a promise that cannot be kept.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import BoolArray, FloatArray

__all__ = ["unsteady"]

_MATERIAL = 0.05  # of the rows: a deviation between splits that changes what is promised
_BEYOND = 3.0  # standard errors of a variance


def unsteady(shares: FloatArray, sizes: FloatArray) -> BoolArray:
    """Tell which shares of accepted rows differ between splits, materially and beyond chance.

    Parameters
    ----------
    shares : ndarray of shape (n_splits, n_models)
    sizes : ndarray of shape (n_splits,)
        Scored rows of each split, by Kish's effective number if they have weights.

    Examples
    --------
    >>> shares = np.array([[0.52, 0.9], [0.50, 0.0], [0.48, 0.9], [0.51, 0.9], [0.50, 0.0]])
    >>> unsteady(shares, np.full(5, 1000.0)).tolist()
    [False, True]
    """
    if len(shares) < 2:
        return np.zeros(shares.shape[1], dtype=np.bool_)
    mean = sizes @ shares / sizes.sum()
    chance = mean * (1 - mean) / sizes.mean()
    tolerated = chance + _BEYOND * chance * np.sqrt(2 / (len(shares) - 1)) + _MATERIAL**2
    found: BoolArray = shares.var(axis=0, ddof=1) > tolerated
    return found
