"""Dominance, ranks and fitness, compared with plain twins in fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from emsco.designs.population import Designs
from emsco.scoring.pareto import (
    Ranking,
    accuracy_ranks,
    balanced_accuracy_ranks,
    balanced_scores,
    best_balanced_first,
    exact_objectives,
    fittest_of,
    front_mask,
    knee_of,
    pareto_levels,
    simplest_first,
    tie_groups,
)
from emsco.scoring.scores import Scores

N_ROWS, LARGEST = 12, 2**31 - 1

fractions = st.integers(0, LARGEST).flatmap(
    lambda accepted: st.tuples(st.integers(0, accepted), st.just(accepted))
)
rows_of_designs = st.tuples(st.integers(0, N_ROWS), st.integers(0, N_ROWS), st.integers(0, 8)).map(
    lambda drawn: (drawn[0], min(drawn[1], drawn[0]), drawn[2])
)
populations = st.lists(rows_of_designs, min_size=1, max_size=25)


def chains(stages):
    return Designs.of(np.array(stages, dtype=np.int16))


def scores_of(rows, n_rows=N_ROWS, per_one=1):
    """Scores of designs of one stage, from (accepted, correct, spent)."""
    accepted, correct, spent = (np.array(column) for column in zip(*rows, strict=True))
    return Scores(n_rows, accepted[:, None], correct[:, None], spent, per_one)


def rank_of(rows, stages=None, smallest_cost=1.0, **options):
    designs = chains([[0]] * len(rows) if stages is None else stages)
    return Ranking.from_scores(designs, scores_of(rows), smallest_cost, **options)


def points_of(rows):
    return [
        (accepted, Fraction(correct, accepted or 1), -spent) for accepted, correct, spent in rows
    ]


def plain_levels(points):
    levels = {}
    for one in sorted({*points}, reverse=True):  # what dominates a point comes before it
        levels[one] = max((levels[o] + 1 for o in levels if dominates(o, one)), default=0)
    return [levels[one] for one in points]


def dominates(one, other):
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def signs(values):
    return [[(a > b) - (a < b) for b in values] for a in values]


# Dominance


@given(st.lists(fractions, min_size=2, max_size=5))
@example([(0, 0), (0, 1), (1, 1), (1, 2)])
def test_accuracy_ranks_compare_exactly_as_the_fractions(drawn):
    correct, accepted = np.array(drawn, dtype=np.int64).T
    exact = [Fraction(c, a or 1) for c, a in drawn]
    assert signs(accuracy_ranks(correct, accepted).tolist()) == signs(exact)


@pytest.mark.parametrize("n_rows", [1000, LARGEST])
def test_the_closest_accuracies_are_told_apart_and_equal_ones_are_not(n_rows):
    accepted = np.array([n_rows, n_rows - 1, n_rows - 1, n_rows - 2])[:, None]
    scores = Scores(n_rows, accepted, accepted - 1, np.full(4, 5))
    best, middle, same, worst = exact_objectives(scores)[:, 1]
    assert best > middle == same > worst


@given(populations)
def test_levels_fronts_and_ties_are_those_of_exact_objectives(rows):
    scores, points = scores_of(rows), points_of(rows)
    levels = plain_levels(points)
    assert pareto_levels(scores).tolist() == levels
    assert front_mask(scores).tolist() == [level == 0 for level in levels]
    groups = tie_groups(scores)
    assert (groups[:, None] == groups).tolist() == [[a == b for b in points] for a in points]
    for values, plain in zip(exact_objectives(scores).T, zip(*points, strict=True), strict=True):
        assert signs(values.tolist()) == signs(plain)


@pytest.mark.parametrize(
    ("costs", "level"),
    [
        ((2**61, 2**61 + 1), 1),  # whole numbers differ however large
        ((1e-12, 1e-12 * (1 + 0.5e-9)), 0),  # floats tie within a relative billionth
        ((1e12, 1e12 * (1 + 0.5e-9)), 0),
        ((1e12, 1e12 * (1 + 2e-9)), 1),
        ((0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1), 0),
        ((0.0, 1e-30), 1),
        ((0.0, 0.0), 0),
    ],
)
def test_costs_tie_that_differ_by_rounding_alone(costs, level):
    scores = scores_of([(5, 5, cost) for cost in costs])
    assert pareto_levels(scores).tolist() == [0, level]
    assert (len(set(tie_groups(scores).tolist())), front_mask(scores).sum()) == (
        level + 1,
        2 - level,
    )


limited_populations = st.lists(
    st.tuples(rows_of_designs, st.sampled_from([0.0, 0.0, 0.25, 0.5])), min_size=1, max_size=25
)


@given(limited_populations)
def test_designs_past_the_limits_come_after_all_within_the_nearest_first(population):
    rows, beyond = map(list, zip(*population, strict=True))
    scores = replace(scores_of(rows), excess=np.array(beyond))
    levels, points = pareto_levels(scores).tolist(), points_of(rows)
    within = [i for i, one in enumerate(beyond) if one == 0]
    assert [levels[i] for i in within] == plain_levels([points[i] for i in within])
    last = max((levels[i] for i in within), default=-1)
    steps = sorted({*beyond} - {0})
    assert all(one == 0 or levels[i] == last + 1 + steps.index(one) for i, one in enumerate(beyond))
    nearest = [i for i, one in enumerate(beyond) if one == min(beyond)]
    best = [
        i for i, n in zip(nearest, plain_levels([points[i] for i in nearest]), strict=True) if not n
    ]
    assert np.flatnonzero(front_mask(scores)).tolist() == best
    ranking = Ranking.from_scores(chains([[0]] * len(rows)), scores, 1.0)
    assert (np.diff(ranking.level[ranking.order]) >= 0).all()


# Simplicity and balance


@pytest.mark.parametrize("n_features", [3, 40])  # numbers of chromosomes, and their ranks
def test_simple_designs_have_fewer_stages_then_the_smaller_chromosome(n_features):
    stages = np.random.default_rng(1).integers(0, 3, size=(60, n_features))
    order = simplest_first(chains(stages))
    assert stages[order].tolist() == sorted(stages.tolist(), key=lambda one: (max(one), one))


def test_a_balanced_score_is_the_length_of_coverage_accuracy_and_cost_saved():
    scores = scores_of([(12, 12, 0), (6, 3, 24), (0, 0, 48), (6, 6, 300)], per_one=2)
    # Stages that cost more than everything save nothing.
    lengths = 3**0.5, (0.5**2 + 0.5**2 + 0.5**2) ** 0.5, 0.0, (0.5**2 + 1) ** 0.5
    assert balanced_scores(scores, 2.0).tolist() == pytest.approx(lengths)


def test_the_best_balanced_design_comes_first_and_equal_ones_by_simplicity():
    designs = chains([[0, 2, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0]])
    rows = [(12, 12, 3), (12, 6, 3), (6, 3, 3), (6, 6, 3)]  # 1 and 3 are equal but for rounding
    assert best_balanced_first(designs, scores_of(rows), 1.0).tolist() == [0, 3, 1, 2]


def test_the_knee_is_nearest_to_the_best_of_all_that_differs():
    coverage, accuracy = np.array([1.0, 0.9, 0.5]), np.array([0.8, 0.8, 0.8])
    assert knee_of(coverage, accuracy, np.array([10.0, 2.0, 1.0])) == 1
    assert knee_of(coverage, accuracy, np.array([3.0, 2.9, 2.8])) == 1
    assert knee_of(coverage, accuracy, np.ones(3)) == 0
    assert knee_of(coverage[:1], accuracy[:1], np.zeros(1)) == 0


# Fitness: the paper's Property 2


@given(
    st.lists(st.tuples(rows_of_designs, st.permutations([0, 1, 2])), min_size=1, max_size=25),
    st.sampled_from([0.01, 0.5]),
)
def test_fitness_is_that_of_the_formula_and_decides_the_order(drawn, epsilon):
    rows, stages = map(list, zip(*drawn, strict=True))
    ranking = rank_of(rows, stages, 2.0, epsilon=epsilon)
    lowest = min(spent for _, _, spent in rows)
    shift = 2 * N_ROWS if lowest == 0 else 0  # beside a design that is free
    aggregate = np.array(
        [
            ((a / N_ROWS) ** 2 + (c / max(a, 1)) ** 2 + ((lowest + shift) / (s + shift)) ** 2)
            ** 0.5
            for a, c, s in rows
        ]
    )
    level = np.array(plain_levels(points_of(rows)))
    base = aggregate.max() / aggregate.min() + epsilon
    fitness = base ** (level.max() - level).astype(float) * aggregate
    assert np.exp(ranking.log_fitness) == pytest.approx(fitness, rel=1e-10)
    assert ranking.selection_probabilities == pytest.approx(fitness / fitness.sum(), rel=1e-10)
    for one in range(len(rows)):
        assert (ranking.log_fitness[one] > ranking.log_fitness[level > level[one]]).all()
    rounded = np.round(ranking.aggregate, 12)
    keys = [(level[i], -rounded[i], max(stages[i]), stages[i], i) for i in ranking.order]
    assert keys == sorted(keys)
    first = {tuple(stages[i]): i for i in reversed(ranking.order.tolist())}
    if len({*zip(rows, map(tuple, stages), strict=True)}) == len(first):  # a design has one score
        assert {*ranking.distinct.tolist()} == {*first.values()}
    front = np.flatnonzero(level == 0)
    figures = (getattr(scores_of(rows), name)[front] for name in ("coverage", "accuracy", "cost"))
    alone = rank_of([rows[i] for i in front], np.array(stages)[front], 2.0)
    assert fittest_of(chains(np.array(stages)[front]), *figures, 2.0) == alone.order[0]


def test_hundreds_of_levels_do_not_overflow():
    n_levels = 600
    rows = [(12, 6, 1000 + i) for i in range(n_levels - 1)] + [(1, 0, 10**6)]
    ranking = rank_of(rows)
    base = ranking.aggregate.max() / ranking.aggregate.min() + 0.01
    assert (n_levels - 1) * np.log(base) > np.log(np.finfo(float).max)
    assert ranking.order.tolist() == list(range(n_levels))
    assert np.isfinite(ranking.selection_probabilities).all()


def test_designs_are_behind_one_by_errors_of_its_coverage_and_accuracy():
    scores = scores_of([(12, 12, 1), (6, 3, 1), (9, 9, 1)])
    # Where no row differs, one could have: the variance of a share is 1 / 12 then.
    assert scores.errors_behind(scores[[0]]).tolist() == pytest.approx([0, 0.5 * 12, 0.25 * 12])
    error = (0.75 * 0.25 / 12) ** 0.5
    assert scores.errors_behind(scores[[2]])[[0, 2]].tolist() == [0, 0]
    assert scores.errors_behind(scores[[2]])[1] == pytest.approx(max(0.25 / error, 0.5 * 9))


# Balanced accuracy


def scores_by_class(accepted, correct, spent=None):
    """Scores whose designs have these rows of each class."""
    by_class = np.stack([accepted, correct], axis=1)
    exits, correct_exits = by_class.sum(axis=2).T
    spent = np.ones(len(exits), dtype=np.int64) if spent is None else spent
    return Scores(1000, exits[:, None], correct_exits[:, None], spent, by_class=by_class)


def test_scores_keep_their_classes_when_they_are_cut_and_joined():
    scores = scores_by_class(np.array([[9, 3], [8, 0], [5, 5]]), np.array([[9, 1], [8, 0], [4, 5]]))
    assert scores.accuracy.tolist() == pytest.approx([2 / 3, 1 / 2, 9 / 10])
    parts = [scores[np.array([2])], scores[np.array([True, True, False])]]
    joined = Scores.concatenate(parts)
    assert joined.by_class.tolist() == scores.by_class[[2, 0, 1]].tolist()
    assert joined.metric == scores[np.array([0])].metric == "balanced_accuracy"


CLASS_COUNTS = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)


@given(st.lists(st.lists(CLASS_COUNTS, min_size=3, max_size=3), min_size=1, max_size=40))
def test_ranks_are_those_of_exact_means(drawn):
    correct, accepted = np.moveaxis(np.array(drawn), 2, 0)
    exact = [sum(Fraction(c, a or 1) for c, a in line) for line in drawn]
    order = sorted(set(exact))
    assert balanced_accuracy_ranks(correct, accepted).tolist() == [order.index(e) for e in exact]


def test_means_nearer_than_rounding_are_told_apart():
    # 1/a + 1/b of these differ by less than the 53 bits of a float can show.
    a, b = 2**31 - 1, 2**31 - 19
    accepted = np.array([[a, b], [a - 1, b + 1]])
    ranks = balanced_accuracy_ranks(accepted // 2, accepted)
    exact = [sum(Fraction(int(one) // 2, int(one)) for one in line) for line in accepted]
    assert sorted(ranks.tolist()) == [0, 1]
    assert (ranks[0] < ranks[1]) == (exact[0] < exact[1])


def test_equal_means_of_other_shares_tie_though_floats_differ():
    accepted = np.full((3, 3), 10)
    correct = np.array([[1, 2, 3], [3, 2, 1], [0, 1, 5]])  # 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1
    scores = scores_by_class(accepted, correct)
    assert len(set(scores.accuracy.tolist())) > 1
    assert tie_groups(scores).tolist() == [0, 0, 0]
    assert front_mask(scores).all()
