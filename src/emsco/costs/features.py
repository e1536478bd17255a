"""Cost of acquiring each feature."""

from __future__ import annotations

import csv
import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.arrays import whole_units
from emsco._base.checks import check_number
from emsco._base.text import brief, some
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.costs.checks import LARGEST_COST, check_amounts, check_known, check_list
from emsco.costs.fees import Fee, fees_paid
from emsco.costs.files import parse_costs
from emsco.costs.paid import CostUnits, waited
from emsco.costs.prices import RowPrice, is_row_price
from emsco.errors import CostsError, ParameterError

LEAST_LARGEST = 1e-100  # of all costs, so that shares of them are numbers
_FINEST = 12  # decimals of a price that is rounded


class MissingCosts(CostsError):  # noqa: N818 - what happened, beside what the user did
    """Some columns of the table have no cost.

    Attributes
    ----------
    columns : tuple of str
    """

    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FeatureCosts:
    """Cost of acquiring each feature, all in one unit.

    A feature is a column of the table, or a group of columns that you buy together for one cost,
    such as a blood panel. Features may share fees: a row pays a fee once, with the first feature
    of it that is bought.

    Parameters
    ----------
    names : tuple of str
        The features, each named after its column or group.
    costs : ndarray of shape (n_features,)
        Their costs beyond fees; copied and locked. Of a feature in `prices`, the mean price of
        the training rows.
    evaluation : float
        Cost of running a stage, on top of the costs of its features.
    columns : tuple of tuple of str
        The table's columns of each feature; by default the column of the same name.
    table : tuple of str
        All columns, in the order of the table; by default feature by feature.
    fees : tuple of Fee
        Fees that features share.
    delays : ndarray of shape (n_features,)
        Time until the value of each feature is there; by default 0.
    prices : tuple of RowPrice
        Features whose price differs from row to row, and where it comes from.

    Examples
    --------
    >>> costs = FeatureCosts.from_mapping({"age": 1, "blood panel": 40})
    >>> costs.total
    41.0
    >>> costs.cost_of(["age"])
    1.0
    >>> columns = ["age", "glucose", "iron"]
    >>> panel = {"blood panel": ["glucose", "iron"]}
    >>> costs = FeatureCosts.from_mapping({"age": 1, "blood panel": 40}, columns, panel)
    >>> costs.names
    ('age', 'blood panel')
    >>> costs.column_features(columns).tolist()
    [0, 1, 1]
    >>> draw = {"blood draw": (2, ["chol", "iron"])}
    >>> costs = FeatureCosts.from_mapping({"age": 1, "chol": 5, "iron": 3}, fees=draw)
    >>> costs.cost_of(["iron"]), costs.cost_of(["chol", "iron"])
    (5.0, 10.0)
    """

    names: tuple[str, ...]
    costs: FloatArray
    evaluation: float = 0.0
    columns: tuple[tuple[str, ...], ...] = ()
    table: tuple[str, ...] = ()
    fees: tuple[Fee, ...] = ()
    delays: FloatArray = None  # type: ignore[assignment]  # zeros, made below
    prices: tuple[RowPrice, ...] = ()

    def __post_init__(self) -> None:
        """Copy, check and lock `costs` and `delays`."""
        names, fees = self.names, tuple(self.fees)
        costs = check_amounts("costs", self.costs, names)
        delays = np.zeros(len(names)) if self.delays is None else self.delays
        columns = tuple(map(tuple, self.columns or zip(names)))
        if len(columns) != len(names):
            raise CostsError(
                f"columns must have one entry for each of the {len(names)} features, got "
                f"{len(columns)}."
            )
        _check_distinct("features", names)
        owner = _owners(zip(names, columns, strict=True))
        if clash := [name for name in names if owner.get(name, name) != name]:
            raise CostsError(
                f"a feature must not have the name of another feature's column, got {clash[0]!r}, "
                f"a column of group {owner[clash[0]]!r}."
            )
        if self.table and sorted(self.table) != sorted(owner):
            raise CostsError(
                f"the table must have the columns {some([*owner])}, got {some(self.table)}."
            )
        _check_distinct("fees", [fee.name for fee in fees])
        for name, value in (
            ("costs", costs),
            ("evaluation", check_number("evaluation", self.evaluation, 0, LARGEST_COST)),
            ("columns", columns),
            ("table", tuple(self.table or owner)),
            ("fees", fees),
            ("delays", check_amounts("delays", delays, names)),
        ):
            object.__setattr__(self, name, value)
        for fee in fees:
            check_known(f"the fee {fee.name!r}", fee.features, names, self.groups)
        priced = [price.feature for price in self.prices]
        check_known("prices", priced, names)
        _check_distinct("prices", priced)
        largest = max([self.evaluation, *costs.tolist(), *(fee.cost for fee in fees)])
        if largest < LEAST_LARGEST and not (largest == 0 and self.prices):
            raise CostsError(
                f"at least one cost must be above 0, and {LEAST_LARGEST:g} or more, got "
                f"{largest:g} as the largest of {len(names)}."
            )

    @classmethod
    def from_array(cls, costs: ArrayLike, names: Sequence[str] | None = None) -> Self:
        """Create costs from numbers in column order; without `names`, features are x0, x1, …."""
        if names is None:
            names = [f"x{i}" for i in range(np.asarray(costs, dtype=object).size)]
        return cls(tuple(map(str, names)), costs)  # type: ignore[arg-type]  # made an array there

    @classmethod
    def from_mapping(
        cls,
        costs: Mapping[str, Any],
        names: Sequence[str] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        fees: Mapping[str, Any] | Sequence[Fee] | None = None,
        delays: Mapping[str, float] | None = None,
    ) -> Self:
        """Create costs from names of columns and groups.

        Parameters
        ----------
        costs : mapping
            Name of a column or group → cost; or → ``{"cost": cost, "columns": [column, …]}``. A
            cost may differ from row to row. It is then the name of a column that holds it, a
            function of the table that returns it, or an array with one entry per training row.
        names : sequence of str, optional
            The table's columns. Features follow the order of their first columns in the table, or
            by default the order of the mapping.
        groups : mapping, optional
            Name of a group → its columns. A column belongs to at most one group.
        fees : mapping or sequence of Fee, optional
            Name of a fee → (cost, features that share it), such as
            ``{"blood draw": (2.10, ["chol", "iron"])}``. A row pays a fee once, with the first of
            its features; the costs are what features cost beyond their fees. A feature may share
            several fees, such as one for a visit and one for the draw.
        delays : mapping, optional
            Name of a column or group → time until its value is there; 0 for all others.
        """
        by_name, members = _split_groups(costs, groups or {})
        prices = [RowPrice.from_cost(name, c) for name, c in by_name.items() if is_row_price(c)]
        by_name |= {price.feature: 0.0 for price in prices}  # until rows are known
        if names is None:
            table: list[str] = []
            features = {name: members.get(name, (name,)) for name in [*by_name, *members]}
        else:
            owner, table = _owners(members.items()), list(map(str, names))
            _check_distinct("columns", table)
            for name, columns in members.items():
                check_known(f"the group {name!r}", columns, table, kind="columns")
                if name in table and name not in columns:
                    raise CostsError(
                        f"a group must not have the name of a column outside it, got {name!r}."
                    )
            for price in prices:
                if price.column is not None:
                    whose = f"the price of {price.feature!r}"
                    check_known(whose, [price.column], table, kind="columns, or be a number")
            # A column of prices may be a feature as well.
            only = {price.column for price in prices}.difference(by_name, owner)
            table = [column for column in table if column not in only]
            features = {}
            for column in table:
                name = owner.get(column, column)
                features[name] = (*features.get(name, ()), column)
            check_known("costs", by_name, [*features], members)
        if missing := [name for name in features if name not in by_name]:
            columns = tuple(name for name in missing if name in table)
            add = "; add them, or drop the columns" if columns else ""
            error = MissingCosts(
                f"costs must have a cost for every feature, got none for {some(missing)}{add}."
            )
            error.columns = columns
            raise error
        made = cls(
            names=tuple(features),
            costs=np.array([by_name[name] for name in features], dtype=object),
            columns=tuple(features.values()),
            table=tuple(table),
            fees=Fee.from_any(fees),
            prices=tuple(prices),
        )
        return made if delays is None else made.with_delays(delays)

    @classmethod
    def from_prefixes(
        cls, costs: Mapping[str, Any], names: Sequence[str], separator: str = "_"
    ) -> Self:
        """Create costs from the first parts of column names, as one-hot encoders make them.

        Parameters
        ----------
        costs : mapping
            Name of a column → cost. Any other name stands for the group of all columns that begin
            with it and the separator; if several names fit a column, the longest one wins.
        names : sequence of str
            The table's columns.
        separator : str

        Examples
        --------
        >>> names = ["age", "colour_red", "colour_blue"]
        >>> costs = FeatureCosts.from_prefixes({"age": 1, "colour": 5}, names)
        >>> costs.columns
        (('age',), ('colour_red', 'colour_blue'))
        """
        # The longest first, so that "blood_fat" wins over "blood" for "blood_fat_2".
        prefixes = sorted((name for name in costs if name not in names), key=len, reverse=True)
        groups: dict[str, list[str]] = {name: [] for name in prefixes}
        for column in names:
            starts = (name for name in prefixes if column.startswith(f"{name}{separator}"))
            if column not in costs and (prefix := next(starts, None)) is not None:
                groups[prefix].append(column)
        # A prefix that no column has is most likely a misspelt name.
        if empty := [name for name in prefixes if not groups[name]]:
            raise CostsError(
                f"costs must name columns of the data ({some(names)}) or their beginnings before "
                f"{separator!r}, got {some(empty)}."
            )
        return cls.from_mapping(costs, names, groups)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        names: Sequence[str] | None = None,
        dropped: Sequence[str] = (),
    ) -> Self:
        """Read costs from a file, in the order of `names` or by default of the file.

        The file has one of three forms: CSV with the columns ``feature,cost``, and if wanted
        ``group``, ``fee,fee_cost`` and ``delay``; JSON with an object as for `from_mapping` or a
        list; or one line of numbers in column order. Without `names`, such numbers belong to x0,
        x1, ….

        CSV may have semicolons, tabs or bars instead of commas, and then decimal commas. In CSV,
        a feature is a column of the table. A column with an empty cell for its group is a feature
        on its own. Give the cost of a group in one of its lines, or the same in several.
        A feature under several fees names them, and their costs, with ``;`` between. A column
        ``cost_with_fees`` instead of ``cost`` has prices that include the fees. If the price
        differs from row to row, its cell names the column of the table that holds it.

        In JSON with fees or delays, costs are one of several entries: ``{"costs": {"chol": 5},
        "fees": {"blood draw": {"cost": 2, "features": ["chol"]}}, "delays": {"chol": 1}}``.

        Costs by name of columns that were `dropped` from the table are ignored.
        """
        try:
            text = Path(path).read_bytes().decode("utf-8-sig")  # ends of lines stay as they are
            is_json = Path(path).suffix.lower() == ".json"
            said = parse_costs(text, is_json, () if names is None else tuple(map(str, names)))
        except OSError as error:
            why = error.strerror or error
            raise CostsError(
                f"costs must be a file that can be read, got {path} ({why})."
            ) from None
        except (csv.Error, RecursionError, ValueError) as error:  # also bad UTF-8 and JSON
            raise CostsError(
                "costs must be CSV with the columns feature and cost, JSON, or one line of "
                f"numbers, got {path}: {error}."
            ) from None
        if isinstance(said, list):
            return cls.from_array(said, names)
        made = cls.from_mapping(**said).without(dropped)
        return made if names is None else cls.resolve(made, names)

    @classmethod
    def resolve(
        cls,
        costs: CostsLike,
        names: Sequence[str],
        evaluation: float | None = None,
        delays: Any = None,
    ) -> Self:
        """Create costs from any accepted form for a table with columns `names`.

        None means a cost of 1 for each column. Every column belongs to exactly one feature. A cost
        of running a stage and delays of features count instead of those in `costs`.
        """
        if isinstance(costs, FeatureCosts):
            by_name: dict[str, Any] = dict(zip(costs.names, costs.costs.tolist(), strict=True))
            by_name |= {price.feature: price for price in costs.prices}
            delays_before = dict(zip(costs.names, costs.delays.tolist(), strict=True))
            # Through names again: the table may have its columns in another order.
            here = cls.from_mapping(by_name, names, costs.groups, costs.fees, delays_before)
            here = replace(here, evaluation=costs.evaluation)
        elif isinstance(costs, Mapping):
            here = cls.from_mapping(costs, names)
        else:
            here = cls.from_array(np.ones(len(names)) if costs is None else costs, names)
        if evaluation is not None:
            number = check_number("evaluation_cost", evaluation, 0, LARGEST_COST)
            here = replace(here, evaluation=number)
        # Delays come last, as they are checked against the features that the costs define.
        return here if delays is None else here.with_delays(delays)

    def without(self, columns: Collection[str]) -> Self:
        """Return the costs of the other columns; a group goes with the last of its columns.

        Examples
        --------
        >>> FeatureCosts.from_mapping({"age": 1, "id": 9}).without(["id"]).names
        ('age',)
        """
        left = [tuple(one for one in members if one not in columns) for members in self.columns]
        kept = [i for i, members in enumerate(left) if members]
        names = tuple(self.names[i] for i in kept)
        fees = [fee.without(set(self.names).difference(names)) for fee in self.fees]
        return replace(
            self,
            names=names,
            costs=self.costs[kept],
            columns=tuple(left[i] for i in kept),
            table=tuple(column for column in self.table if column not in columns),
            fees=tuple(fee for fee in fees if fee),
            delays=self.delays[kept],
            prices=tuple(price for price in self.prices if price.feature in names),
        )

    def with_expensive(self, columns: Sequence[str]) -> Self:
        """Return the same costs with further columns, each more expensive than everything so far.

        Examples
        --------
        >>> costs = FeatureCosts.from_mapping({"age": 1, "iron": 3}).with_expensive(["id"])
        >>> costs.names, costs.costs.tolist()
        (('age', 'iron', 'id'), [1.0, 3.0, 5.0])
        """
        price = min(self.total + 1, LARGEST_COST)
        return replace(
            self,
            names=(*self.names, *columns),
            costs=np.append(self.costs, np.full(len(columns), price)),
            columns=(*self.columns, *((column,) for column in columns)),
            table=(*self.table, *columns),
            delays=np.append(self.delays, np.zeros(len(columns))),
        )

    def with_usual(self, prices: FloatArray | float) -> Self:
        """Return the costs of rows to come, with the mean of each of the `prices` so far."""
        usual = self.costs.copy()
        usual[self.priced] = prices
        # New rows bring prices of their own.
        later = tuple(replace(price, values=None) for price in self.prices)
        return replace(self, costs=usual, prices=later)

    def with_delays(self, delays: Mapping[str, Any] | ArrayLike) -> Self:
        """Return these costs with other delays, in feature order or by name.

        Features that a mapping does not name keep their delays.
        """
        if isinstance(delays, Mapping):
            check_known("delays", delays, self.names, self.groups)
            given = dict(zip(self.names, self.delays.tolist(), strict=True)) | {**delays}
            delays = np.array([given[name] for name in self.names], dtype=object)
        return replace(self, delays=delays)  # type: ignore[arg-type]  # made an array there

    def once_bought(self, names: Collection[str]) -> Self:
        """Return the costs of a row that has bought some features: these, and their fees, are free.

        Examples
        --------
        >>> costs = FeatureCosts.from_mapping({"age": 1, "scan": 50}).once_bought(["age"])
        >>> costs.costs.tolist()
        [0.0, 50.0]
        """
        is_bought = np.isin(self.names, list(names))
        return replace(
            self,
            costs=np.where(is_bought, 0.0, self.costs),
            fees=tuple(fee for fee in self.fees if not set(fee.features) & set(names)),
            delays=np.where(is_bought, 0.0, self.delays),
            prices=tuple(price for price in self.prices if price.feature not in names),
        )

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Columns of each feature that is a group, by name."""
        named = zip(self.names, self.columns, strict=True)
        return {name: columns for name, columns in named if columns != (name,)}

    def column_features(self, columns: Iterable[str]) -> IntArray:
        """Return the position of each column's feature."""
        wanted = list(columns)
        place = {column: i for i, members in enumerate(self.columns) for column in members}
        check_known("columns", wanted, self.table, kind="columns")
        return np.array([place[column] for column in wanted], dtype=np.int64)

    @property
    def price_columns(self) -> tuple[str, ...]:
        """Columns of the table that hold prices of rows."""
        columns = (price.column for price in self.prices)
        return tuple(dict.fromkeys(column for column in columns if column is not None))

    @property
    def priced(self) -> IntArray:
        """Positions of the features whose price differs from row to row."""
        places = [self.names.index(price.feature) for price in self.prices]
        return np.array(places, dtype=np.int64)

    @property
    def about(self) -> str:
        """The word before a cost that is a mean, because prices differ from row to row."""
        return "about " if self.prices else ""

    @property
    def has_delays(self) -> bool:
        """Whether the value of some feature comes later."""
        return bool(self.delays.any())

    def prices_of(self, table: Any, n_rows: int, first_row: int = 0) -> FloatArray:
        """Return what rows of a table pay for each of the features in `prices`, in columns."""
        paid = [price.of_rows(table, n_rows, first_row) for price in self.prices]
        return np.column_stack(paid) if paid else np.empty((n_rows, 0))

    def check_bounded(self, max_cost: Any, max_total: Any = None) -> None:
        """Refuse a promise about the mean cost or total where a row may cost any amount."""
        for name, limit in (("max_cost", max_cost), ("max_total", max_total)):
            if self.prices and limit is not None:
                raise ParameterError(
                    f"{name} must be left out where prices differ from row to row: a row may cost "
                    f"anything, got {limit!r}."
                )

    def in_units(
        self,
        weight: int | IntArray = 1,
        prices: FloatArray | None = None,
        priced: IntArray | None = None,
    ) -> CostUnits:
        """Return costs as whole numbers of a unit, or unchanged if no unit fits.

        The unit is the largest power of ten from 1 down to 10⁻⁶ that divides all costs and prices.
        None fits if all rows could cost 2⁵³ units or more: above that, float64 skips whole numbers.
        Prices of rows are rounded then, to twelve decimals or to what their sum can hold.

        Parameters
        ----------
        weight : int or ndarray of shape (n_rows,)
            Number of rows that are added up, or how often each counts.
        prices : ndarray of shape (n_rows, n_priced), optional
            What each of the rows pays for the features in `priced`, by default those in `prices`,
            beyond `costs`; without it, these are the mean prices.
        """
        n, weight = len(self.names), np.atleast_1d(weight)
        priced = self.priced if priced is None else priced
        beyond, own = self.costs.copy(), prices
        if own is None:
            beyond[priced], own = 0.0, np.zeros((len(weight), 0))
        fees = [fee.cost for fee in self.fees]
        ends = np.cumsum([n, len(fees), 1])

        def exact(units: FloatArray, _: int) -> bool:
            features, fees, evaluation, own_units = np.split(units, ends)
            # At worst, each feature is a stage of its own.
            of_row = features.sum() + fees.sum() + n * evaluation.sum()
            of_prices = (weight @ own_units.reshape(own.shape)).sum()
            return bool(max(1, weight.sum()) * of_row + of_prices < 2.0**53)

        numbers = np.concatenate([beyond, fees, [self.evaluation], own.ravel()])
        whole, per_one = whole_units(numbers, exact) or (None, 1)
        if whole is None and prices is not None:
            spent = float((weight @ prices).sum()) or 1.0
            per_one = 10 ** int(np.clip(math.floor(math.log10(2.0**52 / spent)), 0, _FINEST))
        units = numbers * per_one if whole is None else whole
        features, of_fees, evaluation, own_units = np.split(units, ends)
        mean = (self.costs[priced] if prices is None else own.mean(axis=0)) * per_one
        if whole is not None and (prices is not None or not priced.size):
            mean = np.rint(mean).astype(np.int64)
        members = [np.isin(self.names, fee.features) for fee in self.fees]
        return CostUnits(
            features,
            evaluation.item(),
            of_fees,
            np.array(members, dtype=np.bool_).reshape(len(fees), n),
            per_one,
            priced,
            mean,
            None if prices is None else np.rint(own_units).astype(np.int64).reshape(own.shape),
        )

    @cached_property
    def units(self) -> CostUnits:
        """The costs of a single row in units."""
        return self.in_units()

    def paid(self, known: BoolArray, n_run: Any = 0, prices: Any = None) -> Any:
        """Return what a row has paid once it knows some features; see `CostUnits.paid`.

        It is exact, as sums are of whole numbers where a unit fits.
        """
        own = None if prices is None else prices * self.units.per_one
        return self.units.paid(known, n_run, own) / self.units.per_one

    def after_stages(
        self, known: BoolArray, before: Sequence[int] = (), prices: Any = None
    ) -> FloatArray:
        """Return what a row has paid after each stage, evaluations included.

        Parameters
        ----------
        known : ndarray of bool, shape (n_stages, n_features)
            The features known after each stage.
        before : sequence of int
            The stage before each stage, -1 for the first; by default the one above it.
        prices : number or ndarray, optional
            What rows pay by prices of their own; see `CostUnits.paid`.
        """
        n_run: list[int] = []
        for one in before or range(-1, len(known) - 1):
            n_run.append(1 if one < 0 else n_run[one] + 1)
        paid: FloatArray = self.paid(known, np.array(n_run), prices)
        return paid

    def waits_after_stages(self, known: BoolArray, before: Sequence[int] = ()) -> FloatArray:
        """Return how long a row has waited after each stage; see `emsco.costs.paid.waited`.

        Examples
        --------
        >>> costs = FeatureCosts.from_mapping({"age": 1, "chol": 5}, delays={"chol": 2})
        >>> costs.waits_after_stages(np.array([[True, False], [True, True]])).tolist()
        [0.0, 2.0]
        """
        return waited(known, self.delays, before)

    @property
    def total(self) -> float:
        """Cost of buying all features for one row in one stage."""
        return float(self.paid(np.ones(len(self.names), dtype=np.bool_), 1))

    @property
    def alone(self) -> FloatArray:
        """Cost of buying each feature as the first of its fees."""
        alone: FloatArray = self.units.alone / self.units.per_one
        return alone

    @property
    def smallest(self) -> float:
        """The smallest cost above 0 of a feature bought alone."""
        return float(self.alone[self.alone > 0].min())

    def cost_of(self, features: Iterable[str]) -> float:
        """Return the cost of buying the named features for one row, each of their fees once."""
        wanted = list(features)
        check_known("features", wanted, self.names)
        return float(self.paid(np.isin(self.names, wanted)))

    def in_words(self, features: Iterable[str], known: Collection[str] = ()) -> list[str]:
        """Return the named features with their costs, as tables and pictures show them.

        Fees follow that are paid with them, if those `known` were bought before.

        Examples
        --------
        >>> costs = {"age": 1, "chol": 5, "iron": 3}
        >>> costs = FeatureCosts.from_mapping(costs, fees={"draw": (2.5, ["chol", "iron"])})
        >>> costs.in_words(["chol"], known=["age"]), costs.in_words(["iron"], known=["chol"])
        (['chol (5)', 'fee for draw (2.5)'], ['iron (3)'])
        """
        cost = dict(zip(self.names, (f"{cost:g}" for cost in self.costs), strict=True))
        cost |= {price.feature: f"about {cost[price.feature]}" for price in self.prices}
        bought = list(features)
        fees = (fee.in_words for fee in fees_paid(self.fees, bought, known))
        return [*(f"{name} ({cost[name]})" for name in bought), *fees]


CostsLike: TypeAlias = FeatureCosts | Mapping[str, Any] | ArrayLike | None


def _check_distinct(what: str, names: Sequence[str]) -> None:
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise CostsError(f"{what} must have different names, got {twice[0]!r} twice.")


def _owners(groups: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """Return the feature of each column; refuse groups that are empty or share a column."""
    owner: dict[str, str] = {}
    for name, columns in groups:
        if not columns:
            raise CostsError(f"a group must have a column, got none for group {name!r}.")
        for column in columns:
            if column in owner:
                both = " and ".join(repr(one) for one in dict.fromkeys((owner[column], name)))
                raise CostsError(f"a column must be in one group once, got {column!r} in {both}.")
            owner[column] = name
    return owner


def _split_groups(
    costs: Mapping[str, Any], groups: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """Split costs that may name the columns of groups into costs by name and columns by group."""
    members = {str(name): columns for name, columns in groups.items()}
    _check_distinct("features", list(map(str, costs)))
    given = {}
    for name, cost in zip(map(str, costs), costs.values(), strict=True):
        entry = cost if isinstance(cost, Mapping) else {"cost": cost}
        if set(entry) not in ({"cost"}, {"cost", "columns"}) or (name in members and entry is cost):
            raise CostsError(
                f"costs must be numbers or like {{'cost': 40, 'columns': ['iron']}}, got "
                f"{brief(dict(entry))} for {name!r}."
            )
        given[name] = entry["cost"]
        if "columns" in entry:
            members[name] = entry["columns"]
    return given, {name: check_list(f"the group {name!r}", one) for name, one in members.items()}
