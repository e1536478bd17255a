"""Dominance, ties and orders of designs, compared with plain twins in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.dominance import (
    N_ROWS,
    chains,
    plain_levels,
    points_of,
    rows_of_designs,
    scores_of,
    signs,
)

from emsco.scoring.pareto import (
    accuracy_ranks,
    balanced_scores,
    best_balanced_first,
    exact_objectives,
    front_mask,
    knee_of,
    tie_groups,
)
from emsco.scoring.scores import Counts

LARGEST = 2**31 - 1
SHARES = st.tuples(st.integers(0, LARGEST), st.integers(0, LARGEST)).map(sorted)
FEW = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)


@given(
    st.one_of(
        st.lists(st.lists(SHARES, min_size=1, max_size=1), min_size=1, max_size=5),
        st.lists(st.lists(FEW, min_size=3, max_size=3), min_size=1, max_size=40),
    )
)
@example([[(0, 0)], [(0, 1)], [(1, 1)], [(1, 2)]])
@example([[(1, 10), (2, 10), (3, 10)], [(3, 10), (2, 10), (1, 10)], [(0, 10), (1, 10), (5, 10)]])
# 1 / a + 1 / b of these differ by less than a float can show.
@example([[(1, LARGEST), (1, LARGEST - 18)], [(1, LARGEST - 1), (1, LARGEST - 17)]])
def test_ranks_of_accuracies_are_those_of_exact_means(drawn):
    correct, accepted = np.moveaxis(np.array(drawn, dtype=np.int64), 2, 0)
    exact = [sum(Fraction(int(c), int(a) or 1) for c, a in line) for line in drawn]
    order = sorted({*exact})
    assert accuracy_ranks(correct, accepted).tolist() == [order.index(one) for one in exact]


@pytest.mark.parametrize("n_rows", [1000, LARGEST])
def test_the_closest_accuracies_are_told_apart_and_equal_ones_are_not(n_rows):
    accepted = n_rows - np.array([[0], [1], [1], [2]])
    scores = Counts(n_rows, accepted, accepted - 1, np.full(4, 5))
    best, middle, same, worst = exact_objectives(scores)[:, 1]
    assert best > middle == same > worst


POPULATIONS = st.lists(
    st.tuples(rows_of_designs, st.sampled_from([0.0, 0.0, 0.25, 0.5])), min_size=1, max_size=25
)


@given(POPULATIONS)
def test_ties_and_fronts_are_those_of_exact_objectives_among_designs_nearest_to_the_limits(drawn):
    rows, beyond = map(list, zip(*drawn, strict=True))
    scores, points = scores_of(rows, beyond=beyond), points_of(rows)
    groups = tie_groups(scores)
    assert (groups[:, None] == groups).tolist() == [[a == b for b in points] for a in points]
    for values, plain in zip(exact_objectives(scores).T, zip(*points, strict=True), strict=True):
        assert signs(values.tolist()) == signs(plain)
    nearest = [i for i, one in enumerate(beyond) if one == min(beyond)]
    levels = plain_levels([points[i] for i in nearest])
    best = [i for i, level in zip(nearest, levels, strict=True) if not level]
    assert np.flatnonzero(front_mask(scores)).tolist() == best


@pytest.mark.parametrize(
    ("costs", "differ"),
    [
        ((2**61, 2**61 + 1), True),  # whole numbers differ however large
        ((1e-12, 1e-12 * (1 + 0.5e-9)), False),  # floats tie within a relative billionth
        ((1e12, 1e12 * (1 + 0.5e-9)), False),
        ((1e12, 1e12 * (1 + 2e-9)), True),
        ((0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1), False),
        ((0.0, 1e-30), True),
        ((0.0, 0.0), False),
    ],
)
def test_costs_tie_that_differ_by_rounding_alone(costs, differ):
    scores = scores_of([(5, 5, cost) for cost in costs])
    assert front_mask(scores).tolist() == [True, not differ]
    assert len({*tie_groups(scores).tolist()}) == 1 + differ


def test_the_best_balanced_design_comes_first_and_equal_ones_by_simplicity():
    designs = chains([[0, 2, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0]])
    rows = [(12, 12, 3), (12, 6, 3), (6, 3, 3), (6, 6, 3)]  # 1 and 3 are equal but for rounding
    assert best_balanced_first(designs, scores_of(rows), 1.0).tolist() == [0, 3, 1, 2]
    scores = scores_of([(12, 12, 0), (6, 3, 24), (0, 0, 48), (6, 6, 300)], per_one=2)
    # Stages that cost more than everything save nothing.
    lengths = 3**0.5, (0.5**2 + 0.5**2 + 0.5**2) ** 0.5, 0.0, (0.5**2 + 1) ** 0.5
    assert balanced_scores(scores, 2.0).tolist() == pytest.approx(lengths)


def test_the_knee_is_nearest_to_the_best_of_all_that_differs():
    coverage, accuracy = np.array([1.0, 0.9, 0.5]), np.array([0.8, 0.8, 0.8])
    assert knee_of(coverage, accuracy, np.array([10.0, 2.0, 1.0])) == 1
    assert knee_of(coverage, accuracy, np.array([3.0, 2.9, 2.8])) == 1
    assert knee_of(coverage, accuracy, np.ones(3)) == 0
    assert knee_of(coverage[:1], accuracy[:1], np.zeros(1)) == 0


def test_designs_are_behind_one_by_errors_of_its_coverage_and_accuracy():
    scores = scores_of([(12, 12, 1), (6, 3, 1), (9, 9, 1)])
    # Where no row differs, one could have: the variance of a share is 1 / 12 then.
    assert scores.errors_behind(scores[[0]]).tolist() == pytest.approx([0, 0.5 * 12, 0.25 * 12])
    error = (0.75 * 0.25 / N_ROWS) ** 0.5
    assert scores.errors_behind(scores[[2]])[[0, 2]].tolist() == [0, 0]
    assert scores.errors_behind(scores[[2]])[1] == pytest.approx(max(0.25 / error, 0.5 * 9))


def test_scores_keep_all_columns_when_they_are_cut_and_joined():
    by_class = np.array([[[9, 3], [9, 1]], [[8, 0], [8, 0]], [[5, 5], [4, 5]]])
    exits, correct = by_class.sum(axis=2).T[:, :, None]
    given = np.ones(3), 1, np.array([0, 0.5, 0]), by_class, exits - 1
    scores = Counts(20, exits, correct, *given)
    assert scores.accuracy.tolist() == pytest.approx([2 / 3, 1 / 2, 9 / 10])
    parts = [scores[np.array([2])], scores[np.array([True, True, False])]]
    joined, order = Counts.concatenate(parts), [2, 0, 1]
    assert joined.metric == "balanced_accuracy" != Counts(20, exits, correct, np.ones(3)).metric
    for name in ("exits", "correct_exits", "spent", "excess", "by_class", "rejected_exits"):
        assert getattr(joined, name).tolist() == getattr(scores, name)[order].tolist()
    assert joined.feasible.tolist() == [True, True, False]
