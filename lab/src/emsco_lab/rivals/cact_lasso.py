"""CaCT LASSO: one sparse logistic regression that buys its features, and may decline."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning

from emsco._base.checks import check_number
from emsco._base.typing import FloatArray, LabelArray
from emsco.costs import FeatureCosts
from emsco.designs.thresholds import MinConfidence
from emsco.models.scaling import Scaling
from emsco_lab.rivals.base import CostedClassifier

_LARGEST_WEIGHT = 30.0  # of a standardised input; separable classes would have no optimum
_TOLERANCE = 1e-6  # largest component of the summed gradient
_MAX_STEPS = 10_000


@dataclass(eq=False, repr=False, kw_only=True)
class CaCTLasso(CostedClassifier):
    """L1 logistic regression on standardised inputs; a row pays for features with a weight.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each. Costs do not change the
        fit, only the cost of rows.
    penalty : float
        λ, the factor of the weights' L1 norm beside the summed loss of rows; C = 1 / λ in
        scikit-learn. Intercepts are free. No weight exceeds 30 in size, which only matters if
        classes are separable and λ is close to 0.
    min_confidence : float, dict or None
        Rows with less confidence are rejected; None: no row.
    random_state : int, RandomState or None
        Unused: nothing is random. Other rivals have it.
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_inputs)
        Weights of standardised inputs: one logit for two classes, else one per class.
    intercept_ : ndarray of shape (n_outputs,)
    scaling_ : Scaling

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> rival = CaCTLasso(costs=[1, 2, 4, 8], penalty=10).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> rival.used_.tolist()
    [True, True, False, False]
    >>> rival.decide(X).cost[0].item()
    3.0
    """

    penalty: float = 1.0
    min_confidence: MinConfidence | None = 0.75

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """λ = 0, 0.1, …, 10."""
        return [{"penalty": tenths / 10} for tenths in range(101)]

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        penalty = check_number("penalty", self.penalty, 0, np.inf, "[)")
        self.scaling_ = Scaling.learn(rows, weights)
        counts = np.ones(len(rows)) if weights is None else weights
        problem = _SparseLogistic(
            self.scaling_.standardised(rows), labels, counts, len(self.classes_)
        )
        self.intercept_, self.coef_ = problem.solve(penalty)
        self.used_ = self._features_of((self.coef_ != 0).any(axis=0))

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        logits = self.scaling_.standardised(rows) @ self.coef_.T + self.intercept_
        if len(self.classes_) == 2:
            probabilities = expit(np.hstack([-logits, logits]))
        else:
            probabilities = softmax(logits, axis=1)
        return probabilities, np.full(len(rows), float(self._prices.of(self.used_)))


class _SparseLogistic:
    """Logistic loss plus λ times the L1 norm of the weights, minimised by L-BFGS-B.

    A weight is the difference of two numbers of at least 0. That makes its size smooth, and the
    optimum lies on the bounds: useless weights are exactly 0.
    """

    def __init__(
        self, rows: FloatArray, labels: LabelArray, counts: FloatArray, n_classes: int
    ) -> None:
        self._rows = rows
        self._counts = counts
        self._truth = np.eye(n_classes)[labels]
        self._n_outputs = 1 if n_classes == 2 else n_classes

    def solve(self, penalty: float) -> tuple[FloatArray, FloatArray]:
        """Find the best intercepts, (n_outputs,), and weights, (n_outputs, n_inputs)."""
        n_weights = self._n_outputs * self._rows.shape[1]
        bounds = [(None, None)] * self._n_outputs + [(0, _LARGEST_WEIGHT)] * (2 * n_weights)
        tolerance = _TOLERANCE * min(1.0, float(self._counts.sum()))
        optimum = minimize(
            self.loss,
            np.zeros(len(bounds)),
            args=(penalty,),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 0.0, "gtol": tolerance, "maxiter": _MAX_STEPS, "maxfun": _MAX_STEPS},
        )
        if optimum.nit >= _MAX_STEPS or optimum.nfev >= _MAX_STEPS:
            warnings.warn(
                f"the sparse logistic regression did not converge in {_MAX_STEPS} steps.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return self._parts(optimum.x)

    def _parts(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        above, below = point[self._n_outputs :].reshape(2, self._n_outputs, -1)
        return point[: self._n_outputs], above - below

    def loss(self, point: FloatArray, penalty: float) -> tuple[float, FloatArray]:
        """The objective and its gradient."""
        intercept, coef = self._parts(point)
        logits = self._rows @ coef.T + intercept
        if self._n_outputs == 1:
            second, logit = self._truth[:, 1], logits[:, 0]
            losses = np.logaddexp(0, logit) - second * logit
            slope = (expit(logit) - second)[:, None]
        else:
            log_chances = log_softmax(logits, axis=1)
            losses = -(self._truth * log_chances).sum(axis=1)
            slope = np.exp(log_chances) - self._truth
        slope *= self._counts[:, None]
        towards = (slope.T @ self._rows).reshape(-1)
        gradient = np.concatenate([slope.sum(axis=0), towards + penalty, penalty - towards])
        value = losses @ self._counts + penalty * point[self._n_outputs :].sum()
        return float(value), gradient
