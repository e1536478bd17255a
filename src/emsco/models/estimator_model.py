"""A fitted classifier of the user's, as what decides rows; asking it needs no scikit-learn here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.typing import FloatArray, IntArray
from emsco.errors import DataError
from emsco.models.calibration import Calibrator

__all__ = ["EstimatorModel"]

_DECIMALS = 12


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorModel:
    """A fitted classifier, and what it takes to ask it about rows.

    Probabilities are rounded to 12 decimals. Matrix products and sums over threads differ in the
    last bits from one batch of rows to another; after rounding, a row is decided alike beside
    whatever others, and a forest of 100 trees of which 65 agree has a confidence of 0.65.

    Attributes
    ----------
    estimator : object
        With predict_proba and classes_, which are class numbers from 0.
    inputs : ndarray of int
        The inputs it reads, in ascending order.
    fill : ndarray of shape (len(inputs),)
        What a gap (NaN) in each of them is filled with.
    n_classes : int
        Classes of the problem; those that it has never seen have probability 0.
    calibrator : Calibrator or None
    identity : str
        A digest of what it says about rows that it was fitted to.
    """

    estimator: Any
    inputs: IntArray
    fill: FloatArray
    n_classes: int
    calibrator: Calibrator | None = None
    identity: str = ""

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Probability of each class, shape (n_rows, n_classes), of rows with all inputs."""
        found = np.zeros((len(rows), self.n_classes))
        if not len(rows):
            return found
        known = np.ascontiguousarray(rows[:, self.inputs], dtype=np.float64)
        missing = np.isnan(known)
        if missing.any():
            known = np.where(missing, self.fill, known)
        found[:, self.estimator.classes_] = self._said(known)
        if self.calibrator is not None:
            found = self.calibrator.apply(found)
        return np.round(found, _DECIMALS)

    def _said(self, known: FloatArray) -> FloatArray:
        said = np.asarray(self.estimator.predict_proba(known), dtype=np.float64)
        expected = (len(known), len(self.estimator.classes_))
        if said.shape != expected or not np.isfinite(said).all():
            kind = type(self.estimator).__name__
            got = f"shape {said.shape}" if said.shape != expected else "values that are no numbers"
            raise DataError(
                f"predict_proba of {kind} must give {expected[1]} numbers a row, got {got}."
            )
        return np.round(said, _DECIMALS)
