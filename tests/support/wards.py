"""A clinic whose wards need different tests, so that designs that branch pay; and fits of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from emsco import EMSCOClassifier
from emsco.designs.grid import ThresholdGrid
from emsco.fitting import Workbench, fit
from emsco.fitting.branches import Branched
from emsco.scoring.outcomes import Outcomes
from emsco.scoring.walk import Walk

COSTS = {"ward": 1, "age": 2, "heart test": 8, "lung test": 9, "scan": 12}
N_ROWS, N_TRAIN = 900, 600
SPLIT = (np.arange(N_TRAIN), np.arange(N_TRAIN, N_ROWS))
# Logistic stages, scored on the last rows: what is deployed is what was scored, to the row.
QUICK = {
    "estimator": "logistic",
    "search": "evolution",
    "generations": 3,
    "population_size": 30,
    "cv": [SPLIT],
    "refit": "first",
    "random_state": 0,
}


def wards(kind="category", gaps=False, pays=True):
    """Two wards, each with a test that tells nothing about the other's patients.

    The ward is a category, a number or a truth value. With `gaps`, a tenth of all values is
    missing. Unless it `pays`, both tests tell something about everyone. A dear scan tells nothing.
    """
    rng = np.random.default_rng(0)
    is_lung, is_ill = rng.random(N_ROWS) < 0.5, rng.random(N_ROWS) < 0.45
    ward = {
        "category": np.where(is_lung, "lung", "heart"),
        "number": (10 * is_lung + rng.normal(size=N_ROWS)).round(1),
        "truth": is_lung,
    }[kind]
    table = pd.DataFrame({"ward": ward, "age": rng.normal(50, 15, N_ROWS).round()})
    for name, is_here in (("heart test", ~is_lung), ("lung test", is_lung)):
        told = np.where(is_here | (not pays), is_ill, rng.random(N_ROWS) < 0.45)
        table[name] = (told + rng.normal(scale=0.4, size=N_ROWS)).round(2)
    table["scan"] = rng.normal(size=N_ROWS).round(2)
    if gaps:
        table = table.mask(rng.random(table.shape) < 0.1)
    return table, np.where(is_ill, "ill", "well")


KIN_COSTS = {"size": 1, "weight": 1, "plant test": 8, "animal test": 9}


def kin():
    """Two families of two classes each, told by the sum of two cheap signs alone.

    Each family has a test that tells its two classes apart, and nothing about the other's.
    """
    rng = np.random.default_rng(0)
    is_animal, is_rare = rng.random(N_ROWS) < 0.5, rng.random(N_ROWS) < 0.45
    size = rng.normal(scale=9, size=N_ROWS)
    weight = np.where(is_animal, 3, -3) - size + rng.normal(size=N_ROWS)
    table = pd.DataFrame({"size": size.round(2), "weight": weight.round(2)})
    for name, is_here in (("plant test", ~is_animal), ("animal test", is_animal)):
        told = np.where(is_here, is_rare, rng.random(N_ROWS) < 0.45)
        table[name] = (told + rng.normal(scale=0.25, size=N_ROWS)).round(2)
    families = np.where(is_animal, "animal", "plant").astype(object)
    return table, np.where(is_rare, "rare ", "common ") + families


@dataclass(frozen=True)
class GrownFit:
    """A fit, with what it has kept of the designs that branch."""

    clf: EMSCOClassifier
    branched: Branched | None
    bench: Workbench
    grid: ThresholdGrid

    @property
    def points(self):
        """The places of the trees on the front."""
        return [i for i, one in enumerate(self.clf.front_) if not one.design.is_chain]

    @property
    def walk(self) -> Walk:
        """Send the scored rows through designs, trees among them."""
        return self.bench.walk(self.grid).through(self.branched.ways)

    def outcomes_of(self, point) -> Outcomes:
        """What the tree of a point does with each scored row."""
        designs = [fork.design for fork in self.branched.trees.forks]
        return next(self.walk.outcomes(self.branched.trees[[designs.index(point.design)]]))


def grow(X, y, costs=COSTS, weights=None, **settings):
    """Fit a classifier, and keep what it has found of designs that branch."""
    kept = {}

    def branch(self, searched, of_search, bench, result, branch=fit._Steps.branch):
        branched, result = branch(self, searched, of_search, bench, result)
        kept.update(branched=branched, bench=bench, grid=self.grid)
        return branched, result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit._Steps, "branch", branch)
        clf = EMSCOClassifier(costs, **QUICK | settings).fit(X, y, sample_weight=weights)
    return GrownFit(clf, **kept)
