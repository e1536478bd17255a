"""Confidence thresholds: one for all classes, or one for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from emsco._base.checks import check_number, is_number, refused
from emsco._base.text import did_you_mean, some
from emsco._base.typing import AnyArray, FloatArray

__all__ = [
    "MOST_CLASSES",
    "MinConfidence",
    "auto_min_confidence",
    "by_class",
    "by_label",
    "check_min_confidence",
    "check_reject_below",
    "in_words",
    "plain",
]

MOST_CLASSES = 255  # the position of a class fits into a byte

_HIGHEST = 0.999  # even where a class has next to all rows

MinConfidence: TypeAlias = float | Mapping[Any, float]


def auto_min_confidence(
    shares: FloatArray, classes: AnyArray, doubt: float = 0.5
) -> dict[Any, float]:
    """Return a threshold for each class between its share of the rows and certainty.

    A label may leave no more than `doubt` of the doubt that the share of its class leaves; by
    default half of it. Where nine of ten rows are well, a model that has learned nothing is 0.9
    sure of it, so that needs 0.95. Two equal classes need the paper's 0.75 each.

    Examples
    --------
    >>> auto_min_confidence(np.array([0.1, 0.9]), np.array(["ill", "well"]))
    {'ill': 0.55, 'well': 0.95}
    """
    share = shares / shares.sum()
    least = np.clip(share + (1 - doubt) * (1 - share), None, _HIGHEST).round(3)
    return dict(zip(classes.tolist(), least.tolist(), strict=True))


def check_min_confidence(
    min_confidence: Any, classes: AnyArray, shares: FloatArray | None = None
) -> MinConfidence:
    """Check one threshold above chance for all classes, or one above 0 for each label.

    With `shares`, the number of rows of each class or their weight, "auto" is a choice too.
    """
    if shares is not None and isinstance(min_confidence, str):
        if min_confidence != "auto":
            raise refused("min_confidence", 'be "auto", a number or a dict', min_confidence)
        return auto_min_confidence(shares, classes)
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
        rule = f"name the classes {some(labels)}"
        meant = did_you_mean(unknown[0], labels)
        raise refused(name, rule, given, got=f"{unknown[0]!r} too", hint=meant)
    if missing := [label for label in labels if label not in given]:
        rule = "have a threshold for every class"
        raise refused(name, rule, given, got=f"none for {missing[0]!r}")
    return {
        label: check_number(name, given[label], 0, 1, ends, of=f"class {label!r}")
        for label in labels
    }


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


def plain(min_confidence: MinConfidence) -> float | dict[str, float]:
    """Return thresholds for a file: a number, or a number for the text of each label."""
    if isinstance(min_confidence, Mapping):
        # A NumPy label becomes a Python one, so that equal labels have the same text.
        return {f"{np.asarray(c).tolist()!r}": float(p) for c, p in min_confidence.items()}
    return float(min_confidence)


def in_words(min_confidence: MinConfidence) -> str:
    """Return the threshold, or those by label, as text for messages and tables."""
    if isinstance(min_confidence, Mapping):
        return ", ".join(f"{label}: {least:g}" for label, least in min_confidence.items())
    return f"{min_confidence:g}"
