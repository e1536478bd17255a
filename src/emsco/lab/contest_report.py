"""A contest as plain values and as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from emsco._base.text import counted
from emsco._base.typing import FloatArray
from emsco.lab.contest_duels import (
    Duel,
    Promise,
    mean_ranks,
    promise_of,
    task_duels,
    task_ranks,
    volume_duels,
    volume_ranks,
)
from emsco.lab.contest_records import LEAST_SPLITS, SHARED, TASKS, Contest, Standing, Task
from emsco.lab.contest_words import broken_limits, quick_words, summary_of
from emsco.lab.contests import EMSCO, label_of
from emsco.lab.questions import BUDGETS
from emsco.stats.tests import margin


@dataclass(frozen=True, eq=False)
class ContestReport:
    """Findings of a contest; every test is computed once."""

    contest: Contest

    @cached_property
    def duels(self) -> dict[str, list[Duel]]:
        """Duels of EMSCO with every rival, by task; "volume" is the task of hypervolumes."""
        if not self.contest.methods:
            return {}
        found = {task.key: task_duels(self.contest, task) for task in TASKS}
        return {**found, "volume": volume_duels(self.contest)}

    @cached_property
    def ranks(self) -> dict[str, dict[str, dict[str, float]]]:
        """Ranks by task, budget and method; those of hypervolumes have the budget ""."""
        if not self.contest.methods:
            return {}
        found = {
            task.key: {f"{budget:g}": one for budget, one in task_ranks(self.contest, task).items()}
            for task in TASKS
        }
        return {**found, "volume": {"": volume_ranks(self.contest)}}

    @cached_property
    def promises(self) -> dict[str, Promise]:
        """What every method promised and kept."""
        return {method: promise_of(self.contest, method) for method in self.contest.methods}

    def summary(self) -> list[str]:
        """The findings in four sentences, and one for each method that was left out."""
        return summary_of(self.contest)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        contest = self.contest
        return {
            "data": contest.name,
            "rows": dict(zip(("fitted", "test"), contest.n_rows, strict=True)),
            "splits": list(contest.splits),
            "quick": contest.quick,
            "total_cost": contest.total_cost,
            "error_cost": contest.error_cost,
            "reject_cost": contest.reject_cost,
            "commonest": contest.commonest_accuracy,
            "methods": {method: self._plain(method) for method in contest.methods},
            "left_out": contest.left_out,
            "duels": {
                task: [self._plain_duel(duel) for duel in duels]
                for task, duels in self.duels.items()
            },
            "summary": self.summary(),
            "of": dict(contest.of),
        }

    def _plain(self, method: str) -> dict[str, Any]:
        contest = self.contest
        promise, volumes = self.promises[method], contest.volumes[method]
        return {
            "label": label_of(method),
            "seconds": round(contest.seconds(method), 3),
            "answers": [
                {"asked": asdict(question), **standing.to_dict()}
                for (name, question), standing in contest.standings.items()
                if name == method
            ],
            "hypervolume": {
                "mean": float(volumes.mean()),
                "margin": _margin(volumes),
                "by_split": volumes.tolist(),
            },
            "mean_rank": {
                task: mean_ranks(cells.values())[method] for task, cells in self.ranks.items()
            },
            "promise": {**asdict(promise), "gap": promise.gap, "in_errors": promise.in_errors},
        }

    def _plain_duel(self, duel: Duel) -> dict[str, Any]:
        """A duel, without test and verdict if there is a single split."""
        found = {**asdict(duel), "verdict": duel.verdict}
        return found if self._tested else {**found, "p_value": None, "verdict": None}

    @property
    def _tested(self) -> bool:
        return len(self.contest.splits) > 1

    def _duel(self, duel: Duel) -> str:
        tested = f"{duel.p_value:.2g}, {duel.verdict}" if self._tested else "–"
        return f"{signed(duel.gain)} ({tested})"

    def to_markdown(self, level: int = 1) -> str:
        """Tables of all tasks below the sentences of `summary`; headings begin at a level."""
        contest = self.contest
        fitted, test = contest.n_rows
        parts = [
            f"{'#' * level} Methods on {contest.name}: "
            f"{counted(len(contest.splits), 'split')}, {fitted:,} fitted and {test:,} test rows",
            *filter(None, [quick_words(contest)]),
            "\n".join(f"- {sentence}" for sentence in self.summary()),
        ]
        if contest.methods:
            for task in TASKS:
                parts += [f"{'#' * (level + 1)} {task.title}", *self._task(task)]
            parts += [f"{'#' * (level + 1)} All offers together", self._others()]
        return "\n\n".join(parts)

    def _task(self, task: Task) -> list[str]:
        """Tables of one task: accuracy, duels, and what else was kept."""
        everything = f"The commonest class alone: {100 * self.contest.commonest_accuracy:.1f} %."
        spread = " ± 95 % margin" if len(self.contest.splits) >= LEAST_SPLITS else ""
        found = [f"Accuracy kept{spread} (promised), %. {everything}"]
        ranks = mean_ranks(self.ranks[task.key].values())
        found.append(self._table(task, _accuracy, {"rank": lambda one: f"{ranks[one]:.2f}"}))
        found += broken_limits(self.contest, task)
        if duels := self.duels[task.key]:
            lead = "Lead of EMSCO over each rival in points (corrected p-value, verdict)."
            found += [lead, self._duel_table(duels)]
        found += ["Mean cost kept, % of everything (+ overrun).", self._table(task, _cost)]
        if task.coverage < 1:
            found += ["Coverage kept, % (- below asked).", self._table(task, _coverage)]
        found += ["Log loss of labelled rows.", self._table(task, _log_loss)]
        total = self.contest.total_cost
        rejection = f"{self.contest.reject_cost:g}" if self.contest.reject_cost else "nothing"
        error = f"an error costs {self.contest.error_cost:g}, everything {total:g}"
        error = f"{error}, a rejection {rejection}"
        words = f"Mean total of a row, its errors and rejections, % of everything; {error}."
        return [*found, words, self._table(task, lambda one: _money(one, total))]

    def _table(
        self,
        task: Task,
        shown: Callable[[Standing], str],
        more: dict[str, Callable[[str], str]] | None = None,
    ) -> str:
        """A table of methods by budgets, and further columns."""
        contest, more = self.contest, more or {}
        lines = []
        for method in contest.methods:
            cells = [shown(contest.standing(method, task.coverage, budget)) for budget in BUDGETS]
            lines.append([_named(method), *cells, *(one(method) for one in more.values())])
        return markdown_table(["method", *map(_percent, BUDGETS), *more], lines)

    def _duel_table(self, duels: Sequence[Duel]) -> str:
        budgets = list(dict.fromkeys(duel.budget for duel in duels))
        lines = []
        for rival in dict.fromkeys(duel.rival for duel in duels):
            own = {duel.budget: duel for duel in duels if duel.rival == rival}
            lines.append([label_of(rival), *(self._duel(own[budget]) for budget in budgets)])
        return markdown_table(["rival", *(_percent(one or 0.0) for one in budgets)], lines)

    def _others(self) -> str:
        """Hypervolumes, promises, overruns and seconds."""
        contest = self.contest
        verdicts = {duel.rival: self._duel(duel) for duel in self.duels["volume"]}
        lines = []
        for method in contest.methods:
            volumes, promise = contest.volumes[method], self.promises[method]
            errors = "" if promise.in_errors is None else f"{promise.in_errors:.1f}"
            lines.append(
                [
                    _named(method),
                    _volume(volumes),
                    *([verdicts.get(method, "")] if verdicts else []),
                    f"{self.ranks['volume'][''][method]:g}",
                    f"{100 * promise.promised:.2f}",
                    f"{100 * promise.kept:.2f}",
                    signed(promise.gap),
                    errors,
                    f"{100 * promise.overspent:.2f}",
                    f"{100 * promise.short:.2f}",
                    f"{contest.seconds(method):.1f}",
                ]
            )
        heads = ["method", "hypervolume, %", *(["lead of EMSCO"] if verdicts else []), "rank"]
        heads += [
            "promised, %",
            "kept, %",
            "promised less kept",
            "in standard errors",
            "overspent, %",
            "coverage short, %",
        ]
        return markdown_table([*heads, "seconds per split"], lines)


def markdown_table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a bar inside a cell is escaped, since it would end the cell."""
    rows = [heads, ["---", *["---:"] * (len(heads) - 1)], *lines]
    return "\n".join(
        f"| {' | '.join(one.replace('|', chr(92) + '|') for one in row)} |" for row in rows
    )


def signed(gain: float) -> str:
    """A gain in points with its sign.

    Examples
    --------
    >>> signed(0.0123), signed(-0.00001)
    ('+1.23', '0.00')
    """
    points = round(100 * gain, 2)
    return f"{points:+.2f}" if points else "0.00"


def _margin(figures: FloatArray) -> float:
    return float(margin(figures[:, None], SHARED)[0])


def _named(method: str) -> str:
    return f"**{label_of(method)}**" if method == EMSCO else label_of(method)


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _accuracy(one: Standing) -> str:
    spread = f" ± {100 * one.margin:.1f}" if len(one.accuracy) >= LEAST_SPLITS else ""
    return f"{100 * one.mean:.1f}{spread} ({100 * one.promised.mean():.1f})"


def _volume(volumes: FloatArray) -> str:
    spread = f" ± {100 * _margin(volumes):.2f}" if len(volumes) >= LEAST_SPLITS else ""
    return f"{100 * volumes.mean():.2f}{spread}"


def _cost(one: Standing) -> str:
    over = f" (+{100 * one.overspent:.2f})" if one.overspent > 0 else ""
    return f"{100 * one.cost.mean():.2f}{over}"


def _coverage(one: Standing) -> str:
    short = f" (-{100 * one.short:.1f})" if one.short > 0 else ""
    return f"{100 * one.coverage.mean():.1f}{short}"


def _log_loss(one: Standing) -> str:
    return f"{one.log_loss.mean():.3f}"


def _money(one: Standing, total: float) -> str:
    return f"{100 * one.money.mean() / total:.1f}"
