from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

from emsco import EMSCOClassifier
from emsco.designs.thresholds import ThresholdGrid
from emsco.models.bank import unsteady


def test_shares_that_differ_by_chance_are_steady():
    rng = np.random.default_rng(0)
    shares = rng.binomial(200, 0.5, size=(5, 1000)) / 200
    assert unsteady(shares, np.full(5, 200.0)).mean() < 0.01


def test_small_differences_are_steady_however_many_rows():
    shares = np.array([[0.50], [0.53], [0.47], [0.52], [0.48]])
    assert not unsteady(shares, np.full(5, 1e6)).any()


def test_all_or_nothing_is_unsteady():
    shares = np.array([[0.9], [0.0], [0.9], [0.9], [0.0]])
    assert unsteady(shares, np.full(5, 100.0)).all()


@pytest.mark.parametrize("n_splits", [1, 0])
def test_one_split_cannot_disagree(n_splits):
    assert not unsteady(np.full((n_splits, 3), 0.5), np.full(n_splits, 50.0)).any()


def yes_or_no(n_rows, rng):
    """A question, and a dear test that tells nearly all.

    Of nine tenths of the rows, who answer the question alike, seven eighths are well: exactly a
    threshold of the grid. Of the others, half are.
    """
    asked = np.arange(n_rows) % 10 == 0
    y = np.zeros(n_rows, dtype=int)
    y[asked] = np.arange(asked.sum()) % 2
    y[~asked] = np.arange((~asked).sum()) % 8 == 0
    order = rng.permutation(n_rows)
    return np.column_stack([asked, y + rng.normal(scale=0.35, size=n_rows)])[order], y[order]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    X, y = yes_or_no(1600, rng)
    clf = EMSCOClassifier([1.0, 20.0], estimator="logistic", random_state=0, always_answer=True)
    return clf.fit(X, y), yes_or_no(20_000, rng)


def test_a_question_near_a_threshold_is_not_half_an_answer(fitted):
    # Nearly all rows have one of two confidences. Folds differ in them by a little, so a threshold
    # close to one looks like a rule that sends some of these rows on. On new rows it cannot.
    clf, (X, y) = fitted
    for i, point in enumerate(clf.front_):
        seen = clf.front_.cascade(i).evaluate(X, y)
        assert seen.cost == pytest.approx(point.cost, abs=1.5)


@pytest.mark.parametrize("weighted", [False, True])
def test_designs_are_simplified_however_often_rows_are_scored_and_weighted(weighted):
    # Some rows are scored three times and others never. The weight of one row exceeds those of all
    # others so much that these are rounded.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=200) > 0
    weights = np.where(np.arange(200) == 5, 1e6, 1 + rng.random(200)) if weighted else None
    cv = ShuffleSplit(3, test_size=0.3, random_state=0)
    clf = EMSCOClassifier([1, 2, 5], estimator="logistic", cv=cv, generations=5, random_state=0)
    assert any(point.is_simplified for point in clf.fit(X, y, weights).front_)


@pytest.mark.parametrize("least", [0.87, 0.875, 0.88])
def test_no_design_of_the_front_counts_as_wrong_what_it_refused(least):
    X, y = yes_or_no(1600, np.random.default_rng(3))
    clf = EMSCOClassifier(
        [1.0, 20.0], reject_below=least, estimator="logistic", random_state=0, allow_exclusion=False
    ).fit(X, y)
    assert min(point.accuracy for point in clf.front_) > 0.5
    for i, point in enumerate(clf.front_):
        assert sum(1 for _ in clf.front_.ties(i)) == point.n_tied


def test_a_threshold_that_was_asked_for_is_not_watched():
    searched = ThresholdGrid.searched(np.ones(2), 100, last=np.array([0.8, 0.8]))
    assert searched.searched_levels == searched.early
    assert ThresholdGrid.single(np.array([0.8, 0.8]), last=np.zeros(2)).searched_levels == ()
