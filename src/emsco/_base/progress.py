"""Progress on standard error: bars on a terminal, lines in a log."""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic
from types import TracebackType
from typing import Any, Self

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from emsco._base.text import counted, visible

QUIET = 30.0  # seconds without a line before a log gets the next one


class SafeConsole(Console):
    """A console for names from files, which may hold escape sequences."""

    def render_str(self, text: str, **settings: Any) -> Text:
        """Write out control characters before the text is measured, so that columns fit."""
        return super().render_str(visible(text), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield segments in which control characters are written out."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else visible(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)


class JobProgress:
    """A progress bar for many jobs of similar size."""

    def __init__(self, what: str = "jobs") -> None:
        self._what = what
        self._bar = new_bar(what, width=24)
        self._task = self._bar.add_task("starting", total=None)
        self._begun = False
        self._said = monotonic()

    def __enter__(self) -> Self:
        """Start drawing if there is a terminal."""
        if self._bar.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop drawing; if the work was refused before it began, erase the bar."""
        if self._bar.live.is_started:
            self._bar.live.transient = error is not None and not self._begun
            self._bar.stop()

    def say(self, line: str) -> None:
        """Print a line that stays, above the bar."""
        self._bar.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def job(self, done: int, total: int, what: str) -> None:
        """Count a finished job; without a terminal, print a line that names it.

        A job without a name has a line only if the last one was a while ago.
        """
        self._begun = True
        self._bar.update(self._task, completed=done, total=total, description=what)
        if self._bar.console.is_terminal:
            return
        if what:
            self._bar.console.print(f"{done} of {total}: {what}", highlight=False, markup=False)
        elif monotonic() - self._said >= QUIET:
            self._said = monotonic()
            line = f"{self._what}: {done} of {total}"
            self._bar.console.print(line, highlight=False, markup=False)


class RowProgress:
    """A counter of decided rows for a file of unknown length."""

    def __init__(self) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.description} decided")
        console = SafeConsole(stderr=True)
        self._bar = Progress(SpinnerColumn(), text, TimeElapsedColumn(), console=console)
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Self:
        """Draw nothing yet, so that a refused file leaves only its message."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop drawing."""
        if self._bar.live.is_started:
            self._bar.stop()

    def rows(self, n_rows: int) -> None:
        """Show the number of rows decided so far."""
        self._bar.update(self._task, completed=n_rows, description=counted(n_rows, "row"))
        if n_rows:
            self._bar.start()


def new_bar(step: str, width: int) -> Any:
    """Return a bar on standard error: name of a step, steps done, time left, description."""
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
        console=SafeConsole(stderr=True),
    )


def print_note(line: str) -> None:
    """Print one line on standard error, as it is."""
    SafeConsole(stderr=True).print(line, highlight=False, markup=False, soft_wrap=True)
