"""A data set: rows, labels and costs, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emsco import FeatureCosts
from emsco.errors import DataError

FloatArray = NDArray[np.float64]
# Rows, labels and costs; where the costs come from, then the rows; and their licence.
Loaded = tuple[FloatArray, NDArray[Any], FeatureCosts, str, str, str]

# The paper's, and one for the data of the examples.
THRESHOLDS = {
    "heart": 0.75,
    "pima": 0.65,
    "credit": 0.75,
    "synthetic15": 0.85,
    "synthetic50": 0.55,
    "breast_cancer": 0.95,
}


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Rows, labels and costs of a data set, and the threshold to use.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_rows, n_columns)
        The columns are those of ``costs.table``; a gap is NaN.
    y : ndarray of shape (n_rows,)
        Class of each row, from 0.
    costs : FeatureCosts
        Names and costs of the features.
    min_confidence : float or None
        None if the set comes without a threshold.
    about_costs : str
        Origin of the costs: recovered, chosen, computed, printed or declared.
    source, licence : str
        Origin of the rows, and their licence.
    """

    name: str
    X: FloatArray
    y: NDArray[np.uint8]
    costs: FeatureCosts
    min_confidence: float | None
    about_costs: str
    source: str = ""
    licence: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in column order; a group of columns is one feature."""
        return self.costs.names


def threshold_of(data: Dataset) -> float:
    """Return the threshold of a data set that must have one."""
    if data.min_confidence is None:
        with_one = ", ".join(THRESHOLDS)
        raise DataError(f"the data set must have a threshold ({with_one}), got {data.name!r}.")
    return data.min_confidence
