"""Subsets whose classifiers are kept as what they say about each held-out row.

Any classifier can be one: of a fitted one only the likeliest class of each held-out row and its
probability are kept, from which the bits at any threshold follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from emsco._typing import BoolArray, FloatArray, IntArray, LabelArray
from emsco.calibration import Calibrator, calibration_split
from emsco.kernels import load
from emsco.subsets.bits import BitTable
from emsco.subsets.layout import Layout, pack
from emsco.subsets.logistic import SplitRows
from emsco.subsets.models import Models

__all__ = ["CalibratedFits", "OutcomeEngine", "OutcomeFits"]

Report = Callable[[int, int], None]

_AT_ONCE = 256


class OutcomeFits(Protocol):
    """Classifiers of subsets of the inputs, fitted on the training rows of one split."""

    n_train: int
    n_held_out: int

    def outcomes(
        self, subsets: BoolArray, report: Report | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Likeliest class of each held-out row and its probability, (n_subsets, n_held_out)."""

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[Any]:
        """The fitted classifiers themselves."""


class OutcomeEngine:
    """Fits and judges subsets by `OutcomeFits`, one for each split.

    Parameters
    ----------
    fits : sequence of OutcomeFits
    layouts : sequence of Layout
        Where the bits of each split's held-out rows stand, by position among them.
    labels : sequence of ndarray
        Class of each held-out row, by split.
    gaps : sequence of ndarray of shape (n_held_out, n_features), or None
        Rows with a gap, by feature and split.
    """

    def __init__(
        self,
        fits: Sequence[OutcomeFits],
        layouts: Sequence[Layout],
        labels: Sequence[LabelArray],
        gaps: Sequence[BoolArray] | None = None,
    ) -> None:
        self.fits = fits
        self.n_train = sum(one.n_train for one in fits)
        self.kept = 2 * sum(one.n_held_out for one in fits)
        self._layouts, self._labels = layouts, labels
        spots = gaps or [None] * len(fits)
        self.tables = [
            BitTable(layout, None if gap is None else gap.T)
            for layout, gap in zip(layouts, spots, strict=True)
        ]

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Classes and probabilities side by side, shape (n_subsets, kept)."""
        found: list[FloatArray] = []
        for one in self.fits:
            winner, confidence = one.outcomes(subsets, report)
            found += [winner.astype(np.float64), confidence]
        return np.concatenate(found, axis=1)

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Store the bits of subsets at a threshold for each class."""
        del subsets  # what they say is all there is to know
        parts = iter(np.split(numbers, self._cuts, axis=1))
        for table, layout, labels in zip(self.tables, self._layouts, self._labels, strict=True):
            winner, confidence = next(parts).astype(np.int64), next(parts)
            sure = confidence >= thresholds[winner]
            right = sure & (winner == labels)
            table.put(slots, pack(sure[:, layout.rows]), pack(right[:, layout.rows]))

    @property
    def _cuts(self) -> IntArray:
        return np.cumsum(np.repeat([one.n_held_out for one in self.fits], 2))[:-1]


class CalibratedFits:
    """Logistic regressions whose probabilities are calibrated on training rows they do not see.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_inputs)
    labels : ndarray of shape (n_rows,)
    train, held_out : ndarray
        Rows that fit and calibrate, and rows that outcomes are wanted of.
    weights : ndarray of shape (n_train,) or None
    n_classes : int
    calibration : {"sigmoid", "isotonic"}
    seed : sequence of int
        Of the choice of calibrating rows.
    """

    def __init__(
        self,
        X: FloatArray,
        labels: LabelArray,
        train: IntArray,
        held_out: IntArray,
        weights: FloatArray | None,
        n_classes: int,
        calibration: str,
        seed: Sequence[int],
    ) -> None:
        fitting, calibrating = calibration_split(train, labels, seed=seed)
        by_row = np.ones(len(X))
        by_row[train] = 1.0 if weights is None else weights
        own = None if weights is None else by_row[fitting]
        self.n_train, self.n_held_out = len(train), len(held_out)
        self._n_classes, self._kind = n_classes, calibration
        self._split = SplitRows.cut(
            X, labels, fitting, fitting[:0], n_classes=n_classes, weights=own
        )
        self._calibrating = self._filled(X[calibrating])
        self._truth, self._weights = labels[calibrating], by_row[calibrating]
        self._held_out = self._filled(X[held_out])

    @property
    def scaling(self) -> Any:
        """What inputs are standardised by."""
        return self._split.scaling

    def outcomes(
        self, subsets: BoolArray, report: Report | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Likeliest class of each held-out row and its probability, (n_subsets, n_held_out)."""
        winner = np.empty((len(subsets), self.n_held_out), dtype=np.int64)
        confidence = np.empty(winner.shape)
        for start in range(0, len(subsets), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            models = self._split.fits.fit(subsets[part])
            for m in range(len(models.sizes)):
                calibrator = self._calibrator(models, m)
                found = calibrator.apply(self._probabilities(models, m, self._held_out))
                winner[start + m] = found.argmax(axis=1)
                confidence[start + m] = found.max(axis=1)
            if report:
                report(min(start + _AT_ONCE, len(subsets)), len(subsets))
        return winner, confidence

    def models(
        self, subsets: BoolArray, report: Report | None = None
    ) -> list[tuple[FloatArray, Calibrator]]:
        """Weights of each subset's classifier, (n_outputs, n_inputs + 1), and its calibrator."""
        del report  # a matter of a moment
        models = self._split.fits.fit(subsets)
        spread = models.spread(subsets.shape[1]).reshape(len(subsets), -1, subsets.shape[1] + 1)
        return [(coefs, self._calibrator(models, m)) for m, coefs in enumerate(spread)]

    def _calibrator(self, models: Models, m: int) -> Calibrator:
        said = self._probabilities(models, m, self._calibrating)
        return Calibrator.learn(self._kind, said, self._truth, self._weights)

    def _filled(self, rows: FloatArray) -> FloatArray:
        """Rows with the mean in place of gaps."""
        return np.where(np.isnan(rows), self._split.scaling.mean, rows)

    def _probabilities(self, models: Models, m: int, rows: FloatArray) -> FloatArray:
        found = np.empty((len(rows), self._n_classes))
        load("deciding").probabilities_of(
            rows,
            self._split.scaling.mean,
            self._split.scaling.inverse,
            models.columns,
            models.sizes,
            models.coefs,
            m,
            found,
        )
        return found
