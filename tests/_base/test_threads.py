"""Tasks in threads: results in order, and no threads where there is nothing to gain."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from emsco._base import workers as threads
from emsco._base.workers import by_parts, in_threads


@pytest.mark.parametrize("most", [0, 1, 3])
def test_results_come_in_the_order_of_tasks(most, monkeypatch):
    monkeypatch.setattr(threads, "_n_cores", lambda: 4)
    used = set()

    def job(task):
        used.add(threading.current_thread().name)
        return task**2

    assert in_threads(job, range(50), most) == [task**2 for task in range(50)]
    own = threading.current_thread().name
    assert len(used) <= 3
    assert (used == {own}) == (most <= 1)


def test_parts_cover_all_rows_once(monkeypatch):
    monkeypatch.setattr(threads, "_n_cores", lambda: 3)
    n_rows = threads._MANY + 7
    parts = by_parts(n_rows, lambda part: np.arange(n_rows)[part])
    assert len(parts) == 3
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(n_rows))
