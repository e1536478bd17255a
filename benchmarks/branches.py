"""Designs that branch beside chains, on test rows."""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from common import load_table
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier, ParetoFront
from emsco.front.point import ParetoPoint
from emsco.lab.datasets import load

SHARES = (0.05, 0.1, 0.2, 0.4)  # of the cost of everything
COUNTS = (3, 5, 7, 10, 14, 18)  # features on average, where each costs 1
DRAWN = ("regions", "interactions", "cube", "cube_nm3", "cube_nm5")
FRESH, FRESH_SEED = 10, 10**6  # draws of test rows, and where their seeds begin
LARGEST = 4000  # rows of a table to split; more are drawn from


def split(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, object]:
    """Return training rows, test rows, their labels, and the costs.

    Drawn sets have the shares of training rows that others were published with, and are tested on
    fresh rows. Of others a quarter is held out.
    """
    if name in DRAWN:
        data = load(name, seed=seed)
        n_train = round((0.8 if name.startswith("cube") else 0.75) * len(data.y))
        rows = np.random.default_rng(seed).permutation(len(data.y))[:n_train]
        fresh = [load(name, seed=FRESH_SEED + FRESH * seed + k) for k in range(FRESH)]
        X_test = np.concatenate([one.X for one in fresh])
        y_test = np.concatenate([one.y for one in fresh])
        return data.X[rows], X_test, data.y[rows], y_test, data.costs
    if name == "digits":
        data = load(name)
        X, y, costs = data.X, data.y, data.costs
    else:
        table = load_table(name, seed)
        X, y, costs = table.X, np.asarray(table.y), table.costs
    if len(y) > LARGEST:
        X, _, y, _ = train_test_split(X, y, train_size=LARGEST, stratify=y, random_state=1)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    return X, X_test, y, y_test, costs


def best_within(front: ParetoFront, budget: float, *, chains_only: bool) -> ParetoPoint | None:
    """Return the point that a budget deploys if everyone is answered, or the best chain."""
    points = [
        point
        for point in front
        if point.coverage == 1
        and point.promised[1].cost <= budget
        and (point.design.is_chain or not chains_only)
    ]
    return max(points, key=lambda point: point.promised[1].accuracy, default=None)


def main() -> None:
    """Accuracy at budgets, everyone answered: designs that branch beside chains of the same fit.

    python benchmarks branches [--sets regions,cube_nm3] [--seeds 10] [--first 100] [--ways auto]

    Seeds 0 to 4 made decisions; others judge. A budget is a share of the cost of everything, or a
    number of features on average, where each costs 1. For each: accuracy on test rows of what the
    front deploys, of its best chain, promised less kept in points, and the cost kept. Then what the
    default deploys: accuracy, share of the cost and whether it branches; accuracy of buying
    everything; processor seconds of the fit, and of the search for branches.
    """
    parser = argparse.ArgumentParser(
        description=main.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default="regions")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--ways", default="auto")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    ways = asked.ways if asked.ways == "auto" else int(asked.ways)
    spent = timed_branches()
    for name in asked.sets.split(","):
        results = []
        for seed in range(asked.first, asked.first + asked.seeds):
            X, X_test, y, y_test, costs = split(name, seed)
            started, before = time.process_time(), spent[0]
            clf = EMSCOClassifier(
                costs, branches=ways, gaps="impute", n_jobs=-1, random_state=seed
            ).fit(X, y)
            seconds, of_branches = time.process_time() - started, spent[0] - before
            front, total = clf.front_, clf.front_.costs.total
            counts = name.startswith("cube")
            budgets = COUNTS if counts else [share * total for share in SHARES]
            line = []
            for budget in budgets:
                for chains_only in (False, True):
                    point = best_within(front, budget, chains_only=chains_only)
                    seen = None if point is None else front.cascade(point).evaluate(X_test, y_test)
                    if seen is None:
                        line += [np.nan] * (1 if chains_only else 3)
                    elif chains_only:
                        line.append(seen.accuracy)
                    else:
                        promised = point.promised[1].accuracy
                        line += [seen.accuracy, 100 * (promised - seen.accuracy), seen.cost]
            deployed = clf.evaluate(X_test, y_test)
            everything = front.everything().evaluate(X_test, y_test).accuracy
            line += [deployed.accuracy, deployed.cost / total, not clf.design_.is_chain]
            line += [everything, seconds, of_branches]
            results.append(line)
            print_line(f"{name} {seed}", line, budgets, counts=counts)
        print_line(f"{name} mean", np.nanmean(results, axis=0).tolist(), budgets, counts=counts)


def print_line(what: str, line: list[float], budgets: list[float], *, counts: bool) -> None:
    """Print the figures of one fit."""
    cells = []
    for k, budget in enumerate(budgets):
        accuracy, over, cost, chain = line[4 * k : 4 * k + 4]
        at = f"{budget:g}" if counts else f"{SHARES[k]:.0%}"
        cells.append(f"{at}: {accuracy:.3f} chain {chain:.3f} ({over:+.1f}; {cost:.3g})")
    accuracy, cost, branches, everything, seconds, of_branches = line[4 * len(budgets) :]
    cells.append(f"default {accuracy:.3f} at {cost:.2f}, branches {branches:g}")
    cells.append(f"everything {everything:.3f}; {seconds:.0f} s, branches {of_branches:.0f} s")
    print(f"{what:16}" + " | ".join(cells), flush=True)


def timed_branches() -> list[float]:
    """Count the processor seconds that fits search for branches."""
    from emsco.fitting import fit

    spent, branch = [0.0], fit._Steps.branch

    def timed(*given: object) -> object:
        started = time.process_time()
        branched = branch(*given)
        spent[0] += time.process_time() - started
        return branched

    fit._Steps.branch = timed
    return spent
