"""The shape of a front, for modules that `ParetoFront` itself is built from."""

from __future__ import annotations

from typing import Protocol

from emsco.cascade import Evaluation
from emsco.costs import FeatureCosts
from emsco.data.row_prints import RowPrints
from emsco.designs.thresholds import MinConfidence
from emsco.front.point import ParetoPoint
from emsco.front.references import Reference


class FrontShape(Protocol):
    """The attributes of a front that files, tables and doubts need."""

    @property
    def points(self) -> tuple[ParetoPoint, ...]:
        """Designs and their scored figures, best first."""

    @property
    def costs(self) -> FeatureCosts:
        """Costs of the features."""

    @property
    def min_confidence(self) -> MinConfidence:
        """Confidence that a label needs."""

    @property
    def metric(self) -> str:
        """The accuracy that points are scored by."""

    @property
    def proven(self) -> bool:
        """Whether no design beats the points on the scored rows."""

    @property
    def by_fitness(self) -> bool:
        """Whether the paper's search listed the points."""

    @property
    def seen(self) -> tuple[Evaluation, ...] | None:
        """Figures of each point on test rows."""

    @property
    def references(self) -> tuple[Reference, ...]:
        """What you get without a cascade, on the scored rows."""

    @property
    def seen_references(self) -> tuple[Reference, ...]:
        """The same on test rows."""

    @property
    def searched(self) -> RowPrints | None:
        """Fingerprints of the rows of the search."""

    def shortlist(self) -> list[int]:
        """Positions of points that differ beyond noise."""
