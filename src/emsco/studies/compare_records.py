"""Results of a comparison on your own data: the record, its table and its sentences."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from emsco._base.objectives import Objectives
from emsco.studies.methods import Contestant, MethodResult, Outcome

__all__ = ["OwnComparison", "label_of"]

_CHANCE = 1.96  # standard errors, at 95 %


@dataclass(frozen=True, slots=True, eq=False)
class OwnComparison:
    """Results of every method on the test rows.

    Attributes
    ----------
    results : dict of str to MethodResult
        By method; a method that could not run has a note and no outcome.
    min_confidence : float
        Threshold of the methods that can decline to answer.
    total_cost : float
        Cost of buying everything.
    n_rows : tuple of int
        Training, scored and test rows.
    n_effective : float
        Kish's effective number of test rows; without weights, all of them.
    name : str
        Name of the data, for headings.
    references : dict of str to Objectives
        What there is on the test rows without a cascade, by title: the commonest class for nothing,
        and a model of all features that answers every row.
    of : dict
        Digests and settings that identify the comparison; empty unless `begin` was given.
    """

    results: dict[str, MethodResult]
    min_confidence: float
    total_cost: float
    n_rows: tuple[int, int, int]
    n_effective: float
    name: str = "your data"
    references: dict[str, Objectives] = field(default_factory=dict)
    of: dict[str, Any] = field(default_factory=dict)

    @property
    def deployed(self) -> dict[str, Outcome]:
        """The outcome that each method deploys, the most accurate on test rows first."""
        ran = {name: one.outcomes[0] for name, one in self.results.items() if one.outcomes}
        return dict(sorted(ran.items(), key=lambda item: -item[1].seen.accuracy))

    @property
    def beaten(self) -> list[tuple[str, str]]:
        """Pairs of methods in which the second dominates the first on the test rows."""
        own = self.deployed
        return [(a, b) for a in own for b in own if own[b].seen.dominates(own[a].seen)]

    def chance(self, method: str) -> float:
        """Half the width of a 95 % interval around the accuracy of a method."""
        return self._chance(self.deployed[method].seen)

    def _chance(self, test: Objectives) -> float:
        labelled = max(1.0, test.coverage * self.n_effective)
        return _CHANCE * math.sqrt(test.accuracy * (1 - test.accuracy) / labelled)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "data": self.name,
            "min_confidence": self.min_confidence,
            "total_cost": self.total_cost,
            "rows": dict(zip(("train", "scored", "test"), self.n_rows, strict=True)),
            "methods": {name: one.to_dict() for name, one in self.results.items()},
            "references": [
                {"title": title, **asdict(test)} for title, test in self.references.items()
            ],
            "beaten": [{"method": a, "by": b} for a, b in self.beaten],
            "summary": self.summary(),
            "of": self.of,
        }

    def to_markdown(self) -> str:
        """One table, and the sentences of `summary` below it."""
        lines = [
            f"# Methods on {self.name}, {self.n_rows[2]:,} test rows",
            "",
            "| method | accuracy % | coverage % | cost | cost, % of buying everything | setting |",
            "|---|---|---|---|---|---|",
        ]
        for name, outcome in self.deployed.items():
            setting = self.results[name].setting or {}
            shown = ", ".join(f"{key} {_short(value)}" for key, value in setting.items())
            lines.append(self._line(label_of(name), outcome.seen, shown))
        lines += [self._line(title, test) for title, test in self.references.items()]
        return "\n".join([*lines, "", *(f"- {sentence}" for sentence in self.summary())])

    def _line(self, label: str, test: Objectives, setting: str = "") -> str:
        """Line of the table; a bar inside a label would end its cell."""
        return (
            f"| {label.replace('|', chr(92) + '|')} "
            f"| {100 * test.accuracy:.1f} ± {100 * self._chance(test):.1f} "
            f"| {100 * test.coverage:.1f} | {test.cost:.4g} "
            f"| {100 * test.cost / self.total_cost:.1f} | {setting} |"
        )

    def summary(self) -> list[str]:
        """The findings in sentences."""
        if not (own := self.deployed):
            return ["No method could run.", *self._left_out()]
        if len(own) == 1:
            return [*self._alone(*own), *self._left_out()]
        lines = [*self._leaders(), *self._losers()]
        losers = {a for a, _ in self.beaten}
        free = [label_of(name) for name in own if name not in losers]
        if len(free) > 1:
            none = "None of the others beats another" if losers else "No method beats another"
            lines.append(f"{none}; your priorities decide: {', '.join(free)}.")
        lines.append(
            f"With {self.n_rows[2]} test rows, differences in accuracy of less than about "
            f"{100 * self._margin:.0f} points may be chance."
        )
        return lines + self._left_out()

    @property
    def _margin(self) -> float:
        """Difference between two accuracies below which it may be chance."""
        return math.sqrt(2) * max(self.chance(name) for name in self.deployed)

    def _alone(self, name: str) -> list[str]:
        """Sentences about the only method that ran."""
        own = self.deployed
        return [
            f"{label_of(name)} is {_figures(own[name])}; "
            f"buying everything costs {self.total_cost:g}.",
            f"It labels {_correct(own[name]):.1%} of all rows correctly.",
        ]

    def _leaders(self) -> list[str]:
        """Sentences about the best method in each respect."""
        own = self.deployed
        accurate = _best({name: one.seen.accuracy for name, one in own.items()})
        cheap = _best({name: -one.seen.cost for name, one in own.items()})
        wide = _best({name: one.seen.coverage for name, one in own.items()})
        correct = _best({name: _correct(one) for name, one in own.items()})
        everything = f"buying everything costs {self.total_cost:g}"
        share = f"{_correct(own[correct[0]]):.1%} of all"
        return [
            f"Most accurate is {_told(accurate[0], own)}{_level(accurate)}.",
            f"Cheapest is {_told(cheap[0], own)}{_level(cheap)}; {everything}.",
            f"Coverage is highest with {_told(wide[0], own)}{_level(wide)}.",
            f"The most rows are labelled correctly by {label_of(correct[0])}: "
            f"{share}{_level(correct)}.",
        ]

    def _losers(self) -> list[str]:
        """Sentences about methods that another one beats, and whether that may be chance."""
        own, lines = self.deployed, []
        for loser in dict.fromkeys(a for a, _ in self.beaten):
            winners = [b for a, b in self.beaten if a == loser]
            accuracy = own[loser].seen.accuracy
            near = [b for b in winners if own[b].seen.accuracy - accuracy < self._margin]
            beat = f"beats {label_of(loser)}: it costs no more, labels no fewer rows and is"
            if len(winners) > 1:
                beat = f"beat {label_of(loser)}: they cost no more, label no fewer rows and are"
            caveat = f" The accuracies of {_and([*near, loser])} may differ by chance."
            lines.append(f"{_and(winners)} {beat} no less accurate.{caveat if near else ''}")
        return lines

    def _left_out(self) -> list[str]:
        return [
            f"{label_of(name)} was left out: {one.note}"
            for name, one in self.results.items()
            if not one.outcomes
        ]


def label_of(method: str) -> str:
    """Name of a method in tables and drawings."""
    return "EMSCO" if method == "emsco" else Contestant(method, "tuned").label


def _told(name: str, own: dict[str, Outcome]) -> str:
    return f"{label_of(name)} ({_figures(own[name])})"


def _figures(outcome: Outcome) -> str:
    test = outcome.seen
    return (
        f"{test.accuracy:.1%} correct on the {test.coverage:.1%} of rows it labels, "
        f"at a mean cost of {test.cost:.4g}"
    )


def _best(values: dict[str, float]) -> list[str]:
    """Names with the largest value, rounding aside."""
    largest = max(values.values())
    return [name for name, value in values.items() if math.isclose(value, largest, rel_tol=1e-9)]


def _correct(outcome: Outcome) -> float:
    """Share of all rows that get the correct label."""
    return outcome.seen.coverage * outcome.seen.accuracy


def _level(names: list[str]) -> str:
    """Words that name the methods as good as the first."""
    return f", level with {_and(names[1:])}" if len(names) > 1 else ""


def _and(names: list[str]) -> str:
    labels = [label_of(name) for name in names]
    return " and ".join([", ".join(labels[:-1]), labels[-1]] if len(labels) > 1 else labels)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
