"""The paper's comparison: EMSCO and its rivals on five data sets, over many random splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from emsco._base.checks import check_choice, check_whole
from emsco._base.documents import Fields, PathLike
from emsco.datasets import Dataset, load, paper_split
from emsco.designs.space import default_max_stages
from emsco.errors import FileError
from emsco.paper.published import SETS, SETTINGS
from emsco.paper.standings import Standing
from emsco.search.settings import SearchSettings
from emsco.studies.jobs import Report, ResultStore, finish_jobs
from emsco.studies.methods import (
    CONTESTANTS,
    EVERY,
    METHODS,
    SEARCHES,
    Contestant,
    MethodResult,
    new_rival,
    run_rival,
    run_searches,
)
from emsco.studies.searching import Parts, SplitBanks

__all__ = [
    "QUICK",
    "Comparison",
    "ComparisonJob",
    "Extent",
    "known_comparison",
    "reproduce_comparison",
    "split_parts",
]

_SPLITS_PER_SEED = 1000
_EXACT_SECONDS = 1800.0  # after which an exact search of a split is given up
_MOST_DESIGNS = 10**10  # past which it is done with fewer stages, as many as
_EXACT_STAGES = 4  # the paper had in its own proofs
_FEWER = 5  # times fewer runs for designs that may leave features out, which the paper has not
_SPREAD = ("synthetic50",)  # a run fits some 150,000 subsets: runs are spread over the splits


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of the comparison is done.

    Attributes
    ----------
    sets, methods : tuple of str
    splits : int
        Random splits of each set.
    runs : int
        Runs of EMSCO's searches on a split; on Synthetic50, on all splits together.
    generations : int
        Of each run.
    most : int
        Most settings of each rival's grid that are tried.
    """

    sets: tuple[str, ...] = SETS
    methods: tuple[str, ...] = METHODS
    splits: int = 10
    runs: int = 50
    generations: int = 150
    most: int = EVERY

    def __post_init__(self) -> None:
        """Refuse what there is not."""
        for name in self.sets:
            check_choice("sets", name, SETS)
        for method in self.methods:
            check_choice("methods", method, METHODS)
        check_whole("splits", self.splits, 1, _SPLITS_PER_SEED)
        for field in ("runs", "generations", "most"):
            check_whole(field, getattr(self, field), 1)

    def jobs(self, seed: int) -> list[ComparisonJob]:
        """All jobs, split by split, so that what is known early is known of all."""
        return [
            self._job(name, split, method, seed)
            for split in range(self.splits)
            for name in self.sets
            for method in self.methods
        ]

    def _job(self, name: str, split: int, method: str, seed: int) -> ComparisonJob:
        if method not in SEARCHES:
            return ComparisonJob(name, split, method, seed, most=self.most)
        runs = -(-self.runs // self.splits) if name in _SPREAD else self.runs
        runs = {"exact": 1, "excluding": -(-runs // _FEWER)}.get(method, runs)
        return ComparisonJob(name, split, method, seed, runs, self.generations)


QUICK = Extent(sets=("heart", "pima"), splits=2, runs=2, generations=40, most=4)


@dataclass(frozen=True, slots=True)
class ComparisonJob:
    """One method on one split of one set; what does not matter to a method is left at its default.

    Attributes
    ----------
    name : str
    split : int
    method : str
    seed : int
        Of the set where it is made, of the split, of all runs and of what rivals draw.
    runs, generations : int
        Of one of EMSCO's searches.
    most : int
        Most settings of a rival's grid that are tried.
    """

    name: str
    split: int
    method: str
    seed: int
    runs: int = 1
    generations: int = 1
    most: int = EVERY

    @property
    def title(self) -> str:
        """A few words."""
        return f"{self.name} split {self.split} {self.method}"

    @property
    def effort(self) -> tuple[int, int, int]:
        """How much is done, to tell the better of two results."""
        return self.runs, self.generations, self.most


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of the whole comparison, as far as it has come.

    Attributes
    ----------
    results : dict of ComparisonJob to MethodResult
    seed : int
    seconds : float
        Time that this call took, results known before not included.
    complete : bool
    """

    results: Mapping[ComparisonJob, MethodResult]
    seed: int
    seconds: float
    complete: bool

    @property
    def sets(self) -> tuple[str, ...]:
        """Sets with results, in the order of the paper's table."""
        there = {job.name for job in self.results}
        return tuple(name for name in SETS if name in there)

    @cached_property
    def standings(self) -> dict[tuple[str, Contestant], Standing]:
        """How every contestant stands on every set, where it has been run."""
        found: dict[tuple[str, Contestant], Standing] = {}
        for name in self.sets:
            for contestant in CONTESTANTS:
                by_split = {
                    job.split: [outcome.seen for outcome in result.of_rule(contestant.rule)]
                    for job, result in self.results.items()
                    if (job.name, job.method) == (name, contestant.method)
                }
                by_split = {split: tests for split, tests in by_split.items() if tests}
                if by_split:
                    found[name, contestant] = Standing.from_tests(by_split)
        return found

    def contestants(self, name: str) -> list[Contestant]:
        """Who has been run on a set."""
        return [one for one in CONTESTANTS if (name, one) in self.standings]

    @property
    def notes(self) -> dict[tuple[str, str], str]:
        """Why methods have no results, or others than they should, by set and method."""
        return {
            (job.name, job.method): result.note
            for job, result in self.results.items()
            if not result.outcomes or result.note.startswith("at most")
        }


def reproduce_comparison(
    folder: PathLike,
    extent: Extent | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    report: Report | None = None,
) -> Comparison:
    """Run every method on every split of every set, and keep each result as it comes.

    Parameters
    ----------
    folder : path
        Where results are kept; those that are there already are not computed again.
    extent : Extent, optional
        How much to do; by default all of it, which takes hours. `QUICK` takes a minute or two.
    seed : int
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    report : callable, optional
        Called with the number of jobs done, of all jobs, and a word on the last one.

    Ctrl-C ends it early: the results that are complete are kept, and `complete` is False.
    """
    started = perf_counter()
    jobs = (extent or Extent()).jobs(check_whole("seed", seed, 0))
    found, complete = finish_jobs(jobs, _run, ResultStore(Path(folder)), n_jobs, report)
    results = {job: MethodResult.from_dict(fields) for job, fields in found.items()}
    return Comparison(results, seed, perf_counter() - started, complete)


def known_comparison(folder: PathLike, seed: int = 0) -> Comparison:
    """What a folder has of the comparison, however many commands it took; nothing is run.

    Of several results of a method on a split, the one with the most runs and settings counts.
    """
    best: dict[tuple[int, int, int], tuple[ComparisonJob, Fields]] = {}
    for job, fields in ResultStore(Path(folder)).every(ComparisonJob):
        if job.name not in SETS or job.method not in METHODS:
            continue  # of another version
        place = job.split, SETS.index(job.name), METHODS.index(job.method)
        if job.seed == seed and (place not in best or job.effort > best[place][0].effort):
            best[place] = job, fields
    if not best:
        raise FileError(f"{folder} must hold results of a comparison of seed {seed}, got none.")
    found = [best[place] for place in sorted(best)]
    results = {job: MethodResult.from_dict(fields) for job, fields in found}
    return Comparison(results, seed, 0.0, complete=True)


def split_parts(data: Dataset, split: int, seed: int) -> Parts:
    """One of a set's random splits."""
    rows = paper_split(len(data.X), _seed_of(split, seed))
    return Parts(data.X, data.y, data.costs, *rows)


def _seed_of(split: int, seed: int) -> int:
    """The seed of a split, and of what rivals draw on it."""
    return _SPLITS_PER_SEED * seed + split


@lru_cache(maxsize=2)
def _data(name: str, seed: int) -> Dataset:
    """A set; once per process, since some take a while to make."""
    return load(name, seed)


@lru_cache(maxsize=1)
def _banks(name: str, split: int, seed: int) -> SplitBanks:
    """Banks of a split, which all runs on it share."""
    return SplitBanks(split_parts(_data(name, seed), split, seed))


def paper_settings(name: str, n_features: int, generations: int = 150) -> SearchSettings:
    """The settings that the paper chose for a set."""
    own: dict[str, Any] = SETTINGS[name]
    return SearchSettings(default_max_stages(n_features), generations=generations, **own)


def _run_emsco(job: ComparisonJob, data: Dataset) -> MethodResult:
    words = [job.seed, job.split, SETS.index(job.name), SEARCHES.index(job.method)]
    n_features = data.X.shape[1]
    settings = paper_settings(job.name, n_features, job.generations)
    banks = _banks(job.name, job.split, job.seed)
    seeds = [[*words, run] for run in range(job.runs)]
    if job.method == "excluding":
        if job.name in _SPREAD:
            return MethodResult(note="not run: it would take as long as all other methods together")
        settings = replace(settings, allow_exclusion=True)
        return run_searches(banks, "evolution", settings, data.min_confidence, seeds)
    if job.method != "exact":
        return run_searches(banks, job.method, settings, data.min_confidence, seeds)
    fewer = settings.space(n_features).size > _MOST_DESIGNS
    if fewer:
        settings = replace(settings, max_stages=_EXACT_STAGES)
    found = run_searches(banks, "exact", settings, data.min_confidence, seeds, _EXACT_SECONDS)
    note = f"at most {settings.max_stages} stages; " if fewer else ""
    return replace(found, note=note + found.note)


def _run(job: ComparisonJob) -> dict[str, Any]:
    """Do one job."""
    data = _data(job.name, job.seed)
    started = process_time()
    if job.method in SEARCHES:
        result = _run_emsco(job, data)
    else:
        parts = split_parts(data, job.split, job.seed)
        drawn = _seed_of(job.split, job.seed)
        rival = new_rival(job.method, data.costs, data.min_confidence, drawn)
        result = run_rival(rival, parts, job.most)
    return replace(result, seconds=process_time() - started).to_dict()
