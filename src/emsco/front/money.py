"""Fronts that were searched for the lowest total of features, errors and rejections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emsco._base.typing import IntArray
from emsco.front.point import ParetoPoint
from emsco.scoring.error_costs import ErrorCosts
from emsco.scoring.scores import CostLimits


def unbeaten_by_money(
    points: Sequence[ParetoPoint], money: ErrorCosts, limits: CostLimits
) -> IntArray:
    """Return the positions of points that no other beats in coverage, losses and cost.

    Losses are what wrong labels and rejections cost. The search has kept the limits on means for
    weighted rows; points beyond them on plain rows are left out, unless all are.
    """
    from moocore import is_nondominated

    figures = np.empty((len(points), 3))
    for i, point in enumerate(points):
        assert point.by_class is not None
        figures[i] = point.coverage, -money.losses(point.by_class), -point.cost
    delays = np.array([point.mean_delay for point in points])
    within = (-figures[:, 2] <= limits.most[0]) & (delays <= limits.most[2])
    places = np.flatnonzero(within) if within.any() else np.arange(len(points))
    unbeaten: IntArray = places[is_nondominated(figures[places], maximise=True, keep_weakly=False)]
    return unbeaten
