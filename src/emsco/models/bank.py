"""The bank: each subset's classifier is fitted once, then kept as a few numbers and bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from emsco._base.checks import refused
from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._base.workers import Workers, slices
from emsco._kernels.slots import Slots
from emsco.designs.chromosomes import subset_words, subsets_of_words, words_of_subsets
from emsco.models.engine import Engine, LogisticEngine, SplitRows

__all__ = ["SubsetBank", "logistic_bank"]

_SUBSETS_AT_ONCE = 2**13
_WORTH_COUNTING = 2**22  # bytes to count, below which starting threads takes longer


class SubsetBank:
    """Fits subsets when they are first asked for and remembers them, within a bound of memory.

    One bank serves any number of thresholds and searches, one call at a time: what its engine
    keeps of a fit stands by subset, bits by subset and threshold, and a new threshold never refits.

    Parameters
    ----------
    engine : Engine
        What fits and judges.
    members : ndarray of bool, shape (n_features, n_inputs)
        Inputs that each feature brings.
    memory_limit : int
        Bytes to keep at most. Past it, what was least recently used is dropped, bits before
        what is kept of fits.
    n_jobs : int
        Threads. They change nothing but the time it takes.
    """

    def __init__(
        self, engine: Engine, members: BoolArray, memory_limit: int = 2**30, n_jobs: int = 1
    ) -> None:
        self.engine = engine
        self.n_features = n_features = len(members)
        self.n_fits = 0
        self.on_fit: Callable[[int, int], None] | None = None
        self._members = members.astype(np.float32)
        self._workers = Workers(n_jobs)
        self._bytes_per_slot = sum(table.bytes_per_slot for table in engine.tables)
        n_words = -(-n_features // 32)
        slot = Slots.bytes_per_key(n_words + 1) + self._bytes_per_slot
        fit = Slots.bytes_per_key(n_words) + 8 * engine.kept
        self._slots = Slots(memory_limit * 3 // 4 // slot, n_words + 1)
        self._fits = Slots(memory_limit // 4 // fit, n_words)
        self._kept: FloatArray = np.zeros((0, engine.kept))
        self._thresholds: dict[bytes, int] = {}
        if self.capacity < n_features:
            least = max(-(-n_features * slot * 4 // 3) + 1, n_features * fit * 4)
            raise refused(
                "memory_limit",
                f"be at least {least:,} bytes for these rows and features",
                memory_limit,
                got=f"{memory_limit:,}",
            )

    @property
    def n_words(self) -> int:
        """Words of bits over the held-out rows, every table's padded to whole ones."""
        return self._bytes_per_slot // 16

    @property
    def n_rows(self) -> int:
        """Held-out rows, over all splits; with sample weights, what they count."""
        return sum(table.n_rows for table in self.engine.tables)

    @property
    def word_weights(self) -> IntArray:
        """How much each row of a word counts, by word."""
        return np.concatenate([table.word_weights for table in self.engine.tables])

    @property
    def missing(self) -> WordArray:
        """Rows that a stage which buys a feature cannot judge, (n_features, n_words)."""
        found = [table.missing for table in self.engine.tables]
        shape = (self.n_features, self.n_words)
        return np.concatenate(found, axis=1) if len(found[0]) else np.zeros(shape, np.uint64)

    @property
    def capacity(self) -> int:
        """How many different subsets one call may ask for."""
        return min(self._slots.capacity, self._fits.capacity)

    def count(self, designs: StageArray, n_stages: IntArray, thresholds: FloatArray) -> IntArray:
        """Rows that leave at each stage of each design, and rows that leave there correctly.

        Parameters
        ----------
        designs : ndarray of shape (n_designs, n_features)
            Compressed.
        n_stages : ndarray of shape (n_designs,)
        thresholds : ndarray of shape (n_classes,)

        Returns
        -------
        ndarray of shape (2, n_designs, most stages), 0 past a design's last stage
        """
        most = int(n_stages.max())
        counts = np.zeros((2, len(designs), most), dtype=np.int64)
        for part in slices(len(designs), max(1, self.capacity // most)):
            self._add_counts(designs[part], n_stages[part], thresholds, counts[:, part])
        return counts

    def kept(self, subsets: BoolArray) -> FloatArray:
        """What the engine keeps of subsets of the features, (n_subsets, engine.kept)."""
        found = np.empty((len(subsets), self.engine.kept))
        words = words_of_subsets(subsets)
        for part in slices(len(subsets), self._fits.capacity):
            found[part] = self._kept_of(words[part])
        return found

    def adopt(self, subsets: BoolArray, kept: FloatArray) -> None:
        """Take what another bank keeps of subsets, so that they need no fits here.

        Its engine must have fitted on the same training rows, and keep nothing that depends on
        held-out rows: weights, not outcomes.
        """
        words = words_of_subsets(subsets)
        for part in slices(len(subsets), self._fits.capacity):
            with self._fits.claim(words[part]) as claim:
                self._kept = _grown(self._kept, self._fits.n_used, self._fits.capacity)
                self._kept[claim.new_slots] = kept[part][claim.new_places]

    def bits(
        self, thresholds: FloatArray, check: Callable[[], None] | None = None
    ) -> tuple[WordArray, WordArray]:
        """Held-out rows that every subset accepts, and gets right, as bits.

        Both of shape (2 ** n_features, n_words), the row of a subset at its number: feature i is
        in subset s if bit i of s is set. Words of the tables stand one after another. `check` is
        called now and then, and may raise.
        """
        every = np.arange(1, 2**self.n_features, dtype=np.uint64)[:, None]
        parts = []
        for part in slices(len(every), min(self.capacity, _SUBSETS_AT_ONCE)):
            if check:
                check()
            slots = self._slots_of(every[part], thresholds)
            parts.append(np.concatenate([t.bits(slots) for t in self.engine.tables], axis=2))
        parts.insert(0, np.zeros_like(parts[0][:, :1]))  # no features, no classifier
        accepted, correct = np.concatenate(parts, axis=1)
        return accepted, correct

    def inputs(self, subsets: BoolArray) -> BoolArray:
        """Inputs that subsets of the features bring."""
        reads: BoolArray = subsets @ self._members > 0
        return reads

    def _kept_of(self, words: WordArray) -> FloatArray:
        with self._fits.claim(words) as claim:
            if claim.new_slots.size:
                self._fit(subsets_of_words(claim.new_keys, self.n_features), claim.new_slots)
        found: FloatArray = self._kept[claim.slots]
        return found

    def _slots_of(self, words: WordArray, thresholds: FloatArray) -> IntArray:
        """Slots of the bits of subsets, made where they are not there yet."""
        number = self._thresholds.setdefault(thresholds.tobytes(), len(self._thresholds))
        keys = np.insert(words, 0, np.uint64(number), axis=1)
        with self._slots.claim(keys) as claim:
            if claim.new_slots.size:
                self._judge(claim.new_keys[:, 1:], claim.new_slots, thresholds)
        return claim.slots

    def _add_counts(
        self, designs: StageArray, n_stages: IntArray, thresholds: FloatArray, counts: IntArray
    ) -> None:
        words = subset_words(designs, counts.shape[2])
        slots = self._slots_of(words.reshape(-1, words.shape[2]), thresholds)
        chains = slots.reshape(words.shape[:2])

        def add(part: slice) -> None:
            for table in self.engine.tables:
                table.add_counts(designs[part], chains[part], n_stages[part], *counts[:, part])

        worth = chains.size * self._bytes_per_slot > _WORTH_COUNTING
        size = -(-len(chains) // (self._workers.n_jobs if worth else 1))
        self._workers.run(add, list(slices(len(chains), size)))

    def _fit(self, subsets: BoolArray, slots: IntArray) -> None:
        self._kept = _grown(self._kept, self._fits.n_used, self._fits.capacity)
        self._kept[slots] = self.engine.fit(self.inputs(subsets), self.on_fit)
        self.n_fits += len(slots)

    def _judge(self, words: WordArray, slots: IntArray, thresholds: FloatArray) -> None:
        kept = self._kept_of(words)
        reads = self.inputs(subsets_of_words(words, self.n_features))
        for table in self.engine.tables:
            table.reserve(_room(self._slots.n_used, self._slots.capacity))
        self.engine.judge(reads, kept, slots, thresholds)


def logistic_bank(
    splits: Sequence[SplitRows],
    n_features: int,
    memory_limit: int = 2**30,
    n_jobs: int = 1,
    n_classes: int = 2,
) -> SubsetBank:
    """A bank of logistic regressions in which every feature is one input."""
    engine = LogisticEngine(splits, n_features, n_classes, n_jobs)
    return SubsetBank(engine, np.eye(n_features, dtype=np.bool_), memory_limit, n_jobs)


def _room(n_used: int, capacity: int) -> int:
    """Slots to reserve so that a growing table is copied a few times only.

    Past a third of the capacity all of it is reserved (pages that are not used take no memory),
    so that a copy never stands beside one that is nearly as large.
    """
    room = 1 << max(6, (n_used - 1).bit_length())
    return capacity if 3 * room > capacity else room


def _grown(table: FloatArray, n_used: int, capacity: int) -> FloatArray:
    if len(table) >= n_used:
        return table
    grown = np.zeros((_room(n_used, capacity), table.shape[1]))
    grown[: len(table)] = table
    return grown
