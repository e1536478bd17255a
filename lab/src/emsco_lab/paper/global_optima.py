"""The paper's global-optimisation experiment: how much of the exact front searches find.

The landscapes are Heart, Credit and Pima with at most 2, 3 and 4 stages. For each of them, the
experiment finds the exact front. Then it counts how many of its designs and objective vectors
searches know after each generation, on average.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from matplotlib.figure import Figure

from emsco.scoring import Counts
from emsco.search import find_front, start_search
from emsco_lab.datasets import threshold_of
from emsco_lab.paper.published import FRONTS, SETTINGS, SMALL
from emsco_lab.paper.study import (
    STYLES,
    Jobs,
    Names,
    Out,
    PrintJSON,
    Result,
    Runs,
    Seed,
    do_jobs,
    known_names,
    markdown,
    name_marks,
    new_figure,
    opened,
    publish,
    soften,
)

STAGES = [2, 3, 4]
SEARCHES = ("paper", "evolution")
_GENERATIONS = 150
_HEADS = """set | stages | designs | front in the paper: designs | exact front: designs | vectors
| seconds | vectors found: paper | evolution"""
_LINE = """{set} | {max_stages} | {designs:,} | {front_designs_in_paper} | {front_designs}
| {front_vectors} | {seconds:.2f}"""
_FOUND = """ | {optimal_vectors_by_generation[150]:.1f} ({vectors_of_worst_repeat} to \
{vectors_of_best_repeat}, repeats: {repeats})"""
_TABLE = """\
Global optima: exact fronts, and how much searches find (seed {seed}).

The paper's splits are not published, so its fronts are of other rows. Vectors found are means over
repeats after 150 generations, with the worst and the best repeat.

"""


def reproduce_global(
    out: Out = Path("reproduce-global"),
    sets: Annotated[Names, typer.Option("--set", help=f"{', '.join(SMALL)}; repeatable.")] = None,
    stages: Annotated[list[int], typer.Option(min=2, max=4, help="Most stages.")] = STAGES,
    runs: Runs = 50,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: PrintJSON = False,
) -> Result:
    """Compute the exact fronts of nine landscapes, and measure how much of them searches find.

    Exact search covers all designs of Heart, Credit and Pima with at most 2, 3 and 4 stages, which
    took the paper three weeks. Its front is compared with the designs that the paper's search and
    ours have found after each generation. Data are read from the folder that EMSCO_DATA names, or
    downloaded.
    """
    fronts = {
        place: exact_front(*place, seed) for place in product(known_names(sets, SMALL), stages)
    }
    best = {place: vectors for place, (_, vectors) in fronts.items()}
    todo = [(*place, *one) for place in fronts for one in product(SEARCHES, range(runs))]
    of = {"experiment": "global", "seed": seed}
    results, of = do_jobs(partial(_search_once, best), todo, out, of, jobs)
    landscapes = []
    for place, (landscape, _) in fronts.items():
        landscapes.append(landscape)
        for search in SEARCHES:
            found = [one for job, one in results.items() if job[:3] == (*place, search)]
            if found:
                landscape["searches"][search] = _curve(found)
    result = {**of, "landscapes": landscapes}
    return publish(out, result, _table(result), _draw(result), as_json)


def exact_front(name: str, max_stages: int, seed: int) -> tuple[Result, set[tuple[float, ...]]]:
    """Prove the front of a set; return facts about it, and its objective vectors."""
    data, answers, _ = opened(name, 0, seed)
    n_features = len(data.names)
    answers.of(np.arange(1, 2**n_features)[:, None] >> np.arange(n_features) & 1)  # fits all models
    started = perf_counter()
    # Without generations, no search comes before the proof.
    limits: dict[str, Any] = {"max_stages": max_stages, "generations": 0}
    front = find_front("exact", answers, threshold_of(data), **limits)
    facts = {
        "set": name,
        "max_stages": max_stages,
        "designs": front.stop_reason.n_settled,
        "front_vectors": len(front.designs),
        "front_designs": int(front.n_tied.sum()),
        "front_designs_in_paper": FRONTS[name][STAGES.index(max_stages)],
        "seconds": perf_counter() - started,
        "searches": {},
    }
    return facts, set(_vectors(front.counts))


def _vectors(counts: Counts) -> list[tuple[float, ...]]:
    table = np.column_stack([counts.accepted, counts.correct, counts.spent])
    return list(map(tuple, table.tolist()))


def _search_once(
    best: dict[Any, Any], seed: int, name: str, max_stages: int, kind: str, repeat: int
) -> Result:
    """Search once, and count the optimal designs and vectors known after each generation."""
    data, answers, _ = opened(name, 0, seed)
    words = [seed, repeat, SMALL.index(name), max_stages, SEARCHES.index(kind)]
    own: dict[str, Any] = SETTINGS[name] if kind == "paper" else {"patience": _GENERATIONS}
    own = {"max_stages": max_stages, "generations": _GENERATIONS, **own}
    search = start_search(kind, data.costs, np.random.default_rng(words), **own)
    curve = np.zeros((_GENERATIONS + 1, 2), dtype=np.int64)
    scored: set[bytes] = set()
    known: dict[bytes, tuple[float, ...]] = {}
    while search.stop_reason is None:
        designs = np.asarray(search.ask())
        counts = answers.score(designs, threshold_of(data))
        search.tell(counts)
        scored |= {design.tobytes() for design in designs}
        if kind == "paper":  # it keeps only the last generation
            designs, counts = np.asarray(search.front[0]), search.front[1]
            known = {}
        for design, vector in zip(designs, _vectors(counts), strict=True):
            if vector in best[name, max_stages]:
                known[design.tobytes()] = vector
        # To the end: a search that stops early knows as much from then on.
        curve[search.generation :] = len(known), len({*known.values()})
    return {"known": curve.tolist(), "scored": len(scored)}


def _curve(found: list[Result]) -> Result:
    """Means over repeats."""
    known = np.array([one["known"] for one in found])
    designs, vectors = known.mean(axis=0).T.round(4).tolist()
    return {
        "repeats": len(found),
        "designs_scored": float(np.mean([one["scored"] for one in found])),
        "optimal_designs_by_generation": designs,
        "optimal_vectors_by_generation": vectors,
        "vectors_of_worst_repeat": int(known[:, -1, 1].min()),
        "vectors_of_best_repeat": int(known[:, -1, 1].max()),
    }


def _table(result: Result) -> str:
    lines = []
    for one in result["landscapes"]:
        line = _LINE.format(**one)
        for search in SEARCHES:
            curve = one["searches"].get(search)
            line += _FOUND.format(**curve) if curve else " | –"
        lines.append(line)
    return _TABLE.format(**result) + markdown(_HEADS, lines)


def _draw(result: Result) -> Figure:
    """Draw how many objective vectors of the exact front searches know after each generation."""
    names, stages = (
        list(dict.fromkeys(one[key] for one in result["landscapes"]))
        for key in ("set", "max_stages")
    )
    figure = new_figure(2.4 * len(stages) + 0.6, 2.0 * len(names) + 0.5)
    panels = figure.subplots(len(names), len(stages), squeeze=False)
    for one, panel in zip(result["landscapes"], panels.flat, strict=True):
        panel.axhline(one["front_vectors"], color="0.6", linewidth=0.8, label="exact front")
        for search, curve in one["searches"].items():
            look = STYLES[search == "paper"]
            panel.plot(curve["optimal_vectors_by_generation"], label=search, **look)
        panel.set_title(f"{one['set']}, k = {one['max_stages']}", fontsize=9)
        panel.set_ylim(0, 1.08 * one["front_vectors"])
        soften(panel, "generation", "optimal vectors")
    name_marks(figure, panels[0, 0])
    return figure
