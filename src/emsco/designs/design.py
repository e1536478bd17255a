"""A design assigns features to stages, and may say how sure each stage must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import refused
from emsco._base.typing import AnyArray, BoolArray, FloatArray, StageArray
from emsco.designs.chromosomes import NEVER, nested_subsets
from emsco.designs.thresholds import (
    MinConfidence,
    StageThresholds,
    answers_all,
    at_in_words,
    by_stage_and_class,
    check_stage_thresholds,
    differ,
)

_FEW = 6  # names of features left out that are listed


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Assignment of features to the stages that buy them.

    Parameters
    ----------
    stages : ndarray of shape (n_features,)
        Stage of each feature, counted from 0 without a break; -1 if it is never bought. Copied
        and locked. If no feature is bought, the design is one stage that buys nothing.
    names : tuple of str
        Names of the features.
    thresholds : tuple of float or dict, optional
        Confidence that each stage needs to label a row, from 0 to 1; a dict has a number for each
        class. At 0, the stage labels every row that reaches it. Without thresholds, all stages
        share the `min_confidence` of the cascade.

    Examples
    --------
    >>> Design([0, 1, 0], names=("age", "scan", "sex"))
    Design(age, sex → scan)
    >>> Design([0, 1, -1], names=("age", "scan", "biopsy"))
    Design(age → scan; never biopsy)
    >>> Design([0, 1, 0], names=("age", "scan", "sex"), thresholds=(0.9, 0.75))
    Design(age, sex at 0.9 → scan at 0.75)
    >>> Design([0, 1, 0], names=("age", "scan", "sex"), thresholds=(0.9, 0))
    Design(age, sex at 0.9 → scan for all)
    """

    stages: StageArray
    names: tuple[str, ...]
    thresholds: StageThresholds | None = None

    def __post_init__(self) -> None:
        """Copy, check and lock `stages`; copy and check `thresholds`."""
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
        object.__setattr__(self, "stages", locked_copy(given, np.int16))
        if self.thresholds is not None:
            checked = check_stage_thresholds(self.thresholds, self.n_stages)
            object.__setattr__(self, "thresholds", checked)

    @classmethod
    def everything(cls, names: Sequence[str]) -> Design:
        """Return the design of one stage that buys all features."""
        return cls(np.zeros(len(names), dtype=np.int16), tuple(names))

    @classmethod
    def nothing(cls, names: Sequence[str], threshold: float) -> Design:
        """Return the design of one stage that buys nothing and knows the shares of the classes.

        At the threshold 0 it gives every row a label, at 1 it rejects every row.

        Examples
        --------
        >>> Design.nothing(["age", "scan"], 0)
        Design(buys nothing, answers everyone)
        >>> Design.nothing(["age", "scan"], 1)
        Design(buys nothing, rejects everyone)
        """
        return cls(np.full(len(names), NEVER), tuple(names), (threshold,))

    def with_thresholds(self, thresholds: Sequence[MinConfidence] | None) -> Design:
        """Return the same stages with other thresholds; None leaves them to the cascade.

        Examples
        --------
        >>> Design.everything(["age", "scan"]).with_thresholds([0.8]).thresholds
        (0.8,)
        """
        return replace(self, thresholds=None if thresholds is None else tuple(thresholds))

    def thresholds_or(self, min_confidence: MinConfidence) -> StageThresholds:
        """Return the thresholds of the stages; without any, `min_confidence` for each."""
        return self.thresholds or (min_confidence,) * self.n_stages

    def thresholds_of_stages(self, min_confidence: MinConfidence, classes: AnyArray) -> FloatArray:
        """Return the threshold of each stage and class, shape (n_stages, n_classes).

        A design without thresholds has `min_confidence` at every stage.

        Examples
        --------
        >>> Design([0, 1], ("age", "scan")).thresholds_of_stages(0.8, np.array([0, 1])).tolist()
        [[0.8, 0.8], [0.8, 0.8]]
        """
        return by_stage_and_class(self.thresholds_or(min_confidence), classes)

    @property
    def n_stages(self) -> int:
        """Number of stages; 1 if nothing is bought."""
        return max(1, int(self.stages.max()) + 1)

    @property
    def buys_nothing(self) -> bool:
        """Whether no feature is bought, so that every row is decided at once and for nothing."""
        return bool((self.stages == NEVER).all())

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
        """Compare two designs: features, the stages that buy them, and thresholds."""
        if not isinstance(other, Design):
            return NotImplemented
        same = self.names == other.names and self.thresholds == other.thresholds
        return same and np.array_equal(self.stages, other.stages)

    def __hash__(self) -> int:
        """Return the same hash for equal designs."""
        thresholds = tuple(
            frozenset(one.items()) if isinstance(one, Mapping) else one
            for one in self.thresholds or ()
        )
        return hash((self.names, self.stages.tobytes(), thresholds))

    def __repr__(self) -> str:
        """Show the features of each stage, in order, and thresholds if the stages differ."""
        return f"Design({self.arrows()})"

    def arrows(self) -> str:
        """Return the features of each stage, with arrows between stages, and those left out.

        Many that are left out are counted. Stages with different thresholds show these.
        """
        if self.buys_nothing:
            return self._nothing_in_words
        stages = (
            f"{', '.join(features)} {self.threshold_in_words(j)}".rstrip()
            for j, features in enumerate(self.buys)
        )
        bought, never = " → ".join(stages), self.left_out
        if not never:
            return bought
        few = len(never) <= _FEW
        return f"{bought}; never {', '.join(never) if few else f'{len(never)} others'}"

    @property
    def _nothing_in_words(self) -> str:
        """What a design does that buys nothing."""
        threshold = None if self.thresholds is None else self.thresholds[0]
        if threshold == 1:
            return "buys nothing, rejects everyone"
        if threshold is not None and answers_all(threshold):
            return "buys nothing, answers everyone"
        return "buys nothing"

    def threshold_in_words(self, stage: int) -> str:
        """Return "at" and the threshold of `stage` (from 0); nothing if all stages share it."""
        if self.thresholds is None or not differ(self.thresholds):
            return ""
        return at_in_words(self.thresholds[stage])
