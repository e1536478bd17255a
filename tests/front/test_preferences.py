"""Rules that choose a point, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.handmade import make_front

from emsco.front.preferences import Limits, economical_of, preference_in_words
from emsco.trust.by_class import ByClass
from emsco.trust.differences import Comparison, Difference

SAME = Difference(0.0, 0.1)
EQUAL = Comparison(SAME, SAME, SAME, (SAME, SAME), (SAME, SAME))


@pytest.fixture
def point():
    return replace(make_front()[0], versus_everything=EQUAL)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("economical", "the cheapest that is not worse than buying everything (economical)"),
        ("balanced", "the best balanced (balanced)"),
        ("fittest", "the one that the paper would deploy (fittest)"),
        ({"max_cost": 3}, "the best balanced within your limits"),
    ],
)
def test_a_rule_says_why_it_chose_a_point(point, rule, words):
    assert preference_in_words(rule, point) == words


def test_the_economical_rule_says_if_every_design_is_worse_than_everything(point):
    behind = replace(EQUAL, coverage=Difference(-0.5, 0.1))
    words = preference_in_words("economical", replace(point, versus_everything=behind))
    assert words.startswith("the one that falls least short of buying everything, since all do")


def test_a_simplified_design_is_not_said_to_be_worse_within_what_chance_explains(point):
    behind = replace(EQUAL, coverage=Difference(-0.12, 0.1))
    simple = replace(point, versus_everything=behind, is_simplified=True)
    words = preference_in_words("economical", simple)
    assert words.startswith("the simplest that is not worse than buying everything, beyond chance")
    worse = replace(simple, versus_everything=replace(EQUAL, coverage=Difference(-0.5, 0.1)))
    assert "falls least short" in preference_in_words("economical", worse)


def test_the_economical_rule_prefers_designs_that_beat_the_commonest_class(point):
    dull = replace(point, by_class=ByClass((0, 1), ((60, 0, 0), (40, 0, 0))), cost=1.0)
    good = replace(point, by_class=ByClass((0, 1), ((60, 0, 0), (2, 38, 0))), cost=9.0)
    assert economical_of([dull, good], 10.0) == 1
    assert economical_of([dull, dull], 10.0) == 0


def test_a_label_that_is_named_twice_is_one_class(point):
    counted = replace(point, by_class=ByClass((0, 1), ((60, 0, 0), (2, 38, 0))))
    said = Limits(min_recall={1: 0.5, "1": 0.99}).why_none([counted])
    assert said.startswith("None of the 1 designs has recall of 1 at least 0.99 (the best: 0.95)")


def test_the_economical_rule_takes_the_knee_where_nobody_compared_designs_with_everything(point):
    words = preference_in_words("economical", replace(point, versus_everything=None))
    assert words.startswith("the nearest to the best of all three figures")
