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

SEEDS = st.integers(0, 10**6)
FEW = st.sampled_from([1, 3, 5, 40])


def drawn(seed, n_features=3, n=30, max_stages=3):
    return random_designs(grid_of(), n, max_stages, n_features, seed)


def told(designs):
    """Each design as tuples of stages and levels."""
    return [
        (tuple(s), tuple(v))
        for s, v in zip(designs.stages.tolist(), designs.levels.tolist(), strict=True)
    ]


def by_feature(design):
    """Level and stage of each feature, -1 for both if it is never bought."""
    return [
        (levels[stage], stage) if stage >= 0 else (-1, -1)
        for stages, levels in [design]
        for stage in stages
    ]


@given(SEEDS, FEW)
def test_levels_after_the_last_stage_do_not_count(seed, n_features):
    designs = drawn(seed, n_features)
    n_stages = [max(stages) + 1 for stages, _ in told(designs)]
    assert designs.n_stages.tolist() == n_stages
    past = np.where(np.arange(n_features) >= designs.n_stages[:, None], 7, designs.levels)
    assert told(Designs.of(designs.stages, past)) == told(designs)
    assert not Designs.of(designs.stages).levels.any()
    assert np.asarray(designs).tolist() == designs.stages.tolist()
    last = [levels[n - 1] for (_, levels), n in zip(told(designs), n_stages, strict=True)]
    assert designs.last_levels.tolist() == last
    changed = designs.with_last_level(9)
    assert changed.last_levels.tolist() == [9] * 30
    assert told(changed.with_last_level(0)) == told(designs.with_last_level(0))
    assert designs.subsets().tolist() == subset_words(designs.stages, max(n_stages)).tolist()
    assert designs.level_of_feature.tolist() == [
        [v for v, _ in by_feature(one)] for one in told(designs)
    ]


@given(SEEDS, FEW)
def test_equal_designs_have_equal_keys_and_numbers_and_are_told_once(seed, n_features):
    designs = drawn(seed, n_features)
    twice = Designs.concatenate([designs[:7], designs, designs[[3, 20]]])
    rows = told(twice)
    for values in (twice.keys.tolist(), twice.chromosomes()[:, None].tolist()):
        places = {tuple(value): row for value, row in zip(values, rows, strict=True)}
        assert all(places[tuple(v)] == row for v, row in zip(values, rows, strict=True))
        assert len(places) == len({*rows})
    assert told(twice[twice.distinct()]) == list(dict.fromkeys(rows))


@given(SEEDS, FEW)
def test_orders_compare_levels_and_stages_feature_by_feature(seed, n_features):
    designs = drawn(seed, n_features)
    rows = told(designs)
    every = sorted({*rows}, key=by_feature)
    assert told(designs.sorted()) == every

    def from_the_last(row):
        return [
            tuple(one if one >= 0 else 2**15 for one in both) for both in reversed(by_feature(row))
        ]

    assert told(designs[designs.order()]) == sorted(rows, key=from_the_last)

    def as_genes(row):
        return [stage for _, stage in by_feature(row)] + [level for level, _ in by_feature(row)]

    by_number = np.argsort(designs.chromosomes(), kind="stable")
    assert told(designs[by_number]) == sorted(rows, key=as_genes)


def test_children_have_the_levels_of_their_parents_at_the_same_place():
    parents = Designs.of(
        np.array([[0, 1, 2, -1], [0, -1, -1, -1]], np.int16), [[5, 6, 7], [8, 0, 0]]
    )
    children = np.array([[0, 1, 2, 3], [1, 0, 2, 2]], dtype=np.int16)
    # The last stage gets the parent's last level; what the parent lacks, its latest before that.
    assert parents.pass_on(children, 9).levels.tolist() == [[5, 6, 6, 7], [9, 9, 8, 0]]
    shorter = np.array([[0, 1, -1, -1], [0, 0, 0, 0]], dtype=np.int16)
    assert parents[:1].pass_on(shorter, 9).levels.tolist() == [[5, 7, 0, 0], [7, 0, 0, 0]]

    blocks = Designs.of(np.array([[1, 0], [-1, 0]], dtype=np.int16), [[2, 3]])
    features = blocks.over(np.array([1, 0, 0]))
    assert features.stages.tolist() == [[0, 1, 1], [0, -1, -1]]
    assert features.levels.tolist() == [[2, 3, 0], [2, 0, 0]]


def test_forks_go_with_their_designs():
    chains = drawn(0, n=3)
    trees = Designs(chains.stages[:2], chains.levels[:2], ("one", "two"))
    both = Designs.concatenate([chains, trees])
    assert both.forks == (None, None, None, "one", "two")
    assert both[[4, 0]].forks == ("two", None)
    assert both[3:].with_last_level(1).forks == ("one", "two")
    assert Designs.concatenate([chains, chains[:1]]).forks is None
    for compare in (Designs.distinct, Designs.sorted):
        with pytest.raises(ParameterError, match="got one that branches"):
            compare(trees)
