"""The picture of a contest: accuracy against cost kept, steps for each method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco.pictures.plotting.figures import MARKERS, STYLES, name_marks, new_figure, soften
from emsco.studies.contest_records import LEAST_SPLITS, TASKS, Contest, Standing, Task
from emsco.studies.contests import EMSCO, label_of
from emsco.studies.questions import BUDGETS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_contest"]

_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0)
_STEPS = "post"
_OWN: dict[str, Any] = {"linewidth": 2.6, "markersize": 5.0, "zorder": 5}
_OTHERS: dict[str, Any] = {"linewidth": 1.1, "markersize": 3.5, "zorder": 3}
_BANDS = {True: 0.2, False: 0.07}
_COLUMNS = 5


def draw_contest(contest: Contest, tasks: Sequence[Task] = TASKS) -> Figure:
    """Draw accuracy on test rows against mean cost kept, a panel for each task.

    Costs are drawn on a log scale, as shares of the cost of everything. An offer of a method holds
    until its next, more expensive one, so lines are steps. Bands are 95 % margins over five splits
    or more. A dashed line is the commonest class, which costs nothing.
    """
    n_lines = -(-(len(contest.methods) + 1) // _COLUMNS)
    figure = new_figure(3.4 * len(tasks) + 0.4, 3.3 + 0.18 * n_lines)
    figure.set_layout_engine("constrained")
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0].tolist()
    least = _least(contest, tasks)
    for panel, task in zip(panels, tasks, strict=True):
        _draw_task(panel, contest, task, least)
        panel.set_title(task.title, fontsize=9)
        panel.set_xlabel("mean cost of a test row, % of everything", fontsize=8)
    panels[0].set_ylim(*_ends(contest, tasks))
    panels[0].set_ylabel("accuracy of answered test rows", fontsize=8)
    name_marks(figure, panels, _COLUMNS if len(tasks) > 1 else 3)
    return figure


def _draw_task(panel: Any, contest: Contest, task: Task, least: float) -> None:
    """Draw every method, EMSCO first in the legend and on top."""
    for number, method in enumerate(sorted(contest.methods, key=lambda one: one != EMSCO)):
        standings = [contest.standing(method, task.coverage, budget) for budget in BUDGETS]
        own = method == EMSCO
        look = STYLES[number % len(STYLES)] | {"marker": MARKERS[number % len(MARKERS)]}
        costs, means, margins = _curve(standings, least)
        look |= {"drawstyle": f"steps-{_STEPS}"} | (_OWN if own else _OTHERS)
        panel.plot(costs, means, label=label_of(method), **look)
        if len(contest.splits) >= LEAST_SPLITS:
            band: dict[str, Any] = {"color": look["color"], "linewidth": 0, "alpha": _BANDS[own]}
            low, high = means - margins, means + margins
            panel.fill_between(costs, low, high, step=_STEPS, zorder=2, **band)
    panel.axhline(
        contest.commonest_accuracy,
        color="0.35",
        linestyle=(0, (6, 4)),
        linewidth=0.9,
        label="commonest class",
        zorder=1,
    )
    panel.set_xscale("log")
    panel.set_xlim(0.9 * least, 1.2)
    ticks = [tick for tick in _TICKS if tick >= least]
    panel.set_xticks(ticks, [_tick(tick, least) for tick in ticks])
    panel.set_xticks([], minor=True)
    soften(panel, 8)


def _curve(standings: Sequence[Standing], least: float) -> tuple[Any, Any, Any]:
    """Costs, mean accuracies and margins, from the cheapest answer up."""
    costs = np.array([max(least, float(one.cost.mean())) for one in standings])
    order = np.argsort(costs, kind="stable")
    means = np.array([one.mean for one in standings])
    margins = np.array([one.margin for one in standings])
    return costs[order], means[order], margins[order]


def _least(contest: Contest, tasks: Sequence[Task]) -> float:
    """Smallest cost to draw: a tick at or below all that is bought, from 0.1 to 1 %."""
    bought = [
        float(contest.standing(method, task.coverage, budget).cost.mean())
        for method in contest.methods
        for task in tasks
        for budget in BUDGETS
    ]
    cheapest = min((cost for cost in bought if cost > 0), default=1.0)
    below = [tick for tick in _TICKS if tick <= min(0.01, cheapest)]
    return below[-1] if below else _TICKS[0]


def _ends(contest: Contest, tasks: Sequence[Task]) -> tuple[float, float]:
    """Range of all mean accuracies with some room; margins of a few splits may be far wider."""
    means = [
        one.mean
        for (_, question), one in contest.standings.items()
        if question.coverage in [task.coverage for task in tasks]
    ]
    low, high = (end([contest.commonest_accuracy, *means]) for end in (min, max))
    room = 0.12 * (high - low) or 0.01
    return low - room, min(high + room, 1.0 + 0.2 * room)


def _tick(tick: float, least: float) -> str:
    """A tick in per cent; the first stands for everything cheaper too."""
    return f"{'≤ ' if tick == least else ''}{100 * tick:g}"
