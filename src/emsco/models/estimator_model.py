"""A stage model made from a user's classifier. This module itself needs no scikit-learn."""

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
    """A fitted classifier, with its inputs and its calibrator.

    Probabilities are rounded to 12 decimals. The last bits of matrix products and of sums over
    threads depend on the batch of rows. After rounding, a row gets the same decision in any
    batch, and 65 of 100 agreeing trees give a confidence of exactly 0.65.

    Attributes
    ----------
    estimator : object
        Has predict_proba, and classes_ with class numbers from 0.
    inputs : ndarray of int
        The inputs it reads, in ascending order.
    fill : ndarray of shape (len(inputs),)
        Value that replaces a missing one (NaN) in each input.
    n_classes : int
        Classes of the problem. Classes that the estimator has not seen have probability 0.
    calibrator : Calibrator or None
    identity : str
        A digest of its probabilities for rows that it was fitted to.
    """

    estimator: Any
    inputs: IntArray
    fill: FloatArray
    n_classes: int
    calibrator: Calibrator | None = None
    identity: str = ""

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Class probabilities of rows with all inputs, shape (n_rows, n_classes)."""
        found = np.zeros((len(rows), self.n_classes))
        if not len(rows):
            return found
        known = np.ascontiguousarray(rows[:, self.inputs], dtype=np.float64)
        missing = np.isnan(known)
        if missing.any():
            known = np.where(missing, self.fill, known)
        found[:, self.estimator.classes_] = self._ask(known)
        if self.calibrator is not None:
            found = self.calibrator.apply(found)
        return np.round(found, _DECIMALS)

    def _ask(self, known: FloatArray) -> FloatArray:
        found = np.asarray(self.estimator.predict_proba(known), dtype=np.float64)
        expected = (len(known), len(self.estimator.classes_))
        if found.shape != expected or not np.isfinite(found).all():
            kind = type(self.estimator).__name__
            got = f"shape {found.shape}" if found.shape != expected else "NaN or infinite values"
            raise DataError(
                f"predict_proba of {kind} must give {expected[1]} numbers a row, got {got}."
            )
        return np.round(found, _DECIMALS)
