import numpy as np
import pytest
from threadpoolctl import threadpool_info

from emsco.metrics import balanced_score
from emsco_lab.rivals import CaCTLasso, CostAwareBoosting, CostOrdered, tune

PENALTIES = [{"penalty": penalty} for penalty in (0.0, 1.0, 5.0, 30.0)]


@pytest.fixture
def parts(table):
    X, y = table
    return (X[:70], y[:70]), (X[70:], y[70:])


def test_the_best_balanced_setting_is_kept_fitted_on_the_training_rows(parts):
    train, val = parts
    original = CaCTLasso([1, 1, 2, 2, 4, 4])
    tuned = tune(original, train, val, grid=PENALTIES)
    by_hand = [CaCTLasso([1, 1, 2, 2, 4, 4], **one).fit(*train).decide(val[0]) for one in PENALTIES]
    scores = [balanced_score(val[1], decisions, total_cost=14.0) for decisions in by_hand]
    assert [trial.score for trial in tuned.trials] == pytest.approx(scores)
    assert [trial.settings for trial in tuned.trials] == PENALTIES
    assert tuned.best is tuned.trials[int(np.argmax(scores))]
    assert tuned.rival.evaluate(*val) == tuned.best.evaluation
    assert not hasattr(original, "used_")


def test_settings_that_a_fit_contains_are_tried_too_and_the_first_of_equals_wins(parts):
    tuned = tune(CostAwareBoosting(random_state=0), *parts, grid=[{"strength": 9, "n_trees": 12}])
    assert [trial.settings["n_trees"] for trial in tuned.trials] == [1, 2, 5, 10, 12]
    assert tuned.best is tuned.trials[0]  # nothing is bought at all
    assert tuned.rival.n_trees == 1


def test_by_default_the_grid_is_the_rivals_own(parts):
    assert len(tune(CaCTLasso(), *parts).trials) == 101
    assert [trial.settings for trial in tune(CostOrdered(), *parts).trials] == [{}]


def test_neither_the_number_of_jobs_nor_test_rows_change_the_choice(parts):
    train, (X, y) = parts
    before = [pool["num_threads"] for pool in threadpool_info()]
    one = tune(CaCTLasso(), train, (X[:25], y[:25]), grid=PENALTIES)
    two = tune(
        CaCTLasso(), train, (X[:25], y[:25]), test=(X[25:], y[25:]), grid=PENALTIES, n_jobs=2
    )
    assert [trial.score for trial in one.trials] == [trial.score for trial in two.trials]
    assert one.best.settings == two.best.settings
    assert two.best.test == two.rival.evaluate(X[25:], y[25:])
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_an_empty_grid_is_refused(parts):
    with pytest.raises(ValueError, match="grid must have a setting or more, got none"):
        tune(CaCTLasso(), *parts, grid=[])
