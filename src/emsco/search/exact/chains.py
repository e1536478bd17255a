"""Find the whole front of a space with one threshold: chains of subsets as labels, in threads.

`emsco._kernels.chains` explains labels.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from emsco._base.typing import AnyArray, FloatArray, IntArray, StageArray
from emsco._kernels.chains import NO_PLACE, NO_ROOM, Candidates, Labels, Room, Rules, extend_chains
from emsco.designs.chromosomes import NEVER
from emsco.errors import MemoryLimitError
from emsco.scoring.scores import Scores
from emsco.search.allowances import allowances, allowances_of_point, shift_of
from emsco.search.exact.proof import (
    ExactFront,
    ExactProgress,
    ExactReport,
    first_of_vectors,
    run_steps,
)
from emsco.search.exact.spaces import SingleThresholdSpace

Columns = TypeVar("Columns", Labels, Candidates)
_CHUNK = 4_000_000  # transitions of one task
_ROOM = 2**15
_TOO_MANY = "memory_limit was reached by {:,} kinds of chains; raise it, or lower max_stages"
_DTYPES = {
    **dict.fromkeys(("n_open", "accepted", "wrong", "stages"), np.int32),
    **dict.fromkeys(("spent", "allowed"), np.float64),
    "undecided": np.uint64,
}


def find_front(
    space: SingleThresholdSpace,
    known: Scores | None = None,
    memory_limit: int = 2**30,
    n_jobs: int = 1,
    report: ExactReport | None = None,
) -> ExactFront:
    """Find every non-dominated objective vector of a space, within its cost limits.

    Parameters
    ----------
    space : SingleThresholdSpace
    known : Scores, optional
        Designs scored before, by any search. Everything they dominate is skipped, which saves
        time and never changes the result.
    memory_limit : int
        Bytes for labels of chains.
    n_jobs : int
        Threads.
    report : callable, optional
        Called after every part of the work. It may raise `TimeLimitError`.
    """
    pool = ChainPool(space, memory_limit, n_jobs)
    stopped = run_steps(_grow_all(pool, known), report)
    best = pool.reduced_candidates()
    best = _rows(best, best.spent <= space.most_spent)
    front = ExactFront(
        designs=space.designs_of(best.code),
        n_tied=best.n_tied,
        n_settled=pool.n_settled,
        n_labels=pool.n_labels,
        n_transitions=pool.n_transitions,
        stopped=stopped,
    )
    # Where subsets are left out, the size of the space counts designs that cannot be made.
    if space.fitted is None:
        front.check_whole(space.design_space.size)
    return front


def _grow_all(pool: ChainPool, known: Scores | None) -> Iterator[ExactProgress]:
    """Grow chains into the subsets of one size after the other."""
    space = pool.space
    for size in pool.sizes:
        # The designs found so far rule out more chains of the next size.
        best = pool.reduced_candidates()
        allowed = allowances(
            space.n_rows, space.most_spent, best.accepted, best.wrong, best.spent, known
        )
        for share in pool.grow(size, allowed):
            yield ExactProgress(size - 1 + share, len(pool.sizes), pool.n_settled, pool.n_labels)


class ChainPool:
    """Grows chains of subsets and keeps those that may lead to the front, as labels.

    Parameters
    ----------
    space : SingleThresholdSpace
    memory_limit : int
        Bytes for labels.
    n_jobs : int
        Threads. The results do not depend on it.
    keep_all : bool
        Also keep chains that only the full set can follow, instead of only scoring them.

    Attributes
    ----------
    rules : Rules
        Numbers that hold for the whole search, in the form of the kernels.
    labels, n_labels, spans
        Columns of labels, labels in use, and the first and last label of each subset.
    candidates : list
        Designs that may be on the front.
    n_settled : int
        Designs settled so far, one by one or many at once.
    n_transitions : int
        Pairs of a label and a larger subset examined so far.
    """

    def __init__(
        self,
        space: SingleThresholdSpace,
        memory_limit: int,
        n_jobs: int = 1,
        keep_all: bool = False,
    ) -> None:
        # If stages cost something and the worst cost is limited, the number of stages matters to
        # what may follow, just as when the limit of stages can bind.
        stages_cost = space.evaluation > 0 and bool(np.isfinite(space.most_paid))
        self.space, max_stages = space, space.design_space.max_stages
        self.rules = Rules(
            n_rows=space.n_rows,
            max_stages=max_stages,
            tail=space.tail,
            evaluation=float(space.evaluation),
            most_paid=float(space.most_paid),
            binding=stages_cost or max_stages < space.n_features,
            slack=space.slack,
            shift=shift_of(space.n_rows),
            keep_all=keep_all,
        )
        size = sum(column.nbytes for column in _empty(Labels, 1, space.n_words))
        self.labels = _empty(Labels, max(1, memory_limit // size), space.n_words)
        self.n_labels = 1
        self.spans: IntArray = np.zeros((2**space.n_features, 2), dtype=np.int64)
        self.n_settled = space.tail
        self.n_transitions = 0
        # The empty chain is the first label; its tail, the one-stage design, is a candidate.
        arrays, labels = space.arrays, self.labels
        for column in labels:
            column[0] = 0
        labels.undecided[0] = arrays.reach[0]
        labels.n_open[0] = space.count(arrays.reach[0])
        labels.allowed[0] = np.inf
        labels.n_tied[0] = 1
        self.spans[0] = 0, 1
        paid = arrays.cost[-1] + self.rules.evaluation
        # There is one candidate where every design ends with the full set, and it may be too
        # expensive.
        one = _empty(Candidates, self.rules.tail if paid <= self.rules.most_paid else 0)
        rows = arrays.accepts[-1] & ~arrays.missing[arrays.missing_mask]
        one.accepted[:] = space.count(rows)
        one.wrong[:] = space.count(rows & arrays.errs[-1])
        one.spent[:] = paid * space.n_rows
        one.stages[:], one.n_tied[:], one.code[:] = 1, 1, 0
        self.candidates = [one]
        self._n_jobs = n_jobs
        self._workspaces: SimpleQueue[_Workspace] = SimpleQueue()
        for _ in range(n_jobs):
            self._workspaces.put(_Workspace(space.n_words))

    @property
    def sizes(self) -> range:
        """Sizes of the subsets that chains can grow into, in the order in which they must."""
        tail = self.space.tail
        # The full set is the tail that ends every design: no chain grows into it.
        largest = self.space.n_features - tail if self.rules.max_stages > tail else 0
        return range(1, largest + 1)

    def reduced_candidates(self) -> Candidates:
        """Keep the non-dominated candidates, one per objective vector, and return them."""
        if len(self.candidates) > 1:
            self.candidates = [_reduced(self.candidates, self.rules)]
        return self.candidates[0]

    def grow(self, size: int, allowances: FloatArray) -> Iterator[float]:
        """Grow all chains into the subsets of `size` features, and yield the share done.

        Grow all smaller sizes first. The subset before the last of a chain is smaller, and its
        labels must be complete, without any that a later one beats.

        A design with at most u 2ˢ accepted and at least v 2ˢ wrong rows may cost at most
        `allowances[u, v]`.
        """
        n_features, first = self.space.n_features, self.space.design_space.first
        every = np.arange(2**n_features)
        wanted = np.bitwise_count(every) == size
        if first is not None:
            wanted &= every >> first & 1 == 1
        if self.space.fitted is not None:
            wanted &= self.space.fitted
        sets = every[wanted]
        if not len(sets):  # none of this size is fitted
            return
        # Labels that each set must examine: summed over all its subsets, one feature at a time.
        counts = self.spans[:, 1] - self.spans[:, 0]
        for i in range(n_features):
            # Lines with and without feature i lie side by side in this view; the second gains the
            # first.
            pairs = counts.reshape(2 ** (n_features - 1 - i), 2, 2**i)
            pairs[:, 1] += pairs[:, 0]
        done = 0.0
        # Each set also looks for labels at all of its subsets, where there are none, too.
        for grown, share in self._grow_parts(sets, counts[sets] + 2**size, allowances):
            begin, n_new = self.n_labels, len(grown.labels.n_tied)
            # All or nothing: a task that does not fit leaves the pool as it was.
            if begin + n_new > len(self.labels.n_tied):
                raise MemoryLimitError(_TOO_MANY.format(self.n_labels))
            columns: Iterable[tuple[AnyArray, AnyArray]]
            columns = zip(self.labels, grown.labels, strict=True)
            for column, new in columns:
                column[begin : begin + n_new] = new
            stops = begin + grown.ends
            self.spans[grown.sets, 0] = np.concatenate([[begin], stops[:-1]])
            self.spans[grown.sets, 1] = stops
            self.n_labels += n_new
            self.n_settled += grown.n_settled
            self.n_transitions += grown.n_transitions
            self.candidates.append(grown.candidates)
            done += share
            yield done

    def _grow_parts(
        self, sets: IntArray, work: IntArray, allowances: FloatArray
    ) -> Iterator[tuple[_Grown, float]]:
        """Grow sets in threads, in tasks of equal work; results come back in order."""
        total = float(work.sum())
        # At least four tasks for each thread, so that none waits long for the last.
        share = min(_CHUNK, total / (4 * self._n_jobs))
        # A cut where the running sum of work passes a multiple of `share`.
        cuts = np.flatnonzero(np.diff((np.cumsum(work) / share).astype(np.int64))) + 1
        tasks = np.split(sets, cuts)
        shares = [float(part.sum()) / total for part in np.split(work, cuts)]

        def grow(some: IntArray) -> _Grown:
            workspace = self._workspaces.get()
            try:
                return workspace.grow(self, some, allowances)
            finally:
                self._workspaces.put(workspace)

        if self._n_jobs == 1 or len(tasks) == 1:
            yield from zip(map(grow, tasks), shares, strict=True)
            return
        with ThreadPoolExecutor(self._n_jobs, thread_name_prefix="emsco") as threads:
            # Only a few tasks ahead: their results wait in memory beside the labels.
            ahead: deque[Future[_Grown]] = deque()
            try:
                for i, part in enumerate(shares):
                    for some in tasks[i + len(ahead) : i + 2 * self._n_jobs]:
                        ahead.append(threads.submit(grow, some))
                    yield ahead.popleft().result(), part
            finally:
                for future in ahead:
                    future.cancel()
                # A task that runs cannot be cancelled, and reads the pool's arrays.
                wait(ahead)


@dataclass(frozen=True, slots=True, eq=False)
class _Grown:
    """The result of one task: labels of its sets, designs that may be on the front, counts."""

    sets: IntArray
    ends: IntArray
    labels: Labels
    candidates: Candidates
    n_transitions: int
    n_settled: int


class _Workspace:
    """Working memory of one thread; it doubles whenever it is full."""

    def __init__(self, n_words: int) -> None:
        self._n_words = n_words
        self._candidates = _empty(Candidates, _ROOM)
        self._fresh = _empty(Labels, 0, n_words)
        self._make_room(_ROOM)

    def grow(self, pool: ChainPool, sets: IntArray, allowances: FloatArray) -> _Grown:
        """Grow the pool's chains into each of the sets."""
        ends = np.zeros(len(sets), dtype=np.int64)
        tally = np.zeros(3, dtype=np.int64)
        scratch = np.zeros((6, self._n_words), dtype=np.uint64)
        n_done = 0
        while n_done < len(sets):
            room = Room(
                fresh=self._fresh,
                ends=ends,
                candidates=self._candidates,
                states=self._states,
                after=self._after,
                tally=tally,
                scratch=scratch,
            )
            n_done, lack = extend_chains(
                pool.rules,
                pool.space.arrays,
                allowances,
                pool.labels,
                pool.spans,
                sets,
                n_done,
                room,
            )
            if lack == NO_ROOM:
                # One task alone would need more labels than the pool may have.
                if len(self._fresh.n_tied) > len(pool.labels.n_tied):
                    raise MemoryLimitError(_TOO_MANY.format(pool.n_labels))
                self._make_room(2 * len(self._fresh.n_tied))
            elif lack == NO_PLACE:
                self._candidates = _enlarged(self._candidates, 2 * len(self._candidates.n_tied))
        n_candidates, n_transitions, n_settled = tally.tolist()
        return _Grown(
            sets=sets,
            ends=ends,
            labels=_rows(self._fresh, slice(ends[-1])),
            candidates=_reduced([_rows(self._candidates, slice(n_candidates))], pool.rules),
            n_transitions=n_transitions,
            n_settled=n_settled,
        )

    def _make_room(self, n_labels: int) -> None:
        self._fresh = _enlarged(self._fresh, n_labels, self._n_words)
        # Hash places: eight for each label keep chains of collisions short.
        self._states: IntArray = np.empty(max(256, 8 * n_labels), dtype=np.int64)
        self._after: IntArray = np.empty(n_labels, dtype=np.int64)


def _reduced(parts: list[Candidates], rules: Rules) -> Candidates:
    """Keep the non-dominated candidates, one per objective vector: the simplest, all counted."""
    every = Candidates._make(np.concatenate(column) for column in zip(*parts, strict=True))
    # Simplest first, as the first of each vector is kept.
    every = _rows(every, np.lexsort((every.code, every.stages)))
    first, n_tied = first_of_vectors(
        rules.n_rows, every.accepted, every.wrong, every.spent, rules.slack, every.n_tied
    )
    return _rows(every, first)._replace(n_tied=n_tied)


def _empty(kind: type[Columns], n: int, n_words: int = 0) -> Columns:
    """Make room for n labels or candidates."""
    room: dict[str, Any] = {
        name: np.empty(
            (n, n_words) if name == "undecided" else n, dtype=_DTYPES.get(name, np.int64)
        )
        for name in kind._fields
    }
    return kind(**room)


def _rows(columns: Columns, which: slice | AnyArray) -> Columns:
    """Copy some rows of labels or candidates."""
    return type(columns)._make(column[which].copy() for column in columns)


def _enlarged(columns: Columns, n: int, n_words: int = 0) -> Columns:
    """Copy labels or candidates into columns with room for n."""
    grown = _empty(type(columns), n, n_words)
    pairs: Iterable[tuple[AnyArray, AnyArray]] = zip(grown, columns, strict=True)
    for column, old in pairs:
        column[: len(old)] = old
    return grown


def tied_designs(
    space: SingleThresholdSpace, front: Scores, point: int, memory_limit: int
) -> Iterator[StageArray]:
    """Iterate over all designs with the objectives of a point of the front.

    Chains are grown forward, but only those that can still reach the objectives. Then each design
    is followed back, stage by stage, through labels that match exactly.
    """
    pool = ChainPool(space, memory_limit, keep_all=True)
    allowed = allowances_of_point(front, point, space.most_spent)
    for size in pool.sizes:
        for _ in pool.grow(size, allowed):
            pool.candidates.clear()
    yield from _WalkBack(pool, front, point).designs()


class _WalkBack:
    """Walks back from the objectives of a point through the chains that end in them."""

    def __init__(self, pool: ChainPool, front: Scores, point: int) -> None:
        self._space = pool.space
        self._accepted = int(front.accepted[point])
        self._wrong = self._accepted - int(front.correct[point])
        self._spent = float(front.spent[point])
        self._stages_matter = bool(pool.rules.binding)
        self._labels = Labels._make(column[: pool.n_labels] for column in pool.labels)
        lengths = pool.spans[:, 1] - pool.spans[:, 0]
        begins = np.argsort(pool.spans[:, 0] + (lengths == 0) * len(pool.labels.n_tied))
        self._subset = np.repeat(begins, lengths[begins])  # of each label

    def designs(self) -> Iterator[StageArray]:
        """Iterate over all designs with the objectives."""
        if self._space.tail:
            yield from self._before((len(self._space.accepts) - 1,), None)
            return
        labels = self._labels
        ends = (labels.accepted == self._accepted) & (labels.wrong == self._wrong)
        ends &= np.abs(labels.spent - self._spent) <= self._space.slack * self._spent
        ends[0] = False  # the empty chain is not a design
        for label in np.flatnonzero(ends).tolist():
            yield from self._before((int(self._subset[label]),), label)

    def _before(self, chain: tuple[int, ...], label: int | None) -> Iterator[StageArray]:
        """Designs whose last subsets are `chain`; `label` belongs to its first one.

        None is the label of the full set.
        """
        for earlier in self._predecessors(chain[0], label).tolist():
            if earlier == 0:  # the empty chain: a feature's stage is the first subset that has it
                known = np.array(chain)[:, None] >> np.arange(self._space.n_features) & 1
                stages: StageArray = np.where(known.any(axis=0), known.argmax(axis=0), NEVER)
                yield stages.astype(np.int16)
            else:
                yield from self._before((int(self._subset[earlier]), *chain), earlier)

    def _predecessors(self, subset: int, label: int | None) -> IntArray:
        """Labels from which one more stage leads exactly to this subset and label."""
        space, arrays, labels = self._space, self._space.arrays, self._labels
        step = arrays.cost[subset] - arrays.cost[self._subset] + space.evaluation
        spent = labels.spent + (space.n_rows - labels.accepted) * step
        wanted = self._spent if label is None else labels.spent[label]
        matches = (self._subset & ~subset == 0) & (self._subset != subset)
        matches &= np.abs(spent - wanted) <= space.slack * self._spent
        if label is not None and self._stages_matter:
            matches &= labels.stages + 1 == labels.stages[label]
        earlier = np.flatnonzero(matches)
        leaves = arrays.accepts[subset] & ~space.kept_from(subset ^ self._subset[earlier])
        leaving = labels.undecided[earlier] & leaves
        accepted = labels.accepted[earlier] + space.count(leaving)
        wrong = labels.wrong[earlier] + space.count(leaving & arrays.errs[subset])
        if label is None:
            same = (accepted == self._accepted) & (wrong == self._wrong)
        else:
            rows = labels.undecided[earlier] & ~leaves & arrays.reach[subset]
            same = (accepted == labels.accepted[label]) & (wrong == labels.wrong[label])
            same &= (rows == labels.undecided[label]).all(axis=1)
        fitting: IntArray = earlier[same]
        return fitting
