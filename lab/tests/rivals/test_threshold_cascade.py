import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from emsco import FeatureCosts
from emsco_lab.rivals import ThresholdCascade
from emsco_lab.rivals.threshold_cascade import _cuts

COSTS = [1, 1, 20, 5, 5, 3]


@pytest.mark.parametrize("model", ["boosting", "logistic"])
def test_it_answers_and_exits_as_scikit_fallback_does(table, model):
    ensemble = pytest.importorskip("skfb.ensemble")
    X, y = table
    rival = ThresholdCascade(COSTS, model=model, threshold=0.8, n_trees=10, random_state=0)
    rival.fit(X, y)

    class Stage(ClassifierMixin, BaseEstimator):
        classes_ = rival.classes_

        def __init__(self, number):
            self.number = number

        def fit(self, X, y):
            return self

        def predict_proba(self, rows):
            return rival.models_[self.number](rows[:, rival._reads()[self.number]])

    stages = [Stage(number) for number in range(len(rival.models_))]
    cascade = ensemble.ThresholdCascadeClassifier(stages, [0.8] * 2, prefit=True)
    theirs = cascade.predict_proba(X.to_numpy())
    assert np.allclose(rival.predict_proba(X), theirs)
    exits = theirs.ensemble_mask.toarray().argmax(axis=1)
    assert np.array_equal(rival.decide(X).stage, exits + 1)


def test_every_classifier_that_a_row_meets_is_paid_for(table):
    X, y = table
    costs = FeatureCosts(tuple(X), np.array(COSTS), evaluation=0.5)
    rival = ThresholdCascade(costs, n_trees=10, random_state=0).fit(X, y)
    assert rival.groups_.tolist() == [0, 0, 2, 1, 1, 2] or rival.groups_.max() == 2
    decisions = rival.decide(X)
    paid = [rival._bought[stage - 1] @ COSTS + 0.5 * stage for stage in decisions.stage]
    assert np.allclose(decisions.cost, paid)


@pytest.mark.parametrize(
    ("sizes", "n_groups", "cuts"),
    [([1, 1, 1, 1], 2, (2,)), ([5, 1, 1, 1], 2, (1,)), ([1, 1, 1], 2, (1,)), ([3], 4, ())],
)
def test_groups_are_of_about_the_same_size(sizes, n_groups, cuts):
    assert _cuts(np.array(sizes), n_groups) == cuts


def test_a_thousand_different_costs_are_cut_at_once():
    assert _cuts(np.ones(1000, dtype=int), 4) == (250, 500, 750)
