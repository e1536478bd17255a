"""What the default deploys: something that a person would sign, or a sentence that says why not."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from common import generated
from sklearn.model_selection import train_test_split
from support.settings import PLAIN

from emsco import EMSCOClassifier, FeatureCosts
from emsco.errors import DataWarning, DeploymentWarning, InterruptedWarning
from emsco.scoring.walk import Walk

every_share = pytest.mark.parametrize(
    "share", [0.05, *(pytest.param(share, marks=pytest.mark.thorough) for share in (0.24, 0.40))]
)


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
    with pytest.warns(DeploymentWarning, match="False"):
        EMSCOClassifier(min_confidence=0.6, random_state=0, **PLAIN).fit(X, y)


def test_a_leak_is_told_and_bought_alone():
    table = generated(1000, 0.3, seed=1)
    X = table.X.assign(leak=table.y + 0.01 * np.random.default_rng(0).normal(size=1000))
    costs = dict(zip(table.costs.names, table.costs.costs.tolist(), strict=True)) | {"leak": 1.0}
    with pytest.warns(DataWarning, match="'leak'"):
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


def test_ctrl_c_while_designs_are_judged_keeps_the_front(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Walk, "outcomes", interrupted)
    table = generated(300, 0.4, seed=0)
    clf = EMSCOClassifier(table.costs, generations=3, random_state=0, **PLAIN)
    with pytest.warns(InterruptedWarning, match="nterrupted"):
        clf.fit(table.X, table.y)
    assert clf.point_ == clf.front_.knee()
    assert clf.front_.references == ()
    assert clf.decide(table.X).accepted.any()
