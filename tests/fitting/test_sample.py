"""A search on a sample of the rows, then models of all rows."""

import numpy as np
import pandas as pd
import pytest

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.fitting import FitSettings, sample
from emsco.fitting.sample import n_screened, screened

QUICK = {
    "estimator": "logistic",
    "generations": 3,
    "population_size": 20,
    "max_stages": 2,
    "random_state": 0,
}


def table(n_rows=1200, n_features=4, seed=0):
    """Rows whose class follows the first features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n_rows) / 2 > 0, "ill", "well")
    return pd.DataFrame(X, columns=[f"test{i}" for i in range(n_features)]), y


def training(labels, weights=None):
    rows = np.arange(len(labels), dtype=float)[:, None] % 17
    costs = FeatureCosts(("a",), [1.0])
    return TrainingData.from_table(rows, np.asarray(labels), weights, costs, "refuse")


def settings_of(**given):
    return FitSettings.from_parameters(EMSCOClassifier(**given).get_params(), training([0, 1] * 9))


class TestHowManyRows:
    @pytest.mark.parametrize(
        ("settings", "n_rows", "expected"),
        [
            ({}, 49_999, None),
            ({}, 50_000, 20_000),
            ({}, 10**7, 20_000),
            ({"screen_rows": None}, 10**7, None),
            ({"screen_rows": 500}, 600, 500),
            ({"screen_rows": 500}, 500, None),
            ({"time_limit": 60}, 40_000, 12_000),
            ({"time_limit": 60}, 9_000, None),
            ({"time_limit": 1}, 40_000, 1000),
            ({"time_limit": 600}, 40_000, None),
            ({"time_limit": 600}, 10**6, 20_000),
            ({"search": "paper"}, 10**6, None),
            ({"cv": [([0], [1])]}, 10**6, None),
            ({"cv": 5}, 10**6, 20_000),
        ],
    )
    def test_follows_from_rows_and_time(self, settings, n_rows, expected):
        assert n_screened(settings_of(**settings), n_rows) == expected


class TestSample:
    def test_classes_keep_their_shares(self):
        data = training(["a"] * 6000 + ["b"] * 3000)
        sample, rows = screened(data, 4500, seed=0)
        assert np.bincount(sample.labels).tolist() == [3000, 1500]
        assert sample.weights is None
        assert np.array_equal(sample.rows, data.rows[rows])
        assert (np.diff(rows) > 0).all()

    def test_a_rare_class_has_more_rows_of_less_weight(self):
        data = training(["a"] * 40_000 + ["b"] * 2000)
        sample, _ = screened(data, 4200, seed=0)
        assert np.bincount(sample.labels).tolist() == [4000, 1000]
        weight = np.bincount(sample.labels, sample.weights)
        assert weight == pytest.approx([4000, 200])

    @pytest.mark.parametrize("n_rare", [1, 5])
    def test_a_class_of_hardly_any_rows_keeps_them_and_some_weight(self, n_rare):
        sample, _ = screened(training(["a"] * 30_000 + ["b"] * n_rare), 3000, seed=0)
        assert np.bincount(sample.labels).tolist() == [3000, n_rare]
        assert sample.weights[sample.labels == 1].sum() == pytest.approx(n_rare / 10, rel=0.01)

    def test_many_classes_do_not_swell_it(self):
        sample, _ = screened(training(np.arange(20_000) % 40), 2000, seed=0)
        assert len(sample.labels) == 2000

    def test_rows_of_weight_zero_are_never_drawn(self):
        weights = np.tile([0.0, 2.0], 3000)
        sample, rows = screened(training(["a", "b"] * 500 + ["b"] * 5000, weights), 2000, seed=0)
        assert (rows % 2 == 1).all()
        assert (sample.weights > 0).all()

    def test_seeds_draw_other_rows(self):
        data = training(["a", "b"] * 3000)
        one, two, again = (screened(data, 3000, seed)[1] for seed in (0, 1, 0))
        assert np.array_equal(one, again)
        assert not np.array_equal(one, two)


class TestFit:
    @pytest.fixture(autouse=True)
    def _small_samples(self, monkeypatch):
        monkeypatch.setattr(sample, "_FEWEST", 50)

    @pytest.mark.parametrize("estimator", ["logistic", "spline", "boosting"])
    def test_the_front_has_models_and_figures_of_all_rows(self, estimator):
        X, y = table()
        clf = EMSCOClassifier(
            **QUICK | {"estimator": estimator, "screen_rows": 300, "cv": 1 / 3}
        ).fit(X, y)
        assert {point.n_rows for point in clf.front_} == {400}
        assert clf.refinement_.n_screened == 300
        assert clf.refinement_.n_rows == 1200
        assert "on 300 of 1,200 rows; then" in str(clf.refinement_)
        assert str(clf.refinement_).endswith("of their own on all rows")
        assert not clf.front_.proven
        assert clf.score(*table(seed=1)) > 0.8

    def test_it_repeats_with_its_seed_and_whatever_the_threads(self):
        X, y = table()
        one, two = (EMSCOClassifier(**QUICK, screen_rows=300, n_jobs=n).fit(X, y) for n in (1, 2))
        assert [point.design for point in one.front_] == [point.design for point in two.front_]
        assert np.array_equal(one.predict_proba(X), two.predict_proba(X))

    def test_a_search_goes_on_from_its_checkpoint_with_the_same_rows_alone(self, tmp_path):
        X, y = table()
        settings = QUICK | {"screen_rows": 300, "checkpoint": tmp_path / "kept"}
        first = EMSCOClassifier(**settings).fit(X, y)
        again = EMSCOClassifier(**settings).fit(X, y)
        assert [point.design for point in first.front_] == [point.design for point in again.front_]
        with pytest.raises(Exception, match="screen_rows"):
            EMSCOClassifier(**settings | {"screen_rows": 500}).fit(X, y)
        with pytest.raises(Exception, match="X"):
            EMSCOClassifier(**settings).fit(X + 1, y)

    def test_without_time_for_all_rows_the_sample_counts(self):
        X, y = table()
        settings = {"screen_rows": 300, "time_limit": 1e-3, "cv": 1 / 3}
        clf = EMSCOClassifier(**QUICK | settings).fit(X, y)
        assert {point.n_rows for point in clf.front_} == {100}
        assert "whose models are kept: the time was over before" in str(clf.refinement_)
