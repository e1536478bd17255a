"""CO-T: a cascade that buys features in the order of their costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from emsco._base.checks import memory_bytes
from emsco._base.typing import FloatArray, LabelArray
from emsco.cascade import Cascade, Decisions, Evaluation
from emsco.data.random_states import draw_seed
from emsco.data.training import TrainingData
from emsco.designs.design import Design
from emsco.designs.thresholds import MinConfidence, check_min_confidence
from emsco.models.recipe import StageRecipe
from emsco_lab.rivals.base import CostedClassifier
from emsco_lab.rivals.set_costs import buying_order


@dataclass(eq=False, repr=False, kw_only=True)
class CostOrdered(CostedClassifier):
    """A cascade with a stage for every distinct cost, the cheapest first.

    If features share fees, each stage buys what is cheapest next, with the fees of earlier stages
    paid. Stages are fitted and decide like those of EMSCOClassifier, but nothing is searched.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each.
    min_confidence : float or dict
        A row exits at the first stage with at least this confidence.
    estimator, calibration, class_weight
        As for EMSCOClassifier.
    random_state : int, RandomState or None
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    design_ : Design
    cascade_ : Cascade

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> rival = CostOrdered(costs=[5, 1, 5]).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> rival.design_
    Design(x1 → x0, x2)
    >>> rival.decide([[0, 3, 0]]).cost.tolist()
    [1.0]
    """

    min_confidence: MinConfidence = 0.75
    estimator: Any = None
    calibration: str | None = None
    class_weight: Any = None

    def decide(self, X: Any) -> Decisions:
        """Label or reject each row, with its confidence, exit stage and cost."""
        return self._fitted_cascade.decide(self._check_new_rows(X))

    def evaluate(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Evaluation:
        """Evaluate coverage, accuracy and cost on labelled rows, in total and per exit."""
        return self._fitted_cascade.evaluate(self._check_new_rows(X), y, sample_weight)

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict class probabilities at each row's exit, shape (n_rows, n_classes)."""
        return self._fitted_cascade.predict_proba(self._check_new_rows(X))

    @property
    def model_cost_(self) -> float:
        """Cost of a row that reaches the last stage."""
        return float(self._fitted_cascade.stage_costs[-1])

    @property
    def _fitted_cascade(self) -> Cascade:
        check_is_fitted(self, "cascade_")
        return self.cascade_

    def _filled(self, rows: FloatArray) -> FloatArray:
        """Leave missing values in place, since stage models fill them in their own way."""
        return rows

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        data = TrainingData(rows, labels, weights, self.classes_, self.costs_, self.encoding_)
        recipe = StageRecipe.from_parameters(
            self.estimator,
            self.calibration,
            self.class_weight,
            self.classes_,
            memory_bytes("memory_limit", "1GiB"),
            n_jobs=1,
            seed=draw_seed(self.random_state),
        )
        everything = np.arange(len(rows))
        bank = recipe.open_bank(data, [(everything, everything[:0])])
        stages = buying_order(self.costs_)
        self.used_ = np.ones(len(stages), dtype=np.bool_)
        self.design_ = Design(stages.astype(np.int16), self.costs_.names)
        reads = self.design_.subsets()[:, self.encoding_.input_feature]
        (models,) = recipe.stage_models(bank, [reads])
        self.cascade_ = Cascade(
            self.design_,
            self.costs_,
            self.classes_,
            check_min_confidence(self.min_confidence, self.classes_),
            self.encoding_,
            models,
        )
