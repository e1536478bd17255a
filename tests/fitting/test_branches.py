"""Designs that branch: found where they pay, scored as they decide, and never at a fit's cost."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from support.wards import COSTS, KIN_COSTS, N_ROWS, QUICK, SPLIT, grow, kin, wards

from emsco import EMSCOClassifier, FeatureCosts
from emsco.designs.questions import Question
from emsco.errors import EMSCOWarning, InterruptedWarning
from emsco.fitting import branches, fit
from emsco.fitting.fit import Deadline
from emsco.fitting.gates import parts_of_rows
from emsco.search.gates import Gate
from emsco.search.progress import SearchProgress

RNG = np.random.default_rng(1)
ALWAYS = {"always_answer": True}
DELAYS = {"delays": {"ward": 1, "heart test": 5, "lung test": 3}}
FEES = FeatureCosts.from_mapping(COSTS, list(COSTS), fees={"draw": (3, ["ward", "heart test"])})
PRICES = RNG.uniform(5, 15, N_ROWS).round(2)

# What fits differ in: parameters, and arguments of `wards` or of `fit`.
VARIANTS = {
    "plain": {},
    "number": {"kind": "number", **ALWAYS},
    "truth": {"kind": "truth", **ALWAYS},
    "impute": {"gaps": "impute", **ALWAYS},
    "skip": {"gaps": "skip", "min_confidence": 0.8},
    "weights": {"weights": RNG.integers(0, 4, N_ROWS).astype(float), **ALWAYS},
    "shares": {"weights": RNG.random(N_ROWS), **ALWAYS},
    "class weights": {"class_weight": "balanced", **ALWAYS},
    "balanced": {"metric": "balanced_accuracy", **ALWAYS},
    "one threshold": {"min_confidence": 0.8},
    "by class": {"min_confidence": {"ill": 0.7, "well": 0.9}, "reject_below": 0.75},
    "first": {"constraints": {"first": ["age"]}, **ALWAYS},
    "together": {"constraints": {"together": [["ward", "age"]]}, **ALWAYS},
    "evaluations": {"evaluation_cost": 0.5, **ALWAYS},
    "fees": {"costs": FEES, **ALWAYS},
    "prices": {"costs": {**COSTS, "heart test": "price"}, **ALWAYS},
    "price of the gate": {"costs": {**COSTS, "ward": "price"}, **ALWAYS},
    "delays": {**DELAYS, **ALWAYS},
    "proven": {"search": "auto", "max_stages": 2, **ALWAYS},
    "likeliest class": {"costs": KIN_COSTS, **ALWAYS},
}


def rows_of(variant):
    settings = VARIANTS[variant]
    if variant == "likeliest class":
        return kin()
    X, y = wards(settings.get("kind", "category"), gaps="gaps" in settings)
    if variant == "price of the gate":
        return X.assign(price=PRICES / 10), y
    return X.assign(price=PRICES) if variant == "prices" else X, y


@cache
def grown(variant):
    settings = {name: value for name, value in VARIANTS[variant].items() if name != "kind"}
    return grow(*rows_of(variant), **settings)


def assert_cases_agree(cascade, rows, decided):
    """Rows one at a time are decided as all at once."""
    for i in range(0, len(rows), 23):
        row = rows.iloc[i]
        case = cascade.open(prices=dict.fromkeys(cascade.costs.prices, row.get("price")))
        while case.needs:
            case.give({name: None if pd.isna(row[name]) else row[name] for name in case.needs})
        given = decided.given(cascade.classes)[i]
        label = cascade.classes[given] if given < len(cascade.classes) else None
        assert case.decision.label == label
        assert case.decision.cost == pytest.approx(decided.cost[i])


@pytest.mark.parametrize("variant", VARIANTS)
def test_trees_are_scored_as_they_decide(variant):
    found, (X, _) = grown(variant), rows_of(variant)
    assert found.points
    held_out = X.iloc[SPLIT[1]]
    for i in found.points[:: max(1, len(found.points) // 3)]:
        point, rows = found.clf.front_[i], found.walk.scored
        outcomes, cascade = found.outcomes_of(point), found.clf.front_.cascade(i)
        decided = cascade.decide(held_out)
        assert np.array_equal(decided.given(cascade.classes), outcomes.given)
        assert decided.cost == pytest.approx(outcomes.paid)
        # The figures of the point, counted once more.
        accepted, correct = outcomes.given < rows.n_classes, outcomes.given == rows.labels
        assert point.coverage == pytest.approx(np.average(accepted, weights=rows.units))
        assert point.cost == pytest.approx(np.average(outcomes.paid, weights=rows.units))
        accuracy = (rows.units @ correct) / max(rows.units @ accepted, 1)
        if variant == "balanced":
            of_class = [rows.labels[accepted] == k for k in range(rows.n_classes)]
            accuracy = np.mean([correct[accepted][one].mean() for one in of_class])
        assert point.accuracy == pytest.approx(accuracy)
        assert_cases_agree(cascade, held_out, decided)


@pytest.mark.parametrize("variant", ["plain", "evaluations", "fees", "first", "together"])
def test_gate_and_part_cost_together_what_the_path_costs(variant):
    found = grown(variant)
    for tree in found.branched.trees.forks:
        (branch,) = tree.design.branches.values()
        _, *known = np.split(tree.design.subsets(), branch.starts)
        _, *paid = np.split(tree.paid, branch.starts)
        for of_part, subsets, searched in zip(paid, known, found.branched.parts, strict=True):
            after = searched.bench.data.costs.after_stages(subsets)
            assert of_part == pytest.approx(tree.paid[branch.after] + after)


def test_rows_may_be_rejected_after_a_branch():
    front = grown("plain").clf.front_
    trees = [point for point in front if not point.design.is_chain]
    answering = [point for point in trees if point.coverage == 1]
    rejecting = [point for point in trees if 0.5 <= point.coverage < 0.95]
    assert answering
    assert rejecting
    surest = max(rejecting, key=lambda point: point.accuracy)
    for point in (one for one in answering if one.cost <= surest.cost):
        assert surest.accuracy > point.accuracy


@pytest.mark.parametrize("variant", ["plain", "balanced", "one threshold"])
def test_no_point_of_the_search_beats_another(variant):
    # Designs that buy nothing, and the simplest as good as the best, are there beside the front.
    front = [
        one
        for one in grown(variant).clf.front_
        if not one.design.buys_nothing and not one.is_simplified
    ]
    figures = np.array([[one.coverage, one.accuracy, -one.cost] for one in front])
    for one in figures:
        beats = (figures >= one).all(axis=1) & (figures > one).any(axis=1)
        assert not beats.any()


@pytest.mark.parametrize(
    "limit",
    [
        {"max_mean_cost": 9.7},
        {"max_worst_cost": 13},
        {"max_mean_delay": 5.2},
        {"max_worst_delay": 6},
        {"max_mean_cost": 12, "max_worst_cost": 25, "max_mean_delay": 6, "max_worst_delay": 9},
    ],
    ids=lambda limit: " ".join(limit),
)
def test_trees_keep_limits(limit):
    found = grow(*wards(), constraints=limit, **DELAYS, **ALWAYS)
    assert found.points
    costs = found.clf.front_.costs
    for point in (found.clf.front_[i] for i in found.points):
        design = point.design
        assert point.cost <= limit.get("max_mean_cost", np.inf)
        assert point.mean_delay <= limit.get("max_mean_delay", np.inf)
        assert point.worst_delay <= limit.get("max_worst_delay", np.inf)
        paid = costs.after_stages(design.subsets(), design.before)
        assert paid.max() <= limit.get("max_worst_cost", np.inf)


def test_the_highest_price_of_a_row_counts_as_its_worst_cost():
    X, y = rows_of("prices")
    settings = VARIANTS["prices"] | {"constraints": {"max_worst_cost": 16.2}}
    found = grow(X, y, **settings)
    assert found.points
    for i in found.points:
        assert found.clf.front_.cascade(i).decide(X).cost.max() <= 16.2


@pytest.mark.parametrize("refit", ["average", "all", "first"])
def test_every_way_to_refit_deploys_trees(refit):
    X, y = wards()
    found = grow(X, y, refit=refit, cv=2, **ALWAYS)
    i = found.points[-1]
    cascade = found.clf.front_.cascade(i)
    evaluation = cascade.evaluate(X, y)
    assert evaluation.accuracy == pytest.approx(found.clf.front_[i].accuracy, abs=0.03)
    assert_cases_agree(cascade, X, cascade.decide(X))


def test_a_tree_may_have_the_lowest_total():
    clf = grown("plain").clf.choose(error_cost=60, reject_cost=25)
    assert not clf.design_.is_chain
    X, _ = wards()
    assert_cases_agree(clf.cascade_, X, clf.decide(X))


@pytest.mark.parametrize("cv", [3, [SPLIT]], ids=["all scored", "some never scored"])
def test_parts_have_the_rows_that_models_of_other_rows_send_there(cv):
    X, y = kin()
    found = grow(X, y, costs=KIN_COSTS, cv=cv, generations=1, **ALWAYS)
    bench, walk = found.bench, found.bench.walk(found.grid)
    plants = Question(None, among=("common plant", "rare plant"))
    gate = Gate(np.array([True, True, False, False]), (plants,), gain=0.0)
    of_row, of_scored, _ = parts_of_rows(gate, bench, walk)
    guesses = bench.data.classes[walk.guesses(gate.blocks[None])[0]]
    assert np.array_equal(of_scored == 0, np.isin(guesses, plants.among))
    scored = np.concatenate([scored for _, scored in bench.splits])
    assert np.array_equal(of_row[scored], of_scored)  # each is scored once
    assert ((of_row == 0) == np.isin(y, plants.among)).mean() > 0.9


def test_other_tables_keep_their_chains(capsys):
    found = grow(*wards(pays=False), **ALWAYS, verbose=1)
    assert found.branched is None
    said = re.findall("Branches: .*", capsys.readouterr().err)
    assert all(
        re.search(r"asking about \S+ first was tried and does not pay", line) for line in said
    )
    chains = grow_chains(*wards(pays=False), **ALWAYS)
    assert found.clf.front_.points == chains.front_.points


def grow_chains(X, y, **settings):
    return EMSCOClassifier(COSTS, **QUICK | settings, branches=1).fit(X, y)


# Repeatable, and safe to stop


def test_threads_change_nothing():
    one, two = (grow(*wards(), n_jobs=n, **ALWAYS) for n in (1, 2))
    assert one.points
    assert one.clf.front_.points == two.clf.front_.points


def test_a_resumed_search_finds_the_same_trees(tmp_path, monkeypatch):
    def interrupted(self, record):
        if record.generation == 2:
            raise KeyboardInterrupt

    stopped = EMSCOClassifier(COSTS, **QUICK, **ALWAYS, checkpoint=tmp_path / "kept")
    with monkeypatch.context() as patch:
        patch.setattr(SearchProgress, "generation", interrupted)
        with pytest.warns(InterruptedWarning, match="nterrupted"):
            stopped.fit(*wards())
    assert all(point.design.is_chain for point in stopped.front_)
    resumed = grow(*wards(), checkpoint=tmp_path / "kept", **ALWAYS)
    assert resumed.points
    assert resumed.clf.front_.points == grow(*wards(), **ALWAYS).clf.front_.points


@pytest.mark.parametrize("step", ["find_gate", "grow_trees", "earn_their_place"])
def test_ctrl_c_among_branches_loses_no_chain(step, monkeypatch):
    def stop(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(branches, step, stop)
    with pytest.warns(InterruptedWarning) as said:
        clf = EMSCOClassifier(COSTS, **QUICK, **ALWAYS).fit(*wards())
    assert said[0].filename == __file__
    assert clf.stop_reason_.is_interrupted
    assert clf.front_.points == grow_chains(*wards(), **ALWAYS).front_.points


def test_a_time_limit_among_branches_loses_no_chain(monkeypatch):
    looks = []

    def is_over(self, share=1.0):
        looks.append(share)
        # The first look is before branches, the next ones are among them.
        return share == fit._BRANCHED and looks.count(share) > 1

    monkeypatch.setattr(Deadline, "is_over", is_over)
    with pytest.warns(EMSCOWarning, match="^time_limit left no time to finish branches"):
        clf = EMSCOClassifier(COSTS, **QUICK, **ALWAYS).fit(*wards())
    assert clf.front_.points == grow_chains(*wards(), **ALWAYS).front_.points
