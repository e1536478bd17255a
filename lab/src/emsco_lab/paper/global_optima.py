"""The paper's global-optimisation experiment: how much of the exact front searches find.

The landscapes are Heart, Credit and Pima with at most 2, 3 and 4 stages. For each of them, the
experiment finds the exact front. Then it counts how many of its designs and objective vectors
searches know after each generation, on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from emsco._base.checks import check_choice, check_whole
from emsco._base.text import counted
from emsco._base.typing import FloatArray, IntArray
from emsco._base.workers import ending_with_parent
from emsco.data.training import TrainingData
from emsco.designs.space import DesignSpace
from emsco.errors import MemoryLimitError
from emsco.fitting import Workbench
from emsco.plotting.figures import STYLES, name_marks, new_figure
from emsco.scoring.evaluator import Evaluator
from emsco.search.evolution import EvolutionSearch
from emsco.search.exact.chains import find_front
from emsco.search.exact.spaces import SingleThresholdSpace
from emsco.search.paper import PaperLoop
from emsco.search.settings import SearchSettings
from emsco_lab.datasets import load, paper_split, threshold_of
from emsco_lab.jobs import Report
from emsco_lab.paper.published import SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETS = ("heart", "credit", "pima")
STAGES = (2, 3, 4)
SEARCHES = ("paper", "evolution")
_GENERATIONS = 150
_LOOKS = {"evolution": STYLES[0], "paper": STYLES[1]}
_PAPER_SIZES = {"heart": (24, 28, 33), "credit": (47, 141, 171), "pima": (18, 42, 65)}  # by stages

# Optimal designs and vectors that one search knows after each generation, and designs it scored.
Repeat: TypeAlias = tuple[IntArray, int]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Mean number of global optima known after each generation.

    Attributes
    ----------
    designs, vectors : ndarray of shape (n_generations + 1,)
        Mean number of globally optimal designs, and of different objective vectors among them.
    worst_end, best_end : int
        Objective vectors that the worst and the best repeat end with.
    n_repeats : int
    n_designs : float
        Mean number of distinct designs that a search scored.
    """

    designs: FloatArray
    vectors: FloatArray
    worst_end: int
    best_end: int
    n_repeats: int
    n_designs: float

    @classmethod
    def from_repeats(cls, repeats: Sequence[Repeat]) -> Curve:
        """Average over repeats."""
        counts = np.array([known for known, _ in repeats])
        ends = counts[:, -1, 1]
        return cls(
            designs=counts[:, :, 0].mean(axis=0),
            vectors=counts[:, :, 1].mean(axis=0),
            worst_end=int(ends.min()),
            best_end=int(ends.max()),
            n_repeats=len(repeats),
            n_designs=float(np.mean([n_designs for _, n_designs in repeats])),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "repeats": self.n_repeats,
            "designs_scored": self.n_designs,
            "optimal_designs_by_generation": np.round(self.designs, 4).tolist(),
            "optimal_vectors_by_generation": np.round(self.vectors, 4).tolist(),
            "vectors_of_worst_repeat": self.worst_end,
            "vectors_of_best_repeat": self.best_end,
        }


@dataclass(frozen=True, slots=True, eq=False)
class LandscapeOptima:
    """The exact front of one set and number of stages, and how much of it searches find.

    Attributes
    ----------
    name : str
    max_stages : int
    n_designs : int
        Size of the space, which the exact search covers completely.
    n_vectors, n_optimal : int
        Objective vectors of the exact front, and designs that have one of them.
    seconds : float
        Time for the exact front, without the fits.
    spent : ndarray of shape (n_rows + 1, n_rows + 1)
        Cost of the front's vector for each number of accepted and of correct rows; -1 for none.
    curves : dict of str to Curve
        By search.
    """

    name: str
    max_stages: int
    n_designs: int
    n_vectors: int
    n_optimal: int
    seconds: float
    spent: FloatArray
    curves: dict[str, Curve] = field(default_factory=dict)

    @property
    def paper_size(self) -> int:
        """Designs on the front in the paper's table, for its own, unpublished split."""
        return _PAPER_SIZES[self.name][STAGES.index(self.max_stages)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "set": self.name,
            "max_stages": self.max_stages,
            "designs": self.n_designs,
            "front_vectors": self.n_vectors,
            "front_designs": self.n_optimal,
            "front_designs_in_paper": self.paper_size,
            "seconds": self.seconds,
            "searches": {name: curve.to_dict() for name, curve in self.curves.items()},
        }


@dataclass(frozen=True, slots=True, eq=False)
class GlobalOptima:
    """Results of the whole experiment."""

    landscapes: tuple[LandscapeOptima, ...]
    seed: int
    seconds: float
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "experiment": "global optimisation",
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "complete": self.complete,
            "landscapes": [landscape.to_dict() for landscape in self.landscapes],
        }

    def to_markdown(self) -> str:
        """A table with a line for each landscape."""
        lines = [
            f"Global optima: exact fronts, and how much searches find (seed {self.seed}).",
            "",
            "The paper's splits are not published, so its fronts are of other rows. Vectors found "
            "are means over repeats after 150 generations, with the worst and the best repeat.",
            "",
            "| set | stages | designs | front in the paper: designs | exact front: designs "
            "| vectors | seconds | vectors found: paper | evolution |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for landscape in self.landscapes:
            cells = dict.fromkeys(SEARCHES, "–")
            for search, curve in landscape.curves.items():
                repeats = counted(curve.n_repeats, "repeat")
                ends = f"{curve.worst_end} to {curve.best_end}, {repeats}"
                cells[search] = f"{curve.vectors[-1]:.1f} ({ends})"
            lines.append(
                f"| {landscape.name} | {landscape.max_stages} | {landscape.n_designs:,} "
                f"| {landscape.paper_size} | {landscape.n_optimal} | {landscape.n_vectors} "
                f"| {landscape.seconds:.2f} | {' | '.join(cells.values())} |"
            )
        return "\n".join(lines)


def reproduce_global(
    runs: int = 50,
    seed: int = 0,
    n_jobs: int | None = -1,
    sets: Sequence[str] | None = None,
    stages: Sequence[int] | None = None,
    report: Report | None = None,
) -> GlobalOptima:
    """Find the exact fronts, and repeat both searches on each landscape.

    Parameters
    ----------
    runs : int
        Repeats of each search on each landscape; the paper has 50.
    seed : int
        Seed of the split and, with the number of the repeat, of the searches.
    n_jobs : int or None
        Processes, as in joblib.
    sets, stages
        Landscapes to do; None: those of the paper.
    report : callable, optional
        Called with the number of jobs done, the number of all jobs, and the last one's title.

    Ctrl-C stops early: complete searches are kept, and `complete` is False.
    """
    check_whole("runs", runs, 1)
    check_whole("seed", seed, 0)
    sets, stages = sets or SETS, stages or STAGES
    for name in sets:
        check_choice("sets", name, SETS)
    for k in stages:
        check_whole("stages", k, min(STAGES), max(STAGES))
    started = perf_counter()
    places = [(name, k) for name in sets for k in stages]
    n_all = len(places) * (1 + len(SEARCHES) * runs)
    landscapes: list[LandscapeOptima] = []
    repeats: dict[tuple[str, int, str], list[Repeat]] = {}
    complete = False
    try:
        for name, k in places:
            landscapes.append(_exact_front(name, k, seed, effective_n_jobs(n_jobs)))
            if report:
                report(len(landscapes), n_all, f"exact front of {name}, {k} stages")
        workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        one = ending_with_parent(_repeat)
        jobs = product(landscapes, SEARCHES, range(runs))
        results = workers(delayed(one)(*job, seed) for job in jobs)
        for n_done, (job, repeat) in enumerate(results, len(landscapes) + 1):
            repeats.setdefault(job, []).append(repeat)
            if report:
                report(n_done, n_all, f"{job[2]} on {job[0]}, {job[1]} stages")
        complete = True
    except KeyboardInterrupt:
        if not landscapes:
            raise
    for landscape in landscapes:
        for search in SEARCHES:
            if known := repeats.get((landscape.name, landscape.max_stages, search)):
                landscape.curves[search] = Curve.from_repeats(known)
    return GlobalOptima(tuple(landscapes), seed, perf_counter() - started, complete)


@lru_cache(maxsize=3)
def _bench(name: str, seed: int) -> tuple[Workbench, float]:
    """Open the workbench of a set once per process; return it with the threshold."""
    data = load(name)
    train, scored, _ = paper_split(len(data.X), seed)
    rows = TrainingData.from_table(data.X, data.y, None, data.costs, "refuse")
    return Workbench.from_split(rows, (train, scored)), threshold_of(data)


def evaluator_of(name: str, max_stages: int, seed: int) -> Evaluator:
    """Score designs of a set on the scored rows of a split; no subset is fitted twice."""
    bench, min_confidence = _bench(name, seed)
    return bench.evaluator(max_stages, min_confidence)


def _exact_front(name: str, max_stages: int, seed: int, n_jobs: int) -> LandscapeOptima:
    evaluator = evaluator_of(name, max_stages, seed)
    space = DesignSpace(evaluator.bank.n_features, max_stages)
    landscape = SingleThresholdSpace.from_evaluator(evaluator, space)
    started = perf_counter()
    front = find_front(landscape, n_jobs=n_jobs)
    if front.stopped is not None:
        if front.stopped.is_interrupted:
            raise KeyboardInterrupt
        raise MemoryLimitError(str(front.stopped))
    scores = evaluator.score(front.designs)
    n_rows = evaluator.bank.n_rows
    # For each pair of accepted and correct rows, the front has at most one cost: looking it up is
    # quicker than comparing with all vectors. No design costs less than 0, so -1 is never met.
    spent = np.full((n_rows + 1, n_rows + 1), -1.0)
    spent[scores.accepted, scores.correct] = scores.spent
    return LandscapeOptima(
        name,
        max_stages,
        n_designs=front.n_settled,
        n_vectors=len(front.designs),
        n_optimal=int(front.n_tied.sum()),
        seconds=perf_counter() - started,
        spent=spent,
    )


def _repeat(
    landscape: LandscapeOptima, search: str, number: int, seed: int
) -> tuple[tuple[str, int, str], Repeat]:
    """Search once, and count the optima known after each generation."""
    name, max_stages = landscape.name, landscape.max_stages
    evaluator = evaluator_of(name, max_stages, seed)
    words = [seed, number, SETS.index(name), max_stages, SEARCHES.index(search)]
    rng, costs = np.random.default_rng(words), evaluator.costs
    searcher: PaperLoop | EvolutionSearch
    if search == "evolution":
        settings = SearchSettings(max_stages, generations=_GENERATIONS, patience=_GENERATIONS)
        searcher = EvolutionSearch(costs.costs, settings, rng)
    else:
        settings = SearchSettings(max_stages, generations=_GENERATIONS, **SETTINGS[name])
        searcher = PaperLoop(len(costs.names), costs.smallest, settings, rng)
    counts = np.zeros((_GENERATIONS + 1, 2), dtype=np.int64)
    while searcher.stop_reason is None:
        searcher.tell(evaluator.score(searcher.ask()))
        scores = searcher.archive.scores if searcher.archive else searcher.front[1]
        is_optimal = landscape.spent[scores.accepted, scores.correct] == scores.spent
        optimal = scores[np.flatnonzero(is_optimal)]
        pairs = optimal.accepted * (evaluator.bank.n_rows + 1) + optimal.correct
        # To the end: a search that stops early knows as much from then on.
        counts[searcher.generation :] = len(optimal), len(np.unique(pairs))
    return (name, max_stages, search), (counts, evaluator.n_designs)


def draw_global_optima(result: GlobalOptima) -> Figure:
    """Draw how many objective vectors of the exact front searches know after each generation."""
    names = list(dict.fromkeys(landscape.name for landscape in result.landscapes))
    stages = sorted({landscape.max_stages for landscape in result.landscapes})
    figure = new_figure(2.4 * len(stages) + 0.6, 2.0 * len(names) + 0.5)
    axes = figure.subplots(len(names), len(stages), squeeze=False)
    for landscape in result.landscapes:
        panel = axes[names.index(landscape.name)][stages.index(landscape.max_stages)]
        panel.axhline(landscape.n_vectors, color="0.6", linewidth=0.8, label="exact front")
        for search, curve in landscape.curves.items():
            panel.plot(curve.vectors, label=search, linewidth=1.4, **_LOOKS[search])
        panel.set_title(f"{landscape.name}, k = {landscape.max_stages}", fontsize=9)
        panel.set_ylim(0, 1.08 * landscape.n_vectors)
        panel.tick_params(labelsize=7)
    for panel in axes[-1]:
        panel.set_xlabel("generation", fontsize=8)
    for line in axes:
        line[0].set_ylabel("optimal vectors", fontsize=8)
    name_marks(figure, axes[0], columns=3)
    return figure
