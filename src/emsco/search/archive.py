"""The archive of a search: non-dominated designs, ties included."""

from __future__ import annotations

from typing import Any

import numpy as np

from emsco._base.typing import IntArray, StageArray
from emsco.designs.chromosomes import design_keys
from emsco.scoring.pareto import (
    balanced_scores,
    best_balanced_first,
    front_mask,
    simplest_first,
    tie_groups,
)
from emsco.scoring.scores import Scores

_MOST_VECTORS, _MOST_ANSWERING = 500, 200  # of designs that reject some rows, and of the others
_WIDER = 1.1  # growth of boxes that are too many


class Archive:
    """Keeps non-dominated designs, including those with equal objectives.

    Designs above the limits are kept only until one within them is added, and only those
    that exceed them least. Beyond about 500 different objective vectors, those that differ little
    from others are dropped; see `thin`. One that is kept may be a little worse than one dropped.
    Designs that answer everyone are thinned among themselves, since most users choose from them.

    Parameters
    ----------
    n_features : int
    total_cost : float
        Cost of all features, for the balanced score.
    """

    def __init__(self, n_features: int, total_cost: float) -> None:
        # One attribute, so that Ctrl-C cannot leave designs and scores that do not match.
        self._kept: tuple[StageArray, Scores | None]
        self._kept = np.zeros((0, n_features), dtype=np.int16), None
        # The front, behind the `_kept` that it belongs to.
        self._front: tuple[Any, tuple[StageArray, Scores]] | None = None
        self._total_cost = total_cost

    @property
    def designs(self) -> StageArray:
        """The non-dominated designs that are kept."""
        return self._kept[0]

    @property
    def scores(self) -> Scores:
        """Scores of `designs`."""
        if self._kept[1] is None:
            raise RuntimeError("add() designs first.")
        return self._kept[1]

    def add(self, designs: StageArray, scores: Scores) -> bool:
        """Add designs; return whether one on the front has new objectives.

        A design that is kept already, or comes twice, is kept once.
        """
        n_before = len(self.designs)
        if n_before:
            designs = np.concatenate([self.designs, designs])
            scores = Scores.concatenate([self.scores, scores])
        kept = np.flatnonzero(front_mask(scores))
        # Thinned first and made distinct after: equal designs tie, so thinning keeps or drops them
        # together.
        answers_all = scores.coverage[kept] == 1
        kept = np.concatenate(
            [
                part[thin(scores[part], self._total_cost, max_vectors)]
                for part, max_vectors in (
                    (kept[answers_all], _MOST_ANSWERING),
                    (kept[~answers_all], _MOST_VECTORS),
                )
                if len(part)
            ]
        )
        kept.sort()
        first = np.unique(design_keys(designs[kept]), axis=0, return_index=True)[1]
        # In the order in which they came, old ones first: the last line tells old from new by
        # position.
        kept = kept[np.sort(first)]
        self._kept = designs[kept], scores[kept]
        group = tie_groups(self.scores)
        return bool((~np.isin(group[kept >= n_before], group[kept < n_before])).any())

    def front(self) -> tuple[StageArray, Scores]:
        """The simplest design of each objective vector, the best balanced first."""
        if self._front is None or self._front[0] is not self._kept:
            order, group = self._by_group()
            first = self._ranked(order[np.unique(group, return_index=True)[1]])
            self._front = self._kept, (self.designs[first], self.scores[first])
        return self._front[1]

    def ties(self) -> list[StageArray]:
        """All designs with the objectives of each design of `front`, the simplest first."""
        order, group = self._by_group()
        # Groups lie one behind the other after the sort; a new one begins where the number changes.
        ends = np.flatnonzero(np.diff(group)) + 1
        groups = {int(members[0]): members for members in np.split(order, ends)}
        first = self._ranked(np.array(list(groups)))
        return [self.designs[groups[i]] for i in first.tolist()]

    def _by_group(self) -> tuple[IntArray, IntArray]:
        """Positions of all designs by group of ties, the simplest first, and their groups."""
        order = simplest_first(self.designs)
        group = tie_groups(self.scores)[order]
        by_group = np.argsort(group, kind="stable")
        return order[by_group], group[by_group]

    def _ranked(self, which: IntArray) -> IntArray:
        """Sort positions by balanced score, the best first."""
        best = best_balanced_first(self.designs[which], self.scores[which], self._total_cost)
        ranked: IntArray = which[best]
        return ranked


def thin(scores: Scores, total_cost: float, max_vectors: int) -> IntArray:
    """Positions of at most about `max_vectors` objective vectors of a front, with all their ties.

    The objectives are divided into boxes, as small as `max_vectors` allows. Of the vectors in a
    box, the best balanced one is kept, unless another box is at least as good in every objective.
    The best in each single objective, one each, are always kept.
    """
    from moocore import is_nondominated

    group = tie_groups(scores)
    first = np.unique(group, return_index=True)[1]
    if len(first) <= max_vectors:
        return np.arange(len(scores))
    some = scores[first]
    saved = 1 - some.cost / (total_cost or 1.0)
    points = np.column_stack([some.coverage, some.accuracy, saved])
    order = np.argsort(-balanced_scores(some, total_cost), kind="stable")
    extremes = points.argmax(axis=0)
    width = 1 / max_vectors
    while True:
        boxes = np.floor(points[order] / width).astype(np.int64)
        boxes -= boxes.min(axis=0)
        number = np.ravel_multi_index(tuple(boxes.T), tuple(boxes.max(axis=0) + 1))
        place = np.unique(number, return_index=True)[1]
        best = place[is_nondominated(boxes[place].astype(np.float64), maximise=True)]
        if len(best) <= max_vectors:
            break
        width *= _WIDER
    chosen = np.union1d(order[best], extremes)
    kept: IntArray = np.flatnonzero(np.isin(group, group[first[chosen]]))
    return kept
