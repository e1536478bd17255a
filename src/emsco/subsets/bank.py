"""The bank: each subset's classifier is fitted once, then kept as coefficients and bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np

from emsco._typing import BoolArray, FloatArray, IntArray, LabelArray, WordArray
from emsco.design import subsets_of_words, words_of_subsets
from emsco.errors import ParameterError
from emsco.subsets.logistic import LogisticFits
from emsco.subsets.models import ModelBatch, Models
from emsco.subsets.scaling import Scaling
from emsco.subsets.shard import ROWS_PER_SHARD, Shard, cut_shards
from emsco.subsets.slots import SlotTable

__all__ = ["SplitRows", "SubsetBank"]

_MOST_MODELS = 256  # fitted together; past this, batches only take more memory
_BATCH_BYTES = 2**26
_SUBSETS_AT_ONCE = 2**13
# Below these much work starting threads takes longer: models times rows to fit, bytes to count.
_WORTH_FITTING = 20_000
_WORTH_COUNTING = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """Training and held-out rows of one split, as shards, with what the fits need to know."""

    shards: Sequence[Shard]
    fits: LogisticFits
    scaling: Scaling
    n_rows: int

    @classmethod
    def cut(
        cls,
        X: FloatArray,
        labels: LabelArray,
        train: IntArray,
        held_out: IntArray,
        penalty: float = 1.0,
        rows_per_shard: int = ROWS_PER_SHARD,
    ) -> Self:
        """Standardise by the training rows and cut into shards."""
        scaling = Scaling.learn(X[train])
        shards = cut_shards(X, labels, train, held_out, scaling, rows_per_shard)
        fits = LogisticFits(shards, X.shape[1], len(train), penalty)
        return cls(shards, fits, scaling, len(train))


class SubsetBank:
    """Fits subsets when they are first asked for and remembers them, within a bound of memory.

    One bank serves any number of thresholds and searches, one call at a time: coefficients are
    kept per subset, bits per subset and threshold, and a new threshold never refits.

    Parameters
    ----------
    splits : sequence of SplitRows
        Every (split, held-out row) pair is one scored row.
    n_features : int
    memory_limit : int
        Bytes to keep at most. Past it, what was least recently used is dropped, bits before
        coefficients.
    n_jobs : int
        Threads. They change nothing but the time it takes.
    """

    def __init__(
        self,
        splits: Sequence[SplitRows],
        n_features: int,
        memory_limit: int = 2**30,
        n_jobs: int = 1,
    ) -> None:
        self.splits = splits
        self.n_features = n_features
        self.n_fits = 0
        self.on_fit: Callable[[int, int], None] | None = None
        self._n_jobs = n_jobs
        self._bytes_per_slot = sum(s.bytes_per_slot for split in splits for s in split.shards)
        n_words = -(-n_features // 32)
        slot = SlotTable.bytes_per_key(n_words + 1) + self._bytes_per_slot
        model = SlotTable.bytes_per_key(n_words) + 8 * (n_features + 1) * len(splits)
        self._slots = SlotTable(memory_limit * 3 // 4 // slot, n_words + 1)
        self._models = SlotTable(memory_limit // 4 // model, n_words)
        self._n_rows = sum(split.n_rows for split in splits)
        self._threads: ThreadPoolExecutor | None = None
        self._coefs: FloatArray = np.zeros((len(splits), 0, n_features + 1))
        if self.capacity < n_features:
            least = max(-(-n_features * slot * 4 // 3) + 1, n_features * model * 4)
            raise ParameterError(
                f"memory_limit must be at least {least:,} bytes for these rows and features, "
                f"got {memory_limit:,}."
            )

    @property
    def n_words(self) -> int:
        """Words of bits over the held-out rows, every shard's padded to whole ones."""
        return self._bytes_per_slot // 16

    @property
    def word_weights(self) -> IntArray:
        """How much each row of a word counts, by word."""
        return np.ones(self.n_words, dtype=np.int64)

    @property
    def gaps(self) -> WordArray:
        """Rows that a stage which buys a feature cannot judge, (n_features, n_words)."""
        return np.zeros((self.n_features, self.n_words), dtype=np.uint64)

    @property
    def capacity(self) -> int:
        """How many different subsets one call may ask for."""
        return min(self._slots.capacity, self._models.capacity)

    def count(self, words: WordArray, n_stages: IntArray, min_confidence: float) -> IntArray:
        """Rows that leave at each stage of each design, and rows that leave there correctly.

        Parameters
        ----------
        words : ndarray of shape (n_designs, most stages, n_words)
            Features known after each stage, as `subset_words` has them.
        n_stages : ndarray of shape (n_designs,)
        min_confidence : float

        Returns
        -------
        ndarray of shape (2, n_designs, most stages), 0 past a design's last stage
        """
        counts = np.zeros((2, *words.shape[:2]), dtype=np.int64)
        at_once = max(1, self.capacity // words.shape[1])
        for part in _slices(len(words), at_once):
            self._add_counts(words[part], n_stages[part], min_confidence, counts[:, part])
        return counts

    def coefs(self, subsets: BoolArray) -> FloatArray:
        """Intercept and coefficients by split and subset: (n_splits, n_subsets, n_features + 1)."""
        found = np.empty((len(self.splits), len(subsets), self.n_features + 1))
        words = words_of_subsets(subsets)
        for part in _slices(len(subsets), self._models.capacity):
            found[:, part] = self._coefs_of(words[part])
        return found

    def bits(
        self, min_confidence: float, check: Callable[[], None] | None = None
    ) -> tuple[WordArray, WordArray]:
        """Held-out rows that every subset accepts, and gets right, as bits.

        Both of shape (2 ** n_features, n_words), the row of a subset at its number: feature i is
        in subset s if bit i of s is set. Words of the shards stand one after another. `check` is
        called now and then, and may raise.
        """
        every = np.arange(1, 2**self.n_features, dtype=np.uint64)[:, None]
        shards = [shard for split in self.splits for shard in split.shards]
        parts = []
        for part in _slices(len(every), min(self.capacity, _SUBSETS_AT_ONCE)):
            if check:
                check()
            with self._slots.claim(_keys(every[part], min_confidence)) as claim:
                self._judge(claim.new_keys[:, 1:], claim.new_slots, min_confidence)
            parts.append(np.concatenate([s.bits(claim.slots) for s in shards], axis=2))
        parts.insert(0, np.zeros_like(parts[0][:, :1]))  # no features, no classifier
        accepted, correct = np.concatenate(parts, axis=1)
        return accepted, correct

    def _coefs_of(self, words: WordArray) -> FloatArray:
        with self._models.claim(words) as claim:
            self._fit(subsets_of_words(claim.new_keys, self.n_features), claim.new_slots)
        found: FloatArray = self._coefs[:, claim.slots]
        return found

    def _add_counts(
        self, words: WordArray, n_stages: IntArray, min_confidence: float, counts: IntArray
    ) -> None:
        keys = _keys(words.reshape(-1, words.shape[2]), min_confidence)
        with self._slots.claim(keys) as claim:
            self._judge(claim.new_keys[:, 1:], claim.new_slots, min_confidence)
        slots = claim.slots.reshape(words.shape[:2])

        def add(designs: slice) -> None:
            for split in self.splits:
                for shard in split.shards:
                    shard.add_counts(slots[designs], n_stages[designs], *counts[:, designs])

        parts = self._n_jobs if slots.size * self._bytes_per_slot > _WORTH_COUNTING else 1
        self._run(add, list(_slices(len(slots), -(-len(slots) // parts))))

    def _fit(self, subsets: BoolArray, slots: IntArray) -> None:
        if not slots.size:
            return
        self._coefs = _grown(self._coefs, self._models.n_used, self._models.capacity)
        largest = max(1, _BATCH_BYTES // ModelBatch.bytes_per_model(self.n_features))
        worth = len(slots) * self._n_rows > _WORTH_FITTING
        share = -(-len(slots) // (4 * self._n_jobs)) if worth else len(slots)
        size = min(_MOST_MODELS, largest, max(8, share))
        by_size = np.argsort(subsets.sum(axis=1), kind="stable")

        def fit(task: tuple[slice, int]) -> None:
            batch, split = by_size[task[0]], task[1]
            models = self.splits[split].fits.fit(subsets[batch])
            self._coefs[split, slots[batch]] = models.spread(self.n_features)

        self._run(
            fit, list(product(_slices(len(slots), size), range(len(self.splits)))), self.on_fit
        )
        self.n_fits += len(slots)

    def _judge(self, words: WordArray, slots: IntArray, min_confidence: float) -> None:
        if not slots.size:
            return
        coefs = self._coefs_of(words)
        subsets = subsets_of_words(words, self.n_features)
        for split in self.splits:
            for shard in split.shards:
                shard.reserve(_room(self._slots.n_used, self._slots.capacity))

        def judge(part: slice) -> None:
            for split, spread in zip(self.splits, coefs, strict=True):
                models = Models.of(subsets[part], spread[part])
                for shard in split.shards:
                    shard.judge(models, slots[part], np.full(2, min_confidence))

        self._run(judge, list(_slices(len(slots), max(256, -(-len(slots) // self._n_jobs)))))

    def _run(
        self,
        job: Callable[[Any], None],
        tasks: Sequence[Any],
        report: Callable[[int, int], None] | None = None,
    ) -> None:
        """Do all tasks, in threads where there are several; an exception leaves none running."""
        if self._n_jobs == 1 or len(tasks) <= 1:
            for done, task in enumerate(tasks, start=1):
                job(task)
                if report:
                    report(done, len(tasks))
            return
        futures = [self._pool().submit(job, task) for task in tasks]
        try:
            for done, future in enumerate(futures, start=1):
                future.result()
                if report:
                    report(done, len(tasks))
        finally:
            for future in futures:
                future.cancel()
            wait(futures)

    def _pool(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._n_jobs, thread_name_prefix="emsco")
        return self._threads


def _slices(n: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, n, max(1, size)))


def _keys(words: WordArray, min_confidence: float) -> WordArray:
    """Subsets at a threshold, as the table of slots knows them."""
    return np.insert(words, 0, np.float64(min_confidence).view(np.uint64), axis=1)


def _room(n_used: int, capacity: int) -> int:
    """Slots to reserve so that a growing table is copied a few times only.

    Past a third of the capacity all of it is reserved (pages that are not used take no memory),
    so that a copy never stands beside one that is nearly as large.
    """
    room = 1 << max(6, (n_used - 1).bit_length())
    return capacity if 3 * room > capacity else room


def _grown(table: FloatArray, n_used: int, capacity: int) -> FloatArray:
    if table.shape[1] >= n_used:
        return table
    grown = np.zeros((table.shape[0], _room(n_used, capacity), table.shape[2]))
    grown[:, : table.shape[1]] = table
    return grown
