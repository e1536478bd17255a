"""The kinds of stage models, by the name of their family: a line each."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """Where a kind's `Fitter` is and where its models are, as "module:class", and its name.

    Both are imported when they are needed: to decide, a program needs no fitter.
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
