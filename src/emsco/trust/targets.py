"""Targets of a certificate: what is promised about new rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emsco._base.checks import check_number, refused
from emsco._base.documents import Fields
from emsco._base.text import some
from emsco.data.labels import of_labels
from emsco.errors import Parameter, ParameterError

__all__ = ["Target", "targets_from_fields", "targets_of"]

_KINDS = ("accuracy", "coverage", "recall", "cost")
_NO_PROOF = ", since no number of rows can show that a share is 1"


@dataclass(frozen=True, slots=True)
class Target:
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
    >>> print(Target("accuracy", 0.95))
    at least 95 % of the labels given are correct
    >>> print(Target("recall", 0.9, "ill"))
    at least 90 % of the rows that are 'ill' are called 'ill'
    """

    kind: str
    limit: float
    label: object = None

    @property
    def name(self) -> str:
        """Name of the figure, such as "accuracy of 'ill'"."""
        what = "mean cost" if self.kind == "cost" else self.kind
        return what if self.label is None else f"{what} of {self.label!r}"

    @property
    def key(self) -> str:
        """Name of the figure in a file, such as "recall ill"."""
        return self.kind if self.label is None else f"{self.kind} {self.label}"

    def is_met_by(self, figure: float) -> bool:
        """Whether a figure is on the right side of the limit."""
        return figure <= self.limit if self.kind == "cost" else figure >= self.limit

    def in_short(self) -> str:
        """Return the target in a few words, such as "coverage at least 0.8"."""
        most = "at most" if self.kind == "cost" else "at least"
        return f"{self.name} {most} {self.limit:g}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"kind": self.kind, "limit": self.limit, "label": self.label}

    def __str__(self) -> str:
        if self.kind == "cost":
            return f"a row costs at most {self.limit:g} on average"
        rows = {
            "accuracy": "labels given are correct",
            "coverage": "rows get a label",
            "recall": f"rows that are {self.label!r} are called {self.label!r}",
        }[self.kind]
        if self.kind == "accuracy" and self.label is not None:
            rows = f"rows called {self.label!r} are {self.label!r}"
        return f"at least {100 * self.limit:.6g} % of the {rows}"


def targets_of(
    labels: Sequence[object],
    min_accuracy: Any = None,
    min_coverage: Any = None,
    max_cost: Any = None,
    min_recall: Any = None,
) -> tuple[Target, ...]:
    """Check targets as users write them, and return one `Target` for each.

    `labels` are the classes. `min_accuracy` is a number, or a dict of labels and numbers, in which
    the key None stands for all labels; `min_recall` is a dict of labels and numbers.

    Examples
    --------
    >>> [one.in_short() for one in targets_of(["ill", "well"], {"well": 0.99}, max_cost=50)]
    ["accuracy of 'well' at least 0.99", 'mean cost at most 50']
    """
    found: list[Target] = []
    if min_accuracy is not None:
        by_label = min_accuracy if isinstance(min_accuracy, Mapping) else {None: min_accuracy}
        found += _by_label("accuracy", by_label, labels)
    if min_coverage is not None:
        found.append(Target("coverage", check_number("min_coverage", min_coverage, 0, 1, "(]")))
    if min_recall is not None:
        if not isinstance(min_recall, Mapping):
            rule = "be a dict of labels and shares, as in {'ill': 0.9}"
            raise refused("min_recall", rule, min_recall)
        found += _by_label("recall", min_recall, labels)
    if max_cost is not None:
        found.append(Target("cost", check_number("max_cost", max_cost, 0, math.inf, "[)")))
    if not found:
        names = ("min_accuracy", "min_coverage", "min_recall", "max_cost")
        listed = [part for name in names for part in (", ", Parameter(name))]
        raise ParameterError("one of ", *listed[1:], " must be given, got none.")
    return tuple(found)


def _by_label(kind: str, limits: Mapping[Any, Any], labels: Sequence[object]) -> list[Target]:
    """Return a target for each label; unknown labels are refused."""
    name, found = f"min_{kind}", []
    for label, limit in of_labels(limits, labels).items():
        if label not in labels and not (label is None and kind == "accuracy"):
            raise refused(name, f"name the classes {some(labels)}", limits, got=repr(label))
        of = "" if label is None else f"class {label!r}"
        least = check_number(name, limit, 0, 1, "()", of=of, note=_NO_PROOF)
        found.append(Target(kind, least, label))
    return sorted(found, key=lambda one: -1 if one.label is None else labels.index(one.label))


def targets_from_fields(fields: Fields, labels: Sequence[object]) -> tuple[Target, ...]:
    """Read targets from a file and check them."""
    found = []
    for one in fields.many_fields("targets"):
        kind, label = one.text("kind"), one.get("label")
        if kind not in _KINDS:
            one.refuse("kind", f"one of {', '.join(_KINDS)}", kind)
        may_be = {"accuracy": [None, *labels], "recall": [*labels]}.get(kind, [None])
        if label not in may_be:
            one.refuse("label", f"one of {some(may_be)}", label)
        limit = one.number("limit", 0, math.inf if kind == "cost" else 1)
        found.append(Target(kind, limit, label))
    return tuple(found)
