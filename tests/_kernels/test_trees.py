"""The kernels of trees beside plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import plain
from support.tree_makers import plain_logits, random_rows, random_subsets, random_trees

from emsco._kernels.trees import BLOCK, MOST_LEAVES, code_rows, trace_trees
from emsco.models.boosting import trees as callers


def test_nodes_in_any_order_are_put_in_pre_order():
    # 3 is the root, with leaf 0 on its left and node 2, which has leaves 4 and 1, on its right.
    left, right = np.array([0, 0, 4, 0, 0]), np.array([0, 0, 1, 2, 0])
    moved = np.array([3, 1, 2, 0, 4])  # the root comes first
    left, right = moved[left[moved]], moved[right[moved]]
    is_leaf = np.array([True, True, False, False, True])[moved]
    order, n_below = np.empty((2, 5), dtype=np.int64)
    assert trace_trees(np.array([0, 5]), left, right, is_leaf, order, n_below)
    assert moved[order].tolist() == [3, 0, 2, 4, 1]
    assert n_below.tolist() == [3, 1, 2, 1, 1]


@pytest.mark.parametrize("child", [0, 7, -1])
def test_circles_and_strangers_are_no_children(child):
    left, right = np.array([child, 0, 0]), np.array([child, 0, 0])
    order, n_below = np.empty((2, 3), dtype=np.int64)
    is_leaf = np.array([False, True, True])
    assert not trace_trees(np.array([0, 3]), left, right, is_leaf, order, n_below)


def test_codes_count_the_cuts_below_a_value():
    cuts, starts = np.array([-1.0, 0.0, 2.0, 5.0]), np.array([0, 3, 3, 4])
    rows = np.array([[-1.0, 1.0, 5.0], [0.5, np.nan, 6.0], [np.nan, 0.0, np.nan]])
    codes = np.full((3, 3), 9, dtype=np.uint8)
    reads, fill = np.array([True, True, False]), np.array([7.0, 0.0, 0.0])
    code_rows(rows, reads, cuts, starts, fill, codes)
    assert codes.tolist() == [[0, 2, 3], [0, 0, 0], [9, 9, 9]]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("most_leaves", [2, 16, 17, MOST_LEAVES])
def test_logits_equal_the_plain_ones(n_classes, most_leaves):
    trees = random_trees(n_classes, most_leaves=most_leaves)
    rows, subsets = random_rows(trees, 40), random_subsets(trees, 9)
    for logits, subset in zip(trees.logits(trees.code(rows), subsets), subsets, strict=True):
        np.testing.assert_allclose(logits, plain_logits(trees, rows, subset), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 8, 9, BLOCK, BLOCK + 1])
def test_a_row_gets_the_same_bits_in_any_batch(n_rows):
    trees = random_trees(n_classes=3)
    rows, subsets = random_rows(trees, 2 * BLOCK), random_subsets(trees, 70)
    everything = trees.logits(trees.code(rows), subsets)
    some = trees.logits(trees.code(rows[-n_rows:]), subsets[5:6])
    np.testing.assert_array_equal(some[0], everything[5][:, -n_rows:])


@pytest.mark.parametrize(
    ("n_classes", "most_leaves", "n_rows"), [(2, 16, 13), (3, 17, 13), (3, 16, 2)]
)
def test_kernels_give_the_same_bits_compiled_and_not(n_classes, most_leaves, n_rows, monkeypatch):
    trees = random_trees(n_classes, n_trees=4, most_leaves=most_leaves)
    rows, subsets = random_rows(trees, n_rows), random_subsets(trees, 5)

    def everything():
        codes = trees.code(rows)
        winner, confidence = trees.answers(codes, subsets)
        return (
            codes,
            trees.logits(codes, subsets),
            winner,
            confidence,
            trees.shares(codes, subsets[0]),
        )

    compiled = everything()
    for name in ("add_trees", "code_rows", "collapse", "likeliest_of", "shares_of"):
        monkeypatch.setattr(callers, name, getattr(plain("trees"), name))
    for one, other in zip(compiled, everything(), strict=True):
        np.testing.assert_array_equal(one, other)
