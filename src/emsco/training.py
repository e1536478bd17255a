"""What a fit is given: rows as numbers, labels, weights and costs, all checked; and its banks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from emsco._typing import AnyArray, BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco.calibration import KINDS
from emsco.cascade import (
    EstimatorClassifiers,
    LinearClassifiers,
    StageClassifiers,
    check_weights,
)
from emsco.checkpoint import fingerprint
from emsco.costs import FeatureCosts
from emsco.encoding import Encoding
from emsco.errors import DataError, ParameterError
from emsco.files import PathLike
from emsco.parameters import check_choice, check_number
from emsco.splits import Split
from emsco.subsets.bank import SubsetBank
from emsco.subsets.calibrated import CalibratedFits
from emsco.subsets.engine import LogisticEngine, OutcomeEngine, SplitRows
from emsco.subsets.generic import EstimatorFits
from emsco.subsets.layout import Layout, whole_weights
from emsco.subsets.prototypes import check_estimator_like, describe
from emsco.thresholds import MOST_CLASSES, plain

__all__ = ["StageRecipe", "TrainingData"]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Rows of a fit.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_inputs)
        As `encoding` has made them, gaps as NaN.
    labels : ndarray of shape (n_rows,)
        Positions in `classes`.
    weights : ndarray of shape (n_rows,) or None
        Sample weights; None where all rows count the same.
    classes : ndarray of shape (n_classes,)
    costs : FeatureCosts
    encoding : Encoding
    """

    rows: FloatArray
    labels: LabelArray
    weights: FloatArray | None
    classes: AnyArray
    costs: FeatureCosts
    encoding: Encoding
    units: IntArray | None = field(init=False)
    per_row: float = field(init=False)

    def __post_init__(self) -> None:
        """Weights as whole numbers of a unit, of which a row of weight 1 has `per_row`."""
        whole = None if self.weights is None else whole_weights(self.weights)
        object.__setattr__(self, "units", whole and whole.units)
        object.__setattr__(self, "per_row", whole.per_one if whole else 1)

    @classmethod
    def of(
        cls, table: Any, y: AnyArray, sample_weight: Any, costs: FeatureCosts, gaps: str
    ) -> TrainingData:
        """A table and its labels, as whatever kind they come in, checked."""
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind not in ("binary", "multiclass"):
            raise DataError(f"Unknown label type: {kind}. y must hold classes.")
        try:
            classes, labels = np.unique(y, return_inverse=True)
        except TypeError:
            kinds = ", ".join(sorted({type(label).__name__ for label in y.tolist()}))
            raise DataError(f"y must hold labels of one type, got {kinds}.") from None
        if len(classes) < 2:
            raise DataError(
                f"y must hold two classes or more, got one class only: {classes.tolist()[0]!r}."
            )
        if len(classes) > MOST_CLASSES:
            raise DataError(f"y must hold at most {MOST_CLASSES} classes, got {len(classes)}.")
        encoding = Encoding.learn(table, costs, gaps)
        weights = check_weights(sample_weight, len(labels))
        rows = encoding.rows(table)
        return cls(rows, labels.astype(np.uint8), weights, classes, costs, encoding)

    def fingerprints(self) -> dict[str, Any]:
        """What identifies the data, as plain values."""
        return {
            "X": fingerprint(self.rows),
            "y": fingerprint(self.labels),
            "sample_weight": None if self.weights is None else fingerprint(self.weights),
            "feature names": self.costs.names,
            "columns": self.costs.columns,
            "costs": self.costs.costs.tolist(),
            "evaluation_cost": float(self.costs.evaluation),
            "gaps": self.encoding.gaps,
        }

    def gaps(self) -> BoolArray | None:
        """Rows with a gap by feature, (n_rows, n_features), where such a stage is to be skipped."""
        return self.encoding.gaps_by_feature(self.rows) if self.encoding.gaps == "skip" else None


@dataclass(frozen=True, slots=True)
class StageRecipe:
    """How the classifier of a stage is fitted.

    Attributes
    ----------
    estimator : classifier or None
        Any with `predict_proba`; None: L2 logistic regression, in batches.
    calibration : {"sigmoid", "isotonic"} or None
        How its probabilities are made honest, on training rows that it has not seen.
    class_weight : dict, "balanced" or None
        How much rows of each class count in a fit.
    memory_limit, n_jobs : int
    seed : int
        Of what is random in fits and in the choice of calibrating rows.
    cache : path or None
        Folder that keeps what fitted estimators say about held-out rows.
    """

    estimator: Any
    calibration: str | None
    class_weight: Any
    memory_limit: int
    n_jobs: int
    seed: int
    cache: PathLike | None = None

    @classmethod
    def of(
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
        """The same, checked."""
        if estimator is not None:
            check_estimator_like(estimator)
        if calibration is not None:
            check_choice("calibration", calibration, KINDS)
        _check_class_weight(class_weight, classes)
        if cache is not None and estimator is None:
            raise ParameterError(
                "cache must be None where estimator is None, because logistic regressions are "
                f"fitted faster than they are read, got {str(cache)!r}."
            )
        return cls(estimator, calibration, class_weight, memory_limit, n_jobs, seed, cache)

    def values(self) -> dict[str, Any]:
        """What identifies the recipe, as plain values."""
        weight = self.class_weight
        return {
            "estimator": None if self.estimator is None else describe(self.estimator),
            "calibration": self.calibration,
            "class_weight": plain(weight) if isinstance(weight, Mapping) else weight,
        }

    def open_bank(
        self, data: TrainingData, splits: list[Split], members: BoolArray | None = None
    ) -> SubsetBank:
        """A bank for what the search moves as one, by the features `members` says it has.

        `members` has shape (n_blocks, n_features); by default every feature is for itself.
        """
        brings = np.arange(len(data.costs.names))[:, None] == data.encoding.input_feature
        gaps = data.gaps()
        if members is not None:
            brings = members @ brings
            gaps = None if gaps is None else gaps @ members.T
        if self.estimator is None and self.calibration is None:
            engine: LogisticEngine | OutcomeEngine = self._logistic(data, splits, gaps)
        else:
            engine = self._outcomes(data, splits, gaps)
        return SubsetBank(engine, brings, self.memory_limit, self.n_jobs)

    def _logistic(
        self, data: TrainingData, splits: list[Split], gaps: BoolArray | None
    ) -> LogisticEngine:
        rows = [
            SplitRows.cut(
                data.rows,
                data.labels,
                train,
                held_out,
                n_classes=len(data.classes),
                weights=data.weights,
                class_weights=self._class_weights(data, train),
                counts=data.units,
                gaps=gaps,
            )
            for train, held_out in splits
        ]
        return LogisticEngine(rows, data.encoding.n_inputs, len(data.classes), self.n_jobs)

    def _outcomes(
        self, data: TrainingData, splits: list[Split], gaps: BoolArray | None
    ) -> OutcomeEngine:
        units, kept = data.units, [held_out for _, held_out in splits]
        fits = [self._outcome_fits(data, number, *split) for number, split in enumerate(splits)]
        return OutcomeEngine(
            fits,
            [Layout.of(len(rows), None if units is None else units[rows]) for rows in kept],
            [data.labels[rows] for rows in kept],
            len(data.classes),
            None if gaps is None else [gaps[rows] for rows in kept],
        )

    def stage_classifiers(
        self, bank: SubsetBank, designs: list[BoolArray], report: Report | None = None
    ) -> tuple[StageClassifiers, ...]:
        """Fitted stages of designs, given as the inputs that each of their stages reads.

        They come from the first split of the bank; classifiers of equal stages are shared.
        ``report(done, total)`` is called where fits take a while.
        """
        engine = bank.engine
        if isinstance(engine, LogisticEngine):
            ends = np.cumsum([len(reads) for reads in designs])[:-1]
            coefs = np.split(engine.coefs(engine.fit(np.concatenate(designs)))[0], ends)
            scaling = engine.splits[0].scaling
            return tuple(
                LinearClassifiers(scaling, reads, weights)
                for reads, weights in zip(designs, coefs, strict=True)
            )
        if not isinstance(engine, OutcomeEngine):
            raise AssertionError("there is no other engine")
        return self._outcome_classifiers(engine, designs, report)

    def _outcome_classifiers(
        self, engine: OutcomeEngine, designs: list[BoolArray], report: Report | None
    ) -> tuple[StageClassifiers, ...]:
        every = np.concatenate(designs)
        different, place = np.unique(every, axis=0, return_inverse=True)
        own_fits: Any = engine.fits[0]
        models = own_fits.models(different, report)
        chosen = iter([models[i] for i in place.reshape(-1)])
        found: list[StageClassifiers] = []
        for reads in designs:
            own = [next(chosen) for _ in reads]
            if self.estimator is not None:
                found.append(EstimatorClassifiers(tuple(own)))
                continue
            coefs, maps = zip(*own, strict=True)
            found.append(LinearClassifiers(own_fits.scaling, reads, np.stack(coefs), maps))
        return tuple(found)

    def _outcome_fits(
        self, data: TrainingData, number: int, train: IntArray, held_out: IntArray
    ) -> EstimatorFits | CalibratedFits:
        if data.weights is not None:  # rows of weight 0 are no rows
            train = train[data.weights[train] > 0]
        common: dict[str, Any] = {
            "X": data.rows,
            "labels": data.labels,
            "train": train,
            "held_out": held_out,
            "weights": data.weights,
            "class_weights": self._class_weights(data, train),
            "classes": data.classes.tolist(),
            "calibration": self.calibration,
            "seed": int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0]),
        }
        if self.estimator is None:
            return CalibratedFits(**common)
        n_classes = len(data.classes)
        return EstimatorFits(
            self.estimator, **common, n_classes=n_classes, n_jobs=self.n_jobs, cache=self.cache
        )

    def _class_weights(self, data: TrainingData, train: IntArray) -> FloatArray | None:
        """How much rows of each class count in a fit on these training rows."""
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, Mapping):
            return np.array([self.class_weight.get(c, 1.0) for c in data.classes.tolist()])
        rows = np.ones(len(train)) if data.weights is None else data.weights[train]
        totals = np.bincount(data.labels[train], rows, minlength=len(data.classes))
        balanced: FloatArray = rows.sum() / (len(data.classes) * totals)
        return balanced


def _check_class_weight(given: Any, classes: AnyArray) -> None:
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    if not isinstance(given, Mapping):
        raise ParameterError(
            f'class_weight must be None, "balanced" or a dict of labels and weights, got {given!r}.'
        )
    labels = classes.tolist()
    for label, weight in given.items():
        if label not in labels:
            raise ParameterError(f"class_weight must name the classes {labels}, got {label!r}.")
        check_number(f"class_weight of class {label!r}", weight, 0, np.inf, "()")
