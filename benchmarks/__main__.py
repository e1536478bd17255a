"""Measure speed, memory and quality: one command for every figure of the docs.

python benchmarks                    names every benchmark
python benchmarks NAME [options]     runs one; NAME --help says what it measures
"""

from __future__ import annotations

import datetime
import os
import platform
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tools"), str(ROOT / "tests")]  # the browser, and made-up fronts

# Name: its module and function, and what it measures.
BENCHMARKS = {
    "afa": ("afa.main", "accuracy by number of features, beside published figures"),
    "bakeoff": ("bakeoff.main", "EMSCO and its rivals on many sets and splits"),
    "boosting": ("models.main_boosting", "boosted stages: speed, training, accuracy on subsets"),
    "branches": ("branches.main", "designs that branch beside chains, on test rows"),
    "calibration": ("models.main_calibration", "where calibration helps"),
    "certificates": ("trust.main_certificates", "how often certificates are false"),
    "checkpoint": ("engine.main_checkpoint", "the cost of a checkpoint"),
    "decide_memory": ("deciding.main_decide_memory", "memory of deciding a file"),
    "deciding": ("deciding.main", "tables, single rows and files decided a second"),
    "engine": ("engine.main", "fits beside scikit-learn: speed, peak, memory, compiling"),
    "expected": ("trust.main_expected", "expected figures beside the truth"),
    "explorer": ("explorer.main", "size and speed of the explorer page"),
    "families": ("models.main_families", "families of stage models on test rows"),
    "forecasts": ("speed.main_forecasts", "forecasts of inspect beside the fits they are about"),
    "forest": ("models.main_forest", "forests as stage models"),
    "fresh_rows": ("fresh_rows.main", "near copies found, and honest rows accused"),
    "intervals": ("trust.main_intervals", "how often intervals hold, and how wide they are"),
    "learning_curves": ("learning_curves.main", "accuracy by number of training rows"),
    "money": ("signing.main_money", "totals of tests and errors by a published protocol"),
    "monitoring": ("trust.main_monitoring", "false alarms, and how soon a drop is noticed"),
    "multiclass": ("engine.main_multiclass", "fits of many classes beside scikit-learn"),
    "partly_bought": (
        "partly_bought.main",
        "records in which expensive features were bought by rule",
    ),
    "promises": ("defaults.main_promises", "promised and kept, design by design"),
    "scoring": ("defaults.main_scoring", "ways to score and refit, on test rows"),
    "search": ("search.main", "exact search and the fronts that searches find"),
    "service": ("service.main", "requests a second of the service"),
    "signed": ("signing.main_signed", "the default beside buying everything, on ten tables"),
    "speed": ("speed.main", "default fits of an earlier commit and of this one, by turns"),
    "sweep": ("sweep.main", "the authors' sweep"),
    "thresholds": ("defaults.main_thresholds", "a threshold for each stage beside one for all"),
    "turney": ("signing.main_turney", "totals with Turney's fees beside rivals that know costs"),
}


def main() -> int:
    """Run the benchmark that the command line names, or list all."""
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name not in BENCHMARKS:
        if not name.startswith("-"):
            print(f"NAME must be one of those below, got {name!r}.\n")
        print(__doc__)
        print(*(f"{name:16} {what}" for name, (_, what) in BENCHMARKS.items()), sep="\n")
        return 0 if name in ("-h", "--help") else 2
    module, function = BENCHMARKS[name][0].split(".")
    sys.argv[:2] = [f"benchmarks {name}"]
    if not {"-h", "--help"} & set(sys.argv):
        where = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
        print(f"{datetime.date.today()}, {where}", flush=True)
    getattr(import_module(module), function)()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
