"""Risk against coverage: rows go through the stages again at every threshold."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.figure import Figure
from support.handmade import (
    cascades_and_rows,
    make_cascade,
    make_rich_cascade,
    make_rich_rows,
    make_rows,
)
from support.looks import words_of

from emsco.errors import DataError, ParameterError
from emsco.plotting import draw_reliability, draw_risk_coverage
from emsco.stats.reliability import reliability_of, risk_coverage_of, spread_thresholds


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
        found = with_threshold(cascade, curve.threshold[i].item()).evaluate(X, y, weights)
        figures = curve.coverage[i], 1 - np.nan_to_num(curve.risk[i], nan=1.0), curve.cost[i]
        assert figures == pytest.approx((found.coverage, found.accuracy, found.cost), abs=1e-12)


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
    opinions, _ = cascade.stages.opinions(cascade.encoding.rows(labelled[0]))
    shares = [(opinions[1] >= level).mean() for level in alone[1].threshold]
    assert alone[1].coverage.tolist() == pytest.approx(shares)


def test_area_is_the_mean_risk_over_coverage():
    sure, correct = np.array([[0.9, 0.8, 0.7, 0.6]]), np.array([[True, True, False, False]])
    found = risk_coverage_of(sure, correct, [1], [0.6, 0.7, 0.8, 0.9])
    assert found.risk.tolist() == pytest.approx([1 / 2, 1 / 3, 0, 0])
    assert found.area == pytest.approx((0 + (0 + 1 / 3) / 2 + (1 / 3 + 1 / 2) / 2) / 3)


def test_where_no_row_is_accepted_there_is_no_risk():
    found = risk_coverage_of(np.array([[0.6]]), np.array([[True]]), [2], [0.5, 0.9])
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["risk"] == [0.0, None]
    assert found.to_pandas()["cost"].tolist() == [2, 2]
    assert (found.area, found.to_polars().shape) == (0.0, (2, 4))


def test_thresholds_of_no_rows_are_the_lowest_one():
    assert spread_thresholds(np.zeros((2, 0)), 0.5).tolist() == [0.5]


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match=r"a line for each stage, got shapes \(1, 2\) and \(1, 2\)"):
        risk_coverage_of(np.ones((1, 2)), np.ones((1, 2), bool), [1, 2], [0.5])


def test_the_picture_draws_risk_and_cost_and_marks_the_threshold(labelled):
    records = make_cascade().risk_coverage(*labelled)
    figure = draw_risk_coverage(records, at=0.8)
    words = words_of(figure)
    assert all(word in words for word in ("cascade", "stage3alone", "threshold0.8", "coverage"))
    mark = figure.axes[0].get_lines()[-1]
    at = records[0].threshold.tolist().index(0.8)
    assert mark.get_xdata()[0] == records[0].coverage[at]
    with pytest.raises(ParameterError, match="records must be of a cascade or a stage, got none"):
        draw_risk_coverage([])


def test_of_ten_stages_a_few_lines_are_drawn_that_differ_in_grey(labelled):
    cascade, *_ = make_cascade().risk_coverage(*labelled)
    records = [cascade, *(replace(cascade, stage=j + 1) for j in range(10))]
    figure = draw_risk_coverage(records, width=7)
    for panel in figure.axes:
        looks = {(str(line.get_linestyle()), line.get_marker()) for line in panel.get_lines()}
        assert len(looks) == 4
    names = figure.axes[0].get_legend_handles_labels()[1]
    assert names == ["stage 1 alone", "stage 5 alone", "stage 10 alone", "cascade"]
    assert "stage10alone" in words_of(figure)


def test_reliability_has_as_many_lines_as_a_column_needs():
    rng = np.random.default_rng(0)
    records = [
        reliability_of(rng.uniform(0.5, 1, 50), rng.random(50) < 0.8, lowest=0.5, stage=j + 1)
        for j in range(3)
    ]
    figure = draw_reliability(records, width=3.4)
    assert "stage3,error" in words_of(figure)
    assert figure.get_figheight() > draw_reliability(records).get_figheight()


def test_risk_and_the_reliability_of_a_stage_are_drawn_into_existing_axes(labelled):
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    records, stages = make_cascade().risk_coverage(*labelled), make_cascade().reliability(*labelled)
    assert draw_risk_coverage(records, 0.8, ax=left) is figure
    assert draw_reliability(stages[1:2], ax=right) is figure
    words = words_of(figure)
    assert all(one in words for one in ("threshold0.8", "stage2,error", "sharecorrect", "honest"))
    with pytest.raises(ParameterError, match="ax must be left out for several stages, got 3 recor"):
        draw_reliability(stages, ax=right)
