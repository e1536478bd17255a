"""Files of costs: CSV, JSON, or a line of numbers."""

from __future__ import annotations

import csv
import json
from typing import Any, TypeAlias

from emsco._base.text import brief

__all__ = ["Parsed", "parse_costs"]

Parsed: TypeAlias = tuple[dict[str, Any] | list[float], dict[str, list[str]]]


def parse_costs(text: str, is_json: bool) -> Parsed:
    """Return costs by name or in column order, and the columns of each group."""
    if is_json:
        found = json.loads(text, object_pairs_hook=_distinct)
        if isinstance(found, (dict, list)) and found:
            return found, {}
        raise ValueError("it is neither an object of names and costs nor a list of costs")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError("it is empty")
    heading = [name.strip().lower() for name in next(csv.reader(lines[:1]))]
    if heading[:2] == ["feature", "cost"]:
        return _parse_table(lines[1:], heading)
    if len(lines) > 1:
        raise ValueError(f"it begins with {brief(lines[0])}")
    return [_number(part, lines[0]) for part in lines[0].replace(",", " ").split()], {}


def _parse_table(lines: list[str], heading: list[str]) -> Parsed:
    if heading[2:] not in ([], ["group"]):
        raise ValueError(f"it has a column {heading[-1]!r}, which is not 'group'")
    costs: dict[str, float] = {}
    groups: dict[str, list[str]] = {}
    seen: dict[str, None] = {}
    for record in csv.reader(lines):
        line = ",".join(record)
        if len(record) != len(heading):
            raise ValueError(f"it has the line {brief(line)}, which is not '{','.join(heading)}'")
        column, cost, group = (cell.strip() for cell in (*record, "")[:3])
        if column in seen:
            raise ValueError(f"it has feature {column!r} twice")
        seen[column] = None
        if not group:
            _add_cost(costs, column, _number(cost, line), "feature")
            continue
        groups.setdefault(group, []).append(column)
        if cost:
            _add_cost(costs, group, _number(cost, line), "group")
    if not seen:
        raise ValueError("it has no feature")
    if missing := [group for group in groups if group not in costs]:
        raise ValueError(f"it has no cost for group {missing[0]!r}")
    if alone := [group for group in groups if group in seen and group not in groups[group]]:
        raise ValueError(f"it has {alone[0]!r} as a feature and as a group of others")
    group_of = {column: name for name, columns in groups.items() for column in columns}
    order = dict.fromkeys(group_of.get(column, column) for column in seen)
    return {name: costs[name] for name in order}, groups


def _add_cost(costs: dict[str, float], name: str, cost: float, what: str) -> None:
    if name in costs and costs[name] != cost:
        raise ValueError(f"it has the costs {costs[name]:g} and {cost:g} for {what} {name!r}")
    costs[name] = cost


def _number(text: str, line: str) -> float:
    try:
        return float(text)
    except ValueError:
        got = brief(text.strip())
        raise ValueError(f"it has {got} as a cost in the line {brief(line)}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cost in pairs:
        if name in found:
            raise ValueError(f"it has feature {name!r} twice")
        found[name] = cost
    return found
