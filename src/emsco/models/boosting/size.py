"""How large boosted models are: limits by rule, and rounds by the loss on rows held out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from emsco.models.batches import n_outputs_of

__all__ = ["BoostingSize"]

_SHARED_WORK = 30_000_000  # rows, copies, rounds and outputs multiplied: about 10 seconds
_OWN_WORK = 4_000_000  # about a second
_COPIED = 80_000  # rows in all copies together
_MANY = 2000  # rows that bear larger trees
_ROUNDS = 60  # or more: with fewer, a lower rate is as quick and a little better


@dataclass(frozen=True, slots=True)
class BoostingSize:
    """How large a boosted model is, and how fast it learns.

    Attributes
    ----------
    copies : int
        Copies of the training rows, each with other features blanked out; 1 for a model that
        always has its features.
    rounds : int
        Rounds of boosting, each with a tree per class if there are three or more.
    leaves : int
        Most leaves of a tree.
    learning_rate : float
    fewest : int
        Rows that a leaf has at least, copies counted.
    l2 : float
        Penalty of leaf values.
    bins : int
        Most values of an input that are told apart.

    Examples
    --------
    >>> BoostingSize.for_shared(5000, 20, 2).stopped(30)
    BoostingSize(copies=16, rounds=60, leaves=31, learning_rate=0.1, fewest=80, l2=30.0, bins=255)
    """

    copies: int
    rounds: int
    leaves: int
    learning_rate: float
    fewest: int
    l2: float
    bins: int = 255

    @classmethod
    def for_shared(cls, n_rows: int, n_features: int, n_classes: int) -> BoostingSize:
        """Return the largest model that may answer for every subset of the features.

        Few rows have more copies. Many have fewer rounds, so that training takes seconds.
        """
        most = np.clip(2 * n_features, 8, 32)  # few features have few subsets to tell apart
        copies = int(np.clip(_COPIED // max(n_rows, 1), 2, most))
        rounds = _rounds(_SHARED_WORK, n_rows * copies, n_classes, 400)
        return cls(copies, rounds, 31 if n_rows >= _MANY else 16, 0.2, 5 * copies, 30.0)

    @classmethod
    def for_own(cls, n_rows: int, n_classes: int) -> BoostingSize:
        """Return the largest model that may answer for all features alone."""
        rounds = _rounds(_OWN_WORK, n_rows, n_classes, 250)
        return cls(1, rounds, 16 if n_rows >= _MANY else 4, 0.2, 10, 20.0)

    def for_share(self, share: float) -> BoostingSize:
        """Return the size for a share of the features; fewer of them need fewer rounds."""
        return self.stopped(max(1, round(self.rounds * float(np.sqrt(share)))))

    def stopped(self, rounds: int) -> BoostingSize:
        """Return the size with this many rounds, or with more of them and a lower rate."""
        slower = self.learning_rate * min(1.0, rounds / _ROUNDS)
        return replace(self, rounds=max(rounds, _ROUNDS), learning_rate=slower)


def _rounds(work: int, n_rows: int, n_classes: int, most: int) -> int:
    n_outputs = n_outputs_of(n_classes)
    return int(np.clip(work // max(n_rows * n_outputs, 1), _ROUNDS, most))
