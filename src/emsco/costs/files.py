"""Files of costs: those of features (CSV, JSON, or a line of numbers) and those of errors (CSV)."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from decimal import Decimal
from io import StringIO
from typing import Any

from emsco._base.documents import parse_json
from emsco._base.separators import separator_of
from emsco._base.text import brief

_INCLUSIVE = "cost_with_fees"
_OPTIONAL = ("group", "fee", "fee_cost", "delay")
_COMMA_NUMBER = re.compile(r"[-+]?\d*,\d+", re.ASCII)
_ENTRIES = {"costs", "groups", "fees", "delays"}  # of a JSON object that has more than costs


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a file of costs says.

    Attributes
    ----------
    costs : dict or list
        Costs by name or in column order.
    groups : dict
        Columns of each group.
    fees : dict
        (cost, features) of each fee.
    delays : dict
        Delays by name.
    """

    costs: dict[str, Any] | list[Any]
    groups: dict[str, Any] = field(default_factory=dict)
    fees: dict[str, Any] = field(default_factory=dict)
    delays: dict[str, Any] = field(default_factory=dict)


def parse_costs(text: str, is_json: bool, columns: Collection[str] = ()) -> Parsed:
    """Return what a file of costs says; a cost may name one of the table's columns."""
    if is_json:
        content = parse_json(text, _distinct)
        if not isinstance(content, (dict, list)) or not content:
            raise ValueError("it is neither an object of names and costs nor a list of costs")
        entries = content if isinstance(content, dict) else {}
        costs = entries.get("costs")
        # Costs may be one entry of several; a group of columns has an entry "cost".
        if not isinstance(costs, dict) or "cost" in costs or not set(entries) <= _ENTRIES:
            return Parsed(content)
        for name, entry in entries.items():
            if not isinstance(entry, dict):
                raise ValueError(f"its {name} are {brief(entry)}, which is not an object of names")
        return Parsed(**entries)
    separator = separator_of(text)
    # The whole text at once: a name in quotes may go over several lines.
    read = csv.reader(StringIO(text, newline=""), delimiter=separator)
    records = [record for record in read if len(record) > 1 or "".join(record).strip()]
    if not records:
        raise ValueError("it is empty")
    heading = [name.strip().lower() for name in records[0]]
    if heading[:2] in (["feature", "cost"], ["feature", _INCLUSIVE]):
        lines = records[1:]
        if separator != ",":
            lines = [[one[0], *map(_with_point, one[1:])] for one in lines]
        return _Table(heading, columns).parse(lines)
    first = ",".join(records[0])
    if len(records) > 1:
        raise ValueError(f"it begins with {brief(first)}")
    return Parsed([_number(part, first) for part in first.replace(",", " ").split()])


def parse_error_costs_file(text: str) -> dict[str, Any] | list[list[float]]:
    r"""Return what a CSV file says about the costs of errors.

    It is a matrix: either numbers alone, in the order of the classes, or with labels given as the
    heading and true labels as the first column. There the cell of a correct label may be empty. Two
    columns with a heading have a number for each label.

    Examples
    --------
    >>> parse_error_costs_file("0,500\n20,0")
    [[0.0, 500.0], [20.0, 0.0]]
    >>> parse_error_costs_file("true,ill,well\nill,,500\nwell,20,")
    {'ill': {'well': 500.0}, 'well': {'ill': 20.0}}
    >>> parse_error_costs_file("label,cost\nill,500\nwell,20")
    {'ill': 500.0, 'well': 20.0}
    """
    separator = separator_of(text)
    read = csv.reader(StringIO(text, newline=""), delimiter=separator)
    lines = [[cell.strip() for cell in record] for record in read if "".join(record).strip()]
    if not lines:
        raise ValueError("it is empty")
    if separator != ",":
        lines = [[_with_point(cell) for cell in line] for line in lines]
    if all(map(_is_number, lines[0])):
        return [[_number(cell, ",".join(line)) for cell in line] for line in lines]
    heading = lines[0][1:]
    costs: dict[str, Any] = {}
    for line in lines[1:]:
        label, cells, said = line[0], line[1:], ",".join(line)
        if len(cells) != len(heading):
            raise ValueError(f"it has the line {brief(said)}, which is not as long as its first")
        if label in costs:
            raise ValueError(f"it has label {label!r} twice")
        if len(heading) == 1:
            costs[label] = _number(cells[0], said)
            continue
        costs[label] = {
            given: _number(cell, said)
            for given, cell in zip(heading, cells, strict=True)
            if cell or given != label
        }
    if not costs:
        raise ValueError("it has no label")
    if twice := [name for name in heading if heading.count(name) > 1]:
        raise ValueError(f"it has a column {twice[0]!r} twice")
    return costs


class _Table:
    """The lines of a CSV of costs, read one by one."""

    def __init__(self, heading: list[str], columns: Collection[str]) -> None:
        if strange := [name for name in heading[2:] if name not in _OPTIONAL]:
            listed = ", ".join(map(repr, _OPTIONAL))
            raise ValueError(f"it has a column {strange[0]!r}, which is not one of {listed}")
        if twice := [name for name in heading if heading.count(name) > 1]:
            raise ValueError(f"it has a column {twice[0]!r} twice")
        if ("fee" in heading) != ("fee_cost" in heading):
            raise ValueError("it must have both of the columns 'fee' and 'fee_cost', or neither")
        self._heading, self._columns = heading, set(columns)
        self._costs: dict[str, float | str] = {}
        self._groups: dict[str, list[str]] = {}
        self._fees: dict[str, tuple[float | None, dict[str, None]]] = {}
        self._delays: dict[str, float] = {}
        self._seen: dict[str, None] = {}

    def parse(self, records: list[list[str]]) -> Parsed:
        """Read all lines after the heading."""
        for record in records:
            line = ",".join(record)
            if len(record) != len(self._heading):
                form = ",".join(self._heading)
                raise ValueError(f"it has the line {brief(line)}, which is not '{form}'")
            cells = dict(zip(self._heading, (cell.strip() for cell in record), strict=True))
            column, cost = cells["feature"], cells[self._heading[1]]
            if column in self._seen:
                raise ValueError(f"it has feature {column!r} twice")
            self._seen[column] = None
            group = cells.get("group", "")
            name = group or column
            if group:
                self._groups.setdefault(group, []).append(column)
            if cost or not group:
                amount = cost if cost in self._columns else _number(cost, line)
                _add_once(self._costs, name, amount, "group" if group else "feature")
            if cells.get("fee") or cells.get("fee_cost"):
                self._add_fees(name, cells["fee"], cells["fee_cost"], line)
            if cells.get("delay"):
                delay = _number(cells["delay"], line, "delay")
                _add_once(self._delays, name, delay, "delay of", "delays")
        if not self._seen:
            raise ValueError("it has no feature")
        groups = self._groups
        if missing := [group for group in groups if group not in self._costs]:
            raise ValueError(f"it has no cost for group {missing[0]!r}")
        if alone := [one for one in groups if one in self._seen and one not in groups[one]]:
            raise ValueError(f"it has {alone[0]!r} as a feature and as a group of others")
        if free := [name for name, (cost, _) in self._fees.items() if cost is None]:
            raise ValueError(f"it has no cost for fee {free[0]!r}")
        group_of = {column: name for name, columns in groups.items() for column in columns}
        order = dict.fromkeys(group_of.get(column, column) for column in self._seen)
        fees = {name: (cost, list(members)) for name, (cost, members) in self._fees.items()}
        return Parsed({name: self._price(name) for name in order}, groups, fees, self._delays)

    def _add_fees(self, name: str, called: str, costs: str, line: str) -> None:
        """Note the fees that a feature shares; their costs may stand in another line."""
        names = [part.strip() for part in called.split(";")]
        amounts = [part.strip() for part in costs.split(";")] if costs else [""] * len(names)
        if len(names) != len(amounts) or not all(names):
            raise ValueError(
                f"it has {brief(called)} as fees and {brief(costs)} as their costs in the line "
                f"{brief(line)}, which must be one for each"
            )
        for fee, amount in zip(names, amounts, strict=True):
            known, members = self._fees.get(fee, (None, {}))
            members[name] = None
            if amount:
                cost = _number(amount, line, "fee_cost")
                if known is not None and known != cost:
                    raise ValueError(f"it has the costs {known:g} and {cost:g} for fee {fee!r}")
                known = cost
            self._fees[fee] = known, members

    def _price(self, name: str) -> float | str:
        """Return what a feature costs beyond its fees, or the column that says so."""
        cost = self._costs[name]
        if self._heading[1] != _INCLUSIVE:
            return cost
        if isinstance(cost, str):
            raise ValueError(
                f"it has the column {cost!r} as the cost with fees of {name!r}; prices by row must "
                "be beyond fees"
            )
        fees = [(fee, amount) for fee, (amount, members) in self._fees.items() if name in members]
        # As decimals, because 22.78 - 2.1 is no 20.68 in floating point.
        left = Decimal(repr(cost)) - sum(Decimal(repr(amount)) for _, amount in fees)
        if left < 0:
            listed = " and ".join(f"{fee!r} ({amount:g})" for fee, amount in fees)
            raise ValueError(
                f"it has {cost:g} as the cost with fees of {name!r}, which is below {listed}"
            )
        return float(left)


def _add_once(
    known: dict[str, Any], name: str, value: float | str, whose: str, what: str = "costs"
) -> None:
    """Note a value; a group may repeat it in several lines."""
    if name in known and known[name] != value:
        first, second = (
            one if isinstance(one, str) else f"{one:g}" for one in (known[name], value)
        )
        rule = ", which has one cost for all its columns" if whose == "group" else ""
        raise ValueError(f"it has the {what} {first} and {second} for {whose} {name!r}{rule}")
    known[name] = value


def _with_point(cell: str) -> str:
    """Return a number with a decimal point instead of a comma; any other cell unchanged."""
    return cell.replace(",", ".") if _COMMA_NUMBER.fullmatch(cell.strip()) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str, line: str, what: str = "cost") -> float:
    try:
        return float(text)
    except ValueError:
        got = brief(text.strip())
        raise ValueError(f"it has {got} as a {what} in the line {brief(line)}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    costs: dict[str, Any] = {}
    for name, cost in pairs:
        if name in costs:
            raise ValueError(f"it has feature {name!r} twice")
        costs[name] = cost
    return costs
