"""Data sets of the paper, and one that comes with scikit-learn, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification

from emsco._base.checks import check_choice
from emsco._base.typing import FloatArray, IntArray, LabelArray
from emsco.costs import FeatureCosts
from emsco.datasets.public import PUBLIC_TABLES, table_of

__all__ = ["MADE", "NAMES", "THRESHOLDS", "Dataset", "breast_cancer_costs", "load", "paper_split"]

# Cost classes by column: recovered from a published run log for heart, chosen for the others.
_CLASSES = {
    "heart": (1, 2, 2, 2, 1, 2, 2, 1, 2, 2, 1, 1),
    "pima": (1, 3, 1, 2, 3, 1, 2, 1),
    "credit": (1, 1, 2, 1, 1, 1, 2, 3, 1, 2, 1, 1, 1, 2),
}
THRESHOLDS = {
    "heart": 0.75,
    "pima": 0.65,
    "credit": 0.75,
    "synthetic15": 0.85,
    "synthetic50": 0.55,
    "breast_cancer": 0.95,
}
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
_MINUTES = {"mean": 1, "error": 3, "worst": 5}
_TRACED = ("compactness", "concavity", "concave points", "symmetry", "fractal dimension")


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Rows, labels and costs of a data set, and the threshold to use.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Class of each row, 0 or 1.
    costs : FeatureCosts
        Names and costs of the features.
    min_confidence : float
    about_costs : str
        Origin of the costs: recovered, chosen, computed, printed or declared.
    source, licence : str
        Origin of the rows, and their licence.
    """

    name: str
    X: FloatArray
    y: LabelArray
    costs: FeatureCosts
    min_confidence: float
    about_costs: str
    source: str = ""
    licence: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in column order."""
        return self.costs.names


def load(name: str, seed: int = 0) -> Dataset:
    """Load a data set by name.

    "heart", "pima" and "credit" are read from ``<name>.csv`` in the folder that the environment
    variable EMSCO_DATA names. If the file is not there, they come from the cache of downloads, and
    on first use from the archive; their values are checked. EMSCO_CACHE names another folder for
    the cache. "synthetic15" and "synthetic50" are made from `seed`; "breast_cancer" comes with
    scikit-learn.

    Examples
    --------
    >>> data = load("breast_cancer")
    >>> data.X.shape, data.costs.total
    ((569, 30), 135.0)
    """
    return _LOADERS[check_choice("name", name, NAMES)](name, seed)


def paper_split(n_rows: int, seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """Draw training, scored and test rows at random: half, a quarter (rounded up), the rest."""
    order = np.random.default_rng(seed).permutation(n_rows)
    half, quarter = n_rows // 2, -(-n_rows // 4)
    return order[:half], order[half : half + quarter], order[half + quarter :]


def breast_cancer_costs(names: list[str]) -> FeatureCosts:
    """Return minutes of work for each of the 30 measurements of a sample; declared, not measured.

    The mean of a measure takes 1 minute, its standard error 3 and its worst value 5. Measures that
    need the outline of each nucleus to be traced take twice as long.
    """
    return FeatureCosts.from_array(
        [
            next(cost for word, cost in _MINUTES.items() if word in name)
            * (2 if any(word in name for word in _TRACED) else 1)
            for name in names
        ],
        names,
    )


def _from_archive(name: str, _seed: int) -> Dataset:
    public = PUBLIC_TABLES[name]
    table = table_of(public)
    classes = np.array(_CLASSES[name])
    costs = 100.0 * classes if name == "pima" else 10.0**classes
    return Dataset(
        name,
        np.ascontiguousarray(table[:, :-1]),
        table[:, -1].astype(np.uint8),
        FeatureCosts.from_array(costs, public.columns),
        THRESHOLDS[name],
        "recovered from the authors' log" if name == "heart" else "chosen by the paper's rules",
        public.source,
        public.licence,
    )


def _synthetic15(name: str, seed: int) -> Dataset:
    from sklearn.ensemble import RandomForestClassifier

    X, y = make_classification(**MADE[name], random_state=seed)
    gini = RandomForestClassifier(random_state=seed, n_jobs=-1).fit(X, y).feature_importances_
    signs = np.random.default_rng(seed).choice([-1, 1], size=15)
    costs = np.maximum(1, np.floor(100 * gini + signs + 0.5))
    made = FeatureCosts.from_array(costs)
    how = "computed from Gini importance"
    return Dataset(name, X, y.astype(np.uint8), made, THRESHOLDS[name], how, *_made(seed))


def _synthetic50(name: str, seed: int) -> Dataset:
    X, y = make_classification(**MADE[name], random_state=seed)
    printed = FeatureCosts.from_array(np.full(50, 10.0))
    how = "printed in the paper"
    return Dataset(name, X, y.astype(np.uint8), printed, THRESHOLDS[name], how, *_made(seed))


def _made(seed: int) -> tuple[str, str]:
    return f"make_classification with the paper's parameters, seed {seed}", "public domain"


def _breast_cancer(name: str, _seed: int) -> Dataset:
    data = load_breast_cancer()
    declared = breast_cancer_costs(data.feature_names.tolist())
    labels, about = data.target.astype(np.uint8), "UCI Breast Cancer Wisconsin (Diagnostic)"
    return Dataset(
        name, data.data, labels, declared, THRESHOLDS[name], "declared", about, "CC BY 4.0"
    )


_LOADERS: dict[str, Callable[[str, int], Dataset]] = {
    "heart": _from_archive,
    "pima": _from_archive,
    "credit": _from_archive,
    "synthetic15": _synthetic15,
    "synthetic50": _synthetic50,
    "breast_cancer": _breast_cancer,
}
NAMES = tuple(_LOADERS)
