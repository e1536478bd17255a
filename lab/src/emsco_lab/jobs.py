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


def finish_jobs(
    jobs: Sequence[JobT],
    work: Callable[[JobT], Mapping[str, Any]],
    store: ResultStore,
    n_jobs: int | None = 1,
    report: Report | None = None,
) -> tuple[dict[JobT, Fields], bool]:
    """Do all jobs; return their results, and whether they are complete.

    Known results come from the store. Ctrl-C stops early and keeps the results so far. Before the
    first result, it is raised.

    Parameters
    ----------
    jobs : sequence of Job
        A job that is listed twice is done once.
    work : callable
        Does one job and returns plain values; must be importable by other processes.
    store : ResultStore
        Keeps every result as it comes.
    n_jobs : int or None
        Processes, as in joblib.
    report : callable, optional
        Called with the number of jobs done, the number of all jobs, and the last one's title.
    """
    jobs = list(dict.fromkeys(jobs))
    results: dict[JobT, Fields] = {}

    def add(job: JobT, result: Fields, title: str) -> None:
        if report:
            report(len(results) + 1, len(jobs), title)  # it may raise: then the job counts as open
        results[job] = result

    try:
        known = {job: result for job in jobs if (result := store.find(job)) is not None}
        for job, result in known.items():
            add(job, result, f"{job.title} (known)")
        workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        one, todo = ending_with_parent(_do), [job for job in jobs if job not in known]
        for job, values in workers(delayed(one)(work, job) for job in todo):
            add(job, store.keep(job, values), job.title)
    except BrokenProcessPool:
        raise EMSCOError(
            f"a worker process was killed, perhaps because memory ran out, after {len(results)} of "
            f"{len(jobs)} jobs; their results are kept: the same command goes on from there."
        ) from None
    except KeyboardInterrupt:
        if not results:
            raise
        return results, False
    return results, True


def _do(work: Callable[[JobT], Mapping[str, Any]], job: JobT) -> tuple[JobT, Mapping[str, Any]]:
    return job, work(job)


def _plain(job: Any) -> dict[str, Any]:
    """A job as plain values, as JSON reads them back."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(job)))
    return values
