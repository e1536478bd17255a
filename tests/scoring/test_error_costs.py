"""What errors and rejections cost, and the total of a row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from emsco._base.documents import Fields
from emsco._base.objectives import Estimate, Expected, Objectives
from emsco.errors import FileError, ParameterError
from emsco.scoring.by_class import ByClass
from emsco.scoring.error_costs import ErrorCosts

LABELS = ("ill", "well")
COUNTED = ByClass(LABELS, ((30, 5, 15), (2, 40, 8)))
MATRIX = [[1.0, 500.0], [20.0, 0.0]]


def costs_of(error_cost, reject_cost=40, labels=LABELS, **more):
    return ErrorCosts.from_parameters(error_cost, reject_cost, labels, **more)


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        (7, [[0, 7], [7, 0]]),
        (np.float32(7), [[0, 7], [7, 0]]),
        ({"ill": 500, "well": 20}, [[0, 500], [20, 0]]),
        ({"well": 20, "ill": {"well": 500}}, [[0, 500], [20, 0]]),
        ({"ill": {"ill": 1, "well": 500}, "well": {"ill": 20}}, MATRIX),
        (MATRIX, MATRIX),
        (np.array(MATRIX), MATRIX),
    ],
)
def test_errors_cost_a_number_a_number_by_label_or_a_matrix(given, lines):
    assert costs_of(given).of_labels.tolist() == lines
    as_text = costs_of({"0": 5, "1": 6}, {"1": 2, "0": 1}, (0, 1))  # as in a file
    assert as_text.costs.tolist() == [[0, 5, 1], [6, 0, 2]]


@pytest.mark.parametrize(
    ("error_cost", "reject_cost", "named"),
    [
        (-1, 1, "error_cost must .* -1"),
        ("many", 1, "error_cost must .* 'many'"),
        ({"ill": 1, "well": 1, "sick": 2}, 1, "error_cost must .* 'sick'"),
        ({"ill": {"wel": 1}, "well": 1}, 1, "error_cost of class 'ill' must .* 'wel'"),
        ([[0, 1]], 1, "error_cost must .* 2 lines of 2"),
        ([0, 1, 1, 0], 1, "error_cost must .* 2 lines of 2"),
        ([[0, -3], [1, 0]], 1, "class 'ill' given the label 'well' must .* -3"),
        ([[5, 1], [1, 0]], 1, "class 'ill' .* got 5 for it and 1 for 'well'"),
        (None, 1, "error_cost must be given"),
        (1, None, "reject_cost must be given"),
        (1, [1, 2], r"reject_cost must .* \[1, 2\]"),
        (1, {"ill": 2}, "reject_cost must .* 'well'"),
        (1, {"ill": 2, "well": math.inf}, "reject_cost of class 'well' must .* inf"),
    ],
)
def test_costs_that_cannot_be_are_refused_by_label_and_value(error_cost, reject_cost, named):
    with pytest.raises(ParameterError, match=named):
        costs_of(error_cost, reject_cost)


@pytest.mark.parametrize(
    ("given", "by_true_class", "follow", "stakes"),
    [
        (7, (7, 7), True, [7, 7]),
        ({"ill": 500, "well": 20}, (500, 20), True, [500, 20]),
        ({"ill": 500, "well": 0}, (500, 0), False, [500, 0.5]),
        (MATRIX, None, True, [499, 20]),
        (0, (0, 0), False, [1, 1]),
    ],
)
def test_stakes_are_what_a_wrong_label_costs_beyond_the_correct_one(
    given, by_true_class, follow, stakes
):
    costs = costs_of(given)
    assert costs.by_true_class == by_true_class
    assert costs.is_uniform == (given in (0, 7))
    assert costs.stakes.tolist() == stakes
    assert costs.labels_follow_stakes == follow


def test_equal_costs_of_the_same_classes_are_equal_and_a_file_keeps_them():
    costs = costs_of(MATRIX, 40)
    read = ErrorCosts.from_fields(Fields({"costs": costs.costs.tolist()}, "f"), "costs", LABELS)
    assert read == costs == costs_of(np.array(MATRIX), {"ill": 40, "well": 40})
    assert hash(read) == hash(costs)
    assert costs != costs_of(MATRIX, 41)
    with pytest.raises(FileError, match="costs"):
        ErrorCosts.from_fields(Fields({"costs": [[0, 1], [-1, 0]]}, "f"), "costs", LABELS)


def test_without_classes_costs_are_single_numbers():
    total = costs_of(50, 10, None).total(Objectives(0.9, 0.8, 5.0))
    assert (total.features, total.errors, total.rejections) == pytest.approx((5, 9, 1))
    with pytest.raises(ParameterError):
        costs_of(MATRIX, 10, None)


def test_the_total_is_the_mean_over_rows_where_the_figures_are_counted():
    costs = costs_of(MATRIX, {"ill": 60, "well": 10})
    figures = Objectives(77 / 100, 70 / 77, 3.0)
    total = costs.total(figures, COUNTED)
    assert total.value == pytest.approx(3 + (np.array(COUNTED.counts) * costs.costs).sum() / 100)
    assert total.rejections == pytest.approx((15 * 60 + 8 * 10) / 100)


def test_rows_of_a_kind_that_was_not_seen_cost_what_they_would_if_labels_knew_nothing():
    none_wrong = ByClass(LABELS, ((75, 0, 0), (0, 25, 0)))
    correct, wrong, rejected = costs_of(MATRIX, {"ill": 60, "well": 10}).mean_costs(none_wrong)
    # Ill rows are three times as many, and "well" is given a third as often.
    either = (MATRIX[0][1] + MATRIX[1][0]) / 2
    assert (correct, wrong, rejected) == pytest.approx((0.75, either, 47.5))


def test_the_interval_of_a_total_follows_from_those_of_its_figures():
    figures = Expected(Estimate(0.8, 0.76, 0.84), Estimate(0.9, 0.87, 0.93), Estimate(3, 2, 4))
    total = costs_of(500, 40).total(figures.figures, COUNTED, figures)
    slopes = ((50 - 40) * 0.04, -0.8 * 500 * 0.03, 1)
    assert total.interval is not None
    assert total.interval.high - total.value == pytest.approx(math.hypot(*slopes))
    assert total.basis == "expected"
    assert costs_of(500, 40).total(figures.figures, COUNTED).interval is None


def test_means_and_deviations_are_over_the_rows_that_were_decided():
    three = ByClass(("a", "b", "c"), ((9, 1, 3, 0), (0, 9, 0, 0), (2, 0, 9, 4)))
    costs = costs_of([[0, 1, 5], [2, 0, 4], [7, 8, 0]], 1, ("a", "b", "c"))
    assert costs.mean_wrong(three).tolist() == [4.0, 3.0, 7.0]
    rows = np.repeat(costs.costs.ravel(), np.array(three.counts).ravel())
    assert costs.mean(three) == pytest.approx(rows.mean())
    assert costs.deviation(three) == pytest.approx(rows.std())


def test_a_promise_does_not_take_one_cheap_error_for_all_that_follow():
    counts = np.array([[60, 1, 5], [0, 40, 4]])  # one error, and of the cheap class
    by_class = ByClass(("well", "ill"), counts)
    costs = ErrorCosts.from_parameters({"well": 300, "ill": 2000}, 0, ("well", "ill"))
    _, seen, _ = costs.mean_costs(by_class)
    _, promised, _ = costs.mean_costs(by_class, promised=True)
    well, ill = 66 * 41, 44 * 60  # rows of a class, times labels of the other
    usual = (300 * well + 2000 * ill) / (well + ill)
    assert seen == 300
    assert promised == pytest.approx((300 + 10 * usual) / 11)


def test_one_label_for_all_costs_the_same_whether_features_were_bought_or_not():
    """The ten errors that a promise adds are of that label, so they change nothing."""
    costs = costs_of({"ill": 605, "well": 250}, 10)
    always_ill = ByClass(LABELS, ((63, 0, 0), (158, 0, 0)))
    figures = Objectives(1.0, 63 / 221, 5.0)
    total = costs.total(figures, always_ill, promised=True)
    assert total.errors == pytest.approx(costs.total_of_nothing(always_ill).value)


def test_labels_are_replaced_by_those_that_cost_least():
    costs = costs_of({"ill": 50, "well": 1}, 10)
    counted = ByClass(LABELS, ((6, 2, 1), (3, 60, 4)))
    relabelled = costs.relabelled(counted)
    assert relabelled.counts == ((8, 0, 1), (63, 0, 4))
    assert costs.mean(relabelled) == (63 * 1 + 5 * 10) / 76
    assert costs.losses(counted) == costs.mean(counted)
    even = costs_of(5, 10)
    assert even.relabelled(counted).counts == counted.counts
