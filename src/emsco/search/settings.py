"""Settings of a search: those of the paper's loop, which users hold, and those of every search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_choice, check_number, check_whole
from emsco.designs.chromosomes import MOST_STAGES
from emsco.designs.grid import ThresholdGrid
from emsco.designs.space import DesignSpace, default_max_stages
from emsco.errors import ParameterError

# How each setting is checked, and between which limits; those in `_OPTIONAL` may be None.
RULES: Mapping[str, tuple[Any, ...]] = {
    "mutation_rate": (check_number, 0, 1),
    "crossover_rate": (check_number, 0, 1),
    "elite_fraction": (check_number, 0, 1),
    "stage_bias": (check_number, 0, 1000, "(]"),
    "epsilon": (check_number, 0, np.inf, "()"),
    "growth": (check_whole, 0),
    "max_stages": (check_whole, 1),
    "population_size": (check_whole, 2),
    "generations": (check_whole, 0),
    "patience": (check_whole, 1),
}
_OPTIONAL = "mutation_rate", "max_stages", "patience"


@dataclass(kw_only=True)
class PaperSearch:
    """The loop of Hamilton & Fulp (2022), for ``EMSCOClassifier(search=PaperSearch(...))``.

    The defaults are those of ``search="paper"``. Values are checked when you call `fit`. `clone`
    and grids over parameters such as ``search__mutation_rate`` work as with any estimator.

    Parameters
    ----------
    mutation_rate : float or None
        Probability that a child draws a new stage for a feature, the paper's m̂. None: 1 / n, where
        n is the number of features.
    crossover_rate : float
        Probability that a child has two parents, the paper's r̂.
    elite_fraction : float
        Share of the distinct designs that survive a generation, at least; the paper's b.
    stage_bias : float
        Preference for early stages when a stage is drawn, the paper's β.
    epsilon : float
        Margin by which a better non-dominated level outweighs the next one when parents are
        drawn, the paper's ε.
    growth : int
        Designs that a population gains when it is full of elites, the paper's inc. 0: the search
        ends there.

    Examples
    --------
    >>> from sklearn.base import clone
    >>> from emsco import EMSCOClassifier
    >>> clf = EMSCOClassifier(search=PaperSearch(mutation_rate=0.1))
    >>> clone(clf.set_params(search__growth=5)).get_params()["search__growth"]
    5
    """

    mutation_rate: float | None = None
    crossover_rate: float = 0.8
    elite_fraction: float = 0.2
    stage_bias: float = 2.0
    epsilon: float = 0.01
    growth: int = 0

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """Return the parameters by name; `deep` is there for scikit-learn and changes nothing."""
        return {field.name: getattr(self, field.name) for field in fields(PaperSearch)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, and return this object."""
        for name, value in params.items():
            if name not in self.get_params():
                known = ", ".join(self.get_params())
                raise ParameterError(
                    f"parameters of PaperSearch must be out of {known}, got {name!r}."
                )
            setattr(self, name, value)
        return self


@dataclass(kw_only=True)
class SearchSettings(PaperSearch):
    """Settings of a search. All kinds share one class; each uses the settings it needs.

    Those of `PaperSearch` are for the paper's loop alone.

    Attributes
    ----------
    kind : {"auto", "exact", "evolution", "paper"}
    max_stages : int
        Most stages of a design; 0 until `over` fills in the paper's default.
    population_size : int
        Designs per generation, the paper's |G|.
    generations : int
        Most generations, the paper's max_iter.
    patience : int or None
        Generations without a change before the search stops, the paper's g. "paper" watches the
        fittest design, "evolution" the front; with None, it stops once the front hardly grows.
    allow_exclusion : bool
        Whether designs may leave features out.
    first : int or None
        A feature that every design buys at its first stage.
    """

    kind: str = "auto"
    max_stages: int = 0
    population_size: int = 300
    generations: int = 150
    patience: int | None = None
    allow_exclusion: bool = False
    first: int | None = None

    @classmethod
    def from_parameters(
        cls, search: str | PaperSearch, *, allow_exclusion: bool = False, **given: Any
    ) -> Self:
        """Check parameters of `EMSCOClassifier`, and return them as settings.

        Raises
        ------
        ParameterError
            If a parameter breaks its rule.
        """
        if not isinstance(allow_exclusion, (bool, np.bool_)):
            raise ParameterError(f"allow_exclusion must be True or False, got {allow_exclusion!r}.")
        if isinstance(search, PaperSearch):
            given |= search.get_params()
            search = "paper"
        kind = check_choice("search", search, ("auto", "exact", "evolution", "paper"))
        for name, value in list(given.items()):
            check, *limits = RULES[name]
            if value is None and name in _OPTIONAL:
                del given[name]
            else:
                given[name] = check(name, value, *limits)
        return cls(kind=kind, allow_exclusion=bool(allow_exclusion), **given)

    def over(self, n_features: int, first: int | None = None) -> Self:
        """Fill in what depends on the features, or blocks of them."""
        max_stages = min(self.max_stages or default_max_stages(n_features), n_features, MOST_STAGES)
        return replace(self, max_stages=max_stages, first=first)

    def space(self, n_features: int, grid: ThresholdGrid | None = None) -> DesignSpace:
        """Space of designs over `n_features` features, with thresholds of a grid."""
        levels = (1, 1) if grid is None else (len(grid.early), len(grid.last))
        return DesignSpace(n_features, self.max_stages, self.allow_exclusion, self.first, *levels)

    def rate(self, n_features: int) -> float:
        """Mutation rate for `n_features` features."""
        return 1 / n_features if self.mutation_rate is None else self.mutation_rate


def with_paper_search(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Move parameters of the paper's loop from `settings` into a `PaperSearch`, as `search`."""
    search = PaperSearch() if settings["search"] == "paper" else settings["search"]
    loop = {name: settings[name] for name in PaperSearch().get_params() if name in settings}
    if isinstance(search, PaperSearch):
        search = replace(search, **loop)
    elif loop:
        name, value = next(iter(loop.items()))
        raise ParameterError(f"{name} must be left out where search is {search!r}, got {value!r}.")
    return {name: settings[name] for name in settings if name not in loop} | {"search": search}
