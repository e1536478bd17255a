"""Scored rows one by one: they add up to the bank's counts, and are what a cascade decides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from support import leveled
from support.leveled import bench_of, followed, grid_of, random_genes, tolerant, tolerant_evaluator

from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.designs.chromosomes import compress, levels_of, stages_of
from emsco.designs.thresholds import ThresholdGrid
from emsco.fitting import Workbench
from emsco.front import ParetoFront
from emsco.front.point import NamedDesigns
from emsco.models.recipe import StageRecipe
from emsco.scoring import scored_rows
from emsco.scoring.scored_rows import ScoredRows
from emsco.search.operators import random_levels

N_ROWS, N_FEATURES, MAX_STAGES = 150, 5, 4
ROWS = np.arange(N_ROWS)
ONE_SPLIT = [(ROWS[:90], ROWS[90:])]
FOLDS = [(np.delete(ROWS, ROWS[i::3]), ROWS[i::3]) for i in range(3)]
OVERLAPPING = [(ROWS[:90], ROWS[90:]), (ROWS[60:], ROWS[:60]), (ROWS[30:], ROWS[:100])]
LOGISTIC = StageRecipe(None, None, None, 2**28, 1, 0)


def made_table(n_classes=2, gaps="refuse"):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, size=N_ROWS)
    X = rng.normal(size=(N_ROWS, N_FEATURES)) + y[:, None] * np.array([1.2, 0.9, 0.6, 0.3, 0.0])
    if gaps != "refuse":
        X[rng.random(X.shape) < 0.15] = np.nan
    return pd.DataFrame(X, columns=list("abcde")), y


def made_data(n_classes=2, weights=None, gaps="refuse"):
    table, y = made_table(n_classes, gaps)
    costs = FeatureCosts.from_array([1, 2, 3, 4, 5], list(table))
    return TrainingData.from_table(table, y, weights, costs, gaps)


def some_designs(n_features=N_FEATURES, n=60, seed=0):
    """Random designs, some of which leave features out."""
    draws = np.random.default_rng(seed).integers(-1, MAX_STAGES, size=(n, n_features))
    draws[:, 0] = np.maximum(draws[:, 0], 0)  # something is bought
    return compress(draws).astype(np.int16)


def scored(bench, thresholds):
    grid = thresholds if isinstance(thresholds, ThresholdGrid) else ThresholdGrid(thresholds)
    members = bench.blocks.members()
    return ScoredRows(bench.bank, bench.data, bench.splits, grid, members)


def a_grid(n_classes):
    """Three thresholds for each class; the last stage has one of two, and may label everyone."""
    least = np.linspace([0.5] * n_classes, np.linspace(0.7, 0.9, n_classes), 3)
    return ThresholdGrid(np.vstack([least, np.zeros(n_classes)]), (0, 1, 2), (2, 3))


def assert_sums_are_counts(bench, thresholds):
    grid = thresholds if isinstance(thresholds, ThresholdGrid) else ThresholdGrid(thresholds)
    stages = some_designs(bench.blocks.n_blocks)
    designs = random_levels(stages, grid, np.random.default_rng(1)).packed()
    n_stages = stages.max(axis=1).astype(np.int64) + 1
    levels = levels_of(designs, int(n_stages.max()))
    assert len(np.unique(levels)) == grid.n_levels
    counts = bench.bank.count(stages_of(designs), n_stages, tolerant(grid), levels)
    rows = scored(bench, grid)
    every = np.concatenate([held_out for _, held_out in bench.splits])
    units = np.ones(len(every)) if bench.data.units is None else bench.data.units[every]
    for i, one in enumerate(rows.outcomes(designs)):
        accepted = one.given < rows.n_classes
        correct = one.given == rows.truth
        for counted, which in zip(counts[:, i], (accepted, correct), strict=True):
            summed = np.bincount(one.stage[which], units[which], counts.shape[2])
            assert summed.tolist() == counted.tolist()
        assert set(one.stage[~accepted]) <= {n_stages[i] - 1}  # the rejected paid for all
    assert counts[0].sum() > counts[1].sum() > 0


@pytest.mark.parametrize("splits", [ONE_SPLIT, FOLDS, OVERLAPPING], ids=["one", "folds", "overlap"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", [None, ROWS % 4, np.sqrt(1 + ROWS)], ids=["", "whole", "any"])
def test_outcomes_add_up_to_the_counts_of_the_bank(splits, n_classes, weights):
    bench = Workbench(made_data(n_classes, weights), splits, LOGISTIC)
    assert_sums_are_counts(bench, np.linspace(0.6, 0.75, n_classes))


@pytest.mark.parametrize("gaps", ["refuse", "skip"])
@pytest.mark.parametrize("splits", [ONE_SPLIT, OVERLAPPING], ids=["one", "overlap"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_with_thresholds_of_their_own_add_up_too(gaps, splits, n_classes):
    bench = Workbench(made_data(n_classes, ROWS % 3, gaps), splits, LOGISTIC)
    assert_sums_are_counts(bench, a_grid(n_classes))


@pytest.mark.parametrize(
    ("estimator", "calibration"),
    [
        (None, "sigmoid"),
        (None, "isotonic"),
        (GaussianNB(), None),
        (DecisionTreeClassifier(max_depth=2, random_state=0), "sigmoid"),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibrated_stages_and_those_of_the_user_add_up_too(estimator, calibration, n_classes):
    recipe = StageRecipe(estimator, calibration, None, 2**28, 1, 0)
    bench = Workbench(made_data(n_classes, gaps="skip"), FOLDS[:2], recipe)
    assert_sums_are_counts(bench, np.full(n_classes, 0.6))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gaps", ["refuse", "impute", "skip"])
def test_each_outcome_is_what_the_deployed_cascade_decides(n_classes, gaps):
    bench, sure = Workbench(made_data(n_classes, gaps=gaps), ONE_SPLIT, LOGISTIC), 0.7
    designs = some_designs(n=15)
    scores = bench.evaluator(MAX_STAGES, sure).score(designs)
    front = ParetoFront.from_scores(designs, scores, bench.data.costs, sure)
    front = replace(front, models=bench.stage_models(front, "first"))
    table = made_table(n_classes, gaps)[0].iloc[ONE_SPLIT[0][1]]
    for i, one in enumerate(scored(bench, np.full(n_classes, sure)).outcomes(designs)):
        decided = front.cascade(i).decide(table)
        assert (one.stage + 1).tolist() == decided.stage.tolist()
        assert (one.given < n_classes).tolist() == decided.accepted.tolist()
        assert one.given[decided.accepted].tolist() == decided.guesses[decided.accepted].tolist()
        np.testing.assert_allclose(one.confidence, decided.confidence, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_cascade_whose_stages_have_their_own_thresholds_decides_alike(n_classes):
    bench, grid = Workbench(made_data(n_classes), ONE_SPLIT, LOGISTIC), a_grid(n_classes)
    designs = random_levels(some_designs(n=15), grid, np.random.default_rng(1)).packed()
    scores = bench.evaluator(MAX_STAGES, grid).score(designs)
    named = NamedDesigns(bench.data.costs.names, grid, bench.data.classes)
    front = ParetoFront.from_scores(designs, scores, bench.data.costs, 0.7, named=named)
    front = replace(front, models=bench.stage_models(front, "first"))
    table = made_table(n_classes)[0].iloc[ONE_SPLIT[0][1]]
    for i, one in enumerate(scored(bench, grid).outcomes(designs)):
        decided = front.cascade(i).decide(table)
        assert (one.stage + 1).tolist() == decided.stage.tolist()
        assert (one.given < n_classes).tolist() == decided.accepted.tolist()


def test_guesses_are_the_likeliest_class_however_unsure():
    data = made_data(3)
    bench = Workbench(data, ONE_SPLIT, LOGISTIC)
    every = np.ones((1, N_FEATURES), dtype=np.bool_)
    (guesses,) = scored(bench, np.full(3, 0.9)).guesses(every)
    (outcomes,) = scored(bench, np.full(3, 1e-9)).outcomes(np.zeros((1, N_FEATURES), np.int16))
    assert guesses.tolist() == outcomes.given.tolist()
    assert set(guesses) == {0, 1, 2}


def test_the_weights_of_a_row_that_several_splits_score_add_up_to_its_own():
    weights = np.sqrt(1 + ROWS)
    bench = Workbench(made_data(weights=weights), OVERLAPPING, LOGISTIC)
    rows = scored(bench, np.full(2, 0.7))
    assert len(rows.weights) == 220
    np.testing.assert_allclose(np.bincount(rows.rows, rows.weights), weights)
    every = np.concatenate([held_out for _, held_out in OVERLAPPING])
    assert rows.rows.tolist() == every.tolist()  # each row is scored, so numbers stay
    assert rows.truth.tolist() == bench.data.labels[every].tolist()


@pytest.mark.parametrize(
    ("splits", "weights", "plain"),
    [
        (ONE_SPLIT, None, True),
        (FOLDS, None, True),
        (OVERLAPPING, None, False),
        (ONE_SPLIT, ROWS, False),
    ],
)
def test_rows_have_weights_of_their_own_only_if_these_differ(splits, weights, plain):
    rows = scored(Workbench(made_data(weights=weights), splits, LOGISTIC), np.full(2, 0.7))
    assert (rows.own_weights is None) == plain
    assert plain == (set(rows.weights) == {1.0})


def test_outcomes_do_not_depend_on_how_much_is_kept_of_earlier_ones(monkeypatch):
    bench, designs = Workbench(made_data(), FOLDS, LOGISTIC), some_designs()
    whole = list(scored(bench, np.full(2, 0.7)).outcomes(designs))
    monkeypatch.setattr(scored_rows, "_AT_ONCE", 3)
    monkeypatch.setattr(scored_rows, "_MOST_BYTES", 1)
    bit_by_bit = list(scored(bench, np.full(2, 0.7)).outcomes(designs))
    for one, two in zip(whole, bit_by_bit, strict=True):
        assert one.given.tolist() == two.given.tolist()
        assert one.stage.tolist() == two.stage.tolist()
        assert one.confidence.tolist() == two.confidence.tolist()


# Designs whose stages have thresholds of their own


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_each_row_has_the_label_and_the_stage_that_a_loop_finds(n_classes, gaps):
    bench, grid = bench_of(n_classes, gaps=gaps), grid_of(n_classes)
    genes = random_genes(grid, n_designs=10)
    plain = followed(bench, genes, grid)
    for one, outcomes in zip(scored(bench, grid).outcomes(genes), plain, strict=True):
        pairs = zip(one.given.tolist(), one.stage.tolist(), strict=True)
        wanted = [(n_classes if label is None else label, stage) for label, stage in outcomes]
        assert list(pairs) == wanted


@pytest.mark.parametrize("splits", [leveled.ONE_SPLIT, leveled.FOLDS], ids=["one", "folds"])
@pytest.mark.parametrize(
    "weights", [None, leveled.ROWS % 4, np.sqrt(1 + leveled.ROWS)], ids=["", "whole", "any"]
)
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_outcomes_add_up_to_the_scores(splits, weights, gaps):
    bench, grid = bench_of(3, weights, gaps, splits), grid_of(3)
    genes = random_genes(grid, n_designs=80)  # more than are looked at together
    scores = tolerant_evaluator(bench, grid, 3).score(genes)
    every = np.concatenate([tested for _, tested in splits])
    units = np.ones(len(every)) if bench.data.units is None else bench.data.units[every]
    rows = scored(bench, grid)
    for i, one in enumerate(rows.outcomes(genes)):
        for counts, which in (
            (scores.exits[i], one.given < 3),
            (scores.correct_exits[i], one.given == rows.truth),
        ):
            summed = np.bincount(one.stage[which], units[which], 3)
            assert summed.tolist() == counts.tolist()
    assert i == 79
