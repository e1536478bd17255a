"""Draw the reliability of stages, and risk against coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.typing import FloatArray
from emsco.errors import ParameterError
from emsco.plotting.canvas import wrap_items
from emsco.plotting.figures import (
    COLUMN,
    DARK,
    STYLES,
    check_axes,
    check_width,
    figure_of,
    line_look,
    name_marks,
    new_figure,
    soften,
    stacked_panels,
)
from emsco.stats.intervals import share_intervals
from emsco.stats.reliability import Reliability, RiskCoverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACCURACY, _CONFIDENCE = "share correct", "confidence"
_FEWEST = 10  # rows of a bar: fewer are pooled with the next bin
_MOST_ALONE = 3  # stages alone that risk is drawn for
_FEW_LABELS = 0.1  # share of rows with a label below which risk jumps by chance
_CURVES = {"risk": "share of labels\nthat are wrong", "cost": "mean cost"}


def draw_reliability(
    records: Sequence[Reliability], width: float | None = None, ax: Axes | None = None
) -> Figure:
    """Draw accuracy against confidence for each stage, and the number of rows below.

    Where a bar ends below the dotted line, the stage is overconfident. Bins of fewer than ten rows
    are pooled with their neighbours, and lines are 95 % intervals of the share correct. Weights
    count as numbers of rows.

    Parameters
    ----------
    records : sequence of Reliability
        Result of `Cascade.reliability`.
    width : float, optional
        Width of a new figure in inches; by default all stages stand side by side.
    ax : Axes, optional
        Existing axes to draw one stage into, without the number of rows.
    """
    if not records:
        raise ParameterError("records must be of at least one stage, got none.")
    if ax is not None:
        panel = check_axes(ax)
        if len(records) > 1:
            raise ParameterError(
                f"ax must be left out for several stages, got {len(records)} records beside it; "
                "draw them one by one, as in records[:1]."
            )
        _draw_accuracy(panel, records[0], 1)
        panel.set_xlabel(_CONFIDENCE, fontsize=8)
        panel.set_ylabel(_ACCURACY, fontsize=8)
        panel.legend(loc="upper left", fontsize=7, framealpha=0.85)
        return figure_of(panel)
    width = 2.3 * len(records) + 0.5 if width is None else check_width(width)
    n_columns = max(1, min(len(records), int((width - 0.4) // 1.45)))
    n_lines = -(-len(records) // n_columns)
    figure = new_figure(width, 2.5 * n_lines + 0.4)
    panels = figure.subplots(2 * n_lines, n_columns, squeeze=False, height_ratios=(4, 1) * n_lines)
    for panel in panels.ravel():
        panel.set_axis_off()
    for i, record in enumerate(records):
        line, column = divmod(i, n_columns)
        above, below = panels[2 * line][column], panels[2 * line + 1][column]
        _draw_accuracy(above, record, i + 1)
        _draw_bars(below, record.edges, record.rows, color="0.55")
        below.set_xlabel(_CONFIDENCE, fontsize=8)
        above.tick_params(labelbottom=False)
        if not column:
            above.set_ylabel(_ACCURACY, fontsize=8)
            below.set_ylabel("rows", fontsize=8)
    name_marks(figure, panels[0], columns=3, columnspacing=1.2)
    return figure


def _draw_accuracy(panel: Any, record: Reliability, number: int) -> None:
    """Draw the accuracy of a stage in each bin of confidence."""
    edges, rows, accuracy, confidence = _pooled(record)
    _draw_bars(panel, edges, accuracy, color="0.78", label=_ACCURACY)
    panel.plot([0, 1], [0, 1], color="0.35", linestyle=":", linewidth=1.0, label="honest")
    dots: dict[str, Any] = {"color": "#0072b2", "markersize": 3, "label": "mean confidence"}
    panel.plot(confidence, accuracy, "o", **dots)
    if (known := rows > 0).any():
        ends = np.array(share_intervals((accuracy * rows)[known], rows[known])).T
        look: dict[str, Any] = {"color": DARK, "linewidth": 0.9, "label": "95 % interval"}
        panel.vlines(confidence[known], *ends, **look)
    panel.set_ylim(0, 1)
    title = f"stage {number if record.stage is None else record.stage}"
    panel.set_title(f"{title}, error {record.error:.3f}", fontsize=8)


def _pooled(record: Reliability) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Edges, rows, accuracy and confidence of bins that have ten rows or more, if there are."""
    n_bins = len(record.rows)
    starts, inside = [0], 0.0
    for i in range(n_bins):
        # Start a new bin once this one has its rows, unless too few rows are left for another.
        if inside >= _FEWEST and record.rows[i:].sum() >= _FEWEST:
            starts.append(i)
            inside = 0.0
        inside += float(record.rows[i])
    rows = np.add.reduceat(record.rows, starts).astype(np.float64)
    sums = (
        np.add.reduceat(np.nan_to_num(one) * record.rows, starts)
        for one in (record.accuracy, record.confidence)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy, confidence = (np.where(rows > 0, one / rows, np.nan) for one in sums)
    return record.edges[[*starts, n_bins]], rows, accuracy, confidence


def _draw_bars(panel: Any, edges: FloatArray, heights: Any, **look: Any) -> None:
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    panel.bar(middle, heights, width=0.94 * width, edgecolor="0.25", linewidth=0.6, **look)
    panel.set_axis_on()
    panel.set_xlim(edges[0], 1)
    panel.tick_params(labelsize=7, width=0.6, length=2.5)


def draw_risk_coverage(
    records: Sequence[RiskCoverage],
    at: float | None = None,
    width: float = COLUMN,
    ax: Axes | None = None,
) -> Figure:
    """Draw the share of wrong labels against coverage, and the mean cost below.

    Curves have one threshold for all stages and classes. A star is the cascade by its own
    thresholds, as it decides rows; it may stand off its curve. Of many stages, the first, the
    middle and the last are drawn alone. The scale fits coverages of 10 % and more: below, a few
    rows make the share jump.

    Parameters
    ----------
    records : sequence of RiskCoverage
        Result of `Cascade.risk_coverage`: the cascade, then each stage alone.
    at : float, optional
        Threshold to mark on the curve of the cascade.
    width : float
        Width of a new figure in inches.
    ax : Axes, optional
        Existing axes to draw the upper panel into, without the cost.
    """
    check_width(width)
    if not records:
        raise ParameterError("records must be of a cascade or a stage, got none.")
    if ax is not None:
        panel = check_axes(ax)
        _draw_curves(panel, records, "risk", at)
        panel.set_xlabel("coverage", fontsize=8)
        panel.legend(loc="upper left", fontsize=7, framealpha=0.85)
        return figure_of(panel)
    figure, (above, below) = stacked_panels(width, 1.9 + 0.55 * min(width, 7.0), (3, 2))
    _draw_curves(above, records, "risk", at)
    _draw_curves(below, records, "cost", at)
    below.set_xlabel("coverage", fontsize=8)
    words = "Curves: one threshold for all stages and classes."
    if any(record.deployed for record in records):
        words += " Star: the thresholds of the design, as it decides rows."
    lines = wrap_items(words.split(), width - 0.2, 7, between="")
    look: dict[str, Any] = {"title": "\n".join(lines), "title_fontsize": 7}
    name_marks(figure, [above], columns=max(2, int(width // 1.15)), **look)
    return figure


def _draw_curves(panel: Any, records: Sequence[RiskCoverage], name: str, at: float | None) -> None:
    """Draw risk or cost against coverage, for each stage alone and for the cascade."""
    alone = [record for record in records if record.stage is not None]
    if len(alone) > _MOST_ALONE:  # the first, the last and those evenly between
        places = np.linspace(0, len(alone) - 1, _MOST_ALONE).round().astype(int)
        alone = [alone[place] for place in places]
    for i, record in enumerate(alone, start=1):  # look 0 belongs to the cascade
        look: dict[str, Any] = line_look(i) | {"linewidth": 1.0}
        label = f"stage {record.stage} alone"
        panel.plot(record.coverage, getattr(record, name), label=label, **look)
    for record in records:
        if record.stage is None:
            values = getattr(record, name)
            label = "cascade, one threshold"
            panel.plot(record.coverage, values, linewidth=1.8, label=label, **STYLES[0])
            if record.deployed is not None and record.deployed.coverage:
                deployed = record.deployed
                height = deployed.cost if name == "cost" else 1 - deployed.accuracy
                star: dict[str, Any] = {"color": "black", "markersize": 9, "zorder": 6}
                panel.plot(deployed.coverage, height, "*", label="the design itself", **star)
            if at is not None:
                is_above = record.threshold >= at
                i = int(is_above.argmax()) if is_above.any() else -1
                mark: dict[str, Any] = {"markersize": 6, "markerfacecolor": "white", "zorder": 5}
                label = f"threshold {at:g}"
                panel.plot(record.coverage[i], values[i], "o", label=label, color=DARK, **mark)
    panel.set_ylabel(_CURVES[name], fontsize=8)
    panel.set_ylim(bottom=0)
    if name == "risk":
        usual = [risk for one in records for risk in one.risk[one.coverage >= _FEW_LABELS]]
        usual += [1 - one.deployed.accuracy for one in records if one.deployed is not None]
        if highest := np.nanmax(usual, initial=0.0):
            panel.set_ylim(top=1.15 * highest)
    soften(panel)
