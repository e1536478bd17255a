"""How methods answer questions on a split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from emsco_lab.methods import answer_with_emsco, answer_with_rival, check_methods, new_rival
from emsco_lab.trials import (
    BUDGETS,
    LOWEST_TOTAL,
    QUESTIONS,
    CostedRows,
    LabelledRows,
    Prices,
    Question,
)
from support.comparisons import FirstColumns, small_set

from emsco.errors import ParameterError
from emsco.stats.error_costs import ErrorCosts


@pytest.fixture(scope="module")
def trial():
    made = small_set()
    return CostedRows(LabelledRows(made.X, made.y), made.costs).trial(0, 0)


@pytest.fixture(scope="module")
def offers(trial):
    return answer_with_rival(FirstColumns(trial.costs), trial, QUESTIONS, 5)


def test_every_question_is_answered_within_its_limits_on_the_rows_that_choose(trial, offers):
    assert [offer.question for offer in offers] == list(QUESTIONS)
    for offer in offers:
        assert offer.promised.coverage >= offer.question.coverage - 1e-9
        assert offer.promised.cost <= offer.question.budget * trial.costs.total + 1e-9


def test_where_everyone_is_asked_for_everyone_is_answered(offers):
    assert {offer.seen.coverage for offer in offers if offer.question.coverage == 1} == {1.0}


def test_a_larger_budget_promises_no_less(offers):
    by_question = {offer.question: offer.promised.accuracy for offer in offers}
    promised = [by_question[Question(1.0, budget)] for budget in BUDGETS]
    assert promised == sorted(promised)
    assert promised[-1] > promised[0]


def test_who_can_afford_nothing_answers_with_the_commonest_class(trial, offers):
    least = offers[QUESTIONS.index(Question(1.0, 0.02))]
    label, share = trial.fitted.commonest()
    assert (least.setting, least.promised.accuracy, least.seen.cost) == ("", share, 0.0)
    assert least.seen.accuracy == (trial.test.y == label).mean()


def test_a_rival_may_reject_the_rows_it_is_least_sure_of(offers):
    some = offers[QUESTIONS.index(Question(0.5, 1.0))]
    assert 0.5 <= some.promised.coverage < 0.6
    everyone = offers[QUESTIONS.index(Question(1.0, 1.0))]
    assert some.promised.accuracy > everyone.promised.accuracy


def test_emsco_answers_from_its_fronts(trial):
    questions = [Question(coverage, budget) for coverage in (1.0, 0.9) for budget in (0.02, 1.0)]
    offers, _ = answer_with_emsco(
        trial, questions, generations=2, population_size=20, estimator="logistic", cv=0.33
    )
    assert [offer.question for offer in offers] == questions
    assert (offers[0].seen.coverage, offers[1].seen.coverage) == (1.0, 1.0)
    assert all(offer.promised.coverage >= offer.question.coverage - 1e-9 for offer in offers)


PRICES = Prices(np.array([0, 1]), np.array([[0, 180.0, 30], [60.0, 0, 30]]), may_reject=True)


def test_where_errors_have_a_price_a_rival_offers_its_lowest_total_too(trial, offers):
    *usual, lowest = answer_with_rival(FirstColumns(trial.costs), trial, QUESTIONS, 5, PRICES)
    assert [replace(one, seen=replace(one.seen, lost=None)) for one in usual] == offers
    assert lowest.rule == LOWEST_TOTAL
    assert lowest.setting
    assert lowest.promised.cost < lowest.promised_total < 30
    assert 0 < lowest.promised.coverage < 1
    rival = FirstColumns(trial.costs, n_used=int(lowest.setting.split()[-1]))
    chances = rival.fit(trial.fitted.X, trial.fitted.y).predict_proba(trial.test.X)
    expected = chances @ PRICES.lines  # of each label, and of a rejection
    said = expected.argmin(axis=1)
    assert lowest.seen.coverage == pytest.approx((said < 2).mean())
    costs = ErrorCosts((0, 1), PRICES.lines)
    paid = PRICES.lines[trial.test.y, said].mean() + lowest.seen.cost
    assert lowest.seen.money(costs) == pytest.approx(paid)
    # Without a price of rejections, everyone gets a label.
    prices = replace(PRICES, may_reject=False)
    *_, lowest = answer_with_rival(FirstColumns(trial.costs), trial, QUESTIONS, 5, prices)
    assert (lowest.promised.coverage, lowest.seen.coverage) == (1, 1)


@pytest.mark.parametrize(
    ("lines", "coverage", "words"),
    [
        ([[0, 3, 9], [1, 0, 9]], 1, "0 for everyone"),
        ([[0, 60, 0.1], [20, 0, 0.1]], 0, "no label for anyone"),
    ],
)
def test_a_method_may_buy_nothing_where_errors_or_rejections_are_cheap(
    trial, lines, coverage, words
):
    prices = replace(PRICES, lines=np.array(lines, dtype=float))
    *_, lowest = answer_with_rival(FirstColumns(trial.costs), trial, QUESTIONS, 5, prices)
    assert (lowest.setting, lowest.seen.cost, lowest.seen.coverage) == (words, 0, coverage)
    shares = np.bincount(trial.fitted.y) / len(trial.fitted.y)
    assert lowest.promised_total == pytest.approx((shares @ prices.lines).min())


def test_emsco_searches_for_the_lowest_total(trial):
    quick = {"generations": 2, "population_size": 20, "estimator": "logistic", "cv": 0.33}
    prices = replace(PRICES, may_reject=False)
    (usual, lowest), _ = answer_with_emsco(trial, [Question(1.0, 1.0)], prices, **quick)
    assert (usual.rule, lowest.rule) == ("", LOWEST_TOTAL)
    assert (lowest.seen.coverage, lowest.promised.coverage) == (1, 1)
    assert lowest.promised_total > lowest.promised.cost
    assert lowest.seen.wrong[0] <= usual.seen.wrong[0]  # these cost three times as much


def test_a_rival_is_made_with_its_parameters():
    lasso = new_rival("cact_lasso", small_set().costs, penalty=3.0, random_state=7)
    assert (lasso.penalty, lasso.random_state) == (3.0, 7)


def test_a_label_is_refused_with_the_name_that_was_meant():
    with pytest.raises(ParameterError, match='did you mean "cost_ordered"'):
        check_methods(["CO-T"])
    assert check_methods(["emsco", "cstc", "emsco"]) == ("emsco", "cstc")
