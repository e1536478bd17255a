"""What errors and rejections cost, and the total of a row; and what cannot be scored."""

from __future__ import annotations

import math

import numpy as np
import pytest

from emsco._base.documents import Fields
from emsco._base.objectives import Estimate, Expected, Objectives
from emsco.errors import EMSCOError
from emsco.scoring import Answers
from emsco.scoring.by_class import ByClass
from emsco.scoring.comparisons import Comparison
from emsco.scoring.error_costs import ErrorCosts, Total

LABELS = ("ill", "well")
COUNTED = ByClass(LABELS, ((30, 5, 15), (2, 40, 8)))
MATRIX = [[1.0, 500.0], [20.0, 0.0]]


def costs_of(error_cost, reject_cost=40, labels=LABELS, **more):
    return ErrorCosts.from_parameters(error_cost, reject_cost, labels, **more)


@pytest.mark.parametrize(
    ("given", "lines", "stakes", "follow"),
    [
        (7, [[0, 7], [7, 0]], [7, 7], True),
        (0, [[0, 0], [0, 0]], [1, 1], False),
        ({"ill": 500, "well": 20}, [[0, 500], [20, 0]], [500, 20], True),
        ({"ill": 500, "well": 0}, [[0, 500], [0, 0]], [500, 0.5], False),
        ({"ill": {"ill": 1, "well": 500}, "well": {"ill": 20}}, MATRIX, [499, 20], True),
        (np.array(MATRIX), MATRIX, [499, 20], True),
    ],
)
def test_errors_cost_a_number_a_number_by_label_or_a_matrix_and_stakes_what_is_beyond(
    given, lines, stakes, follow
):
    costs = costs_of(given)
    assert costs.of_labels.tolist() == lines
    assert costs.stakes.tolist() == stakes
    assert costs.labels_follow_stakes == follow
    (right, ill), (well, _) = lines
    assert costs.by_true_class == (None if right else (ill, well))
    assert costs.is_uniform == (ill == well)


def read(costs):
    return ErrorCosts.from_fields(Fields({"costs": costs}, "f"), "costs", LABELS)


def counted(lines):
    return ByClass.from_dict(Fields({"classes": lines}, "f"), "classes", LABELS)


def compared(values):
    return Comparison.from_dict(Fields({"values": values, "errors": [0] * 7}, "f"), 2)


ANSWERS = Answers(np.eye(3), [0, 1, 1], [1, 1, 1], ([0, 1, 2], [0, 1, 2]))
# What is called: what the sentence must show, and what is given.
BAD = {
    costs_of: {
        "error_cost must .* -1": (-1,),
        "error_cost must .* 'sick'": ({"ill": 1, "well": 1, "sick": 2},),
        "error_cost of class 'ill' must .* 'wel'": ({"ill": {"wel": 1}, "well": 1},),
        r"error_cost must .* 2 lines of 2.* \[\[0, 1\]\]": ([[0, 1]],),
        "class 'ill' given the label 'well' must .* -3": ([[0, -3], [1, 0]],),
        "class 'ill' .* got 5 for it and 1 for 'well'": ([[5, 1], [1, 0]],),
        "error_cost must be given": (None,),
        "error_cost must be one number .* 500": (MATRIX, 10, None),
        "reject_cost must be given": (1, None),
        r"reject_cost must .* \[1, 2\]": (1, [1, 2]),
        "reject_cost must .* 'well'": (1, {"ill": 2}),
        "reject_cost of class 'well' must .* inf": (1, {"ill": 2, "well": math.inf}),
    },
    read: {"'costs' must.*'well'": ([[0, 1, 1], [-1, 0, 1]],), "'costs' must": ([[0, 1], [1]],)},
    counted: {
        r"'classes' must .*\[1, 2\]\]": ([[1, 2, 0], [1, 2]],),
        "'classes' must .* 3": ([[1, 2, 0], 3],),
        "'classes' must .*-1": ([[1, -1, 0], [0, 0, 0]],),
        "'classes' must .*True": ([[True, 1, 0], [0, 0, 0]],),
        "'classes' must .*0000": ([[10**400, 1, 0], [0, 0, 0]],),
    },
    compared: {"'values' must be 7 finite numbers": ([0.0] * 9,)},
    lambda designs: ANSWERS.score(designs, 0.7): {
        r"each of the 3 .*\(1, 2\)": ([[0, 1]],),
        "buy one or more": ([[-1] * 3],),
    },
}


@pytest.mark.parametrize(
    ("call", "shown", "given"), [(call, *case) for call in BAD for case in BAD[call].items()]
)
def test_what_cannot_be_scored_is_refused_by_name_and_value(call, shown, given):
    with pytest.raises(EMSCOError, match=shown):
        call(*given)


def test_equal_costs_of_the_same_classes_are_equal_and_a_file_keeps_them():
    costs = costs_of(MATRIX, 40)
    assert read(costs.costs.tolist()) == costs == costs_of(MATRIX, {"ill": 40, "well": 40})
    assert hash(read(costs.costs.tolist())) == hash(costs)
    assert costs != costs_of(MATRIX, 41)
    free = read([[0, 1, 0], [1, 0, 0]])
    assert (free.may_reject, str(free)) == (False, "1 for an error")
    as_text = costs_of({"0": 5, "1": 6}, {"1": 2, "0": 1}, (0, 1))  # as in a file
    assert as_text.costs.tolist() == [[0, 5, 1], [6, 0, 2]]


def test_the_total_is_the_mean_over_rows_where_the_figures_are_counted():
    costs = costs_of(MATRIX, {"ill": 60, "well": 10})
    total = costs.total(Objectives(77 / 100, 70 / 77, 3.0), COUNTED)
    assert total.value == pytest.approx(3 + (np.array(COUNTED.counts) * costs.costs).sum() / 100)
    assert total.rejections == pytest.approx((15 * 60 + 8 * 10) / 100)
    told = total.to_dict()
    assert (told["interval"], told["basis"]) == (None, "scored")
    alike = costs_of(50, 10, None).total(Objectives(0.9, 0.8, 5.0))
    assert (alike.features, alike.errors, alike.rejections) == pytest.approx((5, 9, 1))


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
    assert total.interval.high - total.value == pytest.approx(math.hypot(*slopes))
    assert total.to_dict()["interval"] == list(total.interval)
    assert total.basis == "expected"
    promised = costs_of(MATRIX).total(figures.figures, COUNTED, figures, promised=True)
    seen = costs_of(MATRIX).total(figures.figures, COUNTED, figures)
    assert seen.standard_error < promised.standard_error < 1.5 * seen.standard_error
    assert Total(0, 1, 0, 9).interval.low == 0


def test_means_and_deviations_are_over_the_rows_that_were_decided():
    three = ByClass(("a", "b", "c"), ((9, 1, 3, 0), (0, 9, 0, 0), (2, 0, 9, 4)))
    costs = costs_of([[0, 1, 5], [2, 0, 4], [7, 8, 0]], 1, ("a", "b", "c"))
    assert costs.mean_wrong(three).tolist() == [4.0, 3.0, 7.0]
    rows = np.repeat(costs.costs.ravel(), np.array(three.counts).ravel())
    assert costs.mean(three) == pytest.approx(rows.mean())
    assert costs.deviation(three) == pytest.approx(rows.std())


def test_a_promise_does_not_take_one_cheap_error_for_all_that_follow():
    by_class = ByClass(("well", "ill"), ((60, 1, 5), (0, 40, 4)))  # one error, of the cheap class
    costs = costs_of({"well": 300, "ill": 2000}, 0, by_class.labels)
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
    total = costs.total(Objectives(1.0, 63 / 221, 5.0), always_ill, promised=True)
    nothing = costs.total_of_nothing(always_ill)
    assert total.errors == pytest.approx(nothing.value) == nothing.errors
    none = costs.total_of_nothing(always_ill.all_rejected())
    assert (none.errors, none.rejections, none.standard_error) == (0, 10, 0)


def test_labels_are_replaced_by_those_that_cost_least():
    costs = costs_of({"ill": 50, "well": 1}, 10)
    by_class = ByClass(LABELS, ((6, 2, 1), (3, 60, 4)))
    relabelled = costs.relabelled(by_class)
    assert relabelled.counts == ((8, 0, 1), (63, 0, 4))
    assert costs.mean(relabelled) == (63 * 1 + 5 * 10) / 76
    assert costs.losses(by_class) == costs.mean(by_class)
    unlike = costs_of({"ill": 50, "well": 0}, 10)
    assert unlike.losses(by_class) == unlike.mean(unlike.relabelled(by_class))
    assert costs_of(5, 10).relabelled(by_class).counts == by_class.counts
