"""Speed of exact search, and quality of the fronts that searches find.

    python benchmarks search                    all sections, about an hour on two cores
    python benchmarks search landscapes every   some of them
    python benchmarks search found --seeds 5    fewer seeds

landscapes: the nine exact fronts of the paper, beside a NumPy twin and the machine's own limit.
every: exact fronts without a limit on stages (Pima, Heart; Credit with --credit).
excluding: exact fronts whose designs may leave features out.
thresholds: exact fronts whose stages have thresholds of their own.
found: share of the true front, hypervolume ratio, IGD+ and epsilon, over distinct designs scored.
volume: hypervolume on sets whose true front is unknown.

Heart, Credit and Pima are read from the folder that EMSCO_DATA names.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from common import CORES, SEED, best_of, dataset, evaluator
from search_quality import KNOWN, SEARCHES, UNKNOWN, report_found, report_volume

from emsco._kernels.bits import popcount
from emsco._kernels.compiler import kernel
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid
from emsco_lab.datasets import paper_split
from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Scores
from emsco.search.evolution import EvolutionSearch
from emsco.search.exact.chains import find_front
from emsco.search.exact.proof import ExactFront
from emsco.search.exact.spaces import SingleThresholdSpace, ThresholdSpace, totals
from emsco.search.exact.walk import walk_front
from emsco.search.loop import run_search
from emsco.search.settings import SearchSettings

TWIN_DESIGNS = 2_000_000
BARE_PAIRS = 50_000_000
CREDIT_MEMORY = 14 * 2**30


def open_landscape(
    name: str, max_stages: int, allow_exclusion: bool = False
) -> SingleThresholdSpace:
    """Fit every subset of a set."""
    scorer = evaluator(name, max_stages)
    return SingleThresholdSpace.from_evaluator(
        scorer, DesignSpace(scorer.bank.n_features, max_stages, allow_exclusion)
    )


def solve(
    name: str,
    max_stages: int,
    memory: int = 2**31,
    known: Scores | None = None,
    allow_exclusion: bool = False,
) -> tuple[SingleThresholdSpace, ExactFront]:
    """Find the exact front, fits included."""
    landscape = open_landscape(name, max_stages, allow_exclusion)
    return landscape, find_front(landscape, known, memory_limit=memory, n_jobs=CORES)


def evolved(name: str, max_stages: int, allow_exclusion: bool = False) -> Scores:
    """Scores that an evolution finds first, as the estimator does in large spaces."""
    scorer = evaluator(name, max_stages)
    costs = dataset(name).costs.costs
    settings = SearchSettings(max_stages, allow_exclusion=allow_exclusion)
    search = EvolutionSearch(costs, settings, np.random.default_rng(SEED))
    return run_search(search, scorer).scores


def score_in_numpy(
    landscape: SingleThresholdSpace, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Score the designs (first, second, third, full) with whole arrays."""
    accepts, corrects = landscape.accepts, landscape.correct
    cost = totals(np.asarray(landscape.costs, dtype=np.float64))
    best = np.full((landscape.n_rows + 1) ** 2, np.inf)
    full = len(cost) - 1
    for one, two in zip(first.tolist(), second.tolist(), strict=True):
        third = supersets(two, full)
        chain = [np.array([one]), np.array([two]), third, np.array([full])]
        left = np.full((1, accepts.shape[1]), ~np.uint64(0))
        n_left, correct, spent, before = landscape.n_rows, 0, 0.0, 0.0
        for subset in chain:
            spent = spent + n_left * (cost[subset] - before)
            leaving = left & accepts[subset]
            correct = correct + np.bitwise_count(leaving & corrects[subset]).sum(axis=1)
            n_left = n_left - np.bitwise_count(leaving).sum(axis=1)
            left = left & ~accepts[subset]
            before = cost[subset]
        cell = (landscape.n_rows - n_left) * (landscape.n_rows + 1) + correct
        np.minimum.at(best, cell, spent)
    return best


def supersets(subset: int, full: int) -> np.ndarray:
    """All subsets strictly between one and the full one."""
    added = np.zeros(1, dtype=np.int64)
    for i in range(full.bit_length()):
        if not subset >> i & 1:
            added = np.concatenate([added, added + (1 << i)])
    return subset + added[1:-1]


def twin_seconds_per_design(landscape: SingleThresholdSpace) -> float:
    """Time per design of the NumPy twin, on a sample of designs with four stages."""
    rng = np.random.default_rng(SEED)
    full = 2**landscape.n_features - 1
    pairs: list[tuple[int, int]] = []
    n_designs = 0
    while n_designs < TWIN_DESIGNS:
        stages = rng.integers(0, 4, size=landscape.n_features)
        one, two = (int(((stages <= j) << np.arange(landscape.n_features)).sum()) for j in (0, 1))
        if 0 < one < two < full:
            pairs.append((one, two))
            n_designs += len(supersets(two, full))
    first, second = np.array(pairs).T
    return best_of(1, lambda: score_in_numpy(landscape, first, second)) / n_designs


@kernel()
def and_and_count(left, right, n_pairs):
    """Popcount of the AND of rows of words, pair by pair, and nothing else."""
    total = np.uint64(0)
    n_left, n_right = len(left), len(right)
    done = 0
    while done < n_pairs:
        for i in range(n_left):
            for j in range(n_right):
                for w in range(left.shape[1]):
                    total += popcount(left[i, w] & right[j, w])
            done += n_right
    return total


def bare_seconds_per_design(landscape: SingleThresholdSpace) -> float:
    """Time per design of the bare loop, for the three counts of a closing stage."""
    rows = np.ascontiguousarray(landscape.accepts[: min(512, len(landscape.accepts))])
    and_and_count(rows, rows, 1)
    return 3 * best_of(3, lambda: and_and_count(rows, rows, BARE_PAIRS)) / BARE_PAIRS


def report_landscapes() -> None:
    """Time the nine landscapes of the paper."""
    solve("pima", 3)  # compiles
    total = 0.0
    for name in ("pima", "heart", "credit"):
        for k in (2, 3, 4):
            started = time.perf_counter()
            landscape, front = solve(name, k)
            seconds = time.perf_counter() - started
            total += seconds
            print(
                f"{name}, {k} stages: {landscape.design_space.size:,} designs, "
                f"{front.n_settled:,} settled, {len(front.designs)} vectors, "
                f"{front.n_tied.sum():,} optimal designs, "
                f"{seconds:.2f} s, {1e9 * seconds / landscape.design_space.size:,.1f} ns a design, "
                f"{landscape.design_space.size / seconds:,.0f} designs a second; "
                f"{front.n_transitions:,} looked at",
                flush=True,
            )
    print(f"all nine, fits included: {total:.1f} s")
    landscape = open_landscape("credit", 4)
    seconds = best_of(3, lambda: find_front(landscape, n_jobs=1))
    front = find_front(landscape, n_jobs=1)
    ours = seconds / landscape.design_space.size
    looked_at = seconds / front.n_transitions
    twin, bare = twin_seconds_per_design(landscape), bare_seconds_per_design(landscape)
    print(f"credit, 4 stages, one thread, fits not included: {seconds:.2f} s")
    print(f"  {1e9 * ours:.1f} ns a design, {1e9 * looked_at:.1f} ns a chain looked at")
    print(f"  NumPy twin: {1e9 * twin:.0f} ns a design, ratio {twin / ours:,.0f}")
    print(f"  bare AND and popcount: {1e9 * bare:.1f} ns a design, ratio {bare / ours:.2f}")


def report_all_stages(credit: bool) -> None:
    """Time exact fronts with as many stages as features."""
    solve("pima", 3)
    cases = [("pima", 8, 2**31), ("heart", 12, 2**31)]
    if credit:
        cases.append(("credit", 14, CREDIT_MEMORY))
    for name, k, memory in cases:
        started = time.perf_counter()
        known = evolved(name, k) if k == 14 else None
        landscape, front = solve(name, k, memory, known)
        seconds = time.perf_counter() - started
        print(
            f"{name}, {k} stages: {landscape.design_space.size:,} designs, "
            f"{front.n_settled:,} settled, {len(front.designs)} vectors, "
            f"{front.n_tied.sum():,} optimal designs, "
            f"{front.n_labels:,} kinds of chains, {seconds:.1f} s, "
            f"{front.stopped or 'proven'}",
            flush=True,
        )


def report_excluding() -> None:
    """Time exact fronts whose designs may leave features out, with a first evolution."""
    solve("pima", 3, allow_exclusion=True)
    for name, k in (("pima", 4), ("heart", 4), ("credit", 4)):
        started = time.perf_counter()
        known = evolved(name, k, allow_exclusion=True)
        landscape, front = solve(name, k, known=known, allow_exclusion=True)
        seconds = time.perf_counter() - started
        print(
            f"{name}, {k} stages: {landscape.design_space.size:,} designs, "
            f"{front.n_settled:,} settled, {len(front.designs)} vectors, "
            f"{front.n_labels:,} kinds of chains, {seconds:.1f} s, "
            f"{front.stopped or 'proven'}",
            flush=True,
        )


EIGHT = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)


@dataclass(frozen=True)
class Case:
    """A set, its stages, and the thresholds that they may have.

    Without folds, a third of the rows is scored. "auto" is the grid that a fit searches.
    """

    name: str
    max_stages: int
    grid: str
    n_folds: int = 0
    allow_exclusion: bool = True

    def __str__(self) -> str:
        """The case in words."""
        rows = f"{self.n_folds} folds" if self.n_folds else "a third of the rows"
        leaving = "" if self.allow_exclusion else ", no feature left out"
        return f"{self.name}, {self.max_stages} stages, {self.grid}, {rows}{leaving}"


CASES = (
    Case("pima", 4, "auto"),
    Case("pima", 4, "auto", 5),
    Case("pima", 8, "auto"),
    Case("pima", 4, "8 levels"),
    Case("pima", 4, "8 levels", allow_exclusion=False),
    Case("pima", 4, "7 levels, then everyone"),
    Case("pima", 3, "8 levels", 5),
    Case("pima", 4, "8 levels", 5),
    Case("heart", 2, "8 levels"),
    Case("heart", 3, "auto"),
    Case("heart", 3, "auto", 5),
    Case("heart", 3, "8 levels"),
    Case("credit", 2, "8 levels"),
    Case("credit", 2, "8 levels", 5),
    Case("credit", 3, "auto"),
)


def open_evaluator(case: Case, n_jobs: int = CORES) -> Evaluator:
    """Open an evaluator whose bank has fitted nothing yet."""
    data = dataset(case.name)
    n_rows = len(data.X)
    if case.n_folds:
        parts = np.array_split(np.random.default_rng(SEED).permutation(n_rows), case.n_folds)
        pairs = [(np.setdiff1d(np.arange(n_rows), part), part) for part in parts]
    else:
        pairs = [paper_split(n_rows, SEED)[:2]]
    splits = [SplitRows.cut(SplitData(data.X, data.y, *pair)) for pair in pairs]
    bank = logistic_bank(splits, data.X.shape[1], n_jobs=n_jobs)
    return Evaluator(bank, data.costs, grid_of(case, data.y, bank.n_rows), case.max_stages)


def grid_of(case: Case, y: np.ndarray, n_scored: int) -> ThresholdGrid:
    """Return the thresholds of a case."""
    shares = np.bincount(y) / len(y)
    if case.grid == "auto":
        return ThresholdGrid.searched(shares, n_scored)
    levels = np.repeat(np.array(EIGHT)[:, None], len(shares), axis=1)
    every = tuple(range(len(levels)))
    if case.grid == "8 levels":
        return ThresholdGrid(levels, every, every)
    levels[0] = 0
    return ThresholdGrid(levels, every[1:], every[:1])


def report_thresholds(cases: tuple[Case, ...] = CASES) -> None:
    """Time exact fronts, fits included, on all cores."""
    solve_levels(Case("pima", 2, "auto"))  # compiles
    for case in cases:
        started = time.perf_counter()
        terrain, front = solve_levels(case)
        seconds = time.perf_counter() - started
        size = terrain.design_space.size
        print(
            f"{case} ({terrain.n_words} words): {size:,} designs, {len(front.designs)} vectors, "
            f"{front.n_tied.sum():,} optimal designs, {front.n_transitions:,} subsets tried, "
            f"{seconds:.1f} s, {1e9 * seconds / size:.2f} ns a design",
            flush=True,
        )


def solve_levels(case: Case, n_jobs: int = CORES) -> tuple[ThresholdSpace, ExactFront]:
    """Find the exact front of a case, fits included."""
    scorer = open_evaluator(case, n_jobs)
    grid, n_features = scorer.grid, scorer.bank.n_features
    shape = case.max_stages, case.allow_exclusion, None, len(grid.early), len(grid.last)
    terrain = ThresholdSpace.from_evaluator(scorer, DesignSpace(n_features, *shape))
    return terrain, walk_front(terrain, n_jobs=n_jobs)


SECTIONS = {
    "landscapes": lambda _: report_landscapes(),
    "every": lambda options: report_all_stages(options.credit),
    "excluding": lambda _: report_excluding(),
    "thresholds": lambda _: report_thresholds(),
    "found": lambda options: report_found(
        seeds_of(options), options.searches, options.sets or KNOWN, options.stages
    ),
    "volume": lambda options: report_volume(
        seeds_of(options), options.searches, options.sets or UNKNOWN
    ),
}


def seeds_of(options: argparse.Namespace) -> range:
    """Seeds of the repeats."""
    return range(options.first_seed, options.first_seed + options.seeds)


def main() -> None:
    """Run the sections named on the command line, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--seeds", type=int, default=20, help="repeats of each search")
    parser.add_argument("--credit", action="store_true", help="also Credit with 14 stages")
    parser.add_argument(
        "--searches",
        nargs="+",
        default=SEARCHES,
        choices=SEARCHES,
        help="searches to compare; must include evolution",
    )
    parser.add_argument("--first-seed", type=int, default=200, help="seed of the first repeat")
    parser.add_argument(
        "--stages", nargs="+", type=int, default=(2, 3, 4), help="stages of the section found"
    )
    parser.add_argument("--sets", nargs="+", help="sets of the sections found and volume")
    options = parser.parse_args()
    if unknown := [name for name in options.sections if name not in SECTIONS]:
        parser.error(f"SECTION must be one of {', '.join(SECTIONS)}, got {unknown[0]!r}.")
    for name in options.sections or SECTIONS:
        print(f"\n## {name}", flush=True)
        SECTIONS[name](options)
