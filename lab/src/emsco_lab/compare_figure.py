"""The picture of a comparison: accuracy against allowed cost, EMSCO in front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco.plotting.figures import STYLES, new_figure, soften
from emsco_lab.compare import TASKS, MethodComparison, Task
from emsco_lab.compare_report import MARGIN_SPLITS, breaks_limits
from emsco_lab.methods import EMSCO, NOTHING, label_of
from emsco_lab.standings import Standing, margin_of, mean_ranks
from emsco_lab.trials import BUDGETS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 5.0, 2.9  # inches; panels below each other can be read on a phone
_TOTAL_LINE = 0.17  # height of a method in the panel of totals
_LINE = 0.057  # height of a label, as a share of the panel's
_NAMED = 2  # rivals in colour
_BANDS = 2  # lines with margins
_MARKERS = "osD"
_OWN: dict[str, Any] = {"linewidth": 2.8, "markersize": 5.5, "zorder": 6}
_BEST: dict[str, Any] = {"linewidth": 1.6, "markersize": 4.5, "zorder": 5}
_REST: dict[str, Any] = {"color": "0.72", "linewidth": 0.9, "zorder": 3}
_QUIET = "0.4"
_LAST = len(BUDGETS) - 1


def draw_comparison(comparison: MethodComparison, tasks: Sequence[Task] = TASKS) -> Figure:
    """Draw accuracy on test rows at each allowed cost, a panel for each task.

    If errors have a price, the first panel has the lowest mean total of each method.
    EMSCO is bold, the two rivals with the best mean ranks are in colour, the others are grey. Bands
    are 95 % margins of EMSCO and the best rival over five splits or more. Hollow marks are offers
    that break their limits on test rows: they spend over a quarter more than allowed, or answer
    over 3 points fewer rows than asked.
    """
    n_totals = len(comparison.lowest_totals)
    heights = [_HEIGHT] * len(tasks)
    if n_totals:
        heights.insert(0, _TOTAL_LINE * (n_totals + 4))
    figure = new_figure(_WIDTH, sum(heights) + 0.3)
    panels = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0].tolist()
    totals = panels.pop(0) if n_totals else None
    for panel in panels[:-1]:
        panel.tick_params(labelbottom=False)
    # Methods in colour come first: EMSCO, then rivals by mean rank.
    cells = [cell for task in tasks for cell in comparison.ranks.get(task.key, {}).values()]
    order = sorted(mean_ranks(cells), key=lambda method: method != EMSCO)
    bold = order[: _NAMED + (EMSCO in order)]
    looks: dict[str, dict[str, Any]] = dict.fromkeys(order, _REST)
    for method, style, marker in zip(bold, STYLES, _MARKERS, strict=False):
        own = _OWN if method == EMSCO else _BEST
        looks[method] = {**style, **own, "marker": marker}
    if totals is not None:
        _draw_totals(totals, comparison, looks)
    # The marked lines and all line ends are in view. Grey lines may come in from below, where they
    # know no more than the commonest class.
    means = []
    for method in order:
        for task in tasks:
            line = [100 * one.mean.accuracy for one in _standings(comparison, method, task)]
            means += line if method in bold else [line[-1], max(line)]
    low, high = (end(means or [100 * comparison.commonest.mean.accuracy]) for end in (min, max))
    room = 0.12 * (high - low) or 1.0
    for panel, task in zip(panels, tasks, strict=True):
        panel.set_ylim(low - room, min(high + room, 100 + 0.2 * room))
        _draw_task(panel, comparison, task, looks)
        panel.set_title(task.title, fontsize=9, loc="left")
        panel.set_ylabel("correct, % of answered test rows", fontsize=8)
    panels[-1].set_xlabel("allowed mean cost of a row, % of everything", fontsize=8)
    words = []
    if looks and len(comparison.splits) >= MARGIN_SPLITS:
        words.append(f"bands: 95 % margins over {len(comparison.splits)} splits")
    drawn = [
        one for task in tasks for method in bold for one in _standings(comparison, method, task)
    ]
    if any(breaks_limits(one) for one in drawn):
        words.append("hollow: broke its limits on test rows")
    if words:
        figure.supxlabel("; ".join(words), fontsize=7, color=_QUIET)
    return figure


def _draw_totals(
    panel: Any, comparison: MethodComparison, looks: Mapping[str, Mapping[str, Any]]
) -> None:
    """Draw the lowest mean total of each method, and a line for buying nothing."""
    names = []
    for place, (method, standing) in enumerate(comparison.lowest_totals.items()):
        totals = standing.money(comparison.error_costs)
        spread = margin_of(totals) if len(totals) >= MARGIN_SPLITS else None
        color = looks.get(method, _REST)["color"]
        mark = {"marker": "o", "markersize": 4.5, "linestyle": "none"}
        panel.errorbar([totals.mean()], [place], xerr=spread, color=color, linewidth=1.2, **mark)
        names.append(label_of(method))
    nothing = float(comparison.nothing.money(comparison.error_costs).mean())
    panel.axvline(nothing, color=_QUIET, linestyle=(0, (6, 4)), linewidth=0.9, zorder=1)
    text: dict[str, Any] = {"fontsize": 7, "color": _QUIET, "va": "bottom"}
    text["ha"] = "right" if nothing > sum(panel.get_xlim()) / 2 else "left"
    panel.text(nothing, len(names) + 0.05, f" {label_of(NOTHING)} ", **text)  # below all methods
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) + 0.1, -0.6)  # the lowest total on top
    panel.set_title("Lowest mean total of a row", fontsize=9, loc="left")
    panel.set_xlabel("features, errors and rejections together", fontsize=8)
    soften(panel, 8)
    panel.grid(visible=False, axis="y")


def _draw_task(
    panel: Any, comparison: MethodComparison, task: Task, looks: Mapping[str, Mapping[str, Any]]
) -> None:
    """Draw every method and write its name at the end of its line."""
    places = np.arange(len(BUDGETS))
    ends = {}
    for number, (method, look) in enumerate(looks.items()):
        standings = _standings(comparison, method, task)
        means = np.array([100 * one.mean.accuracy for one in standings])
        panel.plot(places, means, label=label_of(method), markevery=[], **look)
        if "marker" in look:
            # A mark is hollow where limits were clearly broken.
            for place, (mean, one) in enumerate(zip(means, standings, strict=True)):
                face = "white" if breaks_limits(one) else look["color"]
                mark = {**look, "linestyle": "none", "markerfacecolor": face}
                panel.plot([place], [mean], **(mark | {"zorder": look["zorder"] + 1}))
        if len(comparison.splits) >= MARGIN_SPLITS and number < _BANDS:
            margins = np.array([100 * one.margin.accuracy for one in standings])
            band = {"color": look["color"], "linewidth": 0, "alpha": 0.16, "zorder": 2}
            panel.fill_between(places, means - margins, means + margins, **band)
        ends[method] = float(means[-1])
    # The commonest class alone costs nothing.
    low, floor = panel.get_ylim()[0], 100 * comparison.commonest.mean.accuracy
    text: dict[str, Any] = {"fontsize": 7, "color": _QUIET, "va": "bottom", "ha": "right"}
    if floor >= low:
        panel.axhline(floor, color=_QUIET, linestyle=(0, (6, 4)), linewidth=0.9, zorder=1)
        # Methods lie above the line, so its name goes below, if there is room.
        has_room = floor - low > 0.06 * (panel.get_ylim()[1] - low)
        text["va"], away = ("top", -4) if has_room else ("bottom", 2)
        at = {"xy": (_LAST, floor), "xytext": (0, away), "textcoords": "offset points"}
        panel.annotate("commonest class", **at, **text)
    else:
        panel.text(_LAST, low, f"↓ commonest class: {floor:.0f}", **text)
    _name_ends(panel, ends, looks)
    panel.set_xlim(-0.25, _LAST + 1.6)
    panel.set_xticks(places, [f"{100 * budget:g}" for budget in BUDGETS])
    soften(panel, 8)
    panel.grid(visible=False, axis="x")
    panel.spines["bottom"].set_bounds(-0.25, _LAST)


def _standings(comparison: MethodComparison, method: str, task: Task) -> list[Standing]:
    return [comparison.standing(method, task.coverage, budget) for budget in BUDGETS]


def _name_ends(
    panel: Any, ends: Mapping[str, float], looks: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write names right of the lines, apart from each other, each with a thin link to its line."""
    low, high = panel.get_ylim()
    gap = _LINE * (high - low)
    methods = sorted(ends, key=lambda method: ends[method])
    heights = _apart([ends[one] for one in methods], gap, low + gap / 2, high - gap / 2)
    for method, height in zip(methods, heights, strict=True):
        look = looks[method]
        link: dict[str, Any] = {"color": look["color"], "linewidth": 0.6}
        panel.plot([_LAST + 0.1, _LAST + 0.25], [ends[method], height], **link)
        text: dict[str, Any] = {"fontsize": 7, "color": _QUIET, "va": "center"}
        if "marker" in look:
            text |= {"fontsize": 8, "color": look["color"]}
        weight = "bold" if method == EMSCO else "normal"
        panel.text(_LAST + 0.3, height, label_of(method), fontweight=weight, **text)


def _apart(heights: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move ascending heights as little as it takes to be a gap apart, within two ends.

    Examples
    --------
    >>> _apart([0.5, 0.5, 0.9], 0.2, 0.0, 1.0)
    [0.4, 0.6, 0.9]
    """
    offsets = gap * np.arange(len(heights))
    pools: list[list[float]] = []  # neighbours that are too near share their mean
    for one in (np.array(heights) - offsets).tolist():
        pools.append([one])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    moved = np.array([np.mean(pool) for pool in pools for _ in pool])
    highest = high - offsets.max(initial=0.0)
    apart: list[float] = (np.clip(moved, low, max(low, highest)) + offsets).round(12).tolist()
    return apart
