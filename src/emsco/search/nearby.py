"""Subsets that no design has yet, those nearest to the subsets in use first."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray
from emsco.designs.chromosomes import stage_counts, stages_of, subset_words
from emsco.designs.space import DesignSpace

__all__ = ["MOST_FEATURES", "NearbySubsets"]

MOST_FEATURES = 16  # whose subsets can be listed
_FADE = 0.2  # worth of a subset that differs in one more feature
_SHARE = 0.6  # most of all subsets that are proposed or scored


class NearbySubsets:
    """Keeps the subsets that designs have had, and proposes others near to good ones.

    Each subset in use lends its worth to all others: a fifth for each feature in which they
    differ. Those with the largest sums come first.

    Parameters
    ----------
    space : DesignSpace
        Of at most 16 features.
    """

    def __init__(self, space: DesignSpace) -> None:
        self._space = space
        self._known: BoolArray = np.zeros(2**space.n_features, dtype=np.bool_)
        self._known[0] = True  # nothing is no subset
        if space.first is not None:
            every = np.arange(len(self._known))
            self._known[every >> space.first & 1 == 0] = True
        self._n_left_out = int(self._known.sum())

    @property
    def n_known(self) -> int:
        """Number of subsets that designs have had."""
        return int(self._known.sum()) - self._n_left_out

    @property
    def most(self) -> int:
        """Number of subsets after which no more are proposed."""
        return round(_SHARE * (len(self._known) - self._n_left_out))

    def note(self, designs: StageArray) -> None:
        """Note the subsets of designs."""
        self._known[_numbers(designs)] = True

    def propose(self, used_by: StageArray, n_subsets: int) -> StageArray:
        """Designs with new subsets, one each, near to the subsets of some designs.

        A proposed subset is the first stage, and all other features are the second one. If they
        can be left out, they are.
        """
        best = self.nearest(used_by, n_subsets)
        bought = best[:, None] >> np.arange(self._space.n_features) & 1
        rest = -1 if self._space.allow_exclusion else 1
        return np.where(bought == 1, 0, rest).astype(np.int16)

    def nearest(self, used_by: StageArray, n_subsets: int) -> IntArray:
        """Numbers of new subsets near to the subsets of some designs, the nearest first."""
        worth: FloatArray = np.zeros(len(self._known))
        worth[_numbers(used_by)] = 1.0
        worth[[0, -1]] = 0.0  # near to all or nothing is not near to anything good
        for i in range(self._space.n_features):
            pairs = worth.reshape(-1, 2, 2**i)
            pairs[:] = pairs + _FADE * pairs[:, ::-1]
        worth[self._known] = -1.0
        best = np.argsort(-worth, kind="stable")[:n_subsets]
        nearest: IntArray = best[worth[best] > 0]
        return nearest


def _numbers(designs: StageArray) -> IntArray:
    """Numbers of the subsets of designs: feature i is in subset s if bit i of s is set."""
    stages = stages_of(designs)
    words = subset_words(stages, int(stage_counts(stages).max(initial=1)))
    numbers: IntArray = np.unique(words[:, :, 0].astype(np.int64))
    return numbers
