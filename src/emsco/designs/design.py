"""A design assigns features to stages, and may say how sure each stage must be.

Stages form a tree. A *chain* has no branch: each row goes from stage to stage in one order. After a
*branch*, rows go different ways. The stages of a tree are counted in one order: those before its
first branch, then those of each part in turn, which may branch again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, compress, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.arrays import locked_copy
from emsco._base.checks import check_whole
from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, BoolArray, FloatArray, StageArray
from emsco.designs.chromosomes import MOST_STAGES, NEVER
from emsco.designs.questions import MOST_QUESTIONS, Question, cut_in_words
from emsco.designs.thresholds import (
    MinConfidence,
    StageThresholds,
    answers_all,
    by_class,
    check_stage_thresholds,
    differ,
    rule_in_words,
)
from emsco.errors import ParameterError

MOST_BRANCHES = 30  # of a design
_FEW = 6  # names of features left out that are listed


@dataclass(frozen=True, slots=True)
class Branch:
    """What comes after a stage if rows go different ways there.

    A row goes to the part of the first question that it answers with yes, otherwise to the last
    part. A row whose value is missing, or of an unknown category, goes to the usual part instead,
    unless the question is whether it is missing.

    Parameters
    ----------
    questions : tuple of Question
        At most three, in the order they are asked.
    starts : tuple of int
        First stage of each part, counted from 0: one part for each question, and one for the other
        rows. The first of them comes right after the stage that branches.
    usual : int
        Position of the part that most rows go to.
    """

    questions: tuple[Question, ...]
    starts: tuple[int, ...]
    usual: int = 0

    def __post_init__(self) -> None:
        """Check that there is a part for each question, and one more."""
        n_questions, n_parts = len(self.questions), len(self.starts)
        if not 1 <= n_questions <= MOST_QUESTIONS or n_parts != n_questions + 1:
            raise ParameterError(
                f"branch must have 1 to {MOST_QUESTIONS} questions and a part more, got "
                f"{n_questions} and {n_parts}."
            )
        check_whole("usual", self.usual, 0, n_parts - 1)

    @property
    def after(self) -> int:
        """The stage that branches, counted from 0."""
        return self.starts[0] - 1

    @property
    def ways(self) -> tuple[str, ...]:
        """What holds for the rows of each part, in words.

        Where questions allow it, no row of another part fits these words.

        Examples
        --------
        >>> Branch((Question("age", at_most=18), Question("age", at_most=65)), (1, 2, 3)).ways
        ('age ≤ 18', '18 < age ≤ 65', 'age > 65')
        >>> Branch((Question("age", at_most=18), Question(None, among=("ill",))), (1, 2, 3)).ways
        ('age ≤ 18', 'else likeliest class is ill', 'none of these')
        >>> Branch((Question("ward", among=("A",)), Question("ward", among=("B",))), (1, 2, 3)).ways
        ('ward is A', 'ward is B', 'any other ward')
        """
        first, *others = every = self.questions
        none = "none of these"
        if all(one.column == first.column for one in others):
            limits = [one.at_most for one in every if one.at_most is not None]
            values = [value for one in every for value in one.among or ()]
            if len(limits) == len(every) and limits == sorted(limits):
                name, cuts = first.column or "confidence", [*map(cut_in_words, limits)]
                between = [f"{low} < {name} ≤ {high}" for low, high in pairwise(cuts)]
                return (str(first), *between, f"{name} > {cuts[-1]}")
            if all(one.among for one in every) and len({*values}) == len(values):
                return (*map(str, every), f"any other {first.column or 'class'}")
            if first.is_about_missing and not others:
                none = f"{first.column} is not missing"
        return (str(first), *(f"else {one}" for one in others), none)

    @property
    def asks_for_values(self) -> bool:
        """Whether it asks for a value that may be missing, which sends a row the usual way."""
        return any(
            one.column is not None
            and not one.is_about_missing
            # A row without the value has gone another way already.
            and Question(one.column) not in self.questions[:k]
            for k, one in enumerate(self.questions)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Examples
        --------
        >>> Branch((Question("age", at_most=50),), (1, 2)).to_dict()
        {'after': 0, 'questions': [{'column': 'age', 'at_most': 50.0}], 'parts': [1, 2], 'usual': 0}
        """
        return {
            "after": self.after,
            "questions": [question.to_dict() for question in self.questions],
            "parts": list(self.starts),
            "usual": self.usual,
        }

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """Read what `to_dict` gave from a file and check it."""
        fields.only("after", "questions", "parts", "usual")
        questions = tuple(map(Question.from_dict, fields.many_fields("questions", MOST_QUESTIONS)))
        starts = fields.wholes("parts", len(questions) + 1, 1, MOST_STAGES)
        # It follows from the parts, but tells a reader of the file where the branch is.
        fields.whole("after", starts[0] - 1, starts[0] - 1)
        return cls(questions, tuple(starts), fields.whole("usual", 0, len(questions)))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Design:
    """Assignment of features to the stages that buy them.

    Parameters
    ----------
    stages : array-like of shape (n_features,) or (n_stages, n_features)
        Stage of each feature, counted from 0 without a break; -1 if it is never bought. If no
        feature is bought, the design is one stage that buys nothing. A design that branches has
        truth values instead: what each stage buys. Copied and locked.
    names : sequence of str
        Names of the features.
    thresholds : sequence of float or dict, optional
        Confidence that each stage needs to label a row, from 0 to 1; a dict has a number for each
        class. At 0, the stage labels every row that reaches it. Without thresholds, all stages
        share the `min_confidence` of the cascade.
    branches : iterable of Branch, optional
        See `branching`.

    Attributes
    ----------
    panels : ndarray of bool, shape (n_stages, n_features)
        Features that each stage buys.
    before : tuple of int
        The stage before each stage, counted from 0; -1 for the first.

    Examples
    --------
    >>> Design([0, 1, 0], names=("age", "scan", "sex"))
    Design(age, sex → scan)
    >>> Design([0, 1, -1], names=("age", "scan", "biopsy"))
    Design(age → scan; never biopsy)
    >>> Design([0, 1, 0], names=("age", "scan", "sex"), thresholds=(0.9, 0.75))
    Design(age, sex at 0.9 → scan at 0.75)
    >>> Design([0, 1, 0], names=("age", "scan", "sex"), thresholds=(0.9, 0))
    Design(age, sex at 0.9 → scan for all)
    >>> Design([0, 1, 2], ("age", "scan", "blood")).before
    (-1, 0, 1)
    """

    panels: BoolArray
    names: tuple[str, ...]
    thresholds: StageThresholds | None
    before: tuple[int, ...]
    _branches: tuple[Branch, ...]
    _known: BoolArray

    def __init__(
        self,
        stages: ArrayLike,
        names: Sequence[str],
        thresholds: Sequence[MinConfidence] | None = None,
        branches: Iterable[Branch] = (),
    ) -> None:
        """Check that the stages are a tree on whose paths no feature is bought twice."""
        panels = _panels_of(np.asarray(stages), len(names))
        in_order = tuple(sorted(branches, key=lambda branch: branch.after))
        if thresholds is not None:
            thresholds = check_stage_thresholds(thresholds, len(panels))
        before, known = _stages_before(len(panels), in_order), panels.copy()
        for name, value in zip(
            self.__slots__,
            (panels, tuple(names), thresholds, before, in_order, known),
            strict=True,
        ):
            object.__setattr__(self, name, value)
        alone = {chain.start for chain in self.chains} & {*self.leaves}
        for j, earlier in enumerate(before):
            if j not in alone and not panels[j].any():
                raise ParameterError(
                    "stages must buy something unless they are alone in a part, got nothing at "
                    f"stage {j}."
                )
            so_far = known[earlier] & (earlier >= 0)
            if (again := panels[j] & so_far).any():
                raise ParameterError(
                    "stages must buy a feature once on each path, got "
                    f"{names[again.argmax()]!r} again at stage {j}."
                )
            known[j] |= so_far
        known.setflags(write=False)

    @classmethod
    def branching(
        cls, trunk: Design, questions: Sequence[Question], parts: Sequence[Design], usual: int = 0
    ) -> Design:
        """Join a chain and the designs of the parts that rows go to after its last stage.

        A part that buys nothing is one stage, which answers with what is bought already.

        Examples
        --------
        >>> first = Design([0, -1], ("age", "scan"), thresholds=(0.9,))
        >>> more = Design([-1, 0], ("age", "scan"), thresholds=(0,))
        >>> nothing = Design.nothing(("age", "scan"), 0)
        >>> Design.branching(first, [Question("age", at_most=50)], [more, nothing])
        Design(age at 0.9 → {age ≤ 50: scan for all | age > 50: nothing more for all})
        """
        every = [trunk, *parts]
        if not trunk.is_chain or any(part.names != trunk.names for part in parts):
            raise ParameterError(
                f"trunk must be a chain of the features of its parts, got {trunk}."
            )
        starts = [*accumulate(one.n_stages for one in every)][:-1]
        branches = [Branch(tuple(questions), tuple(starts), usual)]
        for start, part in zip(starts, parts, strict=True):
            branches += [
                replace(one, starts=tuple(start + first for first in one.starts))
                for one in part.branches.values()
            ]
        thresholds = [threshold for one in every for threshold in one.thresholds or ()]
        return cls(
            np.concatenate([one.panels for one in every]),
            trunk.names,
            thresholds if all(one.thresholds for one in every) else None,
            branches,
        )

    @classmethod
    def everything(cls, names: Sequence[str]) -> Design:
        """Return the design of one stage that buys all features."""
        return cls(np.zeros(len(names)), names)

    @classmethod
    def nothing(cls, names: Sequence[str], threshold: float) -> Design:
        """Return the design of one stage that buys nothing and knows the shares of the classes.

        At the threshold 0 it gives every row a label, at 1 it rejects every row.

        Examples
        --------
        >>> Design.nothing(["age", "scan"], 0)
        Design(buys nothing, answers everyone)
        >>> Design.nothing(["age", "scan"], 1)
        Design(buys nothing, rejects everyone)
        """
        return cls(np.full(len(names), NEVER), names, (threshold,))

    def with_thresholds(self, thresholds: Sequence[MinConfidence] | None) -> Design:
        """Return the same stages with other thresholds; None leaves them to the cascade.

        Examples
        --------
        >>> Design.everything(["age", "scan"]).with_thresholds([0.8]).thresholds
        (0.8,)
        """
        return Design(self.panels, self.names, thresholds, self._branches)

    def thresholds_or(self, min_confidence: MinConfidence) -> StageThresholds:
        """Return the thresholds of the stages; without any, `min_confidence` for each."""
        return self.thresholds or (min_confidence,) * self.n_stages

    def thresholds_of_stages(self, min_confidence: MinConfidence, classes: AnyArray) -> FloatArray:
        """Return the threshold of each stage and class, shape (n_stages, n_classes).

        A design without thresholds has `min_confidence` at every stage.

        Examples
        --------
        >>> Design([0, 1], ("age", "scan")).thresholds_of_stages(0.8, np.array([0, 1])).tolist()
        [[0.8, 0.8], [0.8, 0.8]]
        """
        return np.array([by_class(one, classes) for one in self.thresholds_or(min_confidence)])

    # The tree

    @property
    def n_stages(self) -> int:
        """Number of stages, those of all parts included; 1 if nothing is bought."""
        return len(self.panels)

    @property
    def is_chain(self) -> bool:
        """Whether all rows go through the same stages in the same order."""
        return not self._branches

    @property
    def branches(self) -> dict[int, Branch]:
        """Branches by the number of the stage that they come after, counted from 0."""
        return {branch.after: branch for branch in self._branches}

    @property
    def chains(self) -> tuple[range, ...]:
        """Stages without a branch between them, in order; a chain has one such range.

        Examples
        --------
        >>> names = ("age", "scan")
        >>> parts = Design([-1, 0], names), Design.nothing(names, 0)
        >>> trunk = Design([0, -1], names)
        >>> Design.branching(trunk, [Question("age", at_most=50)], parts).chains
        (range(0, 1), range(1, 2), range(2, 3))
        """
        starts = sorted(start for branch in self._branches for start in branch.starts)
        return tuple(range(*ends) for ends in pairwise((0, *starts, self.n_stages)))

    @property
    def leaves(self) -> tuple[int, ...]:
        """Stages after which there is no other, from 0: here rows are rejected."""
        return tuple(sorted({*range(self.n_stages)} - {*self.before}))

    @property
    def ways(self) -> tuple[str, ...]:
        """What holds for the rows that come to each stage, in words; "" if there is no other way.

        Examples
        --------
        >>> parts = Design([-1, 0], ("age", "scan")), Design.nothing(("age", "scan"), 0)
        >>> trunk, asked = Design([0, -1], ("age", "scan")), [Question("age", at_most=50)]
        >>> Design.branching(trunk, asked, parts).ways
        ('', 'age ≤ 50', 'age > 50')
        """
        ways = [""] * self.n_stages
        for branch in self._branches:
            for start, way in zip(branch.starts, branch.ways, strict=True):
                ways[start] = way
        return tuple(ways)

    @property
    def usual_stages(self) -> tuple[int, ...]:
        """Stages, from 0, that rows go to whose value is missing or unknown at a branch."""
        return tuple(one.starts[one.usual] for one in self._branches if one.asks_for_values)

    def path(self, stage: int) -> tuple[int, ...]:
        """Return the stages that a row has gone through once `stage` (from 0) has judged it."""
        path = [stage]
        while (before := self.before[path[0]]) >= 0:
            path.insert(0, before)
        return tuple(path)

    # What is bought

    @property
    def stages(self) -> StageArray:
        """The first stage that buys each feature, from 0; -1 if it is never bought.

        A design that branches may buy a feature at several stages.
        """
        first = np.where(self.panels.any(axis=0), self.panels.argmax(axis=0), NEVER)
        return locked_copy(first, np.int16)

    @property
    def buys_nothing(self) -> bool:
        """Whether no feature is bought, so that every row is decided at once and for nothing."""
        return not self.panels.any()

    @property
    def buys(self) -> tuple[tuple[str, ...], ...]:
        """Names of the features that each stage buys."""
        return tuple(tuple(compress(self.names, panel)) for panel in self.panels)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of the features that are never bought."""
        return tuple(compress(self.names, self.stages == NEVER))

    def subsets(self) -> BoolArray:
        """Return the features known after each stage, shape (n_stages, n_features)."""
        return self._known

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return the stage of each feature, counted from 0; -1 if it is never bought.

        A design that branches gives its `panels`.
        """
        return np.array(self.stages if self.is_chain else self.panels, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        """Compare two designs: features, the stages that buy them, thresholds and branches."""
        return isinstance(other, Design) and self._identity == other._identity

    def __hash__(self) -> int:
        """Return the same hash for equal designs."""
        return hash(self._identity[:3])  # thresholds may be dicts

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.names, self.panels.tobytes(), self._branches, self.thresholds

    # Text

    def __repr__(self) -> str:
        """Show the features of each stage, in order, and thresholds if the stages differ."""
        return f"Design({self.arrows()})"

    def arrows(self) -> str:
        """Return the features of each stage, with arrows between stages, and those left out.

        Many that are left out are counted. Stages with different thresholds show these.
        """
        if self.buys_nothing:
            threshold = self.thresholds_or(0.5)[0]
            rest = ", answers everyone" if answers_all(threshold) else ""
            return f"buys nothing{', rejects everyone' if threshold == 1 else rest}"
        stages = [
            f"{', '.join(names) or 'nothing more'} {self.threshold_in_words(j)}".rstrip()
            for j, names in enumerate(self.buys)
        ]
        never = self.left_out
        listed = ", ".join(never) if len(never) <= _FEW else f"{len(never)} others"
        return f"{self.joined_by_arrows(stages)}{f'; never {listed}' if never else ''}"

    def joined_by_arrows(self, stages: Sequence[str]) -> str:
        """Join words about each stage, with the parts of a branch in braces."""
        joined, branches = dict[int, str](), self.branches
        for chain in reversed(self.chains):  # parts come before the branch that leads to them
            steps = [stages[j] for j in chain]
            if (branch := branches.get(chain[-1])) is not None:
                parts = zip(branch.ways, branch.starts, strict=True)
                steps.append(f"{{{' | '.join(f'{way}: {joined[one]}' for way, one in parts)}}}")
            joined[chain.start] = " → ".join(steps)
        return joined[0]

    def threshold_in_words(self, stage: int) -> str:
        """Return "at" and the threshold of `stage` (from 0); nothing if all stages share it."""
        if self.thresholds is None or not differ(self.thresholds):
            return ""
        return rule_in_words(self.thresholds[stage], "at", "for all")

    # Files

    def to_dict(self) -> dict[str, Any]:
        """Return what each stage buys, and the branches if there are any, as plain values.

        Examples
        --------
        >>> Design([0, 1, 0], ("age", "scan", "sex")).to_dict()
        {'stages': [{'buys': ['age', 'sex']}, {'buys': ['scan']}]}
        """
        told: dict[str, Any] = {"stages": [{"buys": list(bought)} for bought in self.buys]}
        if not self.is_chain:
            told["branches"] = [branch.to_dict() for branch in self._branches]
        return told

    @classmethod
    def from_dict(cls, fields: Fields, names: Sequence[str], name: str = "stages") -> Self:
        """Read a design without thresholds: what each stage in the field `name` buys, and branches.

        Branches are in the field "branches"; only stages that are called "stages" have any.
        """
        stages, branches = fields.many_fields(name, MOST_STAGES), list[Fields]()
        bought = [stage.texts("buys") if stage.items("buys") else [] for stage in stages]
        for stage, panel in zip(stages, bought, strict=True):
            if unknown := [one for one in panel if one not in names]:
                stage.refuse("buys", "names of features", unknown[0])
        if name == "stages" and "branches" in fields.values:
            branches = fields.many_fields("branches", MOST_BRANCHES)
        with fields.refusing():
            panels = np.array([[one in panel for one in names] for panel in bought])
            return cls(panels, names, branches=map(Branch.from_dict, branches))


def _panels_of(stages: AnyArray, n_features: int) -> BoolArray:
    """What each stage buys, from that or from the stage of each feature."""
    is_chain = stages.ndim == 1
    is_tree = stages.ndim == 2 and stages.dtype == np.bool_
    if not (is_chain or is_tree) or stages.shape[-1] != n_features or not stages.size:
        raise ParameterError(
            f"stages must hold one number for each of {n_features} features, or what each stage "
            f"buys, got {stages.dtype} of shape {stages.shape}."
        )
    if is_chain:
        used = np.unique(stages[stages != NEVER])
        if not np.array_equal(used, np.arange(len(used))):
            raise ParameterError(
                f"stages must count from 0 without a break, got {stages.tolist()}; see compress()."
            )
        stages = stages == np.arange(max(1, len(used)))[:, None]
    if len(stages) > MOST_STAGES:
        raise ParameterError(
            f"a design must have at most {MOST_STAGES:,} stages, got {len(stages):,}."
        )
    return locked_copy(stages)


def _stages_before(n_stages: int, branches: Sequence[Branch]) -> tuple[int, ...]:
    """The stage before each stage, where every part ends before the next one starts."""
    if len(branches) > MOST_BRANCHES:
        raise ParameterError(
            f"a design must have at most {MOST_BRANCHES} branches, got {len(branches)}."
        )
    before, ends = [*range(-1, n_stages - 1)], [n_stages]
    for branch in branches:
        # Of the part that it is in; branches are in order, so all that are around it are known.
        end = min((one for one in ends if one > branch.after), default=0)
        rises = all(start < stop for start, stop in pairwise((*branch.starts, end)))
        if branch.after < 0 or not rises:
            raise ParameterError(
                f"branches must have parts that follow each other from stage {branch.after + 1} to "
                f"at most {end - 1}, got parts from {list(branch.starts)}."
            )
        for start in branch.starts:
            before[start] = branch.after
        ends += branch.starts
    return tuple(before)
