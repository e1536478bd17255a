"""Thresholds of stages: the confidence that each stage of a design needs to label a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from emsco._base.checks import check_number, refused
from emsco._base.text import some
from emsco._base.typing import AnyArray, FloatArray
from emsco.designs.thresholds import MinConfidence, by_class, in_words

__all__ = [
    "StageThresholds",
    "answers_all",
    "at_in_words",
    "by_stage_and_class",
    "check_stage_thresholds",
    "differ",
    "leaving_in_words",
    "rule_in_words",
    "thresholds_in_words",
]

StageThresholds: TypeAlias = tuple[MinConfidence, ...]


def check_stage_thresholds(thresholds: Any, n_stages: int) -> StageThresholds:
    """Check and copy one threshold per stage: a number in [0, 1], or one for each label.

    Examples
    --------
    >>> check_stage_thresholds([0.9, {"ill": 0.5, "well": 1}], 2)
    (0.9, {'ill': 0.5, 'well': 1.0})
    """
    is_list = isinstance(thresholds, (tuple, list)) or np.ndim(thresholds) == 1
    if not is_list or len(thresholds) != n_stages:
        raise refused(
            "thresholds",
            f"hold one threshold for each of {n_stages} stages",
            thresholds,
            got=f"{len(thresholds)}" if is_list else None,
        )
    return tuple(_checked(one, f"stage {j}") for j, one in enumerate(thresholds, start=1))


def _checked(threshold: Any, stage: str) -> MinConfidence:
    if not isinstance(threshold, Mapping):
        return check_number("thresholds", threshold, 0, 1, of=stage)
    if not threshold:
        raise refused("thresholds", "have a number for every label", threshold, of=stage)
    return {
        label: check_number("thresholds", least, 0, 1, of=f"{stage} and class {label!r}")
        for label, least in threshold.items()
    }


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
            raise refused(
                "thresholds",
                f"have a number for each class of {some(labels)}",
                one,
                of=f"stage {j}",
            )
    return np.array([by_class(one, classes) for one in thresholds])


def answers_all(threshold: MinConfidence) -> bool:
    """Tell whether a stage with this threshold labels every row that reaches it."""
    return not any(threshold.values()) if isinstance(threshold, Mapping) else not threshold


def differ(thresholds: Sequence[MinConfidence]) -> bool:
    """Tell whether the stages have different thresholds."""
    return any(one != thresholds[0] for one in thresholds)


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
