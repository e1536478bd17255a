"""What a user cannot deploy: designs that a search must never propose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Self

import numpy as np

from emsco._typing import BoolArray, FloatArray, IntArray, StageArray
from emsco.costs import FeatureCosts
from emsco.errors import ParameterError
from emsco.parameters import check_number

__all__ = ["Blocks", "Constraints"]


@dataclass(frozen=True, slots=True)
class Constraints:
    """Rules that every design found obeys.

    Attributes
    ----------
    first : tuple of str
        Features that the first stage buys.
    together : tuple of tuple of str
        Features that one stage buys, or none.
    max_mean_cost : float or None
        Most that a row may cost on average over the held-out rows.
    max_worst_cost : float or None
        Most that any row may cost: what a rejected one does, all that the design buys.

    Examples
    --------
    >>> Constraints.of({"first": ["age"], "max_mean_cost": 20}, ("age", "scan")).first
    ('age',)
    """

    first: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    max_mean_cost: float | None = None
    max_worst_cost: float | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any] | Constraints | None, names: Sequence[str]) -> Self:
        """Whatever a user may give, checked against the features there are."""
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
                f"constraints must be out of {', '.join(known)}, got {unknown[0]!r}."
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
            max_mean_cost=_limit("max_mean_cost", rules.get("max_mean_cost")),
            max_worst_cost=_limit("max_worst_cost", rules.get("max_worst_cost")),
        )


def _limit(name: str, value: Any) -> float | None:
    if value is None:
        return None
    return check_number(f"constraints[{name!r}]", value, 0, np.inf, "[)")


def _features(name: str, given: Any, names: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(given, (str, list, tuple)):
        raise ParameterError(f"constraints[{name!r}] must be a list of features, got {given!r}.")
    wanted = (given,) if isinstance(given, str) else tuple(given)
    if unknown := [one for one in wanted if one not in names]:
        listed = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        raise ParameterError(
            f"constraints[{name!r}] must name features ({listed}), got {unknown[0]!r}."
        )
    return wanted


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Features that the search moves as one, because they must stay together.

    Attributes
    ----------
    of_feature : ndarray of shape (n_features,)
        Block of each feature; blocks are numbered by their first feature.
    first : int or None
        The block that every design buys at its first stage.
    """

    of_feature: IntArray
    first: int | None

    @classmethod
    def of(cls, constraints: Constraints, names: Sequence[str]) -> Self:
        """The fewest and largest blocks: what shares a feature is one."""
        lead = list(range(len(names)))

        def root(i: int) -> int:
            while lead[i] != i:
                i = lead[i]
            return i

        position = {name: i for i, name in enumerate(names)}
        for part in (constraints.first, *constraints.together):
            for one, other in pairwise(part):
                low, high = sorted((root(position[one]), root(position[other])))
                lead[high] = low
        numbers: dict[int, int] = {}
        block = np.array([numbers.setdefault(root(i), len(numbers)) for i in range(len(names))])
        first = int(block[position[constraints.first[0]]]) if constraints.first else None
        return cls(block, first)

    @property
    def n_blocks(self) -> int:
        """How many there are."""
        return int(self.of_feature.max()) + 1

    def members(self) -> BoolArray:
        """Features of each block, shape (n_blocks, n_features)."""
        members: BoolArray = np.arange(self.n_blocks)[:, None] == self.of_feature
        return members

    def costs(self, costs: FeatureCosts) -> FeatureCosts:
        """What each block costs; sums of decimals stay decimals."""
        units = costs.in_units()
        sums: FloatArray = (self.members() @ units.features) / units.per_one
        names = [costs.names[int(np.argmax(row))] for row in self.members()]
        return FeatureCosts(tuple(names), sums, costs.evaluation)

    def ties(self, source: Callable[[int], Iterator[StageArray]]) -> _Ties:
        """Designs over features for those of a source of tied designs over blocks."""
        return _Ties(self, source)

    def designs(self, stages: StageArray) -> StageArray:
        """Designs over blocks, of shape (…, n_blocks), as designs over features."""
        return stages[..., self.of_feature]


@dataclass(frozen=True, slots=True, eq=False)
class _Ties:
    """Tied designs over blocks as designs over features."""

    blocks: Blocks
    source: Callable[[int], Iterator[StageArray]]

    def __call__(self, point: int) -> Iterator[StageArray]:
        return map(self.blocks.designs, self.source(point))
