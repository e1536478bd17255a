"""Base class of all rivals: scikit-learn's contract, decisions, and the cost of every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import takewhile
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data
from threadpoolctl import threadpool_limits

from emsco import CostsError, DataError, FeatureCosts, ParameterError
from emsco.errors import not_installed
from emsco_lab._tools import check_choice
from emsco_lab.rivals.encoding import Encoding, Flags, Floats, Whole
from emsco_lab.rivals.set_costs import SetCosts

Setting: TypeAlias = dict[str, Any]
Grid: TypeAlias = list[Setting]
Judged: TypeAlias = tuple[Floats, Flags, Whole | int]
STAGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # numbers of trees that tuning tries


@dataclass(frozen=True, eq=False)
class Decisions:
    """Labels, rejections and costs of rows.

    Attributes
    ----------
    guesses : ndarray of shape (n_rows,)
        Most likely class, for rejected rows too.
    accepted : ndarray of bool
    confidence : ndarray of float
        Probability of the guess.
    stage : ndarray of int
        Number of models that judged the row.
    cost : ndarray of float
        Cost of the features that the row bought, and of these models.
    """

    guesses: NDArray[Any]
    accepted: Flags
    confidence: Floats
    stage: Whole
    cost: Floats


@dataclass(frozen=True)
class Evaluation:
    """Share of rows with a label, share of correct labels (0 if there are none), mean cost."""

    coverage: float
    accuracy: float
    cost: float


@dataclass(eq=False, repr=False)
class CostedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no stubs
    """A rival: a scikit-learn classifier that knows the cost of each row's features.

    A subclass is a dataclass of its own parameters. It fits in `_fit` and answers in `_judge`. If
    it can decline to answer, it has a parameter `min_confidence`: rows with less confidence are
    rejected; None: no row.

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

    needs: ClassVar[dict[str, str]] = {}  # module → what pip installs
    tree_numbers: ClassVar[Sequence[int]] = ()  # rising; for rivals with `n_trees` and `_used`
    choices: ClassVar[dict[str, Any]] = {}  # of parameters that are words
    multi_class: ClassVar[bool] = True

    costs: Any = None
    random_state: Any = field(default=None, kw_only=True)
    gaps: str = field(default="refuse", kw_only=True)

    def __sklearn_tags__(self) -> Any:
        """Declare which tables and labels are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.gaps != "refuse"
        tags.classifier_tags.multi_class = self.multi_class
        return tags

    @classmethod
    def check_installed(cls) -> None:
        """Refuse a rival whose packages are not installed."""
        for module, install in cls.needs.items():
            if find_spec(module) is None:
                raise not_installed(module, install)

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:  # noqa: ARG003 - some need neither
        """Settings that tuning tries, for these costs and this number of training rows."""
        return [{}]

    @classmethod
    def comparison_grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:
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
        self._check_choices()
        self.check_installed()
        table = self._table(X, reset=True)
        _, targets = check_X_y(np.zeros((len(table), 1)), y)
        check_classification_targets(targets)
        weights = np.ones(len(table)) if sample_weight is None else np.asarray(sample_weight, float)
        kept = weights > 0
        if weights.shape != targets.shape or not kept.any() or not (0 <= weights.min() < np.inf):
            raise DataError(
                "sample_weight must be at least 0 in each row, with one that is non-zero."
            )
        table, targets, weights = table[kept], targets[kept], weights[kept]
        self.costs_ = FeatureCosts.resolve(self.costs, tuple(table.columns))
        if self.costs_.prices:
            raise CostsError("costs must be one number for each feature, the same for all rows.")
        self.classes_, labels = np.unique(targets, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2 or (n_classes > 2 and not self.multi_class):
            rule = "two classes or more" if self.multi_class else "two classes"
            raise DataError(f"y must hold {rule}, got {n_classes} class{'es' * (n_classes > 1)}.")
        if (getattr(self, "min_confidence", None) or 1) <= 1 / n_classes:
            raise ParameterError("min_confidence must be above chance, 1 / number of classes.")
        self.encoding_ = Encoding.learn(table, weights, self.costs_, self.gaps)
        with threadpool_limits(1, "blas"):  # on small matrices, threads wait for each other
            self.used_ = self._fit(self.encoding_.inputs(table), labels, weights)
        return self

    def decide(self, X: Any) -> Decisions:
        """Label or reject each row, with its confidence and cost."""
        probabilities, bought, stage = self._judge(self._inputs(X))
        winner, confidence = probabilities.argmax(axis=1), probabilities.max(axis=1)
        # A row pays for every model that judges it.
        paid = self._prices.of(bought) + self.costs_.evaluation * stage
        stage, cost = (np.broadcast_to(one, len(winner)) for one in (stage, paid))
        accepted = confidence >= (getattr(self, "min_confidence", None) or 0)
        return Decisions(self.classes_[winner], accepted, confidence, stage, cost)

    def evaluate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Evaluation:
        """Evaluate coverage, accuracy and cost on labelled rows."""
        decisions = self.decide(X)
        correct = decisions.accepted & (decisions.guesses == np.asarray(y))
        weights: Any = sample_weight
        seen = [decisions.accepted, correct, decisions.cost]
        covered, right, cost = np.average(seen, axis=1, weights=weights).tolist()
        return Evaluation(covered, right / (covered or 1), cost)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most likely class of every row, also of rejected ones."""
        return self.decide(X).guesses

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities, shape (n_rows, n_classes)."""
        return self._judge(self._inputs(X))[0]

    def staged(self) -> Iterator[tuple[Setting, Self]]:
        """Yield fitted rivals that this fit contains, each with the settings that differ.

        For example, a fit with many trees contains all fits with fewer. The last is this rival.
        """
        rival: Any = self
        for n_trees in takewhile(lambda fewer: fewer < rival.n_trees, self.tree_numbers):
            stage = copy(rival)
            stage.n_trees = n_trees
            stage.used_ = stage._used()
            yield {"n_trees": n_trees}, stage
        yield {}, self

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        """Learn from inputs and labels as positions in `classes_`; return the features used."""
        raise NotImplementedError

    def _judge(self, rows: Floats) -> Judged:
        """Class probabilities, features that each row buys, and models that it pays for.

        The last two may be the same for all rows.
        """
        raise NotImplementedError

    @property
    def _prices(self) -> SetCosts:
        return SetCosts.from_costs(self.costs_)

    def _charges(self) -> Floats:
        """Cost of each input's feature bought alone, relative to the mean cost of a feature."""
        alone = self.costs_.alone
        return (alone / alone.mean())[self.encoding_.input_feature]

    def _seed(self) -> int:
        """Draw the one number that a fit takes from `random_state`."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _features_of(self, reads: Flags) -> Flags:
        """Features that must be bought to read inputs: (…, n_inputs) to (…, n_features)."""
        brings = self.encoding_.input_feature[:, None] == np.arange(len(self.costs_.names))
        return reads @ brings

    def _check_choices(self) -> None:
        for name, allowed in {"gaps": ("refuse", "impute"), **self.choices}.items():
            check_choice(name, getattr(self, name), allowed)

    def _inputs(self, X: Any) -> Floats:
        check_is_fitted(self, "used_")
        return self.encoding_.inputs(self._table(X))

    def _table(self, X: Any, *, reset: bool = False) -> Any:
        """Return X as a data frame with the columns that have costs; the first sets their names."""
        if hasattr(X, "to_pandas"):
            X = X.to_pandas()
        if isinstance(X, pd.DataFrame):
            if not reset and hasattr(self, "feature_names_in_"):
                X = X[list(self.feature_names_in_)]  # columns may come in any order
            validate_data(self, X, reset=reset, skip_check_array=True)
        else:
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
            X = pd.DataFrame(X)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            known = self.costs.table if isinstance(self.costs, FeatureCosts) else ()
            n_columns = X.shape[1]
            names = known if len(known) == n_columns else [f"x{i}" for i in range(n_columns)]
        return X.set_axis(list(names), axis=1)
