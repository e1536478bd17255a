"""The economical rule: which point it takes, and the words for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.handmade import EQUAL, make_front

from emsco.front.economical import economical_of, undominated
from emsco.front.rules import preference_in_words
from emsco.scoring.by_class import ByClass


@pytest.fixture
def point():
    return replace(make_front()[0], versus_everything=EQUAL)


def test_a_simplified_design_is_not_said_to_be_worse_within_what_chance_explains(point):
    behind = replace(EQUAL, values=(-0.12, *EQUAL.values[1:]))
    simple = replace(point, versus_everything=behind, is_simplified=True)
    words = preference_in_words("economical", simple)
    assert words.startswith("the simplest cheap design that is as good as buying every")
    assert words.endswith("everything, within chance (economical)")
    answering = preference_in_words("economical", replace(simple, coverage=1.0))
    assert "the simplest cheap design that answers everyone as well as buying" in answering
    worse = replace(simple, versus_everything=replace(EQUAL, values=(-0.5, *EQUAL.values[1:])))
    assert "falls least short" in preference_in_words("economical", worse)


def test_the_economical_rule_prefers_designs_that_beat_the_commonest_class(point):
    dull = replace(point, by_class=ByClass((0, 1), ((60, 0, 0), (40, 0, 0))), cost=1.0)
    good = replace(point, by_class=ByClass((0, 1), ((60, 0, 0), (2, 38, 0))), cost=9.0)
    assert economical_of([dull, good], 10.0) == 1
    assert economical_of([dull, dull], 10.0) == 0


def test_the_economical_rule_takes_the_knee_where_nobody_compared_designs_with_everything(point):
    words = preference_in_words("economical", replace(point, versus_everything=None))
    assert words.startswith("the nearest to the best of all three figures")


def test_a_design_that_another_beats_in_everything_is_not_deployed(point):
    counts = ByClass((0, 1), ((50, 5, 5), (5, 30, 5)))
    chosen = replace(point, by_class=counts, cost=5.0, expected=None)
    better = replace(chosen, cost=4.0)
    fewer = replace(better, by_class=ByClass((0, 1), ((45, 10, 5), (5, 30, 5))), cost=1.0)
    points = [chosen, fewer, better]

    def promised(i):
        return points[i].promised[1]

    assert undominated(points, 0, lambda _: True, promised) == 2  # the cheapest, and all classes
    assert undominated(points, 0, lambda _: False, promised) == 0  # only by noise
    assert undominated(points, 2, lambda _: True, promised) == 2
