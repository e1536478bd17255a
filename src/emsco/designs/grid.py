"""The grid of thresholds that a search may give to the stages of a design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import refused
from emsco._base.typing import AnyArray, FloatArray, StageArray
from emsco.designs.chromosomes import MOST_LEVELS, levels_of, stage_counts, with_levels
from emsco.designs.thresholds import (
    MinConfidence,
    auto_min_confidence,
    by_class,
    by_label,
    plain,
)

__all__ = ["ThresholdGrid", "inherit_levels"]

# How often a label must halve the doubt that there is before anything is known. The first is the
# threshold of a design that buys everything at once.
_ON_FEW_ROWS = (1, 0.125, 0.25, 0.5, 1.5, 2, 3, 4, 5, 6)
_ON_MANY_ROWS = (1, 0.125, 0.25, 0.5, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6)
_BY_SHARE = (1, 2, 3, 4, 5)
_BEYOND = (0.0625, 0.125, 0.25, 0.5, 1)  # from the share of a class that most rows have
_LEAST, _N_SLIGHT = 0.02, 12  # the last stage may also ask for so little, and for steps from there
_MANY = 2000  # rows
_ALIKE = 0.05  # shares of classes within this of each other need no thresholds of their own


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdGrid:
    """The thresholds that stages may have, numbered by *level*.

    Attributes
    ----------
    thresholds : ndarray of shape (n_levels, n_classes)
        Confidence that each class needs at each level; 0 labels everyone.
    early : tuple of int
        Levels that a stage before the last may have.
    last : tuple of int
        Levels that the last stage may have.

    Examples
    --------
    >>> grid = ThresholdGrid.single(np.array([0.75, 0.75]), last=np.zeros(2))
    >>> grid.early, grid.last, grid.n_choices(3)
    ((0,), (1,), 1)
    """

    thresholds: FloatArray
    early: tuple[int, ...] = (0,)
    last: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        """Copy and lock the thresholds."""
        given = np.atleast_2d(np.asarray(self.thresholds, dtype=np.float64))
        if len(given) > MOST_LEVELS:
            raise refused("thresholds", f"be at most {MOST_LEVELS}", given, got=f"{len(given)}")
        object.__setattr__(self, "thresholds", locked_copy(given))

    @classmethod
    def single(cls, thresholds: FloatArray, last: FloatArray | None = None) -> Self:
        """Return the grid of one threshold for all stages, or of another one for the last."""
        if last is None or np.array_equal(last, thresholds):
            return cls(np.atleast_2d(thresholds))
        return cls(np.stack([thresholds, last]), (0,), (1,))

    @classmethod
    def searched(
        cls,
        shares: FloatArray,
        classes: AnyArray,
        n_rows: int,
        last: FloatArray | None = None,
        metric: str = "accuracy",
    ) -> Self:
        """Return the grid that "auto" searches on `n_rows` scored rows.

        A label must halve the doubt that there is beforehand some number of times. For accuracy,
        that is the doubt of a guess, the same for all classes; for balanced accuracy, the doubt
        that the share of a class leaves. If some rows are rejected and classes differ in size,
        thresholds of both kinds are tried: the first kind alone would reject a rare class. If
        everyone is answered and one class is common, thresholds just above its share are added:
        that is where the first, cheap stages tell rows apart.

        Without a threshold `last` of its own, the last stage may have any of these, label everyone,
        or reject only those it is least sure of.
        """
        share = shares / shares.sum()
        equal = np.full(len(share), 1 / len(share))
        kinds: list[tuple[FloatArray, tuple[float, ...]]]
        halvings = _ON_MANY_ROWS if n_rows >= _MANY else _ON_FEW_ROWS
        answers_all = last is not None and not last.any()
        if metric != "accuracy":
            kinds = [(share, halvings)]
        elif answers_all:
            kinds = [(equal, (*halvings, *_beyond(share)))]
        elif np.ptp(share) <= _ALIKE:
            kinds = [(equal, halvings)]
        else:
            kinds = [(share, _BY_SHARE), (equal, halvings)]
        distinct = _distinct(kinds, classes)
        early = tuple(range(len(distinct)))
        if last is not None:
            return cls(np.stack([*distinct, last]), early, (len(distinct),))
        every = _distinct([*kinds, (equal, _slight(share))], classes)
        every.insert(len(distinct), np.zeros(len(classes)))
        return cls(np.stack(every), early, tuple(range(len(every))))

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.thresholds)

    @property
    def is_single(self) -> bool:
        """Whether all stages have the same threshold."""
        return self.n_levels == 1

    @property
    def searched_levels(self) -> tuple[int, ...]:
        """Levels that were not asked for, but are to be chosen from."""
        chosen = [levels for levels in (self.early, self.last) if len(levels) > 1]
        return tuple(sorted({level for levels in chosen for level in levels}))

    @property
    def answers_all(self) -> bool:
        """Whether the last stage of every design labels whoever is left."""
        return not self.thresholds[list(self.last)].any()

    def n_choices(self, n_stages: int) -> int:
        """Count the ways to give thresholds to a design of `n_stages` stages."""
        return int(len(self.early) ** (n_stages - 1) * len(self.last))

    def complete(self, stages: StageArray, early: int | None = None) -> StageArray:
        """Return designs with the first level of each kind at all their stages.

        Stages before the last have the level `early`, if it is given.
        """
        if self.is_single:
            return stages
        n_stages, first = stage_counts(stages), self.early[0] if early is None else early
        levels = np.full((len(stages), int(n_stages.max(initial=1))), first)
        levels[np.arange(len(stages)), n_stages - 1] = self.last[0]
        return with_levels(stages, levels)

    def holds(self, designs: StageArray) -> bool:
        """Whether all stages of these designs have levels that they may have."""
        n_stages = stage_counts(designs)
        levels = levels_of(designs, int(n_stages.max(initial=1)))
        place = np.arange(levels.shape[1])
        is_last, is_early = place == n_stages[:, None] - 1, place < n_stages[:, None] - 1
        return bool(
            np.isin(levels[is_last], self.last).all()
            and np.isin(levels[is_early], self.early).all()
        )

    def of_design(self, design: StageArray, classes: AnyArray) -> tuple[MinConfidence, ...]:
        """Return the threshold of each stage of a design: a number, or one for each label."""
        n_stages = int(stage_counts(design[None])[0])
        return tuple(
            by_label(self.thresholds[level], classes)
            for level in levels_of(design[None], n_stages)[0].tolist()
        )

    def to_dict(self, classes: AnyArray) -> dict[str, Any]:
        """Return plain values by the names of the parameters that they follow from.

        Examples
        --------
        >>> labels = np.array(["ill", "well"])
        >>> grid = ThresholdGrid.single(np.array([0.75, 0.75]), last=np.array([0.6, 0.9]))
        >>> found = grid.to_dict(labels)
        >>> found["min_confidence"], found["reject_below"], found["always_answer"]
        (0.75, {"'ill'": 0.6, "'well'": 0.9}, False)
        >>> ThresholdGrid.searched(np.ones(2), labels, 100).to_dict(labels)["min_confidence"]
        'auto'
        """
        has_own_last = len(self.last) == 1 and self.last != self.early
        kinds = self.early[0], self.last[0]
        early, last = (plain(by_label(self.thresholds[level], classes)) for level in kinds)
        return {
            "min_confidence": "auto" if len(self.early) > 1 else early,
            "reject_below": last if has_own_last and not self.answers_all else None,
            "always_answer": self.answers_all,
            "thresholds": [self.thresholds.tolist(), list(self.early), list(self.last)],
        }


def _to_commonest(share: FloatArray) -> float:
    """How often the share of the commonest class halves the doubt of a guess; at most 6 times."""
    guess, sure = 1 - 1 / len(share), 1 - float(share.max())
    return float(np.log2(guess / max(sure, guess * 0.5 ** max(_ON_FEW_ROWS))))


def _beyond(share: FloatArray) -> tuple[float, ...]:
    """Halvings that ask for little more than the share of a class that most rows have."""
    start = _to_commonest(share)
    return tuple(start + step for step in _BEYOND) if start > 1 else ()


def _slight(share: FloatArray) -> tuple[float, ...]:
    """Halvings that reject few rows: in equal ratios, up to what the commonest class satisfies."""
    steps = np.geomspace(_LEAST, max(1.0, _to_commonest(share)), _N_SLIGHT + 1)
    return tuple(steps[:-1].tolist())


def _distinct(
    kinds: list[tuple[FloatArray, tuple[float, ...]]], classes: AnyArray
) -> list[FloatArray]:
    """Thresholds of priors whose doubt is halved several times; equal ones once."""
    levels = [
        by_class(auto_min_confidence(prior, classes, 0.5**often), classes)
        for prior, own in kinds
        for often in own
    ]
    return list({level.tobytes(): level for level in levels}.values())


def inherit_levels(stages: StageArray, parents: StageArray, grid: ThresholdGrid) -> StageArray:
    """Give designs without levels those of their parents; one parent may serve all.

    The last stage gets the level of the parent's last, the others those at their place. A stage
    that the parent lacks gets the level of the parent's latest one before the last.
    """
    if grid.is_single or not len(stages):
        return stages
    n_stages, n_before = stage_counts(stages), stage_counts(parents)
    most, deepest = int(n_stages.max()), int(n_before.max())
    own = levels_of(parents, deepest)
    place = np.arange(most)
    latest = np.maximum(n_before - 2, 0)[:, None]
    early = np.take_along_axis(own, np.minimum(place[None], latest), axis=1)
    early = np.where(n_before[:, None] > 1, early, grid.early[0])
    last = np.take_along_axis(own, (n_before - 1)[:, None], axis=1)
    levels = np.where(place == n_stages[:, None] - 1, last, early)
    return with_levels(stages, levels)
