"""Expected figures allow for models that are averaged."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from emsco import EMSCOClassifier
from emsco._base.objectives import Estimate
from emsco.front.averaging import _moved, allow_for_averaging, seen_folds

SETTINGS = {
    "estimator": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "search": "evolution",
    "min_confidence": 0.75,
    "max_stages": 2,
    "generations": 3,
    "population_size": 30,
    "random_state": 0,
}


def _unsure_data(n_rows=240):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 6))
    return X, (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n_rows) > 0).astype(int)


@pytest.fixture(scope="module")
def disagreeing():
    """A front of trees that disagree, with one tree for each stage, then with their average."""
    X, y = _unsure_data()
    splits = list(StratifiedKFold(3).split(X, y))
    single = EMSCOClassifier(**SETTINGS, cv=splits, refit="first").fit(X, y).front_
    return single, EMSCOClassifier(**SETTINGS, cv=splits).fit(X, y).front_


def test_averaged_models_label_fewer_rows_at_a_higher_cost_and_with_more_doubt(disagreeing):
    for before, after in zip(*disagreeing, strict=True):
        assert after.expected.coverage.value <= before.expected.coverage.value
        assert after.expected.cost.value >= before.expected.cost.value
        assert after.expected.accuracy == before.expected.accuracy
        moved = before.expected.coverage.value - after.expected.coverage.value
        if moved > 0:
            assert after.expected.coverage.error > before.expected.coverage.error
    assert any(
        after.expected.coverage.value < before.expected.coverage.value - 0.005
        for before, after in zip(*disagreeing, strict=True)
    )


def test_one_model_is_its_own_average(disagreeing):
    front, _ = disagreeing
    rows, halves = _unsure_data()[0], np.arange(240).reshape(2, 120)
    for splits in ([(halves[0], halves[1])], [(halves[0], halves[1]), (halves[1], halves[0])]):
        assert allow_for_averaging(front, seen_folds(rows, splits)) is front


def test_an_interval_that_moves_stays_within_its_limits():
    moved = _moved(Estimate(0.02, 0.01, 0.05), -0.03, 1.0)
    assert moved.value == moved.low == 0.0
    assert 0.03 < moved.high < 0.1
    assert _moved(Estimate(5.0, 4.0, 6.0), 0.0, np.inf) == Estimate(5.0, 4.0, 6.0)
