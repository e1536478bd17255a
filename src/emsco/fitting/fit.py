"""The steps of a fit: choose stage models, search, finish, judge every design, fit the stages."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from emsco._base.arrays import distinct_rows
from emsco._base.checks import memory_bytes
from emsco._base.progress import JobProgress, print_note
from emsco._base.typing import AnyArray, Report
from emsco._base.workers import one_thread
from emsco.data.elsewhere import RowsElsewhere
from emsco.data.issues import DataIssue, class_shares, data_issues_of, suspects, warnings_of
from emsco.data.splits import Split, known_groups, make_splits
from emsco.data.training import TrainingData
from emsco.designs.constraints import Blocks, Constraints
from emsco.designs.thresholds import MinConfidence, ThresholdGrid
from emsco.errors import EMSCOWarning, Parameter
from emsco.fitting.settings import (
    check_delay_limits,
    check_parameters,
    check_thresholds,
    cv_of_sample,
    n_screened,
    screened,
    seed_of_fit,
    seeds_of_fit,
    with_remote_rows,
)
from emsco.fitting.workbench import Workbench
from emsco.front import ParetoFront
from emsco.front.history import Generation, history_of
from emsco.front.ties import NamedDesigns
from emsco.models.backends import CPU
from emsco.models.choice import ModelChoice, trial_seconds
from emsco.models.recipe import AUTO, FAMILIES, StageRecipe
from emsco.scoring.journal import Journal
from emsco.search.finishing import Refinement
from emsco.search.loop import SearchResult, StopReason
from emsco.search.plan import duration
from emsco.search.settings import SearchSettings, search_kind


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a fit must end.

    Attributes
    ----------
    limit : float or None
        Seconds from the start; None: as long as it takes.
    started : float
        By `time.perf_counter`.
    """

    limit: float | None
    started: float

    def rest(self, share: float = 1.0) -> float | None:
        """Seconds until this share of the limit is over, at least 0; None without a limit."""
        if self.limit is None:
            return None
        return max(0.0, share * self.limit - (perf_counter() - self.started))

    def is_over(self, share: float = 1.0) -> bool:
        """Whether this share of the limit is over."""
        return self.rest(share) == 0.0


# Shares of a time limit by which steps end: a search before other models, or before none; other
# models; the simplest design and the first part of expected figures.
_SEARCHED_FIRST, _SEARCHED, _FINISHED, _JUDGED = 0.5, 0.75, 0.75, 0.9
_TIME_FOR_ALL = 30.0  # seconds; in less, boosted trees are not tried
_TRIED = 0.25  # of a time limit, for trying families
_QUICK = 5.0  # seconds; quicker trials are always made
_SLOW = 600.0  # seconds; a slower trial is told beforehand


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What a fit found.

    Attributes
    ----------
    front : ParetoFront
        The designs found, with their stage models.
    history : list of Generation
    stop_reason : StopReason
    data_issues : tuple of DataIssue
    model_choice : ModelChoice or None
        Which stage models "auto" chose.
    finish : Refinement or None
        How the designs were finished, if the search used other models.
    n_splits : int
    """

    front: ParetoFront
    history: list[Generation]
    stop_reason: StopReason
    data_issues: tuple[DataIssue, ...]
    model_choice: ModelChoice | None
    finish: Refinement | None
    n_splits: int


def fit_rows(
    data: TrainingData, given: Mapping[str, Any], groups: Any = None, started: float | None = None
) -> Fitted:
    """Search for designs and fit the stages of all on the front.

    `given` holds the parameters of `EMSCOClassifier` by name, and `groups` the group of each row,
    for splits that ask for it. A time limit counts from `started`, or from now.
    """
    given = with_remote_rows(given) if isinstance(data.rows, RowsElsewhere) else given
    asked, given = given["search"], {**given, "search": search_kind(given["search"])}
    deadline = Deadline(given["time_limit"], perf_counter() if started is None else started)
    constraints = Constraints.from_rules(given["constraints"], data.costs.names)
    data_issues = () if given["search"] == "paper" else data_issues_of(data)
    if given["search"] != "paper":
        constraints = constraints.with_free_first(data.costs, suspects(data_issues))
    check_parameters(given, data.classes.tolist())
    check_delay_limits(given, constraints, data.costs)
    blocks = Blocks.from_constraints(constraints, data.costs.names)
    settings = SearchSettings.from_parameters(
        blocks,
        asked,
        max_stages=given["max_stages"],
        population_size=given["population_size"],
        generations=given["generations"],
        patience=given["patience"],
        allow_exclusion=given["allow_exclusion"],
    )
    seed = seed_of_fit(given["random_state"], given["checkpoint"])
    split_seed, search_seed, stage_seed = seeds_of_fit(seed)
    recipe = _recipe(given, data.classes, int(stage_seed.generate_state(1)[0]))
    seed_of_rows = int(split_seed.generate_state(1)[0])
    sample, every, cv = _screened(data, given, groups, seed_of_rows)
    splitting = partial(_splits, cv, *sample, seed_of_rows)
    splits = splitting(repeat=recipe.is_linear)
    scored, _ = distinct_rows(np.concatenate([own for _, own in splits]), len(sample[0].labels))
    least, grid = check_thresholds(given, data.classes, recipe.class_shares(data), len(scored))
    own_rows = given, settings, least, grid, deadline, len(data.labels)
    steps = _Steps(sample[0], blocks, constraints, *own_rows)
    bench = steps.bench(recipe, splits)
    own = given["checkpoint"], given["search"], settings, grid, seed, recipe, given["search_with"]
    with bench.open_journal(*own, every and data, steps.families) as journal:
        _say_what_is_odd(data, data_issues, given["verbose"])
        choice = None
        if recipe.estimator == AUTO:
            bench.plan(given["search"], settings, grid)  # refuse what cannot be, before the work
            recipe, choice = steps.choose_models(recipe, splits)
            splits = splitting(repeat=recipe.is_linear)
            bench = steps.bench(recipe, splits)
        _warn_of_device(recipe, bench.recipe)
        result = steps.search(bench, recipe, journal, np.random.default_rng(search_seed))
    all_rows = every and (data, _splits(given["cv"], *every, seed_of_rows, recipe.is_linear))
    bench, result, finish = steps.finish(bench, recipe, result, all_rows)
    front = steps.front(bench, result, groups if bench.data is data else sample[1])
    named = NamedDesigns(data.costs.names, grid, data.classes)
    history = history_of(result, bench.blocks, named, steps.data.per_row)
    return Fitted(
        front, history, result.stop_reason, data_issues, choice, finish, len(bench.splits)
    )


@dataclass(frozen=True, slots=True)
class _Steps:
    """The slow steps of a fit, each with a progress bar if `verbose` is above 0."""

    data: TrainingData
    blocks: Blocks
    constraints: Constraints
    given: Mapping[str, Any]
    settings: SearchSettings
    min_confidence: MinConfidence
    grid: ThresholdGrid
    deadline: Deadline
    n_rows: int

    @property
    def is_screened(self) -> bool:
        """Whether the search has only a sample of the rows."""
        return self.n_rows > len(self.data.labels)

    @property
    def families(self) -> tuple[str, ...]:
        """Families of stage models that there is time for; boosted trees take longest."""
        if (limit := self.deadline.limit) is None:
            return FAMILIES
        tried = FAMILIES if limit >= _TIME_FOR_ALL else FAMILIES[:-1]
        longest = max(_QUICK, _TRIED * limit)
        found = tuple(one for one in tried if self._trial_seconds(one) <= longest)
        return found if FAMILIES[0] in found else FAMILIES[:1]

    def _trial_seconds(self, family: str) -> float:
        n_rows, n_inputs = self.data.rows.shape
        return trial_seconds(family, n_rows, n_inputs, len(self.data.classes))

    @property
    def shown(self) -> bool:
        """Whether to draw progress bars."""
        return bool(self.given["verbose"] > 0)

    def bench(self, recipe: StageRecipe, splits: list[Split]) -> Workbench:
        """Set up what a search with this recipe needs; "auto" is set up as the simplest family."""
        if recipe.estimator == AUTO:
            recipe = recipe.of_family(FAMILIES[0])
        searching = recipe.for_search(self.given["search_with"], self.blocks.n_blocks)
        return Workbench(self.data, splits, searching, self.constraints, self.given["metric"])

    def choose_models(
        self, recipe: StageRecipe, splits: list[Split]
    ) -> tuple[StageRecipe, ModelChoice | None]:
        """Find out which stage models "auto" means; the simplest, if a trial takes too long."""
        if len(self.families) == 1:
            self._say(f"Stage models: {self.families[0]}, since trying others takes too long")
            return recipe.of_family(self.families[0]), None
        self._warn_of_slow_trial()
        with self._progress("families tried") as report:
            recipe, choice = recipe.chosen(self.data, splits, report, self.families)
        self._say(f"Stage models: {choice.family}")
        return recipe, choice

    def _warn_of_slow_trial(self) -> None:
        seconds = sum(map(self._trial_seconds, self.families))
        if self.deadline.limit is None and seconds > _SLOW:
            what = f"finding stage models for {len(self.data.encoding.codes):,} columns takes "
            way = "; with ", Parameter("time_limit"), ", families that take long are not tried."
            warnings.warn(EMSCOWarning(what + duration(seconds), *way), stacklevel=5)

    def search(
        self,
        bench: Workbench,
        recipe: StageRecipe,
        journal: Journal | None,
        rng: np.random.Generator,
    ) -> SearchResult:
        """Search for designs; if other models come after it, it may take most of the time."""
        is_last = bench.has_models_of(recipe) and not self.is_screened
        return bench.search(
            self.given["search"],
            self.settings,
            self.grid,
            rng,
            time_limit=self.deadline.rest(_SEARCHED if is_last else _SEARCHED_FIRST),
            whole_limit=self.deadline.limit,
            journal=journal,
            shown=self.shown,
        )

    def finish(
        self,
        bench: Workbench,
        recipe: StageRecipe,
        result: SearchResult,
        all_rows: tuple[TrainingData, list[Split]] | None,
    ) -> tuple[Workbench, SearchResult, Refinement | None]:
        """Give the designs near the front models of the recipe on all rows, if they have others."""
        if bench.has_models_of(recipe) and all_rows is None:
            return bench, result, None
        rest = 0.0 if result.stop_reason.is_interrupted else self.deadline.rest(_FINISHED)
        with self._progress("subsets finished") as report:
            bench, result, finish = bench.finish(
                recipe,
                result,
                self.settings,
                self.grid,
                all_rows=all_rows,
                time_limit=rest,
                report=report,
            )
        return bench, result, finish

    def front(self, bench: Workbench, result: SearchResult, groups: Any) -> ParetoFront:
        """Judge every design of the front row by row, and fit its stages."""
        result = bench.without_refused(result, self.settings, self.grid)
        thinned = bench.thinned(result, self.deadline.rest())
        if (n_kept := len(thinned.designs)) < (n_found := len(result.designs)):
            self._say(f"Front: {n_kept:,} of {n_found:,} designs, the most different, are kept")
        result = thinned
        front = bench.front(result, self.min_confidence, self.grid)
        is_paper = self.given["search"] == "paper"
        with self._progress("designs judged") as report:
            prefer = None if is_paper else self.given["prefer"]
            is_over = partial(self.deadline.is_over, _JUDGED)
            own = self.settings, self.grid, prefer, report, groups, is_over
            with one_thread():  # sums over rows would wait for threads longer than they take
                front = bench.assess(front, result, *own)
        with self._progress("stages to deploy", slow=not bench.recipe.is_linear) as report:
            models = bench.stage_models(front, self.given["refit"], report)
        return replace(front, models=models, by_fitness=is_paper)

    @contextmanager
    def _progress(self, what: str, slow: bool = True) -> Iterator[Report | None]:
        if not self.shown or not slow:
            yield None
            return
        with JobProgress(what) as progress:
            yield lambda done, total: progress.job(done, total, "")

    def _say(self, line: str) -> None:
        if self.shown:
            print_note(line)


def _screened(
    data: TrainingData, given: Mapping[str, Any], groups: Any, seed: int
) -> tuple[tuple[TrainingData, Any], tuple[TrainingData, Any] | None, Any]:
    """Rows to search on with groups, all rows with groups if those are a sample, and the cv."""
    n_rows = n_screened(given, len(data.labels))
    if n_rows is None:
        return (data, groups), None, given["cv"]
    sample, rows = screened(data, n_rows, seed)
    cv = cv_of_sample(given["cv"], len(data.labels), groups)
    of_row = None if groups is None else known_groups(groups, len(data.labels))
    return (sample, None if of_row is None else of_row[rows]), (data, of_row), cv


def _splits(cv: Any, data: TrainingData, groups: Any, seed: int, repeat: bool) -> list[Split]:
    rows = data.rows, data.labels, data.classes.tolist(), groups, seed, data.weights
    return make_splits(cv, *rows, repeat=repeat)


def _recipe(given: Mapping[str, Any], classes: AnyArray, seed: int) -> StageRecipe:
    return StageRecipe.from_parameters(
        given["estimator"],
        given["calibration"],
        given["class_weight"],
        classes,
        memory_bytes("memory_limit", given["memory_limit"]),
        effective_n_jobs(given["n_jobs"]),
        seed,
        given["cache"],
        given["device"],
    )


def _warn_of_device(recipe: StageRecipe, searching: StageRecipe) -> None:
    """Say so if no stage model is fitted on the device that was asked for."""
    if recipe.device != CPU and not recipe.uses_device and not searching.uses_device:
        own = "calibrated models are" if recipe.is_linear else f"{recipe.in_words} is"
        own = "boosted trees are" if recipe.estimator == "boosting" else own
        what = f"={recipe.device!r} is for logistic and spline stages without calibration; "
        warnings.warn(
            EMSCOWarning(Parameter("device"), what, f"{own} fitted on the CPU."), stacklevel=4
        )


def _say_what_is_odd(data: TrainingData, data_issues: tuple[DataIssue, ...], verbose: int) -> None:
    """Warn of columns and classes that look wrong, and tell the shares of the classes."""
    for warning in warnings_of(data_issues):
        warnings.warn(warning, stacklevel=4)
    if verbose > 0:
        print_note(f"Classes: {class_shares(data)}")
