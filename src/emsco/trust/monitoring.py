"""The state of a monitor: all its promises, a bounded history of looks, and files it has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from emsco._base.typing import IntArray
from emsco.trust.promises import Promise
from emsco.trust.watching import MonitoredPromise

__all__ = ["MOST_LOOKS", "MOST_SOURCES", "Look", "MonitorState", "Source"]

MOST_LOOKS = 500
MOST_SOURCES = 1000


@dataclass(frozen=True, slots=True)
class Look:
    """How every promise stood after an update.

    Attributes
    ----------
    n_rows : int
        Rows so far.
    counts : tuple of tuple of int
        For each promise, its rows of each value so far.
    log_capital : tuple of float
        For each promise, the logarithm of the evidence at this look.
    """

    n_rows: int
    counts: tuple[tuple[int, ...], ...]
    log_capital: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A file whose rows a monitor has counted.

    Attributes
    ----------
    name : str
    n_rows : int
    rows, labels : str
        Digests of the features and of the labels; the latter is empty if no row had a label.
    late : bool
        Whether only its labels were counted.
    """

    name: str
    n_rows: int
    rows: str
    labels: str
    late: bool = False


@dataclass(frozen=True, slots=True)
class MonitorState:
    """Everything that a monitor has counted.

    Attributes
    ----------
    promises : tuple of MonitoredPromise
    n_rows, n_answered, n_labelled : int
        Rows so far, those that got a label from the cascade, and true labels.
    looks : tuple of Look
        Up to 500. If there are more, every second one is dropped, so that older looks are sparser.
    sources : tuple of Source
        The last 1,000 files that were counted.
    """

    promises: tuple[MonitoredPromise, ...]
    n_rows: int = 0
    n_answered: int = 0
    n_labelled: int = 0
    looks: tuple[Look, ...] = ()
    sources: tuple[Source, ...] = ()

    @classmethod
    def begin(cls, promises: Sequence[Promise], delta: float, costs: Sequence[float]) -> Self:
        """Watch promises from now on; each gets the same part of `delta`.

        `costs` is what a row can cost, in ascending order.

        If `delta` is divided, an alarm names the promise that is broken. An average of the
        evidence against all promises would be enough a little sooner, but names none.
        """
        share = delta / len(promises)
        return cls(tuple(MonitoredPromise.begin(promise, share, costs) for promise in promises))

    def add(self, counts: Sequence[IntArray], rows: int, answered: int, labelled: int) -> Self:
        """Count more rows for every promise, and look."""
        n_rows = self.n_rows + rows
        promises = tuple(
            promise.add(more, n_rows) for promise, more in zip(self.promises, counts, strict=True)
        )
        look = Look(
            n_rows,
            tuple(promise.counts for promise in promises),
            tuple(promise.log_capital for promise in promises),
        )
        return replace(
            self,
            promises=promises,
            n_rows=n_rows,
            n_answered=self.n_answered + answered,
            n_labelled=self.n_labelled + labelled,
            looks=_thinned((*self.looks, look)),
        )

    def remember(self, source: Source) -> Self:
        """Remember a file that was counted."""
        return replace(self, sources=(*self.sources, source)[-MOST_SOURCES:])


def _thinned(looks: tuple[Look, ...]) -> tuple[Look, ...]:
    """Drop every second look, the last one never, if there are too many."""
    return looks if len(looks) <= MOST_LOOKS else looks[::-2][::-1]
