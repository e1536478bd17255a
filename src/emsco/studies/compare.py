"""Every method on one split of anyone's data, each with a curve over its own knob."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from emsco import baselines
from emsco._base.checks import check_choice
from emsco._base.objectives import Objectives
from emsco.designs.space import default_max_stages
from emsco.designs.thresholds import check_min_confidence
from emsco.errors import EMSCOError
from emsco.search.settings import SearchSettings
from emsco.studies.jobs import Begin, Report
from emsco.studies.methods import (
    EVERY,
    RIVALS,
    Attempt,
    Contestant,
    MethodResult,
    Outcome,
    new_rival,
    run_rival,
    spread,
)
from emsco.studies.searching import Parts, SplitBanks, SplitData

__all__ = ["METHODS", "OwnComparison", "compare_methods", "label_of"]

METHODS = ("emsco", *RIVALS)
_THRESHOLDS = (0.35, 0.45, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_CHANCE = 1.96  # standard errors, at 95 %


@dataclass(frozen=True, slots=True, eq=False)
class OwnComparison:
    """What every method does on the test rows.

    Attributes
    ----------
    results : dict of str to MethodResult
        By method; one that could not be run has a note and no outcome.
    min_confidence : float
        Threshold of the methods that can decline to answer.
    total_cost : float
        Cost of everything.
    n_rows : tuple of int
        Training, validation and test rows.
    n_alike : float
        Test rows of one weight that would leave as much to chance; without weights, all of them.
    name : str
        Of the data, for headings.
    of : dict
        What tells it from other comparisons, where someone asked: digests and settings.
    """

    results: dict[str, MethodResult]
    min_confidence: float
    total_cost: float
    n_rows: tuple[int, int, int]
    n_alike: float
    name: str = "your data"
    of: dict[str, Any] = field(default_factory=dict)

    @property
    def deployed(self) -> dict[str, Outcome]:
        """What each method deploys, the most accurate on test rows first."""
        ran = {name: one.outcomes[0] for name, one in self.results.items() if one.outcomes}
        return dict(sorted(ran.items(), key=lambda item: -item[1].seen.accuracy))

    @property
    def beaten(self) -> list[tuple[str, str]]:
        """Pairs of methods of which the second dominates the first on the test rows."""
        own = self.deployed
        return [(a, b) for a in own for b in own if own[b].seen.dominates(own[a].seen)]

    def chance(self, method: str) -> float:
        """By how much the accuracy of a method may be off, at 95 %, for want of test rows."""
        test = self.deployed[method].seen
        labelled = max(1.0, test.coverage * self.n_alike)
        return _CHANCE * math.sqrt(test.accuracy * (1 - test.accuracy) / labelled)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "data": self.name,
            "min_confidence": self.min_confidence,
            "total_cost": self.total_cost,
            "rows": dict(zip(("train", "validation", "test"), self.n_rows, strict=True)),
            "methods": {name: one.to_dict() for name, one in self.results.items()},
            "beaten": [{"method": a, "by": b} for a, b in self.beaten],
            "summary": self.summary(),
            "of": self.of,
        }

    def to_markdown(self) -> str:
        """One table, and what it says."""
        lines = [
            f"# Methods on {self.name}, {self.n_rows[2]:,} test rows",
            "",
            "| method | accuracy % | coverage % | cost | of the cost of everything % | setting |",
            "|---|---|---|---|---|---|",
        ]
        for name, outcome in self.deployed.items():
            test, setting = outcome.seen, self.results[name].setting or {}
            shown = ", ".join(f"{key} {_short(value)}" for key, value in setting.items())
            lines.append(
                f"| {label_of(name)} | {100 * test.accuracy:.1f} ± {100 * self.chance(name):.1f} "
                f"| {100 * test.coverage:.1f} | {test.cost:.4g} "
                f"| {100 * test.cost / self.total_cost:.1f} | {shown} |"
            )
        return "\n".join([*lines, "", *(f"- {sentence}" for sentence in self.summary())])

    def summary(self) -> list[str]:
        """What was found, in sentences."""
        if not (own := self.deployed):
            return ["No method could be run.", *self._left_out()]
        if len(own) == 1:
            return [*self._alone(*own), *self._left_out()]
        lines = [*self._leaders(), *self._losers()]
        losers = {a for a, _ in self.beaten}
        free = [label_of(name) for name in own if name not in losers]
        if len(free) > 1:
            which = "the others" if losers else "them"
            lines.append(f"Which of {which} is best depends on what counts: {', '.join(free)}.")
        lines.append(
            f"With {self.n_rows[2]} test rows, accuracies that differ by less than about "
            f"{100 * self._margin:.0f} points may differ by chance."
        )
        return lines + self._left_out()

    @property
    def _margin(self) -> float:
        """Accuracies that are nearer to each other than this may differ by chance."""
        return math.sqrt(2) * max(self.chance(name) for name in self.deployed)

    def _alone(self, name: str) -> list[str]:
        """Sentences on the only method."""
        own = self.deployed
        return [
            f"Deployed is {_told(name, own)}; buying everything costs {self.total_cost:g}.",
            f"It gives {_right(own[name]):.1%} of all rows the right label.",
        ]

    def _leaders(self) -> list[str]:
        """Sentences on who is best at what."""
        own = self.deployed
        accurate = _best({name: one.seen.accuracy for name, one in own.items()})
        cheap = _best({name: -one.seen.cost for name, one in own.items()})
        wide = _best({name: one.seen.coverage for name, one in own.items()})
        right = _best({name: _right(one) for name, one in own.items()})
        everything = f"buying everything costs {self.total_cost:g}"
        share = f"{_right(own[right[0]]):.1%} of all"
        return [
            f"Most accurate is {_told(accurate[0], own)}{_level(accurate)}.",
            f"Cheapest is {_told(cheap[0], own)}{_level(cheap)}; {everything}.",
            f"Most rows get a label from {_told(wide[0], own)}{_level(wide)}.",
            f"Most rows get the right label from {label_of(right[0])}: {share}{_level(right)}.",
        ]

    def _losers(self) -> list[str]:
        """Sentences on methods that are beaten, and whether that may be chance."""
        own, lines = self.deployed, []
        for loser in dict.fromkeys(a for a, _ in self.beaten):
            winners = [b for a, b in self.beaten if a == loser]
            accuracy = own[loser].seen.accuracy
            near = [b for b in winners if own[b].seen.accuracy - accuracy < self._margin]
            they = "it costs no more, labels no fewer rows and is"
            if len(winners) > 1:
                they = "they cost no more, label no fewer rows and are"
            caveat = f" In accuracy, {_and([*near, loser])} differ by no more than chance might."
            lines.append(
                f"{label_of(loser)} is beaten by {_and(winners)}: {they} no less accurate."
                f"{caveat if near else ''}"
            )
        return lines

    def _left_out(self) -> list[str]:
        return [
            f"{label_of(name)} was left out: {one.note}"
            for name, one in self.results.items()
            if not one.outcomes
        ]


def compare_methods(
    parts: Parts,
    min_confidence: float = 0.75,
    methods: Sequence[str] = METHODS,
    seed: int = 0,
    most: int = EVERY,
    n_jobs: int | None = -1,
    begin: Begin | None = None,
    report: Report | None = None,
) -> OwnComparison:
    """Fit, tune and test every method on the same rows.

    Parameters
    ----------
    parts : Parts
    min_confidence : float
        How sure methods must be that can decline to answer; above 1 / number of classes.
    methods : sequence of str
        "emsco" and rivals; see `METHODS`.
    seed : int
    most : int
        Most settings of each rival's grid, and thresholds of EMSCO, that are tried.
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    begin : callable, optional
        Called with what the comparison is of (see `OwnComparison`) once all is checked and before
        anything is computed; may refuse.
    report : callable, optional
        Called with the number of methods done, of all, and the name of the last one.
    """
    check_min_confidence(min_confidence, np.unique(parts.y))
    methods = tuple(dict.fromkeys(methods))
    for method in methods:
        check_choice("methods", method, METHODS)
    of: dict[str, Any] = {}
    if begin:
        of = {**SplitData.from_parts(parts).facts(), "methods": methods, "seed": seed}
        of |= {"min_confidence": min_confidence, "settings tried": most}
        begin(of)
    workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    jobs = (delayed(_run)(method, parts, min_confidence, seed, most) for method in methods)
    found: dict[str, MethodResult] = {}
    for method, result in workers(jobs):
        found[method] = result
        if report:
            report(len(found), len(methods), label_of(method))
    return OwnComparison(
        {method: found[method] for method in methods},
        min_confidence,
        parts.costs.total,
        (len(parts.train), len(parts.val), len(parts.test)),
        _n_alike(parts),
        of=of,
    )


def label_of(method: str) -> str:
    """What tables and drawings call a method."""
    return "EMSCO" if method == "emsco" else Contestant(method, "tuned").label


def _run(
    method: str, parts: Parts, min_confidence: float, seed: int, most: int
) -> tuple[str, MethodResult]:
    started = perf_counter()
    try:
        if method == "emsco":
            result = _run_emsco(parts, min_confidence, seed, most)
        else:
            rival = new_rival(method, parts.costs, min_confidence, seed)
            result = run_rival(rival, parts, most)
            if result.setting == {}:  # it has no knob but the threshold
                result = _over_thresholds(rival, parts, result, most)
    except EMSCOError as obstacle:
        result = MethodResult(note=str(obstacle))
    return method, replace(result, seconds=perf_counter() - started)


def _run_emsco(parts: Parts, min_confidence: float, seed: int, most: int) -> MethodResult:
    """The balanced design at every threshold; deployed is the one at the threshold asked for."""
    banks = SplitBanks(parts)
    n_features = len(parts.costs.names)
    settings = SearchSettings(default_max_stages(n_features), 1 / n_features)
    curve, outcome, note = [], None, ""
    for threshold in _thresholds(parts, min_confidence, most):
        rng = np.random.default_rng(seed)
        found = banks.search("auto", settings, threshold, rng)
        choice = banks.choose(found, "balanced", threshold)
        curve.append(Attempt({"min_confidence": threshold}, choice.scored, choice.seen))
        if threshold == min_confidence:
            outcome, note = Outcome.from_choice(0, choice), str(found.stop_reason)
    if outcome is None:
        raise AssertionError("the threshold asked for is one of them")
    return MethodResult((outcome,), tuple(curve), {"min_confidence": min_confidence}, note)


def _over_thresholds(
    rival: baselines.CostedClassifier, parts: Parts, result: MethodResult, most: int
) -> MethodResult:
    """The same result, with the curve of a rival over thresholds."""
    threshold = rival.get_params()["min_confidence"]
    grid = [{"min_confidence": one} for one in _thresholds(parts, threshold, most)]
    train, val, test = (parts.rows(part) for part in ("train", "val", "test"))
    tuned = baselines.tune(rival, train, val, test=test, grid=grid)
    curve = tuple(Attempt.from_trial(trial) for trial in tuned.trials)
    return replace(result, curve=curve, setting={"min_confidence": threshold})


def _thresholds(parts: Parts, asked: float, most: int) -> list[float]:
    """Thresholds to try: above that which every row reaches, and the one asked for."""
    least = 1 / len(np.unique(parts.y))
    return sorted({asked, *spread([one for one in _THRESHOLDS if one > least], most)})


def _n_alike(parts: Parts) -> float:
    """Kish's effective size of the test rows."""
    if parts.weights is None:
        return float(len(parts.test))
    weights = parts.weights[parts.test]
    return float(weights.sum() ** 2 / (weights**2).sum())


def _told(name: str, own: dict[str, Outcome]) -> str:
    test: Objectives = own[name].seen
    return (
        f"{label_of(name)} ({test.accuracy:.1%} right of the {test.coverage:.1%} of rows that it "
        f"labels, at a mean cost of {test.cost:.4g})"
    )


def _best(values: dict[str, float]) -> list[str]:
    """Names with the largest value, the same but for rounding."""
    largest = max(values.values())
    return [name for name, value in values.items() if math.isclose(value, largest, rel_tol=1e-9)]


def _right(outcome: Outcome) -> float:
    """Share of all rows that get the right label."""
    return outcome.seen.coverage * outcome.seen.accuracy


def _level(names: list[str]) -> str:
    """Who is as good as the first."""
    return f", level with {_and(names[1:])}" if len(names) > 1 else ""


def _and(names: list[str]) -> str:
    labels = [label_of(name) for name in names]
    return " and ".join([", ".join(labels[:-1]), labels[-1]] if len(labels) > 1 else labels)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
