"""The quick yardstick tells within minutes whether a change made the default better or slower.

python benchmarks bakeoff --quick --out now.json     nine CPU minutes
python benchmarks bakeoff --quick --against benchmarks/results/yardstick-0.3.json
python benchmarks bakeoff --quick --rivals           CEGB and CatBoost again: an hour of a core

Each of six sets has three splits. One default fit a split gives the most accurate design that
answers everyone within each budget, by scored cost, and the deployed design. "Everything" is a
second, untimed fit to all features as one group. Tuned CEGB and CatBoost answered the same splits
once, and their answers are kept. A row of theirs pays a fee once, as ours does, but their trees
grow as if each feature paid it alone.

A cell is a set at one budget, beside a rival or an earlier run. It is won or lost if the mean
paired difference of correct answers is more than 1.96 standard errors from 0. A test row counts
once: if several splits test it, they are averaged. The last line has the mean of all cells, each
set alike, and one standard error, in which a row is again one draw however many cells it is in.
These errors cover other test rows of the same sets, not other training rows, seeds or sets. Chance
decides one cell in twenty.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from common import options, progress
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import train_test_split

import emsco
from emsco import EMSCOClassifier, FeatureCosts
from emsco._base.documents import write_text
from emsco.errors import InterruptedWarning, NoSuchDesign
from emsco_lab import datasets
from emsco_lab.compare import LabelledRows, Question, TrialRows, answer_with_rival, new_rival

BUDGETS = {"2 %": 0.02, "5 %": 0.05, "10 %": 0.1, "20 %": 0.2, "40 %": 0.4}
RIVALS = {"CEGB": "cost_aware_boosting", "CatBoost": "catboost"}
OURS = "EMSCO"
KEPT = Path(__file__).parent / "results" / "yardstick-rivals.json"
SPLITS = 3
MAX_SETTINGS = 12  # that a rival tries; with all, it would take over an hour of a core
FIGURES = ("coverage", "accuracy", "cost")
_FRESH = 1000  # what seeds of fresh test rows are above those of the fitted ones


class Trial(NamedTuple):
    """Rows to fit and to test on, and costs; `rows` numbers the test rows of a set."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    rows: np.ndarray
    prices: Mapping[str, float]
    fees: Mapping[str, tuple[float, list[str]]]

    @property
    def costs(self) -> FeatureCosts:
        """Costs of features and fees."""
        return FeatureCosts.from_mapping(self.prices, fees=self.fees)

    @property
    def total(self) -> float:
        """Cost of everything."""
        return sum(self.prices.values()) + sum(fee for fee, _ in self.fees.values())

    def digest(self) -> str:
        """Digest of rows, labels, split and costs."""
        digest = hashlib.sha256(json.dumps(self[5:]).encode())
        for array in self[:5]:
            digest.update(np.ascontiguousarray(array, dtype=np.float64).tobytes())
        return digest.hexdigest()


def _divided(
    X: np.ndarray, y: np.ndarray, names: Any, costs: Any, split: int, n_fit: float = 0.75
) -> Trial:
    """Fit on a number or a share of the rows, every class alike, and test on the others."""
    everything = np.arange(len(y))
    fit, test = train_test_split(everything, train_size=n_fit, stratify=y, random_state=split)
    prices = dict(zip(names, map(float, costs), strict=True))
    return Trial(X[fit], y[fit], X[test], y[test], test, prices, {})


def _breast_cancer(split: int) -> Trial:
    data = datasets.load("breast_cancer")
    return _divided(data.X, data.y, data.names, data.costs.costs, split)


def _wine(split: int) -> Trial:
    """Wine, with costs that are made up: what a meter reads is cheap, what a laboratory is not."""
    data = load_wine()
    costs = (1, 3, 3, 3, 6, 10, 12, 12, 12, 1, 1, 8, 10)
    return _divided(data.data, data.target, data.feature_names, costs, split)


def _digits(split: int) -> Trial:
    """Nine pixels of digits, which cost 1 in a corner, 2 at a border and 4 elsewhere."""
    data = load_digits()
    inked = np.flatnonzero((data.data > 0).mean(axis=0) > 0.05)
    pixels = np.sort(np.random.default_rng(0).choice(inked, 9, replace=False))
    middle = [(1 < pixel // 8 < 6) + (1 < pixel % 8 < 6) for pixel in pixels.tolist()]
    names = [data.feature_names[pixel] for pixel in pixels]
    costs = [2**one for one in middle]
    return _divided(data.data[:, pixels], data.target, names, costs, split, n_fit=375)


def _drawn(name: str, n_rows: int, n_features: int, split: int) -> Trial:
    """Some of a draw by formula, tested on another draw."""
    data, test = datasets.load(name, split), datasets.load(name, split + _FRESH)
    rows = np.arange(len(test.y)) + len(test.y) * split
    costs = data.costs.costs[:n_features].tolist()
    return Trial(
        data.X[:n_rows, :n_features],
        data.y[:n_rows],
        test.X[:, :n_features],
        test.y,
        rows,
        dict(zip(data.names, costs, strict=False)),
        {},
    )


def _rare(split: int) -> Trial:
    """5 % positives; some features share a fee, some are weak, and one is free."""
    names = "pulse exam blood_a blood_b blood_c scan_a scan_b weak_a weak_b noise_a noise_b free"
    shifts = np.array([0.7, 0.8, 1.2, 0.9, 0.5, 1.5, 1.1, 0.15, 0.15, 0, 0, 0.3])
    costs = [2.0, 5.0, 3.0, 4.0, 2.0, 10.0, 6.0, 0.5, 0.5, 1.0, 3.0, 0.0]
    fees = {
        "blood draw": (5.0, ["blood_a", "blood_b", "blood_c"]),
        "scanner": (15.0, ["scan_a", "scan_b"]),
    }
    drawn = []
    for seed in (split, split + _FRESH):
        rng = np.random.default_rng(seed)
        y = (rng.random(4000) < 0.05).astype(int)
        drawn += [rng.normal(size=(len(y), len(shifts))) + y[:, None] * shifts, y]
    rows = np.arange(len(y)) + len(y) * split
    return Trial(*drawn, rows, dict(zip(names.split(), costs, strict=True)), fees)


SETS: dict[str, Callable[[int], Trial]] = {
    "digits": _digits,
    "breast_cancer": _breast_cancer,
    "wine": _wine,
    "regions": partial(_drawn, "regions", 1000, 12),
    "cube": partial(_drawn, "cube", 850, 12),
    "rare": _rare,
}
Trials = Mapping[str, Sequence[Trial]]  # by set
Results = Mapping[str, Sequence[Mapping[str, Any]]]  # by set: what each split gave


def all_trials() -> Trials:
    """Make all splits of all sets."""
    return {name: [make(split) for split in range(SPLITS)] for name, make in SETS.items()}


def _seconds() -> float:
    """Processor seconds of this process and of its children."""
    return sum(os.times()[:4])


def _seen(correct: np.ndarray, cost: float, **more: Any) -> dict[str, Any]:
    """Results on test rows; the bits of `correct` as hexadecimal digits."""
    bits = np.packbits(correct).tobytes().hex()
    return {"accuracy": float(correct.mean()), "cost": float(cost), **more, "correct": bits}


def _tested(clf: EMSCOClassifier, trial: Trial) -> dict[str, Any]:
    """The deployed design on test rows, where a rejection counts as an error."""
    decisions, point = clf.decide(trial.X_test), clf.point_
    accepted = np.asarray(decisions.accepted)
    correct = accepted & (clf.predict(trial.X_test) == trial.y_test)
    coverage, cost = float(accepted.mean()), float(np.mean(decisions.cost))
    return _seen(
        correct,
        cost,
        scored=[float(getattr(point, name)) for name in FIGURES],
        promised=[float(getattr(point.expected, name).value) for name in FIGURES],
        kept=[coverage, float(correct.mean()) / (coverage or 1.0), cost],
        design=str(point.design),
    )


def ours(trial: Trial, split: int) -> dict[str, Any]:
    """Designs of a default fit by budget, the deployed one, everything, and seconds of the fit."""
    start = _seconds()
    clf = EMSCOClassifier(trial.costs, random_state=split, n_jobs=1).fit(trial.X, trial.y)
    answers: dict[str, Any] = {"seconds": _seconds() - start, "deployed": _tested(clf, trial)}
    for title, budget in BUDGETS.items():
        try:
            clf.choose(max_cost=budget * trial.total, min_coverage=1.0)
            answers[title] = _tested(clf, trial)
        except NoSuchDesign:
            labels, counts = np.unique(trial.y, return_counts=True)
            answers[title] = _seen(trial.y_test == labels[counts.argmax()], 0.0, design="")
    names = list(trial.prices)
    group = FeatureCosts.from_mapping({"all": trial.total}, names, {"all": names})
    clf = EMSCOClassifier(group, always_answer=True, max_stages=1, random_state=split, n_jobs=1)
    clf.fit(trial.X, trial.y)
    clf.choose(max(clf.front_, key=lambda point: point.cost))
    return {**answers, "everything": _tested(clf, trial)}


def rival(method: str, trial: Trial, split: int) -> dict[str, Any]:
    """Answers of a rival that is tuned on five folds."""
    start = _seconds()
    fit, test = LabelledRows(trial.X, trial.y), LabelledRows(trial.X_test, trial.y_test)
    offers = answer_with_rival(
        new_rival(method, trial.costs, random_state=split, n_jobs=1),
        TrialRows(fit, test, trial.costs, split),
        [Question(1.0, budget) for budget in BUDGETS.values()],
        MAX_SETTINGS,
    )
    answers = {
        title: _seen(offer.seen.correct, offer.seen.cost, design=offer.setting)
        for title, offer in zip(BUDGETS, offers, strict=True)
    }
    return {"seconds": _seconds() - start, **answers}


def run(methods: Mapping[str, Callable[..., Any]], trials: Trials, out: Path | None) -> Any:
    """Run methods on all splits; what there is, is written after each."""
    describe = ["git", "-C", str(KEPT.parent), "describe", "--always", "--dirty"]
    about = {
        "version": emsco.__version__,
        "commit": subprocess.run(describe, capture_output=True, text=True).stdout.strip(),
        "date": f"{datetime.date.today()}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "python": platform.python_version(),
        "max_settings": MAX_SETTINGS,
    }
    found: dict[str, Any] = {method: {name: [] for name in trials} for method in methods}
    jobs = [(name, method) for name in trials for _ in trials[name] for method in methods]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", InterruptedWarning)  # the fit would go on with less
        for done, (name, method) in enumerate(jobs, 1):
            split = len(found[method][name])
            trial = trials[name][split]
            answers = {"data": trial.digest(), **methods[method](trial, split)}
            found[method][name].append(answers)
            progress(done, len(jobs), f"{name} {split}, {method}: {answers['seconds']:.1f} s")
            if out:
                write_text(out, json.dumps({**about, "methods": found}, indent=1) + "\n")
    return found


def read(path: Path, trials: Trials, *methods: str) -> list[Results]:
    """Read methods of a file; another file and results of other data are refused."""
    data = {name: [trial.digest() for trial in splits] for name, splits in trials.items()}
    if not path.is_file():
        raise SystemExit(f"{path} must be a file with an earlier yardstick, but there is none.")
    try:
        kept = json.loads(path.read_text())["methods"]
        found: list[Results] = [kept[method] for method in methods]
        told = [{name: [it["data"] for it in one[name]] for name in data} for one in found]
        if any(len(one[name]) < len(data[name]) for one in told for name in data):
            raise SystemExit(f"{path} must have every fit, but its run was stopped: run it again.")
    except (OSError, ValueError, KeyError, TypeError):
        raise SystemExit(f"{path} must have a yardstick of {' and '.join(methods)}.") from None
    if any(one != data for one in told):
        raise SystemExit(f"{path} must be of all the rows, splits and costs that there are now.")
    return found


def verdict(mean: float, error: float) -> int:
    """1 if a difference is above 0 beyond chance, -1 if below, else 0."""
    return int(np.sign(mean)) * (abs(mean) > 1.96 * error)


def _correct(answers: Mapping[str, Any], budgets: Sequence[str], n_rows: int) -> np.ndarray:
    """Share of budgets at which each test row is correct."""
    digits = "".join(answers[budget]["correct"] for budget in budgets)
    bits = np.frombuffer(bytes.fromhex(digits), np.uint8).reshape(len(budgets), -1)
    return np.unpackbits(bits, axis=1, count=n_rows).mean(axis=0)


def gain(
    name: str, trials: Trials, one: Results, others: Sequence[Results], budgets: Sequence[str]
) -> tuple[float, float]:
    """Mean gain over distinct test rows of a set, and its standard error.

    A row has the mean of its gains over others, budgets and splits.
    """
    gains = []
    for split, trial in enumerate(trials[name]):
        n_rows = len(trial.rows)
        mine, *theirs = (_correct(it[name][split], budgets, n_rows) for it in (one, *others))
        gains.append(mine - np.mean(theirs, axis=0))
    rows = np.concatenate([trial.rows for trial in trials[name]])
    place = np.unique(rows, return_inverse=True)[1]
    means = np.bincount(place, np.concatenate(gains)) / np.bincount(place)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means)))


def tally(trials: Trials, one: Results, others: Sequence[Results], words: Sequence[str]) -> str:
    """Cells by verdict, and the mean of all."""
    verdicts = [
        verdict(*gain(name, trials, one, [other], [budget]))
        for name in trials
        for other in others
        for budget in BUDGETS
    ]
    counts = [f"{verdicts.count(k)} {word}" for k, word in zip((1, 0, -1), words, strict=True)]
    means, errors = np.transpose(
        [gain(name, trials, one, others, list(BUDGETS)) for name in trials]
    )
    error = np.sqrt((errors**2).sum()) / len(errors)
    points = f"{100 * means.mean():+.2f} ± {100 * error:.2f} points"
    return f"yardstick: {', '.join(counts)} beyond chance; {points}"


def show(trials: Trials, one: Results, others: Sequence[Results]) -> None:
    """Print accuracies by set and budget, and the deployed designs."""
    print("Accuracy on test rows, %; + where EMSCO is better beyond chance, - where it is worse")
    for name in trials:
        table = {}
        for method, results in zip((OURS, *RIVALS), (one, *others), strict=True):
            table[method] = [
                f"{100 * np.mean([it[budget]['accuracy'] for it in results[name]]):.1f}"
                f"{' +-'[verdict(*gain(name, trials, one, [results], [budget]))]}"
                for budget in BUDGETS
            ]
        print(f"\n{name}\n{pd.DataFrame(table, BUDGETS).T}")
    table = {}
    for name, splits in one.items():
        columns = [[it["deployed"][how] for it in splits] for how in ("scored", "promised", "kept")]
        columns.append([it["everything"]["kept"] for it in splits])
        lines = 100 * np.mean(columns, axis=1).T
        lines[2] /= trials[name][0].total
        table.update({(name, title): line for title, line in zip(FIGURES, lines, strict=True)})
    heads = ["scored", "promised", "kept", "everything kept"]
    print(f"\nDeployed, %\n{pd.DataFrame(table, heads).T.round(1).to_string()}")


def _rows(results: Results) -> pd.DataFrame:
    """Results line by line; a fit has its seconds in the line of the deployed design."""
    return pd.DataFrame(
        {
            "set": name,
            "split": split,
            "budget": key,
            "accuracy, %": 100 * answers[key]["accuracy"],
            "promised, %": 100 * answers[key].get("promised", [0, 0])[1],
            "cost": answers[key]["cost"],
            "CPU s": answers["seconds"] if key == "deployed" else np.nan,
            "correct": answers[key]["correct"],
        }
        for name, splits in results.items()
        for split, answers in enumerate(splits)
        for key in (*BUDGETS, "deployed")
    ).set_index(["set", "split", "budget"])


def show_change(trials: Trials, before: Results, after: Results) -> str:
    """Print two runs row by row, and return the line that sums them up."""
    old, new = _rows(before), _rows(after)
    same = (old[["correct", "cost"]] == new[["correct", "cost"]]).all(axis=1)
    del old["correct"], new["correct"]
    table = pd.concat({"before": old, "after": new, "change": new - old}, axis=1)
    print(table.round(2).to_string(na_rep=""))
    said = tally(trials, after, [before], ("better", "equal", "worse"))
    ratio = new["CPU s"].sum() / old["CPU s"].sum()
    return f"{said}; CPU s × {ratio:.2f}; {same.sum()} of {len(same)} answers identical"


def main() -> None:
    """Run the yardstick, or read its results, and report it."""
    parser = options(__doc__)
    parser.add_argument("--quick", action="store_true", help="this yardstick")
    parser.add_argument("--out", type=Path, help="a file for the results, written after each fit")
    parser.add_argument("--known", action="store_true", help="run nothing; report what --out has")
    parser.add_argument("--against", type=Path, help="results of an earlier run to compare with")
    parser.add_argument("--rivals", action="store_true", help="run the rivals again")
    asked = parser.parse_args()
    if asked.out and (asked.out.is_dir() or not asked.out.parent.is_dir()):
        parser.error(f"--out must name a file in a folder that exists, got {asked.out}")
    trials = all_trials()
    try:
        if asked.rivals:
            ways = {label: partial(rival, method) for label, method in RIVALS.items()}
            unfinished = asked.out or KEPT.with_suffix(".part")  # an hour of answers is kept
            run(ways, trials, unfinished)
            unfinished.replace(asked.out or KEPT)
            return
        others = read(KEPT, trials, *RIVALS)
        before = read(asked.against, trials, OURS)[0] if asked.against else None
        if not asked.known:
            _warm_up()
            one = run({OURS: ours}, trials, asked.out)[OURS]
        elif asked.out:
            one = read(asked.out, trials, OURS)[0]
        else:
            parser.error("--known needs --out")
    except (KeyboardInterrupt, InterruptedWarning):
        parser.exit(1, "Stopped; --out has the fits that ended.\n")
    show(trials, one, others)
    said = tally(trials, one, others, ("wins", "ties", "losses"))
    seconds = _rows(one)["CPU s"]
    print(f"\n{said}; {seconds.sum():.0f} CPU s for {seconds.count()} fits")
    if before:
        print(f"\n{show_change(trials, before, one)}")


def _warm_up() -> None:
    """Load what is compiled for two and for three classes, so that no fit is charged for it."""
    X = np.random.default_rng(0).normal(size=(90, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n_classes in (2, 3):
            EMSCOClassifier(random_state=0, n_jobs=1).fit(X, np.arange(90) % n_classes)
