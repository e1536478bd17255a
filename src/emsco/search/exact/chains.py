"""Chains of subsets as labels, grown from small subsets to large ones in threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco._kernels.chains import NO_PLACE, NO_ROOM, Candidates, Labels, Rules, Space, extend_chains
from emsco.errors import MemoryLimitError
from emsco.scoring.pareto import front_mask, tie_groups
from emsco.scoring.scores import Scores
from emsco.search.allowances import Counts, allowances, shift_of
from emsco.search.exact.landscape import Landscape

Columns = TypeVar("Columns", Labels, Candidates)
_CHUNK = 4_000_000  # transitions of one task
_ROOM = 2**15
_TOO_MANY = "memory_limit was reached by {:,} kinds of chains; raise it, or lower max_stages"
_DTYPES = {
    **dict.fromkeys(("n_open", "accepted", "wrong", "stages"), np.int32),
    **dict.fromkeys(("spent", "allowed"), np.float64),
    "undecided": np.uint64,
}


class ChainPool:
    """Grows chains of subsets and keeps those that may lead to the front, as labels.

    `emsco._kernels.chains` explains labels.

    Parameters
    ----------
    landscape : Landscape
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
        Designs that may be on the front, since the list was last emptied.
    n_settled : int
        Designs settled so far, one by one or many at once.
    n_transitions : int
        Pairs of a label and a larger subset examined so far.
    """

    def __init__(
        self, landscape: Landscape, memory_limit: int, n_jobs: int = 1, keep_all: bool = False
    ) -> None:
        n_words = landscape.accepts.shape[1]
        self._landscape = landscape
        self._n_jobs = n_jobs
        self.rules = Rules(
            n_rows=landscape.n_rows,
            max_stages=landscape.max_stages,
            tail=landscape.tail,
            evaluation=float(landscape.evaluation),
            most_paid=float(landscape.most_paid),
            binding=self._binding(),
            slack=landscape.slack,
            shift=shift_of(landscape.n_rows),
            keep_all=keep_all,
        )
        size = sum(column.nbytes for column in _empty(Labels, 1, n_words))
        self.labels = _empty(Labels, max(1, memory_limit // size), n_words)
        self.n_labels = 1
        self.spans: IntArray = np.zeros((2**landscape.n_features, 2), dtype=np.int64)
        self.n_settled = landscape.tail
        self.n_transitions = 0
        self.candidates = [self._plant()]
        self._workspaces: SimpleQueue[_Workspace] = SimpleQueue()
        for _ in range(n_jobs):
            self._workspaces.put(_Workspace(n_words))

    @property
    def shift(self) -> int:
        """Allowances have a line and a column for every 2 ** shift rows."""
        return int(self.rules.shift)

    def _binding(self) -> bool:
        """Whether the number of stages can matter before a chain runs out of features."""
        landscape = self._landscape
        stages_cost = landscape.evaluation > 0 and bool(np.isfinite(landscape.most_paid))
        return stages_cost or landscape.max_stages < landscape.n_features

    def _plant(self) -> Candidates:
        """Set the empty chain as the first label; return its tail, the one-stage design."""
        space, labels = self._landscape.space, self.labels
        for column in labels:
            column[0] = 0
        labels.undecided[0] = space.reach[0]
        labels.n_open[0] = self._landscape.count(space.reach[0])
        labels.allowed[0] = np.inf
        labels.n_tied[0] = 1
        self.spans[0] = 0, 1
        paid = space.cost[-1] + self.rules.evaluation
        one = _empty(Candidates, self.rules.tail if paid <= self.rules.most_paid else 0)
        rows = space.accepts[-1] & ~space.missing[space.missing_mask]
        one.accepted[:] = self._landscape.count(rows)
        one.wrong[:] = self._landscape.count(rows & space.errs[-1])
        one.spent[:] = paid * self._landscape.n_rows
        one.stages[:], one.n_tied[:], one.code[:] = 1, 1, 0
        return one

    def allowances(self, accepted: Counts, wrong: Counts, spent: Counts | FloatArray) -> FloatArray:
        """Most that designs may cost, given these ones and the cost limit of the landscape."""
        limits = self._landscape.n_rows, self.shift, self._landscape.most_spent
        return allowances(*limits, accepted, wrong, spent)

    def grow(self, size: int, allowances: FloatArray) -> Iterator[float]:
        """Grow all chains into the subsets of `size` features, and yield the share done.

        Grow all smaller sizes first. The subset before the last of a chain is smaller, and its
        labels must be complete, without any that a later one beats.

        A design with at most u 2ˢ accepted and at least v 2ˢ wrong rows may cost at most
        `allowances[u, v]`.
        """
        sets, work = self._sets(size)
        if not len(sets):  # none of this size is fitted
            return
        done = 0.0
        for grown, share in self._grow_parts(sets, work, allowances):
            self._take(grown)
            done += share
            yield done

    def _sets(self, size: int) -> tuple[IntArray, IntArray]:
        """Subsets of a size, and the number of labels and subsets that each must examine."""
        n_features = self._landscape.n_features
        counts = self.spans[:, 1] - self.spans[:, 0]
        # Sum over all subsets of each subset, one feature at a time.
        for i in range(n_features):
            pairs = counts.reshape(2 ** (n_features - 1 - i), 2, 2**i)
            pairs[:, 1] += pairs[:, 0]
        every = np.arange(2**n_features)
        first = self._landscape.design_space.first
        needed = 0 if first is None else 1 << first
        wanted = (np.bitwise_count(every) == size) & (every & needed == needed)
        if self._landscape.fitted is not None:
            wanted &= self._landscape.fitted
        sets = every[wanted]
        return sets, counts[sets] + 2**size

    def _grow_parts(
        self, sets: IntArray, work: IntArray, allowances: FloatArray
    ) -> Iterator[tuple[_Grown, float]]:
        """Grow sets in threads, in tasks of equal work; results come back in order."""
        total = float(work.sum())
        share = min(_CHUNK, total / (4 * self._n_jobs))
        cuts = np.flatnonzero(np.diff((np.cumsum(work) / share).astype(np.int64))) + 1
        tasks = np.split(sets, cuts)
        shares = [float(part.sum()) / total for part in np.split(work, cuts)]

        def grow(some: IntArray) -> _Grown:
            workspace = self._workspaces.get()
            try:
                return workspace.grow(self, self.rules, self._landscape.space, allowances, some)
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
                wait(ahead)

    def _take(self, grown: _Grown) -> None:
        """Keep the labels and candidates of a task."""
        begin, n_new = self.n_labels, len(grown.labels.n_tied)
        if begin + n_new > len(self.labels.n_tied):
            raise MemoryLimitError(_TOO_MANY.format(self.n_labels))
        pairs: Iterable[tuple[AnyArray, AnyArray]] = zip(self.labels, grown.labels, strict=True)
        for column, new in pairs:
            column[begin : begin + n_new] = new
        stops = begin + grown.ends
        self.spans[grown.sets, 0] = np.concatenate([[begin], stops[:-1]])
        self.spans[grown.sets, 1] = stops
        self.n_labels += n_new
        self.n_settled += grown.n_settled
        self.n_transitions += grown.n_transitions
        self.candidates.append(grown.candidates)


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

    def grow(
        self, pool: ChainPool, rules: Rules, space: Space, allowances: FloatArray, sets: IntArray
    ) -> _Grown:
        """Grow the pool's chains into each of the sets."""
        ends = np.zeros(len(sets), dtype=np.int64)
        tally = np.zeros(3, dtype=np.int64)
        scratch = np.zeros((6, self._n_words), dtype=np.uint64)
        at = 0
        while at < len(sets):
            at, lack = extend_chains(
                rules, space, allowances, pool.labels, pool.spans, sets, at, self._fresh, ends,
                self._candidates, self._index, self._after, tally, scratch,
            )  # fmt: skip
            if lack == NO_ROOM:
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
            candidates=reduced([_rows(self._candidates, slice(n_candidates))], rules),
            n_transitions=n_transitions,
            n_settled=n_settled,
        )

    def _make_room(self, n_labels: int) -> None:
        self._fresh = _enlarged(self._fresh, n_labels, self._n_words)
        self._index: IntArray = np.empty(max(256, 8 * n_labels), dtype=np.int64)
        self._after: IntArray = np.empty(n_labels, dtype=np.int64)


def _empty(kind: type[Columns], n: int, n_words: int = 0) -> Columns:
    """Make room for n labels or candidates."""
    room: dict[str, Any] = {
        name: np.empty(
            (n, n_words) if name == "undecided" else n, dtype=_DTYPES.get(name, np.int64)
        )
        for name in kind._fields
    }
    return kind(**room)


def reduced(parts: list[Candidates], rules: Rules) -> Candidates:
    """Keep the non-dominated candidates, one per objective vector: the simplest, all counted."""
    found = Candidates._make(np.concatenate(column) for column in zip(*parts, strict=True))
    if not len(found.n_tied):
        return found
    found = _rows(found, np.lexsort((found.code, found.stages)))
    accepted = found.accepted.astype(np.int64)
    correct = accepted - found.wrong
    spent = found.spent if rules.slack else found.spent.astype(np.int64)
    scores = Scores(rules.n_rows, accepted[:, None], correct[:, None], spent)
    kept = np.flatnonzero(front_mask(scores))
    found = _rows(found, kept)
    _, first, group = np.unique(tie_groups(scores[kept]), return_index=True, return_inverse=True)
    n_tied = np.zeros(len(first), dtype=np.int64)
    np.add.at(n_tied, group.reshape(-1), found.n_tied)
    return _rows(found, first)._replace(n_tied=n_tied)


def _rows(columns: Columns, which: slice | IntArray) -> Columns:
    """Copy some rows of labels or candidates."""
    return type(columns)._make(column[which].copy() for column in columns)


def _enlarged(columns: Columns, n: int, n_words: int = 0) -> Columns:
    """Copy labels or candidates into columns with room for n."""
    grown = _empty(type(columns), n, n_words)
    pairs: Iterable[tuple[AnyArray, AnyArray]] = zip(grown, columns, strict=True)
    for column, old in pairs:
        column[: len(old)] = old
    return grown
