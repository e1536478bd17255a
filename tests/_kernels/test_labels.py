"""Labels grow the same with their kernels as plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from support import brute, thresholds
from support.leveled import genes_of
from support.plain import plain

from emsco.search import labels, subsets
from emsco.search.subsets import Subsets


def table_of(seed, kind):
    if kind == "one threshold":
        return brute.varied(seed).landscape()
    case = thresholds.varied(seed, n_features=3)
    if kind == "some subsets":
        members = np.array([1, 2, 6], dtype=np.uint64)[:, None]
        return Subsets.some(case.evaluator, case.space, members, 1)
    return Subsets.all(case.evaluator, case.space)


@pytest.mark.parametrize("width", [0, 2])
@pytest.mark.parametrize("kind", ["one threshold", "thresholds", "some subsets"])
@pytest.mark.parametrize("seed", range(0, 24, 4))
def test_uncompiled_chains_are_the_same(monkeypatch, seed, kind, width):
    table = table_of(seed, kind)
    compiled = labels.front_of_chains(table, memory_limit=2**20, width=width)
    for module, names in (
        (labels, ("Room", "grow_chains", "note_designs")),
        (subsets, ("Space", "join_larger", "note_designs")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, getattr(plain("labels"), name))
    with np.errstate(over="ignore"):  # of hashes
        uncompiled = labels.front_of_chains(table, memory_limit=2**20, width=width)
    assert genes_of(compiled.designs) == genes_of(uncompiled.designs)
    assert compiled.n_tied.tolist() == uncompiled.n_tied.tolist()
    assert compiled.n_labels == uncompiled.n_labels
    assert compiled.n_tried == uncompiled.n_tried
