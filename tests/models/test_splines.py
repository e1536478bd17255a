"""Splines: natural cubics between knots, lines beyond, and the models that read them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from support.settings import ONE_THRESHOLD

from emsco import Cascade, EMSCOClassifier
from emsco._base.documents import Fields
from emsco.errors import FileError
from emsco.models.choice import choose_penalty
from emsco.models.rows import SplitData
from emsco.models.splines import SplineBasis

KNOTS = np.array([-1.0, 0.0, 0.5, 2.0, 3.0])


def curved(n_rows=600, seed=0):
    """A class that a line cannot find: the middle of a column."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["middle", "line", "noise"])
    logit = 2.5 - 4 * X["middle"] ** 2 + X["line"]
    return X, np.where(rng.random(n_rows) < 1 / (1 + np.exp(-logit)), "in", "out")


def quick(**more):
    settings = {"max_stages": 2, "generations": 5, "population_size": 20, "random_state": 0}
    settings |= ONE_THRESHOLD
    return EMSCOClassifier(**settings | {"estimator": "spline"} | more)


def expanded(x):
    return SplineBasis((KNOTS,)).expand(np.asarray(x, dtype=float)[:, None])


class TestBasis:
    def test_spans_all_natural_cubics_of_its_knots(self):
        scipy = pytest.importorskip("scipy.interpolate")
        x = np.linspace(-1, 3, 200)
        for values in np.random.default_rng(0).normal(size=(5, len(KNOTS))):
            truth = scipy.CubicSpline(KNOTS, values, bc_type="natural")(x)
            columns = np.column_stack([np.ones(200), expanded(x)])
            fit = np.linalg.lstsq(columns, truth, rcond=None)[0]
            assert np.abs(columns @ fit - truth).max() < 1e-9

    def test_keeps_its_digits_far_out(self):
        far = expanded([1e90, 2e90])
        assert np.allclose(far[1] / far[0], 2.0)

    def test_a_missing_value_stays_missing_in_all_columns(self):
        assert np.isnan(expanded([np.nan])).all()

    @pytest.mark.parametrize(
        ("values", "n_knots"),
        [([0, 1] * 20, 0), ([0, 1, 2] * 20, 3), (range(100), 5), ([0] * 97 + [1, 2, 3], 4)],
    )
    def test_knots_follow_the_distinct_values(self, values, n_knots):
        basis = SplineBasis.learn(np.array([*values], dtype=float)[:, None])
        assert len(basis.knots[0]) == n_knots

    def test_rows_of_weight_0_place_no_knots(self):
        rows, weights = np.arange(20.0)[:, None], (np.arange(20) < 10).astype(float)
        learned = SplineBasis.learn(rows, weights)
        assert learned.equals(SplineBasis.learn(rows[:10]))

    @pytest.mark.parametrize("knots", [[[1, 2]], [[1, 2, 2]], [[3, 2, 1]], [["a", 1, 2]], [1], []])
    def test_false_knots_of_a_file_are_refused(self, knots):
        with pytest.raises(FileError, match="'knots'"):
            SplineBasis.from_dict(Fields({"knots": knots}, "cascade.json"), "knots", 1, 1e100)


class TestModels:
    def test_are_those_of_scikit_learn_on_the_same_columns(self):
        X, y = curved()
        train, scored = np.arange(400), np.arange(400, 600)
        clf = quick(max_stages=1, cv=[(train, scored)], allow_exclusion=False).fit(X, y)
        models = clf.cascade_.models
        columns = models.basis.expand(X.to_numpy())
        scaler = StandardScaler().fit(columns[train])
        penalty = choose_penalty(SplitData(columns, (y == "out").astype(np.uint8), train, scored))
        twin = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000)
        twin.fit(scaler.transform(columns[train]), y[train])
        said = twin.predict_proba(scaler.transform(columns[scored]))
        assert clf.predict_proba(X[400:]) == pytest.approx(said, abs=1e-5)

    @pytest.mark.parametrize("seed", [3, 5, 9])
    def test_penalties_that_do_not_suit_extreme_weights_are_passed_over(self, seed):
        rng = np.random.default_rng(seed)
        X = np.exp(2 * rng.normal(size=(200, 4)))
        y = ((X[:, 0] > 1) ^ (rng.random(200) < 0.1)).astype(np.uint8)
        weights = 10.0 ** rng.uniform(-6, 6, 200)  # small penalties drive models beyond all numbers
        columns = SplineBasis.learn(X, weights).expand(X)
        assert choose_penalty(SplitData(columns, y, np.arange(200), np.arange(0), 2, weights)) >= 10

    def test_see_what_lines_do_not(self):
        X, y = curved(2000)
        accuracy = {}
        for family in ("logistic", "spline"):
            clf = EMSCOClassifier(
                generations=5, random_state=0, **ONE_THRESHOLD | {"estimator": family}
            )
            front = clf.fit(X[:1200], y[:1200]).front_
            accuracy[family] = front.references_on(X[1200:], y[1200:])[2].accuracy
        assert accuracy["spline"] > accuracy["logistic"] + 0.1

    @pytest.mark.parametrize("more", [{}, {"cv": 3}])
    def test_decide_alike_at_once_one_by_one_and_from_a_file(self, more, tmp_path):
        X, y = curved()
        clf = quick(**more).fit(X, y)
        clf.cascade_.save(tmp_path / "cascade.json")
        cascade = Cascade.load(tmp_path / "cascade.json")
        decisions = clf.decide(X)
        assert np.array_equal(cascade.decide(X).confidence, decisions.confidence)
        for i in range(5):
            case, row = cascade.open(), X.iloc[i].to_dict()
            while case.needs:
                case = case.give({name: row[name] for name in case.needs})
            assert case.decision.confidence == decisions.confidence[i]
            assert case.decision.stage == decisions.stage[i]

    @pytest.mark.parametrize("gaps", ["impute", "skip"])
    def test_missing_values_count_as_the_mean_of_each_column(self, gaps):
        X, y = curved()
        X = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
        clf = quick(gaps=gaps).fit(X, y)
        scored = clf.point_
        assert scored.coverage > 0.3
        assert clf.decide(X).accepted.mean() == pytest.approx(scored.coverage, abs=0.15)

    def test_three_classes_and_categories_work(self):
        X, y = curved()
        kinds = np.where(X["middle"] > 1, "high", y)
        X = X.assign(colour=np.where(X["line"] > 0, "red", "blue"))
        clf = quick().fit(X, kinds)
        assert clf.score(X, kinds) > 0.8

    def test_threads_and_batches_change_no_bit(self):
        X, y = curved()
        one, two = quick(n_jobs=1).fit(X, y), quick(n_jobs=2).fit(X, y)
        assert one.front_.points == two.front_.points
