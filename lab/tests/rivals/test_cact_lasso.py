import warnings

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from emsco import DataError
from emsco_lab.rivals import CaCTLasso
from emsco_lab.rivals.cact_lasso import _SparseLogistic

COSTS = [1, 2, 4, 8, 16]


@pytest.fixture(params=[2, 3])
def problem(request):
    rng = np.random.default_rng(5)
    y = rng.integers(0, request.param, size=200)
    X = rng.normal(size=(200, 5)) + y[:, None] * np.array([1.0, 0.5, 0.2, 0.0, 0.0])
    return X * [1, 10, 0.1, 5, 1] + 3, y


@pytest.mark.parametrize("penalty", [0.1, 2.0, 20.0])
def test_weights_are_those_of_scikit_learn(problem, penalty):
    X, y = problem
    rival = CaCTLasso(penalty=penalty).fit(X, y)
    rows = StandardScaler().fit_transform(X)
    settings = {"solver": "saga", "tol": 1e-9, "max_iter": 20_000, "random_state": 0}
    before_1_8 = LogisticRegression().penalty == "l2"  # scikit-learn's own words have changed
    settings |= {"penalty": "l1"} if before_1_8 else {"l1_ratio": 1}
    twin = LogisticRegression(C=1 / penalty, **settings).fit(rows, y)
    assert np.allclose(rival.predict_proba(X), twin.predict_proba(rows), atol=1e-5)
    assert np.array_equal(rival.coef_ == 0, twin.coef_ == 0)


def test_without_a_penalty_weights_are_the_unpenalised_ones(problem):
    X, y = problem
    rows = StandardScaler().fit_transform(X)
    twin = LogisticRegression(C=np.inf, tol=1e-9, max_iter=1000).fit(rows, y)
    probabilities = CaCTLasso(penalty=0).fit(X, y).predict_proba(X)
    assert np.allclose(probabilities, twin.predict_proba(rows), atol=1e-5)


def test_without_a_penalty_separable_classes_keep_weights_finite():
    X = np.linspace(-1, 1, 40)[:, None] * [1.0, 2.0]
    with warnings.catch_warnings(action="error"):
        rival = CaCTLasso(penalty=0).fit(X, X[:, 0] > 0)
    assert np.abs(rival.coef_).max() <= 30
    assert rival.score(X, X[:, 0] > 0) == 1.0


def test_the_gradient_is_that_of_the_objective(problem):
    X, y = problem
    n_classes = len(set(y))
    rng = np.random.default_rng(0)
    rows = StandardScaler().fit_transform(X)
    objective = _SparseLogistic(rows, y, rng.uniform(0.5, 2, size=len(y)), n_classes)
    n_outputs = 1 if n_classes == 2 else n_classes
    point = rng.uniform(0, 1, size=n_outputs * 11)
    numeric = approx_fprime(point, lambda at: objective.loss(at, 0.7)[0])
    assert np.allclose(objective.loss(point, 0.7)[1], numeric, atol=1e-3)


def test_a_row_pays_for_every_feature_with_a_weight(problem):
    X, y = problem
    rival = CaCTLasso(COSTS, penalty=10).fit(X, y)
    used = (rival.coef_ != 0).any(axis=0)
    assert 0 < used.sum() < 5
    assert set(rival.decide(X).cost) == {float(used @ COSTS)} == {rival.model_cost_}


def test_a_larger_penalty_never_costs_more_and_the_largest_costs_nothing(problem):
    X, y = problem
    costs = [CaCTLasso(COSTS, penalty=by).fit(X, y).model_cost_ for by in (0, 5, 20, 1000)]
    assert costs[0] == sum(COSTS)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == 0


def test_rows_below_the_threshold_are_rejected(problem):
    X, y = problem
    rival = CaCTLasso(min_confidence=0.8).fit(X, y)
    decisions = rival.decide(X)
    assert np.array_equal(decisions.accepted, rival.predict_proba(X).max(axis=1) >= 0.8)
    assert 0 < decisions.accepted.mean() < 1
    assert CaCTLasso(min_confidence=None).fit(X, y).decide(X).accepted.all()


def test_a_constant_column_is_never_bought(problem):
    X, y = problem
    X = np.column_stack([X, np.full(len(X), 7.0)])
    assert not CaCTLasso(penalty=0).fit(X, y).used_[-1]


def test_the_grid_is_the_papers():
    assert [one["penalty"] for one in CaCTLasso.grid(None, 0)] == np.round(
        np.arange(0, 10.05, 0.1), 1
    ).tolist()


def test_a_penalty_below_zero_is_refused(problem):
    with pytest.raises(ValueError, match=r"penalty must be a number in \[0, inf\), got -1"):
        CaCTLasso(penalty=-1).fit(*problem)


def test_missing_values_are_refused(problem):
    X, y = problem
    X[3, 2] = np.nan
    with pytest.raises(DataError, match=r"no missing value .* in column 'x2', row 3"):
        CaCTLasso().fit(X, y)
