"""The kinds of stage models, each a line under its name, which is the `family` of its models."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """Where a kind's `Fitter` is and where its models are, and words for it.

    Both are given as "module:class" of this package, and imported when they are needed: to
    decide, a program needs no fitter.
    """

    fitter: str
    model: str
    in_words: str

    def load(self, name: str) -> Any:
        """Import the class of "fitter" or "model"."""
        module, found = getattr(self, name).split(":")
        return getattr(import_module(f"emsco.models.{module}"), found)


KINDS = {
    "logistic": Kind("logistic:LogisticFitter", "stage_models:LinearModels", "logistic regression"),
    "spline": Kind("logistic:LogisticFitter", "stage_models:LinearModels", "splines"),
    "boosting": Kind(
        "boosting.fitters:BoostingFitter", "boosting.trees:TreeEnsemble", "boosted trees"
    ),
    "estimator": Kind(
        "estimators:EstimatorFitter", "estimator_files:EstimatorModel", "a classifier"
    ),
}
