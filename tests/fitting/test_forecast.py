"""How a fit would go, and how long it would take."""

from dataclasses import replace
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
    quick = {"estimator": "logistic", "search": "evolution", "population_size": 10} | settings
    given = EMSCOClassifier(random_state=0, **quick).get_params(deep=False)
    return forecast_fit(data, FitSettings.from_parameters(given, data))


def test_many_rows_are_searched_on_a_sample_in_one_split(many):
    plan = forecast(many)
    assert (plan.n_searched, plan.n_splits, plan.n_tried) == (20_000, 1, 1000)
    assert plan.seconds > 0
    line = next(fit_lines(SimpleNamespace(forecast=plan)))
    assert "in one split of a sample of some 20,000 rows" in line


def test_splits_and_rows_that_are_asked_for_are_forecast(many):
    plan = forecast(many, cv=3, screen_rows=None)
    assert (plan.n_searched, plan.n_splits) == (None, 3)


def test_the_time_is_one_number_with_a_unit(many):
    plan = replace(forecast(many), seconds=130.0)
    *_, line = fit_lines(SimpleNamespace(forecast=plan))
    assert line == "It would take about 2 minutes here, going by a short fit on 1,000 rows."


def test_a_proof_of_some_rows_that_is_too_long_for_all_is_forecast_as_an_evolution(
    many, monkeypatch
):
    settings = {"search": "auto", "max_stages": 2}
    assert forecast(many, **settings).search == "exact"
    monkeypatch.setattr("emsco.fitting.forecast.MAX_EXACT", 0.0)
    plan = forecast(many, **settings)
    assert (plan.search, plan.n_designs) == ("evolution", 300)
