from __future__ import annotations

import json

import numpy as np
import pytest
from contests import FirstColumns, small_set

from emsco import baselines
from emsco.comparing import compare_files, read_parts
from emsco.errors import DataError, ParameterError
from emsco.experiments import methods
from emsco.experiments.drawing import draw_methods
from emsco.experiments.own_data import compare_methods
from emsco.experiments.searching import Parts
from emsco.runs import FitFiles
from emsco.terminal import methods_table

METHODS = ("emsco", "cstc", "cact_lasso", "cost_ordered")


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


@pytest.fixture(scope="module")
def result(file):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "FirstColumns", FirstColumns, raising=False)
        patch.setitem(methods.RIVALS, "cstc", "FirstColumns")
        files = FitFiles("health", file, costs=file.parent / "costs.csv")
        return compare_files(files, methods=METHODS, most=3, n_jobs=1)


def test_a_quarter_tests_and_a_third_of_the_others_choose(file):
    parts = read_parts(FitFiles("health", file))
    assert [len(parts.train), len(parts.val), len(parts.test)] == [80, 40, 40]
    everything = np.concatenate([parts.train, parts.val, parts.test])
    assert sorted(everything.tolist()) == list(range(160))


def test_files_of_their_own_are_taken_as_they_are(file):
    parts = read_parts(FitFiles("health", train=file, val=file, test=file))
    assert [len(parts.train), len(parts.val), len(parts.test)] == [160, 160, 160]
    assert parts.test[0] == 320
    assert len(parts.rows("test")[1]) == 160


def test_a_test_file_beside_data_leaves_all_of_data_to_fit_and_choose(file):
    parts = read_parts(FitFiles("health", file, test=file))
    assert len(parts.train) + len(parts.val) == 160
    assert parts.test.min() == 160


def test_every_method_deploys_one_and_has_a_curve(result):
    assert set(result.deployed) == set(METHODS)
    assert result.n_rows == (80, 40, 40)
    assert result.total_cost == 12
    for method in ("emsco", "cost_ordered"):
        knobs = [one.setting["min_confidence"] for one in result.results[method].curve]
        assert 0.75 in knobs
        assert knobs == sorted(knobs)


def test_the_deployed_point_lies_on_the_curve(result):
    for found in result.results.values():
        assert found.outcomes[0].test in [one.test for one in found.curve]


def test_methods_come_with_the_most_accurate_first(result):
    accuracies = [one.test.accuracy for one in result.deployed.values()]
    assert accuracies == sorted(accuracies, reverse=True)


def test_the_summary_says_who_is_best_at_what_and_who_is_beaten(result):
    text = "\n".join(result.summary())
    assert "Most accurate is " in text
    assert "buying everything costs 12." in text
    assert "With 40 test rows" in text
    for loser, _ in result.beaten:
        assert "is beaten by" in text, loser


def test_a_method_that_cannot_do_it_is_left_out_with_the_reason():
    data = small_set()
    y = np.arange(160) % 3
    parts = split_of(data.X, y, data.costs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "Two", FirstColumnsOfTwo, raising=False)
        patch.setitem(methods.RIVALS, "cstc", "Two")
        found = compare_methods(parts, methods=("cstc",), n_jobs=1)
    assert found.summary()[1].startswith("CSTC was left out: Only binary classification")
    assert not found.deployed


class FirstColumnsOfTwo(FirstColumns):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def split_of(X, y, costs):
    return Parts(X, y, costs, np.arange(80), np.arange(80, 120), np.arange(120, 160))


def test_results_do_not_depend_on_the_processes(file, result):
    files = FitFiles("health", file, costs=file.parent / "costs.csv")
    again = compare_files(files, methods=("emsco", "cact_lasso"), most=3, n_jobs=2)
    for method, found in again.results.items():
        assert found.outcomes == result.results[method].outcomes


def test_record_table_and_picture_hold_the_same_methods(result):
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert list(plain["methods"]) == list(METHODS)
    assert result.to_markdown().count("\n| ") == 1 + len(METHODS)
    assert methods_table(result).row_count == len(METHODS)
    names = [text.get_text() for text in draw_methods(result).legends[0].get_texts()]
    assert names == ["EMSCO", "CSTC", "CaCT LASSO", "CO-T"]


def test_train_and_val_without_test_are_refused(file):
    with pytest.raises(ParameterError, match="--test must be given beside --train and --val"):
        read_parts(FitFiles("health", train=file, val=file))


def test_weights_are_refused(file):
    with pytest.raises(ParameterError, match="--weights must not be given"):
        read_parts(FitFiles("health", file, weights="e"))


def test_too_few_rows_of_a_class_are_one_sentence(tmp_path):
    (tmp_path / "few.csv").write_text("a,y\n1,0\n2,0\n3,0\n4,1\n")
    with pytest.raises(DataError, match="DATA must have rows enough of every class to be split"):
        read_parts(FitFiles("y", tmp_path / "few.csv"))


def test_an_unknown_method_is_refused(file):
    with pytest.raises(ParameterError, match=r"methods must be one of .*got 'svm'"):
        compare_files(FitFiles("health", file), methods=("svm",))
