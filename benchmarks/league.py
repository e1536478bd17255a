"""Findings of a bake-off over all its sets: ranks, wins and losses, promises, overruns, time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from emsco._base.text import counted
from emsco.lab.contest_duels import AHEAD, BEHIND, LEVEL, Duel, mean_ranks
from emsco.lab.contest_records import TASKS, TESTED
from emsco.lab.contest_report import ContestReport, markdown_table, signed
from emsco.lab.contests import EMSCO, METHODS, label_of

__all__ = ["League"]

_TITLES = {**{task.key: task.title for task in TASKS}, "volume": "All offers together"}
_LARGE = 1000  # rows from which on a set counts as large


@dataclass(frozen=True, eq=False)
class League:
    """Reports of all sets."""

    reports: Mapping[str, ContestReport]

    @cached_property
    def methods(self) -> list[str]:
        """Methods with results on any set."""
        there = {one for report in self.reports.values() for one in report.contest.methods}
        return [method for method in METHODS if method in there]

    @cached_property
    def large(self) -> list[str]:
        """Sets with 1,000 rows or more."""
        return [
            name for name, report in self.reports.items() if sum(report.contest.n_rows) >= _LARGE
        ]

    def ranks(self, task: str | None = None) -> dict[str, float]:
        """Mean rank of every method over all sets and budgets, the best first."""
        return mean_ranks(
            cell
            for report in self.reports.values()
            for key, cells in report.ranks.items()
            for cell in cells.values()
            if task in (None, key)
        )

    def duels(self, task: str | None = None, sets: list[str] | None = None) -> list[Duel]:
        """Duels of EMSCO on some sets, in one task or all."""
        return [
            duel
            for name, report in self.reports.items()
            for key, duels in report.duels.items()
            for duel in duels
            if task in (None, key) and (sets is None or name in sets)
        ]

    def promise(self, method: str) -> dict[str, float | None]:
        """What a method promised and kept, averaged over sets."""
        found = [report.promises[method] for report in self._with(method)]
        errors = [one.in_errors for one in found if one.in_errors is not None]
        return {
            "promised": float(np.mean([one.promised for one in found])),
            "kept": float(np.mean([one.kept for one in found])),
            "gap": float(np.mean([one.gap for one in found])),
            "in_errors": float(np.mean(errors)) if errors else None,
            "most_errors": max(errors, key=abs) if errors else None,
            "overspent": float(np.mean([one.overspent for one in found])),
            "coverage_short": float(np.mean([one.short for one in found])),
        }

    def _with(self, method: str) -> list[ContestReport]:
        return [one for one in self.reports.values() if method in one.contest.methods]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "sets": {name: report.to_dict() for name, report in self.reports.items()},
            "mean_ranks": {task: self.ranks(task) for task in _TITLES} | {"all": self.ranks()},
            "duels": {
                which: {
                    rival: {task: _counts(self._against(rival, task, sets)) for task in _TITLES}
                    for rival in self.methods
                    if rival != EMSCO
                }
                for which, sets in (("all", None), ("large", self.large))
            },
            "promises": {method: self.promise(method) for method in self.methods},
        }

    def _against(self, rival: str, task: str | None, sets: list[str] | None) -> list[Duel]:
        return [duel for duel in self.duels(task, sets) if duel.rival == rival]

    def to_markdown(self) -> str:
        """Tables over all sets, then those of each set."""
        splits = [len(report.contest.splits) for report in self.reports.values()]
        fewest, most = min(splits), max(splits)
        ran = counted(most, "split") if fewest == most else f"{fewest} to {most} splits"
        parts = [
            "# Bake-off",
            f"{counted(len(self.reports), 'set')}, {ran} of each. "
            "75 % of the rows to fit and choose on, 25 % to test on.",
            "## Mean ranks",
            self._rank_table(),
            "## EMSCO against each rival",
            "Cells won / level / lost beyond chance, corrected over rivals and budgets of a set.",
            self._duel_table(None),
            f"On the {counted(len(self.large), 'set')} with {_LARGE:,} rows or more:",
            self._duel_table(self.large),
            "## EMSCO on each set",
            "Rivals that EMSCO beats / is level with / loses to, by budget.",
            *(self._set_table(task.key, task.title) for task in TASKS),
            self._volume_table(),
            "## Promised and kept",
            self._promise_table(),
            "## Seconds of processor time for a split",
            self._seconds_table(),
        ]
        return "\n\n".join(
            [*parts, *(report.to_markdown(level=2) for report in self.reports.values())]
        )

    def _rank_table(self) -> str:
        columns = [self.ranks(task) for task in (None, *_TITLES)]
        lines = [
            [
                label_of(method),
                *(f"{ranks[method]:.2f}" for ranks in columns),
                f"{len(self._with(method))}",
            ]
            for method in columns[0]
        ]
        return markdown_table(["method", "all", *_TITLES.values(), "sets"], lines)

    def _duel_table(self, sets: list[str] | None) -> str:
        lines = [
            [
                label_of(rival),
                *(_record(self._against(rival, task, sets)) for task in (*_TITLES, None)),
            ]
            for rival in self.methods
            if rival != EMSCO
        ]
        last = ["all rivals", *(_record(self.duels(task, sets)) for task in (*_TITLES, None))]
        return markdown_table(["rival", *_TITLES.values(), "all"], [*lines, last])

    def _set_table(self, task: str, title: str) -> str:
        def cell(name: str, budget: float) -> str:
            return _record([one for one in self.duels(task, [name]) if one.budget == budget])

        lines = [[name, *(cell(name, budget) for budget in TESTED)] for name in self.reports]
        return markdown_table([title, *(f"{100 * one:g} %" for one in TESTED)], lines)

    def _volume_table(self) -> str:
        lines = [[name, _record(self.duels("volume", [name]))] for name in self.reports]
        return markdown_table([_TITLES["volume"], "hypervolume"], lines)

    def _promise_table(self) -> str:
        lines = []
        for method in self.methods:
            one = self.promise(method)
            lines.append(
                [
                    label_of(method),
                    _points(one["promised"]),
                    _points(one["kept"]),
                    signed(one["gap"] or 0.0),
                    _number(one["in_errors"]),
                    _number(one["most_errors"]),
                    _points(one["overspent"]),
                    _points(one["coverage_short"]),
                ]
            )
        heads = ["method", "promised, %", "kept, %", "promised less kept", "in standard errors"]
        heads += ["most on a set", "overspent, % of everything", "coverage short, %"]
        return markdown_table(heads, lines)

    def _seconds_table(self) -> str:
        def cell(method: str, report: ContestReport) -> str:
            there = method in report.contest.methods
            return f"{report.contest.seconds(method):.1f}" if there else ""

        lines = [
            [label_of(method), *(cell(method, report) for report in self.reports.values())]
            for method in self.methods
        ]
        return markdown_table(["method", *self.reports], lines)


def _counts(duels: list[Duel]) -> dict[str, int]:
    verdicts = [duel.verdict for duel in duels]
    return {verdict: verdicts.count(verdict) for verdict in (AHEAD, LEVEL, BEHIND)}


def _record(duels: list[Duel]) -> str:
    """Won / level / lost."""
    return " / ".join(map(str, _counts(duels).values()))


def _points(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
