"""Speed of logistic stages on a GPU, beside this machine's cores.

    python benchmarks/gpu.py                                   1,000,000 rows of 50 features
    python benchmarks/gpu.py --rows 10_000_000 --features 20
    python benchmarks/gpu.py --rows 20_000 --device torch      the same code on PyTorch's CPU

fits: models a second on a sample of subsets, on the device and on all cores (fewer subsets there),
and how far probabilities on the scored rows are apart; the same subsets in another order and alone
give the same bits. whole: `EMSCOClassifier.fit` on the device: search, judging, stages to deploy.
"""

from __future__ import annotations

import argparse
import cProfile
import datetime
import os
import pstats
import time
from typing import Any

import numpy as np

from emsco import EMSCOClassifier
from emsco.models.engine import LogisticEngine, SplitRows
from emsco.scale.cuda.engine import backend

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_rows(n_rows: int, n_features: int, seed: int) -> tuple[Any, Any]:
    """Correlated features of falling worth, and labels that a logistic model explains in part."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    X[:, 1::2] += 0.7 * X[:, : n_features - n_features % 2 : 2]
    worth = rng.permutation(1.5 / np.arange(1, n_features + 1) ** 0.7).astype(np.float32)
    logits = X @ (worth * rng.choice([-1, 1], n_features).astype(np.float32))
    chance = 1 / (1 + np.exp(-logits - 0.5 * X[:, 0] * X[:, 2]))
    return X, (rng.random(n_rows, dtype=np.float32) < chance).astype(np.int64)


def some_subsets(n: int, n_features: int, seed: int) -> Any:
    """Different subsets of all sizes."""
    rng = np.random.default_rng(seed)
    share = rng.random((n, 1))
    subsets = np.unique(rng.random((n, n_features)) < share, axis=0)
    return rng.permutation(subsets[subsets.any(axis=1)])


def timed(work: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def report_fits(X: Any, y: Any, options: argparse.Namespace) -> None:
    n_rows, n_features = X.shape
    order = np.random.default_rng(options.seed).permutation(n_rows)
    train, scored = np.sort(order[n_rows // 3 :]), np.sort(order[: n_rows // 3])
    rows, labels = X.astype(np.float64), y.astype(np.uint8)
    device = backend(options.device)
    seconds, split = timed(lambda: device.cut(rows, labels, train, scored))
    engine = device.engine([split], n_features)
    print(f"rows on the device, full model: {seconds:.2f} s")
    subsets = some_subsets(options.subsets, n_features, options.seed)
    engine.fit(subsets[:600])
    seconds, numbers = timed(lambda: engine.fit(subsets))
    device_speed = len(subsets) / seconds
    print(f"fits: {len(subsets):,} in {seconds:.2f} s, {device_speed:,.0f} a second")
    again = np.random.default_rng(1).permutation(len(subsets))
    same = np.array_equal(engine.fit(subsets[again]), numbers[again])
    alone = np.array_equal(engine.fit(subsets[7:8]), numbers[7:8])
    print(f"same bits in another order: {same}; alone: {alone}")
    for bits in engine.bits:
        bits.reserve(len(subsets))
    slots, least = np.arange(len(subsets)), np.full(2, 0.75)
    engine.judge(subsets[:300], numbers[:300], slots[:300], least)
    seconds, _ = timed(lambda: (engine.judge(subsets, numbers, slots, least), bits.get(slots[:1])))
    print(f"judging: {len(subsets) / seconds:,.0f} subsets a second")
    report_counts(engine, n_features, len(subsets))
    if options.cpu:
        few = subsets[: options.cpu]
        own = LogisticEngine([SplitRows.cut(rows, labels, train, scored)], n_features, 2, CORES)
        own.fit(few[:1])
        seconds, expected = timed(lambda: own.fit(few))
        print(f"{CORES} cores: {len(few) / seconds:,.1f} fits a second; ", end="")
        print(f"the device is {device_speed * seconds / len(few):,.0f} times as fast")
        print(
            f"probabilities differ by at most {largest_gap(own, expected, numbers[: len(few)]):.1e}"
        )


def largest_gap(engine: LogisticEngine, expected: Any, numbers: Any) -> float:
    """Largest difference of the confidences of scored rows."""
    (shard,) = engine.splits[0].shards[:1]
    few = min(len(expected), 50)
    own = [shard.answers(engine.coefs(one[:few])[0, :, 0])[1] for one in (expected, numbers)]
    return float(np.abs(own[0] - own[1]).max())


def report_counts(engine: Any, n_features: int, n_slots: int) -> None:
    rng, n_designs = np.random.default_rng(0), 3000
    chains, n_stages = rng.integers(0, n_slots, (n_designs, 4)), np.full(n_designs, 4)
    designs = np.zeros((n_designs, n_features), dtype=np.int16)
    counts = np.zeros((2, n_designs, 4), dtype=np.int64)
    engine.bits[0].add_counts(designs[:9], chains[:9], n_stages[:9], *counts[:, :9])
    seconds, _ = timed(
        lambda: engine.bits[0].add_counts(designs, chains, n_stages, counts[0], counts[1])
    )
    print(f"counting: {n_designs / seconds:,.0f} designs of four stages a second")


def report_whole(X: Any, y: Any, options: argparse.Namespace) -> None:
    settings: dict[str, Any] = {"estimator": "logistic", "search": "evolution"}
    settings |= {"population_size": options.population, "generations": options.generations}
    settings |= {"memory_limit": options.memory, "n_jobs": -1, "random_state": options.seed}
    settings["screen_rows"] = "auto" if options.screen else None
    if options.min_confidence:
        settings["min_confidence"] = options.min_confidence
    rng = np.random.default_rng(options.seed)
    costs = rng.integers(1, 20, X.shape[1]).astype(float)
    # What compiles, compiles on a few rows before.
    few = EMSCOClassifier(costs, device=options.device, **{**settings, "generations": 12})
    few.fit(X[:30_000], y[:30_000])
    clf = EMSCOClassifier(costs, device=options.device, **settings)
    profile = cProfile.Profile()
    if options.profile:
        profile.enable()
    seconds, _ = timed(lambda: clf.fit(X, y))
    profile.disable()
    last = clf.history_[-1]
    print(f"whole: {seconds:.1f} s, of them {last.seconds:.1f} s for the search; ", end="")
    print(f"{last.n_subsets:,} subsets, {last.n_designs:,} designs, {len(clf.front_)} on the front")
    if options.profile:
        pstats.Stats(profile).sort_stats("cumulative").print_stats(70)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--population", type=int, default=300)
    parser.add_argument("--generations", type=int, default=150)
    parser.add_argument("--min-confidence", type=float, help="one threshold instead of searched")
    parser.add_argument("--memory", default="16GiB", help="memory_limit of the whole fit")
    parser.add_argument("--screen", action="store_true", help="search on a sample of the rows")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--subsets", type=int, default=10_000, help="of the section fits")
    parser.add_argument("--cpu", type=int, default=200, help="subsets for the cores; 0: none")
    parser.add_argument("--only", choices=("fits", "whole"))
    parser.add_argument("--profile", action="store_true", help="where the time of whole goes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    size = f"{options.rows:,} × {options.features}"
    print(f"{datetime.date.today()}, {size}, {CORES} cores, seed {options.seed}", flush=True)
    X, y = make_rows(options.rows, options.features, options.seed)
    if options.only != "whole":
        report_fits(X, y, options)
    if options.only != "fits":
        report_whole(X, y, options)


if __name__ == "__main__":
    main()
