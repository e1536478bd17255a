"""Data sets that are drawn from a seed: the paper's, others whose truth is known, and cubes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.datasets import make_classification

from emsco._base.checks import check_choice
from emsco._base.typing import FloatArray
from emsco.costs import FeatureCosts
from emsco_lab.datasets.dataset import THRESHOLDS, Dataset

# Parameters of `make_classification`; the others keep their defaults.
MADE: dict[str, dict[str, Any]] = {
    "synthetic15": {
        "n_samples": 8000,
        "n_features": 15,
        "n_informative": 12,
        "class_sep": 0.85,
        "flip_y": 0.02,
    },
    "synthetic50": {"n_samples": 4000, "n_features": 50, "n_informative": 25},
}
_INTERACTIONS = {
    "cross_a": 20,
    "cross_b": 30,
    "cross_c": 12,
    "cross_d": 50,
    "step": 25,
    "line_a": 15,
    "line_b": 6,
    "cross_a_proxy": 3,
    "cross_b_proxy": 4,
    "cross_c_proxy": 2,
    "step_proxy": 3,
    "line_a_proxy": 1,
    "noise_a": 1,
    "noise_b": 5,
    "noise_c": 15,
    "noise_d": 40,
}
_REGIONS = {
    "region": 1,
    "test_a": 30,
    "test_b": 25,
    "test_c": 20,
    "test_a_proxy": 5,
    "test_b_proxy": 4,
    "test_c_proxy": 3,
    "shift_a": 8,
    "shift_b": 6,
    "noise_a": 2,
    "noise_b": 10,
    "noise_c": 15,
}
_CENTRES = np.array([-1.2, 0.0, 1.2])


def true_probabilities(name: str, X: FloatArray) -> FloatArray:
    """Return the probability of each class that labels of rows are drawn with.

    Parameters
    ----------
    name : "interactions" or "regions"
    X : ndarray of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    return _FORMULAS[check_choice("name", name, tuple(_FORMULAS))](X)


def bayes_accuracy(data: Dataset) -> float:
    """Return the accuracy to expect of the best classifier on these rows, given all features.

    Examples
    --------
    >>> from emsco_lab.datasets import load
    >>> round(bayes_accuracy(load("interactions")), 2)
    0.94
    """
    return float(true_probabilities(data.name, data.X).max(axis=1).mean())


def _of_interactions(X: FloatArray) -> FloatArray:
    cross_a, cross_b, cross_c, cross_d, step, line_a, line_b = X[:, :7].T
    crossed = 5 * np.sign(cross_a * cross_b) + 3 * np.sign(cross_c * cross_d)
    log_odds = crossed + np.where(step > 0.5, 4, -4) + 2.4 * line_a - 1.6 * line_b
    return np.column_stack([expit(-log_odds), expit(log_odds)])


def _of_regions(X: FloatArray) -> FloatArray:
    region = np.minimum(3 * X[:, 0], 2).astype(np.int64)
    value = X[np.arange(len(X)), 1 + region]
    centres = _CENTRES[(np.arange(3) + region[:, None]) % 3]
    shift_a, shift_b = X[:, 7], X[:, 8]
    shifts = np.column_stack([shift_a, shift_b, -shift_a - shift_b])
    chances: FloatArray = softmax(shifts - 4 * (value[:, None] - centres) ** 2, axis=1)
    return chances


_FORMULAS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "interactions": _of_interactions,
    "regions": _of_regions,
}


def _interactions(name: str, seed: int) -> Dataset:
    """Draw 5,000 rows × 16 features of two classes that a linear model cannot tell apart well.

    The signs of two products decide most (cross_a · cross_b and cross_c · cross_d), then whether
    step exceeds 0.5, then a linear part. A proxy is a cheap copy of an expensive feature with noise
    of 0.6 standard deviations. The features called noise mean nothing, at any cost.
    """
    rng = np.random.default_rng(seed)
    telling = rng.normal(size=(5000, 7))
    proxies = telling[:, [0, 1, 2, 4, 5]] + 0.6 * rng.normal(size=(5000, 5))
    X = np.column_stack([telling, proxies, rng.normal(size=(5000, 4))])
    return _labelled(name, X, _INTERACTIONS, rng, seed)


def _regions(name: str, seed: int) -> Dataset:
    """Draw 3,000 rows × 12 features of three classes; a cheap feature says which test to buy.

    Each third of the range of region has a test of its own, and the other two tests mean nothing
    there. The classes lie side by side along the test, in another order in each region; the two
    shifts move the borders. Proxies have noise of 0.8 standard deviations.
    """
    rng = np.random.default_rng(seed)
    region, tests = rng.random(3000), rng.normal(size=(3000, 3))
    proxies = tests + 0.8 * rng.normal(size=(3000, 3))
    X = np.column_stack([region, tests, proxies, rng.normal(size=(3000, 5))])
    return _labelled(name, X, _REGIONS, rng, seed)


def _cube(name: str, seed: int) -> Dataset:
    """Draw 1,000 rows of CUBE (Rückstieß et al. 2013), or of CUBE-NM (Schütz et al. 2025).

    CUBE has eight classes and 20 features of cost 1. For class c, features c, c + 1 and c + 2 are
    the three bits of c, lowest first, with noise; all others mean nothing. CUBE-NM has a first
    feature, the context, that says which of three or five blocks of ten features is such a cube;
    the other blocks mean nothing there.
    """
    rng = np.random.default_rng(seed)
    n_rows, n_contexts = 1000, {"cube": 0, "cube_nm3": 3, "cube_nm5": 5}[name]
    y = rng.integers(0, 8, n_rows)
    n_blocks = max(2, n_contexts)  # the second one of CUBE is noise
    blocks = rng.normal(0.5, 0.3, size=(n_blocks, n_rows, 10))
    context = rng.integers(0, n_contexts, n_rows) if n_contexts else np.zeros(n_rows, np.int64)
    rows = np.arange(n_rows)
    for bit in range(3):
        value = (y >> bit & 1) + rng.normal(0, 0.3, n_rows)
        blocks[context, rows, y + bit] = value
    X = np.concatenate(list(blocks), axis=1)
    names = [f"b{k + 1}_{i}" for k in range(n_blocks) for i in range(10)]
    if n_contexts:
        X = np.column_stack([context + rng.normal(0, 0.1, n_rows), X])
        names = ["context", *names]
    source = f"drawn by a formula in emsco_lab.datasets.generated, seed {seed}"
    costs = FeatureCosts.from_mapping(dict.fromkeys(names, 1.0))
    return Dataset(
        name, X, y.astype(np.uint8), costs, None, "one per feature", source, "public domain"
    )


def _families(name: str, seed: int) -> Dataset:
    """Draw 3,000 rows × 12 features of 12 classes in four families, each with tests of its own.

    Four cheap signs tell the family, with noise, and nothing about the class within it. A coarse
    test and a fine one of each family tell its three classes apart; in the other families they
    mean nothing.
    """
    rng = np.random.default_rng(seed)
    y, rows = rng.integers(0, 12, 3000), np.arange(3000)
    signs = rng.normal(size=(3000, 4))
    signs[rows, y // 3] += 2.5
    member = rng.integers(0, 3, size=(3000, 4))  # of each family; only that of the own one counts
    member[rows, y // 3] = y % 3
    coarse, fine = (2 * member + scale * rng.normal(size=(3000, 4)) for scale in (1.2, 0.6))
    names = [f"{kind}_{family}" for kind in ("sign", "coarse", "fine") for family in "abcd"]
    return Dataset(
        name,
        np.column_stack([signs, coarse, fine]),
        y.astype(np.uint8),
        FeatureCosts.from_mapping(dict(zip(names, np.repeat([1, 4, 12], 4), strict=True))),
        None,
        "declared",
        source=f"drawn by a formula in emsco_lab.datasets.generated, seed {seed}",
        licence="public domain",
    )


def _labelled(
    name: str, X: FloatArray, costs: dict[str, int], rng: np.random.Generator, seed: int
) -> Dataset:
    """Draw the classes of rows by their true probabilities."""
    below = true_probabilities(name, X).cumsum(axis=1)[:, :-1]
    y = (rng.random(len(X))[:, None] > below).sum(axis=1).astype(np.uint8)
    source = f"drawn by a formula in emsco_lab.datasets.generated, seed {seed}"
    declared = FeatureCosts.from_mapping(costs)
    return Dataset(name, X, y, declared, None, "declared", source, "public domain")


def _made(name: str, seed: int) -> Dataset:
    """Make one of the paper's sets with scikit-learn, by the paper's parameters."""
    X, y = make_classification(**MADE[name], random_state=seed)
    if name == "synthetic15":
        from sklearn.ensemble import RandomForestClassifier

        gini = RandomForestClassifier(random_state=seed, n_jobs=-1).fit(X, y).feature_importances_
        signs = np.random.default_rng(seed).choice([-1, 1], size=15)
        costs = np.maximum(1, np.floor(100 * gini + signs + 0.5))
        how = "computed from Gini importance"
    else:
        costs, how = np.full(50, 10.0), "printed in the paper"
    return Dataset(
        name,
        X,
        y.astype(np.uint8),
        FeatureCosts.from_array(costs),
        THRESHOLDS[name],
        how,
        source=f"make_classification with the paper's parameters, seed {seed}",
        licence="public domain",
    )


GENERATED: dict[str, Callable[[str, int], Dataset]] = {
    "synthetic15": _made,
    "synthetic50": _made,
    "interactions": _interactions,
    "regions": _regions,
    "families": _families,
    "cube": _cube,
    "cube_nm3": _cube,
    "cube_nm5": _cube,
}
