"""Check what is promised about a cascade, and turn it into promises about rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from emsco._base.checks import check_number, refused
from emsco._base.text import some
from emsco._base.typing import FloatArray
from emsco.cascade.cascade import Cascade
from emsco.data.labels import of_labels
from emsco.errors import Parameter, ParameterError
from emsco.trust.promises import Promise

__all__ = ["check_promises", "exit_costs"]


def check_promises(
    cascade: Cascade, targets: Mapping[str, Any], delta: float
) -> tuple[Promise, ...]:
    """Return the promises that targets such as ``{"min_accuracy": 0.95}`` stand for."""
    check_number("delta", delta, 0, 1, "()")
    found = (*_accuracy(cascade, targets), *_coverage(targets), *_cost(cascade, targets))
    found += tuple(_by_label(cascade, "min_recall", targets.get("min_recall") or {}))
    if not found:
        raise ParameterError(
            "at least one of ",
            Parameter("min_accuracy"),
            ", ",
            Parameter("min_coverage"),
            ", ",
            Parameter("max_cost"),
            " and ",
            Parameter("min_recall"),
            " must be given, got none.",
        )
    return found


def exit_costs(cascade: Cascade) -> FloatArray:
    """Return what a row of a cascade can cost, in ascending order; 0 before the first stage."""
    found: FloatArray = np.unique([0.0, *cascade.stage_costs.tolist()])
    return found


def _accuracy(cascade: Cascade, targets: Mapping[str, Any]) -> Iterator[Promise]:
    target = targets.get("min_accuracy")
    if target is not None:
        by_label = target if isinstance(target, Mapping) else {None: target}
        yield from _by_label(cascade, "min_accuracy", by_label)


def _coverage(targets: Mapping[str, Any]) -> Iterator[Promise]:
    if (target := targets.get("min_coverage")) is not None:
        yield Promise("min_coverage", check_number("min_coverage", target, 0, 1, "(]"))


def _cost(cascade: Cascade, targets: Mapping[str, Any]) -> Iterator[Promise]:
    if (target := targets.get("max_cost")) is not None:
        most = check_number("max_cost", target, 0, math.inf, "[)")
        costs = exit_costs(cascade)
        worst = float(costs[-1]) or 1.0
        yield Promise("max_cost", most, None, tuple((costs / worst).tolist()), worst)


def _by_label(cascade: Cascade, name: str, targets: Any) -> Iterator[Promise]:
    """Yield a promise for each label that has a target."""
    if not isinstance(targets, Mapping):
        raise refused(name, "be a dict of labels and shares, as in {'ill': 0.9}", targets)
    labels = cascade.classes.tolist()
    for label, target in of_labels(targets, labels).items():
        is_whole = label is None and name == "min_accuracy"
        if label not in labels and not is_whole:
            raise refused(name, f"name the classes {some(labels)}", label)
        of = "" if is_whole else f"class {label!r}"
        share = check_number(name, target, 0, 1, "(]", of=of)
        yield Promise(name, share, None if is_whole else labels[labels.index(label)])
