"""Pictures for papers, with matplotlib: `pip install 'emsco[plot]'`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emsco.errors import EMSCOError, ParameterError
from emsco.experiments.global_optima import GlobalOptima
from emsco.reliability import Reliability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_matplotlib", "draw_global_optima", "draw_reliability", "save_figure"]

_STYLES: dict[str, dict[str, Any]] = {
    "paper": {"color": "#d55e00", "linestyle": "--"},
    "evolution": {"color": "#0072b2", "linestyle": "-"},
}


def draw_global_optima(result: GlobalOptima) -> Figure:
    """Mean number of the true front's objective vectors known after each generation."""
    names = list(dict.fromkeys(landscape.name for landscape in result.landscapes))
    stages = sorted({landscape.max_stages for landscape in result.landscapes})
    figure = _new_figure(2.4 * len(stages) + 0.6, 2.0 * len(names) + 0.5)
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


def draw_reliability(records: Sequence[Reliability]) -> Figure:
    """How often each stage is right, beside how sure it says it is; below, where its rows are.

    A bar that ends below the dotted line belongs to confidences that promise too much.
    """
    if not records:
        raise ParameterError("records must be of at least one stage, got none.")
    figure = _new_figure(2.3 * len(records) + 0.5, 2.9)
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


def save_figure(figure: Figure, path: Path) -> tuple[Path, Path]:
    """Write the figure as PNG and as SVG; `path` is without an ending."""
    png, svg = path.with_suffix(".png"), path.with_suffix(".svg")
    figure.savefig(png, dpi=200)
    figure.savefig(svg)
    return png, svg


def check_matplotlib() -> None:
    """Say what to install where there is no matplotlib."""
    try:
        import matplotlib.figure  # noqa: F401 - only to see whether it is there
    except ImportError:
        raise EMSCOError("pictures need matplotlib: pip install 'emsco[plot]'.") from None


def _new_figure(width: float, height: float) -> Figure:
    check_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))
