"""The choice of the stage models' family."""

from __future__ import annotations

import numpy as np
import pytest

from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.models.choice import choose_family, log_losses, random_subsets
from emsco.models.recipe import FAMILIES


def data_of(n_rows=90, n_features=3, n_classes=2, weights=None) -> TrainingData:
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    y = np.arange(n_rows) % n_classes
    costs = FeatureCosts.from_array(np.ones(n_features))
    return TrainingData.from_table(X, y, weights, costs, "refuse")


def splits_of(n_rows, n_splits=5):
    fold = np.arange(n_rows) % n_splits
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_splits)]


def choose(losses, data=None, **options):
    """Choose among families whose losses by row are `losses`."""
    data = data or data_of()
    seen = []

    def losses_of(family, splits, subsets):
        seen.append((family, splits, subsets))
        n_rows = sum(len(scored) for _, scored in splits)
        noise = np.random.default_rng(ord(family[0])).normal(scale=0.1, size=(len(subsets), n_rows))
        return losses[family] + noise - noise.mean(axis=1, keepdims=True)

    given = list(losses), data, splits_of(len(data.labels)), losses_of
    return choose_family(*given, options.pop("class_weights", None), 0, **options), seen


def test_the_family_with_the_lowest_loss_is_chosen():
    choice, _ = choose({"logistic": 1.0, "spline": 0.5, "boosting": 0.8})
    assert choice.family == "spline"
    assert choice.losses["spline"].behind == 0.0
    assert choice.losses["logistic"].behind == pytest.approx(0.5, abs=0.05)


def test_a_simpler_family_within_one_standard_error_is_preferred():
    choice, _ = choose({"logistic": 0.502, "spline": 0.5, "boosting": 0.6})
    assert choice.family == "logistic"
    assert "logistic (simpler, and within one standard error), by log loss" in str(choice)


@pytest.mark.parametrize(
    ("losses", "slow", "words"),
    [
        ((0.5, 0.501, 0.6), ["logistic"], "spline (quicker, and within one standard error), by"),
        ((0.502, 0.501, 0.5), ["logistic", "spline"], "boosting, by log loss"),
        ((0.9, 0.501, 0.5), ["spline"], "boosting, by log loss"),
        ((0.502, 0.501, 0.5), ["logistic", "spline", "boosting"], "logistic (simpler, and within"),
    ],
)
def test_a_slow_family_is_chosen_only_if_no_quicker_one_is_as_good(losses, slow, words):
    choice, _ = choose(dict(zip(FAMILIES, losses, strict=True)), slow=slow)
    assert str(choice).startswith(words)


def test_a_slow_family_is_chosen_if_it_is_best_beyond_doubt():
    choice, _ = choose({"logistic": 0.9, "spline": 0.5, "boosting": 0.8}, slow=["spline"])
    assert choice.family == "spline"


def test_three_splits_and_twelve_subsets_take_part():
    choice, seen = choose({"logistic": 1.0, "spline": 0.5})
    assert [family for family, _, _ in seen] == ["logistic", "spline"]
    assert all(len(splits) == 3 and subsets.shape == (13, 3) for _, splits, subsets in seen)
    assert choice.n_subsets == 12
    assert choice.n_rows == 54


@pytest.mark.parametrize(("behind", "n_splits"), [(0.5, [1, 1]), (0.001, [1, 1, 3, 3])])
def test_one_split_of_many_rows_decides_alone_only_beyond_doubt(behind, n_splits):
    choice, seen = choose({"logistic": 0.5 + behind, "spline": 0.5}, data_of(2000))
    assert [len(splits) for _, splits, _ in seen] == n_splits
    assert choice.n_rows == 400 * n_splits[-1]


def test_many_rows_are_thinned_and_a_rare_class_stays():
    data = data_of(30_000)
    data.labels[:] = 0
    data.labels[:40] = 1
    _, [(_, splits, _)] = choose({"logistic": 1.0}, data)
    for train, scored in splits:
        assert 3900 < len(train) <= 4010
        assert len(scored) <= 2010
        assert data.labels[train].sum() == 10


def test_rows_of_weight_zero_do_not_count():
    weights = np.ones(90)
    weights[::2] = 0.0
    _, [(_, splits, _)] = choose({"logistic": 1.0}, data_of(weights=weights))
    assert all(weights[rows].all() for split in splits for rows in split)


def test_one_feature_has_no_other_subsets():
    choice, _ = choose({"logistic": 1.0, "spline": 0.5}, data_of(n_features=1))
    assert choice.n_subsets == 0
    assert str(choice).startswith("spline, by log loss (lower is better): spline 0.")


def test_random_subsets_have_all_sizes_but_none_is_empty():
    subsets = random_subsets(6, 200, np.random.default_rng(0))
    assert set(subsets.sum(axis=1)) == {1, 2, 3, 4, 5, 6}
    assert subsets[0].all()


def test_the_log_loss_of_a_certain_error_is_finite():
    losses = log_losses(np.array([[1.0, 0.0], [0.25, 0.75]]), np.array([1, 1], dtype=np.uint8))
    assert np.isfinite(losses).all()
    assert losses[1] == pytest.approx(-np.log(0.75))
