"""CO-T: a cascade that buys features in the order of their costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

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


@dataclass(eq=False, repr=False, kw_only=True)
class CostOrdered(CostedClassifier):
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
        self._bought = steps <= np.arange(steps.max() + 1)[:, None]  # (n_stages, n_features)
        model = make_pipeline(
            StandardScaler(), LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=200)
        )
        weighted = {f"{name}__sample_weight": weights for name in model.named_steps}
        self.models_ = [
            clone(model).fit(rows[:, reads], labels, **weighted).predict_proba
            for reads in self._reads()
        ]
        return np.ones(len(steps), dtype=np.bool_)

    def _reads(self) -> Flags:
        """Inputs of each stage."""
        return self._bought[:, self.encoding_.input_feature]

    def _judge(self, rows: Floats) -> Judged:
        probabilities, stage = judge_in_turn(self.models_, self._reads(), self.min_confidence, rows)
        return probabilities, self._bought[stage - 1], stage


def judge_in_turn(
    models: Sequence[Model], reads: Flags, threshold: float, rows: Floats
) -> tuple[Floats, Whole]:
    """Class probabilities by the first model that is sure enough, or the last; and its number.

    `reads` has the inputs of each model, (n_models, n_inputs).
    """
    probabilities = models[0](rows[:, reads[0]])
    stage = np.ones(len(rows), dtype=np.int64)
    for model, inputs in zip(models[1:], reads[1:], strict=True):
        going = probabilities.max(axis=1) < threshold
        if going.any():
            probabilities[going] = model(rows[going][:, inputs])
            stage[going] += 1
    return probabilities, stage
