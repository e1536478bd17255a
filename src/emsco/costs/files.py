"""Files of costs: those of features (CSV, JSON, or a line of numbers) and those of errors (CSV)."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection
from io import StringIO
from typing import Any

from emsco._base.documents import distinct_names, parse_json
from emsco._base.separators import separator_of
from emsco._base.text import brief

_COLUMNS = ("feature", "cost", "group", "fee", "fee_cost", "delay")
_COMMA_NUMBER = re.compile(r"^([-+]?\d*),(\d+)$", re.ASCII)
_NUMBER = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_ENTRIES = {"costs", "groups", "fees", "delays"}  # of a JSON object that has more than costs


def parse_costs(text: str, is_json: bool, columns: Collection[str] = ()) -> Any:
    """Return what a file says, by parameter of `FeatureCosts.from_mapping`, or costs in order.

    A cost may name one of the table's `columns`.
    """
    if is_json:
        return _parse_json(text)
    records = _records(text)
    heading = [name.lower() for name in records[0]]
    if heading[:2] == ["feature", "cost"]:
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
    records = _records(text)
    (_, *heading), *lines = records
    if all(map(_NUMBER.fullmatch, records[0])):
        return [[_number(cell, ",".join(record)) for cell in record] for record in records]
    if len({*heading}) < len(heading):
        raise ValueError(f"it has a column twice in {brief(','.join(heading))}")
    costs: dict[str, Any] = {}
    for label, *cells in lines:
        said = ",".join([label, *cells])
        if len(cells) != len(heading):
            raise ValueError(f"it has the line {brief(said)}, which is not as long as its first")
        numbers = {
            given: _number(cell, said)
            for given, cell in zip(heading, cells, strict=True)
            if cell or given != label
        }
        _note(costs, label, numbers if len(heading) > 1 else next(iter(numbers.values())))
    if not costs:
        raise ValueError("it has no label")
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
        records = [[_COMMA_NUMBER.sub(r"\1.\2", cell) for cell in one] for one in records]
    return records


def _parse_json(text: str) -> Any:
    content = parse_json(text, distinct_names)
    if not isinstance(content, (dict, list)) or not content:
        raise ValueError("it is neither an object of names and costs nor a list of costs")
    # Costs may be one entry of several.
    if isinstance(content, list) or not isinstance(content.get("costs"), dict):
        return content if isinstance(content, list) else {"costs": content}
    for name, entry in content.items():
        if name not in _ENTRIES or not isinstance(entry, dict):
            raise ValueError(f"it has {name!r}: {brief(entry)} beside an object of costs")
    return content


def _parse_table(
    heading: list[str], records: list[list[str]], columns: Collection[str]
) -> dict[str, Any]:
    """Read the lines of a table, each of which is about a column of the data."""
    known = {*heading}
    if (
        len(known) < len(heading)
        or known - {*_COLUMNS}
        or ("fee" in known) != ("fee_cost" in known)
    ):
        raise ValueError(
            f"it has the columns {brief(','.join(heading))}, which must be feature and cost, then "
            "group, fee with fee_cost, and delay, or some of these"
        )
    said: dict[str, dict[str, Any]] = {name: {} for name in ("costs", "groups", "fees", "delays")}
    owner: dict[str, str] = {}  # the feature of each column
    for record in records:
        line = ",".join(record)
        if len(record) != len(heading):
            raise ValueError(f"it has the line {brief(line)}, which is not '{','.join(heading)}'")
        cells = dict.fromkeys(_COLUMNS, "") | dict(zip(heading, record, strict=True))
        column, cost, group = cells["feature"], cells["cost"], cells["group"]
        if column in owner:
            raise ValueError(f"it has feature {column!r} twice")
        name = owner[column] = group or column
        if group:
            said["groups"].setdefault(group, []).append(column)
        _note(said["costs"], name, cost if cost in columns else _number(cost, line))
        _note(said["delays"], name, _number(cells["delay"], line))
        fees, amounts = (cells[one].split(";") for one in ("fee", "fee_cost"))
        # The costs of all fees may stand in another line.
        amounts = amounts if any(amounts) else amounts[:1] * len(fees)
        if len(fees) != len(amounts) or (any(amounts) and not all(fees)):
            raise ValueError(f"it has not one cost for each fee in the line {brief(line)}")
        for fee, amount in zip(map(str.strip, fees), map(str.strip, amounts), strict=True):
            if fee:
                shared = said["fees"].setdefault(fee, {"features": []})
                _note(shared, "cost", _number(amount, line))
                shared["features"] += [name] * (name not in shared["features"])
    if free := [name for name in owner.values() if name not in said["costs"]]:
        raise ValueError(f"it has no cost for {free[0]!r}")
    if alone := [
        group for group in said["groups"] if group in owner and group not in said["groups"][group]
    ]:
        raise ValueError(f"it has {alone[0]!r} as a feature and as a group of others")
    return said


def _note(known: dict[str, Any], name: str, value: Any) -> None:
    """Note a value, if there is one; several lines may say the same."""
    if value is not None and known.setdefault(name, value) != value:
        raise ValueError(f"it has both {known[name]} and {value} for {name!r}")


def _number(text: str, line: str) -> float | None:
    """Return the number in a cell; None if it is empty."""
    try:
        return float(text) if text else None
    except ValueError:
        raise ValueError(f"it has {brief(text)} as a number in the line {brief(line)}") from None
