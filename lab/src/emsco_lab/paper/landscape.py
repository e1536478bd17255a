"""The paper's trade-off figure: coverage, accuracy and cost of every design of a space."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs

from emsco._base.arrays import locked_copy
from emsco._base.checks import check_choice, check_whole
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco._kernels.counts import tally_designs
from emsco.designs.space import DesignSpace
from emsco.models.bits import pack
from emsco.plotting.figures import COLOURS, COLUMN, add_scale, new_figure, soften
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import Scores
from emsco.search.exact.spaces import SingleThresholdSpace
from emsco_lab.paper.global_optima import SETS, evaluator_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNSEEN = np.iinfo(np.int64).max
_PARTS = 64  # parts of the work, for any number of threads
_CELLS = 40  # cells of the smooth surface along each axis


@dataclass(frozen=True, slots=True, eq=False)
class DesignTally:
    """Designs counted by accepted and correct rows, with an entry for each pair that occurs.

    Attributes
    ----------
    n_rows : int
    accepted, correct : ndarray of shape (n_pairs,)
    n_designs : ndarray of shape (n_pairs,)
        Number of designs with this pair.
    lowest, mean : ndarray of shape (n_pairs,)
        The lowest and the mean cost per row over these designs.
    best : ndarray of bool, shape (n_pairs,)
        Whether the cheapest of them is on the exact front.
    """

    n_rows: int
    accepted: IntArray
    correct: IntArray
    n_designs: IntArray
    lowest: FloatArray
    mean: FloatArray
    best: BoolArray

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        for field in fields(self):
            if isinstance(array := getattr(self, field.name), np.ndarray):
                object.__setattr__(self, field.name, locked_copy(array))

    @property
    def coverage(self) -> FloatArray:
        """Share of accepted rows, by pair."""
        return self.accepted / self.n_rows

    @property
    def accuracy(self) -> FloatArray:
        """Share of accepted rows that are correct, by pair; 0 where no row is accepted."""
        return self.correct / np.maximum(self.accepted, 1)


def tally_of(landscape: SingleThresholdSpace, per_one: int = 1, n_jobs: int = 1) -> DesignTally:
    """Count every design of a landscape, for plain rows and whole costs.

    Parameters
    ----------
    landscape : SingleThresholdSpace
        Without weights, missing values, exclusion, limits and evaluation costs.
    per_one : int
        Number of its units of cost in a cost of 1.
    n_jobs : int
        Threads; the result does not depend on their number.
    """
    n_rows, full = landscape.n_rows, 2**landscape.n_features - 1
    firsts = (
        np.arange(1, full, dtype=np.int64)
        if landscape.design_space.max_stages > 1
        else np.zeros(0, int)
    )
    # Small subsets start the longest chains, so every part gets some of each size.
    parts = [part for i in range(_PARTS) if (part := firsts[i::_PARTS]).size]
    with ThreadPoolExecutor(n_jobs) as threads:
        tallies = list(threads.map(lambda part: _tally_part(landscape, part), parts))
    designs, lowest, total = _empty_sums(n_rows)
    # The one design of a single stage, then all others.
    pair = (
        int(landscape.count(landscape.accepts[-1])),
        int(landscape.count(landscape.correct[-1])),
    )
    designs[pair] = 1
    lowest[pair] = total[pair] = n_rows * int(landscape.subset_costs()[-1])
    for one in tallies:
        designs += one[0]
        np.minimum(lowest, one[1], out=lowest)
        total += one[2]
    accepted, correct = np.nonzero(designs)
    lowest_costs, counts = lowest[accepted, correct], designs[accepted, correct]
    unit = per_one * n_rows
    return DesignTally(
        n_rows,
        accepted,
        correct,
        counts,
        lowest_costs / unit,
        total[accepted, correct] / counts / unit,
        front_mask(Scores(n_rows, accepted[:, None], correct[:, None], lowest_costs, per_one)),
    )


def _tally_part(
    landscape: SingleThresholdSpace, firsts: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    max_subsets = landscape.design_space.max_stages - 1
    # The kernel walks depth first: line j holds the rows that are left after j stages, as bits.
    rows = np.zeros((max_subsets + 1, landscape.accepts.shape[1]), dtype=np.uint64)
    rows[0] = pack(np.ones(landscape.n_rows, dtype=np.bool_))
    counts = np.zeros((max_subsets + 1, 4), dtype=np.int64)
    counts[0, 0] = landscape.n_rows
    sums = _empty_sums(landscape.n_rows)
    errs = landscape.accepts & ~landscape.correct
    costs = landscape.subset_costs().astype(np.int64)
    tally_designs(landscape.accepts, errs, costs, firsts, max_subsets, rows, counts, *sums)
    return sums


def _empty_sums(n_rows: int) -> tuple[IntArray, IntArray, IntArray]:
    """Number of designs, lowest and total cost by (accepted, correct), before any design."""
    shape = (n_rows + 1, n_rows + 1)
    designs, total = np.zeros((2, *shape), dtype=np.int64)
    return designs, np.full(shape, _UNSEEN), total


@dataclass(frozen=True, slots=True, eq=False)
class TradeOffs:
    """Coverage, accuracy and cost of all designs of a set, on its scored rows.

    Attributes
    ----------
    name : str
    max_stages : int
    total_cost : float
        Cost of buying everything.
    seed : int
    seconds : float
        Time to score the designs, without the fits.
    tally : DesignTally
    """

    name: str
    max_stages: int
    total_cost: float
    seed: int
    seconds: float
    tally: DesignTally

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        tally = self.tally
        return {
            "experiment": "landscape",
            "set": self.name,
            "max_stages": self.max_stages,
            "seed": self.seed,
            "seconds": round(self.seconds, 2),
            "rows": tally.n_rows,
            "designs": int(tally.n_designs.sum()),
            "cost_of_everything": self.total_cost,
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

    def to_markdown(self) -> str:
        """A table of lowest costs by coverage and accuracy, with the figure's main facts."""
        tally = self.tally
        lines = [
            f"Trade-offs of all {int(tally.n_designs.sum()):,} designs of {self.name} with at most "
            f"{self.max_stages} stages, on {tally.n_rows} scored rows (seed {self.seed}).",
            "",
            f"They have {len(tally.accepted):,} different pairs of coverage and accuracy; the "
            f"exact front has {int(tally.best.sum())} objective vectors. Buying everything costs "
            f"{self.total_cost:g}. The table shows the lowest mean cost per row of a design with "
            "at least this coverage and accuracy.",
            "",
        ]
        levels, shares = (0.7, 0.75, 0.8, 0.85, 0.9), (0.5, 0.8, 0.9, 0.95, 0.98, 1.0)
        lines.append(f"| coverage | {' | '.join(f'accuracy {level:g}' for level in levels)} |")
        lines.append("|---" * (1 + len(levels)) + "|")
        for share in shares:
            cells = []
            for level in levels:
                enough = (tally.coverage >= share) & (tally.accuracy >= level)
                cells.append(f"{tally.lowest[enough].min():.4g}" if enough.any() else "–")
            lines.append(f"| {share:g} | {' | '.join(cells)} |")
        highest, lowest = (
            f"coverage {tally.coverage[i]:.1%} and accuracy {tally.accuracy[i]:.1%} "
            f"({tally.mean[i]:.4g})"
            for i in (tally.mean.argmax(), tally.mean.argmin())
        )
        lines += ["", f"The mean cost is highest at {highest}, lowest at {lowest}."]
        return "\n".join(lines)


def reproduce_landscape(
    name: str = "credit", max_stages: int = 4, seed: int = 0, n_jobs: int | None = -1
) -> TradeOffs:
    """Score every design of a set; by default, as in the paper's trade-off figure.

    Parameters
    ----------
    name : str
        "heart", "credit" or "pima".
    max_stages : int
    seed : int
        Seed of the split.
    n_jobs : int or None
        Threads, as in joblib.
    """
    check_choice("name", name, SETS)
    check_whole("max_stages", max_stages, 1, 4)
    check_whole("seed", seed, 0)
    evaluator = evaluator_of(name, max_stages, seed)
    space = DesignSpace(evaluator.bank.n_features, max_stages)
    landscape = SingleThresholdSpace.from_evaluator(evaluator, space)
    started = perf_counter()
    tally = tally_of(landscape, evaluator.units.per_one, effective_n_jobs(n_jobs))
    seconds = perf_counter() - started
    return TradeOffs(name, max_stages, evaluator.costs.total, seed, seconds, tally)


def draw_trade_offs(result: TradeOffs) -> Figure:
    """Draw the lowest cost over coverage and accuracy: as a smooth surface, and pair by pair.

    Yellow is expensive, as in the paper. Rings mark pairs on the exact front.
    """
    figure = new_figure(COLUMN, 1.6 * COLUMN)
    parts: Any = figure.subfigures(2, 1, height_ratios=(5, 4))
    above, below = parts
    panel = below.subplots()
    ends = 0.0, float(result.tally.lowest.max())
    scale = add_scale(below, panel, "lowest mean cost per row", ends).norm
    _draw_surface(above, result.tally, scale)
    tally, best = result.tally, result.tally.best
    look: dict[str, Any] = {"cmap": COLOURS, "norm": scale, "linewidths": 0, "marker": "s"}
    panel.scatter(tally.coverage, tally.accuracy, c=tally.lowest, s=5, **look)
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": "black", "linewidths": 0.6}
    label = f"on the exact front ({int(best.sum())})"
    panel.scatter(tally.coverage[best], tally.accuracy[best], s=9, label=label, **ring)
    panel.set_xlabel("coverage", fontsize=8)
    panel.set_ylabel("accuracy", fontsize=8)
    panel.legend(fontsize=7, frameon=False, loc="lower left")
    soften(panel)
    return figure


def _draw_surface(figure: Any, tally: DesignTally, scale: Any) -> None:
    from matplotlib import rc_context

    coverage, accuracy, cost = smooth_costs(tally)
    with rc_context({"grid.color": "0.9", "grid.linewidth": 0.5}):
        panel: Any = figure.add_subplot(projection="3d")
    look: dict[str, Any] = {"cmap": COLOURS, "norm": scale, "linewidth": 0.15, "edgecolor": "0.3"}
    panel.plot_surface(coverage, accuracy, cost, rcount=_CELLS, ccount=_CELLS, **look)
    panel.set_box_aspect((1, 1, 0.8), zoom=0.88)
    for axis, name in (("x", "coverage"), ("y", "accuracy"), ("z", "lowest mean cost")):
        getattr(panel, f"set_{axis}label")(name, fontsize=7, labelpad=-5)
        panel.locator_params(axis, nbins=5)
    panel.zaxis.set_rotate_label(False)
    panel.zaxis.label.set_rotation(90)
    panel.tick_params(labelsize=6, pad=-3)
    panel.view_init(elev=28, azim=-125)


def smooth_costs(tally: DesignTally) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Smooth the lowest cost over a grid of coverage and accuracy by a moving mean of pairs.

    NaN where no design is near.
    """
    across = np.linspace(tally.coverage.min(), tally.coverage.max(), _CELLS)
    up = np.linspace(tally.accuracy.min(), tally.accuracy.max(), _CELLS)
    grid = np.meshgrid(across, up, indexing="ij")
    # A moving mean over about a cell and a half in each direction.
    reach = 1.5 * np.array([np.ptp(across), np.ptp(up)]) / _CELLS
    cost = np.empty(grid[0].shape)
    for i, share in enumerate(across):
        near = np.exp(-0.5 * ((tally.coverage - share) / reach[0]) ** 2)
        close = np.exp(-0.5 * ((tally.accuracy - up[:, None]) / reach[1]) ** 2) * near
        weight = close.sum(axis=1)
        with np.errstate(invalid="ignore"):
            # Fewer than a third of a pair nearby is too little for a mean.
            cost[i] = np.where(weight > 0.3, close @ tally.lowest / weight, np.nan)
    return grid[0], grid[1], cost
