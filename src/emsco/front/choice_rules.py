"""Rules that deploy a design, followed again in samples of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.objectives import balanced_length
from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco.designs.chromosomes import stage_counts, stages_of
from emsco.front.points import FrontPoints
from emsco.front.preferences import DELAY_LIMITS, Preference
from emsco.scoring.pareto import knee_of
from emsco.trust.optimism import BagFigures

__all__ = ["ChoiceRules", "sizes_of"]

_NAMED = ("one_standard_error", "knee", "balanced")  # whose choice follows from three figures
_UNFOLLOWED = {"min_recall", *DELAY_LIMITS}  # limits on other figures


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceRules:
    """Follows rules in each bag.

    Attributes
    ----------
    figures : BagFigures
    sizes : ndarray of shape (n_designs,)
        Rank of each design by simplicity.
    total_cost : float
        Of all features.
    """

    figures: BagFigures
    sizes: IntArray
    total_cost: float

    def followed(self, front: FrontPoints, prefer: Preference | None) -> dict[int, IntArray]:
        """Return what rules choose in each bag, by the position of the point they choose here.

        Of two rules that choose the same point, `prefer` counts, or the later one. A point that
        `prefer` deploys by a rule that cannot be followed is left out.
        """
        found = {front.position(front.prefer(name)): self._named(name, front) for name in _NAMED}
        if prefer is None or prefer in _NAMED:
            return found
        if not isinstance(prefer, dict):
            found.pop(front.position(front.prefer(prefer)), None)
        elif prefer.get("rule", "balanced") == "balanced" and not _UNFOLLOWED & prefer.keys():
            limits = {name: limit for name, limit in prefer.items() if name != "rule"}
            if front.within(**limits):
                found[front.position(front.select(**limits))] = self._balanced(limits)
        return found

    def _named(self, name: str, front: FrontPoints) -> IntArray:
        if name == "balanced":
            return self._balanced({})
        if name == "knee":
            return self._knees()
        best = front.position(max(front, key=lambda point: self._expected(point)[0]))
        return self._simple(self._expected(front[best])[1])

    def _expected(self, point: Any) -> tuple[float, float]:
        score: tuple[float, float] = point.expected.balanced(self.total_cost or 1.0)
        return score

    @property
    def _inside(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coverage, accuracy and cost in each bag, (n_bags, n_designs)."""
        figures = self.figures.coverage, self.figures.accuracy, self.figures.cost
        coverage, accuracy, cost = (one[0].astype(np.float64) for one in figures)
        return coverage, accuracy, cost

    @property
    def _scores(self) -> FloatArray:
        scores: FloatArray = balanced_length(*self._inside, self.total_cost or 1.0)
        return scores

    def _balanced(self, limits: Mapping[str, Any]) -> IntArray:
        """Choose the best balanced design within limits; the nearest to them if none is."""
        coverage, accuracy, cost = self._inside
        beyond = (
            np.maximum(0, (limits.get("min_coverage") or 0.0) - coverage)
            + np.maximum(0, (limits.get("min_accuracy") or 0.0) - accuracy)
            + np.maximum(0, cost - _most(limits)) / (self.total_cost or 1.0)
        )
        found: IntArray = np.where(beyond > 0, -beyond, self._scores).argmax(axis=1)
        return found

    def _simple(self, error: float) -> IntArray:
        """Choose the simplest design whose score is at most a standard error below the best."""
        scores = self._scores
        near = scores >= scores.max(axis=1, keepdims=True) - error
        found: IntArray = np.where(near, self.sizes, len(self.sizes)).argmin(axis=1)
        return found

    def _knees(self) -> IntArray:
        """Choose the knee of the designs that no other beats."""
        from moocore import is_nondominated

        coverage, accuracy, cost = self._inside
        found = []
        for own in zip(coverage, accuracy, cost, strict=True):
            front = np.flatnonzero(
                is_nondominated(np.column_stack([*own[:2], -own[2]]), maximise=True)
            )
            found.append(front[knee_of(*(one[front] for one in own))])
        return np.array(found)


def _most(limits: Mapping[str, Any]) -> float:
    most = limits.get("max_cost")
    return np.inf if most is None else float(most)


def sizes_of(designs: StageArray) -> IntArray:
    """Rank designs by simplicity: by their stages, then by the features they buy.

    Examples
    --------
    >>> sizes_of(np.array([[0, 1], [0, 0], [0, -1]], dtype=np.int16)).tolist()
    [2, 1, 0]
    """
    n_bought = (stages_of(designs) >= 0).sum(axis=1)
    size = stage_counts(designs) * (designs.shape[1] + 1) + n_bought
    ranks: IntArray = np.unique(size, return_inverse=True)[1]
    return ranks
