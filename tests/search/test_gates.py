"""Gates: ways to put bins into parts, questions about them, and what the parts gain."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emsco.search.gates import FEWEST_ROWS, Bins, PricedSubsets

GATE = np.array([True, False, False, False])


def priced(n_rows=1200, pays=True, seed=0):
    """Three subsets that hold a free gate, of which one is right in each third of the rows."""
    rng = np.random.default_rng(seed)
    third = rng.integers(0, 3, size=n_rows)
    correct = rng.random((4, n_rows)) < 0.6
    if pays:
        correct[1:] |= third == np.arange(3)[:, None]
    subsets = np.concatenate([np.ones((4, 1)), np.eye(4, 3, -1)], axis=1).astype(bool)
    made = PricedSubsets(
        subsets=subsets,
        costs=np.array([0.01, 0.1, 0.1, 0.1]),
        correct=correct,
        weights=rng.uniform(0.5, 1.5, size=n_rows),
        half=rng.random(n_rows) < 0.5,
        n_rows=n_rows,
    )
    return made, third


def wards(of_row, n=3):
    return Bins(of_row, "ward", None, tuple("abcdefghi")[:n])


def labels(of_row, n=3):
    return Bins(of_row, None, None, tuple("abcdefghi")[:n])


class TestBins:
    @given(st.integers(1, 6), st.integers(2, 4))
    def test_parts_of_numbers_are_all_runs_of_bins(self, n_bins, max_ways):
        bins = Bins(np.arange(n_bins), "age", np.arange(n_bins - 1.0))
        ways = [[list(part) for part in way] for way in bins.ways(max_ways)]
        assert all([one for part in way for one in part] == [*range(n_bins)] for way in ways)
        marks = {tuple(len(part) for part in way) for way in ways}
        runs = (one for n in range(2, max_ways + 1) for one in product(range(1, 7), repeat=n))
        assert len(ways) == len(marks)
        assert marks == {one for one in runs if sum(one) == n_bins}

    def test_parts_of_categories_are_single_ones_and_the_rest(self):
        bins = wards(np.array([0, 1, 2]), 2)  # and a bin of all others
        assert list(bins.ways(2)) == [[[0], [1, 2]], [[1], [0, 2]]]
        assert list(bins.ways(4))[2:] == [[[0], [1], [2]]]

    def test_questions_lead_to_the_parts(self):
        bins = Bins(np.array([0, 1, 2]), "age", np.array([1.0, 2.0]))
        assert [str(one) for one in bins.questions([[0], [1], [2]])] == ["age ≤ 1", "age ≤ 2"]
        assert [str(one) for one in wards(np.arange(3)).questions([[1], [0, 2]])] == ["ward is b"]


def plain_gain(made, parts, of_row):
    """What the parts gain over one subset for all; chosen on a half, measured on the other."""
    total = 0.0
    for price, here in product(made.prices, (True, False)):
        worth = made.weights * (made.correct - price * made.costs[:, None])
        for part, sign in (*((part, 1) for part in parts), (np.unique(of_row[of_row >= 0]), -1)):
            is_in = np.isin(of_row, part)
            best = worth[:, is_in & (made.half == here)].sum(axis=1).argmax()
            total += sign * worth[best, is_in & (made.half != here)].sum()
    return total / (made.weights[of_row >= 0].sum() * len(made.prices))


class TestGate:
    @pytest.mark.parametrize("seed", range(3))
    def test_gains_what_plain_sums_say(self, seed):
        made, third = priced(seed=seed)
        third[:20] = -1
        for bins, parts in ((wards(third), [[0], [1], [2]]), (labels(third), [[0], [1], [2]])):
            gate = made.gate(bins, GATE, 4)
            assert len(gate.questions) == 2
            assert gate.gain == pytest.approx(plain_gain(made, parts, third), rel=1e-4)

    def test_is_the_best_of_all_ways(self):
        made, third = priced(seed=4)
        bins = Bins(2 * third + np.arange(len(third)) % 2, "age", np.arange(5.0))
        gains = {way: plain_gain(made, way, bins.of_row) for way in two_parts(6)}
        best = max(gains, key=gains.get)
        gate = made.gate(bins, GATE, 2)
        assert gate.questions == bins.questions(best)
        assert gate.gain == pytest.approx(gains[best], rel=1e-4)

    def test_finds_groups_of_classes(self):
        made, third = priced()
        guesses = 3 * np.random.default_rng(1).integers(0, 3, size=len(third)) + third
        gate = made.gate(labels(guesses, 9), GATE, 4)
        groups = {one.among for one in gate.questions}
        assert len(groups & {tuple("adg"), tuple("beh"), tuple("cfi")}) == 2

    @pytest.mark.parametrize("seed", range(3))
    def test_noise_promises_nothing(self, seed):
        made, third = priced(pays=False, seed=seed)
        assert made.gate(wards(third), GATE, 4) is None
        assert made.gate(labels(third), GATE, 4) is None

    def test_what_a_chain_does_by_leaving_early_needs_no_branch(self):
        made, third = priced(pays=False)
        made.correct[0] |= third == 0  # the gate knows one class
        made.correct[1] |= third > 0  # and one subset all others
        assert made.gate(wards(third), GATE, 4) is not None
        assert made.gate(labels(third), GATE, 4) is None

    def test_takes_as_many_parts_as_it_may(self):
        made, third = priced()
        assert len(made.gate(wards(third), GATE, 2).questions) == 1

    @pytest.mark.parametrize("make", [wards, labels])
    def test_parts_have_enough_rows(self, make):
        made, third = priced()
        rare = (third == 0) & (np.arange(len(third)) < 2 * FEWEST_ROWS)
        assert rare.sum() < FEWEST_ROWS
        assert made.gate(make(rare.astype(int), 2), GATE, 4) is None

    def test_a_gate_that_no_subset_has_is_none(self):
        made, third = priced()
        assert made.gate(wards(third), ~GATE, 4) is None

    def test_one_bin_has_no_gate(self):
        made, third = priced()
        assert made.gate(Bins(0 * third, "age", np.zeros(0)), GATE, 4) is None
        assert made.gate(Bins(0 * third - 1, "age", np.zeros(0)), GATE, 4) is None


def two_parts(n_bins):
    """The ways to cut bins once."""
    return [(tuple(range(n)), tuple(range(n, n_bins))) for n in range(1, n_bins)]


def test_prices_spend_budgets():
    made, _ = priced(seed=2)
    accuracy = made.correct @ made.weights / made.weights.sum()
    for price in made.prices:
        dear, cheap = (int(np.argmax(accuracy - one * made.costs)) for one in (0, price))
        assert made.costs[cheap] <= made.costs[dear]
    assert (np.diff(made.prices) <= 0).all()  # a larger budget asks less of a cost
