"""Many designs: what is equal, in which order, and what children and forks keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.leveled import grid_of, random_designs

from emsco.designs.chromosomes import subset_words
from emsco.designs.population import Designs
from emsco.errors import ParameterError

DRAWN = st.tuples(st.sampled_from([1, 3, 5, 40]), st.integers(0, 10**6)).map(
    lambda drawn: random_designs(grid_of(), 30, 3, *drawn)
)


def told(designs):
    """Each design as tuples of stages and levels."""
    pairs = zip(designs.stages.tolist(), designs.levels.tolist(), strict=True)
    return [(tuple(stages), tuple(levels)) for stages, levels in pairs]


def by_feature(design):
    """Level and stage of each feature, -1 for both if it is never bought."""
    stages, levels = design
    return [(levels[stage], stage) if stage >= 0 else (-1, -1) for stage in stages]


@given(DRAWN)
def test_levels_after_the_last_stage_do_not_count(designs):
    rows, n_stages = told(designs), [max(stages) + 1 for stages in designs.stages.tolist()]
    assert designs.n_stages.tolist() == n_stages
    past = np.arange(designs.stages.shape[1]) >= designs.n_stages[:, None]
    assert told(Designs.of(designs.stages, np.where(past, 7, designs.levels))) == rows
    assert not Designs.of(designs.stages).levels.any()
    assert np.asarray(designs).tolist() == designs.stages.tolist()
    last = [levels[n - 1] for (_, levels), n in zip(rows, n_stages, strict=True)]
    assert designs.last_levels.tolist() == last
    changed = designs.with_last_level(9)
    assert changed.last_levels.tolist() == [9] * 30
    assert ((changed.levels != designs.levels).sum(axis=1) == 1).all()
    assert designs.subsets().tolist() == subset_words(designs.stages, max(n_stages)).tolist()
    assert designs.level_of_feature.tolist() == [[v for v, _ in by_feature(one)] for one in rows]


@given(DRAWN)
def test_equal_designs_have_equal_keys_and_numbers_and_are_told_once(designs):
    twice = Designs.concatenate([designs[:7], designs, designs[[3, 20]]])
    rows = told(twice)
    for values in (twice.keys.tolist(), twice.chromosomes()[:, None].tolist()):
        places = {tuple(value): row for value, row in zip(values, rows, strict=True)}
        assert [places[tuple(value)] for value in values] == rows
        assert len(places) == len({*rows})
    assert told(twice[twice.distinct()]) == list(dict.fromkeys(rows))


@given(DRAWN)
def test_orders_compare_levels_and_stages_feature_by_feature(designs):
    rows = told(designs)
    assert told(designs.sorted()) == sorted({*rows}, key=by_feature)

    def from_the_last(row):  # never comes last
        return [(*both, 0) if both[1] >= 0 else (99,) for both in reversed(by_feature(row))]

    def as_genes(row):
        levels, stages = zip(*by_feature(row), strict=True)
        return stages, levels

    assert told(designs[designs.order()]) == sorted(rows, key=from_the_last)
    by_number = np.argsort(designs.chromosomes(), kind="stable")
    assert told(designs[by_number]) == sorted(rows, key=as_genes)


def chains(stages, levels):
    return Designs.of(np.array(stages, dtype=np.int16), levels)


def test_children_have_the_levels_of_their_parents_at_the_same_place():
    parents = chains([[0, 1, 2, -1], [0, -1, -1, -1]], [[5, 6, 7], [8, 0, 0]])
    children = np.array([[0, 1, 2, 3], [1, 0, 2, 2]], dtype=np.int16)
    # The last stage gets the parent's last level; what the parent lacks, its latest before that.
    assert parents.pass_on(children, 9).levels.tolist() == [[5, 6, 6, 7], [9, 9, 8, 0]]
    shorter = np.array([[0, 1, -1, -1], [0, 0, 0, 0]], dtype=np.int16)
    assert parents[:1].pass_on(shorter, 9).levels.tolist() == [[5, 7, 0, 0], [7, 0, 0, 0]]


def test_chains_over_blocks_are_chains_over_their_features():
    over = chains([[1, 0], [-1, 0]], [[2, 3]]).over(np.array([1, 0, 0]))
    assert told(over) == [((0, 1, 1), (2, 3, 0)), ((0, -1, -1), (2, 0, 0))]


def test_forks_go_with_their_designs():
    some = chains([[0, 1], [0, 0], [1, 0]], [[0]])
    trees = Designs(some.stages[:2], some.levels[:2], ("one", "two"))
    both = Designs.concatenate([some, trees])
    assert both.forks == (None, None, None, "one", "two")
    assert both.are_chains.tolist() == [True] * 3 + [False] * 2
    assert both[[4, 0]].forks == ("two", None)
    assert both[3:].with_last_level(1).forks == ("one", "two")
    assert Designs.concatenate([some, some[:1]]).forks is None
    assert both[both.are_chains].distinct().tolist() == [0, 1, 2]
    for compare in (Designs.distinct, Designs.sorted):
        with pytest.raises(ParameterError, match="got one that branches"):
            compare(trees)
