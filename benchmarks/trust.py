"""Statistics that are promised: certificates, expected figures, intervals and the monitor."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from common import CORES, SEED, quietly
from numpy.random import Generator
from scipy.optimize import brentq
from support.certificates import KINDS, draw

from emsco import EMSCOClassifier, ParetoFront, ParetoPoint
from emsco._base.objectives import Estimate
from emsco._base.progress import JobProgress
from emsco._base.typing import FloatArray, IntArray
from emsco.cascade.monitor import MOST_STARTS, ROWS_BETWEEN_STARTS
from emsco.front.certificate.test import check_promises, n_passing
from emsco.stats.betting import _STAKES, mean_p_value
from emsco.stats.error_costs import ErrorCosts
from emsco.stats.intervals import cost_interval, effective_rows, share_estimate, share_intervals
from emsco.stats.promises import Promise

# Certificates
ALL = [promise for promises in KINDS.values() for promise in promises]
KEPT = [Promise("coverage", 0.5), Promise("recall", 0.4, "ill"), Promise("cost", 8.0)]
QUESTIONS = {
    **KINDS,
    "accuracy, others kept": [*KINDS["accuracy"], *KEPT],
    "all together": ALL,
    "weighted accuracy": KINDS["accuracy"],
    "weighted coverage": KINDS["coverage"],
    "weighted recall": KINDS["recall"],
}

# Expected figures
N_TRUE = 20_000
RULES = ("economical", "one_standard_error", "balanced", "accurate", "knee")
NAMES = ("coverage", "accuracy", "recall", "cost", "total")

# Intervals
COSTS = {
    "spread": ([1, 4, 10, 40], [0.5, 0.2, 0.2, 0.1]),
    "a rare high cost": ([1, 100, 1000], [0.97, 0.02, 0.01]),
    "a rare low cost": ([1, 5, 60], [0.03, 0.07, 0.9]),
    "even": ([1, 2, 3, 4, 5, 6], [1 / 6] * 6),
}
BETS = 100  # draws for betting, which is slow

# Monitors
DELTA = 0.05
_TOGETHER = 50  # monitors whose money fits into a processor's cache


@dataclass(frozen=True)
class Kind:
    """A kind of promise: values of a row, and their chances if the truth is on the promise."""

    name: str
    values: tuple[float, ...]
    chances: tuple[float, ...]
    is_ceiling: bool = False

    @property
    def limit(self) -> float:
        """The mean of the values."""
        return float(np.dot(self.values, self.chances))


MONITORED = (
    Kind("accuracy at least 0.95", (0, 1), (0.05, 0.95)),
    Kind("accuracy at least 0.99", (0, 1), (0.01, 0.99)),
    Kind("coverage at least 0.8", (0, 1), (0.2, 0.8)),
    Kind("recall at least 0.9", (0, 1), (0.1, 0.9)),
    Kind("mean cost at most 0.31", (0.1, 0.25, 1), (0.6, 0.2, 0.2), is_ceiling=True),
)


def loosened(promise: Promise) -> Promise:
    """A promise that the drawn designs keep by far."""
    limit = promise.limit * 1.6 if promise.is_ceiling else promise.limit - 0.18
    return replace(promise, limit=limit)


def rates(
    promises: list[Promise], asked: argparse.Namespace, weighted: bool
) -> tuple[float, float, float]:
    """False certificates; good designs certified; false certificates after a good design."""
    rng, easy = np.random.default_rng(asked.seed), [loosened(promise) for promise in promises]
    counts = np.zeros(3)
    for _ in range(asked.sets):
        designs = [draw(rng, asked.rows) for _ in range(3)]
        weights = rng.uniform(0.2, 2.0, asked.rows) if weighted else None

        def largest(number, wanted, designs=designs, weights=weights):
            checks = check_promises(wanted, designs[number], asked.delta, weights, 2.0)
            return max(check.p_value for check in checks)

        counts[0] += n_passing((largest(i, promises) for i in range(3)), asked.delta) > 0
        good = (largest(i, promises if i else easy) for i in range(3))
        passed = n_passing(good, asked.delta)
        counts[1:] += passed > 0, passed > 1
    return tuple((counts / asked.sets).tolist())


def main_certificates() -> None:
    """How often certificates are false, by kind of promise, where the truth sits on the promise.

    python benchmarks certificates [--sets 10000] [--rows 150] [--delta 0.05] [--quick]

    Every data set has fresh rows and three designs. In the first three columns all designs sit
    exactly on the promise: the share of data sets in which any is certified, its limit (delta plus
    three standard errors), and whether it holds. The last two columns are about a design far
    inside its promises: how often it is certified, and how often a bad design after it is. "Others
    kept" has three more promises that are kept by far, and "all together" misses all by a hair.
    """
    parser = argparse.ArgumentParser(description=main_certificates.__doc__)
    parser.add_argument("--sets", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="500 data sets")
    asked = parser.parse_args()
    asked.sets = 500 if asked.quick else asked.sets
    limit = asked.delta + 3 * math.sqrt(asked.delta * (1 - asked.delta) / asked.sets)
    print(f"{asked.sets:,} data sets of {asked.rows} rows, delta {asked.delta:g}\n")
    print(f"{'promise':22}{'false':>8}{'limit':>8}{'holds':>7}{'good':>8}{'false after':>13}")
    for name, promises in QUESTIONS.items():
        false, good, after = rates(promises, asked, name.startswith("weighted"))
        holds = "yes" if max(false, after) <= limit else "NO"
        print(f"{name:22}{false:8.2%}{limit:8.2%}{holds:>7}{good:8.1%}{after:13.2%}", flush=True)


def expected_rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Rows, labels and costs of a random problem, and the number of rows to fit on."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(6, 13))
    n_rows = int(np.exp(rng.uniform(np.log(100), np.log(1000))))
    X = rng.normal(size=(n_rows + N_TRUE, n_features)) @ _mixing(n_features, rng)
    weights = np.zeros(n_features)
    n_useful = int(rng.integers(3, n_features))
    weights[:n_useful] = rng.normal(size=n_useful) * rng.uniform(0.8, 2)
    logit = X @ rng.permutation(weights) + rng.choice([0.0, 0.0, 1.0])
    logit += 0.5 * rng.integers(0, 2) * X[:, 0] * X[:, 1]
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-logit))).astype(int)
    costs = np.round(np.exp(rng.normal(size=n_features)) * 5 + 1)
    return X, y, costs, n_rows


def _mixing(n_features: int, rng: Generator) -> np.ndarray:
    return np.eye(n_features) + 0.4 * rng.normal(size=(n_features, n_features)) / n_features**0.5


def lines_of(seed: int, estimator: str, generations: int) -> Iterator[tuple[str, np.ndarray]]:
    """Name of a rule, and what the design it chooses was off by; see `_off`."""
    X, y, costs, n_rows = expected_rows(seed)
    clf = EMSCOClassifier(
        costs, estimator=estimator, generations=generations, random_state=seed, n_jobs=-1
    )
    with quietly():
        clf.fit(X[:n_rows], y[:n_rows])
    new, front = (X[n_rows:], y[n_rows:]), clf.front_
    for rule in RULES:
        yield rule, _off(front, front.prefer(rule), new, n_rows)
    order = np.random.default_rng(seed).permutation(len(front)).tolist()
    some = [i for i in order if front[i].coverage >= 0.05][:20]
    yield "points", np.mean([_off(front, front[i], new, n_rows) for i in some], axis=0)


def _off(
    front: ParetoFront, point: ParetoPoint, new: tuple[np.ndarray, np.ndarray], n_rows: int
) -> np.ndarray:
    """Scored and expected minus true, whether the interval holds, and its width; by figure."""
    true, everything, lines = front.cascade(point).evaluate(*new), front.costs.total, []
    # The class with fewest rows, whose errors cost as much more as it is rarer.
    shares = point.by_class.rows / point.by_class.rows.sum()
    rare = int(shares.argmin())
    prices = ErrorCosts.from_parameters(
        dict(zip(point.by_class.labels, everything / (2 * shares), strict=True)),
        everything / 2,
        point.by_class.labels,
    )
    total = point.total_with(prices)
    figures = {
        name: [getattr(one, name) for one in (point, point.expected, true)]
        for name in ("coverage", "accuracy", "cost")
    }
    figures["recall"] = [
        point.by_class.recall[rare],
        point.expected.recall[rare],
        true.by_class.recall[rare],
    ]
    figures["total"] = [
        prices.total(point, point.by_class).value,
        Estimate(total.value, *total.interval),
        true.with_total(prices).total.value,
    ]
    for name in NAMES:
        unit = everything if name in ("cost", "total") else 1.0
        scored, expected, kept = figures[name]
        plain = share_estimate(expected.value, max(1.0, point.coverage * n_rows))
        holds = expected.low <= kept <= expected.high
        width = (expected.high - expected.low) / (plain.high - plain.low)
        lines.append([(scored - kept) / unit, (expected.value - kept) / unit, holds, width])
    return np.array(lines, dtype=float).T


def main_expected() -> None:
    """Expected figures against the truth, on random problems whose truth is known.

    python benchmarks expected [--problems 200] [--first 2000] [--quick] [--estimator logistic]

    Each problem has 100 to 1,000 rows of 6 to 12 features with random costs, and 20,000 more rows
    that tell the truth. For each rule, the design that it deploys; for "points", 20 designs of the
    front.

    Columns: mean of scored minus true, and of expected minus true, in percentage points; the share
    of problems whose 95 % interval holds the truth; and the mean width of intervals of accuracy,
    divided by that of the Wilson interval for as many rows. Recall is that of the rarest class. In
    the total, a rejection costs half of everything, and an error as much divided by the share of
    its class; both it and the cost are in per cent of everything. Seeds before 2000 served to build
    it.
    """
    parser = argparse.ArgumentParser(description=main_expected.__doc__)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="20 problems, 20 generations")
    parser.add_argument("--estimator", default="logistic")
    asked = parser.parse_args()
    n_problems, generations = (20, 20) if asked.quick else (asked.problems, 60)
    errors: dict[str, list[np.ndarray]] = {}
    with JobProgress("problems") as progress:
        for i in range(n_problems):
            for rule, line in lines_of(asked.first + i, asked.estimator, generations):
                errors.setdefault(rule, []).append(line)
            progress.job(i + 1, n_problems, "")
    print(f"{'':31}{'scored off':>12}{'expected off':>20}{'holds':>8}{'width':>8}")
    for rule, lines in errors.items():
        means, spread = np.mean(lines, axis=0), np.std(lines, axis=0)
        for j, name in enumerate(NAMES):
            error = spread[1, j] / n_problems**0.5
            width = f"{means[3, j]:8.2f}" if name == "accuracy" else ""
            print(
                f"{rule:20}{name:11}{100 * means[0, j]:12.2f}{100 * means[1, j]:12.2f} ± "
                f"{100 * error:5.2f}{means[2, j]:8.1%}{width}"
            )


def main_intervals() -> None:
    """How often intervals of an evaluation hold, and how wide they are.

    Run it with: python benchmarks intervals --draws 1000
    """
    parser = argparse.ArgumentParser(description=main_intervals.__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print("Mean cost: share held, and width over that of an interval with the true variance")
    for name, (costs, shares) in COSTS.items():
        for n_rows in (20, 100, 1000):
            compare_costs(rng, name, np.array(costs, float), shares, n_rows, options.draws)
    print("Shares over rows in groups: share held, and width over that with known likeness")
    for share in (0.7, 0.9, 0.98):
        for alike in (0.0, 0.1, 0.3):
            for n_groups, size in ((30, 8), (200, 5), (300, 2)):
                compare_groups(rng, share, alike, n_groups, size, options.draws)


def compare_costs(rng, name, costs, shares, n_rows, n_draws) -> None:
    mean, low, span = costs @ shares, costs.min(), np.ptp(costs)
    known = 2 * 1.96 * np.sqrt((costs**2 @ shares - mean**2) / n_rows)
    counts = rng.multinomial(n_rows, shares, n_draws)
    values = [rng.permutation(np.repeat((costs - low) / span, n)) for n in counts[:BETS]]
    ways = {
        "evaluate": np.array([cost_interval(costs, n) for n in counts]),
        "normal": np.array([normal(costs, n) for n in counts]),
        "betting": low + span * np.array([betting(one) for one in values]),
    }
    said = [
        f"{way} {((intervals[:, 0] <= mean) & (mean <= intervals[:, 1])).mean():.3f} "
        f"{np.diff(intervals).mean() / known:.2f}"
        for way, intervals in ways.items()
    ]
    print(f"  {name:16} {n_rows:5} rows: {', '.join(said)}", flush=True)


def normal(costs, counts) -> tuple[float, float]:
    n = counts.sum()
    mean = costs @ counts / n
    error = 1.96 * np.sqrt(max(0.0, costs**2 @ counts / n - mean**2) / n)
    return mean - error, mean + error


def betting(values) -> tuple[float, float]:
    """Limits that `mean_p_value` rejects at 2.5 % on each side, for values from 0 to 1."""

    def limit(x) -> float:
        def beyond(mean: float) -> float:
            return mean_p_value(x, mean, 0.025) - 0.025

        first, last = x.mean(), 1 - 1e-9
        crossed = beyond(last) < 0 < beyond(first)
        return brentq(beyond, first, last, xtol=1e-4) if crossed else 1.0

    return 1 - limit(1 - values), limit(values)


def compare_groups(rng, share, alike, n_groups, size, n_draws) -> None:
    scale = np.inf if alike == 0 else (1 - alike) / alike
    known = n_groups * size / (1 + alike * (size - 1))
    ((low, high),) = share_intervals(share * known, known)
    sizes, intervals = np.full(n_groups, float(size)), []
    for _ in range(n_draws):
        chance = share if alike == 0 else rng.beta(share * scale, (1 - share) * scale, n_groups)
        hits = rng.binomial(size, chance, n_groups).astype(float)
        seen = hits.sum() / sizes.sum()
        varied = int(min((hits > 0).sum(), (hits < sizes).sum()))
        rows = effective_rows(hits, sizes, seen * (1 - seen), varied, sizes.sum())
        intervals += share_intervals(seen * rows, rows)
    ends = np.array(intervals)
    held = ((ends[:, 0] <= share) & (share <= ends[:, 1])).mean()
    wide = np.diff(ends).mean() / (high - low)
    print(
        f"  {share}, alike {alike}, {n_groups} groups of {size}: {held:.3f} {wide:.2f}", flush=True
    )


class Gamblers:
    """Many monitors of one promise, side by side; a plain twin of `MonitoredPromise`.

    Money is kept for each monitor, start and stake.
    """

    def __init__(self, kind: Kind, limit: float, n_paths: int, restarts: bool = True) -> None:
        values = np.array(kind.values, dtype=np.float64)
        mean = 1 - limit if kind.is_ceiling else limit
        values = 1 - values if kind.is_ceiling else values
        self._log_factors = np.log1p(_STAKES / (1 - mean) * (mean - values)[:, None])
        self._restarts = restarts
        self._money = np.ones((n_paths, 1 + MOST_STARTS, len(_STAKES))) / len(_STAKES)
        self._shares = np.zeros((n_paths, 1 + MOST_STARTS))
        self._shares[:, 0] = 0.5
        self._n_used = 1
        self._n_restarts = 0
        self._waiting = 0
        self.peak = np.ones(n_paths)
        self.capital = np.ones(n_paths)

    def add(self, counts: IntArray) -> None:
        """Count rows of each value, shape (n_paths, n_values), and look."""
        factors = np.exp(counts @ self._log_factors)
        used = self._money[:, : self._n_used]
        used *= factors[:, None]
        by_start = used.sum(axis=2)
        kept_back = 0.5 / (self._n_restarts + 1)
        self.capital = (by_start * self._shares[:, : self._n_used]).sum(axis=1) + kept_back
        np.fmax(self.peak, self.capital, out=self.peak)  # long after an alarm it is no number
        self._waiting += int(counts[0].sum())
        if self._restarts and self._waiting >= ROWS_BETWEEN_STARTS:
            self._restart(by_start)

    def _restart(self, by_start: FloatArray) -> None:
        paths = np.arange(len(self._money))
        if self._n_used < MOST_STARTS:
            place = np.full(len(paths), self._n_used)
            self._n_used += 1
        else:
            place = 1 + by_start[:, 1:].argmin(axis=1)
        self._n_restarts += 1
        self._money[paths, place] = 1 / len(_STAKES)
        self._shares[paths, place] = 0.5 / (self._n_restarts * (self._n_restarts + 1))
        self._waiting = 0


def false_alarms(kind: Kind, n_paths: int, n_looks: int, rows: int = 1, seed: int = SEED) -> float:
    """Share of monitors with an alarm although the truth is exactly on the promise."""
    rng, n_alarms = np.random.default_rng(seed), 0
    for first in range(0, n_paths, _TOGETHER):
        n_here = min(_TOGETHER, n_paths - first)
        gamblers = Gamblers(kind, kind.limit, n_here)
        for _ in range(n_looks):
            gamblers.add(rng.multinomial(rows, kind.chances, n_here))
        n_alarms += int((gamblers.peak >= 1 / DELTA).sum())
    return n_alarms / n_paths


def delays(
    limit: float,
    drop: float,
    before: int,
    n_paths: int,
    max_rows: int,
    rows: int = 10,
    seed: int = SEED,
    restarts: bool = True,
) -> IntArray:
    """Rows from a drop below the promise to the alarm; `max_rows` where none came by then.

    On the rows before, errors are half as frequent as the promise allows. Monitors with an alarm
    by then do not count.
    """
    rng, kind = np.random.default_rng(seed), Kind("", (0, 1), (1 - limit, limit))
    gamblers = Gamblers(kind, limit, n_paths, restarts)
    fewer = (1 - limit) / 2
    for _ in range(before // 100):
        gamblers.add(rng.multinomial(100, (fewer, 1 - fewer), n_paths))
    is_early = gamblers.peak >= 1 / DELTA
    waits = np.full(n_paths, max_rows)
    for n_rows in range(rows, max_rows, rows):
        gamblers.add(rng.multinomial(rows, (1 - limit + drop, limit - drop), n_paths))
        waits[(gamblers.peak >= 1 / DELTA) & (waits == max_rows)] = n_rows
        if (waits < max_rows).all():
            break
    return waits[~is_early]


def main_monitoring() -> None:
    """False alarms of a monitor, and how soon it notices that a promise is broken.

    python benchmarks monitoring [--quick] [--paths 2000] [--looks 10000]

    First table: share of monitors that ever raise an alarm although the truth is exactly on the
    promise, with a look after every row. Second table: rows from a drop to the alarm, at the
    beginning and after rows on which the promise was kept, with a look every 10 rows. Many
    monitors run side by side here; tests compare them with the one that users have.
    """
    parser = argparse.ArgumentParser(description=main_monitoring.__doc__)
    parser.add_argument("--quick", action="store_true", help="200 monitors and 500 looks")
    parser.add_argument("--paths", type=int, default=1000)
    parser.add_argument("--looks", type=int, default=10_000)
    asked = parser.parse_args()
    n_paths, n_looks = (200, 500) if asked.quick else (asked.paths, asked.looks)
    began = time.perf_counter()
    print(f"{CORES} cores, seed {SEED}, {n_paths:,} monitors, {n_looks:,} looks, delta {DELTA}\n")
    print("| truth on the promise | false alarms | standard error of 5 % |\n|---|---|---|")
    for kind in MONITORED:
        share = false_alarms(kind, n_paths, n_looks)
        error = np.sqrt(DELTA * (1 - DELTA) / n_paths)
        print(f"| {kind.name} | {share:.1%} | {error:.1%} |", flush=True)
    print(f"\n({time.perf_counter() - began:.0f} s)\n")
    few = min(n_paths, 200)
    max_rows, later = (5_000, 10_000) if asked.quick else (40_000, 50_000)
    print(
        f"| promise | drop | at the beginning | after 5,000 rows | after {later:,} rows | ", end=""
    )
    print(f"after {later:,} rows, without restarts |\n|---|---|---|---|---|---|")
    for limit in (0.9, 0.95, 0.99):
        for drop in (0.02, 0.05, 0.1):
            cells = []
            for before, restarts in ((0, True), (5_000, True), (later, True), (later, False)):
                waits = delays(limit, drop, before, few, max_rows, restarts=restarts)
                cells.append(_cell(waits, max_rows))
            print(f"| {limit:g} | {100 * drop:g} points | {' | '.join(cells)} |", flush=True)
    print(f"\n({time.perf_counter() - began:.0f} s in all)")


def _cell(waits: IntArray, max_rows: int) -> str:
    """Median, and the rows within which nine of ten alarms came."""
    middle, late = (int(np.quantile(waits, share, method="higher")) for share in (0.5, 0.9))
    return " / ".join(f"{n:,}" if n < max_rows else f"over {max_rows:,}" for n in (middle, late))
