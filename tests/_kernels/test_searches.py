"""Exact search and links find the same with their kernels as plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from support import brute, thresholds
from support.leveled import bench_of, grid_of
from support.plain import plain

from emsco.designs.space import DesignSpace
from emsco.search import links
from emsco.search.exact import chains, walk
from emsco.search.exact.spaces import ThresholdSpace


@pytest.fixture
def twice(monkeypatch):
    """Checks that a job gives the same with plain kernels of a file, for their caller."""

    def check(caller, file, names, job):
        compiled = job()
        for name in names:
            monkeypatch.setattr(caller, name, getattr(plain(file), name))
        with np.errstate(over="ignore"):  # of hashes
            uncompiled = job()
        for one, other in zip(compiled, uncompiled, strict=True):
            np.testing.assert_array_equal(one, other)

    return check


@pytest.mark.parametrize("seed", range(0, 24, 4))
def test_chains(twice, seed):
    space = brute.varied(seed).landscape()

    def job():
        found = chains.find_front(space, memory_limit=2**20)
        return found.designs, found.n_tied, found.n_labels, found.n_transitions

    twice(chains, "chains", ["extend_chains"], job)


@pytest.mark.parametrize("seed", range(0, 24, 4))
def test_walks(twice, seed):
    case = thresholds.varied(seed)
    space = ThresholdSpace.from_evaluator(case.evaluator, case.space)

    def job():
        found = walk.walk_front(space)
        return found.designs, found.n_tied, found.n_transitions

    twice(walk, "walk", ["walk"], job)


@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_links(twice, gaps):
    evaluator = bench_of(gaps=gaps).evaluator(2, grid_of())
    space = DesignSpace(5, 3, allow_exclusion=False)
    words = np.array([1, 2, 5, 7, 12, 13, 29], dtype=np.uint64)[:, None]

    def job():
        return (links.linked_front(evaluator, space, words, width=2),)

    twice(links, "links", ["fill_reach", "link_subsets"], job)
