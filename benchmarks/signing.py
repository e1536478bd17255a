"""Whether anyone would sign the default, and what errors and tests cost with it, on test rows."""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from common import Table, generated, load_table
from sklearn.base import clone
from sklearn.datasets import load_wine, make_classification
from sklearn.model_selection import train_test_split

from emsco import Cascade, EMSCOClassifier, FeatureCosts, SeenPromise
from emsco._base.progress import JobProgress
from emsco_lab.compare_report import markdown_table
from emsco_lab.jobs import finish_jobs, opened_store

LARGEST = 4000  # rows to split; more are drawn from
PUBLISHED_SPLITS = 3  # of sets with published costs of errors
TABLES = (
    "pima",
    "credit",
    "heart",
    "cleveland",
    "thyroid",
    "spam",
    "breast_cancer",
    "wine",
    "rare",
    "three classes",
)


def table_of(name: str, seed: int) -> Table:
    """Load a public table, or make one; without known costs, columns cost 1 to 19."""
    rng = np.random.default_rng(5)
    if name == "wine":
        X, y = load_wine(return_X_y=True, as_frame=True)
        y = y.to_numpy()
    elif name == "three classes":
        X, y = make_classification(
            2000,
            14,
            n_informative=5,
            n_redundant=2,
            n_classes=3,
            weights=[0.5, 0.3],
            class_sep=0.9,
            random_state=77,
        )
        X = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    elif name == "spam":
        X = pd.read_csv(Path(os.environ["EMSCO_DATA"]) / "spam.csv")
        y = X.pop(X.columns[-1]).to_numpy()
    elif name == "rare":
        return generated(3000, 0.06, seed, 0.7)
    else:
        return load_table(name, seed)
    costs = {column: float(rng.integers(1, 20)) for column in X.columns}
    return Table(name, X, y, FeatureCosts.from_mapping(costs, list(X.columns)))


def in_errors(ours: np.ndarray, theirs: np.ndarray) -> float:
    """How far a share is behind another on the same rows, in standard errors; 0 if it is not."""
    apart = ours.astype(float) - theirs
    error = apart.std() / np.sqrt(len(apart))
    return max(0.0, -apart.mean() / error) if error else 0.0


def holds(one: SeenPromise) -> bool:
    """Whether a kept share is within the promised interval, the chance in the test rows included.

    For a single fit, intervals of both are put together.
    """
    gap = one.seen - one.promise.limit
    promised = one.promised.high if gap > 0 else one.promised.low
    seen = one.interval.low if gap > 0 else one.interval.high
    return abs(gap) <= np.hypot(promised - one.promise.limit, seen - one.seen)


def signed(name: str, seed: int) -> dict[str, float]:
    """Fit with all defaults on 70 % of the rows; compare with buying everything on the others."""
    table = table_of(name, seed)
    X, y = table.X, np.asarray(table.y)
    if len(X) > LARGEST:
        X, _, y, _ = train_test_split(X, y, train_size=LARGEST, stratify=y, random_state=1)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    started = time.process_time()
    clf = EMSCOClassifier(table.costs, gaps="impute", n_jobs=-1, random_state=seed).fit(X, y)
    seconds = time.process_time() - started
    ours, theirs = clf.decide(X_test), clf.front_.everything().decide(X_test)
    seen, promised, total = clf.evaluate(X_test, y_test), clf.point_.promised[1], table.costs.total
    right, all_right = ours.guesses == y_test, theirs.guesses == y_test
    behind = [
        in_errors(right[y_test == label], all_right[y_test == label]) for label in np.unique(y)
    ]
    shares = seen.promise.recall  # of each class
    rare = shares[int(seen.by_class.rows.argmin())]
    return {
        "cov.": seen.coverage,
        "acc.": seen.accuracy,
        "all": float(all_right.mean()),
        "cost": seen.cost / total,
        "behind": in_errors(right, all_right),
        "class": max(behind),
        "Δ cov.": 100 * (promised.coverage - seen.coverage),
        "Δ acc.": 100 * (promised.accuracy - seen.accuracy),
        "Δ cost": 100 * (promised.cost - seen.cost) / total,
        "Δ rare": 100 * (rare.promise.limit - rare.seen),
        "holds": float(np.mean([holds(one) for one in shares])),
        "stages": clf.design_.n_stages,
        "features": int((clf.design_.stages >= 0).sum()),
        "CPU s": seconds,
    }


def main_signed() -> None:
    """What the default deploys on ten tables, beside buying everything for every row.

    python benchmarks signed [--tables pima,credit] [--seeds 2] [--first 10]

    Everything is as it comes. Seeds 0 to 4 made decisions; others judge. Columns: coverage,
    accuracy, accuracy of buying everything, share of its cost; how far the default is behind it in
    accuracy, and in the share found of the class where it is worst, in standard errors of the
    difference on the test rows; promised less kept, in points, of coverage, accuracy, cost and the
    share found of the rarest class; share of the classes whose promised interval holds, the chance
    in the test rows included; stages, features, processor seconds of the fit. Public tables are
    read from the folder that EMSCO_DATA names.
    """
    parser = argparse.ArgumentParser(
        description=main_signed.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=10)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    results = []
    for name in asked.tables.split(","):
        for seed in range(asked.first, asked.first + asked.seeds):
            one = signed(name, seed)
            if not results:
                print(f"{'':18}" + "".join(f"{heading:>9}" for heading in one))
            results.append(list(one.values()))
            print(f"{name:14}{seed:4}" + "".join(f"{x:9.3f}" for x in results[-1]), flush=True)
    figures = np.array(results)
    print(f"{'mean':18}" + "".join(f"{x:9.3f}" for x in figures.mean(axis=0)))
    print(f"{'largest':18}" + "".join(f"{x:9.3f}" for x in figures.max(axis=0)))
    print(f"at most half the cost: {(figures[:, 3] <= 0.5).sum()} of {len(figures)}")


MONEY_SETS = (
    "breast",
    "car",
    "diabetes",
    "flare",
    "glass",
    "heart",
    "hepatitis",
    "iris",
    "soybean",
    "tictactoe",
    "wine",
)
LEVELS = ("low", "middle", "high")


class Test(NamedTuple):
    """What a test costs: in full, and once another one of its group was bought."""

    cost: float
    discounted: float
    group: str


def priced(name: str, level: str) -> tuple[np.ndarray, dict[str, Test], FeatureCosts]:
    """Read what errors cost (row: true class) and what tests cost; the latter for a fit too.

    In a fit, the discount of a group is a fee that its tests share. Those of flare save different
    amounts; the fee is then that of the cheapest test.
    """
    lines = (money_folder() / f"{name}-{level}-costs.csv").read_text().splitlines()
    heading = next(i for i, line in enumerate(lines) if line.startswith("Attribute-name"))
    matrix = np.array([[float(x) for x in line.split()] for line in lines[:heading]])
    tests: dict[str, Test] = {}
    columns: dict[str, list[str]] = {}
    shared: dict[str, tuple[float, list[str]]] = {}
    for line in lines[heading + 1 :]:
        test, cost, discounted, group, first, last = line.split()
        tests[test] = Test(float(cost), float(discounted), group)
        columns[test] = [f"b{i}" for i in range(int(first), int(last) + 1)]
        if group != "x":
            shared.setdefault(group, (float(cost) - float(discounted), []))[1].append(test)
    costs = {test: one.discounted for test, one in tests.items()}
    table = [column for members in columns.values() for column in members]
    return matrix, tests, FeatureCosts.from_mapping(costs, table, groups=columns, fees=shared)


def paid(tests: dict[str, Test], steps: Iterable[Iterable[str]]) -> float:
    """Return what tests cost that are bought step by step, the first of a group in full.

    If several of a group are bought in one step, the first is the one that would save least.
    """
    total, groups = 0.0, set[str]()
    for step in steps:
        for test in sorted(
            (tests[name] for name in step), key=lambda one: one.cost - one.discounted
        ):
            total += test.discounted if test.group in groups else test.cost
            groups |= {test.group} - {"x"}
    return total


def money_folder() -> Path:
    """Return the folder of the published protocol."""
    return Path(os.environ["EMSCO_DATA"]) / "streed"


def money_rows(name: str, part: str, split: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Read binary columns and labels; beyond the published splits, divide the rows of the first."""
    if split > PUBLISHED_SPLITS:
        (X, y), (X_test, y_test) = (money_rows(name, one, 1) for one in ("train", "test"))
        whole, labels = pd.concat([X, X_test], ignore_index=True), np.concatenate([y, y_test])
        X, X_test, y, y_test = train_test_split(
            whole, labels, test_size=len(y_test), stratify=labels, random_state=split
        )
        return (X, y) if part == "train" else (X_test, y_test)
    rows = pd.read_csv(money_folder() / f"{name}-{part}-{split}.csv", sep=" ", header=None)
    y = rows.pop(0).to_numpy()
    rows.columns = [f"b{i}" for i in range(rows.shape[1])]
    return rows, y


@dataclass(frozen=True, slots=True)
class MoneyJob:
    """One way on one split of a set, at all levels of costs."""

    data: str
    split: int
    way: str
    time_limit: float | None  # seconds of a fit

    @property
    def title(self) -> str:
        """Words for people."""
        return f"{self.data} {self.split} {self.way}"


def try_way(job: MoneyJob) -> dict[str, Any]:
    """Return the total of each test row by level, and whether every fit ended by itself."""
    X, y = money_rows(job.data, "train", job.split)
    X_test, y_test = money_rows(job.data, "test", job.split)
    _, tests, costs = priced(job.data, LEVELS[0])
    X, X_test = X[list(costs.table)], X_test[list(costs.table)]
    classifier = EMSCOClassifier(
        costs, n_jobs=-1, random_state=job.split, time_limit=job.time_limit
    )
    started = time.process_time()
    totals, ended = {}, []
    if job.way == "chosen":
        chosen = clone(classifier).fit(X, y)
    for level in LEVELS:
        matrix, _, _ = priced(job.data, level)
        if job.way == "constant":
            total = matrix[y_test, int(matrix[y].sum(axis=0).argmin())]
        elif job.way.startswith("trees"):
            total, is_optimal = optimal_tree(job, level)
            ended.append(is_optimal)
        else:
            if job.way in ("searched", "hindsight"):
                clf = clone(classifier).set_params(error_cost=matrix).fit(X, y)
            else:
                clf = chosen.choose(
                    error_cost=matrix,
                    reject_cost=float(matrix.max()),
                    min_coverage=1,
                    cheapest_label=True,
                )
            cascades = [clf.cascade_]
            if job.way == "hindsight":
                answering = [point for point in clf.front_ if point.coverage == 1]
                cascades = [clf.front_.cascade(point) for point in answering]
            each = [spent_by(one, tests, matrix, X_test, y_test) for one in cascades]
            total = min(each, key=np.mean)
        totals[level] = np.round(total, 6).tolist()
    return {"totals": totals, "ended": all(ended), "seconds": time.process_time() - started}


def spent_by(
    cascade: Cascade, tests: dict[str, Test], matrix: np.ndarray, X: pd.DataFrame, y: np.ndarray
) -> np.ndarray:
    """Return what each row costs with its tests and errors, by the protocol's prices."""
    decisions, design = cascade.decide(X), cascade.design
    paths = [[], *(design.path(stage) for stage in range(design.n_stages))]
    cost = [paid(tests, [design.buys[stage] for stage in path]) for path in paths]
    return np.array(cost)[decisions.stage] + matrix[y, np.asarray(decisions.labels)]


def optimal_tree(job: MoneyJob, level: str) -> tuple[np.ndarray, bool]:
    """Return the total of each test row with an optimal tree, and whether it is proven optimal.

    The tree's own score is a share of something; totals are added up by the costs as ours are.
    """
    from pystreed import STreeDCostSensitiveClassifier
    from pystreed.data import CostSpecifier

    matrix, tests, costs = priced(job.data, level)
    test_of = {
        column: test
        for test, columns in zip(costs.names, costs.columns, strict=True)
        for column in columns
    }
    depth = int(job.way.removeprefix("trees"))
    tree = STreeDCostSensitiveClassifier(max_depth=depth, time_limit=job.time_limit or 600)
    X, y = money_rows(job.data, "train", job.split)
    file = str(money_folder() / f"{job.data}-{level}-costs.csv")
    tree.fit(X.to_numpy(), y, CostSpecifier(file, len(matrix)))
    X_test, y_test = money_rows(job.data, "test", job.split)
    totals = []
    for row, truth in zip(X_test.to_numpy(), y_test, strict=True):
        node, bought = tree.get_tree(), {}
        while not node.is_leaf_node():
            bought[test_of[f"b{node.feature}"]] = None  # a test may be asked about twice
            node = node.right_child if row[node.feature] else node.left_child
        totals.append(paid(tests, [[test] for test in bought]) + matrix[truth, int(node.label)])
    return np.array(totals), tree.fit_result.is_optimal()


def money_line(name: str, ways: list[str], by_split: list[dict[str, np.ndarray]]) -> list[str]:
    """Cells of a set: mean totals by way at the three levels, and how the first way compares."""
    means = {way: np.mean([one[way].mean(axis=1) for one in by_split], axis=0) for way in ways}
    cells = [" ".join(f"{total:.3g}" for total in means[way]) for way in ways]
    ours = ways[0]
    for other in ways[1:]:
        ratio = float(np.mean(means[ours] / means[other]))
        # Standard errors of the difference, of all rows of the splits.
        apart = [one[ours] - one[other] for one in by_split]
        error = np.sqrt(sum(one.var(axis=1) / one.shape[1] for one in apart)) / len(apart)
        dearer = np.mean([one.mean(axis=1) for one in apart], axis=0)
        beyond = float((dearer / np.where(error > 0, error, 1.0)).max())
        cells.append(f"{ratio:.2f} ({beyond:+.1f})")
    return [name, *cells]


def main_money() -> None:
    """Totals of tests and errors by a published protocol, beside optimal trees and one label.

    python benchmarks money [--sets heart,glass] [--splits 2,3] [--ways searched,constant]
                            [--time-limit 600] [--out FOLDER]

    Sets, test costs with shared fees, matrices of misclassification costs at three levels, and
    splits are those of van der Linden et al. (2023), read from the folder `streed` of EMSCO_DATA;
    splits from 4 on divide the rows of split 1 anew, by that seed. Everyone is answered. Columns:
    the mean total of a test row at low, middle and high costs, over splits, by

    searched   a fit with `error_cost`
    chosen     a fit for accuracy, from whose front a design is chosen by `error_cost`
    hindsight  the design of such a fit whose total on the test rows is lowest, which nobody knows
    trees3     optimal trees of depth 3, trees4 those of depth 4; they need pystreed
    constant   the label that costs least on the training rows

    Then the first way over each other one: the mean ratio of the three levels and, in brackets, by
    how many standard errors of the difference it is dearer at the worst level. Fits have no time
    limit, and trees 600 s. Results are kept in the folder, and the same command continues.
    """
    parser = argparse.ArgumentParser(
        description=main_money.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(MONEY_SETS))
    parser.add_argument("--splits", default="2,3")
    parser.add_argument("--ways", default="searched,constant")
    parser.add_argument("--time-limit", type=float, help="seconds of a fit")
    parser.add_argument("--out", type=Path, help="folder to keep results in")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    sets, ways = asked.sets.split(","), asked.ways.split(",")
    splits = [int(one) for one in asked.splits.split(",")]

    jobs = [
        MoneyJob(name, split, way, asked.time_limit)
        for way in ways
        for split in splits
        for name in sets
    ]
    with opened_store(asked.out) as store, JobProgress("jobs") as progress:
        results, _ = finish_jobs(jobs, try_way, store, report=progress.job)
    lines = []
    for name in sets:
        by_split = [
            {
                job.way: np.array([fields.get("totals")[level] for level in LEVELS])
                for job, fields in results.items()
                if (job.data, job.split) == (name, split)
            }
            for split in splits
        ]
        if all(set(one) == set(ways) for one in by_split):
            lines.append(money_line(name, ways, by_split))
    print(markdown_table(["set", *ways, *(f"{ways[0]} / {other}" for other in ways[1:])], lines))
    for job, fields in results.items():
        if not fields.get("ended"):
            print(f"{job.title} was stopped by the time limit")


def main_turney() -> None:
    """Totals of tests and errors with the fees of Turney (1995), beside rivals that know costs.

    python benchmarks turney [--sets pima_turney,cleveland] [--errors 50,800] [--splits 2]

    Everyone is answered. Every method is fitted and chosen on three quarters of the rows and looks
    for the lowest mean total; the mean total of the test rows, over splits, for each cost of an
    error.
    """
    from emsco_lab import CostedRows, LabelledRows, compare_methods

    parser = argparse.ArgumentParser(
        description=main_turney.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default="cleveland,pima_turney,thyroid")
    parser.add_argument("--errors", default="50,100,200,400,800")
    parser.add_argument("--methods", default="emsco,cost_aware_boosting,catboost")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--seed", type=int, default=100)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    methods = asked.methods.split(",")
    print(f"{'':12}{'error':>8}" + "".join(f"{method:>20}" for method in methods))
    for name in asked.sets.split(","):
        table = load_table(name, asked.seed)
        rows = CostedRows(LabelledRows(table.X.to_numpy(), np.asarray(table.y)), table.costs)
        for price in map(float, asked.errors.split(",")):
            compared = compare_methods(
                rows, name, methods, asked.splits, seed=asked.seed, error_cost=price, n_jobs=1
            )
            lowest = compared.lowest_totals
            totals = [lowest[method].money(compared.error_costs).mean() for method in methods]
            cells = "".join(f"{total:20.2f}" for total in totals)
            print(f"{name:12}{price:8g}{cells}", flush=True)
