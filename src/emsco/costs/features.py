"""Cost of acquiring each feature."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.arrays import locked_copy, whole_units
from emsco._base.checks import check_number
from emsco._base.text import brief, some, what_was_meant
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.costs.fees import (
    LARGEST_COST,
    LEAST_LARGEST,
    CostUnits,
    Fee,
    Fees,
    check_amount,
    check_known,
    fees_paid,
)
from emsco.costs.files import parse_costs
from emsco.costs.prices import RowPrice, split_prices, without_prices
from emsco.errors import CostsError, ParameterError


class MissingCosts(CostsError):  # noqa: N818 - what happened, beside what the user did
    """Some columns of the table have no cost.

    Attributes
    ----------
    columns : tuple of str
    """

    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
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
        fees = tuple(self.fees)
        costs = _numbers("costs", self.costs)
        _check_costs(costs, self.names, bool(self.prices) or any(fee.cost > 0 for fee in fees))
        delays = _numbers("delays", np.zeros(len(costs)) if self.delays is None else self.delays)
        if delays.shape != costs.shape:
            raise CostsError(
                f"delays must have one entry for each of the {len(costs)} features, got shape "
                f"{delays.shape}."
            )
        for name, delay in zip(self.names, delays.tolist(), strict=True):
            check_amount(f"the delay of {name!r}", delay)
        check_number("evaluation", self.evaluation, 0, LARGEST_COST)
        columns = self.columns or tuple((name,) for name in self.names)
        _check_groups(self.names, columns)
        together = tuple(column for members in columns for column in members)
        if self.table and sorted(self.table) != sorted(together):
            raise CostsError(
                f"the table must have the columns {some(together)}, got {some(self.table)}."
            )
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "columns", tuple(map(tuple, columns)))
        object.__setattr__(self, "table", tuple(self.table or together))
        object.__setattr__(self, "fees", fees)
        object.__setattr__(self, "delays", delays)
        largest = max([self.evaluation, *costs.tolist(), *(fee.cost for fee in fees)])
        if 0 < largest < LEAST_LARGEST:
            raise CostsError(
                f"costs must have one of {LEAST_LARGEST:g} or more, got {largest:g} as the "
                "largest; count in a smaller unit."
            )
        called = [fee.name for fee in fees]
        if twice := [name for name in called if called.count(name) > 1]:
            raise CostsError(f"fees must have different names, got {twice[0]!r} twice.")
        for fee in fees:
            check_known(f"the fee {fee.name!r}", fee.features, self.names, self.groups)
        check_known("prices", [price.feature for price in self.prices], self.names)
        if len({price.feature for price in self.prices}) < len(self.prices):
            raise CostsError("prices must be given once for each feature, got two for one.")
        if empty := [price.feature for price in self.prices if price.column == ""]:
            raise CostsError(
                "costs must be a number or the name of a column with prices, got '' for "
                f"{empty[0]!r}."
            )

    @classmethod
    def from_array(cls, costs: ArrayLike, names: Sequence[str] | None = None) -> Self:
        """Create costs from numbers in column order; without `names`, features are x0, x1, …."""
        values = np.asarray(costs, dtype=object)
        if isinstance(costs, np.ma.MaskedArray):
            values = values.copy()
            values[np.ma.getmaskarray(costs)] = None
        if names is None:
            names = [f"x{i}" for i in range(values.size)]
        return cls(tuple(map(str, names)), values)

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
        by_name, prices = split_prices(by_name)
        if names is None:
            table: tuple[str, ...] = ()
            if missing := [name for name in members if name not in by_name]:
                raise CostsError(
                    f"costs must have a cost for every group, got none for {some(missing)}."
                )
            features = {name: members.get(name, (name,)) for name in by_name}
        else:
            group_of = {column: name for name, columns in members.items() for column in columns}
            table = without_prices(tuple(map(str, names)), prices, {*by_name, *group_of})
            features = _in_table_order(by_name, members, group_of, table)
        made = cls(
            names=tuple(features),
            costs=np.array([by_name[name] for name in features], dtype=object),
            columns=tuple(features.values()),
            table=table,
            fees=Fee.from_any(fees),
            prices=prices,
        )
        return made.with_delays(delays) if delays else made

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
        given = {str(name): cost for name, cost in costs.items()}
        # The longest first, so that "blood_fat" wins over "blood" for "blood_fat_2".
        prefixes = sorted((name for name in given if name not in names), key=len, reverse=True)
        groups: dict[str, list[str]] = {name: [] for name in prefixes}
        for column in map(str, names):
            starts = (name for name in prefixes if column.startswith(f"{name}{separator}"))
            if column not in given and (prefix := next(starts, None)) is not None:
                groups[prefix].append(column)
        # A prefix that no column has is most likely a misspelt name.
        if empty := [name for name in given if name in groups and not groups[name]]:
            raise CostsError(
                f"costs must name columns of the data ({some(names)}) or their beginnings before "
                f"{separator!r}, got {some(empty)}."
            )
        return cls.from_mapping(given, names, groups)

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
            parsed = parse_costs(text, is_json, () if names is None else tuple(map(str, names)))
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
        if isinstance(parsed.costs, list):
            return cls.from_array(parsed.costs, names)
        costs, groups = _split_groups(parsed.costs, parsed.groups)
        # A group loses its dropped columns, and goes with the last of them.
        left = {
            name: tuple(column for column in columns if column not in dropped)
            for name, columns in groups.items()
        }
        gone = {name for name in dropped if name not in groups}
        gone |= {name for name, columns in left.items() if not columns}
        fees = [fee.without(gone) for fee in Fee.from_any(parsed.fees)]
        return cls.from_mapping(
            {name: cost for name, cost in costs.items() if name not in gone},
            names,
            {name: columns for name, columns in left.items() if columns},
            [fee for fee in fees if fee],
            {name: delay for name, delay in parsed.delays.items() if name not in gone},
        )

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
        if costs is None:
            here = cls.from_array(np.ones(len(names)), names)
        elif isinstance(costs, FeatureCosts):
            by_name = dict(zip(costs.names, costs.costs.tolist(), strict=True))
            by_name |= {price.feature: price for price in costs.prices}
            later = dict(zip(costs.names, costs.delays.tolist(), strict=True))
            # Through names again: the table may have its columns in another order.
            here = cls.from_mapping(by_name, names, costs.groups, costs.fees, later)
            here = replace(here, evaluation=costs.evaluation)
        elif isinstance(costs, Mapping):
            here = cls.from_mapping(costs, names)
        else:
            here = cls.from_array(costs, names)
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
        left = {
            name: tuple(column for column in members if column not in columns)
            for name, members in zip(self.names, self.columns, strict=True)
        }
        kept = [i for i, members in enumerate(left.values()) if members]
        gone = [name for name, members in left.items() if not members]
        fees = [fee.without(gone) for fee in self.fees]
        return replace(
            self,
            names=tuple(self.names[i] for i in kept),
            costs=self.costs[kept],
            columns=tuple(members for members in left.values() if members),
            table=tuple(column for column in self.table if column not in columns),
            fees=tuple(fee for fee in fees if fee),
            delays=self.delays[kept],
            prices=tuple(price for price in self.prices if price.feature not in gone),
        )

    def with_expensive(self, columns: Sequence[str]) -> Self:
        """Return the same costs with further columns, each more expensive than everything so far.

        Examples
        --------
        >>> costs = FeatureCosts.from_mapping({"age": 1, "iron": 3}).with_expensive(["id"])
        >>> costs.names, costs.costs.tolist()
        (('age', 'iron', 'id'), [1.0, 3.0, 5.0])
        """
        n_more, price = len(columns), min(self.total + 1, LARGEST_COST)
        return replace(
            self,
            names=(*self.names, *columns),
            costs=np.append(self.costs, np.full(n_more, price)),
            columns=(*self.columns, *((column,) for column in columns)),
            table=(*self.table, *columns),
            delays=np.append(self.delays, np.zeros(n_more)),
        )

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Columns of each feature that is a group, by name."""
        named = zip(self.names, self.columns, strict=True)
        return {name: columns for name, columns in named if columns != (name,)}

    def column_features(self, columns: Iterable[str]) -> IntArray:
        """Return the position of each column's feature."""
        feature = {column: i for i, members in enumerate(self.columns) for column in members}
        wanted = list(columns)
        if unknown := [column for column in wanted if column not in feature]:
            raise CostsError(f"columns must be among {some(self.table)}, got {some(unknown)}.")
        return np.array([feature[column] for column in wanted], dtype=np.int64)

    def with_usual(self, prices: FloatArray) -> Self:
        """Return the same costs with the mean price of each feature in `prices`."""
        usual = self.costs.copy()
        usual[self.priced] = prices
        return replace(self, costs=usual)

    @property
    def about(self) -> str:
        """The word before a cost that is a mean, because prices differ from row to row."""
        return "about " if self.prices else ""

    def for_new_rows(self) -> Self:
        """Return the same costs without prices of training rows: others have their own."""
        return replace(self, prices=tuple(replace(one, values=None) for one in self.prices))

    def fixed(self) -> Self:
        """Return the costs that are the same for all rows: 0 where prices differ."""
        return self.with_usual(np.zeros(len(self.prices))) if self.prices else self

    def check_bounded(self, max_cost: Any, max_total: Any = None) -> None:
        """Refuse a promise about the mean cost or total where a row may cost any amount."""
        for name, limit in (("max_cost", max_cost), ("max_total", max_total)):
            if self.prices and limit is not None:
                raise ParameterError(
                    f"{name} must be left out where prices differ from row to row: a row may cost "
                    f"anything, got {limit!r}."
                )

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
    def total(self) -> float:
        """Cost of buying all features for one row in one stage."""
        return float(self.costs.sum() + sum(fee.cost for fee in self.fees)) + self.evaluation

    @property
    def alone(self) -> FloatArray:
        """Cost of buying each feature as the first of its fees."""
        # In units, so that sums of costs and fees are exact.
        units = self.in_units()
        alone: FloatArray = (units.features + units.fees.alone) / units.per_one
        return alone

    @property
    def smallest(self) -> float:
        """The smallest cost above 0 of a feature bought alone."""
        return float(self.alone[self.alone > 0].min())

    def cost_of(self, features: Iterable[str]) -> float:
        """Return the cost of buying the named features for one row, each of their fees once."""
        wanted = list(features)
        if unknown := [name for name in wanted if name not in self.names]:
            raise CostsError(f"features must be among {some(self.names)}, got {some(unknown)}.")
        units, subset = self.in_units(), np.array([name in wanted for name in self.names])
        return float(units.of_subsets(subset) / units.per_one)

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

    def after_stages(self, subsets: BoolArray, before: Sequence[int] = ()) -> FloatArray:
        """Return the cost of a row up to each stage, evaluations included.

        A design that buys nothing costs nothing.

        Parameters
        ----------
        subsets : ndarray of bool, shape (n_stages, n_features)
            The features known after each stage.
        before : sequence of int
            The stage before each stage, -1 for the first; by default the one above it.
        """
        units = self.in_units()
        n_passed: list[int] = []
        for one in before or range(-1, len(subsets) - 1):
            n_passed.append(1 if one < 0 else n_passed[one] + 1)
        # Every stage so far was evaluated once, unless nothing is bought.
        n_evaluated = np.array(n_passed) * subsets.any(axis=1)
        paid = units.of_subsets(subsets) + n_evaluated * units.evaluation
        return paid / units.per_one

    def once_bought(self, names: Collection[str]) -> Self:
        """Return the costs of a row that has bought some features: these, and their fees, are free.

        Examples
        --------
        >>> costs = FeatureCosts.from_mapping({"age": 1, "scan": 50}).once_bought(["age"])
        >>> costs.costs.tolist()
        [0.0, 50.0]
        """
        is_bought = np.array([name in names for name in self.names])
        return replace(
            self,
            costs=np.where(is_bought, 0.0, self.costs),
            fees=tuple(fee for fee in self.fees if not set(fee.features) & set(names)),
            delays=np.where(is_bought, 0.0, self.delays),
            prices=tuple(price for price in self.prices if price.feature not in names),
        )

    @property
    def has_delays(self) -> bool:
        """Whether the value of some feature comes later."""
        return bool(self.delays.any())

    def waits_after_stages(self, subsets: BoolArray, before: Sequence[int] = ()) -> FloatArray:
        """Return the time that a row has waited after each stage.

        A stage waits for the slowest of the features that it buys.

        Parameters
        ----------
        subsets : ndarray of bool, shape (n_stages, n_features)
            The features known after each stage.
        before : sequence of int
            As for `after_stages`.

        Examples
        --------
        >>> costs = FeatureCosts.from_mapping({"age": 1, "chol": 5}, delays={"chol": 2})
        >>> costs.waits_after_stages(np.array([[True, False], [True, True]])).tolist()
        [0.0, 2.0]
        """
        waited = np.zeros(len(subsets))
        for j, one in enumerate(before or range(-1, len(subsets) - 1)):
            # Features that a stage adds to those before it; the first adds all of its own.
            new = subsets[j] & ~subsets[one] if one >= 0 else subsets[j]
            waited[j] = np.where(new, self.delays, 0.0).max() + (waited[one] if one >= 0 else 0.0)
        return waited

    def with_delays(self, delays: Mapping[str, Any] | ArrayLike) -> Self:
        """Return these costs with other delays, in feature order or by name.

        Features that a mapping does not name keep their delays.
        """
        if isinstance(delays, Mapping):
            check_known("delays", delays, self.names, self.groups)
            before = zip(self.names, self.delays.tolist(), strict=True)
            delays = [
                check_amount(f"the delay of {name!r}", delays.get(name, delay))
                for name, delay in before
            ]
        return replace(self, delays=_numbers("delays", delays))

    def in_units(self, n_rows: int = 1) -> CostUnits:
        """Return costs as whole numbers of a unit, or unchanged if no unit fits.

        Whole numbers make sums exact, so that comparisons never depend on rounding. The unit is
        the largest power of ten from 1 down to 10⁻⁶ that divides all costs. No unit fits if
        `n_rows` rows could cost 2⁵³ units or more: above that, float64 skips whole numbers.
        """

        def exact(units: FloatArray, _: int) -> bool:
            # At worst, each feature is a stage of its own.
            max_units = units[:-1].sum() + len(self.names) * units[-1]
            return bool(max(1, n_rows) * max_units < 2.0**53)

        n, fees = len(self.names), Fees.from_fees(self.fees, self.names)
        # Features, fees and the evaluation in one array: they must share a unit.
        whole = whole_units(np.concatenate([self.costs, fees.amounts, [self.evaluation]]), exact)
        if whole is None:
            return CostUnits(self.costs, float(self.evaluation), 1, fees)
        units, per_one = whole
        return CostUnits(
            features=units[:n],
            evaluation=int(units[-1]),
            per_one=per_one,
            fees=Fees(units[n:-1], fees.members),
        )


CostsLike: TypeAlias = FeatureCosts | Mapping[str, Any] | ArrayLike | None


def _numbers(name: str, given: ArrayLike) -> FloatArray:
    """Return a locked copy of numbers."""
    try:
        numbers: FloatArray = locked_copy(given, np.float64)
    except (OverflowError, TypeError, ValueError):
        raise CostsError(f"{name} must be numbers, got {brief(given)}.") from None
    return numbers


def _check_costs(costs: FloatArray, names: tuple[str, ...], may_be_free: bool) -> None:
    """Refuse costs that are not one number per feature, or all 0 unless there are others."""
    if costs.ndim != 1:
        raise CostsError(
            f"costs must be one number per feature, got an array of shape {costs.shape}."
        )
    if len(costs) != len(names):
        raise CostsError(
            f"costs must have one entry for each of the {len(names)} features, got {len(costs)}."
        )
    if len(set(names)) < len(names):
        raise CostsError(f"feature names must differ, got {some(names)}.")
    if bad := np.flatnonzero(~((costs >= 0) & np.isfinite(costs))).tolist():
        raise CostsError(
            f"costs must be finite and at least 0, got {costs[bad[0]]:g} for feature "
            f"{names[bad[0]]!r}."
        )
    if costs.max(initial=0) > LARGEST_COST:
        raise CostsError(f"costs must be at most {LARGEST_COST:g}, got {costs.max():g}.")
    if not may_be_free and not (costs > 0).any():
        raise CostsError(f"at least one cost must be above 0, got 0 for all {len(costs)} features.")


def _check_groups(names: tuple[str, ...], columns: Sequence[Sequence[str]]) -> None:
    """Refuse groups that are empty, share a column, or have the name of a column outside."""
    if len(columns) != len(names):
        raise CostsError(
            f"columns must have one entry for each of the {len(names)} features, got "
            f"{len(columns)}."
        )
    owner: dict[str, str] = {}
    for name, members in zip(names, columns, strict=True):
        if not members:
            raise CostsError(f"a group must have a column, got none for group {name!r}.")
        for column in members:
            if column in owner:
                both = " and ".join(repr(one) for one in dict.fromkeys((owner[column], name)))
                raise CostsError(f"a column must be in one group once, got {column!r} in {both}.")
            owner[column] = name
    if clash := [name for name in names if owner.get(name, name) != name]:
        raise CostsError(
            f"a feature must not have the name of another feature's column, got {clash[0]!r}, a "
            f"column of group {owner[clash[0]]!r}."
        )


def _split_groups(
    costs: Mapping[str, Any], groups: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """Split costs that may name the columns of groups into costs by name and columns by group."""
    names = list(map(str, costs))
    if len(set(names)) < len(names):
        raise CostsError(f"feature names must differ, got {some(names)}.")
    members: dict[str, Any] = {str(name): columns for name, columns in groups.items()}
    given = {}
    for name, cost in zip(names, costs.values(), strict=True):
        given[name] = cost
        if isinstance(cost, Mapping):
            if set(cost) not in ({"cost"}, {"cost", "columns"}) or name in members:
                raise CostsError(
                    f"costs must be numbers or like {{'cost': 40, 'columns': ['iron']}}, got "
                    f"{brief(dict(cost))} for {name!r}."
                )
            given[name] = cost["cost"]
            if "columns" in cost:
                members[name] = cost["columns"]
    for name, columns in members.items():
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise CostsError(
                f"a group must be a list of columns, got {brief(columns)} for {name!r}."
            )
    owned = {name: tuple(map(str, columns)) for name, columns in members.items()}
    _check_groups(tuple(owned), tuple(owned.values()))
    return given, owned


def _hint(names: tuple[str, ...]) -> str:
    """Return advice on names if the columns of the data have none of their own."""
    if not names or names[0] != "x0":
        return ""
    return (
        '; columns without names are x0, x1, …, and in a Pipeline set_output(transform="pandas") '
        "keeps their names."
    )


def _in_table_order(
    given: dict[str, Any],
    groups: dict[str, tuple[str, ...]],
    group_of: dict[str, str],
    names: tuple[str, ...],
) -> dict[str, tuple[str, ...]]:
    """Columns of each feature, in the order of the first columns in a table with columns `names`.

    Costs and groups that do not fit the table are refused.
    """
    there = set(names)
    if strange := [column for column in group_of if column not in there]:
        raise CostsError(
            f"groups must hold columns of the data ({some(names)}), got {strange[0]!r} in group "
            f"{group_of[strange[0]]!r}{_hint(names) or what_was_meant(strange[0], names)}"
        )
    if taken := [name for name in groups if name in there and group_of.get(name) != name]:
        raise CostsError(
            f"a group must not have the name of a column outside it, got {taken[0]!r}."
        )
    if inside := [name for name in given if name in group_of and name not in groups]:
        raise CostsError(
            f"costs must name a group, not a column in it, got {inside[0]!r} of group "
            f"{group_of[inside[0]]!r}."
        )
    if unknown := [name for name in given if name not in there and name not in groups]:
        known = tuple(dict.fromkeys(group_of.get(column, column) for column in names))
        raise CostsError(
            f"costs must name features of the data ({some(known)}), got {some(unknown)}"
            f"{_hint(names) or what_was_meant(unknown[0], known)}"
        )
    features = dict.fromkeys(group_of.get(column, column) for column in names)
    if missing := [name for name in features if name not in given]:
        columns_of_table = tuple(name for name in missing if name in names)
        add = "; add them, or drop the columns" if columns_of_table else ""
        error = MissingCosts(
            f"costs must have a cost for every feature, got none for {some(missing)}{add}."
        )
        error.columns = columns_of_table
        raise error
    place = {column: i for i, column in enumerate(names)}
    if len(place) < len(names):
        raise CostsError(f"feature names must differ, got {some(names)}.")
    return {
        name: tuple(sorted(groups.get(name, (name,)), key=place.__getitem__)) for name in features
    }
