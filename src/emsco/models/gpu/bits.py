"""Bits of scored rows on a device, and the counts that designs get from them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._base.workers import slices
from emsco._kernels.counting import add_prices
from emsco.models.bits import BitBank
from emsco.models.gpu.kernels import count_bits
from emsco.models.gpu.library import torch
from emsco.models.layout import Layout

__all__ = ["TorchBits"]

_COUNT_BYTES = 2**28  # of words of designs that are counted together


class TorchBits(BitBank):
    """Bits of a `BitBank`, kept on a device.

    Parameters
    ----------
    layout : Layout
    missing : ndarray of bool, shape (n_features, n_rows), or None
    device : torch.device
    """

    def __init__(self, layout: Layout, missing: BoolArray | None, device: Any) -> None:
        super().__init__(layout, missing)
        self._device = device
        self.accepted: Any = self._tensor(self.accepted)
        self.correct: Any = self.accepted
        self._valid_words = self._tensor(self.valid)
        self._weights = torch.as_tensor(self.word_weights, device=device)
        self._missing_words = self._tensor(self.missing)
        ends = (0, self.n_words) if layout.ends is None else layout.ends.tolist()
        self._parts = list(pairwise(ends))

    def _tensor(self, words: WordArray) -> Any:
        return torch.as_tensor(np.ascontiguousarray(words).view(np.int64)).to(self._device)

    def _index(self, numbers: IntArray) -> Any:
        return torch.as_tensor(np.ascontiguousarray(numbers, dtype=np.int64)).to(self._device)

    def reserve(self, n_slots: int) -> None:
        """Grow to at least `n_slots` slots."""
        if len(self.accepted) < n_slots:
            self.accepted = self._more(self.accepted, n_slots)
            self.correct = self._more(self.correct, n_slots)

    def _more(self, words: Any, n_slots: int) -> Any:
        grown = torch.zeros((n_slots, self.n_words), dtype=torch.int64, device=self._device)
        grown[: len(words)] = words
        return grown

    def put(self, slots: IntArray, accepted: WordArray, correct: WordArray) -> None:
        """Store bits in slots, one row of words per slot, and clear the padding."""
        self.store(slots, self._tensor(accepted), self._tensor(correct))

    def store(self, slots: IntArray, accepted: Any, correct: Any) -> None:
        """Store words that are on the device already."""
        where = self._index(slots)
        self.accepted[where] = accepted & self._valid_words
        self.correct[where] = correct & self._valid_words

    def get(self, slots: IntArray, places: IntArray | None = None) -> WordArray:
        """Copy the bits of these slots, or some words of them: shape (2, n_slots, n_words)."""
        own = self._index(slots)
        where = own if places is None else (own[:, None], self._index(places)[None])
        found: Any = torch.stack([self.accepted[where], self.correct[where]]).cpu().numpy()
        words: WordArray = found.view(np.uint64)
        return words

    def accepted_weight(self, slots: IntArray) -> FloatArray:
        """Weight of the accepted rows of these slots."""
        words = self.accepted[self._index(slots)]
        weight: FloatArray = (count_bits(words, words) @ self._weights).double().cpu().numpy()
        return weight

    def add_counts(
        self,
        designs: StageArray,
        chains: IntArray,
        n_stages: IntArray,
        exits: IntArray,
        correct_exits: IntArray,
    ) -> None:
        """Send all scored rows through each design; `chains` holds the slots of its stages."""
        size = max(1, _COUNT_BYTES // (8 * max(1, self.n_words)))
        for part in slices(len(chains), size):
            own = designs[part], chains[part], n_stages[part]
            leaving, correct = self._counts(*own).cpu().numpy()
            exits[part, : leaving.shape[1]] += leaving
            correct_exits[part, : correct.shape[1]] += correct

    def _counts(self, designs: StageArray, chains: IntArray, n_stages: IntArray) -> Any:
        """Rows that leave and correct ones: (2, n_designs, n_counted + most stages)."""
        most, n_counted = int(n_stages.max(initial=0)), self.n_counted
        shape = (2, len(chains), n_counted + most)
        found = torch.zeros(shape, dtype=torch.int64, device=self._device)
        slots = self._index(np.where(np.arange(chains.shape[1]) < n_stages[:, None], chains, -1))
        shape_of_rows = (len(chains), self.n_words)
        undecided = torch.full(shape_of_rows, -1, dtype=torch.int64, device=self._device)
        for j in range(most):
            is_stage = slots[:, j] >= 0
            free = torch.where(is_stage[:, None], undecided, 0) & ~self._blocked(designs, j)
            own = slots[:, j].clamp(min=0)
            leaving = self.accepted[own]
            for kind, words in enumerate((leaving, self.correct[own])):
                counts = count_bits(free, words) * self._weights
                by_part = [counts[:, first:end].sum(dim=1) for first, end in self._parts]
                for c in range(n_counted):
                    found[kind, :, c] += by_part[c]
                found[kind, :, n_counted + j] = sum(by_part)
            undecided &= ~(free & leaving)
        return found

    def _blocked(self, designs: StageArray, stage: int) -> Any:
        """Rows that lack a feature which a stage buys, by design; 0 if no value is missing."""
        blocked = torch.zeros((), dtype=torch.int64, device=self._device)
        for i in range(len(self._missing_words)):
            buys = torch.as_tensor(designs[:, i] == stage).to(self._device)
            blocked = blocked | torch.where(buys[:, None], self._missing_words[i], 0)
        return blocked

    def add_prices(self, designs: StageArray, chains: IntArray, spent: IntArray) -> None:
        """Add what all rows pay for features with prices of their own, by design."""
        slots, places = np.unique(chains, return_inverse=True)
        accepted, _ = self.get(slots)
        undecided = np.empty(self.n_words, dtype=np.uint64)
        own = accepted, self.missing, self._prices, self._priced
        add_prices(*own, designs, places.reshape(chains.shape), spent, undecided)
