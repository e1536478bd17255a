"""Constraints that every design of a search must satisfy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_number
from emsco._base.text import what_was_meant
from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray
from emsco.costs import FeatureCosts, Fee, RowPrice
from emsco.errors import ParameterError

_LIMITS = ("max_mean_cost", "max_worst_cost", "max_mean_delay", "max_worst_delay")


@dataclass(frozen=True, slots=True)
class Constraints:
    """Rules that every design of a search must satisfy.

    Attributes
    ----------
    first : tuple of str
        Features that the first stage must buy.
    together : tuple of tuple of str
        Groups of features that must be bought at the same stage, or not at all.
    max_mean_cost : float or None
        Largest mean cost over the scored rows.
    max_worst_cost : float or None
        Largest cost of any row. A rejected row costs most: it pays for all stages of its path.
    max_mean_delay : float or None
        Longest mean time that the scored rows wait.
    max_worst_delay : float or None
        Longest time that any row waits. A rejected row waits longest: for all stages of its path.

    Examples
    --------
    >>> Constraints.from_rules({"first": ["age"], "max_mean_cost": 20}, ("age", "scan")).first
    ('age',)
    """

    first: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    max_mean_cost: float | None = None
    max_worst_cost: float | None = None
    max_mean_delay: float | None = None
    max_worst_delay: float | None = None

    @classmethod
    def from_rules(
        cls, given: Mapping[str, Any] | Constraints | None, names: Sequence[str]
    ) -> Self:
        """Create constraints from any accepted form, and check them against the features."""
        if isinstance(given, Constraints):
            given = {field.name: getattr(given, field.name) for field in fields(given)}
        known = [field.name for field in fields(cls)]
        if given is not None and not isinstance(given, Mapping):
            raise ParameterError(
                f"constraints must be a dict with {', '.join(known)}, got {given!r}."
            )
        rules = dict(given or {})
        if unknown := [name for name in rules if name not in known]:
            raise ParameterError(
                f"constraints must be among {', '.join(known)}, got {unknown[0]!r}."
            )
        together = rules.get("together") or ()
        if not isinstance(together, (list, tuple)) or not all(
            isinstance(part, (list, tuple)) for part in together
        ):
            raise ParameterError(
                f"constraints['together'] must be a list of lists of features, got {together!r}."
            )
        return cls(
            first=_features("first", rules.get("first") or (), names),
            together=tuple(_features("together", part, names) for part in together),
            **{
                name: check_number(f"constraints[{name!r}]", rules[name], 0, np.inf, "[)")
                for name in _LIMITS
                if rules.get(name) is not None
            },
        )

    def with_free_first(self, costs: FeatureCosts, suspects: Collection[str] = ()) -> Self:
        """Add the features that cost nothing to those of the first stage.

        A feature that must stay together with others stays where these are, and so does one with
        a column among the `suspects`.
        """
        tied = {name for part in self.together for name in part}
        columns = costs.columns or tuple((name,) for name in costs.names)
        free = [
            name
            for name, cost, members in zip(costs.names, costs.alone.tolist(), columns, strict=True)
            # A suspect is not bought unasked, as it may be known only after the answer.
            if cost == 0 and name not in (*tied, *self.first) and not set(members) & set(suspects)
        ]
        return replace(self, first=(*self.first, *free))


def _features(name: str, given: Any, names: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(given, (str, list, tuple)):
        raise ParameterError(f"constraints[{name!r}] must be a list of features, got {given!r}.")
    wanted = (given,) if isinstance(given, str) else tuple(given)
    if unknown := [one for one in wanted if one not in names]:
        listed = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        raise ParameterError(
            f"constraints[{name!r}] must name features ({listed}), got {unknown[0]!r}"
            f"{what_was_meant(unknown[0], names)}"
        )
    return wanted


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Features that a search moves together because constraints tie them.

    Attributes
    ----------
    of_feature : ndarray of shape (n_features,)
        Block of each feature; blocks are numbered by their first feature.
    first : int or None
        The block that the first stage of every design buys.
    """

    of_feature: IntArray
    first: int | None

    @classmethod
    def from_constraints(cls, constraints: Constraints, names: Sequence[str]) -> Self:
        """Create blocks by merging constraints that share a feature."""
        # Each feature points towards the first feature of its block.
        lead = list(range(len(names)))

        def root(i: int) -> int:
            while lead[i] != i:
                i = lead[i]
            return i

        position = {name: i for i, name in enumerate(names)}
        for part in (constraints.first, *constraints.together):
            for one, other in pairwise(part):
                low, high = sorted((root(position[one]), root(position[other])))
                # The smaller number leads, so that blocks are numbered by their first feature.
                lead[high] = low
        numbers: dict[int, int] = {}
        # Numbered in the order of features, without gaps.
        block = np.array([numbers.setdefault(root(i), len(numbers)) for i in range(len(names))])
        first = int(block[position[constraints.first[0]]]) if constraints.first else None
        return cls(block, first)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.of_feature.max()) + 1

    def members(self) -> BoolArray:
        """Return the features of each block, shape (n_blocks, n_features)."""
        members: BoolArray = np.arange(self.n_blocks)[:, None] == self.of_feature
        return members

    def costs(self, costs: FeatureCosts) -> FeatureCosts:
        """Return the cost of each block, added up in whole units so that sums are exact."""
        units = costs.in_units()
        sums: FloatArray = (self.members() @ units.features) / units.per_one
        names = [costs.names[int(np.argmax(row))] for row in self.members()]
        block = {name: names[i] for name, i in zip(costs.names, self.of_feature, strict=True)}
        fees = tuple(
            # A fee is shared by blocks now, and counts once for each.
            Fee(fee.name, fee.cost, tuple(dict.fromkeys(block[name] for name in fee.features)))
            for fee in costs.fees
        )
        # A block waits for the slowest of its features.
        delays = np.array([costs.delays[row].max() for row in self.members()])
        prices = tuple(map(RowPrice, dict.fromkeys(block[one.feature] for one in costs.prices)))
        return FeatureCosts(
            tuple(names), sums, costs.evaluation, fees=fees, delays=delays, prices=prices
        )

    def designs(self, stages: StageArray) -> StageArray:
        """Turn designs over blocks, shape (…, n_blocks), into designs over features."""
        return stages[..., self.of_feature]
