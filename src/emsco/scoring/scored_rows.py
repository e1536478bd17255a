"""The scored rows one by one: where each leaves a design, with which label and at which cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from emsco._base.arrays import distinct_rows
from emsco._base.typing import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    LabelArray,
    SingleArray,
    StageArray,
)
from emsco._base.workers import Workers, batched, slices
from emsco._kernels.counts import add_shares, follow_stage
from emsco.costs.prices import ScoredPrices
from emsco.data.splits import Split
from emsco.data.training import TrainingData
from emsco.designs.chromosomes import (
    levels_of,
    nested_subsets,
    stage_counts,
    stages_of,
    subset_words,
    trees_of,
    words_of_subsets,
)
from emsco.designs.design import Design
from emsco.designs.thresholds import ThresholdGrid
from emsco.models.bank import SomeModels, SubsetBank
from emsco.scoring.scores import Scores

_WORTH_THREADS = 5000  # scored rows; with fewer, handing designs to threads takes longer
_AT_ONCE = 64  # subsets, or designs, if rows are few
_MOST_BYTES = 2**26  # of answers that are kept for designs to come
MOST_KEPT = 2**25  # bytes of models that are kept after a fit
_BYTES, _STAGES = 9, 4  # of an answer for a row: a label and a probability; of a usual design


@dataclass(frozen=True, slots=True, eq=False)
class RowOutcomes:
    """What a design does with each scored row.

    Attributes
    ----------
    given : ndarray of shape (n_scored,)
        Position of the label that the row gets; the number of classes if it is rejected.
    stage : ndarray of shape (n_scored,)
        Last stage that the row pays for, from 0.
    confidence : ndarray of shape (n_scored,)
        Confidence there.
    by_price : ndarray of shape (n_scored,) or None
        What the row pays by its own prices, if its path says so and not its stage alone.
    """

    given: LabelArray
    stage: IntArray
    confidence: SingleArray
    by_price: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPart:
    """Designs for the rows of one part of a branch, by models of the part's own.

    Attributes
    ----------
    rows : ScoredRows
        The scored rows of the part.
    places : ndarray of shape (n_scored_of_part,)
        Where these stand among all scored rows.
    """

    rows: ScoredRows
    places: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTree:
    """A design that branches, with what is needed to send scored rows through it.

    Attributes
    ----------
    design : Design
    trunk : ndarray of shape (n_blocks,)
        The stages before the branch, over blocks.
    parts : tuple of ScoredPart
    genes : tuple of ndarray
        The design of each part, over its blocks.
    paid : ndarray of shape (n_stages,)
        Cost of a row after each stage, without what it pays by its own prices.
    """

    design: Design
    trunk: StageArray
    parts: tuple[ScoredPart, ...]
    genes: tuple[StageArray, ...]
    paid: FloatArray

    @property
    def size(self) -> int:
        """Number of features that some row may buy."""
        return int(self.design.subsets().any(axis=0).sum())

    def outcomes(self, rows: ScoredRows) -> RowOutcomes:
        """Send all scored rows through the tree."""
        trunk = next(rows.outcomes(self.trunk[None]))
        n_trunk = int(stage_counts(self.trunk[None])[0])
        given, stage = trunk.given.copy(), trunk.stage.copy()
        confidence = trunk.confidence.copy()
        by_price = rows.paid_by_price(self.trunk, trunk)
        branch = self.design.branch
        assert branch is not None
        placed = branch.placed(n_trunk)
        for (first, _), part, genes in zip(placed, self.parts, self.genes, strict=True):
            after = next(part.rows.outcomes(genes[None]))
            open_rows = trunk.given[part.places] == rows.n_classes
            to = part.places[open_rows]
            given[to] = after.given[open_rows]
            stage[to] = first + after.stage[open_rows]
            confidence[to] = after.confidence[open_rows]
            paid = part.rows.paid_by_price(genes, after)
            if by_price is not None and paid is not None:
                by_price[to] += paid[open_rows]
        return RowOutcomes(given, stage, confidence, by_price)


class ScoredRows:
    """Sends the scored rows of all splits through designs, one row at a time.

    The counts of `SubsetBank.count` are sums over these outcomes.

    Parameters
    ----------
    bank : SubsetBank
    data : TrainingData
    splits : list of (train, scored) row numbers
    grid : ThresholdGrid
        Thresholds of the stages.
    members : ndarray of bool, shape (n_bank_features, n_features)
        Features of each block that the bank's subsets are made of.
    prices : ScoredPrices or None
        Prices of the bank's features that do not cost every row the same.
    n_jobs : int
        Threads. The results do not depend on it.

    Attributes
    ----------
    truth : ndarray of shape (n_scored,)
        Class of each scored row, split after split.
    weights : ndarray of shape (n_scored,)
        Weight of each; the weights of a row that several splits score add up to its own.
    rows : ndarray of shape (n_scored,)
        Number of the row, counted over the distinct scored rows from 0.
    own_weights : ndarray of shape (n_scored,) or None
        The same weights; None if all are 1.
    units : ndarray of int, shape (n_scored,)
        Weight of each as the bank counts it: in whole units, and once for each split.
    n_classes : int
    are_alike : bool
        Whether each row is decided once, and all count and pay alike.
    count_alike : bool
        Whether all rows are decided as often, and none has a weight of its own.
    trees : tuple of ScoredTree
        Designs that branch, which stand among others as their numbers.
    """

    def __init__(
        self,
        bank: SubsetBank,
        data: TrainingData,
        splits: list[Split],
        grid: ThresholdGrid,
        members: BoolArray,
        prices: ScoredPrices | None = None,
        n_jobs: int = 1,
    ) -> None:
        self._prices = prices
        self._bank: SubsetBank | SomeModels = bank
        self._thresholds = grid.thresholds
        scored = [rows for _, rows in splits]
        every = np.concatenate(scored)
        self.workers = Workers(n_jobs if len(every) > _WORTH_THREADS else 1)
        self.rows: IntArray = distinct_rows(every, len(data.labels))[1]
        self.truth: IntArray = data.labels[every].astype(np.int64)
        self.n_classes = len(data.classes)
        weights = np.ones(len(data.labels)) if data.weights is None else data.weights
        # A row that several splits score counts as one row in all.
        self.weights: FloatArray = weights[every] / np.bincount(self.rows)[self.rows]
        # Each row once and of weight 1: figures are plain counts then.
        is_plain = data.weights is None and len(every) == self.rows.max() + 1
        self.own_weights = None if is_plain else self.weights
        self.are_alike = bool(is_plain and prices is None)
        often = np.bincount(self.rows)
        self.count_alike = data.weights is None and bool((often == often[0]).all())
        self.units: IntArray = np.ones_like(every) if data.units is None else data.units[every]
        self._inputs = data.rows, scored
        missing = data.missing()
        # A block misses a value if any of its features does.
        self._missing = None if missing is None else (missing[every] @ members.T)
        self._known: dict[bytes, tuple[LabelArray, FloatArray]] = {}
        self.trees: tuple[ScoredTree, ...] = ()
        # Answers of all stages of all designs at once must fit into memory.
        few = _MOST_BYTES // (_STAGES * _BYTES * len(every))
        self._at_once = int(np.clip(few, n_jobs, _AT_ONCE))

    def with_trees(self, trees: Sequence[ScoredTree]) -> Self:
        """Return the same rows, which also go through these trees; see `genes_of_trees`."""
        other = copy(self)
        other.trees = tuple(trees)
        return other

    def for_later(self, designs: StageArray, max_bytes: int = MOST_KEPT) -> ScoredRows | None:
        """Return the same rows for some designs alone, without the bank.

        They hold the models of these designs and one table of rows. None if the models would take
        more memory, or if rows are on other machines.
        """
        chains = [*designs[trees_of(designs) < 0], *(tree.trunk for tree in self.trees)]
        wanted: dict[int, tuple[ScoredRows, list[StageArray]]] = {id(self): (self, chains)}
        for tree in self.trees:  # many trees share the rows of a part
            for part, genes in zip(tree.parts, tree.genes, strict=True):
                wanted.setdefault(id(part.rows), (part.rows, []))[1].append(genes)
        small: dict[int, ScoredRows] = {}
        for key, (rows, of_rows) in wanted.items():
            models = rows._models_of(of_rows, max_bytes)
            if models is None:
                return None
            max_bytes -= models.numbers.nbytes
            small[key] = copy(rows)
            small[key]._bank, small[key]._known = models, {}
        trees = []
        for tree in self.trees:
            parts = tuple(replace(part, rows=small[id(part.rows)]) for part in tree.parts)
            trees.append(replace(tree, parts=parts))
        return small[id(self)].with_trees(trees)

    def _models_of(self, designs: Sequence[StageArray], max_bytes: int) -> SomeModels | None:
        """Models of all stages of some chains, and of everything; None if they take more bytes."""
        assert isinstance(self._bank, SubsetBank)
        everything = np.zeros((1, self.n_features), dtype=np.int16)
        stages = stages_of(np.concatenate([everything, *(one[None] for one in designs)]))
        words = subset_words(stages, int(stage_counts(stages).max()))
        return self._bank.some_models(words.reshape(-1, words.shape[2]), max_bytes)

    def forget(self) -> None:
        """Forget the answers that were kept for designs to come."""
        self._known = {}

    def outcomes(self, designs: StageArray) -> Iterator[RowOutcomes]:
        """Send all rows through each compressed design over the bank's features, or tree."""
        numbers = trees_of(designs)
        # Chains that follow one another share the answers of their stages.
        edges = np.flatnonzero(np.diff(numbers >= 0)) + 1
        for few in np.split(np.arange(len(designs)), edges):
            if few.size and numbers[few[0]] >= 0:
                yield from (self.trees[number].outcomes(self) for number in numbers[few])
            else:
                yield from self._outcomes_of_chains(designs[few])

    def _outcomes_of_chains(self, designs: StageArray) -> Iterator[RowOutcomes]:
        for part in slices(len(designs), self._at_once):
            stages, n_stages = stages_of(designs[part]), stage_counts(designs[part])
            levels = levels_of(designs[part], int(n_stages.max()))
            chains = [
                nested_subsets(one[None], int(n))[0]
                for one, n in zip(stages, n_stages, strict=True)
            ]
            self._learn(np.concatenate(chains))
            tasks = list(zip(stages, chains, self._thresholds[levels], strict=True))
            # A few at a time, as outcomes are as long as there are rows.
            for few in slices(len(tasks), 2 * self.workers.n_jobs):
                yield from self.workers.map(lambda task: self._follow(*task), tasks[few])

    @property
    def n_features(self) -> int:
        """Number of features, or blocks of them, that subsets are made of."""
        return self._bank.n_features

    def guesses(self, subsets: BoolArray) -> LabelArray:
        """Likeliest class of each scored row by the model of each subset, however unsure."""
        answers = self._bank.answers(subsets, *self._inputs)
        return _joined([winner for winner, _ in answers])

    def scores(self, designs: StageArray, paid: Sequence[FloatArray], *, by_class: bool) -> Scores:
        """Score designs by what they do with each row, each by its own weight.

        `paid` is as for `shares`. With `by_class`, rows of each class are counted too, for balanced
        accuracy.
        """
        max_stages = max(map(len, paid))
        exits = np.zeros((3, len(designs), max_stages), dtype=np.int64)
        classes = np.zeros((len(designs), 2, self.n_classes), dtype=np.int64)
        spent = np.zeros(len(designs))
        for i, outcomes in enumerate(self.outcomes(designs)):
            accepted, correct = outcomes.given < self.n_classes, outcomes.given == self.truth
            for k, which in enumerate((accepted, correct, ~accepted)):
                exits[k, i] = np.bincount(outcomes.stage, self.units * which, max_stages)
            for k, which in enumerate((accepted, correct)):
                classes[i, k] = np.bincount(self.truth, self.units * which, self.n_classes)
            spent[i] = self.units @ self.costs(designs[i], outcomes, paid[i])
        return Scores(
            int(self.units.sum()),
            exits[0],
            exits[1],
            spent,
            by_class=classes if by_class else None,
            rejected_exits=exits[2],
        )

    def shares(
        self,
        designs: StageArray,
        paid: Sequence[FloatArray] | FloatArray,
        places: IntArray | None = None,
    ) -> SingleArray:
        """Share of each distinct row's decisions that are answers, or correct; and the mean cost.

        `paid` has the cost of a row after each stage of each design, without what it pays by its
        own prices. `places` has the place of each distinct row in the result; rows at the same
        place are averaged by weight. Returns an array of shape (3, n_designs, n_places).
        """
        often, rows = np.bincount(self.rows), self.rows
        share = (1 / often[self.rows]).astype(np.float32)
        if places is not None:
            rows = places[rows]
        n_places = int(rows.max()) + 1
        if n_places < len(often):
            whole = np.bincount(rows, self.weights)
            # Rows that share a place are averaged by their weight.
            share = (self.weights / np.where(whole > 0, whole, 1)[rows]).astype(np.float32)
        shares = np.empty((3, len(designs), n_places), dtype=np.float32)

        def add(task: tuple[int, RowOutcomes]) -> None:
            i, outcomes = task
            sums = np.zeros((3, n_places), dtype=np.float32)
            add_shares(
                outcomes.given,
                outcomes.stage,
                self.truth,
                rows,
                share,
                paid[i],
                self.n_classes,
                sums,
            )
            shares[:, i] = sums
            if (by_price := self.paid_by_price(designs[i], outcomes)) is not None:
                # What rows pay by prices of their own comes on top of what all pay.
                mean = np.bincount(rows, share * by_price, n_places)
                shares[2, i] += mean.astype(np.float32)

        for few in batched(enumerate(self.outcomes(designs)), 2 * self.workers.n_jobs):
            self.workers.run(add, few)
        return shares

    def costs(self, design: StageArray, outcomes: RowOutcomes, paid: FloatArray) -> FloatArray:
        """Cost of each row with a design, given what all rows pay up to each of its stages."""
        cost: FloatArray = paid[outcomes.stage]
        by_price = self.paid_by_price(design, outcomes)
        return cost if by_price is None else cost + by_price

    def paid_by_price(self, design: StageArray, outcomes: RowOutcomes) -> FloatArray | None:
        """What each row pays with a design by prices of its own; None if rows have none."""
        if outcomes.by_price is not None or self._prices is None:
            return outcomes.by_price
        return self._prices.paid(stages_of(design), outcomes.stage)

    def _follow(self, design: StageArray, chain: BoolArray, thresholds: FloatArray) -> RowOutcomes:
        """Send all rows through a design; `thresholds` has a line for each of its stages."""
        outcomes = RowOutcomes(
            given=np.full(len(self.truth), self.n_classes, dtype=np.uint8),
            stage=np.zeros(len(self.truth), dtype=np.int64),
            confidence=np.zeros(len(self.truth), dtype=np.float32),
        )
        for j, key in enumerate(_keys(chain)):
            missing: BoolArray = np.zeros(0, dtype=np.bool_)
            if self._missing is not None:
                # Only the features that a stage buys itself can make a row skip it.
                missing = np.asarray(self._missing[:, design == j].any(axis=1))
            winner, sure = self._known[key]
            follow_stage(
                j,
                winner,
                sure,
                thresholds[j],
                missing,
                outcomes.given,
                outcomes.stage,
                outcomes.confidence,
            )
        return outcomes

    def _learn(self, subsets: BoolArray) -> None:
        """Note the likeliest class of each row by the model of each subset, and the confidence."""
        every = dict(zip(_keys(subsets), subsets, strict=True))
        new = {key: subset for key, subset in every.items() if key not in self._known}
        # Forget what is not needed now, rather than exceed the limit.
        if (len(self._known) + len(new)) * _BYTES * len(self.truth) > _MOST_BYTES:
            self._known = {key: one for key, one in self._known.items() if key in every}
        keys, wanted = list(new), np.array(list(new.values()))
        for part in slices(len(keys), self._at_once):
            answers = self._bank.answers(wanted[part], *self._inputs)
            winner, sure = map(_joined, zip(*answers, strict=True))
            self._known.update(zip(keys[part], zip(winner, sure, strict=True), strict=True))


def _joined(parts: Sequence[AnyArray]) -> AnyArray:
    """Answers of all splits side by side; those of a single one are not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _keys(subsets: BoolArray) -> list[bytes]:
    return [words.tobytes() for words in words_of_subsets(subsets)]
