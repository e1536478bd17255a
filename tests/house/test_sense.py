"""What the default deploys: something that a person would sign, or a sentence that says why not."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from common import generated
from sklearn.model_selection import train_test_split
from support.settings import PLAIN

from emsco import EMSCOClassifier, FeatureCosts, NoSuchDesign, ParameterError
from emsco.app.cli.words import in_words
from emsco.errors import DataWarning, DeploymentWarning, InterruptedWarning
from emsco.front import economical
from emsco.scoring.scored_rows import ScoredRows

every_share = pytest.mark.parametrize(
    "share", [0.05, *(pytest.param(share, marks=pytest.mark.thorough) for share in (0.24, 0.40))]
)


def buying(front):
    """The designs that buy something."""
    return [point for point in front if not point.design.buys_nothing]


@cache
def fitted(share: float, strength: float = 1.0, n_rows: int = 3000, seed: int = 0):
    """The default on a generated table, its warnings, and rows that it has not seen."""
    table = generated(n_rows, share, seed, strength)
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=0.4, stratify=table.y, random_state=seed
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        clf = EMSCOClassifier(table.costs, generations=15, random_state=seed, **PLAIN).fit(X, y)
    return clf, [str(one.message) for one in said], (X_test, y_test)


@every_share
def test_no_constant_is_deployed_however_rare_a_class_is(share):
    clf, _, rows = fitted(share)
    by_class = clf.evaluate(*rows).by_class
    assert clf.point_.is_informative
    assert by_class.beats_commonest
    assert (by_class.recall > 0.1).all()


@every_share
def test_what_everything_finds_is_nearly_found_for_less(share):
    clf, _, rows = fitted(share)
    _, everything = clf.front_.references_on(*rows)
    evaluation = clf.evaluate(*rows)
    assert evaluation.cost < everything.cost
    assert evaluation.coverage == everything.coverage == 1
    assert evaluation.accuracy > everything.accuracy - 0.03
    few = 0.32 if share < 0.1 else 0.12  # 32 rows of the rare class have scored designs
    assert (evaluation.by_class.recall > everything.by_class.recall - few).all()


def test_most_of_a_rare_class_are_found_where_that_can_be_done():
    clf, said, rows = fitted(0.05, strength=2.0)
    by_class = clf.evaluate(*rows).by_class
    assert by_class.recall[1] > 0.7
    assert not [one for one in said if "finds" in one]


def test_a_rare_class_that_nobody_finds_is_told_with_the_way_out():
    clf, said, _ = fitted(0.05, strength=0.5)
    told = [one for one in said if "finds" in one]
    assert len(told) == 1
    assert "of class 1" in told[0]
    assert "Buying every feature for every row finds" in told[0]
    assert "class_weight='balanced'" in told[0]
    assert clf.point_.by_class.recall[1] < 0.5


@every_share
def test_free_features_are_bought_first_and_stages_are_few(share):
    clf, _, _ = fitted(share)
    assert "free" in clf.design_.features(0)
    assert clf.design_.n_stages <= 4
    assert all("free" in point.design.features(0) for point in buying(clf.front_))


@every_share
def test_the_deployed_design_is_next_to_as_cheap_as_any_that_is_not_worse(share):
    clf, _, _ = fitted(share)
    total = clf.front_.costs.total
    # The rule may ask for a lead of a standard error, to make up for its luck.
    good = [p.cost for p in clf.front_ if p.versus_everything.behind <= -1]
    if good:
        assert clf.point_.cost <= min(good) + 0.02 * total
    assert clf.point_.versus_everything.shortfall <= 0.5 + 1.1 + 0.1
    assert clf.point_ == clf.front_.economical()


@every_share
def test_people_are_shown_few_designs_and_none_that_is_just_like_another(share):
    clf, _, _ = fitted(share)
    listed = clf.front_.shortlist()
    assert 1 <= len(listed) <= 60
    assert len(listed) < len(clf.front_)
    deployed = clf.front_.economical()  # listed even if another is just like it
    others = [clf.front_[i] for i in listed if clf.front_[i] is not deployed]
    shown = [point for point in others if not (point.is_simplified or point.design.buys_nothing)]
    for i, one in enumerate(shown):
        for other in shown[:i]:  # each is ahead of all before it in something that counts
            ahead = (
                one.coverage - other.coverage > 0.02
                or one.accuracy - other.accuracy > 0.01
                or other.cost - one.cost > 0.05 * clf.front_.costs.total
            )
            assert ahead


def test_a_rare_class_is_found_by_a_cascade_and_not_only_by_buying_everything(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1200, 6))
    risk = 1.6 * X[:, 0] + 1.2 * X[:, 1] + 0.6 * X[:, 4] + 0.7 * rng.logistic(size=1200)
    y = (risk > np.quantile(risk, 0.94)).astype(int)
    options = {"estimator": "logistic", "search": "evolution", "generations": 20, "random_state": 0}
    clf = EMSCOClassifier([0, 1, 20, 15, 3, 5], population_size=60, **options)

    def worst(points, *_):  # as if no design of the front were good enough
        return max(range(len(points)), key=lambda i: points[i].versus_everything.shortfall)

    monkeypatch.setattr(economical, "economical_of", worst)
    deployed = clf.fit(X, y).point_
    assert deployed.is_simplified
    assert deployed.n_stages > 1
    assert deployed.versus_everything.shortfall <= 1.1
    assert deployed.by_class.recall[1] > 0.3


@every_share
def test_everyone_is_answered_and_rejecting_is_one_limit_away(share):
    clf, _, rows = fitted(share)
    assert clf.decide(rows[0]).accepted.all()
    assert clf.front_.select(max_cost=clf.point_.cost).coverage == 1
    assert clf.front_.select(min_coverage=0.8).coverage < 1
    assert clf.front_.select(min_coverage=0.8).accuracy > clf.point_.accuracy


def test_noise_is_told_apart_from_a_design():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.random(400) < 0.3
    with pytest.warns(DeploymentWarning, match=r"no better than always answering False.*cannot"):
        EMSCOClassifier(min_confidence=0.6, random_state=0, **PLAIN).fit(X, y)


@pytest.mark.parametrize(
    "metric", [pytest.param("accuracy", marks=pytest.mark.thorough), "balanced_accuracy"]
)
def test_the_way_out_for_a_rare_class_is_not_called_useless(metric):
    table = generated(3000, 0.05, seed=0)
    clf = EMSCOClassifier(
        table.costs,
        metric=metric,
        class_weight="balanced",
        generations=10,
        random_state=0,
        **PLAIN,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "(?s).*no better than", DeploymentWarning)
        clf.fit(table.X, table.y)
    assert clf.point_.is_informative


def test_a_senseless_choice_is_deployed_with_a_warning_only():
    rng = np.random.default_rng(0)
    y = np.arange(900) % 4 == 0
    X = pd.DataFrame({"noise": rng.normal(size=900), "signal": 3 * y + rng.normal(size=900)})
    clf = EMSCOClassifier({"noise": 0.1, "signal": 9}, min_confidence=0.7, random_state=0, **PLAIN)
    front = clf.fit(X, y).front_
    assert clf.point_.is_informative
    constant = next(p for p in buying(front) if not p.is_informative and p.coverage > 0.9)
    with pytest.warns(DeploymentWarning, match=r"no better than always.*choose\('economical'\)"):
        clf.choose(constant)


def test_a_leak_is_told_and_bought_alone():
    table = generated(1000, 0.3, seed=1)
    X = table.X.assign(leak=table.y + 0.01 * np.random.default_rng(0).normal(size=1000))
    costs = dict(zip(table.costs.names, table.costs.costs.tolist(), strict=True)) | {"leak": 1.0}
    with pytest.warns(DataWarning, match="'leak' alone decides"):
        clf = EMSCOClassifier(costs, generations=10, random_state=0, **PLAIN).fit(X, table.y)
    assert set(clf.design_.buys[0]) | set(clf.design_.buys[-1]) <= {"free", "leak"}


def test_a_stage_that_labels_next_to_nobody_is_pruned():
    rng = np.random.default_rng(0)
    y = np.arange(900) % 2
    X = pd.DataFrame(
        {
            "cheap": y + 0.4 * rng.normal(size=900),
            "dear": y + 3.0 * rng.normal(size=900),
            "useless": rng.normal(size=900),
        }
    )
    costs = FeatureCosts.from_mapping({"cheap": 1, "dear": 500, "useless": 30}, list(X.columns))
    clf = EMSCOClassifier(costs, random_state=0, **PLAIN).fit(X, y)
    assert clf.design_.buys == (("cheap",),)


def test_limits_by_class_choose_and_say_how_near_the_front_comes():
    clf, _, _ = fitted(0.24)
    front = clf.front_
    point = front.select(min_recall={1: 0.6}, max_cost=70)
    assert point.by_class.recall[1] >= 0.6
    assert front.prefer({"min_recall": {"1": 0.6}, "max_cost": 70}) == point
    with pytest.raises(
        NoSuchDesign, match=r"recall of 1 at least 0.99 \(the best: 0\.\d+\)"
    ) as one:
        front.select(min_recall={1: 0.99})
    assert "A fit with class_weight='balanced' finds more of '1'" in str(one.value)
    assert "A fit with --class-weight balanced finds more of '1'" in in_words(one.value.parts)
    with pytest.raises(NoSuchDesign, match=r"by its number\.$"):
        front.select(min_coverage=1, min_accuracy=1)
    with pytest.raises(ParameterError, match=r"min_recall must name the classes 0, 1, got 'ill'"):
        front.select(min_recall={"ill": 0.5})


def test_a_limit_for_an_unknown_class_fails_before_the_search():
    table = generated(200, 0.3, seed=0)
    clf = EMSCOClassifier(table.costs, prefer={"min_recall": {"ill": 0.5}}, checkpoint="never made")
    with pytest.raises(ParameterError, match=r"min_recall must name the classes 0, 1, got 'ill'"):
        clf.fit(table.X, table.y)
    assert not Path("never made").exists()


def test_the_paper_stays_what_it_was():
    table = generated(600, 0.24, seed=0)
    clf = EMSCOClassifier.paper(
        generations=3, population_size=20, random_state=0, costs=table.costs
    )
    clf.fit(table.X, table.y)
    assert clf.front_.min_confidence == 0.75
    assert all((point.design.stages >= 0).all() for point in clf.front_)
    assert clf.point_ == clf.front_.fittest()
    assert not any(point.is_simplified for point in clf.front_)


def test_a_design_that_labels_next_to_nobody_is_told():
    clf, _, _ = fitted(0.24)
    silent = next(point for point in clf.front_ if 0 < point.coverage < 0.05)
    deployed = clf.point_
    with pytest.warns(DeploymentWarning, match=r"labels \d+ of the 600 scored rows, at a cost of"):
        clf.choose(silent)
    clf.choose(deployed)


def test_class_weights_count_in_the_thresholds_and_silence_what_they_cause():
    table = generated(2000, 0.06, seed=3)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DeploymentWarning)
        clf = EMSCOClassifier(
            table.costs, class_weight="balanced", generations=8, random_state=0, **PLAIN
        )
        clf.fit(table.X, table.y)
    thresholds = {one for point in clf.front_ for one in point.design.thresholds}
    assert not any(isinstance(one, dict) for one in thresholds)  # the weights make classes alike
    assert clf.point_.by_class.recall[1] > 0.5
    assert clf.point_.is_informative
    told = [str(one.message) for one in said]
    assert not [one for one in told if "class_weight" in one or "no better than" in one]


def test_an_id_for_nothing_is_not_forced_into_the_first_stage():
    table = generated(800, 0.3, seed=4)
    costs = dict(zip(table.costs.names, table.costs.costs.tolist(), strict=True)) | {"id": 0}
    X = table.X.assign(id=np.arange(800))
    with pytest.warns(DataWarning, match="'id'"):
        clf = EMSCOClassifier(costs, generations=5, random_state=0, **PLAIN).fit(X, table.y)
    assert all("free" in point.design.features(0) for point in buying(clf.front_))
    assert not all("id" in point.design.features(0) for point in buying(clf.front_))


@pytest.mark.parametrize("rule", ["economical", "knee", "fittest"])
def test_a_rule_chooses_among_the_designs_within_limits(rule):
    front = fitted(0.24)[0].front_
    point = front.select(max_cost=20, rule=rule)
    assert point.cost <= 20
    assert front.prefer({"max_cost": 20, "rule": rule}) == point


def test_ctrl_c_while_designs_are_judged_keeps_the_front(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ScoredRows, "outcomes", interrupted)
    table = generated(300, 0.4, seed=0)
    clf = EMSCOClassifier(table.costs, generations=3, random_state=0, **PLAIN)
    with pytest.warns(InterruptedWarning, match="Fit interrupted; the front is kept as it was"):
        clf.fit(table.X, table.y)
    assert clf.point_ == clf.front_.knee()
    assert clf.front_.references == ()
    assert clf.decide(table.X).accepted.any()
