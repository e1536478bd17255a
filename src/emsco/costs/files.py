"""Files of costs: those of features (CSV, JSON, or a line of numbers) and those of errors (CSV)."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection
from decimal import Decimal
from io import StringIO
from typing import Any

from emsco._base.documents import parse_json
from emsco._base.separators import separator_of
from emsco._base.text import brief

_INCLUSIVE = "cost_with_fees"
_FEES = ("fee", "fee_cost")
_OPTIONAL = {"group", *_FEES, "delay"}
_COMMA_NUMBER = re.compile(r"[-+]?\d*,\d+", re.ASCII)
_ENTRIES = {"costs", "groups", "fees", "delays"}  # of a JSON object that has more than costs


def parse_costs(text: str, is_json: bool, columns: Collection[str] = ()) -> Any:
    """Return what a file says, by parameter of `FeatureCosts.from_mapping`, or costs in order.

    A cost may name one of the table's `columns`.
    """
    if is_json:
        return _parse_json(text)
    records = _records(text)
    heading = [name.lower() for name in records[0]]
    if heading[:2] in (["feature", "cost"], ["feature", _INCLUSIVE]):
        return _parse_table(heading, records[1:], columns)
    first = ",".join(records[0])
    if len(records) > 1:
        raise ValueError(f"it begins with {brief(first)}")
    return [_number(part, first) for part in first.replace(",", " ").split()]


def parse_error_costs_file(text: str) -> dict[str, Any] | list[list[float | None]]:
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
    lines = _records(text)
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


def _records(text: str) -> list[list[str]]:
    """Return the cells of each line that is not empty, with decimal points."""
    separator = separator_of(text)
    # The whole text at once: a name in quotes may go over several lines.
    read = csv.reader(StringIO(text, newline=""), delimiter=separator)
    records = [[cell.strip() for cell in one] for one in read if "".join(one).strip()]
    if not records:
        raise ValueError("it is empty")
    if separator != ",":
        records = [
            [one.replace(",", ".") if _COMMA_NUMBER.fullmatch(one) else one for one in record]
            for record in records
        ]
    return records


def _parse_json(text: str) -> Any:
    content = parse_json(text, _distinct)
    if not isinstance(content, (dict, list)) or not content:
        raise ValueError("it is neither an object of names and costs nor a list of costs")
    if isinstance(content, list):
        return content
    costs = content.get("costs")
    # Costs may be one entry of several; a group of columns has an entry "cost".
    if not isinstance(costs, dict) or "cost" in costs or not set(content) <= _ENTRIES:
        return {"costs": content}
    for name, entry in content.items():
        if not isinstance(entry, dict):
            raise ValueError(f"its {name} are {brief(entry)}, which is not an object of names")
    return content


def _parse_table(
    heading: list[str], records: list[list[str]], columns: Collection[str]
) -> dict[str, Any]:
    """Read the lines of a table, each of which is about a column of the data."""
    others = set(heading[2:])
    if len({*heading}) < len(heading) or others - _OPTIONAL or len(others & {*_FEES}) == 1:
        raise ValueError(
            f"it has the columns {brief(','.join(heading))}, which must be feature and cost, then "
            "group, fee with fee_cost, and delay, or some of these"
        )
    costs: dict[str, Any] = {}
    delays: dict[str, Any] = {}
    fees: dict[str, Any] = {}
    groups: dict[str, list[str]] = {}
    sharing: dict[str, list[str]] = {}
    name_of: dict[str, str] = {}  # the feature of each column
    for record in records:
        line = ",".join(record)
        if len(record) != len(heading):
            raise ValueError(f"it has the line {brief(line)}, which is not '{','.join(heading)}'")
        cells = dict(zip(heading, record, strict=True))
        column, cost, group = record[0], record[1], cells.get("group")
        if column in name_of:
            raise ValueError(f"it has feature {column!r} twice")
        name = name_of[column] = group or column
        if group:
            groups.setdefault(group, []).append(column)
        _note(costs, name, cost if cost in columns else _number(cost, line))
        _note(delays, name, _number(cells.get("delay", ""), line))
        called, amounts = (cells.get(one, "").split(";") for one in _FEES)
        # The costs of all fees may stand in another line.
        amounts = amounts if any(amounts) else amounts[:1] * len(called)
        if len(called) != len(amounts) or (any(amounts) and not all(called)):
            raise ValueError(f"it has not one cost for each fee in the line {brief(line)}")
        for fee, amount in zip(map(str.strip, called), map(str.strip, amounts), strict=True):
            if fee:
                _note(fees, fee, _number(amount, line))
                sharing.setdefault(fee, []).append(name)
    if free := [name for name in name_of.values() if name not in costs]:
        raise ValueError(f"it has no cost for {free[0]!r}")
    if alone := [name for name in groups if name in name_of and name not in groups[name]]:
        raise ValueError(f"it has {alone[0]!r} as a feature and as a group of others")
    shared = {fee: (fees.get(fee), list(dict.fromkeys(of))) for fee, of in sharing.items()}
    if heading[1] == _INCLUSIVE:
        costs = {name: _beyond_fees(name, cost, shared) for name, cost in costs.items()}
    return {"costs": costs, "groups": groups, "fees": shared, "delays": delays}


def _beyond_fees(name: str, cost: float | str, fees: dict[str, Any]) -> float:
    """Return what a feature costs beyond its fees."""
    own = {fee: amount for fee, (amount, members) in fees.items() if name in members}
    if isinstance(cost, str) or None in own.values():
        raise ValueError(f"it has no numbers for the cost of {name!r} and all of its fees")
    # As decimals, because 22.78 - 2.1 is no 20.68 in floating point.
    left = Decimal(repr(cost)) - sum(Decimal(repr(amount)) for amount in own.values())
    if left < 0:
        listed = " and ".join(f"{fee!r} ({amount:g})" for fee, amount in own.items())
        raise ValueError(
            f"it has {cost:g} as the cost with fees of {name!r}, which is below {listed}"
        )
    return float(left)


def _note(known: dict[str, Any], name: str, value: float | str | None) -> None:
    """Note a value, if there is one; several lines may say the same."""
    if value is not None and known.setdefault(name, value) != value:
        raise ValueError(f"it has both {known[name]} and {value} for {name!r}")


def _number(text: str, line: str) -> float | None:
    """Return the number in a cell; None if it is empty."""
    try:
        return float(text) if text else None
    except ValueError:
        raise ValueError(f"it has {brief(text)} as a number in the line {brief(line)}") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    costs: dict[str, Any] = {}
    for name, cost in pairs:
        if name in costs:
            raise ValueError(f"it has feature {name!r} twice")
        costs[name] = cost
    return costs
