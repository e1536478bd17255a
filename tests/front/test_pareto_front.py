"""Fronts: points, rules, ties and delays."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from support.handmade import make_assessed_front, make_front, make_rows

from emsco import FeatureCosts, NoSuchDesign, ParetoFront
from emsco.app.cli.terminal import front_table
from emsco.designs.population import Designs
from emsco.scoring.scores import Counts

COSTS = FeatureCosts.from_mapping({"age": 1, "scan": 9})


@pytest.fixture
def front():
    """Three trade-offs, the last shared by two designs."""
    designs = np.array([[0, 0], [0, 1], [1, 0], [1, 0]], dtype=np.int16)
    exits = np.array([[90, 0], [60, 20], [50, 10], [50, 10]])
    correct_exits = np.array([[80, 0], [58, 18], [50, 10], [50, 10]])
    spent = np.array([1000, 460, 300, 300])
    scores = Counts(100, exits, correct_exits, spent, 1.0)
    return ParetoFront.from_scores(Designs.of(designs), scores, COSTS, 0.8)


def test_points_carry_objectives_and_counts(front):
    point = front[1]
    assert (point.coverage, point.accuracy, point.cost) == (0.8, 0.95, 4.6)
    assert (point.n_stages, point.exits, point.correct_exits, point.n_rows) == (
        2,
        (60, 20),
        (58, 18),
        100,
    )


def test_ties_count_designs_with_the_same_objectives(front):
    assert [point.n_tied for point in front] == [1, 1, 2, 2]


def test_balanced_is_the_longest_of_the_three_population_free_objectives(front):
    expected = [np.hypot(np.hypot(p.coverage, p.accuracy), 1 - p.cost / 10) for p in front]
    np.testing.assert_allclose(front.balanced_scores(), expected)
    assert front.balanced() is front[int(np.argmax(expected))]


def test_knee_is_nearest_to_the_ideal_after_scaling(front):
    assert front.knee() is front[1]


def test_knee_of_a_single_point_is_that_point(front):
    assert ParetoFront(front.points[:1], COSTS, 0.8).knee() is front[0]


def test_fittest_is_the_longest_with_cost_relative_to_the_cheapest_of_the_front(front):
    lengths = [np.hypot(np.hypot(p.coverage, p.accuracy), 3 / p.cost) for p in front]
    assert front.fittest() is front.prefer("fittest") is front[2]
    assert np.argmax(lengths) == 2  # the one that ties comes after it, as the same design


def test_fittest_counts_the_smallest_cost_where_a_design_is_free():
    designs = np.array([[0, 0], [0, 1]], dtype=np.int16)
    exits = np.array([[0, 0], [0, 60]])
    scores = Counts(100, exits, exits, np.array([0, 100]))
    free = FeatureCosts.from_mapping({"age": 0, "scan": 4})
    front = ParetoFront.from_scores(Designs.of(designs), scores, free, 0.8)
    assert front.fittest() is front[1]  # √(.36 + 1 + .64) beside 1; without a shift √1.36


def test_a_front_that_the_papers_search_has_listed_keeps_its_fittest_first(front):
    assert replace(front, by_fitness=True).prefer("fittest") is front[0]


@pytest.mark.parametrize(
    ("limits", "index"),
    [
        ({"max_cost": 4.6, "min_coverage": 0.61}, 1),
        ({"max_cost": 4.5}, 2),
        ({"min_coverage": 0.85}, 0),
        ({"min_accuracy": 1.0}, 2),
        ({"min_accuracy": 0.9, "min_coverage": 0.7}, 1),
    ],
)
def test_select_takes_the_best_balanced_point_within_the_limits(front, limits, index):
    assert front.select(**limits) is front[index]


def test_a_front_is_a_sequence(front):
    assert len(front) == len(list(front)) == 4
    assert front[1:3] == front.points[1:3]
    assert front[1] in front


def test_a_row_that_is_scored_four_times_is_no_more_evidence_of_overconfidence():
    once = make_assessed_front()[1]  # of 100 rows
    said = {"exits": (400.0, 0.0), "correct_exits": (360.0, 0.0), "exit_confidence": (0.935, 0.0)}
    repeated = replace(once, n_rows=400.0, **said)
    assert repeated.overconfident == ()
    assert replace(repeated, by_class=None).overconfident == (1,)


# Delays

DELAYS = {"scan": 2, "biopsy": 7}  # after 0, 2 and 9; and after 7 and 7


def slow(front):
    return replace(front, costs=front.costs.with_delays(DELAYS))


def in_text(drawing, width=100):
    console = Console(width=width)
    with console.capture() as captured:
        console.print(drawing)
    return captured.get()


def test_points_know_how_long_rows_wait():
    front = slow(make_front())
    assert [point.stage_delays for point in front] == [(0, 2, 9), (7, 7)]
    assert [point.mean_delay for point in front] == [(30 * 2 + 20 * 9 + 10 * 9) / 100, 7]
    assert [point.worst_delay for point in front] == [9, 7]
    plain = make_front()
    assert [(point.mean_delay, point.worst_delay) for point in plain] == [(0, 0), (0, 0)]


def test_a_front_from_a_file_knows_delays(tmp_path):
    front = slow(make_assessed_front()).with_seen(make_rows(40), [0, 1] * 20)
    front.save(tmp_path / "front.json")
    loaded = ParetoFront.load(tmp_path / "front.json")
    assert loaded.points == front.points
    assert loaded.seen == front.seen
    assert loaded.seen[0].mean_delay == front.seen[0].mean_delay > 0


def test_limits_on_delays_choose_among_points():
    front = slow(make_front())
    assert front.within(max_mean_delay=3.3) == [0]
    assert front.within(max_worst_delay=8) == [1]
    assert front.select(max_worst_delay=8, min_coverage=0.5) is front[1]
    assert front.prefer({"max_mean_delay": 5, "rule": "knee"}) is front[0]
    with pytest.raises(NoSuchDesign):
        front.select(max_cost=9, max_mean_delay=4, max_worst_delay=8)


def test_the_lowest_total_is_within_limits_on_delays():
    front, costs = slow(make_front()), {"error_cost": 5000, "reject_cost": 10}
    best = front.select(**costs)
    limit = max(point.mean_delay for point in front if point is not best)
    other = front.select(**costs, max_mean_delay=min(limit, best.mean_delay - 0.1))
    assert best is front[1]
    assert other is front[0]
    table = in_text(front_table(front, best, 80, best=best, costs=front.error_costs(**costs)))
    heading = next(line for line in table.splitlines() if "coverage" in line).split()
    assert heading[heading.index("cost") :][:3] == ["cost", "delay", "total"]
    assert max(map(len, table.splitlines())) <= 80
