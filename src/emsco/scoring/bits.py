"""Bits of scored rows: what models say about them at a threshold, to count millions of designs.

Each subset has a *slot* for each threshold that is asked for, with two bits a row: accepted, and
accepted with the correct label. Least recently used slots are dropped when memory is full.

A stage must refuse rows for lack of a value (`missing`), and all rows where models disagree about
its threshold (`refused`): then the design counts as wrong about everyone who is left, so that no
search wants it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, WordArray
from emsco._base.workers import Workers, slices
from emsco._kernels.counts import count_exits, mark_rows
from emsco.costs import CostUnits
from emsco.designs.chromosomes import subsets_of_words
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.slots import Claim, Slots
from emsco.errors import ParameterError
from emsco.models.bank import ModelBank
from emsco.scoring.rows import ScoredRows

WORD = 64
_FEWEST_SUBSETS = 256  # that memory must hold; all, if there are fewer features
_ANSWERS_AT_ONCE = 2**22
_WORTH_COUNTING = 2**22  # bytes to count; with less work, starting threads takes longer
_WORTH_MARKING = 20_000  # answers
_MATERIAL = 0.05  # of the rows: a deviation between splits that changes what is promised
_BEYOND = 3.0  # standard errors of a variance


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The row and the weight of each bit.

    Attributes
    ----------
    rows : ndarray of shape (64 * n_words,)
        Row of each bit, -1 for padding; rows of weight 0 have no bit.
    weights : ndarray of shape (n_words,)
        Weight of each bit of a word.
    ends : ndarray of shape (n_classes + 1,)
        Words ``ends[c]`` to ``ends[c + 1]`` hold the rows of class c; empty if classes share words.
    """

    rows: IntArray
    weights: IntArray
    ends: IntArray

    @classmethod
    def of(cls, scored: ScoredRows, *, by_class: bool = False) -> Self:
        """Lay out rows; with `by_class` they come class after class, each from a new word."""
        parts = [np.arange(len(scored))]
        if by_class:
            parts = [np.flatnonzero(scored.labels == k) for k in range(scored.n_classes)]
        places, weights = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        ends = [0]
        for rows in parts:
            for weight, some in _by_weight(scored.units[rows]):
                places.append(np.pad(rows[some], (0, -len(some) % WORD), constant_values=-1))
                weights.append(np.full(len(places[-1]) // WORD, weight))
            ends.append(sum(map(len, weights)))
        shown = np.array(ends if by_class else [], dtype=np.int64)
        return cls(np.concatenate(places), np.concatenate(weights), shown)

    def spread(self, values: IntArray) -> IntArray:
        """Spread values of rows, (…, n_rows), over bits, each times its weight; 0 for padding."""
        bits = np.where(self.rows >= 0, values[..., self.rows], 0) * np.repeat(self.weights, WORD)
        return np.ascontiguousarray(bits)  # an index of the last axis alone turns the lines around


def _by_weight(units: IntArray) -> list[tuple[int, IntArray]]:
    """Groups of rows, each with the weight that it counts.

    A group holds the rows of one weight, or those whose weight has one binary digit, whichever
    takes fewer words: digits do where there are many different weights.
    """
    order = np.argsort(units, kind="stable")  # rows of equal weight keep their order
    order = order[units[order] > 0]
    values, first = np.unique(units[order], return_index=True)
    alike = list(zip(values.tolist(), np.split(order, first[1:]), strict=False))
    n_digits = int(units.max(initial=0)).bit_length()
    digits = [(1 << b, np.flatnonzero(units >> b & 1)) for b in range(n_digits)]
    # Each group ends with a word that is partly empty, so many small groups cost words.
    return min(alike, digits, key=lambda groups: sum(-(-len(rows) // WORD) for _, rows in groups))


def pack(bits: BoolArray) -> WordArray:
    """Pack truth values of shape (…, n_bits) into 64-bit words, lowest bit first, padded with 0."""
    padding = [(0, 0)] * (bits.ndim - 1) + [(0, -bits.shape[-1] % WORD)]
    packed = np.packbits(np.pad(bits, padding), axis=-1, bitorder="little")
    # Little endian on any machine, so that bits mean the same everywhere.
    words: WordArray = np.ascontiguousarray(packed).view("<u8").astype(np.uint64)
    return words


class RowBits:
    """Counts what designs do with the scored rows; their models are fitted on first request.

    It serves any number of thresholds and searches, one call at a time.

    Parameters
    ----------
    bank : ModelBank
    scored : ScoredRows
    units : CostUnits
        What features cost, with the prices of the scored rows where they have their own.
    by_class : bool
        Whether to count the rows of each class, too.
    memory_limit : int
        Most bytes to keep, the quarter that the bank keeps included.
    n_jobs : int
        Threads. The results do not depend on it.

    Attributes
    ----------
    bank, scored, units, n_jobs
    n_words : int
        Words that hold one bit per scored row, padding included.
    n_rows : int
        Scored rows, or the sum of their weights in units.
    word_weights : ndarray of shape (n_words,)
        Weight of each row of a word.
    missing : ndarray of shape (n_features, n_words)
        Rows that lack a feature; no lines if none lacks any.
    n_counted : int
        Classes whose rows are also counted apart; 0 if none are.
    n_ahead : int
        Counts of a design before those of its stages: what it spends by prices, and classes.
    """

    def __init__(
        self,
        bank: ModelBank,
        scored: ScoredRows,
        units: CostUnits,
        *,
        by_class: bool = False,
        memory_limit: int = 2**30,
        n_jobs: int = 1,
    ) -> None:
        layout = Layout.of(scored, by_class=by_class)
        self.bank, self.scored, self.units, self.n_jobs = bank, scored, units, n_jobs
        self._layout, self._workers = layout, Workers(n_jobs)
        self._valid = pack(layout.rows >= 0)  # bits that stand for rows, not for padding
        self.n_words, self.n_rows = len(layout.weights), int(scored.units.sum())
        self.word_weights = layout.weights
        self.n_counted = scored.n_classes if by_class else 0
        self.n_ahead = self.n_counted + (units.prices is not None)
        self.missing: WordArray = np.zeros((0, self.n_words), dtype=np.uint64)
        if scored.missing is not None:
            self.missing = pack(scored.missing.T[:, layout.rows]) & self._valid
        n_key_words = 1 + -(-bank.n_features // 32)  # the number of the thresholds comes first
        self.bytes_per_slot = Slots.bytes_per_key(n_key_words) + 16 * self.n_words
        self._slots = Slots(memory_limit * 3 // 4 // self.bytes_per_slot, n_key_words)
        self.capacity = min(self._slots.capacity, bank.capacity)
        # A design has at most as many stages as features, and hardly ever so many.
        n_needed = min(bank.n_features, _FEWEST_SUBSETS)
        if self.capacity < n_needed:
            for_models = n_needed * bank.bytes_per_subset * 4
            least = max(for_models, -(-n_needed * self.bytes_per_slot * 4 // 3))
            raise ParameterError(
                f"memory_limit must be at least {least:,} bytes for these rows and features, got "
                f"{memory_limit:,}."
            )
        # Rows of weight 1 without missing values take a shorter way.
        is_plain = not len(self.missing) and bool((layout.weights == 1).all())
        self._weights = layout.weights[:0] if is_plain else layout.weights
        self._prices = np.zeros((0, 0), dtype=np.int64)
        if units.prices is not None:
            self._prices = layout.spread(units.prices.T)
        split = np.repeat(np.arange(len(scored.ends)), np.diff(scored.ends, prepend=0))
        weights = scored.units.astype(np.float64)
        whole, squares = np.bincount(split, weights), np.bincount(split, weights**2)
        # Splits whose rows weigh anything, what these weigh, and Kish's effective size.
        self._weighing = np.flatnonzero(whole)
        self._whole = whole[self._weighing, None]
        self._sizes = self._whole[:, 0] ** 2 / squares[self._weighing]
        self._numbers: dict[tuple[bytes, bool], int] = {}  # of thresholds, and whether searched
        self._accepted: WordArray = np.zeros((0, self.n_words), dtype=np.uint64)
        self._correct: WordArray = self._accepted
        self._refused: BoolArray = np.zeros(0, dtype=np.bool_)

    def count(self, designs: Designs, grid: ThresholdGrid) -> IntArray:
        """Count the rows that leave at each stage of each chain, and the correct ones.

        Returns an array of shape (2, n_designs, n_ahead + most stages): first what all rows spend
        by prices of their own, if they have such, and 0; then the rows of each counted class, over
        all stages; then the rows of each stage, 0 after a design's last one.
        """
        n_stages = designs.n_stages
        most = int(n_stages.max())
        counts = np.zeros((2, len(designs), self.n_ahead + most), dtype=np.int64)
        stages = np.ascontiguousarray(designs.stages)

        def add(first: int, chains: IntArray) -> None:
            part = slice(first, first + len(chains))
            count_exits(
                self._accepted,
                self._correct,
                self._valid,
                self._refused.view(np.uint8),
                self._weights,
                self.missing,
                self._prices,
                self.units.priced,
                stages[part],
                chains,
                n_stages[part],
                self._layout.ends,
                counts[0, part],
                counts[1, part],
                *np.empty((2, self.n_words), dtype=np.uint64),
            )

        # Each design may need as many slots as it has stages, and all of a part must fit at once.
        for part in slices(len(designs), max(1, self.capacity // most)):
            chains = self._slots_of_stages(designs[part], grid)
            # Threads pay only where there are words enough to read.
            worth = chains.size * 16 * self.n_words > _WORTH_COUNTING
            size = -(-len(chains) // (self.n_jobs if worth else 1))
            pieces = [(part.start + one.start, chains[one]) for one in slices(len(chains), size)]
            self._workers.run(lambda piece: add(*piece), pieces)
        return counts

    def refused(self, designs: Designs, grid: ThresholdGrid) -> BoolArray:
        """Tell which chains have a stage about whose threshold the models of the splits disagree.

        What they promise cannot be kept. With one split there are none.
        """
        are_refused = np.zeros(len(designs), dtype=np.bool_)
        if len(self.scored.ends) < 2 or not len(designs):
            return are_refused
        most = int(designs.n_stages.max())
        for part in slices(len(designs), max(1, self.capacity // most)):
            chains = self._slots_of_stages(designs[part], grid)
            is_stage = np.arange(chains.shape[1]) < designs[part].n_stages[:, None]
            are_refused[part] = (self._refused[chains] & is_stage).any(axis=1)
        return are_refused

    def of_subsets(
        self,
        words: WordArray,
        grid: ThresholdGrid,
        level: int = 0,
        places: IntArray | None = None,
    ) -> WordArray:
        """Accepted and correct rows of subsets, given as words: (2, n_subsets, n_words).

        With `places`, only these words of bits; see `sampled_words`.
        """
        places = np.arange(self.n_words) if places is None else places
        bits = np.empty((2, len(words), len(places)), dtype=np.uint64)
        for part in slices(len(words), self.capacity):
            slots = self._slots_of(words[part], grid, np.full(len(words[part]), level))
            refused, where = self._refused[slots, None], np.ix_(slots, places)
            bits[0, part] = np.where(refused, self._valid[places], self._accepted[where])
            bits[1, part] = np.where(refused, 0, self._correct[where])
        return bits

    def sampled_words(self, max_words: int) -> tuple[IntArray, int]:
        """At most so many words of bits, evenly spaced, and the weight of their rows."""
        # Evenly spaced, as rows may be sorted by time or place.
        where = np.linspace(0, self.n_words, min(max_words, self.n_words), endpoint=False)
        places = where.astype(np.int64)
        valid = np.bitwise_count(self._valid[places])
        return places, int(valid.astype(np.int64) @ self.word_weights[places])

    def _slots_of_stages(self, designs: Designs, grid: ThresholdGrid) -> IntArray:
        """Slots of each design's stages, (n_designs, most stages)."""
        words = designs.subsets()
        levels = designs.levels[:, : words.shape[1]].astype(np.int64)
        flat = words.reshape(-1, words.shape[2])
        return self._slots_of(flat, grid, levels.reshape(-1)).reshape(words.shape[:2])

    def _slots_of(self, words: WordArray, grid: ThresholdGrid, levels: IntArray) -> IntArray:
        """Slots of subsets, each at a level of a grid; new ones are marked."""
        # Thresholds are told apart by their bits, so that equal ones of two grids share a slot.
        of_levels = [thresholds.tobytes() for thresholds in grid.thresholds]
        searched = {of_levels[level] for level in grid.searched_levels}
        watched = [one in searched for one in of_levels]
        keys = zip(of_levels, watched, strict=True)
        every = [self._numbers.setdefault(key, len(self._numbers)) for key in keys]
        numbers = np.array(every, dtype=np.uint64)
        # The number of the thresholds is part of the key: the same subset has bits at each of them.
        with self._slots.claim(np.column_stack([numbers[levels], words])) as claim:
            if claim.new_slots.size:
                self._fill(claim, grid, numbers, watched)
        return claim.slots

    def _fill(
        self, claim: Claim, grid: ThresholdGrid, numbers: WordArray, watched: list[bool]
    ) -> None:
        """Mark rows in new slots, of subsets at levels with these numbers.

        A level that is watched is refused where the models of the splits disagree.
        """
        if len(self._accepted) < self._slots.n_used:
            # Pages that are never touched take no memory, so these are zeros, not padded.
            n_slots, n_used = self._slots.room, len(self._accepted)
            bits = np.zeros((2, n_slots, self.n_words), dtype=np.uint64)
            bits[0, :n_used], bits[1, :n_used] = self._accepted, self._correct
            self._accepted, self._correct = bits
            self._refused = np.pad(self._refused, (0, n_slots - n_used))
        slots, words, places = (
            claim.new_slots,
            claim.new_keys[:, 1:],
            np.arange(len(claim.new_keys)),
        )
        if not grid.is_single:  # models answer once for all thresholds of a subset
            words, place = np.unique(words, axis=0, return_inverse=True)
            places = place.reshape(-1)
        order = np.argsort(numbers)
        levels = order[np.searchsorted(numbers[order], claim.new_keys[:, 0])]
        models, scored = self.bank.numbers_of(words), self.scored
        reads = self.bank.inputs(subsets_of_words(words, self.bank.n_features))
        by_model = np.argsort(places, kind="stable")
        firsts = np.searchsorted(places[by_model], np.arange(len(words) + 1))

        def mark(part: slice) -> None:
            winner, confidence = self.bank.engine.scored_answers(reads[part], models[part])
            here = by_model[firsts[part.start] : firsts[min(part.stop, len(words))]]
            sure = np.empty(len(scored), dtype=np.uint8)
            for level in np.unique(levels[here]).tolist():
                some = here[levels[here] == level]
                accepted = np.zeros((len(some), len(scored.ends)), dtype=np.int64)
                mark_rows(
                    winner,
                    confidence,
                    scored.labels,
                    scored.units,
                    scored.ends,
                    places[some] - part.start,
                    self._layout.rows,
                    grid.thresholds[level],
                    slots[some],
                    self._accepted,
                    self._correct,
                    accepted,
                    sure,
                )
                # The full set of features is exempt: there is no other to turn to.
                may_be = watched[level] & ~reads[places[some]].all(axis=1)
                differ = unsteady(accepted.T[self._weighing] / self._whole, self._sizes)
                self._refused[slots[some]] = may_be & differ

        worth = len(words) * len(scored) > _WORTH_MARKING
        share = -(-len(words) // (4 * self.n_jobs)) if worth else len(words)
        size = min(max(8, share), max(1, _ANSWERS_AT_ONCE // len(scored)))
        self._workers.run(mark, list(slices(len(words), size)))


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
