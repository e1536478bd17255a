"""The progress bar of a search."""

from __future__ import annotations

from time import monotonic
from typing import Any, Self

from emsco._base.progress import QUIET, new_bar
from emsco.search.labels import LabelFront
from emsco.search.loop import SearchRecord

_STEPS = {
    "exact": "exact, chains to size",
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
        self._bar: Any = new_bar("{task.fields[step]}", width=12) if shown else None
        self._tasks: list[Any] = []  # that of the search, and that of its models
        self._note = note
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

    def begin(self, what: str, total: int) -> None:
        """Start the bar of a phase of `total` steps, in place of an earlier one."""
        if self._bar:
            for task in self._tasks:
                self._bar.remove_task(task)
            step, models = _STEPS.get(what, f"{what}, generation"), "models fitted"
            self._tasks = [
                self._bar.add_task("starting", total=total, step=step),
                self._bar.add_task("for the next designs", total=0, step=models, visible=False),
            ]

    def generation(self, record: SearchRecord) -> None:
        """Show that a generation is complete."""
        found = (
            f"front {record.n_front}, {record.n_designs:,} designs, {record.n_subsets:,} subsets"
        )
        self._show(0, completed=record.generation, description=found)

    def exact(self, reached: LabelFront) -> None:
        """Show how far an exact search is."""
        found = f"{reached.n_settled:,} designs settled, {reached.n_labels:,} kinds of chains"
        self._show(0, completed=round(reached.done, 2), description=found)

    def fitting(self, done: int, total: int) -> None:
        """Show how many of the models needed next are fitted."""
        self._show(1, completed=done, total=total, visible=done < total)

    def _show(self, which: int, **changes: Any) -> None:
        """Change a bar; in a log, print a line if the last one was a while ago."""
        if not self._tasks:
            return
        self._bar.update(self._tasks[which], **changes)
        now = monotonic()
        if now - self._said >= QUIET and self._is_log:
            self._said = now
            tasks = [
                f"{one.fields['step']} {one.completed:g} of {one.total:g}, {one.description}"
                for one in self._bar.tasks
                if one.visible
            ]
            line = f"after {now - self._started:.0f} s: {', '.join(tasks)}"
            self._bar.console.print(line, highlight=False, markup=False, soft_wrap=True)
