"""Find the whole front: every non-dominated objective vector of a space, with its ties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco._kernels.chains import Candidates
from emsco.errors import MemoryLimitError
from emsco.scoring.scores import Scores
from emsco.search.exact.chains import ChainPool, reduced
from emsco.search.exact.landscape import Landscape
from emsco.search.loop import Stop, StopReason


class TimeLimitError(Exception):
    """Raised by a report to stop the search and keep its result so far."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the time limit of {seconds:g} s was reached")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class ExactProgress:
    """How far an exact search has come.

    Attributes
    ----------
    done : float
        Subset sizes done, including the share of the current one. Percent of the designs, if
        stages have thresholds of their own.
    n_sizes : int
        Subset sizes in all, or 100.
    n_settled : int
        Designs settled.
    n_labels : int
        Kinds of chains kept; 0 if none are.
    """

    done: float
    n_sizes: int
    n_settled: int
    n_labels: int


@dataclass(frozen=True, slots=True, eq=False)
class ExactFront:
    """The non-dominated objective vectors of a space of designs.

    Attributes
    ----------
    designs : ndarray of shape (n_vectors, n_features)
        The simplest design of each vector.
    n_tied : ndarray of shape (n_vectors,)
        Number of designs with this vector.
    n_settled : int
        Designs settled, one by one or many at once; for a proven front, the whole space.
    n_labels, n_transitions : int
        Kinds of chains kept, and pairs of a chain and a larger subset examined.
    stopped : StopReason or None
        Why the search stopped early; None for a proven front.
    """

    designs: StageArray
    n_tied: IntArray
    n_settled: int
    n_labels: int
    n_transitions: int
    stopped: StopReason | None


def find_front(
    landscape: Landscape,
    known: Scores | None = None,
    memory_limit: int = 2**30,
    n_jobs: int = 1,
    report: Callable[[ExactProgress], None] | None = None,
) -> ExactFront:
    """Find every non-dominated objective vector of a landscape, within its cost limits.

    Parameters
    ----------
    landscape : Landscape
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
    pool = ChainPool(landscape, memory_limit, n_jobs)
    stopped: StopReason | None = None
    found = _merge(pool, None)
    largest = landscape.n_features - landscape.tail if landscape.max_stages > landscape.tail else 0
    sizes = range(1, largest + 1)
    try:
        for size in sizes:
            # The designs found so far rule out more chains of the next size.
            allowances = _allowances(pool, found, known)
            for share in pool.grow(size, allowances):
                if report:
                    done = ExactProgress(
                        size - 1 + share, len(sizes), pool.n_settled, pool.n_labels
                    )
                    report(done)
            found = _merge(pool, found)
    except TimeLimitError as limit:
        stopped = StopReason(Stop.TIME_LIMIT, seconds=limit.seconds)
    except MemoryLimitError as limit:
        stopped = StopReason(Stop.MEMORY_LIMIT, detail=str(limit))
    except KeyboardInterrupt:
        stopped = StopReason(Stop.INTERRUPTED)
    found = _merge(pool, found)
    found = Candidates._make(column[found.spent <= landscape.most_spent] for column in found)
    # Each design is settled once: it is scored, beaten, or part of a chain that was given up.
    is_whole = stopped is None and landscape.fitted is None
    if is_whole and pool.n_settled != landscape.n_designs:
        raise RuntimeError(f"{pool.n_settled} of {landscape.n_designs} designs are settled.")
    return ExactFront(
        designs=landscape.designs_of(found.code),
        n_tied=found.n_tied,
        n_settled=pool.n_settled,
        n_labels=pool.n_labels,
        n_transitions=pool.n_transitions,
        stopped=stopped,
    )


def _merge(pool: ChainPool, found: Candidates | None) -> Candidates:
    """Move the pool's candidates to those found so far, and keep one per vector."""
    if found is not None and not pool.candidates:
        return found
    merged = reduced([*([] if found is None else [found]), *pool.candidates], pool.rules)
    pool.candidates.clear()
    return merged


def _allowances(pool: ChainPool, found: Candidates, known: Scores | None) -> FloatArray:
    """Most that designs may cost, given the candidates found and the scores known before."""
    if known is None:
        return pool.allowances(found.accepted, found.wrong, found.spent)
    known = known[known.feasible]
    return pool.allowances(
        np.concatenate([found.accepted, known.accepted]),
        np.concatenate([found.wrong, known.accepted - known.correct]),
        np.concatenate([found.spent, known.spent]),
    )
