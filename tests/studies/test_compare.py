from __future__ import annotations

import json
import re
from dataclasses import astuple, replace

import numpy as np
import pytest
from support.contests import FirstColumns, small_set

from emsco import EMSCOClassifier, baselines
from emsco._base.objectives import Objectives
from emsco.cli.terminal import methods_table
from emsco.data.sources import FitFiles
from emsco.errors import DataError, ParameterError
from emsco.studies import methods
from emsco.studies.compare import compare_methods
from emsco.studies.compare_figure import draw_methods
from emsco.studies.compare_records import label_of
from emsco.studies.files import compare_files, read_parts
from emsco.studies.methods import MethodResult
from emsco.studies.searching import Parts

METHODS = ("emsco", "cstc", "cact_lasso", "cost_ordered")
REFERENCES = ["always 'well'", "everything, all answered"]


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


def test_every_method_deploys_a_setting_and_has_a_curve(result):
    assert set(result.deployed) == set(METHODS)
    assert result.n_rows == (80, 40, 40)
    assert result.total_cost == 12
    for method in ("emsco", "cost_ordered"):
        knobs = [one.setting["min_confidence"] for one in result.results[method].curve]
        assert 0.75 in knobs
        assert knobs == sorted(knobs)


def test_the_deployed_point_lies_on_the_curve(result):
    for found in result.results.values():
        assert found.outcomes[0].seen in [one.seen for one in found.curve]


def test_the_most_accurate_method_comes_first(result):
    accuracies = [one.seen.accuracy for one in result.deployed.values()]
    assert accuracies == sorted(accuracies, reverse=True)


def test_the_margin_of_chance_is_that_of_two_binomials(result):
    accuracy, n_labelled = 0.8, 40
    points = 196 * np.sqrt(2 * accuracy * (1 - accuracy) / n_labelled)
    tested = Objectives(1.0, accuracy, 3.0)
    outcome = replace(result.results["cstc"].outcomes[0], seen=tested)
    two = replace(result, results=dict.fromkeys(("cstc", "emsco"), MethodResult((outcome,))))
    assert f"less than about {points:.0f} points" in two.summary()[-1]


@pytest.fixture
def made(result):
    """A comparison with these objectives by method: coverage, accuracy and cost."""
    outcome = result.results["cstc"].outcomes[0]

    def make(**tests):
        outcomes = {name: replace(outcome, seen=Objectives(*test)) for name, test in tests.items()}
        return replace(
            result, results={name: MethodResult((one,)) for name, one in outcomes.items()}
        )

    return make


def test_the_summary_names_all_methods_that_are_level(made):
    text = "\n".join(made(cstc=(1, 0.9, 3), astc=(1, 0.9, 4), emsco=(0.9, 0.9, 3)).summary())
    assert "at a mean cost of 3), level with ASTC and EMSCO.\n" in text
    assert "at a mean cost of 3), level with EMSCO; buying everything costs 12.\n" in text
    assert "labelled correctly by CSTC: 90.0% of all, level with ASTC.\n" in text
    assert "your priorities decide" not in text


def test_the_summary_leaves_the_choice_among_unbeaten_methods_to_you(made):
    tests = {"cstc": (1, 0.8, 3), "emsco": (0.9, 0.9, 3)}
    assert (
        "No method beats another; your priorities decide: EMSCO, CSTC." in made(**tests).summary()
    )
    beaten = made(**tests, astc=(0.9, 0.8, 4)).summary()
    assert "None of the others beats another; your priorities decide: EMSCO, CSTC." in beaten


@pytest.mark.parametrize(("accuracy", "caveat"), [(0.95, True), (0.9, True), (0.5, False)])
def test_the_summary_says_if_a_method_may_be_beaten_by_chance(made, accuracy, caveat):
    text = "\n".join(made(cstc=(1, 0.95, 3), emsco=(1, accuracy, 4)).summary())
    words = "CSTC beats EMSCO: it costs no more, labels no fewer rows and is no less accurate."
    assert words in text
    assert ("The accuracies of CSTC and EMSCO may differ by chance." in text) == caveat
    text = "\n".join(made(cstc=(1, 0.95, 3), astc=(1, 0.95, 3), emsco=(1, accuracy, 4)).summary())
    words = "CSTC and ASTC beat EMSCO: they cost no more, label no fewer rows and are no less"
    assert words in text


def test_a_very_expensive_method_leaves_room_for_the_others(made):
    tests = {"cstc": (1, 0.95, 3), "astc": (0.93, 0.9, 4), "emsco": (0.97, 0.92, 2)}
    plain = draw_methods(made(**tests)).axes[0]
    assert plain.get_xscale() == "linear"
    figure = draw_methods(made(**tests, cost_ordered=(1, 0.9, 108)))
    panel, scale = figure.axes
    assert panel.get_xscale() == "symlog"
    assert "mean cost of a test row (logarithmic above 3.5)\n" in panel.get_xlabel()
    across = panel.transAxes.inverted().transform(panel.transData.transform([(4, 0.9), (108, 0.9)]))
    assert across[0, 0] > 0.3
    assert across[1, 0] <= 1
    assert scale.get_ylim() == pytest.approx((0.9, 1.0))


def test_one_method_alone_is_compared_with_none(made):
    assert made(cstc=(0.5, 0.9, 3)).summary() == [
        "CSTC is 90.0% correct on the 50.0% of rows it labels, at a mean cost of 3; "
        "buying everything costs 12.",
        "It labels 45.0% of all rows correctly.",
    ]


def test_the_table_names_the_file_and_lists_the_sentences(result):
    lines = result.to_markdown().splitlines()
    assert lines[0] == "# Methods on own.csv, 40 test rows"
    assert [line[2:] for line in lines if line.startswith("- ")] == result.summary()


def test_the_summary_names_the_best_methods_and_the_beaten_ones(result):
    text = "\n".join(result.summary())
    assert "Most accurate is " in text
    assert "buying everything costs 12." in text
    assert "With 40 test rows" in text
    assert result.beaten
    for loser, _ in result.beaten:
        assert re.search(f"beats? {label_of(loser)}: ", text)


def test_a_method_that_refuses_the_data_is_left_out_with_the_reason():
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
    assert result.to_markdown().count("\n| ") == 1 + len(METHODS) + len(REFERENCES)
    assert methods_table(result).row_count == len(METHODS) + len(REFERENCES)
    names = [text.get_text() for text in draw_methods(result).legends[0].get_texts()]
    assert names == ["EMSCO", "CSTC", "CaCT LASSO", "CO-T", *REFERENCES]


def test_what_there_is_without_a_cascade_is_tested_on_the_same_rows(file, result):
    parts = read_parts(FitFiles("health", file, costs=file.parent / "costs.csv"))
    X_test, y_test = parts.rows("test")
    commonest, everything = result.references.values()
    words, counts = np.unique(parts.y[parts.train], return_counts=True)
    assert words[counts.argmax()] == "well"
    assert astuple(commonest) == (1.0, (y_test == "well").mean(), 0.0)
    split = [(parts.train, parts.val)]
    model = EMSCOClassifier(costs=parts.costs, min_confidence=0.75, cv=split, search="exact")
    whole = model.fit(parts.X, parts.y).front_.references_on(X_test, y_test)[2]
    assert astuple(everything) == pytest.approx(astuple(whole.objectives))
    plain = json.loads(json.dumps(result.to_dict()))["references"]
    assert [one["title"] for one in plain] == REFERENCES
    assert [one["cost"] for one in plain] == [0, 12]


def test_weights_count_in_what_there_is_without_a_cascade():
    data = small_set()
    weights = np.where(data.y == 1, 3.0, 1.0)
    parts = replace(split_of(data.X, data.y, data.costs), weights=weights)
    found = compare_methods(parts, methods=("cost_ordered",), most=1, n_jobs=1)
    share = weights[120:] @ (data.y[120:] == 1) / weights[120:].sum()
    assert found.references["always 1"].accuracy == pytest.approx(share)


def test_what_there_is_without_a_cascade_is_marked_in_the_picture(result):
    marks = {line.get_label(): line for line in draw_methods(result).axes[0].lines}
    for title, test in result.references.items():
        assert (marks[title].get_xdata()[0], marks[title].get_ydata()[0]) == (
            test.cost,
            test.accuracy,
        )
        assert marks[title].get_color() == "black"


def test_every_method_has_a_colour_and_dashes_of_its_own_in_the_picture(result):
    figure = draw_methods(result)
    handles = figure.legends[0].legend_handles[: len(METHODS)]
    assert len({line.get_color() for line in handles}) == len(METHODS)
    assert len({line.get_linestyle() for line in handles}) > 1
    assert "Large marks: deployed settings" in figure.axes[0].get_xlabel()


def test_a_point_that_buys_nothing_does_not_stretch_the_picture(result):
    free = replace(result.results["cstc"].curve[0], seen=Objectives(1.0, 0.1, 0.0))
    cstc = replace(result.results["cstc"], curve=(free, *result.results["cstc"].curve))
    panel = draw_methods(replace(result, results=result.results | {"cstc": cstc})).axes[0]
    assert panel.get_ylim()[0] > 0.1
    assert "Not shown: accuracy 10.0%, buying nothing." in panel.get_xlabel()
    assert "Not shown" not in draw_methods(result).axes[0].get_xlabel()


def test_train_and_val_without_test_are_refused(file):
    with pytest.raises(ParameterError, match="test must be given beside train and val"):
        read_parts(FitFiles("health", train=file, val=file))


def test_whole_weights_count_as_repeated_rows():
    data = small_set()
    weights = np.random.default_rng(0).integers(0, 4, size=160)
    heavy = replace(split_of(data.X, data.y, data.costs), weights=weights.astype(float))
    ends = np.cumsum(weights)[[79, 119, 159]]
    rows = np.split(np.arange(ends[2]), ends[:2])
    many = Parts(np.repeat(data.X, weights, axis=0), np.repeat(data.y, weights), data.costs, *rows)
    methods = ("emsco", "cact_lasso", "cost_ordered", "greedy_miser")
    one, two = (compare_methods(part, 0.7, methods, most=2, n_jobs=1) for part in (heavy, many))
    for method in methods:
        ours, theirs = (found.results[method].outcomes[0] for found in (one, two))
        for which in ("scored", "seen"):
            pair = [astuple(getattr(outcome, which)) for outcome in (ours, theirs)]
            assert pair[0] == pytest.approx(pair[1], rel=1e-6), method
    assert one.n_effective == pytest.approx(weights[120:].sum() ** 2 / (weights[120:] ** 2).sum())


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
        ([1, 1, 1, -1, 1, 1, 1, 1], "sample_weight must be finite and at least 0, got -1"),
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


def test_a_threshold_of_chance_is_refused_before_any_method_runs(file):
    with pytest.raises(ParameterError, match=r"number in \(0.5, 1\], since guessing reaches 1 /"):
        compare_files(FitFiles("health", file), min_confidence=0.5)


def test_an_unknown_method_is_refused(file):
    with pytest.raises(ParameterError, match=r"methods must be one of .*got 'svm'"):
        compare_files(FitFiles("health", file), methods=("svm",))
