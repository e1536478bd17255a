"""Fronts that were searched for the lowest total of features, errors and rejections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emsco._base.typing import IntArray
from emsco.front.point import ParetoPoint
from emsco.stats.error_costs import ErrorCosts


def unbeaten_by_money(points: Sequence[ParetoPoint], money: ErrorCosts) -> IntArray:
    """Return the positions of points that no other beats in coverage, losses and cost.

    Losses are what wrong labels and rejections cost. Points must know their results by class.
    """
    from moocore import is_nondominated

    figures = np.array(
        [
            (point.coverage, -money.mean(point.by_class), -point.cost)
            for point in points
            if point.by_class is not None
        ]
    )
    unbeaten: IntArray = np.flatnonzero(is_nondominated(figures, maximise=True, keep_weakly=False))
    return unbeaten
