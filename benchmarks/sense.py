"""What the default deploys, on rows that nobody has seen.

python benchmarks/sense.py rules       before and after, beside the other rules and the references
python benchmarks/sense.py stages      the default rule with at most 1 to 6 stages
python benchmarks/sense.py tolerance   the default rule with other tolerances
python benchmarks/sense.py thresholds  the default rule at 0.75 and at "auto"
python benchmarks/sense.py cascades    the default rule where no design of the front passes

Options: --sets rare6,heart  --seeds 5  --first 5. Seeds 0 to 4 chose the defaults; others judge.
Public sets are read from the folder that EMSCO_DATA names. Seeds split the rows, and make the
generated tables. 30 % of the rows are test rows, and a third of the others scores designs. Columns:
coverage, accuracy, the smallest share of a class that is found, the largest that is mislabelled,
the cost as a share of everything, stages and features; means over seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from unittest import mock

import numpy as np
from sklearn.model_selection import train_test_split
from tables import GENERATED, PUBLIC, Table, load

from emsco import EMSCOClassifier, Evaluation
from emsco.errors import EMSCOWarning
from emsco.front import rules as preferences
from emsco.front.assessment import Assessor
from emsco.front.references import Reference

BEFORE = {"min_confidence": 0.75, "max_stages": None, "allow_exclusion": False}
BEFORE |= {"prefer": "balanced"}
RULES = ("economical", "balanced", "knee", "fittest")


def shown(found: Evaluation | Reference, total: float) -> list[float]:
    """Figures on test rows that can be told without reading a table by class."""
    by_class = found.by_class
    missed = by_class.coverage - by_class.recall
    return [
        found.coverage,
        found.accuracy,
        by_class.recall.min(),
        missed.max(),
        found.cost / total,
    ]


def fitted(table: Table, seed: int, **settings) -> tuple[EMSCOClassifier, tuple]:
    """Fit on 70 % of the rows; return the classifier and the other rows."""
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=0.3, stratify=table.y, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)
        own = {"cv": 1 / 3, "random_state": seed, "n_jobs": -1, **settings}
        clf = EMSCOClassifier(table.costs, **own)
        return clf.fit(X, y), (X_test, y_test)


def figures(clf: EMSCOClassifier, rows: tuple) -> list[float]:
    """Figures of the deployed design on test rows."""
    bought = int((clf.design_.stages >= 0).sum())
    total = clf.front_.costs.total
    return [*shown(clf.evaluate(*rows), total), clf.design_.n_stages, bought]


def by_rules(table: Table, seed: int) -> dict[str, list[float]]:
    """Before, after, and the references."""
    old, rows = fitted(table, seed, **BEFORE)
    clf, rows = fitted(table, seed)
    total = table.costs.total
    found = {"before: balanced at 0.75": figures(old, rows)}
    for reference in clf.front_.references_on(*rows):
        found[reference.kind] = [*shown(reference, total), 1, table.X.shape[1]]
    for rule in RULES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EMSCOWarning)
            clf.choose(rule)
        found[rule] = figures(clf, rows)
    return found


def by_stages(table: Table, seed: int) -> dict[str, list[float]]:
    """The default rule with other limits on stages."""
    most = (1, 2, 3, 4, 6)
    return {f"max_stages={k}": figures(*fitted(table, seed, max_stages=k)) for k in most}


def by_tolerance(table: Table, seed: int) -> dict[str, list[float]]:
    """The default rule with other tolerances, in standard errors."""
    clf, rows = fitted(table, seed)
    found = {}
    for tolerance in (0.0, 0.25, 0.5, 1.0, 2.0):
        with mock.patch.object(preferences, "_TOLERATED", tolerance), warnings.catch_warnings():
            warnings.simplefilter("ignore", EMSCOWarning)
            found[f"{tolerance} errors"] = figures(clf.choose("economical"), rows)
    return found


def by_thresholds(table: Table, seed: int) -> dict[str, list[float]]:
    """The default rule at one confidence for all, and at one for each class."""
    every = (0.75, 0.9, "auto")
    return {f"{p}": figures(*fitted(table, seed, min_confidence=p)) for p in every}


def by_cascades(table: Table, seed: int) -> dict[str, list[float]]:
    """The default rule that may only buy everything and less, or try cascades, if none passes."""
    with mock.patch.object(Assessor, "_like_everything", return_value=[]):
        before = figures(*fitted(table, seed))
    clf, rows = fitted(table, seed)
    everything = clf.front_.references_on(*rows)[1]
    return {
        everything.kind: [*shown(everything, table.costs.total), 1, table.X.shape[1]],
        "everything but a few": before,
        "or a cascade": figures(clf, rows),
    }


STUDIES: dict[str, Callable[[Table, int], dict[str, list[float]]]] = {
    "rules": by_rules,
    "stages": by_stages,
    "tolerance": by_tolerance,
    "thresholds": by_thresholds,
    "cascades": by_cascades,
}
HEADINGS = ("cov.", "acc.", "found", "missed", "cost", "stages", "features")


def main() -> None:
    """Print a table per set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--sets", default=",".join([*GENERATED, *PUBLIC]))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=5, help="first seed; 0 to 4 made decisions")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    for name in options.sets.split(","):
        start, study = time.perf_counter(), STUDIES[options.study]
        results = [study(load(name, seed), seed) for seed in seeds]
        seconds = time.perf_counter() - start
        print(f"\n{name}, seeds {seeds[0]} to {seeds[-1]}, {seconds:.0f} s")
        print(f"{'':26}" + "".join(f"{heading:>9}" for heading in HEADINGS))
        for line in results[0]:
            means = np.mean([one[line] for one in results], axis=0)
            print(f"{line:26}" + "".join(f"{mean:9.3f}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
