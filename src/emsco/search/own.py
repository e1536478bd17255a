"""Searches for people who write one of their own, or compare them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from emsco._base.checks import check_choice, check_jobs, check_number
from emsco._base.text import brief
from emsco._base.typing import IntArray, StageArray
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress
from emsco.designs.population import Designs
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import MinConfidence
from emsco.errors import ParameterError
from emsco.scoring import Answers, Counts
from emsco.scoring.pareto import aggregates, balanced_scores, longest_first
from emsco.search import operators
from emsco.search.evolution import EvolutionSearch
from emsco.search.landscape import Landscape as Landscape
from emsco.search.landscape import landscape_of
from emsco.search.loop import Search as Search
from emsco.search.loop import StopReason
from emsco.search.paper import PaperLoop
from emsco.search.plan import plan_search
from emsco.search.progress import SearchProgress
from emsco.search.settings import RULES, SearchSettings, with_paper_search
from emsco.search.subsets import Subsets


@dataclass(frozen=True, slots=True, eq=False)
class Front:
    """Designs that a search found, none better than another in all objectives.

    Attributes
    ----------
    designs : ndarray of shape (n_designs, n_features)
        Stage of each feature, from 0; -1 is never.
    counts : Counts
    n_tied : ndarray of shape (n_designs,)
        Number of known designs with the same objectives; all that exist if the front is proven.
    stop_reason : StopReason
        With `n_settled`, the number of designs that an exact search has settled.
    """

    designs: StageArray
    counts: Counts
    n_tied: IntArray
    stop_reason: StopReason


def start_search(kind: str, costs: FeatureCosts, rng: Generator | int, **settings: Any) -> Search:
    """Start a search that asks for designs, and is told their counts.

    `ask` and `front` give `Designs`: NumPy takes them as the stage of each feature.

    Parameters
    ----------
    kind : {"paper", "evolution"}
    costs : FeatureCosts
    rng : numpy.random.Generator or int
        Of a whole number, the generator with this seed.
    **settings
        `max_stages`, by default half the features, rounded up, at most 10. `buy_all`, by default
        True: every design buys all features in the end. `population_size`, `generations` and
        `patience`. For "paper", those of `PaperSearch` too.

    Examples
    --------
    >>> costs = FeatureCosts.from_array([1, 9, 9, 9])
    >>> search = start_search("paper", costs, np.random.default_rng(0))
    >>> np.asarray(search.ask()).shape
    (300, 4)
    """
    checked = _settings(check_choice("kind", kind, ("paper", "evolution")), costs, **settings)
    if kind == "paper":
        return PaperLoop(len(costs.names), costs.smallest, checked, _generator(rng))
    return EvolutionSearch(costs.alone, checked, _generator(rng), costs.total)


def find_front(
    kind: str,
    answers: Answers,
    min_confidence: MinConfidence,
    rng: Generator | int | None = None,
    *,
    time_limit: float | None = None,
    **settings: Any,
) -> Front:
    """Search to the end, as `EMSCOClassifier` does.

    Beyond `start_search`, "evolution" also links the subsets that it knows to new designs, and
    "exact" finds and proves the whole front.

    Parameters
    ----------
    kind : {"exact", "evolution", "paper"}
    answers : Answers
    min_confidence : float or dict
        Threshold of every stage.
    rng : numpy.random.Generator or int, optional
    time_limit : float, optional
        Seconds after which the search stops.
    **settings
        As in `start_search`.

    Raises
    ------
    ParameterError
        If "exact" is out of reach.
    """
    check_choice("kind", kind, ("exact", "evolution", "paper"))
    checked = _settings(kind, answers.costs, **settings)
    if time_limit is not None:
        check_number("time_limit", time_limit, 0, np.inf, "()")
    evaluator = answers._evaluator(min_confidence, checked.max_stages)
    plan = plan_search(evaluator, checked, answers.memory_limit, time_limit)
    found = plan.run(_generator(rng), SearchProgress(shown=False), time_limit)
    designs = np.asarray(found.designs)
    n_tied = np.ones(len(designs), np.int64) if found.n_tied is None else found.n_tied
    return Front(designs, found.scores, n_tied, found.stop_reason)


def count_designs(
    answers: Answers, min_confidence: MinConfidence, max_stages: int, n_jobs: int = 1
) -> Landscape:
    """Count all designs that buy every feature in the end, by what they do with the scored rows.

    It takes seconds for 250 million designs. Costs must be whole numbers without fees.

    Parameters
    ----------
    answers : Answers
    min_confidence : float or dict
    max_stages : int
    n_jobs : int
        Threads, -1 for all cores; the result does not depend on it.
    """
    designs = DesignSpace(len(answers.costs.names), max_stages)
    evaluator = answers._evaluator(min_confidence, max_stages)
    units = evaluator.units
    if not units.are_whole or units.fees.size or units.evaluation:
        raise ParameterError("costs must be whole numbers without fees to count all designs.")
    subsets = Subsets.all(evaluator, designs)
    return landscape_of(subsets, units.per_one, check_jobs(n_jobs))


def mutate(
    designs: ArrayLike, rate: float, stage_bias: float, max_stages: int, rng: Generator | int
) -> StageArray:
    """Mutate designs as the paper does: a feature draws a new stage with probability `rate`.

    Early stages are the likelier, the larger `stage_bias`; a design may grow by one stage.

    Examples
    --------
    >>> mutate([[0, 0, 1]], 0.0, 2.0, 3, np.random.default_rng(0)).tolist()
    [[0, 0, 1]]
    """
    genes = np.atleast_2d(compress(designs))
    space = DesignSpace(genes.shape[1], max_stages)
    if not space.holds(genes).all():
        raise ParameterError(
            f"designs must buy every feature in at most {max_stages} stages, got {brief(designs)}."
        )
    check_number("rate", rate, 0, 1)
    check_number("stage_bias", stage_bias, 0, 1000, "(]")
    return operators.mutate(genes, rate, stage_bias, space, _generator(rng))


def choose(rule: str, front: Front, costs: FeatureCosts) -> int:
    """Choose a design of a front: the paper's fittest, or the best balanced one.

    Parameters
    ----------
    rule : {"fittest", "balanced"}
    front : Front
    costs : FeatureCosts
    """
    designs, counts = Designs.of(compress(front.designs)), front.counts
    if len(costs.names) != designs.stages.shape[1]:
        raise ParameterError(
            f"costs must be of the {designs.stages.shape[1]} features of the front, got those of "
            f"{len(costs.names)}."
        )
    if check_choice("rule", rule, ("fittest", "balanced")) == "balanced":
        lengths = balanced_scores(counts, costs.total)
    else:
        lengths = aggregates(counts.coverage, counts.accuracy, counts.cost, costs.smallest)
    return int(longest_first(designs, lengths)[0])


def _settings(
    kind: str, costs: FeatureCosts, *, buy_all: bool = True, **given: Any
) -> SearchSettings:
    """Check the settings that somebody gave, and fill in the others."""
    if not isinstance(buy_all, (bool, np.bool_)):
        raise ParameterError(f"buy_all must be True or False, got {buy_all!r}.")
    for name in given:
        check_choice("a setting", name, tuple(RULES))
    asked = with_paper_search({"search": kind, **given})
    settings = SearchSettings.from_parameters(**asked, allow_exclusion=not buy_all)
    return settings.over(len(costs.names))


def _generator(rng: Any) -> Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ParameterError(
            f"rng must be a numpy.random.Generator or a seed, got {rng!r}."
        ) from None
