"""What a row has paid once it knows some features: sums of whole numbers of a unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CostUnits:
    """Costs as whole numbers of a unit, so that sums are exact; as floats if no unit fits.

    Attributes
    ----------
    features : ndarray of shape (n_features,)
        Cost of each feature, beyond fees and prices by row.
    evaluation : int or float
        Cost of running a stage.
    fees : ndarray of shape (n_fees,)
    members : ndarray of bool, shape (n_fees, n_features)
        The features that share each fee.
    per_one : int
        Units that make a cost of 1.
    priced : ndarray of int, shape (n_priced,)
        Features whose price differs from row to row. A block may stand here several times.
    mean : ndarray of shape (n_priced,)
        Their mean prices.
    prices : ndarray of int, shape (n_rows, n_priced), or None
        What each row pays for them, if the rows are known.
    """

    features: IntArray | FloatArray
    evaluation: int | float
    fees: IntArray | FloatArray
    members: BoolArray
    per_one: int
    priced: IntArray
    mean: IntArray | FloatArray
    prices: IntArray | None = None

    @property
    def are_whole(self) -> bool:
        """Whether a unit fits."""
        return self.features.dtype.kind == "i"

    def paid(self, known: BoolArray, n_run: Any = 0, prices: Any = None) -> Any:
        """Return what a row has paid once it knows some features.

        It has paid for each of them, once for each fee that they share, and for each stage that
        judged it. A row that knows nothing has paid nothing.

        Parameters
        ----------
        known : ndarray of bool, shape (…, n_features)
            A subset, the subsets known after each stage of a design, or those of many designs.
        n_run : int or ndarray of int
            Stages that have judged the row.
        prices : number or ndarray of shape (…, n_priced), optional
            What the row pays for the features in `priced`, by default the mean. 0 leaves out what
            rows pay by prices of their own.
        """
        # Many times as fast as a product, for which the subsets become numbers first.
        paid = np.einsum("...i,i->...", known, self.features)
        for fee, members in zip(self.fees, self.members, strict=True):
            paid = paid + fee * known[..., members].any(axis=-1)
        paid = paid + self.evaluation * n_run * known.any(axis=-1)
        if prices is None and not self.priced.size:
            return paid
        own = self.mean if prices is None else prices
        return paid + self.by_price(known[..., self.priced], own)

    @staticmethod
    def by_price(bought: BoolArray, prices: Any) -> Any:
        """Return the part of `paid` that is by prices; `bought` says which are, (…, n_priced)."""
        return np.where(bought, prices, 0).sum(axis=-1)

    def most_by_price(self, known: BoolArray) -> Any:
        """Return the most that any row pays by prices of its own, for each of some subsets."""
        if self.prices is None:
            return 0
        some, which = np.unique(known[:, self.priced], axis=0, return_inverse=True)
        most = np.array([self.by_price(one, self.prices).max() for one in some])
        return most[which.reshape(-1)]

    @property
    def average(self) -> Any:
        """Cost of each feature beyond fees, at mean prices."""
        average = self.features.astype(np.result_type(self.features, self.mean))
        np.add.at(average, self.priced, self.mean)
        return average
