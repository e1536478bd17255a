"""Confidence thresholds: one for all classes, or one for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from emsco._base.checks import check_number
from emsco._base.text import some, what_was_meant
from emsco._base.typing import AnyArray, FloatArray
from emsco.errors import ParameterError

MOST_CLASSES = 255  # the position of a class fits into a byte

MinConfidence: TypeAlias = float | Mapping[Any, float]
StageThresholds: TypeAlias = tuple[MinConfidence, ...]


# Checks


def check_threshold(
    name: str,
    given: Any,
    classes: AnyArray | None = None,
    low: float = 0.0,
    ends: str = "[]",
    note: str = "",
) -> MinConfidence:
    """Check a threshold: one number from `low` to 1, or one for each label, in their order.

    Without `classes`, labels are those that there are. `ends` and `note` are as for `check_number`.

    Examples
    --------
    >>> check_threshold("p", {"well": 1, "ill": 0.5}, np.array(["ill", "well"]))
    {'ill': 0.5, 'well': 1.0}
    """
    if not isinstance(given, Mapping):
        return check_number(name, given, low, 1, ends, note=note)
    labels = [*given] if classes is None else classes.tolist()
    if unknown := [label for label in given if label not in labels]:
        raise ParameterError(
            f"{name} must name the classes {some(labels)}, got {unknown[0]!r} too"
            f"{what_was_meant(unknown[0], labels)}"
        )
    if missing := [label for label in labels or ["a label"] if label not in given]:
        raise ParameterError(
            f"{name} must have a threshold for every class, got none for {missing[0]!r}."
        )
    return {
        label: check_number(f"{name} of class {label!r}", given[label], 0, 1, ends)
        for label in labels
    }


def check_min_confidence(min_confidence: Any, classes: AnyArray) -> MinConfidence:
    """Check one threshold above chance for all classes, or one above 0 for each label."""
    note = ", since guessing reaches 1 / number of classes"
    return check_threshold("min_confidence", min_confidence, classes, 1 / len(classes), "(]", note)


def check_stage_thresholds(thresholds: Any, n_stages: int) -> StageThresholds:
    """Check and copy one threshold per stage: a number in [0, 1], or one for each label.

    Examples
    --------
    >>> check_stage_thresholds([0.9, {"ill": 0.5, "well": 1}], 2)
    (0.9, {'ill': 0.5, 'well': 1.0})
    """
    given = tuple(thresholds) if np.iterable(thresholds) else (thresholds,)
    if len(given) != n_stages:
        raise ParameterError(
            f"thresholds must hold one threshold for each of {n_stages} stages, got {len(given)}."
        )
    return tuple(
        check_threshold(f"thresholds of stage {j}", one) for j, one in enumerate(given, start=1)
    )


# Forms


def by_class(threshold: MinConfidence, classes: AnyArray) -> FloatArray:
    """Return the threshold of each class, in the order of `classes`; labels must be the classes.

    Examples
    --------
    >>> by_class({"well": 0.99, "ill": 0.9}, np.array(["ill", "well"])).tolist()
    [0.9, 0.99]
    >>> by_class(0.8, np.array([0, 1, 2])).tolist()
    [0.8, 0.8, 0.8]
    """
    if isinstance(threshold, Mapping):
        check_threshold("thresholds", threshold, classes)
        return np.array([float(threshold[label]) for label in classes.tolist()])
    return np.full(len(classes), float(threshold))


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


def in_words(*thresholds: MinConfidence) -> str:
    """Return the threshold that stages share, or those of all, as text.

    Examples
    --------
    >>> in_words({"ill": 0.55, "well": 0.95}), in_words(0.9, 0.75, 0), in_words(0.8, 0.8)
    ('ill: 0.55, well: 0.95', '0.9 → 0.75 → 0', '0.8')
    """
    return " → ".join(
        ", ".join(f"{label}: {number:g}" for label, number in one.items())
        if isinstance(one, Mapping)
        else f"{one:g}"
        for one in (thresholds if differ(thresholds) else thresholds[:1])
    )


def rule_in_words(
    threshold: MinConfidence, sure: str = "confidence ≥", anyhow: str = "answers all"
) -> str:
    """Return the rule by which rows leave at a stage.

    Examples
    --------
    >>> rule_in_words(0.9), rule_in_words(0.0), rule_in_words(0.9, "at")
    ('confidence ≥ 0.9', 'answers all', 'at 0.9')
    """
    return anyhow if answers_all(threshold) else f"{sure} {in_words(threshold)}"


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
    return rule_in_words(
        thresholds[0],
        "a row leaves once confidence is at least",
        "every row leaves at the first stage",
    )
