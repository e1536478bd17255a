"""Designs: trees of stages beside a twin that walks them, files, and what is no design."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.documents import changed
from support.handmade import NAMES as PROTOCOL_NAMES
from support.handmade import PROTOCOL

from emsco import Branch, Constraints, Design, FileError, ParameterError, Question
from emsco._base.documents import Fields
from emsco.designs.chromosomes import compress
from emsco.designs.design import MOST_BRANCHES
from emsco.designs.thresholds import by_class, check_min_confidence

NAMES = ("a", "b", "c", "d", "e", "f")
QUESTIONS = [Question("a", at_most=1), Question("b"), Question(None, among=("ill", 3, True))]


@dataclass
class Twin:
    """A tree as lists: panels of a chain, and the parts after it."""

    panels: list[list[str]]
    parts: list[Twin]
    usual: int = 0

    def design(self) -> Design:
        stages = np.full(len(NAMES), -1)
        for j, panel in enumerate(self.panels):
            stages[[NAMES.index(name) for name in panel]] = j
        chain = Design(stages, NAMES, [0.5 + len(panel) / 20 for panel in self.panels])
        if not self.parts:
            return chain
        parts = [part.design() for part in self.parts]
        return Design.branching(chain, QUESTIONS[: len(parts) - 1], parts, self.usual)

    def stages(self, known=()):
        """What is known before each stage, what it buys, and whether rows are rejected there."""
        told = []
        for j, panel in enumerate(self.panels):
            is_leaf = j + 1 == len(self.panels) and not self.parts
            told.append((known, tuple(panel), is_leaf))
            known = (*known, *panel)
        return told + [one for part in self.parts for one in part.stages(known)]


@st.composite
def twins(draw, left=NAMES, depth=2, is_part=False):
    order, panels = list(draw(st.permutations(left))), []
    while order and len(panels) < 2 and (draw(st.booleans()) or not (panels or is_part)):
        n = draw(st.integers(1, len(order)))
        panels.append(sorted(order[:n]))
        order = order[n:]
    if not panels or not depth or not draw(st.booleans()):
        return Twin(panels or [[]], [])
    n = draw(st.integers(1, 3))
    parts = [draw(twins(tuple(order), depth - 1, is_part=True)) for _ in range(n + 1)]
    return Twin(panels, parts, draw(st.integers(0, n)))


def read(body, names=NAMES):
    return Design.from_dict(Fields(body, "the file"), names)


@settings(max_examples=100)
@given(twins())
def test_a_tree_is_what_its_parts_are(twin):
    design, told = twin.design(), twin.stages()
    before, bought, are_leaves = zip(*told, strict=True)
    assert design.buys == bought
    assert design.leaves == tuple(np.flatnonzero(are_leaves).tolist())
    for j, known in enumerate(design.subsets()):
        assert {*np.array(NAMES)[known]} == {*before[j], *bought[j]}
        assert sum((bought[i] for i in design.path(j)[:-1]), ()) == before[j]
    assert {*design.left_out} == {*NAMES} - {*sum(bought, ())}
    starts = {start for branch in design.branches.values() for start in branch.starts}
    assert {j for j, way in enumerate(design.ways) if way} == starts
    assert [*range(design.n_stages)] == [j for chain in design.chains for j in chain]
    assert {chain.start for chain in design.chains} == starts | {0}
    assert design.is_chain == (not twin.parts)


@settings(max_examples=100)
@given(twins(), twins())
def test_equal_designs_come_from_arrays_files_and_pickles(twin, other):
    design = twin.design()
    again = [
        Design(np.asarray(design), list(NAMES), design.thresholds, design.branches.values()),
        read(design.to_dict()).with_thresholds(design.thresholds),
        pickle.loads(pickle.dumps(design)),
    ]
    assert {design, *again} == {design}
    assert design != design.with_thresholds(None)
    assert (design == other.design()) == (twin == other)


def test_a_design_is_its_chromosome_copied_and_locked():
    given_stages = np.array([0, 1, -1], dtype=np.int64)
    design = Design(given_stages, ["age", "scan", "sex"])
    given_stages[:] = 0
    assert np.asarray(design).dtype == np.int16
    assert np.asarray(design, dtype=float).tolist() == design.stages.tolist() == [0, 1, -1]
    for array in (np.asarray(design), design.panels, design.subsets()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert PROTOCOL.stages.tolist() == [0, 1, 2, 4]  # where a tree buys each feature first
    assert design != [0, 1, -1]


def test_a_design_has_one_text():
    assert PROTOCOL.arrows() == (
        "age at 0.9 → {age ≤ 0.2: pulse at 0.85 → {pulse ≤ -0.5: scan at 0.7 | else likeliest "
        "class is 1: nothing more for all | none of these: biopsy at 0.97 → scan at 0.9} | "
        "age > 0.2: scan at 0.75 → pulse for all}"
    )
    for n, left_out in ((7, ", ".join("abcdef")), (8, "7 others")):
        assert Design([-1] * (n - 1) + [0], "abcdefgh"[:n]).arrows().endswith(f"; never {left_out}")
    assert Design.nothing(NAMES, 1).arrows() == "buys nothing, rejects everyone"
    assert Question("a", among=("ill", 3)).to_dict() == {"column": "a", "among": ["ill", 3]}


def test_thresholds_of_a_design_come_before_those_of_the_cascade():
    design, classes = Design([0, 1], NAMES[:2]), np.array(["ill", "well"])
    own = design.with_thresholds(np.array([0.9, 0.75]))
    assert [type(one) for one in own.thresholds] == [float, float]
    assert design.thresholds_of_stages({"well": 0.9, "ill": 0}, classes).tolist() == [[0, 0.9]] * 2
    assert own.thresholds_of_stages(0.6, classes).tolist() == [[0.9, 0.9], [0.75, 0.75]]
    by_label = design.with_thresholds([{"ill": 0.9, "well": 0}, 0.5])
    assert len({own, by_label}) == 2


def test_rows_go_the_usual_way_where_a_value_may_be_missing():
    cut, missing, sure = Question("a", at_most=1), Question("a"), Question(None, at_most=0.8)
    for questions, asks in (
        ([cut], True),
        ([cut, missing], True),
        ([missing, Question("b", at_most=1)], True),
        ([missing], False),
        ([sure, QUESTIONS[2]], False),
        ([missing, cut], False),
    ):
        branch = Branch(tuple(questions), tuple(range(1, len(questions) + 2)))
        assert branch.asks_for_values == asks
    assert PROTOCOL.usual_stages == (1, 4)


def branching(questions, parts, usual=0):
    return Design.branching(A_OR_B, questions, parts, usual)


A_OR_B, NOTHING = Design([0, -1], "ab"), Design([-1, -1], "ab")
ASKED = (Question("a", at_most=1),)
SURE, FULL = np.array(["ill", "well"]), {"ill": 0.5, "well": 0.5}
# What is called: what the sentence must show after "got", and what is given.
BAD = {
    Design: {
        "int64": ([[0, 1]], "ab"),
        "(2, 2, 2)": (np.ones((2, 2, 2), dtype=bool), "ab"),
        "'x'": (["x", "y"], "ab"),
        "stage 1": ([[True, False], [False, False]], "ab"),
        "'a' again": ([[True, False], [True, True]], "ab"),
        "1,024": (np.arange(1024), [""] * 1024),
        "stage 3": (PROTOCOL.panels, PROTOCOL_NAMES),
        "[0, 1]": (A_OR_B.panels, "ab", None, [Branch(ASKED, (0, 1))]),
        "31": (A_OR_B.panels, "ab", None, [Branch(ASKED, (1, 2))] * (MOST_BRANCHES + 1)),
    },
    A_OR_B.with_thresholds: {"2.": ((0.5, 0.6),), "'a label'": (({},),)},
    branching: {
        "'a' again": (ASKED, [A_OR_B, NOTHING]),
        "Design(a;": (ASKED, [Design([-1, 0], "ac"), NOTHING]),
        "1 and 1.": (ASKED, [NOTHING]),
        "0 and 1.": ([], [NOTHING]),
        "2": (ASKED, [NOTHING] * 2, 2),
    },
    Question: {
        "Question(": (None,),
        "inf": ("a", np.inf),
        "both": ("a", 1, (1,)),
        "(1, 1)": ("a", None, (1, np.int8(1))),
    },
    compress: {
        "1024": ([1024],),
        "0.5": ([0.5],),
        "['a']": (["a"],),
        "[[[0]]]": ([[[0]]],),
        "nan": ([np.nan],),
    },
    lambda rules: Constraints.from_rules(rules, PROTOCOL_NAMES): {
        "'first'": ("first",),
        "3": ({"first": 3},),
        "'agee'; did you mean 'age'?": ({"first": ["agee"]},),
        "'x'": ({"together": [["age", "x"]]},),
        "['age']": ({"together": ["age"]},),
        "'age'": ({"together": "age"},),
        "'no'": ({"buy_all": "no"},),
        "-1": ({"max_mean_cost": -1},),
    },
    lambda given: check_min_confidence(given, SURE): {
        "0.5": (0.5,),
        "80; did you mean 0.8?": (80,),
        "0.": (FULL | {"ill": 0},),
        "'wel' too; did you mean 'well'?": (FULL | {"wel": 0.5},),
        "none for 'well'": ({"ill": 0.5},),
    },
    by_class: {"none for 'well'": ({"ill": 0.5}, SURE)},
}


@pytest.mark.parametrize(
    ("call", "got", "given"), [(call, *case) for call in BAD for case in BAD[call].items()]
)
def test_what_is_no_part_of_a_design_is_refused_in_a_sentence(call, got, given):
    with pytest.raises(ParameterError) as refusal:
        call(*given)
    assert got in str(refusal.value).partition("got ")[2]


BODY = PROTOCOL.to_dict()
FIRST, SECOND = ("branches", 0), ("branches", 1)
BAD_VALUES = {
    # Where parts begin: a loop, a stage that two ways lead to, a part without a stage.
    (*FIRST, "parts"): [[0, 6], [1, 1], [1, 8], [1]],
    (*SECOND, "parts"): [[2, 3, 3], [2, 3, 6], [3, 4, 5]],
    (*SECOND, "after"): [0],
    (*FIRST, "usual"): [2],
    (*FIRST, "then"): [1],
    ("branches",): [[BODY["branches"][0]] * 2, BODY["branches"] * 500_000, []],
    # What is bought on a path.
    ("stages",): [BODY["stages"] * 125_000],
    ("stages", 2, "buys"): [["age"], ["x"], ["scan", "scan"]],
    ("stages", 3): [{}],
    (*FIRST, "questions"): [[], [{"column": "age"}] * 4],
    (*FIRST, "questions", 0): [
        *({}, {"column": 3}, {"column": None}, {"column": "age", "at_most": 1, "among": [1]}),
        {"column": "age", "atmost": 3},
        *({"column": "age", "among": among} for among in ([], "x", [[1]])),
    ],
}


@pytest.mark.parametrize(
    ("path", "value"), [(path, value) for path, values in BAD_VALUES.items() for value in values]
)
def test_what_is_no_tree_in_a_file_is_refused_by_name_and_at_once(path, value):
    body, started = changed(BODY, path, value), time.perf_counter()
    with pytest.raises(FileError, match=r"^the file.* must .*, got "):
        read(body, PROTOCOL_NAMES)
    assert time.perf_counter() - started < 1
