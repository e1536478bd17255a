"""Rules that choose a point, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.handmade import make_front

from emsco.front.preferences import preference_in_words
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


def test_the_economical_rule_takes_the_knee_where_nobody_compared_designs_with_everything(point):
    words = preference_in_words("economical", replace(point, versus_everything=None))
    assert words.startswith("the nearest to the best of all three figures")
