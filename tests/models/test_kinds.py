"""What every kind of stage model keeps to; one that is added runs through it by its name."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from emsco._base.documents import Fields
from emsco._base.workers import Workers
from emsco.models import kinds
from emsco.models.bank import ModelBank
from emsco.models.engine import Engine
from emsco.models.estimator_files import EstimatorModel
from emsco.models.fitter import Fitter
from emsco.models.kinds import KINDS, Kind
from emsco.models.recipe import StageRecipe
from emsco.models.rows import FitOptions, SplitData
from emsco.models.splines import SplineBasis
from emsco.models.stage_models import LinearModels

FEATURES = np.array([0, 1, 1, 2])  # the second and third input are bought together
SUBSETS = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 1]], dtype=bool)[:, FEATURES]
FOLDS = [(np.arange(300), np.arange(300, 400)), (np.arange(100, 400), np.arange(100))]


class NaiveBayes(Fitter):
    """A kind as a newcomer would add it: nothing but `models`."""

    def models(self, subsets, report=None):
        rows, fitted = self.rows, []
        for done, subset in enumerate(subsets, start=1):
            inputs = np.flatnonzero(subset)
            one = GaussianNB().fit(rows.X[:, inputs], rows.labels, sample_weight=rows.weights)
            fitted.append(EstimatorModel(one, inputs, rows.fill[inputs], rows.n_classes))
            if report:
                report(done, len(subsets))
        return fitted


NAMES = [*KINDS, "shared boosting", "naive Bayes"]
every_kind = pytest.mark.parametrize("name", NAMES)
every_number = pytest.mark.parametrize("n_classes", [2, 3])


@cache
def table(n_classes):
    """Rows whose class depends on the product of two inputs and on another one; some gaps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    signal = X[:, 0] * X[:, 1] + X[:, 3] + 0.3 * rng.normal(size=400)
    X[rng.random(X.shape) < 0.05] = np.nan
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal).astype(np.uint8)


def engine_of(name, n_classes=2, n_jobs=1, X=None, folds=FOLDS, **more):
    rows, labels = table(n_classes)
    rows, basis = rows if X is None else X, None
    if name == "spline":
        basis = SplineBasis.learn(table(n_classes)[0])
        rows = basis.expand(rows)
    parts = [SplitData(rows, labels, *fold, n_classes, seed=7, **more) for fold in folds]
    tree = DecisionTreeClassifier(max_depth=3)
    options = FitOptions(
        FEATURES, Workers(n_jobs), estimator=tree, shared="shared" in name, basis=basis
    )
    kind = NaiveBayes
    if name != "naive Bayes":
        kind = KINDS[name.removeprefix("shared ")].load("fitter")
    return Engine(kind.open(parts, options), n_classes)


def reads(name, n_classes=2):
    if name != "spline":
        return SUBSETS
    return SplineBasis.learn(table(n_classes)[0]).reads(SUBSETS)


def told(engine, subsets):
    return engine.scored_answers(subsets, engine.fit(subsets))


@every_number
@every_kind
def test_answers_are_what_the_models_of_stages_say(name, n_classes):
    engine, subsets = engine_of(name, n_classes), reads(name, n_classes)
    winner, confidence = told(engine, subsets)
    assert (winner.dtype, winner.shape) == (np.uint8, (4, 200))
    X, labels = table(n_classes)
    truth = labels[np.concatenate([scored for _, scored in FOLDS])]
    assert (winner[2] == truth).mean() > (winner[0] == truth).mean()  # it learns
    start, never = 0, np.full((4, n_classes), 2.0)
    for fitter, (_, scored) in zip(engine.fitters, FOLDS, strict=True):
        (models,) = fitter.stage_models([subsets])
        place, rows = slice(start, start + len(scored)), models.filled(X[scored])
        start += len(scored)
        for j in range(4):
            shares = models.probabilities(rows, j)
            assert shares.argmax(axis=1).tolist() == winner[j, place].tolist()
            assert shares.max(axis=1).tobytes() == confidence[j, place].tobytes()
            _, *judged = models.judge(rows, j, j + 1, never)
            ones = [models.judge_one(row, j) for row in rows[:20].tolist()]
            assert ones == [*zip(*(one[:20].tolist() for one in judged), strict=True)]


@every_kind
def test_neighbours_batches_threads_and_repetition_change_no_bit(name):
    subsets = reads(name)
    whole = told(engine_of(name), subsets)
    other = engine_of(name, n_jobs=2)
    parts = [told(other, subsets[i]) for i in ([3], [2, 0, 3], [1])]
    for one, pieces in zip(whole, zip(*parts, strict=True), strict=True):
        assert np.concatenate(pieces)[[2, 4, 1, 0]].tobytes() == one.tobytes()


@every_kind
def test_rows_of_weight_0_are_left_out_and_weights_of_classes_count(name):
    X, weights, subsets = table(2)[0].copy(), np.ones(400), reads(name)
    weights[:40], X[:40] = 0.0, 5.0
    folds = [(np.arange(300), np.arange(300, 400))]
    without = [(np.arange(40, 300), folds[0][1])]
    some = told(engine_of(name, X=X, weights=weights, folds=folds), subsets)
    others = told(engine_of(name, weights=np.ones(400), folds=without), subsets)
    for one, two in zip(some, others, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9)
    heavy = told(engine_of(name, class_weights=np.array([1.0, 5.0]), folds=without), subsets)
    assert heavy[0].sum() > others[0].sum()


@every_kind
def test_scored_rows_do_not_touch_the_models(name):
    X = table(2)[0].copy()
    before = engine_of(name, folds=FOLDS[:1]).fitters[0].stage_models([reads(name)])[0]
    X[300:] += 1000
    after = engine_of(name, folds=FOLDS[:1], X=X).fitters[0].stage_models([reads(name)])[0]
    for one, two in zip(before.arrays, after.arrays, strict=True):
        np.testing.assert_array_equal(one, two)


@every_kind
def test_a_report_that_raises_ends_the_fits_and_no_rows_are_needed_to_answer(name):
    def stop(done, total):
        raise TimeoutError(f"after {done} of {total}")

    engine, subsets = engine_of(name), reads(name)
    with pytest.raises(TimeoutError, match="after 1 of"):
        engine.fit(subsets, stop)
    numbers = engine.fit(subsets)
    scored = [rows for _, rows in FOLDS]
    given = engine.without_rows().answers(subsets, numbers, table(2)[0], scored)
    joined = [np.concatenate(parts, axis=1) for parts in zip(*given, strict=True)]
    for one, two in zip(joined, engine.scored_answers(subsets, numbers), strict=True):
        assert one.tobytes() == two.tobytes()


@every_number
@every_kind
def test_models_come_back_from_files(name, n_classes):
    (models,) = engine_of(name, n_classes).fitters[0].stage_models([reads(name, n_classes)])
    if isinstance(models, LinearModels):
        return  # a cascade writes them together: tests/cascade/test_format.py
    rows = table(n_classes)[0][:50]
    for j, (subset, model) in enumerate(zip(SUBSETS, models.models, strict=True)):
        assert model.reads_only(np.flatnonzero(subset))
        fields = Fields(json.loads(json.dumps(model.to_dict())), "a file")
        kind = KINDS[model.family].load("model")
        back = kind.from_dict(fields, 4, n_classes, model.untrusted_types)
        assert back.probabilities(rows).tobytes() == models.probabilities(rows, j).tobytes()


def test_a_kind_that_is_registered_can_be_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(KINDS, "naive", Kind("", "", "naive Bayes"))
    monkeypatch.setattr("emsco.models.recipe.NAMED", tuple(KINDS))  # as of an import
    load = kinds.Kind.load
    monkeypatch.setattr(
        Kind, "load", lambda kind, what: load(kind, what) if kind.fitter else NaiveBayes
    )
    recipe = StageRecipe.from_parameters("naive", None, np.arange(2), 2**26, 1, 0)
    assert recipe.in_words == "naive Bayes"
    assert replace(recipe, seed=1).to_dict()["estimator"] == "naive"
    bank = ModelBank(engine_of("naive Bayes"), np.eye(4, dtype=bool))
    assert bank.kept(SUBSETS).shape == (4, 400)


def test_asking_models_imports_nothing_that_fits():
    code = """if True:
        import sys
        import emsco.cascade, emsco.models.boosting.trees, emsco.models.estimator_files
        heavy = {"sklearn", "scipy", "joblib", "skops", "emsco.models.logistic"}
        print(heavy & {*sys.modules})
    """
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "set()\n"
