"""Speed and memory of the engine, each beside scikit-learn in the same run.

    python benchmarks/engine.py              all sections, a few minutes on two cores
    python benchmarks/engine.py subsets run  some of them
    python benchmarks/engine.py --full subsets   times scikit-learn on every subset, not on a sample

Sections: subsets, run, synthetic50, peak, compile, memory. Heart and Credit are read from the
folder that EMSCO_DATA names.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from problems import Problem, load
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from threadpoolctl import threadpool_limits

from emsco import EMSCOClassifier
from emsco.scoring import Evaluator
from emsco.subsets.bank import SplitRows, SubsetBank
from emsco.subsets.scaling import Scaling

SEED = 0
EQUAL = 1e-8  # largest difference of probabilities that counts as equal
CORES = os.cpu_count() or 1


def best_of(n: int, job: Callable[[], object]) -> float:
    """Shortest of n timings, in seconds."""
    times = []
    for _ in range(n):
        started = time.perf_counter()
        job()
        times.append(time.perf_counter() - started)
    return min(times)


def all_subsets(n_features: int) -> np.ndarray:
    numbers = np.arange(1, 2**n_features)
    return (numbers[:, None] >> np.arange(n_features) & 1).astype(bool)


def standardised(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    scaling = Scaling.learn(problem.X[problem.train])
    rows = scaling.columns(problem.X)[1:].T
    return np.ascontiguousarray(rows[problem.train]), np.ascontiguousarray(rows[problem.held_out])


def fit_all(problem: Problem, subsets: np.ndarray, n_jobs: int = CORES) -> np.ndarray:
    split = SplitRows.cut(problem.X, problem.y, problem.train, problem.held_out)
    return SubsetBank([split], problem.X.shape[1], n_jobs=n_jobs).coefs(subsets)[0]


def tolerance_for_equality(problem: Problem, sample: np.ndarray) -> float:
    """Loosest tol at which the default solver's probabilities equal the exact ones."""
    train, test = standardised(problem)
    y = problem.y[problem.train]
    for tol in 10.0 ** -np.arange(4, 12):
        worst = 0.0
        for subset in sample:
            exact = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
            quick = LogisticRegression(tol=tol, max_iter=100_000)
            pair = [
                m.fit(train[:, subset], y).predict_proba(test[:, subset]) for m in (exact, quick)
            ]
            worst = max(worst, np.abs(pair[0] - pair[1]).max())
        if worst <= EQUAL:
            return float(tol)
    return float(tol)


def time_loop(problem: Problem, subsets: np.ndarray, tol: float) -> float:
    train, _ = standardised(problem)
    y = problem.y[problem.train]

    def loop() -> None:
        with threadpool_limits(1):  # with more, scikit-learn is slower on fits as small as these
            for subset in subsets:
                LogisticRegression(tol=tol, max_iter=100_000).fit(train[:, subset], y)

    return best_of(1, loop)


def section_subsets(full: bool) -> None:
    print(
        "| set | subsets | emsco, s | µs a fit | scikit-learn's tol | ratio | ratio at tol 1e-4 |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in ("heart", "credit", "synthetic15"):
        problem = load(name, SEED)
        subsets = all_subsets(problem.X.shape[1])
        rng = np.random.default_rng(SEED)
        sample = subsets if full else subsets[rng.choice(len(subsets), 400, replace=False)]
        tol = tolerance_for_equality(problem, sample[:: max(1, len(sample) // 40)])
        fit_all(problem, subsets[:50])
        ours = best_of(5, lambda p=problem, s=subsets: fit_all(p, s))
        scale = len(subsets) / len(sample)
        equal, default = (time_loop(problem, sample, t) * scale for t in (tol, 1e-4))
        print(
            f"| {name} {len(problem.train):,} × {problem.X.shape[1]} | {len(subsets):,} | {ours:.3f} "
            f"| {ours / len(subsets) * 1e6:.1f} | {tol:.0e} | {equal / ours:.0f} "
            f"| {default / ours:.0f} |"
        )


def score_with_scikit_learn(
    problem: Problem,
    rows: tuple[np.ndarray, np.ndarray],
    design: np.ndarray,
    min_confidence: float,
) -> tuple[int, int, float]:
    """One design the obvious way: fit each stage, send the held-out rows through."""
    train, test = rows
    y, truth = problem.y[problem.train], problem.y[problem.held_out]
    undecided = np.ones(len(test), dtype=bool)
    accepted = correct = spent = 0
    for stage in range(design.max() + 1):
        known = design <= stage
        model = LogisticRegression().fit(train[:, known], y)
        spent += undecided.sum() * problem.costs[design == stage].sum()
        if not undecided.any():
            continue
        probabilities = model.predict_proba(test[:, known])
        sure = undecided & (probabilities.max(axis=1) >= min_confidence)
        accepted += sure.sum()
        correct += (probabilities.argmax(axis=1) == truth)[sure].sum()
        undecided &= ~sure
    return accepted, correct, spent


def section_whole_run(name: str, min_confidence: float, **settings: object) -> None:
    problem = load(name, SEED)
    rows = np.concatenate([problem.train, problem.held_out])
    fold = np.where(np.arange(len(rows)) < len(problem.train), -1, 0)
    seen: dict[bytes, np.ndarray] = {}
    score = Evaluator.score

    def recording(self: Evaluator, designs: np.ndarray) -> object:
        seen.update((design.tobytes(), design) for design in designs)
        return score(self, designs)

    def fit() -> None:
        EMSCOClassifier(
            costs=problem.costs,
            min_confidence=min_confidence,
            search="paper",
            cv=PredefinedSplit(fold),
            n_jobs=CORES,
            random_state=SEED,
            **settings,
        ).fit(problem.X[rows], problem.y[rows])

    Evaluator.score = recording
    fit()
    Evaluator.score = score
    ours = best_of(5 if name == "heart" else 1, fit)
    designs = list(seen.values())
    sample = np.random.default_rng(SEED).choice(len(designs), 200, replace=False)
    prepared = standardised(problem)

    def loop() -> None:
        with threadpool_limits(1):  # with more, scikit-learn is slower on fits as small as these
            for i in sample:
                score_with_scikit_learn(problem, prepared, designs[i], min_confidence)

    theirs = best_of(1, loop) / len(sample) * len(designs)
    stages = np.mean([design.max() + 1 for design in designs])
    print(f"{name}: {len(designs):,} distinct designs of {stages:.1f} stages on average")
    print(
        f"  emsco, whole fit: {ours:.2f} s; scikit-learn, one by one: {theirs:,.0f} s (200 scaled)"
    )
    print(f"  ratio: {theirs / ours:,.0f}")


def section_compile() -> None:
    code = (
        "import time, numpy as np\n"
        "from emsco import EMSCOClassifier\n"
        "X = np.random.default_rng(0).normal(size=(60, 4)); y = (X[:, 0] > 0) * 1\n"
        "t = time.perf_counter()\n"
        "EMSCOClassifier(generations=2, random_state=0).fit(X, y).decide(X)\n"
        "print(time.perf_counter() - t)\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        times = [
            float(
                subprocess.run(
                    [sys.executable, "-c", code],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
            for _ in range(3)
        ]
    print(
        f"first fit with an empty cache {times[0]:.1f} s, in later processes {min(times[1:]):.1f} s:"
    )
    print(f"  compiling adds {times[0] - min(times[1:]):.1f} s")


def section_memory() -> None:
    code = (
        "import numpy as np\n"
        "from emsco import EMSCOClassifier\n"
        "def status(key):\n"
        "    line = next(l for l in open('/proc/self/status') if l.startswith(key))\n"
        "    return int(line.split()[1]) / 1024\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.normal(size=(100_000, 50)); y = (X[:, :10].sum(axis=1) + rng.normal(size=100_000) > 0) * 1\n"
        "before = status('VmRSS')\n"
        "clf = EMSCOClassifier(population_size=50, generations=3, memory_limit='LIMIT', n_jobs=-1, random_state=0)\n"
        "clf.fit(X, y)\n"
        "print(status('VmHWM') - before, clf.history_[-1].n_subsets, clf.history_[-1].seconds)\n"
    )
    for limit in ("1GiB", "2MB"):
        done = subprocess.run(
            [sys.executable, "-c", code.replace("LIMIT", limit)],
            capture_output=True,
            text=True,
            check=True,
        )
        peak, n_subsets, seconds = map(float, done.stdout.split())
        print(
            f"100,000 × 50, memory_limit {limit}: peak {peak:.0f} MiB above the loaded data "
            f"({n_subsets:.0f} subsets, {seconds:.1f} s)"
        )


def main() -> None:
    sections: dict[str, Callable[[bool], None]] = {
        "subsets": section_subsets,
        "run": lambda _: section_whole_run(
            "heart", 0.75, max_stages=6, mutation_rate=0.075, crossover_rate=0.75
        ),
        "synthetic50": lambda _: section_whole_run(
            "synthetic50", 0.55, max_stages=10, mutation_rate=0.05, stage_bias=2.5
        ),
        "peak": lambda _: __import__("peak").report(),
        "compile": lambda _: section_compile(),
        "memory": lambda _: section_memory(),
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help="which ones; all by default")
    parser.add_argument("--full", action="store_true", help="no sampling on scikit-learn's side")
    arguments = parser.parse_args()
    if unknown := set(arguments.sections) - set(sections):
        parser.error(f"section must be one of {', '.join(sections)}, got {', '.join(unknown)}")
    print(
        f"{datetime.date.today()}, {platform.machine()}, {CORES} cores, seed {SEED}, "
        f"Python {platform.python_version()}"
    )
    for name in arguments.sections or sections:
        print(f"\n## {name}", flush=True)
        sections[name](arguments.full)


if __name__ == "__main__":
    main()
