"""Find the whole front of a space whose stages have thresholds of their own, by a bounded walk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco._base.workers import Workers
from emsco._kernels.walk import Finds, Path, WalkRules, walk
from emsco.scoring.scores import Scores
from emsco.search.allowances import allowances, allowances_of_point, shift_of
from emsco.search.exact.proof import (
    ExactFront,
    ExactProgress,
    ExactReport,
    first_of_vectors,
    run_steps,
)
from emsco.search.exact.spaces import ThresholdSpace

_AT_ONCE = 16  # walks that take turns; designs found by one help all of them in the next round
_BUDGET = 2**16  # subsets that a walk tries in a round
_ROOM = 2**12  # designs found in a round of a walk


def walk_front(
    space: ThresholdSpace,
    known: Scores | None = None,
    n_jobs: int = 1,
    report: ExactReport | None = None,
) -> ExactFront:
    """Find every non-dominated objective vector of a space, within its cost limits.

    Parameters
    ----------
    space : ThresholdSpace
    known : Scores, optional
        Designs scored before, by any search. Everything they dominate is skipped, which saves
        time and never changes the result.
    n_jobs : int
        Threads.
    report : callable, optional
        Called after every round of the work. It may raise `TimeLimitError`.
    """
    walks = _Walks(space, known, n_jobs)
    stopped = run_steps(walks.rounds(), report)
    front = ExactFront(
        designs=walks.vectors.designs(space),
        n_tied=walks.vectors.n_tied,
        n_settled=walks.n_settled,
        n_labels=0,
        n_transitions=walks.n_tried,
        stopped=stopped,
    )
    front.check_whole(space.design_space.size)
    return front


def tied_designs(
    space: ThresholdSpace, front: Scores, point: int, _memory_limit: int
) -> Iterator[StageArray]:
    """Iterate over all designs with the objectives of a point of the front.

    It walks again, but only where a chain can still end in these objectives.
    """
    accepted, spent = int(front.accepted[point]), float(front.spent[point])
    wrong = accepted - int(front.correct[point])
    allowed = allowances_of_point(front, point, space.most_spent)
    # With `apart`, because ties that share a vector must be told apart here.
    walk_of_all = _Walk(space, space.first_subsets().tolist(), apart=True)
    while not walk_of_all.is_over:
        vectors = walk_of_all.go_on(allowed).vectors
        same = (vectors.accepted == accepted) & (vectors.wrong == wrong)
        same &= np.abs(vectors.spent - spent) <= space.slack * spent
        yield from vectors.some(np.flatnonzero(same)).designs(space)


@dataclass(frozen=True, slots=True, eq=False)
class _Vectors:
    """Objective vectors, the simplest design of each, and the number of designs that have it."""

    numbers: IntArray  # see `Finds`
    spent: FloatArray

    @classmethod
    def none(cls) -> Self:
        return cls(np.zeros((0, 6), dtype=np.int64), np.zeros(0))

    @property
    def accepted(self) -> IntArray:
        return self.numbers[:, 0]

    @property
    def wrong(self) -> IntArray:
        return self.numbers[:, 1]

    @property
    def n_tied(self) -> IntArray:
        return self.numbers[:, 3]

    def some(self, which: IntArray) -> _Vectors:
        return _Vectors(self.numbers[which], self.spent[which])

    def designs(self, space: ThresholdSpace) -> StageArray:
        return space.designs_of(self.numbers[:, 4], self.numbers[:, 5])

    def merged(self, others: list[_Vectors], space: ThresholdSpace) -> _Vectors:
        """Join with others: one design per non-dominated vector, the simplest, all counted."""
        numbers = np.concatenate([self.numbers, *(one.numbers for one in others)])
        spent = np.concatenate([self.spent, *(one.spent for one in others)])
        within = np.flatnonzero(spent <= space.most_spent)
        # Simplest first (fewest stages, then the lower numbers), so that the first design of a
        # vector is the simplest one that has it.
        every = _Vectors(numbers, spent).some(within[np.lexsort(numbers[within][:, [5, 4, 2]].T)])
        first, n_tied = first_of_vectors(
            space.n_rows, every.accepted, every.wrong, every.spent, space.slack, every.n_tied
        )
        best = every.some(first)
        best.numbers[:, 3] = n_tied
        return best

    def without(self, others: _Vectors) -> _Vectors:
        """Leave out the vectors that others have, too."""
        had = set(others._tuples())
        new = [i for i, vector in enumerate(self._tuples()) if vector not in had]
        return self.some(np.array(new, dtype=np.int64))

    def _tuples(self) -> list[tuple[int, int, float]]:
        columns = self.accepted.tolist(), self.wrong.tolist(), self.spent.tolist()
        return list(zip(*columns, strict=True))

    def allowances(self, space: ThresholdSpace, known: Scores | None = None) -> FloatArray:
        """Most that designs may cost, given these and the scores known before."""
        return allowances(
            space.n_rows, space.most_spent, self.accepted, self.wrong, self.spent, known
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """What one walk did in one round."""

    vectors: _Vectors
    n_tried: int
    n_settled: int


class _Walk:
    """The walk through all chains with some first subsets; it pauses after every round.

    With `apart`, every design is a vector of its own, however many have the same objectives.
    """

    def __init__(self, space: ThresholdSpace, firsts: list[int], *, apart: bool = False) -> None:
        n_lines, n_words = space.design_space.deepest + 1, space.n_words
        self._space = space
        # Reversed, as they are popped from the end: the most work comes first.
        self._firsts = firsts[::-1]
        self._rules = WalkRules(
            n_rows=space.n_rows,
            max_stages=space.design_space.deepest,
            may_stop=space.design_space.allow_exclusion,
            evaluation=float(space.evaluation),
            most_paid=float(space.most_paid),
            slack=space.slack,
            shift=shift_of(space.n_rows),
            apart=apart,
        )
        self._path = Path(
            numbers=np.zeros((n_lines, 8), dtype=np.int64),
            amounts=np.zeros((n_lines, 3)),
            tried=np.zeros(n_lines, dtype=np.int64),
            undecided=np.zeros((n_lines, n_words), dtype=np.uint64),
            blocked=np.zeros((n_lines, n_words), dtype=np.uint64),
            counts=np.zeros((n_lines, 2 * space.n_levels), dtype=np.int64),
            at=np.full(1, -1),
        )
        # Nothing bounds the cost before the first stage.
        self._path.amounts[0, 1] = np.inf
        self._path.undecided[0] = space.arrays.bounds[0, :, 0]

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of the walk."""
        return not self._firsts and bool(self._path.at[0] < 0)

    def go_on(self, allowed: FloatArray) -> _Round:
        """Walk for a round; designs that cost more than is allowed are left out."""
        space, path = self._space, self._path
        room = _ROOM + space.n_levels
        finds = Finds(
            numbers=np.empty((room, 6), dtype=np.int64),
            spent=np.empty(room),
            # An open-addressing table at most half full, so that lookups stay short.
            slots=np.full(2 << room.bit_length(), -1, dtype=np.int64),
            tally=np.zeros(3, dtype=np.int64),
        )
        n_early, n_last = len(space.early), len(space.last)
        while finds.tally[0] < _ROOM and finds.tally[1] < _BUDGET and not self.is_over:
            if path.at[0] < 0:
                # The path is empty: begin with the next first subset, of which one design is under
                # way.
                path.numbers[0] = 0, self._firsts.pop(), space.n_levels, 0, 0, 1, 0, 0
                path.at[0] = 0
            walk(self._rules, space.arrays, allowed, path, finds, n_early, n_last, _BUDGET)
        n_found, n_tried, n_settled = finds.tally.tolist()
        return _Round(_Vectors(finds.numbers[:n_found], finds.spent[:n_found]), n_tried, n_settled)


class _Walks:
    """Walks from all first subsets, some at a time, and the front that they have found so far.

    Rounds do not depend on the number of threads, and neither do the results.
    """

    def __init__(self, space: ThresholdSpace, known: Scores | None, n_jobs: int) -> None:
        self._space = space
        firsts = space.first_subsets().tolist()
        # Dealt out like cards, as the first subsets are sorted by work.
        self._walks = [_Walk(space, firsts[i::_AT_ONCE]) for i in range(_AT_ONCE)]
        self._workers = Workers(n_jobs)
        self.vectors = _Vectors.none()
        self.n_settled = self.n_tried = 0
        self._allowed = self.vectors.allowances(space, known)

    def rounds(self) -> Iterator[ExactProgress]:
        """Walk round after round, to the end."""
        while active := [one for one in self._walks if not one.is_over]:
            rounds = self._workers.map(lambda one: one.go_on(self._allowed), active)
            self.n_tried += sum(one.n_tried for one in rounds)
            self.n_settled += sum(one.n_settled for one in rounds)
            if any(len(one.vectors.spent) for one in rounds):
                before = self.vectors
                self.vectors = before.merged([one.vectors for one in rounds], self._space)
                # Only new vectors tighten the allowances. All walks of a round see the same ones,
                # so that the number of threads changes nothing.
                fresh = self.vectors.without(before).allowances(self._space)
                self._allowed = np.minimum(self._allowed, fresh)
            share = self.n_settled / self._space.design_space.size
            yield ExactProgress(100 * share, 100, self.n_settled, 0, self.n_tried)
