"""Ties: all designs of a landscape with the objectives of a point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco._kernels.chains import Labels
from emsco.designs.chromosomes import NEVER
from emsco.scoring.scores import Scores
from emsco.search.exact.chains import ChainPool
from emsco.search.exact.landscape import Landscape


@dataclass(frozen=True, eq=False)
class LandscapeTies:
    """Finds every design with the objectives of a point, when you ask for them.

    Parameters
    ----------
    landscape : Landscape
    designs, scores, n_tied
        The simplest design of each point, its scores, and the number of designs that tie.
    memory_limit : int
        Bytes for finding them.
    """

    landscape: Landscape
    designs: StageArray
    scores: Scores
    n_tied: IntArray
    memory_limit: int

    def __call__(self, point: int) -> Iterator[StageArray]:
        """Iterate over the designs that tie with the point at a position, the simplest first."""
        simplest = self.designs[point]
        yield simplest
        if self.n_tied[point] > 1:
            walk = _WalkBack(self.landscape, self.scores, point, self.memory_limit)
            seen = {simplest.tobytes()}
            for design in walk.designs():
                if design.tobytes() not in seen:
                    yield design
                # Labels that differ by rounding may lead to the same design.
                if self.landscape.slack:
                    seen.add(design.tobytes())


class _WalkBack:
    """Walks back from given objectives through the chains that end in them.

    First it grows chains forward, but only those that can still reach the objectives. Then it
    follows each design back, stage by stage, through labels that match exactly.
    """

    def __init__(self, landscape: Landscape, front: Scores, point: int, memory_limit: int) -> None:
        self._landscape = landscape
        self._accepted = int(front.accepted[point])
        self._wrong = self._accepted - int(front.correct[point])
        self._spent = float(front.spent[point])
        pool = ChainPool(landscape, memory_limit, keep_all=True)
        allowances = pool.allowances(front.accepted, front.accepted - front.correct, front.spent)
        lines = np.arange(len(allowances)) << pool.shift
        matches = (lines[:, None] >= self._accepted) & (lines <= self._wrong)
        allowances = np.where(matches, np.minimum(allowances, self._spent), -np.inf)
        if landscape.max_stages > landscape.tail:
            for size in range(1, landscape.n_features + 1 - landscape.tail):
                for _ in pool.grow(size, allowances):
                    pool.candidates.clear()
        used = slice(pool.n_labels)
        self._binding = bool(pool.rules.binding)
        self._labels = Labels._make(column[used] for column in pool.labels)
        lengths = pool.spans[:, 1] - pool.spans[:, 0]
        begins = np.argsort(pool.spans[:, 0] + (lengths == 0) * len(pool.labels.n_tied))
        self._subset = np.repeat(begins, lengths[begins])

    def designs(self) -> Iterator[StageArray]:
        """Iterate over all designs with the objectives."""
        if self._landscape.tail:
            yield from self._before((len(self._subset_costs) - 1,), None)
            return
        labels = self._labels
        ends = (labels.accepted == self._accepted) & (labels.wrong == self._wrong)
        ends &= np.abs(labels.spent - self._spent) <= self._landscape.slack * self._spent
        ends[0] = False  # the empty chain is not a design
        for label in np.flatnonzero(ends).tolist():
            yield from self._before((int(self._subset[label]),), label)

    @property
    def _subset_costs(self) -> FloatArray:
        return self._landscape.space.cost

    def _before(self, chain: tuple[int, ...], label: int | None) -> Iterator[StageArray]:
        """Designs whose last subsets are `chain`; `label` belongs to its first one.

        None is the label of the full set.
        """
        for earlier in self._predecessors(chain[0], label).tolist():
            if earlier == 0:  # the empty chain
                yield self._design(chain)
            else:
                yield from self._before((int(self._subset[earlier]), *chain), earlier)

    def _predecessors(self, subset: int, label: int | None) -> IntArray:
        """Labels from which one more stage leads exactly to this subset and label."""
        space, labels = self._landscape.space, self._labels
        step = space.cost[subset] - space.cost[self._subset] + self._landscape.evaluation
        spent = labels.spent + (self._landscape.n_rows - labels.accepted) * step
        wanted = self._spent if label is None else labels.spent[label]
        matches = (self._subset & ~subset == 0) & (self._subset != subset)
        matches &= np.abs(spent - wanted) <= self._landscape.slack * self._spent
        if label is not None and self._binding:
            matches &= labels.stages + 1 == labels.stages[label]
        found = np.flatnonzero(matches)
        leaves = space.accepts[subset] & ~self._landscape.kept_from(subset ^ self._subset[found])
        leaving = labels.undecided[found] & leaves
        accepted = labels.accepted[found] + self._landscape.count(leaving)
        wrong = labels.wrong[found] + self._landscape.count(leaving & space.errs[subset])
        if label is None:
            same = (accepted == self._accepted) & (wrong == self._wrong)
        else:
            rows = labels.undecided[found] & ~leaves & space.reach[subset]
            same = (accepted == labels.accepted[label]) & (wrong == labels.wrong[label])
            same &= (rows == labels.undecided[label]).all(axis=1)
        fitting: IntArray = found[same]
        return fitting

    def _design(self, chain: tuple[int, ...]) -> StageArray:
        """Genes of a chain of subsets: a feature's stage is the first subset that has it."""
        features = np.arange(self._landscape.n_features)
        known = np.array(chain)[:, None] >> features & 1
        stages: StageArray = np.where(known.any(axis=0), known.argmax(axis=0), NEVER)
        return stages.astype(np.int16)
