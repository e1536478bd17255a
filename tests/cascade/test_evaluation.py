"""Evaluations: by class, in parts and files, and what rows cost in all."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from support.documents import ROWS, TRUTH
from support.handmade import (
    make_cascade,
    make_front,
    make_rich_cascade,
    make_rich_rows,
    with_thresholds,
)

from emsco import Evaluation
from emsco._base.documents import Fields
from emsco._base.objectives import Estimate
from emsco.errors import ParameterError
from emsco.stats.promises import Verdict

LABELS = {
    "int8": np.array([-1, 1], dtype=np.int8),
    "bool": np.array([False, True]),
    "float": np.array([0.5, 2.0]),
    "float16": np.array([0.1, 3], dtype=np.float16),
    "str": np.array(["well", "ill"]),  # not in the order of the alphabet
    "object of str": np.array(["no", "yes"], dtype=object),
    "object of many": np.array([1, "one"], dtype=object),
}


def test_accepted_rows_have_the_confusion_matrix_of_sklearn():
    cascade, rows = make_rich_cascade(), make_rich_rows(200)
    truth = np.random.default_rng(0).choice(cascade.classes, 200)
    decisions, by_class = cascade.decide(rows), cascade.evaluate(rows, truth).by_class
    kept = decisions.accepted
    matrix = confusion_matrix(truth[kept], decisions.guesses[kept], labels=cascade.classes)
    assert 0 < kept.sum() < 200
    assert [list(line[:-1]) for line in by_class.counts] == matrix.tolist()
    rejected = [int((truth[~kept] == label).sum()) for label in cascade.classes]
    assert [line[-1] for line in by_class.counts] == rejected


@pytest.mark.parametrize("classes", LABELS.values(), ids=LABELS)
def test_labels_of_every_type_are_counted_alike(classes):
    cascade = make_cascade(classes=classes)
    evaluation = cascade.evaluate(ROWS, classes[TRUTH])
    assert evaluation.by_class.labels == tuple(classes.tolist())
    assert evaluation.by_class.counts == make_cascade().evaluate(ROWS, TRUTH).by_class.counts
    assert evaluation.accuracy == make_cascade().evaluate(ROWS, TRUTH).accuracy


def test_each_class_has_a_verdict_on_its_recall():
    evaluation = make_cascade().evaluate(np.tile(ROWS, (30, 1)), np.tile(TRUTH, 30))
    first, second = evaluation.by_class.recall.tolist()
    recall = (Estimate(first, first - 0.01, first + 0.01), Estimate(1.0, 0.99, 1.0))
    report = evaluation.against(evaluation.objectives, "expected", recall=recall)
    assert [str(one.verdict) for one in report.recall] == ["kept", "not kept"]
    assert report.verdict == Verdict.KEPT  # of coverage, accuracy and cost
    shown = replace(evaluation, promise=report)
    line = f"recall of 1 {second:.3f}"
    assert any(
        line in text and "expected 1.000: not kept" in text for text in repr(shown).split("\n")
    )
    assert "recall of 1" in shown._repr_html_()
    assert [one["verdict"] for one in report.to_dict()["recall"]] == ["kept", "not kept"]


def test_labels_in_another_type_than_the_classes_are_the_same_labels():
    narrow, wide = np.array([0.1, 3], dtype=np.float16), np.array([0.1, 3])
    cascade = make_cascade(classes=narrow)
    assert cascade.evaluate(ROWS, wide[TRUTH]) == cascade.evaluate(ROWS, narrow[TRUTH])


def test_totals_agree_with_the_exits():
    evaluation = make_cascade().evaluate(ROWS, TRUTH, np.random.default_rng(2).random(60))
    assert evaluation.by_class.rows.sum() == pytest.approx(evaluation.n_rows)
    assert evaluation.by_class.answered.sum() / evaluation.n_rows == pytest.approx(
        evaluation.coverage
    )
    correct = evaluation.by_class.correct.sum() / evaluation.by_class.answered.sum()
    assert correct == pytest.approx(evaluation.accuracy)


def test_parts_add_up_by_class():
    cascade = make_cascade()
    parts = [cascade.evaluate(ROWS[i::3], TRUTH[i::3]) for i in range(3)]
    assert Evaluation.joined(parts).by_class == cascade.evaluate(ROWS, TRUTH).by_class


def test_counts_come_back_from_plain_values_and_shares_follow_from_them():
    cascade = make_cascade()
    evaluation, buys = cascade.evaluate(ROWS, TRUTH), cascade.design.buys
    values = json.loads(json.dumps(evaluation.to_dict()))
    values["by_class"]["recall"] = [7, 7]
    again = Evaluation.from_dict(Fields(values, "seen.json"), buys, cascade.classes)
    assert again == evaluation
    assert again.by_class.recall.tolist() == evaluation.by_class.recall.tolist()


MATRIX = np.array([[1.0, 70.0], [900.0, 0.0]])
REJECT = {0: 30, 1: 80}


def row_totals(cascade, rows, truth):
    """What each row costs, one by one."""
    decisions = cascade.decide(rows)
    said = np.where(decisions.accepted, decisions.guesses, 2)
    priced = np.column_stack([MATRIX, [REJECT[0], REJECT[1]]])
    return decisions.cost + priced[truth, said]


def test_the_total_is_the_mean_over_rows():
    cascade = make_cascade()
    evaluation = cascade.evaluate(ROWS, TRUTH, error_cost=MATRIX, reject_cost=REJECT)
    rows = row_totals(cascade, ROWS, TRUTH)
    assert evaluation.total.value == pytest.approx(rows.mean())
    assert evaluation.total.seen.features == pytest.approx(evaluation.cost)
    assert evaluation.total.seen.basis == "seen"
    assert evaluation.total.verdict is None


def test_the_interval_of_a_seen_total_is_at_least_as_wide_as_that_of_its_rows():
    cascade = make_cascade()
    evaluation = cascade.evaluate(ROWS, TRUTH, error_cost=MATRIX, reject_cost=REJECT).total.seen
    error = row_totals(cascade, ROWS, TRUTH).std() / np.sqrt(len(TRUTH))
    assert error <= evaluation.standard_error < 2 * error


def test_weights_count_rows_several_times():
    cascade = make_cascade()
    weights = np.arange(len(TRUTH)) % 3
    evaluation = cascade.evaluate(ROWS, TRUTH, weights, error_cost=MATRIX, reject_cost=REJECT)
    mean = np.average(row_totals(cascade, ROWS, TRUTH), weights=weights)
    assert evaluation.total.value == pytest.approx(mean)


def test_without_costs_there_is_no_total():
    evaluation = make_cascade().evaluate(ROWS, TRUTH)
    assert evaluation.total is None
    assert "total" not in evaluation.to_dict()
    assert "  total" not in repr(evaluation)


def test_a_cascade_that_may_reject_needs_a_cost_of_rejections():
    with pytest.raises(ParameterError):
        make_cascade().evaluate(ROWS, TRUTH, error_cost=5)
    answers = with_thresholds(make_cascade(), (0.9, 0.8, 0))
    evaluation = answers.evaluate(ROWS, TRUTH, error_cost=5)
    assert evaluation.total.value == pytest.approx(evaluation.cost + 5 * (1 - evaluation.accuracy))


def test_the_total_stands_beside_what_was_promised():
    cascade, point = make_cascade(), make_front()[0]
    evaluation = cascade.evaluate(ROWS, TRUTH, error_cost=500, reject_cost=40)
    told = point.compared_with(evaluation).total
    assert told.promised == point.total(500, 40)
    assert told.verdict in Verdict
    assert f"scored {told.promised.value:.4g}: {told.verdict}" in repr(
        point.compared_with(evaluation)
    )
    assert told.to_dict()["verdict"] == str(told.verdict)
    assert told.to_dict()["promised"]["basis"] == "scored"
    names = [line[0].strip() for line in told.lines()]
    assert names == ["total", "features", "errors", "rejections"]
    assert "rejections" in point.compared_with(evaluation)._repr_html_()
    cheap = replace(point, cost=0.0, coverage=1.0, correct_exits=point.exits)
    assert cheap.compared_with(evaluation).total.verdict is Verdict.NOT_KEPT


def test_a_promise_without_a_total_stays_as_it_was():
    evaluation = make_cascade().evaluate(ROWS, TRUTH)
    assert make_front()[0].compared_with(evaluation).total is None
