"""The front that an exact search finds, how far it has come, and designs that tie with a point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco.errors import MemoryLimitError
from emsco.scoring.pareto import front_mask, tie_groups
from emsco.scoring.scores import Scores
from emsco.search.allowances import Counts
from emsco.search.loop import Stop, StopReason


class TimeLimitError(Exception):
    """Raised by a report to stop the search and keep its result so far."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the time limit of {seconds:g} s was reached")
        self.seconds = seconds


class LongerThanPlannedError(Exception):
    """Raised by a report to give a search up that takes longer than planned."""


@dataclass(frozen=True, slots=True)
class ExactProgress:
    """How far an exact search has come.

    Attributes
    ----------
    done : float
        Subset sizes done, including the share of the current one. Percent of the designs, if
        stages have thresholds of their own.
    n_sizes : int
        Subset sizes in all, or 100.
    n_settled : int
        Designs settled.
    n_labels : int
        Kinds of chains kept; 0 if none are.
    n_tried : int
        Subsets that a walk has tried; 0 if chains are kept.
    """

    done: float
    n_sizes: int
    n_settled: int
    n_labels: int
    n_tried: int = 0


ExactReport: TypeAlias = Callable[[ExactProgress], None]


@dataclass(frozen=True, slots=True, eq=False)
class ExactFront:
    """The non-dominated objective vectors of a space of designs.

    Attributes
    ----------
    designs : ndarray of shape (n_vectors, n_features)
        The simplest design of each vector.
    n_tied : ndarray of shape (n_vectors,)
        Number of designs with this vector.
    n_settled : int
        Designs settled, one by one or many at once; for a proven front, the whole space.
    n_labels, n_transitions : int
        Kinds of chains kept, and pairs of a chain and a larger subset examined.
    stopped : StopReason or None
        Why the search stopped early; None for a proven front.
    """

    designs: StageArray
    n_tied: IntArray
    n_settled: int
    n_labels: int
    n_transitions: int
    stopped: StopReason | None

    def check_whole(self, n_designs: int) -> None:
        """Raise if a search that was not stopped has left a design out.

        Each design is settled once: it is scored, beaten, or part of a chain that was given up.
        """
        if self.stopped is None and self.n_settled != n_designs:
            raise RuntimeError(f"{self.n_settled} of {n_designs} designs are settled.")


def run_steps(steps: Iterator[ExactProgress], report: ExactReport | None) -> StopReason | None:
    """Go through the steps of a search; return why it stopped early, or None."""
    try:
        with closing(steps):  # type: ignore[type-var]
            for progress in steps:
                if report:
                    report(progress)
    except TimeLimitError as limit:
        return StopReason(Stop.TIME_LIMIT, seconds=limit.seconds)
    except LongerThanPlannedError:
        return StopReason(Stop.LONGER_THAN_PLANNED)
    except MemoryLimitError as limit:
        return StopReason(Stop.MEMORY_LIMIT, detail=str(limit))
    except KeyboardInterrupt:
        return StopReason(Stop.INTERRUPTED)
    return None


def first_of_vectors(
    n_rows: int, accepted: Counts, wrong: Counts, spent: FloatArray, slack: float, n_tied: IntArray
) -> tuple[IntArray, IntArray]:
    """Positions of the first design of each non-dominated objective vector, and its ties' number.

    `n_tied` has the number of designs that each of these stands for.
    """
    if not len(spent):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    accepted = accepted.astype(np.int64)
    correct = accepted - wrong
    cost = spent if slack else spent.astype(np.int64)
    scores = Scores(n_rows, accepted[:, None], correct[:, None], cost)
    kept = np.flatnonzero(front_mask(scores))
    _, first, group = np.unique(tie_groups(scores[kept]), return_index=True, return_inverse=True)
    counts = np.zeros(len(first), dtype=np.int64)
    np.add.at(counts, group.reshape(-1), n_tied[kept])
    return kept[first], counts


@dataclass(frozen=True, slots=True, eq=False)
class ExactTies:
    """Finds every design with the objectives of a point, when you ask for them.

    Parameters
    ----------
    find : callable
        Finds them: `chains.tied_designs` or `walk.tied_designs`.
    space : SingleThresholdSpace or ThresholdSpace
    designs, scores, n_tied
        The simplest design of each point, its scores, and the number of designs that tie.
    memory_limit : int
        Bytes for finding them.
    """

    find: Callable[[Any, Scores, int, int], Iterator[StageArray]]
    space: Any
    designs: StageArray
    scores: Scores
    n_tied: IntArray
    memory_limit: int

    def __call__(self, point: int) -> Iterator[StageArray]:
        """Iterate over the designs that tie with the point at a position, the simplest first."""
        simplest = self.designs[point]
        yield simplest
        if self.n_tied[point] == 1:
            return
        seen = {simplest.tobytes()}
        for design in self.find(self.space, self.scores, point, self.memory_limit):
            if design.tobytes() not in seen:
                yield design
            # Chains whose costs differ by rounding may lead to the same design.
            if self.space.slack:
                seen.add(design.tobytes())
