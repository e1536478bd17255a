"""How often intervals of an evaluation hold, and how wide they are.

Run it with: python benchmarks/intervals.py --draws 1000
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import brentq

from emsco.stats.betting import mean_p_value
from emsco.stats.clusters import effective_rows
from emsco.stats.intervals import cost_interval, share_intervals

COSTS = {
    "spread": ([1, 4, 10, 40], [0.5, 0.2, 0.2, 0.1]),
    "a rare high cost": ([1, 100, 1000], [0.97, 0.02, 0.01]),
    "a rare low cost": ([1, 5, 60], [0.03, 0.07, 0.9]),
    "even": ([1, 2, 3, 4, 5, 6], [1 / 6] * 6),
}
BETS = 100  # draws for betting, which is slow


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
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
        f"{way} {((found[:, 0] <= mean) & (mean <= found[:, 1])).mean():.3f} "
        f"{np.diff(found).mean() / known:.2f}"
        for way, found in ways.items()
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
    sizes, found = np.full(n_groups, float(size)), []
    for _ in range(n_draws):
        chance = share if alike == 0 else rng.beta(share * scale, (1 - share) * scale, n_groups)
        hits = rng.binomial(size, chance, n_groups).astype(float)
        seen = hits.sum() / sizes.sum()
        varied = int(min((hits > 0).sum(), (hits < sizes).sum()))
        rows = effective_rows(hits, sizes, seen * (1 - seen), varied, sizes.sum())
        found += share_intervals(seen * rows, rows)
    ends = np.array(found)
    held = ((ends[:, 0] <= share) & (share <= ends[:, 1])).mean()
    wide = np.diff(ends).mean() / (high - low)
    print(
        f"  {share}, alike {alike}, {n_groups} groups of {size}: {held:.3f} {wide:.2f}", flush=True
    )


if __name__ == "__main__":
    main()
