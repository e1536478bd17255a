"""What it costs to acquire each feature."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from emsco._typing import FloatArray, IntArray
from emsco.errors import CostsError
from emsco.parameters import check_number

__all__ = ["CostUnits", "CostsLike", "FeatureCosts"]

_HINT = (
    '; columns without names are x0, x1, …, and in a Pipeline set_output(transform="pandas") '
    "keeps their names"
)
_FINEST_DECIMALS = 6
_LARGEST_COST = 1e100  # so that no sum over rows and features can overflow


class CostUnits(NamedTuple):
    """Costs as whole numbers of a unit, where one fits; else as they are, and `per_one` is 1.

    `features` has a cost for each, `evaluation` is that of running a stage, and `per_one` says how
    many units make a cost of 1.
    """

    features: IntArray | FloatArray
    evaluation: int | float
    per_one: int


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCosts:
    """Cost of acquiring each feature, all in one unit.

    Parameters
    ----------
    names : tuple of str
        The features, in column order.
    costs : ndarray of shape (n_features,)
        Their costs; copied and locked.
    evaluation : float
        Cost of running a stage at all, on top of what its features cost.

    Examples
    --------
    >>> costs = FeatureCosts.from_mapping({"age": 1, "blood panel": 40})
    >>> costs.total
    41.0
    >>> costs.cost_of(["age"])
    1.0
    """

    names: tuple[str, ...]
    costs: FloatArray
    evaluation: float = 0.0

    def __post_init__(self) -> None:
        """Copy, check and lock `costs`."""
        try:
            owned = np.array(self.costs, dtype=np.float64)
        except (OverflowError, TypeError, ValueError):
            raise CostsError(f"costs must be numbers, got {self.costs!r}.") from None
        _check_costs(owned, self.names)
        check_number("evaluation cost", self.evaluation, 0, _LARGEST_COST)
        owned.setflags(write=False)
        object.__setattr__(self, "costs", owned)

    @classmethod
    def from_array(cls, costs: ArrayLike, names: Sequence[str] | None = None) -> Self:
        """Costs in column order; features without names are called x0, x1, …."""
        values = np.asarray(costs, dtype=object)
        if names is None:
            names = [f"x{i}" for i in range(values.size)]
        return cls(tuple(map(str, names)), values)

    @classmethod
    def from_mapping(cls, costs: Mapping[str, float], names: Sequence[str] | None = None) -> Self:
        """Costs by feature name, put into the order of `names` (by default the mapping's own)."""
        names = tuple(map(str, costs if names is None else names))
        given = {str(name): cost for name, cost in costs.items()}
        if unknown := [name for name in given if name not in names]:
            raise CostsError(
                f"costs must name features of the data ({_some(names)}), got {_some(unknown)}"
                f"{_HINT if names[0] == 'x0' else ''}."
            )
        if missing := [name for name in names if name not in given]:
            raise CostsError(
                f"costs must have a cost for every feature, got none for {_some(missing)}."
            )
        return cls.from_array([given[name] for name in names], names)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> Self:
        """Costs from a file, put into the order of `names` (by default the file's own).

        The file is CSV with the columns ``feature,cost``; or JSON, an object of names and costs or
        a list; or one line of numbers in column order, which needs `names` or calls them x0, x1, ….
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
            found = _parse_costs(text, is_json=Path(path).suffix.lower() == ".json")
        except OSError as error:
            why = error.strerror or error
            raise CostsError(
                f"costs must be a file that can be read, got {path} ({why})."
            ) from None
        except (csv.Error, RecursionError, ValueError) as error:  # bad UTF-8 and JSON are such
            raise CostsError(f"costs must be a costs file, got {path}: {error}.") from None
        if isinstance(found, dict):
            return cls.from_mapping(found, names)
        return cls.from_array(found, names)

    @classmethod
    def resolve(cls, costs: CostsLike, names: Sequence[str]) -> Self:
        """Whatever a user may give as costs, for features called `names`; None means 1 each."""
        if costs is None:
            return cls.from_array(np.ones(len(names)), names)
        if isinstance(costs, FeatureCosts):
            return cls.from_mapping(dict(zip(costs.names, costs.costs, strict=True)), names)
        if isinstance(costs, Mapping):
            return cls.from_mapping(costs, names)
        return cls.from_array(costs, names)

    @property
    def total(self) -> float:
        """Cost of buying every feature for one row, in one stage."""
        return float(self.costs.sum()) + self.evaluation

    def cost_of(self, features: Iterable[str]) -> float:
        """Cost of buying the named features for one row."""
        by_name = dict(zip(self.names, self.costs.tolist(), strict=True))
        wanted = list(features)
        if unknown := [name for name in wanted if name not in by_name]:
            raise CostsError(f"features must be out of {_some(self.names)}, got {_some(unknown)}.")
        return float(sum(by_name[name] for name in wanted))

    def in_units(self, n_rows: int = 1) -> CostUnits:
        """Costs as whole numbers of a unit; as they are where none fits.

        Whole numbers make sums exact, so that comparisons never depend on rounding. The unit is
        the largest power of ten from 1 down to 10⁻⁶ that divides all costs; none fits where
        `n_rows` rows could cost 2⁵³ units or more, past which float64 skips whole numbers.
        """
        every = np.append(self.costs, self.evaluation)
        for decimals in range(_FINEST_DECIMALS + 1):
            per_one = 10**decimals
            whole = np.rint(every * per_one)
            most = whole[:-1].sum() + len(self.names) * whole[-1]  # with a stage for each feature
            if max(1, n_rows) * most >= 2.0**53:
                break
            if (whole / per_one == every).all():
                return CostUnits(whole[:-1].astype(np.int64), int(whole[-1]), per_one)
        return CostUnits(self.costs, float(self.evaluation), 1)


CostsLike: TypeAlias = FeatureCosts | Mapping[str, float] | ArrayLike | None


def _check_costs(costs: FloatArray, names: tuple[str, ...]) -> None:
    if costs.ndim != 1:
        raise CostsError(
            f"costs must be one number per feature, got an array of shape {costs.shape}."
        )
    if len(costs) != len(names):
        raise CostsError(
            f"costs must have one entry for each of the {len(names)} features, got {len(costs)}."
        )
    if len(set(names)) < len(names):
        raise CostsError(f"feature names must differ, got {_some(names)}.")
    if bad := np.flatnonzero(~((costs >= 0) & np.isfinite(costs))).tolist():
        raise CostsError(
            f"costs must be finite and at least 0, got {costs[bad[0]]:g} for feature "
            f"{names[bad[0]]!r}."
        )
    if costs.max(initial=0) > _LARGEST_COST:
        raise CostsError(f"costs must be at most {_LARGEST_COST:g}, got {costs.max():g}.")
    if not (costs > 0).any():
        raise CostsError(f"at least one cost must be above 0, got 0 for all {len(costs)} features.")


def _parse_costs(text: str, is_json: bool) -> dict[str, float] | list[float]:
    """Costs by name, or in column order."""
    if is_json:
        found = json.loads(text, object_pairs_hook=_distinct)
        if isinstance(found, (dict, list)) and found:
            return found
        raise ValueError("JSON that is no object of names and costs and no list of costs")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError("it is empty")
    heading = [name.strip().lower() for name in next(csv.reader(lines[:1]))]
    if heading[:2] == ["feature", "cost"]:
        return _parse_table(lines[1:], heading)
    if len(lines) > 1:
        first = _short(lines[0])
        raise ValueError(f"its first line is {first}, neither 'feature,cost' nor all it has")
    return [_number(part, lines[0]) for part in lines[0].replace(",", " ").split()]


def _parse_table(lines: list[str], heading: list[str]) -> dict[str, float]:
    if heading[2:]:
        raise ValueError(
            f"it has a column {heading[2]!r}, and groups of features are not known yet"
        )
    costs: list[tuple[str, float]] = []
    for record in csv.reader(lines):
        line = ",".join(record)
        if len(record) != 2:
            raise ValueError(f"it has the line {_short(line)}, which is not 'feature,cost'")
        costs.append((record[0].strip(), _number(record[1], line)))
    if not costs:
        raise ValueError("it has no feature")
    return _distinct(costs)


def _number(text: str, line: str) -> float:
    try:
        return float(text)
    except ValueError:
        got = _short(text.strip())
        raise ValueError(f"it has {got} for a cost in the line {_short(line)}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cost in pairs:
        if name in found:
            raise ValueError(f"it has feature {name!r} twice")
        found[name] = cost
    return found


def _short(text: str, most: int = 60) -> str:
    return repr(text if len(text) <= most else f"{text[: most - 1]}…")


def _some(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
