"""Small problems whose stages have thresholds of their own, and all their designs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from emsco.designs.grid import ThresholdGrid
from emsco.designs.space import DesignSpace
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask, simplest_first, tie_groups
from emsco.scoring.scores import CostLimits
from support.brute import every_design
from support.drawn import NAMES, Drawn
from support.leveled import every_leveled, genes_of

GRIDS = (
    ThresholdGrid([[0.6, 0.6], [0.8, 0.8]], (0, 1), (0, 1)),
    ThresholdGrid([[0.9, 0.9], [0.6, 0.6], [0.75, 0.75]], (0, 1, 2), (0, 1, 2)),
    ThresholdGrid([[0.8, 0.8], [0.6, 0.6], [0.0, 0.0]], (0, 1), (2,)),  # everyone gets an answer
    ThresholdGrid([[0.7, 0.7], [0.0, 0.0]], (0,), (1,)),
    ThresholdGrid([[0.55, 0.9], [0.9, 0.55], [0.0, 0.0]], (0, 1), (1, 2)),  # not in any order
)


@dataclass(frozen=True)
class Case:
    """An evaluator and a space of designs."""

    evaluator: Evaluator
    space: DesignSpace

    def every_design(self):
        """All designs of the space with all their thresholds, the simplest first."""
        space = self.space
        given = space.n_features, space.max_stages, space.allow_exclusion, space.first
        designs = every_leveled(every_design(*given), self.evaluator.grid)
        return designs[simplest_first(designs)]

    def front(self):
        """Designs within the limits that tie, the simplest first, for each vector of the front."""
        designs = self.every_design()
        scores = self.evaluator.score(designs)
        within = scores.feasible
        designs, scores = designs[within], replace(scores[within], excess=None)
        if not len(designs):
            return []
        best = front_mask(scores)
        designs, groups = designs[best], tie_groups(scores[best])
        return [genes_of(designs[groups == g]) for g in np.unique(groups)]


def varied(seed, grid=None, n_features=None, **options):
    """A case in which chance decides on every part that one may have."""
    rng = np.random.default_rng(seed)
    n_features = n_features or int(rng.choice([2, 3, 3, 4]))
    grid = GRIDS[rng.integers(len(GRIDS))] if grid is None else grid
    names = NAMES[:n_features]
    drawn = Drawn.of(seed, grid=grid, names=names, n_classes=2, n_splits=1, priced=[])
    total = drawn.costs.total
    mean, worst = (float(rng.uniform(*ends) * total) for ends in ((0.3, 1), (0.6, 1.5)))
    limits = CostLimits(*((None, None, None, one)[rng.integers(4)] for one in (mean, worst)))
    evaluator = drawn.evaluator(limits=options.pop("limits", limits))
    space = DesignSpace(
        n_features,
        int(rng.choice([1, 2, 3])),
        bool(rng.integers(2)),
        (None, int(rng.integers(n_features)))[rng.integers(2)],
        len(grid.early),
        len(grid.last),
    )
    return Case(evaluator, replace(space, **options))
