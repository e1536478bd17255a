"""Share of the machine's matrix-product peak that fits reach, and the cost of the rest."""

from __future__ import annotations

import time

import numpy as np
from problems import load
from threadpoolctl import threadpool_limits

from emsco.models.batches import ModelBatch
from emsco.models.engine import SplitRows
from emsco.models.logistic import LogisticFitter
from emsco.models.shard import LocalShard


class CountingShard:
    """Passes every call on, and adds up the arithmetic of fits."""

    def __init__(self, shard: LocalShard, n_rows: int) -> None:
        self._shard = shard
        self._n_rows = n_rows
        self.leaf = shard.leaf
        self.products = 0.0  # floating-point operations in logits, gradients and Hessians
        self.hessians = 0.0
        self.passes = 0  # models times passes over the rows
        self.seconds = 0.0

    def add_terms(self, batch: ModelBatch, live: np.ndarray) -> None:
        """Count, then pass on."""
        sizes = batch.models.sizes[live].astype(float)
        hessians = (sizes * (sizes + 1) * batch.curved[live]).sum() * self._n_rows
        self.hessians += hessians
        self.passes += len(live)
        self.products += 4 * sizes.sum() * self._n_rows + hessians
        started = time.perf_counter()
        self._shard.add_terms(batch, live)
        self.seconds += time.perf_counter() - started


def product_peak(kind: type, side: int = 1200) -> float:
    """Floating-point operations per second of a square matrix product on one thread."""
    a = np.random.default_rng(0).normal(size=(side, side)).astype(kind)
    with threadpool_limits(1):
        times = []
        for _ in range(5):
            started = time.perf_counter()
            a @ a
            times.append(time.perf_counter() - started)
    return 2 * side**3 / min(times)


def exponential_seconds(shard: LocalShard, n_models: int, n_rows: int) -> float:
    """Time of one row's exponential, measured with models that only have an intercept."""
    empty = ModelBatch.from_subsets(np.zeros((n_models, 1), dtype=bool))
    empty.fine[:] = True
    empty.curved[:] = False
    live = np.arange(n_models)
    shard.add_terms(empty, live)
    started = time.perf_counter()
    shard.add_terms(empty, live)
    return (time.perf_counter() - started) / (n_models * n_rows)


def report() -> None:
    """Print the peak of this machine, and the share that fits of two sizes reach."""
    single, double = product_peak(np.float32), product_peak(np.float64)
    print(f"matrix-product peak of one thread: {single / 1e9:.1f} GFLOP/s in float32, ", end="")
    print(f"{double / 1e9:.1f} in float64")
    for name in ("synthetic15", "synthetic50"):
        report_fits(name, single)


def report_fits(name: str, peak: float, n_models: int = 256) -> None:
    problem = load(name)
    n_rows, n_features = len(problem.train), problem.X.shape[1]
    split = SplitRows.cut(problem.X, problem.y, problem.train, problem.scored)
    subsets = np.random.default_rng(0).random((n_models, n_features)) < 0.5
    subsets[:, 0] |= ~subsets.any(axis=1)
    LogisticFitter(split.shards, n_features, n_rows).fit(subsets)
    counting = CountingShard(split.shards[0], n_rows)
    fitter = LogisticFitter([counting], n_features, n_rows)
    started = time.perf_counter()
    fitter.fit(subsets)
    total = time.perf_counter() - started
    exponentials = counting.passes * n_rows * exponential_seconds(split.shards[0], n_models, n_rows)
    rate = counting.products / total
    print(f"{name}, {n_models} random subsets of {n_rows:,} × {n_features}:")
    print(f"  {total / n_models * 1e6:.0f} µs and {counting.passes / n_models:.1f} passes a fit")
    print(
        f"  {rate / 1e9:.1f} GFLOP/s in products, {rate / peak:.0%} of the float32 peak;", end=" "
    )
    print(f"{counting.hessians / counting.products:.0%} of them are Hessians")
    print(
        f"  time: exponentials about {exponentials / total:.0%}, Newton steps and Python", end=" "
    )
    print(f"{1 - counting.seconds / total:.0%}, the rest logits, gradients and Hessians")
