"""Results of jobs: plain records, each kept in a file of its own as soon as it is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from joblib import Parallel, delayed

from emsco._base.documents import Fields, read_document, write_document
from emsco.errors import EMSCOError, FileError

__all__ = ["Begin", "Job", "Report", "ResultStore", "finish_jobs", "run_jobs"]

Report = Callable[[int, int, str], None]
Begin = Callable[[Mapping[str, Any]], None]
_KIND, _FORMAT = "result of an experiment", 2


class Job(Protocol):
    """What an experiment does many of; a frozen dataclass of plain values."""

    @property
    def title(self) -> str:
        """A few words for people, which are also the beginning of a file's name."""


JobT = TypeVar("JobT", bound=Job)


@dataclass(frozen=True, slots=True)
class ResultStore:
    """A folder with a file for each result, under a name that has a digest of its job.

    Jobs that differ in any way have files of their own, so one folder may hold results of several
    experiments, and nothing is ever taken for something else.
    """

    folder: Path

    def path(self, job: Any) -> Path:
        """Where the result of a job is kept."""
        text = json.dumps(_plain(job), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        words = "-".join("".join(c if c.isalnum() else " " for c in job.title).split())
        return self.folder / f"{words}-{digest}.json"

    def find(self, job: Any) -> Fields | None:
        """The result of a job, where it is there and whole."""
        path = self.path(job)
        if not path.exists():
            return None
        try:
            fields = read_document(path, _KIND, _FORMAT)
        except FileError:
            return None  # to be done again
        return fields.fields("result") if fields.get("job") == _plain(job) else None

    def every(self, kind: type[JobT]) -> Iterator[tuple[JobT, Fields]]:
        """All whole results of one kind of job, by name of file."""
        for path in sorted(self.folder.glob("*.json")):
            try:
                fields = read_document(path, _KIND, _FORMAT)
                job = kind(**fields.fields("job").values)
            except (FileError, TypeError):
                continue  # damaged, or of another experiment
            if path == self.path(job):
                yield job, fields.fields("result")

    def keep(self, job: Any, result: Mapping[str, Any]) -> Fields:
        """Write the result of a job, and return it as it will be read."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_document(self.path(job), _KIND, _FORMAT, {"job": _plain(job), "result": result})
        return read_document(self.path(job), _KIND, _FORMAT).fields("result")


def run_jobs(
    jobs: Sequence[JobT],
    run: Callable[[JobT], Mapping[str, Any]],
    store: ResultStore,
    n_jobs: int | None = 1,
    report: Report | None = None,
) -> Iterator[tuple[JobT, Fields]]:
    """Results of all jobs: those of the store first, then the others as they end.

    Parameters
    ----------
    jobs : sequence of Job
        May repeat; each is done once.
    run : callable
        Does one job and returns plain values; must be importable by other processes.
    store : ResultStore
        Every result is written there before it is handed out.
    n_jobs : int or None
        Processes, as in joblib.
    report : callable, optional
        Called with the number of jobs done, of all jobs, and a word on the last one.
    """
    jobs = list(dict.fromkeys(jobs))
    todo, n_done = [], 0
    for job in jobs:
        known = store.find(job)
        if known is None:
            todo.append(job)
            continue
        n_done += 1
        if report:
            report(n_done, len(jobs), f"{job.title} (known)")
        yield job, known
    workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    try:
        for job, result in workers(delayed(_do)(run, job) for job in todo):
            found = store.keep(job, result)
            n_done += 1
            if report:
                report(n_done, len(jobs), job.title)
            yield job, found
    except BrokenProcessPool:
        raise EMSCOError(
            f"a worker process was ended from outside, perhaps for want of memory, after {n_done} "
            f"of {len(jobs)} jobs; their results are kept: the same command goes on from there."
        ) from None


def finish_jobs(
    jobs: Sequence[JobT],
    run: Callable[[JobT], Mapping[str, Any]],
    store: ResultStore,
    n_jobs: int | None = 1,
    report: Report | None = None,
) -> tuple[dict[JobT, Fields], bool]:
    """Results by job, as `run_jobs` has them, and whether they are all.

    Ctrl-C ends it early: the results that are complete are kept. Before the first of them it is
    raised.
    """
    found: dict[JobT, Fields] = {}
    try:
        found.update(run_jobs(jobs, run, store, n_jobs, report))
    except KeyboardInterrupt:
        if not found:
            raise
        return found, False
    return found, True


def _do(run: Callable[[JobT], Mapping[str, Any]], job: JobT) -> tuple[JobT, Mapping[str, Any]]:
    return job, run(job)


def _plain(job: Any) -> dict[str, Any]:
    """A job as JSON gives it back."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(job)))
    return values
