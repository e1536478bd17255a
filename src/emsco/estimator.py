"""EMSCOClassifier: the scikit-learn face of the library."""

from __future__ import annotations

import os
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.random import Generator
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from emsco._typing import AnyArray, FloatArray, LabelArray
from emsco.cascade import Cascade, Decisions, Evaluation, StageModels
from emsco.checkpoint import fingerprint, stored_seed
from emsco.costs import CostsLike, FeatureCosts
from emsco.design import Design, default_max_stages
from emsco.errors import DataError, ParameterError
from emsco.front import ParetoFront, ParetoPoint, check_preference
from emsco.journal import Journal
from emsco.parameters import check_choice, check_number, check_whole, memory_bytes
from emsco.progress import SearchProgress
from emsco.rows import check_columns, check_finite
from emsco.scoring import Evaluator
from emsco.search.loop import SearchResult
from emsco.search.paper import PaperSettings
from emsco.search.planning import Problem, plan_search
from emsco.splits import Split, make_splits
from emsco.subsets.bank import SplitRows, SubsetBank

__all__ = ["EMSCOClassifier", "Generation"]


@dataclass(frozen=True, slots=True)
class Generation:
    """State of the search after one generation; generation 0 is the initial population.

    Attributes
    ----------
    generation : int
    best : ParetoPoint
        The fittest design.
    n_front : int
        Distinct non-dominated designs.
    n_designs, n_subsets : int
        Distinct designs scored, and distinct subsets they go through, so far.
    seconds : float
        Since the search began.
    """

    generation: int
    best: ParetoPoint
    n_front: int
    n_designs: int
    n_subsets: int
    seconds: float


class EMSCOClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no stubs
    """Classifier that buys features stage by stage, stops when sure, and may decline to answer.

    Fitting searches the ordered partitions of the features into stages for the trade-off
    between coverage, accuracy and cost, and deploys one of the designs found as `cascade_`.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each.
    min_confidence : float
        A row leaves at the first stage whose largest class probability is at least this.
    max_stages : int or None
        Most stages of a design; None: half the features, at least 1 and at most 10.
    search : {"auto", "exact", "evolution", "paper"}
        "exact" proves the whole front, "evolution" looks for it among population_size times
        generations designs, "paper" is the loop of Hamilton & Fulp (2022). "auto" is "exact"
        where that takes seconds, else "evolution"; `stop_reason_` says which, and why.
    prefer : {"balanced", "fittest", "knee"} or dict
        Which point of the front is deployed; a dict holds limits for `ParetoFront.select`,
        such as ``{"max_cost": 300}``.
    cv : float, int, splitter or list of splits
        Rows held out to score designs: a fraction (stratified), a number of folds, or any
        splitter, `PredefinedSplit` included.
    refit : bool
        False deploys the stage classifiers that were scored; True refits them on all rows, as
        is always done with several splits.
    population_size, generations, patience
        The paper's |G|, max_iter and g. For "evolution": designs scored in a generation,
        generations, and how many of them may leave the front as it is.
    mutation_rate, crossover_rate, elite_fraction, stage_bias, epsilon, growth
        The paper's m̂ (None: 1 / n_features), r̂, b, β, ε and inc, for "paper" alone.
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
    n_jobs : int or None
        Threads, as in joblib: None is 1, -1 is all. The result does not depend on it.
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
    stop_reason_ : str
    classes_ : ndarray of shape (2,)
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
    >>> clf.fit(X.iloc[:400], y[:400]).stop_reason_
    'all 20 generations have run'
    >>> decisions = clf.decide(X.iloc[400:])
    >>> bool(decisions.accepted.mean() > 0.8 and decisions.cost.mean() < 15)
    True
    """

    def __init__(
        self,
        costs: CostsLike = None,
        min_confidence: float = 0.75,
        max_stages: int | None = None,
        search: str = "auto",
        prefer: str | dict[str, float] = "balanced",
        cv: Any = 1 / 3,
        refit: bool = False,
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Search for designs on part of the rows, score them on the rest, deploy one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Every feature known, all finite.
        y : array-like of shape (n_rows,)
            Two classes.
        groups : array-like of shape (n_rows,), optional
            For a `cv` that splits by group.
        """
        rows, labels = self._check_rows(X, y)
        costs = FeatureCosts.resolve(self.costs, self._names)
        settings = self._check_settings(rows.shape[1])
        seed = self._draw_seed()
        split_seed, search_seed = np.random.SeedSequence(seed).spawn(2)
        splits = make_splits(
            self.cv,
            rows,
            labels,
            self.classes_.tolist(),
            groups,
            int(split_seed.generate_state(1)[0]),
        )
        bank = self._open_bank(rows, labels, splits)
        n_scored = sum(len(held_out) for _, held_out in splits)
        rng = np.random.default_rng(search_seed)
        with self._open_journal(rows, labels, costs, splits, settings, seed) as journal:
            result = self._search(bank, costs, settings, n_scored, rng, journal)
        self._undeploy()
        front = ParetoFront.of(
            result.designs,
            result.scores,
            costs,
            float(self.min_confidence),
            result.n_tied,
            result.ties,
            result.proven,
        )
        if not any(point.coverage for point in front):
            what = f"no design accepts any held-out row at min_confidence={self.min_confidence}"
            warnings.warn(f"{what}; lower it.", stacklevel=2)
        if self.refit or len(splits) > 1:
            everything = np.arange(len(rows))
            bank = self._open_bank(rows, labels, [(everything, everything[:0])])
        self.front_ = replace(front, models=_collect_models(bank, front, self.classes_))
        self.history_ = _history(result, costs.names)
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

    def evaluate(self, X: ArrayLike, y: ArrayLike) -> Evaluation:
        """Coverage, accuracy and cost on labelled rows; rows, accuracy and cost per exit."""
        return self._fitted_cascade.evaluate(self._check_new_rows(X), y)

    def predict(self, X: ArrayLike) -> AnyArray:
        """A class for every row: the best guess of the last stage that saw it, even if rejected."""
        return self.decide(X).guesses

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of the last stage that saw each row, shape (n_rows, 2)."""
        return self._fitted_cascade.predict_proba(self._check_new_rows(X))

    def __sklearn_tags__(self) -> Any:
        """Two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _point(self, which: object) -> ParetoPoint:
        if isinstance(which, (str, dict)):
            return self.front_.prefer(which)
        if isinstance(which, Integral):
            return self.front_[check_whole("point", which, 0, len(self.front_) - 1)]
        if not isinstance(which, ParetoPoint) or which not in self.front_:
            raise ParameterError(
                f"point must be one of this front_, its position or a rule, got {which!r}."
            )
        return which

    def _undeploy(self) -> None:
        """Forget the cascade of an earlier fit, lest it stand beside a newer front."""
        for name in ("point_", "design_", "cascade_"):
            self.__dict__.pop(name, None)

    @property
    def _fitted_cascade(self) -> Cascade:
        check_is_fitted(self, "cascade_")
        return self.cascade_

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the columns: the data frame's, else those of FeatureCosts, else x0, x1, …."""
        if hasattr(self, "feature_names_in_"):
            return tuple(self.feature_names_in_)
        if isinstance(self.costs, FeatureCosts) and len(self.costs.names) == self.n_features_in_:
            return self.costs.names
        return tuple(f"x{i}" for i in range(self.n_features_in_))

    def _check_rows(self, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, LabelArray]:
        check_columns(X)
        rows, targets = validate_data(
            self, X, y, dtype=np.float64, order="C", ensure_all_finite=False
        )
        check_finite(rows, self._names)
        kind = type_of_target(targets, input_name="y", raise_unknown=True)
        if kind == "multiclass":
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y has {len(np.unique(targets))} classes."
            )
        if kind != "binary":
            raise DataError(f"Unknown label type: {kind}. y must hold two classes.")
        self.classes_, labels = np.unique(targets, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"y must hold two classes, got one class only: {self.classes_.tolist()[0]!r}."
            )
        return rows, labels.astype(np.uint8)

    def _check_new_rows(self, X: ArrayLike) -> FloatArray:
        check_columns(X)
        rows: FloatArray = validate_data(
            self, X, reset=False, dtype=np.float64, order="C", ensure_all_finite=False
        )
        return rows

    def _check_settings(self, n_features: int) -> PaperSettings:
        if self.n_jobs is not None and check_whole("n_jobs", self.n_jobs, -(2**31)) == 0:
            raise ParameterError("n_jobs must be None, a number of threads or negative, got 0.")
        check_choice("search", self.search, ("auto", "exact", "evolution", "paper"))
        share = 1 / len(self.classes_)
        check_number("min_confidence", self.min_confidence, share, 1, "(]")
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, 0, np.inf, "()")
        if self.checkpoint is not None:
            _check_path("checkpoint", self.checkpoint)
        check_whole("verbose", self.verbose, 0)
        check_preference(self.prefer)
        if not isinstance(self.refit, (bool, np.bool_)):
            raise ParameterError(f"refit must be True or False, got {self.refit!r}.")
        rate = 1 / n_features if self.mutation_rate is None else self.mutation_rate
        stages = default_max_stages(n_features) if self.max_stages is None else self.max_stages
        return PaperSettings(
            max_stages=check_whole("max_stages", stages, 1, n_features),
            population_size=check_whole("population_size", self.population_size, 2),
            generations=check_whole("generations", self.generations, 0),
            mutation_rate=check_number("mutation_rate", rate, 0, 1),
            crossover_rate=check_number("crossover_rate", self.crossover_rate, 0, 1),
            elite_fraction=check_number("elite_fraction", self.elite_fraction, 0, 1),
            stage_bias=check_number("stage_bias", self.stage_bias, 0, 1000, "(]"),
            epsilon=check_number("epsilon", self.epsilon, 0, np.inf, "()"),
            growth=check_whole("growth", self.growth, 0),
            patience=None if self.patience is None else check_whole("patience", self.patience, 1),
        )

    def _open_bank(self, rows: FloatArray, labels: LabelArray, splits: list[Split]) -> SubsetBank:
        return SubsetBank(
            [SplitRows.cut(rows, labels, train, held_out) for train, held_out in splits],
            n_features=rows.shape[1],
            memory_limit=memory_bytes("memory_limit", self.memory_limit),
            n_jobs=effective_n_jobs(self.n_jobs),
        )

    def _draw_seed(self) -> int:
        """Seed of this fit: the checkpoint's, where there is one and the user names none."""
        drawn = int(check_random_state(self.random_state).randint(2**31 - 1))
        if self.checkpoint is None or isinstance(self.random_state, Integral):
            return drawn
        stored = stored_seed(self.checkpoint)
        return drawn if stored is None else stored

    def _open_journal(
        self,
        rows: FloatArray,
        labels: LabelArray,
        costs: FeatureCosts,
        splits: list[Split],
        settings: PaperSettings,
        seed: int,
    ) -> AbstractContextManager[Journal | None]:
        if self.checkpoint is None:
            return nullcontext()
        problem = {
            "X": fingerprint(rows),
            "y": fingerprint(labels),
            "feature names": costs.names,
            "costs": costs.costs.tolist(),
            "cv": fingerprint(*(part for split in splits for part in split)),
            "min_confidence": float(self.min_confidence),
            "search": self.search,
            **asdict(settings),
        }
        return Journal.open(self.checkpoint, problem, seed, rows.shape[1], settings.max_stages)

    def _search(
        self,
        bank: SubsetBank,
        costs: FeatureCosts,
        settings: PaperSettings,
        n_scored: int,
        rng: Generator,
        journal: Journal | None,
    ) -> SearchResult:
        evaluator = Evaluator(
            bank, costs, float(self.min_confidence), n_scored, settings.max_stages, journal
        )
        problem = Problem(
            evaluator,
            costs.costs,
            n_train=sum(split.n_rows for split in bank.splits),
            capacity=bank.capacity,
            memory_limit=memory_bytes("memory_limit", self.memory_limit),
            n_jobs=effective_n_jobs(self.n_jobs),
        )
        plan = plan_search(self.search, problem, settings, self.time_limit)
        with SearchProgress(shown=self.verbose > 0, note=plan.why) as progress:
            bank.on_fit = progress.fitting
            return plan.run(problem, rng, self.time_limit, progress)


def _check_path(name: str, value: Any) -> None:
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise ParameterError(f"{name} must be the path of a folder or None, got {value!r}.")


def _history(result: SearchResult, names: tuple[str, ...]) -> list[Generation]:
    points: dict[bytes, ParetoPoint] = {}  # the fittest design often stays the same
    history = []
    for record in result.records:
        key = record.best.tobytes()
        if key not in points:
            points[key] = ParetoPoint.of(Design(record.best, names), record.best_scores, 0)
        history.append(
            Generation(
                generation=record.generation,
                best=points[key],
                n_front=record.n_front,
                n_designs=record.n_designs,
                n_subsets=record.n_subsets,
                seconds=record.seconds,
            )
        )
    return history


def _collect_models(bank: SubsetBank, front: ParetoFront, classes: AnyArray) -> StageModels:
    """Fitted stages of all designs of the front, so that any of them can be deployed later."""
    chains = [point.design.subsets() for point in front]
    coefs = bank.coefs(np.concatenate(chains))[0]
    ends = np.cumsum([len(chain) for chain in chains])
    return StageModels(classes, bank.splits[0].scaling, tuple(np.split(coefs, ends[:-1])))
