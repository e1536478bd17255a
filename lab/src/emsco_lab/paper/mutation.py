"""The paper's mutation figure: how likely a mutation adds a stage, in theory and practice."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.checks import check_whole
from emsco._base.typing import FloatArray, StageArray
from emsco.designs.chromosomes import stage_counts
from emsco.designs.space import DesignSpace
from emsco.plotting.figures import COLUMN, DARK, MARKERS, STYLES, new_figure, soften
from emsco.search.operators import growth_probability, mutate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_FEATURES, RATE, STAGES = 15, 0.1, (2, 3, 4)  # n, m̂ and |Q| of the paper's figure
BIASES = np.round(np.arange(1.0, 4.0, 0.01), 2)
CHECKED = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
_BLOCK = 20_000
_SURE = 1.96


@dataclass(frozen=True, slots=True, eq=False)
class MutationCurve:
    """Designs with one number of stages, over values of β.

    Attributes
    ----------
    n_stages : int
    formula : ndarray of shape (n_biases,)
        The paper's probability that some feature moves to a new stage.
    exact : ndarray of shape (n_checked,)
        Probability that the mutant has more stages: also, no old stage is left empty.
    simulated : ndarray of shape (n_checked,)
        Share of the mutants made by the library's own operator that have more stages.
    """

    n_stages: int
    formula: FloatArray
    exact: FloatArray
    simulated: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class MutationFigure:
    """Probabilities that a mutation adds a stage.

    Attributes
    ----------
    n_mutants, seed : int
        Mutants per point, and their seed.
    curves : tuple of MutationCurve
    """

    n_mutants: int
    seed: int
    curves: tuple[MutationCurve, ...]

    def margin(self, share: float) -> float:
        """Half the width of a 95 % interval around a share of all mutants."""
        return _SURE * sqrt(max(share * (1 - share), 1e-12) / self.n_mutants)

    @property
    def largest_difference(self) -> float:
        """Largest difference between exact and simulated values, in standard errors."""
        errors: list[float] = [
            abs(exact - simulated) / (self.margin(exact) / _SURE)
            for curve in self.curves
            for exact, simulated in zip(curve.exact.tolist(), curve.simulated.tolist(), strict=True)
        ]
        return max(errors)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "experiment": "mutation",
            "features": N_FEATURES,
            "mutation_rate": RATE,
            "mutants": self.n_mutants,
            "seed": self.seed,
            "biases": BIASES.tolist(),
            "checked_biases": list(CHECKED),
            "largest_difference_in_standard_errors": self.largest_difference,
            "curves": [
                {
                    "stages": curve.n_stages,
                    "formula": curve.formula.tolist(),
                    "exact": curve.exact.tolist(),
                    "simulated": curve.simulated.tolist(),
                }
                for curve in self.curves
            ],
        }

    def to_markdown(self) -> str:
        """A table with a line for each number of stages and each β that was checked."""
        lines = [
            f"Probability that a mutation adds a stage: {N_FEATURES} features, rate "
            f"{RATE:g}, seed {self.seed}.",
            "",
            "The paper's formula gives the probability that some feature moves to a new stage. The "
            "exact probability also requires that no old stage is left empty; here features are "
            "spread evenly over the stages. The simulated share is that of "
            f"{self.n_mutants:,} mutants made by `emsco.search.operators.mutate`, with a 95 % "
            "margin of error.",
            "",
            "| stages | β | formula | exact | simulated | margin |",
            "|---|---|---|---|---|---|",
        ]
        for curve in self.curves:
            for bias, exact, simulated in zip(CHECKED, curve.exact, curve.simulated, strict=True):
                formula = growth_probability(N_FEATURES, RATE, curve.n_stages, np.array([bias]))[0]
                lines.append(
                    f"| {curve.n_stages} | {bias:g} | {formula:.4f} | {exact:.4f} "
                    f"| {simulated:.4f} | {self.margin(exact):.4f} |"
                )
        lines += ["", f"Largest difference: {self.largest_difference:.1f} standard errors."]
        return "\n".join(lines)


def reproduce_mutation(mutants: int = 100_000, seed: int = 0) -> MutationFigure:
    """Compute the paper's curves, and check them with mutants of our own operator.

    Parameters
    ----------
    mutants : int
        Mutants for each point that is checked.
    seed : int
    """
    check_whole("mutants", mutants, 1)
    check_whole("seed", seed, 0)
    curves = []
    for k in STAGES:
        design = np.sort(np.arange(N_FEATURES) % k).astype(np.int16)
        space, simulated = DesignSpace(N_FEATURES, k + 2), []
        for i, bias in enumerate(CHECKED):
            rng, grown = np.random.default_rng([seed, k, i]), 0
            for start in range(0, mutants, _BLOCK):
                parents = np.tile(design, (min(_BLOCK, mutants - start), 1))
                grown += int((stage_counts(mutate(parents, RATE, bias, space, rng)) > k).sum())
            simulated.append(grown / mutants)
        curves.append(
            MutationCurve(
                k,
                formula=growth_probability(N_FEATURES, RATE, k, BIASES),
                exact=np.array([growth_of(design, RATE, bias) for bias in CHECKED]),
                simulated=np.array(simulated),
            )
        )
    return MutationFigure(mutants, seed, tuple(curves))


def growth_of(design: StageArray, rate: float, stage_bias: float) -> float:
    """Exact probability that a mutant of a design has more stages, without a limit on stages.

    A feature must move to a new stage, and every old stage must keep a feature. Inclusion and
    exclusion over empty old stages gives the probability of both.
    """
    from scipy.stats import betabinom

    n_stages = int(design.max()) + 1
    drawn = betabinom.pmf(np.arange(n_stages + 1), n_stages, 1, stage_bias)
    places = rate * drawn + (1 - rate) * (design[:, None] == np.arange(n_stages + 1))
    total = 0.0
    for size in range(n_stages + 1):
        for empty in combinations(range(n_stages), size):
            kept = 1 - places[:, list(empty)].sum(axis=1)
            none_new = kept - places[:, n_stages]
            total += (-1) ** size * float(kept.prod() - none_new.prod())
    return total


def draw_mutation(result: MutationFigure) -> Figure:
    """Draw the paper's curves, and the shares of our operator on top of them."""
    figure = new_figure(COLUMN, 0.3 + 0.72 * COLUMN)
    panel = figure.subplots()
    look: dict[str, Any] = {"markersize": 3.5, "color": DARK, "markerfacecolor": "white"}
    for curve, style, marker in zip(result.curves, STYLES, MARKERS, strict=False):
        label = f"$|Q| = {curve.n_stages}$"
        panel.plot(BIASES, curve.formula, linewidth=1.5, label=label, **style)
        margins = [result.margin(share) for share in curve.simulated.tolist()]
        panel.errorbar(
            CHECKED, curve.simulated, margins, fmt=marker, linewidth=0.8, zorder=4, **look
        )
    panel.plot([], [], "o", label=f"{result.n_mutants:,} mutants each", **look)
    panel.set_xlim(1, 4)
    panel.set_ylim(0, 0.5)
    panel.set_xlabel(r"stage bias $\beta$", fontsize=8)
    panel.set_ylabel("probability of one more stage", fontsize=8)
    panel.legend(fontsize=7, frameon=False, handlelength=3.2)
    soften(panel)
    return figure
