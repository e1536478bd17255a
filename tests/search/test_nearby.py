"""Subsets near to those in use, compared with a loop over all pairs of subsets."""

from __future__ import annotations

import numpy as np
import pytest

from emsco.designs.chromosomes import stages_of, with_levels
from emsco.designs.space import DesignSpace
from emsco.search.evolution import NearbySubsets

N_FEATURES = 5
USED = np.array([[0, 1, 1, 1, 1], [1, 0, 0, 1, 1], [0, 0, 1, 2, 2]], dtype=np.int16)


def numbers_of(designs):
    """Numbers of the subsets of designs, stage by stage."""
    return {
        sum(1 << i for i, at in enumerate(design) if 0 <= at <= stage)
        for design in stages_of(designs).tolist()
        for stage in range(max(design) + 1)
    }


def nearby(allow_exclusion=False, first=None, noted=USED):
    found = NearbySubsets(DesignSpace(N_FEATURES, 3, allow_exclusion, first))
    found.note(noted)
    return found


def worth(subset, used):
    """A fifth for each feature in which a used subset differs; all or nothing does not count."""
    return sum(
        0.2 ** (subset ^ other).bit_count() for other in used if 0 < other < 2**N_FEATURES - 1
    )


def test_subsets_come_in_the_order_of_their_distance_to_those_in_use():
    found = nearby().nearest(USED, 100).tolist()
    used = numbers_of(USED)
    others = [subset for subset in range(1, 32) if subset not in used]
    assert sorted(found) == others
    worths = [round(worth(subset, used), 9) for subset in found]
    assert worths == sorted(worths, reverse=True)
    assert len(set(worths)) > 3


def test_one_feature_away_from_the_only_subset_in_use_comes_before_two():
    used = np.array([[0, 0, 1, 1, 1]], dtype=np.int16)
    distances = [(one ^ 3).bit_count() for one in nearby(noted=used).nearest(used, 99).tolist()]
    assert distances == sorted(distances)


@pytest.mark.parametrize("n_subsets", [0, 1, 7])
def test_no_more_than_are_wanted_are_proposed(n_subsets):
    assert len(nearby().propose(USED, n_subsets)) == n_subsets


def test_a_proposal_buys_the_subset_first_and_the_rest_second_or_never():
    numbers = nearby().nearest(USED, 9).tolist()
    for allow_exclusion, rest in ((False, 1), (True, -1)):
        designs = nearby(allow_exclusion).propose(USED, 9)
        assert designs.dtype == np.int16
        wanted = [[0 if n >> i & 1 else rest for i in range(N_FEATURES)] for n in numbers]
        assert designs.tolist() == wanted


@pytest.mark.parametrize("first", [None, 0, 4])
def test_known_subsets_are_never_proposed_and_all_are_in_the_end(first):
    start = np.array([[0, 1, 1, 1, 0]], dtype=np.int16)
    search, proposed = nearby(allow_exclusion=True, first=first, noted=start), []
    while len(designs := search.propose(start, 4)):
        new = numbers_of(designs)
        assert not new & set(proposed)
        proposed += new
        search.note(designs)
    every = [n for n in range(1, 32) if first is None or n >> first & 1]
    assert sorted({*proposed, *numbers_of(start)}) == every
    assert search.n_known == len(every)


def test_every_proposal_buys_the_feature_that_comes_first():
    designs = nearby(first=2).propose(USED, 99)
    assert (designs[:, 2] == 0).all()
    assert len(designs) == 15 - sum(n >> 2 & 1 for n in numbers_of(USED) - {31})


def test_subsets_are_counted_once_whatever_their_levels():
    plain, leveled = nearby(), nearby()
    leveled.note(with_levels(USED, np.array([[3, 1, 2]] * 3)))
    assert plain.n_known == leveled.n_known == len(numbers_of(USED))
    assert plain.nearest(USED, 50).tolist() == leveled.nearest(USED, 50).tolist()


def test_three_of_five_subsets_are_proposed_at_most():
    assert nearby().most == round(0.6 * 31)
    assert nearby(first=1).most == round(0.6 * 16)
