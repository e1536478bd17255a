"""Tasks in processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest

from emsco._base import workers
from emsco._base.workers import by_parts, ending_with_parent, in_processes, in_threads

PROGRAM = """
import sys, time
from pathlib import Path
from emsco._base.workers import in_processes

def beat(file):
    for i in range(600):
        Path(file).write_text(str(i))
        time.sleep(0.1)

list(in_processes(beat, sys.argv[1:], n_jobs=2))
"""


def until(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def stands_still(files):
    before = [file.stat().st_mtime_ns for file in files]
    time.sleep(2)
    return before == [file.stat().st_mtime_ns for file in files]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing kills so surely here")
@pytest.mark.thorough
def test_workers_end_soon_after_their_parent_is_killed(tmp_path):
    files = [tmp_path / "one", tmp_path / "two"]
    parent = subprocess.Popen([sys.executable, "-c", PROGRAM, *map(str, files)])
    try:
        assert until(lambda: all(file.exists() for file in files), 60)
        assert not stands_still(files)
    finally:
        parent.kill()
        parent.wait()
    assert until(partial(stands_still, files), 20)


def test_a_job_in_this_process_watches_nothing():
    assert list(in_processes(abs, [-1, 2], n_jobs=1)) == [1, 2]
    assert ending_with_parent(os.getpid)() == os.getpid()


def test_a_worker_that_is_replaced_does_not_fail_the_thread_that_replaces_it():
    # joblib warns in that thread; as an error, the warning would end it, and all jobs would wait.
    with warnings.catch_warnings(record=True) as told:
        warnings.warn("A worker stopped while some jobs were given to the executor.", stacklevel=1)
    assert told == []


# Tasks in threads: results in order, and no threads where there is nothing to gain


@pytest.mark.parametrize("most", [0, 1, 3])
def test_results_come_in_the_order_of_tasks(most, monkeypatch):
    monkeypatch.setattr(workers, "_n_cores", lambda: 4)
    used = set()

    def job(task):
        used.add(threading.current_thread().name)
        return task**2

    assert in_threads(job, range(50), most) == [task**2 for task in range(50)]
    this_thread = threading.current_thread().name
    assert len(used) <= 3
    assert (used == {this_thread}) == (most <= 1)


def test_parts_cover_all_rows_once(monkeypatch):
    monkeypatch.setattr(workers, "_n_cores", lambda: 3)
    n_rows = workers._MANY + 7
    parts = by_parts(n_rows, lambda part: np.arange(n_rows)[part])
    assert len(parts) == 3
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(n_rows))
