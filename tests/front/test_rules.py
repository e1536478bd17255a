"""Rules that choose a point, in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.handmade import EQUAL, make_front

from emsco.errors import NoSuchDesign, ParameterError
from emsco.front.rules import (
    PointLimits,
    choose,
    plain_preference,
    preference_in_words,
)
from emsco.scoring.by_class import ByClass

KNEE = "the nearest to the best of all three figures"

COSTS = make_front().costs


@pytest.fixture
def point():
    return replace(make_front()[0], versus_everything=EQUAL)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "economical",
            "the cheapest that is as good as buying everything (economical)",
        ),
        ("accurate", "the most accurate (accurate)"),
        ("balanced", "the best balance of coverage, accuracy and cost (balanced)"),
        (
            "one_standard_error",
            "the simplest within a standard error of the best expected (one_standard_error)",
        ),
        ("fittest", "the one that the paper would deploy (fittest)"),
        ({"max_cost": 3}, "the one that labels most rows correctly within your limits"),
        ({"min_coverage": 0.5}, "the most accurate within your limits"),
        ({"max_cost": 3, "rule": "knee"}, f"{KNEE} within your limits (knee)"),
        ({"rule": "accurate"}, "the most accurate (accurate)"),
    ],
)
def test_a_rule_says_why_it_chose_a_point(point, rule, words):
    assert preference_in_words(rule, point) == words


def scored(point, n_rows, n_correct, confidence, cost=1.0):
    """A point of one exit that labels all of its rows."""
    return replace(
        point,
        coverage=1.0,
        accuracy=n_correct / n_rows,
        cost=cost,
        n_rows=n_rows,
        exits=(n_rows,),
        correct_exits=(n_correct,),
        exit_confidence=confidence and (confidence,),
    )


def test_accuracy_is_steadied_by_confidence_that_counts_like_400_rows(point):
    assert scored(point, 400, 360, 0.8).steadied_accuracy == pytest.approx(0.85)
    assert scored(point, 40_000, 36_000, 0.8).steadied_accuracy == pytest.approx(0.899, abs=1e-3)
    assert scored(point, 400, 360, None).steadied_accuracy == 0.9  # nobody looked at its rows


def test_rows_that_several_splits_score_steady_no_more_than_once(point):
    once = ByClass((0, 1), ((100, 0, 0), (0, 100, 0)))
    often = replace(scored(point, 800, 720, 0.8), by_class=once)
    assert often.steadied_accuracy == pytest.approx((200 * 0.9 + 400 * 0.8) / 600)


def test_the_accurate_rule_looks_through_luck_on_few_rows_but_not_through_many(point):
    for n_rows, best in ((100, 1), (100_000, 0)):
        lucky = scored(point, n_rows, n_rows * 9 // 10, 0.8)
        solid = scored(point, n_rows, n_rows * 88 // 100, 0.88)
        assert choose("accurate", [lucky, solid], COSTS) == best


def test_of_equally_accurate_designs_the_cheapest_is_taken(point):
    points = [scored(point, 100, 90, 0.9, cost) for cost in (3.0, 1.0, 2.0)]
    assert choose("accurate", points, COSTS) == 1


def test_the_front_has_the_accurate_rule_within_limits():
    front = make_front()
    assert front.accurate() == front.prefer("accurate")
    cheapest = min(front, key=lambda one: one.cost)
    assert front.select(max_cost=cheapest.cost, rule="accurate") == cheapest


def test_a_label_that_is_named_twice_is_one_class(point):
    counted = replace(point, by_class=ByClass((0, 1), ((60, 0, 0), (2, 38, 0))))
    with pytest.raises(NoSuchDesign, match=r"recall of 1 at least 0.99; .* with recall of 1 0.95"):
        PointLimits(min_recall={1: 0.5, "1": 0.99}).required([counted])


def front_to_total():
    counts = ((40, 9, 1), (1, 30, 19)), ((35, 5, 10), (0, 35, 15))
    front = make_front()
    points = [
        replace(point, by_class=ByClass((0, 1), counted))
        for point, counted in zip(front, counts, strict=True)
    ]
    return replace(front, points=tuple(points))


@pytest.mark.parametrize(
    ("error_cost", "reject_cost"),
    [(500, 1), (1, 500), ({0: 900, 1: 1}, 2), ([[0, 1], [900, 0]], {0: 1, 1: 2})],
)
def test_the_lowest_total_is_chosen(error_cost, reject_cost):
    front = front_to_total()
    totals = [one.value for one in front.totals(error_cost, reject_cost)]
    chosen = front.prefer({"error_cost": error_cost, "reject_cost": reject_cost})
    assert chosen is front[totals.index(min(totals))]


def test_the_lowest_total_is_taken_within_limits():
    front = front_to_total()
    assert front.select(error_cost=5000, reject_cost=1) is front[1]
    assert front.select(error_cost=1, reject_cost=500) is front[0]
    accurate = front[1].accuracy
    assert front.select(min_accuracy=accurate, error_cost=1, reject_cost=500) is front[1]


def test_a_front_that_rejects_needs_a_cost_of_rejections():
    with pytest.raises(ParameterError):
        front_to_total().prefer({"error_cost": 5})
    answered = [replace(point, coverage=1.0) for point in front_to_total()]
    front = replace(front_to_total(), points=tuple(answered))
    assert front.prefer({"error_cost": 5}) in front.points
    with pytest.raises(ParameterError):
        front.totals(None)


def test_a_preference_for_a_file_is_plain():
    assert plain_preference("knee") == "knee"
    plain = plain_preference({"error_cost": np.eye(2), "min_recall": {1: np.float64(0.5)}})
    assert plain == {"error_cost": [[1.0, 0.0], [0.0, 1.0]], "min_recall": {"1": 0.5}}


def test_a_front_whose_classes_nobody_counted_still_has_totals_by_class():
    """As after Ctrl-C: rows of all classes then count alike."""
    front = make_front()
    both = {"error_cost": {0: 90, 1: 10}, "reject_cost": {0: 4, 1: 2}}
    assert front.labels == (0, 1)
    assert front.prefer(both) in front.points
    costs = front.error_costs(**both)
    assert costs.mean_costs(None) == (0, 50, 3)
    words = preference_in_words(both, front[0])
    assert words == "the lowest scored total with your costs of errors"
    assert replace(front, models=None).labels is None


# What limits mean


def figures(point, coverage, accuracy, cost):
    """A point of so much coverage, accuracy and cost, whose labels tell something."""
    return replace(
        point,
        coverage=coverage,
        accuracy=accuracy,
        cost=cost,
        exit_confidence=None,
        by_class=ByClass((0, 1), ((50, 5, 5), (5, 30, 5))),
    )


@pytest.fixture
def several(point):
    return [
        figures(point, 1.0, 0.70, 1.0),
        figures(point, 1.0, 0.80, 5.0),
        figures(point, 1.0, 0.80, 6.0),
        figures(point, 0.9, 0.85, 4.0),
        figures(point, 0.8, 0.90, 3.0),
        figures(point, 0.8, 0.91, 7.0),
    ]


@pytest.mark.parametrize(
    ("limits", "chosen"),
    [
        ({}, 1),  # the most accurate that answers everyone, and of equals the cheapest
        ({"max_cost": 3.5}, 0),
        ({"max_cost": 10}, 1),
        ({"min_coverage": 0.8}, 5),  # the most accurate
        ({"min_coverage": 0.85}, 3),
        ({"min_coverage": 0.8, "max_cost": 4}, 4),
        ({"min_accuracy": 0.85}, 3),  # the one that labels most,
        ({"min_accuracy": 0.9}, 4),  # and of those the cheapest
        ({"min_recall": {0: 0.1}}, 0),
        ({"min_accuracy": 0.8, "min_coverage": 0.8}, 4),  # the cheapest
    ],
)
def test_limits_choose_what_people_mean_by_them(several, limits, chosen):
    given = PointLimits(**limits)
    assert given.best(several, given.within(several)) == chosen


def test_where_nobody_answers_everyone_a_cost_limit_takes_most_correct_labels(several):
    assert PointLimits(max_cost=9).best(several[3:], [0, 1, 2]) == 0  # 0.765 of all rows


def test_limits_take_labels_no_better_than_the_commonest_class_last(several):
    dull = replace(several[1], by_class=ByClass((0, 1), ((60, 0, 0), (40, 0, 0))), accuracy=0.99)
    assert PointLimits(max_cost=9).best([dull, several[0]], [0, 1]) == 1
    assert PointLimits(max_cost=9).best([dull, dull], [1]) == 1


def test_select_chooses_within_limits_by_a_rule_if_there_is_one():
    front = make_front()
    assert front.select(max_cost=99, rule="balanced") is front.balanced()
    assert (
        front.select(min_coverage=0.5) is front[PointLimits(min_coverage=0.5).best(front, [0, 1])]
    )
