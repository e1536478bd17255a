"""Training data: checked rows as numbers, labels, weights and costs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from emsco._base.digests import fingerprint, fingerprint_of_rows
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, LabelArray
from emsco._base.workers import by_parts
from emsco.costs import FeatureCosts
from emsco.data.encoding import Encoding
from emsco.data.labels import coded_labels
from emsco.data.weights import check_weights, whole_weights


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Rows to fit on, with their labels, weights, costs and encoding.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_inputs)
        Inputs that `encoding` makes, missing values as NaN.
    labels : ndarray of shape (n_rows,)
        Position of each row's label in `classes`.
    weights : ndarray of shape (n_rows,) or None
        Sample weights; None if all rows count the same.
    classes : ndarray of shape (n_classes,)
    costs : FeatureCosts
    encoding : Encoding
    prices : ndarray of shape (n_rows, n_priced) or None
        What each row pays for the features whose price differs from row to row.
    bought : frozenset of str
        Features that all rows have bought before: no stage is skipped for lack of them.
    units : ndarray of shape (n_rows,) or None
        Weights as whole numbers of a unit.
    per_row : float
        Number of units in a weight of 1.
    """

    rows: FloatArray
    labels: LabelArray
    weights: FloatArray | None
    classes: AnyArray
    costs: FeatureCosts
    encoding: Encoding
    prices: FloatArray | None = None
    bought: frozenset[str] = frozenset()
    units: IntArray | None = field(init=False)
    per_row: float = field(init=False)

    def __post_init__(self) -> None:
        """Express the weights as whole numbers of a unit."""
        whole = None if self.weights is None else whole_weights(self.weights)
        object.__setattr__(self, "units", None if whole is None else whole.units)
        object.__setattr__(self, "per_row", 1 if whole is None else whole.per_one)

    @classmethod
    def from_table(
        cls, table: Any, y: AnyArray, sample_weight: Any, costs: FeatureCosts, gaps: str
    ) -> TrainingData:
        """Create training data from a table and labels of any accepted type, and check them."""
        classes, labels = coded_labels(y)
        weights, prices = check_weights(sample_weight, len(labels)), None
        if costs.prices:
            prices = costs.prices_of(table, len(labels))
            costs = costs.with_usual(np.average(prices, axis=0, weights=weights))
        encoding = Encoding.learn(table, costs, gaps)
        rows = encoding.rows(table)
        encoding = encoding.with_ranges(*_extremes(rows, weights))
        return cls(rows, labels, weights, classes, costs, encoding, prices)

    @property
    def class_shares(self) -> FloatArray:
        """Share of each class in the rows, by weight."""
        totals = np.bincount(self.labels, self.weights, len(self.classes))
        shares: FloatArray = totals / totals.sum()
        return shares

    def staked(self, stakes: FloatArray | None) -> TrainingData:
        """Return the same rows, each weighted by what an error about its class costs.

        The mean of `stakes`, one for each class, counts as 1. Then a share of rows is a share of
        what all errors together would cost, and the likeliest label is the one that costs least.
        """
        if stakes is None:
            return self
        weights = (stakes / (self.class_shares @ stakes))[self.labels]
        return replace(self, weights=weights if self.weights is None else weights * self.weights)

    def take(self, rows: IntArray, weights: FloatArray | None) -> TrainingData:
        """Return some of the rows, with weights of their own."""
        prices = None if self.prices is None else self.prices[rows]
        labels = self.labels[rows]
        return replace(self, rows=self.rows[rows], labels=labels, weights=weights, prices=prices)

    def once_bought(self, names: Collection[str]) -> TrainingData:
        """Return the same rows once some features are bought: these cost nothing more.

        A later stage is not skipped for a value of theirs that is missing.
        """
        prices = self.prices
        if prices is not None:
            left = [i for i, name in enumerate(self.costs.prices) if name not in names]
            prices = prices[:, left] if left else None
        return replace(
            self,
            costs=self.costs.once_bought(names),
            prices=prices,
            bought=self.bought.union(names),
        )

    def fingerprints(self) -> dict[str, Any]:
        """Return plain values that identify the rows."""
        return {
            "X": fingerprint_of_rows(self.rows),
            "y": fingerprint(self.labels),
            "sample_weight": None if self.weights is None else fingerprint(self.weights),
        }

    def missing(self) -> BoolArray | None:
        """Return a mask of missing values, (n_rows, n_features), if stages skip them; else None."""
        if self.encoding.gaps != "skip":
            return None
        missing = self.encoding.missing_by_feature(self.rows)
        missing[:, [name in self.bought for name in self.costs.names]] = False
        return missing


def _extremes(rows: FloatArray, weights: FloatArray | None) -> list[FloatArray]:
    """Return the lowest and the highest value of each input, NaN if there are none.

    Rows of weight 0 do not count.
    """
    if weights is not None and not weights.all():
        rows = rows[weights > 0]

    def extreme(ufunc: np.ufunc) -> FloatArray:
        parts = by_parts(len(rows), lambda part: ufunc.reduce(rows[part], initial=np.nan))
        return ufunc.reduce(parts)  # type: ignore[no-any-return]

    return [extreme(np.fmin), extreme(np.fmax)]
