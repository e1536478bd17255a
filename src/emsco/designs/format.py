"""The branches of a design in files: plain values, and checks of every value that is read.

A file lists the stages of a design in order: those before a branch, then those of each part in
turn. A branch says after which stage it comes and at which stages its parts begin, so a file cannot
hold a loop or a stage that two branches lead to: such numbers are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields, is_finite_number
from emsco.designs.chromosomes import MOST_STAGES, NEVER
from emsco.designs.design import MOST_BRANCHES, Branch, Design
from emsco.designs.questions import MOST_QUESTIONS, Question


def branches_to_dicts(design: Design) -> list[dict[str, Any]]:
    """Return the branches of a design as plain values; none for a chain.

    Examples
    --------
    >>> names = ("age", "scan", "blood")
    >>> parts = Design([-1, 0, -1], names), Design([-1, -1, 0], names)
    >>> branch = Branch((Question("age", at_most=50),), parts)
    >>> branches_to_dicts(Design([0, -1, -1], names, branch=branch))
    [{'after': 0, 'questions': [{'column': 'age', 'at_most': 50.0}], 'parts': [1, 2], 'usual': 0}]
    """
    return [
        {
            "after": stage,
            "questions": [question.to_dict() for question in branch.questions],
            "parts": [first for first, _ in branch.placed(stage + 1)],
            "usual": branch.usual,
        }
        for stage, branch in design.branches.items()
    ]


def design_from_dict(fields: Fields, names: tuple[str, ...], name: str = "stages") -> Design:
    """Read a design without thresholds: what each stage in the field `name` buys, and branches.

    Branches are in the field "branches"; only stages that are called "stages" have any.
    """
    position = {one: i for i, one in enumerate(names)}
    n_stages = len(fields.items(name))
    has_branches = name == "stages" and "branches" in fields.values
    # A chain buys something at every stage; a feature may be bought in several parts of a branch.
    max_stages = MOST_STAGES if has_branches else min(len(names), MOST_STAGES)
    if n_stages > max_stages:
        fields.refuse(name, f"at most {max_stages} stages", f"{n_stages:,}")
    stages = fields.many_fields(name)
    branches = _stored_branches(fields, n_stages) if has_branches else {}

    def build(first: int, end: int, known: frozenset[int]) -> Design:
        """Put the stages from `first` up to `end` together; `known` is bought before them."""
        # Branches are in order, so this one is the first of these stages.
        after = next((stage for stage in branches if first <= stage < end), None)
        n_trunk = (end if after is None else after + 1) - first
        is_whole_part = first > 0 and n_trunk == 1 and after is None
        chromosome = np.full(len(names), NEVER)
        for j in range(first, first + n_trunk):
            stage = stages[j]
            # A part may buy nothing, and so may a design of one stage.
            may_be_empty = is_whole_part or n_stages == 1
            is_empty = may_be_empty and not stage.items("buys")
            for bought in () if is_empty else stage.texts("buys"):
                i = position.get(bought, -1)
                # Unknown names and features bought twice are the same mistake: not a design.
                if i < 0 or i in known or chromosome[i] != NEVER:
                    stage.refuse("buys", "features, each bought once", bought)
                chromosome[i] = j - first
        if after is None:
            return Design(chromosome, names)
        branch = branches[after]
        starts, ends = branch.parts, [*branch.parts[1:], end]
        rises = all(start < stop for start, stop in zip(starts, ends, strict=True))
        if starts[0] != after + 1 or not rises:
            branch.fields.refuse(
                "parts",
                f"the first stages of the parts, rising from {after + 1} to {end - 1} at most",
                list(starts),
            )
        known |= set(np.flatnonzero(chromosome != NEVER).tolist())
        parts = [build(start, stop, known) for start, stop in zip(starts, ends, strict=True)]
        return Design(
            chromosome, names, branch=Branch(branch.questions, tuple(parts), branch.usual)
        )

    return build(0, n_stages, frozenset())


def _stored_branches(fields: Fields, n_stages: int) -> dict[int, _StoredBranch]:
    """Read the branches by the stage that they come after, which must rise."""
    if (n_branches := len(fields.items("branches"))) > MOST_BRANCHES:
        fields.refuse("branches", f"at most {MOST_BRANCHES} branches", f"{n_branches:,}")
    branches, last = dict[int, _StoredBranch](), -1
    for one in fields.many_fields("branches"):
        branch = _StoredBranch.from_dict(one, n_stages)
        if branch.after <= last:
            one.refuse("after", f"a stage after {last}, where a branch is", branch.after)
        last = branch.after
        branches[last] = branch
    return branches


@dataclass(frozen=True, slots=True)
class _StoredBranch:
    """A branch as a file has it."""

    fields: Fields
    after: int
    questions: tuple[Question, ...]
    parts: tuple[int, ...]
    usual: int

    @classmethod
    def from_dict(cls, fields: Fields, n_stages: int) -> Self:
        """Read a branch and check what can be said without the others."""
        _refuse_others(fields, ("after", "questions", "parts", "usual"))
        n_questions = len(fields.items("questions"))
        if n_questions > MOST_QUESTIONS:
            fields.refuse("questions", f"at most {MOST_QUESTIONS} questions", f"{n_questions:,}")
        questions = tuple(map(question_from_dict, fields.many_fields("questions")))
        return cls(
            fields=fields,
            after=fields.whole("after", 0, max(0, n_stages - 2)),  # a stage comes after it
            questions=questions,
            parts=tuple(fields.wholes("parts", n_questions + 1, 0, n_stages - 1)),
            usual=fields.whole("usual", 0, n_questions),
        )


def question_from_dict(fields: Fields) -> Question:
    """Read what `Question.to_dict` gave from a file and check it."""
    _refuse_others(fields, ("column", "at_most", "among"))
    column = None if fields.get("column") is None else fields.text("column")
    has_number, has_values = (name in fields.values for name in ("at_most", "among"))
    if has_number and has_values:
        fields.refuse("among", "left out, as there is 'at_most'", fields.get("among"))
    if has_number:
        return Question(column, at_most=fields.number("at_most"))
    if has_values:
        values = fields.items("among")
        plain = all(isinstance(one, (str, bool)) or is_finite_number(one) for one in values)
        if not values or not plain or len(set(values)) < len(values):
            fields.refuse("among", "a list of different values", values)
        return Question(column, among=tuple(values))
    if column is None:
        fields.refuse("column", "a column, as only a value can be missing", None)
    return Question(column)


def _refuse_others(fields: Fields, names: tuple[str, ...]) -> None:
    """Refuse other fields: a question with a name misspelt would be another question."""
    if others := sorted({*fields.values} - {*names}):
        fields.refuse(others[0], "left out", fields.values[others[0]])
