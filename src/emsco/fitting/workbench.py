"""The workbench: rows and a recipe, a bank, a search and a front in one place.

The estimator, the studies and the paper's experiments all fit through it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from emsco._base.arrays import distinct_rows
from emsco._base.checks import check_choice
from emsco._base.digests import fingerprint
from emsco._base.objectives import METRICS
from emsco._base.typing import IntArray, Report, StageArray
from emsco.cascade import FrontModels
from emsco.costs import Fees
from emsco.costs.prices import ScoredPrices
from emsco.data.splits import Split
from emsco.data.training import TrainingData
from emsco.designs.constraints import Blocks, Constraints
from emsco.designs.thresholds import MinConfidence, ThresholdGrid, by_class, in_words
from emsco.errors import EMSCOWarning, InterruptedWarning, Parameter
from emsco.fitting.settings import check_refit
from emsco.front import ParetoFront, ParetoPoint
from emsco.front.assessment import Assessor, JudgedDesign
from emsco.front.economical import Simplifier, economical_of
from emsco.front.expected import OptimismCorrection
from emsco.front.rules import Preference
from emsco.front.ties import NamedDesigns
from emsco.models.bank import SubsetBank
from emsco.models.recipe import AUTO, FAMILIES, StageRecipe
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.journal import EntryRules, Journal
from emsco.scoring.scored_rows import ScoredRows
from emsco.scoring.scores import CostLimits
from emsco.search.finishing import (
    MOST_SUBSETS,
    Refinement,
    RefinementEnd,
    finish_search,
    runners_up,
    spread_order,
)
from emsco.search.loop import SearchResult
from emsco.search.plan import SearchPlan, plan_search
from emsco.search.problem import Problem
from emsco.search.progress import SearchProgress
from emsco.search.settings import SearchSettings

_FINISHING, _MOST_FINISHED = 60.0, 256  # core-seconds and subsets, to finish a search on a sample
_JUDGED_ROWS = 10**8  # rows times designs that are judged row by row
_PER_JUDGED_ROW = 5e-6  # seconds for each of them, expected figures included
_FEWEST_JUDGED = 10  # designs, even if time is short


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, eq=False)
class Workbench:
    """Rows, their splits and a bank of models, shared by any number of searches and thresholds.

    The bank fits the model of each subset only once.

    Attributes
    ----------
    data : TrainingData
    splits : list of (train, scored) row numbers
    recipe : StageRecipe
    constraints : Constraints
    metric : {"accuracy", "balanced_accuracy"}
        The objective "accuracy" of every evaluator.
    blocks : Blocks
        Groups of features that a search moves together.
    bank : SubsetBank
    prices : ScoredPrices or None
        Prices of blocks that do not cost every scored row the same.
    """

    data: TrainingData
    splits: list[Split]
    recipe: StageRecipe
    constraints: Constraints = field(default_factory=Constraints)
    metric: str = "accuracy"
    blocks: Blocks = field(init=False)
    bank: SubsetBank = field(init=False)
    prices: ScoredPrices | None = field(init=False)

    def __post_init__(self) -> None:
        """Open the bank."""
        by_class = check_choice("metric", self.metric, METRICS) != "accuracy"
        object.__setattr__(self, "recipe", self.recipe.prepared(self.data, self.splits))
        blocks = Blocks.from_constraints(self.constraints, self.data.costs.names)
        bank = self.recipe.open_bank(self.data, self.splits, blocks.members(), by_class)
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "bank", bank)
        object.__setattr__(self, "prices", self._row_prices())
        if self.prices is not None:
            bank.price(self.prices.priced, self.prices.whole)

    @classmethod
    def from_split(
        cls, data: TrainingData, split: Split, memory_limit: int = 2**30, n_jobs: int = 1
    ) -> Self:
        """Set up the paper's logistic stages on one split of the rows."""
        return cls(data, [split], StageRecipe(None, None, None, memory_limit, n_jobs, 0))

    def evaluator(
        self,
        max_stages: int,
        min_confidence: MinConfidence | ThresholdGrid,
        journal: Journal | None = None,
    ) -> Evaluator:
        """Make an evaluator for one threshold, one threshold per class, or a grid of them."""
        rules, grid = self.constraints, self.grid(min_confidence)
        return Evaluator(
            self.bank,
            self.blocks.costs(self.data.costs),
            grid,
            max_stages,
            journal,
            CostLimits(
                rules.max_mean_cost,
                rules.max_worst_cost,
                rules.max_mean_delay,
                rules.max_worst_delay,
            ),
            self.data.per_row,
            self.metric,
            self.prices,
        )

    def _row_prices(self) -> ScoredPrices | None:
        """Return the prices of scored rows, if some differ."""
        data = self.data
        if data.prices is None:
            return None
        scored = np.concatenate([rows for _, rows in self.splits])
        weights = np.ones_like(scored) if data.units is None else data.units[scored]
        fixed = self.blocks.costs(data.costs.fixed())
        priced = self.blocks.of_feature[data.costs.priced]
        return ScoredPrices.from_rows(
            features=fixed.costs,
            fees=Fees.from_fees(fixed.fees, fixed.names),
            evaluation=fixed.evaluation,
            priced=priced,
            prices=data.prices[scored].T.copy(),
            weights=weights,
        )

    def grid(self, min_confidence: MinConfidence | ThresholdGrid) -> ThresholdGrid:
        """Return the grid of one threshold for all stages, or the grid that is given."""
        if isinstance(min_confidence, ThresholdGrid):
            return min_confidence
        return ThresholdGrid.single(by_class(min_confidence, self.data.classes))

    def open_journal(
        self,
        folder: str | os.PathLike[str] | None,
        search: str,
        settings: SearchSettings,
        min_confidence: MinConfidence | ThresholdGrid,
        seed: int,
        recipe: StageRecipe | None = None,
        search_with: str | None = None,
        all_rows: TrainingData | None = None,
        families: Sequence[str] = FAMILIES,
    ) -> AbstractContextManager[Journal | None]:
        """Open the checkpoint of this search in `folder`; None: no checkpoint.

        `recipe` and `search_with` are those of the user; by default the recipe of this bench.
        `all_rows` has the rows that those of this bench are a sample of, and `families` those that
        "auto" tries.
        """
        if folder is None:
            return nullcontext()
        is_auto = recipe is not None and recipe.estimator == AUTO
        tries_fewer = is_auto and tuple(families) != FAMILIES
        problem = {
            **(all_rows or self.data).fingerprints(),
            **({} if all_rows is None else {"screen_rows": len(self.data.rows)}),
            "cv": fingerprint(*(part for split in self.splits for part in split)),
            "search": search,
            "metric": self.metric,
            **(recipe or self.recipe).to_dict(),
            **({"stage models to try": list(families)} if tries_fewer else {}),
            "search_with": search_with,
            **self.grid(min_confidence).to_dict(self.data.classes),
            "constraints": asdict(self.constraints),
            **asdict(settings),
        }
        most = None if self.prices is None else self.prices.most_spent
        rules = EntryRules(
            self.bank.n_rows,
            settings.max_stages,
            self.grid(min_confidence),
            self.bank.n_counted,
            most,
        )
        return Journal.open(folder, problem, seed, self.blocks.n_blocks, rules)

    def plan(
        self,
        search: str,
        settings: SearchSettings,
        min_confidence: MinConfidence | ThresholdGrid,
        memory_limit: int | None = None,
    ) -> SearchPlan:
        """Choose the search that "auto" means here.

        Raises
        ------
        ParameterError
            If `search` is "exact" and that is out of reach.
        """
        evaluator = self.evaluator(settings.max_stages, min_confidence)
        return plan_search(search, self._problem(search, evaluator, memory_limit), settings)

    def search(
        self,
        search: str,
        settings: SearchSettings,
        min_confidence: MinConfidence | ThresholdGrid,
        rng: Generator,
        *,
        time_limit: float | None = None,
        whole_limit: float | None = None,
        memory_limit: int | None = None,
        journal: Journal | None = None,
        shown: bool = False,
    ) -> SearchResult:
        """Search for designs over blocks of features.

        Parameters
        ----------
        search : {"auto", "exact", "evolution", "paper"}
        settings : SearchSettings
        min_confidence : float, dict or ThresholdGrid
        rng : numpy.random.Generator
        time_limit : float, optional
            Seconds after which the search stops and keeps its best designs so far.
        whole_limit : float, optional
            The time limit to name in messages, if `time_limit` is a share of it.
        memory_limit : int, optional
            Bytes that an exact search may use beside the bank; by default as many as the bank.
        journal : Journal, optional
            Keeps scores on disk.
        shown : bool
            Whether to draw a progress bar.
        """
        evaluator = self.evaluator(settings.max_stages, min_confidence, journal)
        problem = self._problem(search, evaluator, memory_limit)
        plan = plan_search(search, problem, settings, time_limit)
        with (
            SearchProgress(shown=shown, note=plan.note or plan.forecast) as progress,
            closing(self.bank.engine),
            self.bank.reporting(progress.fitting if shown else None),
        ):
            result = plan.run(problem, rng, time_limit, progress, whole_limit)
            return replace(result, scored=evaluator.designs)

    def has_models_of(self, recipe: StageRecipe) -> bool:
        """Whether the stage models are those of a recipe, not quicker ones to search with."""
        return (self.recipe.estimator, self.recipe.shared) == (recipe.estimator, recipe.shared)

    def finish(
        self,
        recipe: StageRecipe,
        result: SearchResult,
        settings: SearchSettings,
        min_confidence: MinConfidence | ThresholdGrid,
        *,
        all_rows: tuple[TrainingData, list[Split]] | None = None,
        time_limit: float | None = None,
        report: Report | None = None,
    ) -> tuple[Workbench, SearchResult, Refinement]:
        """Score the designs near the front of a search again, with other stage models or rows.

        `all_rows` are the rows and splits that count, if the search used a sample. Returns the
        bench of these models and the front that they make. Both stay as they are if there was no
        time for any design, or none is within the limits.
        """
        data, splits = all_rows or (self.data, self.splits)
        if recipe.estimator == self.recipe.estimator == "spline":
            recipe = self.recipe  # knots and penalty are as good from a sample
        own = Workbench(data, splits, recipe, self.constraints, self.metric)
        grid = self.grid(min_confidence)
        at_once = grid.complete(np.zeros((1, self.blocks.n_blocks), dtype=np.int16))
        evaluator = own.evaluator(settings.max_stages, min_confidence)
        found, finish = finish_search(
            result,
            self.evaluator(settings.max_stages, min_confidence).score(at_once),
            evaluator,
            settings.space(self.blocks.n_blocks, grid),
            searched_with=self.recipe.in_words,
            finished_with=recipe.in_words,
            time_limit=time_limit,
            report=report,
            most_subsets=MOST_SUBSETS if all_rows is None else own.n_finished,
        )
        own.bank.engine.close()
        if all_rows is not None:
            finish = replace(finish, n_screened=len(self.data.rows), n_rows=len(data.rows))
        if finish.end is RefinementEnd.NOTHING_FEASIBLE:
            kept = f"The models of the search are kept: {finish}."
            warnings.warn(kept, EMSCOWarning, stacklevel=5)
        if not finish.n_subsets:
            return self, found, finish
        return own, replace(found, scored=evaluator.designs), finish

    @property
    def n_finished(self) -> int:
        """Subsets that get models on all rows after a search on a sample: more of quick ones."""
        seconds = self.bank.engine.seconds_per_fit()
        most = MOST_SUBSETS if seconds is None else int(_FINISHING / seconds)
        return int(np.clip(most, MOST_SUBSETS, _MOST_FINISHED))

    def thinned(self, result: SearchResult, seconds: float | None) -> SearchResult:
        """Keep as many designs as can be judged row by row in time, as different as possible.

        A proven front stays whole if there is no time limit.
        """
        n_scored = sum(len(scored) for _, scored in self.splits)
        most = _JUDGED_ROWS // n_scored
        if seconds is not None:
            most = min(most, int(seconds / (_PER_JUDGED_ROW * n_scored)))
        elif result.proven:
            return result
        order = spread_order(result.scores, self.data.costs.total)
        kept = np.sort(order[: max(_FEWEST_JUDGED, most)])
        return result if len(kept) == len(order) else result.take(kept)

    def without_refused(
        self, result: SearchResult, settings: SearchSettings, grid: ThresholdGrid
    ) -> SearchResult:
        """Drop designs about whose thresholds the models of the splits disagree, unless all are."""
        refused = self.evaluator(settings.max_stages, grid).refused(result.designs)
        kept = np.flatnonzero(~refused)
        return result.take(kept) if 0 < len(kept) < len(refused) else result

    def front(
        self,
        result: SearchResult,
        min_confidence: MinConfidence,
        grid: ThresholdGrid | None = None,
    ) -> ParetoFront:
        """Turn a search result into a front of designs over named features, without models.

        `min_confidence` is what a label needs if everything is bought at once, and `grid` has
        the thresholds of the designs, if these have their own.
        """
        front = ParetoFront.from_scores(
            self.blocks.designs(result.designs),
            result.scores,
            self.data.costs,
            min_confidence,
            result.n_tied,
            result.ties and self.blocks.ties(result.ties),
            result.proven,
            self.data.per_row,
            NamedDesigns(self.data.costs.names, grid, self.data.classes),
        )
        if not any(point.coverage for point in front):
            least = (Parameter("min_confidence"), f"={in_words(min_confidence)}; lower it.")
            what = EMSCOWarning("no design accepts any scored row at ", *least)
            warnings.warn(what, stacklevel=5)
        return front

    def assess(
        self,
        front: ParetoFront,
        result: SearchResult,
        settings: SearchSettings,
        grid: ThresholdGrid,
        prefer: Preference | None = None,
        report: Report | None = None,
        groups: Any = None,
        is_over: Callable[[], bool] = _never,
    ) -> ParetoFront:
        """Judge every point row by row: results by class, references, what new rows will show.

        If `prefer` is "economical", the simplest design that is not worse than the economical one
        is marked, and joins the front as its last point if it is not there yet. Limits change what
        to expect of the point that they choose. ``report(done, total)`` is called as the work
        proceeds. `groups` has the group of each row, if rows of a group come together. When
        `is_over`, only what is necessary goes on.
        Ctrl-C leaves the front as it is, with a warning.
        """
        try:
            own_rows = self.bank, self.data, self.splits, grid, self.blocks.members()
            rows = ScoredRows(*own_rows, self.prices, self.recipe.n_jobs)
            evaluator = self.evaluator(settings.max_stages, grid)
            own = evaluator, rows, prefer, report, is_over
            front, designs = self._assess(front, result, settings, *own)
        except KeyboardInterrupt:
            _warn("Fit interrupted; the front is kept as it was scored, without results by class.")
            return front
        space = settings.space(self.blocks.n_blocks, grid)
        of_rows = None if groups is None else _scored_groups(groups, self.splits)
        try:
            others = designs if result.scored is None else result.scored
            others = runners_up(designs, others, evaluator, space, all_fitted=result.proven)
            correction = OptimismCorrection(rows, evaluator, self.data.costs.total, of_rows)
            return correction.corrected(front, designs, others, prefer, report, is_over)
        except KeyboardInterrupt:
            _warn("Fit interrupted; the front is kept without expected figures.")
            return front

    def _assess(
        self,
        front: ParetoFront,
        result: SearchResult,
        settings: SearchSettings,
        evaluator: Evaluator,
        rows: ScoredRows,
        prefer: Preference | None,
        report: Report | None,
        is_over: Callable[[], bool],
    ) -> tuple[ParetoFront, StageArray]:
        """Judge every point; return the front and the designs of its points."""
        data, designs = self.data, result.designs
        assessor = Assessor(rows, evaluator, self.blocks, data.costs, data.classes)
        points = assessor.assessed(front.points, designs, report)
        if prefer == "economical":
            simplifier = Simplifier(
                assessor,
                may_leave_out=settings.allow_exclusion,
                may_fit=self.bank.engine.seconds_per_fit() is not None,
                is_over=is_over,
            )
            scored = designs if result.scored is None else result.scored
            simple = simplifier.simplified(points, designs, scored)
            if simple is not None:
                points, designs = _joined(points, designs, simple)
            deployed = economical_of(points, data.costs.total)
            points[deployed] = replace(points[deployed], shortlisted=True)
        commonest = int(np.bincount(data.labels, data.weights).argmax())
        references = assessor.references(commonest)
        return replace(front, points=tuple(points), references=references), designs

    def stage_models(
        self, front: ParetoFront, refit: str | bool, report: Report | None = None
    ) -> FrontModels:
        """Fit the stage models of all points of a front, so that you can deploy any of them.

        `refit` is "average" (the average of all splits' models), "all" (fitted to all rows) or
        "first" (those of the first split). ``report(done, total)`` is called after each fit of a
        user's classifier.
        """
        bank, refit = self.bank, check_refit(refit)
        if refit == "all":
            all_rows = np.arange(len(self.data.rows))
            bank = self.recipe.open_bank(self.data, [(all_rows, all_rows[:0])])
        encoding = self.data.encoding
        reads = [point.design.subsets()[:, encoding.input_feature] for point in front]
        everything = np.ones((1, encoding.n_inputs), dtype=np.bool_)
        average = refit == "average"
        *found, every = self.recipe.stage_models(bank, [*reads, everything], average, report)
        return FrontModels(self.data.classes, encoding, tuple(found), every)

    def _problem(self, search: str, evaluator: Evaluator, memory_limit: int | None) -> Problem:
        may_prove = search in ("auto", "exact")
        return Problem(
            evaluator,
            evaluator.costs.alone,
            seconds_per_fit=self.bank.engine.seconds_per_fit() if may_prove else 0.0,
            capacity=self.bank.capacity,
            memory_limit=self.recipe.memory_limit if memory_limit is None else memory_limit,
            n_jobs=self.recipe.n_jobs,
        )


def _warn(message: str) -> None:
    warnings.warn(message, InterruptedWarning, stacklevel=6)


def _joined(
    points: list[ParetoPoint], designs: StageArray, simple: JudgedDesign
) -> tuple[list[ParetoPoint], StageArray]:
    """Mark a point as simplified, or add it as the last one; return points and their designs."""
    for i, point in enumerate(points):
        if point.design == simple.point.design:
            return [*points[:i], replace(point, is_simplified=True), *points[i + 1 :]], designs
    return [*points, simple.point], np.concatenate([designs, simple.genes[None]])


def _scored_groups(groups: Any, splits: list[Split]) -> IntArray:
    """Number of the group of each distinct scored row, from 0."""
    groups = np.asarray(groups)
    scored, _ = distinct_rows(np.concatenate([rows for _, rows in splits]), len(groups))
    found: IntArray = np.unique(groups[scored], return_inverse=True)[1]
    return found
