"""Pictures of the paper's experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from emsco._base.checks import refused
from emsco.lab.methods import Contestant
from emsco.lab.paper.comparison import Comparison
from emsco.lab.paper.comparison_report import published
from emsco.lab.paper.global_optima import GlobalOptima
from emsco.lab.paper.standings import Standing
from emsco.lab.paper.tuning import PARAMETERS, Tuning
from emsco.plotting.figures import (
    STYLES,
    line_look,
    name_marks,
    new_figure,
    soften,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = {"evolution": STYLES[0], "paper": STYLES[1]}
_OURS: dict[str, Any] = {"marker": "o", "color": STYLES[0]["color"], "markersize": 4}
_RIVALS: dict[str, Any] = {"marker": "s", "color": STYLES[1]["color"], "markersize": 4}
_PRINTED: dict[str, Any] = {"marker": "D", "color": "0.4", "markersize": 5, "fillstyle": "none"}


def draw_global_optima(result: GlobalOptima) -> Figure:
    """Draw how many objective vectors of the exact front searches know after each generation."""
    names = list(dict.fromkeys(landscape.name for landscape in result.landscapes))
    stages = sorted({landscape.max_stages for landscape in result.landscapes})
    figure = new_figure(2.4 * len(stages) + 0.6, 2.0 * len(names) + 0.5)
    axes = figure.subplots(len(names), len(stages), squeeze=False)
    for landscape in result.landscapes:
        panel = axes[names.index(landscape.name)][stages.index(landscape.max_stages)]
        panel.axhline(landscape.n_vectors, color="0.6", linewidth=0.8, label="exact front")
        for search, curve in landscape.curves.items():
            panel.plot(curve.vectors, label=search, linewidth=1.4, **_STYLES[search])
        panel.set_title(f"{landscape.name}, k = {landscape.max_stages}", fontsize=9)
        panel.set_ylim(0, 1.08 * landscape.n_vectors)
        panel.tick_params(labelsize=7)
    for panel in axes[-1]:
        panel.set_xlabel("generation", fontsize=8)
    for line in axes:
        line[0].set_ylabel("optimal vectors", fontsize=8)
    handles, labels = axes[0][0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure


def draw_comparison(result: Comparison) -> Figure:
    """Draw accuracy, coverage and cost of every contestant on every set, a line each.

    Bars are 95 % margins of error over splits. An empty diamond is a number printed in the paper.
    """
    names = result.sets
    if not names:
        raise refused("result", "be of at least one set", result, got="none")
    heights = [len(result.contestants(name)) + 2 for name in names]
    figure = new_figure(7.2, 0.17 * sum(heights) + 0.5)
    figure.set_layout_engine("constrained")
    grid = figure.subplots(len(names), 3, squeeze=False, height_ratios=heights)
    for name, panels in zip(names, grid, strict=True):
        for place, contestant in enumerate(result.contestants(name)):
            _draw_contestant(panels, place, contestant, result.standings[name, contestant])
            _draw_printed(panels, place, published(name, contestant))
        labels = [contestant.label for contestant in result.contestants(name)]
        for panel in panels:
            soften(panel, 6.5)
            panel.set_yticks(
                range(len(labels)), labels if panel is panels[0] else [""] * len(labels)
            )
            panel.set_ylim(len(labels) - 0.4, -0.6)
        panels[0].set_title(name, fontsize=9, loc="left", fontweight="bold")
        panels[2].set_xlim(left=min(0, -0.03 * panels[2].get_xlim()[1]))  # bars may reach below 0
    for panel, objective in zip(grid[-1], ("accuracy, %", "coverage, %", "mean cost"), strict=True):
        panel.set_xlabel(objective, fontsize=8)
    for label, look in {
        "EMSCO": _OURS,
        "rivals": _RIVALS,
        "printed in the paper": _PRINTED,
    }.items():
        grid[0][0].plot([], [], linestyle="none", label=label, **look)
    name_marks(figure, grid[0], columns=3)
    return figure


def _draw_contestant(
    panels: Sequence[Any], place: int, contestant: Contestant, standing: Standing
) -> None:
    """Draw one contestant's line in the three panels."""
    mean, margin, look = standing.mean, standing.margin, _OURS if contestant.is_emsco else _RIVALS
    values = 100 * mean.accuracy, 100 * mean.coverage, mean.cost
    margins = 100 * margin.accuracy, 100 * margin.coverage, margin.cost
    for panel, value, spread in zip(panels, values, margins, strict=True):
        panel.errorbar(value, place, xerr=spread, ecolor="0.6", elinewidth=1.0, zorder=2, **look)


def _draw_printed(
    panels: Sequence[Any], place: int, printed: tuple[float, float, float] | None
) -> None:
    if printed:
        accuracy, coverage, cost = printed
        for panel, value in zip(panels, (100 * accuracy, 100 * coverage, cost), strict=True):
            panel.plot(value, place, zorder=1, **_PRINTED)


def draw_tuning(result: Tuning) -> Figure:
    """Draw the mean balanced score at each value of each parameter, a line per set."""
    figure = new_figure(2.3 * len(PARAMETERS) + 0.6, 2.6)
    panels = figure.subplots(1, len(PARAMETERS), sharey=True)
    for i, one in enumerate(result.sets):
        look = line_look(i) | {"markevery": None, "label": one.name}
        for panel, values in zip(panels, one.effects().values(), strict=True):
            words = ["1/n" if value is None else f"{value:g}" for value, _ in values]
            panel.plot(words, [score for _, score in values], **look)
    for panel, symbol in zip(panels, PARAMETERS.values(), strict=True):
        panel.set_xlabel(symbol, fontsize=9)
        panel.tick_params(labelsize=7)
    panels[0].set_ylabel("balanced score", fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=5, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    return figure
