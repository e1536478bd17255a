"""Problems beyond the paper's: classifiers agree with scikit-learn's, misuse has its sentence."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from support.settings import ONE_THRESHOLD, PAPER_SPACE, PLAIN

from emsco import Cascade, EMSCOClassifier, FeatureCosts, NoSuchDesign
from emsco.errors import CheckpointError, CostsError, DataError, FileError, ParameterError
from emsco.models.calibration import calibration_split

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


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_calibrated_stages_are_those_of_scikit_learn(wine, kind):
    X, y = wine
    X, y = X.to_numpy(), (y == 1).to_numpy().astype(int)
    rows = np.arange(len(X))
    ours = EMSCOClassifier(calibration=kind, **ONE_STAGE | {"cv": [(rows, rows)]}).fit(X, y)
    stage_seed = np.random.SeedSequence(_drawn(0)).spawn(3)[2].generate_state(1)[0]
    seed = int(np.random.SeedSequence([int(stage_seed), 0]).generate_state(1)[0])
    fitting, calibrating = calibration_split(rows, y, seed=seed)
    theirs = CalibratedClassifierCV(
        FrozenEstimator(exact_logistic().fit(X[fitting], y[fitting])), method=kind
    ).fit(X[calibrating], y[calibrating])
    seen = X[calibrating]  # between them, lines through knots depend on the scale
    np.testing.assert_allclose(ours.predict_proba(seen), theirs.predict_proba(seen), atol=1e-4)


def _drawn(random_state):
    """The seed that a fit draws first."""
    return int(np.random.RandomState(random_state).randint(2**31 - 1))


def test_a_tree_of_the_users_is_fitted_as_by_hand(wine):
    X, y = wine
    rows = np.arange(len(X))
    tree = DecisionTreeClassifier(max_depth=3, random_state=5)
    ours = EMSCOClassifier(**ONE_STAGE | {"estimator": tree, "cv": [(rows[::2], rows[1::2])]}).fit(
        X, y
    )
    theirs = tree.fit(X[::2].to_numpy(), y[::2])
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X.to_numpy()).round(12))


def test_what_classifiers_said_is_read_from_the_cache_again(wine, tmp_path, monkeypatch):
    X, y = wine
    settings = {
        "search": "exact",
        "max_stages": 2,
        "random_state": 0,
        "cache": tmp_path,
        **PLAIN,
    }
    X = X.iloc[:, :4]
    tree = DecisionTreeClassifier(max_depth=2)
    first = EMSCOClassifier(min_confidence=0.75, **settings | {"estimator": tree}).fit(X, y)
    monkeypatch.setattr("emsco.models.estimators.EstimatorJob.outcome", _no_fits)
    again = EMSCOClassifier(min_confidence=0.75, **settings | {"estimator": tree}).fit(X, y)
    assert again.front_.points == first.front_.points


def _no_fits(*_):
    raise AssertionError("all subsets were known")


@pytest.mark.parametrize("calibration", [None, "sigmoid"])
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(random_state=0)])
def test_rows_of_weight_0_are_no_rows(wine, estimator, calibration):
    X, y = wine
    rows = np.arange(len(X))
    weights = (rows % 5 > 0).astype(float)
    kept = rows[weights > 0]
    settings = {**ONE_STAGE, "estimator": estimator, "calibration": calibration}
    one = EMSCOClassifier(**settings | {"cv": [(rows, rows)]}).fit(X, y, weights)
    every = np.arange(len(kept))
    two = EMSCOClassifier(**settings | {"cv": [(every, every)]}).fit(
        X.iloc[kept], y.iloc[kept], np.ones(len(kept))
    )
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-9)


def test_the_choice_of_a_search_does_not_depend_on_the_machine(wine):
    X, y = wine
    tree = DecisionTreeClassifier(max_depth=2)
    clf = EMSCOClassifier(
        max_stages=2, generations=1, random_state=0, **ONE_THRESHOLD | {"estimator": tree}
    )
    few = clf.fit(X.iloc[:, :3], y)
    assert few.front_.proven
    many = clf.set_params(population_size=5).fit(X, y)
    assert many.stop_reason_.note == "exact search would fit 8,191 models"


def test_a_classifier_that_cannot_tell_probabilities_is_named(wine):
    clf = EMSCOClassifier(**ONE_STAGE | {"estimator": KNeighborsClassifier(500)})
    with pytest.raises(ParameterError, match="KNeighborsClassifier says: Expected n_neighbors"):
        clf.fit(*wine)


def test_a_checkpoint_of_another_classifier_is_refused(wine, tmp_path):
    X, y = wine
    settings = {"max_stages": 2, "random_state": 0, **ONE_THRESHOLD}
    settings["checkpoint"] = tmp_path / "kept"
    EMSCOClassifier(**settings | {"estimator": DecisionTreeClassifier(max_depth=2)}).fit(
        X.iloc[:, :3], y
    )
    other = EMSCOClassifier(**settings | {"estimator": DecisionTreeClassifier(max_depth=3)})
    with pytest.raises(CheckpointError, match="which differs in estimator"):
        other.fit(X.iloc[:, :3], y)


def test_thresholds_by_class_accept_by_the_likeliest_class(wine):
    X, y = wine
    sure = {0: 0.99, 1: 0.5, 2: 0.8}
    clf = EMSCOClassifier(**{**ONE_STAGE, "min_confidence": sure}).fit(X, y)
    decided, said = clf.decide(X), clf.predict_proba(X)
    least = np.array([sure[label] for label in decided.guesses])
    assert np.array_equal(decided.accepted, said.max(axis=1) >= least)
    assert 0 < decided.accepted.sum() < len(X)


def test_evaluation_cost_is_paid_for_each_stage_passed(wine):
    X, y = wine
    clf = EMSCOClassifier(
        evaluation_cost=0.5,
        max_stages=3,
        generations=3,
        population_size=20,
        random_state=0,
        **PLAIN,
    ).fit(X, y)
    bought = np.cumsum([len(names) for names in clf.design_.buys])
    stages = np.arange(1, clf.design_.n_stages + 1)
    assert clf.cascade_.stage_costs.tolist() == (bought + 0.5 * stages).tolist()


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


def test_reliability_has_a_record_per_stage_of_the_rows_that_reach_it(wine):
    X, y = wine
    clf = EMSCOClassifier(max_stages=3, generations=3, population_size=20, random_state=0, **PLAIN)
    records = clf.fit(X, y).reliability(X, y, n_bins=5)
    left = clf.decide(X)
    reached = [np.sum(left.stage >= record.stage) for record in records]
    assert [record.rows.sum() for record in records] == reached


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


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"gaps": "drop"}, ParameterError, 'gaps must be one of "refuse", "impute", "skip"'),
        ({"calibration": "platt"}, ParameterError, 'calibration must be one of "sigmoid"'),
        ({"class_weight": 3}, ParameterError, 'class_weight must be None, "balanced" or a dict'),
        ({"class_weight": {7: 1}}, ParameterError, r"class_weight must name the classes .*got 7"),
        ({"class_weight": {1: 0}}, ParameterError, "class_weight of class 1 must be a number in"),
        ({"evaluation_cost": -1}, ParameterError, "evaluation_cost must be a number in"),
        ({"allow_exclusion": 1}, ParameterError, "allow_exclusion must be True or False, got 1"),
        ({"estimator": SVC()}, ParameterError, "predict_proba"),
        ({"estimator": "forest"}, ParameterError, "estimator must be"),
        (
            {"cache": "folder"},
            ParameterError,
            "cache must be left out without a class",
        ),
        ({"cache": 3, "estimator": SVC()}, ParameterError, "cache must be the path of a folder"),
        (
            {"constraints": {"max_worst_cost": 2}, "allow_exclusion": False},
            ParameterError,
            "allow_exclusion=True lets",
        ),
        ({"constraints": {"max_mean_cost": 0.5}}, ParameterError, "the cheapest first stage"),
        ({"constraints": {"first": 5}}, ParameterError, r"\['first'\] must be a list of features"),
        ({"min_confidence": {0: 0.9, 1: 0.9}}, ParameterError, "got none for 2"),
        ({"costs": {"alcohol": 1}}, CostsError, "costs must have a cost for every feature"),
    ],
)
def test_misuse_gets_one_clear_sentence(wine, settings, error, said):
    X, y = wine
    with pytest.raises(error, match=said):
        EMSCOClassifier(**settings).fit(X.iloc[:, :3], y)


def test_limits_that_no_design_keeps_are_told_with_the_nearest(wine):
    X, y = wine
    limit = {"max_mean_cost": 1.5}
    settings = {**PAPER_SPACE, "min_confidence": 1.0, "max_stages": 2, "random_state": 0}
    clf = EMSCOClassifier(constraints=limit, **settings)
    with pytest.raises(
        NoSuchDesign, match=r"a mean cost of at most 1.5, but the nearest found has"
    ):
        clf.fit(X.iloc[:, :4], y)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1, 2], r"must have a weight for each of 178 rows, got shape \(2,\)"),
        (np.full(178, -1), "must be finite and at least 0, got -1 in row 0"),
        (np.zeros(178), "must be above 0 for some row, got zero for all 178"),
        (["x"] * 178, "must be numbers"),
    ],
)
def test_weights_that_are_none_are_refused(wine, weights, said):
    with pytest.raises(DataError, match=f"sample_weight {said}"):
        EMSCOClassifier(**ONE_STAGE).fit(*wine, weights)


def test_nearest_neighbours_are_refused_where_rows_have_weights(wine):
    clf = EMSCOClassifier(**ONE_STAGE | {"estimator": KNeighborsClassifier()})
    with pytest.raises(ParameterError, match="sample_weight"):
        clf.fit(*wine, np.ones(178))


def test_a_file_of_an_untrusted_classifier_is_refused_by_name(wine, tmp_path):
    clf = EMSCOClassifier(**ONE_STAGE | {"estimator": DecisionTreeClassifier()}).fit(*wine)
    clf.cascade_.save(tmp_path / "tree.json")
    with pytest.raises(FileError, match=r"got sklearn.tree._tree.Tree; .* load it with trusted="):
        Cascade.load(tmp_path / "tree.json")
