"""Exact fronts: seconds, designs a second, beside a NumPy twin and a bare popcount loop."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
from timing import CORES, SEED, best_of

from emsco._kernels.bits import popcount
from emsco._kernels.compiler import kernel
from emsco.designs.space import DesignSpace
from emsco.lab.datasets import Dataset, load, paper_split
from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Scores
from emsco.search.evolution import EvolutionSearch
from emsco.search.exact.chains import find_front
from emsco.search.exact.front import ExactFront
from emsco.search.exact.spaces import SingleThresholdSpace, totals
from emsco.search.loop import run_search
from emsco.search.settings import SearchSettings

TWIN_DESIGNS = 2_000_000
BARE_PAIRS = 50_000_000
CREDIT_MEMORY = 14 * 2**30


@cache
def dataset(name: str) -> Dataset:
    """Load a set once, since the costs of Synthetic15 need a forest."""
    return load(name, SEED)


def evaluator(name: str, max_stages: int, n_jobs: int = CORES) -> Evaluator:
    """Open an evaluator whose bank has fitted nothing yet."""
    data = dataset(name)
    train, scored, _ = paper_split(len(data.X), SEED)
    split = SplitRows.cut(data.X, data.y, train, scored)
    bank = logistic_bank([split], data.X.shape[1], n_jobs=n_jobs)
    return Evaluator(bank, data.costs, data.min_confidence, max_stages)


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
                f"{name}, {k} stages: {landscape.n_designs:,} designs, {front.n_settled:,} settled,"
                f" {len(front.designs)} vectors, {front.n_tied.sum():,} optimal designs, "
                f"{seconds:.2f} s, {1e9 * seconds / landscape.n_designs:,.1f} ns a design, "
                f"{landscape.n_designs / seconds:,.0f} designs a second; "
                f"{front.n_transitions:,} looked at",
                flush=True,
            )
    print(f"all nine, fits included: {total:.1f} s")
    landscape = open_landscape("credit", 4)
    seconds = best_of(3, lambda: find_front(landscape, n_jobs=1))
    front = find_front(landscape, n_jobs=1)
    ours = seconds / landscape.n_designs
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
            f"{name}, {k} stages: {landscape.n_designs:,} designs, {front.n_settled:,} settled, "
            f"{len(front.designs)} vectors, {front.n_tied.sum():,} optimal designs, "
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
            f"{name}, {k} stages: {landscape.n_designs:,} designs, {front.n_settled:,} settled, "
            f"{len(front.designs)} vectors, {front.n_labels:,} kinds of chains, {seconds:.1f} s, "
            f"{front.stopped or 'proven'}",
            flush=True,
        )
