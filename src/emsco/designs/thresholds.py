"""Confidence thresholds: one for all classes, or one for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import check_number, is_number
from emsco._base.text import some, what_was_meant
from emsco._base.typing import AnyArray, BoolArray, FloatArray, StageArray
from emsco.designs.chromosomes import (
    MOST_LEVELS,
    levels_of,
    stage_counts,
    stages_of,
    with_levels,
)
from emsco.designs.population import Designs
from emsco.errors import ParameterError

MOST_CLASSES = 255  # the position of a class fits into a byte

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

MinConfidence: TypeAlias = float | Mapping[Any, float]
StageThresholds: TypeAlias = tuple[MinConfidence, ...]


# Checks


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


def check_min_confidence(min_confidence: Any, classes: AnyArray) -> MinConfidence:
    """Check one threshold above chance for all classes, or one above 0 for each label."""
    if not isinstance(min_confidence, Mapping):
        chance = 1 / len(classes)
        is_guess = is_number(min_confidence) and min_confidence <= chance
        note = ", since guessing reaches 1 / number of classes" if is_guess else ""
        return check_number("min_confidence", min_confidence, chance, 1, "(]", note=note)
    return _check_by_label("min_confidence", min_confidence, classes, "(]")


def check_reject_below(given: Any, classes: AnyArray) -> MinConfidence:
    """Check the last stage's threshold: a number from 0 to 1, or one for each label."""
    if isinstance(given, Mapping):
        return _check_by_label("reject_below", given, classes, "[]")
    return check_number("reject_below", given, 0, 1)


def _check_by_label(
    name: str, given: Mapping[Any, Any], classes: AnyArray, ends: str
) -> MinConfidence:
    labels = classes.tolist()
    if unknown := [label for label in given if label not in labels]:
        raise ParameterError(
            f"{name} must name the classes {some(labels)}, got {unknown[0]!r} too"
            f"{what_was_meant(unknown[0], labels)}"
        )
    if missing := [label for label in labels if label not in given]:
        raise ParameterError(
            f"{name} must have a threshold for every class, got none for {missing[0]!r}."
        )
    return {
        label: check_number(f"{name} of class {label!r}", given[label], 0, 1, ends)
        for label in labels
    }


def check_stage_thresholds(thresholds: Any, n_stages: int) -> StageThresholds:
    """Check and copy one threshold per stage: a number in [0, 1], or one for each label.

    Examples
    --------
    >>> check_stage_thresholds([0.9, {"ill": 0.5, "well": 1}], 2)
    (0.9, {'ill': 0.5, 'well': 1.0})
    """
    is_list = isinstance(thresholds, (tuple, list)) or np.ndim(thresholds) == 1
    if not is_list or len(thresholds) != n_stages:
        got = len(thresholds) if is_list else repr(thresholds)
        raise ParameterError(
            f"thresholds must hold one threshold for each of {n_stages} stages, got {got}."
        )
    return tuple(
        _checked(one, f"thresholds of stage {j}") for j, one in enumerate(thresholds, start=1)
    )


def _checked(threshold: Any, name: str) -> MinConfidence:
    if not isinstance(threshold, Mapping):
        return check_number(name, threshold, 0, 1)
    if not threshold:
        raise ParameterError(f"{name} must have a number for every label, got {threshold!r}.")
    return {
        label: check_number(f"{name} and class {label!r}", number, 0, 1)
        for label, number in threshold.items()
    }


# Forms


def by_class(min_confidence: MinConfidence, classes: AnyArray) -> FloatArray:
    """Return the threshold of each class, in the order of `classes`.

    Examples
    --------
    >>> by_class({"ill": 0.9, "well": 0.99}, np.array(["ill", "well"])).tolist()
    [0.9, 0.99]
    >>> by_class(0.8, np.array([0, 1, 2])).tolist()
    [0.8, 0.8, 0.8]
    """
    if isinstance(min_confidence, Mapping):
        return np.array([float(min_confidence[label]) for label in classes.tolist()])
    return np.full(len(classes), float(min_confidence))


def by_label(thresholds: FloatArray, classes: AnyArray) -> MinConfidence:
    """Return one number if all classes share it, else a number for each label.

    Examples
    --------
    >>> by_label(np.array([0.9, 0.99]), np.array(["ill", "well"]))
    {'ill': 0.9, 'well': 0.99}
    >>> by_label(np.array([0.8, 0.8]), np.array(["ill", "well"]))
    0.8
    """
    numbers = thresholds.tolist()
    if len(set(numbers)) == 1:
        return float(numbers[0])
    return dict(zip(classes.tolist(), numbers, strict=True))


def by_stage_and_class(thresholds: Sequence[MinConfidence], classes: AnyArray) -> FloatArray:
    """Return the threshold of each stage and class, shape (n_stages, n_classes).

    Examples
    --------
    >>> by_stage_and_class((0.9, {"ill": 0.5, "well": 0}), np.array(["ill", "well"])).tolist()
    [[0.9, 0.9], [0.5, 0.0]]
    """
    labels = classes.tolist()
    for j, one in enumerate(thresholds, start=1):
        if isinstance(one, Mapping) and {*one} != {*labels}:
            raise ParameterError(
                f"thresholds of stage {j} must have a number for each class of {some(labels)}, got "
                f"{one!r}."
            )
    return np.array([by_class(one, classes) for one in thresholds])


def answers_all(threshold: MinConfidence) -> bool:
    """Tell whether a stage with this threshold labels every row that reaches it."""
    return not any(threshold.values()) if isinstance(threshold, Mapping) else not threshold


def differ(thresholds: Sequence[MinConfidence]) -> bool:
    """Tell whether the stages have different thresholds."""
    return any(one != thresholds[0] for one in thresholds)


def plain(min_confidence: MinConfidence) -> float | dict[str, float]:
    """Return thresholds for a file: a number, or a number for the text of each label."""
    if isinstance(min_confidence, Mapping):
        # A NumPy label becomes a Python one, so that equal labels have the same text.
        return {f"{np.asarray(c).tolist()!r}": float(p) for c, p in min_confidence.items()}
    return float(min_confidence)


# Words


def in_words(min_confidence: MinConfidence) -> str:
    """Return the threshold, or those by label, as text for messages and tables."""
    if isinstance(min_confidence, Mapping):
        return ", ".join(f"{label}: {number:g}" for label, number in min_confidence.items())
    return f"{min_confidence:g}"


def at_in_words(threshold: MinConfidence) -> str:
    """Return the words that follow the features of a stage.

    Examples
    --------
    >>> at_in_words(0.9), at_in_words({"ill": 0.55, "well": 0.95}), at_in_words(0.0)
    ('at 0.9', 'at ill: 0.55, well: 0.95', 'for all')
    """
    return "for all" if answers_all(threshold) else f"at {in_words(threshold)}"


def rule_in_words(threshold: MinConfidence) -> str:
    """Return the rule by which rows leave at a stage.

    Examples
    --------
    >>> rule_in_words(0.9), rule_in_words(0.0)
    ('confidence ≥ 0.9', 'answers all')
    """
    return "answers all" if answers_all(threshold) else f"confidence ≥ {in_words(threshold)}"


def leaving_in_words(thresholds: Sequence[MinConfidence]) -> str:
    """Return the sentence above the stages of a cascade.

    Examples
    --------
    >>> leaving_in_words((0.8, 0.8))
    'a row leaves once confidence is at least 0.8'
    >>> leaving_in_words((0.8, 0.6))
    'a row leaves at the first stage that is sure enough'
    """
    if differ(thresholds):
        return "a row leaves at the first stage that is sure enough"
    if answers_all(thresholds[0]):
        return "every row leaves at the first stage"
    return f"a row leaves once confidence is at least {in_words(thresholds[0])}"


def thresholds_in_words(thresholds: Sequence[MinConfidence]) -> str:
    """Return the thresholds of all stages, or the one that they share.

    Examples
    --------
    >>> thresholds_in_words((0.9, 0.75, 0)), thresholds_in_words((0.8, 0.8))
    ('0.9 → 0.75 → 0', '0.8')
    """
    shown = thresholds if differ(thresholds) else thresholds[:1]
    return " → ".join(map(in_words, shown))


# The thresholds that a search tries


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
            return cls(np.atleast_2d(thresholds))
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
        kinds: list[tuple[FloatArray, tuple[float, ...]]]
        halvings = _ON_MANY_ROWS if n_rows >= _MANY else _ON_FEW_ROWS
        answers_all = last is not None and not last.any()
        # How often the share of the commonest class halves the doubt of a guess; at most 6 times.
        guess, sure = 1 - 1 / len(share), 1 - float(share.max())
        commonest = float(np.log2(guess / max(sure, guess * 0.5 ** max(_ON_FEW_ROWS))))
        if stakes is not None:
            return cls._priced(stakes, halvings, last)
        if metric != "accuracy":
            kinds = [(share, halvings)]
        else:
            beyond = [commonest + step for step in _BEYOND] if commonest > 1 else []
            kinds = [(equal, (*halvings, *beyond))]
            if not answers_all and np.ptp(share) > _ALIKE:
                kinds.insert(0, (share, _BY_SHARE))
        distinct = _distinct(kinds)
        early = tuple(range(len(distinct)))
        if last is not None:
            return cls(np.stack([*distinct, last]), early, (len(distinct),))
        # Halvings that reject few rows: in equal ratios, up to what the commonest class satisfies.
        n_slight = min(_N_SLIGHT, MOST_LEVELS - len(distinct) - 1)
        slight = np.geomspace(_LEAST, max(1.0, commonest), n_slight + 1)[:-1]
        every = _distinct([*kinds, (equal, tuple(slight.tolist()))])
        # The first level is that of buying everything at once, which answers everyone.
        others = (level for level in range(len(every) + 1) if level != len(distinct))
        every.insert(len(distinct), np.zeros(len(share)))
        return cls(np.stack(every), early, (len(distinct), *others))

    @classmethod
    def _priced(
        cls, stakes: FloatArray, halvings: tuple[float, ...], last: FloatArray | None
    ) -> Self:
        """Return the grid of levels that halve the expected cost of an error."""
        levels = [_with_expected_cost(stakes, 0.5**one) for one in halvings]
        early = tuple(range(len(levels)))
        if last is not None:
            return cls(np.stack([*levels, last]), early, (len(levels),))
        # The first level of the last stage answers everyone.
        every = [*levels, np.zeros(len(stakes))]
        return cls(np.stack(every), early, (len(levels), *early))

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
    def everything_answers_all(self) -> bool:
        """Whether buying everything at once labels every row; see `complete`."""
        return not self.thresholds[self.last[0]].any()

    @property
    def may_answer_all(self) -> bool:
        """Whether the last stage may label whoever is left, and may reject some; see `searched`."""
        return len(self.last) > 1 and self.everything_answers_all

    @property
    def answers_all(self) -> bool:
        """Whether the last stage of every design labels whoever is left."""
        return not self.thresholds[list(self.last)].any()

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

    def answering(self, designs: StageArray, which: BoolArray) -> StageArray:
        """Return designs of which those marked in `which` label whoever is left at their end.

        Others stay as they are, and so do all if a last stage may not label everyone.
        """
        if not self.may_answer_all or not len(designs):
            return designs
        n_stages = stage_counts(designs)
        levels = levels_of(designs, int(n_stages.max()))
        places = np.flatnonzero(which)
        levels[places, n_stages[places] - 1] = self.last[0]
        return with_levels(stages_of(designs), levels)

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
        >>> values = grid.to_dict(labels)
        >>> values["min_confidence"], values["reject_below"], values["always_answer"]
        (0.75, {"'ill'": 0.6, "'well'": 0.9}, False)
        >>> ThresholdGrid.searched(np.ones(2), 100).to_dict(labels)["min_confidence"]
        'auto'
        """
        has_own_last = len(self.last) == 1 and self.last != self.early
        early, last = (
            plain(by_label(self.thresholds[levels[0]], classes))
            for levels in (self.early, self.last)
        )
        return {
            "min_confidence": "auto" if len(self.early) > 1 else early,
            "reject_below": last if has_own_last and not self.answers_all else None,
            "always_answer": self.answers_all,
            "thresholds": [self.thresholds.tolist(), list(self.early), list(self.last)],
        }


def _distinct(kinds: list[tuple[FloatArray, tuple[float, ...]]]) -> list[FloatArray]:
    """Thresholds of priors whose doubt is halved several times; equal ones once."""
    levels = [
        _with_doubt(prior, 0.5**n_halvings) for prior, halvings in kinds for n_halvings in halvings
    ]
    return list({level.tobytes(): level for level in levels}.values())


def inherit_levels(stages: StageArray, parents: StageArray, grid: ThresholdGrid) -> StageArray:
    """Give designs without levels those of their parents, as `Designs.pass_on` does.

    It goes when nobody packs stages and levels into genes.
    """
    if grid.is_single or not len(stages):
        return stages
    return Designs.from_packed(parents).pass_on(stages, grid.early[0]).packed()
