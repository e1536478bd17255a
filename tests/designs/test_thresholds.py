"""Confidence thresholds: one for all classes, or one for each."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.brute import every_design

from emsco.designs.chromosomes import compress, levels_of, stages_of, with_levels
from emsco.designs.design import Design
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import (
    ThresholdGrid,
    auto_min_confidence,
    by_class,
    by_label,
    check_min_confidence,
    inherit_levels,
)

CLASSES = np.array(["ill", "well", "worn"])


def test_one_number_holds_for_every_class():
    assert by_class(check_min_confidence(0.8, CLASSES), CLASSES).tolist() == [0.8, 0.8, 0.8]


def test_a_number_for_each_is_put_into_the_order_of_the_classes():
    given = {"worn": 0.3, "ill": 0.9, "well": 1}
    assert by_class(check_min_confidence(given, CLASSES), CLASSES).tolist() == [0.9, 1.0, 0.3]


def test_auto_is_halfway_from_the_share_of_each_class_to_certainty():
    thresholds = auto_min_confidence(np.array([10.0, 30.0, 60.0]), CLASSES)
    assert thresholds == {"ill": 0.55, "well": 0.65, "worn": 0.8}
    assert by_class(thresholds, CLASSES).tolist() == [0.55, 0.65, 0.8]


def test_auto_stays_below_certainty_even_for_next_to_all_rows():
    thresholds = auto_min_confidence(np.array([1.0, 10**9]), CLASSES[:2])
    assert thresholds == {"ill": 0.5, "well": 0.999}


# Designs whose stages have thresholds of their own


NAMES = ("age", "scan", "sex")
BY_CLASS = {"ill": 0.55, "well": 0.95}
LABELS = np.array(["ill", "well"])
PLAIN = Design([0, 1, 0], NAMES)


@pytest.mark.parametrize("given", [(0.9, 0.75), [0.9, 0.75], np.array([0.9, 0.75])])
def test_thresholds_become_a_tuple_of_floats(given):
    thresholds = PLAIN.with_thresholds(given).thresholds
    assert thresholds == (0.9, 0.75)
    assert all(type(one) is float for one in thresholds)
    assert Design([0, 1, 0], NAMES, given).thresholds == thresholds


def test_a_design_without_thresholds_leaves_them_to_the_cascade():
    assert PLAIN.thresholds is None
    assert PLAIN.with_thresholds((0.9, 0.8)).with_thresholds(None) == PLAIN
    assert PLAIN.thresholds_or(0.7) == (0.7, 0.7)
    assert PLAIN.thresholds_of_stages(BY_CLASS, LABELS).tolist() == [[0.55, 0.95]] * 2


def test_thresholds_come_before_the_confidence_of_the_cascade():
    design = PLAIN.with_thresholds((0.9, {"well": 0.95, "ill": 0}))
    assert design.thresholds_of_stages(0.7, LABELS).tolist() == [[0.9, 0.9], [0, 0.95]]


def test_designs_with_other_thresholds_are_other_designs():
    thresholds = [None, (0.9, 0.75), (0.9, 0), (0.9, BY_CLASS), (BY_CLASS, 0.9)]
    designs = [PLAIN.with_thresholds(one) for one in thresholds]
    again = [PLAIN.with_thresholds(one) for one in thresholds]
    assert designs == again
    assert [*map(hash, designs)] == [*map(hash, again)]
    assert len({*designs, *again}) == len(thresholds)


def test_an_array_of_a_design_stays_its_chromosome():
    assert np.asarray(PLAIN.with_thresholds((0.9, 0.75))).tolist() == [0, 1, 0]


# The grid of thresholds: which there are, which designs hold them, and how they are inherited


TWO, THREE = np.array(["ill", "well"]), np.array(["a", "b", "c"])
FOUR_LEVELS = ThresholdGrid(np.linspace(0.6, 0.9, 4)[:, None] * np.ones(2), (0, 1, 2), (1, 3))


def stages(*designs):
    return np.array(designs, dtype=np.int16)


# Kinds of grids


def test_one_threshold_for_all_stages_is_one_level():
    grid = ThresholdGrid.single(np.array([0.7, 0.8]))
    assert grid.thresholds.tolist() == [[0.7, 0.8]]
    assert (grid.early, grid.last) == ((0,), (0,))
    assert grid.is_single
    assert not grid.answers_all


def test_the_last_stage_has_a_level_of_its_own_only_if_its_threshold_differs():
    early = np.array([0.7, 0.8])
    assert ThresholdGrid.single(early, early.copy()).is_single
    grid = ThresholdGrid.single(early, np.array([0.7, 0.6]))
    assert grid.thresholds.tolist() == [[0.7, 0.8], [0.7, 0.6]]
    assert (grid.early, grid.last, grid.is_single) == ((0,), (1,), False)


@pytest.mark.parametrize(("last", "answers"), [([0, 0], True), ([0, 0.5], False), (None, False)])
def test_a_grid_answers_all_where_every_last_level_labels_everyone(last, answers):
    last = None if last is None else np.array(last, dtype=float)
    assert ThresholdGrid.single(np.array([0.7, 0.8]), last).answers_all is answers


def test_thresholds_are_copied_and_locked():
    early = np.full((2, 2), 0.7)
    grid = ThresholdGrid(early)
    early[:] = 0.1
    assert grid.thresholds.tolist() == [[0.7, 0.7]] * 2
    with pytest.raises(ValueError, match="read-only"):
        grid.thresholds[0, 0] = 0.5


@pytest.mark.parametrize(
    ("last", "below", "always"),
    [(None, None, False), ([0.0, 0.0], None, True), ([0.6, 0.6], 0.6, False)],
)
def test_plain_values_name_the_parameters_and_say_all_of_a_grid(last, below, always):
    early = np.array([0.7, 0.8])
    grid = ThresholdGrid.single(early, None if last is None else np.array(last))
    levels = [[0.7, 0.8]] if last is None else [[0.7, 0.8], last]
    assert grid.to_dict(TWO) == {
        "min_confidence": {"'ill'": 0.7, "'well'": 0.8},
        "reject_below": below,
        "always_answer": always,
        "thresholds": [levels, [0], [len(levels) - 1]],
    }
    last = None if last is None else np.array(last)
    searched = ThresholdGrid.searched(np.ones(2), 100, last).to_dict(TWO)
    assert searched["min_confidence"] == "auto"
    assert (searched["reject_below"], searched["always_answer"]) == (below, always)


# Searched grids


def test_equal_classes_have_thresholds_that_halve_the_doubt_and_the_last_may_label_all():
    grid = ThresholdGrid.searched(np.array([50, 50]), n_rows=100)
    halvings = [1, 0.125, 0.25, 0.5, 1.5, 2, 3, 4, 5, 6]
    early = [round(1 - 0.5 * 0.5**often, 3) for often in halvings]
    slight = [round(1 - 0.5 * 0.5 ** (0.02 * 50 ** (i / 12)), 3) for i in range(12)]
    assert grid.thresholds.tolist() == [[least] * 2 for least in [*early, 0.0, *slight]]
    assert grid.early == tuple(range(10))
    assert sorted(grid.last) == [*range(10 + 1 + 12)]
    assert not grid.thresholds[grid.last[0]].any()  # everyone is answered if all is bought at once


def test_slight_thresholds_reach_up_to_the_share_of_the_commonest_class():
    for share in (0.6, 0.9, 0.99, 1 - 1e-9):
        grid = ThresholdGrid.searched(np.array([1 - share, share]), n_rows=100)
        slight = grid.thresholds[[level for level in grid.last if level not in grid.early]]
        assert slight[:, 0].tolist() == slight[:, 1].tolist()
        assert slight[0, 0] == 0.0
        assert slight[1, 0] < 0.51
        assert np.all(np.diff(slight[:, 0]) > 0)
        assert 0.7 * min(share, 0.984) < slight[-1, 0] < max(share, 0.75)


def test_whoever_must_answer_all_has_no_slight_thresholds():
    grid = ThresholdGrid.searched(np.array([50, 50]), n_rows=100, last=np.zeros(2))
    assert grid.last == (10,)
    assert grid.n_levels == 11


def test_many_rows_have_a_finer_grid():
    few = ThresholdGrid.searched(np.array([50, 50]), n_rows=1999)
    many = ThresholdGrid.searched(np.array([50, 50]), n_rows=2000)
    assert (len(few.early), len(many.early)) == (10, 14)
    assert few.thresholds[0].tolist() == many.thresholds[0].tolist() == [0.75, 0.75]


def test_unequal_classes_have_thresholds_of_both_kinds_each_once():
    grid = ThresholdGrid.searched(np.array([10, 90]), n_rows=100)
    early = grid.thresholds[list(grid.early)].tolist()
    assert early[0] == [0.55, 0.95]  # a half of the doubt that the share leaves
    assert [0.938, 0.938] in early
    assert len(early) == len({tuple(one) for one in early}) == 5 + 10 + 5


@pytest.mark.parametrize("last", [np.zeros(2), np.full(2, 0.6)])
def test_a_last_threshold_of_its_own_is_the_only_one_of_last_stages(last):
    grid = ThresholdGrid.searched(np.array([10, 90]), 100, last)
    assert grid.thresholds[list(grid.last)].tolist() == [last.tolist()]
    assert grid.last[0] not in grid.early


def test_where_everyone_is_labelled_one_kind_of_thresholds_suffices():
    grid = ThresholdGrid.searched(np.array([10, 90]), 100, np.zeros(2))
    early = grid.thresholds[list(grid.early)]
    assert np.array_equal(early[:, 0], early[:, 1])


def test_where_most_rows_are_of_one_class_early_thresholds_lie_just_above_its_share():
    def searched(common):
        shares = np.array([1 - common, common])
        return ThresholdGrid.searched(shares, 100, np.zeros(2))

    mild, common = searched(0.74), searched(0.9)
    assert len(mild.early) == 10
    assert mild.thresholds.tolist() == searched(0.5).thresholds.tolist()
    added = common.thresholds[list(common.early[10:]), 0]
    steps = np.array([0.0625, 0.125, 0.25, 0.5, 1])
    assert added.tolist() == (1 - 0.1 * 0.5**steps).round(3).tolist()


def test_balanced_accuracy_has_thresholds_by_the_shares_of_the_classes():
    grid = ThresholdGrid.searched(np.array([1, 4, 5]), 100, metric="balanced_accuracy")
    share = np.array([0.1, 0.4, 0.5])
    assert grid.thresholds[0].tolist() == (1 - (1 - share) / 2).round(3).tolist()
    assert len(grid.early) == 10


@pytest.mark.parametrize("shares", [[1, 1], [1, 30], [1, 10**6], [2, 3, 5], [1] * 40])
@pytest.mark.parametrize("n_rows", [50, 5000])
@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("answers_all", [False, True])
def test_searched_thresholds_are_distinct_confidences_and_fit_into_genes(
    shares, n_rows, metric, answers_all
):
    last = np.zeros(len(shares)) if answers_all else None
    class_shares = np.array(shares, dtype=float)
    grid = ThresholdGrid.searched(class_shares, n_rows, last, metric)
    early = grid.thresholds[list(grid.early)]
    assert grid.n_levels <= 32
    assert len(np.unique(early, axis=0)) == len(early) > 1
    assert ((early > 0) & (early < 1)).all()


# Levels of designs


@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("first", [None, 1])
@pytest.mark.parametrize("max_stages", [1, 2, 3])
def test_the_space_has_as_many_designs_as_enumeration(max_stages, allow_exclusion, first):
    space = DesignSpace(3, max_stages, allow_exclusion, first, n_early=3, n_last=2)
    plain = every_design(3, max_stages, allow_exclusion, first)
    listed = {
        tuple(with_levels(stages(design), np.array([levels]))[0].tolist())
        for design in plain
        for levels in product(*[FOUR_LEVELS.early] * max(design), FOUR_LEVELS.last)
    }
    assert space.size == len(listed)
    genes = np.array(sorted(listed), dtype=np.int16)
    assert space.holds(genes).all()
    assert FOUR_LEVELS.holds(genes)


def test_a_design_has_the_first_level_of_each_kind_until_it_has_others():
    genes = FOUR_LEVELS.complete(stages([0, 1, 2], [0, 0, -1], [1, 0, 0]))
    assert levels_of(genes, 3).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert stages_of(genes).tolist() == [[0, 1, 2], [0, 0, -1], [1, 0, 0]]
    assert FOUR_LEVELS.holds(genes)


def test_with_one_threshold_designs_stay_as_they_are():
    given, grid = stages([0, 1, 2], [0, 0, -1]), ThresholdGrid.single(np.full(2, 0.7))
    assert grid.complete(given) is given
    assert inherit_levels(given, given, grid) is given
    assert grid.holds(given)


@pytest.mark.parametrize(
    ("levels", "held"),
    [([0, 1], True), ([2, 3], True), ([3, 1], False), ([1, 0], False), ([1, 4], False)],
)
def test_a_grid_holds_designs_whose_stages_have_levels_they_may_have(levels, held):
    assert FOUR_LEVELS.holds(with_levels(stages([0, 1, -1]), np.array([levels]))) is held


def test_levels_past_the_last_stage_of_a_design_do_not_count():
    both = with_levels(stages([0, 0], [0, 1]), np.array([[3, 0], [2, 3]]))
    assert FOUR_LEVELS.holds(both)
    assert FOUR_LEVELS.holds(both[:0])


def test_the_thresholds_of_a_design_are_those_of_its_levels():
    grid = ThresholdGrid(np.array([[0.7, 0.7], [0.6, 0.9], [0.0, 0.0]]), (0, 1), (2,))
    design = with_levels(stages([0, 1, 2, -1]), np.array([[1, 0, 2]]))[0]
    assert grid.of_design(design, TWO) == ({"ill": 0.6, "well": 0.9}, 0.7, 0.0)


def test_thresholds_are_one_number_where_all_classes_share_it():
    assert by_label(np.array([0.7, 0.7, 0.7]), THREE) == 0.7
    assert by_label(np.array([0.7, 0.8, 0.7]), THREE) == {"a": 0.7, "b": 0.8, "c": 0.7}


# Inheritance


def plain_inheritance(design, parent, parent_levels):
    """Levels of a child, stage by stage."""
    n_stages, n_before = max(design) + 1, max(parent) + 1
    before = parent_levels[: n_before - 1]  # of the stages before the parent's last
    early = [
        (before[i] if i < len(before) else before[-1]) if before else FOUR_LEVELS.early[0]
        for i in range(n_stages - 1)
    ]
    return [*early, parent_levels[n_before - 1]]


@pytest.mark.parametrize("seed", range(5))
def test_children_inherit_the_levels_at_their_place_and_that_of_the_last(seed):
    rng = np.random.default_rng(seed)
    children, parents = (compress(rng.integers(0, 4, size=(30, 5))) for _ in range(2))
    n_before = parents.max(axis=1) + 1
    levels = rng.integers(0, 3, size=(30, 4))
    levels[np.arange(30), n_before - 1] = rng.choice([1, 3], size=30)
    genes = inherit_levels(children, with_levels(parents, levels), FOUR_LEVELS)
    assert stages_of(genes).tolist() == children.tolist()
    assert FOUR_LEVELS.holds(genes)
    for i in range(30):
        inherited = levels_of(genes[i : i + 1], 4)[0, : children[i].max() + 1].tolist()
        assert inherited == plain_inheritance(children[i], parents[i], levels[i].tolist())


def test_one_parent_may_serve_all_children():
    children = compress(np.random.default_rng(0).integers(0, 4, size=(20, 5)))
    parent = with_levels(stages([0, 1, 2, 0, 0]), np.array([[2, 1, 3]]))
    alone = inherit_levels(children, parent, FOUR_LEVELS)
    together = inherit_levels(children, np.tile(parent, (20, 1)), FOUR_LEVELS)
    assert alone.tolist() == together.tolist()
