"""Parameters of a fit, checked once: `FitSettings` is all that the steps of a fit read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.random import SeedSequence

from emsco._base.checks import check_choice, check_jobs, check_number, check_whole, memory_bytes
from emsco._base.documents import PathLike
from emsco._base.objectives import METRICS
from emsco._base.typing import AnyArray
from emsco.costs import FeatureCosts
from emsco.data.random_states import draw_seed
from emsco.data.training import TrainingData
from emsco.designs.constraints import Constraints
from emsco.designs.questions import MOST_QUESTIONS
from emsco.designs.thresholds import MinConfidence, check_min_confidence, check_threshold
from emsco.errors import ParameterError
from emsco.front import check_preference
from emsco.front.rules import DELAY_LIMITS, Preference, preference_of_fit
from emsco.models.checkpoint import stored_seed
from emsco.models.recipe import AUTO, FAMILIES, StageRecipe
from emsco.scoring.error_costs import ErrorCosts
from emsco.search.settings import SearchSettings

REFITS = ("average", "all", "first")

# Parameters of `EMSCOClassifier` as Hamilton & Fulp (2022) describe it.
PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "min_confidence": 0.75,
        "max_stages": None,
        "search": "paper",
        "prefer": "fittest",
        "cv": 1 / 3,
        "refit": "first",
        "estimator": None,
        "allow_exclusion": False,
    }
)

# Parameters that have no say where the cost of errors decides, and their defaults.
_WITHOUT_MONEY: Mapping[str, Any] = MappingProxyType(
    {
        "min_confidence": AUTO,
        "reject_below": None,
        "metric": "accuracy",
        "class_weight": None,
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class FitSettings:
    """Checked parameters of a fit.

    Attributes
    ----------
    search : SearchSettings
    constraints : Constraints
        As the user gave them.
    metric : {"accuracy", "balanced_accuracy"}
    min_confidence : float, dict or None
        What a label needs; None: the search gives every stage a threshold of its own.
    reject_below : float, dict or None
        What the last stage needs, 0 if it always answers; None: it is like the others.
    prefer : str or dict
    money : ErrorCosts or None
        What errors and rejections cost, if the search is for the lowest total.
    recipe : StageRecipe
        The stage models, with "auto" yet to be chosen.
    search_with : str or None
        Family of stage models to search with.
    refit : {"average", "all", "first"}
    cv : object
        Splits, as `make_splits` takes them.
    screen_rows : "auto", int or None
        Rows to search on.
    max_ways : int
        Most ways that rows can go after a stage; 1: designs are chains.
    time_limit : float or None
    checkpoint : path or None
    seed : int
        All random streams of the fit come from it.
    verbose : int
    """

    search: SearchSettings
    constraints: Constraints
    metric: str
    min_confidence: MinConfidence | None
    reject_below: MinConfidence | None
    prefer: Preference
    money: ErrorCosts | None
    recipe: StageRecipe
    search_with: str | None
    refit: str
    cv: Any
    screen_rows: str | int | None
    max_ways: int
    time_limit: float | None
    checkpoint: PathLike | None
    seed: int
    verbose: int

    @property
    def is_paper(self) -> bool:
        """Whether the search is the paper's, which knows nothing of what came after it."""
        return self.search.kind == "paper"

    @classmethod
    def from_parameters(cls, given: Mapping[str, Any], data: TrainingData) -> Self:
        """Check the parameters of `EMSCOClassifier` for a fit on `data`.

        Raises
        ------
        ParameterError
            If a parameter breaks its rule.
        """
        n_jobs = check_jobs(given["n_jobs"])
        if (device := given["device"]) != "cpu":
            raise ParameterError(
                f'device must be "cpu", as no fit uses a GPU, got {device!r}; leave it out.'
            )
        money = _check_money(given, data.classes)
        if money is not None:
            # The lowest total is deployed, and nobody is rejected for nothing.
            answers_all = given["reject_cost"] is None
            given = {**given, "prefer": preference_of_fit(given), "always_answer": answers_all}
        search = SearchSettings.from_parameters(
            given["search"],
            max_stages=given["max_stages"],
            population_size=given["population_size"],
            generations=given["generations"],
            patience=given["patience"],
            allow_exclusion=given["allow_exclusion"],
        )
        constraints = Constraints.from_rules(given["constraints"], data.costs.names)
        if constraints.buy_all:
            search = replace(search, allow_exclusion=False)
        may_reject = given["always_answer"] is not True
        check_preference(given["prefer"], data.classes.tolist(), may_reject=may_reject)
        _check_delay_limits(constraints, given["prefer"], data.costs)
        path = given["checkpoint"]
        if path is not None and not (isinstance(path, (str, os.PathLike)) and os.fspath(path)):
            raise ParameterError(f"checkpoint must be the path of a file or None, got {path!r}.")
        if given["search_with"] is not None:
            check_choice("search_with", given["search_with"], FAMILIES)
        min_confidence = None
        if not isinstance(given["min_confidence"], str):
            min_confidence = check_min_confidence(given["min_confidence"], data.classes)
        elif given["min_confidence"] != AUTO:
            raise ParameterError(
                'min_confidence must be "auto", a number or a dict, got '
                f"{given['min_confidence']!r}."
            )
        refit = given["refit"]
        if isinstance(refit, (bool, np.bool_)):
            refit = "all" if refit else "first"
        screen_rows = given["screen_rows"]
        if isinstance(screen_rows, str):
            if screen_rows != AUTO:
                raise ParameterError(
                    f'screen_rows must be "auto", a number of rows or None, got {screen_rows!r}.'
                )
        elif screen_rows is not None:
            screen_rows = check_whole("screen_rows", screen_rows, 100)
        time_limit = given["time_limit"]
        if time_limit is not None:
            time_limit = check_number("time_limit", time_limit, 0, np.inf, "()")
        seed = draw_seed(given["random_state"])
        if path is not None and not isinstance(given["random_state"], Integral):
            stored = stored_seed(path)
            seed = seed if stored is None else stored
        return cls(
            search=search,
            constraints=constraints,
            metric=check_choice("metric", given["metric"], METRICS),
            min_confidence=min_confidence,
            reject_below=_check_last(given, search.kind, data.classes),
            prefer=given["prefer"],
            money=money,
            recipe=StageRecipe.from_parameters(
                given["estimator"],
                given["class_weight"],
                data.classes,
                memory_bytes("memory_limit", given["memory_limit"]),
                n_jobs,
                int(seeds_of_fit(seed)[2].generate_state(1)[0]),
            ),
            search_with=given["search_with"],
            refit=check_choice("refit", refit, REFITS),
            cv=given["cv"],
            screen_rows=screen_rows,
            max_ways=_check_branches(given["branches"], search.kind),
            time_limit=time_limit,
            checkpoint=path,
            seed=seed,
            verbose=check_whole("verbose", given["verbose"], 0),
        )


def seeds_of_fit(seed: int) -> list[SeedSequence]:
    """Derive the seeds of the split, the search and the stage models from one number."""
    return SeedSequence(seed).spawn(3)


def _check_branches(branches: Any, kind: str) -> int:
    """Check how many ways rows may go after a stage, and return the number."""
    if isinstance(branches, str):
        if branches != AUTO:
            raise ParameterError(
                f'branches must be "{AUTO}" or a number from 1 to {MOST_QUESTIONS + 1}, got '
                f"{branches!r}."
            )
        return MOST_QUESTIONS + 1
    max_ways = check_whole("branches", branches, 1, MOST_QUESTIONS + 1)
    if max_ways > 1 and kind in ("paper", "exact"):
        raise ParameterError(
            f'branches must be "{AUTO}" or 1 where search is "{kind}", which searches chains '
            f"alone, got {branches!r}."
        )
    return max_ways


def _check_money(given: Mapping[str, Any], classes: AnyArray) -> ErrorCosts | None:
    """Check what errors and rejections cost; None if the fit is not about that."""
    money = ErrorCosts.if_given(
        given["error_cost"], given["reject_cost"], classes.tolist(), may_reject=False
    )
    if money is None:
        return None
    for name, usual in _WITHOUT_MONEY.items():
        if given[name] is not usual and given[name] != usual:
            raise ParameterError(
                f"{name} must be left out where error_cost is given: it decides instead, got "
                f"{given[name]!r}."
            )
    kind = given["search"] if isinstance(given["search"], str) else "paper"
    if kind in ("paper", "exact"):
        raise ParameterError(
            'search must be "auto" or "evolution" where error_cost is given: the lowest total is '
            f"searched for, not proven, got {given['search']!r}."
        )
    if given["always_answer"] is True and given["reject_cost"] is not None:
        raise ParameterError(
            "reject_cost must be left out where always_answer is given, got "
            f"{given['reject_cost']!r}."
        )
    if given["gaps"] == "skip" and given["reject_cost"] is None:
        raise ParameterError(
            'reject_cost must be given where gaps is "skip": a stage without a value is skipped, '
            "and a row may be rejected, got None."
        )
    return money


def _check_delay_limits(constraints: Constraints, prefer: Preference, costs: FeatureCosts) -> None:
    """Refuse limits on delays where no feature has a delay."""
    limits = {f"constraints[{name!r}]": getattr(constraints, name) for name in DELAY_LIMITS}
    if isinstance(prefer, Mapping):
        limits |= {name: prefer.get(name) for name in DELAY_LIMITS}
    for name, limit in limits.items():
        if limit is not None and not costs.has_delays:
            raise ParameterError(
                f"{name} must be left out where no feature has a delay, got {limit!r}."
            )


def _check_last(given: Mapping[str, Any], kind: str, classes: AnyArray) -> MinConfidence | None:
    """Check what the last stage needs to label a row; None if it is like the others."""
    answers, below = given["always_answer"], given["reject_below"]
    if not isinstance(answers, (bool, np.bool_)):
        raise ParameterError(f"always_answer must be True or False, got {answers!r}.")
    if answers and below is not None:
        raise ParameterError(
            f"reject_below must be left out where always_answer is given, got {below!r}."
        )
    if answers and given["gaps"] == "skip":
        raise ParameterError(
            'always_answer must be False where gaps is "skip": a stage without a value is skipped, '
            f"got {answers!r}."
        )
    if not answers and below is None:
        return None
    last = 0.0 if answers else check_threshold("reject_below", below, classes)
    if kind == "paper":
        name = "always_answer" if answers else "reject_below"
        raise ParameterError(
            f'{name} must be left out where search is "paper", whose stages are all alike, got '
            f"{given[name]!r}."
        )
    return last
