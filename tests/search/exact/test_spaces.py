"""Spaces of designs: bits of every subset and bounds on larger ones, by definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute import (
    ALIKE,
    BROKEN,
    FREE_AND_EXPENSIVE,
    Instance,
    every_design,
    supersets,
    unpack,
)

from emsco.designs.space import DesignSpace
from emsco.search.exact.spaces import SingleThresholdSpace, totals

instances = st.builds(
    Instance.random,
    n_features=st.integers(1, 5),
    max_stages=st.just(1),
    n_rows=st.sampled_from([1, 7, 64, 65, 130]),
    density=st.sampled_from([0.0, 0.02, 0.1, 0.5, 1.0]),
    costs=st.sampled_from([FREE_AND_EXPENSIVE, ALIKE, BROKEN]),
    seed=st.integers(0, 1000),
)
on_instances = settings(deadline=None, derandomize=True, max_examples=25)


def cost_of(instance, subset):
    return sum(cost for i, cost in enumerate(instance.costs) if subset >> i & 1)


def least_later_cost(instance, subset):
    """Least extra cost of a larger subset that accepts each row; None if none does."""
    least = [None] * instance.n_rows
    for larger in supersets(subset, instance.n_features):
        more = cost_of(instance, larger) - cost_of(instance, subset)
        for row in np.flatnonzero(instance.accepts[larger]).tolist():
            if least[row] is None or more < least[row]:
                least[row] = more
    return least


class TestBounds:
    @on_instances
    @given(instances)
    def test_reach_is_what_some_larger_subset_accepts(self, instance):
        reach = unpack(instance.landscape().arrays.reach, instance.n_rows)
        for subset in range(len(reach)):
            later = [instance.accepts[s] for s in supersets(subset, instance.n_features)]
            assert reach[subset].tolist() == np.any([0 * reach[0], *later], axis=0).tolist()

    @on_instances
    @given(instances)
    def test_doomed_rows_end_up_accepted_and_are_right_in_no_larger_subset(self, instance):
        doomed = unpack(instance.landscape().arrays.doomed, instance.n_rows)
        for subset in range(len(doomed) - 1):
            later = [instance.correct[s] for s in supersets(subset, instance.n_features)]
            expected = instance.accepts[-1] & ~np.any(later, axis=0)
            assert doomed[subset].tolist() == expected.tolist()

    @on_instances
    @given(instances)
    def test_levels_never_say_more_than_a_row_must_pay(self, instance):
        space = instance.landscape().arrays
        expensive = unpack(space.expensive, instance.n_rows)
        assert (space.rises > 0).all()
        for subset in range(len(expensive)):
            said = space.rises @ expensive[subset]
            for row, least in enumerate(least_later_cost(instance, subset)):
                assert least is None or said[row] <= float(least) + 1e-12

    @on_instances
    @given(instances)
    def test_a_row_is_dear_at_every_level_that_it_must_pay(self, instance):
        space = instance.landscape().arrays
        expensive = unpack(space.expensive, instance.n_rows)
        levels = np.cumsum(space.rises) + instance.landscape().slack
        for subset in range(len(expensive)):
            for row, least in enumerate(least_later_cost(instance, subset)):
                must = least is not None and levels <= float(least)
                assert (expensive[subset, :, row] >= must).all()

    def test_levels_tell_rows_apart(self):
        instance = Instance.random(5, 1, 130, 0.05, (1, 2, 4, 8, 16))
        expensive = unpack(instance.landscape().arrays.expensive, 130)
        counts = expensive.sum(axis=(0, 2)).tolist()
        assert 3 <= len(counts) <= 6
        assert counts == sorted(set(counts), reverse=True)
        assert counts[-1] > 0

    @pytest.mark.parametrize("block", [1, 2**6, 2**9])
    def test_levels_that_are_found_block_by_block_are_bounds_too(self, monkeypatch, block):
        instance = Instance.random(5, 1, 130, 0.05, (1, 2, 4, 8, 16))
        monkeypatch.setattr("emsco.search.exact.spaces._BLOCK", block)
        space = instance.landscape().arrays
        expensive = unpack(space.expensive, 130)
        assert expensive[..., 128:].any()
        for subset in range(32):
            said = space.rises @ expensive[subset]
            least = least_later_cost(instance, subset)
            assert all(least[i] is None or said[i] <= least[i] for i in range(130))

    @pytest.mark.parametrize("density", [0.0, 1.0])
    def test_bounds_of_the_full_set_are_empty(self, density):
        space = Instance.random(4, 2, 70, density).landscape().arrays
        assert not space.reach[-1].any()
        assert not space.expensive[-1].any()


class TestSubsets:
    @on_instances
    @given(instances)
    def test_a_subset_errs_on_rows_that_it_accepts_and_gets_wrong(self, instance):
        errs = unpack(instance.landscape().arrays.errs, instance.n_rows)
        assert (errs == (instance.accepts & ~instance.correct)).all()

    @pytest.mark.parametrize("holed", [(), (0,), (1, 3), (0, 1, 2, 3, 4)])
    def test_a_stage_is_kept_from_rows_with_a_gap_in_a_feature_that_it_buys(self, holed):
        missing = np.zeros((5, 70), dtype=bool)
        missing[list(holed)] = np.random.default_rng(0).random((len(holed), 70)) < 0.3
        landscape = replace(Instance.random(5, 2, 70, 0.5), missing=missing).landscape()
        kept_from = unpack(landscape.kept_from(np.arange(32)), 70)
        for bought in range(32):
            features = [i for i in range(5) if bought >> i & 1]
            assert kept_from[bought].tolist() == missing[features].any(axis=0).tolist()

    @pytest.mark.parametrize("costs", [FREE_AND_EXPENSIVE, BROKEN], ids=["whole", "broken"])
    def test_a_subset_costs_what_its_features_cost(self, costs):
        instance = Instance.random(5, 2, 3, 0.5, costs)
        expected = [float(cost_of(instance, subset)) for subset in range(32)]
        np.testing.assert_allclose(instance.landscape().arrays.cost, expected, rtol=1e-14)

    def test_totals_sum_over_the_features_of_each_subset(self):
        assert totals(np.array([1, 10, 100])).tolist() == [0, 1, 10, 11, 100, 101, 110, 111]


class TestNumbers:
    @pytest.mark.parametrize("max_stages", [1, 2, 3, 4])
    def test_chromosome_numbers_sort_as_chromosomes_and_lead_back_to_them(self, max_stages):
        landscape = Instance.random(4, max_stages, 3, 0.5).landscape()
        designs = np.array(sorted(every_design(4, max_stages)))
        codes = designs @ landscape.digits
        assert (np.diff(codes) > 0).all()
        assert landscape.designs_of(codes).tolist() == designs.tolist()

    @pytest.mark.thorough
    def test_many_features_in_few_stages_overflow_nothing(self):
        bits = np.zeros((2**19, 1), dtype=np.uint64)
        landscape = SingleThresholdSpace(
            bits, bits, np.ones(19, dtype=np.int64), 3, DesignSpace(19, 2)
        )
        assert landscape.arrays.ways.max() == 2**19 - 1

    def test_ways_count_designs_of_what_is_left(self):
        ways = Instance.random(5, 3, 3, 0.5).landscape().arrays.ways
        for n_left in range(1, 6):
            for n_stages in range(1, 4):
                assert ways[n_left, n_stages] == len(every_design(n_left, n_stages))

    @pytest.mark.parametrize(("n_features", "max_stages"), [(1, 1), (4, 2), (5, 5)])
    def test_the_space_is_as_large_as_the_formula_says(self, n_features, max_stages):
        landscape = Instance.random(n_features, max_stages, 3, 0.5).landscape()
        assert landscape.design_space.size == DesignSpace(n_features, max_stages).size
        assert landscape.design_space.size == len(every_design(n_features, max_stages))
