"""Promises about new rows, such as "accuracy at least 0.95"."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from emsco._base.checks import check_number, refused
from emsco._base.documents import Fields
from emsco._base.intervals import Interval
from emsco._base.text import some
from emsco._base.typing import BoolArray, IntArray
from emsco.data.labels import of_labels
from emsco.errors import Parameter, ParameterError

__all__ = ["LIMITS", "Promise", "Verdict", "limits_of", "promises_from_fields", "promises_of"]

_KINDS = ("accuracy", "coverage", "recall", "cost")
LIMITS = ("min_accuracy", "min_coverage", "min_recall", "max_cost")
_NO_PROOF = ", since no number of rows can show that a share is 1"
_ROUNDING = 1e-9


class Verdict(StrEnum):
    """What rows say about a promise.

    Examples
    --------
    >>> print(Verdict.TOO_FEW)
    too few rows
    """

    KEPT = "kept"
    NOT_KEPT = "not kept"
    TOO_FEW = "too few rows"


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise about new rows: a lowest share, or a highest mean cost.

    Attributes
    ----------
    kind : {"accuracy", "coverage", "recall", "cost"}
        "accuracy" is the share of given labels that are correct, "recall" the share of a class
        that gets its label, and "coverage" the share of rows that get any label.
    limit : float
        Lowest share, or highest mean cost of a row.
    label : object
        The class that an accuracy or a recall is about; None for all labels.

    Examples
    --------
    >>> print(Promise("recall", 0.9, "ill"))
    recall of 'ill' at least 0.9
    >>> Promise("accuracy", 0.95).sentence
    'at least 95 % of the labels given are correct'
    """

    kind: str
    limit: float
    label: object = None

    @property
    def name(self) -> str:
        """Name of the figure, such as "accuracy of 'ill'"."""
        what = "mean cost" if self.is_ceiling else self.kind
        return what if self.label is None else f"{what} of {self.label!r}"

    @property
    def key(self) -> str:
        """Name of the figure in a file, such as "recall ill"."""
        return self.kind if self.label is None else f"{self.kind} {self.label}"

    @property
    def parameter(self) -> str:
        """The parameter that asks for it, such as "min_accuracy"."""
        return LIMITS[_KINDS.index(self.kind)]

    @property
    def is_ceiling(self) -> bool:
        """Whether larger figures break the promise."""
        return self.kind == "cost"

    @property
    def needs_labels(self) -> bool:
        """Whether only rows with a known label count."""
        return self.kind in ("accuracy", "recall")

    @property
    def sentence(self) -> str:
        """The promise in full, such as "at least 80 % of the rows get a label"."""
        if self.is_ceiling:
            return f"a row costs at most {self.limit:g} on average"
        rows = {
            "accuracy": "labels given are correct",
            "coverage": "rows get a label",
            "recall": f"rows that are {self.label!r} are called {self.label!r}",
        }[self.kind]
        if self.kind == "accuracy" and self.label is not None:
            rows = f"rows called {self.label!r} are {self.label!r}"
        return f"at least {100 * self.limit:.6g} % of the {rows}"

    def is_met_by(self, figure: float) -> bool:
        """Whether a figure is on the right side of the limit; rounding breaks no promise."""
        sign = -1 if self.is_ceiling else 1
        return sign * (figure - self.limit) >= -_ROUNDING * max(1.0, abs(self.limit))

    def worst(self, interval: Interval) -> float:
        """The worse end of an interval of the figure."""
        return interval.high if self.is_ceiling else interval.low

    def best(self, interval: Interval) -> float:
        """The better end of an interval of the figure."""
        return interval.low if self.is_ceiling else interval.high

    def rows(
        self, labels: Sequence[object], truth: IntArray, given: IntArray
    ) -> tuple[BoolArray, BoolArray]:
        """Tell which rows a share is about, and which rows are as promised.

        Classes are positions in `labels`. `truth` is -1 if it is not known; `given` is the number
        of classes for a rejected row. A mean cost is about all rows.
        """
        everyone, answered = np.ones(len(given), dtype=np.bool_), given < len(labels)
        if not self.needs_labels:
            return everyone, answered
        place = -1 if self.label is None else labels.index(self.label)
        if self.kind == "recall":
            return truth == place, given == place
        called = answered if self.label is None else given == place
        return called & (truth >= 0), given == truth

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"kind": self.kind, "limit": self.limit, "label": self.label}

    def __str__(self) -> str:
        return f"{self.name} at {'most' if self.is_ceiling else 'least'} {self.limit:g}"


def promises_of(
    labels: Sequence[object], limits: Mapping[str, Any], *, to_prove: bool = False
) -> tuple[Promise, ...]:
    """Check promises as users write them, such as ``{"min_accuracy": 0.95}``.

    `labels` are the classes. "min_accuracy" is a number, or a dict of labels and numbers, in which
    the key None stands for all labels; "min_recall" is a dict of labels and numbers. With
    `to_prove`, a share of 1 is refused.

    Examples
    --------
    >>> limits = {"min_accuracy": {"well": 0.99}, "max_cost": 50}
    >>> [str(one) for one in promises_of(["ill", "well"], limits)]
    ["accuracy of 'well' at least 0.99", 'mean cost at most 50']
    """
    accuracy, coverage, recall, cost = (limits.get(name) for name in LIMITS)
    found: list[Promise] = []
    if accuracy is not None:
        by_label = accuracy if isinstance(accuracy, Mapping) else {None: accuracy}
        found += _by_label("accuracy", by_label, labels, to_prove)
    if coverage is not None:
        found.append(Promise("coverage", check_number("min_coverage", coverage, 0, 1, "(]")))
    if recall is not None:
        if not isinstance(recall, Mapping):
            rule = "be a dict of labels and shares, as in {'ill': 0.9}"
            raise refused("min_recall", rule, recall)
        found += _by_label("recall", recall, labels, to_prove)
    if cost is not None:
        found.append(Promise("cost", check_number("max_cost", cost, 0, math.inf, "[)")))
    if not found:
        listed = [part for name in LIMITS for part in (", ", Parameter(name))]
        raise ParameterError("one of ", *listed[1:], " must be given, got none.")
    return tuple(found)


def _by_label(
    kind: str, limits: Mapping[Any, Any], labels: Sequence[object], to_prove: bool
) -> list[Promise]:
    """Return a promise for each label; unknown labels are refused."""
    name, found = f"min_{kind}", []
    ends, note = ("()", _NO_PROOF) if to_prove else ("(]", "")
    for label, limit in of_labels(limits, labels).items():
        is_whole = label is None and kind == "accuracy"
        if label not in labels and not is_whole:
            raise refused(name, f"name the classes {some(labels)}", limits, got=repr(label))
        of = "" if is_whole else f"class {label!r}"
        least = check_number(name, limit, 0, 1, ends, of=of, note=note)
        found.append(Promise(kind, least, None if is_whole else labels[labels.index(label)]))
    return sorted(found, key=lambda one: -1 if one.label is None else labels.index(one.label))


def limits_of(promises: Sequence[Promise]) -> dict[str, Any]:
    """Return promises as users write them; `promises_of` turns them back.

    Examples
    --------
    >>> limits_of([Promise("accuracy", 0.95), Promise("recall", 0.9, "ill")])
    {'min_accuracy': 0.95, 'min_recall': {'ill': 0.9}}
    """
    found: dict[str, dict[Any, float]] = {}
    for one in promises:
        found.setdefault(one.parameter, {})[one.label] = one.limit
    return {
        name: by_label[None] if list(by_label) == [None] else by_label
        for name, by_label in found.items()
    }


def promises_from_fields(fields: Fields, labels: Sequence[object]) -> tuple[Promise, ...]:
    """Read promises from a file and check them."""
    found: list[Promise] = []
    for one in fields.many_fields("promises"):
        kind, label = one.text("kind"), one.get("label")
        if kind not in _KINDS:
            one.refuse("kind", f"one of {', '.join(_KINDS)}", kind)
        may_be = {"accuracy": [None, *labels], "recall": [*labels]}.get(kind, [None])
        if label not in may_be or (kind, label) in ((each.kind, each.label) for each in found):
            one.refuse("label", f"one of {some(may_be)}, each once", label)
        limit = one.number("limit", 0, math.inf if kind == "cost" else 1)
        if not limit and kind != "cost":
            one.refuse("limit", "above 0", limit)
        found.append(Promise(kind, limit, may_be[may_be.index(label)]))
    return tuple(found)
