"""The steps of a fit, in order: look, split, choose models, search, refine, judge, fit stages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import takewhile
from time import perf_counter
from typing import Any

import numpy as np

from emsco._base.arrays import distinct_rows
from emsco._base.digests import fingerprint
from emsco._base.progress import JobProgress, print_note
from emsco._base.typing import FloatArray, IntArray, Report
from emsco._base.warn import warn_once
from emsco._base.workers import one_thread
from emsco.data.issues import DataIssue, class_shares, data_issues_of, suspects, warnings_of
from emsco.data.splits import Split, known_groups
from emsco.data.training import TrainingData
from emsco.designs.constraints import Blocks, Constraints
from emsco.designs.grid import ThresholdGrid, auto_min_confidence
from emsco.designs.population import Designs
from emsco.designs.thresholds import MinConfidence, answers_all, by_class, by_label, in_words
from emsco.errors import EMSCOWarning, InterruptedWarning
from emsco.fitting.branches import Branched, BranchSearch
from emsco.fitting.refine import (
    MOST_SUBSETS,
    Refinement,
    RefinementEnd,
    finish_search,
    interrupted,
    runners_up,
    spread_order,
)
from emsco.fitting.sample import RowsToSplit
from emsco.fitting.settings import FitSettings, seeds_of_fit
from emsco.fitting.workbench import Workbench
from emsco.front import ParetoFront
from emsco.front.assessment import Assessor
from emsco.front.averaging import seen_folds
from emsco.front.economical import (
    TOLERATED,
    Simplifier,
    economical_of,
    is_good_enough,
    loss_of,
    undominated,
)
from emsco.front.expected import OptimismCorrection
from emsco.front.history import Generation, history_of
from emsco.front.judgement import PendingExpected, PendingResults
from emsco.front.money import unbeaten_by_money
from emsco.front.point import NamedDesigns, ParetoPoint
from emsco.models.checkpoint import Checkpoint
from emsco.models.choice import ModelChoice, trial_seconds
from emsco.models.recipe import AUTO, FAMILIES, StageRecipe
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Counts
from emsco.search.gates import FEWEST_ROWS
from emsco.search.loop import SearchResult, Stop, StopReason
from emsco.search.settings import SearchSettings

# Shares of a time limit by which steps end: a search before other models, or before none; other
# models; designs that branch; the simplest design and the first part of expected figures.
_SEARCHED_FIRST, _SEARCHED, _REFINED, _BRANCHED, _JUDGED = 0.5, 0.75, 0.75, 0.85, 0.9
_TIME_FOR_ALL = 30.0  # seconds; in less, boosted trees are not tried
_TRIED = 0.25  # of a time limit, for trying families
_QUICK = 5.0  # seconds; quicker trials are always made
_LONGEST_TRIALS = {"logistic": 600.0, "spline": 60.0}  # seconds, without a time limit
_SLOW_TRIAL = 15.0  # seconds; a search fits a thousand times as many models as a trial
_PER_BOOSTED_INPUT = 0.2  # seconds that boosted trees take at most, for each input of a table
_REFINING, _MOST_REFINED = 60.0, 256  # core-seconds and subsets, after a search on a sample
_JUDGED_ROWS = 10**8  # rows times designs that are judged row by row
_PER_JUDGED_ROW = 5e-6  # seconds for each of them, expected figures included
_FEWEST_JUDGED = 10  # designs, even if time is short
_MOST_BRANCHED = 200_000  # rows; with more, the outcomes of all parts would fill the memory


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


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The results of a fit.

    Attributes
    ----------
    front : ParetoFront
        The designs found, with their stage models.
    history : list of Generation
    stop_reason : StopReason
    data_issues : tuple of DataIssue
    model_choice : ModelChoice or None
        The stage models that "auto" chose.
    refinement : Refinement or None
        How designs got their final models, if the search used others.
    n_splits : int
    """

    front: ParetoFront
    history: list[Generation]
    stop_reason: StopReason
    data_issues: tuple[DataIssue, ...]
    model_choice: ModelChoice | None
    refinement: Refinement | None
    n_splits: int


def fit_rows(
    data: TrainingData, settings: FitSettings, groups: Any = None, started: float | None = None
) -> Fitted:
    """Search for designs, and fit the stages of all on the front.

    `groups` has the group of each row, for splits that ask for it. A time limit counts from
    `started`, or from now.
    """
    deadline = Deadline(settings.time_limit, perf_counter() if started is None else started)
    if groups is not None:
        groups = known_groups(groups, len(data.labels))
    # Streams of their own, so that another way to split does not shift the draws of the search.
    split_seed, search_seed, _ = seeds_of_fit(settings.seed)

    # Look at the data. Free features are bought first, unless they look like leaks or ids; the
    # paper knows neither rule.
    data_issues: tuple[DataIssue, ...] = ()
    constraints = settings.constraints
    if not settings.is_paper:
        data_issues = data_issues_of(data)
        constraints = constraints.with_free_first(data.costs, suspects(data_issues))

    # Split. The search may see a sample of many rows; thresholds depend on how many are scored.
    all_rows = RowsToSplit(data, groups, settings.cv, int(split_seed.generate_state(1)[0]))
    rows = all_rows.to_search(settings)
    splits = rows.splits(repeat=settings.recipe.is_linear)
    min_confidence, grid = _thresholds(settings, data, len(_scored_rows(splits, rows.data)))

    blocks = Blocks.from_constraints(constraints, data.costs.names)
    search = settings.search.over(blocks.n_blocks, blocks.first)
    steps = _Steps(
        settings=settings,
        deadline=deadline,
        all_rows=all_rows,
        rows=rows,
        constraints=constraints,
        blocks=blocks,
        search=search,
        min_confidence=min_confidence,
        grid=grid,
    )
    # A checkpoint of another fit and a search that is out of reach are refused before slow work.
    with steps.open_checkpoint(splits) as checkpoint:
        recipe, choice = replace(settings.recipe, checkpoint=checkpoint), None
        bench = steps.bench(recipe, splits)
        bench.plan(search, grid)
        steps.warn_of_issues(data_issues)
        if recipe.estimator == AUTO:
            recipe, choice = steps.choose_models(recipe, splits)
            splits = rows.splits(repeat=recipe.is_linear)  # only quick models have repeated folds
            bench = steps.bench(recipe, splits)
        result = steps.search_designs(bench, recipe, np.random.default_rng(search_seed))
        # From here on, `bench` has the models that count: those of the search, or better ones.
        # Designs are judged by the models that are deployed, never by those that only searched.
        searched, of_search = bench, result
        bench, result, refinement = steps.refine(bench, recipe, result)
        result = steps.thin(bench, result)
        if settings.money is not None and result.stop_reason.cause is Stop.PROVEN:
            # What is settled is the front of weighted rows, by which the search has gone.
            result = replace(result, stop_reason=replace(result.stop_reason, cause=Stop.SETTLED))
        branched = None
        if steps.may_branch(result):
            branched, result = steps.branch(searched, of_search, bench, result)
        front, expected = steps.judge(bench, result, branched)
        order = list(range(len(front))) if settings.is_paper else front.cost_order()
        if not settings.is_paper:
            front = front.by_cost()
        front = steps.fit_stages(bench, front, branched)
        if expected is not None:
            steps.finish_expected(bench, front, expected, order)
    history = history_of(result, blocks, steps.named, rows.data.per_row)
    return Fitted(
        front=front,
        history=history,
        stop_reason=result.stop_reason,
        data_issues=data_issues,
        model_choice=choice,
        refinement=refinement,
        n_splits=len(bench.splits),
    )


def _thresholds(
    settings: FitSettings, data: TrainingData, n_scored: int
) -> tuple[MinConfidence, ThresholdGrid]:
    """Return what a label needs if everything is bought at once, and thresholds for stages."""
    classes, shares = data.classes, settings.recipe.class_shares(data)
    last = None if settings.reject_below is None else by_class(settings.reject_below, classes)
    if settings.min_confidence is None and not settings.is_paper:
        stakes = None if settings.money is None else settings.money.stakes
        grid = ThresholdGrid.searched(shares, n_scored, last, settings.metric, stakes)
        # Buying everything at once is like a last stage, so it has the first of its thresholds.
        return by_label(grid.thresholds[grid.last[0]], classes), grid
    confidence = settings.min_confidence
    if confidence is None:
        confidence = auto_min_confidence(shares, classes)
    grid = ThresholdGrid.single(by_class(confidence, classes), last)
    return confidence if settings.reject_below is None else settings.reject_below, grid


def _scored_rows(splits: list[Split], data: TrainingData) -> IntArray:
    """Numbers of the rows that some split scores."""
    scored = np.concatenate([rows for _, rows in splits])
    distinct, _ = distinct_rows(scored, len(data.labels))
    return distinct


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """The slow steps of a fit, each with a progress bar if `verbose` is above 0.

    Attributes
    ----------
    settings : FitSettings
    deadline : Deadline
    all_rows, rows : RowsToSplit
        All rows, and those to search on; the same, unless the search sees a sample.
    constraints : Constraints
    blocks : Blocks
        Features that the constraints tie together.
    search : SearchSettings
    min_confidence : float or dict
        What a label needs if everything is bought at once.
    grid : ThresholdGrid
        Thresholds that stages may have.
    """

    settings: FitSettings
    deadline: Deadline
    all_rows: RowsToSplit
    rows: RowsToSplit
    constraints: Constraints
    blocks: Blocks
    search: SearchSettings
    min_confidence: MinConfidence
    grid: ThresholdGrid

    @property
    def is_screened(self) -> bool:
        """Whether the search sees only a sample of the rows."""
        return self.rows is not self.all_rows

    @property
    def stakes(self) -> FloatArray | None:
        """What an error about each class costs, if the search is for the lowest total."""
        return None if self.settings.money is None else self.settings.money.stakes

    @property
    def named(self) -> NamedDesigns:
        """Turns what is found into designs over named features."""
        data = self.all_rows.data
        return NamedDesigns(data.costs.names, self.grid, data.classes)

    def bench(self, recipe: StageRecipe, splits: list[Split]) -> Workbench:
        """Set up what a search with this recipe needs; "auto" is set up as the simplest family."""
        if recipe.estimator == AUTO:
            recipe = recipe.of_family(FAMILIES[0])
        recipe = recipe.for_search(self.settings.search_with, self.blocks.n_blocks)
        return self._workbench(self.rows.data, splits, recipe)

    def _workbench(self, data: TrainingData, splits: list[Split], recipe: StageRecipe) -> Workbench:
        settings = self.settings
        return Workbench(
            data,
            splits,
            recipe,
            self.constraints,
            settings.metric,
            stakes=self.stakes,
        )

    def _evaluator(self, bench: Workbench) -> Evaluator:
        return bench.evaluator(self.search.max_stages, self.grid)

    def open_checkpoint(self, splits: list[Split]) -> AbstractContextManager[Checkpoint | None]:
        """Open the checkpoint, if there is to be one; that of another problem is refused."""
        settings = self.settings
        if settings.checkpoint is None:
            return nullcontext()
        problem = {
            # Of all rows, also if the search sees a sample: other rows are another fit.
            **self.all_rows.data.fingerprints(),
            "screen_rows": len(self.rows.data.labels),
            "cv": fingerprint(*(part for split in splits for part in split)),
            **settings.recipe.to_dict(),
        }
        return Checkpoint(settings.checkpoint, settings.seed, problem)

    @property
    def families(self) -> tuple[str, ...]:
        """Families of stage models that there is time for.

        Boosted trees take longest, unless linear models have thousands of weights.
        """
        *linear, boosting = FAMILIES
        limit, longest = self.deadline.limit, _LONGEST_TRIALS
        if limit is not None:
            longest = dict.fromkeys(linear, max(_QUICK, _TRIED * limit))
        # Curves are not tried where lines take too long.
        quick = list(takewhile(lambda one: self._trial_seconds(one) <= longest[one], linear))
        if limit is None:
            return (*quick, boosting)
        if limit < _TIME_FOR_ALL:
            return tuple(quick) or FAMILIES[:1]
        if not quick:
            # Many classes make linear models slow. Many columns make boosted trees slow, too.
            n_inputs = self.rows.data.rows.shape[1]
            is_in_time = _PER_BOOSTED_INPUT * n_inputs <= _SEARCHED_FIRST * limit
            return (boosting,) if is_in_time else FAMILIES[:1]
        return (*quick, boosting)

    def _trial_seconds(self, family: str) -> float:
        n_rows, n_inputs = self.rows.data.rows.shape
        return trial_seconds(family, n_rows, n_inputs, len(self.rows.data.classes))

    def choose_models(
        self, recipe: StageRecipe, splits: list[Split]
    ) -> tuple[StageRecipe, ModelChoice | None]:
        """Find out which stage models "auto" means; a family is not tried if that takes long."""
        families = self.families
        if len(families) == 1:
            self._say(f"Stage models: {families[0]}, since trying others takes too long")
            return recipe.of_family(families[0]), None
        slow = [one for one in families if self._trial_seconds(one) > _SLOW_TRIAL]
        with self._progress("families tried") as report:
            staked = self.rows.data.staked(self.stakes)
            recipe, choice = recipe.chosen(staked, splits, report, families, slow=slow)
        self._say(f"Stage models: {choice.family}")
        if choice.family in slow and self.deadline.limit is None:
            _warn(
                EMSCOWarning(
                    f"{choice.family} models predict best here, but searching may take hours; "
                    'time_limit ends it early, and estimator="boosting" is quicker.'
                )
            )
        return recipe, choice

    def search_designs(
        self,
        bench: Workbench,
        recipe: StageRecipe,
        rng: np.random.Generator,
    ) -> SearchResult:
        """Search for designs; the search has less of the time if other models come after it."""
        is_last = _has_models_of(bench, recipe) and not self.is_screened
        return bench.search(
            self.search,
            self.grid,
            rng,
            time_limit=self.deadline.rest(_SEARCHED if is_last else _SEARCHED_FIRST),
            whole_limit=self.deadline.limit,
            shown=self._is_shown,
        )

    def refine(
        self, bench: Workbench, recipe: StageRecipe, result: SearchResult
    ) -> tuple[Workbench, SearchResult, Refinement | None]:
        """Give the designs near the front models of the recipe on all rows, if they have others.

        Returns the bench of these models and the front that they make. Both stay as they are if
        there was no time for any design, or none is within the limits.
        """
        if _has_models_of(bench, recipe) and not self.is_screened:
            return bench, result, None
        # After Ctrl-C nobody wants to wait for better models.
        seconds = 0.0 if result.stop_reason.is_interrupted else self.deadline.rest(_REFINED)
        splits = bench.splits
        if self.is_screened:
            splits = self.all_rows.splits(repeat=recipe.is_linear)
        if recipe.estimator == bench.recipe.estimator == "spline":
            recipe = bench.recipe  # knots and penalty are as good from a sample
        refined = self._workbench(self.all_rows.data, splits, recipe)
        evaluator = self._evaluator(refined)
        n_subsets = MOST_SUBSETS
        if self.is_screened:  # more of them, if fits are quick
            per_fit = refined.bank.engine.seconds_per_fit()
            if per_fit is not None:
                n_subsets = int(np.clip(int(_REFINING / per_fit), n_subsets, _MOST_REFINED))
        # The design that buys everything: what others are compared with.
        at_once = self.grid.complete(np.zeros((1, self.blocks.n_blocks), dtype=np.int16))
        with self._progress("subsets finished") as report:
            refined_result, refinement = finish_search(
                result,
                self._evaluator(bench).score(at_once),
                evaluator,
                self.search.space(self.blocks.n_blocks, self.grid),
                searched_with=bench.recipe.in_words,
                finished_with=recipe.in_words,
                time_limit=seconds,
                report=report,
                most_subsets=n_subsets,
            )
        if self.is_screened:
            n_screened, n_rows = len(bench.data.rows), len(refined.data.rows)
            refinement = replace(refinement, n_screened=n_screened, n_rows=n_rows)
        if refinement.end is RefinementEnd.NOTHING_FEASIBLE:
            _warn(EMSCOWarning(f"The models of the search are kept: {refinement}."))
        if not refinement.n_subsets:
            return bench, refined_result, refinement
        # Only designs that these models have scored may be compared with the front.
        return refined, replace(refined_result, scored=evaluator.designs), refinement

    def thin(self, bench: Workbench, result: SearchResult) -> SearchResult:
        """Keep the designs that can be judged row by row in time, as different as possible.

        Designs about whose thresholds the models of the splits disagree go first, unless all are
        such. A proven front stays whole if there is no time limit.
        """
        # On the scored rows, a last threshold that all of them reach is the same as none.
        designs = self.grid.answering(result.designs, result.scores.coverage == 1)
        result = replace(result, designs=designs)
        refused = self._evaluator(bench).refused(result.designs)
        # If all are such, they are the best there is.
        if refused.any() and not refused.all():
            result = result.take(np.flatnonzero(~refused))
        n_scored = sum(len(scored) for _, scored in bench.splits)
        n_judged = _JUDGED_ROWS // n_scored
        if (seconds := self.deadline.rest()) is not None:
            n_judged = min(n_judged, int(seconds / (_PER_JUDGED_ROW * n_scored)))
        elif result.proven:
            return result
        order = spread_order(result.scores, bench.data.costs.total)
        # Sorted back, so that designs keep the order of the search.
        kept = np.sort(order[: max(_FEWEST_JUDGED, n_judged)])
        if len(kept) == len(order):
            return result
        self._say(f"Front: {len(kept):,} of {len(order):,} designs, the most different, are kept")
        return result.take(kept)

    def may_branch(self, result: SearchResult) -> bool:
        """Whether to look for designs that branch: if asked, and there is time."""
        settings = self.settings
        return (
            settings.max_ways > 1
            and self.search.max_stages > 1  # a gate is a stage before those of its parts
            and settings.search.kind in ("auto", "evolution")
            and not result.stop_reason.is_interrupted
            and 2 * FEWEST_ROWS <= len(self.all_rows.data.labels) <= _MOST_BRANCHED
            and not self.deadline.is_over(_BRANCHED)
        )

    def branch(
        self,
        searched: Workbench,
        of_search: SearchResult,
        bench: Workbench,
        result: SearchResult,
    ) -> tuple[Branched | None, SearchResult]:
        """Find designs that branch; return them, and the result of the search without those beaten.

        Ctrl-C and the time limit leave the chains, with a warning. After Ctrl-C the search counts
        as interrupted, so that a run can be resumed.
        """
        scored = of_search.designs if of_search.scored is None else of_search.scored
        search = BranchSearch(
            # The gate is the first stage of every path.
            request=replace(self.settings.search, max_stages=self.search.max_stages - 1),
            grid=self.grid,
            max_ways=self.settings.max_ways,
            is_over=lambda: self.deadline.is_over(_BRANCHED),
            say=self._say,
        )
        try:
            with self._progress("parts searched") as report:
                branched = search.branched(searched, scored, bench, result.designs, report)
            if branched is None or self.stakes is not None:  # by money, points are compared later
                return branched, result
            return branched.unbeaten(result)
        except TimeoutError:
            _warn(
                EMSCOWarning(
                    "time_limit left no time to finish branches; the front is kept without them."
                )
            )
            return None, result
        except KeyboardInterrupt:
            _warn(InterruptedWarning("Fit interrupted; the front is kept without branches."))
            return None, interrupted(result)

    def judge(
        self, bench: Workbench, result: SearchResult, branched: Branched | None = None
    ) -> tuple[ParetoFront, PendingExpected | None]:
        """Judge designs row by row, as far as the rule that deploys one asks for it.

        Results by class and what new rows will show are computed when they are read, unless that
        takes too much memory or there is a time limit. Ctrl-C leaves the front as it is, with a
        warning.
        """
        scores = result.scores
        if self.stakes is not None:  # the search has weighted rows; now each counts as it is
            plain = bench.walk(self.grid)
            scores = Counts.of_outcomes(plain.outcomes(result.designs), plain.scored)
        front = ParetoFront.from_scores(
            result.designs.over(self.blocks.of_feature),
            scores,
            bench.data.costs,
            self.min_confidence,
            n_tied=result.n_tied,
            proven=result.proven and branched is None and self.stakes is None,
            per_row=bench.data.per_row,
            named=self.named,
        )
        if self.stakes is not None:
            # Designs with equal figures of weighted rows need not have equal ones of plain rows.
            untied = tuple(replace(point, n_tied=1) for point in front.points)
            front = replace(front, points=untied, money=self.settings.money)
        walk, designs, other_trees = bench.walk(self.grid), result.designs, result.designs[:0]
        if branched is not None:
            walk, other_trees = walk.through(branched.ways), branched.runners_up
            designs = Designs.concatenate([designs, branched.trees])
            front = replace(front, points=(*front.points, *branched.points()))
        if not any(point.coverage for point in front):
            _warn(
                EMSCOWarning(
                    "no design accepts any scored row at "
                    f"min_confidence={in_words(self.min_confidence)}; lower it."
                )
            )
        # Sums over rows would wait for threads longer than they take.
        with self._progress("designs judged") as report, one_thread():
            try:
                evaluator = self._evaluator(bench)
                data = bench.data
                is_staked = self.stakes is not None
                assessor = Assessor(
                    walk, evaluator, self.blocks, data.costs, data.classes, is_staked
                )
                correction = self._correction(bench, assessor)
                # Luck is in the choice, so designs count that might as well have been chosen.
                beside = runners_up(
                    result, evaluator, self.search.space(self.blocks.n_blocks, self.grid)
                )
                others = Designs.concatenate([assessor.all_at_once, beside])
                results = PendingResults(assessor, front.points, designs)
                has_limit = self.deadline.limit is not None
                if has_limit:
                    results.assess_all(report)
                points, designs, tolerated = self._economical(
                    bench, results, correction, designs, result.scored, others
                )
                # By weight, as a user who always answers the same would choose.
                commonest = int(np.bincount(data.labels, data.weights).argmax())
                references = assessor.references(commonest)
                front = replace(front, points=tuple(points), references=references)
                nothing = self._nothing(bench, assessor)
                for_later = None
                if not has_limit:
                    wanted = Designs.concatenate([results.designs, designs, others, other_trees])
                    for_later = walk.for_later(wanted)
                if for_later is None:
                    results.assess_all(report)
            except KeyboardInterrupt:
                what = "the front is kept as it was scored, without results by class."
                _warn(InterruptedWarning(f"Fit interrupted; {what}"))
                return front, None
            expected = PendingExpected(
                correction,
                front,
                nothing,
                designs,
                Designs.concatenate([others[:1], other_trees, others[1:]]),
                None if self.settings.is_paper else self.settings.prefer,
                tolerated,
                report,
                self._is_over,
            )
            # Points that buy nothing were not searched for: they come after the others.
            every = expected.points()
            try:
                if for_later is None:
                    _ = expected.corrected
                if self._is_economical:
                    every = self._undominated(assessor, every, designs, expected)
            except KeyboardInterrupt:
                what = "the front is kept without expected figures."
                _warn(InterruptedWarning(f"Fit interrupted; {what}"))
                every = [one.with_figures(expected=None) for one in every]
            if for_later is not None:
                results.keep(for_later)
                expected.keep(for_later)
            return replace(front, points=tuple(every)), expected

    def _economical(
        self,
        bench: Workbench,
        results: PendingResults,
        correction: OptimismCorrection,
        designs: Designs,
        scored: Designs | None,
        others: Designs,
    ) -> tuple[list[ParetoPoint], Designs, float]:
        """Mark the economical design if that is deployed; return points, designs and tolerance.

        The simplest design that is as good as the economical one is marked, and joins the points as
        the last one if it is not there yet. The tolerance is that of the economical rule. Points
        that cannot be as good as everything are left out, unless no other is.
        """
        points, assessor, total = results.points(), results.assessor, bench.data.costs.total
        if self.settings.money is not None:
            results.assess(range(len(points)))
            kept = unbeaten_by_money(points, self.settings.money, bench.limits)
            points, designs = [points[i] for i in kept.tolist()], designs[kept]
        if not self._is_economical:
            return points, designs, TOLERATED
        may_be = assessor.may_be_good(points)
        results.assess(may_be)
        few = [points[i] for i in may_be]
        tolerated = correction.tolerance(few, designs[may_be], others, self._is_over)
        if not any(is_good_enough(one, tolerated) for one in few):
            # Then the one that loses least counts, which rejects no more than others lose.
            may_be = assessor.may_be_good(points, min(map(loss_of, few), default=1.0))
            results.assess(may_be)
            few = [points[i] for i in may_be]
        simplifier = Simplifier(
            assessor,
            may_leave_out=self.search.allow_exclusion,
            may_fit=bench.bank.engine.seconds_per_fit() is not None,
            is_over=self._is_over,
            tolerated=tolerated,
        )
        chains = designs[designs.are_chains]
        simple = simplifier.simplified(few, designs[may_be], chains if scored is None else scored)
        if simple is None:
            deployed = may_be[economical_of(few, total, tolerated)]
        else:
            there = [i for i, one in enumerate(points) if one.design == simple.point.design]
            if there:
                deployed = there[0]
                points[deployed] = points[deployed].with_figures(is_simplified=True)
            else:
                deployed = len(points)
                points = [*points, simple.point]
                designs = Designs.concatenate([designs, simple.found])
        points[deployed] = points[deployed].with_figures(shortlisted=True, is_economical=True)
        return points, designs, tolerated

    def _nothing(self, bench: Workbench, assessor: Assessor) -> list[ParetoPoint]:
        """Judge designs that buy nothing: one label for everyone, or none.

        The label is that of the commonest class, or the one that costs least.

        There are none if something must be bought, as in the paper. A label must be as sure as the
        last stage of others; where that is always sure, nobody is rejected.
        """
        settings, data = self.settings, bench.data
        may_leave_out = self.search.allow_exclusion and not settings.constraints.first
        shares = data.class_shares
        label = int(shares.argmax())
        if settings.money is not None:
            label = int((shares @ settings.money.of_labels).argmin())
        share = float(shares[label])
        if settings.is_paper or not may_leave_out or shares.max() == 1:
            return []
        last = settings.min_confidence if settings.reject_below is None else settings.reject_below
        points = []
        if last is None or share >= by_class(last, data.classes)[label]:
            points.append(assessor.nothing(0.0, label, share))
        if last is None or not answers_all(last):
            points.append(replace(assessor.nothing(1.0, label, share), shortlisted=False))
        return points

    def _correction(self, bench: Workbench, assessor: Assessor) -> OptimismCorrection:
        """Prepare to estimate what new rows will show."""
        # Groups of the rows that score: all of them, or those of the sample.
        groups = (self.all_rows if bench.data is self.all_rows.data else self.rows).groups
        if groups is not None:
            scored = np.asarray(groups)[_scored_rows(bench.splits, bench.data)]
            # Numbered without gaps over the scored rows.
            groups = np.unique(scored, return_inverse=True)[1]
        return OptimismCorrection(
            assessor.walk,
            assessor.evaluator,
            bench.data.costs.total,
            groups,
            self.settings.money,
        )

    def _undominated(
        self,
        assessor: Assessor,
        points: list[ParetoPoint],
        designs: Designs,
        expected: PendingExpected,
    ) -> list[ParetoPoint]:
        """Mark a point to be deployed instead, if it is no worse and better beyond noise."""
        searched = points[: len(designs)]
        first = economical_of(searched, assessor.costs.total)
        may_be = assessor.may_find_all_of(searched, searched[first])
        place = undominated(
            [searched[i] for i in may_be],
            may_be.index(first),
            lambda i: assessor.beats(designs[[may_be[i]]], designs[[first]]),
            lambda i: expected.corrected[may_be[i]].promised[1],
        )
        best = may_be[place]
        if best == first:
            return points
        # Only one point can be the choice of the rule.
        points = [one.with_figures(is_economical=i == best) for i, one in enumerate(points)]
        points[best] = points[best].with_figures(shortlisted=True)
        return points

    @property
    def _is_economical(self) -> bool:
        return not self.settings.is_paper and self.settings.prefer == "economical"

    def _is_over(self) -> bool:
        """Whether only necessary work should go on."""
        return self.deadline.is_over(_JUDGED)

    def fit_stages(
        self, bench: Workbench, front: ParetoFront, branched: Branched | None = None
    ) -> ParetoFront:
        """Add the stage models of all points, so that any of them can be deployed."""
        refit = self.settings.refit
        with self._progress("stages to deploy", slow=not bench.recipe.is_linear) as report:
            models = bench.stage_models(front, refit, report)
            trees = [i for i, point in enumerate(front) if not point.design.is_chain]
            if branched is not None and trees:
                designs = [front[i].design for i in trees]
                of_points = list(models.of_points)
                of_trees = branched.models(designs, refit)
                for i, of_tree in zip(trees, of_trees, strict=True):
                    of_points[i] = of_tree
                models = replace(models, of_points=tuple(of_points))
        return replace(front, models=models, by_fitness=self.settings.is_paper)

    def finish_expected(
        self, bench: Workbench, front: ParetoFront, expected: PendingExpected, order: list[int]
    ) -> None:
        """Let expected figures allow for models that are averaged.

        `order` has the position of each point of the front before it was sorted.
        """
        if self.settings.refit == "average" and not self._is_over():
            expected.models, expected.order = front.models, order
            expected.folds = seen_folds(bench.data.rows, bench.splits)
        if not expected.is_kept:
            for point in front:  # so that nothing holds the bank
                point.compute()

    def warn_of_issues(self, data_issues: tuple[DataIssue, ...]) -> None:
        """Warn of columns and classes that look wrong, and show the shares of the classes."""
        _warn(*warnings_of(data_issues))
        self._say(f"Classes: {class_shares(self.all_rows.data)}")

    @property
    def _is_shown(self) -> bool:
        return self.settings.verbose > 0

    def _say(self, line: str) -> None:
        if self._is_shown:
            print_note(line)

    @contextmanager
    def _progress(self, what: str, slow: bool = True) -> Iterator[Report | None]:
        if not self._is_shown or not slow:
            yield None
            return
        with JobProgress(what) as progress:
            yield lambda done, total: progress.job(done, total, "")


def _warn(*said: Warning) -> None:
    """Warn from a step; the warnings name the line that called `EMSCOClassifier.fit`."""
    warn_once(said, stacklevel=5)  # _warn, a step, fit_rows, fit, and the caller


def _has_models_of(bench: Workbench, recipe: StageRecipe) -> bool:
    """Whether the stage models are those of a recipe, not quicker ones to search with."""
    return (bench.recipe.estimator, bench.recipe.shared) == (recipe.estimator, recipe.shared)
