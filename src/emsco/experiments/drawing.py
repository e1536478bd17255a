"""Pictures of experiments: the tables of the paper and comparisons, as they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from emsco.errors import ParameterError
from emsco.experiments.comparison import Comparison
from emsco.experiments.comparison_report import published
from emsco.experiments.global_optima import GlobalOptima
from emsco.experiments.methods import CONTESTANTS
from emsco.experiments.own_data import OwnComparison, label_of
from emsco.experiments.tuning import PARAMETERS, Tuning
from emsco.plotting.figures import COLOURS, MARKERS, STYLES, add_scale, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_comparison", "draw_global_optima", "draw_methods", "draw_tuning"]

_STYLES = {"evolution": STYLES[0], "paper": STYLES[1]}
_ENDS = (0.5, 1.0)
_COVERAGE: dict[str, Any] = {"cmap": COLOURS, "vmin": _ENDS[0], "vmax": _ENDS[1]}


def draw_global_optima(result: GlobalOptima) -> Figure:
    """Mean number of the true front's objective vectors known after each generation."""
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
    """Accuracy against cost of every contestant on every set, coverage as colour.

    Bars are 95 % margins of error over splits; an empty marker is what the paper prints.
    """
    names = result.sets
    if not names:
        raise ParameterError("result must be of at least one set, got none.")
    figure = new_figure(3.1 * len(names) + 1.2, 4.0)
    figure.set_layout_engine("constrained")
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    markers = dict(zip(CONTESTANTS, MARKERS, strict=True))
    for name, panel in zip(names, panels, strict=True):
        for contestant in result.contestants(name):
            standing = result.standings[name, contestant]
            mean, margin = standing.mean, standing.margin
            look: dict[str, Any] = {"marker": markers[contestant], "s": 34, "zorder": 3}
            panel.errorbar(
                mean.cost, mean.accuracy, margin.accuracy, margin.cost, color="0.75", linewidth=0.8
            )
            panel.scatter(mean.cost, mean.accuracy, c=[mean.coverage], **look, **_COVERAGE)
            if printed := published(name, contestant):
                accuracy, _, cost = printed
                panel.scatter(cost, accuracy, facecolors="none", edgecolors="0.5", **look)
        panel.set_title(name, fontsize=9)
        panel.set_xlabel("mean cost", fontsize=8)
        panel.set_ylim(0.5, 1.0)
        panel.set_xlim(left=min(0, -0.03 * panel.get_xlim()[1]))  # bars may reach below 0
        panel.tick_params(labelsize=7)
    panels[0].set_ylabel("accuracy", fontsize=8)
    for contestant, marker in markers.items():
        if any((name, contestant) in result.standings for name in names):
            panels[0].plot([], [], marker, color="0.4", markersize=5, label=contestant.label)
    _finish(figure, panels, columns=2 * len(names))
    return figure


def draw_methods(result: OwnComparison) -> Figure:
    """Accuracy against cost on the test rows, every method a curve over its own knob.

    Colour is coverage; the large marker is what the method deploys.
    """
    figure = new_figure(6.4, 4.8)
    figure.set_layout_engine("constrained")
    panel = figure.subplots()
    for name, marker in zip(result.results, MARKERS, strict=False):
        found = result.results[name]
        tests = [attempt.test for attempt in found.curve]
        if not found.outcomes:
            continue
        costs, accuracies = [one.cost for one in tests], [one.accuracy for one in tests]
        panel.plot(costs, accuracies, color="0.8", linewidth=0.8, zorder=1)
        coverage = [one.coverage for one in tests]
        panel.scatter(costs, accuracies, c=coverage, marker=marker, s=14, **_COVERAGE)
        chosen = found.outcomes[0].test
        own = {"c": [chosen.coverage], "s": 110, "edgecolors": "0.1", "zorder": 3, **_COVERAGE}
        panel.scatter(chosen.cost, chosen.accuracy, marker=marker, **own)
        panel.plot([], [], marker, color="0.4", markersize=5, label=label_of(name))
    panel.set_xlabel("mean cost of a test row", fontsize=9)
    panel.set_ylabel("accuracy of the labels given", fontsize=9)
    panel.tick_params(labelsize=8)
    _finish(figure, [panel], columns=4)
    return figure


def draw_tuning(result: Tuning) -> Figure:
    """Mean balanced score at each value of each parameter, a line for each set."""
    figure = new_figure(2.3 * len(PARAMETERS) + 0.6, 2.6)
    panels = figure.subplots(1, len(PARAMETERS), sharey=True)
    for one in result.sets:
        for panel, values in zip(panels, one.effects().values(), strict=True):
            words = ["1/n" if value is None else f"{value:g}" for value, _ in values]
            panel.plot(words, [score for _, score in values], "o-", markersize=3, label=one.name)
    for panel, symbol in zip(panels, PARAMETERS.values(), strict=True):
        panel.set_xlabel(symbol, fontsize=9)
        panel.tick_params(labelsize=7)
    panels[0].set_ylabel("balanced score", fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=5, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    return figure


def _finish(figure: Figure, panels: Sequence[Any], columns: int) -> None:
    """A scale for coverage at the right, and names of markers below."""
    add_scale(figure, panels, "coverage", _ENDS, extend="min", shrink=0.9)
    handles, labels = panels[0].get_legend_handles_labels()
    place = "outside lower center"
    figure.legend(handles, labels, loc=place, ncols=columns, frameon=False, fontsize=7)
