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
from sklearn.datasets import load_breast_cancer
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
from support.settings import ONE_THRESHOLD, PAPER_SPACE, PLAIN

from emsco import Design, EMSCOClassifier, FeatureCosts, NoSuchDesign, PaperSearch
from emsco.errors import DataError
from emsco.metrics import make_selective_scorer
from emsco.scoring.evaluator import Evaluator
from emsco.search.evolution import EvolutionSearch
from emsco.search.progress import SearchProgress

NAMES = ["age", "pulse", "scan", "blood", "gait", "noise"]
SEARCHES = ["exact", "evolution", "paper"]


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
    with pytest.raises(NoSuchDesign):
        clf.fit(*table)
    assert clf.choose(0).decide(table[0]).accepted.any()


def test_a_failed_choice_leaves_no_cascade_of_an_earlier_fit(table):
    clf = quick().fit(*table)
    with pytest.raises(NoSuchDesign):
        clf.set_params(prefer={"max_cost": 0.1}).fit(*table)
    assert not hasattr(clf, "cascade_")


def test_choose_takes_a_rule_or_a_numpy_position_too(table):
    clf = quick().fit(*table)
    for rule in ("knee", "fittest", {"max_cost": 4}):
        assert clf.choose(rule).point_ == clf.front_.prefer(rule)
    assert clf.choose(np.int64(0)).point_ == clf.front_[0]


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
    assert clf.front_.deployed == clf.front_.position(chosen)


# Bad input


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


@pytest.mark.parametrize(("settings", "n"), [({}, "6,125"), (PAPER_SPACE, "603")])
def test_auto_proves_a_small_space_and_needs_no_note(table, settings, n):
    clf = quick(**settings).fit(*table)
    assert clf.front_.proven
    assert str(clf.stop_reason_) == f"the front is proven: all {n} designs are settled"


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
        with pytest.warns(UserWarning, match="nterrupted"):
            clf = quick(search="evolution").fit(*table)
    assert str(clf.stop_reason_) == "interrupted after 2 generations"
    whole = quick(search="evolution", generations=2).fit(*table)
    assert clf.front_.points == whole.front_.points


@pytest.mark.parametrize("search", SEARCHES)
def test_the_same_seed_gives_the_same_front_with_any_number_of_jobs(table, search):
    fits = [quick(search=search, n_jobs=n_jobs).fit(*table) for n_jobs in (1, 2)]
    assert fits[0].front_.points == fits[1].front_.points


@pytest.mark.parametrize("search", SEARCHES)
def test_a_fitted_classifier_can_be_pickled(table, search):
    clf = quick(search=search, min_confidence=0.51).fit(*table)
    twin = pickle.loads(pickle.dumps(clf))
    assert twin.front_.points == clf.front_.points
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
    with pytest.raises(DataError):
        clf.certify(X[:80], y[:80], min_coverage=0.2)
