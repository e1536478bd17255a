"""False alarms of a monitor, and how soon it notices that a promise is broken.

python benchmarks/monitoring.py [--quick] [--paths 2000] [--looks 10000]

First table: share of monitors that ever raise an alarm although the truth is exactly on the
promise, with a look after every row. Second table: rows from a drop to the alarm, at the beginning
and after rows on which the promise was kept, with a look every 10 rows. Many monitors run side by
side here; tests compare them with the one that users have.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from timing import CORES, SEED

from emsco._base.typing import FloatArray, IntArray
from emsco.cascade.monitor import MOST_STARTS, ROWS_BETWEEN_STARTS
from emsco.stats.betting import _STAKES

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


KINDS = (
    Kind("accuracy at least 0.95", (0, 1), (0.05, 0.95)),
    Kind("accuracy at least 0.99", (0, 1), (0.01, 0.99)),
    Kind("coverage at least 0.8", (0, 1), (0.2, 0.8)),
    Kind("recall at least 0.9", (0, 1), (0.1, 0.9)),
    Kind("mean cost at most 0.31", (0.1, 0.25, 1), (0.6, 0.2, 0.2), is_ceiling=True),
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
    most: int,
    rows: int = 10,
    seed: int = SEED,
    restarts: bool = True,
) -> IntArray:
    """Rows from a drop below the promise to the alarm; `most` where none came by then.

    On the rows before, errors are half as frequent as the promise allows. Monitors with an alarm
    by then do not count.
    """
    rng, kind = np.random.default_rng(seed), Kind("", (0, 1), (1 - limit, limit))
    gamblers = Gamblers(kind, limit, n_paths, restarts)
    fewer = (1 - limit) / 2
    for _ in range(before // 100):
        gamblers.add(rng.multinomial(100, (fewer, 1 - fewer), n_paths))
    is_early = gamblers.peak >= 1 / DELTA
    found = np.full(n_paths, most)
    for n_rows in range(rows, most, rows):
        gamblers.add(rng.multinomial(rows, (1 - limit + drop, limit - drop), n_paths))
        found[(gamblers.peak >= 1 / DELTA) & (found == most)] = n_rows
        if (found < most).all():
            break
    return found[~is_early]


def main() -> None:
    """Print both tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="200 monitors and 500 looks")
    parser.add_argument("--paths", type=int, default=1000)
    parser.add_argument("--looks", type=int, default=10_000)
    asked = parser.parse_args()
    n_paths, n_looks = (200, 500) if asked.quick else (asked.paths, asked.looks)
    began = time.perf_counter()
    print(f"{CORES} cores, seed {SEED}, {n_paths:,} monitors, {n_looks:,} looks, delta {DELTA}\n")
    print("| truth on the promise | false alarms | standard error of 5 % |\n|---|---|---|")
    for kind in KINDS:
        share = false_alarms(kind, n_paths, n_looks)
        error = np.sqrt(DELTA * (1 - DELTA) / n_paths)
        print(f"| {kind.name} | {share:.1%} | {error:.1%} |", flush=True)
    print(f"\n({time.perf_counter() - began:.0f} s)\n")
    few = min(n_paths, 200)
    most, later = (5_000, 10_000) if asked.quick else (40_000, 50_000)
    print(
        f"| promise | drop | at the beginning | after 5,000 rows | after {later:,} rows | ", end=""
    )
    print(f"after {later:,} rows, without restarts |\n|---|---|---|---|---|---|")
    for limit in (0.9, 0.95, 0.99):
        for drop in (0.02, 0.05, 0.1):
            cells = []
            for before, restarts in ((0, True), (5_000, True), (later, True), (later, False)):
                found = delays(limit, drop, before, few, most, restarts=restarts)
                cells.append(_cell(found, most))
            print(f"| {limit:g} | {100 * drop:g} points | {' | '.join(cells)} |", flush=True)
    print(f"\n({time.perf_counter() - began:.0f} s in all)")


def _cell(found: IntArray, most: int) -> str:
    """Median, and the rows within which nine of ten alarms came."""
    middle, late = (int(np.quantile(found, share, method="higher")) for share in (0.5, 0.9))
    return " / ".join(f"{n:,}" if n < most else f"over {most:,}" for n in (middle, late))


if __name__ == "__main__":
    main()
