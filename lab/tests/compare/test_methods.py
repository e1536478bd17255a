from __future__ import annotations

import numpy as np
import pytest
from support.comparisons import FirstColumns, small_set

from emsco import ErrorCosts
from emsco.errors import ParameterError
from emsco_lab.compare import (
    BUDGETS,
    QUESTIONS,
    CostedRows,
    LabelledRows,
    Offer,
    Question,
    answer_with_emsco,
    answer_with_rival,
    check_methods,
)
from emsco_lab.compare.methods import _cut, answer_with_nothing

PRICES = ErrorCosts.from_parameters({0: 600.0, 1: 400.0}, 150.0, [0, 1])


@pytest.fixture(scope="module")
def trial():
    made = small_set()
    return CostedRows(LabelledRows(made.X, made.y), made.costs).trial(0, 0)


@pytest.fixture(scope="module")
def offers(trial):
    return answer_with_rival(FirstColumns(trial.costs), trial, QUESTIONS, 5)


def test_every_question_is_answered_and_everyone_where_everyone_is_asked_for(offers):
    assert [offer.question for offer in offers] == list(QUESTIONS)
    assert {offer.seen.coverage for offer in offers if offer.question.coverage == 1} == {1.0}
    assert min(offer.seen.coverage for offer in offers) > 0.7


def test_a_larger_budget_promises_no_less(offers):
    by_question = {offer.question: offer.promised for offer in offers}
    promised = [by_question[Question(1.0, budget)] for budget in BUDGETS]
    assert promised == sorted(promised)


def test_who_can_afford_nothing_answers_with_the_commonest_class(trial, offers):
    label, share = trial.fitted.commonest()
    least = offers[QUESTIONS.index(Question(1.0, 0.02))]
    assert (least.setting, least.promised, least.seen.cost) == ("", share, 0.0)
    assert np.array_equal(least.seen.correct, trial.test.y == label)


def test_the_setting_that_is_offered_is_the_one_that_is_tested(trial):
    (offer,) = answer_with_rival(FirstColumns(trial.costs), trial, [Question(1.0, 1.0)], 5)
    n_used = int(offer.setting.removeprefix("n_used "))
    fitted = FirstColumns(trial.costs, n_used=n_used).fit(trial.fitted.X, trial.fitted.y)
    assert np.array_equal(offer.seen.correct, fitted.predict(trial.test.X) == trial.test.y)
    assert offer.seen.cost == trial.costs.costs[:n_used].sum()


def test_the_lowest_total_has_labels_and_rejections_of_least_expected_cost(trial):
    rival = FirstColumns(trial.costs)
    (offer,) = answer_with_rival(rival, trial, QUESTIONS, 5, PRICES)
    (nothing,) = answer_with_nothing(trial, QUESTIONS, PRICES)
    assert offer.promised <= nothing.promised
    fitted = FirstColumns(trial.costs, n_used=int(offer.setting[-1]))
    chances = fitted.fit(trial.fitted.X, trial.fitted.y).predict_proba(trial.test.X)
    expected = np.column_stack(
        [400 * chances[:, 1], 600 * chances[:, 0], np.full(len(chances), 150)]
    )
    given = expected.argmin(axis=1)
    assert np.array_equal(offer.seen.accepted, given < 2)
    wrong = np.where(given == trial.test.y, 0, np.where(trial.test.y == 0, 600, 400))
    lost = np.where(given == 2, 150, wrong)
    assert np.allclose(offer.seen.totals, offer.seen.cost + lost)


def test_where_buying_costs_more_than_errors_nothing_is_bought(trial):
    cheap = ErrorCosts.from_parameters(0.01, None, [0, 1], may_reject=False)
    (offer,) = answer_with_rival(FirstColumns(trial.costs), trial, QUESTIONS, 5, cheap)
    label, share = trial.fitted.commonest()
    assert offer.setting == f"{label} for everyone"
    assert offer.promised == pytest.approx(0.01 * (1 - share))
    assert offer.seen.cost == 0


def test_emsco_answers_from_its_fronts_and_by_the_lowest_total(trial):
    settings = {"estimator": "logistic", "max_stages": 2}
    asked = [Question(1.0, 0.4), Question(0.9, 0.4)]
    everyone, most = answer_with_emsco(trial, asked, **settings)
    assert everyone.seen.coverage == 1.0
    assert most.seen.accuracy >= everyone.seen.accuracy - 0.1
    assert everyone.seen.accuracy > answer_with_nothing(trial, asked)[0].seen.accuracy
    (offer,) = answer_with_emsco(trial, asked, PRICES, **settings)
    assert offer.promised < answer_with_nothing(trial, asked, PRICES)[0].promised
    assert offer.seen.totals.mean() >= offer.seen.cost


def test_a_cut_lies_between_the_last_row_to_label_and_the_surest_to_reject():
    confidence = np.array([0.5, 0.9, 0.7, 0.7, 0.6])
    assert _cut(confidence, 0.2) == pytest.approx(0.8)
    assert _cut(confidence, 0.6) == _cut(confidence, 0.4) == pytest.approx(0.65)
    assert _cut(confidence, 1.0) == -np.inf


def test_offers_come_back_from_plain_values(offers):
    for offer in offers:
        again = Offer.from_dict(offer.to_dict())
        assert again.to_dict() == offer.to_dict()
        assert again.seen.merits.mean() == pytest.approx(offer.seen.accuracy)


def test_an_unknown_method_is_one_sentence_with_a_near_miss():
    with pytest.raises(
        ParameterError, match=r"^method must be one of emsco, .*Did you mean 'cstc'"
    ):
        check_methods(["emsco", "cstd"])
    assert check_methods(["cstc", "emsco", "cstc"]) == ("cstc", "emsco")
