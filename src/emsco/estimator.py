"""EMSCOClassifier: the scikit-learn face of the library."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import fields, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from emsco._base.checks import check_choice, check_number, check_whole, memory_bytes, refused
from emsco._base.progress import JobProgress
from emsco._base.typing import AnyArray, FloatArray
from emsco.cascade import Cascade, Decisions, Evaluation, FrontModels
from emsco.costs import CostsLike, FeatureCosts
from emsco.data.encoding import GAPS
from emsco.data.splits import Split, make_splits
from emsco.data.tabular import TableClassifier
from emsco.data.training import TrainingData
from emsco.designs.blocks import Blocks
from emsco.designs.constraints import Constraints
from emsco.designs.thresholds import MinConfidence, check_min_confidence
from emsco.fitting import Workbench, check_parameters, draw_seed, seeds_of_fit
from emsco.front import ParetoFront, ParetoPoint
from emsco.front.history import Generation, history_of
from emsco.models.recipe import StageRecipe
from emsco.pictures.diagram import cascade_boxes
from emsco.scoring.checkpoint import stored_seed
from emsco.search.settings import SearchSettings
from emsco.trust.reliability import Reliability
from emsco.trust.risk import RiskCoverage

__all__ = ["EMSCOClassifier", "Generation"]

_OF_SEARCHES = tuple(field.name for field in fields(SearchSettings) if field.name != "first")


class EMSCOClassifier(TableClassifier):
    """Classifier that buys features stage by stage, stops when sure, and may decline to answer.

    Fitting searches the ordered partitions of the features into stages for the trade-off
    between coverage, accuracy and cost, and deploys one of the designs found as `cascade_`.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each. `FeatureCosts` also knows
        groups of columns that are bought together for one cost.
    min_confidence : float or dict
        A row leaves at the first stage whose largest class probability is at least this; a dict
        has a threshold for each label, and that of the likeliest class counts.
    max_stages : int or None
        Most stages of a design; None: half the features (those that must stay together as one),
        at least 1 and at most 10.
    search : {"auto", "exact", "evolution", "paper"}
        "exact" proves the whole front, "evolution" looks for it among population_size times
        generations designs, "paper" is the loop of Hamilton & Fulp (2022). "auto" is "exact"
        where that takes seconds, else "evolution"; `stop_reason_` says which, and why.
    prefer : {"balanced", "fittest", "knee"} or dict
        Which point of the front is deployed, by the method of `ParetoFront` of that name:
        "fittest" is the paper's choice, whatever the search. A dict holds limits for
        `ParetoFront.select`, such as ``{"max_cost": 300}``.
    cv : float, int, splitter or list of splits
        Rows held out to score designs: a fraction (stratified), a number of folds, or any
        splitter, `PredefinedSplit` included.
    refit : bool
        False deploys the stage classifiers that were scored; True refits them on all rows, as
        is always done with several splits.
    estimator : classifier or None
        What each stage is: any scikit-learn classifier or pipeline with `predict_proba`, fitted
        once for each subset that the search asks for; None: L2 logistic regression, fitted in
        batches and some hundred times faster.
    calibration : {"sigmoid", "isotonic"} or None
        Makes the probabilities of each stage honest on a quarter of the training rows, which its
        classifier does not see.
    class_weight : dict, "balanced" or None
        How much rows of each class count when stage classifiers are fitted; never when designs
        are scored.
    gaps : {"refuse", "impute", "skip"}
        What to do about missing values, here and when rows are decided: refuse them; put the mean
        of the training rows in their place, beside an indicator; or put the mean there and never
        accept a row at the stage that lacks a value of it.
    allow_exclusion : bool
        Whether designs may leave features out, so that no row ever pays for them.
    evaluation_cost : float or None
        Cost of running a stage at all, added to what its features cost; None: that of `costs`
        where it is a `FeatureCosts`, else 0.
    constraints : dict, Constraints or None
        What every design must obey: ``first`` (features that the first stage buys), ``together``
        (lists of features that one stage buys), ``max_mean_cost`` and ``max_worst_cost`` (most
        that a row may cost on average, and at worst).
    population_size, generations, patience
        The paper's |G|, max_iter and g. For "evolution": designs scored in a generation,
        generations, and how many of them may leave the front as it is.
    mutation_rate, crossover_rate, elite_fraction, stage_bias, epsilon, growth
        The paper's m̂ (None: 1 / n, what must stay together counting as one), r̂, b, β, ε and inc,
        for "paper" alone.
    memory_limit : int or str
        Most memory that fitted subsets may take, coefficients and bits together, such as
        "1GiB"; an exact search may take as much again for the bits of all subsets, and once more
        for kinds of chains. The rows themselves
        and a few hundred bytes per scored design come on top.
    time_limit : float or None
        Seconds after which the search ends with what it has found; an exact search then says
        that its front is not proven.
    checkpoint : str, path or None
        Folder that keeps the scores of the search, written every few seconds. A fit that finds
        there what an earlier one left goes on from it and ends with the same front; rows, splits
        and settings must be the same, and so must a random_state that is a number, while any
        other is taken from there. An exact search goes on with its first designs and proves
        anew; time_limit counts anew. The folder is left in place: delete it when you have what
        you wanted.
    cache : str, path or None
        Folder that keeps what the fitted classifiers of an `estimator` say about held-out rows, so
        that another fit on the same rows and splits, at other thresholds or costs or with another
        search, need not fit them again.
    n_jobs : int or None
        Threads (for an `estimator`, processes), as in joblib: None is 1, -1 is all. The result
        does not depend on it.
    random_state : int, RandomState or None
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    front_ : ParetoFront
        The designs found that no other beats, best first, with their held-out figures.
    point_ : ParetoPoint
        The deployed point of the front.
    design_ : Design
    cascade_ : Cascade
        Its design, and the fitted stages.
    history_ : list of Generation
    stop_reason_ : StopReason
        Why the search ended; `str` makes a sentence of it, `cause` is for code to ask.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = EMSCOClassifier(
    ...     min_confidence=0.9, max_stages=3, search="evolution", generations=20, random_state=0
    ... )
    >>> print(clf.fit(X.iloc[:400], y[:400]).stop_reason_)
    all 20 generations have run
    >>> decisions = clf.decide(X.iloc[400:])
    >>> bool(decisions.accepted.mean() > 0.8 and decisions.cost.mean() < 15)
    True
    """

    def __init__(
        self,
        costs: CostsLike = None,
        min_confidence: MinConfidence = 0.75,
        max_stages: int | None = None,
        search: str = "auto",
        prefer: str | dict[str, float] = "balanced",
        cv: Any = 1 / 3,
        refit: bool = False,
        estimator: Any = None,
        calibration: str | None = None,
        class_weight: Any = None,
        gaps: str = "refuse",
        allow_exclusion: bool = False,
        evaluation_cost: float | None = None,
        constraints: dict[str, Any] | None = None,
        population_size: int = 300,
        generations: int = 150,
        mutation_rate: float | None = None,
        crossover_rate: float = 0.8,
        elite_fraction: float = 0.2,
        stage_bias: float = 2.0,
        epsilon: float = 0.01,
        growth: int = 0,
        patience: int | None = None,
        memory_limit: int | str = "1GiB",
        time_limit: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        cache: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.min_confidence = min_confidence
        self.max_stages = max_stages
        self.search = search
        self.prefer = prefer
        self.cv = cv
        self.refit = refit
        self.estimator = estimator
        self.calibration = calibration
        self.class_weight = class_weight
        self.gaps = gaps
        self.allow_exclusion = allow_exclusion
        self.evaluation_cost = evaluation_cost
        self.constraints = constraints
        self.population_size = population_size
        self.generations = generations
        self.mutation_rate = mutation_rate
        self.crossover_rate = crossover_rate
        self.elite_fraction = elite_fraction
        self.stage_bias = stage_bias
        self.epsilon = epsilon
        self.growth = growth
        self.patience = patience
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.cache = cache
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Search for designs on part of the rows, score them on the rest, deploy one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns)
            Numbers, truth values or categories; see `gaps` about missing ones.
        y : array-like of shape (n_rows,)
            Two classes or more.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts, in the fits and in the objectives: whole numbers as if the
            row were there so many times.
        groups : array-like of shape (n_rows,), optional
            For a `cv` that splits by group.
        """
        data = self._check_data(X, y, sample_weight)
        names = data.costs.names
        constraints = Constraints.from_rules(self.constraints, names)
        check_parameters(self.get_params(deep=False))
        own = {name: getattr(self, name) for name in _OF_SEARCHES}
        blocks = Blocks.from_constraints(constraints, names)
        settings = SearchSettings.from_parameters(own, blocks)
        min_confidence = check_min_confidence(self.min_confidence, data.classes)
        seed = self._draw_seed()
        split_seed, search_seed, stage_seed = seeds_of_fit(seed)
        splits = self._make_splits(data, groups, int(split_seed.generate_state(1)[0]))
        recipe = self._recipe(data.classes, int(stage_seed.generate_state(1)[0]))
        bench = Workbench(data, splits, recipe, constraints)
        with bench.open_journal(
            self.checkpoint, self.search, settings, min_confidence, seed
        ) as journal:
            result = bench.search(
                self.search,
                settings,
                min_confidence,
                np.random.default_rng(search_seed),
                time_limit=self.time_limit,
                journal=journal,
                shown=self.verbose > 0,
            )
        self._undeploy()
        front = bench.front(result, min_confidence)
        models = self._fit_stages(bench, front)
        self.front_ = replace(front, models=models, by_fitness=self.search == "paper")
        self.history_ = history_of(result, bench.blocks, names, data.per_row)
        self.stop_reason_ = result.stop_reason
        return self.choose(self.prefer)

    def choose(self, which: ParetoPoint | int | str | dict[str, float]) -> Self:
        """Deploy another point of the front: sets `point_`, `design_` and `cascade_`.

        Parameters
        ----------
        which : ParetoPoint, int, str or dict
            A point of `front_`, its position there, or a rule as for `prefer`.
        """
        check_is_fitted(self, "front_")
        point = self._point(which)
        self.point_ = point
        self.design_ = point.design
        self.cascade_ = self.front_.cascade(point)
        return self

    def decide(self, X: ArrayLike) -> Decisions:
        """Label or reject each row, with its confidence, exit stage and cost."""
        return self._fitted_cascade.decide(self._check_new_rows(X))

    def evaluate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Evaluation:
        """Coverage, accuracy and cost on labelled rows; rows, accuracy and cost per exit."""
        return self._fitted_cascade.evaluate(self._check_new_rows(X), y, sample_weight)

    def reliability(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 10,
    ) -> tuple[Reliability, ...]:
        """How honest each stage's confidence is, on the labelled rows that reach it."""
        rows = self._check_new_rows(X)
        return self._fitted_cascade.reliability(rows, y, sample_weight, n_bins)

    def risk_coverage(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[RiskCoverage, ...]:
        """What moving the threshold would do: the deployed cascade, then each stage alone."""
        return self._fitted_cascade.risk_coverage(self._check_new_rows(X), y, sample_weight)

    def predict(self, X: ArrayLike) -> AnyArray:
        """A class for every row: the best guess of the last stage that saw it, even if rejected."""
        return self.decide(X).guesses

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of the last stage that saw each row, shape (n_rows, n_classes)."""
        return self._fitted_cascade.predict_proba(self._check_new_rows(X))

    def __sklearn_tags__(self) -> Any:
        """Categories, and missing values unless they are refused."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.gaps != "refuse"
        return tags

    @available_if(lambda self: hasattr(self, "cascade_"))  # type: ignore[untyped-decorator]
    def _sk_visual_block_(self) -> Any:
        """The deployed stages in scikit-learn's diagram, which is as always before a fit."""
        return cascade_boxes(self.front_.flow(self.point_), self.front_.min_confidence)

    def _point(self, which: object) -> ParetoPoint:
        if isinstance(which, (str, dict)):
            return self.front_.prefer(which)
        if isinstance(which, Integral):
            return self.front_[check_whole("point", which, 0, len(self.front_) - 1)]
        if not isinstance(which, ParetoPoint) or which not in self.front_:
            raise refused("point", "be one of this front_, its position or a rule", which)
        return which

    def _undeploy(self) -> None:
        """Forget the cascade of an earlier fit, lest it stand beside a newer front."""
        for name in ("point_", "design_", "cascade_"):
            self.__dict__.pop(name, None)

    @property
    def _fitted_cascade(self) -> Cascade:
        check_is_fitted(self, "cascade_")
        return self.cascade_

    def _check_data(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> TrainingData:
        check_choice("gaps", self.gaps, GAPS)
        table, targets = self._check_table(X, y)
        costs = FeatureCosts.resolve(self.costs, self._names)
        if self.evaluation_cost is not None:
            evaluation = check_number("evaluation_cost", self.evaluation_cost, 0, 1e100)
            costs = replace(costs, evaluation=evaluation)
        data = TrainingData.from_table(table, targets, sample_weight, costs, self.gaps)
        self.classes_ = data.classes
        return data

    def _make_splits(self, data: TrainingData, groups: ArrayLike | None, seed: int) -> list[Split]:
        classes = data.classes.tolist()
        return make_splits(self.cv, data.rows, data.labels, classes, groups, seed, data.weights)

    def _recipe(self, classes: AnyArray, seed: int) -> StageRecipe:
        return StageRecipe.from_parameters(
            self.estimator,
            self.calibration,
            self.class_weight,
            classes,
            memory_bytes("memory_limit", self.memory_limit),
            effective_n_jobs(self.n_jobs),
            seed,
            self.cache,
        )

    def _draw_seed(self) -> int:
        """Seed of this fit: the checkpoint's, where there is one and the user names none."""
        drawn = draw_seed(self.random_state)
        if self.checkpoint is None or isinstance(self.random_state, Integral):
            return drawn
        stored = stored_seed(self.checkpoint)
        return drawn if stored is None else stored

    def _fit_stages(self, bench: Workbench, front: ParetoFront) -> FrontModels:
        """Fitted stages of all points of the front, so that any of them can be deployed later."""
        slow = self.verbose > 0 and self.estimator is not None
        with JobProgress("stages to deploy") if slow else nullcontext() as progress:
            report = (lambda done, total: progress.job(done, total, "")) if progress else None
            return bench.stage_models(front, self.refit or len(bench.splits) > 1, report)
