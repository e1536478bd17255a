"""Tasks in processes."""

import os
import signal
import subprocess
import sys
import time
import warnings
from functools import partial

import pytest

from emsco._base.workers import ending_with_parent, in_processes

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
    warnings.warn("A worker stopped while some jobs were given to the executor.", stacklevel=1)
