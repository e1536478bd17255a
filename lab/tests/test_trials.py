"""Rows of a trial, questions, and what test rows saw."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from emsco_lab.trials import QUESTIONS, Answers, CostedRows, LabelledRows, Seen
from support.comparisons import made_answers, small_set

from emsco._base.documents import Fields
from emsco.errors import DataError, FileError, ParameterError
from emsco.stats.error_costs import ErrorCosts


@pytest.fixture(scope="module")
def data():
    made = small_set()
    return CostedRows(LabelledRows(made.X, made.y), made.costs)


def test_what_test_rows_saw_counts_labelled_rows_alone():
    right, accepted = np.array([True, False, True, True]), np.array([True, True, False, True])
    chances, weights = np.array([0.5, 0.0, 0.9, 1.0]), np.array([1.0, 1.0, 1.0, 2.0])
    members = np.array([[True, True, False, False], [False, False, True, True]])
    seen = Seen.from_rows(right, accepted, np.array([1.0, 2, 3, 4]), chances, weights, members)
    assert (seen.coverage, seen.accuracy, seen.cost) == pytest.approx((0.8, 0.75, 14 / 5))
    assert seen.log_loss == pytest.approx((np.log(2) + np.log(1000)) / 4)
    uniform = ErrorCosts.from_parameters(10.0, 4.0)
    assert seen.money(uniform) == pytest.approx(14 / 5 + 10 * 0.8 * 0.25 + 4 * 0.2)
    assert (seen.wrong, seen.rejected) == ((pytest.approx(0.2), 0.0), (0.0, pytest.approx(0.2)))
    by_class = ErrorCosts.from_parameters({"a": 90, "b": 7}, {"a": 1, "b": 4}, ("a", "b"))
    assert seen.money(by_class) == pytest.approx(14 / 5 + 90 * 0.2 + 4 * 0.2)
    assert Seen.from_dict(Fields(json.loads(json.dumps(asdict(seen))), "a file")) == seen
    with pytest.raises(ParameterError, match="error_cost must be one number for results that an"):
        Seen(0.9, 0.9, 1.0).money(by_class)


def test_shares_of_weights_never_exceed_one():
    every, weights = np.ones(3, dtype=bool), np.array([0.1, 0.7, 0.2])
    seen = Seen.from_rows(every, every, np.zeros(3), np.ones(3), weights)
    assert (seen.coverage, seen.accuracy) <= (1.0, 1.0)


def test_nothing_labelled_has_no_accuracy_and_no_loss():
    none, free = np.zeros(3, dtype=bool), np.zeros(3)
    assert asdict(Seen.from_rows(none, none, free, free, None)) == dict.fromkeys(
        ("coverage", "accuracy", "cost", "log_loss"), 0.0
    ) | {"wrong": (), "rejected": (), "lost": None}


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


def test_answers_must_be_to_all_questions_or_none():
    whole = json.loads(json.dumps(made_answers(0.8).to_dict()))
    assert len(Answers.from_dict(Fields(whole, "a file")).offers) == len(QUESTIONS)
    assert Answers.from_dict(Fields({**whole, "offers": []}, "a file")).offers == ()
    for offers in (whole["offers"][1:], whole["offers"][::-1]):
        rule = f"'offers' must be one for each of {len(QUESTIONS)} questions, in their order, or"
        with pytest.raises(FileError, match=rule):
            Answers.from_dict(Fields({**whole, "offers": offers}, "a file"))


def test_offers_of_older_files_have_no_rule():
    whole = json.loads(json.dumps(made_answers(0.8).to_dict()))
    for offer in whole["offers"]:
        del offer["rule"]
    assert Answers.from_dict(Fields(whole, "a file")).offers == made_answers(0.8).offers
