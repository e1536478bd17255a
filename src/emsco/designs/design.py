"""A design assigns features to stages, and may say how sure each stage must be.

Stages form a tree. A *chain* has no branch: each row goes from stage to stage in one order. After a
*branch*, rows go different ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.typing import AnyArray, BoolArray, FloatArray, StageArray
from emsco.designs.chromosomes import MOST_STAGES, NEVER, nested_subsets
from emsco.designs.questions import MOST_QUESTIONS, Question, cut_in_words
from emsco.designs.thresholds import (
    MinConfidence,
    StageThresholds,
    answers_all,
    at_in_words,
    by_stage_and_class,
    check_stage_thresholds,
    differ,
)
from emsco.errors import ParameterError

MOST_BRANCHES = 30  # of a design
_FEW = 6  # names of features left out that are listed


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Assignment of features to the stages that buy them.

    Parameters
    ----------
    stages : ndarray of shape (n_features,)
        Stage of each feature, counted from 0 without a break; -1 if it is never bought. Copied
        and locked. If no feature is bought, the design is one stage that buys nothing. If the
        design branches, these are the stages before its first branch.
    names : tuple of str
        Names of the features.
    thresholds : tuple of float or dict, optional
        Confidence that each stage needs to label a row, from 0 to 1; a dict has a number for each
        class. At 0, the stage labels every row that reaches it. Without thresholds, all stages
        share the `min_confidence` of the cascade. All stages have one, in the order of `buys`.
    branch : Branch, optional
        What comes after the last of these stages, if rows go different ways there.

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
    >>> names = ("age", "scan", "blood")
    >>> parts = Design([-1, 0, -1], names), Design([-1, -1, 0], names)
    >>> Design([0, -1, -1], names, branch=Branch((Question("age", at_most=50),), parts))
    Design(age → {age ≤ 50: scan | age > 50: blood})
    """

    stages: StageArray
    names: tuple[str, ...]
    thresholds: StageThresholds | None = None
    branch: Branch | None = None

    def __post_init__(self) -> None:
        """Copy, check and lock `stages`; copy and check `thresholds`; check the branch."""
        given = np.asarray(self.stages)
        if given.ndim != 1 or given.size != len(self.names) or not given.size:
            raise ParameterError(
                f"stages must hold one number for each of {len(self.names)} features, got an array "
                f"of shape {given.shape}."
            )
        used = np.unique(given[given != NEVER])
        if not np.array_equal(used, np.arange(len(used))):
            raise ParameterError(
                f"stages must count from 0 without a break, got {given.tolist()}; see compress()."
            )
        object.__setattr__(self, "stages", locked_copy(given, np.int16))
        if self.branch is not None:
            self._check_branch(self.branch)
        if self.thresholds is not None:
            checked = check_stage_thresholds(self.thresholds, self.n_stages)
            object.__setattr__(self, "thresholds", checked)
        if self.branch is not None:
            # The thresholds of all stages are known here, and each part has its own of them.
            rest = None if self.thresholds is None else self.thresholds[self._n_trunk :]
            branch = self.branch.with_thresholds(rest)
            object.__setattr__(self, "branch", branch)

    def _check_branch(self, branch: Branch) -> None:
        """Refuse parts that are designs of other features, or that buy a feature again."""
        known = self.stages != NEVER
        if not known.any():
            raise ParameterError("branch must come after a stage that buys something, got none.")
        for part in branch.parts:
            if part.names != self.names:
                raise ParameterError(
                    f"branch must be of the features {self.names}, got {part.names!r}."
                )
            if (again := known & part.subsets()[:, : len(known)].any(axis=0)).any():
                name = self.names[int(again.argmax())]
                raise ParameterError(f"branch must buy only what is not bought yet, got {name!r}.")
        if (n_branches := len(self.branches)) > MOST_BRANCHES:
            raise ParameterError(
                f"branch must make at most {MOST_BRANCHES} branches, got {n_branches!r}."
            )
        if self.n_stages > MOST_STAGES:
            raise ParameterError(
                f"branch must make at most {MOST_STAGES:,} stages, got {self.n_stages:,}."
            )

    @classmethod
    def branching(
        cls, trunk: Design, questions: Sequence[Question], parts: Sequence[Design], usual: int = 0
    ) -> Design:
        """Join a chain and the designs of the parts that rows go to after its last stage.

        Examples
        --------
        >>> first = Design([0, -1], ("age", "scan"), thresholds=(0.9,))
        >>> more = Design([-1, 0], ("age", "scan"), thresholds=(0,))
        >>> nothing = Design.nothing(("age", "scan"), 0)
        >>> Design.branching(first, [Question("age", at_most=50)], [more, nothing])
        Design(age at 0.9 → {age ≤ 50: scan for all | age > 50: nothing more for all})
        """
        every = [trunk.thresholds, *(part.thresholds for part in parts)]
        thresholds = None
        if all(one is not None for one in every):
            thresholds = tuple(one for some in every for one in some or ())
        branch = Branch(tuple(questions), tuple(parts), usual)
        return cls(trunk.stages, trunk.names, thresholds, branch)

    @classmethod
    def everything(cls, names: Sequence[str]) -> Design:
        """Return the design of one stage that buys all features."""
        return cls(np.zeros(len(names), dtype=np.int16), tuple(names))

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
        return cls(np.full(len(names), NEVER), tuple(names), (threshold,))

    def with_thresholds(self, thresholds: Sequence[MinConfidence] | None) -> Design:
        """Return the same stages with other thresholds; None leaves them to the cascade.

        Examples
        --------
        >>> Design.everything(["age", "scan"]).with_thresholds([0.8]).thresholds
        (0.8,)
        """
        return replace(self, thresholds=None if thresholds is None else tuple(thresholds))

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
        return by_stage_and_class(self.thresholds_or(min_confidence), classes)

    @property
    def _n_trunk(self) -> int:
        """Number of stages before the first branch."""
        return max(1, int(self.stages.max()) + 1)

    @property
    def n_stages(self) -> int:
        """Number of stages, those of all parts included; 1 if nothing is bought."""
        return self._n_trunk + (self.branch.n_stages if self.branch is not None else 0)

    @property
    def is_chain(self) -> bool:
        """Whether all rows go through the same stages in the same order."""
        return self.branch is None

    @property
    def branches(self) -> dict[int, Branch]:
        """Branches by the number of the stage that they come after, counted from 0."""
        if self.branch is None:
            return {}
        branches = {self._n_trunk - 1: self.branch}
        for start, part in self.branch.placed(self._n_trunk):
            branches |= {start + stage: branch for stage, branch in part.branches.items()}
        return branches

    @property
    def before(self) -> tuple[int, ...]:
        """The stage before each stage, counted from 0; -1 for the first.

        Examples
        --------
        >>> Design([0, 1, 2], ("age", "scan", "blood")).before
        (-1, 0, 1)
        """
        before = list(range(-1, self._n_trunk - 1))
        for start, part in () if self.branch is None else self.branch.placed(self._n_trunk):
            before += [self._n_trunk - 1 if one < 0 else start + one for one in part.before]
        return tuple(before)

    @property
    def first_stages(self) -> StageArray:
        """The first stage that buys each feature, from 0; -1 if it is never bought.

        A design that branches may buy a feature at several stages. For a chain, these are `stages`.
        """
        known = self.subsets()
        first: StageArray = np.where(known.any(axis=0), known.argmax(axis=0), NEVER)
        return first.astype(np.int16)

    @property
    def chains(self) -> tuple[range, ...]:
        """Stages without a branch between them, in order; a chain has one such range.

        Examples
        --------
        >>> names = ("age", "scan")
        >>> parts = Design([-1, 0], names), Design.nothing(names, 0).with_thresholds(None)
        >>> trunk = Design([0, -1], names)
        >>> Design.branching(trunk, [Question("age", at_most=50)], parts).chains
        (range(0, 1), range(1, 2), range(2, 3))
        """
        chains = [range(self._n_trunk)]
        for start, part in () if self.branch is None else self.branch.placed(self._n_trunk):
            chains += [range(start + one.start, start + one.stop) for one in part.chains]
        return tuple(chains)

    def chain_from(self, stage: int) -> range:
        """Return the stages from one (from 0) up to the next branch."""
        return next(range(stage, chain.stop) for chain in self.chains if stage in chain)

    @property
    def leaves(self) -> tuple[int, ...]:
        """Stages after which there is no other, from 0: here rows are rejected."""
        branches = self.branches
        return tuple(chain[-1] for chain in self.chains if chain[-1] not in branches)

    @property
    def ways(self) -> tuple[str, ...]:
        """What holds for the rows that come to each stage, in words; "" if there is no other way.

        Examples
        --------
        >>> parts = Design([-1, 0], ("age", "scan")), Design.nothing(("age", "scan"), 0)
        >>> asked = Branch((Question("age", at_most=50),), parts)
        >>> Design([0, -1], ("age", "scan"), branch=asked).ways
        ('', 'age ≤ 50', 'age > 50')
        """
        ways = [""] * self.n_stages
        for stage, branch in self.branches.items():
            for way, (start, _) in zip(branch.ways, branch.placed(stage + 1), strict=True):
                ways[start] = way
        return tuple(ways)

    @property
    def usual_stages(self) -> tuple[int, ...]:
        """Stages, from 0, that rows go to whose value is missing or unknown at a branch."""
        return tuple(
            branch.placed(stage + 1)[branch.usual][0]
            for stage, branch in self.branches.items()
            if branch.asks_for_values
        )

    def path(self, stage: int) -> tuple[int, ...]:
        """Return the stages that a row has gone through once `stage` (from 0) has judged it."""
        before, path = self.before, [stage]
        while (last := before[path[-1]]) >= 0:
            path.append(last)
        return tuple(reversed(path))

    @property
    def buys_nothing(self) -> bool:
        """Whether no feature is bought, so that every row is decided at once and for nothing."""
        return bool((self.stages == NEVER).all())

    def features(self, stage: int) -> tuple[str, ...]:
        """Return the names of the features that `stage` (from 0) buys."""
        return self.buys[stage] if stage < self.n_stages else ()

    @property
    def buys(self) -> tuple[tuple[str, ...], ...]:
        """Names of the features that each stage buys.

        Stages before a branch come first, then those of each part in turn.
        """
        buys = [
            tuple(self.names[i] for i in np.flatnonzero(self.stages == j))
            for j in range(self._n_trunk)
        ]
        for part in () if self.branch is None else self.branch.parts:
            buys += part.buys
        return tuple(buys)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of the features that are never bought."""
        never = ~self.subsets().any(axis=0)
        return tuple(self.names[i] for i in np.flatnonzero(never))

    def subsets(self) -> BoolArray:
        """Return the features known after each stage, shape (n_stages, n_features)."""
        known: BoolArray = nested_subsets(self.stages[None], self._n_trunk)[0]
        if self.branch is None:
            return known
        return np.concatenate([known, *(known[-1] | one.subsets() for one in self.branch.parts)])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return the stage of each feature, counted from 0; -1 if it is never bought.

        A design that branches may buy a feature at several stages. It gives an array of shape
        (n_stages, n_features) that marks what each stage buys.
        """
        if self.branch is None:
            return np.array(self.stages, dtype=dtype, copy=copy)
        marks = [[name in bought for name in self.names] for bought in self.buys]
        return np.array(marks, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        """Compare two designs: features, the stages that buy them, thresholds and branches."""
        if not isinstance(other, Design):
            return NotImplemented
        same = self.names == other.names and self.thresholds == other.thresholds
        same = same and np.array_equal(self.stages, other.stages)
        return same and self.branch == other.branch

    def __hash__(self) -> int:
        """Return the same hash for equal designs."""
        thresholds = tuple(
            frozenset(one.items()) if isinstance(one, Mapping) else one
            for one in self.thresholds or ()
        )
        return hash((self.names, self.stages.tobytes(), thresholds, self.branch))

    def __repr__(self) -> str:
        """Show the features of each stage, in order, and thresholds if the stages differ."""
        return f"Design({self.arrows()})"

    def arrows(self) -> str:
        """Return the features of each stage, with arrows between stages, and those left out.

        Many that are left out are counted. Stages with different thresholds show these.
        """
        if self.buys_nothing:
            return self._nothing_in_words
        stages = [
            " ".join(filter(None, (", ".join(names) or "nothing more", self.threshold_in_words(j))))
            for j, names in enumerate(self.buys)
        ]
        bought, never = self.joined_by_arrows(stages), self.left_out
        if not never:
            return bought
        few = len(never) <= _FEW
        return f"{bought}; never {', '.join(never) if few else f'{len(never)} others'}"

    def joined_by_arrows(self, stages: Sequence[str], first: int = 0) -> str:
        """Join words about each stage, from `first` on, with the parts of a branch in braces."""
        chain = self.chain_from(first)
        steps = [stages[j] for j in chain]
        if (branch := self.branches.get(chain[-1])) is not None:
            starts = [start for start, _ in branch.placed(chain.stop)]
            parts = [
                f"{way}: {self.joined_by_arrows(stages, start)}"
                for way, start in zip(branch.ways, starts, strict=True)
            ]
            steps.append(f"{{{' | '.join(parts)}}}")
        return " → ".join(steps)

    @property
    def _nothing_in_words(self) -> str:
        """What a design does that buys nothing."""
        threshold = None if self.thresholds is None else self.thresholds[0]
        if threshold == 1:
            return "buys nothing, rejects everyone"
        if threshold is not None and answers_all(threshold):
            return "buys nothing, answers everyone"
        return "buys nothing"

    def threshold_in_words(self, stage: int) -> str:
        """Return "at" and the threshold of `stage` (from 0); nothing if all stages share it."""
        if self.thresholds is None or not differ(self.thresholds):
            return ""
        return at_in_words(self.thresholds[stage])


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
    parts : tuple of Design
        The stages that come next for the rows of each part: one part for each question, and one
        for the other rows. A part that buys nothing is one stage, which answers with what is
        bought already.
    usual : int
        Position of the part that most rows go to.
    """

    questions: tuple[Question, ...]
    parts: tuple[Design, ...]
    usual: int = 0

    def __post_init__(self) -> None:
        """Check that there is a part for each question, and one more."""
        n_questions, n_parts = len(self.questions), len(self.parts)
        if not 1 <= n_questions <= MOST_QUESTIONS:
            raise ParameterError(
                f"branch must have 1 to {MOST_QUESTIONS} questions, got {n_questions}."
            )
        if n_parts != n_questions + 1:
            raise ParameterError(
                f"branch must have {n_questions + 1} parts for {n_questions} questions, got "
                f"{n_parts}."
            )
        if not 0 <= self.usual < n_parts:
            raise ParameterError(
                f"usual must be a part from 0 to {n_parts - 1}, got {self.usual!r}."
            )

    @property
    def n_stages(self) -> int:
        """Number of stages of all parts."""
        return sum(part.n_stages for part in self.parts)

    @property
    def ways(self) -> tuple[str, ...]:
        """What holds for the rows of each part, in words.

        Where questions allow it, no row of another part fits these words.

        Examples
        --------
        >>> parts = (Design.nothing(("age",), 0),) * 3
        >>> Branch((Question("age", at_most=18), Question("age", at_most=65)), parts).ways
        ('age ≤ 18', '18 < age ≤ 65', 'age > 65')
        >>> Branch((Question("age", at_most=18), Question(None, among=("ill",))), parts).ways
        ('age ≤ 18', 'else likeliest class is ill', 'none of these')
        >>> Branch((Question("ward", among=("A",)), Question("ward", among=("B",))), parts).ways
        ('ward is A', 'ward is B', 'any other ward')
        """
        first, *others = self.questions
        limits = [one.at_most for one in self.questions if one.at_most is not None]
        same = all(one.column == first.column for one in others)
        if same and len(limits) == len(self.questions) and limits == sorted(limits):
            name, cuts = first.column or "confidence", [*map(cut_in_words, limits)]
            between = [f"{a} < {name} ≤ {b}" for a, b in pairwise(cuts)]
            return (str(first), *between, f"{name} > {cuts[-1]}")
        if first.is_about_missing and not others:
            return (str(first), f"{first.column} is not missing")
        values = [value for one in self.questions for value in one.among or ()]
        apart = same and all(one.among for one in self.questions)
        apart = apart and len({*values}) == len(values)
        last = f"any other {first.column or 'class'}" if apart else "none of these"
        return (str(first), *(f"{'' if apart else 'else '}{one}" for one in others), last)

    @property
    def asks_for_values(self) -> bool:
        """Whether it asks for a value that may be missing, which sends a row the usual way."""
        known: set[str] = set()  # columns whose missing values have gone another way already
        for question in self.questions:
            if question.is_about_missing and question.column is not None:
                known.add(question.column)
            elif question.column is not None and question.column not in known:
                return True
        return False

    def placed(self, first: int) -> list[tuple[int, Design]]:
        """Return the parts with the number of their first stage; that of the first is `first`."""
        sizes = [part.n_stages for part in self.parts]
        return list(zip(accumulate([first, *sizes[:-1]]), self.parts, strict=True))

    def with_thresholds(self, thresholds: StageThresholds | None) -> Branch:
        """Return the same parts with the thresholds of all their stages."""
        parts = []
        for start, part in self.placed(0):
            own = None if thresholds is None else thresholds[start : start + part.n_stages]
            # A part that has them stays: to make all of its parts again would take long.
            parts.append(part if part.thresholds == own else part.with_thresholds(own))
        return replace(self, parts=tuple(parts))
