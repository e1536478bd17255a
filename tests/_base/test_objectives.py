"""Estimates of the objectives: their words, their errors and their files."""

from dataclasses import replace

import numpy as np
import pytest

from emsco._base.documents import Fields
from emsco._base.objectives import Estimate, Expected

RECALL = (Estimate(0.7, 0.5, 0.8), Estimate(0.75, 0.7, 0.8))
SOME = Expected(Estimate(0.9, 0.85, 0.94), Estimate(0.8, 0.7, 0.88), Estimate(5, 4, 6), RECALL)


def test_the_standard_error_of_a_balanced_score_follows_from_intervals():
    rng = np.random.default_rng(4)
    draws = [
        rng.normal(one.value, one.error, 20_000)
        for one in (SOME.coverage, SOME.accuracy, SOME.cost)
    ]
    lengths = np.sqrt(draws[0] ** 2 + draws[1] ** 2 + (1 - draws[2] / 20) ** 2)
    score, error = SOME.balanced(20.0)
    assert score == pytest.approx(lengths.mean(), abs=0.01)
    assert error == pytest.approx(lengths.std(), rel=0.05)


def test_expected_figures_survive_a_file():
    fields = Fields(SOME.to_lists(), "front.json")
    assert Expected.from_dict(fields, 2) == SOME


def test_a_file_without_recall_expects_none():
    values = SOME.to_lists()
    del values["recall"]
    assert Expected.from_dict(Fields(values, "front.json"), 2) == replace(SOME, recall=())
