"""The loop around every search: ask for designs, score them, tell the scores, keep a record."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from time import perf_counter
from typing import Protocol, Self

import numpy as np

from emsco._base.text import counted
from emsco._base.typing import IntArray, StageArray
from emsco.errors import InterruptedWarning
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import TiedDesigns
from emsco.scoring.scores import Scores
from emsco.search.archive import Archive

_FIRST = 2.0  # seconds that the first designs have at least, whatever the time limit


class Stop(Enum):
    """Causes that end a search."""

    GENERATIONS = "generations"  # all generations have run
    SAME_BEST = "same best"  # patience of the paper's loop
    SAME_FRONT = "same front"  # patience of evolution
    STEADY_FRONT = "steady front"  # it hardly grows
    ELITES = "elites"  # the population consists of elites only
    EXHAUSTED = "exhausted"  # every design has been scored
    PROVEN = "proven"
    SETTLED = "settled"  # proven for the models of the search; others came after it
    CHAINS_SETTLED = "chains settled"  # proven for chains; the front also has designs that branch
    NOTHING_FEASIBLE = "nothing feasible"  # exact search: no design is within the limits
    LONGER_THAN_PLANNED = "longer than planned"  # exact search: evolution takes its place
    TIME_LIMIT = "time limit"
    MEMORY_LIMIT = "memory limit"
    INTERRUPTED = "interrupted"


_EARLY = (Stop.TIME_LIMIT, Stop.MEMORY_LIMIT, Stop.INTERRUPTED)
_SENTENCES = {
    Stop.GENERATIONS: "all {generations} have run",
    Stop.SAME_BEST: "the fittest design has stayed the same for {generations}",
    Stop.SAME_FRONT: "the front has stayed the same for {generations}",
    Stop.STEADY_FRONT: "the front has hardly grown in the last {generations}",
    Stop.ELITES: "the population was full of elite designs after {generations}",
    Stop.EXHAUSTED: "all {n_designs:,} designs have been scored",
    Stop.PROVEN: "the front is proven: all {n_settled:,} designs are settled",
    Stop.SETTLED: "all {n_settled:,} designs are settled, with the models of the search",
    Stop.CHAINS_SETTLED: "all {n_settled:,} chains are settled; designs that branch were searched",
    Stop.NOTHING_FEASIBLE: "all {n_settled:,} designs are settled",
    Stop.LONGER_THAN_PLANNED: "exact search took longer than planned",
    Stop.TIME_LIMIT: "the time limit of {seconds:g} s was reached",
    Stop.MEMORY_LIMIT: "{detail}",
    Stop.INTERRUPTED: "interrupted",
}


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a search ended.

    Attributes
    ----------
    cause : Stop
    generations : int or None
        Generations that had run, or generations without a change.
    seconds : float or None
        The time limit.
    n_settled, n_designs : int or None
        Designs that an exact search had settled, and designs in its space.
    detail : str
        The memory limit in words.
    note : str
        Why "auto" did not choose exact search; else empty.

    Examples
    --------
    >>> str(StopReason(Stop.GENERATIONS, generations=150))
    'all 150 generations have run'
    >>> str(StopReason(Stop.TIME_LIMIT, seconds=2, n_settled=10, n_designs=100))
    'the time limit of 2 s was reached, so the front is not proven (10 of 100 designs are settled)'
    >>> str(StopReason(Stop.GENERATIONS, generations=150, note="exact search is out of reach"))
    'all 150 generations have run (exact search is out of reach)'
    """

    cause: Stop
    generations: int | None = None
    seconds: float | None = None
    n_settled: int | None = None
    n_designs: int | None = None
    detail: str = ""
    note: str = ""

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.cause is Stop.INTERRUPTED

    def __str__(self) -> str:
        """Put the reason into one sentence, without a full stop."""
        words = _SENTENCES[self.cause]
        if self.cause is Stop.GENERATIONS and self.generations == 1:
            words = "its one generation has run"
        elif self.cause is Stop.EXHAUSTED and self.n_designs == 1:
            words = "only one design exists"
        elif self.cause is Stop.INTERRUPTED and self.generations is not None:
            words = "interrupted after {generations}"
        sentence = words.format(
            generations=counted(self.generations or 0, "generation"),
            n_designs=self.n_designs,
            n_settled=self.n_settled,
            seconds=self.seconds,
            detail=self.detail,
        )
        if self.cause in _EARLY and self.n_settled is not None:
            settled = f"{self.n_settled:,} of {self.n_designs:,} designs are settled"
            sentence += f", so the front is not proven ({settled})"
        return f"{sentence} ({self.note})" if self.note else sentence


class Search(Protocol):
    """A search that the loop can drive."""

    generation: int
    stop_reason: StopReason | None

    @property
    def archive(self) -> Archive | None:
        """All non-dominated designs scored so far, if the search keeps them."""

    @property
    def front(self) -> tuple[StageArray, Scores]:
        """The non-dominated designs found so far, best first."""

    def ask(self) -> StageArray:
        """Propose designs to score next."""

    def tell(self, scores: Scores) -> None:
        """Take the scores of the designs last proposed."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchRecord:
    """The state of a search after one generation."""

    generation: int
    best: StageArray
    best_scores: Scores
    n_front: int
    n_designs: int
    n_subsets: int
    seconds: float

    @classmethod
    def from_front(
        cls,
        generation: int,
        designs: StageArray,
        scores: Scores,
        evaluator: Evaluator,
        seconds: float,
    ) -> Self:
        """Record a search whose front is `designs`, best first."""
        return cls(
            generation=generation,
            best=designs[0],
            best_scores=scores[np.zeros(1, dtype=np.int64)],
            n_front=len(designs),
            n_designs=evaluator.n_designs,
            n_subsets=evaluator.n_subsets,
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The designs that a search found, its records, and why it ended.

    Attributes
    ----------
    designs, scores, records, stop_reason
    n_tied : ndarray or None
        Number of designs with the objectives of each one in `designs`. None: `designs` lists all.
    ties : callable or None
        Iterates over the designs that tie with the one at a position.
    proven : bool
        Whether no design of the whole space is better.
    scored : ndarray of shape (n_scored, n_features) or None
        All designs that were scored, in no order.
    """

    designs: StageArray
    scores: Scores
    records: tuple[SearchRecord, ...]
    stop_reason: StopReason
    n_tied: IntArray | None = None
    ties: Callable[[int], Iterator[StageArray]] | None = None
    proven: bool = False
    scored: StageArray | None = None

    @classmethod
    def from_archive(
        cls, archive: Archive, records: tuple[SearchRecord, ...], stop_reason: StopReason
    ) -> Self:
        """Make a result of the front of an archive."""
        tied = TiedDesigns(archive.ties())
        return cls(*archive.front(), records, stop_reason, tied.counts, tied)

    def take(self, kept: IntArray) -> Self:
        """Return the designs at some positions alone."""
        return replace(
            self,
            designs=self.designs[kept],
            scores=self.scores[kept],
            n_tied=None if self.n_tied is None else self.n_tied[kept],
            ties=None if self.ties is None else _SomeTies(self.ties, kept),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _SomeTies:
    """Ties of the designs at some positions."""

    ties: Callable[[int], Iterator[StageArray]]
    kept: IntArray

    def __call__(self, position: int) -> Iterator[StageArray]:
        """Iterate over the designs that tie with the one at a position."""
        return self.ties(int(self.kept[position]))


def run_search(
    search: Search,
    evaluator: Evaluator,
    time_limit: float | None = None,
    report: Callable[[SearchRecord], None] | None = None,
    between: Callable[[], None] | None = None,
) -> SearchResult:
    """Drive `search` to its end, the time limit or Ctrl-C.

    `between` is called after each generation. The time limit and Ctrl-C take effect between two
    batches of fits, and keep the generations that are complete. Before the first is complete, the
    time limit keeps the designs scored so far, and Ctrl-C raises KeyboardInterrupt.
    """
    records: list[SearchRecord] = []
    front: tuple[StageArray, Scores]
    timing = _Timing(time_limit)
    reason: StopReason | None = None
    try:
        with timing.between_fits(evaluator):
            while reason is None:
                search.tell(timing.score(search, evaluator))
                front = search.front  # kept in case the next generation is interrupted
                records.append(_record(search, evaluator, timing.started))
                if between:
                    between()
                    front, records[-1] = search.front, _record(search, evaluator, timing.started)
                if report:
                    report(records[-1])
                reason = search.stop_reason
                if reason is None and timing.is_over():
                    reason = timing.reason
    except _TimeIsUp:
        if not records:  # the best of the first designs that were scored
            designs = timing.first[: timing.n_first]
            archive = Archive(designs.shape[1], evaluator.costs.total)
            archive.add(designs, evaluator.score(designs))
            seconds = perf_counter() - timing.started
            record = SearchRecord.from_front(0, *archive.front(), evaluator, seconds)
            return SearchResult.from_archive(archive, (record,), timing.reason)
        reason = search.stop_reason or timing.reason
        records[-1] = _record(search, evaluator, timing.started)  # it may have found chains since
    except KeyboardInterrupt:
        if not records:
            raise
        reason = StopReason(Stop.INTERRUPTED, records[-1].generation)
        message = f"Search {reason}; the best designs so far are kept."
        warnings.warn(message, InterruptedWarning, stacklevel=7)
    if search.archive is not None:
        return SearchResult.from_archive(search.archive, tuple(records), reason)
    return SearchResult(*front, tuple(records), reason)


class _TimeIsUp(Exception):  # noqa: N818 - from a batch of fits to the loop, seen by nobody
    """The time limit was reached before a generation was complete."""


class _Timing:
    """Ends a search between two batches of fits, once it has designs to keep."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.started = perf_counter()
        self.first: StageArray = np.zeros((0, 0), dtype=np.int16)  # of the first generation
        self.n_first = 0  # of these, those scored so far
        self.may_cut = False

    @property
    def reason(self) -> StopReason:
        return StopReason(Stop.TIME_LIMIT, seconds=self.limit)

    def is_over(self, min_seconds: float = 0.0) -> bool:
        """Whether the limit is over, and at least so many seconds."""
        return self.limit is not None and perf_counter() - self.started > max(
            self.limit, min_seconds
        )

    @contextmanager
    def between_fits(self, evaluator: Evaluator) -> Iterator[None]:
        """Look at the time after each batch of fits, but for the last."""
        if self.limit is None:
            yield
            return

        def check_time(done: int, total: int) -> None:
            if self.may_cut and done < total and self.is_over(_FIRST if self.n_first else 0.0):
                raise _TimeIsUp

        with evaluator.bank.reporting(check_time):
            yield

    def score(self, search: Search, evaluator: Evaluator) -> Scores:
        """Score the designs that a search asks for; the first ones a few at a time.

        The parts of the first ones double, so that little is lost if time runs out. Until one is
        within the limits on designs, time does not run out.
        """
        designs = search.ask()
        if self.limit is not None and not len(self.first):
            self.first = designs
            while self.n_first < len(designs):
                end = 2 * self.n_first + 1
                scores = evaluator.score(designs[self.n_first : end])
                self.n_first, self.may_cut = end, self.may_cut or bool(scores.feasible.any())
        scores = evaluator.score(designs)
        self.n_first, self.may_cut = 0, True
        return scores


def _record(search: Search, evaluator: Evaluator, started: float) -> SearchRecord:
    seconds = perf_counter() - started
    return SearchRecord.from_front(search.generation, *search.front, evaluator, seconds)
