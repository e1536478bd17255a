"""What a checkpoint costs: the same fit without one, with one, and run again on its checkpoint.

python benchmarks/checkpoint.py          half a minute
"""

from __future__ import annotations

import datetime
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import CORES, SEED

from emsco import EMSCOClassifier

SHAPE = (3_000, 50)


def seconds_of(checkpoint: Path | None) -> tuple[float, float, int]:
    """By the clock, of CPU, and designs scored."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=SHAPE)
    y = X @ rng.normal(size=SHAPE[1]) + 4 * rng.normal(size=SHAPE[0]) > 0
    clf = EMSCOClassifier(
        search="evolution", generations=30, checkpoint=checkpoint, random_state=SEED
    )
    clock, cpu = time.perf_counter(), time.process_time()
    clf.fit(X, y)
    spent = time.perf_counter() - clock, time.process_time() - cpu
    return *spent, clf.history_[-1].n_designs


def main() -> None:
    where = f"{platform.machine()}, {CORES} cores, Python {platform.python_version()}"
    print(
        f"{datetime.date.today()}, {where}, seed {SEED}; {SHAPE[0]:,} × {SHAPE[1]} rows, 1 thread"
    )
    seconds_of(None)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint")
        for name, checkpoint in (("without", None), ("with", path), ("run again", path)):
            clock, cpu, n_designs = seconds_of(checkpoint)
            print(f"{name:9} {n_designs:,} designs: {clock:.1f} s by the clock, {cpu:.1f} s of CPU")
        size = sum(file.stat().st_size for file in path.iterdir())
        print(f"the checkpoint has {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
