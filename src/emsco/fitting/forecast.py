"""What a fit would do with some rows, and how long it would take: measured on a part of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from emsco._base.typing import IntArray
from emsco.data.training import TrainingData
from emsco.fitting.fit import Fitted, fit_rows
from emsco.fitting.sample import cv_of_sample, n_screened
from emsco.fitting.settings import FitSettings
from emsco.models.choice import ModelChoice
from emsco.models.recipe import AUTO
from emsco.search.loop import Stop
from emsco.search.plan import MAX_EXACT

_ROWS = 1_000  # rows to measure on
_GENERATIONS = 4
_USUAL_GENERATIONS = 30  # until the front hardly grows: lab/REPORT.md
_LONGEST = 60.0  # seconds
# Calibrated on whole fits: lab/REPORT.md. Of the time of the first generations, later ones
# take this share for each feature: the fewer there are, the more subsets recur. Work on logistic
# and spline stages grows as this power of the rows, that on others as the rows.
_LATER_PER_FEATURE = 0.022
_GROWTH = 0.6


@dataclass(frozen=True, slots=True)
class FitForecast:
    """What a fit would do.

    Attributes
    ----------
    n_features, n_inputs : int
        Features to buy, and inputs of a model that sees all of them.
    n_searched : int or None
        Rows of the sample that the search would see; None if it would see all.
    n_splits : int
        Splits into training rows and scored rows.
    search : {"exact", "evolution"}
        The search that "auto" would choose.
    n_designs : int
        Designs that an exact search would settle, or that an evolution would breed at most.
    choice : ModelChoice or None
        The stage models that "auto" would choose, by the rows that were tried.
    n_tried : int
        Rows that were tried.
    seconds : float
        Time that a fit on all rows would probably take, here and now.
    """

    n_features: int
    n_inputs: int
    n_searched: int | None
    n_splits: int
    search: str
    n_designs: int
    choice: ModelChoice | None
    n_tried: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "features": self.n_features,
            "inputs": self.n_inputs,
            "rows_searched": self.n_searched,
            "splits": self.n_splits,
            "search": self.search,
            "designs": self.n_designs,
            "model_choice": None if self.choice is None else self.choice.to_dict(),
            "rows_tried": self.n_tried,
            "seconds": round(self.seconds, 1),
        }


def forecast_fit(data: TrainingData, settings: FitSettings) -> FitForecast:
    """Fit a few generations on at most 1,000 of the rows, and say what a whole fit would take."""
    part, n_rows, search = _part(data), len(data.labels), settings.search
    n_searched = n_screened(settings, n_rows)
    few = min(_GENERATIONS, search.generations)
    short = replace(
        settings,
        search=replace(search, generations=few),
        cv=cv_of_sample(settings.cv, n_rows, None),
        time_limit=_LONGEST,
        checkpoint=None,
        verbose=0,
    )
    first = replace(short, search=replace(search, generations=1), cv=0.3)
    more_searched = (n_searched or n_rows) / len(part.labels)
    more_rows = n_rows / len(part.labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows themselves are judged elsewhere
        fit_rows(_part(data, 60), first)  # loads compiled code
        seconds, fitted = _timed(part, short)
        is_exact = _is_exact(fitted)
        if search.kind == AUTO and is_exact and _searched(fitted) * more_searched > MAX_EXACT:
            # A proof that takes seconds with these rows takes too long with all.
            is_exact = False
            seconds, fitted = _timed(part, _by_evolution(short))
    searched = _searched(fitted)
    rest = max(0.0, seconds - searched)
    ends = [record.seconds for record in fitted.history]
    choice = fitted.model_choice
    is_linear = settings.recipe.is_linear if choice is None else choice.family != "boosting"
    growth = _GROWTH if is_linear else 1.0
    n_generations = search.generations
    if search.patience is None and search.kind != "paper":  # that one runs all of them
        n_generations = min(n_generations, _USUAL_GENERATIONS)
    if is_exact:
        search_seconds = searched * more_searched
    else:
        share = min(1.0, _LATER_PER_FEATURE * len(data.costs.names))
        later = share * float(np.median(np.diff(ends))) if len(ends) > 1 else 0.0
        search_seconds = (searched + later * (n_generations - few)) * more_searched**growth
    return FitForecast(
        n_features=len(data.costs.names),
        n_inputs=data.encoding.n_inputs,
        n_searched=n_searched,
        n_splits=fitted.n_splits,
        search="exact" if is_exact else "evolution",
        n_designs=fitted.stop_reason.n_settled or search.population_size * n_generations,
        choice=choice,
        n_tried=len(part.labels),
        seconds=search_seconds + rest * more_rows**growth,
    )


def _timed(data: TrainingData, settings: FitSettings) -> tuple[float, Fitted]:
    started = perf_counter()
    fitted = fit_rows(data, settings)
    return perf_counter() - started, fitted


def _by_evolution(settings: FitSettings) -> FitSettings:
    return replace(settings, search=replace(settings.search, kind="evolution"))


def _searched(fitted: Fitted) -> float:
    """Seconds that the search took; other steps are not in its records."""
    return fitted.history[-1].seconds


def _is_exact(fitted: Fitted) -> bool:
    return fitted.stop_reason.cause not in (Stop.GENERATIONS, Stop.STEADY_FRONT, Stop.TIME_LIMIT)


def _part(data: TrainingData, n_most: int = _ROWS) -> TrainingData:
    """Return at most so many rows, as many of each class as its share but at least 20."""
    if len(data.labels) <= n_most:
        return data
    rng = np.random.default_rng(0)
    kept: list[IntArray] = []
    for label in range(len(data.classes)):
        of_class = np.flatnonzero(data.labels == label)
        n_wanted = max(20, round(len(of_class) * n_most / len(data.labels)))
        kept.append(rng.permutation(of_class)[:n_wanted])
    rows = np.sort(np.concatenate(kept))
    return data.take(rows, None if data.weights is None else data.weights[rows])
