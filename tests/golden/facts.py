"""What a fit does, as lines of text, told by names that every version of emsco keeps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import zip_longest
from string import ascii_lowercase, digits
from typing import Any

import numpy as np
import pandas as pd

from emsco import EMSCOClassifier, FeatureCosts
from emsco.errors import InterruptedWarning, NoSuchDesign

SIGNS = digits + ascii_lowercase  # of classes and stages
N_CASES = 10  # rows that also buy value by value
LIMITS = {"min_coverage": 0.8}  # of the design that is chosen after the deployed one

Facts = dict[str, list[str] | str]  # sections; text has a sign a row


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to fit on, new rows to decide, costs, and the parameters of the classifier.

    Attributes
    ----------
    rows, new : DataFrame
    y, y_new : ndarray
    costs : FeatureCosts
    settings : dict
        Parameters of `EMSCOClassifier`.
    weights, groups : ndarray or None
        Of the rows to fit on.
    prices : dict
        Feature with a price by row → the column that holds it.
    classifier : callable
        Makes the classifier of costs and settings.
    """

    rows: pd.DataFrame
    y: np.ndarray
    new: pd.DataFrame
    y_new: np.ndarray
    costs: FeatureCosts
    settings: Mapping[str, Any]
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    prices: Mapping[str, str] = field(default_factory=dict)
    classifier: Callable[..., EMSCOClassifier] = EMSCOClassifier


def facts_of(problem: Problem, n_jobs: int = 1) -> Facts:
    """Fit, decide the new rows and evaluate them."""
    settings = {"random_state": 0, "n_jobs": n_jobs, **problem.settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", InterruptedWarning)  # else the fit goes on with less
        clf = problem.classifier(costs=problem.costs, **settings)
        clf.fit(problem.rows, problem.y, problem.weights, groups=problem.groups)
        expected, seen = clf.point_.expected, clf.evaluate(problem.new, problem.y_new)
        facts: Facts = {"front": [line_of(point) for point in clf.front_]}
        facts["deployed"] = [text_of(clf.design_)]
        if expected is not None:
            estimates = (expected.coverage, expected.accuracy, expected.cost)
            facts["expected"] = [
                f"{exactly(one.value)} from {exactly(one.low)} to {exactly(one.high)}"
                for one in estimates
            ]
        facts |= decisions_of(clf, problem.new)
        facts["cases"] = cases_of(clf, problem)
        facts["evaluated"] = [exactly(one) for one in (seen.coverage, seen.accuracy, seen.cost)]
        try:
            facts["chosen"] = [text_of(clf.choose(**LIMITS).design_)]
        except NoSuchDesign:
            facts["chosen"] = ["none"]
    return facts


def exactly(number: float) -> str:
    """Nine digits of a number: more of them may depend on the order of a sum."""
    return f"{number + 0.0:.9g}"  # adding 0 takes the sign off a zero


def text_of(design: Any) -> str:
    """Stage of each feature, threshold of each stage, and the questions of each branch.

    A design that branches has a line of signs for each stage: whether it buys a feature.
    """
    bought = np.asarray(design)
    if bought.ndim == 2:
        words = ["/".join("".join("01"[int(one)] for one in stage) for stage in bought)]
    else:
        words = ["".join("-" if stage < 0 else SIGNS[stage] for stage in bought.tolist())]
    for threshold in design.thresholds or ():
        by_class = threshold.values() if isinstance(threshold, Mapping) else [threshold]
        words.append(",".join(f"{one:.6g}" for one in by_class))
    for stage, branch in sorted(design.branches.items()):
        asked = " or ".join(map(str, branch.questions))
        words.append(f"after {stage}: {asked}, usually {branch.usual}")
    return " ".join(words)


def line_of(point: Any) -> str:
    """A design of the front: coverage, accuracy, cost, ties and text."""
    figures = f"{point.coverage:.6g} {point.accuracy:.6g} {exactly(point.cost)}"
    return f"{figures} x{point.n_tied} {text_of(point.design)}"


def decisions_of(clf: EMSCOClassifier, new: pd.DataFrame) -> Facts:
    """Label and exit of each new row, their mean cost, and a digest with costs and confidence."""
    made = clf.decide(new)
    sign = dict(zip(clf.classes_.tolist(), SIGNS, strict=False))
    labels = "".join("." if label is None else sign[label] for label in made.labels.tolist())
    exits = "".join(SIGNS[stage] for stage in made.stage.tolist())
    each = [(exactly(a), f"{b:.6f}") for a, b in zip(made.cost, made.confidence, strict=True)]
    digest = sha256(repr((labels, exits, each)).encode()).hexdigest()
    waited = [] if made.delay is None else [exactly(made.delay.mean())]
    return {
        "labels": labels,
        "delay": waited,
        "exits": exits,
        "cost": [exactly(made.cost.mean())],
        "digest": [digest[:16]],
    }


def cases_of(clf: EMSCOClassifier, problem: Problem) -> list[str]:
    """Label, exit and cost of rows that buy stage by stage."""
    told = []
    for row in problem.new.head(N_CASES).to_dict("records"):
        paid = {feature: row[column] for feature, column in problem.prices.items()}
        case = clf.cascade_.open(prices=paid or None)
        while case.needs:
            case.give({name: row[name] for name in case.needs})
        end = case.decision
        told.append(f"{end.label if end.accepted else '.'} {end.stage} {exactly(end.cost)}")
    return told


def differences(
    before: Facts, after: Facts, allowed: Mapping[str, float] | None = None
) -> dict[str, str]:
    """Sections that differ, each with how much of it and the first difference.

    `allowed` has the share of a section that may differ; by default none.
    """
    told = {}
    for name in {**before, **after}:
        some, other = before.get(name, ()), after.get(name, ())
        pairs = [pair for pair in zip_longest(some, other) if pair[0] != pair[1]]
        if pairs and name == "front" and {*some} != {*other}:  # not their places, but designs
            gone, new = [one for one in some if one not in {*other}], {*other} - {*some}
            pairs = [*zip_longest(gone, sorted(new))]
        n_all = max(len(some), len(other))
        is_gone = (name in before) != (name in after)
        if is_gone or len(pairs) > (allowed or {}).get(name, 0.0) * n_all:
            first = " → ".join(map(str, pairs[0] if pairs else (some, other)))
            told[name] = f"{len(pairs)} of {n_all} differ, first {first}"
    return told
