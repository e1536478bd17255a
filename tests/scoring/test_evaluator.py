"""The evaluator: it scores each design once, and knows costs, limits and delays.

That its counts are those of the rows, and its costs what they pay, stands in `test_walk`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import MAX_STAGES, Drawn

from emsco.designs.chromosomes import subset_words
from emsco.designs.grid import ThresholdGrid
from emsco.scoring.bits import RowBits
from emsco.scoring.scores import CostLimits, Counts

SEEDS = st.integers(0, 10**6)
SIZES = {"sizes": [20, 33]}


def told(scores):
    return [one.tolist() for one in (scores.exits, scores.correct_exits, scores.spent)]


@given(SEEDS)
def test_a_design_is_scored_once_and_kept(seed):
    drawn = Drawn.of(seed, **SIZES)
    evaluator, designs, counted = drawn.evaluator(), drawn.designs(30), []
    wanted = told(drawn.evaluator().score(designs))
    with pytest.MonkeyPatch.context() as patch:
        count = RowBits.count
        patch.setattr(RowBits, "count", lambda _, some, __: counted.append(len(some)) or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            evaluator.score(designs)
        assert evaluator.n_designs == 0 < len(counted)
        counted.clear()
        patch.setattr(
            RowBits,
            "count",
            lambda self, some, grid: counted.append(len(some)) or count(self, some, grid),
        )
        for some in (slice(0, 10), slice(None), slice(None, None, -1)):
            assert told(evaluator.score(designs[some])) == [one[some] for one in wanted]
    different = designs[designs.distinct()]
    assert sum(counted) == evaluator.n_designs == len(different)
    assert evaluator.designs.stages.tolist() == different.stages.tolist()
    assert evaluator.designs.levels.tolist() == different.levels.tolist()
    words = subset_words(designs.stages, MAX_STAGES).reshape(-1, 1)
    assert evaluator.n_subsets == len(np.unique(words)) == len(evaluator.subsets)
    kept = evaluator.without_scores()
    assert kept.metric == evaluator.metric
    assert not hasattr(kept, "bits")


@given(SEEDS)
def test_a_rejected_row_pays_for_everything_and_most_with_the_highest_prices(seed):
    drawn = Drawn.of(seed, **SIZES)
    grid = ThresholdGrid(np.full((1, drawn.scored.n_classes), 2.0))  # nobody is as sure
    evaluator, designs = drawn.evaluator(grid=grid), drawn.designs(grid=grid)
    scores, known = evaluator.score(designs), designs.stages >= 0
    assert not scores.accepted.any()
    assert not scores.accuracy.any()
    units, prices = drawn.scored.units, drawn.prices
    worst = np.array(drawn.costs.paid(known, designs.n_stages, prices=0))
    spent = worst * units.sum()
    if prices is not None:
        each = (designs.stages[:, drawn.priced] >= 0) @ prices.T
        worst, spent = worst + each.max(axis=1), spent + each @ units
    np.testing.assert_allclose(evaluator.limited(designs, scores)[1], worst, rtol=1e-9)
    np.testing.assert_allclose(scores.spent / scores.per_one, spent, rtol=1e-9)


@given(SEEDS)
def test_designs_beyond_a_limit_exceed_it_by_their_share_of_all_costs(seed):
    drawn = Drawn.of(seed, **SIZES)
    delays, designs = np.array([0.5, 2, 0, 3]), drawn.designs(20)
    drawn = replace(drawn, costs=drawn.costs.with_delays(delays))
    free = drawn.evaluator()
    scores = free.score(designs)
    slowest = np.array(
        [[max(delays[d == j], default=0) for j in range(MAX_STAGES)] for d in designs.stages]
    )
    waits, rejected = np.cumsum(slowest, axis=1), scores.n_rows - scores.accepted
    waited = ((scores.exits * waits).sum(axis=1) + rejected * waits[:, -1]) / scores.n_rows
    values = free.limited(designs, scores)
    np.testing.assert_allclose(values[2:], [waited, waits[:, -1]])
    limits = [float(np.median(one)) for one in values]
    totals = [drawn.costs.total] * 2 + [delays.sum()] * 2
    for some in ((0,), (1,), (0, 1), (2, 3), (0, 1, 2, 3)):
        given = [limit if k in some else None for k, limit in enumerate(limits)]
        limited = drawn.evaluator(limits=CostLimits(*given)).score(designs)
        over = sum(np.maximum(values[k] - limits[k], 0) / totals[k] for k in some)
        np.testing.assert_allclose(limited.excess, over, rtol=1e-6, atol=1e-7)
        within = np.all([values[k] <= limits[k] * (1 + 1e-9) for k in some], axis=0)
        assert limited.feasible.tolist() == within.tolist()
    joined = Counts.concatenate([limited[np.array([3, 1])], scores[[2]]])
    assert joined.feasible.tolist() == [*limited.feasible[[3, 1]].tolist(), True]
    assert told(joined) == [one[[3, 1, 2]].tolist() for one in map(np.array, told(scores))]
