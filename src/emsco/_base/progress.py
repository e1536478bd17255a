"""Progress bars on standard error, and lines in their place where nobody sees a bar."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Any, Self

__all__ = ["JobProgress", "RowProgress"]

_QUIET = 30.0  # seconds after which a log is told that work goes on


class JobProgress:
    """A bar for many jobs of like size, on standard error."""

    def __init__(self, what: str = "jobs") -> None:
        self._bar = _bar(what, width=24)
        self._task = self._bar.add_task("starting", total=None)
        self._begun = False

    def __enter__(self) -> Self:
        """Start drawing, where there is a terminal to draw on."""
        if self._bar.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop drawing; of work that is refused before it begins, the message alone is left."""
        if self._bar.live.is_started:
            self._bar.live.transient = error is not None and not self._begun
            self._bar.stop()

    def job(self, done: int, total: int, what: str) -> None:
        """A job is done; where there is no terminal to draw on, a line says which it was."""
        self._begun = True
        self._bar.update(self._task, completed=done, total=total, description=what)
        if what and not self._bar.console.is_terminal:
            self._bar.console.print(f"{done} of {total}: {what}", highlight=False, markup=False)


class RowProgress:
    """Counts the rows of a file whose length nobody knows, on standard error, from the first on."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.completed:,.0f} rows decided")
        console = Console(stderr=True)
        self._bar = Progress(SpinnerColumn(), text, TimeElapsedColumn(), console=console)
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Self:
        """Draw nothing yet: a file that is refused leaves the message alone."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop drawing."""
        if self._bar.live.is_started:
            self._bar.stop()

    def rows(self, n_rows: int) -> None:
        """So many rows are decided."""
        self._bar.update(self._task, completed=n_rows)
        if n_rows:
            self._bar.start()


class _Log:
    """Lines in place of a bar that nobody sees, so that a log shows that work goes on."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._began = self._said = monotonic()

    @property
    def is_needed(self) -> bool:
        """Whether the bar is drawn at its end alone."""
        console = self._bar.console
        return not console.is_jupyter and (not console.is_terminal or console.is_dumb_terminal)

    def now_and_then(self) -> None:
        """Say how far it is, if the last line was a while ago."""
        now = monotonic()
        if now - self._said < _QUIET or not self.is_needed:
            return
        self._said = now
        task = self._bar.tasks[-1]
        step = task.fields["step"]
        step += f" {task.completed:g} of {task.total:g}" if task.total else ""
        parts = [step, *([task.description] if task.description else [])]
        line = f"after {now - self._began:.0f} s: {', '.join(parts)}"
        self._bar.console.print(line, highlight=False, markup=False, soft_wrap=True)


def _bar(step: str, width: int) -> Any:
    """A bar on standard error: what a step is, how many are done, the time left, a word on it."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    return Progress(
        TextColumn(step),
        BarColumn(bar_width=width),
        MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=7)),
        TimeRemainingColumn(),
        # A narrow terminal gets a second line rather than half a word.
        TextColumn("{task.description}", table_column=Column(no_wrap=False)),
        console=Console(stderr=True),
    )
