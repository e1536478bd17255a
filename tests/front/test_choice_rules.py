"""The lowest total, chosen again in samples of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from emsco.front.expected import ChoiceRules
from emsco.stats.bags import BagFigures, Bags, RowShares
from emsco.stats.by_class import ByClass
from emsco.stats.error_costs import ErrorCosts

N_ROWS, N_DESIGNS, N_BAGS = 40, 6, 9
COSTS = ErrorCosts.from_parameters([[1, 90], [30, 0]], {"ill": 20, "well": 5}, ("ill", "well"))
COUNTED = ByClass(("ill", "well"), ((10, 3, 2), (4, 15, 6)))


@pytest.fixture(scope="module")
def decided():
    """Truth, what designs do with each row, and the figures of all bags."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, N_ROWS)
    answered = (rng.random((N_DESIGNS, N_ROWS)) < 0.7).astype(np.float32)
    correct = answered * (rng.random((N_DESIGNS, N_ROWS)) < 0.8)
    shares = RowShares(answered, correct.astype(np.float32), rng.random((N_DESIGNS, N_ROWS)) * 9)
    bags = Bags.draw(truth, np.ones(N_ROWS), None, N_BAGS, 2, rng)
    figures = BagFigures(bags)
    figures.add(RowShares(*(getattr(shares, one)[:, bags.order] for one in RowShares.__slots__)))
    figures.close()
    return truth, shares, figures


def totals_of(truth, shares, bags):
    """The total of each design in each bag, row by row."""
    wrong = COSTS.wrong_by_class(COUNTED)[truth]
    cost = (
        shares.spent
        + shares.correct * np.diagonal(COSTS.of_labels)[truth]
        + (shares.answered - shares.correct) * wrong
        + (1 - shares.answered) * COSTS.costs[truth, -1]
    )
    weights = bags.weights[0][:, np.argsort(bags.order)]
    return weights @ cost.T / weights.sum(axis=1, keepdims=True)


def test_each_bag_has_the_lowest_total_of_its_rows(decided):
    truth, shares, figures = decided
    rules = ChoiceRules(figures, np.arange(N_DESIGNS), 9.0)
    totals = totals_of(truth, shares, figures.bags)
    assert rules.cheapest(COSTS, {}, COUNTED).tolist() == totals.argmin(axis=1).tolist()


def test_limits_hold_in_each_bag_where_a_design_is_within_them(decided):
    truth, shares, figures = decided
    rules = ChoiceRules(figures, np.arange(N_DESIGNS), 9.0)
    totals, coverage = totals_of(truth, shares, figures.bags), figures.coverage[0]
    chosen = rules.cheapest(COSTS, {"min_coverage": 0.71}, COUNTED)
    for bag, i in enumerate(chosen):
        within = np.flatnonzero(coverage[bag] >= 0.71)
        best = coverage[bag].argmax() if not len(within) else within[totals[bag, within].argmin()]
        assert i == best


def test_shares_by_class_add_up_to_all_rows(decided):
    parts = decided[2].inside_by_class()
    np.testing.assert_allclose(sum(part.sum(axis=0) for part in parts), 1, rtol=1e-5)
