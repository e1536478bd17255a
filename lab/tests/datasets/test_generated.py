from __future__ import annotations

import numpy as np
import pytest

from emsco_lab.datasets import load
from emsco_lab.datasets.generated import chances_of_interactions, chances_of_regions

KNOWN = {"interactions": (chances_of_interactions, 0.94), "regions": (chances_of_regions, 0.92)}


@pytest.mark.parametrize("name", KNOWN)
def test_labels_follow_the_true_probabilities(name):
    data, (chances_of, best) = load(name, seed=4), KNOWN[name]
    chances = chances_of(data.X)
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.mean(chances.argmax(axis=1) == data.y) == pytest.approx(best, abs=0.02)
    for one, share in enumerate(chances.mean(axis=0)):
        assert np.mean(data.y == one) == pytest.approx(share, abs=0.02)


def test_a_region_needs_its_own_test_and_no_other():
    X = load("regions").X
    other = X.copy()
    other[:, 2:4] += 1  # tests of the other two regions
    same = (chances_of_regions(other) == chances_of_regions(X)).all(axis=1)
    first = X[:, 0] < 1 / 3
    assert same[first].all()
    assert not same[~first].any()


def test_the_sign_tells_the_family_and_the_family_which_tests_to_buy():
    data = load("families")
    family = data.X[:, :4].argmax(axis=1)
    assert np.mean(family == data.y // 3) > 0.85
    fine = data.X[np.arange(len(data.y)), 8 + data.y // 3]
    assert np.corrcoef(fine, data.y % 3)[0, 1] > 0.9


def test_three_neighbours_in_the_block_of_the_context_are_the_bits_of_the_class():
    data = load("cube_nm3")
    block, rows = data.X[:, 0].round().astype(int), np.arange(len(data.y))
    bits = [data.X[rows, 1 + 10 * block + data.y + bit] for bit in range(3)]
    read = sum((value > 0.5) << bit for bit, value in enumerate(bits))
    assert np.mean(read == data.y) > 0.8


def test_costs_of_synthetic15_follow_importance():
    costs = load("synthetic15", seed=3).costs
    assert (costs.costs >= 1).all()
    assert np.array_equal(costs.costs, np.round(costs.costs))
    assert 70 <= costs.total <= 130  # importances add up to 1, each is off by 1 or rounding
