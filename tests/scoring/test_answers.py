"""Answers: the public door to stage models, and counts of any designs."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from emsco.errors import ParameterError
from emsco.scoring import Answers

X, y = make_classification(300, 5, n_informative=4, n_redundant=0, random_state=3)
LABELS = np.array(["no", "yes"])[y]
ROWS = np.arange(300)
TRAIN, SCORED, TEST = ROWS[:150], ROWS[150:230], ROWS[230:]
COSTS = [1, 2, 2, 9, 9]
DESIGNS = [[0, 0, 0, 0, 0], [0, 1, 1, 2, 2], [1, 0, -1, -1, 2], [0, -1, -1, -1, -1]]


def answers_of(**more):
    return Answers(X, LABELS, COSTS, (TRAIN, SCORED), **more)


def counted_by_hand(answers, design, threshold, rows):
    """Accepted and correct rows, and what all pay, row by row."""
    design = np.array(design)
    accepted = correct = spent = 0
    stages = [answers.of((design >= 0) & (design <= j)) for j in range(design.max() + 1)]
    for i, row in enumerate(rows):
        for j, (label, confidence) in enumerate(stages):
            sure = confidence[0, i] >= threshold
            if sure or j == design.max():
                spent += np.array(COSTS)[(design >= 0) & (design <= j)].sum()
                accepted += sure
                correct += sure and label[0, i] == LABELS[row]
                break
    return accepted, correct, spent


@pytest.mark.parametrize("threshold", [0.6, 0.9])
@pytest.mark.parametrize("rows", [SCORED, TEST])
def test_counts_are_those_of_rows_sent_through_the_stages(threshold, rows):
    answers = answers_of().on(rows)
    counts = answers.score(DESIGNS, threshold)
    by_hand = [counted_by_hand(answers, design, threshold, rows) for design in DESIGNS]
    found = np.column_stack([counts.accepted, counts.correct, counts.spent / counts.per_one])
    np.testing.assert_allclose(found, by_hand)
    np.testing.assert_allclose(counts.coverage, counts.accepted / len(rows))
    np.testing.assert_allclose(counts[[1]].cost, by_hand[1][2] / len(rows))


def test_answers_are_those_of_logistic_regression():
    (labels,), (confidences,) = answers_of().of([True, False, True, False, False])
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10))
    model.fit(X[TRAIN][:, [0, 2]], LABELS[TRAIN])
    np.testing.assert_allclose(
        confidences, model.predict_proba(X[SCORED][:, [0, 2]]).max(axis=1), atol=1e-5
    )
    assert (labels == model.predict(X[SCORED][:, [0, 2]])).all()


def test_what_is_no_design_is_refused():
    answers = answers_of()
    for designs in ([[0, 1]], [[-1] * 5]):
        with pytest.raises(ParameterError, match="designs must have a stage for each of the 5"):
            answers.score(designs, 0.7)
