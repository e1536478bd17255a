"""The bank: each subset's classifier is fitted once, then kept as coefficients and bits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np

from emsco._typing import BoolArray, FloatArray, IntArray, LabelArray, StageArray, WordArray
from emsco.design import (
    row_keys,
    stage_counts,
    subset_words,
    subsets_of_words,
    words_of_subsets,
)
from emsco.errors import ParameterError
from emsco.subsets.logistic import LogisticFits
from emsco.subsets.models import ModelBatch, Models
from emsco.subsets.scaling import Scaling
from emsco.subsets.shard import ROWS_PER_SHARD, Shard, cut_shards
from emsco.subsets.slots import SlotTable

__all__ = ["Chains", "SplitRows", "SubsetBank"]

_BYTES_PER_KEY = 200  # of Python objects that remember one subset
_MOST_MODELS = 256  # fitted together; past this, batches only take more memory
_BATCH_BYTES = 2**26
_WORTH_THREADS = 2**22  # bytes of bits to count, below which starting threads takes longer


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """Designs as chains of nested subsets: stage j of design d ends with subset `index[d, j]`."""

    keys: list[bytes]
    subsets: BoolArray
    index: IntArray
    n_stages: IntArray

    @classmethod
    def of(cls, designs: StageArray) -> Self:
        """The different subsets that `designs`, shape (n_designs, n_features), go through."""
        n_stages = stage_counts(designs)
        most = int(n_stages.max(initial=1))
        words = subset_words(designs, most)
        used = np.arange(most) < n_stages[:, None]
        distinct, number = _distinct(words[used])
        index = np.zeros(used.shape, dtype=np.int64)
        index[used] = number
        return cls(
            row_keys(distinct), subsets_of_words(distinct, designs.shape[1]), index, n_stages
        )


@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """Training and held-out rows of one split, as shards, with what the fits need to know."""

    shards: Sequence[Shard]
    fits: LogisticFits
    scaling: Scaling

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
        return cls(shards, LogisticFits(shards, X.shape[1], len(train), penalty), scaling)


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
        slot = _BYTES_PER_KEY + self._bytes_per_slot
        model = _BYTES_PER_KEY + 8 * (n_features + 1) * len(splits)
        self._slots = SlotTable(int(memory_limit * 3 / 4) // slot)
        self._models = SlotTable(memory_limit // 4 // model)
        self._threads: ThreadPoolExecutor | None = None
        self._coefs: FloatArray = np.zeros((len(splits), 0, n_features + 1))
        if self.capacity < n_features:
            least = max(n_features * slot * 4 / 3, n_features * model * 4)
            raise ParameterError(
                f"memory_limit must be at least {least:,.0f} bytes for these rows and features, "
                f"got {memory_limit:,}."
            )

    @property
    def capacity(self) -> int:
        """How many different subsets one call may ask for."""
        return min(self._slots.capacity, self._models.capacity)

    def count(self, chains: Chains, min_confidence: float) -> IntArray:
        """Rows that leave at each stage of each design, and rows that leave there correctly.

        Shape (2, n_designs, most stages), 0 past a design's last stage.
        """
        slots = self._slots_of(chains, min_confidence)[chains.index]
        counts = np.zeros((2, *slots.shape), dtype=np.int64)

        def add(designs: slice) -> None:
            for split in self.splits:
                for shard in split.shards:
                    shard.add_counts(slots[designs], chains.n_stages[designs], *counts[:, designs])

        parts = self._n_jobs if slots.size * self._bytes_per_slot > _WORTH_THREADS else 1
        self._run(add, list(_slices(len(slots), -(-len(slots) // parts))))
        return counts

    def coefs(self, subsets: BoolArray) -> FloatArray:
        """Intercept and coefficients by split and subset: (n_splits, n_subsets, n_features + 1).

        `subsets` has shape (n_subsets, n_features) and no row twice.
        """
        keys = subset_keys(subsets)
        slots, new = self._models.claim(keys)
        if new.size:
            with _claimed(self._models, [keys[i] for i in new]):
                self._fit(subsets[new], slots[new])
        found: FloatArray = self._coefs[:, slots]
        return found

    def _slots_of(self, chains: Chains, min_confidence: float) -> IntArray:
        """Slot of the bits of each subset, after fitting and judging those that have none."""
        places = [(min_confidence, key) for key in chains.keys]
        slots, new = self._slots.claim(places)
        if new.size:
            with _claimed(self._slots, [places[i] for i in new]):
                subsets = chains.subsets[new]
                coefs = self.coefs(subsets)
                self._judge(subsets, coefs, slots[new], min_confidence)
        return slots

    def _fit(self, subsets: BoolArray, slots: IntArray) -> None:
        self._coefs = _grown(self._coefs, self._models.n_used, self._models.capacity)
        largest = max(1, _BATCH_BYTES // ModelBatch.bytes_per_model(self.n_features))
        size = min(_MOST_MODELS, largest, max(8, -(-len(slots) // (4 * self._n_jobs))))
        by_size = np.argsort(subsets.sum(axis=1), kind="stable")

        def fit(task: tuple[slice, int]) -> None:
            batch, split = by_size[task[0]], task[1]
            models = self.splits[split].fits.fit(subsets[batch])
            self._coefs[split, slots[batch]] = models.spread(self.n_features)

        self._run(
            fit, list(product(_slices(len(slots), size), range(len(self.splits)))), self.on_fit
        )
        self.n_fits += len(slots)

    def _judge(
        self, subsets: BoolArray, coefs: FloatArray, slots: IntArray, min_confidence: float
    ) -> None:
        for split in self.splits:
            for shard in split.shards:
                shard.reserve(_room(self._slots.n_used, self._slots.capacity))

        def judge(part: slice) -> None:
            for split, spread in zip(self.splits, coefs, strict=True):
                models = Models.of(subsets[part], spread[part])
                for shard in split.shards:
                    shard.judge(models, slots[part], min_confidence)

        self._run(judge, list(_slices(len(slots), max(64, -(-len(slots) // self._n_jobs)))))

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


def subset_keys(subsets: BoolArray) -> list[bytes]:
    """The name under which a bank keeps each subset."""
    return row_keys(words_of_subsets(subsets))


def _distinct(words: WordArray) -> tuple[WordArray, IntArray]:
    """Different rows, and which of them each row is."""
    if words.shape[1] == 1:  # far faster than the general way
        values, number = np.unique(words[:, 0], return_inverse=True)
        return values[:, None], number
    distinct, number = np.unique(words, axis=0, return_inverse=True)
    return distinct, number.reshape(-1)


@contextmanager
def _claimed(table: SlotTable, keys: Sequence[Hashable]) -> Iterator[None]:
    """Give the slots of `keys` back if what they were claimed for fails or is interrupted."""
    try:
        yield
    except BaseException:
        table.forget(keys)
        raise


def _slices(n: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, n, max(1, size)))


def _room(n_used: int, capacity: int) -> int:
    """Slots to reserve so that a growing table is copied a few times only."""
    return min(capacity, 1 << max(6, (n_used - 1).bit_length()))


def _grown(table: FloatArray, n_used: int, capacity: int) -> FloatArray:
    if table.shape[1] >= n_used:
        return table
    grown = np.zeros((table.shape[0], _room(n_used, capacity), table.shape[2]))
    grown[:, : table.shape[1]] = table
    return grown
