"""What comparisons, rivals and the paper share: checks, kept results, progress and tables."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from emsco.errors import EMSCOError, FileError, ParameterError

Report = Callable[[int, int, str], None]  # jobs done, all jobs, the last one in words
LARGEST_SEED = 2**32 - 1


def check_whole(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number between two limits; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ParameterError(f"{name} must be a whole number from {low} to {high}, got {value!r}.")
    return value


def check_choice(name: str, value: Any, choices: Collection[Any]) -> str:
    """Return one of the choices; refuse anything else."""
    if value not in choices:
        listed = ", ".join(map(json.dumps, choices))
        raise ParameterError(f"{name} must be one of {listed}, got {value!r}.")
    return str(value)


class Results:
    """Results of the jobs of an experiment, in a file that gets a line as each job ends.

    The first line says what the experiment is about, so that no result is mistaken for one of
    other data or settings. A job is a tuple of plain values.

    Parameters
    ----------
    path : Path or None
        None keeps results in memory.
    about : mapping
        Plain values that identify data and settings.

    Attributes
    ----------
    known : dict
        Result of each job that is done.
    """

    def __init__(self, path: Path | None, about: Mapping[str, Any]) -> None:
        self.path, self.known = path, dict[tuple[Hashable, ...], Any]()
        if path is None:
            return
        head = json.dumps(about, sort_keys=True)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{head}\n", encoding="utf-8")
        try:
            first, *lines = path.read_text(encoding="utf-8").split("\n")
            began = json.loads(first)
            # The last piece is empty, or a line that was cut off: its job is done again.
            for line in lines[:-1]:
                job, result = json.loads(line)
                self.known[tuple(job)] = result
            if lines and lines[-1]:
                path.write_text("\n".join([first, *lines[:-1], ""]), encoding="utf-8")
        except (TypeError, ValueError):
            raise FileError(f"{path} must be a file of results; choose another folder.") from None
        if began != json.loads(head):
            differ = [
                name
                for name in about
                if not isinstance(began, dict) or began.get(name) != json.loads(head)[name]
            ]
            raise FileError(
                f"{path} has results of other {' and '.join(differ) or 'settings'}; "
                "choose another folder."
            )

    def add(self, job: tuple[Hashable, ...], result: Any) -> None:
        """Keep a result, in the file too."""
        self.known[job] = result
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps([job, result])}\n")
                file.flush()
                os.fsync(file.fileno())

    def finish(
        self,
        jobs: Sequence[tuple[Any, ...]],
        work: Callable[..., Any],
        n_jobs: int | None = 1,
        report: Report | None = None,
    ) -> bool:
        """Call ``work(*job)`` for all jobs without a result; False if Ctrl-C came first.

        `work` returns plain values. Jobs run in `n_jobs` processes, as in joblib.
        """
        if n_jobs == 0:
            raise ParameterError("jobs must be processes, or below 0 for all but some, got 0.")
        todo = [job for job in dict.fromkeys(jobs) if job not in self.known]
        done = len(set(jobs)) - len(todo)
        workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        try:
            for job, result in workers(delayed(_do)(work, job) for job in todo):
                self.add(job, result)
                done += 1
                if report:
                    report(done, len(set(jobs)), " ".join(map(str, job)))
        except BrokenProcessPool:
            raise EMSCOError(
                f"a worker process was killed after {done} of {len(set(jobs))} jobs, perhaps "
                "because memory ran out; the same command goes on from there."
            ) from None
        except KeyboardInterrupt:
            return False
        return True


def _do(work: Callable[..., Any], job: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
    return job, work(*job)


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """Show a bar of finished jobs on a terminal's standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None)

        def report(done: int, total: int, last: str) -> None:
            bar.update(task, completed=done, total=total, description=last)

        yield report


def markdown_table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns; all but the first are aligned right."""
    rows = [[cell.replace("|", "\\|") for cell in line] for line in (heads, *lines)]
    first, *others = zip(*rows, strict=True)
    columns = [_column(first, str.ljust, "-")]
    columns += [_column(cells, str.rjust, ":") for cells in others]
    return "\n".join(f"| {' | '.join(line)} |" for line in zip(*columns, strict=True))


def _column(cells: Sequence[str], align: Callable[[str, int], str], end: str) -> list[str]:
    """Give the cells of a column one width, and a rule below the first."""
    width = max(3, *map(len, cells))
    head, *rest = (align(cell, width) for cell in cells)
    return [head, "-" * (width - 1) + end, *rest]


def and_words(words: Sequence[str]) -> str:
    """Join words with commas and an "and" before the last.

    Examples
    --------
    >>> and_words(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
