"""The workbench: rows, their splits and a bank of stage models, to score and search designs on.

The steps of a fit, sweeps and the paper's experiments all work on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from emsco._base.checks import check_choice
from emsco._base.objectives import METRICS
from emsco._base.typing import BoolArray, FloatArray, IntArray, Report
from emsco.cascade import FrontModels
from emsco.data.splits import Split
from emsco.data.training import TrainingData
from emsco.designs.constraints import Blocks, Constraints
from emsco.designs.grid import ThresholdGrid
from emsco.front import ParetoFront
from emsco.models.bank import ModelBank
from emsco.models.recipe import StageRecipe
from emsco.models.stage_models import PriorModels, StageModels
from emsco.scoring.bits import RowBits
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.rows import ScoredRows
from emsco.scoring.scores import CostLimits
from emsco.scoring.walk import Walk
from emsco.search.loop import SearchResult
from emsco.search.plan import SearchPlan, plan_search
from emsco.search.progress import SearchProgress
from emsco.search.settings import SearchSettings


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
    rows : ndarray or None
        Numbers of the rows that the bench is for, such as those of a part; None: all.
    stakes : ndarray of shape (n_classes,) or None
        What an error about each class costs, if models and counts of bits weigh rows by it.
    blocks : Blocks
        Groups of features that a search moves together.
    bank : ModelBank
    bits : RowBits
    """

    data: TrainingData
    splits: list[Split]
    recipe: StageRecipe
    constraints: Constraints = field(default_factory=Constraints)
    metric: str = "accuracy"
    rows: IntArray | None = None
    stakes: FloatArray | None = None
    blocks: Blocks = field(init=False)
    bank: ModelBank = field(init=False)
    bits: RowBits = field(init=False)

    def __post_init__(self) -> None:
        """Open the bank, and make room for the bits of scored rows."""
        by_class = check_choice("metric", self.metric, METRICS) != "accuracy"
        # Splines need knots before the bank opens, as they are its inputs.
        staked = self.data.staked(self.stakes)
        object.__setattr__(self, "recipe", self.recipe.prepared(staked, self.splits))
        blocks = Blocks.from_constraints(self.constraints, self.data.costs.names)
        bank = self.recipe.open_bank(staked, self.splits, blocks.members())
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "bank", bank)
        scored = self._scored(staked)
        costs, prices = self.data.costs, self.data.prices
        rows = np.concatenate([rows for _, rows in self.splits])
        # Prices come on top of what else a block costs.
        beyond, own = blocks.costs(costs.with_usual(0.0)), None if prices is None else prices[rows]
        units = beyond.in_units(scored.units, own, blocks.of_feature[costs.priced])
        bits = RowBits(
            bank,
            scored,
            units,
            by_class=by_class,
            memory_limit=self.recipe.memory_limit,
            n_jobs=self.recipe.n_jobs,
        )
        object.__setattr__(self, "bits", bits)

    @property
    def limits(self) -> CostLimits:
        """Limits on the cost and the delay of a design."""
        rules = self.constraints
        return CostLimits(
            rules.max_mean_cost,
            rules.max_worst_cost,
            rules.max_mean_delay,
            rules.max_worst_delay,
        )

    def evaluator(self, max_stages: int, grid: ThresholdGrid) -> Evaluator:
        """Make an evaluator of designs of so many stages with these thresholds."""
        return Evaluator(
            self.bits,
            self.blocks.costs(self.data.costs),
            grid,
            max_stages,
            self.limits,
            self.data.per_row,
        )

    def _scored(self, data: TrainingData) -> ScoredRows:
        return ScoredRows.from_splits(data, self.splits, self.blocks.members())

    def walk(self, grid: ThresholdGrid, *, staked: bool = False) -> Walk:
        """Send the scored rows one by one through designs with these thresholds.

        If they are `staked`, they have the weights of the bits, and otherwise their own.
        """
        return Walk(
            self.bank,
            self._scored(self.data.staked(self.stakes) if staked else self.data),
            (self.data.rows, self.splits),
            grid,
            self.bits.units,
            self.recipe.n_jobs,
        )

    def plan(
        self,
        settings: SearchSettings,
        grid: ThresholdGrid,
        time_limit: float | None = None,
    ) -> SearchPlan:
        """Choose the search that "auto" means here.

        Raises
        ------
        ParameterError
            If "exact" is asked for and out of reach, or no design can be within the limits.
        """
        evaluator = self.evaluator(settings.max_stages, grid)
        return plan_search(evaluator, settings, self.recipe.memory_limit, time_limit)

    def search(
        self,
        settings: SearchSettings,
        grid: ThresholdGrid,
        rng: Generator,
        *,
        time_limit: float | None = None,
        whole_limit: float | None = None,
        shown: bool = False,
    ) -> SearchResult:
        """Search for designs over blocks of features.

        Parameters
        ----------
        settings : SearchSettings
        grid : ThresholdGrid
        rng : numpy.random.Generator
        time_limit : float, optional
            Seconds after which the search stops and keeps its best designs so far.
        whole_limit : float, optional
            The time limit to name in messages, if `time_limit` is a share of it.
        shown : bool
            Whether to draw a progress bar.
        """
        plan = self.plan(settings, grid, time_limit)
        with (
            SearchProgress(shown=shown, note=plan.note or plan.forecast) as progress,
            self.bank.reporting(progress.fitting if shown else None),
        ):
            result = plan.run(rng, progress, time_limit, whole_limit)
            return replace(result, scored=plan.evaluator.designs)

    def stage_models(
        self, front: ParetoFront, refit: str, report: Report | None = None
    ) -> FrontModels:
        """Fit the stage models of all chains of a front, so that you can deploy any of them.

        `refit` is "average" (the average of all splits' models), "all" (fitted to all rows) or
        "first" (those of the first split). ``report(done, total)`` is called after each fit of a
        user's classifier. Trees and designs that buy nothing have the shares of the classes.
        """
        encoding = self.data.encoding
        has_models = [one.design.is_chain and not one.design.buys_nothing for one in front]
        subsets = [one.design.subsets() for one, has in zip(front, has_models, strict=True) if has]
        everything = np.ones((1, len(self.data.costs.names)), dtype=np.bool_)
        *fitted, of_everything = self.models_of([*subsets, everything], refit, report)
        prior = PriorModels(self.data.staked(self.stakes).class_shares)
        in_order = iter(fitted)
        of_points = [next(in_order) if has else prior for has in has_models]
        return FrontModels(self.data.classes, encoding, tuple(of_points), of_everything)

    def models_of(
        self, subsets: Sequence[BoolArray], refit: str, report: Report | None = None
    ) -> list[StageModels]:
        """Fit the models of designs, given the features known after each stage."""
        bank = self.bank
        if refit == "all":
            rows = np.arange(len(self.data.rows)) if self.rows is None else self.rows
            staked = self.data.staked(self.stakes)
            bank = self.recipe.open_bank(staked, [(rows, rows[:0])])
        reads = [one[:, self.data.encoding.input_feature] for one in subsets]
        return list(self.recipe.stage_models(bank, reads, refit == "average", report))
