"""Rows sent through stages one by one, beside a plain NumPy twin."""

import numpy as np
import pytest

from emsco._kernels.counts import add_shares, follow_stage

N_CLASSES = 3


def _rows(seed, n_stages=3, n_rows=200):
    rng = np.random.default_rng(seed)
    winner = rng.integers(0, N_CLASSES, (n_stages, n_rows)).astype(np.uint8)
    sure = rng.uniform(0.3, 1, (n_stages, n_rows))
    least = rng.uniform(0.5, 1, (n_stages, N_CLASSES))
    missing = rng.random((n_stages, n_rows)) < 0.2
    for array in (winner, sure, least, missing):
        array.setflags(write=False)
    return winner, sure, least, missing


def _follow(winner, sure, least, missing):
    n_rows = winner.shape[1]
    given = np.full(n_rows, N_CLASSES, dtype=np.uint8)
    stage, confidence = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.float32)
    for j in range(len(winner)):
        own = missing[j] if len(missing) else np.zeros(0, dtype=bool)
        follow_stage(j, winner[j], sure[j], least[j], own, given, stage, confidence)
    return given, stage, confidence


@pytest.mark.parametrize("seed", range(3))
def test_a_row_leaves_at_the_first_stage_that_is_sure_and_misses_nothing(seed):
    winner, sure, least, missing = _rows(seed)
    leaves = (sure >= np.take_along_axis(least, winner.astype(int), axis=1)) & ~missing
    accepted, rows = leaves.any(axis=0), np.arange(winner.shape[1])
    stage = np.where(accepted, leaves.argmax(axis=0), len(winner) - 1)
    found = _follow(winner, sure, least, missing)
    assert np.array_equal(found[0], np.where(accepted, winner[stage, rows], N_CLASSES))
    assert np.array_equal(found[1], stage)
    assert np.array_equal(found[2], sure[stage, rows].astype(np.float32))


def test_no_line_of_gaps_means_no_gap():
    winner, sure, least, missing = _rows(3)
    none = _follow(winner, sure, least, missing[:0])
    assert np.array_equal(none[0], _follow(winner, sure, least, missing & False)[0])


def test_decisions_about_a_row_add_up():
    given, stage, _ = _follow(*_rows(4))
    rng = np.random.default_rng(5)
    truth, rows = rng.integers(0, N_CLASSES, 200), rng.integers(0, 40, 200)
    share, paid = rng.random(200).astype(np.float32), np.array([1.0, 4.0, 9.0])
    found = np.zeros((3, 40), dtype=np.float32)
    add_shares(given, stage, truth, rows, share, paid, N_CLASSES, found)
    for line, values in zip(found, (given < N_CLASSES, given == truth, paid[stage]), strict=True):
        assert line == pytest.approx(np.bincount(rows, share * values, 40), rel=1e-5)
