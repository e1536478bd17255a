"""Prices by row in scoring, against sums over rows one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.brute import every_design

from emsco.costs import FeatureCosts, Fee
from emsco.data.training import TrainingData
from emsco.fitting.workbench import Workbench
from emsco.models.recipe import StageRecipe
from emsco.scoring.row_prices import RowPrices
from emsco.scoring.scored_rows import ScoredRows

NAMES = ("a", "b", "c")


def bench(decimals=1, weighted=False, gaps=False, metric="accuracy", seed=0):
    """A workbench on few rows, two of whose features have prices of their own."""
    rng = np.random.default_rng(seed)
    X, n_rows = rng.normal(size=(150, 3)), 150
    y = (X @ [1, 1, 0.5] + rng.normal(size=n_rows) > 0).astype(int)
    prices = np.round(rng.uniform(0, 5, size=(2, n_rows)), decimals)
    costs = FeatureCosts.from_mapping({"a": prices[0], "b": 2, "c": prices[1]})
    fee = Fee("visit", 1.5, ("a", "b"))
    costs = replace(costs, fees=(fee,), evaluation=0.5)
    weights = rng.integers(0, 4, size=n_rows) if weighted else None
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    data = TrainingData.from_table(X, y, weights, costs, "skip" if gaps else "refuse")
    halves = np.array_split(rng.permutation(n_rows), 2)
    splits = [(halves[0], halves[1]), (halves[1], halves[0][:40])]
    recipe = StageRecipe(None, None, None, 2**26, 1, 0)
    return Workbench(data, splits, recipe, metric=metric)


def spent_by_rows(work, designs):
    """What all scored rows pay together, row by row."""
    evaluator = work.evaluator(3, 0.75)
    scored = ScoredRows(
        work.bank, work.data, work.splits, evaluator.grid, work.blocks.members(), work.prices
    )
    every = np.concatenate([rows for _, rows in work.splits])
    costs, found = work.data.costs, []
    for design, outcomes in zip(designs, scored.outcomes(designs), strict=True):
        total = 0.0
        for i, last, weight in zip(every, outcomes.stage, scored.units, strict=True):
            known = [n for n, at in zip(NAMES, design, strict=True) if 0 <= at <= last]
            own = {"a": work.data.prices[i, 0], "b": 2.0, "c": work.data.prices[i, 1]}
            paid = sum(own[n] for n in known) + 1.5 * bool({"a", "b"} & set(known))
            total += weight * (paid + 0.5 * (last + 1))
        found.append(total)
    assert costs.total == pytest.approx(work.data.costs.costs.sum() + 2)
    return np.array(found), scored, evaluator


@pytest.mark.parametrize(
    "options",
    [{}, {"decimals": 9}, {"weighted": True}, {"gaps": True}, {"metric": "balanced_accuracy"}],
    ids=["whole", "rounded", "weighted", "gaps", "classes"],
)
def test_the_cost_of_a_design_is_the_sum_over_its_rows(options):
    work = bench(**options)
    designs = np.array(every_design(3, 3, allow_exclusion=True), dtype=np.int16)
    spent, scored, evaluator = spent_by_rows(work, designs)
    scores = evaluator.score(designs)
    assert scores.cost * work.bank.n_rows == pytest.approx(spent, rel=1e-9)
    if not options:
        assert scores.spent.dtype == np.int64
        assert (scores.spent == np.rint(spent * 10)).all()
    mean = scored.shares(designs, evaluator.costs_after(designs))[2]
    weights = np.bincount(scored.rows, scored.weights)
    by_split = np.bincount(scored.rows)  # a row that two splits score counts twice in scores
    if (by_split == 1).all():
        assert mean @ weights / weights.sum() == pytest.approx(scores.cost, rel=1e-5)


def test_the_worst_cost_is_that_of_the_row_with_the_highest_prices():
    work = bench()
    evaluator = work.evaluator(3, 0.75)
    design = np.array([[0, -1, 1]], dtype=np.int16)
    scored = np.concatenate([rows for _, rows in work.splits])
    most = work.data.prices[scored].sum(axis=1).max()
    assert evaluator.worst_costs(design)[0] == pytest.approx(most + 1.5 + 2 * 0.5)


def test_prices_without_a_common_unit_are_rounded_to_nothing_that_shows():
    costs = FeatureCosts.from_mapping({"a": "p", "b": 1 / 3})
    prices = np.random.default_rng(0).uniform(size=(1, 50)) * 1e-7
    found = RowPrices.from_rows(costs, np.array([0]), prices, np.ones(50, dtype=np.int64))
    assert not found.fixed.are_whole
    assert found.spent(found.whole.sum()) == pytest.approx(prices.sum(), rel=1e-4)
