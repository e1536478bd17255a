"""Boosted stage models: how fast they answer for subsets, and how well beside other families.

python benchmarks/boosting.py speed      20 subsets of 1,000 rows, beside LightGBM's predict
python benchmarks/boosting.py subsets    accuracy and log loss over 50 random subsets of all sizes

Options of `subsets`: --sets thyroid,heart  --seeds 3  --first 3. Seeds 0 to 2 chose the sizes;
others judge. A seed splits the rows, a third of them for testing, and draws the subsets. Seconds
are those of the processor, for choosing, training and asking. "both" is the mean of the
probabilities of the shared model and the own ones. EMSCO_DATA names the folder with the public
sets.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from emsco import datasets
from emsco.models.boosting.fitters import BoostingSize, OwnBoosting, SharedBoosting
from emsco.models.boosting.job import BoostingJob, SizeChoice, blanked
from emsco.models.engine import SplitRows
from emsco.models.penalties import choose_penalty
from emsco.models.splines import SplineBasis

SETS = ("thyroid", "synthetic15", "credit", "breast_cancer", "cleveland", "heart", "pima")
N_SUBSETS = 50
SPEED_SIZE = BoostingSize(8, 300, 16, 0.1, 40, 1.0)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Load rows and classes from 0."""
    data = datasets.load(name)
    return np.asarray(data.X, dtype=np.float64), data.y.astype(np.uint8)


def random_subsets(n_features: int, seed: int) -> np.ndarray:
    """Subsets of all sizes from 1 to all features."""
    rng = np.random.default_rng([seed, n_features])
    found = np.zeros((N_SUBSETS, n_features), dtype=bool)
    for one, size in zip(found, np.linspace(1, n_features, N_SUBSETS).round(), strict=True):
        one[rng.choice(n_features, int(size), replace=False)] = True
    return found


class Problem:
    """Rows of a set, split by a seed, and the probabilities of each family on the test rows."""

    def __init__(self, name: str, seed: int) -> None:
        self.X, self.y = load(name)
        self.n_classes, self.seed = int(self.y.max()) + 1, seed
        every = np.arange(len(self.y))
        self.train, self.test = train_test_split(
            every, test_size=1 / 3, stratify=self.y, random_state=seed
        )
        self.subsets = random_subsets(self.X.shape[1], seed)
        self.shared = self.fitter(SharedBoosting)

    def fitter(self, kind, size=None):
        """Make a fitter of the training rows."""
        job = BoostingJob.from_rows(
            self.X,
            self.y,
            self.train,
            self.test,
            None,
            None,
            list(range(self.n_classes)),
            None,
            self.seed,
            input_feature=np.arange(self.X.shape[1]),
        )
        return kind(job, size or SizeChoice(job))

    def linear(self, columns: np.ndarray, subsets: np.ndarray, penalty: float) -> list[np.ndarray]:
        """Fit logistic regressions of columns."""
        none = self.test[:0]
        split = SplitRows.cut(columns, self.y, self.train, none, penalty, n_classes=self.n_classes)
        models, scaling = split.fitter.fit(subsets), split.scaling
        rows = scaling.filled(columns[self.test])
        return [
            models.probabilities(rows, scaling.mean, scaling.inverse, m)
            for m in range(len(subsets))
        ]

    def by_logistic(self) -> list[np.ndarray]:
        """Ask logistic regressions of the inputs."""
        return self.linear(self.X, self.subsets, 1.0)

    def by_spline(self) -> list[np.ndarray]:
        """Ask logistic regressions of splines."""
        basis = SplineBasis.learn(self.X)
        columns = basis.expand(self.X)
        penalty = choose_penalty(columns, self.y, self.train, self.n_classes)
        return self.linear(columns, basis.reads(self.subsets), penalty)

    def by_shared(self) -> list[np.ndarray]:
        """Ask the one boosted model."""
        models = self.shared.models(self.subsets)
        return [ensemble.probabilities(self.X[self.test]) for ensemble, _ in models]

    def by_own(self) -> list[np.ndarray]:
        """Ask a boosted model for each subset."""
        models = self.fitter(OwnBoosting, size=self.shared.size).models(self.subsets)
        return [ensemble.probabilities(self.X[self.test]) for ensemble, _ in models]

    def figures(self) -> dict[str, list[float]]:
        """Accuracy, log loss and seconds of each family."""
        families: dict[str, Callable[[], list[np.ndarray]]] = {
            "logistic": self.by_logistic,
            "spline": self.by_spline,
            "shared": self.by_shared,
            "own": self.by_own,
        }
        found, said = {}, {}
        for name, ask in families.items():
            start = time.process_time()
            said[name] = ask()
            found[name] = [*self.judged(said[name]), time.process_time() - start]
        both = [(a + b) / 2 for a, b in zip(said["shared"], said["own"], strict=True)]
        found["both"] = [*self.judged(both), np.nan]
        return found

    def judged(self, said: list[np.ndarray]) -> list[float]:
        """Accuracy and log loss, means over subsets."""
        truth = self.y[self.test]
        right = [(one.argmax(axis=1) == truth).mean() for one in said]
        losses = [-np.log(one[np.arange(len(truth)), truth].clip(1e-12)).mean() for one in said]
        return [float(np.mean(right)), float(np.mean(losses))]


def show_subsets(options: argparse.Namespace) -> None:
    seeds = range(options.first, options.first + options.seeds)
    print(
        f"seeds {seeds[0]} to {seeds[-1]}, {N_SUBSETS} subsets each; ± spread of the mean of seeds"
    )
    for name in options.sets.split(","):
        results = [Problem(name, seed).figures() for seed in seeds]
        print(f"\n{name:16}{'accuracy':>17}{'log loss':>17}{'seconds':>9}")
        for family in results[0]:
            every = np.array([one[family] for one in results])
            mean, spread = every.mean(axis=0), every.std(axis=0) / np.sqrt(max(len(every) - 1, 1))
            figures = f"{mean[0]:9.4f} ± {spread[0]:.4f}{mean[1]:9.4f} ± {spread[1]:.4f}"
            print(f"{family:16}{figures} {mean[2]:8.1f}", flush=True)


def best_of(task: Callable[[], object], times: int = 7) -> float:
    task()  # compiles
    found = []
    for _ in range(times):
        start = time.perf_counter()
        task()
        found.append(time.perf_counter() - start)
    return min(found)


def show_speed(_: argparse.Namespace) -> None:
    for n_classes, n_features in ((3, 21), (2, 15)):
        print(speed(n_classes, n_features), flush=True)


def speed(n_classes: int, n_features: int) -> str:
    """One thread each; 300 rounds of 16 leaves, trained on the same blanked rows."""
    import lightgbm

    X, y = make_classification(
        3000, n_features, n_informative=8, n_classes=n_classes, random_state=0
    )
    y, rows, every = y.astype(np.uint8), np.arange(3000), np.arange(n_features)
    classes = list(range(n_classes))
    given = X, y, rows[:2000], rows[2000:], None, None, classes, None, 0
    fitter = SharedBoosting(BoostingJob.from_rows(*given, input_feature=every), SPEED_SIZE)
    ours = fitter.ensemble
    settings = {"objective": "binary", "num_leaves": 16, "verbose": -1, "num_threads": 1}
    if n_classes > 2:
        settings |= {"objective": "multiclass", "num_class": n_classes}
    rng = np.random.default_rng(0)
    copies, labels, _ = blanked(fitter.job.fitting, every, SPEED_SIZE.copies, rng)
    theirs = lightgbm.train(settings, lightgbm.Dataset(copies, labels), SPEED_SIZE.rounds)
    subsets = np.concatenate([random_subsets(n_features, seed)[::5] for seed in (0, 1)])
    codes = ours.code(X[2000:])
    blank = [np.where(subset, X[2000:], np.nan) for subset in subsets]
    mine = best_of(lambda: ours.answers(codes, subsets))
    other = best_of(lambda: [theirs.predict(one, num_threads=1) for one in blank]) / len(subsets)
    each = 1e9 * mine / (len(subsets) * codes.shape[1] * ours.n_trees)
    return (
        f"{n_classes} classes, {n_features} features, {ours.n_trees} trees, 1,000 rows: "
        f"{len(subsets)} subsets {1e3 * mine:.1f} ms, {each:.2f} ns a row and tree; LightGBM "
        f"{1e3 * other:.1f} ms for one subset; ours take as long as {mine / other:.2f} of theirs"
    )


def main() -> None:
    """Print the figures of one study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=("speed", "subsets"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3, help="first seed; 0 to 2 chose the sizes")
    options = parser.parse_args()
    {"speed": show_speed, "subsets": show_subsets}[options.study](options)


if __name__ == "__main__":
    main()
