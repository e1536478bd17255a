"""Default fits of an earlier commit and of this one, by turns."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from common import quietly

from emsco import EMSCOClassifier
from emsco.app.runs.fit import FitFiles
from emsco.app.runs.inspect import inspect_file
from emsco_lab.datasets import load
from emsco.plotting import save_figure

ROOT = Path(__file__).resolve().parents[1]
EARLIER = "4ce9a6b7"
TARGET = "class to predict"
SETS = ("thyroid", "credit", "synthetic15", "digits", "regions")
PHASES = {  # functions whose time counts
    "choose_models": "trying families",
    "train_together": "training the shared model",
    "run_search": "searching",
    "finish_search": "models of their own",
    "fit_rows": "judging and deploying",
}
INSIDE = {
    "run_search": ("train_together",),
    "fit_rows": ("choose_models", "run_search", "finish_search"),
}


def sources_of(commit: str, folder: Path) -> Path:
    """Unpack the sources of a commit."""
    archive = subprocess.run(
        ["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True
    )
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return folder / "src"


def fitted(sources: Path, name: str, seed: int, *, where: bool) -> dict[str, Any]:
    """Fit a set with these sources, in a process of its own."""
    script = Path(__file__).with_name("default_fit.py")
    done = subprocess.run(
        [sys.executable, script, name, str(seed), *(["where"] if where else [])],
        env={**os.environ, "PYTHONPATH": str(sources)},
        check=True,
        capture_output=True,
        text=True,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def own_seconds(phases: dict[str, float]) -> list[float]:
    """Seconds of each phase without those inside it."""
    return [
        phases.get(one, 0.0) - sum(phases.get(other, 0.0) for other in INSIDE.get(one, ()))
        for one in PHASES
    ]


def draw(results: dict[str, list[dict[str, Any]]], out: Path) -> None:
    """Draw where the time of each fit goes, before and after."""
    figure, axes = plt.subplots(figsize=(8, 0.9 * len(results) + 1.2), layout="constrained")
    labels: list[str] = []
    bars = [own_seconds(one["phases"]) for pair in results.values() for one in pair]
    places = [3 * i + k for i in range(len(results)) for k in range(2)]
    for name in results:
        labels += [f"{name}, before", "after"]
    left = np.zeros(len(bars))
    for phase, title in enumerate(PHASES.values()):
        widths = np.array([bar[phase] for bar in bars])
        axes.barh(places, widths, left=left, label=title)
        left += widths
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.set_xlabel("processor seconds of a default fit, chains alone, one thread, profiled")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save_figure(figure, out)


def main() -> None:
    """Processor seconds of default fits, an earlier commit and this one by turns, and accuracy.

    python benchmarks speed [--sets thyroid,credit] [--seeds 1] [--earlier 4ce9a6b7]
    python benchmarks speed --where --out docs/_static/speed    also draws where the time goes

    Chains alone, with all cores, after the kernels are loaded. Accuracy is that of what budgets of
    5, 10, 20 and 40 % of the cost of everything deploy if everyone is answered, on test rows, in
    the mean over budgets and seeds. With `--where`, fits are profiled on one thread.
    """
    parser = argparse.ArgumentParser(
        description=main.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--earlier", default=EARLIER)
    parser.add_argument("--where", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("speed"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        both = (sources_of(asked.earlier, Path(folder)), ROOT / "src")
        print(f"{'set':<12} {'rows':>6} {'before':>8} {'after':>8} {'ratio':>6} {'accuracy':>15}")
        drawn = {}
        for name in asked.sets.split(","):
            pairs = [
                [fitted(one, name, seed, where=asked.where) for one in both]
                for seed in range(asked.seeds)
            ]
            before, after = (
                statistics.mean(pair[k]["seconds"] for pair in pairs) for k in range(2)
            )
            kept = [statistics.mean(np.mean(pair[k]["kept"]) for pair in pairs) for k in range(2)]
            print(
                f"{name:<12} {pairs[0][1]['n_rows']:>6} {before:>7.1f}s {after:>7.1f}s "
                f"{after / before:>6.2f} {kept[0]:>6.2f} → {kept[1]:.2f}",
                flush=True,
            )
            drawn[name] = pairs[0]
        if asked.where:
            draw(drawn, asked.out)


def main_forecasts() -> None:
    """Forecasts of `emsco inspect` beside the fits that they are about, in seconds.

    python benchmarks forecasts [--sets pima,heart,credit,breast_cancer,cleveland]

    All rows, each feature at a cost of 1, one thread, seed 0.
    """
    parser = argparse.ArgumentParser(
        description=main_forecasts.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default="pima,heart,credit,breast_cancer,cleveland")
    print(f"{'set':<16} {'rows':>6} {'forecast':>9} {'fit':>9}")
    for name in parser.parse_args().sets.split(","):
        data = load(name)
        table = pd.DataFrame(data.X, columns=list(data.costs.names)).assign(**{TARGET: data.y})
        with tempfile.TemporaryDirectory() as folder, quietly():
            file = Path(folder) / "table.csv"
            table.to_csv(file, index=False)
            files = FitFiles(TARGET, file)
            forecast = inspect_file(files, forecast=True, n_jobs=1).forecast
            started = time.perf_counter()
            clf = EMSCOClassifier(gaps="impute", random_state=0, n_jobs=1)
            clf.fit(table.drop(columns=TARGET), data.y)
            seconds = time.perf_counter() - started
        print(f"{name:<16} {len(table):>6} {forecast.seconds:>8.1f}s {seconds:>8.1f}s", flush=True)
