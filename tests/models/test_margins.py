"""Margins of models and what follows from them, compared with plain loops and with real bits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from support.brute import unpack
from support.leveled import FOLDS, ROWS, bench_of

from emsco.designs.chromosomes import subsets_of_words
from emsco.designs.thresholds import ThresholdGrid
from emsco.models.bits import bits_of_margins, margins_of
from emsco.models.recipe import StageRecipe
from emsco.search.links import KnownMargins

BAYES = StageRecipe(GaussianNB(), None, None, 2**28, 1, 0)
LOGISTIC = StageRecipe(None, None, None, 2**28, 1, 0)
WORDS = np.array([[1], [6], [13], [31]], dtype=np.uint64)
SUBSETS = subsets_of_words(WORDS, 5)


# Margins of answers


def test_a_margin_is_the_log_odds_of_the_confidence_negative_if_the_label_is_wrong():
    winner, truth = np.array([[0, 1, 1, 0]]), np.array([0, 1, 0, 1])
    found = margins_of(winner, np.array([[0.8, 0.6, 0.9, 0.5]]), truth, 2)
    wanted = [np.log(0.8 / 0.2), np.log(0.6 / 0.4), -np.log(0.9 / 0.1), 0.0]
    np.testing.assert_allclose(found, [wanted], rtol=1e-6)
    assert found.dtype == np.float32


def test_the_right_one_of_many_classes_has_a_positive_margin_even_below_one_half():
    winner, confidence = np.array([[0, 0]]), np.array([[0.4, 0.4]])
    right, wrong = margins_of(winner, confidence, np.array([0, 2]), 3)[0].tolist()
    assert right == -wrong == pytest.approx(np.log(0.4 / 0.6) + np.log(2))
    assert right > 0


def test_certainty_has_a_finite_margin():
    found = margins_of(np.array([[0, 0]]), np.ones((1, 2)), np.array([0, 1]), 2)
    assert np.isfinite(found).all()
    assert found[0, 0] == -found[0, 1] > 20


# Bits of margins


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("kind", ["none", "low", "high", "by class"])
def test_bits_of_true_margins_are_what_the_answers_lead_to(n_classes, kind):
    rng = np.random.default_rng(n_classes)
    shares = rng.dirichlet(np.full(n_classes, 0.5), size=(3, 200))
    winner, confidence = shares.argmax(axis=2), shares.max(axis=2)
    truth = rng.integers(0, n_classes, size=200)
    thresholds = {
        "none": np.zeros(n_classes),
        "low": np.full(n_classes, 0.45),
        "high": np.full(n_classes, 0.9),
        "by class": np.linspace(0.3, 0.8, n_classes),
    }[kind]
    margins = margins_of(winner, confidence, truth, n_classes)
    accepted, correct = unpack(bits_of_margins(margins, truth, thresholds), 200)
    right = winner == truth
    assert correct.tolist() == (right & (confidence >= thresholds[winner])).tolist()
    # Which label a wrong one is, margins do not tell: the highest threshold of the others counts.
    others = np.array([np.delete(thresholds, label).max() for label in truth])
    least = np.where(right, thresholds[truth], others)
    assert accepted.tolist() == (confidence >= least).tolist()
    assert accepted.sum() > correct.sum() > 0


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("recipe", [LOGISTIC, BAYES], ids=["logistic", "outcomes"])
@pytest.mark.parametrize("weights", [None, ROWS % 4, np.sqrt(1 + ROWS)], ids=["", "whole", "any"])
@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy"])
def test_bits_that_follow_from_margins_are_those_of_the_models(n_classes, recipe, weights, metric):
    bank = bench_of(n_classes, weights, splits=FOLDS, recipe=recipe, metric=metric).bank
    margins = bank.margins(WORDS)
    assert margins.shape == (4, 64 * bank.n_words)
    for least in (0.0, 0.45, 0.7, 0.9):
        thresholds = np.full(n_classes, least)
        wanted = bank.bits_of(WORDS, ThresholdGrid.single(thresholds))
        assert bank.guessed_bits(margins, thresholds).tolist() == wanted.tolist()
        assert wanted[0].any()


def test_thresholds_by_class_lead_to_the_bits_of_the_models_for_two_classes():
    bank, thresholds = bench_of(splits=FOLDS).bank, np.array([0.65, 0.85])
    wanted = bank.bits_of(WORDS, ThresholdGrid.single(thresholds))
    assert bank.guessed_bits(bank.margins(WORDS), thresholds).tolist() == wanted.tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("recipe", [LOGISTIC, BAYES], ids=["logistic", "outcomes"])
def test_margins_agree_with_the_answers_for_the_same_rows(n_classes, recipe):
    bench = bench_of(n_classes, splits=FOLDS, recipe=recipe)
    bank, scored = bench.bank, [own for _, own in FOLDS]
    answers = bank.answers(SUBSETS, bench.data.rows, scored)
    found = bank.engine.margins(bank.kept(SUBSETS))
    for (winner, confidence), margins, own in zip(answers, found, scored, strict=True):
        truth = bench.data.labels[own]
        np.testing.assert_allclose(
            margins, margins_of(winner, confidence, truth, n_classes), rtol=1e-4, atol=1e-5
        )
        assert ((margins > 0) == (winner == truth)).all()
    assert [own.tolist() for own in bank.engine.truth] == [
        bench.data.labels[own].tolist() for own in scored
    ]


# Guesses


def test_only_what_is_not_known_is_lacking():
    known = KnownMargins(3, n_rows=2)
    assert known.lacking(np.array([1, 5, 7])).tolist() == [1, 5, 7]
    known.add(np.array([5]), np.ones((1, 2), dtype=np.float32))
    assert known.lacking(np.array([1, 5, 7])).tolist() == [1, 7]


def test_a_guess_is_the_mean_over_squares_of_known_neighbours():
    rng = np.random.default_rng(0)
    known, n_features, n_rows = KnownMargins(5, n_rows=9), 5, 9
    numbers = rng.permutation(np.arange(1, 32))[:20]
    margins = dict(
        zip(numbers.tolist(), rng.normal(size=(20, n_rows)).astype(np.float32), strict=True)
    )
    for part in (numbers[:7], numbers[7:]):  # what comes later joins what was there
        known.add(part, np.array([margins[number] for number in part.tolist()]))
    others = np.setdiff1d(np.arange(1, 32), numbers)
    found, guessed = known.guess(others)
    plain = {}
    for subset in others.tolist():
        squares = [
            (subset ^ 1 << i, subset ^ 1 << j, subset ^ 1 << i ^ 1 << j)
            for i, j in combinations(range(n_features), 2)
        ]
        values = [
            margins[a] + margins[b] - margins[c]
            for a, b, c in squares
            if {a, b, c} <= margins.keys()
        ]
        if values:
            plain[subset] = np.mean(values, axis=0)
    assert found.tolist() == list(plain)
    assert 0 < len(plain) < len(others)
    np.testing.assert_allclose(guessed, list(plain.values()), rtol=1e-4, atol=1e-5)


def test_margins_that_add_up_over_features_are_guessed_exactly():
    rng = np.random.default_rng(1)
    numbers = np.arange(1, 64)
    each = rng.normal(size=(6, 12)).astype(np.float32)
    margins = (numbers[:, None] >> np.arange(6) & 1).astype(np.float32) @ each
    is_known = rng.random(63) < 0.6
    known = KnownMargins(6, n_rows=12)
    known.add(numbers[is_known], margins[is_known])
    found, guessed = known.guess(numbers[~is_known])
    assert len(found) > 10
    np.testing.assert_allclose(guessed, margins[found - 1], rtol=1e-3, atol=1e-4)
