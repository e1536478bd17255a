import pytest

from emsco.metrics import balanced_score
from emsco_lab.rivals import CaCTLasso, CostAwareBoosting, tune

PENALTIES = [{"penalty": penalty} for penalty in (0.0, 1.0, 5.0, 30.0)]


@pytest.fixture
def parts(table):
    X, y = table
    return (X[:70], y[:70]), (X[70:95], y[70:95]), (X[95:], y[95:])


def test_settings_are_fitted_on_training_rows_scored_and_tested(parts):
    train, val, test = parts
    original = CaCTLasso([1, 1, 2, 2, 4, 4])
    trials = tune(original, *parts, PENALTIES)
    by_hand = [CaCTLasso([1, 1, 2, 2, 4, 4], **one).fit(*train) for one in PENALTIES]
    scores = [balanced_score(val[1], one.decide(val[0]), total_cost=14.0) for one in by_hand]
    assert [trial.score for trial in trials] == pytest.approx(scores)
    assert [trial.settings for trial in trials] == PENALTIES
    assert [trial.evaluation for trial in trials] == [one.evaluate(*val) for one in by_hand]
    assert [trial.test for trial in trials] == [one.evaluate(*test) for one in by_hand]
    assert not hasattr(original, "used_")


def test_settings_that_a_fit_contains_are_tried_too(parts):
    trials = tune(CostAwareBoosting(random_state=0), *parts, [{"strength": 9, "n_trees": 12}])
    assert [trial.settings["n_trees"] for trial in trials] == [1, 2, 5, 10, 12]
