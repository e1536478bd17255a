"""Boosted stage models: how fast they answer for subsets, and how well beside other families.

python benchmarks/boosting.py speed      20 subsets of 1,000 rows, beside LightGBM's predict
python benchmarks/boosting.py training   seconds and log loss beside scikit-learn and LightGBM
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

from emsco._kernels.boosting import BLANK
from emsco.lab import datasets
from emsco.models.boosting.stages import BoostingSize, OwnBoosting, SharedBoosting
from emsco.models.boosting.training import BinnedRows, BoostingJob, SizeChoice, blanked, train_trees
from emsco.models.boosting.trees import Bins
from emsco.models.choice import choose_penalty
from emsco.models.engine import SplitRows
from emsco.models.splines import SplineBasis

SETS = ("thyroid", "synthetic15", "credit", "breast_cancer", "cleveland", "heart", "pima")
N_SUBSETS = 50
TRAINED = ((240, 10, 2), (600, 10, 2), (4300, 18, 2), (4300, 18, 3), (20_000, 10, 2))
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
    copies = blanked(fitter.job.binned, every, SPEED_SIZE.copies, rng)
    values = np.where(copies.codes == BLANK, np.nan, copies.codes).T
    theirs = lightgbm.train(settings, lightgbm.Dataset(values, copies.labels), SPEED_SIZE.rounds)
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


def show_training(_: argparse.Namespace) -> None:
    """Train the models that a search fits for single subsets; one thread each, best of three."""
    heads = (
        "rows × inputs, classes | rounds, leaves | ours, s | scikit-learn, times | LightGBM, times"
    )
    print(f"| {heads} | log loss of the three on 4,000 rows |")
    print("|---|---|---:|---:|---:|---|")
    for n_rows, n_inputs, n_classes in TRAINED:
        print(training(n_rows, n_inputs, n_classes), flush=True)


def training(n_rows: int, n_inputs: int, n_classes: int) -> str:
    """Compare one kind of model."""
    import lightgbm
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import log_loss
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + 4000, n_inputs))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 0).astype(np.int64)
    y += (n_classes == 3) * (X[:, 3] > 1)
    size = BoostingSize.for_own(n_rows, n_classes)
    bins = Bins.learn(X[:n_rows], size.bins)
    rows = BinnedRows.from_rows(bins, X[:n_rows], y[:n_rows], None)
    theirs = HistGradientBoostingClassifier(
        max_iter=size.rounds,
        max_leaf_nodes=size.leaves,
        learning_rate=size.learning_rate,
        min_samples_leaf=size.fewest,
        l2_regularization=size.l2,
        early_stopping=False,
    )
    settings = {"objective": "binary", "num_leaves": size.leaves, "lambda_l2": size.l2}
    settings |= {"learning_rate": size.learning_rate, "min_data_in_leaf": size.fewest}
    settings |= {"verbose": -1, "num_threads": 1, "min_sum_hessian_in_leaf": 1e-3}
    if n_classes > 2:
        settings |= {"objective": "multiclass", "num_class": n_classes}
    found = {}

    def ours() -> None:
        found[0] = train_trees(rows, bins, n_classes, np.zeros(n_inputs), size)

    def scikit() -> None:
        found[1] = theirs.fit(X[:n_rows], y[:n_rows])

    def light() -> None:
        data = lightgbm.Dataset(X[:n_rows], y[:n_rows])
        found[2] = lightgbm.train(settings, data, size.rounds)

    with threadpool_limits(1):
        first, second, third = (best_of(task, 3) for task in (ours, scikit, light))
        new = X[n_rows:]
        said = found[0].probabilities(new), found[1].predict_proba(new), found[2].predict(new)
    losses = ", ".join(f"{log_loss(y[n_rows:], one):.4f}" for one in said)
    return (
        f"| {n_rows:,} × {n_inputs}, {n_classes} | {size.rounds}, {size.leaves} | {first:.3f} "
        f"| {second / first:.1f} | {third / first:.1f} | {losses} |"
    )


def main() -> None:
    """Print the figures of one study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=("speed", "training", "subsets"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3, help="first seed; 0 to 2 chose the sizes")
    options = parser.parse_args()
    studies = {"speed": show_speed, "training": show_training, "subsets": show_subsets}
    studies[options.study](options)


if __name__ == "__main__":
    main()
