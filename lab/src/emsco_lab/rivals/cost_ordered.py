"""CO-T: a cascade that buys features in the order of their costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from emsco import Design
from emsco_lab.rivals.base import CostedClassifier, Judged
from emsco_lab.rivals.encoding import Flags, Floats, Whole
from emsco_lab.rivals.set_costs import buying_order

Model: TypeAlias = Callable[[Floats], Floats]


class InTurn(CostedClassifier):
    """A cascade of models, each of which reads the features of those before it, and more.

    A row exits at the first model that is sure enough, or at the last.
    """

    exits_from: ClassVar[str] = "min_confidence"  # the parameter that says what is sure enough

    def _fit_in_turn(self, groups: Whole, fit: Callable[[Flags], Model]) -> Flags:
        """Fit a model for each group of features, given its inputs; all features are used."""
        self._bought = groups <= np.arange(groups.max() + 1)[:, None]  # (n_models, n_features)
        self.models_ = list(map(fit, self._reads()))
        return np.ones(len(groups), dtype=np.bool_)

    def _reads(self) -> Flags:
        """Inputs of each model."""
        return self._bought[:, self.encoding_.input_feature]

    def _judge(self, rows: Floats) -> Judged:
        reads, threshold = self._reads(), getattr(self, self.exits_from)
        probabilities = self.models_[0](rows[:, reads[0]])
        stage = np.ones(len(rows), dtype=np.int64)
        for model, inputs in zip(self.models_[1:], reads[1:], strict=True):
            going = probabilities.max(axis=1) < threshold
            if going.any():
                probabilities[going] = model(rows[going][:, inputs])
                stage[going] += 1
        return probabilities, self._bought[stage - 1], stage


@dataclass(eq=False, repr=False, kw_only=True)
class CostOrdered(InTurn):
    """A cascade with a stage for every distinct cost, the cheapest first.

    If features share fees, each stage buys what is cheapest next, with the fees of earlier stages
    paid. Stages are logistic regressions like those of EMSCOClassifier, but nothing is searched. A
    row exits at the first stage with at least `min_confidence`.

    Attributes
    ----------
    design_ : Design
    models_ : list of callable
        The model of each stage, which returns class probabilities.

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

    min_confidence: float = 0.75

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        steps = buying_order(self.costs_)
        self.design_ = Design(steps.astype(np.int16), self.costs_.names)
        model = make_pipeline(
            StandardScaler(), LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=200)
        )
        weighted = {f"{name}__sample_weight": weights for name in model.named_steps}

        def fit(reads: Flags) -> Model:
            fitted: Model = clone(model).fit(rows[:, reads], labels, **weighted).predict_proba
            return fitted

        return self._fit_in_turn(steps, fit)
