"""Answers: the public door to stage models, and counts of any designs."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from emsco import Design
from emsco.errors import ParameterError
from emsco.scoring import Answers

X, y = make_classification(300, 5, n_informative=4, n_redundant=0, random_state=3)
LABELS = np.array(["no", "yes"])[y]
ROWS = np.arange(300)
TRAIN, SCORED, TEST = ROWS[:150], ROWS[150:230], ROWS[230:]
COSTS = np.array([1, 2, 2, 9, 9])
DESIGNS = [[0, 0, 0, 0, 0], [0, 1, 1, 2, 2], [1, 0, -1, -1, 2], [0, -1, -1, -1, -1]]
ANSWERS = Answers(X, LABELS, COSTS, (TRAIN, SCORED))


def by_hand(answers, design, thresholds):
    """Position of the label (2: none), stage and cost of each row."""
    design = np.array(design)
    known = [(design >= 0) & (design <= j) for j in range(design.max() + 1)]
    given, stage = np.full(answers.n_rows, 2), np.zeros(answers.n_rows, dtype=int)
    for j, some in enumerate(known):
        (label,), (confidence,) = answers.of(some)
        stage[given == 2] = j
        given = np.where((given == 2) & (confidence >= thresholds[j]), label == "yes", given)
    return given, stage, np.array([COSTS[some].sum() for some in known])[stage]


@pytest.mark.parametrize("threshold", [0.6, 0.9])
@pytest.mark.parametrize("rows", [SCORED, TEST])
def test_counts_and_outcomes_are_those_of_rows_sent_through_the_stages(threshold, rows):
    answers = ANSWERS.on(rows)
    counts = answers.score(DESIGNS, threshold)
    for i, design in enumerate(DESIGNS):
        given, stage, paid = by_hand(answers, design, [threshold] * 3)
        assert counts[[i]].accepted == (given < 2).sum()
        assert counts[[i]].correct == (given == y[rows]).sum()
        assert counts.cost[i] == pytest.approx(paid.mean())
        outcomes = answers.outcomes(design, threshold)
        found = outcomes.given, outcomes.stage, outcomes.paid
        assert np.array_equal(found, [given, stage, paid])


def test_a_design_may_have_thresholds_of_its_own():
    for thresholds in ((0.9, 0.7, 0), (0.6, 0.95, 0.8)):
        design = Design(DESIGNS[1], tuple(f"x{i}" for i in range(5)), thresholds)
        given, *_ = by_hand(ANSWERS, DESIGNS[1], thresholds)
        assert ANSWERS.outcomes(design).given.tolist() == given.tolist()
    plain = ANSWERS.outcomes(design.with_thresholds(None), 0.6)
    assert plain.given.tolist() == ANSWERS.outcomes(DESIGNS[1], 0.6).given.tolist()
    with pytest.raises(ParameterError, match=r"min_confidence must be left out .* got 0\.7"):
        ANSWERS.outcomes(design, 0.7)
    for designs in (design, [DESIGNS[0], design]):  # counts would be those of other thresholds
        with pytest.raises(ParameterError, match=r"designs must have no thresholds .* got Design"):
            ANSWERS.score(designs, 0.7)


def test_answers_are_those_of_logistic_regression():
    (labels,), (confidences,) = ANSWERS.of([True, False, True, False, False])
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10))
    model.fit(X[TRAIN][:, [0, 2]], LABELS[TRAIN])
    likeliest = model.predict_proba(X[SCORED][:, [0, 2]]).max(axis=1)
    np.testing.assert_allclose(confidences, likeliest, atol=1e-5)
    assert (labels == model.predict(X[SCORED][:, [0, 2]])).all()


def test_a_design_may_have_more_stages_than_there_are_levels_of_a_grid():
    wide = np.random.default_rng(0).normal(size=(60, 40))
    answers = Answers(wide, LABELS[:60], np.ones(40), (ROWS[:40], ROWS[40:60]))
    outcomes = answers.outcomes(np.arange(40), 0.999)
    assert outcomes.paid.tolist() == (outcomes.stage + 1).tolist()
    assert answers.score([np.arange(40)], 0.999).cost[0] == outcomes.paid.mean()
