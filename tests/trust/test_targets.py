"""Targets of a certificate, as users write them."""

import pytest

from emsco import ParameterError, Target
from emsco.trust.targets import targets_of

CLASSES = ["ill", "well"]


def test_each_target_says_in_words_what_is_promised():
    targets = targets_of(CLASSES, {"well": 0.99, None: 0.95}, 0.8, 50, {"ill": 0.9})
    assert [str(one) for one in targets] == [
        "at least 95 % of the labels given are correct",
        "at least 99 % of the rows called 'well' are 'well'",
        "at least 80 % of the rows get a label",
        "at least 90 % of the rows that are 'ill' are called 'ill'",
        "a row costs at most 50 on average",
    ]


def test_labels_may_be_typed_as_text():
    (target,) = targets_of([0, 1], min_recall={"1": 0.9})
    assert target == Target("recall", 0.9, 1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "^one of min_accuracy, min_coverage, min_recall, max_cost must be given, got none"),
        ({"min_accuracy": 1.0}, r"in \(0, 1\), since no number of rows can show that a share is 1"),
        ({"min_accuracy": 95}, r"got 95; did you mean 0.95\?$"),
        ({"min_accuracy": {"sick": 0.9}}, "min_accuracy must name the classes 'ill', 'well', got"),
        ({"min_accuracy": {"ill": 0}}, r"min_accuracy of class 'ill' must be a number in \(0, 1\)"),
        ({"min_recall": {None: 0.9}}, "min_recall must name the classes 'ill', 'well', got None"),
        ({"min_recall": 0.9}, "min_recall must be a dict of labels and shares"),
        ({"min_coverage": 0}, r"min_coverage must be a number in \(0, 1\]"),
        ({"max_cost": -1}, r"max_cost must be a number in \[0, inf\)"),
    ],
)
def test_a_bad_target_is_refused_in_one_sentence(given, words):
    with pytest.raises(ParameterError, match=words):
        targets_of(CLASSES, **given)
