"""How honest a cascade is about what it knows: reliability, and risk against coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from emsco.errors import ParameterError
from emsco.plotting.figures import new_figure
from emsco.reliability import Reliability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_reliability"]


def draw_reliability(records: Sequence[Reliability]) -> Figure:
    """How often each stage is right, beside how sure it says it is; below, where its rows are.

    A bar that ends below the dotted line belongs to confidences that promise too much.
    """
    if not records:
        raise ParameterError("records must be of at least one stage, got none.")
    figure = new_figure(2.3 * len(records) + 0.5, 2.9)
    panels = figure.subplots(2, len(records), squeeze=False, sharex="col", height_ratios=(4, 1))
    for number, (record, above, below) in enumerate(zip(records, *panels, strict=True), start=1):
        middle, width = (
            (record.edges[1:] + record.edges[:-1]) / 2,
            record.edges[1] - record.edges[0],
        )
        look = {"width": 0.94 * width, "edgecolor": "0.25", "linewidth": 0.6}
        above.bar(middle, record.right, color="0.78", label="share right", **look)
        above.plot([0, 1], [0, 1], color="0.35", linestyle=":", linewidth=1.0, label="honest")
        above.plot(
            record.confidence,
            record.right,
            "o",
            color="#0072b2",
            markersize=3,
            label="mean confidence",
        )
        below.bar(middle, record.rows, color="0.55", **look)
        above.set_xlim(record.edges[0], 1)
        above.set_ylim(0, 1)
        title = f"stage {number if record.stage is None else record.stage}"
        above.set_title(f"{title}, error {record.error:.3f}", fontsize=9)
        below.set_xlabel("confidence", fontsize=8)
        for panel in (above, below):
            panel.tick_params(labelsize=7)
    panels[0][0].set_ylabel("share right", fontsize=8)
    panels[1][0].set_ylabel("rows", fontsize=8)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return figure
