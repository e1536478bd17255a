"""Gates: columns in bins, questions about them, and what parts of the rows gain by their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emsco.data.columns import ColumnCode
from emsco.fitting import gates
from emsco.fitting.gates import Bins, PricedSubsets, best_gate, round_between

NUMBER, TRUTH = ColumnCode("age"), ColumnCode("smokes", "truth")


def one_hot(codes, n_categories):
    """Inputs of a category: NaN in all of them where the code is -1, 0 where it is unknown."""
    inputs = (codes[:, None] == np.arange(n_categories)).astype(float)
    inputs[codes < 0] = np.nan
    return inputs


class TestBins:
    def test_numbers_are_cut_into_about_equal_bins(self):
        values = np.random.default_rng(0).normal(size=1000)
        values[:50] = np.nan
        bins = Bins.from_column(NUMBER, values[:, None])
        assert (bins.of_row[:50] == -1).all()
        assert bins.n_bins == 9
        assert np.bincount(bins.of_row[50:]).min() > 60
        for k, end in enumerate(bins.ends):
            assert np.array_equal(values[50:] <= end, bins.of_row[50:] <= k)

    def test_cuts_lie_in_wide_gaps_at_round_numbers(self):
        values = np.concatenate([np.linspace(0, 1.07, 500), np.linspace(6.83, 8, 500)])
        assert 4.0 in Bins.from_column(NUMBER, values[:, None]).ends

    def test_rare_categories_share_a_bin_without_a_name(self):
        codes = np.concatenate([np.repeat(np.arange(12), np.arange(2, 14)), [-1]])
        code = ColumnCode("ward", "category", tuple("abcdefghijkl"))
        bins = Bins.from_column(code, one_hot(codes, 12))
        assert bins.names == tuple("lkjihgfe")
        assert bins.n_bins == 9
        assert bins.of_row[codes == 11].tolist() == [0] * 13
        assert (bins.of_row[(codes >= 0) & (codes < 4)] == 8).all()
        assert bins.of_row[-1] == -1

    def test_truth_values_are_two_bins(self):
        values = np.array([1.0, 0.0, np.nan, 1.0])[:, None]
        bins = Bins.from_column(TRUTH, values)
        assert bins.of_row.tolist() == [1, 0, -1, 1]
        (question,) = bins.questions("smokes", [[0], [1]])
        assert question.among == (False,)

    def test_parts_of_numbers_are_runs_of_bins(self):
        bins = Bins(np.array([0, 1, 2]), np.array([1.0, 2.0]))
        assert list(bins.ways(3)) == [[[0], [1, 2]], [[0, 1], [2]], [[0], [1], [2]]]
        questions = bins.questions("age", [[0], [1], [2]])
        assert [str(one) for one in questions] == ["age ≤ 1", "age ≤ 2"]

    def test_parts_of_categories_are_single_ones_and_the_rest(self):
        bins = Bins(np.array([0, 1, 2]), None, ("a", "b"))  # and a bin of all others
        assert list(bins.ways(2)) == [[[0], [1, 2]], [[1], [0, 2]]]
        assert list(bins.ways(4))[2:] == [[[0], [1], [2]]]
        assert [str(one) for one in bins.questions("ward", [[1], [0, 2]])] == ["ward is b"]


class TestRoundBetween:
    @given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e6))
    def test_lies_from_the_lower_end_up_to_the_upper_one(self, low, width):
        if low < low + width:
            assert low <= round_between(low, low + width) < low + width

    @pytest.mark.parametrize(
        ("low", "high", "cut"),
        [(0.12, 0.19, 0.2), (-6.127, -6.083, -6.1), (149.6, 155.2, 150.0), (-0.4, 0.7, 0.0)],
    )
    def test_has_few_digits(self, low, high, cut):
        rounded = round_between(low, high)
        assert len(str(rounded)) <= len(str(cut)) + 1
        assert low <= rounded < high

    def test_whole_numbers_stay_whole(self):
        assert round_between(3.0, 4.0) == 3.0


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


GATE = np.array([True, False, False, False])


class TestBestGate:
    def test_finds_a_planted_category(self):
        made, third = priced()
        gate = best_gate(made, "ward", GATE, Bins(third, None, ("a", "b", "c")), 4)
        assert len(gate.questions) == 2
        assert gate.gain > 5 * gate.error

    def test_finds_planted_cuts_of_a_number(self):
        made, third = priced()
        values = third + np.random.default_rng(1).uniform(0, 0.9, size=len(third))
        bins = Bins.from_column(NUMBER, values[:, None])
        gate = best_gate(made, "age", GATE, bins, 4)
        cuts = [question.at_most for question in gate.questions]
        assert cuts == pytest.approx([0.95, 1.95], abs=0.06)

    def test_finds_planted_groups_of_classes(self):
        made, third = priced()
        guesses = 3 * np.random.default_rng(1).integers(0, 3, size=len(third)) + third
        gate = best_gate(made, None, GATE, Bins(guesses, None, tuple("abcdefghi")), 4)
        groups = {one.among for one in gate.questions}
        assert len(groups & {tuple("adg"), tuple("beh"), tuple("cfi")}) == 2
        assert gate.gain > 5 * gate.error

    def test_classes_that_mean_nothing_promise_nothing(self):
        made, third = priced(pays=False)
        guesses = np.random.default_rng(1).integers(0, 9, size=len(third))
        assert best_gate(made, None, GATE, Bins(guesses, None, tuple("abcdefghi")), 4) is None

    def test_what_a_chain_does_by_leaving_early_needs_no_branch(self):
        made, third = priced(pays=False)
        made.correct[0] |= third == 0  # the gate knows one class
        made.correct[1] |= third > 0  # and one subset all others
        bins = Bins(third, None, ("a", "b", "c"))
        assert best_gate(made, "ward", GATE, bins, 4).gain > 2 * made.n_rows**-0.5
        assert best_gate(made, None, GATE, bins, 4) is None

    def test_takes_as_many_parts_as_it_may(self):
        made, third = priced()
        gate = best_gate(made, "ward", GATE, Bins(third, None, ("a", "b", "c")), 2)
        assert len(gate.questions) == 1

    @pytest.mark.parametrize("seed", range(3))
    def test_noise_promises_nothing(self, seed):
        made, third = priced(pays=False, seed=seed)
        gate = best_gate(made, "ward", GATE, Bins(third, None, ("a", "b", "c")), 4)
        assert gate.gain < gate.error

    def test_parts_of_few_rows_are_none(self):
        made, third = priced()
        rare = (third == 0) & (np.arange(len(third)) < 90)
        assert best_gate(made, "ward", GATE, Bins(rare.astype(int), None, (0, 1)), 4) is None

    def test_a_gate_that_no_subset_has_is_none(self):
        made, third = priced()
        dear = np.array([False, True, True, True])
        assert best_gate(made, "ward", dear, Bins(third, None, ("a", "b", "c")), 4) is None


def plain_values(made, some, bins, parts):
    """What subsets are worth in each part; chosen on one half of the rows, measured on another."""
    known = bins.of_row >= 0
    values = []
    for part in parts:
        value = 0.0
        for price in made.prices:
            for here in (True, False):
                chosen_on, measured_on = [0.0] * len(some), [0.0] * len(some)
                for i in np.flatnonzero(np.isin(bins.of_row, part)):
                    totals = chosen_on if made.half[i] == here else measured_on
                    for k, s in enumerate(some):
                        worth = made.correct[s, i] - price * made.costs[s]
                        totals[k] += made.weights[i] * worth
                value += measured_on[int(np.argmax(chosen_on))]
        values.append(value / (made.weights[known].sum() * len(made.prices)))
    return values


def test_values_of_parts_are_sums_over_their_rows():
    made, third = priced(n_rows=300)
    bins = Bins(np.where(np.arange(300) < 20, -1, third), None, ("a", "b", "c"))
    parts = [[0], [1, 2], [0, 1, 2]]
    some = np.array([0, 1, 3])
    values = gates.PartValues(made, some, bins).of(parts)
    assert values == pytest.approx(plain_values(made, some, bins, parts), rel=1e-4)
