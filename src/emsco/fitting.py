"""Everything a fit needs in one place: rows and a recipe, a bank, a search and a front.

The estimator, the studies and the paper's experiments all fit through a `Workbench`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from numbers import Integral
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.random import Generator, SeedSequence
from sklearn.utils import check_random_state

from emsco._base.checks import check_choice, check_number, check_whole, refused
from emsco._base.digests import fingerprint
from emsco._base.objectives import METRICS
from emsco._base.typing import Report
from emsco.cascade import FrontModels
from emsco.data.splits import Split
from emsco.data.training import TrainingData
from emsco.designs.blocks import Blocks
from emsco.designs.constraints import Constraints
from emsco.designs.thresholds import MinConfidence, by_class, in_words, plain
from emsco.errors import EMSCOWarning, InterruptedWarning, Parameter
from emsco.front import ParetoFront, ParetoPoint, check_preference
from emsco.front.assessing import Assessor
from emsco.front.preferences import economical_of
from emsco.models.bank import SubsetBank
from emsco.models.recipe import StageRecipe
from emsco.scoring.checkpoint import stored_seed
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.journal import Journal
from emsco.scoring.scored_rows import ScoredRows
from emsco.scoring.scores import Limits
from emsco.search.loop import SearchResult
from emsco.search.planning import SearchPlan, check_provable, plan_search
from emsco.search.problem import Problem
from emsco.search.progress import SearchProgress
from emsco.search.settings import KINDS, SearchSettings

__all__ = [
    "PAPER",
    "REFITS",
    "Workbench",
    "check_parameters",
    "check_refit",
    "draw_seed",
    "seed_of_fit",
    "seeds_of_fit",
]


REFITS = ("average", "all", "first")

# Parameters of `EMSCOClassifier` as Hamilton & Fulp (2022) describe it.
PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "min_confidence": 0.75,
        "max_stages": None,
        "search": "paper",
        "prefer": "fittest",
        "cv": 1 / 3,
        "refit": "first",
        "estimator": None,
        "allow_exclusion": False,
    }
)


def draw_seed(random_state: Any) -> int:
    """Draw the one number that a fit takes from its `random_state`."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def seed_of_fit(random_state: Any, checkpoint: str | os.PathLike[str] | None) -> int:
    """Draw the seed of a fit; that of a checkpoint is used if `random_state` is not a number."""
    drawn = draw_seed(random_state)
    if checkpoint is None or isinstance(random_state, Integral):
        return drawn
    stored = stored_seed(checkpoint)
    return drawn if stored is None else stored


def seeds_of_fit(seed: int) -> list[SeedSequence]:
    """Derive the seeds of the split, the search and the stage models from one number."""
    return SeedSequence(seed).spawn(3)


def check_parameters(given: Mapping[str, Any], classes: Sequence[object] | None = None) -> None:
    """Check the parameters of a fit that need no more of the data than its classes."""
    if given["n_jobs"] is not None and check_whole("n_jobs", given["n_jobs"], -(2**31)) == 0:
        raise refused("n_jobs", "be a number of threads, or negative to count from all cores", 0)
    check_choice("search", given["search"], KINDS)
    check_provable(given["search"], check_choice("metric", given["metric"], METRICS))
    if given["time_limit"] is not None:
        check_number("time_limit", given["time_limit"], 0, np.inf, "()")
    for name in ("checkpoint", "cache"):
        _check_path(name, given[name])
    check_whole("verbose", given["verbose"], 0)
    check_preference(given["prefer"], classes)
    check_refit(given["refit"])


def check_refit(given: Any) -> str:
    """Return which models to deploy; True means "all", and False means "first"."""
    if isinstance(given, (bool, np.bool_)):
        return "all" if given else "first"
    return check_choice("refit", given, REFITS)


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
    """

    data: TrainingData
    splits: list[Split]
    recipe: StageRecipe
    constraints: Constraints = field(default_factory=Constraints)
    metric: str = "accuracy"
    blocks: Blocks = field(init=False)
    bank: SubsetBank = field(init=False)

    def __post_init__(self) -> None:
        """Open the bank."""
        by_class = check_choice("metric", self.metric, METRICS) != "accuracy"
        object.__setattr__(self, "recipe", self.recipe.prepared(self.data, self.splits))
        blocks = Blocks.from_constraints(self.constraints, self.data.costs.names)
        bank = self.recipe.open_bank(self.data, self.splits, blocks.members(), by_class)
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "bank", bank)

    @classmethod
    def from_split(
        cls, data: TrainingData, split: Split, memory_limit: int = 2**30, n_jobs: int = 1
    ) -> Self:
        """Set up the paper's logistic stages on one split of the rows."""
        return cls(data, [split], StageRecipe(None, None, None, memory_limit, n_jobs, 0))

    def evaluator(
        self,
        max_stages: int,
        min_confidence: MinConfidence,
        journal: Journal | None = None,
    ) -> Evaluator:
        """Make an evaluator for one threshold, or one threshold per class."""
        rules = self.constraints
        return Evaluator(
            self.bank,
            self.blocks.costs(self.data.costs),
            by_class(min_confidence, self.data.classes),
            max_stages,
            journal,
            Limits(rules.max_mean_cost, rules.max_worst_cost),
            self.data.per_row,
            self.metric,
        )

    def open_journal(
        self,
        folder: str | os.PathLike[str] | None,
        search: str,
        settings: SearchSettings,
        min_confidence: MinConfidence,
        seed: int,
    ) -> AbstractContextManager[Journal | None]:
        """Open the checkpoint of this search in `folder`; None: no checkpoint."""
        if folder is None:
            return nullcontext()
        problem = {
            **self.data.fingerprints(),
            "cv": fingerprint(*(part for split in self.splits for part in split)),
            "search": search,
            "metric": self.metric,
            **self.recipe.to_dict(),
            "min_confidence": plain(min_confidence),
            "constraints": asdict(self.constraints),
            **asdict(settings),
        }
        n_counts = self.bank.n_counted + settings.max_stages
        return Journal.open(folder, problem, seed, self.blocks.n_blocks, n_counts)

    def plan(
        self,
        search: str,
        settings: SearchSettings,
        min_confidence: MinConfidence,
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
        min_confidence: MinConfidence,
        rng: Generator,
        *,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        journal: Journal | None = None,
        shown: bool = False,
    ) -> SearchResult:
        """Search for designs over blocks of features.

        Parameters
        ----------
        search : {"auto", "exact", "evolution", "paper"}
        settings : SearchSettings
        min_confidence : float or dict
        rng : numpy.random.Generator
        time_limit : float, optional
            Seconds after which the search stops and keeps its best designs so far.
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
        ):
            self.bank.on_fit = progress.fitting if shown else None
            return plan.run(problem, rng, time_limit, progress)

    def front(self, result: SearchResult, min_confidence: MinConfidence) -> ParetoFront:
        """Turn a search result into a front of designs over named features, without models."""
        front = ParetoFront.from_scores(
            self.blocks.designs(result.designs),
            result.scores,
            self.data.costs,
            min_confidence,
            result.n_tied,
            result.ties and self.blocks.ties(result.ties),
            result.proven,
            self.data.per_row,
        )
        if not any(point.coverage for point in front):
            least = (Parameter("min_confidence"), f"={in_words(min_confidence)}; lower it.")
            what = EMSCOWarning("no design accepts any scored row at ", *least)
            warnings.warn(what, stacklevel=4)
        return front

    def assess(
        self,
        front: ParetoFront,
        result: SearchResult,
        settings: SearchSettings,
        simplify: bool = False,
        report: Report | None = None,
    ) -> ParetoFront:
        """Judge every point row by row: results by class, references, what differs beyond noise.

        With `simplify`, the simplest design that is not worse than the economical one is marked,
        and joins the front as its last point if it is not there yet. ``report(done, total)`` is
        called after each point. Ctrl-C leaves the front as it is, with a warning.
        """
        try:
            return self._assess(front, result, settings, simplify, report)
        except KeyboardInterrupt:
            message = (
                "Fit interrupted; the front is kept as it was scored, without results by class."
            )
            warnings.warn(message, InterruptedWarning, stacklevel=4)
            return front

    def _assess(
        self,
        front: ParetoFront,
        result: SearchResult,
        settings: SearchSettings,
        simplify: bool,
        report: Report | None,
    ) -> ParetoFront:
        data, least = self.data, front.min_confidence
        rows = ScoredRows(
            self.bank,
            data,
            self.splits,
            by_class(least, data.classes),
            self.blocks.members(),
        )
        evaluator = self.evaluator(settings.max_stages, least)
        assessor = Assessor(rows, evaluator, self.blocks, data.costs, data.classes.tolist())
        points = assessor.assessed(front.points, result.designs, report)
        if simplify:
            may_fit = self.bank.engine.seconds_per_fit() is not None
            exclusion = settings.allow_exclusion
            simple = assessor.simplified(points, result.designs, exclusion, may_fit)
            points = points if simple is None else _joined(points, simple)
            deployed = economical_of(points, data.costs.total)
            points[deployed] = replace(points[deployed], shortlisted=True)
        commonest = int(np.bincount(data.labels, data.weights).argmax())
        references = assessor.references(commonest)
        return replace(front, points=tuple(points), references=references)

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
            evaluator.costs.costs,
            seconds_per_fit=self.bank.engine.seconds_per_fit() if may_prove else 0.0,
            capacity=self.bank.capacity,
            memory_limit=self.recipe.memory_limit if memory_limit is None else memory_limit,
            n_jobs=self.recipe.n_jobs,
        )


def _joined(points: list[ParetoPoint], simple: ParetoPoint) -> list[ParetoPoint]:
    """Mark a point as simplified, or add it as the last one."""
    for i, point in enumerate(points):
        if point.design == simple.design:
            return [*points[:i], replace(point, is_simplified=True), *points[i + 1 :]]
    return [*points, simple]


def _check_path(name: str, value: Any) -> None:
    if value is not None and (not isinstance(value, (str, os.PathLike)) or not os.fspath(value)):
        raise refused(name, "be the path of a folder or None", value)
