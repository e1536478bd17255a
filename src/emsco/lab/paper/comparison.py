"""The paper's comparison: EMSCO and its rivals on five data sets, over many random splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from emsco._base.checks import LARGEST_SEED, check_choice, check_whole
from emsco._base.documents import Fields, PathLike
from emsco.designs.space import default_max_stages
from emsco.errors import FileError
from emsco.lab.datasets import Dataset, load, paper_split
from emsco.lab.datasets.dataset import threshold_of
from emsco.lab.jobs import Report, ResultStore, finish_jobs
from emsco.lab.methods import (
    CONTESTANTS,
    EVERY,
    METHODS,
    SEARCHES,
    Contestant,
    MethodResult,
    new_rival,
    repeat_search,
    tune_rival,
)
from emsco.lab.paper.published import SETS, SETTINGS
from emsco.lab.paper.standings import Standing
from emsco.lab.searching import Parts, SplitBanks
from emsco.search.settings import SearchSettings

_SPLITS_PER_SEED = 1000
_LARGEST_SEED = (LARGEST_SEED + 1) // _SPLITS_PER_SEED - 1
_EXACT_SECONDS = 1800.0  # an exact search of one split may take so long
_MOST_DESIGNS = 10**10  # in larger spaces, exact search has fewer stages:
_EXACT_STAGES = 4  # as many as in the paper's own proofs
_FEWER = 5  # times fewer repeats of "excluding", which the paper does not have
_SPREAD = ("synthetic50",)  # a search fits some 150,000 subsets: repeats are spread over splits


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of the comparison to do.

    Attributes
    ----------
    sets, methods : tuple of str
    splits : int
        Random splits of each set.
    runs : int
        Repeats of EMSCO's searches on a split; on Synthetic50, on all splits together.
    generations : int
        Generations of each search.
    most : int
        Largest number of settings to try of each rival's grid.
    """

    sets: tuple[str, ...] = SETS
    methods: tuple[str, ...] = METHODS
    splits: int = 10
    runs: int = 50
    generations: int = 150
    most: int = EVERY

    def __post_init__(self) -> None:
        """Refuse unknown sets and methods, and numbers below 1."""
        for name in self.sets:
            check_choice("sets", name, SETS)
        for method in self.methods:
            check_choice("methods", method, METHODS)
        check_whole("splits", self.splits, 1, _SPLITS_PER_SEED)
        for field in ("runs", "generations", "most"):
            check_whole(field, getattr(self, field), 1)

    def jobs(self, seed: int) -> list[ComparisonJob]:
        """All jobs, split by split, so that early results cover all sets and methods."""
        return [
            self._job(name, split, method, seed)
            for split in range(self.splits)
            for name in self.sets
            for method in self.methods
        ]

    def _job(self, name: str, split: int, method: str, seed: int) -> ComparisonJob:
        if method not in SEARCHES:
            return ComparisonJob(name, split, method, seed, most=self.most)
        repeats = -(-self.runs // self.splits) if name in _SPREAD else self.runs
        repeats = {"exact": 1, "excluding": -(-repeats // _FEWER)}.get(method, repeats)
        return ComparisonJob(name, split, method, seed, repeats, self.generations)


QUICK = Extent(sets=("heart", "pima"), splits=2, runs=2, generations=40, most=4)


@dataclass(frozen=True, slots=True)
class ComparisonJob:
    """One method on one split of one set.

    Fields that a method does not use keep their defaults, so that its results stay valid.

    Attributes
    ----------
    name : str
    split : int
    method : str
    seed : int
        Seed of a synthetic set, the split, all searches and the rivals.
    runs, generations : int
        Repeats of one of EMSCO's searches, and the generations of each.
    most : int
        Largest number of settings to try of a rival's grid.
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
        """Set, split and method."""
        return f"{self.name} split {self.split} {self.method}"

    @property
    def effort(self) -> tuple[int, int, int]:
        """Repeats, generations and settings, to prefer the more thorough of two results."""
        return self.runs, self.generations, self.most


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of the comparison so far.

    Attributes
    ----------
    results : dict of ComparisonJob to MethodResult
    seed : int
    seconds : float
        Time of this call, without that of earlier results.
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
        """Standing of every contestant on every set it has results for."""
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
        """Contestants with results on a set."""
        return [one for one in CONTESTANTS if (name, one) in self.standings]

    @property
    def notes(self) -> dict[tuple[str, str], str]:
        """Reasons for missing or restricted results, by set and method."""
        return {
            (job.name, job.method): result.note
            for job, result in self.results.items()
            if not result.outcomes or result.restricted
        }


def reproduce_comparison(
    folder: PathLike,
    extent: Extent | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    report: Report | None = None,
) -> Comparison:
    """Try every method on every split of every set, and keep each result as it comes.

    Parameters
    ----------
    folder : path
        Keeps results; those that it already has are not computed again.
    extent : Extent, optional
        How much to do; by default everything, which takes hours. `QUICK` takes a minute or two.
    seed : int
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    report : callable, optional
        Called with the number of jobs done, the number of all jobs, and the last one's title.

    Ctrl-C stops early: complete results are kept, and `complete` is False.
    """
    started = perf_counter()
    jobs = (extent or Extent()).jobs(check_whole("seed", seed, 0, _LARGEST_SEED))
    found, complete = finish_jobs(jobs, _do_job, ResultStore(Path(folder)), n_jobs, report)
    results = {job: MethodResult.from_dict(fields) for job, fields in found.items()}
    return Comparison(results, seed, perf_counter() - started, complete)


def known_comparison(folder: PathLike, seed: int = 0) -> Comparison:
    """Read the results in a folder, of one command or many, without computing anything.

    Of several results of a method on a split, the one with the most repeats and settings counts.
    """
    best: dict[tuple[int, int, int], tuple[ComparisonJob, Fields]] = {}
    for job, fields in ResultStore(Path(folder)).every(ComparisonJob):
        if job.name not in SETS or job.method not in METHODS:
            continue  # written by another version
        place = job.split, SETS.index(job.name), METHODS.index(job.method)
        if job.seed == seed and (place not in best or job.effort > best[place][0].effort):
            best[place] = job, fields
    if not best:
        raise FileError(f"{folder} must hold results of a comparison of seed {seed}, got none.")
    found = [best[place] for place in sorted(best)]
    results = {job: MethodResult.from_dict(fields) for job, fields in found}
    return Comparison(results, seed, 0.0, complete=True)


def split_parts(data: Dataset, split: int, seed: int) -> Parts:
    """Split a set at random: training, scored and test rows."""
    rows = paper_split(len(data.X), _seed_of(split, seed))
    return Parts(data.X, data.y, data.costs, *rows)


def _seed_of(split: int, seed: int) -> int:
    """Seed of a split, and of the rivals on it."""
    return _SPLITS_PER_SEED * seed + split


@lru_cache(maxsize=2)
def _data(name: str, seed: int) -> Dataset:
    """Load a set once per process, since some take a while to make."""
    return load(name, seed)


@lru_cache(maxsize=1)
def _banks(name: str, split: int, seed: int) -> SplitBanks:
    """Open the banks of a split, which all searches on it share."""
    return SplitBanks(split_parts(_data(name, seed), split, seed))


def paper_settings(name: str, n_features: int, generations: int = 150) -> SearchSettings:
    """Settings that the paper chose for a set."""
    own: dict[str, Any] = SETTINGS[name]
    return SearchSettings(default_max_stages(n_features), generations=generations, **own)


def _search(job: ComparisonJob, data: Dataset) -> MethodResult:
    """Repeat one of EMSCO's searches on a split."""
    words = [job.seed, job.split, SETS.index(job.name), SEARCHES.index(job.method)]
    n_features = data.X.shape[1]
    settings = paper_settings(job.name, n_features, job.generations)
    banks = _banks(job.name, job.split, job.seed)
    seeds = [[*words, repeat] for repeat in range(job.runs)]
    if job.method == "excluding":
        if job.name in _SPREAD:
            return MethodResult(
                note="left out: it would take as long as all other methods together"
            )
        settings = replace(settings, allow_exclusion=True)
        return repeat_search(banks, "evolution", settings, threshold_of(data), seeds)
    if job.method != "exact":
        return repeat_search(banks, job.method, settings, threshold_of(data), seeds)
    fewer = settings.space(n_features).size > _MOST_DESIGNS
    if fewer:
        settings = replace(settings, max_stages=_EXACT_STAGES)
    found = repeat_search(banks, "exact", settings, threshold_of(data), seeds, _EXACT_SECONDS)
    note = f"at most {settings.max_stages} stages; " if fewer else ""
    return replace(found, note=note + found.note, restricted=fewer)


def _do_job(job: ComparisonJob) -> dict[str, Any]:
    """Try one method on one split."""
    data = _data(job.name, job.seed)
    started = process_time()
    if job.method in SEARCHES:
        result = _search(job, data)
    else:
        parts = split_parts(data, job.split, job.seed)
        seed = _seed_of(job.split, job.seed)
        rival = new_rival(job.method, data.costs, threshold_of(data), seed)
        result = tune_rival(rival, parts, job.most)
    return replace(result, seconds=process_time() - started).to_dict()
