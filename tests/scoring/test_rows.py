"""Scored rows: each counts what it weighs, however many splits score it."""

from __future__ import annotations

import numpy as np
import pytest
from support.leveled import NAMES, made_table

from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.scoring.rows import ScoredRows

ROWS = np.arange(120)
ONE = [(ROWS[:70], ROWS[70:])]
FOLDS = [(np.delete(ROWS, ROWS[i::3]), ROWS[i::3]) for i in range(3)]
OVERLAPPING = [(ROWS[:90], ROWS[90:]), (ROWS[60:], ROWS[:60]), (ROWS[30:], ROWS[:100])]


def rows_of(splits, weights=None, gaps="refuse", members=None):
    table, y = made_table(3, gaps != "refuse")
    costs = FeatureCosts.from_array([1, 2, 3, 4, 5], NAMES)
    data = TrainingData.from_table(table, y, weights, costs, gaps)
    members = np.eye(5, dtype=np.bool_) if members is None else members
    return data, ScoredRows.from_splits(data, splits, members)


@pytest.mark.parametrize(
    ("splits", "weights", "count", "count_alike"),
    [
        (ONE, None, True, True),
        (FOLDS, None, True, True),
        (FOLDS * 2, None, False, True),
        (OVERLAPPING, None, False, False),
        (ONE, np.sqrt(1 + ROWS), False, False),
        (OVERLAPPING, np.sqrt(1 + ROWS), False, False),
    ],
)
def test_the_weights_of_a_row_add_up_to_its_own_and_figures_are_counts_if_all_are_1(
    splits, weights, count, count_alike
):
    data, scored = rows_of(splits, weights)
    every = np.concatenate([rows for _, rows in splits])
    different = np.unique(every)
    assert len(scored) == len(every) == scored.ends[-1]
    assert different[scored.rows].tolist() == every.tolist()
    assert scored.truth.tolist() == data.labels[every].tolist()
    own = np.ones(120) if weights is None else weights
    np.testing.assert_allclose(np.bincount(scored.rows, scored.weights), own[different])
    units = np.ones(120, dtype=int) if weights is None else data.units
    assert scored.units.tolist() == units[every].tolist()
    assert (scored.own_weights is None, scored.count_alike) == (count, count_alike)


def test_a_block_misses_a_value_if_any_of_its_features_does():
    members = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 1]], dtype=bool)
    data, scored = rows_of(FOLDS, gaps="skip", members=members)
    missing = np.isnan(data.rows)[np.concatenate([rows for _, rows in FOLDS])]
    wanted = [missing[:, :2].any(axis=1), missing[:, 2], missing[:, 3:].any(axis=1)]
    assert scored.missing.T.tolist() == np.array(wanted).tolist()
    assert rows_of(ONE)[1].missing is None
