"""Figures of points are computed when somebody asks, with the same values in whatever order."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from support.wards import COSTS, QUICK, wards

from emsco import EMSCOClassifier
from emsco.front.judgement import PendingExpected, PendingResults
from emsco.scoring.walk import Walk

FIGURES = ("exit_confidence", "by_class", "versus_everything", "shortlisted", "expected")


def table(n_rows=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4)).round(2)
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=n_rows) > 0).astype(int)


def fitted(**settings):
    quick = {
        "estimator": "logistic",
        "generations": 4,
        "population_size": 30,
        "max_stages": 2,
        "random_state": 0,
    }
    return EMSCOClassifier(**quick | settings).fit(*table())


FITS = {
    "economical": fitted,
    "knee": lambda: fitted(prefer="knee"),
    "one error": lambda: fitted(prefer="one_standard_error"),
    "costs of errors": lambda: fitted(prefer={"error_cost": 20, "reject_cost": 2}),
    "trees": lambda: fitted(estimator="boosting"),
    "branches": lambda: EMSCOClassifier(**QUICK, costs=COSTS, always_answer=True).fit(*wards()),
    "paper": lambda: EMSCOClassifier.paper(generations=5, random_state=0).fit(*table()),
}


def figures(front):
    """All figures of all points, to the last bit."""
    return [[repr(getattr(point, name)) for name in FIGURES] for point in front]


OTHER_RULES = ("knee", "one error", "costs of errors")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.thorough if name in OTHER_RULES else ())
        for name in FITS
    ],
)
def fit_again(request):
    """A fit to repeat, and its figures as they are when all are computed in the fit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Walk, "for_later", lambda *_: None)
        at_once = FITS[request.param]()
    return FITS[request.param], at_once


def test_figures_are_those_computed_at_once_in_whatever_order_they_are_asked_for(fit_again):
    fit, at_once = fit_again
    clf = fit()
    wanted = [(i, name) for i in range(len(clf.front_)) for name in FIGURES]
    Random(0).shuffle(wanted)
    for i, name in wanted:
        getattr(clf.front_[i], name)
    assert figures(clf.front_) == figures(at_once.front_)
    assert clf.front_.deployed == at_once.front_.deployed


def test_a_time_limit_holds_for_all_figures(monkeypatch):
    clf = fitted(time_limit=1000.0)
    for source in (PendingResults, PendingExpected):
        monkeypatch.setattr(source, "figure", lambda *_: pytest.fail("computed later"))
    assert figures(clf.front_)[0][-1] != "None"
