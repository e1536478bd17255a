"""Trees among chains: scored rows go through both, in the order of the designs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.wards import grow, wards

from emsco.designs.chromosomes import genes_of_trees, stage_counts, trees_of
from emsco.designs.questions import Question


@cache
def grown():
    return grow(*wards(), cv=2, min_confidence=0.8)


def mixed():
    """The scored rows of a fit; trees, chains and a tree again; and what stages of each cost."""
    found = grown()
    rows, n_blocks = found.rows, found.bench.blocks.n_blocks
    assert len(rows.trees) > 2
    chains = found.grid.complete(np.array([[0, 0, -1, 1, -1], [0, -1, 1, -1, 2]], dtype=np.int16))
    trees = genes_of_trees(np.array([2, 0, 1]), n_blocks)
    designs = np.concatenate([trees[:2], chains, trees[2:]])
    of_chains = found.bench.evaluator(3, found.grid).costs_after(chains)
    paid = [rows.trees[2].paid, rows.trees[0].paid, *of_chains, rows.trees[1].paid]
    return rows, designs, paid


def test_outcomes_come_in_the_order_of_the_designs():
    rows, designs, _ = mixed()
    assert trees_of(designs).tolist() == [2, 0, -1, -1, 1]
    for design, outcomes in zip(designs, rows.outcomes(designs), strict=True):
        alone = next(rows.outcomes(design[None]))
        assert np.array_equal(outcomes.given, alone.given)
        assert np.array_equal(outcomes.stage, alone.stage)
        number = int(trees_of(design[None])[0])
        if number >= 0:
            assert np.array_equal(outcomes.given, rows.trees[number].outcomes(rows).given)


def test_shares_of_rows_are_those_of_their_outcomes():
    rows, designs, paid = mixed()
    shares = rows.shares(designs, paid)
    often = np.bincount(rows.rows)
    for i, outcomes in enumerate(rows.outcomes(designs)):
        figures = (
            outcomes.given < rows.n_classes,
            outcomes.given == rows.truth,
            paid[i][outcomes.stage],
        )
        for which, figure in enumerate(figures):
            means = np.bincount(rows.rows, figure) / often
            assert shares[which, i] == pytest.approx(means, rel=1e-5)


def test_a_row_leaves_at_the_gate_or_by_the_path_of_its_part():
    found, (X, _) = grown(), wards()
    scored = np.concatenate([rows for _, rows in found.bench.splits])
    for tree in found.branched.trees:
        (question,) = tree.design.branch.questions
        assert question == Question("ward", among=question.among)
        outcomes = tree.outcomes(found.rows)
        n_trunk = int(stage_counts(tree.trunk[None])[0])
        says_yes = X["ward"].to_numpy()[scored] == question.among[0]
        is_in_first = outcomes.stage < n_trunk + tree.design.branch.parts[0].n_stages
        goes_on = outcomes.stage >= n_trunk
        assert np.array_equal(is_in_first[goes_on], says_yes[goes_on])


def test_the_size_of_a_tree_is_that_of_all_its_paths():
    tree = grown().branched.trees[0]
    bought = {name for buys in tree.design.buys for name in buys}
    assert tree.size == len(bought)
