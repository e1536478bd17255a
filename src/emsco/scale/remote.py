"""Rows that stay with workers: functions go to the leaves of rows, and small answers come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol, TypeAlias

import numpy as np

from emsco._base.leaves import by_leaf, n_leaves_of, rows_of_leaf, split_by_leaf
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco._base.workers import Workers
from emsco.data.elsewhere import RowsElsewhere


class LostWorker(Exception):  # noqa: N818 - a message between a site and its rows, seen by nobody
    """A worker is gone, and with it the leaves that it held."""


@dataclass(slots=True, eq=False)
class Leaf:
    """The rows of a leaf, shape (n_rows, n_inputs), and what functions note about them.

    If rows are on disk, notes must not hold copies of them.
    """

    rows: FloatArray
    on_disk: bool = False
    notes: dict[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class LeafTask:
    """A function to call for each leaf.

    Attributes
    ----------
    function : callable
        Called as ``function(leaf, *shared, *each[number])``.
    shared : tuple
        What it needs for any leaf.
    each : mapping or None
        What it needs for one leaf, by its number.
    combine : callable or None
        Called as ``combine(answers, number, answer)``; adds the answer of a leaf to those so far,
        in any order. By default they are kept by leaf.
    """

    function: Callable[..., Any]
    shared: tuple[Any, ...] = ()
    each: Mapping[int, tuple[Any, ...]] | None = None
    combine: Callable[[dict[Any, Any], int, Any], None] | None = None

    def of(self, leaves: Sequence[int]) -> LeafTask:
        """Return the task of some leaves only."""
        each = None if self.each is None else {leaf: self.each[leaf] for leaf in leaves}
        return LeafTask(self.function, self.shared, each, self.combine)


class Keeper:
    """Keeps leaves in the memory of a worker, and answers tasks about them, one at a time."""

    def __init__(self, numbers: Sequence[int], *leaves: FloatArray, n_threads: int = 1) -> None:
        pairs = zip(numbers, leaves, strict=True)
        self._leaves = {i: Leaf(rows, isinstance(rows, np.memmap)) for i, rows in pairs}
        self._workers, self._lock = Workers(n_threads), Lock()

    def answer(self, task: LeafTask) -> dict[Any, Any]:
        """Return the answers by leaf, or what `combine` makes of them one by one."""
        answers: dict[Any, Any] = {}
        adding = Lock()

        def call(number: int) -> None:
            more = () if task.each is None else task.each[number]
            answer = task.function(self._leaves[number], *task.shared, *more)
            # Answers come from several threads.
            with adding:
                if task.combine is None:
                    answers[number] = answer
                else:
                    task.combine(answers, number, answer)

        # One task at a time: each uses all threads of the worker.
        with self._lock:
            self._workers.run(call, list(self._leaves))
        return answers


class Held(Protocol):
    """Leaves that one keeper has, somewhere."""

    @property
    def leaves(self) -> tuple[int, ...]:
        """Numbers of the leaves."""

    def ask(self, task: LeafTask) -> Callable[[], dict[Any, Any]]:
        """Send a task; what is returned waits for the answers, or raises `LostWorker`."""


Deal: TypeAlias = Callable[[Sequence[int]], Sequence[Held]]  # gives leaves to living workers


class RemoteRows(RowsElsewhere):
    """Rows of a table, leaf by leaf with workers.

    Parameters
    ----------
    n_rows, n_inputs : int
    deal : callable
        ``deal(leaves)`` loads leaves on workers that are there; it is called again for the leaves
        of a worker that is lost.
    """

    def __init__(self, n_rows: int, n_inputs: int, deal: Deal) -> None:
        self.shape = n_rows, n_inputs
        self._deal = deal
        self._held = list(deal(range(n_leaves_of(n_rows))))
        self._successors: dict[Held, list[Held]] = {}
        self._notes: list[LeafTask] = []
        self._lock = Lock()

    def run(self, task: LeafTask) -> dict[Any, Any]:
        """Ask all workers at once; return the answers of all leaves.

        The leaves of a lost worker are loaded again on others, which are then asked instead.
        """
        # All are asked before the first answer is awaited, so that workers compute at once.
        waiting = [(held, held.ask(task.of(held.leaves))) for held in list(self._held)]
        answers: dict[Any, Any] = {}
        for held, answer in waiting:  # grows if workers are lost
            try:
                answers.update(answer())
            except LostWorker:
                others = self._replace(held)
                waiting += [(one, one.ask(task.of(one.leaves))) for one in others]
        return answers

    def note(self, task: LeafTask) -> dict[Any, Any]:
        """Run a task whose effect on the notes of leaves must outlive the worker."""
        with self._lock:
            # Kept for workers that take over leaves: they must know what the lost one knew.
            self._notes.append(task)
        return self.run(task)

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """Return ``function(rows, *shared, *each[leaf])`` of each leaf, in order."""
        task = LeafTask(_of_rows, (function, *shared), dict(enumerate(each)) if each else None)
        answers = self.run(task)
        return [answers[leaf] for leaf in range(self.n_leaves)]

    def __getitem__(self, which: Any) -> Any:
        """Select rows by number, or fetch columns of all rows, as in ``rows[:, 3]``."""
        if isinstance(which, tuple):
            return np.concatenate(self.map(_columns_of, which[1]))
        if isinstance(which, slice) and which == slice(None):
            return self
        return SelectedRows(self, np.arange(len(self))[which])

    def _replace(self, held: Held) -> list[Held]:
        """Load the leaves of a lost worker on others, once for all who have noticed."""
        with self._lock:
            # Several threads may notice that the same worker is gone.
            if held not in self._successors:
                others = self._take_over(held.leaves)
                self._successors[held] = others
                self._held = [*(one for one in self._held if one is not held), *others]
            return self._successors[held]

    def _take_over(self, leaves: Sequence[int]) -> list[Held]:
        while True:
            others = list(self._deal(leaves))
            try:
                # In their order, as a later note may build on an earlier one.
                for task in self._notes:
                    for answer in [one.ask(task.of(one.leaves)) for one in others]:
                        answer()
            except LostWorker:
                # Another worker was lost meanwhile: deal these leaves out once more.
                continue
            return others


@dataclass(frozen=True, slots=True, eq=False)
class SelectedRows:
    """Some of the rows that workers hold; as an array they are fetched."""

    rows: RemoteRows
    numbers: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of inputs."""
        return len(self.numbers), self.rows.shape[1]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, tuple):
            return self.rows[which][self.numbers]
        return SelectedRows(self.rows, self.numbers[which])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        del copy  # what is fetched is always new
        every = range(self.rows.n_leaves)
        leaves = split_by_leaf(self.numbers, self.rows.n_leaves)
        # A worker counts its rows from the first one of the leaf.
        each = {i: (rows - rows_of_leaf(i).start,) for i, rows in enumerate(leaves)}
        parts = self.rows.run(LeafTask(_take, each=each))
        fetched = np.empty(self.shape, dtype=dtype or np.float64)
        # Back in the order in which they were asked for.
        fetched[by_leaf(np.arange(len(self)), self.numbers)] = np.concatenate(
            [parts[i] for i in every]
        )
        return fetched


def _of_rows(leaf: Leaf, function: Callable[..., Any], *shared: Any) -> Any:
    return function(leaf.rows, *shared)


def _columns_of(rows: FloatArray, which: Any) -> FloatArray:
    return np.ascontiguousarray(rows[:, which])


def _take(leaf: Leaf, numbers: IntArray) -> FloatArray:
    return leaf.rows[numbers]
