"""Columns of a table as the inputs of rivals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emsco import DataError, FeatureCosts

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Whole: TypeAlias = NDArray[np.int64]
_LARGEST = 1e100  # so that no sum of squares overflows


@dataclass(eq=False)
class Encoding:
    """Numbers and truth values as they are, and an input for every category.

    A missing value counts as the weighted mean of the training rows. One more input marks it if
    the column has missing values there, and is bought with the column's feature.

    Attributes
    ----------
    columns : list of str
    categories : list of (ndarray of str or None)
        Categories of each column; None for numbers.
    marked : ndarray of bool, shape (n_columns,)
        Columns with missing values in training.
    gaps : {"refuse", "impute"}
    input_feature : ndarray of int, shape (n_inputs,)
        Feature that each input is bought with.
    means : ndarray of shape (n_inputs,)
    """

    columns: list[str]
    categories: list[NDArray[Any] | None]
    marked: Flags
    gaps: str
    input_feature: Whole
    means: Floats

    @classmethod
    def learn(cls, table: Any, weights: Floats, costs: FeatureCosts, gaps: str) -> Self:
        """Learn from a data frame of training rows."""
        missing = table.isna().to_numpy()
        if missing.all(axis=0).any():
            name = table.columns[missing.all(axis=0)][0]
            raise DataError(f"X must have values in column {name!r}, got only missing ones.")
        categories = [_categories(table[name]) for name in table]
        marked = missing.any(axis=0)
        widths = [1 if known is None else len(known) for known in categories]
        feature = np.repeat(costs.column_features(table.columns), widths + marked)
        made = cls(list(table.columns), categories, marked, gaps, feature, np.zeros(len(feature)))
        inputs = made._read(table)
        known = ~np.isnan(inputs) * weights[:, None]  # weight of each value that is there
        made.means = (np.nan_to_num(inputs) * known).sum(axis=0) / known.sum(axis=0)
        return made

    def inputs(self, table: Any) -> Floats:
        """Inputs of a data frame's rows, (n_rows, n_inputs), without missing values."""
        inputs = self._read(table)
        return np.where(np.isnan(inputs), self.means, inputs)

    def _read(self, table: Any) -> Floats:
        """Inputs with NaN for missing values."""
        blocks = []
        for name, categories, marks in zip(self.columns, self.categories, self.marked, strict=True):
            column = table[name]
            missing = column.isna().to_numpy()
            if missing.any() and self.gaps == "refuse":
                raise DataError(
                    f"X must have no missing value (NaN) with gaps='refuse', got one in {name!r}."
                )
            if categories is None:
                block = column.to_numpy(np.float64, na_value=np.nan)[:, None]
                if (np.abs(block) > _LARGEST).any():
                    raise DataError(
                        f"X must be finite, got infinity or more than 1e100 in {name!r}."
                    )
            else:
                texts = column.astype(str).to_numpy(object)
                block = np.where(missing, np.nan, texts == categories[:, None]).T
            blocks += [block, missing[:, None]] if marks else [block]
        return np.ascontiguousarray(np.hstack(blocks, dtype=np.float64))


def _categories(column: Any) -> NDArray[Any] | None:
    """Different texts of a column in order; None if it holds numbers or truth values."""
    if pd.api.types.is_numeric_dtype(column.convert_dtypes()):
        return None
    return np.unique(column.dropna().astype(str).to_numpy(np.str_))


@dataclass(eq=False)
class Scaling:
    """Standardises inputs by the weighted mean and deviation of the training rows.

    Equal to StandardScaler but for the last bits, on which trees that did not settle depend.
    """

    mean: Floats
    inverse: Floats

    @classmethod
    def learn(cls, rows: Floats, weights: Floats) -> Self:
        """Learn from rows; the deviation of a constant input counts as 1."""
        mean = (rows * weights[:, None]).sum(axis=0) / weights.sum()
        mean = np.clip(mean, rows.min(axis=0), rows.max(axis=0))  # exact for constant inputs
        variance = ((rows - mean) ** 2 * weights[:, None]).sum(axis=0) / weights.sum()
        return cls(mean, 1 / np.sqrt(np.where(variance > 0, variance, 1)))

    def scaled(self, rows: Floats) -> Floats:
        """Inputs with mean 0 and deviation 1."""
        return (rows - self.mean) * self.inverse
