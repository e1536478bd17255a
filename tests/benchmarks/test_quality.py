"""Quality of fronts, on cases small enough to work out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from search_quality import FrontQuality, losses, share_of_front

from emsco.scoring.scores import Scores

N_ROWS = 10
TOTAL = 4.0


def scores_of(*rows) -> Scores:
    """Scores of designs of one stage, from (accepted, correct, spent)."""
    accepted, correct, spent = np.array(rows).T
    return Scores(N_ROWS, accepted[:, None], correct[:, None], spent)


# Losses: (0, 0.5, 0.5) and (0.5, 0, 0.25).
TRUTH = scores_of((10, 5, 20), (5, 5, 10))


def test_losses_are_missing_coverage_missing_accuracy_and_relative_cost():
    scores = scores_of((10, 5, 20), (5, 5, 10), (0, 0, 40))
    assert losses(scores, TOTAL).tolist() == [[0, 0.5, 0.5], [0.5, 0, 0.25], [1, 1, 1]]


def test_costs_are_counted_in_units():
    scores = Scores(N_ROWS, np.array([[10]]), np.array([[10]]), np.array([2000]), per_one=100)
    assert losses(scores, TOTAL).tolist() == [[0, 0, 0.5]]


def test_the_true_front_has_perfect_quality():
    quality = FrontQuality.from_scores(TRUTH, TOTAL, TRUTH)
    assert (quality.share, quality.hypervolume_ratio) == (1.0, 1.0)
    assert (quality.igd_plus, quality.epsilon) == (0.0, 0.0)


def test_the_hypervolume_is_that_of_the_boxes_up_to_the_reference_point():
    # Boxes of 1 · 0.5 · 0.5 and 0.5 · 1 · 0.75, which share 0.5 · 0.5 · 0.5.
    assert FrontQuality.from_scores(TRUTH, TOTAL).hypervolume == pytest.approx(0.25 + 0.375 - 0.125)


def test_a_design_that_loses_everything_has_no_volume():
    assert FrontQuality.from_scores(scores_of((0, 0, 40)), TOTAL).hypervolume == 0.0


def test_a_part_of_the_front_has_its_share_of_vectors_and_of_volume():
    quality = FrontQuality.from_scores(scores_of((10, 5, 20)), TOTAL, TRUTH)
    assert quality.share == 0.5
    assert quality.hypervolume == pytest.approx(0.25)
    assert quality.hypervolume_ratio == pytest.approx(0.25 / 0.5)
    # (0, 0.5, 0.5) is 0 behind itself, and (0, 0.5, 0.25) behind (0.5, 0, 0.25).
    assert quality.igd_plus == pytest.approx(math.hypot(0.5, 0.25) / 2)
    assert quality.epsilon == pytest.approx(0.5)


def test_a_slightly_more_expensive_front_shares_nothing_and_misses_a_little():
    quality = FrontQuality.from_scores(scores_of((10, 5, 24), (5, 5, 14)), TOTAL, TRUTH)
    assert quality.share == 0.0
    assert quality.igd_plus == pytest.approx(0.1)
    assert quality.epsilon == pytest.approx(0.1)


def test_without_the_true_front_only_the_volume_is_known():
    values = FrontQuality.from_scores(TRUTH, TOTAL).to_dict()
    assert values.pop("hypervolume") == pytest.approx(0.5)
    assert list(values) == ["share", "hypervolume_ratio", "igd_plus", "epsilon"]
    assert all(math.isnan(value) for value in values.values())


def test_vectors_that_repeat_count_once():
    repeated = scores_of((10, 5, 20), (10, 5, 20), (10, 5, 20), (5, 5, 10))
    assert share_of_front(repeated, TRUTH) == 1.0
    assert share_of_front(scores_of((5, 5, 10)), repeated) == 0.5


def test_designs_off_the_front_add_no_share():
    assert share_of_front(scores_of((10, 5, 20), (10, 5, 21), (9, 5, 20)), TRUTH) == 0.5
