"""A sweep over thresholds: many searches at each, all with the same models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from emsco._base.checks import check_choice, check_seed, check_whole, refused
from emsco._base.documents import Fields, PathLike
from emsco._base.typing import AnyArray, FloatArray
from emsco.data.random_states import draw_seed
from emsco.designs.constraints import Blocks, Constraints
from emsco.designs.thresholds import check_min_confidence
from emsco.fitting import seeds_of_fit
from emsco.lab.jobs import Begin, Report, ResultStore, finish_jobs
from emsco.lab.searching import EVERY_RULE, Parts, SplitBanks, SplitData
from emsco.lab.sweep_records import SweepRepeat, ThresholdSweep
from emsco.search.settings import SearchRequest, SearchSettings, with_paper_search

THRESHOLDS = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_SETTINGS = (
    "search",
    "max_stages",
    "population_size",
    "generations",
    "patience",
    "allow_exclusion",
)
_BILLIONTHS = 10**9
_MOST_SUBSETS = 2**17  # up to so many, all subsets may be fitted before the searches begin
_DESIGNS_PER_SUBSET = 10  # fitting all pays if searches score so many designs per subset


@dataclass(frozen=True, slots=True)
class SweepJob:
    """One search at one threshold.

    Attributes
    ----------
    data : str
        Digest of rows, labels, costs and split.
    search : str
        "paper", "evolution" or "exact".
    settings : SearchSettings
    min_confidence : float
    repeat, seed : int
    """

    data: str
    search: str
    settings: SearchSettings
    min_confidence: float
    repeat: int
    seed: int

    @property
    def title(self) -> str:
        """Threshold and number of the repeat."""
        return f"threshold {self.min_confidence:g} repeat {self.repeat}"

    @property
    def random_state(self) -> int:
        """Seed of this search, independent of other thresholds and repeats."""
        words = [self.seed, self.repeat, round(self.min_confidence * _BILLIONTHS)]
        return int(np.random.SeedSequence(words).generate_state(1)[0])


@dataclass(frozen=True, slots=True)
class _Bench:
    """Data and models that a process needs to do jobs; equal digests mean equal benches.

    Each process opens banks of its own and gives them the models of all subsets, if there are any.
    """

    digest: str
    split: SplitData = field(compare=False)
    models: FloatArray | None = field(compare=False)


def sweep_thresholds(
    parts: Parts,
    min_confidence: Sequence[float] = THRESHOLDS,
    runs: int = 10,
    *,
    prefer: Sequence[str] = ("fittest",),
    seed: int = 0,
    folder: PathLike | None = None,
    n_jobs: int | None = -1,
    begin: Begin | None = None,
    report: Report | None = None,
    **settings: Any,
) -> ThresholdSweep:
    """Repeat a search at every threshold, and test the designs that it deploys.

    Parameters
    ----------
    parts : Parts
        Training, scored and test rows.
    min_confidence : sequence of float
        Thresholds, each above chance.
    runs : int
        Searches at each threshold; "exact" runs once, since it draws nothing at random.
    prefer : sequence of str
        Rules for the design to show: "fittest" (the paper's), "balanced", "knee".
    seed : int
        Together with the threshold and the number of the repeat, the seed of a search.
    folder : path, optional
        Keeps results as they come; results that it already has are not computed again.
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    begin : callable, optional
        Called with the digests and settings of the sweep, after all checks and before any
        computation; may refuse.
    report : callable, optional
        Called with the number of searches done, the number of all, and the last one's title.
    **settings
        Search parameters of `EMSCOClassifier`, such as `search` (here "paper" by default),
        `max_stages`, `population_size` and `generations`.

    Ctrl-C stops early: complete searches are kept, and `complete` is False.

    Examples
    --------
    >>> from emsco.lab.datasets import load
    >>> from emsco.lab.paper.comparison import split_parts
    >>> parts = split_parts(load("breast_cancer"), split=0, seed=0)
    >>> few = {"generations": 2, "population_size": 10, "max_stages": 2}
    >>> sweep = sweep_thresholds(parts, [0.9, 0.99], runs=2, n_jobs=1, **few)
    >>> low, high = sweep.lines("fittest")
    >>> low.seen.mean.coverage >= high.seen.mean.coverage
    True
    """
    started = perf_counter()
    rules = _rules(prefer)
    check_whole("runs", runs, 1)
    check_seed("seed", seed)
    split = SplitData.from_parts(parts)
    thresholds = _thresholds(min_confidence, split.data.classes)
    search, own = _settings(settings, parts)
    banks = SplitBanks(split, effective_n_jobs(n_jobs))
    search = banks.plan(search, own, thresholds[0]).kind
    repeats = range(1 if search == "exact" else runs)
    digest = split.digest()
    jobs = [SweepJob(digest, search, own, p, i, seed) for p in thresholds for i in repeats]
    of = {**split.facts(), "search": search, "seed": seed, **asdict(own)}
    if begin:
        begin(of)
    with ExitStack() as stack:
        stack.callback(_banks.cache_clear)
        place = stack.enter_context(TemporaryDirectory()) if folder is None else folder
        store = ResultStore(Path(place))
        bench = _Bench(digest, split, _models(banks, jobs, store, report))
        found, complete = finish_jobs(jobs, partial(_do_job, bench), store, n_jobs, report)
    done = tuple(_repeat(job, found[job]) for job in jobs if job in found)
    sizes = (len(parts.train), len(parts.val), len(parts.test))
    seconds = perf_counter() - started
    return ThresholdSweep(done, rules, search, own, parts.costs, sizes, seed, seconds, complete, of)


def _repeat(job: SweepJob, fields: Fields) -> SweepRepeat:
    """Read the result of a job, and check that it is of this job."""
    found = SweepRepeat.from_dict(fields)
    for name in ("min_confidence", "repeat", "random_state"):
        if (got := getattr(found, name)) != (asked := getattr(job, name)):
            fields.refuse(name, f"{asked}, as asked for", got)
    return found


def _rules(given: Sequence[str]) -> tuple[str, ...]:
    """Check the rules and drop repeated ones."""
    if not given:
        raise refused("prefer", "be one rule or more", given, got="none")
    return tuple(dict.fromkeys(check_choice("prefer", rule, EVERY_RULE) for rule in given))


def _thresholds(given: Sequence[float], classes: AnyArray) -> list[float]:
    """Check that thresholds are above chance, and sort them."""
    checked = {float(check_min_confidence(one, classes)) for one in given}  # type: ignore[arg-type]
    if not checked:
        raise refused("min_confidence", "be one threshold or more", given, got="none")
    return sorted(checked)


def _settings(given: Mapping[str, Any], parts: Parts) -> tuple[str, SearchSettings]:
    """Check the search, by default "paper", and its settings."""
    asked = with_paper_search({"search": "paper", **given})
    for name in asked:
        if name not in _SETTINGS:
            known = ", ".join(_SETTINGS)
            raise refused("settings", f"be out of {known}", given, got=repr(name))
    request = SearchRequest.from_parameters(**asked)
    blocks = Blocks.from_constraints(Constraints(), parts.costs.names)
    return request.kind, request.over(blocks)


def _models(
    banks: SplitBanks, jobs: Sequence[SweepJob], store: ResultStore, report: Report | None
) -> FloatArray | None:
    """Fit all subsets once for all processes; None if searches will ask for few of them."""
    first, n_subsets = jobs[0], banks.n_subsets
    n_todo = sum(not store.path(job).exists() for job in jobs)
    n_designs = n_todo * first.settings.population_size * max(1, first.settings.generations)
    worth = n_designs >= _DESIGNS_PER_SUBSET * n_subsets or first.search == "exact"
    if not n_todo or not worth or n_subsets > min(_MOST_SUBSETS, banks.capacity):
        return None

    def fitting(done: int, total: int) -> None:
        if report:
            report(0, len(jobs), f"fitting {n_subsets:,} subsets, {done / total:.0%}")

    return banks.fit_every(fitting)


@lru_cache(maxsize=1)
def _banks(bench: _Bench) -> SplitBanks:
    """Open the banks that all searches of a process share."""
    banks = SplitBanks(bench.split)
    if bench.models is not None:
        banks.adopt(bench.models)
    return banks


def _do_job(bench: _Bench, job: SweepJob) -> dict[str, Any]:
    """Search once, and choose a design by every rule."""
    banks = _banks(bench)
    started = process_time()
    rng = np.random.default_rng(seeds_of_fit(draw_seed(job.random_state))[1])
    result = banks.search(job.search, job.settings, job.min_confidence, rng)
    choices = tuple(banks.choose(result, rule, job.min_confidence) for rule in EVERY_RULE)
    seconds = round(process_time() - started, 4)
    reason = str(result.stop_reason)
    found = SweepRepeat(job.min_confidence, job.repeat, job.random_state, choices, reason, seconds)
    return asdict(found)
