"""Designs: trees of stages beside a twin that walks them, text and files, and what is no design."""

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

from emsco import Branch, Design, FileError, ParameterError, Question
from emsco._base.documents import Fields
from emsco.designs.design import MOST_BRANCHES

NAMES = ("a", "b", "c", "d", "e", "f")
QUESTIONS = [Question("a", at_most=1), Question("b"), Question(None, among=("ill", 3, True))]


@dataclass
class Twin:
    """A tree as lists: panels of a chain, the questions after it, and the parts."""

    panels: list[list[str]]
    questions: list[Question]
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
        return Design.branching(chain, self.questions, parts, self.usual)

    def stages(self, known=()):
        """What is known before each stage, what it buys, and whether rows are rejected there."""
        told = []
        for j, panel in enumerate(self.panels):
            is_leaf = j + 1 == len(self.panels) and not self.parts
            told.append((known, panel, is_leaf))
            known = (*known, *panel)
        return told + [one for part in self.parts for one in part.stages(known)]

    def arrows(self):
        rules = [f"at {0.5 + len(panel) / 20:g}" for panel in self.panels]
        steps = [
            f"{', '.join(panel) or 'nothing more'} {rule}"
            for panel, rule in zip(self.panels, rules, strict=True)
        ]
        if self.parts:
            ways = Branch(tuple(self.questions), tuple(range(1, len(self.parts) + 1))).ways
            inner = [f"{way}: {part.arrows()}" for way, part in zip(ways, self.parts, strict=True)]
            steps.append("{" + " | ".join(inner) + "}")
        return " → ".join(steps)


@st.composite
def twins(draw, left=NAMES, depth=2, is_part=False):
    order = list(draw(st.permutations(left)))
    panels = []
    while order and len(panels) < 2 and (draw(st.booleans()) or not (panels or is_part)):
        n = draw(st.integers(1, len(order)))
        panels.append(sorted(order[:n]))
        order = order[n:]
    if not panels or not depth or not draw(st.booleans()):
        return Twin(panels or [[]], [], [])
    n = draw(st.integers(1, 3))
    parts = [draw(twins(tuple(order), depth - 1, is_part=True)) for _ in range(n + 1)]
    return Twin(panels, QUESTIONS[:n], parts, draw(st.integers(0, n)))


def read(body, names=NAMES):
    return Design.from_dict(Fields(body, "the file"), names)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(twins())
def test_a_tree_is_what_its_parts_are(twin):
    design, told = twin.design(), twin.stages()
    assert design.buys == tuple(tuple(panel) for _, panel, _ in told)
    assert design.n_stages == len(told)
    assert design.leaves == tuple(j for j, (_, _, is_leaf) in enumerate(told) if is_leaf)
    for j, (known, panel, _) in enumerate(told):
        assert {name for name, has in zip(NAMES, design.subsets()[j], strict=True) if has} == {
            *known,
            *panel,
        }
        on_path = [name for i in design.path(j)[:-1] for name in design.buys[i]]
        assert (*on_path,) == known
    bought = {name for _, panel, _ in told for name in panel}
    assert {*design.left_out} == {*NAMES} - bought
    starts = {start for branch in design.branches.values() for start in branch.starts}
    assert {j for j, way in enumerate(design.ways) if way} == starts
    assert [*range(design.n_stages)] == [j for chain in design.chains for j in chain]
    assert design.is_chain == (not twin.parts) == (len(design.chains) == 1)
    if len({*design.thresholds}) > 1:
        assert design.arrows().partition(";")[0] == twin.arrows()


@settings(deadline=None, derandomize=True, max_examples=100)
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


def test_thresholds_of_a_design_come_before_those_of_the_cascade():
    design, classes = Design([0, 1], NAMES[:2]), np.array(["ill", "well"])
    own = design.with_thresholds(np.array([0.9, 0.75]))
    assert [type(one) for one in own.thresholds] == [float, float]
    assert design.thresholds_of_stages({"well": 0.9, "ill": 0}, classes).tolist() == [[0, 0.9]] * 2
    assert own.thresholds_of_stages(0.6, classes).tolist() == [[0.9, 0.9], [0.75, 0.75]]
    by_class = [design.with_thresholds([one, 0.5]) for one in ({"ill": 0.9, "well": 0}, 0.9)]
    assert len({*by_class}) == 2


def test_rows_go_the_usual_way_where_a_value_may_be_missing():
    cut, missing = Question("a", at_most=1), Question("a")
    sure = Question(None, at_most=0.8)
    for questions in ([cut], [cut, missing], [missing, Question("b", at_most=1)]):
        assert Branch(tuple(questions), tuple(range(1, len(questions) + 2))).asks_for_values
    for questions in ([missing], [sure, Question(None, among=(1,))], [missing, cut]):
        assert not Branch(tuple(questions), tuple(range(1, len(questions) + 2))).asks_for_values
    assert PROTOCOL.usual_stages == tuple(
        branch.starts[branch.usual] for branch in PROTOCOL.branches.values()
    )


A_OR_B, NOTHING = Design([0, -1], "ab"), Design([-1, -1], "ab")
ASKED = (Question("a", at_most=1),)


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (lambda: Design([[0, 1]], "ab"), "int64"),
        (lambda: Design(np.ones((2, 2, 2), dtype=bool), "ab"), "(2, 2, 2)"),
        (lambda: Design([], ""), "(0,)"),
        (lambda: Design(["x", "y"], "ab"), "'x'"),
        (lambda: Design([[True, False], [False, False]], "ab"), "stage 1"),
        (lambda: Design([[True, False], [True, True]], "ab"), "'a' again"),
        (lambda: Design(np.arange(1024), [f"{i}" for i in range(1024)]), "1,024"),
        (lambda: A_OR_B.with_thresholds((0.5, 0.6)), "2"),
        (lambda: A_OR_B.with_thresholds(({},)), "'a label'"),
        (lambda: Design.branching(NOTHING, ASKED, [A_OR_B] * 2), "stage 0"),
        (lambda: Design.branching(A_OR_B, ASKED, [A_OR_B, NOTHING]), "'a' again"),
        (lambda: Design.branching(A_OR_B, ASKED, [Design([-1, 0], "ac"), NOTHING]), "Design(a;"),
        (lambda: Design.branching(A_OR_B, ASKED, [NOTHING]), "1 and 1."),
        (lambda: Design.branching(A_OR_B, [], [NOTHING]), "0 and 1."),
        (lambda: Design.branching(A_OR_B, ASKED, [NOTHING] * 2, 2), "2"),
        (lambda: Design(PROTOCOL.panels, PROTOCOL_NAMES), "stage 3"),
        (lambda: Design(A_OR_B.panels, "ab", branches=[Branch(ASKED, (0, 1))]), "[0, 1]"),
        (lambda: Question(3), "3"),
        (lambda: Question(None), "Question("),
        (lambda: Question("a", at_most=np.inf), "inf"),
        (lambda: Question("a", at_most=1, among=(1,)), "both"),
        (lambda: Question("a", among=(1, np.int8(1))), "(1, 1)"),
    ],
)
def test_what_is_no_design_is_refused_in_a_sentence(make, got):
    with pytest.raises(ParameterError) as refusal:
        make()
    assert got in str(refusal.value).partition("got ")[2]


BODY = PROTOCOL.to_dict()
FIRST, SECOND = ("branches", 0), ("branches", 1)
QUESTION = (*FIRST, "questions", 0)
ONE_QUESTION = {"column": "age", "at_most": 1}
BAD_VALUES = {
    # Where parts begin: a loop, a stage that two ways lead to, a part without a stage.
    (*FIRST, "parts"): [[0, 6], [1, 1], [1, 8], [1], [1, 4, 6], [1, True]],
    (*SECOND, "parts"): [[2, 3, 0], [2, 3, 3], [2, 3, 6], [3, 4, 5]],
    (*SECOND, "after"): [0, 7],
    (*FIRST, "usual"): [2],
    ("branches",): [[BODY["branches"][0]] * 2, [], {}],
    # What is bought on a path.
    ("stages", 2, "buys"): [["age"], ["x"], ["scan", "scan"]],
    ("stages", 5, "buys"): [["biopsy"]],
    ("stages", 0, "buys"): [[]],
    ("stages", 4, "buys"): [[]],
    ("stages", 3): [{}],
    (*FIRST, "questions"): [[], [ONE_QUESTION] * 4],
    QUESTION: [
        *({}, {"column": 3}, {"column": None}, {**ONE_QUESTION, "among": [1]}),
        *({"column": "age", "atmost": 3}, {"column": "age", "at_most": None}),
        *({"column": "age", "among": among} for among in ([], "x", [[1]], [1, 1], [None])),
    ],
    (*FIRST, "then"): [1],
}


@pytest.mark.parametrize(
    ("path", "value"), [(path, value) for path, values in BAD_VALUES.items() for value in values]
)
def test_what_is_no_tree_in_a_file_is_refused_by_name(path, value):
    with pytest.raises(FileError, match=r"^the file.* must .*, got "):
        read(changed(BODY, path, value), PROTOCOL_NAMES)


def nested(depth):
    """A design with as many branches, each in a part of the one before, as plain values."""
    names = tuple(f"x{i}" for i in range(depth + 1))
    branches = [
        Branch((Question(names[k], at_most=0.5),), (k + 1, 2 * depth - k)).to_dict()
        for k in range(depth)
    ]
    stages = [{"buys": [name]} for name in names] + [{"buys": []}] * depth
    return {"stages": stages, "branches": branches}, names


def test_many_branches_and_stages_are_refused_at_once():
    assert len(read(*nested(MOST_BRANCHES)).leaves) == MOST_BRANCHES + 1
    with pytest.raises(FileError, match="'branches'"):
        read(*nested(MOST_BRANCHES + 1))
    started = time.perf_counter()
    million = {"stages": BODY["stages"] * 125_000, "branches": BODY["branches"] * 500_000}
    with pytest.raises(FileError, match="'stages'"):
        read(million, PROTOCOL_NAMES)
    with pytest.raises(FileError, match="'branches'"):
        read({**million, "stages": BODY["stages"]}, PROTOCOL_NAMES)
    assert time.perf_counter() - started < 1
