"""Jobs of an experiment, each with a file that keeps its result as soon as it ends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeVar

from joblib import Parallel, delayed

from emsco._base.documents import Fields, PathLike, read_document, write_document
from emsco._base.workers import ending_with_parent
from emsco.errors import EMSCOError, FileError

Report = Callable[[int, int, str], None]
Begin = Callable[[Mapping[str, Any]], None]
_KIND, _FORMAT = "result of an experiment", 3


class Job(Protocol):
    """One of the many jobs of an experiment; a frozen dataclass of plain values."""

    @property
    def title(self) -> str:
        """A few words for people, and the beginning of the result file's name."""


JobT = TypeVar("JobT", bound=Job)


@dataclass(frozen=True, slots=True)
class ResultStore:
    """A folder with one file per result; a digest of the job is part of the file's name.

    Jobs that differ in any way have different files. So one folder can hold results of several
    experiments, and none is mistaken for another.
    """

    folder: Path

    def path(self, job: Any) -> Path:
        """Path of the file with the result of a job."""
        text = json.dumps(_plain(job), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        words = "-".join("".join(c if c.isalnum() else " " for c in job.title).split())
        return self.folder / f"{words}-{digest}.json"

    def find(self, job: Any) -> Fields | None:
        """Read the result of a job; None if there is none, or if it is damaged."""
        path = self.path(job)
        if not path.exists():
            return None
        try:
            fields = read_document(path, _KIND, _FORMAT, _FORMAT)
            return fields.fields("result") if fields.get("job") == _plain(job) else None
        except FileError:
            return None  # damaged or of an older format: do the job again

    def every(self, kind: type[JobT]) -> Iterator[tuple[JobT, Fields]]:
        """Read all undamaged results of one kind of job, in the order of file names."""
        for path in sorted(self.folder.glob("*.json")):
            try:
                fields = read_document(path, _KIND, _FORMAT, _FORMAT)
                job, result = kind(**fields.fields("job").values), fields.fields("result")
                is_own = path == self.path(job)
            except (AttributeError, FileError, LookupError, TypeError, ValueError):
                continue  # damaged, or of another experiment
            if is_own:
                yield job, result

    def keep(self, job: Any, result: Mapping[str, Any]) -> Fields:
        """Write the result of a job, and return it as a later `find` will read it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_document(self.path(job), _KIND, _FORMAT, {"job": _plain(job), "result": result})
        return read_document(self.path(job), _KIND, _FORMAT).fields("result")

    def forget(self, job: Any) -> None:
        """Remove the result of a job, if there is one."""
        self.path(job).unlink(missing_ok=True)


@contextmanager
def opened_store(folder: PathLike | None) -> Iterator[ResultStore]:
    """A store in a folder, or if there is none, in one that is removed in the end."""
    with ExitStack() as stack:
        place = stack.enter_context(TemporaryDirectory()) if folder is None else folder
        yield ResultStore(Path(place))


def run_jobs(
    jobs: Sequence[JobT],
    work: Callable[[JobT], Mapping[str, Any]],
    store: ResultStore,
    n_jobs: int | None = 1,
    report: Report | None = None,
) -> Iterator[tuple[JobT, Fields]]:
    """Yield the results of all jobs: known ones from the store first, then others as they end.

    Parameters
    ----------
    jobs : sequence of Job
        A job that is listed twice is done once.
    work : callable
        Does one job and returns plain values; must be importable by other processes.
    store : ResultStore
        Keeps every result before it is yielded.
    n_jobs : int or None
        Processes, as in joblib.
    report : callable, optional
        Called with the number of jobs done, the number of all jobs, and the last one's title.
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
    one = ending_with_parent(_do)
    try:
        for job, result in workers(delayed(one)(work, job) for job in todo):
            found = store.keep(job, result)
            n_done += 1
            if report:
                report(n_done, len(jobs), job.title)
            yield job, found
    except BrokenProcessPool:
        raise EMSCOError(
            f"a worker process was killed, perhaps because memory ran out, after {n_done} of "
            f"{len(jobs)} jobs; their results are kept: the same command goes on from there."
        ) from None


def finish_jobs(
    jobs: Sequence[JobT],
    work: Callable[[JobT], Mapping[str, Any]],
    store: ResultStore,
    n_jobs: int | None = 1,
    report: Report | None = None,
) -> tuple[dict[JobT, Fields], bool]:
    """Do all jobs; return their results, and whether they are complete.

    Ctrl-C stops early and keeps the results so far. Before the first result, it is raised.
    """
    found: dict[JobT, Fields] = {}
    try:
        found.update(run_jobs(jobs, work, store, n_jobs, report))
    except KeyboardInterrupt:
        if not found:
            raise
        return found, False
    return found, True


def _do(work: Callable[[JobT], Mapping[str, Any]], job: JobT) -> tuple[JobT, Mapping[str, Any]]:
    return job, work(job)


def _plain(job: Any) -> dict[str, Any]:
    """A job as plain values, as JSON reads them back."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(job)))
    return values
