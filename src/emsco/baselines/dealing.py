"""Parts of rows in which every class has its share."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import IntArray, LabelArray

__all__ = ["dealt"]


def dealt(labels: LabelArray, n_hands: int, rng: np.random.RandomState) -> IntArray:
    """Deal rows to hands 0, 1, …, class after class, in random order.

    Examples
    --------
    >>> hands = dealt(np.array([0, 0, 0, 0, 1, 1]), 2, np.random.RandomState(0))
    >>> np.bincount(hands[:4]).tolist(), np.bincount(hands[4:]).tolist()
    ([2, 2], [1, 1])
    """
    order = rng.permutation(len(labels))
    hands = np.empty(len(labels), dtype=np.int64)
    hands[order[np.argsort(labels[order], kind="stable")]] = np.arange(len(labels)) % n_hands
    return hands
