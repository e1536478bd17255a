"""Settings of a fit: parameters as they are checked, and thresholds as designs get them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from support.documents import assert_same_cascade, saved
from support.leveled import made_table
from support.settings import PLAIN

from emsco import EMSCOClassifier, PaperSearch
from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.fitting import FitSettings

QUICK = {
    **PLAIN,
    "costs": [1, 2, 3, 4, 5],
    "search": "evolution",
    "generations": 5,
    "population_size": 25,
    "max_stages": 3,
    "random_state": 0,
}
N_ROWS = 150
NEW = made_table(n_rows=90, seed=7)[0]
ALWAYS = {
    "searched": {},
    "fixed": {"min_confidence": 0.8},
    "by class": {"min_confidence": {0: 0.7, 1: 0.9}},
    "balanced": {"metric": "balanced_accuracy"},
    "gaps": {"gaps": "impute"},
    "all bought": {"allow_exclusion": False},
    "three classes": {"n_classes": 3},
    "finished": {"search_with": "logistic", "estimator": GaussianNB(), "generations": 1},
}


def fit(n_classes=2, **settings):
    table, y = made_table(n_classes, settings.get("gaps", "refuse") != "refuse", N_ROWS)
    return EMSCOClassifier(**{**QUICK, **settings}).fit(table, y)


@cache
def always(kind):
    """Fit a classifier that always answers, once for each kind."""
    return fit(always_answer=True, **ALWAYS[kind])


def thresholds_of(clf):
    """Thresholds of the stages of each point that buys something."""
    least = clf.front_.min_confidence
    buying = [point.design for point in clf.front_ if not point.design.buys_nothing]
    return [design.thresholds_or(least) for design in buying]


# Parameters


def checked(**given):
    labels = np.array(["ill", "well"] * 20)
    rows = np.arange(120.0).reshape(40, 3) % 7
    costs = FeatureCosts(("a", "b", "c"), [1.0, 2.0, 3.0])
    data = TrainingData.from_table(rows, labels, None, costs, "refuse")
    return FitSettings.from_parameters(EMSCOClassifier(**given).get_params(deep=False), data)


def test_buying_everything_is_a_constraint():
    assert checked().search.allow_exclusion
    assert checked(constraints={"buy_all": True}).search == checked(allow_exclusion=False).search


def test_forms_of_a_parameter_become_one():
    settings = checked(refit=True, search=PaperSearch(growth=2), min_confidence=0.8, time_limit=3)
    assert (settings.refit, settings.search.kind, settings.is_paper) == ("all", "paper", True)
    assert (settings.search.growth, settings.min_confidence) == (2, 0.8)
    assert settings.time_limit == 3.0
    assert checked(always_answer=True).reject_below == 0.0
    assert checked().min_confidence is None


def test_a_search_is_completed_for_its_features():
    search = checked(max_stages=9, search=PaperSearch()).search.over(2, first=1)
    assert (search.max_stages, search.rate(2), search.first) == (2, 0.5, 1)
    assert checked(max_stages=None).search.over(7).max_stages == 4


def test_a_seed_gives_the_same_settings_again():
    assert checked(random_state=3).seed == checked(random_state=3).seed
    assert checked(random_state=3).recipe.seed == checked(random_state=3).recipe.seed
    assert checked(random_state=3).seed != checked(random_state=4).seed


# Always answering


@pytest.mark.parametrize("kind", ALWAYS)
def test_whoever_always_answers_rejects_nobody(kind):
    clf = always(kind)
    assert {point.coverage for point in clf.front_} == {1.0}
    for i in range(len(clf.front_)):
        decisions = clf.front_.cascade(i).decide(NEW)
        assert decisions.accepted.all()
        assert set(decisions.labels.tolist()) <= set(clf.classes_.tolist())
    assert len(clf.front_) > 1


@pytest.mark.parametrize("kind", ["searched", "three classes"])
def test_cases_and_runs_are_labelled_too(kind):
    cascade = always(kind).cascade_
    wanted = cascade.decide(NEW)
    ran = cascade.run(list(NEW.index), lambda names, ids: NEW.loc[list(ids), names])
    assert ran.accepted.all()
    assert ran.labels.tolist() == wanted.labels.tolist()
    for i in range(0, 90, 10):
        case = cascade.open()
        while case.needs:
            case.give({name: NEW.loc[i, name] for name in case.needs})
        assert case.decision.accepted
        assert case.decision.label == wanted.labels[i]


@pytest.mark.parametrize("kind", ["searched", "three classes", "by class"])
def test_a_saved_cascade_and_front_still_answer_always(kind, tmp_path):
    clf = always(kind)
    cascade, front = saved(clf.cascade_, tmp_path), saved(clf.front_, tmp_path)
    assert_same_cascade(cascade, clf.cascade_)
    assert cascade.decide(NEW).labels.tolist() == clf.decide(NEW).labels.tolist()
    assert front.points == clf.front_.points
    assert front.cascade(0).decide(NEW).accepted.all()


# The last stage's threshold


def test_one_threshold_for_all_stages_gives_designs_none_of_their_own():
    clf = fit(min_confidence=0.8)
    buying = [point.design for point in clf.front_ if not point.design.buys_nothing]
    assert {design.thresholds for design in buying} == {None}
    assert all(set(thresholds) == {0.8} for thresholds in thresholds_of(clf))
    same = fit(min_confidence=0.8, reject_below=0.8)
    assert [p.figures() for p in same.front_] == [p.figures() for p in clf.front_]


# Searched thresholds


def test_searched_thresholds_are_those_of_the_grid():
    clf = fit()
    halvings = (1, 0.125, 0.25, 0.5, 1.5, 2, 3, 4, 5, 6)
    grid = {round(1 - 0.5 * 0.5**often, 3) for often in halvings}
    early = {least for thresholds in thresholds_of(clf) for least in thresholds[:-1]}
    last = {thresholds[-1] for thresholds in thresholds_of(clf)}
    assert early <= grid
    slight = {round(1 - 0.5 * 0.5 ** (0.02 * 50 ** (i / 12)), 3) for i in range(12)}
    assert last <= grid | slight | {0.0}
    assert len(early | last) > 2


def test_scored_figures_follow_from_the_thresholds_of_the_deployed_design():
    """With models of the only split, deciding its scored rows gives the scored figures."""
    table, y = made_table(n_rows=N_ROWS)
    rows = np.arange(N_ROWS)
    clf = EMSCOClassifier(**{**QUICK, "cv": [(rows[:100], rows[100:])]}).fit(table, y)
    for i in range(len(clf.front_)):
        evaluation = clf.front_.cascade(i).evaluate(table[100:], y[100:])
        point = clf.front_[i]
        assert (evaluation.coverage, evaluation.cost) == pytest.approx((point.coverage, point.cost))
        assert evaluation.accuracy == pytest.approx(point.accuracy)


# Refusals


def test_the_paper_has_one_threshold_for_all_stages():
    clf = EMSCOClassifier.paper(generations=3, population_size=10, random_state=0)
    table, y = made_table(n_rows=N_ROWS)
    assert isinstance(table, pd.DataFrame)
    assert {point.design.thresholds for point in clf.fit(table, y).front_} == {None}


@pytest.mark.parametrize(
    ("branches", "max_ways"), [("auto", 4), (1, 1), (np.int64(3), 3), (4, 4)], ids=str
)
def test_branches_are_ways_after_a_stage(branches, max_ways):
    assert checked(branches=branches).max_ways == max_ways
