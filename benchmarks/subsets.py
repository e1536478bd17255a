"""Answers of models of subsets, from a table to answers, beside those of other sources of emsco.

python benchmarks subsets                              a minute of a core
python benchmarks subsets --beside ../earlier/src      the same of other sources, by turns

Rows are made up; a third of them is answered for by models of the others. Every table is in a
process of its own, on one thread: the least processor seconds and megabytes of a few turns.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
import pandas as pd
from common import OURS, SEED, in_new_process, markdown, options
from threadpoolctl import threadpool_limits

from emsco.scoring import Answers

AT_ONCE, TURNS = 2048, 3
# Rows, features, classes, and subsets; as many rows and features as Heart, Credit, wine, satellite.
TABLES = {
    "heart": (299, 12, 2, 4095),
    "credit": (690, 14, 2, 16383),
    "wine": (178, 13, 3, 8191),
    "satellite": (3000, 36, 6, 400),
    "2,000 × 15": (2000, 15, 2, 32767),
    "million": (1_000_000, 50, 2, 12),
}


def answer(name: str) -> tuple[float, float]:
    """Answer by models of the subsets of a table; return processor seconds and megabytes."""
    n_rows, n_features, n_classes, n_subsets = TABLES[name]
    rng = np.random.default_rng(SEED)
    X, weights = rng.normal(size=(n_rows, n_features)), rng.normal(size=(n_features, n_classes))
    y = (X @ weights + 2 * rng.normal(size=(n_rows, n_classes))).argmax(axis=1)
    numbers = rng.permutation(2 ** min(n_features, 15) - 1)[:n_subsets, None] + 1
    subsets = np.zeros((n_subsets, n_features), dtype=bool)
    subsets[:, : min(n_features, 15)] = numbers >> np.arange(min(n_features, 15)) & 1
    split = np.split(rng.permutation(n_rows), [2 * n_rows // 3])
    with threadpool_limits(1):
        started = time.process_time()
        answers = Answers(X, y, None, (split[0], split[1]), memory_limit="2GiB")
        at_once = max(1, AT_ONCE * 1000 // max(n_rows, 1000))
        for begin in range(0, n_subsets, at_once):
            answers.of(subsets[begin : begin + at_once])
        seconds = time.process_time() - started
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(beside: str | None) -> pd.DataFrame:
    """Time every table by these sources, and by others."""
    sources = [OURS, beside] if beside else [OURS]
    heads = ["CPU s", "MB", "other, CPU s", "other, MB"][: 2 * len(sources)]
    lines = {}
    for name in TABLES:
        turns = [[in_new_process(__file__, [name], one) for one in sources] for _ in range(TURNS)]
        lines[name] = np.min(turns, axis=0).reshape(-1)
    table = pd.DataFrame.from_dict(lines, "index", columns=heads)
    return table.assign(ratio=table["CPU s"] / table["other, CPU s"]) if beside else table


def main() -> None:
    """Measure, and print a table."""
    parser = options(__doc__)
    parser.add_argument("--beside", help="the src folder of another checkout of emsco")
    print(markdown(measure(parser.parse_args().beside)))


if __name__ == "__main__":
    print(json.dumps(answer(sys.argv[1])))
