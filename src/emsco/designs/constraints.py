"""Constraints that every design of a search must satisfy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_number
from emsco._base.text import some, what_was_meant
from emsco._base.typing import BoolArray, IntArray
from emsco.costs import FeatureCosts
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
    buy_all : bool
        Whether a row that no stage labels has everything bought in the end.

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
    buy_all: bool = False

    @classmethod
    def from_rules(
        cls, given: Mapping[str, Any] | Constraints | None, names: Sequence[str]
    ) -> Self:
        """Create constraints from any accepted form, and check them against the features."""
        rules = asdict(given) if isinstance(given, Constraints) else {} if given is None else given
        if not isinstance(rules, Mapping) or not rules.keys() <= cls.__dataclass_fields__.keys():
            raise ParameterError(
                f"constraints must be a dict with {', '.join(cls.__dataclass_fields__)}, got "
                f"{given!r}."
            )
        together, buy_all = rules.get("together") or (), rules.get("buy_all", False)
        if not isinstance(together, (list, tuple)) or any(isinstance(one, str) for one in together):
            raise ParameterError(
                f"constraints['together'] must be a list of lists of features, got {together!r}."
            )
        if not isinstance(buy_all, (bool, np.bool_)):
            raise ParameterError(f"constraints['buy_all'] must be True or False, got {buy_all!r}.")
        return cls(
            buy_all=bool(buy_all),
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
        # A suspect is not bought unasked, as it may be known only after the answer.
        kept = {*suspects, *self.first, *chain.from_iterable(self.together)}
        free = [
            name
            for name, cost, columns in zip(costs.names, costs.alone, costs.columns, strict=True)
            if cost == 0 and kept.isdisjoint((name, *columns))
        ]
        return replace(self, first=(*self.first, *free))


def _features(name: str, given: Any, names: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(given, (str, list, tuple)):
        raise ParameterError(f"constraints[{name!r}] must be a list of features, got {given!r}.")
    wanted = (given,) if isinstance(given, str) else tuple(given)
    if unknown := [one for one in wanted if one not in names]:
        raise ParameterError(
            f"constraints[{name!r}] must name features ({some(names)}), got {unknown[0]!r}"
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
        lead = np.arange(len(names))  # the first feature of the block of each
        for part in (constraints.first, *constraints.together):
            if part:
                tied = np.isin(lead, lead[[*map(names.index, part)]])
                lead[tied] = lead[tied].min()
        block = np.unique(lead, return_inverse=True)[1]
        first = names.index(constraints.first[0]) if constraints.first else None
        return cls(block, None if first is None else int(block[first]))

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
        units, members = costs.units, self.members()
        names = [costs.names[i] for i in members.argmax(axis=1)]
        block = {name: names[i] for name, i in zip(costs.names, self.of_feature, strict=True)}
        return FeatureCosts(
            tuple(names),
            (members @ units.average) / units.per_one,
            costs.evaluation,
            # A fee is shared by blocks now, and counts once for each.
            fees=tuple(
                replace(fee, features=tuple(dict.fromkeys(block[name] for name in fee.features)))
                for fee in costs.fees
            ),
            # A block waits for the slowest of its features.
            delays=np.where(members, costs.delays, 0.0).max(axis=1),
            prices=dict.fromkeys(block[name] for name in costs.prices),
        )
