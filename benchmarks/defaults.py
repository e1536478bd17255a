"""What defaults rest on: ways to score, thresholds, promises kept."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from unittest import mock

import numpy as np
from bakeoff import costed_rows
from common import Table, generated, held_out, load_table, quietly
from sklearn.model_selection import RepeatedStratifiedKFold

from emsco import EMSCOClassifier
from emsco._base.objectives import Objectives
from emsco.designs.thresholds import ThresholdGrid, auto_min_confidence
from emsco.fitting import REFITS, Workbench

SCORING_SETS = ("heart", "pima", "credit", "cleveland", "thyroid")
WAYS = ("1/3", "5", "2x5", "4x5", "auto")
SCORING_HEADINGS = (
    "Δ balanced",
    "Δ coverage",
    "Δ accuracy",
    "Δ cost",
    "bal.",
    "cov.",
    "acc.",
    "cost",
    "s",
)

THRESHOLD_SETS = ("heart", "pima", "cleveland", "credit", "breast_cancer", "rare24")
BUDGETS = (0.05, 0.1, 0.2, 0.4, 0.7)


def table_of(name: str, seed: int) -> Table:
    if name.startswith("made"):
        return generated(round(int(name[4:]) * 1.5), 0.3, seed, 0.6)
    return load_table(name, seed)


def splitter(way: str, seed: int):
    if "x" in way:
        repeats, folds = map(int, way.split("x"))
        return RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    return 1 / 3 if way == "1/3" else int(way) if way.isdigit() else way


def promised_and_seen(promised: Objectives, seen: Objectives, total: float) -> list[float]:
    """What is promised less what is seen, then what is seen."""

    def four(objectives: Objectives) -> np.ndarray:
        share = objectives.cost / total
        return np.array(
            [objectives.balanced(total), objectives.coverage, objectives.accuracy, share]
        )

    return [*(four(promised) - four(seen)), *four(seen)]


def measured(table: Table, way: str, seed: int, n_jobs: int) -> dict[str, list[float]]:
    """Fit once; deploy in every way that differs; return the figures and the seconds."""
    X, X_test, y, y_test = held_out(table, seed, 1 / 3)
    benches, stage_models = [], Workbench.stage_models

    def keep(bench: Workbench, *given):  # one search serves all ways of deploying
        benches.append(bench)
        return stage_models(bench, *given)

    with quietly():
        started = time.perf_counter()
        clf = EMSCOClassifier(
            table.costs,
            estimator="logistic",
            cv=splitter(way, seed),
            random_state=seed,
            n_jobs=n_jobs,
        )
        with mock.patch.object(Workbench, "stage_models", keep):
            clf.fit(X, y)
        seconds = time.perf_counter() - started
    figures, (bench,) = {}, benches
    for refit in REFITS:
        if refit == "first" and clf.n_splits_ == 1:
            continue  # the average of one
        front = replace(clf.front_, models=bench.stage_models(clf.front_, refit))
        seen = front.cascade(clf.point_).evaluate(X_test, y_test)
        figures[refit] = [*promised_and_seen(clf.point_, seen, front.costs.total), seconds]
    return figures


def line(results: list[list[float]]) -> str:
    means, spread = np.mean(results, axis=0), np.std(results, axis=0, ddof=1)
    errors = spread / np.sqrt(len(results))
    bias = (f"{m:+.3f} ± {e:.3f}" for m, e in zip(means[:4], errors[:4], strict=True))
    return " | ".join([*bias, *(f"{m:.3f}" for m in means[4:8]), f"{means[8]:.1f}"])


def main_scoring() -> None:
    """Whether new rows keep what scored rows promise, by the way of scoring and of deploying.

        python benchmarks scoring                      all sets, seeds 0 to 19: hours
        python benchmarks scoring --sets heart,pima    some sets

    Options: --seeds 10  --first 10  --cv 1/3,5,4x5  --jobs 2. Each seed splits the rows into two
    thirds to fit on and one third to test on. Stages are logistic and all other settings are the
    defaults. "4x5" is five folds, four times over. Sets are read from the folder that EMSCO_DATA
    names; "made" and a number is a generated table with so many rows to fit on.

    Columns: the promise less the figure on test rows, as mean ± standard error, of the balanced
    score, coverage, accuracy and cost (as a share of everything); then test rows alone; then
    seconds per fit. A search serves all ways of deploying, so they share their seconds.
    """
    parser = argparse.ArgumentParser(
        description=main_scoring.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SCORING_SETS))
    parser.add_argument("--cv", default=",".join(WAYS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    for name in options.sets.split(","):
        print(f"\n{name}, seeds {seeds[0]} to {seeds[-1]}\n")
        print(f"| cv | refit | {' | '.join(SCORING_HEADINGS)} |")
        print(f"|{'---|' * (len(SCORING_HEADINGS) + 2)}")
        for way in options.cv.split(","):
            runs = [measured(table_of(name, seed), way, seed, options.jobs) for seed in seeds]
            for refit in runs[0]:
                print(f"| {way} | {refit} | {line([one[refit] for one in runs])} |", flush=True)


def one_threshold(y: np.ndarray) -> dict[object, float]:
    """Return the former default: half-way between the share of a class and 1."""
    classes, counts = np.unique(y, return_counts=True)
    return auto_min_confidence(counts.astype(float), classes)


def fit_with_folds(
    table: Table, X: object, y: np.ndarray, seed: int, **settings: object
) -> EMSCOClassifier:
    """Fit with 5 folds, without warnings."""
    with quietly():
        return EMSCOClassifier(table.costs, cv=5, random_state=seed, **settings).fit(X, y)


def deployed(table: Table, parts: list, seed: int, **settings: object) -> list[float]:
    """Figures of the deployed design."""
    X, X_test, y, y_test = parts
    start = time.perf_counter()
    clf = fit_with_folds(table, X, y, seed, **settings)
    seconds = time.perf_counter() - start
    seen, total = clf.evaluate(X_test, y_test), clf.front_.costs.total
    lowest_recall = min(seen.by_class.recall)
    kept = [seen.coverage, seen.accuracy, lowest_recall, seen.cost / total]
    return [*kept, clf.point_.coverage, clf.point_.accuracy, seconds]


def answered(table: Table, parts: list, seed: int, **settings: object) -> list[float]:
    """Accuracy on test rows within each budget if everyone is answered, and the broken promise."""
    X, X_test, y, y_test = parts
    front = fit_with_folds(table, X, y, seed, always_answer=True, prefer="knee", **settings).front_
    kept, promised = [], []
    for budget in BUDGETS:
        within = [p for p in front if p.cost <= budget * front.costs.total]
        best = max(within or [min(front, key=lambda p: p.cost)], key=lambda p: p.accuracy)
        kept.append(front.cascade(best).evaluate(X_test, y_test).accuracy)
        promised.append(best.accuracy)
    return [*kept, float(np.mean(promised) - np.mean(kept))]


def main_thresholds() -> None:
    """Thresholds of their own for every stage, beside one threshold for all, on test rows.

        python benchmarks thresholds [--sets heart,pima] [--seeds 5] [--first 10]

    Public sets are read from the folder that EMSCO_DATA names. Each seed holds out 30 % of the
    rows for tests; 5 folds of the others score designs. "one" is the former default: half-way
    between the share of a class and 1, for all stages. "own" is min_confidence="auto".

    deployed: the design that is deployed by default, on test rows: coverage, accuracy, share found
        of the class found least, share of the cost of everything; and what was promised of the
        first two.
    answered: everyone gets an answer. Accuracy on test rows of the design that was scored most
        accurate within 5, 10, 20, 40 and 70 % of the cost of everything, and promised less kept,
        in the mean.
    """
    parser = argparse.ArgumentParser(
        description=main_thresholds.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(THRESHOLD_SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=10)
    parser.add_argument("--estimator", default="logistic")
    parser.add_argument("--generations", type=int, default=60)
    options = parser.parse_args()
    shared = {"estimator": options.estimator, "generations": options.generations, "n_jobs": 1}
    for name in options.sets.split(","):
        lines: dict[str, list[list[float]]] = {}
        for seed in range(options.first, options.first + options.seeds):
            table = load_table(name, seed)
            parts = held_out(table, seed)
            for words, threshold in (("one", one_threshold(np.asarray(parts[2]))), ("own", "auto")):
                for what in (deployed, answered):
                    measured_figures = what(table, parts, seed, min_confidence=threshold, **shared)
                    lines.setdefault(f"{what.__name__} {words}", []).append(measured_figures)
        print(f"{name}, seeds {options.first} to {options.first + options.seeds - 1}")
        for words, measured_figures in sorted(lines.items()):
            figures = np.array(measured_figures)
            error = figures.std(axis=0, ddof=min(1, len(figures) - 1)) / np.sqrt(len(figures))
            print(f"  {words:13}", *(f"{x:6.3f}" for x in figures.mean(axis=0)), flush=True)
            print(
                f"  {'± SE':13}", *(f"{x:6.3f}" for x in np.broadcast_to(error, figures[0].shape))
            )


def figures_of_front(name: str, split: int, generations: int) -> tuple[np.ndarray, list[str]]:
    """Accuracy and cost share, promised and kept, of every design on the front; and the designs."""
    trial = costed_rows(name).trial(split, 0)
    clf = EMSCOClassifier(
        trial.costs,
        gaps="impute",
        always_answer=True,
        generations=generations,
        random_state=trial.seed,
        n_jobs=-1,
    )
    with quietly():
        clf.fit(trial.fitted.X, trial.fitted.y)
    figures, total = [], trial.costs.total
    for i, point in enumerate(clf.front_):
        seen = clf.front_.cascade(i).evaluate(trial.test.X, trial.test.y)
        figures.append([point.accuracy, seen.accuracy, point.cost / total, seen.cost / total])
    return np.array(figures), [str(point.design) for point in clf.front_]


def main_promises() -> None:
    """What every design of a front promises and keeps, also without refusing thresholds.

    python benchmarks promises [--sets thyroid,cleveland] [--split 50] [--generations 150] [--all]

    Everyone is answered. Columns: designs on the front; the largest and the median difference
    between accuracy promised and kept on test rows, in points; the largest overrun and shortfall
    of the mean cost kept, as a share of everything. `--all` lists every design. A threshold is
    refused if the models of the folds disagree about the rows that it accepts; see
    docs/how/thresholds.md.
    """
    parser = argparse.ArgumentParser(description=main_promises.__doc__)
    parser.add_argument("--sets", default="thyroid,cleveland")
    parser.add_argument("--split", type=int, default=50)
    parser.add_argument("--generations", type=int, default=150)
    parser.add_argument("--all", action="store_true")
    asked = parser.parse_args()
    print(f"{'':28}{'designs':>8}{'largest':>9}{'median':>8}{'over':>8}{'under':>8}")
    for name in asked.sets.split(","):
        for words, watched in (("as it is", True), ("nothing refused", False)):
            with mock.patch.object(
                ThresholdGrid, "searched_levels", ThresholdGrid.searched_levels if watched else ()
            ):
                figures, designs = figures_of_front(name, asked.split, asked.generations)
            differs = 100 * np.abs(figures[:, 0] - figures[:, 1])
            more = figures[:, 3] - figures[:, 2]
            print(
                f"{name + ', ' + words:28}{len(figures):8}{differs.max():9.2f}"
                f"{np.median(differs):8.2f}{more.max():8.1%}{-more.min():8.1%}",
                flush=True,
            )
            if asked.all:
                for (promised, kept, cost, paid), design in zip(figures, designs, strict=True):
                    print(f"  {promised:.4f} {kept:.4f} {cost:.4f} {paid:.4f} {design}")
