"""The label engine: chains of subsets, grown by one subset at a time.

`emsco._kernels.labels` says what labels are, and why what is given up cannot matter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np

from emsco._base.typing import IntArray, WordArray
from emsco._kernels.labels import LABEL, Room, grow_chains, note_designs
from emsco.designs.chromosomes import NEVER
from emsco.designs.population import Designs
from emsco.errors import MemoryLimitError
from emsco.scoring.pareto import front_mask, tie_groups
from emsco.scoring.scores import Counts
from emsco.search.loop import Stop, StopReason
from emsco.search.subsets import Subsets

_TRIED_AT_ONCE = 4_000_000  # labels that a task tries, about
_TOO_MANY = "memory_limit was reached by {:,} kinds of chains; raise it, or lower max_stages"
_ROOM = 2**15  # labels and designs that a task has room for at first
_NONE = Designs.of(np.zeros((0, 1), np.int16))


class Stopped(Exception):  # noqa: N818 - a decision of the report, not an error
    """Raised by a report to end a search, which keeps what it has found."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, eq=False)
class LabelFront:
    """How far a search is; at its end, the non-dominated objective vectors of its designs too.

    Attributes
    ----------
    done : float
        Sizes of subsets that are done, with the share of the current one.
    n_settled : int
        Designs settled, one by one or many at once; for a proven front, the whole space.
    n_labels, n_tried : int
        Labels kept, and labels tried with a larger subset.
    designs : Designs
        The simplest design of each vector.
    n_tied : ndarray of shape (n_vectors,) or None
        Number of designs with this vector.
    stopped : StopReason or None
        Why the search stopped early; None for a whole front.
    """

    done: float = 0.0
    n_settled: int = 0
    n_labels: int = 0
    n_tried: int = 0
    designs: Designs = _NONE
    n_tied: IntArray | None = None
    stopped: StopReason | None = None


def front_of_chains(
    subsets: Subsets,
    known: Counts | None = None,
    memory_limit: int = 2**30,
    n_jobs: int = 1,
    report: Callable[[LabelFront], None] | None = None,
    last: Sequence[int] | None = None,
    width: int = 0,
) -> LabelFront:
    """Find the front of all designs made of some subsets, within the limits.

    Parameters
    ----------
    subsets : Subsets
    known : Counts, optional
        Designs scored before, by any search. Everything that they dominate is skipped, which saves
        time and never changes the result.
    memory_limit : int
        Bytes for labels.
    n_jobs : int
        Threads; the result does not depend on them.
    report : callable, optional
        Called after every part of the work. It may raise `Stopped`.
    last : tuple of int, optional
        Levels of the last stage; all that it may have by default.
    width : int
        Most labels of a subset, for a good front instead of a proven one; 0 for a proof.
    """
    engine = _Engine(subsets, known, memory_limit, n_jobs, last or subsets.last, width)
    stopped: StopReason | None = None
    try:
        with closing(engine.steps()) as steps:
            for reached in steps:
                if report:
                    report(reached)
    except Stopped as end:
        stopped = end.reason
    except MemoryLimitError as limit:
        stopped = StopReason(Stop.MEMORY_LIMIT, detail=str(limit))
    except KeyboardInterrupt:
        stopped = StopReason(Stop.INTERRUPTED)
    is_proof = subsets.is_whole and not width and stopped is None
    if is_proof and engine.reached.n_settled != subsets.space.size:
        raise RuntimeError(f"{engine.reached} is no proof of {subsets.space.size} designs.")
    best = engine.best()
    designs = engine.designs_of(best)
    return replace(engine.reached, designs=designs, n_tied=best.n_tied, stopped=stopped)


@dataclass(frozen=True, slots=True, eq=False)
class _Grown:
    """What one task has grown: labels of its subsets, designs that may be on the front, counts."""

    labels: Any
    rows: WordArray
    ends: IntArray
    designs: Any
    n_tried: int
    n_settled: int


class _Engine:
    """Grows chains into the subsets of one size after the other, in threads.

    Attributes
    ----------
    reached : LabelFront
        How far it is.
    """

    def __init__(
        self,
        subsets: Subsets,
        known: Counts | None,
        memory_limit: int,
        n_jobs: int,
        last: Sequence[int],
        width: int,
    ) -> None:
        self._subsets, self._n_jobs, self._width = subsets, n_jobs, width
        self._space = subsets.for_kernel(last, width)
        self._known = subsets.known(known)
        n_words = subsets.accepts.shape[2]
        self._most_labels = max(2, memory_limit // (LABEL.itemsize + 8 * n_words))
        n_labels = width * len(subsets.bought) + 1 if width else self._most_labels
        self._labels = _labels(n_labels)
        self._rows: WordArray = np.empty((n_labels, n_words), np.uint64)
        self._spans: IntArray = np.zeros((len(subsets.bought), 2), np.int64)
        # The first label is the empty chain: all rows are undecided, and nothing is spent.
        self._labels[0] = np.zeros((), LABEL)
        self._labels[0].n_open, self._labels[0].n_tied = subsets.n_rows, 1
        self._labels[0].allowed = np.inf
        self._rows[0] = ~np.uint64(0)
        self._spans[0, 1] = 1
        self._found = [_labels(0)]
        self.reached = LabelFront(n_labels=1)

    def steps(self) -> Generator[LabelFront, None, None]:
        """Grow chains, part by part, until all are known."""
        sizes = self._subsets.bought.sum(axis=1)
        first = self._subsets.space.first
        wanted = sizes > 0 if first is None else self._subsets.bought[:, first]
        for size in range(1, self._subsets.space.n_features + 1):
            places = np.flatnonzero(wanted & (sizes == size))
            if not len(places):
                continue
            tasks = np.array_split(places, self._n_tasks(size, len(places), sizes))
            for i, grown in enumerate(self._grow_all(tasks)):
                self._take(tasks[i], grown, size - 1 + (i + 1) / len(tasks))
                yield self.reached

    def best(self) -> Any:
        """Designs that no other one found beats, one for each vector: the simplest, all counted."""
        return _best_of(np.concatenate(self._found), self._subsets)

    def designs_of(self, best: Any) -> Designs:
        """Follow designs back to their first stages."""
        bought, n_levels = self._subsets.bought, self._subsets.accepts.shape[1]
        stages = np.full((len(best), bought.shape[1]), NEVER, dtype=np.int16)
        levels = np.zeros((len(best), int(best.stages.max(initial=1))), dtype=np.int64)
        for i, one in enumerate(best):
            stage, label = int(one.stages) - 1, one
            if one.tail >= 0:
                stages[i], levels[i, stage] = stage, one.tail
                stage -= 1
            while stage >= 0:
                subset, levels[i, stage] = divmod(int(label.element), n_levels)
                stages[i, bought[subset]] = stage
                label = self._labels[label.before]
                stage -= 1
        return Designs.of(stages, levels)

    def _n_tasks(self, size: int, n_places: int, sizes: IntArray) -> int:
        """Into how many tasks to divide the subsets of a size: some for each thread, none long."""
        if self._width:
            return 1
        n_features = self._subsets.space.n_features
        n_labels = np.bincount(sizes, self._spans[:, 1] - self._spans[:, 0])
        # A subset tries the labels of all its own subsets, as many as there are on average.
        tried = sum(n_labels[j] * comb(size, j) / comb(n_features, j) for j in range(size))
        return max(1, min(n_places, max(4 * self._n_jobs, int(n_places * tried / _TRIED_AT_ONCE))))

    def _grow_all(self, tasks: list[IntArray]) -> Generator[_Grown, None, None]:
        """Grow chains in threads; results come back in order."""
        if self._n_jobs == 1 or len(tasks) == 1:
            yield from map(self._grow, tasks)
            return
        with ThreadPoolExecutor(self._n_jobs, thread_name_prefix="emsco") as threads:
            # Only a few tasks ahead: their results wait in memory beside the labels.
            ahead: deque[Future[_Grown]] = deque()
            try:
                for i in range(len(tasks)):
                    for some in tasks[i + len(ahead) : i + 2 * self._n_jobs]:
                        ahead.append(threads.submit(self._grow, some))
                    yield ahead.popleft().result()
            finally:
                for future in ahead:
                    future.cancel()
                # A task that runs cannot be cancelled, and reads the labels.
                wait(ahead)

    def _grow(self, places: IntArray) -> _Grown:
        """Grow chains into some subsets of one size; where room runs out, it doubles."""
        n_words, n_room, done = self._rows.shape[1], _ROOM, 0
        fresh, rows = _labels(0), np.empty((0, n_words), np.uint64)
        designs, ends = _labels(0), np.zeros(len(places), np.int64)
        tally, known = np.zeros(3, np.int64), self._known.copy()
        while done < len(places):
            if n_room > max(_ROOM, 2 * self._most_labels):
                raise MemoryLimitError(_TOO_MANY.format(self.reached.n_labels))
            fresh, designs = _enlarged(fresh, n_room), _enlarged(designs, n_room)
            rows = np.concatenate([rows, np.empty((n_room - len(rows), n_words), np.uint64)])
            room = Room(
                fresh=fresh,
                rows=rows,
                designs=designs,
                heads=np.empty(256 + 8 * n_room, np.int64),
                after=np.empty(n_room, np.int64),
                tally=tally,
                blocked=np.zeros((2, n_words), np.uint64),
            )
            done = grow_chains(
                self._space, known, self._labels, self._rows, self._spans, places, done, ends, room
            )
            n_room *= 2
        n_designs, n_tried, n_settled = tally.tolist()
        best = _best_of(designs[:n_designs], self._subsets)
        return _Grown(fresh[: ends[-1]], rows[: ends[-1]], ends, best, n_tried, n_settled)

    def _take(self, places: IntArray, grown: _Grown, done: float) -> None:
        """Take what a task has grown, all of it or nothing."""
        reached = self.reached
        begin, end = reached.n_labels, reached.n_labels + len(grown.labels)
        if end > len(self._labels):
            raise MemoryLimitError(_TOO_MANY.format(begin))
        self._labels[begin:end], self._rows[begin:end] = grown.labels, grown.rows
        self._spans[places, 0] = begin + np.concatenate([[0], grown.ends[:-1]])
        self._spans[places, 1] = begin + grown.ends
        found = grown.designs
        accepted, wrong, spent = (np.array(found[name]) for name in ("accepted", "wrong", "spent"))
        note_designs(self._known, accepted, wrong, spent, self._subsets.shift)
        self._found.append(found)
        n_settled = reached.n_settled + grown.n_settled
        self.reached = LabelFront(done, n_settled, end, reached.n_tried + grown.n_tried)


def _labels(n: int) -> Any:
    """Make room for n labels or designs."""
    return np.empty(n, LABEL).view(np.recarray)


def _enlarged(labels: Any, n: int) -> Any:
    enlarged = _labels(n)
    enlarged[: len(labels)] = labels
    return enlarged


def _best_of(designs: Any, subsets: Subsets) -> Any:
    """Keep the designs that no other one beats, one for each vector: the simplest, all counted."""
    designs = designs[designs["spent"] <= subsets.most_spent]
    designs = designs[np.lexsort((designs["code"], designs["stages"]))].view(np.recarray)
    if not len(designs):
        return designs
    accepted, wrong = designs.accepted[:, None], designs.wrong[:, None]
    spent = designs.spent if subsets.slack else designs.spent.astype(np.int64)
    scores = Counts(subsets.n_rows, accepted, accepted - wrong, spent)
    front = np.flatnonzero(front_mask(scores))
    _, first, group = np.unique(tie_groups(scores[front]), return_index=True, return_inverse=True)
    best = designs[front[first]]
    best.n_tied = 0
    np.add.at(best.n_tied, group.reshape(-1), designs.n_tied[front])
    return best
