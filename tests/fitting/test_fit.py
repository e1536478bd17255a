"""A fit from rows to a front: stage models chosen, searched with and refined; time limits."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import count
from textwrap import dedent
from time import process_time

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.settings import PLAIN

from emsco import Cascade, EMSCOClassifier, ParetoFront, RefinementEnd
from emsco.errors import EMSCOWarning, InterruptedWarning, ParameterError
from emsco.fitting import fit
from emsco.fitting.fit import Deadline
from emsco.front import economical
from emsco.front.assessment import Assessor
from emsco.models.boosting.fitters import BoostingFitter
from emsco.models.stage_models import LinearModels, SeparateModels, parts_of
from emsco.scoring.by_class import ByClass
from emsco.search.progress import SearchProgress

SMALL = {"max_stages": 2, "generations": 3, "population_size": 20, "random_state": 0}
SMALL |= {"search": "evolution", **PLAIN}


def crossed(n_rows=240, n_features=6, n_classes=2, seed=0):
    """Rows whose class depends on an interaction that no line and no curve can see."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    if n_classes == 3:
        y += (X[:, 2] > 0.7).astype(int) * (2 - y)
    return pd.DataFrame(X, columns=[f"test{i}" for i in range(n_features)]), y


@pytest.fixture(scope="module", autouse=True)
def _few_subsets_are_refined():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "MOST_SUBSETS", 4)
        yield


@pytest.fixture(scope="module")
def boosted(_few_subsets_are_refined):
    """A classifier with boosted stages, which were finished, and its rows."""
    X, y = crossed()
    settings = {"estimator": "boosting", "cv": 2, "refit": "average"}
    return EMSCOClassifier(**SMALL | settings).fit(X, y)


class TestAuto:
    def test_takes_trees_for_an_interaction(self):
        X, y = crossed(n_features=3)
        clf = EMSCOClassifier(**SMALL | {"estimator": "auto"}).fit(X, y)
        assert clf.model_choice_.family == "boosting"
        assert clf.model_choice_.losses["boosting"].full < clf.model_choice_.losses["spline"].full
        assert isinstance(clf.cascade_.models, SeparateModels)

    def test_takes_lines_where_they_are_as_good(self):
        X, _ = crossed()
        y = X["test0"] + X["test1"] > np.random.default_rng(1).normal(size=len(X))
        clf = EMSCOClassifier(**SMALL | {"estimator": "auto"}).fit(X, y)
        assert clf.model_choice_.family == "logistic"
        assert clf.refinement_ is None
        assert isinstance(clf.cascade_.models, LinearModels)

    def test_is_the_default_and_not_the_papers(self):
        assert EMSCOClassifier().estimator == "auto"
        assert EMSCOClassifier.paper().estimator is None


class TestBoosting:
    def test_sees_an_interaction_on_new_rows(self, boosted):
        X, y = crossed(2000, seed=1)
        assert boosted.score(X, y) > 0.85
        assert EMSCOClassifier(**SMALL).fit(*crossed()).score(X, y) < 0.65

    def test_designs_are_finished_with_models_of_their_own(self, boosted):
        assert str(boosted.refinement_).startswith(
            "searched with one boosted model for all subsets; "
        )
        assert boosted.refinement_.end is RefinementEnd.COMPLETE
        parts = parts_of(boosted.cascade_.models)
        assert len(parts) == 2
        assert all(isinstance(part, SeparateModels) for part in parts)

    def test_a_loaded_cascade_decides_to_the_bit(self, boosted, tmp_path):
        X, _ = crossed(300, seed=2)
        boosted.cascade_.save(tmp_path / "cascade.json")
        read = Cascade.load(tmp_path / "cascade.json").decide(X)
        decided = boosted.decide(X)
        assert np.array_equal(read.confidence, decided.confidence)
        assert np.array_equal(read.stage, decided.stage)

    def test_deciding_needs_neither_scikit_learn_nor_its_dependencies(self, boosted, tmp_path):
        X, _ = crossed(50, seed=2)
        boosted.cascade_.save(tmp_path / "cascade.json")
        np.save(tmp_path / "rows.npy", X.to_numpy())
        code = dedent("""
            import sys
            for name in ("sklearn", "scipy", "joblib", "pandas", "polars", "threadpoolctl"):
                sys.modules[name] = None
            from emsco import Cascade
            import numpy as np
            decisions = Cascade.load("cascade.json").decide(np.load("rows.npy"))
            print(decisions.confidence.tobytes().hex())
        """)
        command = [sys.executable, "-W", "error", "-c", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == boosted.decide(X).confidence.tobytes().hex()

    def test_a_front_of_trees_is_read_again(self, boosted, tmp_path):
        X, _ = crossed(100, seed=3)
        boosted.front_.save(tmp_path / "front.json")
        front = ParetoFront.load(tmp_path / "front.json")
        for point, other in zip(front, boosted.front_, strict=True):
            one, two = front.cascade(point), boosted.front_.cascade(other)
            assert np.array_equal(one.decide(X).confidence, two.decide(X).confidence)

    def test_a_case_is_decided_like_a_row_of_a_table(self, boosted):
        X, _ = crossed(20, seed=4)
        decisions = boosted.decide(X)
        for i, row in enumerate(X.to_dict("records")):
            case = boosted.cascade_.open()
            while case.needs:
                case = case.give({name: row[name] for name in case.needs})
            assert case.decision.confidence == decisions.confidence[i]
            assert case.decision.stage == decisions.stage[i]

    def test_the_cascade_does_on_scored_rows_what_the_front_says(self):
        X, y = crossed()
        split = [(np.arange(0, 240, 2), np.arange(1, 240, 2))]
        clf = EMSCOClassifier(**SMALL | {"estimator": "boosting", "cv": split}).fit(X, y)
        evaluation = clf.evaluate(X.iloc[1::2], y[1::2])
        assert evaluation.coverage == clf.point_.coverage
        assert evaluation.accuracy == clf.point_.accuracy
        assert evaluation.cost == pytest.approx(clf.point_.cost)

    def test_threads_change_no_bit(self):
        X, y = crossed()
        one, two = (
            EMSCOClassifier(**SMALL | {"estimator": "boosting", "n_jobs": n}).fit(X, y)
            for n in (1, 2)
        )
        assert [point.design for point in one.front_] == [point.design for point in two.front_]
        assert np.array_equal(one.predict_proba(X), two.predict_proba(X))


class TestFinish:
    def test_a_classifier_of_the_users_comes_after_a_quick_search(self):
        X, y = crossed()
        tree = DecisionTreeClassifier(max_depth=4)
        clf = EMSCOClassifier(**SMALL | {"estimator": tree, "search_with": "logistic"}).fit(X, y)
        assert isinstance(clf.cascade_.models, SeparateModels)
        assert "searched with logistic regression" in str(clf.refinement_)
        assert "got DecisionTreeClassifier(max_depth=4) of their own" in str(clf.refinement_)
        assert not clf.front_.proven

    def test_only_subsets_that_are_finished_are_on_the_front(self):
        X, y = crossed()
        clf = EMSCOClassifier(
            **SMALL | {"estimator": DecisionTreeClassifier(), "search_with": "spline"}
        ).fit(X, y)
        subsets = {one.tobytes() for point in clf.front_ for one in point.design.subsets()}
        assert len(subsets) <= clf.refinement_.n_subsets <= 4

    def test_ctrl_c_before_the_first_model_keeps_those_of_the_search(self, monkeypatch):
        def stop(*_given):
            raise KeyboardInterrupt

        monkeypatch.setattr(BoostingFitter, "models", stop)
        X, y = crossed()
        clf = EMSCOClassifier(**SMALL | {"estimator": "boosting"})
        with pytest.warns(InterruptedWarning) as said:
            clf.fit(X, y)
        assert said[0].filename == __file__
        assert clf.stop_reason_.is_interrupted
        assert str(clf.refinement_) == (
            "searched with one boosted model for all subsets, whose models are kept: Ctrl-C came "
            "before boosted trees"
        )
        assert clf.score(*crossed(500, seed=7)) > 0.7

    def test_without_time_to_try_families_stages_are_logistic(self, monkeypatch):
        monkeypatch.setattr(fit, "_QUICK", 0.0)
        clf = EMSCOClassifier(**SMALL | {"estimator": "auto", "time_limit": 0.01}).fit(*crossed())
        assert clf.model_choice_ is None
        assert isinstance(parts_of(clf.cascade_.models)[0], LinearModels)

    def test_a_slow_family_that_is_the_best_is_searched_with_and_told(self, monkeypatch):
        monkeypatch.setattr(fit, "_SLOW_TRIAL", 0.0)
        X = np.random.default_rng(0).normal(size=(120, 3))
        clf = EMSCOClassifier(**SMALL | {"estimator": "auto"})
        what = r"^(logistic|spline) models predict best here, but searching may take hours; time"
        with pytest.warns(EMSCOWarning, match=what):
            clf.fit(X, X.sum(axis=1) > 0)  # a line: trees are worse
        assert clf.model_choice_.family in ("logistic", "spline")

    def test_a_time_limit_holds_where_columns_are_far_more_than_rows(self):
        X = np.random.default_rng(0).normal(size=(30, 2000))
        settings = {"estimator": "logistic", "time_limit": 0.5, "random_state": 0, "n_jobs": 1}
        started = process_time()  # other work on the machine does not count
        clf = EMSCOClassifier(**settings).fit(X, X[:, :3].sum(axis=1) > 0)
        assert process_time() - started < 8  # one product of truth values would take as long
        assert clf.decide(X[:5]).labels.shape == (5,)

    def test_a_search_goes_on_from_its_checkpoint(self, tmp_path):
        X, y = crossed()
        settings = SMALL | {"estimator": "boosting", "checkpoint": tmp_path / "kept"}
        first = EMSCOClassifier(**settings).fit(X, y)
        again = EMSCOClassifier(**settings).fit(X, y)
        assert [point.design for point in first.front_] == [point.design for point in again.front_]
        assert np.array_equal(first.predict_proba(X), again.predict_proba(X))


def linear(n_rows, n_features=4):
    """Rows whose class follows the first two features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n_rows) / 2 > 0, "ill", "well")
    return pd.DataFrame(X, columns=[f"test{i}" for i in range(n_features)]), y


LIMITED = {
    "estimator": "logistic",
    "generations": 3,
    "population_size": 20,
    "max_stages": 2,
    "random_state": 0,
}


class TestTimeLimit:
    def test_its_shares_end_one_after_the_other(self, monkeypatch):
        monkeypatch.setattr("emsco.fitting.fit.perf_counter", lambda: 107.0)
        deadline = Deadline(10.0, started=100.0)
        assert (deadline.rest(), deadline.rest(0.75), deadline.rest(0.5)) == (3.0, 0.5, 0.0)
        assert (deadline.is_over(0.5), deadline.is_over(0.75)) == (True, False)
        assert Deadline(None, started=0.0).rest() is None
        assert not Deadline(None, started=0.0).is_over()

    def test_a_late_fit_judges_few_designs_and_keeps_the_best(self, monkeypatch):
        X, y = linear(300, n_features=7)
        settings = LIMITED | {"generations": 12, "max_stages": 3, "cv": 1 / 3}
        whole = EMSCOClassifier(**settings).fit(X, y)
        assert len(whole.front_) > 12
        monkeypatch.setattr(fit, "_SEARCHED", 1e9)  # the search has all the time it wants
        late = EMSCOClassifier(**settings, time_limit=1e-3).fit(X, y)
        assert 1 <= len(late.front_) <= 12
        assert late.point_.expected is not None


def test_simplifying_a_design_of_many_features_ends_when_time_is_over(monkeypatch):
    tried, looks, judged = [], count(), Assessor.judged

    def noted(self, designs, start):
        tried.append(len(designs))
        return judged(self, designs, start)

    monkeypatch.setattr(Assessor, "judged", noted)
    monkeypatch.setattr(economical.Simplifier, "_like_everything", lambda *_: None)
    monkeypatch.setattr(economical, "_AT_ONCE", 2)
    monkeypatch.setattr(Deadline, "is_over", lambda *_: next(looks) >= 3)
    X, _ = linear(600, n_features=8)
    EMSCOClassifier(**LIMITED | {"max_stages": 1, "branches": 1}).fit(X, X.sum(axis=1) > 0)
    assert 1 < sum(tried) <= 1 + 2 * 2  # the start, and what comes before the fourth look


def test_a_front_is_thinned_where_rows_are_many_and_the_fit_says_so(monkeypatch, capsys):
    X, y = linear(600, n_features=8)
    settings = LIMITED | {"generations": 30, "max_stages": 4, "cv": 1 / 3, "search": "evolution"}
    whole = EMSCOClassifier(**settings).fit(X, y)
    monkeypatch.setattr(fit, "_JUDGED_ROWS", 15 * 200)
    thin = EMSCOClassifier(**settings, verbose=1).fit(X, y)
    told = re.search(r"Front: (\d+) of (\d+) designs, the most different", capsys.readouterr().err)
    assert int(told[1]) == 15 < int(told[2])
    assert len(whole.front_) > 20
    assert len(thin.front_) <= 16 + 2  # two that buy nothing are judged, too
    ends = [
        [min(point.cost for point in one.front_), max(point.accuracy for point in one.front_)]
        for one in (whole, thin)
    ]
    assert ends[1][0] <= 1.5 * ends[0][0] + 1


# Balanced accuracy as the objective


def rare_class(n_rows=1500, seed=0):
    """6 % positives: alarms find most of them with false ones, proofs find few with none."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < 0.06).astype(int)
    alarm = rng.random(n_rows) < np.where(y, 0.95, 0.15)
    alarms = alarm[:, None] ^ (rng.random((n_rows, 4)) < 0.03)
    proofs = (rng.random((n_rows, 4)) < 0.1) & (y == 1)[:, None]
    return np.column_stack([alarms, proofs]).astype(float), y


SCORED = np.arange(750, 1500)


def balanced_fit(metric="balanced_accuracy", data=None, sample_weight=None, **more):
    common = {"generations": 12, "population_size": 50, "max_stages": 2, "random_state": 0}
    common |= {"min_confidence": 0.51, "class_weight": "balanced", "search": "evolution"}
    common |= {"cv": [(np.arange(750), SCORED)], "allow_exclusion": False, "prefer": "balanced"}
    common |= {"estimator": "logistic"}
    X, y = rare_class() if data is None else data
    return EMSCOClassifier(metric=metric, **{**common, **more}).fit(X, y, sample_weight)


def balanced_accuracy(front, i, X, y):
    """Balanced accuracy of a point on labelled rows, by its cascade."""
    decisions = front.cascade(i).decide(X)
    given = np.where(decisions.accepted, decisions.guesses, 2)
    return ByClass.from_labels((0, 1), y, given).balanced_accuracy


def test_it_finds_designs_for_rare_positives_that_plain_accuracy_misses():
    X, y = rare_class()
    best = {}
    for metric in ("accuracy", "balanced_accuracy"):
        front = balanced_fit(metric).front_
        accuracies = [balanced_accuracy(front, i, X[SCORED], y[SCORED]) for i in range(len(front))]
        best[metric] = max(accuracies)
        if metric == "balanced_accuracy":
            assert accuracies == pytest.approx([point.accuracy for point in front], abs=1e-12)
    assert best["balanced_accuracy"] > best["accuracy"] + 0.1


@pytest.mark.parametrize(
    "more",
    [
        {"search": "paper"},
        {"estimator": DecisionTreeClassifier(max_depth=2), "generations": 2},
        {"cv": 3, "min_confidence": 0.8},
        {"constraints": {"together": [["x0", "x4"]], "first": ["x1"]}},
    ],
    ids=lambda more: next(iter(more)),
)
def test_every_way_to_fit_has_points_with_balanced_accuracies(more):
    clf = balanced_fit(**more)
    assert clf.front_.metric == clf.point_.metric == "balanced_accuracy"
    assert all(record.best.metric == "balanced_accuracy" for record in clf.history_)
    if "cv" not in more:
        X, y = rare_class()
        first = balanced_accuracy(clf.front_, 0, X[SCORED], y[SCORED])
        assert clf.front_[0].accuracy == pytest.approx(first, abs=1e-12)


def test_a_row_of_weight_3_counts_as_three_rows():
    X, y = rare_class()
    weights = np.random.default_rng(0).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    cut = int(weights[:750].sum())
    repeated = [(np.arange(cut), np.arange(cut, len(rows)))]
    weighted = balanced_fit(sample_weight=weights)
    longer = balanced_fit(data=(X[rows], y[rows]), cv=repeated)
    assert [point.accuracy for point in weighted.front_] == pytest.approx(
        [point.accuracy for point in longer.front_], abs=1e-12
    )


@pytest.mark.parametrize("gaps", ["skip", "impute"])
def test_missing_values_are_scored_as_they_are_decided(gaps):
    X, y = rare_class()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    front = balanced_fit(data=(X, y), gaps=gaps).front_
    for i, point in enumerate(front):
        assert point.accuracy == pytest.approx(
            balanced_accuracy(front, i, X[SCORED], y[SCORED]), abs=1e-12
        )


def test_the_number_of_threads_changes_nothing():
    assert balanced_fit(n_jobs=2).front_.points == balanced_fit(n_jobs=1).front_.points


def test_exact_search_is_refused_before_it_writes_anything(tmp_path):
    with pytest.raises(ParameterError):
        balanced_fit(search="exact", checkpoint=tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("search", ["evolution", "paper"])
def test_an_interrupted_search_goes_on_to_the_same_front(tmp_path, search, monkeypatch):
    def interrupted(self, record):
        if record.generation == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SearchProgress, "generation", interrupted)
        with pytest.warns(UserWarning, match="nterrupted"):
            balanced_fit(search=search, checkpoint=tmp_path / "kept")
    resumed = balanced_fit(search=search, checkpoint=tmp_path / "kept")
    assert resumed.front_.points == balanced_fit(search=search).front_.points


class TestBranches:
    @pytest.fixture
    def wards(self):
        """Two wards, each with a test that tells nothing about the other's patients."""
        rng = np.random.default_rng(0)
        ward, is_ill = rng.integers(0, 2, 900), rng.random(900) < 0.5
        told = [np.where(ward == k, is_ill, rng.random(900) < 0.5) for k in range(2)]
        tests = [one + rng.normal(scale=0.4, size=900) for one in told]
        return np.column_stack([ward, *tests]).astype(float), is_ill

    def fitted(self, wards, **more):
        settings = {"estimator": "logistic", "generations": 3, "cv": 2, "random_state": 0}
        return EMSCOClassifier([1, 10, 20], **settings | more).fit(*wards)

    def test_limits_hold_for_all_rows_of_a_tree(self, wards):
        limits = {"max_worst_cost": 21, "max_mean_cost": 15}
        front = self.fitted(wards, constraints=limits).front_
        trees = [point for point in front if not point.design.is_chain]
        assert trees
        for point in trees:
            paid = front.costs.after_stages(point.design.subsets(), point.design.before)
            assert paid.max() <= 21
            assert point.cost <= 15

    def test_one_stage_leaves_none_for_a_branch(self, wards):
        front = self.fitted(wards, max_stages=1).front_
        assert {point.design.n_stages for point in front} == {1}

    def test_limits_that_leave_nothing_after_a_gate_leave_chains(self, wards):
        # The gate costs 6 with its stage, and one more stage costs 5.
        limits = {"max_worst_cost": 10}
        front = self.fitted(wards, constraints=limits, evaluation_cost=5).front_
        assert all(point.design.is_chain for point in front)

    @pytest.mark.parametrize("gaps", ["skip", "impute"])
    def test_rows_that_lack_the_gate_are_scored_as_they_are_decided(self, wards, gaps):
        X, y = wards
        X[np.random.default_rng(1).random(900) < 0.1, 0] = np.nan
        rows = np.split(np.arange(900), [600])
        front = self.fitted((X, y), gaps=gaps, cv=[rows], refit="first").front_
        trees = [i for i, point in enumerate(front) if not point.design.is_chain]
        assert trees
        for i in trees:
            decided = front.cascade(i).evaluate(X[rows[1]], y[rows[1]])
            assert decided.coverage == pytest.approx(front[i].coverage)
            assert decided.accuracy == pytest.approx(front[i].accuracy)
            assert decided.cost == pytest.approx(front[i].cost)
