"""What rejecting the least sure rows would bring."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.handmade import make_front

from emsco._base.objectives import Estimate, Expected
from emsco.front.offers import as_good_for_less, rejection_offers
from emsco.scoring.by_class import ByClass


def answered(front, coverage, accuracy, cost, recall):
    """A point that labels a share of 100 rows; `recall` is that of the rarer class, of 20 rows."""
    labelled, right = round(100 * coverage), round(100 * coverage * accuracy)
    rare = round(20 * recall)
    counts = ((right - rare, 0, 80 - right + rare), (20 - rare, rare, 0))
    return replace(
        front[0],
        coverage=coverage,
        accuracy=accuracy,
        cost=cost,
        n_rows=100,
        exits=(labelled, 0, 0),
        correct_exits=(right, 0, 0),
        exit_confidence=None,
        expected=None,
        by_class=ByClass(("good", "bad"), counts),
    )


def expecting(point, accuracy, recall):
    figures = (point.coverage, accuracy, 9.0)
    recalls = tuple(Estimate(share, share, share) for share in (0.9, recall))
    estimates = [Estimate(value, value, value) for value in figures]
    return replace(point, expected=Expected(*estimates, recalls))


@pytest.fixture
def front():
    front = make_front()
    points = (
        answered(front, 1.0, 0.77, 3.0, 0.5),
        answered(front, 0.9, 0.80, 3.0, 0.45),
        answered(front, 0.8, 0.87, 3.0, 0.4),
    )
    return replace(front, points=points)


def test_rejecting_is_offered_by_what_it_brings_and_loses(front):
    tenth, fifth = rejection_offers(front, front[0])
    assert (tenth.min_coverage, tenth.point) == (0.9, front[1])
    assert (fifth.min_coverage, fifth.point) == (0.8, front[2])
    assert str(fifth) == (
        "reject the least sure 20% with another design: 87.5% of the labels correct instead of "
        "77.0%, for 3 a row instead of 3, finds 40% of 'bad' instead of 50%"
    )


def test_a_design_that_expects_as_much_for_no_more_than_the_deployed_one_is_offered(front):
    """The most accurate as scored costs three times as much, for nothing."""
    cheap = expecting(answered(front, 0.9, 0.80, 2.0, 0.45), 0.8, 0.4)
    dear = expecting(answered(front, 0.9, 0.81, 9.0, 0.45), 0.79, 0.4)
    deployed = expecting(front[0], 0.75, 0.48)
    (offer,) = rejection_offers(replace(front, points=(cheap, deployed, dear)), deployed)
    assert offer.point is cheap


def test_choosing_names_a_design_that_expects_as_much_for_far_less(front):
    cheap = expecting(answered(front, 0.9, 0.80, 6.0, 0.45), 0.8, 0.4)
    dear = expecting(answered(front, 0.9, 0.81, 9.0, 0.45), 0.79, 0.4)
    front = replace(front, points=(front[0], cheap, dear))
    assert front.select(min_coverage=0.9) is dear
    assert as_good_for_less(front, dear, min_coverage=0.9) is cheap
    assert as_good_for_less(front, dear, min_coverage=0.95) is None
    assert as_good_for_less(front, cheap, min_coverage=0.9) is None


def test_nothing_is_offered_where_rejecting_gains_next_to_nothing(front):
    same = [replace(one, correct_exits=(77 * one.exits[0] // 100, 0, 0)) for one in front]
    assert rejection_offers(replace(front, points=tuple(same)), same[0]) == []


def test_nothing_is_offered_to_someone_who_rejects_already(front):
    assert rejection_offers(front, front[2]) == []
