"""The space of designs that a search may propose, and the number of designs in it."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from emsco._base.checks import check_whole
from emsco._base.typing import BoolArray, StageArray


@dataclass(frozen=True, slots=True)
class DesignSpace:
    """The designs that a search may propose.

    Parameters
    ----------
    n_features : int
    max_stages : int
        Largest number of stages of a design.
    allow_exclusion : bool
        Whether a design may leave features out. It always buys at least one.
    first : int or None
        A feature that the first stage of every design buys.
    n_early, n_last : int
        Thresholds that a stage before the last, and the last one, may have.

    Examples
    --------
    >>> DesignSpace(12, 4).size, DesignSpace(12, 4, allow_exclusion=True).size
    (15199275, 195926549)
    >>> DesignSpace(8, 4, n_early=8, n_last=8).size
    170198920
    """

    n_features: int
    max_stages: int
    allow_exclusion: bool = False
    first: int | None = None
    n_early: int = 1
    n_last: int = 1

    def __post_init__(self) -> None:
        """Refuse spaces without a design."""
        check_whole("n_features", self.n_features, 1)
        check_whole("max_stages", self.max_stages, 1)
        if self.first is not None:
            check_whole("first", self.first, 0, self.n_features - 1)

    @property
    def size(self) -> int:
        """Number of designs."""
        return sum(
            self._n_partitions(k) * self.n_early ** (k - 1) * self.n_last
            for k in range(1, self.deepest + 1)
        )

    def _n_partitions(self, k: int) -> int:
        """Count the designs of k stages, whatever their thresholds, by inclusion and exclusion."""
        kept_out = int(self.allow_exclusion)  # one more place for a feature to go
        n_tied = int(self.first is not None)
        n: int = sum(
            (-1) ** (k - i) * comb(k, i) * i**n_tied * (i + kept_out) ** (self.n_features - n_tied)
            for i in range(k + 1)
        )
        # By symmetry, one in k of the designs with k stages has the feature at its first stage.
        return n // k if n_tied else n

    @property
    def deepest(self) -> int:
        """Largest number of stages that a design can have."""
        return min(self.n_features, self.max_stages)

    def holds(self, designs: StageArray) -> BoolArray:
        """Tell for each compressed design whether it belongs to the space."""
        deepest: StageArray = designs.max(axis=1)
        inside: BoolArray = (deepest >= 0) & (deepest < self.max_stages)
        if not self.allow_exclusion:
            inside &= (designs >= 0).all(axis=1)
        if self.first is not None:
            inside &= designs[:, self.first] == 0
        return inside


def default_max_stages(n_features: int) -> int:
    """Return the paper's limit on stages: half the features, at most 10."""
    return max(1, min((n_features + 1) // 2, 10))
