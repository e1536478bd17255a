"""The whole front: every non-dominated objective vector of a space, proven, with its ties."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np

from emsco._typing import FloatArray, IntArray, StageArray
from emsco.kernels import load
from emsco.pareto import front_mask, tie_groups
from emsco.scoring import Scores
from emsco.search.landscape import Landscape

__all__ = ["ExactFront", "ExactProgress", "OutOfTime", "find_front"]

_LINES = 1024  # most lines of the table of allowances
_CHUNK = 4_000_000  # transitions of one task
_ROOM = 2**15
_INTEGERS = {"n_open": np.int32, "accepted": np.int32, "wrong": np.int32, "stages": np.int32}


class OutOfTime(Exception):
    """Raised by a report to end the search with what is known."""


@dataclass(frozen=True, slots=True)
class ExactProgress:
    """How far the search has come: the size of the chains' last subsets, and designs settled."""

    size: int
    n_sizes: int
    part: float
    n_covered: int
    n_labels: int


@dataclass(frozen=True, slots=True, eq=False)
class ExactFront:
    """Non-dominated objective vectors, the simplest design of each, and how many designs tie.

    `n_covered` counts the designs that were settled, one by one or many at once; with a proof
    it is the size of the space. `proven` is False where the search ended early.
    """

    designs: StageArray
    n_tied: IntArray
    n_covered: int
    n_labels: int
    n_transitions: int
    proven: bool
    reason: str


class _Vectors:
    """Objectives of whole designs found so far, reduced to those that are not dominated."""

    def __init__(self, landscape: Landscape) -> None:
        self._landscape = landscape
        self._parts: list[Any] = []
        self._found: Any = _empty("Candidates", 0, 0)

    def add(self, candidates: Any) -> None:
        self._parts.append(candidates)

    def reduce(self) -> Any:
        """One row for each non-dominated vector: its simplest design, the count of all."""
        if self._parts:
            self._found = _reduced(
                _joined([self._found, *self._parts]), self._landscape.n_rows
            )
            self._parts = []
        return self._found


def find_front(
    landscape: Landscape,
    known: Scores,
    memory_limit: int,
    n_jobs: int = 1,
    report: Callable[[ExactProgress], None] | None = None,
) -> ExactFront:
    """Every non-dominated objective vector of the designs of a landscape.

    Parameters
    ----------
    landscape : Landscape
    known : Scores
        Designs of the space scored before, by whatever search: the better, the more chains can
        be dropped early. They change the time it takes, never the result.
    memory_limit : int
        Bytes that labels may take.
    n_jobs : int
        Threads.
    report : callable, optional
        Called after every part of the work; may raise `OutOfTime`.
    """
    return _Chains(landscape, known, memory_limit, n_jobs, report).run()


class _Chains:
    """Labels of all subsets, grown from small subsets to large ones."""

    def __init__(
        self,
        landscape: Landscape,
        known: Scores,
        memory_limit: int,
        n_jobs: int,
        report: Callable[[ExactProgress], None] | None,
    ) -> None:
        self._landscape = landscape
        self._n_jobs = n_jobs
        self._report = report
        self._shift = max(0, (landscape.n_rows // _LINES).bit_length())
        n_words = landscape.accepts.shape[1]
        self._labels = _empty("Labels", max(2, memory_limit // _bytes_per_label(n_words)), n_words)
        self._spans: IntArray = np.zeros((2**landscape.n_features, 2), dtype=np.int64)
        self._vectors = _Vectors(landscape)
        self._known = known
        self._n_covered = 0
        self._n_transitions = 0
        self._n_labels = 0
        self._workspaces: SimpleQueue[_Workspace] = SimpleQueue()
        for _ in range(n_jobs):
            self._workspaces.put(_Workspace(n_words))

    def run(self) -> ExactFront:
        """Grow chains size by size; whatever ends it early, what is known is returned."""
        n_features = self._landscape.n_features
        reason = None
        try:
            self._plant()
            if self._landscape.max_stages > 1:
                for size in range(1, n_features):
                    self._grow(size)
        except (OutOfTime, KeyboardInterrupt) as stop:
            reason = str(stop) or "interrupted"
        found = self._vectors.reduce()
        return ExactFront(
            designs=self._landscape.design_numbers(found.code),
            n_tied=found.count,
            n_covered=self._n_covered,
            n_labels=self._n_labels,
            n_transitions=self._n_transitions,
            proven=reason is None,
            reason=reason or "proven",
        )

    def _plant(self) -> None:
        """The empty chain, which is also the design of one stage."""
        space, rules = self._landscape.space, self._rules
        labels, full = self._labels, len(space.cost) - 1
        labels.undecided[0] = space.reach[0]
        n_open = int(np.bitwise_count(space.reach[0]).sum())
        for column, value in (
            (labels.n_open, n_open),
            (labels.accepted, 0),
            (labels.wrong, 0),
            (labels.spent, 0.0),
            (labels.allowed, np.inf),
            (labels.stages, 0),
            (labels.count, 1),
            (labels.code, 0),
        ):
            column[0] = value
        self._n_labels = 1
        self._spans[0] = 0, 1
        one = _empty("Candidates", 1, 0)
        one.accepted[0] = np.bitwise_count(space.accepts[full]).sum()
        one.wrong[0] = np.bitwise_count(space.errs[full]).sum()
        one.spent[0] = space.cost[full] * rules.n_rows
        one.stages[0], one.count[0], one.code[0] = 1, 1, 0
        self._vectors.add(one)
        self._n_covered = 1

    @property
    def _rules(self) -> Any:
        landscape = self._landscape
        return load("chaining").Rules(
            n_rows=landscape.n_rows,
            max_stages=landscape.max_stages,
            binding=landscape.max_stages < landscape.n_features,
            slack=landscape.slack,
            shift=self._shift,
        )

    def _grow(self, size: int) -> None:
        """All chains that end in a subset of `size` features, in tasks of like work."""
        allowances = self._allowances()
        sets, work = self._sets(size)
        n_done = 0.0
        for done, share in self._tasks(sets, work, allowances):
            self._take(done)
            n_done += share
            self._tell(size, n_done)

    def _tell(self, size: int, part: float) -> None:
        if self._report:
            n_sizes = self._landscape.n_features - 1
            self._report(
                ExactProgress(size, n_sizes, part, self._n_covered, self._n_labels)
            )

    def _sets(self, size: int) -> tuple[IntArray, IntArray]:
        """The subsets of a size, and how many labels each must look at."""
        n_features = self._landscape.n_features
        counts = self._spans[:, 1] - self._spans[:, 0]
        for i in range(n_features):
            pairs = counts.reshape(2 ** (n_features - 1 - i), 2, 2**i)
            pairs[:, 1] += pairs[:, 0]
        every = np.arange(2**n_features)
        sets = every[np.bitwise_count(every) == size]
        return sets, counts[sets] + 2**size

    def _tasks(
        self, sets: IntArray, work: IntArray, allowances: FloatArray
    ) -> Iterator[tuple[_Grown, float]]:
        """Grow into the sets, in threads, and hand back what was grown in their order."""
        total = float(work.sum())
        share = max(1.0, min(_CHUNK, total / (4 * self._n_jobs)))
        chunk = (np.cumsum(work) / share).astype(np.int64)
        tasks = np.split(sets, np.flatnonzero(np.diff(chunk)) + 1)
        weights = np.split(work, np.flatnonzero(np.diff(chunk)) + 1)

        def grow(some: IntArray) -> _Grown:
            space = self._workspaces.get()
            try:
                return space.grow(
                    self._rules, self._landscape.space, allowances, self._labels, self._spans, some
                )
            finally:
                self._workspaces.put(space)

        if self._n_jobs == 1 or len(tasks) == 1:
            for some, weight in zip(tasks, weights, strict=True):
                yield grow(some), float(weight.sum()) / total
            return
        with ThreadPoolExecutor(self._n_jobs, thread_name_prefix="emsco") as pool:
            futures = [pool.submit(grow, some) for some in tasks]
            try:
                for future, weight in zip(futures, weights, strict=True):
                    yield future.result(), float(weight.sum()) / total
            finally:
                for future in futures:
                    future.cancel()
                wait(futures)

    def _take(self, grown: _Grown) -> None:
        """Keep the labels and candidates of a task."""
        begin, n_new = self._n_labels, len(grown.labels.count)
        if begin + n_new > len(self._labels.count):
            raise OutOfTime(
                f"memory_limit was reached: {self._n_labels:,} kinds of chains take all of it"
            )
        for column, new in zip(self._labels, grown.labels, strict=True):
            column[begin : begin + n_new] = new
        stops = begin + grown.ends
        self._spans[grown.sets, 0] = np.concatenate([[begin], stops[:-1]])
        self._spans[grown.sets, 1] = stops
        self._n_labels += n_new
        self._n_covered += grown.n_covered
        self._n_transitions += grown.n_transitions
        self._vectors.add(grown.candidates)

    def _allowances(self) -> FloatArray:
        """Least known cost, by line and column, of a design that covers as much as precisely.

        Line u and column v stand for u 2ˢ accepted and v 2ˢ wrong rows.
        """
        found, n_rows = self._vectors.reduce(), self._landscape.n_rows
        accepted = np.concatenate([found.accepted, self._known.accepted]).astype(np.int64)
        wrong = np.concatenate([found.wrong, self._known.accepted - self._known.correct])
        spent = np.concatenate([found.spent, self._known.spent])
        n_lines = (n_rows >> self._shift) + 2
        table = np.full((n_lines, n_lines), np.inf)
        lines = np.arange(n_lines, dtype=np.int64) << self._shift
        for a, w, s in set(zip(accepted.tolist(), wrong.tolist(), spent.tolist(), strict=True)):
            reached = np.flatnonzero(lines <= a)
            # The least wrong among lines[u] accepted that is no more precise than w among a.
            least = -(-lines[reached] * w // max(a, 1)) if a else lines[reached]
            column = -(-least >> self._shift)
            np.minimum.at(table, (reached, column), s)
        return np.minimum.accumulate(table, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Grown:
    """What one task has grown: labels of its sets, designs that may be on the front, counts."""

    sets: IntArray
    ends: IntArray
    labels: Any
    candidates: Any
    n_transitions: int
    n_covered: int


class _Workspace:
    """Room for the labels that one thread grows, doubled whenever it does not suffice."""

    def __init__(self, n_words: int) -> None:
        self._n_words = n_words
        self._candidates = _empty("Candidates", _ROOM, 0)
        self._make_room(_ROOM)

    def grow(
        self, rules: Any, space: Any, allowances: FloatArray, labels: Any, spans: Any, sets: Any
    ) -> _Grown:
        """Grow chains into each of the sets."""
        chaining = load("chaining")
        ends = np.zeros(len(sets), dtype=np.int64)
        tally = np.zeros(3, dtype=np.int64)
        rows = np.zeros(self._n_words, dtype=np.uint64)
        at = 0
        while at < len(sets):
            at, lack = chaining.extend_chains(
                rules, space, allowances, labels, spans, sets, at, self._fresh, ends,
                self._candidates, self._index, self._after, tally, rows,
            )  # fmt: skip
            if lack == chaining.NO_ROOM:
                self._make_room(2 * len(self._fresh.count))
            elif lack == chaining.NO_PLACE:
                self._candidates = _larger("Candidates", self._candidates, 0)
        n_fresh, n_candidates = int(ends[-1]), int(tally[0])
        return _Grown(
            sets=sets,
            ends=ends,
            labels=type(self._fresh)(*(column[:n_fresh].copy() for column in self._fresh)),
            candidates=_reduced(
                type(self._candidates)(
                    *(column[:n_candidates].copy() for column in self._candidates)
                ),
                rules.n_rows,
            ),
            n_transitions=int(tally[1]),
            n_covered=int(tally[2]),
        )

    def _make_room(self, n_labels: int) -> None:
        grown = _empty("Labels", n_labels, self._n_words)
        if n_labels > _ROOM:
            for column, old in zip(grown, self._fresh, strict=True):
                column[: len(old)] = old
        self._fresh = grown
        self._index: IntArray = np.empty(max(256, 8 * n_labels), dtype=np.int64)
        self._after: IntArray = np.empty(n_labels, dtype=np.int64)


def _empty(kind: str, n: int, n_words: int) -> Any:
    """Columns of Labels or Candidates, not filled."""
    made = {
        name: np.empty(n, dtype=_INTEGERS.get(name, np.int64))
        for name in getattr(load("chaining"), kind)._fields
    }
    for name in ("spent", "allowed"):
        if name in made:
            made[name] = np.empty(n)
    if "undecided" in made:
        made["undecided"] = np.empty((n, n_words), dtype=np.uint64)
    return getattr(load("chaining"), kind)(**made)


def _larger(kind: str, columns: Any, n_words: int) -> Any:
    grown = _empty(kind, 2 * len(columns.count), n_words)
    for column, old in zip(grown, columns, strict=True):
        column[: len(old)] = old
    return grown


def _bytes_per_label(n_words: int) -> int:
    one = _empty("Labels", 1, n_words)
    return sum(column.nbytes for column in one)


def _joined(parts: list[Any]) -> Any:
    columns = zip(*parts, strict=True)
    return type(parts[0])(*(np.concatenate(column) for column in columns))


def _reduced(found: Any, n_rows: int) -> Any:
    """Candidates that no other dominates, those that tie as one: the simplest, all counted."""
    if not len(found.count):
        return found
    order = np.lexsort((found.code, found.stages))
    found = type(found)(*(column[order] for column in found))
    accepted = found.accepted.astype(np.int64)
    correct = accepted - found.wrong
    scores = Scores(n_rows, accepted[:, None], correct[:, None], found.spent)
    kept = np.flatnonzero(front_mask(scores))
    found = type(found)(*(column[kept] for column in found))
    _, first, group = np.unique(tie_groups(scores[kept]), return_index=True, return_inverse=True)
    count = np.zeros(len(first), dtype=np.int64)
    np.add.at(count, group.reshape(-1), found.count)
    simplest = type(found)(*(column[first] for column in found))
    return simplest._replace(count=count)
