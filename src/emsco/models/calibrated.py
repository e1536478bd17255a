"""Logistic regressions with calibrated probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco.models.batches import Models
from emsco.models.calibration import Calibrator, calibration_split
from emsco.models.engine import SplitRows
from emsco.models.scaling import Scaling

__all__ = ["CalibratedFitter"]

_AT_ONCE = 256


class CalibratedFitter:
    """Fits logistic regressions, and calibrates them on training rows set aside for it.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_inputs)
    labels : ndarray of shape (n_rows,)
    train, scored : ndarray
        Row numbers: `train` to fit and calibrate, `scored` to answer for.
    weights : ndarray of shape (n_rows,) or None
        Weight of each row in fitting and calibration.
    class_weights : ndarray of shape (n_classes,) or None
        Further weight of each class, in fitting only.
    classes : sequence
    calibration : {"sigmoid", "isotonic"}
    seed : int
        Seed of the choice of calibration rows.
    penalty : float
    """

    def __init__(
        self,
        X: FloatArray,
        labels: LabelArray,
        train: IntArray,
        scored: IntArray,
        weights: FloatArray | None,
        class_weights: FloatArray | None,
        classes: Sequence[Any],
        calibration: str,
        seed: int,
        penalty: float = 1.0,
    ) -> None:
        fitting, calibrating = calibration_split(train, labels, seed=seed, classes=classes)
        self.n_train, self.n_scored = len(train), len(scored)
        self._kind = calibration
        self._split = SplitRows.cut(
            X,
            labels,
            fitting,
            fitting[:0],
            penalty,
            n_classes=len(classes),
            weights=weights,
            class_weights=class_weights,
        )
        self._calibrating = self.scaling.filled(X[calibrating])
        self._truth = labels[calibrating]
        self._weights = None if weights is None else weights[calibrating]
        self._scored = self.scaling.filled(X[scored])

    @property
    def scaling(self) -> Scaling:
        """Mean and deviation of the inputs."""
        return self._split.scaling

    def outcomes(
        self, subsets: BoolArray, report: Report | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Fit each subset; return the likeliest class of each scored row and its probability.

        Both have shape (n_subsets, n_scored).
        """
        winner = np.empty((len(subsets), self.n_scored), dtype=np.int64)
        confidence = np.empty(winner.shape)
        for start in range(0, len(subsets), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            models = self._split.fitter.fit(subsets[part])
            for m in range(len(models.sizes)):
                calibrator = self._calibrator(models, m)
                found = calibrator.apply(self._probabilities(models, m, self._scored))
                winner[start + m] = found.argmax(axis=1)
                confidence[start + m] = found.max(axis=1)
            if report:
                report(min(start + _AT_ONCE, len(subsets)), len(subsets))
        return winner, confidence

    def models(
        self, subsets: BoolArray, report: Report | None = None
    ) -> list[tuple[FloatArray, Calibrator]]:
        """Fit each subset; return its weights, (n_outputs, n_inputs + 1), and its calibrator."""
        del report  # these fits take only a moment
        models = self._split.fitter.fit(subsets)
        spread = models.spread(subsets.shape[1]).reshape(len(subsets), -1, subsets.shape[1] + 1)
        return [(coefs, self._calibrator(models, m)) for m, coefs in enumerate(spread)]

    def close(self) -> None:
        """Do nothing: this fitter writes no files."""

    def _calibrator(self, models: Models, m: int) -> Calibrator:
        said = self._probabilities(models, m, self._calibrating)
        return Calibrator.learn(self._kind, said, self._truth, self._weights)

    def _probabilities(self, models: Models, m: int, rows: FloatArray) -> FloatArray:
        return models.probabilities(rows, self.scaling.mean, self.scaling.inverse, m)
