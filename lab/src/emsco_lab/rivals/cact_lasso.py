"""CaCT LASSO: one sparse logistic regression that buys its features, and may decline."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning

from emsco import FeatureCosts
from emsco_lab.rivals.base import CostedClassifier, Grid, Judged
from emsco_lab.rivals.encoding import Flags, Floats, Scaling, Whole

_LARGEST_WEIGHT = 30.0  # of a standardised input; separable classes would have no optimum
_TOLERANCE = 1e-6  # largest component of the summed gradient
_MAX_STEPS = 10_000


@dataclass(eq=False, repr=False, kw_only=True)
class CaCTLasso(CostedClassifier):
    """L1 logistic regression on standardised inputs; a row pays for features with a weight.

    Costs do not change the fit, only the cost of rows. Nothing is random.

    Parameters
    ----------
    penalty : float
        λ, the factor of the weights' L1 norm beside the summed loss of rows; C = 1 / λ in
        scikit-learn. Intercepts are free. No weight exceeds 30 in size, which only matters if
        classes are separable and λ is close to 0.

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
    min_confidence: float | None = 0.75

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:  # noqa: ARG003 - λ has no unit
        """λ = 0, 0.1, …, 10."""
        return [{"penalty": tenths / 10} for tenths in range(101)]

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        self.scaling_ = Scaling.learn(rows, weights)
        rows, truth = self.scaling_.scaled(rows), np.eye(len(self.classes_))[labels]
        n_outputs = 1 if truth.shape[1] == 2 else truth.shape[1]

        def parts(point: Floats) -> tuple[Floats, Floats]:
            """Intercepts and weights."""
            above, below = point[n_outputs:].reshape(2, n_outputs, -1)
            return point[:n_outputs], above - below

        def loss(point: Floats) -> tuple[float, Floats]:
            """The objective and its gradient."""
            intercept, coef = parts(point)
            logits = rows @ coef.T + intercept
            if n_outputs == 1:
                losses = np.logaddexp(0, logits) - truth[:, 1:] * logits
                slope = expit(logits) - truth[:, 1:]
            else:
                log_chances = log_softmax(logits, axis=1)
                losses, slope = -truth * log_chances, np.exp(log_chances) - truth
            slope *= weights[:, None]
            towards = (slope.T @ rows).reshape(-1)
            gradient = [slope.sum(axis=0), towards + self.penalty, self.penalty - towards]
            value = weights @ losses.sum(axis=1) + self.penalty * point[n_outputs:].sum()
            return value, np.concatenate(gradient)

        # A weight is the difference of two numbers of at least 0. That makes its size smooth, and
        # the optimum lies on the bounds: useless weights are exactly 0.
        n_weights = 2 * n_outputs * rows.shape[1]
        bounds = [(None, None)] * n_outputs + [(0, _LARGEST_WEIGHT)] * n_weights
        tolerance = _TOLERANCE * min(1.0, weights.sum())
        limits = {"ftol": 0.0, "gtol": tolerance, "maxiter": _MAX_STEPS, "maxfun": _MAX_STEPS}
        start = np.zeros(len(bounds))
        optimum = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
        if max(optimum.nit, optimum.nfev) >= _MAX_STEPS:
            says = f"the sparse logistic regression did not converge in {_MAX_STEPS} steps."
            warnings.warn(says, ConvergenceWarning, stacklevel=3)
        self.intercept_, self.coef_ = parts(optimum.x)
        return self._features_of((self.coef_ != 0).any(axis=0))

    def _judge(self, rows: Floats) -> Judged:
        logits = self.scaling_.scaled(rows) @ self.coef_.T + self.intercept_
        if len(self.classes_) == 2:
            return expit(np.hstack([-logits, logits])), self.used_, 1
        return softmax(logits, axis=1), self.used_, 1
