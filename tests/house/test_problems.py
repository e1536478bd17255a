"""Problems beyond the paper's: classifiers agree with scikit-learn's, misuse has its sentence."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from support.settings import ONE_THRESHOLD, PAPER_SPACE, PLAIN

from emsco import EMSCOClassifier, FeatureCosts

ONE_STAGE = {**PAPER_SPACE, "max_stages": 1, "random_state": 0}  # buys everything at once


def exact_logistic(**options):
    return make_pipeline(
        StandardScaler(),
        LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000, **options),
    )


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_three_classes_have_the_probabilities_of_scikit_learn(load):
    X, y = load(return_X_y=True)
    rows = np.arange(len(X))
    ours = EMSCOClassifier(**ONE_STAGE | {"cv": [(rows[::2], rows[1::2])]}).fit(X, y)
    theirs = exact_logistic().fit(X[::2], y[::2])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("weight", ["balanced", {0: 3.0, 2: 0.5}])
def test_class_weights_are_those_of_scikit_learn(wine, weight):
    X, y = wine
    rows = np.arange(len(X))
    ours = EMSCOClassifier(class_weight=weight, **ONE_STAGE | {"cv": [(rows[::2], rows[1::2])]})
    theirs = exact_logistic(class_weight=weight).fit(X[::2], y[::2])
    np.testing.assert_allclose(ours.fit(X, y).predict_proba(X), theirs.predict_proba(X), atol=1e-7)


def test_sample_weights_of_a_fit_are_those_of_scikit_learn(wine):
    X, y = wine
    weights = np.random.default_rng(0).uniform(0.1, 3, len(y))
    rows = np.arange(len(X))
    ours = EMSCOClassifier(**ONE_STAGE | {"cv": [(rows[::2], rows[1::2])]}).fit(X, y, weights)
    theirs = make_pipeline(
        StandardScaler(), LogisticRegression(solver="newton-cholesky", tol=1e-10)
    ).fit(
        X[::2],
        y[::2],
        standardscaler__sample_weight=weights[::2],
        logisticregression__sample_weight=weights[::2],
    )
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)


def test_imputed_gaps_are_those_of_scikit_learn(wine):
    X, y = wine
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    rows = np.arange(len(X))
    ours = EMSCOClassifier(gaps="impute", **ONE_STAGE | {"cv": [(rows, rows)]}).fit(X, y)
    theirs = make_pipeline(SimpleImputer(add_indicator=True), *exact_logistic()).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)


def test_categories_are_those_of_scikit_learn(wine):
    X, y = wine
    table = pd.DataFrame({"colour": pd.cut(X["hue"], 5, labels=list("abcde")).astype(str)})
    rows = np.arange(len(X))
    ours = EMSCOClassifier(**ONE_STAGE | {"cv": [(rows, rows)]}).fit(table, y)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    theirs = make_pipeline(encoder, *exact_logistic()).fit(table, y)
    unseen = pd.DataFrame({"colour": ["a", "e", "z"]})
    np.testing.assert_allclose(ours.predict_proba(unseen), theirs.predict_proba(unseen), atol=1e-7)


def test_thresholds_by_class_accept_by_the_likeliest_class(wine):
    X, y = wine
    sure = {0: 0.99, 1: 0.5, 2: 0.8}
    clf = EMSCOClassifier(**{**ONE_STAGE, "min_confidence": sure}).fit(X, y)
    decided, said = clf.decide(X), clf.predict_proba(X)
    least = np.array([sure[label] for label in decided.guesses])
    assert np.array_equal(decided.accepted, said.max(axis=1) >= least)
    assert 0 < decided.accepted.sum() < len(X)


def test_a_skipped_stage_accepts_nobody_and_the_next_one_may(wine):
    X, y = wine
    X = X[["flavanoids", "proline", "hue"]]
    clf = EMSCOClassifier(gaps="skip", min_confidence=0.5, random_state=0, max_stages=3, **PLAIN)
    clf.fit(X.mask(np.random.default_rng(0).random(X.shape) < 0.1), y)
    clf.choose(max(range(len(clf.front_)), key=lambda i: clf.front_[i].n_stages))
    first = list(clf.cascade_.stages.columns[0])
    whole, holes = clf.decide(X), clf.decide(X.assign(**dict.fromkeys(first, np.nan)))
    assert (whole.stage == 1).any()
    assert not (holes.accepted & (holes.stage == 1)).any()
    assert (holes.accepted & (holes.stage > 1)).any()


def test_groups_are_what_designs_and_sessions_speak_of(wine):
    X, y = wine
    groups = {"colour": ["hue", "color_intensity"], "acids": ["malic_acid", "ash"]}
    X = X[["hue", "malic_acid", "color_intensity", "ash", "proline"]]
    costs = FeatureCosts.from_mapping({"colour": 2, "acids": 3, "proline": 9}, X.columns, groups)
    settings = {"max_stages": 3, "allow_exclusion": False, "random_state": 0, **ONE_THRESHOLD}
    clf = EMSCOClassifier(costs, **settings).fit(X, y)
    assert set(clf.design_.names) == {"colour", "acids", "proline"}
    assert clf.cascade_.stage_costs[-1] == 14
    asked = [column for columns in clf.cascade_.stages.columns for column in columns]
    assert sorted(asked) == sorted(X.columns)
