"""The archive of a search: non-dominated designs, ties included."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import FloatArray, IntArray
from emsco.designs.population import Designs
from emsco.scoring.pareto import (
    balanced_scores,
    best_balanced_first,
    front_mask,
    simplest_first,
    tie_groups,
)
from emsco.scoring.scores import Counts

_MOST_VECTORS, _MOST_ANSWERING = 500, 200  # of designs that reject some rows, and of the others
_WIDER = 1.1  # growth of boxes that are too many


class Archive:
    """Keeps non-dominated designs, including those with equal objectives.

    Designs above the limits are kept only until one within them is added, and only those
    that exceed them least. Beyond about 500 different objective vectors, those that differ little
    from others are dropped. One that is kept may be a little worse than one dropped.
    Designs that answer everyone are thinned among themselves, since most users choose from them.

    Parameters
    ----------
    total_cost : float
        Cost of all features, for the balanced score.
    """

    def __init__(self, total_cost: float) -> None:
        # Designs, their scores, positions of the front in them, and how many tie with each of it.
        # One attribute, so that Ctrl-C cannot leave parts that do not match.
        self._kept: tuple[Designs, Counts, IntArray, IntArray] | None = None
        self._total_cost = total_cost

    def add(self, designs: Designs, scores: Counts) -> bool:
        """Add designs; return whether one on the front has new objectives.

        A design that is kept already, or comes twice, is kept once.
        """
        n_before = 0
        if self._kept is not None:
            n_before = len(self._kept[0])
            designs = Designs.concatenate([self._kept[0], designs])
            scores = Counts.concatenate([self._kept[1], scores])
        on_front, answers_all = front_mask(scores), scores.coverage == 1
        parts = []
        for which, most in ((answers_all, _MOST_ANSWERING), (~answers_all, _MOST_VECTORS)):
            part = np.flatnonzero(on_front & which)
            if len(part):
                parts.append(part[self._thinned(scores[part], most)])
        # Equal designs tie, so thinning has kept or dropped them together.
        places = np.sort(np.concatenate(parts))
        places = places[designs[places].distinct()]
        designs, scores = designs[places], scores[places]
        group = tie_groups(scores)
        order = simplest_first(designs)
        _, first, n_tied = np.unique(group[order], return_index=True, return_counts=True)
        front = order[first]
        best = best_balanced_first(designs[front], scores[front], self._total_cost)
        self._kept = designs, scores, front[best], n_tied[best]
        return bool((~np.isin(group[places >= n_before], group[places < n_before])).any())

    @property
    def _content(self) -> tuple[Designs, Counts, IntArray, IntArray]:
        if self._kept is None:
            raise RuntimeError("tell() the scores of the first designs first.")
        return self._kept

    @property
    def designs(self) -> Designs:
        """The non-dominated designs that are kept."""
        return self._content[0]

    def front(self) -> tuple[Designs, Counts]:
        """The simplest design of each objective vector, the best balanced first."""
        designs, scores, front, _ = self._content
        return designs[front], scores[front]

    def n_tied(self) -> IntArray:
        """Number of designs kept with the objectives of each design of `front`."""
        return self._content[3]

    def points(self, scores: Counts) -> FloatArray:
        """Coverage, accuracy and share of the total cost saved, of each design."""
        saved = 1 - scores.cost / (self._total_cost or 1.0)
        return np.column_stack([scores.coverage, scores.accuracy, saved])

    def _thinned(self, scores: Counts, max_vectors: int) -> IntArray:
        """Positions of at most about `max_vectors` objective vectors, with all their ties.

        The objectives are divided into boxes, as small as `max_vectors` allows. Of the vectors in a
        box, the best balanced one is kept, unless another box is at least as good in every
        objective. The best in each single objective, one each, are always kept.
        """
        from moocore import is_nondominated

        group = tie_groups(scores)
        first = np.unique(group, return_index=True)[1]
        points = self.points(scores[first])
        best = order = np.argsort(-balanced_scores(scores[first], self._total_cost), kind="stable")
        width = 1 / max_vectors
        while len(best) > max_vectors:
            boxes, place = np.unique(np.floor(points[order] / width), axis=0, return_index=True)
            best = order[place[is_nondominated(boxes, maximise=True)]]
            width *= _WIDER
        chosen = np.append(best, points.argmax(axis=0))
        return np.flatnonzero(np.isin(group, group[first[chosen]]))
