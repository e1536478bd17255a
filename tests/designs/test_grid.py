"""The grid of thresholds: which there are, and which designs hold them."""

from __future__ import annotations

import numpy as np
import pytest

from emsco.designs.grid import ThresholdGrid, auto_min_confidence
from emsco.designs.population import Designs

CLASSES = np.array(["ill", "well", "worn"])
TWO = CLASSES[:2]


def test_auto_is_halfway_from_the_share_of_each_class_to_certainty_and_never_there():
    thresholds = auto_min_confidence(np.array([10.0, 30.0, 60.0]), CLASSES)
    assert thresholds == {"ill": 0.55, "well": 0.65, "worn": 0.8}
    assert auto_min_confidence(np.array([1.0, 10**9]), TWO) == {"ill": 0.5, "well": 0.999}


def test_the_last_stage_has_a_level_of_its_own_where_its_threshold_differs():
    early, last = np.array([0.7, 0.8]), np.array([0.0, 0.5])
    for same in (ThresholdGrid.single(early), ThresholdGrid.single(early, early)):
        assert same.is_single
        assert same.last == same.early == (0,)
    two = ThresholdGrid.single(early, last)
    early[:] = 0.1
    assert two.thresholds.tolist() == [[0.7, 0.8], [0.0, 0.5]]
    assert (two.early, two.last, two.searched_levels) == ((0,), (1,), ())
    with pytest.raises(ValueError, match="read-only"):
        two.thresholds[0, 0] = 0.5


# Searched grids


def searched(*shares, n_rows=100, **settings):
    """The grid, and the thresholds of its early levels."""
    grid = ThresholdGrid.searched(np.array(shares, dtype=float), n_rows, **settings)
    return grid, grid.thresholds[list(grid.early)]


@pytest.mark.parametrize("shares", [[1, 1], [1, 30], [1, 10**6], [2, 3, 5], [1] * 40])
@pytest.mark.parametrize("n_rows", [50, 5000])
@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("last", [None, 0.0, 0.6])
def test_searched_thresholds_are_distinct_confidences(shares, n_rows, metric, last):
    own = None if last is None else np.full(len(shares), last)
    grid, early = searched(*shares, n_rows=n_rows, last=own, metric=metric)
    assert grid.n_levels <= 32
    assert len(np.unique(early, axis=0)) == len(early) > 1
    assert ((early > 0) & (early < 1)).all()
    # The first level of the last stage is that of buying everything at once.
    assert (grid.thresholds[grid.last[0]] == (last or 0.0)).all()
    assert grid.everything_answers_all == (last != 0.6)
    assert grid.may_answer_all == (last is None)
    assert sorted(grid.last) == ([*range(grid.n_levels)] if last is None else [len(early)])


def test_thresholds_of_equal_classes_halve_the_doubt_and_the_last_may_ask_for_little():
    grid, _ = searched(50, 50)
    halvings = [1, 0.125, 0.25, 0.5, 1.5, 2, 3, 4, 5, 6]
    early = [round(1 - 0.5 * 0.5**often, 3) for often in halvings]
    slight = [round(1 - 0.5 * 0.5 ** (0.02 * 50 ** (i / 12)), 3) for i in range(12)]
    assert grid.thresholds.tolist() == [[least] * 2 for least in [*early, 0.0, *slight]]
    assert [len(searched(50, 50, n_rows=n)[0].early) for n in (1999, 2000)] == [10, 14]


def test_unequal_classes_have_thresholds_by_share_unless_everyone_is_labelled():
    early = searched(10, 90)[1].tolist()
    assert early[0] == [0.55, 0.95]  # a half of the doubt that the share leaves
    assert [0.938, 0.938] in early
    assert len(early) == 5 + 10 + 5
    _, alike = searched(10, 90, last=np.zeros(2))
    assert np.array_equal(alike[:, 0], alike[:, 1])
    _, balanced = searched(1, 4, 5, metric="balanced_accuracy")
    assert balanced[0].tolist() == [0.55, 0.7, 0.75]


def test_where_most_rows_are_of_one_class_early_thresholds_lie_just_above_its_share():
    even, mild, common = (
        searched(share, 1 - share, last=np.zeros(2))[1] for share in (0.5, 0.26, 0.1)
    )
    assert mild.tolist() == even.tolist()
    steps = np.array([0.0625, 0.125, 0.25, 0.5, 1])
    assert common[len(even) :, 0].tolist() == (1 - 0.1 * 0.5**steps).round(3).tolist()


def test_with_stakes_a_level_halves_the_expected_cost_of_an_error():
    _, early = searched(1, 1, stakes=np.array([500.0, 20.0]))
    assert early[[0, 5]].tolist() == [[0.964, 0.671], [0.988, 0.805]]


# Levels of designs

STAGES = np.array([[0, 1, 2], [0, 0, -1], [1, 0, 0]], dtype=np.int16)
GRID = ThresholdGrid(np.array([[0.7, 0.7], [0.6, 0.9], [0.0, 0.0]]), (0, 1), (2, 0, 1))


def test_a_design_has_the_first_level_of_each_kind_until_it_has_others():
    designs = GRID.complete(STAGES)
    assert designs.levels.tolist() == [[0, 0, 2], [2, 0, 0], [0, 2, 0]]
    assert designs.stages.tolist() == STAGES.tolist()
    assert GRID.complete(STAGES, 1).levels.tolist() == [[1, 1, 2], [2, 0, 0], [1, 2, 0]]


def test_designs_that_answer_everyone_have_the_level_that_says_so_and_its_threshold():
    designs = Designs.of(STAGES, [[1, 0, 1], [1, 0, 0], [0, 1, 0]])
    which = np.array([True, True, False])
    assert GRID.answering(designs, which).levels.tolist() == [[1, 0, 2], [2, 0, 0], [0, 1, 0]]
    assert ThresholdGrid(GRID.thresholds, (0,), (0, 2)).answering(designs, which) is designs
    assert GRID.of_levels(np.array([1, 0, 2]), TWO) == ({"ill": 0.6, "well": 0.9}, 0.7, 0.0)
