"""The bank: fits the model of each subset once, and keeps it as a few numbers and bits.

It has three layers. Each asks the one below it only for what it lacks:

- `SubsetBank` counts the rows that leave at each stage of designs.
- `_JudgedSubsets` keeps two bits per scored row for each subset and threshold. They stand in a
  *slot*, which has the same number in every part of `Engine.bits`.
- `_FittedSubsets` keeps the numbers of each subset's model: weights, or answers.

Here a subset is a set of features, packed into *words* that serve as a key, and a *level* is the
number of a threshold in a `ThresholdGrid`. Both lower layers drop the least recently used entries
when their share of the memory is full. So a new threshold needs no new fit, and a search may ask
for more subsets than there is room for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.typing import (
    BoolArray,
    FloatArray,
    IntArray,
    Report,
    StageArray,
    WordArray,
)
from emsco._base.workers import Workers, slices
from emsco.designs.chromosomes import subset_words, subsets_of_words, words_of_subsets
from emsco.designs.slots import Slots
from emsco.designs.thresholds import ThresholdGrid
from emsco.errors import ParameterError
from emsco.models.engine import Answers, Engine, LogisticEngine, SplitRows

_FEWEST_SUBSETS = 256  # that memory must hold; all, if there are fewer features
_SUBSETS_AT_ONCE = 2**13
_MARGINS_AT_ONCE = 2**22
_WORTH_COUNTING = 2**22  # bytes to count; with less work, starting threads takes longer
_MATERIAL = 0.05  # of the rows: a deviation between splits that changes what is promised
_BEYOND = 3.0  # standard errors of a variance


class SubsetBank:
    """Counts what designs do with the scored rows; fits their models on first request.

    One bank serves any number of thresholds and searches, one call at a time.

    Parameters
    ----------
    engine : Engine
        Fits models and judges rows by them.
    members : ndarray of bool, shape (n_features, n_inputs)
        Inputs of each feature.
    memory_limit : int
        Most bytes to keep: three quarters for bits, one quarter for models.
    n_jobs : int
        Threads. The results do not depend on it.

    Attributes
    ----------
    n_features : int
    has_prices : bool
        Whether rows have prices of their own; see `price`.
    """

    def __init__(
        self, engine: Engine, members: BoolArray, memory_limit: int = 2**30, n_jobs: int = 1
    ) -> None:
        self.engine = engine
        self.n_features = len(members)
        self.has_prices = False
        self._workers = Workers(n_jobs)
        self._fitted = _FittedSubsets(engine, members, memory_limit // 4)
        self._judged = _JudgedSubsets(self._fitted, memory_limit * 3 // 4)
        # A design has at most as many stages as features, and hardly ever so many.
        n_needed = min(self.n_features, _FEWEST_SUBSETS)
        if self.capacity < n_needed:
            for_models = n_needed * self._fitted.bytes_per_subset * 4
            for_bits = -(-n_needed * self._judged.bytes_per_slot * 4 // 3) + 1
            raise ParameterError(
                f"memory_limit must be at least {max(for_bits, for_models):,} bytes for these rows "
                f"and features, got {memory_limit:,}."
            )

    @property
    def n_jobs(self) -> int:
        """Number of threads."""
        return self._workers.n_jobs

    @property
    def n_fits(self) -> int:
        """Models fitted so far."""
        return self._fitted.n_fits

    @property
    def n_words(self) -> int:
        """Words that hold one bit per scored row, padding included."""
        return sum(bits.n_words for bits in self.engine.bits)

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

    @property
    def word_weights(self) -> IntArray:
        """Weight of each row of a word, by word."""
        return np.concatenate([bits.word_weights for bits in self.engine.bits])

    @property
    def missing(self) -> WordArray:
        """Rows in which a feature is missing, (n_features, n_words)."""
        parts = [bits.missing for bits in self.engine.bits]
        # Shards have no lines for missing values if none is missing anywhere.
        if len(parts[0]):
            return np.concatenate(parts, axis=1)
        return np.zeros((self.n_features, self.n_words), np.uint64)

    @property
    def capacity(self) -> int:
        """Most distinct subsets per call."""
        return min(self._judged.capacity, self._fitted.capacity)

    def reporting(self, report: Report | None) -> AbstractContextManager[None]:
        """Call ``report(done, total)`` while models are fitted within this block.

        It may raise to stop fitting. Reports of outer blocks are called first.
        """
        return self._fitted.reporting(report)

    def price(self, priced: IntArray, prices: IntArray) -> None:
        """Let rows pay for some features by prices of their own, in whole units.

        `priced` are the features, and `prices`, of shape (n_priced, n_scored), has what each scored
        row pays, split after split.
        """
        first = 0
        for bits in self.engine.bits:
            # Rows of the splits follow one another in the bits, as they do in the prices.
            bits.price(priced, prices[:, first : first + bits.n_scored])
            first += bits.n_scored
        self.has_prices = True

    def count(
        self,
        designs: StageArray,
        n_stages: IntArray,
        grid: ThresholdGrid,
        levels: IntArray | None = None,
    ) -> IntArray:
        """Count the rows that leave at each stage of each design, and the correct ones.

        Parameters
        ----------
        designs : ndarray of shape (n_designs, n_features)
            Stage of each feature; no stage number is skipped.
        n_stages : ndarray of shape (n_designs,)
        grid : ThresholdGrid
        levels : ndarray of shape (n_designs, most stages), optional
            Which of the thresholds each stage has; the first by default.

        Returns
        -------
        ndarray of shape (2, n_designs, n_ahead + most stages)
            First what all rows spend by prices of their own, if they have such, and 0; then the
            rows of each counted class, over all stages; then the rows of each stage, 0 after a
            design's last one.
        """
        max_stages, designs = int(n_stages.max()), np.ascontiguousarray(designs)
        if levels is None:
            levels = np.zeros((len(designs), max_stages), dtype=np.int64)
        counts = np.zeros((2, len(designs), self.n_ahead + max_stages), dtype=np.int64)
        # Each design may need as many slots as it has stages, and all of a part must fit at once.
        for part in slices(len(designs), max(1, self.capacity // max_stages)):
            chains = self._chains(designs[part], max_stages, grid, levels[part])
            self._add_counts(designs[part], n_stages[part], chains, counts[:, part])
        return counts

    def _chains(
        self, designs: StageArray, max_stages: int, grid: ThresholdGrid, levels: IntArray
    ) -> IntArray:
        """Slots of the bits of each design's stages, (n_designs, max_stages)."""
        words = subset_words(designs, max_stages)
        slots = self._judged.slots_of(
            words.reshape(-1, words.shape[2]), grid, levels[:, :max_stages].reshape(-1)
        )
        return slots.reshape(words.shape[:2])

    def _add_counts(
        self, designs: StageArray, n_stages: IntArray, chains: IntArray, counts: IntArray
    ) -> None:
        begin = int(self.has_prices)  # what rows pay stands before the counts

        def add(part: slice) -> None:
            some = designs[part]
            exits = np.zeros((2, len(some), counts.shape[2] - begin), dtype=np.int64)
            spent = np.zeros(len(some), dtype=np.int64)
            for bits in self.engine.bits:
                bits.add_counts(some, chains[part], n_stages[part], *exits)
                if self.has_prices:
                    bits.add_prices(some, chains[part], spent)
            counts[:, part, begin:] = exits
            counts[0, part, :begin] = spent[:, None]

        # Threads pay only where there are words enough to read.
        worth = chains.size * 16 * self.n_words > _WORTH_COUNTING
        size = -(-len(chains) // (self.n_jobs if worth else 1))
        self._workers.run(add, list(slices(len(chains), size)))

    def refused(
        self, designs: StageArray, n_stages: IntArray, grid: ThresholdGrid, levels: IntArray
    ) -> BoolArray:
        """Tell which designs have a stage about which the models of the splits disagree.

        With one split there are none: its models have no others to disagree with. The parameters
        are those of `count`.
        """
        max_stages = int(n_stages.max())
        is_refused = np.zeros(len(designs), dtype=np.bool_)
        if not any(self.engine.split_of):
            return is_refused
        for part in slices(len(designs), max(1, self.capacity // max_stages)):
            chains = self._chains(designs[part], max_stages, grid, levels[part])
            worthless = np.ones(chains.shape, dtype=np.bool_)
            for bits in self.engine.bits:  # it accepts every row, and none of them correctly
                accepted, correct = bits.get(chains.reshape(-1))
                accepts_all = np.all(accepted == bits.valid, axis=1)
                worthless &= (accepts_all & ~np.any(correct, axis=1)).reshape(chains.shape)
            is_stage = np.arange(max_stages) < n_stages[part, None]
            is_refused[part] = np.any(worthless & is_stage, axis=1)
        return is_refused

    def bits(
        self, grid: ThresholdGrid, level: int = 0, check: Callable[[], None] | None = None
    ) -> tuple[WordArray, WordArray]:
        """Fit and judge every subset; return the accepted rows and the correct rows as bits.

        Both have shape (2 ** n_features, n_words), indexed by subset: feature i is in subset s if
        bit i of s is set. `check` is called between batches, and may raise.
        """
        every = np.arange(1, 2**self.n_features, dtype=np.uint64)[:, None]
        parts = []
        # In parts even if all would fit, so that `check` can stop between them.
        for part in slices(len(every), min(self.capacity, _SUBSETS_AT_ONCE)):
            if check:
                check()
            parts.append(self.bits_of(every[part], grid, level))
        parts.insert(0, np.zeros_like(parts[0][:, :1]))  # the empty subset has no model
        accepted, correct = np.concatenate(parts, axis=1)
        return accepted, correct

    def bits_of(
        self,
        words: WordArray,
        grid: ThresholdGrid,
        level: int = 0,
        places: IntArray | None = None,
    ) -> WordArray:
        """Accepted and correct rows of subsets, given as words: (2, n_subsets, n_words).

        With `places`, only these words of bits; see `sampled_words`.
        """
        n_words = self.n_words if places is None else len(places)
        copied = np.empty((2, len(words), n_words), dtype=np.uint64)
        for part in slices(len(words), self.capacity):
            slots = self._judged.slots_of(words[part], grid, np.full(len(words[part]), level))
            copies, first = [], 0
            for bits in self.engine.bits:  # places count the words of all, one after the other
                end, here = first + bits.n_words, None
                if places is not None:
                    here = places[(places >= first) & (places < end)] - first
                copies.append(bits.get(slots, here))
                first = end
            copied[:, part] = np.concatenate(copies, axis=2)
        return copied

    def sampled_words(self, max_words: int) -> tuple[IntArray, int]:
        """At most so many words of bits, evenly spaced, and the weight of their rows."""
        # Evenly spaced, as rows may be sorted by time or place.
        where = np.linspace(0, self.n_words, min(max_words, self.n_words), endpoint=False)
        places = where.astype(np.int64)
        valid = np.concatenate([bits.valid for bits in self.engine.bits])[places]
        return places, int(np.bitwise_count(valid) @ self.word_weights[places])

    def answers(self, subsets: BoolArray, rows: Any, scored: Sequence[IntArray]) -> list[Answers]:
        """Answers of each subset's model for the scored rows of each split.

        These are the likeliest class and its probability, both of shape (n_subsets, n_scored).
        `rows` has the inputs of all rows, and `scored` the numbers of each split's scored ones.
        """
        reads = self._fitted.inputs(subsets)
        return self.engine.answers(reads, self.kept(subsets), rows, scored)

    def kept(self, subsets: BoolArray) -> FloatArray:
        """Numbers that the engine keeps of each subset's model, (n_subsets, engine.kept)."""
        numbers = np.empty((len(subsets), self.engine.kept))
        words = words_of_subsets(subsets)
        for part in slices(len(subsets), self._fitted.capacity):
            numbers[part] = self._fitted.numbers_of(words[part])
        return numbers

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
            reads=self._fitted.inputs(distinct),
            numbers=self.kept(distinct),
        )

    def kept_of_inputs(self, reads: BoolArray) -> FloatArray:
        """Numbers of the models that read these inputs: those kept, and others fitted now.

        Inputs that are no union of features are fitted, and not kept.
        """
        # Stages of different designs often read the same inputs.
        different, place = np.unique(reads, axis=0, return_inverse=True)
        subsets = self._fitted.largest_subsets(different)
        # A union of features reads just these inputs, and is no empty set.
        known = (self._fitted.inputs(subsets) == different).all(axis=1) & subsets.any(axis=1)
        numbers = np.empty((len(different), self.engine.kept))
        numbers[known] = self.kept(subsets[known])
        if not known.all():
            numbers[~known] = self._fitted.fit(different[~known])
        of_reads: FloatArray = numbers[place.reshape(-1)]
        return of_reads

    def adopt(self, subsets: BoolArray, kept: FloatArray) -> None:
        """Take over the models of another bank, to fit them here no more.

        The other bank must have the same training rows, and an engine that keeps weights:
        outcomes depend on the scored rows.
        """
        words = words_of_subsets(subsets)
        for part in slices(len(subsets), self._fitted.capacity):
            self._fitted.adopt(words[part], kept[part])


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
        """Answers of each subset's model for the scored rows of each split, as of `SubsetBank`."""
        which = [self.places[words.tobytes()] for words in words_of_subsets(subsets)]
        return self.engine.answers(self.reads[which], self.numbers[which], rows, scored)


class _FittedSubsets:
    """Models of subsets, each fitted on first request and kept as the numbers of its engine."""

    def __init__(self, engine: Engine, members: BoolArray, n_bytes: int) -> None:
        self.engine = engine
        self.n_features = len(members)
        # Words of keys have room for 32 features each.
        self.n_key_words = -(-self.n_features // 32)
        self.n_fits = 0
        self.bytes_per_subset = Slots.bytes_per_key(self.n_key_words) + 8 * engine.kept
        self._members = members.astype(np.float32)
        # If each input belongs to one feature, the inputs of a subset are a lookup.
        self._owner = np.argmax(members, axis=0) if (members.sum(axis=0) == 1).all() else None
        self._slots = Slots(n_bytes // self.bytes_per_subset, self.n_key_words)
        self._numbers: FloatArray = np.zeros((0, engine.kept))
        self._reports: list[Report] = []
        self.capacity = self._slots.capacity

    def inputs(self, subsets: BoolArray) -> BoolArray:
        """Inputs of each subset of the features, (n_subsets, n_inputs)."""
        if self._owner is None:
            reads: BoolArray = subsets @ self._members > 0
            return reads
        return subsets[:, self._owner]  # a product of matrices would wait for its threads

    def largest_subsets(self, reads: BoolArray) -> BoolArray:
        """All features whose inputs are among these, (n_models, n_features)."""
        lacks = (~reads).astype(np.float32) @ self._members.T > 0
        subsets: BoolArray = ~lacks & self._members.any(axis=1)
        return subsets

    def numbers_of(self, words: WordArray) -> FloatArray:
        """Numbers of the models of subsets; new ones are fitted."""
        with self._slots.claim(words) as claim:
            # Fitted inside the claim: if a fit is interrupted, the slots are given back.
            if claim.new_slots.size:
                self._make_room()
                new = subsets_of_words(claim.new_keys, self.n_features)
                self._numbers[claim.new_slots] = self.fit(self.inputs(new))
                self.n_fits += len(new)
        return self._numbers.take(claim.slots, axis=0)

    def adopt(self, words: WordArray, numbers: FloatArray) -> None:
        with self._slots.claim(words) as claim:
            self._make_room()
            self._numbers[claim.new_slots] = numbers[claim.new_places]

    def fit(self, reads: BoolArray) -> FloatArray:
        """Fit models of these inputs; all reports are called."""

        def report(done: int, total: int) -> None:
            for one in self._reports:
                one(done, total)

        return self.engine.fit(reads, report if self._reports else None)

    @contextmanager
    def reporting(self, report: Report | None) -> Iterator[None]:
        before = self._reports
        self._reports = before if report is None else [*before, report]
        try:
            yield
        finally:
            self._reports = before

    def _make_room(self) -> None:
        if len(self._numbers) < self._slots.n_used:
            room = _room(self._slots.n_used, self._slots.capacity)
            grown = np.zeros((room, self._numbers.shape[1]))
            grown[: len(self._numbers)] = self._numbers
            self._numbers = grown


class _JudgedSubsets:
    """Bits of subsets at thresholds, each judged on first request.

    A subset is worthless at a threshold that was searched for, not asked for, if the models of
    the splits disagree about how many rows reach it: what such a stage promises cannot be kept.
    All its answers then count as wrong.
    """

    def __init__(self, fitted: _FittedSubsets, n_bytes: int) -> None:
        self._fitted, self._engine = fitted, fitted.engine
        n_key_words = fitted.n_key_words + 1  # the number of the thresholds comes first
        self.bytes_per_slot = Slots.bytes_per_key(n_key_words)
        self.bytes_per_slot += sum(bits.bytes_per_slot for bits in self._engine.bits)
        self._slots = Slots(n_bytes // self.bytes_per_slot, n_key_words)
        self._numbers: dict[tuple[bytes, bool], int] = {}  # of thresholds, and whether searched
        self.capacity = self._slots.capacity

    def slots_of(self, words: WordArray, grid: ThresholdGrid, levels: IntArray) -> IntArray:
        """Slots of the bits of subsets, each at a level of a grid; new ones are judged."""
        # Thresholds are told apart by their bits, so that equal ones of two grids share a slot.
        of_levels = [thresholds.tobytes() for thresholds in grid.thresholds]
        searched = {of_levels[level] for level in grid.searched_levels}
        is_searched = [one in searched for one in of_levels]
        numbers = np.array(
            [
                self._numbers.setdefault(key, len(self._numbers))
                for key in zip(of_levels, is_searched, strict=True)
            ],
            dtype=np.uint64,
        )
        # The number of the thresholds is part of the key: the same subset has bits at each of them.
        keys = np.column_stack([numbers[levels], words])
        with self._slots.claim(keys) as claim:
            slots, new_words = claim.new_slots, claim.new_keys[:, 1:]
            if not slots.size:
                return claim.slots
            order = np.argsort(numbers)
            # Back from numbers of thresholds to levels of this grid.
            new_levels = order[np.searchsorted(numbers[order], claim.new_keys[:, 0])]
            engine, models = self._engine, self._fitted.numbers_of(new_words)
            reads = self._fitted.inputs(subsets_of_words(new_words, self._fitted.n_features))
            for bits in engine.bits:
                bits.reserve(_room(self._slots.n_used, self._slots.capacity))
            for level in np.unique(new_levels).tolist():
                here = np.flatnonzero(new_levels == level)
                engine.judge(reads[here], models[here], slots[here], grid.thresholds[level])
                if is_searched[level]:
                    # The full feature set is exempt: it has no other subset to turn to.
                    self._spoil_unsteady(slots[here[~reads[here].all(axis=1)]])
        return claim.slots

    def _spoil_unsteady(self, slots: IntArray) -> None:
        """Let all answers count as wrong where the models of the splits disagree."""
        parts, split_of = self._engine.bits, np.array(self._engine.split_of)
        if not split_of.any():
            return  # one split always agrees with itself
        of_split = split_of == np.arange(split_of.max() + 1)[:, None]  # its rows may be in shards
        accepted = of_split @ [one.accepted_weight(slots) for one in parts]
        every = of_split @ [_weight(one.valid, one.word_weights) for one in parts]
        squared = of_split @ [_weight(one.valid, one.word_weights**2) for one in parts]
        worthless = slots[unsteady(accepted / every[:, None], every**2 / squared)]  # Kish's size
        for one in parts:
            # Accepts everyone and is right about nobody, so no search will want it.
            one.put(worthless, one.valid, np.zeros_like(one.valid))


def unsteady(shares: FloatArray, sizes: FloatArray) -> BoolArray:
    """Tell which shares of accepted rows differ between splits, materially and beyond chance.

    Parameters
    ----------
    shares : ndarray of shape (n_splits, n_models)
    sizes : ndarray of shape (n_splits,)
        Scored rows of each split, by Kish's effective number if they have weights.

    Examples
    --------
    >>> shares = np.array([[0.52, 0.9], [0.50, 0.0], [0.48, 0.9], [0.51, 0.9], [0.50, 0.0]])
    >>> unsteady(shares, np.full(5, 1000.0)).tolist()
    [False, True]
    """
    if len(shares) < 2:
        return np.zeros(shares.shape[1], dtype=np.bool_)
    mean = sizes @ shares / sizes.sum()
    # The variance of a share that chance alone would cause.
    chance = mean * (1 - mean) / sizes.mean()
    # Chance, what chance varies by itself, and a difference too small to matter.
    tolerated = chance + _BEYOND * chance * np.sqrt(2 / (len(shares) - 1)) + _MATERIAL**2
    differ: BoolArray = shares.var(axis=0, ddof=1) > tolerated
    return differ


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


def _weight(bits: WordArray, word_weights: IntArray) -> FloatArray:
    """Weight of the rows whose bits are set."""
    weight: FloatArray = np.bitwise_count(bits) @ word_weights.astype(np.float64)
    return weight


def _room(n_used: int, capacity: int) -> int:
    """Slots to reserve for a growing array, so that it is copied only a few times.

    Above a third of the capacity, all of it is reserved: otherwise the old and the new array
    together could exceed the memory limit. Pages that are never touched take no memory.
    """
    room = 1 << max(6, (n_used - 1).bit_length())
    return capacity if 3 * room > capacity else room
