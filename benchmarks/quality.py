"""Quality of a front, on its own or beside the true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.typing import FloatArray
from emsco.scoring.scores import Scores

__all__ = ["FrontQuality", "losses"]

_REFERENCE = np.ones(3)


def losses(scores: Scores, total_cost: float) -> FloatArray:
    """1 - coverage, 1 - accuracy and cost / cost of everything; lower is better."""
    columns = [1 - scores.coverage, 1 - scores.accuracy, scores.cost / total_cost]
    return np.column_stack(columns)


@dataclass(frozen=True, slots=True)
class FrontQuality:
    """Quality figures of a set of designs, in the unit cube of `losses`, reference point (1, 1, 1).

    Attributes
    ----------
    share : float
        Share of the true front's objective vectors in the set.
    hypervolume : float
        Volume that the set dominates.
    hypervolume_ratio : float
        Hypervolume divided by the true front's.
    igd_plus, epsilon : float
        Inverted generational distance (IGD+) to the true front, and the additive epsilon.

    All but `hypervolume` are NaN if the true front is not known.
    """

    share: float
    hypervolume: float
    hypervolume_ratio: float
    igd_plus: float
    epsilon: float

    @classmethod
    def from_scores(cls, found: Scores, total_cost: float, truth: Scores | None = None) -> Self:
        """Measure `found`, and compare it with the true front if that is known."""
        import moocore

        points = losses(found, total_cost)
        volume = float(moocore.hypervolume(points, ref=_REFERENCE))
        if truth is None:
            return cls(np.nan, volume, np.nan, np.nan, np.nan)
        target = losses(truth, total_cost)
        whole = float(moocore.hypervolume(target, ref=_REFERENCE))
        return cls(
            share=share_of_front(found, truth),
            hypervolume=volume,
            hypervolume_ratio=volume / whole,
            igd_plus=float(moocore.igd_plus(points, ref=target)),
            epsilon=float(moocore.epsilon_additive(points, ref=target)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in self.__slots__}


def share_of_front(found: Scores, truth: Scores) -> float:
    """Share of the objective vectors of `truth` that are in `found`, compared exactly."""
    wanted, had = vectors(truth), vectors(found)
    return len(wanted & had) / len(wanted)


def vectors(scores: Scores) -> set[tuple[int, int, float]]:
    """Distinct (accepted, correct, spent) triples."""
    columns = (scores.accepted, scores.correct, scores.spent)
    return set(zip(*(column.tolist() for column in columns), strict=True))
