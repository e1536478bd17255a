"""The space of designs that a search may propose, and its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

from emsco._base.checks import check_whole, refused
from emsco._base.typing import BoolArray, StageArray

__all__ = ["DesignSpace", "count_designs", "default_max_stages"]


@dataclass(frozen=True, slots=True)
class DesignSpace:
    """Which designs a search may propose.

    Parameters
    ----------
    n_features : int
    max_stages : int
        Most stages of a design.
    allow_exclusion : bool
        Whether a design may leave features out, all but one.
    first : int or None
        A feature that every design buys at its first stage.

    Examples
    --------
    >>> DesignSpace(12, 4).size, DesignSpace(12, 4, allow_exclusion=True).size
    (15199275, 195926549)
    """

    n_features: int
    max_stages: int
    allow_exclusion: bool = False
    first: int | None = None

    def __post_init__(self) -> None:
        """Refuse spaces without a design."""
        check_whole("n_features", self.n_features, 1)
        check_whole("max_stages", self.max_stages, 1)
        if self.first is not None and not 0 <= self.first < self.n_features:
            raise refused("first", f"be a feature from 0 to {self.n_features - 1}", self.first)

    @property
    def size(self) -> int:
        """How many designs there are."""
        if self.first is None:
            return count_designs(self.n_features, self.max_stages, self.allow_exclusion)
        others, kept_out = self.n_features - 1, int(self.allow_exclusion)
        # A feature stands at each of k stages equally often.
        return sum(
            _alternating(k, lambda i: i * (i + kept_out) ** others) // k
            for k in range(1, self.max_stages + 1)
        )

    @property
    def deepest(self) -> int:
        """Most stages that a design can have."""
        return min(self.n_features, self.max_stages)

    def holds(self, designs: StageArray) -> BoolArray:
        """Which compressed designs belong to the space."""
        inside: BoolArray = (designs.max(axis=1) >= 0) & (designs.max(axis=1) < self.max_stages)
        if not self.allow_exclusion:
            inside &= (designs >= 0).all(axis=1)
        if self.first is not None:
            inside &= designs[:, self.first] == 0
        return inside


def count_designs(n_features: int, max_stages: int, allow_exclusion: bool = False) -> int:
    """Size of the search space: ordered partitions of n features into 1 to k stages.

    With exclusion, of any of the features but none: Σ C(n, m) S(m, k) over m = 1..n.

    Examples
    --------
    >>> count_designs(8, 4), count_designs(12, 4), count_designs(14, 4)
    (46875, 15199275, 254152083)
    >>> count_designs(14, 4, allow_exclusion=True)
    5317308365
    """
    # A feature has one place more where it may be left out.
    kept_out = int(allow_exclusion)
    return sum(
        _alternating(k, lambda i: (i + kept_out) ** n_features) for k in range(1, max_stages + 1)
    )


def _alternating(k: int, term: Callable[[int], int]) -> int:
    """Ways to use all of k stages, where `term` counts the ways to use at most i of them."""
    return sum((-1) ** (k - i) * comb(k, i) * term(i) for i in range(k + 1))


def default_max_stages(n_features: int) -> int:
    """Most stages where the user names none, as in the paper: half the features, at most 10."""
    return max(1, min((n_features + 1) // 2, 10))
