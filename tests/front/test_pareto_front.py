"""Fronts: points, rules, ties and delays."""

import json
import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from rich.console import Console
from support.handmade import make_assessed_front, make_balanced_front, make_front, make_rows

from emsco import Design, FeatureCosts, NoSuchDesign, ParameterError, ParetoFront
from emsco.app.cli.terminal import cascade_drawing, front_table
from emsco.front.point import NamedDesigns, NamedTies
from emsco.scoring.scores import Scores

COSTS = FeatureCosts.from_mapping({"age": 1, "scan": 9})


@pytest.fixture
def front():
    """Three trade-offs, the last shared by two designs."""
    designs = np.array([[0, 0], [0, 1], [1, 0], [1, 0]], dtype=np.int16)
    exits = np.array([[90, 0], [60, 20], [50, 10], [50, 10]])
    correct_exits = np.array([[80, 0], [58, 18], [50, 10], [50, 10]])
    spent = np.array([1000, 460, 300, 300])
    return ParetoFront.from_scores(
        designs, Scores(100, exits, correct_exits, spent, 1.0), COSTS, 0.8
    )


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
    scores = Scores(100, exits, exits, np.array([0, 100]))
    free = FeatureCosts.from_mapping({"age": 0, "scan": 4})
    front = ParetoFront.from_scores(designs, scores, free, 0.8)
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


def test_select_without_any_point_says_how_near_the_front_comes(front):
    message = r"None of the 4 designs has cost at most 2 \(the cheapest: 3\) and accuracy at least "
    nearest = r"0.99 \(2 do\) at once\. The nearest is design 2: .*, cost 3\. Loosen a limit, or"
    with pytest.raises(NoSuchDesign, match=message + nearest):
        front.select(max_cost=2, min_accuracy=0.99)
    with pytest.raises(LookupError, match=r"coverage at least 0.95 \(the best: 0.9\)"):
        front.select(min_coverage=0.95)


def test_tables_name_the_features(front):
    frame = front.to_pandas()
    assert frame["stage of scan"].tolist() == [1, 2, 1, 1]
    assert frame["stage of age"].tolist() == [1, 1, 2, 2]
    assert front.to_polars().columns == frame.columns.tolist()


def test_records_hold_the_features_and_counts_of_each_stage(front):
    record = front.to_dicts()[1]
    assert record["stages"][1] == {"features": ["scan"], "exits": 20, "correct_exits": 18}
    assert record["cost"] == 4.6


def test_repr_shows_a_table_and_cuts_long_designs(front):
    text = repr(front)
    assert "ParetoFront of 4 points, scored on 100 rows" in text
    assert "age → scan" in text
    names = tuple(f"a very long feature name {i}" for i in range(6))
    wide = ParetoFront.from_scores(
        np.zeros((11, 6), dtype=np.int16),
        Scores(10, np.full((11, 1), 5), np.full((11, 1), 5), np.full(11, 60), 1.0),
        FeatureCosts.from_array(np.ones(6), names),
        0.8,
    )
    assert max(map(len, repr(wide).splitlines())) < 110
    assert "and 1 more; to_pandas() has all" in repr(wide)


def test_a_front_is_a_sequence(front):
    assert len(front) == len(list(front)) == 4
    assert front[1:3] == front.points[1:3]
    assert front[1] in front


class TestTies:
    @pytest.fixture
    def plain(self):
        """Two designs with the same objectives, the simpler one last; and one without a tie."""
        designs = np.array([[1, 0], [0, 1], [0, 0]], dtype=np.int16)
        exits = np.array([[50, 10], [60, 0], [90, 0]])
        return ParetoFront.from_scores(
            designs, Scores(100, exits, exits, np.array([300, 300, 1000])), COSTS, 0.8
        )

    def test_without_a_source_are_designs_of_the_front_the_simplest_first(self, plain):
        simpler, other, alone = Design([0, 1], COSTS.names), plain[0].design, plain[2].design
        assert list(plain.ties(plain[0])) == list(plain.ties(plain[1])) == [simpler, other]
        assert list(plain.ties(plain[2])) == [alone]

    @pytest.mark.parametrize("position", [0, 1, np.int64(2)])
    def test_can_be_asked_for_by_position_too(self, plain, position):
        assert list(plain.ties(position)) == list(plain.ties(plain[position]))

    def test_of_a_point_of_no_front_are_refused(self, plain):
        with pytest.raises(ParameterError, match="point must be one of this front"):
            plain.ties("first")
        with pytest.raises(ParameterError, match="point must be a whole number from 0 to 2, got 3"):
            plain.ties(3)

    def test_are_as_many_as_are_counted_where_costs_differ_by_rounding(self):
        designs = np.array([[0, 1], [1, 0]], dtype=np.int16)
        spent = np.array([0.1 + 0.2, 0.3])
        exits = np.array([[0, 3], [0, 3]])
        front = ParetoFront.from_scores(designs, Scores(3, exits, exits, spent), COSTS, 0.8)
        assert [point.n_tied for point in front] == [2, 2]
        assert [len(list(front.ties(point))) for point in front] == [2, 2]

    def test_of_a_source_are_named_and_come_one_by_one(self, plain):
        asked = []

        def source(position):
            asked.append(position)
            yield np.array([0, 1], dtype=np.int16)
            yield np.array([1, 0], dtype=np.int16)
            raise ZeroDivisionError

        tied = NamedTies(source, NamedDesigns(COSTS.names))
        front = ParetoFront(plain.points, COSTS, 0.8, proven=True, tied=tied)
        assert [d.arrows() for d in islice(front.ties(front[2]), 2)] == ["age → scan", "scan → age"]
        assert asked == [2]

    def test_counts_that_a_search_hands_over_are_kept(self):
        designs, exits = np.array([[0, 1]], dtype=np.int16), np.array([[0, 3]])
        scores = Scores(3, exits, exits, np.array([9]))
        front = ParetoFront.from_scores(
            designs, scores, COSTS, 0.8, n_tied=np.array([7]), proven=True
        )
        assert front[0].n_tied == 7
        assert front.to_pandas()["n_tied"].tolist() == [7]
        assert front.to_dicts()[0]["n_tied"] == 7


def test_repr_says_whether_a_front_is_proven(front):
    proven = ParetoFront(front.points, COSTS, 0.8, proven=True)
    assert "scored on 100 rows, proven\n" in repr(proven)
    assert "proven" not in repr(front)
    assert not front.proven


def test_a_front_scored_by_balanced_accuracy_says_so():
    front = make_balanced_front()
    assert front.metric == "balanced_accuracy"
    assert repr(front).splitlines()[1] == "  #  coverage bal. acc.       cost  design"
    assert "balanced_accuracy=0.675" in repr(front[0])
    table = front.to_pandas()
    assert table["balanced accuracy"].tolist() == [point.accuracy for point in front]
    assert "accuracy" not in table
    assert front.to_dicts()[0]["metric"] == "balanced_accuracy"
    assert "<th>balanced accuracy</th>" in front._repr_html_()
    assert "balanced accuracy 67.5%" in front._repr_html_()
    with pytest.raises(NoSuchDesign, match=r"balanced accuracy at least 0\.99 \(the best: 0\.871"):
        front.select(min_accuracy=0.99)


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


def test_points_stay_the_same_ones_where_nothing_changes():
    front = slow(make_front())
    assert replace(front, proven=False)[0] is front[0]
    assert replace(front, costs=front.costs.with_delays({"scan": 3}))[0].mean_delay == 3.9


def test_a_front_from_a_file_knows_delays(tmp_path):
    front = slow(make_assessed_front()).with_seen(make_rows(40), [0, 1] * 20)
    front.save(tmp_path / "front.json")
    loaded = ParetoFront.load(tmp_path / "front.json")
    assert loaded.points == front.points
    assert loaded.seen == front.seen
    assert loaded.seen[0].mean_delay == front.seen[0].mean_delay > 0


def test_tables_have_delays_only_where_values_come_later():
    front = slow(make_assessed_front()).with_seen(make_rows(40), [0, 1] * 20)
    frame = front.to_pandas()
    assert frame["mean delay"].tolist() == [3.3, 7]
    assert frame["worst delay"].tolist() == [9, 7]
    assert frame["seen mean delay"].tolist() == [one.mean_delay for one in front.seen]
    assert "      cost      delay  design" in repr(front)
    assert "mean delay" in front._repr_html_()
    text = in_text(front_table(front, front[1]))
    assert "delay: the mean time that a row waits" in text
    assert front.to_dicts()[0]["mean_delay"] == 3.3
    plain = make_assessed_front().with_seen(make_rows(40), [0, 1] * 20)
    texts = in_text(front_table(plain, plain[1])) + in_text(cascade_drawing(plain, 0))
    texts += repr(plain) + plain._repr_html_() + json.dumps(plain.to_dicts())
    assert "delay" not in texts + "".join(plain.to_pandas().columns)


def test_the_drawing_of_a_cascade_has_delays():
    text = in_text(cascade_drawing(slow(make_front()), 0))
    assert "stage 2, cost so far 13.5, delay so far 2" in text
    assert "rejected, cost 53.5, delay 9" in text
    assert "cost 21.5, delay 3.3" in text


def test_limits_on_delays_choose_among_points():
    front = slow(make_front())
    assert front.within(max_mean_delay=3.3) == [0]
    assert front.within(max_worst_delay=8) == [1]
    assert front.select(max_worst_delay=8, min_coverage=0.5) is front[1]
    assert front.prefer({"max_mean_delay": 5, "rule": "knee"}) is front[0]
    words = (
        r"None of the 2 designs has cost at most 9 \(the cheapest: 21\.5\) and mean delay at most "
        r"4 \(1 does\) and worst delay at most 8 \(1 does\) at once\. The nearest is"
    )
    with pytest.raises(NoSuchDesign, match=words):
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


@pytest.mark.parametrize("limit", [-1, math.nan, "soon", True])
def test_limits_on_delays_are_times(limit):
    words = r"max_mean_delay must be a number in \[0, inf\], got"
    with pytest.raises(ParameterError, match=words):
        slow(make_front()).within(max_mean_delay=limit)


def test_limits_on_delays_need_delays():
    words = r"max_worst_delay must be left out where no feature has a delay, got 1\."
    with pytest.raises(ParameterError, match=words):
        make_front().select(max_worst_delay=1)
