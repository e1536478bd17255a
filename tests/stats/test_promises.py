"""Promises: as users write them, and whether new rows keep them."""

from __future__ import annotations

import json

import pytest

from emsco import FileError, Interval, ParameterError, Promise, PromiseReport, SeenPromise, Verdict
from emsco._base.documents import Fields
from emsco._base.objectives import Objectives
from emsco.stats.promises import limits_of, promises_from_dict, promises_of

# Promises


CLASSES = ["ill", "well"]
EVERY = {
    "min_accuracy": {"well": 0.99, None: 0.95},
    "min_coverage": 0.8,
    "max_cost": 50,
    "min_recall": {"ill": 0.9},
}


def test_promises_turn_into_limits_and_back():
    promises = promises_of(CLASSES, EVERY)
    assert limits_of(promises) == EVERY
    assert promises_of(CLASSES, limits_of(promises)) == promises


def test_promises_come_back_from_a_file():
    promises = promises_of(CLASSES, EVERY)
    read = Fields({"promises": [one.to_dict() for one in promises]}, "it")
    assert promises_from_dict(read, CLASSES) == promises


@pytest.mark.parametrize(
    "promise",
    [
        {"kind": "luck"},
        {"label": "sick"},
        {"limit": 0},
        {"limit": 2},
        {"label": None},
    ],
)
def test_a_false_promise_in_a_file_is_refused(promise):
    accuracy, other = (Promise("accuracy", 0.9, label).to_dict() for label in (None, "ill"))
    with pytest.raises(FileError):
        promises_from_dict(Fields({"promises": [accuracy, {**other, **promise}]}, "it"), CLASSES)


def test_a_share_has_a_lowest_figure_and_a_cost_a_highest():
    share, cost, ends = Promise("coverage", 0.3), Promise("cost", 5.0), Interval(0.2, 6.0)
    assert [share.is_met_by(figure) for figure in (0.29, 0.1 + 0.2, 0.4)] == [False, True, True]
    assert [cost.is_met_by(figure) for figure in (4.9, 5.0, 5.1)] == [True, True, False]
    assert (
        (share.worst(ends), cost.worst(ends)) == (0.2, 6.0) == (cost.best(ends), share.best(ends))
    )


def test_labels_may_be_typed_as_text():
    (promise,) = promises_of([0, 1], {"min_recall": {"1": 0.9}})
    assert promise == Promise("recall", 0.9, 1)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"min_accuracy": 1.0},
        {"min_accuracy": 95},
        {"min_accuracy": {"sick": 0.9}},
        {"min_accuracy": {"ill": 0}},
        {"min_recall": {None: 0.9}},
        {"min_recall": 0.9},
        {"min_coverage": 0},
        {"max_cost": -1},
    ],
)
def test_a_bad_promise_is_refused_in_one_sentence(given):
    with pytest.raises(ParameterError):
        promises_of(CLASSES, given, to_prove=True)


def test_a_share_of_1_may_be_promised_though_it_cannot_be_proved():
    assert promises_of(CLASSES, {"min_accuracy": 1})[0].limit == 1


# Verdicts


@pytest.mark.parametrize(
    ("promised", "seen", "low", "high", "verdict"),
    [
        (0.87, 0.88, 0.83, 0.92, Verdict.KEPT),
        (0.87, 0.87, 0.82, 0.91, Verdict.KEPT),
        (0.87, 0.84, 0.79, 0.88, Verdict.WITHIN_CHANCE),
        (0.87, 0.84, 0.79, 0.87, Verdict.WITHIN_CHANCE),
        (0.87, 0.84, 0.70, 0.92, Verdict.TOO_FEW),
        (0.87, 0.80, 0.75, 0.84, Verdict.NOT_KEPT),
        (0.9, 0.0, 0.0, 1.0, Verdict.TOO_FEW),
    ],
)
@pytest.mark.parametrize("kind", ["coverage", "accuracy"])
def test_more_coverage_and_accuracy_are_better(kind, promised, seen, low, high, verdict):
    assert SeenPromise(Promise(kind, promised), seen, Interval(low, high)).verdict is verdict


@pytest.mark.parametrize(
    ("seen", "low", "high", "verdict"),
    [
        (0.88, 0.83, 0.92, Verdict.KEPT),
        (0.95, 0.02, 1.00, Verdict.TOO_FEW),  # could be anything
        (0.83, 0.80, 0.86, Verdict.WITHIN_CHANCE),  # off by 0.04, and chance explains 0.06
        (0.78, 0.75, 0.81, Verdict.NOT_KEPT),
    ],
)
def test_the_doubt_in_a_promise_counts_too(seen, low, high, verdict):
    promised = Interval(0.82, 0.92)
    promise = SeenPromise(Promise("accuracy", 0.87), seen, Interval(low, high), promised)
    assert promise.verdict is verdict


@pytest.mark.parametrize(
    ("seen", "low", "high", "verdict"),
    [
        (4.9, 4.5, 5.3, Verdict.KEPT),
        (5.2, 4.8, 5.6, Verdict.WITHIN_CHANCE),
        (5.2, 3.9, 6.5, Verdict.TOO_FEW),
        (5.6, 5.1, 6.1, Verdict.NOT_KEPT),
    ],
)
def test_less_cost_is_better(seen, low, high, verdict):
    assert SeenPromise(Promise("cost", 5.0), seen, Interval(low, high)).verdict is verdict


def test_rounding_breaks_no_promise():
    promise = SeenPromise(Promise("accuracy", 0.1 + 0.2), 0.3, Interval(0.3, 0.3))
    assert promise.verdict is Verdict.KEPT


def test_the_worst_verdict_counts_and_plain_values_have_all():
    within = Interval(0.8, 0.95), Interval(0.7, 0.86), Interval(3.0, 4.0)
    promised, seen = Objectives(0.9, 0.87, 3.2), Objectives(0.9, 0.8, 3.5)
    report = PromiseReport.from_objectives(promised, seen, *within)
    assert report.verdict is Verdict.NOT_KEPT
    values = json.loads(json.dumps(report.to_dict()))
    assert values["verdict"] == "not kept"
    assert values["cost"]["verdict"] == "as promised, within chance"
    assert values["accuracy"]["interval"] == [0.7, 0.86]
