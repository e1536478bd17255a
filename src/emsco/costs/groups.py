"""Groups of columns that are bought together for one cost, checked against a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from emsco._base.text import brief, some, what_was_meant
from emsco.errors import CostsError, Parameter

__all__ = ["check_fit", "check_members", "group_of_columns", "split_groups", "without_columns"]

_HINT = (
    '; columns without names are x0, x1, …, and in a Pipeline set_output(transform="pandas") '
    "keeps their names"
)


def check_members(names: tuple[str, ...], columns: Sequence[Sequence[str]]) -> None:
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


def split_groups(
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
                    Parameter("costs"),
                    f" must be numbers or like {{'cost': 40, 'columns': ['iron']}}, got "
                    f"{brief(dict(cost))} for {name!r}.",
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
    check_members(tuple(owned), tuple(owned.values()))
    return given, owned


def without_columns(
    dropped: set[str], costs: dict[str, Any], groups: dict[str, tuple[str, ...]]
) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """Return costs and groups without columns that were dropped from the table."""
    left = {
        name: tuple(column for column in columns if column not in dropped)
        for name, columns in groups.items()
    }
    gone = {name for name in dropped if name not in groups}
    gone |= {name for name, columns in left.items() if not columns}
    return (
        {name: cost for name, cost in costs.items() if name not in gone},
        {name: columns for name, columns in left.items() if columns},
    )


def check_fit(given: dict[str, Any], names: tuple[str, ...], group_of: dict[str, str]) -> None:
    """Refuse costs and groups that do not fit a table with columns `names`."""
    there, groups = set(names), set(group_of.values())
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
            Parameter("costs"),
            f" must name a group, not a column in it, got {inside[0]!r} of group "
            f"{group_of[inside[0]]!r}.",
        )
    if unknown := [name for name in given if name not in there and name not in groups]:
        features = tuple(dict.fromkeys(group_of.get(column, column) for column in names))
        raise CostsError(
            Parameter("costs"),
            f" must name features of the data ({some(features)}), got {some(unknown)}"
            f"{_hint(names) or what_was_meant(unknown[0], features)}",
        )


def _hint(names: tuple[str, ...]) -> str:
    """Return advice on names if the columns of the data have none of their own."""
    return f"{_HINT}." if names and names[0] == "x0" else ""


def group_of_columns(groups: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the group of each column that is in one."""
    return {column: name for name, columns in groups.items() for column in columns}
