"""Settings of a search: those of the user for the paper's loop, and those that all kinds share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_choice, check_number, check_whole
from emsco.designs.chromosomes import MOST_STAGES
from emsco.designs.constraints import Blocks
from emsco.designs.space import DesignSpace, default_max_stages
from emsco.designs.thresholds import ThresholdGrid
from emsco.errors import ParameterError

KINDS = ("auto", "exact", "evolution", "paper")


@dataclass(slots=True, kw_only=True)
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
        return {field.name: getattr(self, field.name) for field in fields(self)}

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


def search_kind(search: Any) -> str:
    """Check the parameter `search`, and return the name of that search."""
    if search is PaperSearch:
        raise ParameterError(
            f"search must be a value of PaperSearch, such as PaperSearch(), got {search!r}."
        )
    return "paper" if isinstance(search, PaperSearch) else check_choice("search", search, KINDS)


def with_paper_search(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Move parameters of the paper's loop from `settings` into a `PaperSearch`, as `search`."""
    names = {field.name for field in fields(PaperSearch)}
    loop = {name: value for name, value in settings.items() if name in names}
    others = {name: value for name, value in settings.items() if name not in names}
    if not loop:
        return others
    search = others.get("search", "paper")
    if search_kind(search) != "paper":
        raise ParameterError(
            f"{next(iter(loop))} must be left out where search is {search!r}, got "
            f"{next(iter(loop.values()))!r}."
        )
    base = search.get_params() if isinstance(search, PaperSearch) else {}
    return {**others, "search": PaperSearch(**{**base, **loop})}


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search as the user asks for it, checked; `over` adds what depends on the features.

    Attributes
    ----------
    kind : {"auto", "exact", "evolution", "paper"}
    paper : PaperSearch
        Settings of the paper's loop.
    max_stages : int or None
        Most stages of a design; None: the paper's default.
    population_size, generations, patience, allow_exclusion
        As in `SearchSettings`.
    """

    kind: str
    paper: PaperSearch
    max_stages: int | None
    population_size: int
    generations: int
    patience: int | None
    allow_exclusion: bool

    @classmethod
    def from_parameters(
        cls,
        search: str | PaperSearch,
        *,
        max_stages: int | None = None,
        population_size: int = 300,
        generations: int = 150,
        patience: int | None = None,
        allow_exclusion: bool = False,
    ) -> Self:
        """Check parameters of `EMSCOClassifier`.

        Raises
        ------
        ParameterError
            If a parameter breaks its rule.
        """
        if not isinstance(allow_exclusion, (bool, np.bool_)):
            raise ParameterError(f"allow_exclusion must be True or False, got {allow_exclusion!r}.")
        kind = search_kind(search)
        paper = search if isinstance(search, PaperSearch) else PaperSearch()
        rate = paper.mutation_rate
        return cls(
            kind=kind,
            paper=PaperSearch(
                mutation_rate=None if rate is None else check_number("mutation_rate", rate, 0, 1),
                crossover_rate=check_number("crossover_rate", paper.crossover_rate, 0, 1),
                elite_fraction=check_number("elite_fraction", paper.elite_fraction, 0, 1),
                stage_bias=check_number("stage_bias", paper.stage_bias, 0, 1000, "(]"),
                epsilon=check_number("epsilon", paper.epsilon, 0, np.inf, "()"),
                growth=check_whole("growth", paper.growth, 0),
            ),
            max_stages=None if max_stages is None else check_whole("max_stages", max_stages, 1),
            population_size=check_whole("population_size", population_size, 2),
            generations=check_whole("generations", generations, 0),
            patience=None if patience is None else check_whole("patience", patience, 1),
            allow_exclusion=bool(allow_exclusion),
        )

    def over(self, blocks: Blocks) -> SearchSettings:
        """Fill in defaults for blocks of features."""
        n_blocks, paper = blocks.n_blocks, self.paper
        stages = default_max_stages(n_blocks) if self.max_stages is None else self.max_stages
        return SearchSettings(
            max_stages=min(stages, n_blocks, MOST_STAGES),
            mutation_rate=1 / n_blocks if paper.mutation_rate is None else paper.mutation_rate,
            population_size=self.population_size,
            generations=self.generations,
            crossover_rate=paper.crossover_rate,
            elite_fraction=paper.elite_fraction,
            stage_bias=paper.stage_bias,
            epsilon=paper.epsilon,
            growth=paper.growth,
            patience=self.patience,
            allow_exclusion=self.allow_exclusion,
            first=blocks.first,
        )


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of a search. All kinds share one class; each uses the settings it needs.

    Attributes
    ----------
    max_stages : int
        Most stages of a design.
    mutation_rate, crossover_rate, elite_fraction, stage_bias, epsilon, growth
        As in `PaperSearch`, for the paper's loop alone.
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

    def space(self, n_features: int, grid: ThresholdGrid | None = None) -> DesignSpace:
        """Space of designs over `n_features` features, with thresholds of a grid."""
        return DesignSpace(
            n_features,
            self.max_stages,
            self.allow_exclusion,
            self.first,
            n_early=1 if grid is None else len(grid.early),
            n_last=1 if grid is None else len(grid.last),
        )

    def rate(self, n_features: int) -> float:
        """Mutation rate for `n_features` features."""
        return 1 / n_features if self.mutation_rate is None else self.mutation_rate
