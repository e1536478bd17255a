"""Designs whose stages have thresholds of their own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from emsco.designs.design import Design
from emsco.designs.thresholds import (
    answers_all,
    leaving_in_words,
    rule_in_words,
    thresholds_in_words,
)
from emsco.errors import ParameterError

NAMES = ("age", "scan", "sex")
BY_CLASS = {"ill": 0.55, "well": 0.95}
CLASSES = np.array(["ill", "well"])
PLAIN = Design([0, 1, 0], NAMES)


@pytest.mark.parametrize("given", [(0.9, 0.75), [0.9, 0.75], np.array([0.9, 0.75])])
def test_thresholds_become_a_tuple_of_floats(given):
    own = PLAIN.with_thresholds(given).thresholds
    assert own == (0.9, 0.75)
    assert all(type(one) is float for one in own)
    assert Design([0, 1, 0], NAMES, given).thresholds == own


def test_a_mapping_is_copied():
    given = dict(BY_CLASS)
    design = PLAIN.with_thresholds((given, 0))
    given["ill"] = 0.1
    assert design.thresholds == (BY_CLASS, 0.0)


def test_a_design_without_thresholds_leaves_them_to_the_cascade():
    assert PLAIN.thresholds is None
    assert PLAIN.with_thresholds((0.9, 0.8)).with_thresholds(None) == PLAIN
    assert PLAIN.thresholds_or(0.7) == (0.7, 0.7)
    assert PLAIN.thresholds_of_stages(BY_CLASS, CLASSES).tolist() == [[0.55, 0.95]] * 2


def test_thresholds_come_before_the_confidence_of_the_cascade():
    design = PLAIN.with_thresholds((0.9, {"well": 0.95, "ill": 0}))
    assert design.thresholds_of_stages(0.7, CLASSES).tolist() == [[0.9, 0.9], [0, 0.95]]


def test_designs_with_other_thresholds_are_other_designs():
    own = [None, (0.9, 0.75), (0.9, 0), (0.9, BY_CLASS), (BY_CLASS, 0.9)]
    designs = [PLAIN.with_thresholds(one) for one in own]
    again = [PLAIN.with_thresholds(one) for one in own]
    assert designs == again
    assert [*map(hash, designs)] == [*map(hash, again)]
    assert len({*designs, *again}) == len(own)


def test_a_design_with_thresholds_can_be_pickled():
    design = PLAIN.with_thresholds((BY_CLASS, 0))
    assert pickle.loads(pickle.dumps(design)) == design


def test_an_array_of_a_design_stays_its_chromosome():
    assert np.asarray(PLAIN.with_thresholds((0.9, 0.75))).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("own", "shown"),
    [
        ((0.9, 0.75), "age, sex at 0.9 → scan at 0.75"),
        ((0.9, 0), "age, sex at 0.9 → scan for all"),
        ((0.9, BY_CLASS), "age, sex at 0.9 → scan at ill: 0.55, well: 0.95"),
        ((0.9, {"ill": 0, "well": 0}), "age, sex at 0.9 → scan for all"),
        ((0.9, 0.9), "age, sex → scan"),
        (None, "age, sex → scan"),
    ],
)
def test_a_design_shows_thresholds_only_where_stages_differ(own, shown):
    assert repr(PLAIN.with_thresholds(own)) == f"Design({shown})"


def test_thresholds_stand_before_the_features_that_are_never_bought():
    design = Design([0, 1, -1], NAMES, (0.9, 0))
    assert design.arrows() == "age at 0.9 → scan for all; never sex"


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ((0.9,), r"thresholds must hold one threshold for each of 2 stages, got 1\."),
        ((0.9, 0.8, 0.7), r"thresholds must hold one threshold for each of 2 stages, got 3\."),
        ((), r"thresholds must hold one threshold for each of 2 stages, got 0\."),
        (0.9, r"thresholds must hold one threshold for each of 2 stages, got 0\.9\."),
        ("ab", r"thresholds must hold one threshold for each of 2 stages, got 'ab'\."),
        (BY_CLASS, r"thresholds must hold one threshold for each of 2 stages, got {'ill'"),
        ((0.9, 1.1), r"thresholds of stage 2 must be a number in \[0, 1\], got 1\.1\."),
        ((-0.1, 1), r"thresholds of stage 1 must be a number in \[0, 1\], got -0\.1\."),
        ((0.9, np.nan), r"thresholds of stage 2 must be a number in \[0, 1\], got nan\."),
        ((0.9, None), r"thresholds of stage 2 must be a number in \[0, 1\], got None\."),
        ((0.9, True), r"thresholds of stage 2 must be a number in \[0, 1\], got True\."),
        ((0.9, 90), r"thresholds of stage 2 must be .*, got 90; did you mean 0\.9\?"),
        ((0.9, {}), r"thresholds of stage 2 must have a number for every label, got {}\."),
        (
            ({"ill": 2, "well": 0.5}, 0.9),
            r"thresholds of stage 1 and class 'ill' must be a number in \[0, 1\], got 2\.",
        ),
    ],
)
def test_bad_thresholds_are_refused_in_one_sentence(own, said):
    with pytest.raises(ParameterError, match=f"^{said}"):
        Design([0, 1, 0], NAMES, own)


@pytest.mark.parametrize("own", [{"ill": 0.9}, {"ill": 0.9, "well": 0.9, "dead": 0.9}])
def test_thresholds_by_class_name_every_class_and_no_other(own):
    said = r"thresholds of stage 2 must have a number for each class of 'ill', 'well', got {"
    with pytest.raises(ParameterError, match=said):
        PLAIN.with_thresholds((0.9, own)).thresholds_of_stages(0.8, CLASSES)


def test_words_for_a_stage_that_answers_all():
    assert answers_all(0.0)
    assert answers_all({"ill": 0, "well": 0})
    assert not answers_all({"ill": 0, "well": 0.9})
    assert rule_in_words({"ill": 0, "well": 0.9}) == "confidence ≥ ill: 0, well: 0.9"
    assert leaving_in_words((0.0,)) == "every row leaves at the first stage"
    assert thresholds_in_words((0.9, BY_CLASS, 0)) == "0.9 → ill: 0.55, well: 0.95 → 0"
