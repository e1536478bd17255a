"""Comparison of EMSCO and its rivals on your own data: a contest over a few random splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from emsco._base.checks import check_number, check_whole
from emsco._base.documents import PathLike
from emsco._base.text import first_line
from emsco.errors import DataError, Parameter
from emsco.lab.contest_records import Contest
from emsco.lab.contests import (
    FULL,
    LARGEST_SEED,
    METHODS,
    SPLITS_PER_SEED,
    Answers,
    ContestJob,
    CostedRows,
    Effort,
    check_methods,
    do_job,
    run_contest,
)
from emsco.lab.jobs import Begin, Report, ResultStore
from emsco.lab.searching import Parts, SplitData

SPLITS = 3
_LEAST_ROWS, _LEAST_FITTED = 10, 5  # rows of a class: in all, or to fit on if test rows are given


def compare_methods(
    data: CostedRows,
    name: str = "your data",
    methods: Sequence[str] = METHODS,
    splits: int = SPLITS,
    effort: Effort = FULL,
    seed: int = 0,
    error_cost: float | None = None,
    reject_cost: float | None = None,
    folder: PathLike | None = None,
    n_jobs: int | None = -1,
    begin: Begin | None = None,
    report: Report | None = None,
) -> Contest:
    """Let every method answer the same questions on the same splits.

    Parameters
    ----------
    data : CostedRows
    name : str
        Name of the data, for headings.
    methods : sequence of str
        "emsco" and rivals; see `METHODS`.
    splits : int
        Random splits; 1 if `data` says which rows to test on.
    effort : Effort
        How thoroughly methods are tuned.
    seed : int
    error_cost : float, optional
        Cost of an error, for results in money; by default the cost of everything.
    reject_cost : float, optional
        Cost of a rejection there; by default 0.
    folder : path, optional
        Keeps results; those that it already has are not computed again.
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    begin : callable, optional
        Called with the digests and settings of the comparison, after all checks and before any
        computation; may refuse.
    report : callable, optional
        Called with the number of jobs done, the number of all jobs, and the last one's title.

    Ctrl-C stops early: complete results are kept, and `complete` is False.
    """
    methods = check_methods(methods)
    check_whole("splits", splits, 1, SPLITS_PER_SEED)
    for kind, cost in (("error_cost", error_cost), ("reject_cost", reject_cost)):
        if cost is not None:
            check_number(kind, cost, 0, np.inf, "[)")
    numbers = range(splits if data.test is None else 1)
    _check_splits(data, numbers, check_whole("seed", seed, 0, LARGEST_SEED))
    digests = _digests(data)
    of = {
        **digests.facts(),
        "seed": seed,
        "settings tried": effort.most,
        "generations": effort.generations,
    }
    if begin:
        begin(of)
    known = f"{name} {digests.digest()[:10]}"
    jobs = [
        ContestJob(known, split, method, seed, effort.most, effort.generations)
        for split in numbers
        for method in methods
    ]
    with ExitStack() as stack:
        place = stack.enter_context(TemporaryDirectory()) if folder is None else folder
        store, do = ResultStore(Path(place)), partial(try_job, data=data)
        found, complete = run_contest(jobs, do, store, n_jobs, _without(known, report))
    ordered = {job: found[job] for job in jobs if job in found}
    return Contest.from_answers(name, data, ordered, error_cost, of, complete, reject_cost)


def try_job(job: ContestJob, data: CostedRows) -> Mapping[str, Any]:
    """Do a job; if it fails in an unforeseen way, that is its result, and others go on."""
    started = process_time()
    try:
        return do_job(job, data)
    except Exception as error:
        why = f"it failed with {type(error).__name__}: {first_line(error)}."
        return Answers((), why, process_time() - started).to_dict()


def _check_splits(data: CostedRows, splits: Sequence[int], seed: int) -> None:
    """Refuse data that cannot be split, and splits whose weights leave nothing to learn or test."""
    _check_classes(data)
    for split in splits:
        trial = data.trial(split, seed)
        if not trial.test.counts.any():
            raise DataError(Parameter("weights"), " must be above 0 for some test row, got none.")
        learnt = trial.fitted.y[trial.fitted.counts > 0]
        missing = np.setdiff1d(trial.fitted.y, learnt).tolist()
        if missing:
            raise DataError(
                Parameter("weights"),
                f" must be above 0 for some fitted row of every class, got none of {missing[0]!r}.",
            )


def _check_classes(data: CostedRows) -> None:
    """Refuse a class with too few rows for the splits and for the folds that methods choose on."""
    y = data.rows.y
    labels, counts = np.unique(y, return_counts=True)
    least, rule = _LEAST_ROWS, f"DATA must have {_LEAST_ROWS} rows or more of every class"
    if data.test is not None:
        fitted = np.delete(y, data.test)
        counts = np.array([np.count_nonzero(fitted == label) for label in labels])
        least = _LEAST_FITTED
        rule = f"the rows to fit on must have {least} or more of every class"
    if (counts < least).any():
        rarest = int(counts.argmin())
        label = labels[rarest : rarest + 1].tolist()[0]
        raise DataError(f"{rule}, got {counts[rarest]} of {label!r}.")


def _digests(data: CostedRows) -> SplitData:
    """Rows, labels, costs and given test rows as they are identified."""
    rows, none = data.rows, np.zeros(0, dtype=np.intp)
    test = none if data.test is None else data.test
    rest = np.setdiff1d(np.arange(len(rows.y)), test)
    parts = Parts(rows.X, rows.y, data.costs, rest, none, test, rows.weights)
    return SplitData.from_parts(parts, gaps="impute")


def _without(known: str, report: Report | None) -> Report | None:
    """Report titles without the name of the data, which is the same for all jobs."""
    if report is None:
        return None
    return lambda done, total, title: report(done, total, title.removeprefix(f"{known} "))
