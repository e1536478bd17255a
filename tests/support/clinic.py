"""Rows of a made-up clinic, their costs, and files of them."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from support.settings import PLAIN

NAMES = ("age", "pulse", "panel", "scan", "sex")
COSTS = dict(zip(NAMES, (1, 2, 10, 40, 0.5), strict=True))
SETTINGS = {"min_confidence": 0.8, "max_stages": 3, "population_size": 12, "generations": 8}
SETTINGS |= PLAIN
FILES = ["cascade.json", "front.json", "history.csv", "run.json"]


def patients(n_rows, seed=0):
    """Rows of two noisy classes; the last feature is a truth value."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n_rows)
    X = rng.normal(size=(n_rows, 5)) + y[:, None] * np.array([0.6, 0.8, 1.2, 1.6, 0.0])
    X[:, 4] = X[:, 4] > 0
    return X, y


def write_rows(path, X, y=None, order=range(5), labels=(0, 1), **more):
    """Write features by name in some order, further columns, and the labels as column sick."""
    columns = {NAMES[i]: X[:, i].astype(bool) if i == 4 else X[:, i] for i in order}
    columns |= more | ({} if y is None else {"sick": np.asarray(labels)[y]})
    write = pq.write_table if path.suffix == ".parquet" else pyarrow.csv.write_csv
    write(pa.table(columns), path)
    return path


def read_columns(path):
    read = pq.read_table if path.suffix == ".parquet" else pyarrow.csv.read_csv
    return read(path).to_pydict()


def front_of(folder):
    return json.loads((folder / "front.json").read_text())["body"]
