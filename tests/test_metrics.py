import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.settings import ONE_THRESHOLD

from emsco import Decisions, EMSCOClassifier
from emsco.metrics import (
    balanced_score,
    coverage_score,
    make_selective_scorer,
    mean_cost_score,
    selective_accuracy_score,
)

QUICK = {"generations": 3, "population_size": 20, "random_state": 0, **ONE_THRESHOLD}
TRUTH = [0, 0, 1, 1]


@pytest.fixture
def decisions():
    return Decisions(
        guesses=np.array([0, 1, 1, 0]),
        accepted=np.array([True, True, True, False]),
        confidence=np.array([0.9, 0.8, 0.95, 0.6]),
        stage=np.array([1, 2, 1, 2]),
        cost=np.array([1.0, 3.0, 1.0, 3.0]),
    )


def test_scores_of_decisions(decisions):
    assert coverage_score(TRUTH, decisions) == 0.75
    assert selective_accuracy_score(TRUTH, decisions) == 2 / 3
    assert mean_cost_score(TRUTH, decisions) == 2.0
    expected = np.sqrt(0.75**2 + (2 / 3) ** 2 + 0.5**2)
    assert balanced_score(TRUTH, decisions, total_cost=4.0) == pytest.approx(expected)


def test_accuracy_of_nothing_accepted_is_zero(decisions):
    none = Decisions(
        decisions.guesses,
        np.zeros(4, dtype=bool),
        decisions.confidence,
        decisions.stage,
        decisions.cost,
    )
    assert selective_accuracy_score(TRUTH, none) == 0.0


def test_a_cost_scorer_is_negative_so_that_larger_is_better(small_problem):
    X, y = small_problem
    clf = EMSCOClassifier(**QUICK).fit(X, y)
    cost = clf.evaluate(X, y).cost
    assert make_selective_scorer("cost")(clf, X, y) == pytest.approx(-cost)
    scorer = make_selective_scorer(mean_cost_score, greater_is_better=False)
    assert scorer(clf, X, y) == pytest.approx(-cost)


def test_a_scorer_sees_through_a_pipeline(small_problem):
    X, y = small_problem
    pipeline = make_pipeline(StandardScaler(), EMSCOClassifier(**QUICK)).fit(X, y)
    expected = pipeline[-1].evaluate(pipeline[0].transform(X), y).coverage
    assert make_selective_scorer("coverage")(pipeline, X, y) == pytest.approx(expected)


def test_the_balanced_scorer_knows_the_total_cost(small_problem):
    X, y = small_problem
    clf = EMSCOClassifier(costs=[5] * 6, **QUICK).fit(X, y)
    expected = balanced_score(y, clf.decide(X), total_cost=30.0)
    assert make_selective_scorer()(clf, X, y) == pytest.approx(expected)
