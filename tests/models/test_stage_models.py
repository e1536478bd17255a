"""Averages of models: the mean of their parts, in any batch, from any file."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from common import generated
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from support.clinic import read_columns
from support.handmade import (
    NAMES,
    assert_same_bits,
    make_averaged_cascade,
    make_cascade,
    make_rich_cascade,
    make_rich_rows,
    make_rows,
)

from emsco import Cascade, EMSCOClassifier, FileError, ParetoFront
from emsco.app.runs.decide import decide_file
from emsco.models.stage_models import (
    AveragedModels,
    LinearModels,
    PriorModels,
)

ROWS = make_rows(300)
QUICK = {"max_stages": 2, "search": "evolution", "generations": 3, "population_size": 20}
QUICK |= {"estimator": "logistic", "cv": 3, "min_confidence": 0.7, "random_state": 0}
FAMILIES = {
    "logistic": {},
    "spline": {"estimator": "spline"},
    "tree": {"estimator": DecisionTreeClassifier(max_depth=2)},
}
every_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.iloc[:, :4], y


@pytest.fixture(scope="module")
def fitted(wine):
    """A classifier of each family, with the average of three models per stage."""
    return {
        name: EMSCOClassifier(**QUICK | settings).fit(*wine) for name, settings in FAMILIES.items()
    }


@pytest.fixture
def cascade():
    return make_averaged_cascade()


def mean_of(parts, rows, stage):
    """The mean as it is defined, in plain Python."""
    probabilities = [part.probabilities(part.filled(rows), stage).tolist() for part in parts]
    means = []
    for row in zip(*probabilities, strict=True):
        mean = []
        for of_class in zip(*row, strict=True):
            total = 0.0
            for one in of_class[1:]:
                total += one - of_class[0]
            mean.append(of_class[0] + total / len(parts))
        means.append(mean)
    return means


# The mean


@pytest.mark.parametrize("n_models", [2, 3, 20])
def test_a_stage_gives_the_mean_of_its_parts_to_the_bit(n_models):
    models = make_averaged_cascade(n_models).models
    for stage in range(3):
        probabilities = models.probabilities(ROWS, stage)
        assert probabilities.tolist() == mean_of(models.parts, ROWS, stage)
        plain = np.mean([part.probabilities(ROWS, stage) for part in models.parts], axis=0)
        np.testing.assert_allclose(probabilities, plain, atol=1e-15)


@every_family
def test_fitted_stages_give_the_mean_of_their_parts_to_the_bit(fitted, wine, family):
    models = fitted[family].cascade_.models
    rows = wine[0].to_numpy()
    assert len(models.parts) == 3
    assert models.probabilities(rows, 0).tolist() == mean_of(models.parts, rows, 0)


@pytest.mark.parametrize("n_models", [2, 5, 7, 20])
def test_parts_that_agree_give_exactly_their_common_probability(n_models):
    one = make_cascade()
    models = AveragedModels((one.models,) * n_models)
    for stage in range(3):
        assert np.array_equal(
            models.probabilities(ROWS, stage), one.models.probabilities(ROWS, stage)
        )
    assert_same_bits(replace(one, models=models).decide(ROWS), one.decide(ROWS))


@pytest.mark.parametrize("gaps", ["impute", "skip"])
def test_each_part_fills_gaps_its_own_way(gaps):
    cascades = [make_rich_cascade(gaps=gaps, seed=seed) for seed in range(3)]
    parts = tuple(cascade.models for cascade in cascades)
    averages = replace(cascades[0], models=AveragedModels(parts))
    rows = averages.encoding.rows(make_rich_rows(40))
    assert np.isnan(rows).any()
    assert averages.stages.probabilities(rows, 1).tolist() == mean_of(parts, rows, 1)


def test_a_missing_value_of_a_spline_is_filled_column_by_column(wine):
    X, y = wine
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    clf = EMSCOClassifier(**QUICK | {"estimator": "spline", "gaps": "impute"}).fit(holes, y)
    rows = clf.cascade_.encoding.rows(holes)
    models = clf.cascade_.models
    assert models.probabilities(rows, 0).tolist() == mean_of(models.parts, rows, 0)


# Batches


@every_family
def test_other_rows_never_change_a_row(fitted, wine, family):
    cascade, rows = fitted[family].cascade_, wine[0].to_numpy()
    every, said = cascade.decide(rows), cascade.predict_proba(rows)
    for part in (slice(0, 1), slice(5, 12), slice(100, 178), slice(None, None, -1)):
        decisions = cascade.decide(rows[part])
        for name in ("guesses", "accepted", "confidence", "stage"):
            assert np.array_equal(getattr(decisions, name), getattr(every, name)[part])
        assert np.array_equal(cascade.predict_proba(rows[part]), said[part])


@every_family
def test_a_case_is_decided_as_in_a_table(fitted, wine, family):
    X, cascade = wine[0], fitted[family].cascade_
    decisions = cascade.decide(X)
    for i in range(0, len(X), 9):
        case = cascade.open()
        while case.needs:
            case.give({name: X.iloc[i][name] for name in case.needs})
        now = case.decision
        assert (now.confidence, now.stage) == (decisions.confidence[i], decisions.stage[i])
        assert now.accepted == decisions.accepted[i]


def test_a_case_waits_between_stages_and_knows_its_cascade(cascade):
    case = cascade.open().give({"age": 0.1, "pulse": 0.2})
    again = cascade.resume(case.to_json())
    assert again.decision == case.decision
    with pytest.raises(FileError):
        make_averaged_cascade(4).resume(case.to_json())


def test_rows_that_buy_on_demand_are_decided_as_in_a_table(cascade, tmp_path):
    expected = cascade.decide(ROWS)

    def acquire(names, ids):
        return ROWS[np.ix_(ids, [NAMES.index(name) for name in names])]

    async def acquire_later(names, ids):
        return acquire(names, ids)

    ids = range(len(ROWS))
    for decisions in (cascade.run(ids, acquire), asyncio.run(cascade.arun(ids, acquire_later))):
        assert np.array_equal(decisions.confidence, expected.confidence)
        assert np.array_equal(decisions.accepted, expected.accepted)
    pd.DataFrame(ROWS, columns=NAMES).to_csv(tmp_path / "rows.csv", index=False)
    decide_file(cascade, tmp_path / "rows.csv", tmp_path / "out.csv")
    written = read_columns(tmp_path / "out.csv")
    assert written["confidence"] == expected.confidence.tolist()


# Fits


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_a_fit_averages_the_models_of_all_splits(wine, estimator):
    X, y = wine
    rows = np.random.default_rng(0).permutation(len(X))
    splits = [(np.setdiff1d(rows, rows[i::3]), rows[i::3]) for i in range(3)]
    settings = QUICK | {"estimator": estimator, "max_stages": 1, "allow_exclusion": False}
    mean = EMSCOClassifier(**settings | {"cv": splits}).fit(X, y)
    each = [EMSCOClassifier(**settings | {"cv": [one]}).fit(X, y) for one in splits]
    expected = np.mean([clf.predict_proba(X) for clf in each], axis=0)
    np.testing.assert_allclose(mean.predict_proba(X), expected, atol=1e-14)
    assert mean.n_splits_ == mean.cascade_.n_models == 3


@pytest.mark.parametrize("refit", ["first", False, np.False_])
def test_the_first_split_can_be_deployed_alone(wine, refit):
    X, y = wine
    one = EMSCOClassifier(**QUICK, refit=refit).fit(X, y)
    mean = EMSCOClassifier(**QUICK).fit(X, y)
    scored = [[replace(p, expected=None) for p in clf.front_] for clf in (one, mean)]
    assert scored[0] == scored[1]  # what is expected allows for models that are averaged
    assert isinstance(one.cascade_.models, LinearModels)
    assert np.array_equal(one.cascade_.models.coefs, mean.cascade_.models.parts[0].coefs)


def test_the_models_of_everything_and_of_every_point_are_averages(fitted):
    front = fitted["logistic"].front_
    assert front.everything().n_models == 3
    buying = [point for point in front if not point.design.buys_nothing]
    assert {front.cascade(point).n_models for point in buying} == {3}


def test_folds_with_averages_keep_their_promise():
    table = generated(3600, 0.35, seed=2)
    X, y, rest = table.X[:600], table.y[:600], slice(600, None)
    clf = EMSCOClassifier(
        table.costs,
        estimator="logistic",
        cv=5,
        search="evolution",
        generations=8,
        population_size=60,
        random_state=0,
    )
    promised, seen = clf.fit(X, y).point_, clf.evaluate(table.X[rest], table.y[rest])
    assert clf.cascade_.n_models == 5
    assert promised.coverage == pytest.approx(seen.coverage, abs=0.04)
    assert promised.accuracy == pytest.approx(seen.accuracy, abs=0.03)
    assert promised.cost == pytest.approx(seen.cost, abs=0.05 * table.costs.total)


# Files


@every_family
def test_cascades_and_fronts_come_back_from_files(fitted, wine, tmp_path, family):
    clf = fitted[family]
    cascade, trusted = clf.cascade_, clf.cascade_.untrusted_types
    cascade.save(tmp_path / "cascade.json")
    clf.front_.save(tmp_path / "front.json")
    loaded = Cascade.load(tmp_path / "cascade.json", trusted)
    front = ParetoFront.load(tmp_path / "front.json", trusted)
    assert loaded.n_models == front.everything().n_models == 3
    assert_same_bits(loaded.decide(wine[0]), cascade.decide(wine[0]))
    deployed = front.cascade(clf.front_.points.index(clf.point_))
    for one in (loaded, deployed):
        assert one.stages.identity == cascade.stages.identity
        assert np.array_equal(one.predict_proba(wine[0]), clf.predict_proba(wine[0]))


# Words


def test_the_shares_of_classes_are_the_same_for_every_row():
    models = PriorModels([0.7, 0.3])
    assert len(models) == 1
    assert models.probabilities(np.zeros((2, 5)), 0).tolist() == [[0.7, 0.3]] * 2
    for threshold, left in ((0.7, 0), (0.8, 1)):
        judged = models.judge(np.zeros((3, 5)), 0, 1, np.full((1, 2), threshold))
        assert [one.tolist() for one in judged] == [[left] * 3, [0] * 3, [0.7] * 3]
    assert models.judge_one([np.nan] * 5, 0) == (0, 0.7)
