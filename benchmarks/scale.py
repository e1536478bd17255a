"""Large tables: a GPU, Dask workers, samples, and time and memory by size."""

from __future__ import annotations

import argparse
import cProfile
import pickle
import pstats
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from common import CORES, quietly, status, volume
from learning_curves import rows_of

from emsco import EMSCOClassifier
from emsco._base.documents import write_text
from emsco._base.leaves import by_leaf
from emsco._base.progress import JobProgress
from emsco._base.typing import FloatArray
from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco_lab.trials import LabelledRows, TrialRows
from emsco.models.engine import LogisticEngine, SplitRows
from emsco.models.shard import SplitData
from emsco.scale.cuda.engine import backend
from emsco.scale.dask import MemoryTable
from emsco.scale.remote import LeafTask, RemoteRows
from emsco.scale.remote_models import RemoteEngine, RemoteSplit

WARM_UP = 30_000  # rows on which a fit compiles before it is timed

# A search on a sample beside one on all rows.
MAX_POINTS = 150
FRESH_ROWS = 100_000
PREFIX = "features:"
HEADS = ("set", "seed", "volume, all rows", "volume, sample", "ratio", "s, all rows", "s, sample")


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
    start = perf_counter()
    result = work()
    return perf_counter() - start, result


def report_fits(X: Any, y: Any, options: argparse.Namespace) -> None:
    n_rows, n_features = X.shape
    order = np.random.default_rng(options.seed).permutation(n_rows)
    train, scored = np.sort(order[n_rows // 3 :]), np.sort(order[: n_rows // 3])
    rows, labels = X.astype(np.float64), y.astype(np.uint8)
    device = backend(options.device)
    seconds, split = timed(lambda: device.cut(SplitData(rows, labels, train, scored)))
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
    slots, thresholds = np.arange(len(subsets)), np.full(2, 0.75)
    engine.judge(subsets[:300], numbers[:300], slots[:300], thresholds)
    seconds, _ = timed(
        lambda: (engine.judge(subsets, numbers, slots, thresholds), bits.get(slots[:1]))
    )
    print(f"judging: {len(subsets) / seconds:,.0f} subsets a second")
    report_counts(engine, n_features, len(subsets))
    if options.cpu:
        few = subsets[: options.cpu]
        here = LogisticEngine(
            [SplitRows.cut(SplitData(rows, labels, train, scored))], n_features, 2, CORES
        )
        here.fit(few[:1])
        seconds, expected = timed(lambda: here.fit(few))
        print(f"{CORES} cores: {len(few) / seconds:,.1f} fits a second; ", end="")
        print(f"the device is {device_speed * seconds / len(few):,.0f} times as fast")
        gap = largest_gap(here, expected, numbers[: len(few)])
        print(f"probabilities differ by at most {gap:.1e}")


def largest_gap(engine: LogisticEngine, expected: Any, numbers: Any) -> float:
    """Largest difference of the confidences of scored rows."""
    (shard,) = engine.splits[0].shards[:1]
    few = min(len(expected), 50)
    confidences = [
        shard.answers(engine.coefs(one[:few])[0, :, 0])[1] for one in (expected, numbers)
    ]
    return float(np.abs(confidences[0] - confidences[1]).max())


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
    settings["patience"] = options.generations  # however little the front grows
    settings |= {"memory_limit": options.memory, "n_jobs": -1, "random_state": options.seed}
    settings["screen_rows"] = "auto" if options.screen else None
    if options.min_confidence:
        settings["min_confidence"] = options.min_confidence
    rng = np.random.default_rng(options.seed)
    costs = rng.integers(1, 20, X.shape[1]).astype(float)
    # What compiles, compiles on a few rows before.
    few = EMSCOClassifier(costs, device=options.device, **{**settings, "generations": 12})
    few.fit(X[:WARM_UP], y[:WARM_UP])
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


def main_gpu() -> None:
    """Speed of logistic stages on a GPU, beside this machine's cores.

        python benchmarks gpu                                   1,000,000 rows of 50 features
        python benchmarks gpu --rows 10_000_000 --features 20
        python benchmarks gpu --rows 20_000 --device torch      the same code on PyTorch's CPU

    fits: models a second on a sample of subsets, on the device and on all cores (fewer subsets
    there), and how far probabilities on the scored rows are apart; the same subsets in another
    order and alone give the same bits. whole: `EMSCOClassifier.fit` on the device: search,
    judging, stages to deploy.
    """
    parser = argparse.ArgumentParser(
        description=main_gpu.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
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
    print(f"{size}, {CORES} cores, seed {options.seed}", flush=True)
    X, y = make_rows(options.rows, options.features, options.seed)
    if options.only != "whole":
        report_fits(X, y, options)
    if options.only != "fits":
        report_whole(X, y, options)


class Counted:
    """Counts the bytes of questions and answers of one kind, and how many there were."""

    def __init__(self) -> None:
        self.n_asked = self.sent = self.received = 0
        self._run = RemoteRows.run

    def run(self, rows: RemoteRows, task: LeafTask) -> Any:
        """Ask, and count."""
        result = self._run(rows, task)
        self.n_asked += 1
        self.sent += len(pickle.dumps(task))
        self.received += len(pickle.dumps(result))
        return result


def cpu_seconds(client: Any) -> float:
    """CPU seconds of this process and of all workers."""
    return process_time() + sum(client.run(process_time).values())


def bytes_of(engine: RemoteEngine, subsets: Any) -> Counted:
    """Fit once more, and count what travels."""
    counted = Counted()
    RemoteRows.run = lambda rows, task: counted.run(rows, task)  # type: ignore[method-assign]
    try:
        engine.fit(subsets)
    finally:
        RemoteRows.run = counted._run  # type: ignore[method-assign]
    return counted


def main_clusters() -> None:
    """What rows on a Dask worker cost beside rows in memory: time and bytes of a batch of fits.

        python benchmarks clusters                                  100,000 rows of 50 features
        python benchmarks clusters --rows 400_000 --features 20

    One worker in a process of its own has all rows. Local fits, in one thread, and fits on the
    worker take turns; times are CPU seconds of all processes, so other work on the machine changes
    them little. The models are the same to the last bit.
    """
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=main_clusters.__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    X, y = make_rows(options.rows, options.features, options.seed)
    rows = np.asarray(X, dtype=np.float64)
    costs = FeatureCosts.from_array(np.ones(options.features))
    order = np.random.default_rng(options.seed).permutation(options.rows)
    split = by_leaf(order), by_leaf(order[: options.rows // 10])
    subsets = some_subsets(options.models, options.features, options.seed)
    of_cluster = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**of_cluster) as cluster, Client(cluster) as client:
        data = TrainingData.from_table(MemoryTable(rows, client), y, None, costs, "refuse")
        local = LogisticEngine(
            [SplitRows.cut(SplitData(rows, data.labels, *split))], options.features
        )
        theirs = RemoteSplit.cut(SplitData(data.rows, data.labels, *split))
        remote = RemoteEngine([theirs], options.features)
        same = local.fit(subsets).tobytes() == remote.fit(subsets).tobytes()  # compiles, too
        print(f"seed {options.seed}")
        print(f"{options.rows:,} × {options.features}, {len(subsets)} models; same bits: {same}")
        ratios = []
        for _ in range(options.repeats):
            start = cpu_seconds(client)
            local.fit(subsets)
            middle = cpu_seconds(client)
            remote.fit(subsets)
            ratios.append((cpu_seconds(client) - middle) / (middle - start))
            print(f"local {middle - start:.2f} s of CPU, with a worker {ratios[-1]:.3f} as much")
        counted = bytes_of(remote, subsets)
        print(
            f"median ratio {np.median(ratios):.3f}; {counted.n_asked} requests, on average "
            f"{counted.sent / counted.n_asked / 1e3:,.0f} kB to the worker and "
            f"{counted.received / counted.n_asked / 1e3:,.0f} kB back; {rows.nbytes / 1e6:,.0f} MB "
            "of rows stay"
        )


def trial_of(name: str, n_rows: int, seed: int) -> TrialRows:
    """Rows to fit on and fresh ones, of a set by name or of correlated features by their number."""
    if not name.startswith(PREFIX):
        trial = rows_of(name, n_rows, seed)
        if trial is None:
            raise SystemExit(f"{name} has fewer than {n_rows:,} rows to fit on.")
        return trial
    n_features = int(name.removeprefix(PREFIX))
    X, y = make_rows(n_rows + FRESH_ROWS, n_features, seed)
    costs = FeatureCosts.from_array(np.random.default_rng(seed).integers(1, 20, n_features))
    fitted, fresh = LabelledRows(X[:n_rows], y[:n_rows]), LabelledRows(X[n_rows:], y[n_rows:])
    return TrialRows(fitted, fresh, costs, seed)


def measured_trial(
    trial: TrialRows, settings: dict, screen_rows: int | None
) -> tuple[float, float]:
    """Hypervolume of a front on test rows, and the time of its fit."""
    clf = EMSCOClassifier(trial.costs, screen_rows=screen_rows, **settings)
    clock = process_time if settings["device"] == "cpu" else perf_counter
    started = clock()
    with quietly():
        clf.fit(trial.fitted.X, trial.fitted.y)
    seconds = clock() - started
    places = np.unique(np.linspace(0, len(clf.front_) - 1, MAX_POINTS).astype(int))
    figures = np.array([figures_of_trial(clf, int(i), trial) for i in places])
    return volume(figures, trial.costs.total), seconds


def figures_of_trial(clf: EMSCOClassifier, place: int, trial: TrialRows) -> FloatArray:
    """Coverage, accuracy and cost of one point on test rows."""
    decisions = clf.front_.cascade(place).decide(trial.test.X)
    accepted = np.asarray(decisions.accepted)
    correct = np.asarray(decisions.guesses)[accepted] == trial.test.y[accepted]
    accuracy = float(correct.mean()) if accepted.any() else 0.0
    return np.array([accepted.mean(), accuracy, decisions.cost.mean()])


def report_screening(asked: argparse.Namespace) -> str:
    """Fit both ways on every set and seed; return a table."""
    lines = [f"| {' | '.join(HEADS)} |", "| --- " * len(HEADS) + "|"]
    ratios, speed = [], []
    jobs = [(name, seed) for name in asked.sets.split(",") for seed in range(asked.seeds)]
    with JobProgress("fits") as progress:
        for done, (name, seed) in enumerate(jobs):
            trial = trial_of(name, asked.rows, seed)
            settings = {
                "estimator": asked.estimator,
                "population_size": asked.population,
                "generations": asked.generations,
                "patience": asked.generations,  # however little the front grows
                "search": "evolution",
                "device": asked.device,
                "memory_limit": asked.memory,
                "n_jobs": asked.jobs,
                "random_state": seed,
            }
            if not done:  # what compiles, compiles on a few rows
                few = trial.fitted.take(np.arange(min(asked.rows, WARM_UP)))
                measured_trial(replace(trial, fitted=few), settings | {"generations": 12}, None)
            (whole, slow), (part, quick) = (
                measured_trial(trial, settings, n) for n in (None, asked.sample)
            )
            ratios.append(part / whole)
            speed.append(slow / quick)
            cells = f"{whole:.4f} | {part:.4f} | {part / whole:.4f} | {slow:.0f} | {quick:.0f}"
            lines.append(f"| {name} | {seed} | {cells} |")
            progress.job(done + 1, len(jobs), lines[-1])
    sizes = f"{asked.rows:,} rows, {asked.sample:,} of them searched on, {asked.estimator}"
    total = f"Mean ratio of volumes {np.mean(ratios):.4f}, worst {np.min(ratios):.4f}"
    return "\n".join([*lines, "", f"{sizes}. {total}; {np.mean(speed):.1f} times as fast.", ""])


def main_screening() -> None:
    """A search on a sample beside a search on all rows: hypervolume on fresh rows, and time.

    python benchmarks screening [--sets interactions,regions] [--rows 100000] [--sample 20000]
        [--estimator logistic] [--seeds 5] [--population 100] [--generations 40]
        [--out screening.md]
    python benchmarks screening --sets features:50 --rows 1000000 --population 300 --generations 150
        --device cuda --memory 16GiB

    A front is judged on fresh rows, at most 150 points of it, evenly over its order: 100,000 rows
    of "features:50" (50 correlated features, as in gpu.py), 5,000 of another generated set, a
    quarter of a real one. The volume is that between (coverage, accuracy, cost saved) of its
    points and nothing.
    Time is processor time of the fit, so that other work beside it counts less; on a GPU, seconds
    on the clock. A fit on a few rows comes before.
    """
    parser = argparse.ArgumentParser(description=main_screening.__doc__)
    parser.add_argument("--sets", default="interactions,regions")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--estimator", default="logistic")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--population", type=int, default=100)
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--memory", default="1GiB", help="memory_limit of the fits")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    text = report_screening(asked)
    print(text)
    if asked.out:
        write_text(asked.out, text)


def fit_size(n_rows: int, n_features: int, estimator: str, seed: int) -> None:
    """Fit once, after a small fit that loads what is compiled; print a line of figures."""
    X, y = make_rows(n_rows, n_features, seed)
    costs = [1 + i % 7 for i in range(n_features)]
    clf = EMSCOClassifier(costs, estimator=estimator, n_jobs=-1, random_state=seed)
    EMSCOClassifier(costs, estimator=estimator, generations=2, random_state=0).fit(X[:900], y[:900])
    before, cpu, wall = status("VmRSS"), process_time(), perf_counter()
    clf.fit(X, y)
    cpu, wall, peak = process_time() - cpu, perf_counter() - wall, status("VmHWM") - before
    per_value = peak * 2**20 / (n_rows * n_features)
    screened = (
        f"{clf.refinement_.n_screened:,}"
        if clf.refinement_ and clf.refinement_.n_screened
        else "all"
    )
    print(
        f"| {n_rows:,} × {n_features} | {screened} | {cpu:.0f} | {wall:.0f} | {peak:,.0f} | "
        f"{per_value:.1f} | {len(clf.front_)} |",
        flush=True,
    )


def main_sizes() -> None:
    """How far a fit goes on this machine: processor time and memory for tables of rising size.

    python benchmarks sizes [--sizes 10000x20,100000x50,1000000x50] [--estimator logistic]

    Each size runs in a process of its own, at default settings, on a table in float32. Memory is
    the peak above the loaded table and libraries, also in bytes for each value of the table; Linux
    only.
    """
    parser = argparse.ArgumentParser(description=main_sizes.__doc__)
    parser.add_argument("--sizes", default="10000x20,100000x50,1000000x50")
    parser.add_argument("--estimator", default="logistic")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        n_rows, n_features = map(int, asked.one.split("x"))
        fit_size(n_rows, n_features, asked.estimator, asked.seed)
        return
    print(f"{asked.estimator} stages, seed {asked.seed}")
    print("| rows × features | rows searched on | CPU s | s | MiB above | bytes a value | points |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for size in asked.sizes.split(","):
        command = [sys.executable, Path(__file__).parent, "sizes", "--one", size]
        command += ["--estimator", asked.estimator, "--seed", str(asked.seed)]
        subprocess.run(command, check=True)


def main_wide() -> None:
    """What a time limit does on a table of many columns, whose models take long.

    python benchmarks wide [--rows 2000] [--columns 1000] [--time-limit 10] [--seed 0]
        [--estimator auto]

    Processor time counts, since other work on the machine counts less in it.
    """
    parser = argparse.ArgumentParser(description=main_wide.__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--estimator", default="auto")
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    X = rng.normal(size=(asked.rows, asked.columns))
    slope = rng.normal(size=asked.columns) * (rng.random(asked.columns) < 0.1)
    y = (X @ slope + rng.normal(size=asked.rows) > 0).astype(int)
    costs = rng.integers(1, 20, asked.columns).astype(float)
    clf = EMSCOClassifier(
        costs,
        estimator=asked.estimator,
        time_limit=asked.time_limit,
        random_state=asked.seed,
        n_jobs=1,
    )
    cpu, wall = process_time(), perf_counter()
    with quietly():  # so few rows for so many columns look odd
        clf.fit(X, y)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    print(f"{asked.rows:,} × {asked.columns:,}, seed {asked.seed}")
    print(f"time_limit={asked.time_limit:g}: {cpu:.0f} s of processor time, {wall:.0f} s")
    print(f"{len(clf.front_)} points; {clf.stop_reason_}")
