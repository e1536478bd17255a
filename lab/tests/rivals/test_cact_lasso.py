import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from emsco_lab.rivals import CaCTLasso


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
    assert np.array_equal(rival.used_, (twin.coef_ != 0).any(axis=0))


def test_whole_weights_are_repeated_rows(problem):
    X, y = problem
    counts = np.arange(len(y)) % 3 + 1
    weighted = CaCTLasso(penalty=3).fit(X, y, counts)
    repeated = CaCTLasso(penalty=3).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)


def test_without_a_penalty_separable_classes_keep_weights_finite():
    X = np.linspace(-1, 1, 40)[:, None] * [1.0, 2.0]
    with warnings.catch_warnings(action="error"):
        rival = CaCTLasso(penalty=0).fit(X, X[:, 0] > 0)
    assert np.abs(rival.coef_).max() <= 30
    assert rival.score(X, X[:, 0] > 0) == 1.0
