"""Stage models: boosting, families, calibration and forests, beside other libraries."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from common import CORES, SEED, Table, best_of, held_out, load_table, quietly, volume
from sklearn.datasets import load_wine, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit, train_test_split
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_limits

from emsco import EMSCOClassifier
from emsco._base.objectives import balanced_length
from emsco._base.typing import AnyArray, FloatArray
from emsco._kernels.boosting import BLANK
from emsco.costs import FeatureCosts
from emsco_lab import datasets
from emsco.models.boosting.fitters import OwnBoosting, SharedBoosting
from emsco.models.boosting.trainer import (
    BinnedRows,
    BoostingJob,
    BoostingSize,
    SizeChoice,
    blanked,
    train_trees,
)
from emsco.models.boosting.trees import Bins
from emsco.models.choice import choose_penalty
from emsco.models.engine import SplitRows
from emsco.models.outcome_engine import OutcomeRows
from emsco.models.shard import SplitData
from emsco.models.splines import SplineBasis

BOOSTING_SETS = ("thyroid", "synthetic15", "credit", "breast_cancer", "cleveland", "heart", "pima")
N_SUBSETS = 50
SUBSET_FAMILIES = ("logistic", "spline", "shared", "own")
AVERAGED = (("shared", "own"), ("logistic", "own"))
TRAINED = ((240, 10, 2), (600, 10, 2), (4300, 18, 2), (4300, 18, 3), (20_000, 10, 2))
SPEED_SIZE = BoostingSize(8, 300, 16, 0.1, 40, 1.0)

FAMILY_SETS = ("heart", "pima", "cleveland", "credit", "breast_cancer", "thyroid", "rare24")
FAMILIES = ("logistic", "spline", "boosting", "auto")
HEADINGS = ("acc.", "log loss", "cov.", "acc.", "cost", "cov.", "acc.", "cost", "broken", "s")

CALIBRATION_SETS = ("credit", "pima", "breast_cancer", "heart", "wine")
CALIBRATIONS = (None, "sigmoid", "isotonic")
CALIBRATION_SPLITS = 5

FOREST_SETS = ("pima", "heart", "credit", "breast_cancer")
MAX_FOREST_FEATURES = 14


def load_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Load rows and classes from 0."""
    data = datasets.load(name)
    return np.asarray(data.X, dtype=np.float64), data.y.astype(np.uint8)


def random_subsets(n_features: int, seed: int) -> np.ndarray:
    """Subsets of all sizes from 1 to all features."""
    rng = np.random.default_rng([seed, n_features])
    subsets = np.zeros((N_SUBSETS, n_features), dtype=bool)
    for one, size in zip(subsets, np.linspace(1, n_features, N_SUBSETS).round(), strict=True):
        one[rng.choice(n_features, int(size), replace=False)] = True
    return subsets


class FamilyProblem:
    """Rows of a set, split by a seed, and the probabilities of each family on the test rows."""

    def __init__(self, name: str, seed: int) -> None:
        self.X, self.y = load_rows(name)
        self.n_classes, self.seed = int(self.y.max()) + 1, seed
        every = np.arange(len(self.y))
        self.train, self.test = train_test_split(
            every, test_size=1 / 3, stratify=self.y, random_state=seed
        )
        self.subsets = random_subsets(self.X.shape[1], seed)
        self.shared = self.fitter(SharedBoosting)

    def fitter(self, kind, size=None):
        """Make a fitter of the training rows."""
        data = SplitData(self.X, self.y, self.train, self.test, self.n_classes)
        rows = OutcomeRows.from_split(data, seed=self.seed)
        job = BoostingJob(rows, input_feature=np.arange(self.X.shape[1]))
        return kind(job, size or SizeChoice(job))

    def linear(self, columns: np.ndarray, subsets: np.ndarray, penalty: float) -> list[np.ndarray]:
        """Fit logistic regressions of columns."""
        none = self.test[:0]
        split = SplitRows.cut(SplitData(columns, self.y, self.train, none, self.n_classes), penalty)
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
        penalty = choose_penalty(SplitData(columns, self.y, self.train, self.test, self.n_classes))
        return self.linear(columns, basis.reads(self.subsets), penalty)

    def by_shared(self) -> list[np.ndarray]:
        """Ask the one boosted model."""
        models = self.shared.models(self.subsets)
        return [ensemble.probabilities(self.X[self.test]) for ensemble, _ in models]

    def by_own(self) -> list[np.ndarray]:
        """Ask a boosted model for each subset."""
        models = self.fitter(OwnBoosting, size=self.shared.size).models(self.subsets)
        return [ensemble.probabilities(self.X[self.test]) for ensemble, _ in models]

    def figures(self, families: list[str]) -> dict[str, list[float]]:
        """Accuracy, log loss and seconds of each family, and of means of two of them."""
        askers: dict[str, Callable[[], list[np.ndarray]]] = {
            "logistic": self.by_logistic,
            "spline": self.by_spline,
            "shared": self.by_shared,
            "own": self.by_own,
        }
        figures_of, said = {}, {}
        for name in families:
            start = time.process_time()
            said[name] = askers[name]()
            figures_of[name] = [*self.judged(said[name]), time.process_time() - start]
        for first, second in AVERAGED:
            if first in said and second in said:
                mean = [(a + b) / 2 for a, b in zip(said[first], said[second], strict=True)]
                figures_of[f"{first}, {second}"] = [*self.judged(mean), np.nan]
        return figures_of

    def judged(self, said: list[np.ndarray]) -> list[float]:
        """Accuracy and log loss, means over subsets, and accuracy with all features."""
        truth = self.y[self.test]
        right = [(one.argmax(axis=1) == truth).mean() for one in said]
        losses = [-np.log(one[np.arange(len(truth)), truth].clip(1e-12)).mean() for one in said]
        return [float(np.mean(right)), float(np.mean(losses)), float(right[-1])]


def show_subsets(options: argparse.Namespace) -> None:
    seeds = range(options.first, options.first + options.seeds)
    print(
        f"seeds {seeds[0]} to {seeds[-1]}, {N_SUBSETS} subsets each; ± spread of the mean of seeds"
    )
    for name in options.sets.split(","):
        results = [FamilyProblem(name, seed).figures(options.families) for seed in seeds]
        print(f"\n{name:16}{'accuracy':>17}{'log loss':>17}{'of all':>17}{'seconds':>9}")
        for family in results[0]:
            every = np.array([one[family] for one in results])
            mean, spread = every.mean(axis=0), every.std(axis=0) / np.sqrt(max(len(every) - 1, 1))
            pairs = zip(mean[:-1], spread, strict=False)
            figures = "".join(f"{one:9.4f} ± {error:.4f}" for one, error in pairs)
            print(f"{family:16}{figures} {mean[-1]:8.1f}", flush=True)


def best_after_compiling(task: Callable[[], object], times: int = 7) -> float:
    task()  # compiles
    return best_of(times, task)


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
    given = OutcomeRows.from_split(SplitData(X, y, rows[:2000], rows[2000:], n_classes))
    fitter = SharedBoosting(BoostingJob(given, every), SPEED_SIZE)
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
    mine = best_after_compiling(lambda: ours.answers(codes, subsets))
    other = best_after_compiling(
        lambda: [theirs.predict(one, num_threads=1) for one in blank]
    ) / len(subsets)
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
    models = {}

    def ours() -> None:
        models[0] = train_trees(rows, bins, n_classes, np.zeros(n_inputs), size)

    def scikit() -> None:
        models[1] = theirs.fit(X[:n_rows], y[:n_rows])

    def light() -> None:
        data = lightgbm.Dataset(X[:n_rows], y[:n_rows])
        models[2] = lightgbm.train(settings, data, size.rounds)

    with threadpool_limits(1):
        first, second, third = (best_after_compiling(task, 3) for task in (ours, scikit, light))
        new = X[n_rows:]
        said = models[0].probabilities(new), models[1].predict_proba(new), models[2].predict(new)
    losses = ", ".join(f"{log_loss(y[n_rows:], one):.4f}" for one in said)
    return (
        f"| {n_rows:,} × {n_inputs}, {n_classes} | {size.rounds}, {size.leaves} | {first:.3f} "
        f"| {second / first:.1f} | {third / first:.1f} | {losses} |"
    )


def main_boosting() -> None:
    """Boosted stage models: how fast they answer for subsets, and how well beside other families.

    python benchmarks boosting speed      20 subsets of 1,000 rows, beside LightGBM's predict
    python benchmarks boosting training   seconds and log loss beside scikit-learn and LightGBM
    python benchmarks boosting subsets    accuracy and log loss over 50 random subsets of all sizes

    Options of `subsets`: --sets thyroid,heart  --seeds 3  --first 3  --families logistic,own. Seeds
    0 to 2 chose the sizes; others judge. A seed splits the rows, a third of them for testing, and
    draws the subsets. "of all" is the accuracy with all features. Seconds are those of the
    processor, for choosing, training and asking. "shared, own" and "logistic, own" are means of the
    probabilities of two families. EMSCO_DATA names the folder with the public sets.
    """
    parser = argparse.ArgumentParser(description=main_boosting.__doc__)
    parser.add_argument("study", choices=("speed", "training", "subsets"))
    parser.add_argument("--sets", default=",".join(BOOSTING_SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3, help="first seed; 0 to 2 chose the sizes")
    parser.add_argument(
        "--families", type=lambda text: text.split(","), default=list(SUBSET_FAMILIES)
    )
    options = parser.parse_args()
    studies = {"speed": show_speed, "training": show_training, "subsets": show_subsets}
    studies[options.study](options)


def figures_of_family(table: Table, seed: int, **settings) -> tuple[list[float], str]:
    """Fit on 70 % of the rows and measure the others; also the words about the model."""
    X, X_test, y, y_test = held_out(table, seed)
    start = time.perf_counter()
    with quietly():
        clf = EMSCOClassifier(table.costs, random_state=seed, n_jobs=-1, **settings).fit(X, y)
    seconds = time.perf_counter() - start
    everything = clf.front_.everything()
    said = everything.predict_proba(X_test)
    figures = [
        float((clf.classes_[said.argmax(axis=1)] == y_test).mean()),
        float(log_loss(y_test, said, labels=clf.classes_)),
    ]
    total, scores = table.costs.total, []
    for one in (clf.point_, clf.evaluate(X_test, y_test)):
        figures += [one.coverage, one.accuracy, one.cost / total]
        scores.append(one.balanced(total))
    return [*figures, scores[0] - scores[1], seconds], str(clf.model_choice_ or "")


def main_families() -> None:
    """Stage models of each family: how good they are, and what deployed designs keep of promises.

    python benchmarks families [--sets thyroid,heart] [--families logistic,auto] [--seeds 3]
        [--generations 30]

    Public sets are read from the folder that EMSCO_DATA names. Each seed holds out 30 % of the
    rows for tests. Columns, means over seeds: accuracy and log loss of the model of all features
    on test rows; coverage, accuracy and cost (a share of everything) of the deployed design, as
    scored and on test rows; the balanced score promised minus kept; seconds of the fit.
    """
    parser = argparse.ArgumentParser(description=main_families.__doc__)
    parser.add_argument("--sets", default=",".join(FAMILY_SETS))
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--generations", type=int, default=150)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    for name in options.sets.split(","):
        print(f"\n{name}, seeds {seeds[0]} to {seeds[-1]}")
        print(f"{'':12}{'everything':>18}{'promised':>27}{'on test rows':>27}")
        print(f"{'':12}" + "".join(f"{heading:>9}" for heading in HEADINGS), flush=True)
        for family in options.families.split(","):
            settings = {"estimator": family, "generations": options.generations}
            results = [
                figures_of_family(load_table(name, seed), seed, **settings) for seed in seeds
            ]
            means = np.mean([numbers for numbers, _ in results], axis=0)
            print(f"{family:12}" + "".join(f"{mean:9.3f}" for mean in means), flush=True)
            if results[0][1]:
                print(f"  chosen: {results[0][1]}", flush=True)


def rows_of(name: str) -> tuple[FloatArray, AnyArray]:
    """Rows and labels of a set."""
    if name == "wine":
        wine = load_wine()
        return wine.data, wine.target
    data = datasets.load(name)
    return data.X, data.y


def measured(X: FloatArray, y: AnyArray, calibration: str | None, seed: int) -> tuple[float, float]:
    """Fit on one split, and return the calibration error and the coverage on its test rows."""
    parts = train_test_split(X, y, stratify=y, test_size=0.4, random_state=seed)
    X_train, X_test, y_train, y_test = parts
    clf = EMSCOClassifier(
        estimator=GaussianNB(),
        calibration=calibration,
        min_confidence=0.9,
        max_stages=1,
        allow_exclusion=False,
        search="evolution",
        generations=1,
        population_size=4,
        cv=1 / 3,
        random_state=seed,
    ).fit(X_train, y_train)
    error = clf.reliability(X_test, y_test)[0].error
    return error, float(clf.decide(X_test).accepted.mean())


def main_calibration() -> None:
    """Where calibration helps and where it does not: naive Bayes, which is too sure, on small sets.

    EMSCO_DATA=… python benchmarks calibration        ten seconds

    One stage buys everything. Three fifths of the rows fit and calibrate it, the rest test it: the
    gap between confidence and accuracy (expected calibration error) and the share of rows labelled
    at 0.9, means over five splits, whose seeds are 0 to 4. No figure depends on the machine; those
    in docs/guides/models.md are of 2026-11-17, 2 cores (aarch64).
    """
    argparse.ArgumentParser(description=main_calibration.__doc__).parse_args()
    warnings.simplefilter("ignore")
    print("| set | rows | none | sigmoid | isotonic |\n|---|---|---|---|---|")
    for name in CALIBRATION_SETS:
        X, y = rows_of(name)
        cells = []
        for kind in CALIBRATIONS:
            errors = [measured(X, y, kind, seed) for seed in range(CALIBRATION_SPLITS)]
            error, coverage = np.mean(errors, axis=0)
            cells.append(f"{100 * error:.0f} points, {coverage:.0%}")
        print(f"| {name} | {len(y)} | {' | '.join(cells)} |")


@dataclass(frozen=True)
class Result:
    """Figures of one fit."""

    scored_volume: float
    scored_balanced: float
    seen_volume: float
    seen_balanced: float
    seen_accuracy: float
    seen_coverage: float
    seen_cost: float
    seconds: float


def load_narrow(name: str) -> datasets.Dataset:
    """Load a set, with few enough columns for thousands of forests."""
    data = datasets.load(name, SEED)
    if data.X.shape[1] <= MAX_FOREST_FEATURES:
        return data
    columns = [i for i, column in enumerate(data.costs.names) if column.startswith("mean")]
    costs = FeatureCosts.from_array(
        data.costs.costs[columns], [data.costs.names[i] for i in columns]
    )
    X = np.ascontiguousarray(data.X[:, columns])
    return datasets.Dataset(
        f"{name} (means)", X, data.y, costs, data.min_confidence, data.about_costs
    )


def balanced(figures: np.ndarray, total_cost: float) -> float:
    """The largest balanced score of rows of (coverage, accuracy, cost)."""
    return float(balanced_length(*figures.T, total_cost).max())


def one_fit(
    data: datasets.Dataset, seed: int, settings: argparse.Namespace, **changes: object
) -> Result:
    """Search on one split of the paper's kind, and test the whole front."""
    train, val, test = datasets.paper_split(len(data.X), seed)
    rows = np.concatenate([train, val])
    fold = np.where(np.arange(len(rows)) < len(train), -1, 0)
    classifier = EMSCOClassifier(
        costs=data.costs,
        min_confidence=data.min_confidence,
        max_stages=settings.stages,
        search="evolution",
        population_size=settings.population,
        generations=settings.generations,
        cv=PredefinedSplit(fold),
        n_jobs=CORES,
        random_state=seed,
        **changes,
    )
    started = time.perf_counter()
    classifier.fit(data.X[rows], data.y[rows])
    seconds = time.perf_counter() - started
    front, total = classifier.front_, data.costs.total
    scored = np.array([(point.coverage, point.accuracy, point.cost) for point in front])
    tested = [front.cascade(point).evaluate(data.X[test], data.y[test]) for point in front]
    seen = np.array(
        [(evaluation.coverage, evaluation.accuracy, evaluation.cost) for evaluation in tested]
    )
    chosen = seen[list(front).index(front.balanced())]
    return Result(
        volume(scored, total),
        balanced(scored, total),
        volume(seen, total),
        balanced(chosen[None], total),
        chosen[1],
        chosen[0],
        chosen[2],
        seconds,
    )


def report_forest(data: datasets.Dataset, settings: argparse.Namespace) -> None:
    """Print the models side by side, and in how many splits the forest is ahead."""
    forest = RandomForestClassifier(n_estimators=settings.trees)
    rivals: dict[str, dict[str, object]] = {
        "logistic": {},
        "forest": {"estimator": forest},
        "forest, sigmoid": {"estimator": forest, "calibration": "sigmoid"},
    }
    results: dict[str, list[Result]] = {name: [] for name in rivals}
    for seed in range(settings.splits):
        for name, changes in rivals.items():
            results[name].append(one_fit(data, seed, settings, **changes))
            seconds = results[name][-1].seconds
            print(f"{data.name} split {seed}, {name}: {seconds:.1f} s", file=sys.stderr, flush=True)
    n_rows, n_features = data.X.shape
    print(f"\n{data.name}: {n_rows} × {n_features}, {settings.splits} splits, means ± deviations")
    print(f"  {'':14}" + "".join(f"{name:>22}" for name in rivals) + f"{'forest ahead':>16}")
    for field in fields(Result):
        values = {n: np.array([getattr(r, field.name) for r in f]) for n, f in results.items()}
        line = "".join(f"{f'{v.mean():.3f} ± {v.std():.3f}':>22}" for v in values.values())
        ahead = int((values["forest"] > values["logistic"]).sum())
        if field.name in ("seen_cost", "seconds"):
            ahead = int((values["forest"] < values["logistic"]).sum())
        print(f"  {field.name:14}{line}{f'{ahead} of {settings.splits}':>16}", flush=True)


def main_forest() -> None:
    """Forests as stage models, beside logistic regression: gains and training time.

        python benchmarks forest                  about two minutes on two cores

    The paper says in a footnote that random forests improve EMSCO at a price in training time. Both
    models search the same designs on the same splits. Scored figures: the volume that the front
    dominates (coverage, accuracy and cost as losses in the unit cube), and the best balanced score.
    Seen figures, on test rows: the volume of all those cascades, and the figures of the balanced
    one.
    EMSCO_DATA names the folder with the sets of the paper; without it, the ten means of the breast
    cancer data are used.
    """
    parser = argparse.ArgumentParser(
        description=main_forest.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = ["pima"] if os.environ.get("EMSCO_DATA") else ["breast_cancer"]
    parser.add_argument("--sets", nargs="+", choices=FOREST_SETS, default=default)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--stages", type=int, default=3)
    parser.add_argument("--population", type=int, default=20, help="designs a generation")
    parser.add_argument("--generations", type=int, default=10)
    settings = parser.parse_args()
    print(f"{settings.trees} trees, {settings.stages} stages")
    rng = np.random.default_rng(SEED)
    EMSCOClassifier(search="evolution", generations=2).fit(  # kernels are compiled outside timings
        rng.normal(size=(60, 3)), np.arange(60) % 2
    )
    for name in settings.sets:
        report_forest(load_narrow(name), settings)
