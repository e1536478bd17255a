"""The paper's trade-off figure: coverage, accuracy and cost of every design of a space."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from joblib import effective_n_jobs
from matplotlib.figure import Figure
from numpy.typing import NDArray

from emsco.search import Landscape, count_designs
from emsco_lab.datasets import threshold_of
from emsco_lab.paper.published import SMALL
from emsco_lab.paper.study import (
    COLOURS,
    COLUMN,
    Jobs,
    Out,
    PrintJSON,
    Result,
    Seed,
    known_names,
    markdown,
    new_figure,
    opened,
    publish,
    soften,
)

_CELLS = 40  # cells of the smooth surface along each axis
_TABLE = """\
Trade-offs of all {designs:,} designs of {set} with at most {max_stages} stages, on {rows} scored
rows (seed {seed}).

They have {pairs:,} different pairs of coverage and accuracy; the exact front has {front_vectors}
objective vectors. Buying everything costs {cost_of_everything:g}. The table shows the lowest mean
cost per row of a design with at least this coverage and accuracy.

{lines}

The mean cost is highest at {high}, lowest at {low}."""


def reproduce_landscape(
    out: Out = Path("reproduce-landscape"),
    name: Annotated[str, typer.Option("--set", help=", ".join(SMALL))] = "credit",
    max_stages: Annotated[int, typer.Option(min=1, max=4, help="Most stages of a design.")] = 4,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: PrintJSON = False,
) -> Result:
    """Draw coverage, accuracy and cost of every design of a set: the paper's trade-off figure.

    The paper draws Credit with at most 4 stages: 254,152,083 designs, all of them scored.
    """
    known_names([name], SMALL)
    data, answers, _ = opened(name, 0, seed)
    started = perf_counter()
    tally = count_designs(answers, threshold_of(data), max_stages, effective_n_jobs(jobs))
    result: Result = {
        "experiment": "landscape",
        "set": name,
        "max_stages": max_stages,
        "seed": seed,
        "seconds": round(perf_counter() - started, 2),
        "rows": tally.n_rows,
        "designs": int(tally.n_designs.sum()),
        "cost_of_everything": data.costs.total,
        "front_vectors": int(tally.best.sum()),
        "points": {
            "accepted": tally.accepted.tolist(),
            "correct": tally.correct.tolist(),
            "designs": tally.n_designs.tolist(),
            "lowest_cost": np.round(tally.lowest, 6).tolist(),
            "mean_cost": np.round(tally.mean, 6).tolist(),
            "on_front": tally.best.tolist(),
        },
    }
    return publish(out, result, _table(result, tally), _draw(tally), as_json)


def _table(result: Result, tally: Landscape) -> str:
    """The lowest costs by coverage and accuracy, with the figure's main facts."""
    levels, lines = (0.7, 0.75, 0.8, 0.85, 0.9), []
    for share in (0.5, 0.8, 0.9, 0.95, 0.98, 1.0):
        covers = tally.coverage >= share
        enough = [tally.lowest[covers & (tally.accuracy >= level)] for level in levels]
        cells = (f" | {one.min():.4g}" if len(one) else " | –" for one in enough)
        lines.append(f"{share:g}{''.join(cells)}")
    high, low = (
        f"coverage {tally.coverage[i]:.1%} and accuracy {tally.accuracy[i]:.1%} "
        f"({tally.mean[i]:.4g})"
        for i in (tally.mean.argmax(), tally.mean.argmin())
    )
    heads = " | ".join(["coverage", *(f"accuracy {level:g}" for level in levels)])
    facts = {"pairs": len(tally.mean), "high": high, "low": low, "lines": markdown(heads, lines)}
    return _TABLE.format(**facts, **result)


def _draw(tally: Landscape) -> Figure:
    """Draw the lowest cost over coverage and accuracy: as a smooth surface, and pair by pair.

    Yellow is expensive, as in the paper. Rings mark pairs on the exact front.
    """
    coverage, accuracy, lowest, best = tally.coverage, tally.accuracy, tally.lowest, tally.best
    figure = new_figure(COLUMN, 1.6 * COLUMN)
    parts: Any = figure.subfigures(2, 1, height_ratios=(5, 4))
    above, below = parts
    panel = below.subplots()
    look: dict[str, Any] = {"cmap": COLOURS, "vmin": 0.0, "vmax": lowest.max()}
    dots = panel.scatter(coverage, accuracy, c=lowest, s=5, linewidths=0, marker="s", **look)
    below.colorbar(dots, pad=0.02).set_label("lowest mean cost per row", fontsize=8)
    label, ring = f"on the exact front ({best.sum()})", {"facecolors": "none", "edgecolors": "k"}
    panel.scatter(coverage[best], accuracy[best], s=9, linewidths=0.6, label=label, **ring)
    panel.legend(fontsize=7, frameon=False, loc="lower left")
    soften(panel, "coverage", "accuracy")
    surface: Any = above.add_subplot(projection="3d")
    look |= {"linewidth": 0.15, "edgecolor": "0.3", "rcount": _CELLS, "ccount": _CELLS}
    surface.plot_surface(*smoothed(coverage, accuracy, lowest), **look)
    surface.set_xlabel("coverage", fontsize=7, labelpad=-5)
    surface.set_ylabel("accuracy", fontsize=7, labelpad=-5)
    surface.set_zlabel("lowest mean cost", fontsize=7, labelpad=-5)
    surface.set_box_aspect((1, 1, 0.8), zoom=0.88)
    surface.tick_params(labelsize=6, pad=-3)
    surface.view_init(elev=28, azim=-125)
    return figure


def smoothed(
    coverage: NDArray[Any], accuracy: NDArray[Any], lowest: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """Smooth the lowest cost over a grid of coverage and accuracy by a moving mean of pairs.

    NaN where no design is near.
    """
    axes, near = [], []
    for values in (coverage, accuracy):
        axes.append(axis := np.linspace(values.min(), values.max(), _CELLS))
        # A moving mean over about a cell and a half in each direction.
        reach = 1.5 * np.ptp(values) / _CELLS
        near.append(np.exp(-0.5 * ((values - axis[:, None]) / reach) ** 2))
    weight = near[0] @ near[1].T
    with np.errstate(invalid="ignore", divide="ignore"):
        # Fewer than a third of a pair nearby is too little for a mean.
        cost = np.where(weight > 0.3, (near[0] * lowest) @ near[1].T / weight, np.nan)
    return (*np.meshgrid(*axes, indexing="ij"), cost)
