"""What every design of a front promises and keeps, with and without thresholds that folds refuse.

python benchmarks/promises.py [--sets thyroid,cleveland] [--split 50] [--generations 150] [--all]

Everyone is answered. Columns: designs on the front; the largest and the median difference between
accuracy promised and kept on test rows, in points; the largest overrun and shortfall of the mean
cost kept, as a share of everything. `--all` lists every design. A threshold is refused if the
models of the folds disagree about the rows that it accepts; see docs/how/thresholds.md.
"""

from __future__ import annotations

import argparse
import warnings
from unittest.mock import patch

import numpy as np
from bakeoff_sets import costed_rows

from emsco import EMSCOClassifier
from emsco.designs.thresholds import ThresholdGrid
from emsco.errors import EMSCOWarning


def figures(name: str, split: int, generations: int) -> tuple[np.ndarray, list[str]]:
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)
        clf.fit(trial.fitted.X, trial.fitted.y)
    found, total = [], trial.costs.total
    for i, point in enumerate(clf.front_):
        seen = clf.front_.cascade(i).evaluate(trial.test.X, trial.test.y)
        found.append([point.accuracy, seen.accuracy, point.cost / total, seen.cost / total])
    return np.array(found), [str(point.design) for point in clf.front_]


def main() -> None:
    """Print a line per set and grid."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sets", default="thyroid,cleveland")
    parser.add_argument("--split", type=int, default=50)
    parser.add_argument("--generations", type=int, default=150)
    parser.add_argument("--all", action="store_true")
    asked = parser.parse_args()
    print(f"{'':28}{'designs':>8}{'largest':>9}{'median':>8}{'over':>8}{'under':>8}")
    for name in asked.sets.split(","):
        for words, watched in (("as it is", True), ("nothing refused", False)):
            with patch.object(
                ThresholdGrid, "searched_levels", ThresholdGrid.searched_levels if watched else ()
            ):
                found, designs = figures(name, asked.split, asked.generations)
            differs = 100 * np.abs(found[:, 0] - found[:, 1])
            more = found[:, 3] - found[:, 2]
            print(
                f"{name + ', ' + words:28}{len(found):8}{differs.max():9.2f}"
                f"{np.median(differs):8.2f}{more.max():8.1%}{-more.min():8.1%}",
                flush=True,
            )
            if asked.all:
                for (promised, kept, cost, paid), design in zip(found, designs, strict=True):
                    print(f"  {promised:.4f} {kept:.4f} {cost:.4f} {paid:.4f} {design}")


if __name__ == "__main__":
    main()
