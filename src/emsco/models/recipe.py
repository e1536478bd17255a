"""The recipe for stage models: the classifier, its calibration and its class weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.checks import check_choice, check_number, refused
from emsco._base.documents import PathLike
from emsco._base.text import some
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, Report
from emsco.data.splits import Split
from emsco.data.training import TrainingData
from emsco.designs.thresholds import plain
from emsco.errors import Parameter
from emsco.models.bank import SubsetBank
from emsco.models.calibrated import CalibratedFitter
from emsco.models.calibration import KINDS
from emsco.models.engine import LogisticEngine, OutcomeEngine, SplitRows
from emsco.models.estimators import EstimatorFitter
from emsco.models.layout import Layout
from emsco.models.prototypes import check_estimator_like, describe
from emsco.models.stage_models import EstimatorModels, LinearModels, StageModels

__all__ = ["StageRecipe"]


@dataclass(frozen=True, slots=True)
class StageRecipe:
    """How to fit the model of a stage.

    Attributes
    ----------
    estimator : classifier or None
        Any classifier with `predict_proba`. None: L2 logistic regression, fitted in batches.
    calibration : {"sigmoid", "isotonic"} or None
        How to calibrate probabilities, on training rows set aside for it.
    class_weight : dict, "balanced" or None
        Weight of each class in fitting.
    memory_limit, n_jobs : int
    seed : int
        Seed of random estimators and of the choice of calibration rows.
    cache : path or None
        Folder that keeps the outcomes of an `estimator` on scored rows.
    """

    estimator: Any
    calibration: str | None
    class_weight: Any
    memory_limit: int
    n_jobs: int
    seed: int
    cache: PathLike | None = None

    @classmethod
    def from_parameters(
        cls,
        estimator: Any,
        calibration: Any,
        class_weight: Any,
        classes: AnyArray,
        memory_limit: int,
        n_jobs: int,
        seed: int,
        cache: PathLike | None = None,
    ) -> StageRecipe:
        """Validate the recipe and return it.

        Raises
        ------
        ParameterError
            If a parameter breaks its rule.
        """
        if estimator is not None:
            check_estimator_like(estimator)
        if calibration is not None:
            check_choice("calibration", calibration, KINDS)
        _check_class_weight(class_weight, classes)
        if cache is not None and estimator is None:
            raise refused(
                "cache",
                (
                    "be left out without ",
                    Parameter("estimator"),
                    ", because logistic regressions are fitted faster than they are read",
                ),
                cache,
                got=repr(str(cache)),
            )
        return cls(estimator, calibration, class_weight, memory_limit, n_jobs, seed, cache)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that identify the recipe."""
        weight = self.class_weight
        return {
            "estimator": None if self.estimator is None else describe(self.estimator),
            "calibration": self.calibration,
            "class_weight": plain(weight) if isinstance(weight, Mapping) else weight,
        }

    def open_bank(
        self,
        data: TrainingData,
        splits: list[Split],
        members: BoolArray | None = None,
        by_class: bool = False,
    ) -> SubsetBank:
        """Open a bank of stage models over blocks of features.

        `members` marks the features of each block, shape (n_blocks, n_features). By default every
        feature is its own block. `by_class` makes the bank count the rows of each class too.
        """
        brings = np.arange(len(data.costs.names))[:, None] == data.encoding.input_feature
        missing = data.missing()
        if members is not None:
            brings = members @ brings
            missing = None if missing is None else missing @ members.T
        if self.estimator is None and self.calibration is None:
            engine: LogisticEngine | OutcomeEngine = self._logistic(data, splits, missing, by_class)
        else:
            engine = self._outcomes(data, splits, missing, by_class)
        return SubsetBank(engine, brings, self.memory_limit, self.n_jobs)

    def _logistic(
        self, data: TrainingData, splits: list[Split], missing: BoolArray | None, by_class: bool
    ) -> LogisticEngine:
        rows = [
            SplitRows.cut(
                data.rows,
                data.labels,
                train,
                scored,
                n_classes=len(data.classes),
                weights=data.weights,
                class_weights=self._class_weights(data, train),
                counts=data.units,
                missing=missing,
                by_class=by_class,
            )
            for train, scored in splits
        ]
        return LogisticEngine(rows, data.encoding.n_inputs, len(data.classes), self.n_jobs)

    def _outcomes(
        self, data: TrainingData, splits: list[Split], missing: BoolArray | None, by_class: bool
    ) -> OutcomeEngine:
        kept = [scored for _, scored in splits]
        fitters = [
            self._outcome_fitter(data, number, *split) for number, split in enumerate(splits)
        ]
        return OutcomeEngine(
            fitters,
            [_layout(data, rows, by_class) for rows in kept],
            [data.labels[rows] for rows in kept],
            len(data.classes),
            None if missing is None else [missing[rows] for rows in kept],
        )

    def stage_models(
        self, bank: SubsetBank, designs: list[BoolArray], report: Report | None = None
    ) -> tuple[StageModels, ...]:
        """Fit the stage models of designs on the first split of the bank.

        A design is given by the inputs that each of its stages reads. Equal stages share a
        model. ``report(done, total)`` is called after each fit of a user's classifier.
        """
        engine = bank.engine
        if isinstance(engine, LogisticEngine):
            ends = np.cumsum([len(reads) for reads in designs])[:-1]
            coefs = np.split(engine.coefs(engine.fit(np.concatenate(designs)))[0], ends)
            scaling = engine.splits[0].scaling
            return tuple(
                LinearModels(scaling, reads, weights)
                for reads, weights in zip(designs, coefs, strict=True)
            )
        if not isinstance(engine, OutcomeEngine):
            raise AssertionError("there is no other engine")
        return self._outcome_models(engine, designs, report)

    def _outcome_models(
        self, engine: OutcomeEngine, designs: list[BoolArray], report: Report | None
    ) -> tuple[StageModels, ...]:
        every = np.concatenate(designs)
        different, place = np.unique(every, axis=0, return_inverse=True)
        fitter: Any = engine.fitters[0]
        models = fitter.models(different, report)
        chosen = iter([models[i] for i in place.reshape(-1)])
        found: list[StageModels] = []
        for reads in designs:
            own = [next(chosen) for _ in reads]
            if self.estimator is not None:
                found.append(EstimatorModels(tuple(own)))
                continue
            coefs, maps = zip(*own, strict=True)
            found.append(LinearModels(fitter.scaling, reads, np.stack(coefs), maps))
        return tuple(found)

    def _outcome_fitter(
        self, data: TrainingData, number: int, train: IntArray, scored: IntArray
    ) -> EstimatorFitter | CalibratedFitter:
        if data.weights is not None:  # rows of weight 0 do not count as training rows
            train = train[data.weights[train] > 0]
        common: dict[str, Any] = {
            "X": data.rows,
            "labels": data.labels,
            "train": train,
            "scored": scored,
            "weights": data.weights,
            "class_weights": self._class_weights(data, train),
            "classes": data.classes.tolist(),
            "calibration": self.calibration,
            "seed": int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0]),
        }
        if self.estimator is None:
            return CalibratedFitter(**common)
        n_classes = len(data.classes)
        return EstimatorFitter(
            self.estimator, **common, n_classes=n_classes, n_jobs=self.n_jobs, cache=self.cache
        )

    def class_shares(self, data: TrainingData) -> FloatArray:
        """Weight of all rows of each class: the confidence of a model that has learned nothing.

        Class weights count, unless calibration, which ignores them, has the last word.
        """
        shares: FloatArray = np.bincount(data.labels, data.weights).astype(np.float64)
        weights = self._class_weights(data, np.arange(len(data.labels)))
        return shares if weights is None or self.calibration is not None else shares * weights

    def _class_weights(self, data: TrainingData, train: IntArray) -> FloatArray | None:
        """Weight of each class in a fit on these training rows."""
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, Mapping):
            return np.array([self.class_weight.get(c, 1.0) for c in data.classes.tolist()])
        rows = np.ones(len(train)) if data.weights is None else data.weights[train]
        totals = np.bincount(data.labels[train], rows, minlength=len(data.classes))
        balanced: FloatArray = rows.sum() / (len(data.classes) * totals)
        return balanced


def _layout(data: TrainingData, rows: IntArray, by_class: bool) -> Layout:
    """Layout of scored rows, class after class or all together."""
    counts = None if data.units is None else data.units[rows]
    if by_class:
        return Layout.from_classes(data.labels[rows], len(data.classes), counts)
    return Layout.from_counts(len(rows), counts)


def _check_class_weight(given: Any, classes: AnyArray) -> None:
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    if not isinstance(given, Mapping):
        raise refused("class_weight", 'be None, "balanced" or a dict of labels and weights', given)
    labels = classes.tolist()
    for label, weight in given.items():
        if label not in labels:
            raise refused(
                "class_weight", f"name the classes {some(labels)}", given, got=repr(label)
            )
        check_number("class_weight", weight, 0, np.inf, "()", of=f"class {label!r}")
