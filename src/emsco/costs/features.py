"""What features cost: each on its own, in groups, with fees that several share, and delays."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import chain, compress
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.arrays import whole_units
from emsco._base.checks import check_number, is_number
from emsco._base.text import brief, some
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.costs.checks import (
    LARGEST_COST,
    check_amounts,
    check_distinct,
    check_known,
    check_list,
)
from emsco.costs.files import parse_costs
from emsco.costs.paid import CostUnits
from emsco.costs.prices import is_row_price, prices_of_rows
from emsco.errors import CostsError, ParameterError

LEAST_LARGEST = 1e-100  # of all costs, so that shares of them are numbers
_FINEST = 12  # decimals of a price that is rounded


@dataclass(frozen=True, slots=True)
class Fee:
    """A fee that features share: a row pays it once, with the first of them that it buys.

    Attributes
    ----------
    name : str
    cost : float
        What a row pays once, beyond the costs of the features.
    features : tuple of str
        The features that share it. A feature may share several fees, such as one for a visit and
        one for a blood draw.
    """

    name: str
    cost: float
    features: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check the cost and that features are named once."""
        what = f"the fee {self.name!r}"
        features = check_list(what, self.features)
        if not is_number(self.cost) or not features:  # text may look like a number
            raise CostsError(
                f"{what} must be a number and the features that share it, got {brief(self.cost)} "
                f"for {brief(list(features))}."
            )
        check_distinct(f"features of {what}", features)
        object.__setattr__(self, "cost", float(check_amounts("fees", [self.cost], [self.name])[0]))
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "name", str(self.name))

    @classmethod
    def from_any(cls, fees: Any) -> tuple[Self, ...]:
        """Create fees from names → (cost, features), or → ``{"cost": …, "features": […]}``.

        A sequence of fees is returned as it is; None means none.

        Examples
        --------
        >>> Fee.from_any({"blood draw": (2.1, ["chol", "fbs"])})[0].features
        ('chol', 'fbs')
        """
        if not isinstance(fees, Mapping):
            are_ready = isinstance(fees, Sequence) and all(isinstance(fee, cls) for fee in fees)
            if not (fees is None or are_ready):
                raise CostsError(
                    f"fees must be like {{'blood draw': (2.1, ['iron'])}}, got {brief(fees)}."
                )
            return tuple(fees or ())
        made = []
        for name, fee in fees.items():
            try:
                made.append(cls(name, **fee) if isinstance(fee, Mapping) else cls(name, *fee))
            except TypeError:  # too few parts, or too many
                raise CostsError(
                    f"the fee {name!r} must be a cost and a list of features, got {brief(fee)}."
                ) from None
        return tuple(made)

    @property
    def in_words(self) -> str:
        """The fee as tables and pictures show it."""
        return f"fee for {self.name} ({self.cost:g})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"features": list(self.features)}


def fees_paid(
    fees: Iterable[Fee], features: Collection[str], known: Collection[str] = ()
) -> tuple[Fee, ...]:
    """Return the fees that a row pays with these features, if it knows others already.

    Examples
    --------
    >>> draw = Fee("draw", 2.5, ("chol", "iron"))
    >>> fees_paid([draw], ["iron"], known=["age"]) == (draw,), fees_paid([draw], ["iron"], ["chol"])
    (True, ())
    """
    # A fee is paid once: with the first of its features, and never again.
    return tuple(
        fee
        for fee in fees
        if not {*features}.isdisjoint(fee.features) and {*known}.isdisjoint(fee.features)
    )


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
    prices : mapping
        Features whose price differs from row to row, and where it comes from: a column, a function
        of the table or an array. None: the price comes with the rows.

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
    prices: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check all that costs say; copy and lock them."""
        names, fees = tuple(map(str, self.names)), Fee.from_any(self.fees)
        columns = tuple(map(tuple, self.columns or zip(names)))
        delays = np.zeros(len(names)) if self.delays is None else self.delays
        for name, value in (
            ("names", names),
            ("costs", check_amounts("costs", self.costs, names)),
            ("evaluation", check_number("evaluation_cost", self.evaluation, 0, LARGEST_COST)),
            ("columns", columns),
            ("table", tuple(self.table or chain.from_iterable(columns))),
            ("fees", fees),
            ("delays", check_amounts("delays", delays, names)),
        ):
            object.__setattr__(self, name, value)
        check_distinct("features", names)
        check_distinct("fees", [fee.name for fee in fees])
        _owners(dict(zip(names, columns, strict=True)), self.table)
        for fee in fees:
            check_known(f"the fee {fee.name!r}", fee.features, names, self.groups)
        check_known("prices", self.prices, names)
        largest = max([self.evaluation, *self.costs.tolist(), *(fee.cost for fee in fees)])
        if largest < LEAST_LARGEST and not (largest == 0 and self.prices):
            raise CostsError(
                f"at least one cost must be above 0, and {LEAST_LARGEST:g} or more, got "
                f"{largest:g} as the largest of {len(names)}."
            )

    @classmethod
    def from_array(cls, costs: ArrayLike, names: Iterable[str] | None = None) -> Self:
        """Create costs from numbers in column order; without `names`, features are x0, x1, …."""
        if names is None:
            names = [f"x{i}" for i in range(np.asarray(costs, dtype=object).size)]
        return cls(tuple(names), costs)  # type: ignore[arg-type]  # made an array there

    @classmethod
    def from_mapping(
        cls,
        costs: Mapping[str, Any],
        names: Iterable[str] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        fees: Mapping[str, Any] | Sequence[Fee] | None = None,
        delays: Mapping[str, float] | None = None,
        evaluation_cost: float = 0.0,
    ) -> Self:
        """Create costs from names of columns and groups.

        Parameters
        ----------
        costs : mapping
            Name of a column or group → cost. A cost may differ from row to row. It is then the name
            of a column that holds it, a function of the table that returns it, or an array with one
            entry per training row.
        names : iterable of str, optional
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
        evaluation_cost : float
            Cost of running a stage.
        """
        check_distinct("features", map(str, costs))
        by_name = dict(zip(map(str, costs), costs.values(), strict=True))
        members = {
            str(name): check_list(f"the group {name!r}", columns)
            for name, columns in (groups or {}).items()
        }
        prices = {name: cost for name, cost in by_name.items() if is_row_price(cost)}
        price_columns = {one: name for name, one in prices.items() if isinstance(one, str)}
        if names is None:
            each = (members.get(name, (name,)) for name in {**by_name, **members})
            names = dict.fromkeys([*chain.from_iterable(each), *price_columns])
        table = [*map(str, names)]
        check_distinct("columns", table)
        owner = _owners(members, table)
        for column, feature in price_columns.items():
            whose = f"the price of {feature!r}"
            check_known(whose, [column], table, kind="columns, or be a number")
        # A column of prices may be a feature as well.
        only = price_columns.keys() - by_name.keys() - owner.keys()
        table = [column for column in table if column not in only]
        features: dict[str, tuple[str, ...]] = {}
        for column in table:
            name = owner.get(column, column)
            features[name] = (*features.get(name, ()), column)
        check_known("costs", by_name, features, members)
        if missing := [name for name in features if name not in by_name]:
            columns = tuple(name for name in missing if name not in members)
            add = "; add them, or drop the columns" if columns else ""
            error = MissingCosts(
                f"costs must have a cost for every feature, got none for {some(missing)}{add}."
            )
            error.columns = columns
            raise error
        by_name |= dict.fromkeys(prices, 0.0)  # until rows are known
        return cls(
            tuple(features),
            [by_name[name] for name in features],  # type: ignore[arg-type]  # made an array there
            evaluation_cost,
            tuple(features.values()),
            tuple(table),
            fees,  # type: ignore[arg-type]  # made a tuple there
            prices=prices,
        ).with_delays(delays or {})

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        names: Iterable[str] | None = None,
        dropped: Collection[str] = (),
    ) -> Self:
        """Read costs from a file, in the order of `names` or by default of the file.

        The file has one of three forms: CSV with the columns ``feature,cost``, and if wanted
        ``group``, ``fee,fee_cost`` and ``delay``; JSON with an object of names and costs, or a
        list; or one line of numbers in column order. Without `names`, such numbers belong to x0,
        x1, ….

        CSV may have semicolons, tabs or bars instead of commas, and then decimal commas. In CSV,
        a feature is a column of the table. A column with an empty cell for its group is a feature
        on its own. Give the cost of a group in one of its lines, or the same in several.
        A feature under several fees names them, and their costs, with ``;`` between. If the price
        differs from row to row, its cell names the column of the table that holds it.

        In JSON with groups, fees or delays, costs are one of several entries, those of
        `from_mapping`: ``{"costs": {"chol": 5}, "fees": {"blood draw": {"cost": 2, "features":
        ["chol"]}}, "delays": {"chol": 1}}``.

        Costs by name of columns that were `dropped` from the table are ignored.
        """
        columns = None if names is None else tuple(map(str, names))
        try:
            text = Path(path).read_bytes().decode("utf-8-sig")  # ends of lines stay as they are
            said = parse_costs(text, Path(path).suffix.lower() == ".json", columns or ())
        except (OSError, csv.Error, ValueError) as error:  # also bad UTF-8 and JSON
            why = getattr(error, "strerror", None) or error
            raise CostsError(
                "costs must be a file: CSV with the columns feature and cost, JSON, or one line "
                f"of numbers, got {path}: {why}."
            ) from None
        if isinstance(said, list):
            return cls.from_array(said, columns)
        made = cls.from_mapping(**said).without(dropped)
        return made if columns is None else cls.resolve(made, columns)

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
            by_name |= costs.prices
            waits = dict(zip(costs.names, costs.delays.tolist(), strict=True))
            # Through names again: the table may have its columns in another order.
            here = cls.from_mapping(
                by_name, names, costs.groups, costs.fees, waits, costs.evaluation
            )
        elif isinstance(costs, Mapping):
            here = cls.from_mapping(costs, names)
        else:
            here = cls.from_array(np.ones(len(names)) if costs is None else costs, names)
        if evaluation is not None:
            here = replace(here, evaluation=evaluation)
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
        kept = np.array([*map(bool, left)], dtype=np.bool_)
        names = tuple(compress(self.names, kept))
        sharing = [tuple(name for name in fee.features if name in names) for fee in self.fees]
        return replace(
            self,
            names=names,
            costs=self.costs[kept],
            columns=tuple(filter(None, left)),
            table=tuple(column for column in self.table if column not in columns),
            fees=tuple(
                replace(fee, features=some)
                for fee, some in zip(self.fees, sharing, strict=True)
                if some
            ),
            delays=self.delays[kept],
            prices={name: one for name, one in self.prices.items() if name in names},
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
            columns=(*self.columns, *zip(columns)),
            table=(*self.table, *columns),
            delays=np.append(self.delays, np.zeros(len(columns))),
        )

    def with_usual(self, prices: FloatArray | float) -> Self:
        """Return the costs of rows to come, with the mean of each of the `prices` so far."""
        usual = self.costs.copy()
        usual[self.priced] = prices
        # New rows bring prices of their own.
        later = {
            name: one if isinstance(one, str) or callable(one) else None
            for name, one in self.prices.items()
        }
        return replace(self, costs=usual, prices=later)

    def with_delays(self, delays: Mapping[str, Any] | ArrayLike) -> Self:
        """Return these costs with other delays, in feature order or by name.

        Features that a mapping does not name keep their delays.
        """
        if isinstance(delays, Mapping):
            so_far = dict(zip(self.names, self.delays.tolist(), strict=True))
            check_known("delays", delays, so_far, self.groups)
            delays = [*{**so_far, **delays}.values()]
        return replace(self, delays=delays)  # type: ignore[arg-type]  # made an array there

    def once_bought(self, names: Collection[str]) -> Self:
        """Return the costs of a row that has bought some features: these, and their fees, are free.

        Examples
        --------
        >>> costs = FeatureCosts.from_mapping({"age": 1, "scan": 50}).once_bought(["age"])
        >>> costs.costs.tolist()
        [0.0, 50.0]
        """
        is_left = ~np.isin(self.names, list(names))
        return replace(
            self,
            costs=is_left * self.costs,
            fees=fees_paid(self.fees, self.names, names),
            delays=is_left * self.delays,
            prices={name: one for name, one in self.prices.items() if name not in names},
        )

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Columns of each feature that is a group, by name."""
        named = zip(self.names, self.columns, strict=True)
        return {name: columns for name, columns in named if columns != (name,)}

    def column_features(self, columns: Iterable[str]) -> IntArray:
        """Return the position of each column's feature."""
        place = {column: i for i, members in enumerate(self.columns) for column in members}
        return np.array([place[column] for column in columns], dtype=np.int64)

    @property
    def price_columns(self) -> tuple[str, ...]:
        """Columns of the table that hold prices of rows."""
        return tuple({one: None for one in self.prices.values() if isinstance(one, str)})

    @property
    def priced(self) -> IntArray:
        """Positions of the features whose price differs from row to row."""
        return np.array([*map(self.names.index, self.prices)], dtype=np.int64)

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
        paid = [
            prices_of_rows(name, source, table, n_rows, first_row)
            for name, source in self.prices.items()
        ]
        return np.column_stack([np.empty((n_rows, 0)), *paid])

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
        weight = np.atleast_1d(weight)
        priced = self.priced if priced is None else priced
        beyond, mean, own = self.costs.copy(), self.costs[priced], np.zeros((len(weight), 0))
        if prices is None:
            beyond[priced] = 0.0
        else:
            mean, own = prices.mean(axis=0), prices
        fees = np.array([fee.cost for fee in self.fees])
        spent = float((weight @ own).sum())
        # At worst, each feature is a stage of its own.
        of_row = beyond.sum() + fees.sum() + len(beyond) * self.evaluation
        most = max(1, weight.sum()) * of_row + spent
        amounts = np.concatenate([beyond, fees, [self.evaluation], own.ravel()])
        whole = whole_units(amounts, lambda _, per_one: per_one * most < 2.0**53)
        per_one = 1
        if whole is not None:
            per_one = whole[1]
        elif prices is not None:
            decimals = math.floor(math.log10(2.0**52 / (spent or 1.0)))
            per_one = 10 ** int(np.clip(decimals, 0, _FINEST))

        members = [np.isin(self.names, fee.features) for fee in self.fees]

        def scaled(amounts: Any, is_whole: bool = whole is not None) -> Any:
            units = amounts * per_one
            return np.rint(units).astype(np.int64) if is_whole else units

        return CostUnits(
            scaled(beyond),
            scaled(np.float64(self.evaluation)).item(),
            scaled(fees),
            np.array(members, dtype=np.bool_).reshape(len(fees), len(beyond)),
            per_one,
            priced,
            scaled(mean) if prices is not None else mean * per_one,
            None if prices is None else scaled(prices, is_whole=True),
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
        n_run = [0]  # before the first stage, then after each
        for one in before or range(-1, len(known) - 1):
            n_run.append(n_run[one + 1] + 1)
        paid: FloatArray = self.paid(known, np.array(n_run[1:]), prices)
        return paid

    def waits_after_stages(self, known: BoolArray, before: Sequence[int] = ()) -> FloatArray:
        """Return how long a row has waited after each stage, shape (…, n_stages).

        A stage waits for the slowest of the features that it buys. `known` may have the stages of
        many designs, shape (…, n_stages, n_features); `before` is as for `after_stages`.

        Examples
        --------
        >>> costs = FeatureCosts.from_mapping({"age": 1, "chol": 5}, delays={"chol": 2})
        >>> costs.waits_after_stages(np.array([[True, False], [True, True]])).tolist()
        [0.0, 2.0]
        """
        waits = np.zeros(known.shape[:-1])
        for j, one in enumerate(before or range(-1, known.shape[-2] - 1)):
            # The first stage buys all that it knows, and any other what it adds.
            new = known[..., j, :] if one < 0 else known[..., j, :] & ~known[..., one, :]
            slowest = np.where(new, self.delays, 0.0).max(axis=-1)
            waits[..., j] = slowest if one < 0 else waits[..., one] + slowest
        return waits

    @property
    def total(self) -> float:
        """Cost of buying all features for one row in one stage."""
        return float(self.paid(np.ones(len(self.names), dtype=np.bool_), 1))

    @property
    def alone(self) -> FloatArray:
        """Cost of buying each feature as the first of its fees."""
        units = self.units
        # It is `paid` for every subset of one feature, without a table of all of them.
        alone: FloatArray = (units.average + units.fees @ units.members) / units.per_one
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
        bought, cost = list(features), dict(zip(self.names, self.costs, strict=True))
        about = ["about " * (name in self.prices) for name in bought]
        own = [f"{name} ({a}{cost[name]:g})" for name, a in zip(bought, about, strict=True)]
        return [*own, *(fee.in_words for fee in fees_paid(self.fees, bought, known))]


CostsLike: TypeAlias = FeatureCosts | Mapping[str, Any] | ArrayLike | None


def _owners(groups: Mapping[str, Sequence[str]], table: Iterable[str]) -> dict[str, str]:
    """Return the feature of each column in a group; refuse groups that share or lack columns."""
    owner, every = dict[str, str](), dict.fromkeys(table)
    for name, columns in groups.items():
        if not columns:
            raise CostsError(f"a group must have a column, got none for group {name!r}.")
        check_known(f"the group {name!r}", columns, every, kind="columns")
        if name in every and name not in columns:
            raise CostsError(
                f"a group must not have the name of a column outside it, got {name!r}."
            )
        for column in columns:
            if column in owner:
                raise CostsError(
                    f"a column must be in one group once, got {column!r} in {owner[column]!r} and "
                    f"{name!r}."
                )
            owner[column] = name
    return owner
