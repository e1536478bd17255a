"""The paper's mutation figure: how likely a mutation adds a stage, in theory and practice."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import beta
from scipy.stats import betabinom

from emsco.search import mutate
from emsco_lab.paper.study import (
    COLUMN,
    MARKS,
    STYLES,
    Out,
    PrintJSON,
    Result,
    Seed,
    markdown,
    new_figure,
    publish,
    soften,
)

N_FEATURES, RATE, STAGES = 15, 0.1, (2, 3, 4)  # n, m̂ and |Q| of the paper's figure
BIASES = np.round(np.arange(1.0, 4.0, 0.01), 2)
CHECKED = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
_BLOCK = 20_000
_SURE = 1.96
_HEADS = "stages | β | formula | exact | simulated | margin"
_LINE = "{} | {:g} | {:.4f} | {:.4f} | {:.4f} | {:.4f}"
_TABLE = """\
Probability that a mutation adds a stage: {features} features, rate {mutation_rate:g}, seed {seed}.

The paper's formula gives the probability that some feature moves to a new stage. The exact
probability also requires that no old stage is left empty; here features are spread evenly over the
stages. The simulated share is that of {mutants:,} mutants made by `emsco.search.mutate`, with a
95 % margin of error.

{lines}

Largest difference: {largest_difference_in_standard_errors:.1f} standard errors."""


def reproduce_mutation(
    out: Out = Path("reproduce-mutation"),
    mutants: Annotated[int, typer.Option(min=1, help="Mutants of each point checked.")] = 100_000,
    seed: Seed = 0,
    as_json: PrintJSON = False,
) -> Result:
    """Check the paper's curves of the probability that a mutation adds a stage, for values of β.

    Shows the paper's formula, the exact probability, which accounts for emptied stages, and the
    share among mutants made by the library's own operator.
    """
    curves, lines, differences = [], [], []
    for k in STAGES:
        design, simulated = np.sort(np.arange(N_FEATURES) % k), []
        formula = growth_probability(RATE, k, BIASES)
        exact = [growth_of(design, RATE, bias) for bias in CHECKED]
        for i, bias in enumerate(CHECKED):
            rng, grown = np.random.default_rng([seed, k, i]), 0
            for start in range(0, mutants, _BLOCK):
                parents = np.tile(design, (min(_BLOCK, mutants - start), 1))
                grown += int((mutate(parents, RATE, bias, k + 2, rng).max(axis=1) >= k).sum())
            simulated.append(share := grown / mutants)
            error = _error(exact[i], mutants)
            differences.append(abs(exact[i] - share) / error)
            shown = formula[bias == BIASES].item(), exact[i], share, _SURE * error
            lines.append(_LINE.format(k, bias, *shown))
        curve = {"formula": formula.tolist(), "exact": exact, "simulated": simulated}
        curves.append({"stages": k, **curve})
    result: Result = {
        "experiment": "mutation",
        "features": N_FEATURES,
        "mutation_rate": RATE,
        "mutants": mutants,
        "seed": seed,
        "biases": BIASES.tolist(),
        "checked_biases": list(CHECKED),
        "largest_difference_in_standard_errors": max(differences),
        "curves": curves,
    }
    table = _TABLE.format(lines=markdown(_HEADS, lines), **result)
    return publish(out, result, table, _draw(result), as_json)


def _error(share: float, mutants: int) -> float:
    """Standard error of a share of all mutants."""
    return sqrt(max(share * (1 - share), 1e-12) / mutants)


def growth_probability(rate: float, n_stages: int, stage_bias: NDArray[Any]) -> NDArray[Any]:
    """Probability that a mutation adds a stage, by the paper's formula.

    Any of the features may draw the one new stage of the beta-binomial.
    """
    grown: NDArray[Any] = 1 - (1 - rate * stage_bias * beta(n_stages + 1, stage_bias)) ** N_FEATURES
    return grown


def growth_of(design: NDArray[Any], rate: float, stage_bias: float) -> float:
    """Exact probability that a mutant of a design has more stages, without a limit on stages.

    A feature must move to a new stage, and every old stage must keep a feature. Inclusion and
    exclusion over empty old stages gives the probability of both.
    """
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


def _draw(result: Result) -> Figure:
    """Draw the paper's curves, and the shares of our operator on top of them."""
    figure = new_figure(COLUMN, 0.3 + 0.72 * COLUMN)
    panel = figure.subplots()
    look: dict[str, Any] = {"markersize": 3.5, "color": "0.15", "markerfacecolor": "white"}
    for curve, style, mark in zip(result["curves"], STYLES, MARKS, strict=False):
        panel.plot(BIASES, curve["formula"], label=f"$|Q| = {curve['stages']}$", **style)
        margins = [_SURE * _error(share, result["mutants"]) for share in curve["simulated"]]
        panel.errorbar(CHECKED, curve["simulated"], margins, fmt=mark, linewidth=0.8, **look)
    panel.plot([], [], "o", label=f"{result['mutants']:,} mutants each", **look)
    panel.set(xlim=(1, 4), ylim=(0, 0.5))
    panel.legend(fontsize=7, frameon=False, handlelength=3.2)
    soften(panel, r"stage bias $\beta$", "probability of one more stage")
    return figure
