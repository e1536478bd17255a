"""The economical rule: which design it takes, and the words for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.handmade import EQUAL, make_front

from emsco import Design, EMSCOClassifier, ParetoFront
from emsco.front.economical import MARGINS, economical, economical_of, lead, why_economical
from emsco.scoring.by_class import ByClass
from emsco.scoring.comparisons import Comparison

TOTAL = 10.0
EVERYTHING = (0, 0, 0, 1)  # gains in accuracy and share found, in standard errors; cost, size


def chosen(*designs, coverage=0.0, **settings):
    """The choice among designs of such figures."""
    accuracy, found, cost, size = np.array(designs, dtype=float).T
    gains = np.array([coverage + 0 * cost, accuracy, found])
    return int(economical(gains, np.ones((2, 1)), cost, size, TOTAL, **settings))


@pytest.mark.parametrize(
    ("designs", "place"),
    [
        ([(0.6, 2, -9, 1), (0.8, 0.8, -4, 1)], 1),  # accuracy is not enough better
        ([(2, 0.6, -9, 1), (0.8, 0.8, -4, 1)], 1),  # nor is the share found
        ([(0.6, 0.6, -4, 1), (0.45, 9, -9, 1)], 0),  # the next margin that some design reaches
        ([(-0.4, 9, -4, 1), (-0.6, 9, -9, 1), EVERYTHING], 0),
        ([(-0.6, 9, -9, 1), EVERYTHING, (9, 9, 1, 1)], 1),  # none, so everything
        ([(-3, 9, -9, 1), (-2, -1, -8, 1)], 1),  # nor that: the one that loses least
        ([(1, 1, -5, 3), (1, 1, -4.95, 2), (1, 1, -4.8, 1)], 1),  # simplest of those level in cost
    ],
)
def test_the_cheapest_is_taken_that_is_better_by_the_margin_that_some_reach(designs, place):
    assert chosen(*designs) == place


def test_designs_that_cover_less_or_tell_nothing_come_last():
    two = (9, 9, -9, 1), (1, 1, -4, 1)
    assert [chosen(*two, coverage=np.array([lost, 0])) for lost in (0, -0.01)] == [0, 1]
    tells = [False, True], [False, False]
    assert [chosen(*two, is_informative=np.array(some)) for some in tells] == [1, 0]


FIGURES = arrays(float, (3, 4, 6), elements=st.floats(-3, 3).map(lambda gain: round(gain, 2)))


@given(FIGURES)
def test_nothing_that_is_as_much_better_is_cheaper_and_bags_do_not_meet(figures):
    accuracy, found, cost = figures
    gains, errors = np.stack([0 * cost, accuracy, found]), np.ones((2, 1, 6))
    for bag, place in enumerate(economical(gains, errors, cost, np.zeros(6), TOTAL)):
        assert place == economical(gains[:, bag], errors[:, 0], cost[bag], np.zeros(6), TOTAL)
        better = np.where(cost[bag] < 0, lead(gains[1:, bag], errors[:, 0]), -np.inf)
        margin = next((one for one in MARGINS if (better >= one).any()), -np.inf)
        if margin >= MARGINS[-1]:
            assert cost[bag, place] == cost[bag, better >= margin].min()


def test_figures_that_are_the_same_row_by_row_are_neither_better_nor_worse():
    gains, errors = np.array([[0.0, 1e-9, 0.1, -0.1]] * 2), np.array([[0.0] * 4, [0.1] * 4])
    assert lead(gains, errors).tolist() == [0, 0, 1, -np.inf]


def beside(gain, cost=-9.0):
    return Comparison((0, gain, cost, gain, gain, 0, 0), EQUAL.errors)


POINT = replace(make_front()[0], coverage=1.0, versus_everything=beside(0.0))


def test_points_are_chosen_by_how_they_differ_from_everything():
    dull = replace(POINT, by_class=ByClass((0, 1), ((60, 0, 0), (40, 0, 0))))
    good = replace(POINT, versus_everything=beside(0.1, -1.0))
    refusing = replace(POINT, coverage=0.9, versus_everything=beside(0.9))
    assert economical_of([dull, refusing, good], TOTAL) == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "the cheapest that answers everyone as well as"),
        ({"versus_everything": beside(-0.1)}, "the one that falls least short of"),
        ({"design": Design([0], ("a",))}, "everything at once, since no cheaper design"),
    ],
)
def test_a_sentence_says_why_a_point_was_chosen(changes, words):
    assert why_economical(replace(POINT, **changes)).startswith(words)


def test_where_no_cheaper_design_is_as_good_a_fit_deploys_everything_also_after_loading(tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 3))
    clf = EMSCOClassifier(estimator="logistic", cv=1 / 3, max_stages=1, random_state=0)
    clf.fit(X, X.sum(axis=1) > 0).front_.save(tmp_path / "front.json")
    assert clf.design_.left_out == ()
    assert clf.point_ is clf.front_.economical()
    assert ParetoFront.load(tmp_path / "front.json").economical() == clf.point_
