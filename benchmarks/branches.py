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
from emsco_lab.datasets import load
from emsco_lab.methods import RIVALS, answer_with_rival, new_rival
from emsco_lab.trials import LabelledRows, Question, TrialRows

SHARES = (0.05, 0.1, 0.2, 0.4)  # of the cost of everything
COUNTS = (3, 5, 7, 10, 14, 18)  # features on average, where each costs 1
DRAWN = ("regions", "interactions", "families", "cube", "cube_nm3", "cube_nm5")
FRESH, FRESH_SEED = 10, 10**6  # draws of test rows, and where their seeds begin
LARGEST = 4000  # rows of a table to split; more are drawn from
SETTINGS = 12  # of a rival that are tried


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


def deployed_within(front: ParetoFront, budget: float) -> ParetoPoint | None:
    """Return the point that a budget deploys if everyone is answered; None if there is none."""
    points = [point for point in front if point.coverage == 1 and point.promised[1].cost <= budget]
    return max(points, key=lambda point: point.promised[1].accuracy, default=None)


def measured(
    name: str, seed: int, ways: str | int, budgets: list[float] | None, **settings: object
) -> list[float]:
    """Fit, and return accuracy, promised less kept and cost at each budget, then the default's."""
    X, X_test, y, y_test, costs = split(name, seed)
    started = time.process_time()
    settings = {"gaps": "impute", "n_jobs": -1, "random_state": seed, **settings}
    clf = EMSCOClassifier(costs, branches=ways, **settings).fit(X, y)
    seconds = time.process_time() - started
    front, total = clf.front_, clf.front_.costs.total
    line = []
    for budget in budgets or [share * total for share in SHARES]:
        point = deployed_within(front, budget)
        if point is None:
            line += [np.nan] * 3
            continue
        seen = front.cascade(point).evaluate(X_test, y_test)
        promised = point.promised[1].accuracy
        line += [100 * seen.accuracy, 100 * (promised - seen.accuracy), seen.cost]
    seen, everything = clf.evaluate(X_test, y_test), front.everything().evaluate(X_test, y_test)
    is_tree = not clf.design_.is_chain
    return [
        *line,
        100 * seen.accuracy,
        100 * seen.cost / total,
        is_tree,
        100 * everything.accuracy,
        seconds,
    ]


def measured_rival(name: str, seed: int, method: str, budgets: list[float] | None) -> list[float]:
    """Tune and fit a rival; return the same figures, without those of a default."""
    X, X_test, y, y_test, costs = split(name, seed)
    trial = TrialRows(LabelledRows(X, y), LabelledRows(X_test, y_test), costs, seed)
    shares = [one / costs.total for one in budgets] if budgets else SHARES
    started = time.process_time()
    rival = new_rival(method, costs, random_state=seed, gaps="impute")
    offers = answer_with_rival(rival, trial, [Question(1.0, one) for one in shares], SETTINGS)
    line = []
    for offer in offers:
        over = offer.promised.accuracy - offer.seen.accuracy
        line += [100 * offer.seen.accuracy, 100 * over, offer.seen.cost]
    return [*line, np.nan, np.nan, np.nan, np.nan, time.process_time() - started]


def main() -> None:
    """Accuracy at budgets, everyone answered: designs that branch beside chains, on test rows.

    python benchmarks branches [--sets regions,cube_nm3] [--seeds 10] [--first 100]
    python benchmarks branches --sets cube_nm3 --seeds 1 --ways catboost,cost_aware_boosting,aaco

    Seeds 0 to 4 made decisions; others judge. Each seed is fitted with `branches` "auto" and 1, or
    by the rivals that `--ways` names, each tuned on five folds. A budget is a share of the cost of
    everything, or a number of features on average, where each costs 1. Columns, for each budget:
    accuracy in %, promised less kept in points, mean cost of a row. Then accuracy and share of the
    cost of what the default deploys, whether that branches, accuracy of buying everything, and
    processor seconds of the fit. `--estimator` and `--generations` are those of our fits.
    """
    parser = argparse.ArgumentParser(
        description=main.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default="regions")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--ways", default="auto,1")
    parser.add_argument("--estimator", default="auto")
    parser.add_argument("--generations", type=int)
    asked = parser.parse_args()
    settings = {"estimator": asked.estimator}
    if asked.generations is not None:
        settings["generations"] = asked.generations
    warnings.simplefilter("ignore")
    for name in asked.sets.split(","):
        is_cube = name.startswith("cube")
        at = [f"{count}" for count in COUNTS] if is_cube else [f"{one:.0%}" for one in SHARES]
        print(f"{name:22}" + "".join(f"{one:>9}{'over':>6}{'cost':>7}" for one in at), end="")
        print(f"{'default':>9}{'cost':>6}{'tree':>6}{'all':>7}{'CPU s':>7}")
        results: dict[str, list[list[float]]] = {}
        for seed in range(asked.first, asked.first + asked.seeds):
            for ways in asked.ways.split(","):
                budgets = list(COUNTS) if is_cube else None
                if ways in RIVALS:
                    line = measured_rival(name, seed, ways, budgets)
                else:
                    most_ways = ways if ways == "auto" else int(ways)
                    line = measured(name, seed, most_ways, budgets, **settings)
                results.setdefault(ways, []).append(line)
                print_line(f"{name} {seed} {ways}", line)
        for ways, lines in results.items():
            print_line(f"{name} mean {ways}", np.nanmean(lines, axis=0).tolist())


def print_line(what: str, line: list[float]) -> None:
    """Print the figures of one fit, or the means of several."""
    *figures, default, cost, is_tree, everything, seconds = line
    cells = [
        f"{figures[k]:9.1f}{figures[k + 1]:+6.1f}{figures[k + 2]:7.3g}"
        for k in range(0, len(figures), 3)
    ]
    cells.append(f"{default:9.1f}{cost:6.1f}{is_tree:6.2f}{everything:7.1f}{seconds:7.0f}")
    print(f"{what:22}" + "".join(cells), flush=True)
