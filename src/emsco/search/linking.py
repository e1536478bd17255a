"""The best chains of subsets that are fitted already, which an evolution is given now and then.

No design is scored one by one for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.random import Generator

from emsco._base.typing import WordArray
from emsco.designs.population import Designs
from emsco.designs.space import DesignSpace
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Counts
from emsco.search.evolution import MOST_FEATURES, EvolutionSearch
from emsco.search.labels import LabelFront, front_of_chains
from emsco.search.loop import SearchResult, run_search
from emsco.search.progress import SearchProgress
from emsco.search.settings import SearchSettings
from emsco.search.subsets import Subsets

_WIDTH = 8  # labels of a subset
_WORK = 5e7  # words that a step may look at, if one pair of subsets in seven is nested
_NESTED = 0.15
_MOST_WORDS = 1024  # of the bits of a subset; chains are found on these rows, and scored on all
_EXACT_WORK = 2e7  # subsets times features times words of rows; takes some seconds
_BYTES = 2**29  # of labels


def start_evolution(
    evaluator: Evaluator, settings: SearchSettings, rng: Generator
) -> EvolutionSearch:
    """Start an evolution of designs that an evaluator scores."""
    costs = evaluator.costs
    return EvolutionSearch(
        costs.alone, settings, rng, costs.total, evaluator.per_row, evaluator.grid
    )


def evolve(
    search: EvolutionSearch,
    evaluator: Evaluator,
    time_limit: float | None,
    progress: SearchProgress,
) -> SearchResult:
    """Run an evolution to its end; chains of its subsets are made between generations."""
    # Links follow accuracy; other metrics have no chains made between generations.
    is_linked = evaluator.metric == "accuracy"
    between = partial(give_chains, search, evaluator) if is_linked else None
    return run_search(search, evaluator, time_limit, progress.generation, between)


def give_chains(search: EvolutionSearch, evaluator: Evaluator) -> None:
    """Give a search the chains that it wants, between two generations."""
    if search.wants_chains:
        subsets = search.promising(most_subsets(evaluator))
        chains = link(evaluator, search.space, subsets, search.front[1])
        search.take_chains(chains, evaluator.score(chains))


def most_subsets(evaluator: Evaluator) -> int:
    """Most subsets that one step can link, a few chains for each."""
    levels = len(evaluator.grid.early) + len(evaluator.grid.last)
    per_pair = _NESTED / 2 * _WIDTH * levels * min(_MOST_WORDS, evaluator.bits.n_words)
    # Pairs of subsets are compared, so their number goes with the root of the work.
    return max(64, int(np.sqrt(_WORK / per_pair)))


def link(evaluator: Evaluator, space: DesignSpace, subsets: WordArray, front: Counts) -> Designs:
    """Return the best designs made of fitted subsets, of which `subsets` are promising.

    In a small space with one threshold, where everything is bought, these are the best of all
    chains of all fitted subsets. Otherwise a few chains of each promising one are followed. Designs
    that one of `front` beats are left out.
    """
    n_words = evaluator.bits.n_words
    is_small = space.n_features <= MOST_FEATURES and not space.allow_exclusion
    work = 2.0**space.n_features * space.n_features * n_words
    if is_small and evaluator.grid.is_single and work <= _EXACT_WORK:
        every = Subsets.some(evaluator, space, evaluator.subsets, n_words)
        found = _front_of(every, front, every.last)
        if found.stopped is None:  # else there was too little memory
            return found.designs
    return linked_front(evaluator, space, subsets, front)


def linked_front(
    evaluator: Evaluator,
    space: DesignSpace,
    words: WordArray,
    front: Counts | None = None,
    width: int = _WIDTH,
) -> Designs:
    """Return the best designs made of these subsets, one for each vector of objectives.

    If the last stage may answer everyone or reject some, designs that answer everyone are linked
    apart as well: chains that serve them would not be among the few that are followed.

    At most `width` chains that end in the same subset are followed. Designs that one of `front`
    beats are left out. All features together are always among the subsets. If there are more than
    65,536 scored rows, this many of them stand for all, and the best designs are those of a sample.
    """
    subsets = Subsets.some(evaluator, space, words, _MOST_WORDS)
    kinds = [subsets.last, subsets.last[:1]] if evaluator.grid.may_answer_all else [subsets.last]
    designs = [_front_of(subsets, front, last, width).designs for last in kinds]
    return Designs.concatenate(designs).sorted() if len(designs) > 1 else designs[0]


def _front_of(
    subsets: Subsets, front: Counts | None, last: Sequence[int], width: int = 0
) -> LabelFront:
    """Return the front of chains of some subsets."""
    found = front_of_chains(subsets, front, _BYTES, last=last, width=width)
    # Ctrl-C inside must stop the search, too, not only this step.
    if found.stopped is not None and found.stopped.is_interrupted:
        raise KeyboardInterrupt
    return found
