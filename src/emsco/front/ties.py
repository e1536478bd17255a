"""Chromosomes of a search as designs over named features, for points and their ties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emsco._base.typing import AnyArray, StageArray
from emsco.designs.chromosomes import stages_of
from emsco.designs.design import Design
from emsco.designs.thresholds import ThresholdGrid
from emsco.scoring.pareto import TieSource


@dataclass(frozen=True, slots=True, eq=False)
class NamedDesigns:
    """Turns the chromosomes of a search into designs over named features.

    Attributes
    ----------
    names : tuple of str
    grid : ThresholdGrid or None
        Thresholds of the stages; None if all have the same.
    classes : ndarray of shape (n_classes,) or None
    """

    names: tuple[str, ...]
    grid: ThresholdGrid | None = None
    classes: AnyArray | None = None

    def __call__(self, genes: StageArray) -> Design:
        """Return the design of one chromosome."""
        if self.grid is None or self.grid.is_single or self.classes is None:
            return Design(genes, self.names)
        thresholds = self.grid.of_design(genes, self.classes)
        return Design(stages_of(genes), self.names, thresholds)


@dataclass(frozen=True, slots=True, eq=False)
class NamedTies:
    """Lists the designs that tie with the point at a position."""

    source: TieSource
    named: NamedDesigns

    def __call__(self, position: int) -> Iterator[Design]:
        """Iterate over the designs, the simplest first."""
        return map(self.named, self.source(position))
