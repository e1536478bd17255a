"""Prices by row: where the price of a feature comes from, and what each row is charged.

A price is what one row pays for one feature, if rows differ. `RowPrice` says where it comes from,
and `prices_of_rows` reads it for the rows of a table. Two classes charge it: `StagePrices` in a
cascade, and `ScoredPrices` in a search, which adds up whole units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from emsco._base.arrays import whole_units
from emsco._base.checks import is_number
from emsco._base.text import brief, first_line, some, what_was_meant
from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray
from emsco.costs.fees import LARGEST_COST, CostUnits, Fees
from emsco.errors import CostsError, DataError

GivenPrices: TypeAlias = Mapping[str, Any] | None  # by feature, in any form that a cost may have
_FINEST = 12  # decimals of a price that is rounded


@dataclass(frozen=True, slots=True, eq=False)
class RowPrice:
    """Where the price of a feature comes from, if it differs from row to row.

    It is known before the feature is bought. With neither a column nor a function, it is given
    with the rows.

    Attributes
    ----------
    feature : str
    column : str or None
        Column of the table that holds the price of each row.
    function : callable or None
        Called with a table; returns the price of each of its rows.
    values : array-like or None
        Prices of the training rows.
    """

    feature: str
    column: str | None = None
    function: Callable[[Any], Any] | None = None
    values: Any = None

    @classmethod
    def from_cost(cls, feature: str, cost: Any) -> RowPrice:
        """Read what stands in the place of a feature's cost: a name, a function or an array."""
        if isinstance(cost, RowPrice):
            return cost
        if isinstance(cost, str):
            return cls(feature, column=cost)
        return cls(feature, function=cost) if callable(cost) else cls(feature, values=cost)

    @property
    def in_words(self) -> str:
        """Where the price comes from, for messages and tables."""
        return "by row" if self.column is None else f"by row, from {self.column!r}"


def is_row_price(cost: Any) -> bool:
    """Whether a cost is a price by row, and not one number for all rows.

    Examples
    --------
    >>> is_row_price("n_tokens"), is_row_price([0.2, 0.4]), is_row_price(3), is_row_price(None)
    (True, True, False, False)
    """
    if isinstance(cost, (str, RowPrice)) or callable(cost):
        return True
    try:
        # One number for each row; a matrix is no price.
        return not isinstance(cost, Mapping) and np.ndim(np.asarray(cost)) == 1
    except ValueError:  # a ragged list; no price, and refused as a cost
        return False


def split_prices(costs: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[RowPrice, ...]]:
    """Split costs by name into numbers and prices by row, which count 0 until rows are known."""
    prices = tuple(
        RowPrice.from_cost(name, cost) for name, cost in costs.items() if is_row_price(cost)
    )
    priced = {price.feature for price in prices}
    return {name: 0.0 if name in priced else cost for name, cost in costs.items()}, prices


def without_prices(
    names: tuple[str, ...], prices: Sequence[RowPrice], others: Collection[str]
) -> tuple[str, ...]:
    """Return the columns of a table without those that only hold prices.

    A column that is also one of the `others` stays: it is a feature as well.
    """
    for price in prices:
        if price.column is not None and price.column not in names:
            meant = what_was_meant(price.column, names)
            raise CostsError(
                f"the price of {price.feature!r} must be a number or a column of the data "
                f"({some(names)}), got {price.column!r}{meant}"
            )
    only = {price.column for price in prices} - set(others)
    return tuple(name for name in names if name not in only)


def prices_of_rows(
    prices: Sequence[RowPrice],
    table: Any,
    n_rows: int,
    first_row: int = 0,
    *,
    may_lack: bool = False,
) -> FloatArray:
    """Return what each row pays for each feature with prices by row, (n_rows, n_priced).

    Parameters
    ----------
    prices : sequence of RowPrice
        Features whose price differs from row to row.
    table : data frame or array-like
        The rows, from which columns and functions take prices.
    n_rows : int
    first_row : int
        Number of the first row in messages.
    may_lack : bool
        Whether a price may be missing, or a whole column; it is then NaN.
    """
    paid = np.empty((n_rows, len(prices)))
    for j, price in enumerate(prices):
        paid[:, j] = _column(price, table, n_rows, may_lack=may_lack)
        # NaN counts as wrong, too, unless prices may lack.
        is_valid = (paid[:, j] >= 0) & (paid[:, j] <= LARGEST_COST)
        if may_lack:
            is_valid |= np.isnan(paid[:, j])
        wrong = np.flatnonzero(~is_valid)
        if wrong.size:
            raise DataError(
                f"the price of {price.feature!r} must be finite and at least 0, got "
                f"{paid[wrong[0], j]:g} in row {first_row + int(wrong[0])}.",
                row=first_row + int(wrong[0]),
            )
    return paid


def check_price(feature: str, price: Any) -> float:
    """Return the price of a feature for one row as a number."""
    given = _numbers(feature, price)
    if given.ndim:
        raise DataError(f"the price of {feature!r} must be one number, got {brief(price)}.")
    number = float(given)
    if not 0 <= number <= LARGEST_COST:  # written so that NaN fails too
        raise DataError(f"the price of {feature!r} must be finite and at least 0, got {number:g}.")
    return number


def _column(price: RowPrice, table: Any, n_rows: int, *, may_lack: bool) -> FloatArray:
    """Return what each row pays for one feature; with `may_lack`, NaN for a column not there."""
    given = price.values
    if price.column is not None:
        import narwhals as nw

        frame: Any = nw.from_native(table, eager_only=True, pass_through=True)
        names = frame.columns if isinstance(frame, nw.DataFrame) else []
        if price.column not in names and may_lack:
            return np.full(n_rows, np.nan)
        if price.column not in names:
            got = some(names, 20) if names else "a table without names"
            raise DataError(
                f"the rows must have the column {price.column!r} with the price of "
                f"{price.feature!r}, got {got}."
            )
        given = frame.get_column(price.column)
    elif price.function is not None:
        try:
            given = price.function(table)
        except Exception as error:  # the user's function may raise anything
            raise DataError(
                f"the price of {price.feature!r} must be a function that works for these rows, got "
                f"{type(error).__name__}: {first_line(error)}."
            ) from error
    elif given is None:
        raise DataError(
            f"prices must be given for {price.feature!r}, whose price differs from row to row, got "
            "none."
        )
    numbers = _numbers(price.feature, given)
    if numbers.ndim == 0 and not is_row_price(given):
        return np.full(n_rows, float(numbers))
    if numbers.shape != (n_rows,):
        raise DataError(
            f"the price of {price.feature!r} must have one entry for each of {n_rows} rows, got "
            f"shape {numbers.shape}."
        )
    return numbers


def _numbers(feature: str, given: Any) -> FloatArray:
    try:
        numbers = np.asarray(given, dtype=np.float64)
        if isinstance(given, np.ma.MaskedArray):
            numbers = np.where(np.ma.getmaskarray(given), np.nan, numbers)
        return numbers
    except (OverflowError, TypeError, ValueError):
        values = np.asarray(given, dtype=object).ravel()
        # The message shows the first value that is no number, not the whole column.
        first = next((one for one in values if not is_number(one)), given)
        raise DataError(f"the price of {feature!r} must be numbers, got {brief(first)}.") from None


@dataclass(frozen=True, slots=True, eq=False)
class StagePrices:
    """Charges rows of a cascade for the features whose price differs from row to row.

    Attributes
    ----------
    prices : tuple of RowPrice
        Those of features that a stage buys.
    bought : ndarray of bool, shape (n_priced, n_stages)
        Stages that buy each.
    known : ndarray of bool, shape (n_priced, n_stages)
        Stages after which each is bought.
    usual : ndarray of shape (n_priced,)
        Mean price of the training rows.
    fixed : ndarray of shape (n_stages,)
        What every row has paid after each stage, without these features.
    left_out : tuple of str
        Other features with prices by row, which no stage buys.
    """

    prices: tuple[RowPrice, ...]
    bought: BoolArray
    known: BoolArray
    usual: FloatArray
    fixed: FloatArray
    left_out: tuple[str, ...] = ()

    @classmethod
    def from_stages(
        cls,
        prices: Sequence[RowPrice],
        usual: Mapping[str, float],
        buys: Sequence[Sequence[str]],
        fixed: FloatArray,
        before: Sequence[int] = (),
    ) -> Self:
        """Find the features that stages buy at prices by row.

        Parameters
        ----------
        prices : sequence of RowPrice
        usual : mapping
            Feature → its mean price.
        buys : sequence of sequence of str
            Features that each stage buys.
        fixed : ndarray of shape (n_stages,)
            What every row has paid after each stage, without the features in `prices`.
        before : sequence of int
            The stage before each stage, -1 for the first; by default the one above it.
        """
        # Features that no stage buys cost nobody anything.
        every = {name for names in buys for name in names}
        charged = tuple(price for price in prices if price.feature in every)
        marks = [[one.feature in names for names in buys] for one in charged]
        bought = np.array(marks, dtype=np.bool_).reshape(len(charged), len(buys))
        known = bought.copy()
        for j, one in enumerate(before or range(-1, len(buys) - 1)):
            if one >= 0:
                known[:, j] |= known[:, one]
        return cls(
            prices=charged,
            bought=bought,
            known=known,
            usual=np.array([usual[price.feature] for price in charged]),
            fixed=fixed,
            left_out=tuple(p.feature for p in prices if p.feature not in every),
        )

    def __len__(self) -> int:
        """Number of these features."""
        return len(self.prices)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table that hold prices."""
        return tuple(price.column for price in self.prices if price.column is not None)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(price.feature for price in self.prices)

    def of_table(
        self,
        table: Any,
        n_rows: int,
        given: GivenPrices,
        first_row: int = 0,
        *,
        may_lack: bool = False,
    ) -> FloatArray:
        """Return what each row of a table pays, (n_rows, n_priced).

        Prices come from where they came from in training, unless they are `given`. With
        `may_lack`, a price that is not known yet is NaN.
        """
        known = self._known("prices", given)
        prices = [
            RowPrice.from_cost(price.feature, known[price.feature])
            if price.feature in known
            else price
            for price in self.prices
        ]
        return prices_of_rows(prices, table, n_rows, first_row, may_lack=may_lack)

    def of_ids(
        self, what: str, given: GivenPrices, n_rows: int, ids: list[Any] | None = None
    ) -> FloatArray:
        """Return the given prices of rows without a table, (n_rows, n_priced); NaN for the others.

        Prices are arrays, numbers, or functions of `ids` if there are any. Messages call them
        `what`.
        """
        paid = np.full((n_rows, len(self)), np.nan)
        for name, cost in self._known(what, given).items():
            price = RowPrice.from_cost(name, cost)
            if price.column is not None or (price.function is not None and ids is None):
                forms = "an array" if ids is None else "an array, a function of the ids"
                raise DataError(f"{what} must be {forms} or a number for {name!r}, got {cost!r}.")
            paid[:, self.features.index(name)] = prices_of_rows([price], ids, n_rows)[:, 0]
        return paid

    def of_case(self, what: str, given: GivenPrices) -> list[float]:
        """Return the given prices of a single row; NaN for the others."""
        known = self._known(what, given)
        return [
            check_price(name, known[name]) if name in known else math.nan for name in self.features
        ]

    def check_paid(self, stage: int, prices: FloatArray) -> None:
        """Refuse rows that buy a feature at a stage without a price, which is NaN."""
        for at in np.flatnonzero(self.bought[:, stage]):
            if np.isnan(prices[:, at]).any():
                raise DataError(
                    f"the price of {self.features[at]!r} must be known, got none; give it in "
                    "prices before, or in spent with the values."
                )

    def check_all_paid(self, last: IntArray, prices: FloatArray, first_row: int) -> None:
        """Refuse rows without a price, which is NaN, of what they have bought.

        `last` is the last stage of each row, from 0, and -1 before the first.
        """
        for name, known, paid in zip(self.features, self.known, prices.T, strict=True):
            unpaid = np.flatnonzero(np.isnan(paid) & (last >= 0) & known[last])
            if unpaid.size:
                raise DataError(
                    f"the price of {name!r} must be known for a row that buys it, got none in row "
                    f"{first_row + int(unpaid[0])}.",
                    row=first_row + int(unpaid[0]),
                )

    def costs(self, prices: FloatArray) -> FloatArray:
        """Cost of each row after each stage, (n_rows, n_stages); NaN stands for the usual price."""
        # A row has paid for a feature from the stage on that buys it.
        paid = np.where(np.isnan(prices), self.usual, prices) @ self.known
        costs: FloatArray = self.fixed + paid
        return costs

    def cost_of_case(self, prices: Sequence[float], stage: int) -> float:
        """Cost of a single row after `stage`, counted from 0; NaN stands for the usual price."""
        each = zip(prices, self.usual.tolist(), self.known[:, stage].tolist(), strict=True)
        bought = (usual if math.isnan(price) else price for price, usual, known in each if known)
        return float(self.fixed[stage]) + sum(bought)

    def _known(self, what: str, given: GivenPrices) -> dict[str, Any]:
        """Return the given prices of features that a stage buys.

        Those of features that are left out are ignored, so that designs of one front take the
        same prices. `what` is the name of the parameter, for messages.
        """
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            raise DataError(f"{what} must be a mapping of features to prices, got {brief(given)}.")
        known = (*self.features, *self.left_out)
        for name in given:
            if name not in known:
                raise CostsError(
                    f"{what} must name features whose price differs from row to row "
                    f"({some(known) or 'none'}), got {name!r}."
                )
        return {name: given[name] for name in self.features if name in given}


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPrices:
    """Charges scored rows of a search for the features whose price differs from row to row.

    Attributes
    ----------
    priced : ndarray of shape (n_priced,)
        The features.
    prices : ndarray of shape (n_priced, n_scored)
        What each scored row pays, split after split.
    fixed : CostUnits
        The costs that are the same for all rows.
    whole : ndarray of int, shape (n_priced, n_scored)
        The prices as whole numbers of a unit.
    per_one : int
        Units of `whole` that make 1.
    most_spent : int
        Units of `whole` that all rows together pay for all these features.
    """

    priced: IntArray
    prices: FloatArray
    fixed: CostUnits
    whole: IntArray
    per_one: int
    most_spent: int

    @classmethod
    def from_rows(
        cls,
        features: FloatArray,
        fees: Fees,
        evaluation: float,
        priced: IntArray,
        prices: FloatArray,
        weights: IntArray,
    ) -> Self:
        """Find units for fixed costs and prices.

        Both have the same unit if one divides them all. Otherwise fixed costs stay as they are, and
        prices are rounded to at least twelve decimals, or to what sums of whole numbers can hold.

        Parameters
        ----------
        features : ndarray of shape (n_features,)
            Cost of each feature beyond fees, 0 where rows differ.
        fees : Fees
        evaluation : float
            Cost of evaluating a stage.
        priced : ndarray of shape (n_priced,)
        prices : ndarray of shape (n_priced, n_scored)
        weights : ndarray of int, shape (n_scored,)
            Counts each scored row.
        """
        same = np.concatenate([features, fees.amounts, [evaluation]])
        n, last = len(features), len(same) - 1

        def exact(units: FloatArray, _: int) -> bool:
            max_units = units[:last].sum() + n * units[last]
            spread = units[last + 1 :].reshape(prices.shape)
            return bool(weights.sum() * max_units + (spread @ weights).sum() < 2.0**53)

        if (in_units := whole_units(np.concatenate([same, prices.ravel()]), exact)) is not None:
            units, per_one = in_units
            shared = Fees(units[n:last], fees.members)
            fixed = CostUnits(units[:n], int(units[last]), per_one, shared)
            whole = units[last + 1 :].reshape(prices.shape)
        else:
            spent = float((prices @ weights).sum()) or 1.0
            per_one = 10 ** int(np.clip(math.floor(math.log10(2.0**52 / spent)), 0, _FINEST))
            fixed = CostUnits(features, float(evaluation), 1, fees)
            whole = np.rint(prices * per_one).astype(np.int64)
        return cls(priced, prices, fixed, whole, per_one, int((whole @ weights).sum()))

    @property
    def usual(self) -> CostUnits:
        """Costs for all rows, with the mean price of each feature."""
        means = self.prices.mean(axis=1) * self.fixed.per_one
        features = self.fixed.features.copy()
        np.add.at(features, self.priced, np.rint(means) if self.fixed.are_whole else means)
        return replace(self.fixed, features=features)

    def spent(self, units: IntArray) -> IntArray | FloatArray:
        """Return sums of `whole` in the unit of the fixed costs."""
        return units if self.fixed.are_whole else units / self.per_one

    def worst(self, stages: StageArray) -> FloatArray:
        """Most that any row pays by its prices with each design, if it is rejected."""
        subsets, which = np.unique(stages[:, self.priced] >= 0, axis=0, return_inverse=True)
        max_paid: FloatArray = np.array([(subset @ self.prices).max() for subset in subsets])
        return max_paid[which.reshape(-1)]

    def paid(self, stages: StageArray, last: IntArray) -> FloatArray:
        """What each scored row pays by its prices with a design.

        `stages` has the stage of each feature, and `last` the last stage that each row pays for.
        """
        bought_at = stages[self.priced, None]
        paid: FloatArray = (self.prices * ((bought_at >= 0) & (bought_at <= last))).sum(axis=0)
        return paid
