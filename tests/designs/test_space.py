"""The space of designs: its size beside a list of all designs, and numbers that were printed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.brute import every_design

from emsco.designs.space import DesignSpace, default_max_stages


@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5])
def test_a_space_is_as_large_as_the_list_of_its_designs_and_holds_no_others(
    n_features, allow_exclusion
):
    wider = np.array(every_design(n_features, n_features, allow_exclusion=True), dtype=np.int16)
    for max_stages, first in product(range(1, n_features + 2), (None, 0, n_features - 1)):
        shape = n_features, max_stages, allow_exclusion, first
        every = every_design(*shape)
        assert DesignSpace(*shape).size == len(every)
        held = wider[DesignSpace(*shape).holds(wider)]
        assert sorted(map(tuple, held.tolist())) == sorted(every)
        n_leveled = sum(3 ** max(design) * 2 for design in every)
        assert DesignSpace(*shape, n_early=3, n_last=2).size == n_leveled


@pytest.mark.parametrize(("n_features", "size"), [(8, 46_875), (12, 15_199_275), (14, 254_152_083)])
def test_the_size_agrees_with_the_printed_numbers(n_features, size):
    assert DesignSpace(n_features, 4).size == size


def test_the_default_stage_limit_is_half_the_features_halves_up_from_1_to_10():
    features = (1, 2, 3, 4, 5, 18, 19, 20, 21, 500)
    assert [*map(default_max_stages, features)] == [1, 1, 2, 2, 3, 9, 10, 10, 10, 10]
