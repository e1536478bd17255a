"""The picture of a comparison on your own data."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from emsco._base.objectives import Objectives
from emsco._base.text import shorten
from emsco.pictures.plotting.figures import (
    MARKERS,
    STYLES,
    add_scale,
    coverage_ends,
    name_marks,
    new_figure,
    soften,
)
from emsco.studies.compare_records import OwnComparison, label_of
from emsco.studies.methods import MethodResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_methods"]

_FILLS = "gray"  # from black to white: colours name methods, and any printer shows it alike
_THIN: dict[str, Any] = {"linewidth": 1.1, "zorder": 2}
_FAR = 8  # times the median cost: a method beyond that would squeeze all others


def draw_methods(result: OwnComparison) -> Figure:
    """Draw accuracy against cost on the test rows, each method as a curve over its own knob.

    Colour, dashes and shape tell methods apart. Fill shows coverage, lighter where it is higher.
    The large marker is the deployed setting. Black marks show what there is without a cascade. The
    accuracy axis covers settings that buy something;
    a free one outside of it is named below the axis. Large costs are drawn on a log scale, and the
    axis says so.
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
    points += result.references.values()
    note = "Large marks: deployed settings; small marks: other settings; fill: coverage."
    if outside := _show_what_costs(panel, points):
        note += f"\nNot shown: {outside}, buying nothing."
    _draw_references(panel, result.references)
    scale = _bend(panel, [one.cost for one in points], [one.cost for one in chosen])
    panel.set_xlabel(f"mean cost of a test row{scale}\n{note}", fontsize=8)
    panel.set_ylabel("accuracy of accepted rows", fontsize=8)
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
    """Draw the curve of a method, its settings, and the deployed one."""
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


def _draw_references(panel: Any, references: Mapping[str, Objectives]) -> None:
    """Mark what there is without a cascade, if the accuracy axis reaches that far."""
    low, high = panel.get_ylim()
    for (title, test), marker in zip(references.items(), "x+", strict=False):
        look: dict[str, Any] = {"marker": marker, "color": "black", "linestyle": "none"}
        look["clip_on"] = not low <= test.accuracy <= high  # a free one lies on the edge
        panel.plot([test.cost], [test.accuracy], label=shorten(title, 30), zorder=5, **look)


def _bend(panel: Any, costs: Sequence[float], chosen: Sequence[float]) -> str:
    """Draw costs far above the median on a log scale; return words for the axis."""
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
    """Fit the axis to points that buy something; return the accuracies left outside."""
    bought = [one.accuracy for one in points if one.cost > 0]
    if not bought:
        return ""
    low, high = min(bought), max(bought)
    room = 0.08 * (high - low) or 0.01
    panel.set_ylim(low - room, high + room)
    free = sorted({one.accuracy for one in points if not low - room <= one.accuracy <= high + room})
    return f"accuracy {', '.join(f'{value:.1%}' for value in free)}" if free else ""
