"""Memory of `emsco decide` on files of rising size: it should not rise with them.

python benchmarks decide_memory [--rows 1000000,10000000,50000000]

Parquet files of 12 float32 columns, decided by a cascade of four stages. Each file has a process of
its own, whose peak above the loaded libraries is measured; Linux only. 50,000,000 rows take 3 GB of
disk in the folder for temporary files.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import SEED, best_of, status
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold

from emsco import EMSCOClassifier, FeatureCosts
from emsco.app.files.table_files import read_chunks
from emsco.app.runs.decide import decide_file
from emsco.cascade import Cascade
from emsco.data.encoding import Encoding
from emsco.designs.design import Design
from emsco.designs.questions import Question
from emsco.models.scaling import Scaling
from emsco.models.stage_models import JoinedModels, LinearModels, averaged

N_FEATURES = 12
N_TABLE = 1_000_000
N_AVERAGED = 100_000
N_CASES = 2_000
N_FILE = 5_000_000


def make_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n_rows, N_FEATURES))
    y = X @ rng.normal(size=N_FEATURES) + rng.normal(size=n_rows) > 0
    return X, y


def fit_cascade() -> tuple[Cascade, list[LogisticRegression]]:
    """Fit a cascade of four stages, and scikit-learn models for the same subsets."""
    X, y = make_rows(2_000)
    clf = EMSCOClassifier(
        max_stages=4, min_confidence=0.9, search="evolution", cv=1 / 3, random_state=SEED
    ).fit(X, y)
    clf.choose(next(point for point in clf.front_ if point.n_stages == 4))
    subsets = clf.design_.subsets()
    return clf.cascade_, [LogisticRegression().fit(X[:, subset], y) for subset in subsets]


def report_table(cascade: Cascade) -> None:
    X, _ = make_rows(N_TABLE)
    whole = LogisticRegression().fit(*make_rows(2_000))
    cascade.decide(X[:10])
    # All of ours first: after a product, BLAS keeps its threads spinning for a while.
    ours = best_of(10, lambda: cascade.decide(X))
    theirs = best_of(10, lambda: whole.predict_proba(X))
    left = np.bincount(cascade.decide(X).stage, minlength=cascade.n_stages + 1)[1:]
    print(
        f"{N_TABLE:,} × {N_FEATURES} rows: decide {ours:.3f} s, one predict_proba {theirs:.3f} s, "
        f"ratio {ours / theirs:.2f}; rows by last stage {left.tolist()}"
    )


def with_branch(cascade: Cascade) -> Cascade:
    """Let half the rows go another way after the first stage, to stages like those they had.

    Every row is judged by as many models as before, and gets the same label.
    """
    design, names = cascade.design, cascade.design.names
    thresholds = design.thresholds_or(cascade.min_confidence)
    first = np.where(design.stages == 0, 0, -1)
    rest = Design(np.maximum(design.stages - 1, -1), names, thresholds[1:])
    gate, models = design.features(0)[0], cascade.models
    first_model = replace(models, reads=models.reads[:1], coefs=models.coefs[:1])
    rest_model = replace(models, reads=models.reads[1:], coefs=models.coefs[1:])
    return replace(
        cascade,
        design=Design.branching(
            Design(first, names, thresholds[:1]), [Question(gate, at_most=0)], [rest, rest]
        ),
        models=JoinedModels((first_model, rest_model, rest_model), (0, 1, 2)),
    )


def chain_of(n_stages: int) -> Cascade:
    """Return a chain that buys one feature a stage, with the weights of logistic regressions."""
    X, y = make_rows(2_000)
    names = tuple(f"x{i}" for i in range(N_FEATURES))
    stages = np.where(np.arange(N_FEATURES) < n_stages, np.arange(N_FEATURES), -1)
    design = Design(stages, names)
    coefs = np.zeros((n_stages, 1, N_FEATURES + 1))
    for j, subset in enumerate(design.subsets()):
        model = LogisticRegression().fit(X[:, subset], y)
        coefs[j, 0, 0] = model.intercept_[0]
        coefs[j, 0, 1:][subset] = model.coef_[0]
    return Cascade(
        design=design,
        costs=FeatureCosts.resolve(None, names),
        classes=np.array([False, True]),
        min_confidence=0.9,
        encoding=Encoding.learn(X, FeatureCosts.resolve(None, names)),
        models=LinearModels(
            Scaling(np.zeros(N_FEATURES), np.ones(N_FEATURES)), design.subsets(), coefs
        ),
    )


def report_branch(n_models: int, n_rows: int) -> None:
    """Time a cascade that branches beside chains: as long as its paths, and of as many stages."""
    X, _ = make_rows(n_rows)
    short, long = chain_of(4), chain_of(7)
    cascades = [
        replace(one, models=averaged([one.models] * n_models))
        for one in (short, long, with_branch(short))  # 1 stage, then 3 or 3
    ]
    some, other = cascades[0].decide(X), cascades[2].decide(X)
    assert (some.guesses == other.guesses).all()
    assert (some.cost == other.cost).all()
    # In turns, so that all see the same machine.
    turns = [[best_of(1, lambda one=one: one.decide(X)) for one in cascades] for _ in range(15)]
    path, chain, tree = np.min(turns, axis=0)
    print(
        f"{n_rows:,} × {N_FEATURES} rows, {n_models} models a stage: a branch after 1 stage, then "
        f"3 or 3: {tree:.3f} s; a chain of 7 stages {chain:.3f} s, ratio {tree / chain:.2f}; of 4 "
        f"stages {path:.3f} s, ratio {tree / path:.2f}"
    )


def report_averages() -> None:
    X, y = make_rows(2_000)
    rows, _ = make_rows(N_AVERAGED)
    names = [f"x{i}" for i in range(N_FEATURES)]
    rules = {"together": [names[:4], names[4:8], names[8:]]}
    folds = (1 / 3, 5, RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=SEED))
    for cv in folds:
        clf = EMSCOClassifier(
            cv=cv,
            max_stages=3,
            min_confidence=0.9,
            allow_exclusion=False,
            constraints=rules,
            random_state=SEED,
        ).fit(X, y)
        point = next(point for point in clf.front_ if point.n_stages == 3)
        cascade = clf.choose(point).cascade_
        seconds = best_of(10, lambda cascade=cascade: cascade.decide(rows))
        left = np.bincount(cascade.decide(rows).stage, minlength=4)[1:]
        print(
            f"{N_AVERAGED:,} rows, {cascade.n_models} models per stage: {1e3 * seconds:.0f} ms; "
            f"rows by last stage {left.tolist()}"
        )


def report_cases(cascade: Cascade, models: list[LogisticRegression]) -> None:
    X, _ = make_rows(N_CASES)
    names = cascade.design.names
    records = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    subsets = cascade.design.subsets()

    def by_case() -> int:
        n_stages = 0
        for record in records:
            case = cascade.open()
            while case.needs:
                case.give({name: record[name] for name in case.needs})
            n_stages += case.decision.stage
        return n_stages

    n_stages = by_case()
    last = cascade.decide(X).stage

    def by_scikit_learn() -> None:
        for row, stages in zip(X, last, strict=True):
            for subset, model in zip(subsets[:stages], models, strict=False):
                model.predict_proba(row[None, subset])

    ours, theirs = best_of(5, by_case), best_of(2, by_scikit_learn)
    print(
        f"{N_CASES:,} single rows, {n_stages / N_CASES:.2f} stages each: case "
        f"{1e6 * ours / N_CASES:.1f} µs a row, predict_proba at every stage "
        f"{1e6 * theirs / N_CASES:.0f} µs, {theirs / ours:.0f} times faster"
    )


def report_file(cascade: Cascade, n_rows: int) -> None:
    import pyarrow as pa
    from pyarrow import csv

    names = cascade.design.names
    with tempfile.TemporaryDirectory() as folder:
        new, out = Path(folder, "new.csv"), Path(folder, "out.csv")
        X, _ = make_rows(100_000)
        table = pa.table({name: X[:, i] for i, name in enumerate(names)})
        with csv.CSVWriter(new, table.schema) as writer:
            for _ in range(n_rows // len(X)):
                writer.write_table(table)
        started = time.perf_counter()
        for _ in read_chunks(new, names):
            pass
        reading = time.perf_counter() - started
        started = time.perf_counter()
        decide_file(cascade, new, out)
        whole = time.perf_counter() - started
        size = new.stat().st_size / 2**20
        print(
            f"{n_rows:,} rows of CSV ({size:,.0f} MiB): decided in {whole:.1f} s, "
            f"of which reading {reading:.1f} s ({reading / whole:.0%})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=N_FILE, help="rows of the CSV file")
    options = parser.parse_args()
    cascade, models = fit_cascade()
    report_table(cascade)
    report_branch(1, N_TABLE)
    report_branch(5, N_AVERAGED)
    report_averages()
    report_cases(cascade, models)
    report_file(cascade, options.rows)


_GROUP = 1_000_000  # rows of a row group


def write_rows(path: Path, names: tuple[str, ...], n_rows: int) -> None:
    """Write random rows, a group at a time."""
    rng = np.random.default_rng(SEED)
    schema = pa.schema([(name, pa.float32()) for name in names])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, n_rows, _GROUP):
            rows = rng.standard_normal((min(_GROUP, n_rows - start), N_FEATURES), dtype=np.float32)
            file.write_table(pa.table(list(rows.T), schema=schema))


def decide(folder: Path, n_rows: int) -> None:
    """Decide a file in this process; print a line of the table."""
    cascade = Cascade.load(folder / "cascade.json")
    path, out = folder / "rows.parquet", folder / "decisions.parquet"
    cascade.decide(np.zeros((10, N_FEATURES)))
    before, cpu, wall = status("VmRSS"), process_time(), perf_counter()
    decide_file(cascade, path, out)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    size = path.stat().st_size / 2**20
    peak = status("VmHWM") - before
    print(f"| {n_rows:,} | {size:,.0f} | {cpu:.1f} | {wall:.1f} | {peak:.0f} |", flush=True)


def main_decide_memory() -> None:
    """Memory of `emsco decide` on files of rising size: it should not rise with them.

    python benchmarks decide_memory [--rows 1000000,10000000,50000000]

    Parquet files of 12 float32 columns, decided by a cascade of four stages. Each file has a
    process of its own, whose peak above the loaded libraries is measured; Linux only. 50,000,000
    rows take 3 GB of disk in the folder for temporary files.
    """
    parser = argparse.ArgumentParser(description=main_decide_memory.__doc__)
    parser.add_argument("--rows", default="1000000,10000000,50000000")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.folder:
        decide(asked.folder, int(asked.rows))
        return
    print(f"seed {SEED}")
    print("| rows | MiB of the file | CPU s | s | MiB above the libraries |")
    print("|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cascade, _ = fit_cascade()
        cascade.save(folder / "cascade.json")
        for n_rows in asked.rows.split(","):
            write_rows(folder / "rows.parquet", cascade.encoding.columns, int(n_rows))
            command = [
                sys.executable,
                Path(__file__).parent,
                "decide_memory",
                "--rows",
                n_rows,
                "--folder",
                name,
            ]
            subprocess.run(command, check=True)
