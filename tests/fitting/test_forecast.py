"""How a fit would go, and how long it would take."""

from types import SimpleNamespace

import numpy as np
import pytest

from emsco import EMSCOClassifier
from emsco.app.cli.inspect import fit_lines
from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.fitting import FitSettings
from emsco.fitting.forecast import forecast_fit


@pytest.fixture(scope="module")
def many():
    """As many rows as are searched on a sample."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60_000, 3))
    labels = (rows.sum(axis=1) + rng.normal(size=len(rows)) > 0).astype(int)
    costs = FeatureCosts(("a", "b", "c"), [1.0, 2.0, 3.0])
    return TrainingData.from_table(rows, labels, None, costs, "refuse")


def forecast(data, **settings):
    quick = {"estimator": "logistic", "search": "evolution", "population_size": 10}
    given = EMSCOClassifier(random_state=0, **quick, **settings).get_params(deep=False)
    return forecast_fit(data, FitSettings.from_parameters(given, data))


def test_many_rows_are_searched_on_a_sample_in_one_split(many):
    plan = forecast(many)
    assert (plan.n_searched, plan.n_splits, plan.n_tried) == (20_000, 1, 1000)
    assert 0 < plan.low < plan.high
    line = next(fit_lines(SimpleNamespace(forecast=plan)))
    assert "in one split of a sample of some 20,000 rows" in line


def test_splits_and_rows_that_are_asked_for_are_forecast(many):
    plan = forecast(many, cv=3, screen_rows=None)
    assert (plan.n_searched, plan.n_splits) == (None, 3)
