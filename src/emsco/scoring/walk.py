"""The walk: sends each scored row through designs, stage by stage.

A row goes to the first stage, and leaves with the likeliest label if the stage is sure enough of it
and misses no value that it buys. Otherwise it goes to the next stage: the one after it or, after a
branch, the first one of its part. It pays for every stage that it comes to.

What is said about a design is a sum over its outcomes, under some weights of rows. A search counts
its millions of designs by bits (`emsco.scoring.bits`), and agrees with these sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

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
from emsco.costs import CostUnits
from emsco.data.splits import Split
from emsco.designs.chromosomes import nested_subsets, words_of_subsets
from emsco.designs.design import Design
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.models.bank import ModelBank, SomeModels
from emsco.scoring.outcomes import Outcomes
from emsco.scoring.rows import ScoredRows

_WORTH_THREADS = 5000  # scored rows; with fewer, handing designs to threads takes longer
_AT_ONCE = 64  # subsets, or designs, if rows are few
_MOST_BYTES = 2**26  # of answers that are kept for designs to come
MOST_KEPT = 2**25  # bytes of models that are kept after a fit
_BYTES, _STAGES = 9, 4  # of an answer for a row: a label and a probability; of a usual design


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The rows that go one way after a branch, and models of their own.

    Attributes
    ----------
    walk : Walk
        Of the scored rows of the part.
    places : ndarray of shape (n_scored_of_part,)
        Where these stand among all scored rows.
    """

    walk: Walk
    places: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Fork:
    """What comes after the last stage of a design, for the rows of each part.

    Attributes
    ----------
    parts : tuple of Designs
        One for each part, over its features. What is bought before is in its first stage.
    design : Design
        The whole design over named features.
    paid : ndarray of shape (n_stages,)
        Cost of a row after each of its stages, without what it pays by its own prices.
    """

    parts: tuple[Designs, ...]
    design: Design
    paid: FloatArray


class Walk:
    """Sends scored rows through designs over features, or blocks of them.

    Parameters
    ----------
    bank : ModelBank
    scored : ScoredRows
    inputs : tuple of (rows, splits)
        The inputs of all rows, and the (train, scored) row numbers of each split.
    grid : ThresholdGrid
        Thresholds of the stages.
    units : CostUnits
        What features cost, with the prices of the scored rows where they have their own.
    n_jobs : int
        Threads. The results do not depend on it.

    Attributes
    ----------
    scored : ScoredRows
    parts : tuple of Part
        Those that rows go to after a branch.
    """

    def __init__(
        self,
        bank: ModelBank,
        scored: ScoredRows,
        inputs: tuple[Any, list[Split]],
        grid: ThresholdGrid,
        units: CostUnits,
        n_jobs: int = 1,
    ) -> None:
        self.scored = scored
        self.parts: tuple[Part, ...] = ()
        self.workers = Workers(n_jobs if len(scored) > _WORTH_THREADS else 1)
        self._bank: ModelBank | SomeModels = bank
        self._inputs = inputs[0], [rows for _, rows in inputs[1]]
        self._thresholds, self._units = grid.thresholds, units
        self._known: dict[bytes, tuple[LabelArray, FloatArray]] = {}
        # Answers of all stages of all designs at once must fit into memory.
        few = _MOST_BYTES // (_STAGES * _BYTES * len(scored))
        self._at_once = int(np.clip(few, n_jobs, _AT_ONCE))

    @property
    def n_features(self) -> int:
        """Number of features, or blocks of them, that subsets are made of."""
        return self._bank.n_features

    def through(self, parts: Sequence[Part]) -> Self:
        """Return the same rows, which may also go to these parts."""
        other = copy(self)
        other.parts = tuple(parts)
        return other

    def for_later(self, designs: Designs, max_bytes: int = MOST_KEPT) -> Walk | None:
        """Return the same rows for some designs alone, without the bank.

        They hold the models of these designs and one table of rows. None if the models would take
        more memory.
        """
        everything = Designs.of(np.zeros((1, self.n_features), dtype=np.int16))
        words = Designs.concatenate([everything, designs]).subsets()
        assert isinstance(self._bank, ModelBank)
        models = self._bank.some_models(words.reshape(-1, words.shape[2]), max_bytes)
        if models is None:
            return None
        max_bytes -= models.numbers.nbytes
        forks = [fork for fork in designs.forks or () if fork is not None]
        parts = []
        for k, part in enumerate(self.parts if forks else ()):
            after = Designs.concatenate([fork.parts[k] for fork in forks])
            walk = part.walk.for_later(after, max_bytes // len(self.parts))
            if walk is None:
                return None
            parts.append(replace(part, walk=walk))
        other = self.through(parts)
        other._bank, other._known = models, {}
        return other

    def forget(self) -> None:
        """Forget the answers that were kept for designs to come."""
        self._known = {}

    def outcomes(self, designs: Designs) -> Iterator[Outcomes]:
        """Send all rows through each design."""
        for part in slices(len(designs), self._at_once):
            some, n_stages = designs[part], designs[part].n_stages
            subsets = nested_subsets(some.stages, int(n_stages.max()))
            n_run = np.arange(1, subsets.shape[1] + 1)
            after = self._units.paid(subsets, n_run, 0) / self._units.per_one
            thresholds = self._thresholds[some.levels[:, : subsets.shape[1]]]
            chains = [known[:n] for known, n in zip(subsets, n_stages, strict=True)]
            learned = self._learn(np.concatenate(chains))
            of_each = zip(some.stages, chains, thresholds, after, strict=True)
            tasks = [(learned, *one) for one in of_each]
            forks = some.forks or (None,) * len(some)
            # A few at a time, as outcomes are as long as there are rows.
            for few in slices(len(tasks), 2 * self.workers.n_jobs):
                followed = self.workers.map(lambda task: self._follow(*task), tasks[few])
                for one, fork in zip(followed, forks[few], strict=True):
                    yield one if fork is None else self._branch_off(one, fork)

    def _follow(
        self,
        learned: dict[bytes, tuple[LabelArray, FloatArray]],
        stages: StageArray,
        chain: BoolArray,
        thresholds: FloatArray,
        after: FloatArray,
    ) -> Outcomes:
        """Send all rows through a chain, by what models of its stages say.

        `chain` has the features known after each stage, `thresholds` a line for each stage, and
        `after` the cost of a row after it.
        """
        n_rows, missing = len(self.scored), self.scored.missing
        given = np.full(n_rows, self.scored.n_classes, dtype=np.uint8)
        stage, confidence = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.float32)
        lacks: BoolArray = np.zeros(0, dtype=np.bool_)
        for j, key in enumerate(_keys(chain)):
            if missing is not None:
                # Only the features that a stage buys itself can make it refuse a row.
                lacks = np.asarray(missing[:, stages == j].any(axis=1))
            follow_stage(j, *learned[key], thresholds[j], lacks, given, stage, confidence)
        units, by_price = self._units, None
        if units.prices is not None:
            bought = chain[:, units.priced][stage]
            by_price = units.by_price(bought, units.prices) / units.per_one
        return Outcomes(given, stage, confidence, after[: len(chain)], by_price)

    def _branch_off(self, before: Outcomes, fork: Fork) -> Outcomes:
        """Send the rows that are left after the stages before a branch along their parts."""
        first = len(before.after)
        for part, chain in zip(self.parts, fork.parts, strict=True):
            after = next(part.walk.outcomes(chain))
            is_open = before.given[part.places] == self.scored.n_classes
            to = part.places[is_open]
            before.given[to] = after.given[is_open]
            before.stage[to] = first + after.stage[is_open]
            before.confidence[to] = after.confidence[is_open]
            if before.by_price is not None and after.by_price is not None:
                before.by_price[to] += after.by_price[is_open]
            first += len(after.after)
        return replace(before, after=fork.paid)

    def guesses(self, subsets: BoolArray) -> LabelArray:
        """Likeliest class of each scored row by the model of each subset, however unsure."""
        answers = self._bank.answers(subsets, *self._inputs)
        return _joined([winner for winner, _ in answers])

    def shares(self, designs: Designs, places: IntArray | None = None) -> SingleArray:
        """Share of each distinct row's decisions that are answers, or correct; and the mean cost.

        `places` has the place of each distinct row in the result; rows at the same place are
        averaged by weight. Returns an array of shape (3, n_designs, n_places).
        """
        scored, rows = self.scored, self.scored.rows
        often = np.bincount(rows)
        share = (1 / often[rows]).astype(np.float32)
        if places is not None:
            rows = places[rows]
        n_places = int(rows.max()) + 1
        if n_places < len(often):
            whole = np.bincount(rows, scored.weights)
            # Rows that share a place are averaged by their weight.
            share = (scored.weights / np.where(whole > 0, whole, 1)[rows]).astype(np.float32)
        shares = np.zeros((len(designs), 3, n_places), dtype=np.float32)

        def add(task: tuple[int, Outcomes]) -> None:
            i, one = task
            add_shares(one.given, scored.labels, one.paid, rows, share, scored.n_classes, shares[i])

        for few in batched(enumerate(self.outcomes(designs)), 2 * self.workers.n_jobs):
            self.workers.run(add, few)
        return shares.swapaxes(0, 1)

    def _learn(self, subsets: BoolArray) -> dict[bytes, tuple[LabelArray, FloatArray]]:
        """Return the likeliest class of each row by the model of each subset, and the confidence.

        They are kept for designs to come, which may ask before these have been followed.
        """
        every = dict(zip(_keys(subsets), subsets, strict=True))
        new = {key: subset for key, subset in every.items() if key not in self._known}
        # Forget what is not needed now, rather than exceed the limit.
        if (len(self._known) + len(new)) * _BYTES * len(self.scored) > _MOST_BYTES:
            self._known = {key: one for key, one in self._known.items() if key in every}
        keys, wanted = list(new), np.array(list(new.values()))
        for part in slices(len(keys), self._at_once):
            answers = self._bank.answers(wanted[part], *self._inputs)
            winner, sure = map(_joined, zip(*answers, strict=True))
            self._known.update(zip(keys[part], zip(winner, sure, strict=True), strict=True))
        return {key: self._known[key] for key in every}


def _joined(parts: Sequence[AnyArray]) -> AnyArray:
    """Answers of all splits side by side; those of a single one are not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _keys(subsets: BoolArray) -> list[bytes]:
    return [words.tobytes() for words in words_of_subsets(subsets)]
