"""The cost of a checkpoint: a fit without one, with one, and again on its checkpoint.

python benchmarks/checkpoint.py          half a minute
python benchmarks/checkpoint.py store    a few seconds: writes and replays of the store alone
"""

from __future__ import annotations

import datetime
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import CORES, SEED

from emsco import EMSCOClassifier
from emsco.designs.chromosomes import compress
from emsco.designs.thresholds import ThresholdGrid
from emsco.scoring.journal import EntryRules, Journal

SHAPE = (3_000, 50)
STAGES = 4
WRITES = {300: 30, 3_000: 30, 30_000: 10}  # designs of a write, and how many writes


def seconds_of(checkpoint: Path | None) -> tuple[float, float, int]:
    """Wall-clock time and processor time of a fit, and the designs it scored."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=SHAPE)
    y = X @ rng.normal(size=SHAPE[1]) + 4 * rng.normal(size=SHAPE[0]) > 0
    clf = EMSCOClassifier(
        search="evolution", generations=30, cv=1 / 3, checkpoint=checkpoint, random_state=SEED
    )
    clock, cpu = time.perf_counter(), time.process_time()
    clf.fit(X, y)
    spent = time.perf_counter() - clock, time.process_time() - cpu
    return *spent, clf.history_[-1].n_designs


def report_fits() -> None:
    """Time a fit without a checkpoint, with one, and on a complete one."""
    print(f"{SHAPE[0]:,} × {SHAPE[1]} rows, 1 thread")
    seconds_of(None)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint")
        for name, checkpoint in (("without", None), ("with", path), ("again", path)):
            clock, cpu, n_designs = seconds_of(checkpoint)
            print(f"{name:9} {n_designs:,} designs: {clock:.1f} s, {cpu:.1f} s of CPU")
        print(f"the checkpoint has {bytes_of(path) / 1e6:.1f} MB")


def bytes_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir())


def opened(path: Path) -> Journal:
    rules = EntryRules(SHAPE[0], STAGES, ThresholdGrid.single(np.full(2, 0.75)))
    return Journal.open(path, {}, SEED, SHAPE[1], rules)


def report_store() -> None:
    """Time the store alone; each write is synced to disk, as a search does every two seconds."""
    rng = np.random.default_rng(SEED)
    for n_designs, n_writes in WRITES.items():
        total = n_designs * n_writes
        designs = compress(rng.integers(0, STAGES, size=(total, SHAPE[1])))
        exits = rng.integers(0, SHAPE[0] // STAGES, size=(total, STAGES))
        exits[np.arange(STAGES) > designs.max(axis=1)[:, None]] = 0
        counts = np.stack([exits, exits // 2])
        with tempfile.TemporaryDirectory() as folder:
            path, seconds = Path(folder, "checkpoint"), []
            with opened(path) as journal:
                for start in range(0, total, n_designs):
                    part = slice(start, start + n_designs)
                    begun = time.perf_counter()
                    journal.add(designs[part], counts[:, part])
                    journal.flush()
                    seconds.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            opened(path).__exit__()
            replay, size = time.perf_counter() - begun, bytes_of(path)
        print(
            f"{n_designs:6,} designs a write: {1e3 * np.median(seconds):.1f} ms (slowest "
            f"{1e3 * max(seconds):.1f}); {total:,} replayed in {1e3 * replay:.0f} ms; "
            f"{size / total:.0f} bytes a design"
        )


def main() -> None:
    where = f"{platform.machine()}, {CORES} cores, Python {platform.python_version()}"
    print(f"{datetime.date.today()}, {where}, seed {SEED}")
    if sys.argv[1:] == ["store"]:
        report_store()
    else:
        report_fits()


if __name__ == "__main__":
    main()
