"""Find the whole front of a space whose stages have thresholds of their own, by a bounded walk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco._base.workers import Workers
from emsco._kernels.walk import Finds, Path, WalkRules, walk
from emsco.scoring.pareto import front_mask, tie_groups
from emsco.scoring.scores import Scores
from emsco.search.allowances import allowances
from emsco.search.exact.front import ExactFront, ExactProgress, TimeLimitError
from emsco.search.exact.terrain import Terrain
from emsco.search.loop import Stop, StopReason

_AT_ONCE = 16  # walks that take turns; designs found by one help all of them in the next round
_BUDGET = 2**16  # subsets that a walk tries in a round
_ROOM = 2**12  # designs found in a round of a walk


def walk_front(
    terrain: Terrain,
    known: Scores | None = None,
    n_jobs: int = 1,
    report: Callable[[ExactProgress], None] | None = None,
) -> ExactFront:
    """Find every non-dominated objective vector of a terrain, within its cost limits.

    Parameters
    ----------
    terrain : Terrain
    known : Scores, optional
        Designs scored before, by any search. Everything they dominate is skipped, which saves
        time and never changes the result.
    n_jobs : int
        Threads.
    report : callable, optional
        Called after every round of the work. It may raise `TimeLimitError`.
    """
    walks = _Walks(terrain, known, n_jobs)
    stopped: StopReason | None = None
    try:
        while walks.go_on():
            if report:
                report(walks.progress)
    except TimeLimitError as limit:
        stopped = StopReason(Stop.TIME_LIMIT, seconds=limit.seconds)
    except KeyboardInterrupt:
        stopped = StopReason(Stop.INTERRUPTED)
    # Each design is settled once: it is scored, or part of a chain that was given up.
    if stopped is None and walks.n_settled != terrain.design_space.size:
        raise RuntimeError(f"{walks.n_settled} of {terrain.design_space.size} designs are settled.")
    return ExactFront(
        designs=walks.found.designs(terrain),
        n_tied=walks.found.n_tied,
        n_settled=walks.n_settled,
        n_labels=0,
        n_transitions=walks.n_tried,
        stopped=stopped,
    )


@dataclass(frozen=True, slots=True, eq=False)
class TerrainTies:
    """Finds every design with the objectives of a point, when you ask for them.

    Parameters
    ----------
    terrain : Terrain
    designs, scores, n_tied
        The simplest design of each point, its scores, and the number of designs that tie.
    """

    terrain: Terrain
    designs: StageArray
    scores: Scores
    n_tied: IntArray

    def __call__(self, point: int) -> Iterator[StageArray]:
        """Iterate over the designs that tie with the point at a position, the simplest first."""
        simplest = self.designs[point]
        yield simplest
        if self.n_tied[point] > 1:
            same = simplest.tobytes()
            yield from (design for design in self._all(point) if design.tobytes() != same)

    def _all(self, point: int) -> Iterator[StageArray]:
        """Walk again, but only where a chain can still end in the objectives of the point."""
        rules, front = self.terrain.rules(apart=True), self.scores
        accepted, spent = int(front.accepted[point]), float(front.spent[point])
        wrong = accepted - int(front.correct[point])
        known = _Found.nothing().allowances(self.terrain, front)
        lines = np.arange(len(known)) << rules.shift
        matches = (lines[:, None] >= accepted) & (lines <= wrong)
        known = np.where(matches, np.minimum(known, spent), -np.inf)
        every = _Walk(self.terrain, self.terrain.first_subsets().tolist())
        while not every.is_over:
            found = every.go_on(rules, known).found
            same = (found.accepted == accepted) & (found.wrong == wrong)
            same &= np.abs(found.spent - spent) <= self.terrain.slack * spent
            yield from found.some(np.flatnonzero(same)).designs(self.terrain)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Objectives of designs, the simplest design of each, and the number of them."""

    numbers: IntArray  # see `Finds`
    spent: FloatArray

    @classmethod
    def nothing(cls) -> Self:
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

    def vectors(self) -> dict[tuple[float, ...], None]:
        """Objectives, in order."""
        columns = self.accepted.tolist(), self.wrong.tolist(), self.spent.tolist()
        return dict.fromkeys(zip(*columns, strict=True))

    def some(self, which: IntArray) -> _Found:
        return _Found(self.numbers[which], self.spent[which])

    def designs(self, terrain: Terrain) -> StageArray:
        return terrain.designs_of(self.numbers[:, 4], self.numbers[:, 5])

    def with_others(self, others: list[_Found], terrain: Terrain) -> _Found:
        """Join with others: one design per non-dominated vector, the simplest, all counted."""
        numbers = np.concatenate([self.numbers, *(one.numbers for one in others)])
        spent = np.concatenate([self.spent, *(one.spent for one in others)])
        within = np.flatnonzero(spent <= terrain.most_spent)
        order = within[np.lexsort(numbers[within][:, [5, 4, 2]].T)]
        if not len(order):
            return _Found.nothing()
        joined = _Found(numbers[order], spent[order])
        scores = joined._scores(terrain)
        kept = np.flatnonzero(front_mask(scores))
        groups = tie_groups(scores[kept])
        _, first, group = np.unique(groups, return_index=True, return_inverse=True)
        n_tied = np.zeros(len(first), dtype=np.int64)
        np.add.at(n_tied, group.reshape(-1), joined.n_tied[kept])
        best = joined.some(kept[first])
        best.numbers[:, 3] = n_tied
        return best

    def _scores(self, terrain: Terrain) -> Scores:
        spent = self.spent if terrain.slack else self.spent.astype(np.int64)
        correct = self.accepted - self.wrong
        return Scores(terrain.n_rows, self.accepted[:, None], correct[:, None], spent)

    def allowances(self, terrain: Terrain, known: Scores | None = None) -> FloatArray:
        """Most that designs may cost, given these and the scores known before."""
        accepted, wrong, spent = self.accepted, self.wrong, self.spent
        if known is not None:
            known = known[known.feasible]
            accepted = np.concatenate([accepted, known.accepted])
            wrong = np.concatenate([wrong, known.accepted - known.correct])
            spent = np.concatenate([spent, known.spent])
        shift = terrain.rules(apart=False).shift
        return allowances(terrain.n_rows, shift, terrain.most_spent, accepted, wrong, spent)


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """What one walk did in one round."""

    found: _Found
    n_tried: int
    n_settled: int


class _Walk:
    """The walk through all chains with some first subsets; it pauses after every round."""

    def __init__(self, terrain: Terrain, firsts: list[int]) -> None:
        n_lines, n_words = terrain.design_space.deepest + 1, terrain.n_words
        self._terrain = terrain
        self._firsts = firsts[::-1]
        self._path = Path(
            numbers=np.zeros((n_lines, 8), dtype=np.int64),
            amounts=np.zeros((n_lines, 3)),
            tried=np.zeros(n_lines, dtype=np.int64),
            undecided=np.zeros((n_lines, n_words), dtype=np.uint64),
            blocked=np.zeros((n_lines, n_words), dtype=np.uint64),
            counts=np.zeros((n_lines, 2 * terrain.n_levels), dtype=np.uint64),
            at=np.full(1, -1),
        )
        self._path.amounts[0, 1] = np.inf
        self._path.undecided[0] = terrain.ground.bounds[0, :, 0]

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of the walk."""
        return not self._firsts and bool(self._path.at[0] < 0)

    def go_on(self, rules: WalkRules, known: FloatArray) -> _Round:
        """Walk for a round; designs that cost more than `known` allows are left out."""
        terrain = self._terrain
        room = _ROOM + terrain.n_levels
        finds = Finds(
            numbers=np.empty((room, 6), dtype=np.int64),
            spent=np.empty(room),
            slots=np.full(2 << room.bit_length(), -1, dtype=np.int64),
            tally=np.zeros(3, dtype=np.int64),
        )
        n_choices = len(terrain.early), len(terrain.last)
        while finds.tally[0] < _ROOM and finds.tally[1] < _BUDGET and not self.is_over:
            if self._path.at[0] < 0:
                self._path.numbers[0] = 0, self._firsts.pop(), terrain.n_levels, 0, 0, 1, 0, 0
                self._path.at[0] = 0
            walk(rules, terrain.ground, known, self._path, finds, *n_choices, _BUDGET)
        n_found, n_tried, n_settled = finds.tally.tolist()
        found = _Found(finds.numbers[:n_found], finds.spent[:n_found])
        return _Round(found, n_tried, n_settled)


class _Walks:
    """Walks from all first subsets, some at a time, and the front that they have found so far.

    Rounds do not depend on the number of threads, and neither do the results.
    """

    def __init__(self, terrain: Terrain, known: Scores | None, n_jobs: int) -> None:
        self._terrain = terrain
        self._rules = terrain.rules(apart=False)
        firsts = terrain.first_subsets().tolist()
        self._active = [_Walk(terrain, firsts[i::_AT_ONCE]) for i in range(_AT_ONCE)]
        self._workers = Workers(n_jobs)
        self.found = _Found.nothing()
        self.n_settled = self.n_tried = 0
        self._allowances = self.found.allowances(terrain, known)

    @property
    def progress(self) -> ExactProgress:
        """How far the walks have come, by the share of designs settled."""
        share = self.n_settled / self._terrain.design_space.size
        return ExactProgress(100 * share, 100, self.n_settled, 0)

    def go_on(self) -> bool:
        """Walk for a round; False if nothing was left."""
        self._active = [one for one in self._active if not one.is_over]
        if not self._active:
            return False
        rounds: list[_Round] = [_Round(self.found, 0, 0)] * len(self._active)

        def go_on(i: int) -> None:
            rounds[i] = self._active[i].go_on(self._rules, self._allowances)

        self._workers.run(go_on, range(len(rounds)))
        self._take(rounds)
        return True

    def _take(self, rounds: list[_Round]) -> None:
        """Join what the walks of a round have found."""
        self.n_tried += sum(one.n_tried for one in rounds)
        self.n_settled += sum(one.n_settled for one in rounds)
        if not any(len(one.found.spent) for one in rounds):
            return
        before = self.found.vectors()
        self.found = self.found.with_others([one.found for one in rounds], self._terrain)
        new = [i for i, vector in enumerate(self.found.vectors()) if vector not in before]
        fresh = self.found.some(np.array(new, dtype=np.int64)).allowances(self._terrain)
        self._allowances = np.minimum(self._allowances, fresh)
