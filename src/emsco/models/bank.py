"""The bank: fits the model of each subset once, and keeps it as a few numbers and bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from emsco._base.checks import refused
from emsco._base.typing import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    SingleArray,
    StageArray,
    WordArray,
)
from emsco._base.workers import Workers, slices
from emsco._kernels.slots import Slots
from emsco.designs.chromosomes import subset_words, subsets_of_words, words_of_subsets
from emsco.models.bits import WORD, Bits, bits_of_margins, unsteady
from emsco.models.engine import Answers, Engine, LogisticEngine, SplitRows

_SUBSETS_AT_ONCE = 2**13
_MARGINS_AT_ONCE = 2**22
_WORTH_COUNTING = 2**22  # bytes to count; with less work, starting threads takes longer


class SubsetBank:
    """Fits the models of subsets on first request and keeps them, within a memory limit.

    One bank serves any number of thresholds and searches, one call at a time. Models are kept by
    subset, and bits by subset and threshold, so a new threshold needs no new fit.

    Parameters
    ----------
    engine : Engine
        Fits models and judges rows by them.
    members : ndarray of bool, shape (n_features, n_inputs)
        Inputs of each feature.
    memory_limit : int
        Most bytes to keep: three quarters for bits, one quarter for models. When a part is full,
        the bank drops its least recently used entries.
    n_jobs : int
        Threads. The results do not depend on it.

    Attributes
    ----------
    n_fits : int
        Models fitted so far.
    has_prices : bool
        Whether rows have prices of their own; see `price`.
    on_fit : callable or None
        Called as ``on_fit(done, total)`` while models are fitted.
    watched : list of ndarray of shape (n_classes,)
        Thresholds at which subsets are worthless if the models of the splits disagree about them;
        see `emsco.models.bits`.
    """

    def __init__(
        self, engine: Engine, members: BoolArray, memory_limit: int = 2**30, n_jobs: int = 1
    ) -> None:
        self.engine = engine
        self.n_features = n_features = len(members)
        self.n_fits = 0
        self.has_prices = False
        self.on_fit: Callable[[int, int], None] | None = None
        self.watched: Sequence[FloatArray] | FloatArray = ()
        self._members = members.astype(np.float32)
        self._owner = np.argmax(members, axis=0) if (members.sum(axis=0) == 1).all() else None
        self._workers = Workers(n_jobs)
        self._bytes_per_slot = sum(bits.bytes_per_slot for bits in engine.bits)
        n_words = -(-n_features // 32)
        slot = Slots.bytes_per_key(n_words + 1) + self._bytes_per_slot
        model = Slots.bytes_per_key(n_words) + 8 * engine.kept
        self._slots = Slots(memory_limit * 3 // 4 // slot, n_words + 1)
        self._models = Slots(memory_limit // 4 // model, n_words)
        self._kept: FloatArray = np.zeros((0, engine.kept))
        self._thresholds: dict[bytes, int] = {}
        if self.capacity < n_features:
            least = max(-(-n_features * slot * 4 // 3) + 1, n_features * model * 4)
            raise refused(
                "memory_limit",
                f"be at least {least:,} bytes for these rows and features",
                memory_limit,
                got=f"{memory_limit:,}",
            )

    @property
    def n_jobs(self) -> int:
        """Number of threads."""
        return self._workers.n_jobs

    @property
    def n_words(self) -> int:
        """Words that hold one bit per scored row, padding included."""
        return self._bytes_per_slot // 16

    @property
    def n_rows(self) -> int:
        """Scored rows over all splits, or the sum of their weights."""
        return sum(bits.n_rows for bits in self.engine.bits)

    @property
    def n_counted(self) -> int:
        """Classes whose rows are also counted apart; 0 if none are."""
        return self.engine.bits[0].n_counted

    @property
    def n_ahead(self) -> int:
        """Counts of a design before those of its stages: what it spends by prices, classes."""
        return self.has_prices + self.n_counted

    def price(self, priced: IntArray, prices: IntArray) -> None:
        """Let rows pay for some features by prices of their own, in whole units.

        `priced` are the features, and `prices`, of shape (n_priced, n_scored), has what each scored
        row pays, split after split.
        """
        ends = np.cumsum([0, *(bits.n_scored for bits in self.engine.bits)])
        for bits, first, end in zip(self.engine.bits, ends[:-1], ends[1:], strict=True):
            bits.price(priced, prices[:, first:end])
        self.has_prices = True

    @property
    def word_weights(self) -> IntArray:
        """Weight of each row of a word, by word."""
        return np.concatenate([bits.word_weights for bits in self.engine.bits])

    @property
    def missing(self) -> WordArray:
        """Rows in which a feature is missing, (n_features, n_words)."""
        found = [bits.missing for bits in self.engine.bits]
        shape = (self.n_features, self.n_words)
        return np.concatenate(found, axis=1) if len(found[0]) else np.zeros(shape, np.uint64)

    @property
    def capacity(self) -> int:
        """Most distinct subsets per call."""
        return min(self._slots.capacity, self._models.capacity)

    def count(
        self,
        designs: StageArray,
        n_stages: IntArray,
        thresholds: FloatArray,
        levels: IntArray | None = None,
    ) -> IntArray:
        """Count the rows that leave at each stage of each design, and the correct ones.

        Parameters
        ----------
        designs : ndarray of shape (n_designs, n_features)
            Stage of each feature; no stage number is skipped.
        n_stages : ndarray of shape (n_designs,)
        thresholds : ndarray of shape (n_classes,) or (n_levels, n_classes)
        levels : ndarray of shape (n_designs, most stages), optional
            Which of the thresholds each stage has; the first by default.

        Returns
        -------
        ndarray of shape (2, n_designs, n_ahead + most stages)
            First what all rows spend by prices of their own, if they have such, and 0; then the
            rows of each counted class, over all stages; then the rows of each stage, 0 after a
            design's last one.
        """
        most, thresholds = int(n_stages.max()), np.atleast_2d(thresholds)
        if levels is None:
            levels = np.zeros((len(designs), most), dtype=np.int64)
        counts = np.zeros((2, len(designs), self.n_ahead + most), dtype=np.int64)
        for part in slices(len(designs), max(1, self.capacity // most)):
            own = thresholds, levels[part]
            self._add_counts(designs[part], n_stages[part], *own, counts[:, part])
        return counts

    def kept(self, subsets: BoolArray) -> FloatArray:
        """Numbers that the engine keeps of each subset's model, (n_subsets, engine.kept)."""
        found = np.empty((len(subsets), self.engine.kept))
        words = words_of_subsets(subsets)
        for part in slices(len(subsets), self._models.capacity):
            found[part] = self._kept_of(words[part])
        return found

    def kept_of_inputs(self, reads: BoolArray) -> FloatArray:
        """Numbers of the models that read these inputs: those kept, and others fitted now.

        Inputs that are no union of features are fitted, and not kept.
        """
        different, place = np.unique(reads, axis=0, return_inverse=True)
        lacks = (~different).astype(np.float32) @ self._members.T > 0
        subsets = ~lacks & (self._members.any(axis=1))
        known = (self.inputs(subsets) == different).all(axis=1) & subsets.any(axis=1)
        found = np.empty((len(different), self.engine.kept))
        found[known] = self.kept(subsets[known])
        if not known.all():
            found[~known] = self.engine.fit(different[~known], self.on_fit)
        numbers: FloatArray = found[place.reshape(-1)]
        return numbers

    def adopt(self, subsets: BoolArray, kept: FloatArray) -> None:
        """Take over the models of another bank, to fit them here no more.

        The other bank must have the same training rows, and an engine that keeps weights:
        outcomes depend on the scored rows.
        """
        words = words_of_subsets(subsets)
        for part in slices(len(subsets), self._models.capacity):
            with self._models.claim(words[part]) as claim:
                self._kept = _grown(self._kept, self._models.n_used, self._models.capacity)
                self._kept[claim.new_slots] = kept[part][claim.new_places]

    def bits(
        self, thresholds: FloatArray, check: Callable[[], None] | None = None
    ) -> tuple[WordArray, WordArray]:
        """Fit and judge every subset; return the accepted rows and the correct rows as bits.

        Both have shape (2 ** n_features, n_words), indexed by subset: feature i is in subset s if
        bit i of s is set. `check` is called between batches, and may raise.
        """
        every = np.arange(1, 2**self.n_features, dtype=np.uint64)[:, None]
        parts = []
        for part in slices(len(every), min(self.capacity, _SUBSETS_AT_ONCE)):
            if check:
                check()
            parts.append(self.bits_of(every[part], thresholds))
        parts.insert(0, np.zeros_like(parts[0][:, :1]))  # the empty subset has no model
        accepted, correct = np.concatenate(parts, axis=1)
        return accepted, correct

    def sampled_words(self, most: int) -> tuple[IntArray, int]:
        """At most so many words of bits, evenly spaced, and the weight of their rows."""
        where = np.linspace(0, self.n_words, min(most, self.n_words), endpoint=False)
        places = where.astype(np.int64)
        valid = np.concatenate([bits.valid for bits in self.engine.bits])[places]
        return places, int(np.bitwise_count(valid) @ self.word_weights[places])

    def bits_of(
        self, words: WordArray, thresholds: FloatArray, places: IntArray | None = None
    ) -> WordArray:
        """Accepted and correct rows of subsets, given as words: (2, n_subsets, n_words).

        With `places`, only these words of bits.
        """
        n_words = self.n_words if places is None else len(places)
        found = np.empty((2, len(words), n_words), dtype=np.uint64)
        for part in slices(len(words), self.capacity):
            level = np.zeros(len(words[part]), dtype=np.int64)
            slots = self._slots_of(words[part], thresholds[None], level)
            own = [bits.get(slots, at) for bits, at in self._parts_of(places)]
            found[:, part] = np.concatenate(own, axis=2)
        return found

    def _parts_of(self, places: IntArray | None) -> Iterator[tuple[Bits, IntArray | None]]:
        """Split places among all words into those of each split's own."""
        first = 0
        for bits in self.engine.bits:
            end = first + bits.n_words
            yield bits, None if places is None else _between(places, first, end)
            first = end

    def margins(self, words: WordArray) -> SingleArray:
        """Margins of subsets, given as words, for all scored rows: (n_subsets, bits)."""
        found = np.empty((len(words), 64 * self.n_words), dtype=np.float32)
        size = max(1, _MARGINS_AT_ONCE // found.shape[1])
        for part in slices(len(words), min(self._models.capacity, size)):
            own = self.engine.margins(self._kept_of(words[part]))
            found[part] = np.concatenate([_padded(one) for one in own], axis=1)
        return found

    def guessed_bits(self, margins: SingleArray, thresholds: FloatArray) -> WordArray:
        """Accepted and correct rows that follow from margins: (2, n_subsets, n_words)."""
        truth = np.concatenate([_padded(part[None])[0] for part in self.engine.truth])
        valid = np.concatenate([bits.valid for bits in self.engine.bits])
        bits: WordArray = bits_of_margins(margins, truth, thresholds) & valid
        return bits

    def refused(
        self, designs: StageArray, n_stages: IntArray, thresholds: FloatArray, levels: IntArray
    ) -> BoolArray:
        """Tell which designs have a stage that is worthless at its threshold; see `watched`.

        With one split there are none: its models have no others to disagree with. The parameters
        are those of `count`.
        """
        most = int(n_stages.max())
        found = np.zeros(len(designs), dtype=np.bool_)
        if self._has_one_split:
            return found
        for part in slices(len(designs), max(1, self.capacity // most)):
            words = subset_words(designs[part], most)
            own = levels[part, :most].reshape(-1)
            slots = self._slots_of(words.reshape(-1, words.shape[2]), thresholds, own)
            worthless = self._worthless(slots).reshape(words.shape[:2])
            is_stage = np.arange(most) < n_stages[part, None]
            found[part] = np.any(worthless & is_stage, axis=1)
        return found

    def _worthless(self, slots: IntArray) -> BoolArray:
        """Tell which slots accept every row, and none of them correctly."""
        worthless = np.ones(len(slots), dtype=np.bool_)
        for one in self.engine.bits:
            accepted, correct = one.get(slots)
            worthless &= np.all(accepted == one.valid, axis=1) & ~np.any(correct, axis=1)
        return worthless

    def answers(self, subsets: BoolArray, rows: Any, scored: Sequence[IntArray]) -> list[Answers]:
        """Answers of each subset's model for the scored rows of each split.

        These are the likeliest class and its probability, both of shape (n_subsets, n_scored).
        `rows` has the inputs of all rows, and `scored` the numbers of each split's scored ones.
        """
        return self.engine.answers(self.inputs(subsets), self.kept(subsets), rows, scored)

    def inputs(self, subsets: BoolArray) -> BoolArray:
        """Inputs of each subset of the features, (n_subsets, n_inputs)."""
        if self._owner is None:
            reads: BoolArray = subsets @ self._members > 0
            return reads
        return subsets[:, self._owner]  # a product of matrices would wait for its threads

    def _kept_of(self, words: WordArray) -> FloatArray:
        with self._models.claim(words) as claim:
            if claim.new_slots.size:
                self._fit(subsets_of_words(claim.new_keys, self.n_features), claim.new_slots)
        found: FloatArray = self._kept[claim.slots]
        return found

    def _slots_of(self, words: WordArray, thresholds: FloatArray, levels: IntArray) -> IntArray:
        """Slots of the subsets' bits, each at one of the thresholds; new ones are judged."""
        numbers = np.array([self._number_of(one) for one in thresholds])
        keys = np.insert(words, 0, numbers[levels], axis=1)
        with self._slots.claim(keys) as claim:
            if claim.new_slots.size:
                level = np.searchsorted(np.sort(numbers), claim.new_keys[:, 0])
                level = np.argsort(numbers)[level]
                self._judge(claim.new_keys[:, 1:], claim.new_slots, thresholds, level)
        return claim.slots

    def _number_of(self, thresholds: FloatArray) -> int:
        return self._thresholds.setdefault(thresholds.tobytes(), len(self._thresholds))

    def _add_counts(
        self,
        designs: StageArray,
        n_stages: IntArray,
        thresholds: FloatArray,
        levels: IntArray,
        counts: IntArray,
    ) -> None:
        words = subset_words(designs, counts.shape[2] - self.n_ahead)
        slots = self._slots_of(
            words.reshape(-1, words.shape[2]),
            thresholds,
            levels[:, : words.shape[1]].reshape(-1),
        )
        chains = slots.reshape(words.shape[:2])

        def add(part: slice) -> None:
            own, has_prices = (designs[part], chains[part]), self.has_prices
            exits, correct_exits = counts[:, part, int(has_prices) :]
            for bits in self.engine.bits:
                bits.add_counts(*own, n_stages[part], exits, correct_exits)
                if has_prices:
                    bits.add_prices(*own, counts[0, part, 0])

        worth = chains.size * self._bytes_per_slot > _WORTH_COUNTING
        size = -(-len(chains) // (self._workers.n_jobs if worth else 1))
        self._workers.run(add, list(slices(len(chains), size)))

    def _fit(self, subsets: BoolArray, slots: IntArray) -> None:
        self._kept = _grown(self._kept, self._models.n_used, self._models.capacity)
        self._kept[slots] = self.engine.fit(self.inputs(subsets), self.on_fit)
        self.n_fits += len(slots)

    def _judge(
        self, words: WordArray, slots: IntArray, thresholds: FloatArray, levels: IntArray
    ) -> None:
        """Judge the models of subsets, each at one of the thresholds; new ones are fitted."""
        kept = self._kept_of(words)
        reads = self.inputs(subsets_of_words(words, self.n_features))
        for bits in self.engine.bits:
            bits.reserve(_room(self._slots.n_used, self._slots.capacity))
        if self.engine.judges_levels:
            self.engine.judge(reads, kept, slots, thresholds[levels])
        for level in np.unique(levels).tolist():
            here, least = np.flatnonzero(levels == level), thresholds[level]
            if not self.engine.judges_levels:
                self.engine.judge(reads[here], kept[here], slots[here], least)
            if any(np.array_equal(one, least) for one in self.watched):
                self._refuse_unsteady(slots[here[~reads[here].all(axis=1)]])

    @property
    def _has_one_split(self) -> bool:
        """Whether there is one split, which always agrees with itself."""
        return not any(self.engine.split_of)

    def _refuse_unsteady(self, slots: IntArray) -> None:
        """Make subsets worthless at a threshold about which the models of the splits disagree.

        All their answers count as wrong. Whoever buys everything has no other subset to turn to,
        and is spared.
        """
        parts, split_of = self.engine.bits, np.array(self.engine.split_of)
        if self._has_one_split:
            return
        of_split = split_of == np.arange(split_of.max() + 1)[:, None]  # its rows may be in shards
        accepted = of_split @ [one.accepted_weight(slots) for one in parts]
        every = of_split @ [_weight(one.valid, one.word_weights) for one in parts]
        squared = of_split @ [_weight(one.valid, one.word_weights**2) for one in parts]
        worthless = slots[unsteady(accepted / every[:, None], every**2 / squared)]  # Kish's size
        for one in parts:
            one.put(worthless, one.valid, np.zeros_like(one.valid))


def logistic_bank(
    splits: Sequence[SplitRows],
    n_features: int,
    memory_limit: int = 2**30,
    n_jobs: int = 1,
    n_classes: int = 2,
) -> SubsetBank:
    """Open a bank of logistic regressions with one input per feature."""
    engine = LogisticEngine(splits, n_features, n_classes, n_jobs)
    return SubsetBank(engine, np.eye(n_features, dtype=np.bool_), memory_limit, n_jobs)


def _between(places: IntArray, first: int, end: int) -> IntArray:
    """Places from the first up to the end, counted from the first."""
    found: IntArray = places[(places >= first) & (places < end)] - first
    return found


def _weight(bits: WordArray, word_weights: IntArray) -> FloatArray:
    """Weight of the rows whose bits are set."""
    found: FloatArray = np.bitwise_count(bits) @ word_weights.astype(np.float64)
    return found


def _padded(values: AnyArray) -> AnyArray:
    """Pad the rows of each line with zeros to whole words of bits."""
    return np.pad(values, ((0, 0), (0, -values.shape[1] % WORD)))


def _room(n_used: int, capacity: int) -> int:
    """Slots to reserve for a growing array, so that it is copied only a few times.

    Above a third of the capacity, all of it is reserved: otherwise the old and the new array
    together could exceed the memory limit. Pages that are never touched take no memory.
    """
    room = 1 << max(6, (n_used - 1).bit_length())
    return capacity if 3 * room > capacity else room


def _grown(numbers: FloatArray, n_used: int, capacity: int) -> FloatArray:
    if len(numbers) >= n_used:
        return numbers
    grown = np.zeros((_room(n_used, capacity), numbers.shape[1]))
    grown[: len(numbers)] = numbers
    return grown
