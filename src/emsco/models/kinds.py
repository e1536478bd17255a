"""The kinds of stage models, by the name of their family: a line each."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """Where a kind's `Fitter` is and where its models are, as "module:class".

    Imported when they are needed: to decide, a program needs no fitter.
    """

    fitter: str
    model: str

    def load(self, name: str) -> Any:
        """Import the class of "fitter" or "model"."""
        module, found = getattr(self, name).split(":")
        return getattr(import_module(f"emsco.models.{module}"), found)


KINDS = {
    "logistic": Kind("logistic:LogisticFitter", "stage_models:LinearModels"),
    "spline": Kind("logistic:LogisticFitter", "stage_models:LinearModels"),
    "boosting": Kind("boosting.fitters:BoostingFitter", "boosting.trees:TreeEnsemble"),
    "estimator": Kind("estimators:EstimatorFitter", "estimator_files:EstimatorModel"),
}
