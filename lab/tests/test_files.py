"""Rows of files, as sweeps and comparisons split them."""

from __future__ import annotations

import numpy as np
import pytest
from emsco_lab import QUICK, compare_methods
from emsco_lab.files import read_costed_rows, read_parts
from support.comparisons import small_set

from emsco.app.files.sources import FitFiles
from emsco.errors import DataError, ParameterError


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    data = small_set()
    path = tmp_path_factory.mktemp("own") / "own.csv"
    words = np.where(data.y == 1, "ill", "well")
    lines = [
        ",".join([*map(repr, row), word]) for row, word in zip(data.X.tolist(), words, strict=True)
    ]
    path.write_text("\n".join(["a,b,c,d,e,health", *lines]) + "\n")
    (path.parent / "costs.csv").write_text("feature,cost\na,5\nb,2\nc,1\nd,1\ne,3\n")
    return path


def test_a_quarter_of_the_rows_tests_and_a_third_of_the_others_scores(file):
    parts = read_parts(FitFiles("health", file))
    assert [len(parts.train), len(parts.val), len(parts.test)] == [80, 40, 40]
    everything = np.concatenate([parts.train, parts.val, parts.test])
    assert sorted(everything.tolist()) == list(range(160))


def test_separate_files_are_used_as_they_are(file):
    parts = read_parts(FitFiles("health", train=file, val=file, test=file))
    assert [len(parts.train), len(parts.val), len(parts.test)] == [160, 160, 160]
    assert parts.test[0] == 320
    assert len(parts.rows("test")[1]) == 160


def test_a_test_file_beside_data_leaves_all_of_data_to_fit_and_score(file):
    parts = read_parts(FitFiles("health", file, test=file))
    assert len(parts.train) + len(parts.val) == 160
    assert parts.test.min() == 160


def test_a_comparison_fits_on_rows_to_train_and_to_score_alike(file):
    apart = read_costed_rows(FitFiles("health", train=file, val=file, test=file))
    trial = apart.trial(0, 0)
    assert (len(trial.fitted.y), len(trial.test.y)) == (320, 160)
    assert apart.test.tolist() == list(range(320, 480))
    assert read_costed_rows(FitFiles("health", file)).test is None


def test_a_comparison_allows_missing_values_and_a_sweep_does_not(file, tmp_path):
    lines = file.read_text().splitlines()
    lines[5] = "," + lines[5].split(",", 1)[1]
    (tmp_path / "gap.csv").write_text("\n".join(lines) + "\n")
    files = FitFiles("health", tmp_path / "gap.csv")
    data = read_costed_rows(files)
    comparison = compare_methods(
        data, methods=["cost_ordered", "cact_lasso"], splits=1, effort=QUICK, n_jobs=1
    )
    assert comparison.methods == ("cost_ordered", "cact_lasso")
    with pytest.raises(DataError, match="must have no missing value"):
        read_parts(files)


def test_train_and_val_without_test_are_refused(file):
    with pytest.raises(ParameterError, match="test must be given beside train and val"):
        read_parts(FitFiles("health", train=file, val=file))


def test_a_column_of_weights_is_no_feature_and_goes_with_its_rows(file):
    weighted = file.parent / "weighted.csv"
    head, *lines = file.read_text().splitlines()
    numbered = [f"{line},{i}" for i, line in enumerate(lines)]
    weighted.write_text("\n".join([f"{head},n", *numbered]) + "\n")
    apart = read_parts(FitFiles("health", weighted, test=weighted, weights="n"))
    assert apart.costs.names == tuple("abcde")
    assert apart.rows("test")[2].tolist() == list(range(160))
    assert apart.rows("val")[2].tolist() == apart.val.tolist()


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([0, 0, 0, 1, 1, 1, 1, 1], "some training row of every class, got none of 1"),
        ([1, 1, 1, 1, 0, 0, 1, 1], "weights must be above 0 for some scored row, got none"),
        ([1, 1, 1, 1, 1, 1, 0, 0], "weights must be above 0 for some test row, got none"),
        (
            [1, 1, 1, -1, 1, 1, 1, 1],
            "must have weights of at least 0 in column 'n', got -1 in line 5",
        ),
    ],
)
def test_weights_that_leave_nothing_to_learn_or_to_test_are_refused(tmp_path, weights, says):
    for part, rows in (("train", range(4)), ("val", (4, 5)), ("test", (6, 7))):
        lines = [f"{i},{(i + 1) % 2},{weights[i]}" for i in rows]
        (tmp_path / f"{part}.csv").write_text("\n".join(["a,y,n", *lines]) + "\n")
    paths = {part: tmp_path / f"{part}.csv" for part in ("train", "val", "test")}
    with pytest.raises(DataError, match=says):
        read_parts(FitFiles("y", **paths, weights="n"))


def test_too_few_rows_of_a_class_are_refused_in_one_sentence(tmp_path):
    (tmp_path / "few.csv").write_text("a,y\n1,0\n2,0\n3,0\n4,1\n")
    with pytest.raises(DataError, match="DATA must have enough rows of every class to be split"):
        read_parts(FitFiles("y", tmp_path / "few.csv"))


def test_a_seed_of_more_than_32_bits_is_refused(file):
    with pytest.raises(ParameterError, match=r"^seed must be .* to 4294967295, got 4294967296"):
        read_parts(FitFiles("health", file), seed=2**32)
