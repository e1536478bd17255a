"""The history of a search: one record per generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emsco.designs.constraints import Blocks
from emsco.front import ParetoPoint
from emsco.front.point import NamedDesigns
from emsco.plotting.convergence import Convergence
from emsco.search.loop import SearchResult

_NUMBERS = ("generation", "n_front", "n_designs", "n_subsets", "seconds")


@dataclass(frozen=True, slots=True)
class Generation:
    """State of a search after one generation; generation 0 is the initial population.

    Attributes
    ----------
    generation : int
    best : ParetoPoint
        Best design so far: the fittest for the paper's search, else the best balanced.
    n_front : int
        Distinct non-dominated designs.
    n_designs : int
        Distinct designs scored so far.
    n_subsets : int
        Distinct feature subsets that these designs have bought after some stage.
    seconds : float
        Time since the search began.
    """

    generation: int
    best: ParetoPoint
    n_front: int
    n_designs: int
    n_subsets: int
    seconds: float


def history_of(
    result: SearchResult, blocks: Blocks, named: NamedDesigns, per_row: float
) -> list[Generation]:
    """Convert the records of a search to generations whose designs name features.

    `per_row` is the count that a row of weight 1 adds to the scores.
    """
    points: dict[bytes, ParetoPoint] = {}  # the best design often stays the same
    history = []
    for record in result.records:
        key = record.best.keys.tobytes()
        if key not in points:
            best = named(record.best.over(blocks.of_feature))
            points[key] = ParetoPoint.from_scores(best, record.best_scores, 0, per_row=per_row)
        numbers = {name: getattr(record, name) for name in _NUMBERS}
        history.append(Generation(best=points[key], **numbers))
    return history


def history_columns(history: Sequence[Generation]) -> dict[str, list[float]]:
    """Convert generations to columns by name; the best design appears as its objectives."""
    columns = {name: [getattr(record, name) for record in history] for name in _NUMBERS}
    for name in ("coverage", "accuracy", "cost"):
        columns[f"best_{name}"] = [getattr(record.best, name) for record in history]
    return columns


def convergence_of(history: Sequence[Generation]) -> Convergence:
    """Collect the curves that `emsco.plotting.draw_convergence` draws."""
    return Convergence.from_columns(history_columns(history), history[0].best.metric)
