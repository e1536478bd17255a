"""The picture of a sweep over thresholds: cost against accuracy, coloured by coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emsco._base.checks import refused
from emsco.lab.sweep_records import PARTS, Spread, SweepLine, ThresholdSweep
from emsco.plotting.figures import COLOURS, add_scale, coverage_ends, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS = {"scored": "scored", "seen": "test"}
_NOTE = (
    "Large marks with their threshold: means over repeats, with bars of one standard deviation; "
    "small dots: repeats."
)


def draw_sweep(sweep: ThresholdSweep) -> Figure:
    """Draw accuracy against mean cost of the designs deployed at each threshold.

    Each rule has a line of panels: scored rows on the left, test rows on the right. Large markers
    are means over repeats, with their threshold and bars of one standard deviation. Small ones are
    single repeats. Colour shows coverage. A design that accepts no row has no accuracy to draw.
    """
    if not sweep.repeats:
        raise refused("sweep", "hold at least one repeat", sweep, got="none")
    figure = new_figure(7.0, 3.2 * len(sweep.prefer) + 0.2)
    figure.set_layout_engine("constrained")
    panels = figure.subplots(len(sweep.prefer), 2, squeeze=False, sharex=True, sharey=True)
    ends = _ends(sweep)
    look = {"cmap": COLOURS, "vmin": ends[0], "vmax": ends[1]}
    for rule, line in zip(sweep.prefer, panels, strict=True):
        for part, panel in zip(PARTS, line, strict=True):
            _draw_repeats(panel, sweep, rule, part, look)
            shown = [one for one in sweep.lines(rule) if getattr(one, part).mean.coverage]
            means = [getattr(one, part).mean for one in shown]
            path = [one.cost for one in means], [one.accuracy for one in means]
            panel.plot(*path, color="0.75", linewidth=0.8, zorder=1)
            for one in shown:
                _draw_mean(panel, one, getattr(one, part), look)
            panel.margins(0.14, 0.1)
            panel.set_title(f"{rule} design, {_ROWS[part]} rows", fontsize=9)
            panel.tick_params(labelsize=7)
        line[0].set_ylabel("accuracy of accepted rows", fontsize=8)
    for panel in panels[-1]:
        panel.set_xlabel("mean cost of a row", fontsize=8)
    add_scale(figure, panels, "coverage", ends, shrink=0.9)
    figure.supxlabel(_NOTE, fontsize=7)
    return figure


def _ends(sweep: ThresholdSweep) -> tuple[float, float]:
    """Range of coverage over all repeats that are drawn, in round numbers."""
    figures = [
        getattr(repeat.by(rule), part)
        for repeat in sweep.repeats
        for rule in sweep.prefer
        for part in PARTS
    ]
    return coverage_ends([one.coverage for one in figures if one.coverage])


def _draw_repeats(
    panel: Any, sweep: ThresholdSweep, rule: str, part: str, colours: dict[str, Any]
) -> None:
    every = [getattr(repeat.by(rule), part) for repeat in sweep.repeats]
    shown = [one for one in every if one.coverage]
    panel.scatter(
        [one.cost for one in shown],
        [one.accuracy for one in shown],
        c=[one.coverage for one in shown],
        s=7,
        alpha=0.5,
        linewidths=0,
        **colours,
    )


def _draw_mean(panel: Any, line: SweepLine, spread: Spread, colours: dict[str, Any]) -> None:
    mean, own = spread.mean, spread.deviation
    if own is not None:
        panel.errorbar(
            mean.cost, mean.accuracy, own.accuracy, own.cost, color="0.6", linewidth=0.8, zorder=2
        )
    look: dict[str, Any] = {"s": 46, "edgecolors": "0.1", "linewidths": 0.7, "zorder": 3}
    panel.scatter(mean.cost, mean.accuracy, c=[mean.coverage], **look, **colours)
    panel.annotate(
        f"{line.min_confidence:g}",
        (mean.cost, mean.accuracy),
        xytext=(-5, 4),
        textcoords="offset points",
        horizontalalignment="right",
        fontsize=7,
    )
