"""Quality of searches at equal numbers of distinct designs scored."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from common import CORES, SEED, dataset, evaluator, load_table
from joblib import Parallel, delayed
from numpy.random import Generator

from emsco import EMSCOClassifier
from emsco._base.typing import FloatArray, StageArray
from emsco._kernels.slots import UNBOUNDED, Slots
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress, design_keys
from emsco.designs.space import DesignSpace, default_max_stages
from emsco.designs.thresholds import auto_min_confidence
from emsco.errors import ParameterError
from emsco.fitting import Workbench
from emsco.models.recipe import StageRecipe
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Scores
from emsco.search.archive import Archive
from emsco.search.evolution import EvolutionSearch
from emsco.search.exact.chains import find_front
from emsco.search.exact.spaces import SingleThresholdSpace
from emsco.search.links import Linker, chains_between
from emsco.search.loop import Search, Stop, StopReason
from emsco.search.operators import initial_population, mutate, random_designs, recombine
from emsco.search.paper import PaperLoop
from emsco.search.settings import SearchSettings

_REFERENCE = np.ones(3)


def losses(scores: Scores, total_cost: float) -> FloatArray:
    """1 - coverage, 1 - accuracy and cost / cost of everything; lower is better."""
    columns = [1 - scores.coverage, 1 - scores.accuracy, scores.cost / total_cost]
    return np.column_stack(columns)


@dataclass(frozen=True, slots=True)
class FrontQuality:
    """Quality figures of a set of designs, in the unit cube of `losses`, reference point (1, 1, 1).

    Attributes
    ----------
    share : float
        Share of the true front's objective vectors in the set.
    hypervolume : float
        Volume that the set dominates.
    hypervolume_ratio : float
        Hypervolume divided by the true front's.
    igd_plus, epsilon : float
        Inverted generational distance (IGD+) to the true front, and the additive epsilon.

    All but `hypervolume` are NaN if the true front is not known.
    """

    share: float
    hypervolume: float
    hypervolume_ratio: float
    igd_plus: float
    epsilon: float

    @classmethod
    def from_scores(cls, scores: Scores, total_cost: float, truth: Scores | None = None) -> Self:
        """Measure `found`, and compare it with the true front if that is known."""
        import moocore

        points = losses(scores, total_cost)
        volume = float(moocore.hypervolume(points, ref=_REFERENCE))
        if truth is None:
            return cls(np.nan, volume, np.nan, np.nan, np.nan)
        target = losses(truth, total_cost)
        whole = float(moocore.hypervolume(target, ref=_REFERENCE))
        return cls(
            share=share_of_front(scores, truth),
            hypervolume=volume,
            hypervolume_ratio=volume / whole,
            igd_plus=float(moocore.igd_plus(points, ref=target)),
            epsilon=float(moocore.epsilon_additive(points, ref=target)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in self.__slots__}


def share_of_front(scores: Scores, truth: Scores) -> float:
    """Share of the objective vectors of `truth` that are in `found`, compared exactly."""
    wanted, had = vectors(truth), vectors(scores)
    return len(wanted & had) / len(wanted)


def vectors(scores: Scores) -> set[tuple[int, int, float]]:
    """Distinct (accepted, correct, spent) triples."""
    columns = (scores.accepted, scores.correct, scores.spent)
    return set(zip(*(column.tolist() for column in columns), strict=True))


_STAGE_BIAS = 2.0


class _ArchivingSearch:
    """Base of the rivals: an archive of all scored designs, and no end of their own.

    `total_cost` is the cost of everything, by default the sum of `costs`.
    """

    def __init__(
        self,
        costs: FloatArray,
        max_stages: int,
        rng: Generator,
        total_cost: float | None = None,
    ) -> None:
        self.generation = -1
        self.stop_reason: StopReason | None = None
        self._total_cost = float(costs.sum()) if total_cost is None else total_cost
        self.archive = Archive(len(costs), self._total_cost)
        self._n_features = len(costs)
        self._max_stages = max_stages
        self._space = DesignSpace(len(costs), max_stages)
        self._rng = rng
        self._asked: StageArray = self.archive.designs
        self._seen = Slots(UNBOUNDED, n_words=-(-len(costs) // 4))
        self._front: tuple[StageArray, Scores] | None = None

    @property
    def front(self) -> tuple[StageArray, Scores]:
        """The simplest design of each non-dominated objective vector, best balanced first."""
        if self._front is None:
            self._front = self.archive.front()
        return self._front

    def tell(self, scores: Scores) -> None:
        """Take the scores of the designs last asked for, some of which may be old."""
        if not scores.feasible.all():
            raise ParameterError(
                'search must be "exact", "evolution" or "paper" if costs are limited, '
                f"got {type(self).__name__}."
            )
        with self._seen.claim(design_keys(self._asked)) as claim:
            new = claim.new_places
        if new.size:
            self.archive.add(self._asked[new], scores[new])
            self._front = None
        self.generation += 1

    def _start(self, n_designs: int) -> StageArray:
        if min(self._n_features, self._max_stages) == 1:
            return np.zeros((n_designs, self._n_features), dtype=np.int16)
        return initial_population(n_designs, self._space, _STAGE_BIAS, self._rng)


class RandomSearch(_ArchivingSearch):
    """Draws designs with uniform genes and a uniform number of stages."""

    def __init__(
        self,
        costs: FloatArray,
        max_stages: int,
        rng: Generator,
        batch: int = 300,
        total_cost: float | None = None,
    ) -> None:
        super().__init__(costs, max_stages, rng, total_cost)
        self._batch = batch

    def ask(self) -> StageArray:
        """Draw the next random designs."""
        self._asked = random_designs(self._batch, self._space, self._rng)
        return self._asked


class GSEMO(_ArchivingSearch):
    """Picks members of the archive, redraws each gene with probability 1/n, keeps the front.

    `batch` children are bred before their scores are known; 1 is the algorithm as published.
    """

    def __init__(
        self,
        costs: FloatArray,
        max_stages: int,
        rng: Generator,
        batch: int = 10,
        total_cost: float | None = None,
    ) -> None:
        super().__init__(costs, max_stages, rng, total_cost)
        self._batch = batch

    def ask(self) -> StageArray:
        """Draw a random design first, then mutants of the archive's members."""
        if self.generation < 0:
            self._asked = self._start(1)
            return self._asked
        members, _ = self.front
        parents = members[self._rng.integers(len(members), size=self._batch)]
        redrawn = self._rng.random(parents.shape) < 1 / self._n_features
        highest = np.minimum(parents.max(axis=1, keepdims=True) + 1, self._max_stages - 1)
        genes = self._rng.integers(0, highest + 1, size=parents.shape)
        self._asked = compress(np.where(redrawn, genes, parents))
        return self._asked


class NSGA2(_ArchivingSearch):
    """NSGA-II of pymoo, with the paper's recombination and mutation."""

    def __init__(
        self,
        costs: FloatArray,
        max_stages: int,
        rng: Generator,
        population_size: int = 300,
        total_cost: float | None = None,
    ) -> None:
        super().__init__(costs, max_stages, rng, total_cost)
        self._algorithm = self._set_up(population_size)
        self._infills: Any = None

    def ask(self) -> StageArray:
        """Ask pymoo for offspring; if it finds no new ones, stop."""
        self._infills = self._algorithm.ask()
        if self._infills is None:
            self.stop_reason = StopReason(Stop.EXHAUSTED, n_designs=len(self._seen))
            self._asked = self._asked[:0]
        else:
            self._asked = self._infills.get("X").astype(np.int16)
        return self._asked

    def tell(self, scores: Scores) -> None:
        """Hand the objectives to pymoo, which minimises."""
        if self._infills is None:
            return
        objectives = [-scores.coverage, -scores.accuracy, scores.cost / self._total_cost]
        self._infills.set("F", np.column_stack(objectives))
        self._infills.apply(lambda one: one.evaluated.update({"F"}))
        self._algorithm.tell(infills=self._infills)
        super().tell(scores)

    def _set_up(self, population_size: int) -> Any:
        from pymoo.algorithms.moo import nsga2
        from pymoo.core.crossover import Crossover
        from pymoo.core.mutation import Mutation
        from pymoo.core.problem import Problem

        search = self

        class Recombination(Crossover):  # type: ignore[misc]  # pymoo has no types
            def __init__(self) -> None:
                super().__init__(2, 1, prob=1.0)

            def _do(self, _problem: Any, X: Any, **_: Any) -> Any:
                first, second = X.astype(np.int16)
                return recombine(first, second, 0.8, search._rng)[None]

        class BetaBinomial(Mutation):  # type: ignore[misc]
            def _do(self, _problem: Any, X: Any, **_: Any) -> Any:
                rate = 1 / search._n_features
                stages = compress(X.astype(np.int16))
                return mutate(stages, rate, _STAGE_BIAS, search._space, search._rng)

        algorithm = nsga2.NSGA2(
            pop_size=population_size,
            sampling=self._start(population_size),
            crossover=Recombination(),
            mutation=BetaBinomial(prob=1.0),
            eliminate_duplicates=True,
            seed=int(self._rng.integers(2**31)),
        )
        space = Problem(n_var=self._n_features, n_obj=3, xl=0, xu=self._max_stages - 1, vtype=int)
        algorithm.setup(space, termination=("n_gen", 2**31))
        return algorithm


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
    table = load_table("thyroid", SEED)
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
    return {search: done[:complete] for search, done in repeats.items()}


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
