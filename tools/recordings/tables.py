"""Tables to fit on: small ones that need no files, and the paper's if they are at hand."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification

__all__ = [
    "Table",
    "archived",
    "cancer",
    "digits",
    "has_archive",
    "made",
    "measures",
    "mixed",
    "wine",
]


@dataclass(frozen=True, slots=True)
class Table:
    """Labelled rows, with weights or groups if a case needs them."""

    X: Any
    y: Any
    weights: Any = None
    groups: Any = None

    def columns(self) -> dict[str, list[Any]]:
        """Cells by column name, as plain values; columns of an array are called x0, x1, …."""
        if isinstance(self.X, np.ndarray):
            return {f"x{i}": column.tolist() for i, column in enumerate(self.X.T)}
        cells: dict[str, list[Any]] = nw.from_native(self.X, eager_only=True).to_dict(
            as_series=False
        )
        return cells

    def to_pandas(self, target: str = "label") -> pd.DataFrame:
        """The rows with their labels, and their weights in a column `w` if there are any."""
        weights = {} if self.weights is None else {"w": self.weights}
        return pd.DataFrame({**self.columns(), target: np.asarray(self.y), **weights})

    def weighted(self, whole: bool) -> Table:
        """Give rows weights: whole numbers from 0 to 3, or numbers with many decimals."""
        rng = np.random.default_rng(5)
        n_rows = len(self.y)
        weights = rng.integers(0, 4, n_rows) if whole else rng.gamma(2.0, size=n_rows)
        return replace(self, weights=weights)

    def grouped(self) -> Table:
        """Put rows into six groups, for splitters that ask for groups."""
        return replace(self, groups=np.arange(len(self.y)) % 6)

    def with_holes(self, share: float = 0.08) -> Table:
        """Take some cells out of a pandas table."""
        rng = np.random.default_rng(3)
        return replace(self, X=self.X.mask(rng.random(self.X.shape) < share))


def cancer(n_columns: int = 8, frame: bool = False, n_rows: int = 240) -> Table:
    """Two classes: the first columns of the breast-cancer data."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:n_rows, :n_columns], data.target.iloc[:n_rows].to_numpy()
    return Table(X if frame else X.to_numpy(), y)


def measures(n_measures: int = 6) -> Table:
    """Two classes: mean, error and worst value of the first measurements."""
    data = load_breast_cancer(as_frame=True)
    names = [name.removeprefix("mean ") for name in data.feature_names[:n_measures]]
    columns = [form for m in names for form in (f"mean {m}", f"{m} error", f"worst {m}")]
    X = data.data.iloc[:240][columns]
    renamed = [f"{m}_{form}" for m in names for form in ("mean", "error", "worst")]
    return Table(X.set_axis(renamed, axis=1), data.target.iloc[:240].to_numpy())


def wine(n_columns: int = 7) -> Table:
    """Three classes, numbers as labels."""
    data = load_wine(as_frame=True)
    return Table(data.data.iloc[:, :n_columns], data.target.to_numpy())


def digits() -> Table:
    """Ten classes, twelve columns."""
    X, y = load_digits(return_X_y=True)
    return Table(X[:300, 18:30], y[:300])


def made(n_columns: int, n_rows: int = 220, n_classes: int = 2) -> Table:
    """Synthetic rows of scikit-learn."""
    X, y = make_classification(
        n_samples=n_rows,
        n_features=n_columns,
        n_informative=min(n_columns, 5),
        n_redundant=1,
        n_classes=n_classes,
        class_sep=0.9,
        random_state=7,
    )
    return Table(X, y)


def mixed(kind: str = "pandas", holes: bool = False) -> Table:
    """Numbers, text, categories and truth values; labels are text, of three classes."""
    base = wine(13)
    X = base.X[["malic_acid", "ash", "flavanoids"]].assign(
        colour=pd.cut(base.X["color_intensity"], 3, labels=["light", "medium", "dark"]),
        tint=np.where(base.X["hue"] > 1, "warm", np.where(base.X["hue"] > 0.8, "even", "cold")),
        strong=base.X["alcohol"] > 13,
    )
    if holes:
        rng = np.random.default_rng(2)
        for name in ("ash", "flavanoids", "tint"):
            X[name] = X[name].mask(rng.random(len(X)) < 0.1, None)
    y = np.array(["barolo", "grignolino", "barbera"])[base.y]
    if kind == "polars":
        return Table(pl.from_pandas(X), y)
    if kind == "pyarrow":
        return Table(pa.Table.from_pandas(X, preserve_index=False), y)
    return Table(X, y)


def has_archive() -> bool:
    """Whether EMSCO_DATA names a folder with the sets of the paper."""
    return "EMSCO_DATA" in os.environ


def archived(name: str, n_rows: int = 300) -> Table:
    """Some rows of heart, pima or credit, evenly spread, from the folder of EMSCO_DATA."""
    rows = pd.read_csv(Path(os.environ["EMSCO_DATA"]) / f"{name}.csv")
    rows = rows.iloc[:: max(1, len(rows) // n_rows)]
    return Table(rows.drop(columns="label"), rows["label"].to_numpy())
