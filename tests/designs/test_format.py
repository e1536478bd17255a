"""Branches of a design in files: what is read is a tree, and anything else is refused by name."""

from __future__ import annotations

import re
import time

import pytest
from support.documents import changed
from support.handmade import NAMES, PROTOCOL

from emsco import FileError
from emsco._base.documents import Fields
from emsco.designs.design import MOST_BRANCHES, Design
from emsco.designs.format import branches_to_dicts, design_from_dict
from emsco.designs.questions import Question

BODY = {
    "stages": [{"buys": list(bought)} for bought in PROTOCOL.buys],
    "branches": branches_to_dicts(PROTOCOL),
}
FIRST, SECOND = ("branches", 0), ("branches", 1)
ASKED = (*FIRST, "questions", 0)
ONE_QUESTION = {"column": "age", "at_most": 1}


def read(body, names=NAMES):
    return design_from_dict(Fields(body, "the file"), names)


def nested(depth):
    """A design with as many branches, each in a part of the one before, as plain values."""
    names = tuple(f"x{i}" for i in range(depth + 1))
    stages = [{"buys": [name]} for name in names] + [{"buys": []}] * depth
    branches = [
        {
            "after": k,
            "questions": [{"column": names[k], "at_most": 0.5}],
            "parts": [k + 1, 2 * depth - k],
            "usual": 0,
        }
        for k in range(depth)
    ]
    return {"stages": stages, "branches": branches}, names


def test_a_design_comes_back_from_its_stages_and_branches():
    assert read(BODY) == PROTOCOL.with_thresholds(None)
    chain = Design((1, 0, -1, -1), NAMES)
    assert branches_to_dicts(chain) == []
    assert read({"stages": [{"buys": ["pulse"]}, {"buys": ["age"]}]}) == chain


@pytest.mark.parametrize(
    "question",
    [
        Question("age", at_most=0.1),
        Question("age"),
        Question("ward", among=("A", "ICU")),
        Question(None, at_most=0.75),
        Question(None, among=(True,)),
        Question(None, among=(-3, "x", 0.5)),
    ],
    ids=str,
)
def test_every_question_comes_back(question):
    asked = changed(BODY, (*ASKED,), question.to_dict())
    assert read(asked).branches[0].questions == (question,)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        # Where parts begin: a loop, a stage that two ways lead to, a part without a stage.
        ((*FIRST, "parts"), [0, 6], "'parts' must be the first stages of the parts, rising from 1"),
        ((*SECOND, "parts"), [2, 3, 0], "rising from 2 to 5 at most, got [2, 3, 0]"),
        ((*SECOND, "parts"), [2, 3, 3], "rising from 2 to 5 at most, got [2, 3, 3]"),
        ((*SECOND, "parts"), [2, 3, 6], "rising from 2 to 5 at most, got [2, 3, 6]"),
        ((*SECOND, "parts"), [3, 4, 5], "rising from 2 to 5 at most, got [3, 4, 5]"),
        ((*FIRST, "parts"), [1, 1], "rising from 1 to 7 at most, got [1, 1]"),
        ((*FIRST, "parts"), [1, 8], "'parts' must be 2 whole numbers from 0 to 7, got [1, 8]"),
        ((*FIRST, "parts"), [1], "'parts' must be 2 whole numbers from 0 to 7, got [1]"),
        ((*FIRST, "parts"), [1, 4, 6], "'parts' must be 2 whole numbers from 0 to 7, got [1, 4,"),
        ((*FIRST, "parts"), [1, True], "'parts' must be 2 whole numbers from 0 to 7, got [1, True"),
        ((*SECOND, "after"), 0, "'branches' 1, 'after' must be a stage after 0, where a branch is"),
        ((*SECOND, "after"), 7, "'after' must be a whole number from 0 to 6, got 7"),
        ((*SECOND, "after"), -1, "'after' must be a whole number from 0 to 6, got -1"),
        ((*FIRST, "usual"), 2, "'usual' must be a whole number from 0 to 1, got 2"),
        # What is bought on a path.
        (("stages", 2, "buys"), ["age"], "'stages' 2, 'buys' must be features, each bought once, "),
        (("stages", 5, "buys"), ["biopsy"], "'stages' 5, 'buys' must be features, each bought onc"),
        (
            ("stages", 2, "buys"),
            ["x"],
            "'stages' 2, 'buys' must be features, each bought once, got",
        ),
        (("stages", 0, "buys"), [], "'stages' 0, 'buys' must be a list of different names, got []"),
        (("stages", 1, "buys"), [], "'stages' 1, 'buys' must be a list of different names, got []"),
        (("stages", 4, "buys"), [], "'stages' 4, 'buys' must be a list of different names, got []"),
        (("stages", 3), {}, "'stages' 3 must have 'buys', got []"),
        # Questions.
        ((*FIRST, "questions"), [], "'questions' must be a list of objects, got []"),
        ((*FIRST, "questions"), [ONE_QUESTION] * 4, "'questions' must be at most 3 questions, got"),
        (ASKED, {}, "'questions' 0 must have 'column', got []"),
        (ASKED, {"column": 3}, "'column' must be text, got 3"),
        (ASKED, {"column": None}, "'column' must be a column, as only a value can be missing, got"),
        (ASKED, {**ONE_QUESTION, "among": [1]}, "'among' must be left out, as there is 'at_most'"),
        (ASKED, {"column": "age", "atmost": 3}, "'questions' 0, 'atmost' must be left out, got 3"),
        ((*ASKED, "at_most"), None, "'at_most' must be a finite number, got None"),
        (ASKED, {"column": "age", "among": []}, "'among' must be a list of different values, got"),
        (ASKED, {"column": "age", "among": [[1]]}, "'among' must be a list of different values, g"),
        (ASKED, {"column": "age", "among": [1, 1]}, "'among' must be a list of different values, "),
        (ASKED, {"column": None, "among": [None]}, "'among' must be a list of different values, g"),
        ((*FIRST, "then"), 1, "'branches' 0, 'then' must be left out, got 1"),
        (("branches",), [], "'branches' must be a list of objects, got []"),
        (("branches",), {}, "'branches' must be a list, got {}"),
    ],
)
def test_what_is_no_tree_is_refused_by_name(path, value, said):
    with pytest.raises(FileError, match=f"^the file.*{re.escape(said)}"):
        read(changed(BODY, path, value))


def test_many_branches_and_stages_are_refused_at_once():
    body, names = nested(MOST_BRANCHES)
    assert len(read(body, names).leaves) == MOST_BRANCHES + 1
    body, names = nested(MOST_BRANCHES + 1)
    with pytest.raises(FileError, match="'branches' must be at most 30 branches, got '31'"):
        read(body, names)
    started = time.perf_counter()
    million = {"stages": BODY["stages"] * 125_000, "branches": BODY["branches"] * 500_000}
    with pytest.raises(FileError, match="'stages' must be at most 1023 stages, got '1,000,000'"):
        read(million)
    with pytest.raises(FileError, match="'branches' must be at most 30 branches, got '1,000,000'"):
        read({**million, "stages": BODY["stages"]})
    assert time.perf_counter() - started < 1
