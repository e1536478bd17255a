"""Small problems whose stages have thresholds of their own, and all their designs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from emsco.costs import FeatureCosts, Fee
from emsco.designs.chromosomes import with_levels
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid
from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask, simplest_first, tie_groups
from emsco.scoring.scores import CostLimits
from support.brute import every_design, random_fees

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
        space, grid = self.space, self.evaluator.grid
        leveled = []
        for design in every_design(
            space.n_features, space.max_stages, space.allow_exclusion, space.first
        ):
            early = product(grid.early, repeat=max(design))
            levels = [(*some, one) for some, one in product(early, grid.last)]
            stages = np.repeat(np.array([design], dtype=np.int16), len(levels), axis=0)
            leveled.append(with_levels(stages, np.array(levels)))
        designs = np.concatenate(leveled)
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
        return [[tuple(d) for d in designs[groups == g].tolist()] for g in np.unique(groups)]


def varied(seed, grid=None, **options):
    """A case in which chance decides on every part that one may have."""
    rng = np.random.default_rng(seed)
    drawn, n_rows = int(rng.choice([1, 2, 3, 3, 4, 4])), int(rng.choice([12, 60, 110]))
    n_features = options.pop("n_features", drawn)
    grid = GRIDS[rng.integers(len(GRIDS))] if grid is None else grid
    max_stages = int(rng.choice([1, 2, 3, 4 if grid.n_levels < 3 else 3]))
    X = rng.normal(size=(n_rows + 30, n_features))
    y = (X @ rng.normal(size=n_features) + rng.normal(size=len(X)) > 0).astype(np.uint8)
    y[:2] = 0, 1
    train, scored = np.arange(30), np.arange(30, len(X))
    counts = rng.integers(1, 4, size=len(X)) if rng.integers(2) else None
    missing = rng.random((len(X), n_features)) < 0.15 if rng.integers(2) else None
    split = SplitRows.cut(SplitData(X, y, train, scored, counts=counts, missing=missing))
    prices = rng.choice([0, 1, 2, 3, 5], size=n_features).astype(float)
    prices /= rng.choice([1, 1, 3, np.pi])  # some costs are no whole numbers of any unit
    prices[0] += not prices.any()
    evaluation = float(rng.choice([0, 0, 1, 1 / 3]))
    costs = replace(FeatureCosts.from_array(prices), evaluation=evaluation)
    mean, worst = (float(rng.uniform(*ends) * costs.total) for ends in ((0.3, 1), (0.6, 1.5)))
    limits = CostLimits(*((None, None, None, one)[rng.integers(4)] for one in (mean, worst)))
    limits = options.pop("limits", limits)
    space = DesignSpace(
        n_features,
        max_stages,
        bool(rng.integers(2)),
        (None, int(rng.integers(n_features)))[rng.integers(2)],
        len(grid.early),
        len(grid.last),
    )
    space = replace(space, **options)
    fees = random_fees(rng, n_features, (1.0, 2.0, 0.7))
    named = (
        Fee(f"fee {i}", cost, [costs.names[j] for j in features])
        for i, (cost, features) in enumerate(fees)
    )
    costs = replace(costs, fees=tuple(named))
    bank = logistic_bank([split], n_features)
    return Case(Evaluator(bank, costs, grid, space.max_stages, limits=limits), space)
