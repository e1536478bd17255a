"""Rows on the workers of a Dask cluster: Dask DataFrames and arrays, and how leaves are dealt out.

Each worker gets an actor that keeps its leaves. A leaf is loaded from the Dask graph of the
table, again if the worker that had it is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any

import numpy as np

from emsco._base.checks import refused
from emsco._base.leaves import n_leaves_of, rows_of_leaf
from emsco._base.text import first_line
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco.data.elsewhere import is_dask
from emsco.data.encoding import Encoding, PartedTable
from emsco.errors import DataError, EMSCOError, Parameter, not_installed
from emsco.scale.remote import Held, Keeper, LeafTask, LostWorker, RemoteRows

_TRIES = 5  # to load leaves while workers come and go
_LOOK = 2.0  # seconds between looks whether a worker is still there


def client_of(given: Any = None) -> Any:
    """Return the Dask client that is given, or the one that is open."""
    try:
        from distributed import Client, default_client
    except ImportError:
        raise not_installed("Dask", "'emsco[dask]'") from None
    if isinstance(given, Client):
        return given
    if given is not None:
        kind = type(given).__name__
        raise refused("client", "be a dask.distributed.Client", given, got=kind)
    try:
        return default_client()
    except ValueError:
        raise DataError(
            "X from Dask must have workers to stay with, got no client; open one with "
            "dask.distributed.Client()."
        ) from None


def gathered(values: Any, client: Any) -> Any:
    """Return a Dask Series or array in memory."""
    return client_of(client).compute(values).result()


class DaskTable(PartedTable):
    """A Dask DataFrame or array, partition by partition.

    Parameters
    ----------
    X : dask.dataframe.DataFrame or dask.array.Array
    client : distributed.Client or None
        None: the one that is open.
    """

    def __init__(self, X: Any, client: Any = None) -> None:
        self._client, self._table = client_of(client), X
        if hasattr(X, "columns"):
            self.shell, self._parts = X._meta, list(X.to_delayed())
        else:
            if X.ndim != 2:
                raise DataError(f"X must have rows and columns, got shape {X.shape}.")
            self.shell = np.empty((0, X.shape[1]), dtype=X.dtype)
            # Whole rows in each chunk, as a row is encoded at once.
            self._parts = X.rechunk({1: -1}).to_delayed().ravel().tolist()
        self.parts = [f"partition {i}" for i in range(len(self._parts))]
        # Lengths are not known before the parts are computed.
        self._ends: IntArray = np.cumsum([0, *self.run(len)])
        self.places = [(first, "X") for first in self._ends[:-1].tolist()]
        if not len(self):
            raise DataError("X must have rows, got none.")

    def __len__(self) -> int:
        return int(self._ends[-1])

    def run(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """Return ``function(part, *shared, *each[number])`` of each part, in order."""
        from dask import delayed

        # Not pure: a key of its own for each call, without a hash of all arguments.
        call = delayed(function, pure=False)
        each_part = zip(self._parts, each or repeat(()), strict=False)
        futures = self._client.compute([call(part, *shared, *more) for part, more in each_part])
        return list(self._client.gather(futures))

    def columns(self, names: Sequence[str]) -> Any:
        """Return some columns of all rows as a table in memory."""
        return self._client.compute(self._table[list(names)]).result()

    def rows(self, encoding: Encoding) -> RemoteRows:
        """Load the inputs of all rows on the workers, leaf by leaf."""
        from dask import delayed

        encode = delayed(_encoded, pure=False)
        firsts = self._ends[:-1].tolist()
        parts = [encode(part, encoding, i) for part, i in zip(self._parts, firsts, strict=True)]
        n_rows, ends = len(self), self._ends
        pieces = []
        for leaf in range(n_leaves_of(n_rows)):
            start, stop, _ = rows_of_leaf(leaf).indices(n_rows)
            within = [
                # The piece of a partition that lies in this leaf, counted from its own first row.
                (part, max(start, first) - first, min(stop, end) - first)
                for part, (first, end) in zip(parts, pairwise(ends.tolist()), strict=True)
                if first < stop and end > start
            ]
            pieces.append(within)

        def load(leaf: int, _: str) -> Any:
            of_leaf, starts, stops = zip(*pieces[leaf], strict=True)
            return delayed(_leaf, pure=False)(list(of_leaf), starts, stops)

        return RemoteRows(n_rows, encoding.n_inputs, _Dealer(self._client, load).deal)


class MemoryTable(PartedTable):
    """A table in memory, whose rows are sent to the workers of a client."""

    def __init__(self, table: Any, client: Any) -> None:
        self._table, self._client = table, client_of(client)
        self.parts, self.places, self.shell = ["X"], [(0, "X")], None

    def run(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[tuple[Any, ...]] = ((),)
    ) -> list[Any]:
        """Return ``function(table, *shared, *each[0])``, the only answer."""
        return [function(self._table, *shared, *each[0])]

    def columns(self, names: Sequence[str]) -> Any:
        """Return the table."""
        del names  # it has them all
        return self._table

    def rows(self, encoding: Encoding) -> RemoteRows:
        """Send the inputs of all rows to the workers, leaf by leaf."""
        rows = encoding.rows(self._table)

        def load(leaf: int, address: str) -> Any:
            return self._client.scatter(rows[rows_of_leaf(leaf)], workers=[address], hash=False)

        return RemoteRows(len(rows), encoding.n_inputs, _Dealer(self._client, load).deal)


@dataclass(frozen=True, slots=True, eq=False)
class _Dealer:
    """Deals leaves out to the workers that a client has now.

    ``load(leaf, address)`` returns a leaf for a worker: a future, or what makes one. Only the
    actor is bound to its worker: what is bound to a lost one would never be loaded again.
    """

    client: Any
    load: Callable[[int, str], Any]

    def deal(self, leaves: Sequence[int]) -> list[Held]:
        """Give each worker about as many neighbouring leaves."""
        why: Exception | None = None
        for _ in range(_TRIES):
            threads = self.client.nthreads()
            if not threads:
                break
            try:
                return self._deal(list(leaves), threads)
            except EMSCOError:
                raise
            except _lost_kinds() as error:
                why = error
        reason = "there is no worker" if why is None else first_line(why)
        raise EMSCOError(
            f"the rows must be loaded on Dask workers, but: {reason}. With ",
            Parameter("checkpoint"),
            ", the same fit goes on where this one stopped.",
        ) from why

    def _deal(self, leaves: list[int], threads: dict[str, int]) -> list[Held]:
        # Neighbouring leaves together, so that pairs are added up where they are.
        cuts = np.array_split(np.array(leaves), len(threads))
        dealt = {
            at: tuple(numbers.tolist())
            # Sorted, so that the same workers get the same leaves.
            for at, numbers in zip(sorted(threads), cuts, strict=True)
            if len(numbers)
        }
        loaded = {at: [self.load(leaf, at) for leaf in numbers] for at, numbers in dealt.items()}
        futures = self._computed(loaded)
        actors = {
            at: self.client.submit(
                Keeper,
                numbers,
                *futures[at],
                n_threads=threads[at],
                workers=[at],
                actor=True,
                pure=False,
            )
            for at, numbers in dealt.items()
        }
        return [
            _HeldByActor(numbers, at, _waited(actors[at], at, self.client), self.client)
            for at, numbers in dealt.items()
        ]

    def _computed(self, loaded: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Compute leaves that come from a graph, all at once: they share partitions."""
        every = [leaf for leaves in loaded.values() for leaf in leaves]
        if is_dask(every[0]):
            # Leaves share partitions: computed one by one, these would be read again for each.
            every = self.client.compute(every)
        futures = iter(every)
        return {at: [next(futures) for _ in leaves] for at, leaves in loaded.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _HeldByActor:
    """Leaves that an actor keeps on a worker."""

    leaves: tuple[int, ...]
    address: str
    actor: Any
    client: Any

    def ask(self, task: LeafTask) -> Callable[[], dict[Any, Any]]:
        """Send a task to the actor."""
        try:
            waiting = self.actor.answer(task)
        except RuntimeError:  # Dask knows already that the worker is gone
            return self._lost
        return lambda: _waited(waiting, self.address, self.client)

    def _lost(self) -> dict[Any, Any]:
        raise LostWorker(self.address)


def _waited(waiting: Any, address: str, client: Any) -> Any:
    """Wait for something from a worker, as long as the worker is there: Dask would wait on."""
    while True:
        try:
            return waiting.result(timeout=_LOOK)
        except TimeoutError:
            # A task may take long; only a worker that is gone never answers.
            if address not in client.nthreads():
                raise LostWorker(address) from None
        except OSError as error:
            raise LostWorker(address) from error


def _lost_kinds() -> tuple[type[Exception], ...]:
    """Errors by which Dask tells that a worker went away during a computation."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    return LostWorker, OSError, RuntimeError, CancelledError, KilledWorker, FutureCancelledError


# What follows runs on workers.


def _encoded(part: Any, encoding: Encoding, first_row: int) -> FloatArray:
    return encoding.rows(part, first_row)


def _leaf(parts: Sequence[FloatArray], starts: Sequence[int], stops: Sequence[int]) -> AnyArray:
    cut = [part[a:b] for part, a, b in zip(parts, starts, stops, strict=True)]
    return np.ascontiguousarray(np.concatenate(cut))
