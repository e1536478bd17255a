"""The progress bar of a search."""

from __future__ import annotations

from time import monotonic
from typing import Any, Self

from emsco._base.progress import QUIET, new_bar
from emsco.search.exact.proof import ExactProgress
from emsco.search.loop import SearchRecord

_STEPS = {
    "exact": "exact, chains to size",
    "walk": "exact, percent of designs",
    "first designs": "first designs",
}


class SearchProgress:
    """Shows how far a search is, its best designs so far, and the models it waits for.

    Without a terminal, it prints a line every half minute instead.

    Parameters
    ----------
    shown : bool
        If False, every method does nothing.
    note : str
        Printed once, above the bar.
    """

    def __init__(self, shown: bool, note: str = "") -> None:
        self._bar: Any = None
        self._task: Any = None
        self._found = ""
        self._began = 0.0
        self._done, self._first = 0, 0
        self._note = note
        if shown:
            self._bar = new_bar("{task.fields[step]}", width=12)
            self._started = self._said = monotonic()

    def __enter__(self) -> Self:
        """Start drawing."""
        if self._bar:
            self._bar.start()
            if self._note:
                self._bar.console.print(self._note, highlight=False, soft_wrap=self._is_log)
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop drawing, but leave the last line on the screen."""
        if self._bar:
            self._bar.stop()

    @property
    def _is_log(self) -> bool:
        """Whether the console would draw the bar only at its end."""
        console = self._bar.console
        return not console.is_jupyter and (not console.is_terminal or console.is_dumb_terminal)

    def _show(self, **changes: Any) -> None:
        """Change the bar; in a log, print a line if the last one was a while ago."""
        self._bar.update(self._task, **changes)
        now = monotonic()
        if now - self._said < QUIET or not self._is_log:
            return
        self._said = now
        task = self._bar.tasks[-1]
        step = task.fields["step"]
        step += f" {task.completed:g} of {task.total:g}" if task.total else ""
        parts = [step, *([task.description] if task.description else [])]
        line = f"after {now - self._started:.0f} s: {', '.join(parts)}"
        self._bar.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def begin(self, what: str, total: int) -> None:
        """Start the bar of a phase of `total` steps, in place of an earlier one."""
        if self._bar:
            if self._task is not None:
                self._bar.remove_task(self._task)
            step = _STEPS.get(what, f"{what}, generation")
            self._task = self._bar.add_task("", total=total, step=step)

    def generation(self, record: SearchRecord) -> None:
        """Show that a generation is complete."""
        if self._bar:
            self._found = (
                f"front {record.n_front}, {record.n_designs:,} designs, "
                f"{record.n_subsets:,} subsets"
            )
            self._show(completed=record.generation, description=self._found)

    def exact(self, progress: ExactProgress) -> None:
        """Show how far an exact search is."""
        if self._bar:
            self._found = f"{progress.n_settled:,} designs settled"
            if progress.n_labels:
                self._found += f", {progress.n_labels:,} kinds of chains"
            self._show(completed=round(progress.done, 2), description=self._found)

    def fitting(self, done: int, total: int) -> None:
        """Show how many of the models needed next are fitted, and the time left."""
        if done <= self._done or not self._done:
            self._began, self._first = monotonic(), done
        self._done = done if done < total else 0
        if not self._bar or self._task is None:
            return
        note = self._found
        if done < total:
            left = (monotonic() - self._began) / max(done - self._first, 1) * (total - done)
            note = f"fitting {done}/{total}" + (f", {left:.0f} s left" if left >= 2 else "")
        self._show(description=note)
