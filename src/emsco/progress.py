"""A progress bar for a search, drawn only where someone asked for it."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from emsco.search.loop import SearchRecord

__all__ = ["SearchProgress"]


class SearchProgress:
    """Shows generations, the size of the front, and fits while a generation waits for them.

    Parameters
    ----------
    total : int
        Generations, if the search runs to its end.
    shown : bool
        Where False, every method does nothing.
    """

    def __init__(self, total: int, shown: bool) -> None:
        self._total = total
        self._bar: Any = None
        self._task: Any = None
        self._found = ""
        if shown:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )
            from rich.table import Column

            self._bar = Progress(
                TextColumn("generation"),
                BarColumn(bar_width=12),
                MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=7)),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
                console=Console(stderr=True),
            )

    def __enter__(self) -> Self:
        """Start drawing."""
        if self._bar:
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop drawing and leave the last line standing."""
        if self._bar:
            self._bar.stop()

    def generation(self, record: SearchRecord) -> None:
        """A generation is complete."""
        if self._bar:
            self._found = (
                f"front {record.n_front}, {record.n_designs:,} designs, "
                f"{record.n_subsets:,} subsets"
            )
            self._bar.update(self._task, completed=record.generation, description=self._found)

    def fitting(self, done: int, total: int) -> None:
        """Part of the batches that this generation needs are fitted."""
        if self._bar:
            note = f"fitting {done}/{total} batches" if done < total else self._found
            self._bar.update(self._task, description=note)
