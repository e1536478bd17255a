"""Figures of points are computed when somebody asks, with the same values in whatever order."""

from __future__ import annotations

import copy
import gc
import pickle
from random import Random

import numpy as np
import pytest
from support.wards import COSTS, QUICK, wards

from emsco import EMSCOClassifier, ParetoFront
from emsco.front.assessment import Assessor
from emsco.front.expected import OptimismCorrection
from emsco.front.judgement import PendingExpected, PendingResults
from emsco.models.bank import SomeModels, SubsetBank
from emsco.scoring.scored_rows import ScoredRows

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
        patch.setattr(ScoredRows, "for_later", lambda *_: None)
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


@pytest.mark.parametrize("kind", ["economical", "branches"])
def test_figures_survive_pickling_copying_and_files(kind, tmp_path):
    fit = FITS[kind]
    clf = fit()
    clf.front_.save(tmp_path / "front.json")
    assert pickle.loads(pickle.dumps(fit())).front_.points == clf.front_.points
    assert copy.deepcopy(fit()).front_.points == clf.front_.points
    assert ParetoFront.load(tmp_path / "front.json").points == clf.front_.points


def test_a_plain_fit_judges_few_points_and_expects_nothing(monkeypatch):
    judged, asked = [], []
    with_results, corrected = Assessor.with_results, OptimismCorrection.corrected

    def noted(self, points, designs):
        judged.extend(points)
        return with_results(self, points, designs)

    monkeypatch.setattr(Assessor, "with_results", noted)
    monkeypatch.setattr(Assessor, "assessed", lambda *_: pytest.fail("all points were judged"))
    monkeypatch.setattr(
        OptimismCorrection, "corrected", lambda *args: asked.append(args) or corrected(*args)
    )
    clf = fitted(prefer="knee")
    assert len(judged) == 1 < len(clf.front_)  # the deployed one, about which a fit may warn
    clf.predict(table()[0])
    assert not asked
    judged.clear()
    paper = EMSCOClassifier.paper(generations=5, random_state=0).fit(*table())
    assert len(judged) == 1 < len(paper.front_)
    judged.clear()
    economical = fitted()
    assert len(judged) < len(economical.front_) / 2


def test_a_fit_keeps_models_and_one_table_for_later_and_nothing_once_all_is_computed():
    def alive(*kinds):
        gc.collect()
        return [one for one in gc.get_objects() if type(one) in kinds]

    kinds = SubsetBank, SomeModels, PendingExpected, PendingResults
    before = alive(*kinds)  # of other tests
    clf = fitted()
    kept = [one for one in alive(*kinds) if not any(one is other for other in before)]
    assert sorted({type(one).__name__ for one in kept}) == [
        "PendingExpected",
        "PendingResults",
        "SomeModels",
    ]
    assert sum(one.numbers.nbytes for one in kept if isinstance(one, SomeModels)) < 2**20
    clf.front_.to_dicts()
    clf.front_.to_pandas()
    del kept
    assert len(alive(*kinds)) == len(before)


def test_a_time_limit_holds_for_all_figures(monkeypatch):
    clf = fitted(time_limit=1000.0)
    for source in (PendingResults, PendingExpected):
        monkeypatch.setattr(source, "figure", lambda *_: pytest.fail("computed later"))
    assert figures(clf.front_)[0][-1] != "None"


def test_points_are_found_without_computing_the_figures_of_others(monkeypatch):
    front = fitted(prefer="knee").front_
    with monkeypatch.context() as patch:
        patch.setattr(PendingResults, "figure", lambda *_: pytest.fail("computed"))
        assert [front.position(point) for point in front] == list(range(len(front)))
    assert fitted(prefer="knee").front_.position(front[3]) == 3
