"""Settings of a search. All kinds share one class; each uses the settings it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_number, check_whole, refused
from emsco.designs.chromosomes import MOST_STAGES
from emsco.designs.constraints import Blocks
from emsco.designs.space import DesignSpace, default_max_stages
from emsco.designs.thresholds import ThresholdGrid

KINDS = ("auto", "exact", "evolution", "paper")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of a search.

    Attributes
    ----------
    max_stages : int
        Most stages of a design.
    mutation_rate : float or None
        The paper's m̂; None: 1 / n.
    population_size : int
        Designs per generation, the paper's |G|.
    generations : int
        Most generations, the paper's max_iter.
    crossover_rate, elite_fraction, stage_bias, epsilon : float
        The paper's r̂, b, β and ε.
    growth : int
        The paper's inc.
    patience : int or None
        Generations without a change before the search stops, the paper's g. "paper" watches the
        fittest design, "evolution" the front.
    allow_exclusion : bool
        Whether designs may leave features out.
    first : int or None
        A feature that every design buys at its first stage.
    """

    max_stages: int
    mutation_rate: float | None = None
    population_size: int = 300
    generations: int = 150
    crossover_rate: float = 0.8
    elite_fraction: float = 0.2
    stage_bias: float = 2.0
    epsilon: float = 0.01
    growth: int = 0
    patience: int | None = None
    allow_exclusion: bool = False
    first: int | None = None

    @classmethod
    def from_parameters(cls, given: Mapping[str, Any], blocks: Blocks) -> Self:
        """Check parameters by name, and fill in defaults for these blocks of features.

        The default of `max_stages` is the paper's.

        Raises
        ------
        ParameterError
            If a parameter breaks its rule or has an unknown name.
        """
        known = {field.name: field.default for field in fields(cls) if field.name != "first"}
        if unknown := [name for name in given if name not in known]:
            listed = ", ".join(known)
            raise refused("settings", f"be out of {listed}", given, got=repr(unknown[0]))
        own = {**known, "max_stages": None, **given}
        n_blocks = blocks.n_blocks
        rate = 1 / n_blocks if own["mutation_rate"] is None else own["mutation_rate"]
        stages = default_max_stages(n_blocks) if own["max_stages"] is None else own["max_stages"]
        patience, exclusion = own["patience"], own["allow_exclusion"]
        if not isinstance(exclusion, (bool, np.bool_)):
            raise refused("allow_exclusion", "be True or False", exclusion)
        return cls(
            max_stages=min(check_whole("max_stages", stages, 1), n_blocks, MOST_STAGES),
            population_size=check_whole("population_size", own["population_size"], 2),
            generations=check_whole("generations", own["generations"], 0),
            mutation_rate=check_number("mutation_rate", rate, 0, 1),
            crossover_rate=check_number("crossover_rate", own["crossover_rate"], 0, 1),
            elite_fraction=check_number("elite_fraction", own["elite_fraction"], 0, 1),
            stage_bias=check_number("stage_bias", own["stage_bias"], 0, 1000, "(]"),
            epsilon=check_number("epsilon", own["epsilon"], 0, np.inf, "()"),
            growth=check_whole("growth", own["growth"], 0),
            patience=None if patience is None else check_whole("patience", patience, 1),
            allow_exclusion=bool(exclusion),
            first=blocks.first,
        )

    def space(self, n_features: int, grid: ThresholdGrid | None = None) -> DesignSpace:
        """Space of designs over `n_features` features, with thresholds of a grid."""
        n_early, n_last = (1, 1) if grid is None else (len(grid.early), len(grid.last))
        own = self.max_stages, self.allow_exclusion, self.first
        return DesignSpace(n_features, *own, n_early, n_last)

    def rate(self, n_features: int) -> float:
        """Mutation rate for `n_features` features."""
        return 1 / n_features if self.mutation_rate is None else self.mutation_rate
