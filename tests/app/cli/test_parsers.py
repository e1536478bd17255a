"""Texts of options as people type them."""

import re

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from emsco.app.cli.parsers import (
    parse_by_class,
    parse_class_weight,
    parse_delays,
    parse_error_costs,
    parse_estimator,
)
from emsco.data.labels import of_labels
from emsco.errors import ParameterError


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0.9", 0.9),
        ("a=0.9", {"a": 0.9}),
        (" a = 1 ,b=.5", {"a": 1.0, "b": 0.5}),
        ("x=y=0.5,2=1", {"x=y": 0.5, "2": 1.0}),
    ],
)
def test_numbers_by_label_are_read(text, numbers):
    assert parse_by_class("p", text) == numbers


@pytest.mark.parametrize("text", ["", "a", "a=", "a=0.5,0.6", "=1,b=2", "a=1,a=2", "a=1,"])
def test_other_texts_are_refused(text):
    with pytest.raises(ParameterError, match=r"^p must be a number or label=number pairs"):
        parse_by_class("p", text)


@pytest.mark.parametrize(
    ("typed", "labels", "meant"),
    [
        ({"0": 0.5, "1": 0.9}, [0, 1], {0: 0.5, 1: 0.9}),
        ({"true": 0.5, "False": 0.9}, [False, True], {True: 0.5, False: 0.9}),
        ({"1": 0.5, "2.0": 0.9}, [1.0, 2.0], {1.0: 0.5, 2.0: 0.9}),
        ({"ill": 0.5, "x": 0.9}, ["ill", "well"], {"ill": 0.5, "x": 0.9}),
    ],
)
def test_labels_are_found_as_they_are_written(typed, labels, meant):
    assert of_labels(typed, labels) == meant


def test_a_classifier_is_made_from_its_text():
    estimator = parse_estimator("RandomForestClassifier(n_estimators=7, max_depth=None)")
    assert isinstance(estimator, RandomForestClassifier)
    assert estimator.n_estimators == 7
    assert isinstance(parse_estimator(" GaussianNB "), GaussianNB)


def test_pipelines_and_classifiers_within_others_are_made():
    estimator = parse_estimator(
        "make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=3))"
    )
    assert estimator.steps[1][1].n_neighbors == 3
    inner = parse_estimator("CalibratedClassifierCV(SVC(C=2.0), ensemble=False)").estimator
    assert inner.C == 2.0


@pytest.mark.parametrize(
    "text",
    [
        "RandomForestClassifier(**{'n_estimators': 7})",
        "RandomForestClassifier(n_trees=7)",
        "RandomForestClassifier(n_estimators=len('abc'))",
        "__import__('os').getcwd()",
        "GaussianNB() + 1",
        "",
        "x y",
    ],
)
def test_nothing_else_is_made_or_executed(text):
    with pytest.raises(ParameterError, match=r"^estimator must be auto, logistic, spline, boost"):
        parse_estimator(text)


def test_weights_of_classes_are_balanced_or_by_label():
    assert parse_class_weight(None) is None
    assert parse_class_weight("balanced") == "balanced"
    assert parse_class_weight("ill=5,well=1") == {"ill": 5.0, "well": 1.0}


@pytest.mark.parametrize("text", ["5", "even", "ill=", ""])
def test_one_number_for_all_classes_is_no_weight(text):
    with pytest.raises(ParameterError, match=r'^class_weight must be "balanced" or label=number'):
        parse_class_weight(text)


@pytest.mark.parametrize("text", ["chol", "=1", "chol=", "chol=soon", "chol:1"])
def test_delays_are_features_and_times(text):
    with pytest.raises(ParameterError, match="delay must be feature=time, as in chol=1, got"):
        parse_delays([text])


def test_a_feature_has_one_delay():
    words = "delay must be given once for a feature, got 'chol=2' again"
    with pytest.raises(ParameterError, match=words):
        parse_delays(["chol=1", "chol=2"])


@pytest.mark.parametrize(
    ("texts", "costs"),
    [
        (None, None),
        (["500"], 500.0),
        (["a=1,b=2"], {"a": 1.0, "b": 2.0}),
        (["a:b=1", "b=2"], {"a": {"b": 1.0}, "b": 2.0}),
        (["a:b=1", "a:c=2,b=3"], {"a": {"b": 1.0, "c": 2.0}, "b": 3.0}),
    ],
)
def test_costs_of_errors_are_read(texts, costs):
    assert parse_error_costs("error_cost", texts, by_label=True) == costs


@pytest.mark.parametrize(
    ("text", "costs"),
    [
        ("0,5\n2,0\n", [[0, 5], [2, 0]]),
        ("true;ill;well\nill;;5,5\n\nwell;2;\n", {"ill": {"well": 5.5}, "well": {"ill": 2.0}}),
        (",0,1\n0,0,5\n1,2,0\n", {"0": {"0": 0.0, "1": 5.0}, "1": {"0": 2.0, "1": 0.0}}),
        ("label,cost\nill,5\nwell,2\n", {"ill": 5.0, "well": 2.0}),
    ],
)
def test_costs_of_errors_are_read_from_a_file(tmp_path, text, costs):
    (tmp_path / "errors.csv").write_text(text)
    given = [str(tmp_path / "errors.csv")]
    assert parse_error_costs("error_cost", given, by_label=True) == costs


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("true,ill\n", "it has no label"),
        ("0,5\n2,much\n", "it has 'much' as a cost in the line '2,much'"),
        ("true,ill,well\nill,0\n", "it has the line 'ill,0', which is not as long as its first"),
        ("true,ill,well\nill,0,5\nill,0,5\n", "it has label 'ill' twice"),
        ("true,ill,ill\nill,0,5\n", "it has a column 'ill' twice"),
        ("true,ill,well\nill,0,\n", "it has '' as a cost in the line 'ill,0,'"),
    ],
)
def test_files_that_are_no_costs_of_errors_are_refused(tmp_path, text, why):
    path = tmp_path / "errors.csv"
    path.write_text(text)
    words = "error_cost must be a CSV file of numbers, a line for each true label, got "
    with pytest.raises(ParameterError, match=re.escape(f"{words}{path}: {why}.")):
        parse_error_costs("error_cost", [str(path)])


def test_a_file_of_costs_that_is_not_there_is_refused():
    words = r"^reject_cost must be a file that can be read, got no\.csv \(No such file"
    with pytest.raises(ParameterError, match=words):
        parse_error_costs("reject_cost", ["no.csv"])


@pytest.mark.parametrize("texts", [["x"], ["5", "a=1"], ["5", "6"], ["a=1", "7"], ["a:b"], [""]])
def test_texts_that_are_no_costs_are_refused(texts):
    with pytest.raises(ParameterError, match=r"^error_cost must be a number"):
        parse_error_costs("error_cost", texts, by_label=True)


@pytest.mark.parametrize("texts", [["a=1", "a=2"], ["a=1", "a:b=2"], ["a:b=1", "a=2"]])
def test_costs_are_given_once_for_a_label(texts):
    with pytest.raises(ParameterError, match=r"^error_cost must be given once for a label.* again"):
        parse_error_costs("error_cost", texts, by_label=True)


def test_an_unknown_estimator_is_likened_to_classifiers_alone():
    with pytest.raises(
        ParameterError, match=r"which is none; did you mean 'RandomForestClassifier'"
    ):
        parse_estimator("RandomForest")
