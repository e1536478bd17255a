from time import sleep

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from emsco.metrics import balanced_score
from emsco_lab.rivals import CaCTLasso, CostAwareBoosting, CostOrdered, tune


@pytest.fixture
def parts(small_problem):
    X, y = small_problem
    return (X[:70], y[:70]), (X[70:], y[70:])


PENALTIES = [{"penalty": penalty} for penalty in (0.0, 1.0, 5.0, 30.0)]


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


class Watcher(CaCTLasso):
    """Records the number of BLAS threads when its fit begins, and a while later."""

    def _fit(self, rows, labels, weights):
        self.seen_ = blas_threads()
        sleep(0.01 * self.penalty)
        self.seen_ += blas_threads()
        super()._fit(rows, labels, weights)


def test_blas_has_one_thread_in_parallel_fits_and_its_old_number_afterwards(parts):
    before = blas_threads()
    for _ in range(2):  # whoever limits BLAS first is in charge of it
        tuned = tune(Watcher(), *parts, grid=PENALTIES, n_jobs=2)
        assert set(tuned.rival.seen_) <= {1}
        assert blas_threads() == before


def test_the_best_balanced_setting_is_kept_fitted_on_the_training_rows(parts):
    train, val = parts
    tuned = tune(CaCTLasso([1, 1, 2, 2, 4, 4]), train, val, grid=PENALTIES)
    by_hand = [CaCTLasso([1, 1, 2, 2, 4, 4], **one).fit(*train).decide(val[0]) for one in PENALTIES]
    scores = [balanced_score(val[1], decisions, total_cost=14.0) for decisions in by_hand]
    assert [trial.score for trial in tuned.trials] == pytest.approx(scores)
    assert tuned.best is tuned.trials[int(np.argmax(scores))]
    assert tuned.rival.penalty == tuned.best.settings["penalty"]
    assert tuned.rival.evaluate(*val) == tuned.best.evaluation


def test_the_curve_has_every_setting_in_the_order_of_the_grid(parts):
    tuned = tune(CaCTLasso(), *parts, grid=PENALTIES)
    assert [trial.settings for trial in tuned.trials] == PENALTIES
    costs = [trial.evaluation.cost for trial in tuned.trials]
    assert costs == sorted(costs, reverse=True)


def test_of_equal_settings_the_first_is_kept(parts):
    same = [{"penalty": 3.0}, {"penalty": 3}]
    tuned = tune(CaCTLasso(), *parts, grid=same)
    assert tuned.trials[0].score == tuned.trials[1].score
    assert tuned.best is tuned.trials[0]


def test_settings_that_a_fit_contains_are_tried_too(parts):
    rival = CostAwareBoosting(random_state=0)
    tuned = tune(rival, *parts, grid=[{"strength": 0.1, "n_trees": 12}])
    tried = [trial.settings["n_trees"] for trial in tuned.trials]
    assert tried == [1, 2, 5, 10, 12]
    assert tuned.rival.n_trees == tuned.best.settings["n_trees"]
    assert tuned.rival.evaluate(*parts[1]) == tuned.best.evaluation


def test_by_default_the_grid_is_the_rivals_own(parts):
    assert len(tune(CaCTLasso(), *parts).trials) == 101
    assert [trial.settings for trial in tune(CostOrdered(), *parts).trials] == [{}]


def test_the_number_of_jobs_changes_nothing(parts):
    grid = [{"strength": strength, "n_trees": 5} for strength in (0.0, 0.01, 1.0)]
    rival = CostAwareBoosting(random_state=0)
    one, two = (tune(rival, *parts, grid=grid, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert [trial.score for trial in one.trials] == [trial.score for trial in two.trials]
    assert one.best.settings == two.best.settings


def test_test_rows_do_not_affect_the_choice(parts):
    train, (X, y) = parts
    val, test = (X[:25], y[:25]), (X[25:], y[25:])
    plain = tune(CaCTLasso(), train, val, test=test, grid=PENALTIES)
    turned = tune(CaCTLasso(), train, val, test=(-test[0], 1 - test[1]), grid=PENALTIES)
    assert [trial.test for trial in plain.trials] != [trial.test for trial in turned.trials]
    assert [trial.score for trial in plain.trials] == [trial.score for trial in turned.trials]
    assert plain.best.settings == turned.best.settings


def test_the_rival_that_is_handed_in_is_not_changed(parts):
    rival = CaCTLasso(penalty=2.0)
    tune(rival, *parts, grid=PENALTIES)
    assert rival.penalty == 2.0
    assert not hasattr(rival, "used_")


def test_weights_of_rows_count_in_fits_and_scores(parts):
    train, val = parts
    twice = [np.full(len(part[1]), 2.0) for part in parts]
    plain = tune(CaCTLasso(), train, val, grid=[{"penalty": 1.0}])
    heavy = tune(CaCTLasso(), (*train, twice[0]), (*val, twice[1]), grid=[{"penalty": 2.0}])
    assert heavy.best.score == pytest.approx(plain.best.score)
    assert heavy.best.evaluation.n_rows == 2 * plain.best.evaluation.n_rows


def test_an_empty_grid_is_refused(parts):
    with pytest.raises(ValueError, match="grid must have a setting or more, got none"):
        tune(CaCTLasso(), *parts, grid=[])
