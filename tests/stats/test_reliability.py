"""Reliability of confidences, and risk against coverage."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.handmade import (
    cascades_and_rows,
    make_cascade,
    make_rich_cascade,
    make_rich_rows,
    make_rows,
)
from support.looks import words_of

from emsco.errors import ParameterError
from emsco.plotting import draw_reliability, draw_risk_coverage
from emsco.stats.reliability import reliability_of, risk_coverage_of, spread_thresholds

# Reliability


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
    record = reliability_of(confidence, correct, weights, n_bins)
    expected = plain_bins(confidence, correct, weights, record.edges)
    assert record.rows.tolist() == [total for total, _, _ in expected]
    for i, (total, sure, accuracy) in enumerate(expected):
        if total:
            assert record.confidence[i] == pytest.approx(sure)
            assert record.accuracy[i] == pytest.approx(accuracy)
    errors = [abs(accuracy - sure) * total for total, sure, accuracy in expected if total]
    assert record.error == pytest.approx(sum(errors) / max(weights.sum(), 1))


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
    record = reliability_of(*honest(100_000), lowest=0.5)
    assert record.error < 0.01
    assert record.largest_error < 0.03


def test_the_error_by_chance_is_that_of_honest_confidence_on_as_many_rows():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, (300, 100))
    correct = rng.random(confidence.shape) < confidence
    records = [reliability_of(*rows, lowest=0.5) for rows in zip(confidence, correct, strict=True)]
    by_chance = np.mean([one.error_by_chance for one in records])
    assert by_chance == pytest.approx(np.mean([one.error for one in records]), rel=0.1)


def test_overconfidence_has_a_negative_error():
    record = reliability_of(np.full(10, 0.95), np.arange(10) < 6)
    assert record.errors[-1] == pytest.approx(-0.35)
    assert (record.error, record.largest_error) == (pytest.approx(0.35), pytest.approx(0.35))


def test_the_last_bin_holds_certainty_and_others_their_lower_edge():
    record = reliability_of(
        np.array([0.5, 0.75, 1.0]), np.ones(3, dtype=bool), n_bins=2, lowest=0.5
    )
    assert record.rows.tolist() == [1, 2]


def test_no_rows_have_no_error():
    record = reliability_of(np.zeros(0), np.zeros(0, dtype=bool))
    assert (record.error, record.largest_error) == (0.0, 0.0)


def test_a_picture_pools_bins_of_few_rows_and_draws_intervals():
    record = reliability_of(*honest(40), n_bins=20, lowest=0.5)
    assert (record.rows < 10).all()
    panel = draw_reliability([record]).axes[0]
    assert len(panel.patches) == 4 or len(panel.patches) == 3
    widths = sum(bar.get_width() for bar in panel.patches)
    assert widths == pytest.approx(0.94 * 0.5)
    (intervals,) = panel.collections
    for (_, low), (_, high) in intervals.get_segments():
        assert 0 <= low < high <= 1


# Risk against coverage


@pytest.fixture(scope="module")
def labelled():
    X = make_rows(120)
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def with_threshold(cascade, level):
    """Copy a cascade with another threshold."""
    return type(cascade)(
        cascade.design,
        cascade.costs,
        cascade.classes,
        level,
        cascade.encoding,
        cascade.models,
    )


def assert_as_deployed(cascade, X, y, weights=None):
    """Compare every third point of the curve with a cascade deployed at that threshold."""
    curve = cascade.risk_coverage(X, y, weights)[0]
    for i in range(0, len(curve.threshold), 3):
        evaluation = with_threshold(cascade, curve.threshold[i].item()).evaluate(X, y, weights)
        figures = curve.coverage[i], 1 - np.nan_to_num(curve.risk[i], nan=1.0), curve.cost[i]
        assert figures == pytest.approx(
            (evaluation.coverage, evaluation.accuracy, evaluation.cost), abs=1e-12
        )


def test_a_point_of_the_curve_is_what_the_cascade_does_at_that_threshold(labelled):
    assert_as_deployed(make_cascade(), *labelled)


def test_weights_count_in_the_curve(labelled):
    weights = np.random.default_rng(0).uniform(0.1, 3, size=120)
    assert_as_deployed(make_cascade(), *labelled, weights)


@pytest.mark.parametrize("gaps", ["impute", "skip"])
def test_missing_values_are_treated_as_in_decisions(gaps):
    table = make_rich_rows(40)
    y = np.random.default_rng(0).choice(["ill", "unclear", "well"], size=40)
    assert_as_deployed(make_rich_cascade(gaps=gaps), table, y)


@settings(max_examples=15, deadline=None)
@given(cascades_and_rows())
def test_higher_thresholds_cover_no_more_and_cost_no_less(case):
    cascade, rows = case
    curve = cascade.risk_coverage(rows, np.zeros(len(rows), dtype=int))[0]
    assert (np.diff(curve.threshold) > 0).all()
    assert (np.diff(curve.coverage) <= 0).all()
    assert (np.diff(curve.cost) >= -1e-9 * curve.cost[-1]).all()
    assert curve.coverage[0] == 1


def test_the_deployed_threshold_is_a_point_of_the_curve(labelled):
    cascade = make_cascade()
    curve = cascade.risk_coverage(*labelled)[0]
    at = curve.threshold.tolist().index(0.8)
    assert curve.coverage[at] == cascade.evaluate(*labelled).coverage


def test_a_stage_alone_judges_every_row_at_its_own_cost(labelled):
    cascade = make_cascade()
    whole, *alone = cascade.risk_coverage(*labelled)
    assert whole.stage is None
    assert [curve.stage for curve in alone] == [1, 2, 3]
    for curve, cost in zip(alone, cascade.stage_costs, strict=True):
        assert curve.cost == pytest.approx(cost)
    opinions, _, _ = cascade.stages.opinions(cascade.encoding.rows(labelled[0]))
    shares = [(opinions[1] >= level).mean() for level in alone[1].threshold]
    assert alone[1].coverage.tolist() == pytest.approx(shares)


def test_area_is_the_mean_risk_over_coverage():
    sure, correct = np.array([[0.9, 0.8, 0.7, 0.6]]), np.array([[True, True, False, False]])
    curve = risk_coverage_of(sure, correct, [1], [0.6, 0.7, 0.8, 0.9])
    assert curve.risk.tolist() == pytest.approx([1 / 2, 1 / 3, 0, 0])
    assert curve.area == pytest.approx((0 + (0 + 1 / 3) / 2 + (1 / 3 + 1 / 2) / 2) / 3)


def test_where_no_row_is_accepted_there_is_no_risk():
    curve = risk_coverage_of(np.array([[0.6]]), np.array([[True]]), [2], [0.5, 0.9])
    assert json.loads(json.dumps(curve.to_dict(), allow_nan=False))["risk"] == [0.0, None]
    assert curve.to_pandas()["cost"].tolist() == [2, 2]
    assert (curve.area, curve.to_polars().shape) == (0.0, (2, 4))


def test_thresholds_of_no_rows_are_the_lowest_one():
    assert spread_thresholds(np.zeros((2, 0)), 0.5).tolist() == [0.5]


def test_the_picture_draws_risk_and_cost_and_marks_the_threshold(labelled):
    records = make_cascade().risk_coverage(*labelled)
    figure = draw_risk_coverage(records, at=0.8)
    words = words_of(figure)
    assert all(word in words for word in ("cascade", "stage3alone", "threshold0.8", "coverage"))
    mark = figure.axes[0].get_lines()[-1]
    at = records[0].threshold.tolist().index(0.8)
    assert mark.get_xdata()[0] == records[0].coverage[at]
    with pytest.raises(ParameterError):
        draw_risk_coverage([])


def test_a_star_is_what_the_cascade_itself_does_with_the_rows(labelled):
    cascade = make_cascade()
    records, evaluated = cascade.risk_coverage(*labelled), cascade.evaluate(*labelled)
    assert records[0].deployed == evaluated.objectives
    above, below = draw_risk_coverage(records).axes
    (star,) = (line for line in below.get_lines() if line.get_marker() == "*")
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (evaluated.coverage, evaluated.cost)
    (star,) = (line for line in above.get_lines() if line.get_marker() == "*")
    assert star.get_ydata()[0] == 1 - evaluated.accuracy
