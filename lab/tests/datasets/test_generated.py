from __future__ import annotations

import numpy as np
import pytest
from emsco_lab.datasets import load
from emsco_lab.datasets.generated import bayes_accuracy, true_probabilities
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from emsco.errors import ParameterError

KNOWN = ("interactions", "regions")


def column(data, name):
    return data.X[:, data.costs.table.index(name)]


def terms_of_interactions(data):
    """The terms that make up the log odds."""
    a, b, c, d = (column(data, f"cross_{letter}") for letter in "abcd")
    crossed = [(a > 0) == (b > 0), (c > 0) == (d > 0), column(data, "step") > 0.5]
    return np.column_stack([*crossed, column(data, "line_a"), column(data, "line_b")])


def terms_of_regions(data):
    """The region, its test and the shifts; each region has columns of its own."""
    region = np.digitize(column(data, "region"), [1 / 3, 2 / 3])
    tests = np.column_stack([column(data, f"test_{letter}") for letter in "abc"])
    value = np.take_along_axis(tests, region[:, None], axis=1)
    in_region = (region[:, None] == np.arange(3)).astype(float)
    shifts = np.column_stack([column(data, "shift_a"), column(data, "shift_b")])
    return np.column_stack([in_region, in_region * value, in_region * value**2, shifts])


TERMS = {"interactions": terms_of_interactions, "regions": terms_of_regions}


def test_synthetic15_has_the_papers_parameters_and_costs_by_importance():
    data = load("synthetic15", seed=3)
    assert data.X.shape == (8000, 15)
    assert (data.costs.costs >= 1).all()
    assert np.array_equal(data.costs.costs, np.round(data.costs.costs))
    assert 70 <= data.costs.total <= 130  # importances add up to 1, each is off by 1 or rounding


@pytest.mark.parametrize("name", ["synthetic50", *KNOWN])
def test_generated_sets_depend_on_the_seed_alone(name):
    assert np.array_equal(load(name, 1).X, load(name, 1).X)
    assert np.array_equal(load(name, 1).y, load(name, 1).y)
    assert not np.array_equal(load(name, 1).X, load(name, 2).X)


def test_synthetic50_costs_ten_each():
    assert load("synthetic50").costs.costs.tolist() == [10.0] * 50


@pytest.mark.parametrize(
    ("name", "shape", "n_classes", "most"),
    [("interactions", (5000, 16), 2, 50), ("regions", (3000, 12), 3, 30)],
)
def test_sets_of_known_truth_have_their_shapes_classes_and_costs(name, shape, n_classes, most):
    data = load(name)
    assert data.X.shape == shape
    assert len(data.names) == shape[1]
    assert np.bincount(data.y).min() > 0.25 * shape[0]
    assert data.y.max() + 1 == n_classes
    assert (data.costs.costs.min(), data.costs.costs.max()) == (1, most)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_classifier_of_interactions_is_right_on_93_to_95_of_100_rows(seed):
    assert 0.93 < bayes_accuracy(load("interactions", seed)) < 0.95


@pytest.mark.parametrize("name", KNOWN)
def test_labels_follow_the_true_probabilities(name):
    data = load(name, seed=4)
    chances = true_probabilities(name, data.X)
    assert np.allclose(chances.sum(axis=1), 1)
    right = np.mean(chances.argmax(axis=1) == data.y)
    assert right == pytest.approx(bayes_accuracy(data), abs=0.015)  # three standard errors
    for one, share in enumerate(chances.mean(axis=0)):
        assert np.mean(data.y == one) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("name", KNOWN)
def test_a_fit_to_the_right_terms_is_as_good_as_the_truth_and_lines_are_far_from_it(name):
    known, new = load(name, seed=1), load(name, seed=2)
    terms = TERMS[name]
    best = LogisticRegression(C=10, max_iter=500).fit(terms(known), known.y)
    assert best.score(terms(new), new.y) == pytest.approx(bayes_accuracy(new), abs=0.02)
    lines = LogisticRegression().fit(known.X, known.y)
    assert lines.score(new.X, new.y) < bayes_accuracy(new) - 0.2


@pytest.mark.parametrize("name", KNOWN)
def test_boosted_trees_on_the_columns_come_near_the_truth_and_not_above(name):
    known, new = load(name, seed=1), load(name, seed=2)
    with threadpool_limits(1):
        trees = HistGradientBoostingClassifier(max_iter=25, learning_rate=0.3, random_state=0)
        score = trees.fit(known.X, known.y).score(new.X, new.y)
    assert bayes_accuracy(new) - 0.08 < score < bayes_accuracy(new) + 0.01


def test_a_region_needs_its_own_test_and_no_other():
    X = load("regions").X
    before, first = true_probabilities("regions", X), X[:, 0] < 1 / 3
    other = X.copy()
    other[:, 2:4] += 1  # tests of the other two regions
    same = (true_probabilities("regions", other) == before).all(axis=1)
    assert same[first].all()
    assert not same[~first].any()


def test_the_truth_of_other_sets_is_unknown():
    with pytest.raises(ParameterError, match='name must be one of "interactions", "regions", got'):
        true_probabilities("synthetic50", np.zeros((2, 50)))


def test_a_seed_of_more_than_32_bits_is_refused():
    with pytest.raises(ParameterError, match=r"^seed must be .* to 4294967295, got 4294967296"):
        load("synthetic15", seed=2**32)
