"""Texts of options as people type them."""

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from emsco.app.cli.parsers import (
    parse_by_class,
    parse_class_weight,
    parse_error_costs,
    parse_estimator,
)
from emsco.data.labels import of_labels


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


def test_weights_of_classes_are_balanced_or_by_label():
    assert parse_class_weight(None) is None
    assert parse_class_weight("balanced") == "balanced"
    assert parse_class_weight("ill=5,well=1") == {"ill": 5.0, "well": 1.0}


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
