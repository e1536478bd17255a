"""The threshold sweep of the authors' repository."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from matplotlib.figure import Figure

from emsco.search import choose, find_front
from emsco_lab.paper.published import SETS, SETTINGS
from emsco_lab.paper.study import (
    COLOURS,
    FIGURES,
    Jobs,
    Out,
    PrintJSON,
    Result,
    Runs,
    Seed,
    do_jobs,
    known_names,
    markdown,
    new_figure,
    opened,
    publish,
    soften,
    split_seed,
)

THRESHOLDS = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
PARTS = ("scored", "seen")  # on the rows that chose, and on test rows
_ROUNDING = 1e-12  # share of the mean: repeats with one and the same design deviate by no more
_HEADS = """min. confidence | repeats | stages | scored: accuracy % | coverage % | cost
| seen: accuracy % | coverage % | cost"""
_TABLE = """\
# Thresholds on {set} (seed {seed})

The fittest designs of the paper's search, scored on {rows[0]:,} rows and seen on {rows[1]:,} test
rows. Buying everything costs {total_cost:g}. ± is the standard deviation over repeats.

"""


def reproduce_sweep(
    out: Out = Path("reproduce-sweep"),
    name: Annotated[str, typer.Option("--set", help=", ".join(SETS))] = "synthetic15",
    runs: Runs = 10,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: PrintJSON = False,
) -> Result:
    """Repeat the authors' sweep: the fittest designs at nine thresholds from .55 to .95.

    Runs the paper's loop at its settings for the set, over 150 generations.
    """
    known_names([name], SETS)
    of = {"experiment": "sweep", "set": name, "seed": seed}
    todo = list(product(THRESHOLDS, range(runs)))
    results, of = do_jobs(partial(_search_once, name), todo, out, of, jobs)
    repeats = pd.DataFrame([results[job] for job in todo if job in results])
    data, *parts = opened(name, seed, split_seed(0, seed))
    result = {
        **of,
        "rows": [part.n_rows for part in parts],
        "total_cost": data.costs.total,
        "thresholds": means_of(repeats).reset_index().to_dict("records"),
        "repeats": repeats.to_dict("records"),
    }
    return publish(out, result, _table(result), _draw(result), as_json)


def _search_once(name: str, seed: int, threshold: float, repeat: int) -> Result:
    """Search once; `EMSCOClassifier` makes the same search with this `random_state`."""
    data, answers, test = opened(name, seed, split_seed(0, seed))
    words = np.random.SeedSequence([seed, repeat, round(threshold * 10**9)])
    random_state = int(words.generate_state(1)[0])
    drawn = np.random.RandomState(random_state).randint(2**31 - 1)
    rng = np.random.default_rng(np.random.SeedSequence(drawn).spawn(3)[1])
    front = find_front("paper", answers, threshold, rng, **SETTINGS[name])
    place = [choose("fittest", front, data.costs)]
    design = front.designs[place]
    counts = zip(PARTS, (front.counts[place], test.score(design, threshold)), strict=True)
    figures = {f"{p} {key}": float(getattr(one, key)[0]) for p, one in counts for key in FIGURES}
    return {
        "min_confidence": threshold,
        "random_state": random_state,
        "design": design[0].tolist(),
        "stages": int(design.max()) + 1,
        **figures,
    }


def means_of(repeats: pd.DataFrame) -> pd.DataFrame:
    """Means and standard deviations over repeats, a line for each threshold."""
    grouped = repeats.drop(columns=["random_state", "design"]).groupby("min_confidence")
    # Of a sample, as repeats stand for all searches that might have been run.
    means, spread = grouped.mean(), grouped.std().fillna(0.0)
    spread = spread.mask(spread <= _ROUNDING * means.abs(), 0.0)
    means["repeats"] = grouped.size()
    return means.join(spread.add_suffix(" deviation"))


def _table(result: Result) -> str:
    lines = []
    for one in result["thresholds"]:
        line = "{min_confidence:g} | {repeats} | {stages:.1f}".format(**one)
        for part, (figure, scale) in product(PARTS, FIGURES.items()):
            mean, spread = one[f"{part} {figure}"], one[f"{part} {figure} deviation"]
            line += f" | {scale * mean:.1f} ± {scale * spread:.1f}"
        lines.append(line)
    return _TABLE.format(**result) + markdown(_HEADS, lines)


def _draw(result: Result) -> Figure:
    """Draw accuracy against mean cost at each threshold: scored rows, and test rows.

    Large marks with their threshold are means over repeats, with bars of one standard deviation;
    small dots are repeats. Colour shows coverage. What accepts no row has no accuracy to draw.
    """
    figure = new_figure(7.0, 3.4)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    look: dict[str, Any] = {"cmap": COLOURS, "vmin": 0.0, "vmax": 1.0}
    means, repeats = (pd.DataFrame(result[key]) for key in ("thresholds", "repeats"))
    for part, panel in zip(PARTS, panels, strict=True):
        x, y, colour = (f"{part} {one}" for one in ("cost", "accuracy", "coverage"))
        for table, size in ((repeats, 7), (means, 46)):
            shown = table[table[colour] > 0]
            dots = panel.scatter(shown[x], shown[y], c=shown[colour], s=size, zorder=size, **look)
        bars = shown[f"{y} deviation"], shown[f"{x} deviation"]
        panel.errorbar(shown[x], shown[y], *bars, color="0.6", linewidth=0.8)
        for threshold, *place in zip(shown["min_confidence"], shown[x], shown[y], strict=True):
            panel.annotate(f"{threshold:g}  ", place, ha="right", fontsize=7)
        panel.set_title(f"{part} rows", fontsize=9)
        soften(panel, "mean cost of a row", "accuracy of accepted rows")
    figure.colorbar(dots, ax=panels, pad=0.02).set_label("coverage", fontsize=8)
    return figure
