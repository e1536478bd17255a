"""Parameters of a fit, each refused by name where it breaks its rule."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from sklearn.utils import check_random_state

from emsco._base.checks import check_choice, check_number, check_whole, refused
from emsco.designs.blocks import Blocks
from emsco.designs.space import default_max_stages
from emsco.front import check_preference
from emsco.search.paper import PaperSettings

__all__ = ["check_settings", "draw_seed", "seeds_of_fit"]


def draw_seed(random_state: Any) -> int:
    """The one number that a fit takes from its `random_state`."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def seeds_of_fit(seed: int) -> list[SeedSequence]:
    """Seeds of the split, of the search and of the stages, from that number."""
    return SeedSequence(seed).spawn(3)


def check_settings(classifier: Any, blocks: Blocks) -> PaperSettings:
    """Parameters of a classifier that need no data to be checked; and those of its search."""
    if classifier.n_jobs is not None and check_whole("n_jobs", classifier.n_jobs, -(2**31)) == 0:
        raise refused("n_jobs", "be a number of threads, or negative to count from all cores", 0)
    check_choice("search", classifier.search, ("auto", "exact", "evolution", "paper"))
    if classifier.time_limit is not None:
        check_number("time_limit", classifier.time_limit, 0, np.inf, "()")
    for name in ("checkpoint", "cache"):
        _check_path(name, getattr(classifier, name))
    check_whole("verbose", classifier.verbose, 0)
    check_preference(classifier.prefer)
    for name in ("refit", "allow_exclusion"):
        if not isinstance(given := getattr(classifier, name), (bool, np.bool_)):
            raise refused(name, "be True or False", given)
    n_features, n_blocks = len(blocks.of_feature), blocks.n_blocks
    rate = 1 / n_blocks if classifier.mutation_rate is None else classifier.mutation_rate
    stages = (
        default_max_stages(n_blocks) if classifier.max_stages is None else classifier.max_stages
    )
    return PaperSettings(
        max_stages=min(check_whole("max_stages", stages, 1, n_features), n_blocks),
        population_size=check_whole("population_size", classifier.population_size, 2),
        generations=check_whole("generations", classifier.generations, 0),
        mutation_rate=check_number("mutation_rate", rate, 0, 1),
        crossover_rate=check_number("crossover_rate", classifier.crossover_rate, 0, 1),
        elite_fraction=check_number("elite_fraction", classifier.elite_fraction, 0, 1),
        stage_bias=check_number("stage_bias", classifier.stage_bias, 0, 1000, "(]"),
        epsilon=check_number("epsilon", classifier.epsilon, 0, np.inf, "()"),
        growth=check_whole("growth", classifier.growth, 0),
        patience=None
        if classifier.patience is None
        else check_whole("patience", classifier.patience, 1),
        allow_exclusion=bool(classifier.allow_exclusion),
        first=blocks.first,
    )


def _check_path(name: str, value: Any) -> None:
    if value is not None and (not isinstance(value, (str, os.PathLike)) or not os.fspath(value)):
        raise refused(name, "be the path of a folder or None", value)
