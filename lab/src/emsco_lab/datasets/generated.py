"""Data sets that are drawn from a seed: the paper's, others whose truth is known, and cubes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.datasets import make_classification

from emsco import FeatureCosts
from emsco_lab.datasets.dataset import FloatArray, Loaded

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
_INTERACTIONS = (
    "cross_a cross_b cross_c cross_d step line_a line_b cross_a_proxy cross_b_proxy cross_c_proxy "
    "step_proxy line_a_proxy noise_a noise_b noise_c noise_d",
    (20, 30, 12, 50, 25, 15, 6, 3, 4, 2, 3, 1, 1, 5, 15, 40),
)
_REGIONS = (
    "region test_a test_b test_c test_a_proxy test_b_proxy test_c_proxy shift_a shift_b "
    "noise_a noise_b noise_c",
    (1, 30, 25, 20, 5, 4, 3, 8, 6, 2, 10, 15),
)
_CONTEXTS = {"cube": 0, "cube_nm3": 3, "cube_nm5": 5}
_CENTRES = np.array([-1.2, 0.0, 1.2])


def chances_of_interactions(X: FloatArray) -> FloatArray:
    """Return the probability of each class that labels of rows are drawn with."""
    cross_a, cross_b, cross_c, cross_d, step, line_a, line_b = X[:, :7].T
    crossed = 5 * np.sign(cross_a * cross_b) + 3 * np.sign(cross_c * cross_d)
    log_odds = crossed + np.where(step > 0.5, 4, -4) + 2.4 * line_a - 1.6 * line_b
    return np.column_stack([expit(-log_odds), expit(log_odds)])


def chances_of_regions(X: FloatArray) -> FloatArray:
    """Return the probability of each class that labels of rows are drawn with."""
    region = np.minimum(3 * X[:, 0], 2).astype(np.int64)
    value = X[np.arange(len(X)), 1 + region]
    centres = _CENTRES[(np.arange(3) + region[:, None]) % 3]
    shift_a, shift_b = X[:, 7], X[:, 8]
    shifts = np.column_stack([shift_a, shift_b, -shift_a - shift_b])
    chances: FloatArray = softmax(shifts - 4 * (value[:, None] - centres) ** 2, axis=1)
    return chances


def _interactions(_name: str, seed: int) -> Loaded:
    """Draw 5,000 rows × 16 features of two classes that a linear model cannot tell apart well.

    The signs of two products decide most (cross_a · cross_b and cross_c · cross_d), then whether
    step exceeds 0.5, then a linear part. A proxy is a cheap copy of an expensive feature with noise
    of 0.6 standard deviations. The features called noise mean nothing, at any cost.
    """
    rng = np.random.default_rng(seed)
    telling = rng.normal(size=(5000, 7))
    proxies = telling[:, [0, 1, 2, 4, 5]] + 0.6 * rng.normal(size=(5000, 5))
    X = np.column_stack([telling, proxies, rng.normal(size=(5000, 4))])
    return _labelled(X, chances_of_interactions(X), _INTERACTIONS, rng)


def _regions(_name: str, seed: int) -> Loaded:
    """Draw 3,000 rows × 12 features of three classes; a cheap feature says which test to buy.

    Each third of the range of region has a test of its own, and the other two tests mean nothing
    there. The classes lie side by side along the test, in another order in each region; the two
    shifts move the borders. Proxies have noise of 0.8 standard deviations.
    """
    rng = np.random.default_rng(seed)
    region, tests = rng.random(3000), rng.normal(size=(3000, 3))
    proxies = tests + 0.8 * rng.normal(size=(3000, 3))
    X = np.column_stack([region, tests, proxies, rng.normal(size=(3000, 5))])
    return _labelled(X, chances_of_regions(X), _REGIONS, rng)


def _cube(name: str, seed: int) -> Loaded:
    """Draw 1,000 rows of CUBE (Rückstieß et al. 2013), or of CUBE-NM (Schütz et al. 2025).

    CUBE has eight classes and 20 features of cost 1. For class c, features c, c + 1 and c + 2 are
    the three bits of c, lowest first, with noise; all others mean nothing. CUBE-NM has a first
    feature, the context, that says which of three or five blocks of ten features is such a cube;
    the other blocks mean nothing there.
    """
    rng = np.random.default_rng(seed)
    n_rows, n_contexts = 1000, _CONTEXTS[name]
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
    return _drawn(X, y, names, np.ones(len(names)), "one per feature")


def _families(_name: str, seed: int) -> Loaded:
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
    X = np.column_stack([signs, coarse, fine])
    return _drawn(X, y, names, np.repeat([1, 4, 12], 4))


def _labelled(
    X: FloatArray,
    chances: FloatArray,
    costs: tuple[str, Sequence[int]],
    rng: np.random.Generator,
) -> Loaded:
    """Draw the classes of rows by their true probabilities."""
    y = (rng.random(len(X))[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return _drawn(X, y, costs[0].split(), costs[1])


def _drawn(
    X: FloatArray,
    y: NDArray[Any],
    names: Sequence[str] | None,
    costs: ArrayLike,
    about_costs: str = "declared",
    source: str = "drawn by a formula in emsco_lab.datasets.generated",
) -> Loaded:
    declared = FeatureCosts.from_array(costs, names)
    return X, y, declared, about_costs, source, "public domain"


def _made(name: str, seed: int) -> Loaded:
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
    return _drawn(X, y, None, costs, how, "make_classification with the paper's parameters")


GENERATED: dict[str, Callable[[str, int], Loaded]] = {
    **dict.fromkeys(MADE, _made),
    "interactions": _interactions,
    "regions": _regions,
    "families": _families,
    **dict.fromkeys(_CONTEXTS, _cube),
}
