"""Designs as a bank takes them, for the tests of several modules."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emsco.design import stage_counts, subset_words, subsets_of_words, words_of_subsets


class Chains(NamedTuple):
    """The first two arguments of `SubsetBank.count`."""

    words: np.ndarray
    n_stages: np.ndarray

    @classmethod
    def of(cls, designs):
        n_stages = stage_counts(designs)
        return cls(subset_words(designs, int(n_stages.max())), n_stages)

    @classmethod
    def of_subsets(cls, subsets):
        """Each subset as the only stage of a design: its bits, counted."""
        return cls(words_of_subsets(subsets)[:, None], np.ones(len(subsets), dtype=np.int64))

    @property
    def keys(self):
        """The different subsets, as tuples of words."""
        return set(map(tuple, self.words.reshape(-1, self.words.shape[2]).tolist()))

    def subsets(self, n_features):
        """The different subsets, as bits."""
        return subsets_of_words(np.array(sorted(self.keys), dtype=np.uint64), n_features)
