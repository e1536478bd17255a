"""Designs as a bank takes them, for the tests of several modules."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emsco.designs.chromosomes import NEVER, stage_counts, subset_words, subsets_of_words


class Chains(NamedTuple):
    """The first two arguments of `SubsetBank.count`."""

    designs: np.ndarray
    n_stages: np.ndarray

    @classmethod
    def from_designs(cls, designs):
        return cls(designs, stage_counts(designs))

    @classmethod
    def from_subsets(cls, subsets):
        """Each subset as the only stage of a design: its bits, counted."""
        return cls.from_designs(np.where(subsets, 0, NEVER).astype(np.int16))

    @property
    def keys(self):
        """The different subsets, as tuples of words."""
        words = subset_words(self.designs, int(self.n_stages.max()))
        return set(map(tuple, words.reshape(-1, words.shape[2]).tolist()))

    def subsets(self, n_features):
        """The different subsets, as bits."""
        return subsets_of_words(np.array(sorted(self.keys), dtype=np.uint64), n_features)
