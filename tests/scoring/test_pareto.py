"""Dominance, ranks and fitness, compared with plain twins in fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.scoring.pareto import (
    Ranking,
    accuracy_ranks,
    balanced_accuracy_ranks,
    balanced_scores,
    best_balanced_first,
    exact_objectives,
    fittest_of,
    front_mask,
    pareto_levels,
    simplest_first,
    tie_groups,
)
from emsco.scoring.scores import Scores

N_ROWS = 12
LARGEST = 2**31 - 1

fractions = st.integers(0, LARGEST).flatmap(
    lambda accepted: st.tuples(st.integers(0, accepted), st.just(accepted))
)
counts = st.tuples(st.integers(0, N_ROWS), st.integers(0, N_ROWS), st.integers(0, 8)).map(
    lambda drawn: (drawn[0], min(drawn[1], drawn[0]), drawn[2])
)
populations = st.lists(counts, min_size=1, max_size=25)
paid_populations = st.lists(
    counts.map(lambda drawn: (*drawn[:2], drawn[2] + 1)), min_size=2, max_size=25
)


def scores_of(rows, n_rows=N_ROWS, per_one=1) -> Scores:
    """Scores of designs of one stage, from (accepted, correct, spent)."""
    accepted, correct, spent = (np.array(column) for column in zip(*rows, strict=True))
    return Scores(n_rows, accepted[:, None], correct[:, None], spent, per_one)


def rank_of(rows, designs=None, smallest_cost=1.0, **options) -> Ranking:
    if designs is None:
        designs = np.zeros((len(rows), 1), dtype=np.int16)
    return Ranking.from_scores(
        np.array(designs, dtype=np.int16), scores_of(rows), smallest_cost, **options
    )


def plain_objectives(rows) -> list[tuple[int, Fraction, int]]:
    return [
        (accepted, Fraction(correct_exits, accepted or 1), -spent)
        for accepted, correct_exits, spent in rows
    ]


def plain_levels(points) -> list[int]:
    """Peel off the non-dominated designs, again and again."""
    level, left, depth = [0] * len(points), set(range(len(points))), 0
    while left:
        front = {i for i in left if not any(dominates(points[j], points[i]) for j in left)}
        for i in front:
            level[i] = depth
        left, depth = left - front, depth + 1
    return level


def dominates(one, other) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


# Accuracy


@settings(deadline=None, derandomize=True, max_examples=200)
@given(fractions, fractions)
def test_accuracy_ranks_compare_exactly_as_the_fractions(one, other):
    keys = accuracy_ranks(*np.array([one, other], dtype=np.int64).T).tolist()
    exact = [Fraction(correct, accepted or 1) for correct, accepted in (one, other)]
    assert (keys[0] < keys[1], keys[0] == keys[1]) == (exact[0] < exact[1], exact[0] == exact[1])


def test_the_closest_fractions_of_the_largest_counts_get_different_ranks():
    accepted = np.array([LARGEST, LARGEST - 1, LARGEST - 2])
    keys = accuracy_ranks(accepted - 1, accepted)
    assert (accepted - 1)[0] / accepted[0] == pytest.approx((accepted - 1)[2] / accepted[2])
    assert keys[0] > keys[1] > keys[2]


def test_nothing_accepted_counts_as_accuracy_0():
    assert accuracy_ranks(np.array([0, 0]), np.array([0, 5])).tolist() == [0, 0]
    assert scores_of([(0, 0, 1)]).accuracy.tolist() == [0.0]


# Levels


@settings(deadline=None, derandomize=True, max_examples=150)
@given(populations)
def test_levels_agree_with_the_plain_twin(rows):
    assert pareto_levels(scores_of(rows)).tolist() == plain_levels(plain_objectives(rows))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(populations)
def test_exact_objectives_order_every_column_as_the_fractions(rows):
    exact = plain_objectives(rows)
    for column, values in enumerate(exact_objectives(scores_of(rows)).T.tolist()):
        plain = [point[column] for point in exact]
        order = [[(a > b) - (a < b) for b in values] for a in values]
        assert order == [[(a > b) - (a < b) for b in plain] for a in plain]


def test_equal_accuracies_of_different_counts_do_not_decide_dominance():
    assert pareto_levels(scores_of([(6, 4, 5), (3, 2, 5), (3, 2, 4)])).tolist() == [0, 1, 0]


def test_whole_costs_one_unit_apart_differ_however_large():
    rows = [(5, 5, 2**61), (5, 5, 2**61 + 1)]
    assert pareto_levels(scores_of(rows)).tolist() == [0, 1]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize(("apart", "level"), [(0.5e-9, 0), (2e-9, 1)], ids=["tie", "differ"])
def test_float_costs_tie_within_a_relative_billionth(scale, apart, level):
    rows = [(5, 5, scale), (5, 5, scale * (1 + apart))]
    assert pareto_levels(scores_of(rows)).tolist() == [0, level]


def test_float_costs_of_0_tie_only_with_each_other():
    assert pareto_levels(scores_of([(5, 5, 0.0), (5, 5, 1e-30), (5, 5, 0.0)])).tolist() == [0, 1, 0]


# Fronts and ties


@settings(deadline=None, derandomize=True, max_examples=150)
@given(populations)
def test_the_front_is_what_nothing_dominates_ties_included(rows):
    plain = [level == 0 for level in plain_levels(plain_objectives(rows))]
    assert front_mask(scores_of(rows)).tolist() == plain


@settings(deadline=None, derandomize=True, max_examples=150)
@given(populations)
def test_designs_share_a_tie_group_exactly_where_their_objectives_are_equal(rows):
    points = plain_objectives(rows)
    same = [[one == other for other in points] for one in points]
    group = tie_groups(scores_of(rows))
    assert (group[:, None] == group).tolist() == same


def test_float_costs_within_a_relative_billionth_share_a_tie_group():
    rows = [(5, 5, 0.1 + 0.2 + 0.3), (5, 5, 0.3 + 0.2 + 0.1), (5, 5, 0.7)]
    group = tie_groups(scores_of(rows)).tolist()
    assert group[0] == group[1] != group[2]
    assert front_mask(scores_of(rows)).tolist() == [True, True, False]


@pytest.mark.parametrize("n_features", [3, 40])  # numbers of chromosomes, and their ranks
def test_simple_designs_have_fewer_stages_then_the_smaller_chromosome(n_features):
    designs = np.random.default_rng(1).integers(0, 3, size=(60, n_features)).astype(np.int16)
    order = simplest_first(designs)
    plain = sorted(designs.tolist(), key=lambda design: (max(design), design))
    assert designs[order].tolist() == plain


def test_a_balanced_score_is_the_length_of_coverage_accuracy_and_cost_saved():
    scores = scores_of([(12, 12, 0), (6, 3, 24), (0, 0, 48)], per_one=2)
    assert balanced_scores(scores, 2.0).tolist() == pytest.approx(
        [3**0.5, (0.5**2 + 0.5**2 + 0.5**2) ** 0.5, 0.0]
    )


def test_the_best_balanced_design_comes_first_and_equal_ones_by_simplicity():
    designs = np.array([[0, 2, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0]], dtype=np.int16)
    rows = [(12, 12, 3), (12, 6, 3), (6, 3, 3), (6, 6, 3)]  # 1 and 3 are equal but for rounding
    assert best_balanced_first(designs, scores_of(rows), 1.0).tolist() == [0, 3, 1, 2]


# Fitness: the paper's Property 2


@settings(deadline=None, derandomize=True, max_examples=150)
@given(populations)
def test_a_better_level_always_has_the_higher_fitness(rows):
    ranking = rank_of(rows)
    fitness, level = ranking.log_fitness, ranking.level
    for one in range(len(rows)):
        worse = level > level[one]
        assert (fitness[one] > fitness[worse]).all()


@settings(deadline=None, derandomize=True, max_examples=150)
@given(populations)
def test_within_a_level_fitness_grows_with_the_aggregate(rows):
    ranking = rank_of(rows)
    for level in range(ranking.level.max() + 1):
        members = np.flatnonzero(ranking.level == level)
        by_aggregate = members[np.argsort(ranking.aggregate[members])]
        assert (np.diff(ranking.log_fitness[by_aggregate]) >= 0).all()
        apart = np.diff(ranking.aggregate[by_aggregate]) > 1e-9
        assert (np.diff(ranking.log_fitness[by_aggregate])[apart] > 0).all()


@settings(deadline=None, derandomize=True, max_examples=100)
@given(paid_populations, st.sampled_from([0.01, 0.5]))
def test_fitness_is_that_of_the_formula(rows, epsilon):
    lowest = min(spent for _, _, spent in rows)
    length = [
        (a / N_ROWS) ** 2 + (c / max(a, 1)) ** 2 + (lowest / spent) ** 2 for a, c, spent in rows
    ]
    aggregate = np.sqrt(length)
    base = aggregate.max() / aggregate.min() + epsilon
    level = np.array(plain_levels(plain_objectives(rows)))
    fitness = base ** (level.max() - level).astype(float) * aggregate
    ranking = rank_of(rows, epsilon=epsilon)
    assert np.exp(ranking.log_fitness) == pytest.approx(fitness, rel=1e-10)
    assert ranking.selection_probabilities == pytest.approx(fitness / fitness.sum(), rel=1e-10)


def test_selection_probabilities_sum_to_1():
    shares = rank_of([(12, 11, 4), (6, 6, 1), (1, 0, 9)]).selection_probabilities
    assert shares.sum() == pytest.approx(1.0)
    assert (shares > 0).all()


def test_hundreds_of_levels_do_not_overflow():
    n_levels = 600
    rows = [(12, 6, 1000 + i) for i in range(n_levels - 1)] + [(1, 0, 10**6)]
    ranking = rank_of(rows)
    base = ranking.aggregate.max() / ranking.aggregate.min() + 0.01
    assert (n_levels - 1) * np.log(base) > np.log(np.finfo(float).max)
    assert ranking.order.tolist() == list(range(n_levels))
    assert (np.diff(ranking.log_fitness) < 0).all()
    assert np.isfinite(ranking.selection_probabilities).all()


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.tuples(counts, st.permutations([0, 1, 2])), min_size=1, max_size=25))
def test_the_fittest_of_a_front_is_the_first_of_its_ranking(drawn):
    scores = scores_of([rows for rows, _ in drawn])
    designs = np.array([design for _, design in drawn], dtype=np.int16)
    front = np.flatnonzero(front_mask(scores))
    order = Ranking.from_scores(designs[front], scores[front], 1.0).order
    objectives = (getattr(scores, name)[front] for name in ("coverage", "accuracy", "cost"))
    assert fittest_of(designs[front], *objectives, 1.0) == order[0]


# Inverse cost


def test_inverse_cost_is_relative_to_the_cheapest_design_of_the_population():
    ranking = rank_of([(0, 0, 2), (0, 0, 8)])
    assert ranking.aggregate.tolist() == [1.0, 0.25]


def test_where_a_design_is_free_the_smallest_cost_is_added_to_both_sides():
    rows = [(0, 0, 0), (0, 0, N_ROWS * 10), (0, 0, N_ROWS * 30)]
    ranking = rank_of(rows, smallest_cost=10.0)
    assert ranking.aggregate == pytest.approx([10 / 10, 10 / 20, 10 / 40])


def test_the_smallest_cost_is_in_the_users_unit_not_in_whole_steps():
    scores = scores_of([(0, 0, 0), (0, 0, N_ROWS * 3)], per_one=10)
    ranking = Ranking.from_scores(np.zeros((2, 1), dtype=np.int16), scores, smallest_cost=0.1)
    assert ranking.aggregate == pytest.approx([1.0, 0.1 / 0.4])


# Order


def test_equal_fitness_puts_fewer_stages_first_then_the_smaller_chromosome():
    designs = [[0, 1, 2], [1, 0, 1], [0, 2, 1], [0, 1, 1], [0, 0, 0]]
    ranking = rank_of([(6, 3, 4)] * 5, designs)
    in_order = [designs[i] for i in ranking.order]
    assert in_order == [[0, 0, 0], [0, 1, 1], [1, 0, 1], [0, 1, 2], [0, 2, 1]]


def test_chromosomes_compare_as_numbers_not_as_bytes():
    designs = np.zeros((2, 300), dtype=np.int16)
    designs[0], designs[1] = np.arange(300), np.arange(300)
    designs[0, [1, 2]], designs[1, [1, 256]] = [2, 1], [256, 1]
    assert rank_of([(6, 3, 4)] * 2, designs[::-1]).order.tolist() == [1, 0]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(populations, st.randoms(use_true_random=False))
def test_the_order_is_by_level_aggregate_stage_count_and_chromosome(rows, random):
    designs = [[0, random.randrange(2), random.randrange(2)] for _ in rows]
    ranking = rank_of(rows, designs)
    keys = [
        (ranking.level[i], -ranking.aggregate[i], max(designs[i]), designs[i])
        for i in ranking.order
    ]
    assert keys == sorted(keys)
    assert sorted(ranking.order.tolist()) == list(range(len(rows)))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(populations, st.randoms(use_true_random=False))
def test_distinct_lists_each_chromosome_once_at_its_first_place(rows, random):
    designs = [[0, random.randrange(2), random.randrange(2)] for _ in rows]
    scored = {tuple(design): row for design, row in zip(designs, rows, strict=True)}
    ranking = rank_of([scored[tuple(design)] for design in designs], designs)
    first = {tuple(designs[i]): i for i in reversed(ranking.order.tolist())}
    in_order = [i for i in ranking.order.tolist() if first[tuple(designs[i])] == i]
    assert ranking.distinct.tolist() == in_order


def test_accuracies_of_very_many_rows_are_compared_without_rounding():
    n_rows = 2**31 - 1
    accepted = np.array([[n_rows], [n_rows - 1], [n_rows - 1]])
    correct = np.array([[n_rows - 1], [n_rows - 2], [n_rows - 2]])
    scores = Scores(n_rows, accepted, correct, np.array([5, 5, 5]), 1.0)
    better, worse, same = exact_objectives(scores)[:, 1]
    assert better > worse == same
    assert Fraction(n_rows - 1, n_rows) > Fraction(n_rows - 2, n_rows - 1)


# Cost limits


limited_populations = st.lists(
    st.tuples(counts, st.sampled_from([0.0, 0.0, 0.25, 0.5])), min_size=1, max_size=25
)


def limited_scores(population) -> Scores:
    excess = np.array([beyond for _, beyond in population])
    return replace(scores_of([row for row, _ in population]), excess=excess)


@settings(deadline=None, derandomize=True)
@given(limited_populations)
def test_designs_past_the_limits_come_after_all_within_the_nearest_first(population):
    levels = pareto_levels(limited_scores(population)).tolist()
    within = [i for i, (_, beyond) in enumerate(population) if beyond == 0]
    points = plain_objectives([population[i][0] for i in within])
    assert [levels[i] for i in within] == plain_levels(points)
    last = max((levels[i] for i in within), default=-1)
    steps = sorted({beyond for _, beyond in population if beyond})
    for level, (_, beyond) in zip(levels, population, strict=True):
        assert beyond == 0 or level == last + 1 + steps.index(beyond)


@settings(deadline=None, derandomize=True)
@given(limited_populations)
def test_the_front_is_of_the_designs_that_exceed_the_limits_the_least(population):
    mask = front_mask(limited_scores(population)).tolist()
    least = min(beyond for _, beyond in population)
    nearest = [row for row, beyond in population if beyond == least]
    among = iter(front_mask(scores_of(nearest)).tolist())
    assert mask == [beyond == least and next(among) for _, beyond in population]


def test_no_design_past_a_limit_is_fitter_than_one_within():
    scores = replace(scores_of([(1, 0, 8), (12, 12, 1)]), excess=np.array([0.0, 0.1]))
    ranking = Ranking.from_scores(np.zeros((2, 1), dtype=np.int16), scores, 1.0)
    assert ranking.order.tolist() == [0, 1]
    assert ranking.log_fitness[0] > ranking.log_fitness[1]


def test_stages_that_cost_more_than_everything_save_nothing_in_the_balanced_score():
    scores = scores_of([(6, 6, 60), (6, 6, 12 * N_ROWS)])
    assert balanced_scores(scores, 5.0).tolist() == pytest.approx(
        [np.sqrt(0.25 + 1), np.sqrt(0.25 + 1)]
    )


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


def test_a_design_with_more_of_a_rare_class_is_not_dominated_by_one_with_more_rows_correct():
    scores = scores_by_class(np.array([[90, 10], [90, 10]]), np.array([[90, 0], [70, 8]]))
    assert front_mask(scores).tolist() == [False, True]
    plain = Scores(1000, scores.exits, scores.correct_exits, scores.spent)
    assert front_mask(plain).tolist() == [True, False]
