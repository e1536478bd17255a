"""Memory of `emsco decide` on files of rising size: it should not rise with them.

python benchmarks/decide_memory.py [--rows 1000000,10000000,50000000]

Parquet files of 12 float32 columns, decided by a cascade of four stages. Each file has a process of
its own, whose peak above the loaded libraries is measured; Linux only. 50,000,000 rows take 3 GB of
disk in the folder for temporary files.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deciding import N_FEATURES, fit_cascade
from memory import status
from timing import CORES, SEED

from emsco.app.runs.decide import decide_file
from emsco.cascade import Cascade

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="1000000,10000000,50000000")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.folder:
        decide(asked.folder, int(asked.rows))
        return
    print(f"{datetime.date.today()}, {CORES} cores, seed {SEED}")
    print("| rows | MiB of the file | CPU s | s | MiB above the libraries |")
    print("|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cascade, _ = fit_cascade()
        cascade.save(folder / "cascade.json")
        for n_rows in asked.rows.split(","):
            write_rows(folder / "rows.parquet", cascade.encoding.columns, int(n_rows))
            own = [sys.executable, __file__, "--rows", n_rows, "--folder", name]
            subprocess.run(own, check=True)


if __name__ == "__main__":
    main()
