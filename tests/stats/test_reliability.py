"""Reliability: bins compared with a plain loop, tables, and a picture."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.errors import DataError, ParameterError
from emsco.plotting import draw_reliability, save_figure
from emsco.stats.reliability import reliability_of


def honest(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.5, 1, n_rows)
    return confidence, rng.random(n_rows) < confidence


def plain_bins(confidence, correct, weights, edges):
    """Weight, mean confidence and accuracy of each bin, by a loop over rows."""
    bins = []
    for i, (low, high) in enumerate(pairwise(edges)):
        last = i == len(edges) - 2
        rows = [r for r, c in enumerate(confidence) if low <= c and (c < high or last)]
        total = sum(weights[r] for r in rows)
        sure = sum(weights[r] * confidence[r] for r in rows)
        right = sum(weights[r] * correct[r] for r in rows)
        bins.append((total, sure / total if total else None, right / total if total else None))
    return bins


@given(
    rows=st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.integers(0, 3)), max_size=30),
    n_bins=st.integers(1, 12),
)
@settings(max_examples=60, deadline=None)
def test_bins_are_those_of_a_plain_loop(rows, n_bins):
    confidence = np.array([row[0] for row in rows])
    correct = np.array([row[1] for row in rows], dtype=np.bool_)
    weights = np.array([row[2] for row in rows], dtype=np.float64)
    found = reliability_of(confidence, correct, weights, n_bins)
    expected = plain_bins(confidence, correct, weights, found.edges)
    assert found.rows.tolist() == [total for total, _, _ in expected]
    for i, (total, sure, accuracy) in enumerate(expected):
        if total:
            assert found.confidence[i] == pytest.approx(sure)
            assert found.accuracy[i] == pytest.approx(accuracy)
    errors = [abs(accuracy - sure) * total for total, sure, accuracy in expected if total]
    assert found.error == pytest.approx(sum(errors) / max(weights.sum(), 1))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_whole_weights_are_repeated_rows(seed):
    confidence, correct = honest(40, seed)
    counts = np.random.default_rng(seed).integers(0, 4, 40)
    weighted = reliability_of(confidence, correct, counts.astype(np.float64))
    repeated = reliability_of(np.repeat(confidence, counts), np.repeat(correct, counts))
    assert weighted.rows.tolist() == repeated.rows.tolist()
    np.testing.assert_allclose(weighted.accuracy, repeated.accuracy)
    assert weighted.error == pytest.approx(repeated.error)
    assert weighted.largest_error == pytest.approx(repeated.largest_error)


def test_honest_confidence_has_almost_no_error():
    found = reliability_of(*honest(100_000), lowest=0.5)
    assert found.error < 0.01
    assert found.largest_error < 0.03


def test_overconfidence_has_a_negative_error():
    found = reliability_of(np.full(10, 0.95), np.arange(10) < 6)
    assert found.errors[-1] == pytest.approx(-0.35)
    assert (found.error, found.largest_error) == (pytest.approx(0.35), pytest.approx(0.35))


def test_the_last_bin_holds_certainty_and_others_their_lower_edge():
    found = reliability_of(np.array([0.5, 0.75, 1.0]), np.ones(3, dtype=bool), n_bins=2, lowest=0.5)
    assert found.rows.tolist() == [1, 2]


def test_no_rows_have_no_error():
    found = reliability_of(np.zeros(0), np.zeros(0, dtype=bool))
    assert (found.error, found.largest_error) == (0.0, 0.0)


@pytest.mark.parametrize("method", ["to_pandas", "to_polars"])
def test_empty_bins_are_missing_in_tables(method):
    found = reliability_of(np.full(4, 0.95), np.ones(4, dtype=bool), stage=2)
    table = getattr(found, method)()
    assert list(table.columns) == [
        "stage",
        "low",
        "high",
        "rows",
        "confidence",
        "accuracy",
        "error",
    ]
    accuracy = table["accuracy"].to_list()
    assert accuracy[-1] == 1.0
    assert all(str(value) in ("None", "<NA>") for value in accuracy[:-1])


def test_a_record_is_plain_values_for_json():
    found = reliability_of(*honest(50))
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["bins"][0]["accuracy"] is None
    assert again["error"] == found.error


def test_records_are_locked():
    found = reliability_of(*honest(50))
    with pytest.raises(ValueError, match="read-only"):
        found.rows[0] = 1


@pytest.mark.parametrize(
    ("confidence", "correct", "weights", "sentence"),
    [
        ([0.5, np.nan], [True, True], None, "confidence must be from 0 to 1, got nan in row 1."),
        ([0.5, 1.5], [True, True], None, "confidence must be from 0 to 1, got 1.5 in row 1."),
        ([0.5], [True], [-1.0], "weights must be at least 0, got -1 in row 0."),
        (
            [0.5, 0.5],
            [True],
            None,
            "confidence, correct and weights must have one value a row, got shapes (2,), (1,) and "
            "(2,).",
        ),
    ],
)
def test_rows_that_cannot_be_used_are_refused(confidence, correct, weights, sentence):
    counts = None if weights is None else np.array(weights)
    with pytest.raises(DataError, match=f"^{re.escape(sentence)}$"):
        reliability_of(np.array(confidence), np.array(correct), counts)


def test_bins_that_cannot_be_used_are_refused():
    with pytest.raises(ParameterError, match="n_bins must be a whole number from 1 up, got 0"):
        reliability_of(*honest(5), n_bins=0)
    with pytest.raises(ParameterError, match=r"lowest must be a number in \[0, 1\), got 1"):
        reliability_of(*honest(5), lowest=1)


def test_the_picture_has_a_panel_for_each_stage(tmp_path):
    pytest.importorskip("matplotlib")
    records = [reliability_of(*honest(200, seed), lowest=0.5, stage=seed + 1) for seed in range(3)]
    figure = draw_reliability(records)
    titles = [panel.get_title() for panel in figure.axes if panel.get_title()]
    assert [title.split(",")[0] for title in titles] == ["stage 1", "stage 2", "stage 3"]
    assert all(path.stat().st_size for path in save_figure(figure, tmp_path / "reliability"))


def test_a_picture_of_nothing_is_refused():
    with pytest.raises(ParameterError, match="records must be of at least one stage, got none"):
        draw_reliability([])


def test_a_picture_pools_bins_of_few_rows_and_draws_intervals():
    found = reliability_of(*honest(40), n_bins=20, lowest=0.5)
    assert (found.rows < 10).all()
    panel = draw_reliability([found]).axes[0]
    assert len(panel.patches) == 4 or len(panel.patches) == 3
    widths = sum(bar.get_width() for bar in panel.patches)
    assert widths == pytest.approx(0.94 * 0.5)
    (intervals,) = panel.collections
    for (_, low), (_, high) in intervals.get_segments():
        assert 0 <= low < high <= 1
