"""Speed and memory of the engine, each beside scikit-learn on the same machine.

    python benchmarks engine                  all sections, some minutes on two cores
    python benchmarks engine subsets fit      some of them
    python benchmarks engine --full subsets   scikit-learn on every subset, not on a sample

Heart and Credit are read from the folder that EMSCO_DATA names.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from common import CORES, SEED, Problem, all_subsets, best_of, load_problem, status
from joblib import Parallel, delayed
from scipy.special import softmax
from sklearn import config_context
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from threadpoolctl import threadpool_limits

from emsco import EMSCOClassifier
from emsco.designs.chromosomes import compress
from emsco.designs.thresholds import ThresholdGrid
from emsco.models.bank import logistic_bank
from emsco.models.batches import ModelBatch
from emsco.models.engine import SplitRows
from emsco.models.logistic import LogisticFitter
from emsco.models.scaling import Scaling
from emsco.models.shard import Shard, SplitData, cut_shards
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.journal import EntryRules, Journal

EQUAL = 1e-8  # largest difference of probabilities that counts as equal
EQUAL_TOLERANCE = 1e-8  # the default solver's probabilities then agree to about 1e-8
SUBSET_SAMPLE, DESIGN_SAMPLE, CLASS_SAMPLE = 400, 200, 200  # on scikit-learn's side

# The paper's settings of two sets.
HEART = {"max_stages": 6, "mutation_rate": 0.075, "crossover_rate": 0.75}
SYNTHETIC50 = {"max_stages": 10, "mutation_rate": 0.05, "stage_bias": 2.5}

MEMORY_ROWS, MEMORY_FEATURES = 100_000, 50
CLASS_THREADS, CLASS_BATCH, CLASS_ROUNDS = 2, 256, 3

# The cost of a checkpoint.
STORE_SHAPE, STORE_STAGES = (3_000, 50), 4
WRITES = {300: 30, 3_000: 30, 30_000: 10}  # designs of a write, and how many writes


def in_new_process(code: str) -> list[str]:
    """Command that runs a line of code of this module in a process of its own."""
    folder = str(Path(__file__).parent)
    return [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {folder!r}); from engine import *; {code}",
    ]


def fit_once() -> float:
    X = np.random.default_rng(0).normal(size=(60, 5))
    clf = EMSCOClassifier(generations=2, cv=1 / 3, random_state=0)
    return best_of(1, lambda: clf.fit(X, X[:, 0] > 0).decide(X))


def report_first_fit() -> None:
    """Time the first fit with an empty cache, and fits of later processes."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = in_new_process("print(fit_once())")
        first, *later = (
            float(subprocess.check_output(command, env=environment, text=True)) for _ in range(4)
        )
    print(f"first fit, nothing compiled: {first:.1f} s; in later processes: {min(later):.1f} s")
    print(f"  compiling adds {first - min(later):.1f} s")


def fit_with_limit(memory_limit: str) -> tuple[float, int, float]:
    """Fit once; return the peak in MiB, the subsets fitted, and the seconds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(MEMORY_ROWS, MEMORY_FEATURES))
    y = X[:, :10].sum(axis=1) + rng.normal(scale=2, size=MEMORY_ROWS) > 0
    before = status("VmRSS")
    clf = EMSCOClassifier(
        population_size=50,
        generations=3,
        cv=1 / 3,
        memory_limit=memory_limit,
        n_jobs=-1,
        random_state=0,
    ).fit(X, y)
    last = clf.history_[-1]
    return status("VmHWM") - before, last.n_subsets, last.seconds


def report_memory() -> None:
    """Print the peak under two limits."""
    for limit in ("1GiB", "2MB"):
        done = subprocess.check_output(
            in_new_process(f"print(*fit_with_limit({limit!r}))"), text=True
        )
        peak, n_subsets, seconds = map(float, done.split())
        print(
            f"{MEMORY_ROWS:,} × {MEMORY_FEATURES}, population 50, 3 generations, "
            f"memory_limit {limit}: {peak:.0f} MiB above the data "
            f"({n_subsets:.0f} subsets, {seconds:.1f} s)"
        )


class CountingShard:
    """Passes every call on, and adds up the arithmetic of fits."""

    def __init__(self, shard: Shard, n_rows: int) -> None:
        self._shard = shard
        self._n_rows = n_rows
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
        return 2 * side**3 / best_of(5, lambda: a @ a)


def exponential_seconds(shard: Shard, n_models: int, n_rows: int) -> float:
    """Time of one row's exponential, measured with models that only have an intercept."""
    empty = ModelBatch.from_subsets(np.zeros((n_models, 1), dtype=bool))
    empty.fine[:] = True
    empty.curved[:] = False
    live = np.arange(n_models)
    shard.add_terms(empty, live)  # compiles
    return best_of(1, lambda: shard.add_terms(empty, live)) / (n_models * n_rows)


def report_peak() -> None:
    """Print the peak of this machine, and the share that fits of two sizes reach."""
    single, double = product_peak(np.float32), product_peak(np.float64)
    print(f"matrix-product peak of one thread: {single / 1e9:.1f} GFLOP/s in float32, ", end="")
    print(f"{double / 1e9:.1f} in float64")
    for name in ("synthetic15", "synthetic50"):
        report_fits(name, single)


def report_fits(name: str, peak: float, n_models: int = 256) -> None:
    problem = load_problem(name)
    n_rows, n_features = len(problem.train), problem.X.shape[1]
    split = SplitRows.cut(SplitData(problem.X, problem.y, problem.train, problem.scored))
    subsets = np.random.default_rng(0).random((n_models, n_features)) < 0.5
    subsets[:, 0] |= ~subsets.any(axis=1)
    LogisticFitter(split.shards, n_features, n_rows).fit(subsets)
    counting = CountingShard(split.shards[0], n_rows)
    fitter = LogisticFitter([counting], n_features, n_rows)
    total = best_of(1, lambda: fitter.fit(subsets))
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


def fit_all_subsets(problem: Problem, subsets: np.ndarray) -> np.ndarray:
    """Fit every subset, from raw rows to coefficients."""
    split = SplitRows.cut(SplitData(problem.X, problem.y, problem.train, problem.scored))
    bank = logistic_bank([split], problem.X.shape[1], n_jobs=CORES)
    return bank.engine.coefs(bank.kept(subsets))[0]


def loop_over_subsets(
    problem: Problem, subsets: np.ndarray, **settings: object
) -> list[np.ndarray]:
    """Fit subsets one by one with scikit-learn; return probabilities of the scored rows."""
    train, scored = problem.standardised()
    y = problem.y[problem.train]
    every = []
    with threadpool_limits(1):
        for subset in subsets:
            model = LogisticRegression(max_iter=100_000, **settings).fit(train[:, subset], y)
            every.append(model.coef_ @ scored[:, subset].T + model.intercept_)
    return [1 / (1 + np.exp(-logits)) for logits in every]


def tolerance_for_equality(problem: Problem, sample: np.ndarray) -> tuple[float, float]:
    """Loosest tol at which the default solver comes as near to exact probabilities as it can.

    That is within `EQUAL`, or within twice the smallest error of any tol down to 1e-11.
    """
    exact = loop_over_subsets(problem, sample, solver="newton-cholesky", tol=1e-10)
    tolerances = 10.0 ** -np.arange(4, 12)
    errors = []
    for tol in tolerances:
        pairs = zip(exact, loop_over_subsets(problem, sample, tol=tol), strict=True)
        errors.append(max(np.abs(a - b).max() for a, b in pairs))
    enough = int(np.argmax(np.array(errors) <= max(EQUAL, 2 * min(errors))))
    return float(tolerances[enough]), errors[enough]


def report_subsets(full: bool) -> None:
    """Print a table with a line per data set."""
    print(
        "| rows × features | subsets | emsco | a fit | scikit-learn's tol | ratio | at tol 1e-4 |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in ("heart", "credit", "synthetic15"):
        problem = load_problem(name, SEED)
        subsets = all_subsets(problem.X.shape[1])
        picked = np.random.default_rng(SEED).choice(len(subsets), SUBSET_SAMPLE, replace=False)
        sample = subsets if full else subsets[picked]
        tol, error = tolerance_for_equality(problem, subsets[picked[:40]])
        fit_all_subsets(problem, subsets[:50])
        ours = best_of(5, lambda p=problem, s=subsets: fit_all_subsets(p, s))
        scale = len(subsets) / len(sample)
        equal, default = (
            best_of(1, lambda p=problem, s=sample, t=t: loop_over_subsets(p, s, tol=t)) * scale
            for t in (tol, 1e-4)
        )
        print(
            f"| {name} {len(problem.train):,} × {problem.X.shape[1]} | {len(subsets):,} "
            f"| {ours:.3f} s | {ours / len(subsets) * 1e6:.1f} µs | {tol:.0e} (to {error:.0e}) "
            f"| {equal / ours:.0f} | {default / ours:.0f} |",
            flush=True,
        )


def score_with_scikit_learn(
    problem: Problem, design: np.ndarray, min_confidence: float, tol: float
) -> tuple[int, int, float]:
    """Count accepted rows, correct rows and total cost, the obvious way."""
    train, scored = problem.standardised()
    y, truth = problem.y[problem.train], problem.y[problem.scored]
    undecided = np.ones(len(scored), dtype=bool)
    accepted = correct = spent = 0
    for stage in range(design.max() + 1):
        known = design <= stage
        model = LogisticRegression(tol=tol, max_iter=100_000).fit(train[:, known], y)
        spent += undecided.sum() * problem.costs[design == stage].sum()
        probabilities = model.predict_proba(scored[:, known])
        sure = undecided & (probabilities.max(axis=1) >= min_confidence)
        accepted += sure.sum()
        correct += (probabilities.argmax(axis=1) == truth)[sure].sum()
        undecided &= ~sure
    return accepted, correct, spent


def fit_paper(problem: Problem, min_confidence: float, **settings: object) -> None:
    """Make a whole fit of the paper's configuration, as a user would."""
    rows = np.concatenate([problem.train, problem.scored])
    fold = np.where(np.arange(len(rows)) < len(problem.train), -1, 0)
    EMSCOClassifier.paper(
        costs=problem.costs,
        min_confidence=min_confidence,
        cv=PredefinedSplit(fold),
        n_jobs=CORES,
        random_state=SEED,
        **settings,
    ).fit(problem.X[rows], problem.y[rows])


def designs_of_a_fit(problem: Problem, min_confidence: float, **settings: object) -> np.ndarray:
    """Distinct designs that such a fit scores."""
    seen: list[np.ndarray] = []
    score = Evaluator.score

    def recording(self: Evaluator, designs: np.ndarray) -> object:
        seen.append(designs.copy())
        return score(self, designs)

    Evaluator.score = recording
    try:
        fit_paper(problem, min_confidence, **settings)
    finally:
        Evaluator.score = score
    return np.unique(np.concatenate(seen), axis=0)


def report_whole_fit(name: str, min_confidence: float, n_fits: int, **settings: object) -> None:
    """Print the ratio for one data set."""
    problem = load_problem(name, SEED)
    designs = designs_of_a_fit(problem, min_confidence, **settings)
    ours = best_of(n_fits, lambda: fit_paper(problem, min_confidence, **settings))
    sample = designs[np.random.default_rng(SEED).choice(len(designs), DESIGN_SAMPLE, replace=False)]

    def one_by_one(tol: float) -> None:
        with threadpool_limits(1):
            for design in sample:
                score_with_scikit_learn(problem, design, min_confidence, tol)

    stages = designs.max(axis=1).mean() + 1
    print(f"{name}: {len(designs):,} distinct designs, {stages:.1f} stages on average")
    print(f"  emsco, the whole fit: {ours:.2f} s", flush=True)
    for tol, note in ((EQUAL_TOLERANCE, "equal probabilities"), (1e-4, "its default")):
        theirs = best_of(1, lambda t=tol: one_by_one(t)) / DESIGN_SAMPLE * len(designs)
        print(
            f"  scikit-learn one by one, tol {tol:.0e} ({note}): {theirs:,.0f} s, "
            f"ratio {theirs / ours:,.0f}",
            flush=True,
        )


def fit_all_classes(X: np.ndarray, y: np.ndarray, subsets: np.ndarray, batch: int) -> np.ndarray:
    """Fit every subset; return weights of shape (n_subsets, n_classes, n_inputs + 1)."""
    rows, n_classes = np.arange(len(X)), int(y.max()) + 1
    scaling = Scaling.learn(X)
    shards = cut_shards(SplitData(X, y.astype(np.uint8), rows, rows[:0], n_classes), scaling)
    fitter = LogisticFitter(shards, X.shape[1], len(X), n_classes=n_classes)
    parts = [subsets[i : i + batch] for i in range(0, len(subsets), batch)]
    with ThreadPoolExecutor(CLASS_THREADS) as pool:
        models = pool.map(fitter.fit, parts)
        return np.concatenate([part.spread(X.shape[1]) for part in models])


def loop_over_classes(Z: np.ndarray, y: np.ndarray, subsets: np.ndarray) -> list[np.ndarray]:
    """Fit subsets one by one with scikit-learn; return the logits of the rows."""
    logits = []
    with threadpool_limits(1), config_context(assume_finite=True):
        for subset in subsets:
            model = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
            model.fit(Z[:, subset], y)
            logits.append(model.coef_ @ Z[:, subset].T + model.intercept_[:, None])
    return logits


def report_classes(
    name: str, X: np.ndarray, y: np.ndarray, subsets: np.ndarray, n_sample: int, batch: int
) -> None:
    """Print one line of the table."""
    columns = Scaling.learn(X).columns(X)
    Z, order = columns[1:].T.copy(), np.argsort(subsets.sum(axis=1), kind="stable")
    subsets = subsets[order]
    picked = np.random.default_rng(SEED).choice(len(subsets), n_sample, replace=False)
    coefs = fit_all_classes(X, y, subsets, batch)
    ours, theirs = np.inf, np.inf
    with Parallel(n_jobs=CLASS_THREADS) as workers:
        jobs = [
            delayed(loop_over_classes)(Z, y, part) for part in np.array_split(subsets[picked], 8)
        ]
        peers = np.concatenate(workers(jobs))
        for _ in range(CLASS_ROUNDS):
            ours = min(ours, best_of(1, lambda: fit_all_classes(X, y, subsets, batch)))
            theirs = min(theirs, best_of(1, lambda: workers(jobs)))
    theirs *= len(subsets) / len(picked)
    pair = softmax(coefs[picked] @ columns, axis=1), softmax(peers, axis=1)
    equal = np.abs(pair[0] - pair[1]).max()
    print(
        f"| {name} {len(X):,} × {X.shape[1]}, {y.max() + 1} classes | {len(subsets):,} "
        f"| {ours:.3f} s | {ours / len(subsets) * 1e6:.0f} µs | {theirs:.2f} s "
        f"| {theirs / ours:.0f} | {equal:.0e} |",
        flush=True,
    )


def main_multiclass() -> None:
    """All 8,191 subsets of wine, three classes: the batched fits beside a loop over scikit-learn.

        python benchmarks multiclass          scikit-learn on 200 random subsets, scaled to all
        python benchmarks multiclass --full   scikit-learn on every subset

    Both sides use two cores: ours two threads that take batches in turn, scikit-learn's two
    processes with one BLAS thread each, which is faster than two on fits this small. Ours includes
    everything from raw rows to coefficients; scikit-learn gets standardised rows. The sides take
    turns, so that neither has a quieter machine, and the best time of each counts. Some subsets of
    the digits follow, with ten classes.
    """
    parser = argparse.ArgumentParser(
        description=main_multiclass.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="no sampling on scikit-learn's side")
    full = parser.parse_args().full
    print("| rows × inputs | subsets | emsco | a fit | scikit-learn | ratio | differ by |")
    print("|---|---|---|---|---|---|---|")
    X, y = load_wine(return_X_y=True)
    subsets = all_subsets(X.shape[1])
    report_classes("wine", X, y, subsets, len(subsets) if full else CLASS_SAMPLE, CLASS_BATCH)
    X, y = load_digits(return_X_y=True)
    some = np.random.default_rng(SEED).random((40, 64)) < 0.15
    report_classes("digits", X, y, some, len(some) if full else 16, 10)


def seconds_of(checkpoint: Path | None) -> tuple[float, float, int]:
    """Wall-clock time and processor time of a fit, and the designs it scored."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=STORE_SHAPE)
    y = X @ rng.normal(size=STORE_SHAPE[1]) + 4 * rng.normal(size=STORE_SHAPE[0]) > 0
    clf = EMSCOClassifier(
        search="evolution", generations=30, cv=1 / 3, checkpoint=checkpoint, random_state=SEED
    )
    clock, cpu = time.perf_counter(), time.process_time()
    clf.fit(X, y)
    spent = time.perf_counter() - clock, time.process_time() - cpu
    return *spent, clf.history_[-1].n_designs


def report_checkpointed_fits() -> None:
    """Time a fit without a checkpoint, with one, and on a complete one."""
    print(f"{STORE_SHAPE[0]:,} × {STORE_SHAPE[1]} rows, 1 thread")
    seconds_of(None)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint")
        for name, checkpoint in (("without", None), ("with", path), ("again", path)):
            clock, cpu, n_designs = seconds_of(checkpoint)
            print(f"{name:9} {n_designs:,} designs: {clock:.1f} s, {cpu:.1f} s of CPU")
        print(f"the checkpoint has {bytes_of_folder(path) / 1e6:.1f} MB")


def bytes_of_folder(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir())


def opened(path: Path) -> Journal:
    rules = EntryRules(STORE_SHAPE[0], STORE_STAGES, ThresholdGrid.single(np.full(2, 0.75)))
    return Journal.open(path, {}, SEED, STORE_SHAPE[1], rules)


def report_store() -> None:
    """Time the store alone; each write is synced to disk, as a search does every two seconds."""
    rng = np.random.default_rng(SEED)
    for n_designs, n_writes in WRITES.items():
        total = n_designs * n_writes
        designs = compress(rng.integers(0, STORE_STAGES, size=(total, STORE_SHAPE[1])))
        exits = rng.integers(0, STORE_SHAPE[0] // STORE_STAGES, size=(total, STORE_STAGES))
        exits[np.arange(STORE_STAGES) > designs.max(axis=1)[:, None]] = 0
        counts = np.stack([exits, exits // 2])
        with tempfile.TemporaryDirectory() as folder:
            path, seconds = Path(folder, "checkpoint"), []
            with opened(path) as journal:
                for start in range(0, total, n_designs):
                    part = slice(start, start + n_designs)
                    begun = time.perf_counter()
                    journal.add(designs[part], counts[:, part])
                    journal.flush()
                    seconds.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            opened(path).__exit__()
            replay, size = time.perf_counter() - begun, bytes_of_folder(path)
        print(
            f"{n_designs:6,} designs a write: {1e3 * np.median(seconds):.1f} ms (slowest "
            f"{1e3 * max(seconds):.1f}); {total:,} replayed in {1e3 * replay:.0f} ms; "
            f"{size / total:.0f} bytes a design"
        )


def main_checkpoint() -> None:
    """The cost of a checkpoint: a fit without one, with one, and again on its checkpoint.

    python benchmarks checkpoint          half a minute
    python benchmarks checkpoint store    a few seconds: writes and replays of the store alone
    """
    parser = argparse.ArgumentParser(description=main_checkpoint.__doc__)
    parser.add_argument("what", nargs="?", choices=("fits", "store"), default="fits")
    if parser.parse_args().what == "store":
        report_store()
    else:
        report_checkpointed_fits()


SECTIONS = {
    "subsets": report_subsets,
    "fit": lambda _: report_whole_fit("heart", 0.75, n_fits=5, **HEART),
    "synthetic50": lambda _: report_whole_fit("synthetic50", 0.55, n_fits=1, **SYNTHETIC50),
    "peak": lambda _: report_peak(),
    "compile": lambda _: report_first_fit(),
    "memory": lambda _: report_memory(),
}


def main() -> None:
    """Run the sections named on the command line, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--full", action="store_true", help="no sampling on scikit-learn's side")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.sections if name not in SECTIONS]:
        parser.error(f"SECTION must be one of {', '.join(SECTIONS)}, got {unknown[0]!r}.")
    for name in arguments.sections or SECTIONS:
        print(f"\n## {name}", flush=True)
        SECTIONS[name](arguments.full)
