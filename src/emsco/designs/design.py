"""A design assigns features to stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import refused
from emsco._base.typing import AnyArray, BoolArray, StageArray
from emsco.designs.chromosomes import NEVER, nested_subsets

__all__ = ["Design"]

_FEW = 6  # names of features left out that are listed


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Assignment of features to the stages that buy them.

    Parameters
    ----------
    stages : ndarray of shape (n_features,)
        Stage of each feature, counted from 0 without a break; -1 if it is never bought. Copied
        and locked.
    names : tuple of str
        Names of the features.

    Examples
    --------
    >>> Design([0, 1, 0], names=("age", "scan", "sex"))
    Design(age, sex → scan)
    >>> Design([0, 1, -1], names=("age", "scan", "biopsy"))
    Design(age → scan; never biopsy)
    """

    stages: StageArray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Copy, check and lock `stages`."""
        given = np.asarray(self.stages)
        if given.ndim != 1 or given.size != len(self.names) or not given.size:
            raise refused(
                "stages",
                f"hold one number for each of {len(self.names)} features",
                self.stages,
                got=f"an array of shape {given.shape}",
            )
        used = np.unique(given[given != NEVER])
        if not np.array_equal(used, np.arange(len(used))):
            raise refused(
                "stages",
                "count from 0 without a break",
                self.stages,
                got=str(given.tolist()),
                hint="see compress()",
            )
        if not used.size:
            raise refused(
                "stages", "buy at least one feature", self.stages, got=str(given.tolist())
            )
        object.__setattr__(self, "stages", locked_copy(given, np.int16))

    @classmethod
    def everything(cls, names: Sequence[str]) -> Design:
        """Return the design of one stage that buys all features."""
        return cls(np.zeros(len(names), dtype=np.int16), tuple(names))

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return int(self.stages.max()) + 1

    def features(self, stage: int) -> tuple[str, ...]:
        """Return the names of the features that `stage` (from 0) buys."""
        return tuple(self.names[i] for i in np.flatnonzero(self.stages == stage))

    @property
    def buys(self) -> tuple[tuple[str, ...], ...]:
        """Names of the features that each stage buys."""
        return tuple(self.features(j) for j in range(self.n_stages))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of the features that are never bought."""
        return self.features(NEVER)

    def subsets(self) -> BoolArray:
        """Return the features known after each stage, shape (n_stages, n_features)."""
        known: BoolArray = nested_subsets(self.stages[None], self.n_stages)[0]
        return known

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return the stage of each feature, counted from 0; -1 if it is never bought."""
        return np.array(self.stages, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        """Compare two designs; they are equal if the same stages buy the same features."""
        if not isinstance(other, Design):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.stages, other.stages)

    def __hash__(self) -> int:
        """Return the same hash for equal designs."""
        return hash((self.names, self.stages.tobytes()))

    def __repr__(self) -> str:
        """Show the features of each stage, in order."""
        return f"Design({self.arrows()})"

    def arrows(self) -> str:
        """Return the features of each stage, with arrows between stages, and those left out.

        Many that are left out are counted.
        """
        bought, never = " → ".join(map(", ".join, self.buys)), self.left_out
        if not never:
            return bought
        few = len(never) <= _FEW
        return f"{bought}; never {', '.join(never) if few else f'{len(never)} others'}"
