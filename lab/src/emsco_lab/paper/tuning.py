"""The paper's search at many settings, ranked by balanced score."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import pandas as pd
import typer
from matplotlib.figure import Figure

from emsco.search import choose, find_front
from emsco_lab.datasets import threshold_of
from emsco_lab.paper.published import SETS, SETTINGS
from emsco_lab.paper.study import (
    MARKS,
    STYLES,
    Jobs,
    Out,
    PrintJSON,
    Result,
    Runs,
    Seed,
    Sets,
    Splits,
    do_jobs,
    known_names,
    markdown,
    name_marks,
    new_figure,
    opened,
    publish,
    soften,
    split_seed,
)

# The paper prints no grid; this one includes its choices. "1/n" is 1 / number of features.
GRID: dict[str, tuple[Any, ...]] = {
    "population_size": (100, 200, 250, 300),
    "mutation_rate": (0.025, 0.05, 0.075, 0.1, "1/n"),
    "crossover_rate": (0.7, 0.75, 0.8, 0.9),
    "stage_bias": (1.5, 2.0, 2.5, 3.0),
    "elite_fraction": (0.1, 0.2, 0.3),
}
SYMBOLS = ("|G|", "m̂", "r̂", "β", "b")
_DEFAULTS = {"population_size": 300, "elite_fraction": 0.2}
_HEADS = "set | settings | best here | score | the paper's | score | worst score | spread"
_TABLE = """\
# Settings of the paper's search (seed {seed})

Scores are balanced scores, √(coverage² + accuracy² + (1 - cost / cost of everything)²), of the
fittest design of each search on the scored rows. Spread is the standard deviation of the settings'
means, beside that of repeats at one setting.

"""
Setting: TypeAlias = tuple[Any, ...]


def reproduce_tuning(
    out: Out = Path("reproduce-tuning"),
    sets: Sets = None,
    splits: Splits = 1,
    runs: Runs = 3,
    thin: Annotated[int, typer.Option(min=1, help="Try one in so many of 960 settings.")] = 1,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: PrintJSON = False,
) -> Result:
    """Run the paper's search at many settings, and rank them.

    Varies |G|, m̂, r̂, β and b over a grid that includes the paper's choice. Settings are ranked by
    the balanced score of the fittest design. A repeat on synthetic50 takes a minute, so use --thin
    there.
    """
    names, every = known_names(sets, SETS), range(splits)
    todo = [
        (name, split, runs, *setting)
        for name, split in product(names, every)
        for setting in grid_of(name, thin)
    ]
    of = {"experiment": "tuning", "seed": seed}
    results, of = do_jobs(_try_setting, todo, out, of, jobs)
    tuned = []
    for name in names:
        scores: dict[Setting, Any] = {
            setting: np.concatenate(found)
            for setting in grid_of(name, thin)
            # An interruption may have cut some short.
            if all(found := [results.get((name, i, runs, *setting), []) for i in every])
        }
        if scores:
            tuned.append(_summary(name, scores))
    result = {**of, "sets": tuned}
    return publish(out, result, _table(result), _draw(result), as_json)


def papers_setting(name: str) -> Setting:
    """Setting that the paper chose for a set."""
    return tuple({**_DEFAULTS, **SETTINGS[name]}[parameter] for parameter in GRID)


def grid_of(name: str, thin: int) -> list[Setting]:
    """Settings to try on a set: one in `thin` at random, always the same, and the paper's own.

    Taking every `thin`-th in order would tie values of one parameter to values of another.
    """
    every = list(product(*GRID.values()))
    drawn = np.random.default_rng(0).permutation(len(every))[: -(-len(every) // thin)]
    tried = {every[i] for i in drawn} | {papers_setting(name)}
    return [setting for setting in every if setting in tried]


def _try_setting(seed: int, name: str, split: int, runs: int, *setting: Any) -> list[float]:
    """Balanced scores of the fittest designs, a search each."""
    data, answers, _ = opened(name, seed, split_seed(split, seed))
    settings: dict[str, Any] = {
        parameter: 1 / len(data.names) if value == "1/n" else value
        for parameter, value in zip(GRID, setting, strict=True)
    }
    scores = []
    for repeat in range(runs):
        # Every setting has the same seeds, so that none is luckier than another.
        rng = np.random.default_rng([seed, split, repeat])
        front = find_front("paper", answers, threshold_of(data), rng, **settings)
        one = front.counts[[choose("fittest", front, data.costs)]]
        saved = 1 - one.cost / data.costs.total
        scores.append(float(np.sqrt(one.coverage**2 + one.accuracy**2 + saved**2)[0]))
    return scores


def _summary(name: str, scores: dict[Setting, Any]) -> Result:
    """Compare settings by the scores of their repeats."""
    papers = scores.get(papers_setting(name))
    table = pd.DataFrame(list(scores), columns=list(GRID))
    repeats = np.array([*scores.values()])
    table["score"] = repeats.mean(axis=1)
    return {
        "set": name,
        "settings": table.round(6).to_dict("records"),
        "best": list(scores)[table["score"].argmax()],
        "paper": papers_setting(name),
        "papers_score": None if papers is None else papers.mean(),
        # Standard deviation of the means, and of repeats at one setting.
        "spread": table["score"].std(ddof=0),
        "repeats": repeats.std(axis=1, ddof=1).mean() if repeats.shape[1] > 1 else None,
        "effects": {one: table.groupby(one)["score"].mean().to_dict() for one in GRID},
    }


def _table(result: Result) -> str:
    """The best settings beside the paper's, and the effect of each parameter."""
    lines, effects = [], ""
    for one in result["sets"]:
        scores = [setting["score"] for setting in one["settings"]]
        best, papers = (_words(zip(SYMBOLS, one[key], strict=True)) for key in ("best", "paper"))
        cells = one["set"], str(len(scores)), best, _score(max(scores)), papers
        more = map(_score, (one["papers_score"], min(scores), one["spread"]))
        lines.append(f"{' | '.join([*cells, *more])} beside {_score(one['repeats'])}")
        effects += f"\n\n## {one['set']}: mean score by value\n"
        for symbol, values in zip(SYMBOLS, one["effects"].values(), strict=True):
            shown = ((f"{value}:", _score(score)) for value, score in values.items())
            effects += f"\n- {symbol}: {_words(shown)}"
    return _TABLE.format(**result) + markdown(_HEADS, lines) + effects


def _score(score: float | None) -> str:
    return "–" if score is None else f"{score:.4f}"


def _words(pairs: Iterable[tuple[object, object]]) -> str:
    return ", ".join(f"{one} {other}" for one, other in pairs)


def _draw(result: Result) -> Figure:
    """Draw the mean balanced score at each value of each parameter, a line per set."""
    figure = new_figure(2.3 * len(SYMBOLS) + 0.6, 2.6)
    panels = figure.subplots(1, len(SYMBOLS), sharey=True)
    for one, style, mark in zip(result["sets"], STYLES, MARKS, strict=False):
        for panel, values in zip(panels, one["effects"].values(), strict=True):
            points = [*map(str, values)], [*values.values()]
            panel.plot(*points, label=one["set"], marker=mark, markersize=3.5, **style)
    for panel, symbol in zip(panels, SYMBOLS, strict=True):
        soften(panel, symbol, "balanced score" if panel is panels[0] else "")
    name_marks(figure, panels[0])
    return figure
