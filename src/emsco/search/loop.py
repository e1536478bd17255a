"""The loop around every search: ask for designs, score them, tell the scores, keep a record."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from enum import Enum
from time import perf_counter
from typing import Protocol, Self

import numpy as np

from emsco._base.text import counted
from emsco._base.typing import IntArray
from emsco.designs.population import Designs
from emsco.errors import InterruptedWarning
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Counts
from emsco.search.archive import Archive

_FIRST = 2.0  # seconds that the first designs have at least, whatever the time limit


class Stop(Enum):
    """Causes that end a search, each with its sentence."""

    GENERATIONS = "generations", "all {generations} have run"
    SAME_BEST = "same best", "the fittest design has stayed the same for {generations}"
    SAME_FRONT = "same front", "the front has stayed the same for {generations}"
    STEADY_FRONT = "steady front", "the front has hardly grown in the last {generations}"
    ELITES = "elites", "the population was full of elite designs after {generations}"
    EXHAUSTED = "exhausted", "all {n_designs:,} designs have been scored"
    PROVEN = "proven", "the front is proven: all {n_settled:,} designs are settled"
    # Proven for the models of the search; others came after it.
    SETTLED = "settled", "all {n_settled:,} designs are settled, with the models of the search"
    # Proven for chains; the front also has designs that branch.
    CHAINS_SETTLED = (
        "chains settled",
        "all {n_settled:,} chains are settled; designs that branch were searched",
    )
    # Of an exact search: no design is within the limits, or evolution takes its place.
    NOTHING_FEASIBLE = "nothing feasible", "all {n_settled:,} designs are settled"
    LONGER_THAN_PLANNED = "longer than planned", "exact search took longer than planned"
    TIME_LIMIT = "time limit", "the time limit of {seconds:g} s was reached"
    MEMORY_LIMIT = "memory limit", "{detail}"
    INTERRUPTED = "interrupted", "interrupted"

    sentence: str

    def __new__(cls, value: str, sentence: str) -> Self:
        """Take the sentence as an attribute beside the value."""
        cause = object.__new__(cls)
        cause._value_, cause.sentence = value, sentence
        return cause


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
        words = self.cause.sentence
        if self.cause is Stop.GENERATIONS and self.generations == 1:
            words = "its one generation has run"
        elif self.cause is Stop.EXHAUSTED and self.n_designs == 1:
            words = "only one design exists"
        elif self.is_interrupted and self.generations is not None:
            words = "interrupted after {generations}"
        generations = counted(self.generations or 0, "generation")
        sentence = words.format_map(asdict(self) | {"generations": generations})
        early = self.is_interrupted or self.cause in (Stop.TIME_LIMIT, Stop.MEMORY_LIMIT)
        if early and self.n_settled is not None:
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
    def front(self) -> tuple[Designs, Counts]:
        """The non-dominated designs found so far, best first."""

    def ask(self) -> Designs:
        """Propose designs to score next."""

    def tell(self, scores: Counts) -> None:
        """Take the scores of the designs last proposed."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchRecord:
    """The state of a search after one generation."""

    generation: int
    best: Designs
    best_scores: Counts
    n_front: int
    n_designs: int
    n_subsets: int
    seconds: float

    @classmethod
    def from_front(
        cls,
        generation: int,
        designs: Designs,
        scores: Counts,
        evaluator: Evaluator,
        seconds: float,
    ) -> Self:
        """Record a search whose front is `designs`, best first."""
        return cls(
            generation,
            designs[:1],
            scores[[0]],
            len(designs),
            evaluator.n_designs,
            evaluator.n_subsets,
            seconds,
        )


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The designs that a search found, its records, and why it ended.

    Attributes
    ----------
    designs, scores, records, stop_reason
    n_tied : ndarray or None
        Number of designs with the objectives of each one in `designs`. None: `designs` lists all.
    proven : bool
        Whether no design of the whole space is better.
    scored : Designs or None
        All designs that were scored, in no order.
    """

    designs: Designs
    scores: Counts
    records: tuple[SearchRecord, ...]
    stop_reason: StopReason
    n_tied: IntArray | None = None
    proven: bool = False
    scored: Designs | None = None

    @classmethod
    def from_archive(
        cls, archive: Archive, records: tuple[SearchRecord, ...], stop_reason: StopReason
    ) -> Self:
        """Make a result of the front of an archive."""
        return cls(*archive.front(), records, stop_reason, archive.n_tied())

    def take(self, kept: IntArray) -> Self:
        """Return the designs at some positions alone."""
        return replace(
            self,
            designs=self.designs[kept],
            scores=self.scores[kept],
            n_tied=None if self.n_tied is None else self.n_tied[kept],
        )


class _TimeIsUp(Exception):  # noqa: N818 - from a batch of fits to the loop, seen by nobody
    """The time limit was reached before a generation was complete."""


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
    started, limit = perf_counter(), np.inf if time_limit is None else time_limit
    reason: StopReason | None = None
    records: list[SearchRecord] = []
    # A few of the first designs are scored at a time, so that little is lost if time runs out.
    # Until one is within the limits on designs, it does not.
    first, least, may_stop = Archive(evaluator.costs.total), max(limit, _FIRST), False

    def score(designs: Designs) -> Counts:
        return evaluator.score(designs)

    def is_over() -> bool:
        return perf_counter() - started > least

    def check_time(done: int, total: int) -> None:
        if may_stop and done < total and is_over():
            raise _TimeIsUp

    def record() -> SearchRecord:
        front = search.front if search.generation >= 0 else first.front()
        seconds = perf_counter() - started
        generation = max(search.generation, 0)
        return SearchRecord.from_front(generation, *front, evaluator, seconds)

    try:
        with nullcontext() if time_limit is None else evaluator.bits.bank.reporting(check_time):
            designs, end = search.ask(), 0
            while time_limit is not None and end < len(designs):
                part, end = designs[end : 2 * end + 1], 2 * end + 1
                scores = score(part)
                first.add(part, scores)
                may_stop = may_stop or bool(scores.feasible.any())
            least, may_stop = limit, True
            while reason is None:
                search.tell(score(search.ask()))
                records.append(record())
                if between:
                    between()
                    records[-1] = record()
                if report:
                    report(records[-1])
                reason = search.stop_reason
                if reason is None and is_over():
                    reason = StopReason(Stop.TIME_LIMIT, seconds=time_limit)
    except _TimeIsUp:
        reason = search.stop_reason or StopReason(Stop.TIME_LIMIT, seconds=time_limit)
        records[-1:] = [record()]  # it may have found chains since
    except KeyboardInterrupt:
        if not records:
            raise
        reason = StopReason(Stop.INTERRUPTED, records[-1].generation)
        message = f"Search {reason}; the best designs so far are kept."
        warnings.warn(message, InterruptedWarning, stacklevel=7)
    archive = search.archive if search.generation >= 0 else first
    if archive is not None:
        return SearchResult.from_archive(archive, tuple(records), reason)
    return SearchResult(*search.front, tuple(records), reason)
