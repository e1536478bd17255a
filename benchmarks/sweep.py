"""The authors' sweep: 9 thresholds × 10 repeats × 150 generations on 2,000 × 15 training rows.

python benchmarks sweep [paper|evolution] [processes]

Their script needs some 20 seconds per generation, three days in all.
"""

from __future__ import annotations

import argparse
from time import perf_counter, process_time

import numpy as np
from common import SEED, all_subsets

from emsco.designs.thresholds import ThresholdGrid
from emsco.fitting import Workbench
from emsco_lab.datasets import load
from emsco_lab.parts import EncodedParts, Parts
from emsco_lab.sweep import THRESHOLDS, sweep_thresholds

SIZES = (2000, 1000, 1000)


def parts_of_benchmark() -> Parts:
    data = load("synthetic15", SEED)
    order = np.random.default_rng(SEED).permutation(len(data.X))
    cut = np.split(order, np.cumsum(SIZES))[:3]
    return Parts(data.X, data.y, data.costs, *cut)


def report_parts(parts: Parts) -> None:
    """Time the fits of all subsets, and their bits at every threshold, on one core."""
    data = EncodedParts.from_parts(parts).data
    bank = Workbench.from_split(data, (parts.train, parts.val)).bank
    subsets = all_subsets(bank.n_features)
    started = process_time()
    bank.kept(subsets)
    fitted = process_time()
    for threshold in THRESHOLDS:
        bank.bits(ThresholdGrid.single(np.full(2, threshold)))
    judged = process_time()
    print(f"bank: {len(subsets):,} subsets fitted in {fitted - started:.1f} CPU s")
    print(f"bits: all of them at {len(THRESHOLDS)} thresholds in {judged - fitted:.1f} CPU s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("search", nargs="?", choices=("paper", "evolution"), default="paper")
    parser.add_argument("processes", nargs="?", type=int, default=-1)
    asked = parser.parse_args()
    search, n_jobs = asked.search, asked.processes
    parts = parts_of_benchmark()
    sweep_thresholds(parts, [0.75], runs=1, search=search, generations=1)  # kernels compiled
    report_parts(parts)
    started, cpu_seconds = perf_counter(), process_time()
    result = sweep_thresholds(parts, runs=10, search=search, seed=SEED, n_jobs=n_jobs)
    seconds, cpu_seconds = perf_counter() - started, process_time() - cpu_seconds
    searching = sum(repeat.seconds for repeat in result.repeats)
    each = searching / len(result.repeats)
    print(f"search: {len(result.repeats)} searches, {searching:.1f} CPU s, {each:.2f} each")
    print(f"sweep ({search}): {seconds:.1f} s, {searching + cpu_seconds:.1f} CPU s")
