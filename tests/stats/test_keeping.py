"""Promises: kept, not kept, or too few rows to tell."""

from __future__ import annotations

import json

import pytest

from emsco import Interval, Promise, PromiseReport, SeenPromise, Verdict
from emsco._base.objectives import Objectives


@pytest.mark.parametrize(
    ("promised", "seen", "low", "high", "verdict"),
    [
        (0.87, 0.88, 0.83, 0.92, Verdict.KEPT),
        (0.87, 0.87, 0.82, 0.91, Verdict.KEPT),
        (0.87, 0.84, 0.79, 0.88, Verdict.TOO_FEW),
        (0.87, 0.84, 0.79, 0.87, Verdict.TOO_FEW),
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
        (0.95, 0.02, 1.00, Verdict.TOO_FEW),  # says much less than the rows behind the promise
        (0.83, 0.80, 0.86, Verdict.TOO_FEW),  # off by 0.04, and chance explains 0.06
        (0.78, 0.75, 0.81, Verdict.NOT_KEPT),
    ],
)
def test_the_doubt_in_a_promise_counts_too(seen, low, high, verdict):
    promised = Interval(0.82, 0.92)
    found = SeenPromise(Promise("accuracy", 0.87), seen, Interval(low, high), promised)
    assert found.verdict is verdict


@pytest.mark.parametrize(
    ("seen", "low", "high", "verdict"),
    [
        (4.9, 4.5, 5.3, Verdict.KEPT),
        (5.2, 4.8, 5.6, Verdict.TOO_FEW),
        (5.6, 5.1, 6.1, Verdict.NOT_KEPT),
    ],
)
def test_less_cost_is_better(seen, low, high, verdict):
    assert SeenPromise(Promise("cost", 5.0), seen, Interval(low, high)).verdict is verdict


def test_rounding_breaks_no_promise():
    found = SeenPromise(Promise("accuracy", 0.1 + 0.2), 0.3, Interval(0.3, 0.3))
    assert found.verdict is Verdict.KEPT


def test_the_worst_verdict_counts_and_plain_values_have_all():
    within = Interval(0.8, 0.95), Interval(0.7, 0.86), Interval(3.0, 4.0)
    promised, seen = Objectives(0.9, 0.87, 3.2), Objectives(0.9, 0.8, 3.5)
    found = PromiseReport.from_objectives(promised, seen, *within)
    assert found.verdict is Verdict.NOT_KEPT
    values = json.loads(json.dumps(found.to_dict()))
    assert values["verdict"] == "not kept"
    assert values["cost"]["verdict"] == "too few rows"
    assert values["accuracy"]["interval"] == [0.7, 0.86]
