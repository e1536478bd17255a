"""Designs that share the objectives of a point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from emsco.designs.design import Design
from emsco.errors import NoSuchDesign
from emsco.front.point import ParetoPoint
from emsco.scoring.pareto import TieSource

__all__ = ["tied_designs"]


def tied_designs(
    point: ParetoPoint, position: int, source: TieSource | None, names: tuple[str, ...]
) -> Iterator[Design]:
    """Iterate over the designs that tie with a point; without a source, over the point alone."""
    added = point.is_simplified and point.n_tied == 1  # its search did not return it
    if source is None or added:  # built by hand, or loaded from a file
        if point.n_tied > 1:
            raise NoSuchDesign(
                f"ties must be asked of the front that a search returned, got one from a file, "
                f"which holds 1 of the {point.n_tied:,} designs; search again to list them."
            )
        return iter((point.design,))
    return (
        point.design if np.array_equal(stages, point.design.stages) else Design(stages, names)
        for stages in source(position)
    )
