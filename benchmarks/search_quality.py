"""Quality of searches at equal numbers of distinct designs scored."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from exact_speed import dataset, evaluator
from joblib import Parallel, delayed
from quality import FrontQuality
from rival_searches import GSEMO, NSGA2, RandomSearch
from tables import load
from timing import CORES, SEED

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts
from emsco.designs.space import DesignSpace, default_max_stages
from emsco.designs.thresholds import auto_min_confidence
from emsco.fitting import Workbench
from emsco.models.recipe import StageRecipe
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Scores
from emsco.search.archive import Archive
from emsco.search.evolution import EvolutionSearch
from emsco.search.exact.chains import find_front
from emsco.search.exact.spaces import SingleThresholdSpace
from emsco.search.links import Linker, chains_between
from emsco.search.loop import Search
from emsco.search.paper import PaperLoop
from emsco.search.settings import SearchSettings

BUDGET = 45_000  # the paper's 300 × 150
MARKS = (1_000, 2_000, 5_000, 10_000, 20_000, 45_000)
SEARCHES = ("evolution", "nsga2", "gsemo", "paper", "random")
KNOWN = ("pima", "heart", "credit")
UNKNOWN = ("breast_cancer", "synthetic15", "synthetic50", "thyroid_spline", "thyroid_boosting")
# The paper's own settings for its sets; 1 / n mutations for a set that it does not have.
PAPER_SETTINGS = {
    "heart": {"mutation_rate": 0.075, "crossover_rate": 0.75},
    "credit": {"mutation_rate": 0.075, "stage_bias": 2.5},
    "pima": {"mutation_rate": 0.075},
    "synthetic15": {"mutation_rate": 0.075, "population_size": 250},
    "synthetic50": {"mutation_rate": 0.05, "stage_bias": 2.5},
    "breast_cancer": {"mutation_rate": 1 / 30},
}
MOST_IDLE = 500  # a search ends after so many rounds without a new design


def open_search(name: str, data: str, costs: FeatureCosts, max_stages: int, seed: int) -> Search:
    """Open a search by name."""
    rng = np.random.default_rng([SEED, seed])
    if name == "evolution":
        return EvolutionSearch(costs.alone, SearchSettings(max_stages), rng, costs.total)
    if name == "paper":
        settings = SearchSettings(max_stages, **PAPER_SETTINGS.get(data, {}))
        return PaperLoop(len(costs.names), costs.smallest, settings, rng)
    rivals = {"nsga2": NSGA2, "gsemo": GSEMO, "random": RandomSearch}
    return rivals[name](costs.alone, max_stages, rng, total_cost=costs.total)


def follow(search: Search, scorer: Evaluator, total_cost: float) -> dict[int, Scores]:
    """Fronts of all designs scored so far, each time their number passes a mark."""
    archive: Archive | None = None
    seen: set[bytes] = set()
    fronts: dict[int, Scores] = {}
    idle = 0
    between = None
    if isinstance(search, EvolutionSearch):
        linker = Linker(scorer, search.space)
        between = chains_between(search, scorer, linker)
    while search.stop_reason is None and len(seen) < BUDGET and idle < MOST_IDLE:
        designs = search.ask()
        scores = scorer.score(designs)
        search.tell(scores)
        if between:
            between()
        keys = [design.tobytes() for design in designs]
        new = [i for i, key in enumerate(keys) if key not in seen and not seen.add(key)]
        idle = 0 if new else idle + 1
        new = np.array(new[: BUDGET - (len(seen) - len(new))], dtype=np.int64)
        archive = archive or Archive(designs.shape[1], total_cost)
        if new.size:
            archive.add(designs[new], scores[new])
        if between:  # chains are settled many at a time; those that it takes over are scored
            archive = search.archive
        for mark in MARKS:
            if len(seen) >= mark and mark not in fronts:
                fronts[mark] = archive.front()[1]
    for mark in MARKS:
        fronts.setdefault(mark, archive.front()[1])
    return fronts


def thyroid(family: str, max_stages: int) -> Evaluator:
    """Open an evaluator of the thyroid table with stages of a family; a third of it is scored."""
    table = load("thyroid", SEED)
    classifier = EMSCOClassifier(table.costs)
    rows = classifier._check_data(table.X, table.y, None)
    order = np.random.default_rng(SEED).permutation(len(rows.labels))
    third = len(order) // 3
    recipe = StageRecipe(None, None, None, 2**31, 1, SEED).of_family(family)
    recipe = recipe.for_search(None, len(rows.costs.names))
    bench = Workbench(rows, [(np.sort(order[third:]), np.sort(order[:third]))], recipe)
    shares = recipe.class_shares(rows)
    return bench.evaluator(max_stages, auto_min_confidence(shares, rows.classes))


def one_repeat(
    data: str, max_stages: int, search: str, seed: int, truth: Scores | None
) -> tuple[dict[int, FrontQuality], int, float]:
    """Search once; return the quality at each mark, the subsets fitted, and the seconds."""
    if data.startswith("thyroid"):
        scorer = thyroid(data.partition("_")[2], max_stages)
        costs = scorer.costs
    else:
        scorer = evaluator(data, max_stages, n_jobs=1)
        costs = dataset(data).costs
    started = time.perf_counter()
    fronts = follow(open_search(search, data, costs, max_stages, seed), scorer, costs.total)
    seconds = time.perf_counter() - started
    quality = {
        mark: FrontQuality.from_scores(front, costs.total, truth) for mark, front in fronts.items()
    }
    return quality, scorer.n_subsets, seconds


def all_repeats(
    data: str, max_stages: int, seeds: Sequence[int], searches: Sequence[str], truth: Scores | None
) -> dict[str, list[tuple[dict[int, FrontQuality], int, float]]]:
    """Repeat every search with every seed; Ctrl-C keeps the seeds that all have done."""
    jobs = [(search, seed) for seed in seeds for search in searches]
    results = Parallel(n_jobs=CORES, return_as="generator")(
        delayed(one_repeat)(data, max_stages, search, seed, truth) for search, seed in jobs
    )
    repeats: dict[str, list] = {search: [] for search in searches}
    try:
        for (search, seed), (quality, n_subsets, seconds) in zip(jobs, results, strict=True):
            repeats[search].append((quality, n_subsets, seconds))
            volume = quality[BUDGET].hypervolume
            note = f"{data} {search} seed {seed}: hypervolume {volume:.5f}, {seconds:.0f} s"
            print(note, file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    complete = min(map(len, repeats.values()))
    return {search: found[:complete] for search, found in repeats.items()}


def report_found(
    seeds: Sequence[int], searches: Sequence[str], sets: Sequence[str], stages: Sequence[int]
) -> None:
    """Print how much of the true front each search finds."""
    for data in sets:
        for k in stages:
            scorer = evaluator(data, k)
            landscape = SingleThresholdSpace.from_evaluator(
                scorer, DesignSpace(scorer.bank.n_features, k)
            )
            truth = scorer.score(find_front(landscape, n_jobs=CORES).designs)
            repeats = all_repeats(data, k, seeds, searches, truth)
            span = f"seeds {seeds[0]} to {seeds[-1]}"
            print(f"{data}, {k} stages, {len(truth)} vectors, {span}")
            for search, results in repeats.items():
                last = [quality[BUDGET] for quality, _, _ in results]
                shares = np.array([q.share for q in last])
                print(
                    f"  {search:9} share {shares.mean():.4f}, worst {shares.min():.4f}; "
                    f"hypervolume ratio {np.mean([q.hypervolume_ratio for q in last]):.5f}, "
                    f"IGD+ {np.mean([q.igd_plus for q in last]):.5f}, "
                    f"epsilon {np.mean([q.epsilon for q in last]):.5f}; "
                    f"subsets {np.mean([n for _, n, _ in results]):,.0f}, "
                    f"{np.mean([s for _, _, s in results]):.1f} s; share at "
                    + ", ".join(
                        f"{mark:,}: {np.mean([q[mark].share for q, _, _ in results]):.2f}"
                        for mark in MARKS[:-1]
                    ),
                    flush=True,
                )


def report_volume(seeds: Sequence[int], searches: Sequence[str], sets: Sequence[str]) -> None:
    """Print hypervolumes without a true front, and in how many seeds ours is best."""
    for data in sets:
        k = 4 if data.startswith("thyroid") else default_max_stages(dataset(data).X.shape[1])
        repeats = all_repeats(data, k, seeds, searches, None)
        n_seeds = len(repeats["evolution"])
        ours = np.array([q[BUDGET].hypervolume for q, _, _ in repeats["evolution"]])
        print(f"{data}, {k} stages, {n_seeds} seeds")
        for search, results in repeats.items():
            volume = np.array([q[BUDGET].hypervolume for q, _, _ in results])
            print(
                f"  {search:9} hypervolume {volume.mean():.5f}, worst {volume.min():.5f}; "
                f"evolution is at least as good in {int((ours >= volume).sum())} of {n_seeds}; "
                f"subsets {np.mean([n for _, n, _ in results]):,.0f}, "
                f"{np.mean([s for _, _, s in results]):.1f} s; at "
                + ", ".join(
                    f"{mark:,}: {np.mean([q[mark].hypervolume for q, _, _ in results]):.4f}"
                    for mark in MARKS[:-1]
                ),
                flush=True,
            )
