"""Warnings are said once in a grid search."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from support.settings import PLAIN

from emsco import EMSCOClassifier
from emsco.errors import EMSCOWarning

QUICK = {"search": "evolution", "generations": 1, "population_size": 8, "random_state": 0, **PLAIN}


@pytest.fixture
def rows():
    """Two ids, a leak whose accuracy differs from fold to fold, and a rare class."""
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.15).astype(int)
    leak = y.astype(float)
    leak[rng.permutation(400)[:2]] = 0.5
    table = {"a": rng.normal(size=400), "id": np.arange(400), "id2": np.arange(400)[::-1] ** 2}
    return pd.DataFrame({**table, "bill": leak}), y


def said_by(fit, action):
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter(action, EMSCOWarning)
        said = []
        warnings.showwarning = lambda message, *_where, **_more: said.append(str(message))
        fit()
    return [one for one in said if "'" in one]


@pytest.fixture
def grid(rows):
    clf = EMSCOClassifier(**QUICK)
    return lambda: GridSearchCV(clf, {"max_stages": [1, 2]}, cv=3).fit(*rows)


def test_a_grid_warns_of_a_column_once(grid):
    said = said_by(grid, "default")
    for name in ("id", "id2", "bill"):
        assert sum(f"column {name!r}" in one for one in said) == 1, name


def test_always_means_every_fit(grid):
    said = said_by(grid, "always")
    assert sum("column 'id'" in one for one in said) == 7
