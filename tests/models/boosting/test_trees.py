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
    random_subsets,
    random_trees,
)

from emsco._base.documents import Fields, pack_array
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
        np.testing.assert_allclose(trees.shares(trees.code(rows), subset), expected, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_answer_is_the_largest_probability_to_the_last_bit(n_classes):
    trees = random_trees(n_classes)
    rows, subsets = random_rows(trees, 600), random_subsets(trees, 40)
    winner, confidence = trees.answers(trees.code(rows), subsets)
    for i, subset in enumerate(subsets):
        probabilities = trees.shares(trees.code(rows), subset)
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
            small.probabilities(everything), trees.shares(trees.code(rows), subset)
        )
        assert not small.reads[~subset].any()
        assert len(small.inputs) < len(trees.inputs)
        assert (small.n_cuts <= trees.n_cuts).all()
        twice = small.restricted(subset)
        assert all(map(np.array_equal, twice.arrays, small.arrays))


def test_without_any_input_all_rows_are_alike():
    trees = random_trees(n_classes=3)
    none = np.zeros(N_INPUTS, dtype=bool)
    probabilities = trees.shares(trees.code(random_rows(trees, 50)), none)
    assert (probabilities == probabilities[0]).all()
    assert trees.restricted(none).n_trees == 0


def test_a_missing_value_is_filled_and_not_taken_for_one_that_is_not_bought():
    trees = random_trees()
    every, others = np.ones(N_INPUTS, dtype=bool), np.arange(N_INPUTS) > 0
    rows = random_rows(trees, 200)
    rows[:, 0] = np.nan
    filled = rows.copy()
    filled[:, 0] = trees.fill[0]
    probabilities = trees.shares(trees.code(rows), every)
    np.testing.assert_array_equal(probabilities, trees.shares(trees.code(filled), every))
    assert (probabilities != trees.shares(trees.code(rows), others)).any()


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
        "changed",
        [
            {"n_all_leaves": 10**9},
            {"trees_of": [10**9]},
            {"n_cuts": [255] * 6},
            {"n_cuts": [1] * 5},
            {"baseline": [0.0, 0.0]},
            {"fill": [1e200] * 6},
            {"leaves": 3},
            {"leaves": "?"},
            {"leaves": "AAAA"},
            {"leaves": "A" * 10**6},
            {"leaves": packed([1.0], "<f4")},
        ],
    )
    def test_a_field_that_breaks_its_rule_is_refused(self, changed):
        with pytest.raises(FileError):
            reread(random_trees(), **changed)

    @pytest.mark.parametrize(
        ("name", "position", "value"),
        [
            ("leaves", 0, np.nan),
            ("cuts", 0, np.inf),
            ("cuts", 0, 1e9),
            ("inputs", 3, 6),
            ("inputs", 3, -1),
            ("cut_of", 0, 9),
            ("n_leaves", 1, 0),
            ("n_leaves", 1, 33),
            ("n_leaves", 1, 1),
            ("n_left", 0, 0),
            ("n_left", 0, 16),
        ],
    )
    def test_trees_that_do_not_fit_together_are_refused(self, name, position, value):
        trees = replace(random_trees(), n_cuts=np.full(N_INPUTS, 2), cuts=np.tile([0.0, 1.0], 6))
        trees = replace(trees, cut_of=trees.cut_of % 3)
        array = getattr(trees, name).copy()
        array[position] = value
        with pytest.raises(FileError):
            reread(trees, **{name: pack_array(array)})

    def test_a_text_that_unpacks_to_gigabytes_is_never_unpacked(self):
        packer = zlib.compressobj(9)
        zeros = bytes(2**20)
        bomb = b"".join(packer.compress(zeros) for _ in range(64)) + packer.flush()
        trees = random_trees(n_trees=4000)
        text = base64.b64encode(bomb).decode()
        assert len(text) < len(pack_array(trees.leaves))
        with pytest.raises(FileError, match="'more'"):
            reread(trees, leaves=text)

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


@pytest.mark.parametrize("n_left", [[0, 1], [3, 1], [2, 2], [255, 1]])
def test_counts_that_make_no_tree_are_found(n_left):
    sizes = np.array([3], dtype=np.uint8)
    assert leaves_below(sizes, np.array(n_left, dtype=np.uint8)) is None
