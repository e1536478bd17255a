"""Branches of a design in files: what is read is a tree, and anything else is refused by name."""

from __future__ import annotations

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
    ("path", "value"),
    [
        # Where parts begin: a loop, a stage that two ways lead to, a part without a stage.
        ((*FIRST, "parts"), [0, 6]),
        ((*SECOND, "parts"), [2, 3, 0]),
        ((*SECOND, "parts"), [2, 3, 3]),
        ((*SECOND, "parts"), [2, 3, 6]),
        ((*SECOND, "parts"), [3, 4, 5]),
        ((*FIRST, "parts"), [1, 1]),
        ((*FIRST, "parts"), [1, 8]),
        ((*FIRST, "parts"), [1]),
        ((*FIRST, "parts"), [1, 4, 6]),
        ((*FIRST, "parts"), [1, True]),
        ((*SECOND, "after"), 0),
        ((*SECOND, "after"), 7),
        ((*SECOND, "after"), -1),
        ((*FIRST, "usual"), 2),
        # What is bought on a path.
        (("stages", 2, "buys"), ["age"]),
        (("stages", 5, "buys"), ["biopsy"]),
        (("stages", 2, "buys"), ["x"]),
        (("stages", 0, "buys"), []),
        (("stages", 1, "buys"), []),
        (("stages", 4, "buys"), []),
        (("stages", 3), {}),
        # Questions.
        ((*FIRST, "questions"), []),
        ((*FIRST, "questions"), [ONE_QUESTION] * 4),
        (ASKED, {}),
        (ASKED, {"column": 3}),
        (ASKED, {"column": None}),
        (ASKED, {**ONE_QUESTION, "among": [1]}),
        (ASKED, {"column": "age", "atmost": 3}),
        ((*ASKED, "at_most"), None),
        (ASKED, {"column": "age", "among": []}),
        (ASKED, {"column": "age", "among": [[1]]}),
        (ASKED, {"column": "age", "among": [1, 1]}),
        (ASKED, {"column": None, "among": [None]}),
        ((*FIRST, "then"), 1),
        (("branches",), []),
        (("branches",), {}),
    ],
)
def test_what_is_no_tree_is_refused_by_name(path, value):
    with pytest.raises(FileError):
        read(changed(BODY, path, value))


def test_many_branches_and_stages_are_refused_at_once():
    body, names = nested(MOST_BRANCHES)
    assert len(read(body, names).leaves) == MOST_BRANCHES + 1
    body, names = nested(MOST_BRANCHES + 1)
    with pytest.raises(FileError, match="'branches'"):
        read(body, names)
    started = time.perf_counter()
    million = {"stages": BODY["stages"] * 125_000, "branches": BODY["branches"] * 500_000}
    with pytest.raises(FileError, match="'stages'"):
        read(million)
    with pytest.raises(FileError, match="'branches'"):
        read({**million, "stages": BODY["stages"]})
    assert time.perf_counter() - started < 1
