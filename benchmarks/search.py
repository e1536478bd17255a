"""How much of the true front a search finds, in how much time; and how fast rows are decided.

python benchmarks search                              ten minutes of a core
python benchmarks search found --stages 2 --seeds 1   a quarter of a minute
python benchmarks search found --exclusion            designs may leave features out
python benchmarks search timed                        a minute
python benchmarks search decide                       half a minute

found: sets of the paper, one threshold, half of the rows to fit on and a quarter to score. The
share of the vectors (coverage, accuracy, cost) of the exact front that evolution finds, mean and
worst of the seeds, and its time in fits of exact search. Evolution runs 150 generations of 300.
Heart, Credit and Pima are read from the folder that EMSCO_DATA names.

timed: CPU seconds, least of three. A fit by the paper's search on Heart; proofs of all landscapes
whose models are fitted; 1,024 generations of evolution on Heart, with links.

decide: a cascade of up to four stages over 12 features. A table of a million rows beside one
predict_proba on all features; rows that come one by one and buy as they go, with case.give, beside
predict_proba at each of their stages.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from common import SEED, generated, markdown, names, options, progress, side_by_side
from moocore import filter_dominated
from sklearn.linear_model import LogisticRegression

from emsco import EMSCOClassifier, ParetoFront
from emsco.scoring import Answers
from emsco.search import find_front
from emsco_lab import datasets

SECTIONS = ("found", "timed", "decide")
Vectors = set[tuple[float, ...]]


def vectors(front: ParetoFront) -> Vectors:
    """Coverage, accuracy and cost of designs that no other one beats, scored; rounding aside."""
    points = np.array([[one.coverage, one.accuracy, one.cost] for one in front]).round(9)
    best = filter_dominated(points, maximise=[True, True, False])
    return {tuple(point) for point in best.tolist()}


def searched(
    data: datasets.Dataset, stages: int, search: str, seed: int, **settings: Any
) -> tuple[Vectors, float, bool]:
    """Vectors that a search finds, the seconds of the fit, and whether they are proven."""
    train, scored, _ = datasets.paper_split(len(data.y), SEED)
    clf = EMSCOClassifier(
        data.costs,
        min_confidence=data.min_confidence,
        max_stages=stages,
        estimator="logistic",
        branches=1,
        cv=[(train, scored)],
        refit="first",
        search=search,
        patience=150,
        random_state=seed,
        **settings,
    )
    started = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):
        clf.fit(data.X, data.y)
    return vectors(clf.front_), time.perf_counter() - started, clf.front_.proven


def found(sets: tuple[str, ...], stages: tuple[int, ...], seeds: int, **settings: Any) -> str:
    """Evolution beside exact search, in a table."""
    lines = {}
    searched(datasets.load(sets[0]), 2, "evolution", SEED)  # loads what is compiled
    jobs = [(name, most) for name in sets for most in stages]
    for done, (name, most) in enumerate(jobs, 1):
        data = datasets.load(name)
        truth, exact, proven = searched(data, most, "exact", SEED, **settings)
        runs = [
            searched(data, most, "evolution", seed, **settings) for seed in range(200, 200 + seeds)
        ]
        shares = [100 * len(some & truth) / len(truth) for some, _, _ in runs]
        seconds = [one for _, one, _ in runs]
        lines[f"{name}, {most} stages"] = {
            "vectors": len(truth),
            "proven": "yes" if proven else "no",
            "exact, s": exact,
            "found, %": float(np.mean(shares)),
            "worst, %": min(shares),
            "evolution, times as long": float(np.mean(seconds)) / exact,
        }
        progress(done, len(jobs), f"{name}, {most} stages")
    return markdown(pd.DataFrame.from_dict(lines, "index"))


def timed(sets: tuple[str, ...], stages: tuple[int, ...]) -> str:
    """CPU seconds of the paper's fit, of proofs and of a long evolution, in a table."""

    def least(job: Callable[[], object]) -> float:
        times = [time.process_time()]
        for _ in range(3):
            job()
            times.append(time.process_time())
        return float(np.diff(times).min())

    def opened(name: str) -> tuple[Answers, float]:
        data = datasets.load(name)
        train, scored, _ = datasets.paper_split(len(data.y), SEED)
        return Answers(data.X, data.y, data.costs, (train, scored)), data.min_confidence

    heart = datasets.load("heart")
    train, scored, _ = datasets.paper_split(len(heart.y), SEED)
    paper = EMSCOClassifier.paper(
        costs=heart.costs,
        min_confidence=heart.min_confidence,
        cv=[(train, scored)],
        random_state=SEED,
    )
    seconds = {"the paper's search on Heart": least(lambda: paper.fit(heart.X, heart.y))}
    for name in sets:
        known = opened(name)
        find_front("exact", *known, max_stages=1)  # fits all models
        for most in stages:
            seconds[f"exact, {name}, {most} stages"] = least(
                partial(find_front, "exact", *known, max_stages=most)
            )
    seconds["exact, all"] = sum(list(seconds.values())[1:])
    settings = {"max_stages": 4, "generations": 1024, "patience": 2000}
    seconds["evolution on Heart, 4 stages"] = least(
        lambda: find_front("evolution", *opened("heart"), SEED, **settings)
    )
    return markdown(pd.DataFrame.from_dict(seconds, "index", columns=["CPU s"]))


def decide(n_rows: int) -> str:
    """Tables and single rows beside scikit-learn."""
    table = generated(3000, 0.4, SEED)
    X, y = table.X.to_numpy(), table.y
    clf = EMSCOClassifier(
        table.costs,
        min_confidence=0.9,
        estimator="logistic",
        branches=1,
        search="evolution",
        generations=20,
        cv=1 / 3,
        random_state=SEED,
    ).fit(table.X, y)
    clf.choose(max(clf.front_, key=lambda point: (point.n_stages, point.accuracy)))
    cascade, design = clf.cascade_, np.asarray(clf.design_)
    subsets = [(design >= 0) & (design <= stage) for stage in range(design.max() + 1)]
    models = [LogisticRegression().fit(X[:, subset], y) for subset in subsets]
    whole = LogisticRegression().fit(X, y)
    rows = np.random.default_rng(SEED).choice(X, n_rows)
    ours, theirs = side_by_side(lambda: cascade.decide(rows), lambda: whole.predict_proba(rows))
    few = rows[:1000]
    records = [dict(zip(table.X.columns, row, strict=True)) for row in few.tolist()]
    passed = cascade.decide(few).stage

    def buy() -> list[int]:
        stages = []
        for record in records:
            case = cascade.open()
            while case.needs:
                case.give({name: record[name] for name in case.needs})
            stages.append(case.decision.stage)
        return stages

    def ask() -> None:
        for row, n_stages in zip(few, passed, strict=True):
            for subset, model in zip(subsets[:n_stages], models, strict=False):
                model.predict_proba(row[None, subset])

    assert buy() == passed.tolist()
    one, other = side_by_side(buy, ask)
    lines = {
        f"a table of {n_rows:,} rows, ns a row": [1e9 * ours / n_rows, 1e9 * theirs / n_rows],
        f"single rows of {passed.mean():.2f} stages, µs a row": [
            1e6 * one / len(few),
            1e6 * other / len(few),
        ],
    }
    told = pd.DataFrame.from_dict(lines, "index", columns=["emsco", "scikit-learn"])
    return markdown(told.assign(ratio=told["scikit-learn"] / told.emsco))


def main() -> None:
    """Run the sections named on the command line, or all."""
    parser = options(__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--sets", type=names, default=("pima", "heart", "credit"))
    parser.add_argument("--stages", type=int, nargs="+", default=(2, 3, 4))
    parser.add_argument("--seeds", type=int, default=5, help="runs of evolution")
    parser.add_argument("--exclusion", action="store_true", help="features may be left out")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the decided table")
    asked = parser.parse_args()
    if unknown := [name for name in asked.sections if name not in SECTIONS]:
        parser.error(f"SECTION must be one of {', '.join(SECTIONS)}, got {unknown[0]!r}.")
    sections = asked.sections or SECTIONS
    if "found" in sections:
        told = found(asked.sets, asked.stages, asked.seeds, allow_exclusion=asked.exclusion)
        print(f"\n{told}", flush=True)
    if "timed" in sections:
        print(f"\n{timed(asked.sets, asked.stages)}", flush=True)
    if "decide" in sections:
        print(f"\n{decide(asked.rows)}")
