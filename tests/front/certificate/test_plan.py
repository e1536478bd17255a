"""How many rows a certificate takes."""

from dataclasses import replace

import numpy as np
import pytest
from support.certificates import ACCURACY, COSTS, COVERAGE, PAYING, draw
from support.handmade import make_branching_front

from emsco.front.certificate.plan import (
    Prospect,
    answers_everyone,
    chances,
    counted_of,
    rows_for_chances,
)
from emsco.front.certificate.test import check_promises
from emsco.stats.promises import Promise
from emsco.stats.tests import power

COST = Prospect(
    Promise("cost", 4.5),
    float(COSTS @ PAYING),
    costs=tuple(COSTS / COSTS[-1]),
    paying=tuple(PAYING),
    worst_cost=float(COSTS[-1]),
)


def test_rejected_rows_of_a_design_that_branches_pay_for_their_own_path():
    front = make_branching_front()
    counted = counted_of(front, front[1], Promise("cost", 12))
    assert sum(counted.n_paying) == front[1].n_rows
    mean = np.dot(counted.costs, counted.n_paying) / front[1].n_rows
    assert mean == pytest.approx(front[1].cost)
    assert not answers_everyone(front, front[1])
    thresholds = [0 if j in front[1].design.leaves else 0.9 for j in range(8)]
    sure = replace(front[1], design=front[1].design.with_thresholds(thresholds))
    assert answers_everyone(front, sure)
    last_only = [*[0.9] * 7, 0]
    unsure = replace(front[1], design=front[1].design.with_thresholds(last_only))
    assert not answers_everyone(front, unsure)


@pytest.mark.parametrize(("true", "least"), [(0.95, 0.9), (0.99, 0.8), (0.56, 0.5)])
@pytest.mark.parametrize("aim", [0.8, 0.9])
def test_the_chance_stays_above_its_aim_from_the_planned_number_of_rows_on(true, least, aim):
    (planned,) = rows_for_chances([Prospect(Promise("coverage", least), true)], 0.05, [aim])
    powers = power(np.arange(planned - 1, 4 * planned), true, least, 0.05)
    assert powers[0] < aim <= powers[1:].min()


def test_rows_that_a_promise_is_not_about_come_on_top():
    (some,) = rows_for_chances([Prospect(Promise("accuracy", 0.9), 0.95)])
    (all_in_all,) = rows_for_chances([Prospect(Promise("accuracy", 0.9), 0.95, share=0.5)])
    assert all_in_all == 2 * some


def test_two_promises_take_more_rows_than_either_but_a_plain_one_takes_none():
    hard, easy = Prospect(Promise("accuracy", 0.9), 0.95), Prospect(Promise("coverage", 0.5), 0.9)
    alike = Prospect(Promise("coverage", 0.9), 0.95)
    (alone,), (both,) = rows_for_chances([hard]), rows_for_chances([hard, easy])
    assert both == alone
    assert rows_for_chances([hard, alike])[0] > alone


def test_no_number_of_rows_shows_what_is_not_so():
    for figure in (0.9001, 0.9, 0.85):  # the first takes too many rows
        assert rows_for_chances([Prospect(Promise("accuracy", 0.9), figure)]) == (None,)
    assert Prospect(Promise("cost", 5.0), 5.0).is_hopeless
    assert Prospect(Promise("recall", 0.5, "ill"), 0.9, share=0.0).is_hopeless


def test_what_a_design_cannot_miss_takes_no_rows():
    certain = Prospect(Promise("coverage", 1.0), 1.0, is_certain=True)
    assert rows_for_chances([certain]) == (1,)


def test_a_plan_is_kept_by_tests_on_rows_as_expected():
    """Accepted rows come by chance, and all promises must pass; still 80 % of the tests succeed."""
    promises = [Promise("accuracy", 0.84), Promise("coverage", 0.7), Promise("cost", 4.5)]
    prospects = [
        Prospect(promises[0], ACCURACY, COVERAGE),
        Prospect(promises[1], COVERAGE),
        COST,
    ]
    (n_rows,) = rows_for_chances(prospects)
    rng = np.random.default_rng(0)
    passed = [
        max(one.p_value for one in check_promises(promises, draw(rng, n_rows), 0.05)) <= 0.05
        for _ in range(200)
    ]
    assert 0.72 < np.mean(passed) < 0.95


def test_the_chance_of_a_bet_rises_with_the_rows():
    powers = chances(COST, 0.05)(np.array([1, 20, 80, 320, 5000]))
    assert (np.diff(powers) >= 0).all()
    assert powers[0] == 0.0
    assert powers[-1] > 0.99
