"""Ensembles of trees: subsets, restricted ensembles and files."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib
from dataclasses import replace

import numpy as np
import pytest
from support.tree_makers import (
    plain_probabilities,
    random_rows,
    random_shape,
    random_subsets,
    random_trees,
)

from emsco._base.documents import Fields, pack_array
from emsco._kernels.trees import MOST_LEAVES
from emsco.errors import FileError
from emsco.models.boosting.trees import TreeEnsemble, leaves_below

N_INPUTS = 6


def reread(trees, **changed):
    """The ensemble from its own file, with some fields changed."""
    values = json.loads(json.dumps(trees.to_dict())) | changed
    return TreeEnsemble.from_dict(Fields(values, "a file"), trees.n_inputs, trees.n_classes)


def packed(values, kind):
    return pack_array(np.array(values, dtype=kind))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_equal_those_of_a_plain_walk(n_classes):
    trees = random_trees(n_classes)
    rows = random_rows(trees, 30)
    for subset in random_subsets(trees, 8):
        expected = plain_probabilities(trees, rows, subset)
        np.testing.assert_allclose(trees.probabilities(rows, subset), expected, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_answer_is_the_largest_probability_to_the_last_bit(n_classes):
    trees = random_trees(n_classes)
    rows, subsets = random_rows(trees, 600), random_subsets(trees, 40)
    winner, confidence = trees.answers(trees.code(rows), subsets)
    for i, subset in enumerate(subsets):
        probabilities = trees.probabilities(rows, subset)
        np.testing.assert_array_equal(winner[i], probabilities.argmax(axis=1))
        np.testing.assert_array_equal(confidence[i], probabilities.max(axis=1))


@pytest.mark.parametrize("most_leaves", [2, 16, 32])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_restricted_ensemble_has_the_same_bits_and_fewer_nodes(n_classes, most_leaves):
    trees = random_trees(n_classes, most_leaves=most_leaves)
    rows = random_rows(trees, 30)
    for subset in random_subsets(trees, 20):
        small = trees.restricted(subset)
        everything = np.where(subset, rows, np.nan)  # what is not bought does not matter
        np.testing.assert_array_equal(
            small.probabilities(everything), trees.probabilities(rows, subset)
        )
        assert not small.reads[~subset].any()
        assert len(small.inputs) < len(trees.inputs)
        assert (small.n_cuts <= trees.n_cuts).all()
        twice = small.restricted(subset)
        assert all(map(np.array_equal, twice.arrays, small.arrays))


def test_without_any_input_all_rows_are_alike():
    trees = random_trees(n_classes=3)
    none = np.zeros(N_INPUTS, dtype=bool)
    probabilities = trees.probabilities(random_rows(trees, 50), none)
    assert (probabilities == probabilities[0]).all()
    assert trees.restricted(none).n_trees == 0


def test_a_missing_value_is_filled_and_not_taken_for_one_that_is_not_bought():
    trees = random_trees()
    every, others = np.ones(N_INPUTS, dtype=bool), np.arange(N_INPUTS) > 0
    rows = random_rows(trees, 200)
    rows[:, 0] = np.nan
    filled = rows.copy()
    filled[:, 0] = trees.fill[0]
    probabilities = trees.probabilities(rows, every)
    np.testing.assert_array_equal(probabilities, trees.probabilities(filled, every))
    assert (probabilities != trees.probabilities(rows, others)).any()


def test_an_ensemble_for_more_inputs_reads_its_own():
    trees = random_trees()
    rows, inputs = random_rows(trees, 50), np.array([0, 1, 3, 5, 7, 9])
    wide, fill = np.random.default_rng(0).normal(size=(50, 10)), np.zeros(10)
    wide[:, inputs], fill[inputs] = rows, trees.fill
    widened = trees.widened(inputs, fill)
    np.testing.assert_array_equal(widened.probabilities(wide), trees.probabilities(rows))


def test_arrays_are_copied_and_locked():
    fill = np.zeros(N_INPUTS)
    trees = replace(random_trees(), fill=fill)
    fill[0] = 1.0
    assert trees.fill[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        trees.leaves[0] = 0.0


class TestFiles:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_an_ensemble_read_again_has_the_same_arrays(self, n_classes):
        trees = random_trees(n_classes)
        again = reread(trees)
        for name in ("baseline", "fill", "leaves", "inputs", "cut_of", "blank_left", "n_left"):
            np.testing.assert_array_equal(getattr(again, name), getattr(trees, name))
        rows = random_rows(trees, 30)
        np.testing.assert_array_equal(again.probabilities(rows), trees.probabilities(rows))

    def test_an_ensemble_without_trees_can_be_written(self):
        nothing = random_trees().restricted(np.zeros(N_INPUTS, dtype=bool))
        np.testing.assert_array_equal(reread(nothing).baseline, nothing.baseline)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"n_all_leaves": 10**9}, "'n_all_leaves' must be a whole number from"),
            ({"trees_of": [10**9]}, "'trees_of' must be 1 whole numbers from 0"),
            ({"n_cuts": [255] * 6}, "'n_cuts' must be 6 whole numbers from 0 to 254"),
            ({"n_cuts": [1] * 5}, "'n_cuts' must be 6 whole numbers"),
            ({"baseline": [0.0, 0.0]}, "'baseline' must be 1 finite numbers"),
            ({"fill": [1e200] * 6}, "'fill' must be 6 finite numbers"),
            ({"leaves": 3}, "'leaves' must be text"),
            ({"leaves": "?"}, "'leaves' must be .* packed values, got 'a damaged text'"),
            ({"leaves": "AAAA"}, "'leaves' must be .* packed values, got 'a damaged text'"),
            ({"leaves": "A" * 10**6}, "'leaves' must be .* packed values, got 'a longer text'"),
            ({"leaves": packed([1.0], "<f4")}, "'leaves' must be .* packed values, got '4 bytes'"),
        ],
    )
    def test_a_field_that_breaks_its_rule_is_refused(self, changed, message):
        with pytest.raises(FileError, match=message):
            reread(random_trees(), **changed)

    @pytest.mark.parametrize(
        ("name", "position", "value", "message"),
        [
            ("leaves", 0, np.nan, "'leaves' must be finite numbers"),
            ("cuts", 0, np.inf, "'cuts' must be finite numbers"),
            ("cuts", 0, 1e9, "'cuts' must be numbers that go up"),
            ("inputs", 3, 6, "'inputs' must be whole numbers from 0 to 5"),
            ("inputs", 3, -1, "'inputs' must be whole numbers from 0 to 5"),
            ("cut_of", 0, 9, "'cut_of' must be at most the number of cuts"),
            ("n_leaves", 1, 0, "'n_leaves' must be whole numbers from 1 to 32"),
            ("n_leaves", 1, 33, "'n_leaves' must be whole numbers from 1 to 32"),
            ("n_leaves", 1, 1, "'n_leaves' must be .* in total"),
            ("n_left", 0, 0, "'n_left' must be counts of leaves that make trees"),
            ("n_left", 0, 16, "'n_left' must be counts of leaves that make trees"),
        ],
    )
    def test_trees_that_do_not_fit_together_are_refused(self, name, position, value, message):
        trees = replace(random_trees(), n_cuts=np.full(N_INPUTS, 2), cuts=np.tile([0.0, 1.0], 6))
        trees = replace(trees, cut_of=trees.cut_of % 3)
        array = getattr(trees, name).copy()
        array[position] = value
        with pytest.raises(FileError, match=message):
            reread(trees, **{name: pack_array(array)})

    def test_truth_values_are_0_or_1(self):
        trees = random_trees()
        with pytest.raises(FileError, match="'blank_left' must be truth values"):
            reread(trees, blank_left=packed([7] * len(trees.inputs), np.uint8))

    def test_a_text_that_unpacks_to_gigabytes_is_never_unpacked(self):
        packer = zlib.compressobj(9)
        zeros = bytes(2**20)
        bomb = b"".join(packer.compress(zeros) for _ in range(64)) + packer.flush()
        trees = random_trees(n_trees=4000)
        text = base64.b64encode(bomb).decode()
        assert len(text) < len(pack_array(trees.leaves))
        with pytest.raises(FileError, match="packed values, got 'more'"):
            reread(trees, leaves=text)

    def test_arrays_that_claim_far_more_than_their_text_are_refused(self):
        n_trees, n = 2**13, 2**18
        zeros = {name: packed([0] * (n - n_trees), "u1") for name in ("cut_of", "n_left")}
        leaves = {"n_all_leaves": n, "leaves": packed([0] * n, "<f4")}
        claimed = {"trees_of": [n_trees], **leaves, **zeros}
        with pytest.raises(FileError, match=r"'n_all_leaves' must be trees that unpack to at most"):
            reread(random_trees(), **claimed)

    def test_bytes_after_the_packed_values_are_refused(self):
        trees = random_trees()
        more = base64.b64encode(base64.b64decode(trees.to_dict()["leaves"]) + b"!").decode()
        with pytest.raises(FileError, match="packed values"):
            reread(trees, leaves=more)

    def test_an_ensemble_is_read_and_used_without_scikit_learn(self, tmp_path):
        trees = random_trees()
        path = tmp_path / "trees.json"
        path.write_text(json.dumps(trees.to_dict()))
        code = (
            "import json, sys; import numpy as np\n"
            "from emsco._base.documents import Fields\n"
            "from emsco.models.boosting.trees import TreeEnsemble\n"
            "fields = Fields(json.load(open(sys.argv[1])), 'file')\n"
            "trees = TreeEnsemble.from_dict(fields, 6, 2)\n"
            "print(trees.probabilities(np.zeros((1, 6)))[0, 1].hex())\n"
            "assert 'sklearn' not in sys.modules"
        )
        process = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
        expected = trees.probabilities(np.zeros((1, N_INPUTS)))[0, 1]
        assert float.fromhex(process.stdout) == expected


def plain_spans(n_left, n_leaves, first=0):
    """First leaf and end of each node in pre-order."""
    if n_leaves == 1:
        return []
    left = plain_spans(n_left[1:], n_left[0], first)
    right = plain_spans(n_left[1 + len(left) :], n_leaves - n_left[0], first + n_left[0])
    return [(first, first + n_leaves), *left, *right]


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 16, MOST_LEAVES])
def test_leaves_of_nodes_equal_the_plain_ones(n_leaves):
    shapes = [random_shape(n_leaves, np.random.default_rng(seed)) for seed in range(20)]
    sizes, n_left = np.full(20, n_leaves, dtype=np.uint8), np.concatenate(shapes).astype(np.uint8)
    first, end = leaves_below(sizes, n_left)
    plain = [span for shape in shapes for span in plain_spans(shape, n_leaves)]
    assert list(zip(first, end, strict=True)) == plain


@pytest.mark.parametrize("n_left", [[0, 1], [3, 1], [2, 2], [255, 1]])
def test_counts_that_make_no_tree_are_found(n_left):
    sizes = np.array([3], dtype=np.uint8)
    assert leaves_below(sizes, np.array(n_left, dtype=np.uint8)) is None
