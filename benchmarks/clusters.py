"""What rows on a Dask worker cost beside rows in memory: time and bytes of a batch of fits.

    python benchmarks/clusters.py                                  100,000 rows of 50 features
    python benchmarks/clusters.py --rows 400_000 --features 20

One worker in a process of its own has all rows. Local fits, in one thread, and fits on the worker
take turns; times are CPU seconds of all processes, so other work on the machine changes them
little. The models are the same to the last bit.
"""

from __future__ import annotations

import argparse
import datetime
import pickle
import platform
import time
from typing import Any

import numpy as np
from gpu import make_rows, some_subsets

from emsco._base.leaves import by_leaf
from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.models.engine import LogisticEngine, SplitRows
from emsco.scale.dask import MemoryTable
from emsco.scale.remote import RemoteRows, Task
from emsco.scale.remote_models import RemoteEngine, RemoteSplit


class Counted:
    """Counts the bytes of questions and answers of one kind, and how many there were."""

    def __init__(self) -> None:
        self.n_asked = self.sent = self.received = 0
        self._run = RemoteRows.run

    def run(self, rows: RemoteRows, task: Task) -> Any:
        """Ask, and count."""
        found = self._run(rows, task)
        self.n_asked += 1
        self.sent += len(pickle.dumps(task))
        self.received += len(pickle.dumps(found))
        return found


def cpu_seconds(client: Any) -> float:
    """CPU seconds of this process and of all workers."""
    return time.process_time() + sum(client.run(time.process_time).values())


def bytes_of(engine: RemoteEngine, subsets: Any) -> Counted:
    """Fit once more, and count what travels."""
    counted = Counted()
    RemoteRows.run = lambda rows, task: counted.run(rows, task)  # type: ignore[method-assign]
    try:
        engine.fit(subsets)
    finally:
        RemoteRows.run = counted._run  # type: ignore[method-assign]
    return counted


def main() -> None:
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    X, y = make_rows(options.rows, options.features, options.seed)
    rows = np.asarray(X, dtype=np.float64)
    costs = FeatureCosts.from_array(np.ones(options.features))
    order = np.random.default_rng(options.seed).permutation(options.rows)
    split = by_leaf(order), by_leaf(order[: options.rows // 10])
    subsets = some_subsets(options.models, options.features, options.seed)
    own = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**own) as cluster, Client(cluster) as client:
        data = TrainingData.from_table(MemoryTable(rows, client), y, None, costs, "refuse")
        local = LogisticEngine([SplitRows.cut(rows, data.labels, *split)], options.features)
        theirs = RemoteSplit.from_rows(data.rows, data.labels, *split)
        remote = RemoteEngine([theirs], options.features)
        same = local.fit(subsets).tobytes() == remote.fit(subsets).tobytes()  # compiles, too
        print(f"{datetime.date.today()}, {platform.machine()}, seed {options.seed}")
        print(f"{options.rows:,} × {options.features}, {len(subsets)} models; same bits: {same}")
        ratios = []
        for _ in range(options.repeats):
            start = cpu_seconds(client)
            local.fit(subsets)
            middle = cpu_seconds(client)
            remote.fit(subsets)
            ratios.append((cpu_seconds(client) - middle) / (middle - start))
            print(f"local {middle - start:.2f} s of CPU, with a worker {ratios[-1]:.3f} as much")
        counted = bytes_of(remote, subsets)
        print(
            f"median ratio {np.median(ratios):.3f}; {counted.n_asked} requests, on average "
            f"{counted.sent / counted.n_asked / 1e3:,.0f} kB to the worker and "
            f"{counted.received / counted.n_asked / 1e3:,.0f} kB back; {rows.nbytes / 1e6:,.0f} MB "
            "of rows stay"
        )


if __name__ == "__main__":
    main()
