"""Base class of all rivals: scikit-learn's contract, decisions, and the cost of every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from emsco._base.checks import check_choice, refused
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, LabelArray
from emsco.cascade import Decisions, Evaluation
from emsco.costs import CostsLike, FeatureCosts
from emsco.data.encoding import Encoding
from emsco.data.frames import shell_of
from emsco.data.labels import check_truth
from emsco.data.tabular import TableClassifier
from emsco.data.training import TrainingData
from emsco.data.weights import check_weights
from emsco.designs.thresholds import MinConfidence, by_class, check_min_confidence
from emsco.errors import DataError, not_installed
from emsco.models.scaling import Scaling
from emsco_lab.rivals.set_costs import SetCosts

_GAPS = ("refuse", "impute")  # not "skip", since most rivals answer every row


@dataclass(eq=False, repr=False)
class _Parameters(TableClassifier):
    """Parameters that every rival has; its own come after `costs`."""

    costs: CostsLike = None
    random_state: Any = field(default=None, kw_only=True)
    gaps: str = field(default="refuse", kw_only=True)


class Package(NamedTuple):
    """A package that a rival imports beside the library's own dependencies."""

    module: str
    name: str
    install: str | None = None  # what pip installs, if it is not the name


class CostedClassifier(_Parameters):
    """A rival: a scikit-learn classifier that knows the cost of each row's features.

    A subclass is a dataclass of its own parameters. It fits in `_fit` and answers in `_judge`. If
    it can decline to answer, it has a parameter `min_confidence`.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each.
    random_state : int, RandomState or None
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator that is bought with the feature.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    costs_ : FeatureCosts
    encoding_ : Encoding
        Turns the table's columns into the inputs of `_fit` and `_judge`.
    used_ : ndarray of bool, shape (n_features,)
        Features that the model may ask for.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had names.
    """

    min_confidence: MinConfidence | None = None
    prefers: ClassVar[str] = "threads"  # or "processes": the faster way to fit many at a time
    needs: ClassVar[tuple[Package, ...]] = ()

    classes_: AnyArray
    costs_: FeatureCosts
    encoding_: Encoding
    used_: BoolArray
    _means: FloatArray | None = None  # of inputs; None if no value may be missing

    def __sklearn_tags__(self) -> Any:
        """Declare that missing values are allowed, unless `gaps` is "refuse"."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.gaps != "refuse"
        return tags

    @classmethod
    def check_installed(cls) -> None:
        """Refuse a rival whose packages are not installed."""
        for package in cls.needs:
            if find_spec(package.module) is None:
                raise not_installed(package.name, package.install)

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """Settings that tuning tries, for these costs and this number of training rows."""
        return [{}]

    @classmethod
    def comparison_grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:
        """Settings that a comparison tries, which fits each of them six times."""
        return cls.grid(costs, n_rows)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns)
            Numbers, truth values or categories; `gaps` says what to do with missing values.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row; rows of weight 0 are ignored.
        """
        gaps = check_choice("gaps", self.gaps, _GAPS)
        table, targets = self._check_table(X, y)
        costs = FeatureCosts.resolve(self.costs, self._names)
        if costs.prices:
            rule = "be one number for each feature here, the same for all rows"
            raise refused("costs", rule, costs, got=f"prices by row of {costs.prices[0].feature!r}")
        data = TrainingData.from_table(table, targets, sample_weight, costs, gaps)
        if len(data.classes) > 2 and not self.__sklearn_tags__().classifier_tags.multi_class:
            raise DataError(
                "Only binary classification is supported. y must hold two classes, "
                f"got {len(data.classes)}."
            )
        counts = np.bincount(data.labels, data.weights, minlength=len(data.classes))
        if not counts.all():
            missing = data.classes.tolist()[int(np.argmin(counts))]
            raise DataError(
                f"sample_weight must be above 0 for some row of every class, "
                f"got none of {missing!r}."
            )
        self.classes_, self.costs_, self.encoding_ = data.classes, costs, data.encoding
        if self.min_confidence is not None:
            check_min_confidence(self.min_confidence, self.classes_)
        rows, labels, weights = np.asarray(data.rows), data.labels, data.weights
        if weights is not None:
            kept = weights > 0
            rows, labels, weights = rows[kept], labels[kept], weights[kept]
        self.check_installed()
        self._means = None if gaps == "refuse" else Scaling.learn(rows, weights).mean
        with threadpool_limits(1, "blas"):  # on small matrices, threads wait for each other
            self._fit(self._filled(rows), labels, weights)
        return self

    def decide(self, X: Any) -> Decisions:
        """Label or reject each row, with its confidence and cost."""
        return replace(self._decide(self._new_rows(X)), frame=shell_of(X))

    def evaluate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Evaluation:
        """Evaluate coverage, accuracy and cost on labelled rows, in total and per exit."""
        decisions = self.decide(X)
        truth = check_truth(y, self.classes_, len(decisions))
        weights = check_weights(sample_weight, len(decisions))
        return Evaluation.from_decisions(decisions, truth, weights, self.classes_, self._buys())

    def predict(self, X: Any) -> AnyArray:
        """Predict the most likely class of every row, also of rejected ones."""
        return self.decide(X).guesses

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict class probabilities, shape (n_rows, n_classes)."""
        return self._judge(self._new_rows(X))[0]

    def staged(self) -> Iterator[tuple[dict[str, Any], Self]]:
        """Yield fitted rivals that this fit contains, each with the settings that differ.

        For example, a fit with many trees contains all fits with fewer. The last is this rival.
        """
        yield {}, self

    def _with_fewer_trees(self, numbers: Sequence[int]) -> Iterator[tuple[dict[str, Any], Self]]:
        """Yield this fitted rival with fewer trees, then with all; for rivals with `_used`."""
        rival: Any = self
        for n_trees in (fewer for fewer in numbers if fewer < rival.n_trees):
            stage = copy(rival)
            stage.n_trees = n_trees
            stage.used_ = stage._used()
            yield {"n_trees": n_trees}, stage
        yield {}, self

    def _with_prices(self, prices: Sequence[float]) -> Iterator[tuple[dict[str, Any], Self]]:
        """Yield this fitted rival with other prices, and last with its own."""
        rival: Any = self
        for price in (other for other in prices if other != rival.price):
            stage = copy(rival)
            stage.price = price
            yield {"price": price}, stage
        yield {}, self

    @property
    def model_cost_(self) -> float:
        """Cost of every feature that the model may ask for."""
        return float(self._prices.of(self.used_)) + self.costs_.evaluation

    @property
    def _prices(self) -> SetCosts:
        return SetCosts.from_costs(self.costs_)

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        """Learn from inputs, shape (n_rows, n_inputs), and labels as positions in `classes_`.

        Weights are above 0. Sets the fitted attributes, including `used_`.
        """
        raise NotImplementedError

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Class probabilities, (n_rows, n_classes), and the cost of each row's features."""
        raise NotImplementedError

    def _decide(self, rows: FloatArray) -> Decisions:
        """Decide rows of inputs; rivals with stages override it, or `decide`."""
        return self._decided(*self._judge(rows))

    def _decided(
        self, probabilities: FloatArray, cost: FloatArray, stage: IntArray | None = None
    ) -> Decisions:
        """Turn probabilities, costs and exit stages (by default 1) into decisions."""
        n_rows = len(probabilities)
        winner = probabilities.argmax(axis=1)
        confidence = probabilities[np.arange(n_rows), winner]
        accepted = np.ones(n_rows, dtype=np.bool_)
        if self.min_confidence is not None:
            accepted = confidence >= by_class(self.min_confidence, self.classes_)[winner]
        return Decisions(
            guesses=self.classes_[winner],
            accepted=accepted,
            confidence=confidence,
            stage=np.ones(n_rows, dtype=np.int64) if stage is None else stage,
            cost=cost + self.costs_.evaluation,
        )

    def _buys(self) -> tuple[tuple[str, ...], ...]:
        """Features that each stage may ask for."""
        return (tuple(self.costs_.names[i] for i in np.flatnonzero(self.used_)),)

    def _features_of(self, reads: BoolArray) -> BoolArray:
        """Features that must be bought to read inputs: (…, n_inputs) to (…, n_features)."""
        feature = self.encoding_.input_feature
        brings = feature[:, None] == np.arange(len(self.costs_.names))  # (n_inputs, n_features)
        bought: BoolArray = reads @ brings
        return bought

    def _new_rows(self, X: Any) -> FloatArray:
        check_is_fitted(self, "used_")
        return self._filled(self.encoding_.rows(self._check_new_rows(X)))

    def _filled(self, rows: FloatArray) -> FloatArray:
        """Replace missing values by the means of the training rows."""
        return rows if self._means is None else np.where(np.isnan(rows), self._means, rows)
