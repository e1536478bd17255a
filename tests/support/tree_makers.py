"""Random boosted trees, and a plain walk through them."""

from __future__ import annotations

import numpy as np

from emsco.models.boosting.trees import TreeEnsemble


def random_shape(n_leaves, rng):
    """Leaves on the left of each node of a random tree, in pre-order."""
    if n_leaves == 1:
        return []
    n_left = int(rng.integers(1, n_leaves))
    return [n_left, *random_shape(n_left, rng), *random_shape(n_leaves - n_left, rng)]


def random_trees(n_classes=2, n_trees=12, most_leaves=16, n_inputs=6, seed=0):
    """An ensemble with trees of every size up to `most_leaves`, some of them single leaves."""
    rng = np.random.default_rng(seed)
    n_outputs = 1 if n_classes == 2 else n_classes
    n_leaves = rng.integers(1, most_leaves + 1, size=n_trees * n_outputs)
    n_leaves[:2] = 1, most_leaves
    n_left = [n for total in n_leaves for n in random_shape(int(total), rng)]
    n_cuts = rng.integers(1, 9, size=n_inputs)
    inputs = rng.integers(n_inputs, size=len(n_left))
    return TreeEnsemble(
        n_classes=n_classes,
        baseline=rng.normal(size=n_outputs),
        fill=rng.normal(size=n_inputs),
        n_cuts=n_cuts,
        cuts=np.concatenate([np.sort(rng.normal(size=n)) for n in n_cuts]),
        trees_of=np.full(n_outputs, n_trees),
        n_leaves=n_leaves,
        leaves=rng.normal(size=n_leaves.sum()),
        inputs=inputs,
        cut_of=rng.integers(n_cuts[inputs] + 1),  # the last one: every value goes left
        blank_left=rng.random(len(n_left)) < 0.5,
        n_left=n_left,
    )


def random_rows(trees, n_rows, seed=1):
    """Rows with some missing values, and some that are equal to a cut."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, trees.n_inputs))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    ends = np.cumsum(trees.n_cuts)
    rows[::3] = trees.cuts[rng.integers(ends - trees.n_cuts, ends)]
    return rows


def random_subsets(trees, n_subsets, seed=2):
    rng = np.random.default_rng(seed)
    return rng.random((n_subsets, trees.n_inputs)) < rng.random((n_subsets, 1))


def plain_leaf(trees, node, first, n_leaves, row, subset):
    """Walk from a node; return the leaf, counted within the tree."""
    while n_leaves > 1:
        f, n_left = trees.inputs[node], int(trees.n_left[node])
        cuts = trees.cuts[trees.n_cuts[:f].sum() :][: trees.n_cuts[f]]
        cut = np.append(cuts, np.inf)[trees.cut_of[node]]
        x = trees.fill[f] if np.isnan(row[f]) else row[f]
        if x <= cut if subset[f] else trees.blank_left[node]:
            node, n_leaves = node + 1, n_left
        else:
            node, first, n_leaves = node + n_left, first + n_left, n_leaves - n_left
    return first


def plain_logits(trees, rows, subset):
    """Logits of one subset, outputs × rows, up to rounding."""
    logits = np.repeat(trees.baseline[:, None], len(rows), axis=1)
    outputs = np.repeat(np.arange(len(trees.trees_of)), trees.trees_of)
    leaf = node = 0
    for k, n_leaves in zip(outputs, trees.n_leaves.tolist(), strict=True):
        for r, row in enumerate(rows):
            logits[k, r] += trees.leaves[leaf + plain_leaf(trees, node, 0, n_leaves, row, subset)]
        leaf, node = leaf + n_leaves, node + n_leaves - 1
    return logits


def plain_probabilities(trees, rows, subset):
    logits = plain_logits(trees, rows, subset)
    logits = np.vstack([np.zeros(len(rows)), logits]) if len(logits) == 1 else logits
    shares = np.exp(logits - logits.max(axis=0))
    return (shares / shares.sum(axis=0)).T
