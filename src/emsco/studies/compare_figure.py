"""The picture of a comparison on one's own data."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from emsco._base.objectives import Objectives
from emsco.pictures.plotting.figures import (
    MARKERS,
    STYLES,
    add_scale,
    coverage_ends,
    name_marks,
    new_figure,
    soften,
)
from emsco.studies.compare import OwnComparison, label_of
from emsco.studies.methods import MethodResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_methods"]

_FILLS = "gray"  # from black to white: colours are taken, and it is the same on any printer
_THIN: dict[str, Any] = {"linewidth": 1.1, "zorder": 2}
_FAR = 8  # times the median cost: from there on, one method would squeeze all others


def draw_methods(result: OwnComparison) -> Figure:
    """Accuracy against cost on the test rows, every method a curve over its own knob.

    Colour, dashes and shape are the method's; fill is coverage, lighter where it is higher; the
    large marker is what the method deploys. Accuracies are those of points that buy something:
    one that buys nothing may lie far off, and is then named below. Where some cost many times as
    much as others, costs are logarithmic above the median, and the axis says so.
    """
    figure = new_figure(6.4, 5.0)
    figure.set_layout_engine("constrained")
    panel = figure.subplots()
    ran = {name: found for name, found in result.results.items() if found.outcomes}
    chosen = [found.outcomes[0].seen for found in ran.values()]
    points = [attempt.seen for found in ran.values() for attempt in found.curve] + chosen
    ends = coverage_ends([one.coverage for one in points])
    fill: dict[str, Any] = {"cmap": _FILLS, "vmin": ends[0], "vmax": ends[1]}
    for name, marker, style in zip(ran, MARKERS, STYLES, strict=False):
        _draw_method(panel, name, ran[name], marker, style, fill)
    note = "Large marks: what each method deploys; small ones: its other settings; fill: coverage."
    if outside := _show_what_costs(panel, points):
        note += f"\nNot shown: {outside}, without buying anything."
    scale = _bend(panel, [one.cost for one in points], [one.cost for one in chosen])
    panel.set_xlabel(f"mean cost of a test row{scale}\n{note}", fontsize=8)
    panel.set_ylabel("accuracy of the labels given", fontsize=8)
    soften(panel, 8)
    add_scale(figure, [panel], "coverage", ends, _FILLS, shrink=0.9)
    name_marks(figure, [panel], columns=4)
    return figure


def _draw_method(
    panel: Any,
    name: str,
    found: MethodResult,
    marker: str,
    style: dict[str, Any],
    fill: dict[str, Any],
) -> None:
    """A curve, its settings, and the one that is deployed."""
    tests, chosen = [attempt.seen for attempt in found.curve], found.outcomes[0].seen
    panel.plot([one.cost for one in tests], [one.accuracy for one in tests], **style, **_THIN)
    for points, size, height in ((tests, 24, 3), ([chosen], 120, 4)):
        panel.scatter(
            [one.cost for one in points],
            [one.accuracy for one in points],
            c=[one.coverage for one in points],
            marker=marker,
            s=size,
            edgecolors=style["color"],
            linewidths=1.3,
            zorder=height,
            **fill,
        )
    look: dict[str, Any] = {"marker": marker, "markersize": 5, "markerfacecolor": "white"}
    panel.plot([], [], label=label_of(name), **look, **style, **_THIN)


def _bend(panel: Any, costs: Sequence[float], chosen: Sequence[float]) -> str:
    """A logarithmic axis above the median cost where some are far off; what it says of that."""
    middle, largest = statistics.median(chosen) if chosen else 0.0, max(costs, default=0.0)
    if not 0 < _FAR * middle < largest:
        return ""
    steps = [m * 10.0**e for e in range(-9, 10) for m in (1, 2, 5)]
    panel.set_xscale("symlog", linthresh=middle)
    panel.set_xlim(min(0.0, *costs), 1.15 * largest)
    shown = [0.0, *(step for step in steps if middle / 2 <= step <= 1.15 * largest)]
    panel.set_xticks(shown, [f"{step:g}" for step in shown])
    panel.set_xticks([], minor=True)
    return f" (logarithmic above {middle:.3g})"


def _show_what_costs(panel: Any, points: Sequence[Objectives]) -> str:
    """Stretch the axis over points that buy something; the accuracies that lie outside of it."""
    bought = [one.accuracy for one in points if one.cost > 0]
    if not bought:
        return ""
    low, high = min(bought), max(bought)
    room = 0.08 * (high - low) or 0.01
    panel.set_ylim(low - room, high + room)
    free = sorted({one.accuracy for one in points if not low - room <= one.accuracy <= high + room})
    return f"accuracy {', '.join(f'{value:.1%}' for value in free)}" if free else ""
