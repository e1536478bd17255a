"""The bank: fits the model of each subset once, and keeps the numbers that its engine makes of it.

Here a subset is a set of features, packed into *words* that serve as a key. When the memory is
full, the bank drops the models that were asked for least recently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, Report, WordArray
from emsco._base.workers import slices
from emsco.designs.chromosomes import subsets_of_words, words_of_subsets
from emsco.designs.slots import Slots
from emsco.models.engine import Engine
from emsco.models.fitter import Answers


class ModelBank:
    """Fits the models of subsets on first request.

    Parameters
    ----------
    engine : Engine
        Fits models and asks them about rows.
    members : ndarray of bool, shape (n_features, n_inputs)
        Inputs of each feature.
    n_bytes : int
        Most bytes of models to keep.

    Attributes
    ----------
    n_features : int
    n_fits : int
        Models fitted so far.
    capacity : int
        Most distinct subsets per call.
    bytes_per_subset : int
    """

    def __init__(self, engine: Engine, members: BoolArray, n_bytes: int = 2**28) -> None:
        self.engine = engine
        self.n_features = len(members)
        self.n_fits = 0
        # Words of keys have room for 32 features each.
        n_key_words = -(-self.n_features // 32)
        self.bytes_per_subset = Slots.bytes_per_key(n_key_words) + 8 * engine.kept
        self._members = members.astype(np.float32)
        # If each input belongs to one feature, the inputs of a subset are a lookup.
        self._owner = np.argmax(members, axis=0) if (members.sum(axis=0) == 1).all() else None
        self._slots = Slots(n_bytes // self.bytes_per_subset, n_key_words)
        self._numbers: FloatArray = np.zeros((0, engine.kept))
        self._reports: list[Report] = []
        self.capacity = self._slots.capacity

    def inputs(self, subsets: BoolArray) -> BoolArray:
        """Inputs of each subset of the features, (n_subsets, n_inputs)."""
        if self._owner is None:
            reads: BoolArray = subsets @ self._members > 0
            return reads
        return subsets[:, self._owner]  # a product of matrices would wait for its threads

    def numbers_of(self, words: WordArray) -> FloatArray:
        """Numbers of the models of subsets, given as words; new ones are fitted."""
        with self._slots.claim(words) as claim:
            # Fitted inside the claim: if a fit is interrupted, the slots are given back.
            if claim.new_slots.size:
                self._make_room()
                new = subsets_of_words(claim.new_keys, self.n_features)
                self._numbers[claim.new_slots] = self._fit(self.inputs(new))
                self.n_fits += len(new)
        return self._numbers.take(claim.slots, axis=0)

    def kept(self, subsets: BoolArray) -> FloatArray:
        """Numbers that the engine keeps of each subset's model, (n_subsets, engine.kept)."""
        numbers = np.empty((len(subsets), self.engine.kept))
        words = words_of_subsets(subsets)
        for part in slices(len(subsets), self.capacity):
            numbers[part] = self.numbers_of(words[part])
        return numbers

    def kept_of_inputs(self, reads: BoolArray) -> FloatArray:
        """Numbers of the models that read these inputs: those kept, and others fitted now.

        Inputs that are no union of features are fitted, and not kept.
        """
        # Stages of different designs often read the same inputs.
        different, place = np.unique(reads, axis=0, return_inverse=True)
        # All features whose inputs are among these.
        lacks = (~different).astype(np.float32) @ self._members.T > 0
        subsets: BoolArray = ~lacks & self._members.any(axis=1)
        # A union of features reads just these inputs, and is no empty set.
        known = (self.inputs(subsets) == different).all(axis=1) & subsets.any(axis=1)
        numbers = np.empty((len(different), self.engine.kept))
        numbers[known] = self.kept(subsets[known])
        if not known.all():
            numbers[~known] = self._fit(different[~known])
        of_reads: FloatArray = numbers[place.reshape(-1)]
        return of_reads

    def answers(self, subsets: BoolArray, rows: Any, scored: Sequence[IntArray]) -> list[Answers]:
        """Answers of each subset's model for the scored rows of each split.

        These are the likeliest class and its probability, both of shape (n_subsets, n_scored).
        `rows` has the inputs of all rows, and `scored` the numbers of each split's scored ones.
        """
        return self.engine.answers(self.inputs(subsets), self.kept(subsets), rows, scored)

    def some_models(self, words: WordArray, max_bytes: int) -> SomeModels | None:
        """Take out the models of some subsets, given as words, without any rows.

        None if they take more bytes.
        """
        engine = self.engine.without_rows()
        words = np.unique(words, axis=0)
        if 8 * engine.kept * len(words) > max_bytes:
            return None
        distinct = subsets_of_words(words, self.n_features)
        return SomeModels(
            engine=engine,
            n_features=self.n_features,
            places={one.tobytes(): i for i, one in enumerate(words)},
            reads=self.inputs(distinct),
            numbers=self.kept(distinct),
        )

    @contextmanager
    def reporting(self, report: Report | None) -> Iterator[None]:
        """Call ``report(done, total)`` while models are fitted within this block.

        It may raise to stop fitting. Reports of outer blocks are called first.
        """
        before = self._reports
        self._reports = before if report is None else [*before, report]
        try:
            yield
        finally:
            self._reports = before

    def _fit(self, reads: BoolArray) -> FloatArray:
        """Fit models of these inputs; all reports are called."""

        def report(done: int, total: int) -> None:
            for one in self._reports:
                one(done, total)

        return self.engine.fit(reads, report if self._reports else None)

    def _make_room(self) -> None:
        if len(self._numbers) < self._slots.n_used:
            grown = np.zeros((self._slots.room, self._numbers.shape[1]))
            grown[: len(self._numbers)] = self._numbers
            self._numbers = grown


@dataclass(frozen=True, slots=True, eq=False)
class SomeModels:
    """Models of some subsets, which answer for rows as the bank does that fitted them.

    Attributes
    ----------
    engine : Engine
        Without rows.
    n_features : int
    places : dict
        Position of each subset, by its words.
    reads : ndarray of bool, shape (n_subsets, n_inputs)
    numbers : ndarray of shape (n_subsets, engine.kept)
    """

    engine: Engine
    n_features: int
    places: dict[bytes, int]
    reads: BoolArray
    numbers: FloatArray

    def answers(self, subsets: BoolArray, rows: Any, scored: Sequence[IntArray]) -> list[Answers]:
        """Answers of each subset's model for the scored rows of each split, as of `ModelBank`."""
        which = [self.places[words.tobytes()] for words in words_of_subsets(subsets)]
        return self.engine.answers(self.reads[which], self.numbers[which], rows, scored)
