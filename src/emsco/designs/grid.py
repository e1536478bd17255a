"""The thresholds that a search tries, and chains that have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, StageArray
from emsco.designs.population import Designs
from emsco.designs.thresholds import MinConfidence, by_label
from emsco.errors import ParameterError

MOST_LEVELS = 32
_HIGHEST = 0.999  # even where a class has next to all rows

# Thresholds that are searched: halving the doubt of a prior j times asks for the confidence
# 1 - (1 - prior) / 2ʲ. The first j is that of early stages in `ThresholdGrid.complete`.
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
    >>> grid.early, grid.last
    ((0,), (1,))
    """

    thresholds: FloatArray
    early: tuple[int, ...] = (0,)
    last: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        """Copy and lock the thresholds."""
        given = np.atleast_2d(np.asarray(self.thresholds, dtype=np.float64))
        if len(given) > MOST_LEVELS:
            raise ParameterError(f"thresholds must be at most {MOST_LEVELS}, got {len(given)}.")
        object.__setattr__(self, "thresholds", locked_copy(given))

    @classmethod
    def single(cls, thresholds: FloatArray, last: FloatArray | None = None) -> Self:
        """Return the grid of one threshold for all stages, or of another one for the last."""
        if last is None or np.array_equal(last, thresholds):
            return cls(thresholds)
        return cls(np.stack([thresholds, last]), (0,), (1,))

    @classmethod
    def searched(
        cls,
        shares: FloatArray,
        n_rows: int,
        last: FloatArray | None = None,
        metric: str = "accuracy",
        stakes: FloatArray | None = None,
    ) -> Self:
        """Return the grid that "auto" searches on `n_rows` scored rows.

        A label must halve the doubt that there is beforehand some number of times. For accuracy,
        that is the doubt of a guess, the same for all classes; for balanced accuracy, the doubt
        that the share of a class leaves. If some rows are rejected and classes differ in size,
        thresholds of both kinds are tried: the first kind alone would reject a rare class. If one
        class is common, thresholds just above its share are added: that is where the first, cheap
        stages tell rows apart.

        Without a threshold `last` of its own, the last stage may label everyone, have any of these,
        or reject only those it is least sure of.

        With `stakes`, what an error about each class costs, a level halves the cost of an error
        that is to be expected, the same for all labels; see `_with_expected_cost`.
        """
        share = shares / shares.sum()
        equal = np.full(len(share), 1 / len(share))
        halvings = _ON_MANY_ROWS if n_rows >= _MANY else _ON_FEW_ROWS
        # How often the share of the commonest class halves the doubt of a guess; at most 6 times.
        guess, sure = 1 - 1 / len(share), 1 - float(share.max())
        commonest = float(np.log2(guess / max(sure, guess * 0.5 ** max(_ON_FEW_ROWS))))
        slight: list[FloatArray] = []
        if stakes is not None:
            early = [_with_expected_cost(stakes, 0.5**one) for one in halvings]
        else:
            early = _halved(share, halvings)
            if metric == "accuracy":
                beyond = [commonest + step for step in _BEYOND if commonest > 1]
                early = _halved(equal, [*halvings, *beyond])
                if (last is None or last.any()) and np.ptp(share) > _ALIKE:
                    early = [*_halved(share, _BY_SHARE), *early]
            early = _distinct(early)
            # They reject few rows: in equal ratios, up to what the commonest class satisfies.
            n_slight = min(_N_SLIGHT, MOST_LEVELS - len(early) - 1)
            steps = np.geomspace(_LEAST, max(1.0, commonest), n_slight + 1)[:-1]
            slight = _distinct([*early, *_halved(equal, steps.tolist())])[len(early) :]
        n = len(early)
        if last is not None:
            return cls(np.stack([*early, last]), tuple(range(n)), (n,))
        # The first level of the last stage is that of buying everything at once; it answers all.
        every = np.stack([*early, np.zeros(len(share)), *slight])
        return cls(every, tuple(range(n)), (n, *range(n), *range(n + 1, len(every))))

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
        chosen = {*self.early} if len(self.early) > 1 else set()
        return tuple(sorted(chosen.union(self.last if len(self.last) > 1 else ())))

    @property
    def everything_answers_all(self) -> bool:
        """Whether buying everything at once labels every row; see `complete`."""
        return not self.thresholds[self.last[0]].any()

    @property
    def may_answer_all(self) -> bool:
        """Whether the last stage may label whoever is left, and may reject some; see `searched`."""
        return len(self.last) > 1 and self.everything_answers_all

    def complete(self, stages: StageArray, early: int | None = None) -> Designs:
        """Return chains with the first level of each kind at all their stages.

        Stages before the last have the level `early`, if it is given.
        """
        levels = np.full((1, stages.shape[1]), self.early[0] if early is None else early)
        return Designs.of(stages, levels).with_last_level(self.last[0])

    def answering(self, designs: Designs, which: BoolArray) -> Designs:
        """Return chains of which those marked in `which` label whoever is left at their end.

        Others stay as they are, and so do all if a last stage may not label everyone.
        """
        if not self.may_answer_all:
            return designs
        answering = designs.with_last_level(self.last[0]).levels
        return replace(designs, levels=np.where(which[:, None], answering, designs.levels))

    def of_levels(self, levels: IntArray, classes: AnyArray) -> tuple[MinConfidence, ...]:
        """Return the threshold of each level: a number, or one for each label."""
        return tuple(by_label(self.thresholds[level], classes) for level in levels.tolist())


def _halved(prior: FloatArray, halvings: Sequence[float]) -> list[FloatArray]:
    """Thresholds of a prior whose doubt is halved several times."""
    return [_with_doubt(prior, 0.5**n_halvings) for n_halvings in halvings]


def _distinct(levels: list[FloatArray]) -> list[FloatArray]:
    return list({level.tobytes(): level for level in levels}.values())


def auto_min_confidence(shares: FloatArray, classes: AnyArray) -> dict[Any, float]:
    """Return a threshold for each class between its share of the rows and certainty.

    A label must halve the doubt that the share of its class leaves. Where nine of ten rows are
    well, a model that has learned nothing is 0.9 sure of it, so that needs 0.95. Two equal classes
    need the paper's 0.75 each.

    Examples
    --------
    >>> auto_min_confidence(np.array([0.1, 0.9]), np.array(["ill", "well"]))
    {'ill': 0.55, 'well': 0.95}
    """
    thresholds = _with_doubt(shares, 0.5)
    return dict(zip(classes.tolist(), thresholds.tolist(), strict=True))


def _with_doubt(shares: FloatArray, doubt: float) -> FloatArray:
    """Return the threshold of each class that leaves this much of the doubt of its share."""
    prior = shares / shares.sum()
    thresholds: FloatArray = np.clip(prior + (1 - doubt) * (1 - prior), None, _HIGHEST).round(3)
    return thresholds


def _with_expected_cost(stakes: FloatArray, share: float) -> FloatArray:
    """Return the threshold of each label at which an error is expected to cost the same.

    Probabilities are those of rows weighted by `stakes`, what an error about each class costs. The
    cost is a share of that of an error by someone who knows nothing. For a label of probability q,
    an error costs (1 - q) / (q / own + (1 - q) / others), where the stake of the others is their
    harmonic mean; with two classes that is exact.

    Examples
    --------
    >>> _with_expected_cost(np.array([500.0, 20.0]), 0.5).round(3).tolist()
    [0.964, 0.671]
    >>> _with_expected_cost(np.ones(2), 0.5).tolist()
    [0.75, 0.75]
    """
    rates = 1 / stakes
    cost = share * (len(stakes) - 1) / rates.sum()
    others = (rates.sum() - rates) / (len(stakes) - 1)
    # What is left once the others' share of the cost is taken off; 0: the label is always given.
    left = np.maximum(0.0, 1 - cost * others)
    thresholds: FloatArray = np.clip(left / (left + cost * rates), None, _HIGHEST).round(3)
    return thresholds
