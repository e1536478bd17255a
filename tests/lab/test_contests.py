"""Questions, and how methods answer them on splits."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from support.contests import FirstColumns, made_answers, small_set

from emsco._base.documents import Fields
from emsco.costs import FeatureCosts
from emsco.errors import DataError, FileError
from emsco.lab import contests
from emsco.lab import rivals as baselines
from emsco.lab.answering import LabelledRows, answer_with_emsco, answer_with_rival
from emsco.lab.contests import Answers, ContestJob, CostedRows, do_job, label_of, run_contest
from emsco.lab.jobs import ResultStore
from emsco.lab.questions import BUDGETS, QUESTIONS, Question, Seen


@pytest.fixture(scope="module")
def data():
    made = small_set()
    return CostedRows(LabelledRows(made.X, made.y), made.costs)


@pytest.fixture(scope="module")
def trial(data):
    return data.trial(0, 0)


@pytest.fixture(scope="module")
def offers(trial):
    return answer_with_rival(FirstColumns(trial.costs), trial, QUESTIONS, 5)


@pytest.fixture
def first_columns(monkeypatch):
    monkeypatch.setattr(baselines, "FirstColumns", FirstColumns, raising=False)
    monkeypatch.setitem(contests.RIVALS, "cstc", ("FirstColumns", "First"))


def test_what_test_rows_saw_counts_labelled_rows_alone():
    right, accepted = np.array([True, False, True, True]), np.array([True, True, False, True])
    chances, weights = np.array([0.5, 0.0, 0.9, 1.0]), np.array([1.0, 1.0, 1.0, 2.0])
    seen = Seen.from_rows(right, accepted, np.array([1.0, 2, 3, 4]), chances, weights)
    assert (seen.coverage, seen.accuracy, seen.cost) == pytest.approx((0.8, 0.75, 14 / 5))
    assert seen.log_loss == pytest.approx((np.log(2) + np.log(1000)) / 4)
    assert seen.money(10.0) == pytest.approx(14 / 5 + 10 * 0.8 * 0.25)
    assert seen.money(10.0, 4.0) == pytest.approx(14 / 5 + 10 * 0.8 * 0.25 + 4 * 0.2)


def test_shares_of_weights_never_exceed_one():
    every, weights = np.ones(3, dtype=bool), np.array([0.1, 0.7, 0.2])
    seen = Seen.from_rows(every, every, np.zeros(3), np.ones(3), weights)
    assert (seen.coverage, seen.accuracy) <= (1.0, 1.0)


def test_nothing_labelled_has_no_accuracy_and_no_loss():
    none, free = np.zeros(3, dtype=bool), np.zeros(3)
    assert asdict(Seen.from_rows(none, none, free, free, None)) == dict.fromkeys(
        ("coverage", "accuracy", "cost", "log_loss"), 0.0
    )


def test_the_commonest_class_costs_nothing():
    rows = LabelledRows(np.zeros((4, 1)), np.array(["a", "b", "b", "b"]), np.array([4.0, 1, 1, 1]))
    label, share = rows.commonest()
    assert (label, share) == ("a", pytest.approx(4 / 7))
    seen = Seen.from_constant("b", rows.y, 0.75, None)
    assert (seen.coverage, seen.accuracy, seen.cost) == (1.0, 0.75, 0.0)


def test_a_quarter_of_every_class_is_tested_on(data):
    trial = data.trial(3, 0)
    assert (len(trial.fitted.y), len(trial.test.y)) == (120, 40)
    assert abs(trial.test.y.mean() - trial.fitted.y.mean()) < 0.02
    assert not np.array_equal(trial.test.X, data.trial(4, 0).test.X)
    assert np.array_equal(trial.test.X, data.trial(3, 0).test.X)


def test_given_test_rows_are_the_test_rows_of_every_split(data):
    given = replace(data, test=np.arange(150, 160))
    for split in (0, 1):
        trial = given.trial(split, 0)
        assert np.array_equal(trial.test.X, data.rows.X[150:])
        assert len(trial.fitted.y) == 150


def test_rows_that_cannot_be_split_are_refused(data):
    alone = LabelledRows(data.rows.X[:4], np.array([0, 0, 0, 1]))
    with pytest.raises(DataError, match="DATA must have enough rows of every class to be split"):
        replace(data, rows=alone).trial(0, 0)


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
    found, _ = answer_with_emsco(
        trial, questions, generations=2, population_size=20, estimator="logistic", cv=0.33
    )
    assert [offer.question for offer in found] == questions
    assert (found[0].seen.coverage, found[1].seen.coverage) == (1.0, 1.0)
    assert all(offer.promised.coverage >= offer.question.coverage - 1e-9 for offer in found)


def test_a_job_is_done_by_name_and_its_result_can_be_read(data, offers, first_columns):
    job = ContestJob("small", 0, "cstc", 0, 5, 1)
    found = Answers.from_dict(Fields(json.loads(json.dumps(do_job(job, data))), "here"))
    assert found.offers == tuple(offers)
    assert found.seconds > 0
    assert job.title == "small split 0 First"
    assert label_of("emsco") == "EMSCO"


class OfTwo(FirstColumns):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@pytest.mark.parametrize("n_features", [40, 41])
def test_a_rival_that_would_take_hours_says_so(n_features, monkeypatch):
    monkeypatch.setattr(baselines, "FirstColumns", FirstColumns, raising=False)
    monkeypatch.setitem(contests.RIVALS, "aaco", ("FirstColumns", "AACO"))
    rows = np.random.default_rng(0).normal(size=(40, n_features))
    costs = FeatureCosts.from_array(np.ones(n_features))
    wide = CostedRows(LabelledRows(rows, np.arange(40) % 2), costs)
    found = do_job(ContestJob("wide", 0, "aaco", 0, 1, 1), wide)
    told = "data must have at most 40 features for AACO, got 41; it would take hours."
    assert (bool(found["offers"]), found["note"]) == ((True, ""), (False, told))[n_features - 40]


def test_a_method_that_refuses_the_data_says_why(data, monkeypatch):
    monkeypatch.setattr(baselines, "OfTwo", OfTwo, raising=False)
    monkeypatch.setitem(contests.RIVALS, "cstc", ("OfTwo", "Two"))
    three = replace(data, rows=replace(data.rows, y=np.arange(160) % 3))
    found = do_job(ContestJob("three", 0, "cstc", 0, 2, 1), three)
    assert not found["offers"]
    assert found["note"].startswith("Only binary classification")


def test_a_contest_goes_on_where_it_was(tmp_path):
    jobs = [ContestJob("made", split, "cstc", 0, 1, 1) for split in range(3)]
    store = ResultStore(tmp_path)
    found, complete = run_contest(jobs[:2], lambda _: made_answers(0.8).to_dict(), store)
    assert (len(found), complete) == (2, True)
    more, _ = run_contest(jobs, lambda _: made_answers(0.7).to_dict(), store)
    assert [more[job].offers[0].seen.accuracy for job in jobs] == [0.8, 0.8, 0.7]


def test_answers_must_be_to_all_questions_or_none():
    whole = json.loads(json.dumps(made_answers(0.8).to_dict()))
    assert len(Answers.from_dict(Fields(whole, "a file")).offers) == len(QUESTIONS)
    assert Answers.from_dict(Fields({**whole, "offers": []}, "a file")).offers == ()
    for offers in (whole["offers"][1:], whole["offers"][::-1]):
        rule = f"'offers' must be one for each of {len(QUESTIONS)} questions, in their order, or"
        with pytest.raises(FileError, match=rule):
            Answers.from_dict(Fields({**whole, "offers": offers}, "a file"))
