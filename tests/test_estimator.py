import pickle
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.handmade import assert_same_bits
from support.settings import ONE_THRESHOLD, PAPER_SPACE, PLAIN

from emsco import Design, EMSCOClassifier, FeatureCosts, NoSuchDesign, PaperSearch, ParetoFront
from emsco.errors import DataError, ParameterError
from emsco.metrics import make_selective_scorer
from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator
from emsco.search.evolution import EvolutionSearch
from emsco.search.progress import SearchProgress

NAMES = ["age", "pulse", "scan", "blood", "gait", "noise"]
SEARCHES = ["exact", "evolution", "paper"]
SMALLEST = {"generations": 1, "population_size": 6, "random_state": 0}


def quick(**settings):
    return EMSCOClassifier(
        **{**ONE_THRESHOLD, "generations": 8, "population_size": 30, "random_state": 0, **settings}
    )


def quick_with_thresholds_by_stage(**settings):
    return quick(min_confidence="auto", search="evolution", **settings)


def quick_in_papers_space(**settings):
    return quick(**{**PAPER_SPACE, **settings})


@pytest.fixture
def table(small_problem):
    X, y = small_problem
    return pd.DataFrame(X, columns=NAMES), np.where(y == 1, "ill", "well")


def with_odd_rows(test):
    """Some checks fit noise, some round it to make labels, and some have few rows of a class."""
    for ignored in ("no design accepts", "class 3 has one row", ":emsco.errors.DataWarning"):
        test = pytest.mark.filterwarnings(f"ignore:{ignored}")(test)
    return test


@with_odd_rows
@parametrize_with_checks(
    [
        quick(min_confidence=0.51, gaps="impute", allow_exclusion=True, evaluation_cost=0.1),
        quick_with_thresholds_by_stage(generations=1),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.thorough
@with_odd_rows
@parametrize_with_checks(
    [
        quick(min_confidence=0.51),
        EMSCOClassifier(  # in folds
            min_confidence=0.51, search="evolution", estimator="logistic", **SMALLEST
        ),
    ]
)
def test_scikit_learn_contract_of_other_settings(estimator, check):
    check(estimator)


def test_a_clone_has_the_same_parameters_and_is_not_fitted(table):
    fitted = quick(costs=dict(zip(NAMES, range(1, 7), strict=True)), cv=3).fit(*table)
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    assert not hasattr(twin, "front_")


def test_a_search_with_settings_can_be_cloned_set_and_told_apart():
    clf = EMSCOClassifier(search=PaperSearch(mutation_rate=0.1))
    twin = clone(clf).set_params(search__mutation_rate=0.2, search__growth=3)
    assert clf.search == PaperSearch(mutation_rate=0.1)
    assert twin.search == PaperSearch(mutation_rate=0.2, growth=3)
    assert "search=PaperSearch(mutation_rate=0.1," in repr(clf)


def test_the_class_of_a_papers_search_in_place_of_a_value_is_refused():
    X, y = make_classification(60, 4, random_state=0)
    with pytest.raises(ParameterError, match=r"search must be a value of PaperSearch, such as"):
        EMSCOClassifier(search=PaperSearch).fit(X, y)


def test_an_unknown_parameter_of_a_search_is_refused():
    with pytest.raises(ValueError, match=r"be out of mutation_rate, .*, growth, got 'rate'"):
        PaperSearch().set_params(rate=0.2)
    with pytest.raises(TypeError, match="mutation_rate"):
        EMSCOClassifier(mutation_rate=0.2)


def test_the_papers_classifier_takes_the_parameters_of_its_search():
    assert EMSCOClassifier.paper(search="paper").search == PaperSearch()
    assert EMSCOClassifier.paper(epsilon=0.5).search == PaperSearch(epsilon=0.5)
    both = EMSCOClassifier.paper(search=PaperSearch(growth=2), epsilon=0.5)
    assert both.search == PaperSearch(growth=2, epsilon=0.5)
    with pytest.raises(ParameterError, match="epsilon must be left out where search is 'exact'"):
        EMSCOClassifier.paper(search="exact", epsilon=0.5)


def test_settings_of_one_papers_classifier_are_not_those_of_another():
    first, second = EMSCOClassifier.paper(), EMSCOClassifier.paper()
    assert first.set_params(search__mutation_rate=0.1).search == PaperSearch(mutation_rate=0.1)
    assert second.search == PaperSearch()


def test_a_grid_over_settings_of_the_search_fits_each_of_them(table):
    clf = EMSCOClassifier.paper(generations=2, population_size=30, random_state=0)
    grid_search = GridSearchCV(clf, {"search__stage_bias": [1.0, 3.0]}, cv=2).fit(*table)
    best = grid_search.best_estimator_
    assert grid_search.best_params_["search__stage_bias"] == best.search.stage_bias


def test_works_at_the_end_of_a_pipeline(table):
    X, y = table
    pipeline = make_pipeline(PowerTransformer(), quick()).fit(X, y)
    assert pipeline.score(X, y) > 0.6
    assert pipeline.predict_proba(X).shape == (120, 2)


def test_grid_search_picks_by_a_selective_scorer_inside_a_pipeline(table):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), quick())
    grid = {"emscoclassifier__min_confidence": [0.6, 0.99]}
    grid_search = GridSearchCV(pipeline, grid, scoring=make_selective_scorer("coverage"), cv=3).fit(
        X, y
    )
    assert grid_search.best_params_ == {"emscoclassifier__min_confidence": 0.6}


def test_cross_validate_reports_several_selective_scores(table):
    names = ("coverage", "accuracy", "cost", "balanced")
    scoring = {name: make_selective_scorer(name) for name in names}
    result = cross_validate(quick(), *table, scoring=scoring, cv=3)
    assert (result["test_cost"] < 0).all()
    assert (result["test_accuracy"] > 0.5).all()
    assert ((result["test_coverage"] > 0) & (result["test_coverage"] <= 1)).all()


def test_groups_are_routed_to_the_splitter(table):
    X, y = table
    groups = np.repeat(np.arange(12), 10)
    with config_context(enable_metadata_routing=True):
        clf = quick(cv=GroupKFold(3)).set_fit_request(groups=True)
        result = cross_validate(clf, X, y, params={"groups": groups}, cv=GroupKFold(2))
    assert (result["test_score"] > 0.5).all()


def test_a_splitter_by_groups_without_groups_is_refused(table):
    with pytest.raises(ValueError, match="cv must be able to split the 120 rows"):
        quick(cv=GroupKFold(3)).fit(*table)


@pytest.mark.parametrize(
    ("cv", "n_scored"),
    [
        (0.25, 30),
        (3, 120),
        (KFold(4), 120),
        (PredefinedSplit(np.r_[np.full(80, -1), np.zeros(40, int)]), 40),
        ([(np.arange(70), np.arange(70, 120)), (np.arange(50, 120), np.arange(50))], 100),
    ],
)
def test_designs_are_scored_on_every_scored_row_of_every_split(table, cv, n_scored):
    assert quick(cv=cv).fit(*table).front_[0].n_rows == n_scored


@pytest.mark.parametrize("make", [quick, quick_with_thresholds_by_stage])
def test_front_figures_are_those_of_the_deployed_stages_on_the_scored_rows(table, make):
    X, y = table
    fold = np.r_[np.full(80, -1), np.zeros(40, int)]
    clf = make(cv=PredefinedSplit(fold), costs=[1, 2, 3, 4, 5, 6]).fit(X, y)
    for i, point in enumerate(clf.front_):
        report = clf.choose(i).evaluate(X[80:], y[80:])
        assert (report.coverage, report.accuracy) == (point.coverage, point.accuracy)
        assert report.cost == pytest.approx(point.cost, rel=1e-12)
        assert tuple(leave.n_rows for leave in report.exits[:-1]) == point.exits


def test_without_refit_the_scored_classifiers_are_deployed(table):
    X, y = table
    fold = np.r_[np.full(80, -1), np.zeros(40, int)]
    clf = quick_in_papers_space(cv=PredefinedSplit(fold), max_stages=1).fit(X, y)
    scaler = StandardScaler().fit(X[:80])
    model = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(
        scaler.transform(X[:80]), y[:80]
    )
    expected = model.predict_proba(scaler.transform(X))
    np.testing.assert_allclose(clf.predict_proba(X), expected, atol=1e-9)


@pytest.mark.parametrize("settings", [{"refit": True}, {"refit": "all"}, {"cv": 3, "refit": True}])
def test_a_refit_deploys_classifiers_of_all_rows(table, settings):
    X, y = table
    clf = quick_in_papers_space(max_stages=1, **settings).fit(X, y)
    rows = StandardScaler().fit_transform(X)
    expected = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(rows, y)
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(rows), atol=1e-9)


def test_predict_answers_for_rejected_rows_and_decide_does_not(table):
    X, y = table
    clf = quick(min_confidence=0.97).fit(X, y)
    decisions = clf.decide(X)
    assert not decisions.accepted.all()
    assert set(clf.predict(X)) <= {"ill", "well"}
    assert decisions.labels.mask.tolist() == (~decisions.accepted).tolist()


def test_choose_deploys_the_point_it_is_given(table):
    clf = quick(costs=[1, 2, 3, 4, 5, 6]).fit(*table)
    last = clf.front_[-1]
    assert clf.choose(last) is clf
    assert (clf.point_, clf.design_, clf.cascade_.design) == (last, last.design, last.design)


def test_choose_refuses_a_point_of_another_front(table):
    clf = quick(min_confidence=0.8).fit(*table)
    other = quick(min_confidence=0.6).fit(*table)
    with pytest.raises(
        ValueError, match="point must be one of this front_, its position or a rule, got Par"
    ):
        clf.choose(other.front_[0])
    with pytest.raises(ValueError, match="point must be a whole number from 0 to"):
        clf.choose(10_000)


def test_history_tells_of_every_generation(table):
    history = quick(search="paper", generations=5).fit(*table).history_
    assert [record.generation for record in history] == [0, 1, 2, 3, 4, 5]
    assert all(a.n_designs <= b.n_designs for a, b in pairwise(history))
    assert all(a.n_subsets <= b.n_subsets for a, b in pairwise(history))
    assert all(a.seconds < b.seconds for a, b in pairwise(history))
    assert history[-1].n_front >= 1
    assert isinstance(history[-1].best.design, Design)


@pytest.mark.parametrize("search", SEARCHES)
def test_the_best_of_the_last_generation_is_on_the_front(table, search):
    prefer = "fittest" if search == "paper" else "balanced"
    clf = quick(prefer=prefer, search=search).fit(*table)
    assert clf.design_ == clf.front_.prefer(prefer).design == clf.history_[-1].best.design
    if search == "paper":
        assert clf.design_ == clf.front_[0].design


@pytest.mark.parametrize("search", ["exact", "evolution"])
def test_the_fittest_is_the_papers_for_every_search(table, search):
    costs = [1, 2, 30, 4, 50, 6]
    clf = quick(prefer="fittest", search=search, costs=costs).fit(*table)
    points = [point for point in clf.front_ if not point.design.buys_nothing]
    cheapest = min(point.cost for point in points)
    lengths = [np.hypot(np.hypot(p.coverage, p.accuracy), cheapest / p.cost) for p in points]
    assert clf.point_ is points[int(np.argmax(lengths))]
    assert clf.point_ is not clf.front_.balanced()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "all 8 generations have run"),
        ({"generations": 0}, "all 0 generations have run"),
        ({"max_stages": 1, "allow_exclusion": False}, "only one design exists"),
        ({"patience": 1}, "the fittest design has stayed the same for 1 generation"),
        ({"time_limit": 1e-9}, "the time limit of 1e-09 s was reached"),
        ({"population_size": 2}, "the population was full of elite designs"),
    ],
)
def test_stop_reason_of_the_papers_search_says_why(table, settings, reason):
    fitted = quick(search="paper", **settings).fit(*table)
    assert str(fitted.stop_reason_).startswith(reason)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "all 8 generations have run"),
        ({"generations": 0}, "all 0 generations have run"),
        ({"max_stages": 1, "allow_exclusion": False}, "only one design exists"),
        ({"patience": 1, "generations": 40}, "the front has stayed the same for 1 generation"),
        ({"time_limit": 1e-9}, "the time limit of 1e-09 s was reached"),
        (
            {"max_stages": 2, "population_size": 300, "allow_exclusion": False},
            "all 63 designs have been scored",
        ),
        ({"max_stages": 2, "population_size": 700}, "all 665 designs have been scored"),
    ],
)
def test_stop_reason_of_the_evolution_says_why(table, settings, reason):
    fitted = quick(search="evolution", **settings).fit(*table)
    assert str(fitted.stop_reason_) == reason


def test_limits_choose_the_best_point_within_them(table):
    clf = quick(costs=[1, 2, 3, 4, 5, 6], prefer={"max_cost": 12}).fit(*table)
    assert clf.point_.cost <= 12
    assert clf.point_ == clf.front_.select(max_cost=12)


def test_limits_that_no_design_meets_keep_the_front_to_choose_from(table):
    clf = quick(prefer={"max_cost": 0.1})
    with pytest.raises(NoSuchDesign, match=r"None of the .* designs has cost at most 0.1"):
        clf.fit(*table)
    assert clf.choose(0).decide(table[0]).accepted.any()


def test_a_failed_choice_leaves_no_cascade_of_an_earlier_fit(table):
    clf = quick().fit(*table)
    with pytest.raises(NoSuchDesign, match="None of the"):
        clf.set_params(prefer={"max_cost": 0.1}).fit(*table)
    assert not hasattr(clf, "cascade_")


def test_choose_takes_a_rule_or_a_numpy_position_too(table):
    clf = quick().fit(*table)
    for rule in ("knee", "fittest", {"max_cost": 4}):
        assert clf.choose(rule).point_ == clf.front_.prefer(rule)
    assert clf.choose(np.int64(0)).point_ == clf.front_[0]


def test_a_threshold_that_nothing_reaches_is_warned_of(table):
    with pytest.warns(UserWarning, match="no design accepts any scored row at min_confidence=1"):
        quick(min_confidence=1.0).fit(*table)


def test_costs_by_name_do_not_depend_on_their_order(table):
    X, y = table
    by_name = dict(zip(NAMES, [1.0, 2, 3, 4, 5, 6], strict=True))
    shuffled = dict(sorted(by_name.items()))
    fronts = [
        quick(costs=costs).fit(X, y).front_.points
        for costs in (by_name, shuffled, [1, 2, 3, 4, 5, 6], FeatureCosts.from_mapping(shuffled))
    ]
    assert all(front == fronts[0] for front in fronts)


def test_unnamed_columns_take_the_names_of_feature_costs(table):
    X, y = table
    costs = FeatureCosts.from_array([1, 2, 3, 4, 5, 6], NAMES)
    assert quick(costs=costs).fit(X.to_numpy(), y).design_.names == tuple(NAMES)


def test_pandas_polars_and_numpy_give_the_same_front(table):
    X, y = table
    frames = [X, pl.from_pandas(X), X.to_numpy()]
    fronts = [quick().fit(frame, y).front_ for frame in frames]
    chromosomes = [[np.asarray(p.design).tolist() for p in front] for front in fronts]
    assert chromosomes[0] == chromosomes[1] == chromosomes[2]
    assert fronts[1].costs.names == tuple(NAMES)
    assert fronts[2].costs.names == ("x0", "x1", "x2", "x3", "x4", "x5")


@pytest.mark.parametrize(
    ("search", "step", "wording"),
    [
        ("exact", "exact, chains to size", "designs settled"),
        ("evolution", "evolution, generation", "designs,"),
        ("paper", "paper, generation", "designs,"),
    ],
)
def test_progress_goes_to_standard_error_only_when_asked_for(table, capsys, search, step, wording):
    quick(search=search).fit(*table)
    silent = capsys.readouterr()
    quick(search=search, verbose=1).fit(*table)
    shown = capsys.readouterr()
    assert silent.out == silent.err == shown.out == ""
    assert step in shown.err
    assert wording in " ".join(shown.err.split())


def test_progress_forecasts_the_exact_search_that_auto_has_chosen(table, capsys):
    quick(verbose=1).fit(*table)
    forecast = "exact search over 6,125 designs should take a second or less on one core"
    assert forecast in " ".join(capsys.readouterr().err.split())


def test_fit_leaves_its_inputs_alone(table):
    X, y = table
    rows, labels = X.to_numpy().copy(), y.copy()
    for array in (rows, labels):
        array.setflags(write=False)
    quick().fit(rows, labels).decide(rows)
    assert np.array_equal(rows, X.to_numpy())


def test_more_stages_never_make_the_balanced_score_of_breast_cancer_collapse():
    X, y = load_breast_cancer(return_X_y=True)
    clf = quick(generations=15, population_size=300, max_stages=3, random_state=1).fit(
        X[::2], y[::2]
    )
    report = clf.evaluate(X[1::2], y[1::2])
    assert report.accuracy > 0.92
    assert report.coverage > 0.93
    assert report.cost < 10


# Defaults


def test_buying_everything_answers_everyone_by_default(table):
    clf = quick_with_thresholds_by_stage().fit(*table)
    assert clf.front_.min_confidence == clf.cascade_.min_confidence == 0
    assert [one.kind for one in clf.front_.references] == ["commonest", "answered"]
    assert clf.decide(table[0]).accepted.all()
    assert clf.min_confidence == "auto"  # as scikit-learn wants its parameters: left alone


def test_shares_of_searched_thresholds_are_those_of_the_weights(table):
    X, y = table
    weights = np.where(y == "ill", 3.0, 1.0)
    ill = weights[y == "ill"].sum() / weights.sum()
    front = quick_with_thresholds_by_stage().fit(X, y, weights).front_
    thresholds = {str(one): one for point in front for one in point.design.thresholds or ()}
    by_class = [one for one in thresholds.values() if isinstance(one, dict)]
    assert by_class
    for one in by_class:  # of the doubt that the share of each class leaves, the same part is left
        assert (1 - one["ill"]) * ill == pytest.approx((1 - one["well"]) * (1 - ill), abs=2e-3)


@pytest.mark.parametrize("min_confidence", ["auto", 0.75])
@pytest.mark.parametrize(
    "last", [{"always_answer": True}, {"reject_below": {"ill": 0, "well": 0.6}}]
)
def test_a_last_stage_with_a_threshold_of_its_own_is_read_again(
    table, tmp_path, last, min_confidence
):
    clf = quick(search="evolution", min_confidence=min_confidence, **last).fit(*table)
    decided = clf.decide(table[0])
    if "always_answer" in last:
        assert decided.accepted.all()
    ill = decided.guesses == "ill"
    assert decided.accepted[ill].all()  # by the last stage at the latest
    clf.front_.save(tmp_path / "front.json")
    front = ParetoFront.load(tmp_path / "front.json")
    assert front.points == clf.front_.points
    assert_same_bits(front.cascade(clf.point_).decide(table[0]), decided)


def test_designs_have_four_stages_at_most_by_default_and_may_leave_features_out(table):
    designs = [point.design for point in quick(min_confidence=0.9).fit(*table).front_]
    assert max(design.n_stages for design in designs) == 4
    assert any((design.stages < 0).any() for design in designs)


@pytest.mark.parametrize("search", SEARCHES)
def test_more_stages_than_features_are_as_many_as_there_are(table, search):
    X, y = table
    given = [quick(search=search, max_stages=n).fit(X[["age", "scan"]], y) for n in (2, 5)]
    assert given[0].front_.points == given[1].front_.points
    assert given[1].max_stages == 5


def test_the_economical_point_is_deployed_by_default(table):
    clf = quick().fit(*table)
    assert clf.point_ is clf.front_.economical()
    assert clf.point_.versus_everything.shortfall <= 0.5
    assert clf.point_.cost < clf.front_.costs.total


@pytest.mark.parametrize("search", ["exact", "evolution"])
def test_features_that_cost_nothing_are_bought_first(table, search):
    clf = quick(search=search, costs=[1, 0, 3, 4, 0, 6]).fit(*table)
    *buying, nothing = clf.front_
    for point in buying:
        assert [point.design.stages[NAMES.index(name)] for name in ("pulse", "gait")] == [0, 0]
    assert nothing.design.buys_nothing


def test_the_papers_search_may_leave_features_that_cost_nothing_for_later(table):
    clf = quick(search="paper", costs=[1, 0, 3, 4, 0, 6]).fit(*table)
    assert any(point.design.stages[1] != 0 for point in clf.front_)


def test_the_papers_classifier_is_that_of_the_paper(table):
    clf = EMSCOClassifier.paper(generations=8, population_size=30, random_state=0)
    twin = quick_in_papers_space(search="paper", prefer="fittest").fit(*table)
    assert clf.fit(*table).front_.points == twin.front_.points
    assert clf.point_ == clf.front_[0] == twin.point_
    assert all((point.design.stages >= 0).all() for point in clf.front_)
    assert (clf.cv, clf.refit, clf.estimator, clf.front_.min_confidence) == (
        1 / 3,
        "first",
        None,
        0.75,
    )


def test_settings_of_the_papers_classifier_may_be_overridden():
    clf = EMSCOClassifier.paper(min_confidence=0.9, search="exact", costs=[1, 2])
    assert (clf.min_confidence, clf.search, clf.costs) == (0.9, "exact", [1, 2])
    assert (clf.prefer, clf.allow_exclusion) == ("fittest", False)


def test_one_point_is_the_choice_of_the_economical_rule():
    X, y = load_breast_cancer(return_X_y=True)
    clf = quick(search="evolution", generations=15, random_state=1).fit(X, y)
    (chosen,) = (point for point in clf.front_ if point.is_economical)
    assert clf.point_ is clf.front_.economical() is chosen
    assert chosen.design in list(clf.front_.ties(chosen))
    assert clf.front_.deployed == clf.front_.position(chosen)


# Bad input


def bad(X=None, y=None, **settings):
    rows, labels = make_classification(40, 4, n_redundant=0, random_state=0)
    rows = rows if X is None else X(rows)
    return quick(**settings).fit(rows, labels if y is None else y(labels))


def with_value(value):
    def change(rows):
        frame = pd.DataFrame(rows, columns=["a", "b", "c", "d"])
        frame["c"] = frame["c"].astype(object if isinstance(value, str) else float)
        frame.loc[7, "c"] = value
        return frame

    return change


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"X": with_value(np.nan)},
            r"no missing value \(empty cell or NaN\), got one in column 'c', row 7;",
        ),
        (
            {"X": with_value(-np.inf)},
            r"X must be finite, got infinity \(-inf\) in column 'c', row 7",
        ),
        ({"y": lambda y: y * 0}, r"y must hold two classes or more, got one class only: 0\."),
        ({"y": lambda _: np.linspace(0, 1, 40)}, "Unknown label type: continuous.*hold classes"),
        (
            {"X": lambda _: np.ones((512, 1)), "y": lambda _: np.arange(512) % 256},
            r"y must hold classes, got 256 different numbers, most of them in fewer than 10 rows; "
            r"make classes of it first, as pandas\.qcut",
        ),
        ({"y": lambda y: y[:-1]}, r"inconsistent numbers of samples: \[40, 39\]"),
        ({"y": lambda _: np.arange(40) == 3}, "class True must have at least 2 rows"),
        ({"cv": [(np.arange(5), np.arange(5))], "y": lambda y: np.sort(y)}, "none of 1"),
        (
            {"costs": [1, 2, -3, 4]},
            r"costs must be finite and at least 0, got -3 for feature 'x2'\.",
        ),
        ({"costs": [1, np.nan, 3, 4]}, "at least 0, got nan for feature 'x1'"),
        ({"costs": [1, 2]}, r"costs must have one entry for each of the 4 features, got 2\."),
        (
            {"costs": {"x0": 1, "x9": 2}},
            r"costs must name features of the data.*got 'x9'; columns without",
        ),
        ({"costs": {"x0": 1}}, "a cost for every feature, got none for 'x1', 'x2', 'x3'"),
        ({"costs": "cheap"}, "costs must be"),
        ({"min_confidence": 0.5}, r"number in \(0.5, 1\], since guessing reaches .*, got 0.5\."),
        ({"min_confidence": 1.01}, r"min_confidence must be a number in \(0.5, 1\], got 1.01\."),
        (
            {"min_confidence": "high"},
            'min_confidence must be "auto", a number or a dict, got .high',
        ),
        (
            {"min_confidence": 0.25, "y": lambda _: np.arange(40) % 4},
            r"min_confidence must be a number in \(0.25, 1\], since guessing .*, got 0.25\.",
        ),
        ({"min_confidence": {0: 0.9}}, "a threshold for every class, got none for 1"),
        ({"min_confidence": {0: 0.9, 1: 0.9, 2: 0.9}}, r"name the classes 0, 1, got 2 too"),
        ({"min_confidence": {0: 0.9, 1: 0}}, r"of class 1 must be a number in \(0, 1\], got 0"),
        ({"estimator": "forest"}, "estimator must be"),
        ({"calibration": "platt"}, 'calibration must be one of "sigmoid", "isotonic", got'),
        ({"class_weight": "even"}, "class_weight must be None, \"balanced\" or a dict.*got 'even'"),
        ({"class_weight": {5: 1}}, r"class_weight must name the classes 0, 1, got 5"),
        ({"class_weight": {1: -1}}, r"class_weight of class 1 must be a number.*got -1"),
        ({"gaps": "drop"}, 'gaps must be one of "refuse", "impute", "skip", got \'drop\''),
        ({"allow_exclusion": 1}, "allow_exclusion must be True or False, got 1"),
        ({"evaluation_cost": -1}, r"evaluation_cost must be a number in \[0, .*got -1"),
        ({"constraints": {"last": ["x0"]}}, "constraints must .*got 'last'"),
        ({"max_stages": 0}, r"max_stages must be a whole number from 1 up, got 0\."),
        ({"max_stages": 2.5}, "max_stages must be a whole number from 1 up, got 2.5"),
        (
            {"search": "greedy"},
            'search must be one of "auto", "exact", "evolution", "paper", got \'greedy\'',
        ),
        (
            {"search": PaperSearch(stage_bias=1e9)},
            r"stage_bias must be a number in \(0, 1000\], got 1000000000.0",
        ),
        (
            {"device": "cuda"},
            'device must be "cpu", as there are no fits on a GPU yet, got .cuda.; leave it out',
        ),
        ({"n_jobs": 0}, "n_jobs must be a number of threads, or negative .*, got 0"),
        ({"n_jobs": "all"}, "n_jobs must be a whole number .* got 'all'"),
        (
            {"X": with_value("old")},
            "only numbers, only text or only truth values in a column, got str 'old' beside other "
            "values in column 'c'",
        ),
        ({"prefer": ["balanced"]}, "prefer must be .* got \\['balanced'\\]"),
        ({"prefer": {"min_accuracy": 97}}, r"min_accuracy must be a number in \[0, 1\], got 97"),
        ({"prefer": {"max_cost": "low"}}, "max_cost must be a number in .* got 'low'"),
        (
            {"prefer": "cheapest"},
            'prefer must be "economical", "accurate", "balanced", "fittest", "knee", '
            '"one_standard_error" or '
            "limits.*got .cheapest",
        ),
        ({"prefer": {"max_price": 3}}, "limits out of max_cost.*got 'max_price'"),
        ({"cv": 1}, 'cv must be "auto", a fraction between 0 and 1, a number of fol.*got 1'),
        ({"cv": 0.0}, 'cv must be "auto", a fraction'),
        ({"cv": "many"}, "cv must be .*got 'many'"),
        ({"cv": None}, 'cv must be "auto", a fraction.*got None'),
        ({"cv": 30}, "class 0 must have at least 30 rows because cv makes 30 folds"),
        ({"refit": "yes"}, 'refit must be one of "average", "all", "first", got \'yes\''),
        ({"population_size": 1}, "population_size must be a whole number from 2 up, got 1"),
        ({"generations": -1}, "generations must be a whole number from 0 up, got -1"),
        (
            {"search": PaperSearch(mutation_rate=1.5)},
            r"mutation_rate must be a number in \[0, 1\], got 1.5",
        ),
        (
            {"search": PaperSearch(crossover_rate=-0.1)},
            r"crossover_rate must be a number in \[0, 1\], got -0.1",
        ),
        (
            {"search": PaperSearch(elite_fraction=2)},
            r"elite_fraction must be a number in \[0, 1\], got 2",
        ),
        (
            {"search": PaperSearch(stage_bias=0)},
            r"stage_bias must be a number in \(0, 1000\], got 0",
        ),
        ({"search": PaperSearch(epsilon=0)}, r"epsilon must be a number in \(0, inf\), got 0"),
        ({"search": PaperSearch(growth=True)}, "growth must be a whole number from 0 up, got True"),
        ({"patience": 0}, "patience must be a whole number from 1 up, got 0"),
        ({"time_limit": 0}, r"time_limit must be a number in \(0, inf\), got 0"),
        ({"memory_limit": "lots"}, "memory_limit must be a number of bytes.*got 'lots'"),
        ({"memory_limit": 100}, "memory_limit must be at least"),
        ({"verbose": -1}, "verbose must be a whole number from 0 up, got -1"),
    ],
)
def test_bad_input_gets_one_clear_sentence(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        bad(**arguments)
    assert "\n" not in str(caught.value)


def test_fewer_rows_than_classes_are_refused():
    with pytest.raises(ValueError, match=r"n_samples=1|one class only"):
        quick().fit(np.ones((1, 2)), ["a"])


def test_mismatched_columns_at_decision_time_are_refused(table):
    X, y = table
    clf = quick().fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match="X has 5 features, but EMSCOClassifier is expecting 6"):
        clf.decide(X.to_numpy()[:, :5])


def test_nan_at_decision_time_names_the_column(table):
    X, y = table
    clf = quick().fit(X, y)
    with pytest.raises(
        ValueError, match=r"X must have no missing value .* in column 'scan', row 3"
    ):
        clf.decide(X.assign(scan=X["scan"].where(X.index != 3)))


def test_evaluate_refuses_labels_that_are_not_classes(table):
    X, y = table
    clf = quick().fit(X, y)
    with pytest.raises(ValueError, match=r"y must hold the classes \['ill', 'well'\], got 'dead'"):
        clf.evaluate(X, np.where(np.arange(120) == 5, "dead", y))


def test_ctrl_c_during_fit_keeps_what_was_found(table, monkeypatch):
    score, calls = Evaluator.score, []

    def interrupted(self, designs):
        calls.append(len(designs))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return score(self, designs)

    monkeypatch.setattr(Evaluator, "score", interrupted)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        clf = quick(search="paper").fit(*table)
    assert str(clf.stop_reason_) == "interrupted after 2 generations"
    assert "the best designs so far are kept" in str(seen[0].message)
    assert clf.decide(table[0]).accepted.any()


# Exact search and evolution


@pytest.fixture
def large_table():
    """40 features, far too many for exact search, as (X, y)."""
    return make_classification(150, 40, n_informative=5, random_state=0)


def chromosomes(designs):
    return [np.asarray(design).tolist() for design in designs]


def test_exact_search_gives_a_proven_front_by_cost_one_point_per_vector(table):
    clf = quick_in_papers_space(search="exact", max_stages=3).fit(*table)
    front = clf.front_
    assert front.proven
    assert str(clf.stop_reason_) == "the front is proven: all 603 designs are settled"
    assert len({(p.coverage, p.accuracy, p.cost) for p in front}) == len(front) > 3
    assert all(a.cost <= b.cost for a, b in pairwise(front))


def test_nothing_that_another_search_finds_beats_a_proven_front(table):
    exact, paper = (quick(search=name).fit(*table).front_ for name in ("exact", "paper"))
    proven = np.array([(p.coverage, p.accuracy, -p.cost) for p in exact])
    for point in paper:
        figures = np.array([point.coverage, point.accuracy, -point.cost])
        assert ((proven >= figures).all(axis=1)).any()


def test_evolution_that_scores_every_design_finds_the_proven_front(table):
    settings = {"population_size": 300, "generations": 50, "min_confidence": 0.6}
    exact = quick_in_papers_space(search="exact", **settings).fit(*table)
    evolution = quick_in_papers_space(search="evolution", **settings).fit(*table)
    assert str(evolution.stop_reason_) == "all 603 designs have been scored"
    assert not evolution.front_.proven
    evolved, proven = (
        {replace(point, expected=None) for point in clf.front_} for clf in (evolution, exact)
    )
    assert evolved == proven


@pytest.mark.parametrize("search", ["exact", "evolution"])
def test_ties_of_a_point_are_as_many_different_designs_as_it_says_itself_first(table, search):
    clf = quick(search=search, min_confidence=0.51, population_size=300).fit(*table)
    for i, point in enumerate(clf.front_):
        tied = list(clf.front_.ties(point))
        assert tied[0] == point.design
        assert len(set(tied)) == len(tied) == point.n_tied
        assert chromosomes(clf.front_.ties(i)) == chromosomes(tied)
    assert max(point.n_tied for point in clf.front_) > 1


def test_designs_that_tie_have_the_figures_of_their_point(table):
    X, y = table
    fold = np.r_[np.full(80, -1), np.zeros(40, int)]
    settings = {"search": "exact", "cv": PredefinedSplit(fold), "min_confidence": 0.51}
    clf = quick_in_papers_space(**settings).fit(X, y)
    splits = SplitRows.cut(
        SplitData(X.to_numpy(), (y == "well").astype(np.uint8), *np.split(np.arange(120), [80]))
    )
    evaluator = Evaluator(logistic_bank([splits], 6), clf.front_.costs, 0.51, 3)
    for point in clf.front_:
        scores = evaluator.score(np.array(chromosomes(clf.front_.ties(point)), dtype=np.int16))
        assert set(scores.coverage) == {point.coverage}
        assert set(scores.accuracy) == {point.accuracy}
        assert set(scores.cost) == {point.cost}


@pytest.mark.parametrize(("settings", "n"), [({}, "6,125"), (PAPER_SPACE, "603")])
def test_auto_proves_a_small_space_and_needs_no_note(table, settings, n):
    clf = quick(**settings).fit(*table)
    assert clf.front_.proven
    assert str(clf.stop_reason_) == f"the front is proven: all {n} designs are settled"


def test_auto_evolves_a_large_space_and_notes_its_size(large_table):
    clf = quick(generations=2).fit(*large_table)
    assert not clf.front_.proven
    assert str(clf.stop_reason_) == (
        "all 2 generations have run (exact search is out of reach: about 10^27 designs)"
    )


def test_exact_search_of_too_large_a_space_is_refused_in_one_sentence(large_table):
    message = (
        r'^search must be "evolution", "paper" or "auto" here, got "exact", which would settle '
        r"about 10\^27 designs, fit 1,099,511,627,775 models for 40 features and take about "
        r"[0-9,]+ years on one core; use fewer features or stages, or raise memory_limit\.$"
    )
    with pytest.raises(ParameterError, match=message):
        quick(search="exact").fit(*large_table)


def test_exact_search_past_the_memory_limit_is_refused(table):
    with pytest.raises(ParameterError, match="keep 63 models where memory_limit holds"):
        quick(search="exact", memory_limit="10KB").fit(*table)


def test_a_time_limit_leaves_exact_search_with_what_is_known(table):
    clf = quick_in_papers_space(search="exact", time_limit=1e-9).fit(*table)
    assert not clf.front_.proven
    assert str(clf.stop_reason_) == (
        "the time limit of 1e-09 s was reached, so the front is not proven "
        "(0 of 603 designs are settled)"
    )
    assert clf.decide(table[0]).accepted.any()


def test_ctrl_c_leaves_exact_search_with_what_is_known(table, monkeypatch):
    def interrupted(self, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(SearchProgress, "exact", interrupted)
    with pytest.warns(UserWarning, match="the best designs so far are kept, but not proven"):
        clf = quick(search="exact").fit(*table)
    assert not clf.front_.proven
    assert str(clf.stop_reason_).startswith("interrupted, so the front is not proven (")
    assert clf.decide(table[0]).accepted.any()


def test_ctrl_c_leaves_evolution_with_what_is_known(table, monkeypatch):
    def interrupted(self, record):
        if record.generation == 2:
            raise KeyboardInterrupt

    # Chains are made of all subsets at the end, which Ctrl-C does not wait for.
    monkeypatch.setattr(EvolutionSearch, "wants_chains", False)
    with monkeypatch.context() as patch:
        patch.setattr(SearchProgress, "generation", interrupted)
        with pytest.warns(UserWarning, match="interrupted after 2 generations"):
            clf = quick(search="evolution").fit(*table)
    assert str(clf.stop_reason_) == "interrupted after 2 generations"
    whole = quick(search="evolution", generations=2).fit(*table)
    assert clf.front_.points == whole.front_.points


@pytest.mark.parametrize("search", SEARCHES)
def test_the_same_seed_gives_the_same_front_with_any_number_of_jobs(table, search):
    fits = [quick(search=search, n_jobs=n_jobs).fit(*table) for n_jobs in (1, 2)]
    assert fits[0].front_.points == fits[1].front_.points
    ties = [[chromosomes(fit.front_.ties(point)) for point in fit.front_] for fit in fits]
    assert ties[0] == ties[1]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_fitted_classifier_can_be_pickled_before_and_after_its_ties_are_asked_for(table, search):
    clf = quick(search=search, min_confidence=0.51).fit(*table)
    fresh = pickle.loads(pickle.dumps(clf))
    ties = [chromosomes(clf.front_.ties(point)) for point in clf.front_]
    for twin in (fresh, pickle.loads(pickle.dumps(clf))):
        assert twin.front_.points == clf.front_.points
        assert [chromosomes(twin.front_.ties(point)) for point in twin.front_] == ties
        assert twin.predict(table[0]).tolist() == clf.predict(table[0]).tolist()


def test_the_history_of_exact_search_ends_with_the_whole_space(table):
    clf = quick_in_papers_space(search="exact").fit(*table)
    first, last = clf.history_
    assert first.n_designs < last.n_designs == 603
    assert last.n_subsets == 63
    assert last.n_front == len(clf.front_)
    assert last.best.design == clf.front_.balanced().design


@pytest.mark.parametrize("search", ["exact", "evolution"])
@pytest.mark.parametrize(
    "settings", [{"cv": 3}, {"refit": True}, {"costs": [0.1, 0, 0.3, 1, 1, 7]}]
)
def test_every_search_works_with_every_kind_of_split_and_cost(table, search, settings):
    clf = quick(search=search, **settings).fit(*table)
    for i in range(len(clf.front_)):
        assert clf.choose(i).cascade_.design == clf.front_[i].design


@pytest.mark.parametrize("search", ["exact", "evolution"])
def test_one_feature_is_one_design(table, search):
    X, y = table
    clf = quick(search=search).fit(X[["age"]], y)
    assert chromosomes(point.design for point in clf.front_) == [[0], [-1]]
    assert clf.front_.proven is (search == "exact")


def test_a_classifier_certifies_what_it_has_fitted_and_knows_its_rows(small_problem):
    X, y = small_problem
    clf = EMSCOClassifier(generations=4, population_size=12, random_state=0, **PLAIN)
    certificate = clf.fit(X[:80], y[:80]).certify(X[80:], y[80:], min_coverage=0.2)
    assert certificate.deployed in clf.front_.points
    assert certificate.covers(clf.choose(certificate.deployed).cascade_)
    with pytest.raises(DataError, match="got 80 rows that it has all seen"):
        clf.certify(X[:80], y[:80], min_coverage=0.2)
