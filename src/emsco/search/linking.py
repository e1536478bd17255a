"""The best chains of subsets that are fitted already: no design is scored one by one for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from emsco._base.typing import BoolArray, IntArray, StageArray, WordArray
from emsco._kernels.linking import SPARE, Chains, LinkRules, Subsets, fill_reach, link_subsets
from emsco.designs.chromosomes import NEVER, subsets_of_words, with_levels
from emsco.designs.space import DesignSpace
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import SAME_COST, front_mask, tie_groups
from emsco.scoring.scores import Scores
from emsco.search.allowances import allowances, shift_of
from emsco.search.evolution import EvolutionSearch
from emsco.search.exact.front import find_front
from emsco.search.exact.landscape import Landscape
from emsco.search.stopping import Stop

__all__ = ["Linker", "chains_between", "linked_front"]

_WIDTH = 8  # labels of a subset
_WORK = 4e8  # words that a step may look at, if one pair of subsets in seven is nested
_NESTED = 0.15
_ROOM = 2**19  # designs found
_MOST_FEATURES = 16  # whose subsets can be listed
_EXACT_BYTES = 2**27  # labels of an exact step


def chains_between(
    search: EvolutionSearch, evaluator: Evaluator, linker: Linker
) -> Callable[[], None]:
    """Return a function that gives a search the chains it wants, between two generations."""

    def make() -> StageArray:
        return linker.link(search.promising(linker.most_subsets), search.front[1])

    def between() -> None:
        if search.wants_chains:
            found = evaluator.made_after(search.generation, make)
            search.take_chains(found, evaluator.score(found) if len(found) else None)

    return between


@dataclass(slots=True, eq=False)
class Linker:
    """Finds the best chains of subsets whose models an evaluator has fitted.

    In a small space with one threshold it looks at all chains of all these subsets, by the means
    of exact search, as long as these suffice. Elsewhere it keeps the most promising chains of a
    number of subsets that suits the number of rows.

    Attributes
    ----------
    evaluator : Evaluator
    space : DesignSpace
    """

    evaluator: Evaluator
    space: DesignSpace
    _is_exact: bool = field(init=False)

    def __post_init__(self) -> None:
        """Decide how to link subsets."""
        is_small = self.space.n_features <= _MOST_FEATURES and not self.space.allow_exclusion
        self._is_exact = is_small and self.evaluator.grid.is_single

    @property
    def most_subsets(self) -> int:
        """Most subsets that one step can link."""
        if self._is_exact:
            return int(2**self.space.n_features)
        return _most_subsets(self.evaluator, _WIDTH)

    def link(self, subsets: WordArray, front: Scores) -> StageArray:
        """Return the best designs made of fitted subsets, of which `subsets` are promising.

        Designs that one of `front` beats are left out.
        """
        if self._is_exact:
            numbers = self.evaluator.subsets[:, 0].astype(np.int64)
            landscape = Landscape.of_subsets(self.evaluator, self.space, numbers)
            found = find_front(landscape, front, _EXACT_BYTES)
            self._is_exact = found.stopped is None or found.stopped.cause is not Stop.MEMORY_LIMIT
            return found.designs
        subsets = subsets[: self.most_subsets]
        return linked_front(self.evaluator, self.space, subsets, front, _WIDTH)


def _most_subsets(evaluator: Evaluator, width: int) -> int:
    levels = len(evaluator.grid.early) + len(evaluator.grid.last)
    per_pair = _NESTED / 2 * width * levels * evaluator.bank.n_words
    return max(64, int(np.sqrt(_WORK / per_pair)))


def linked_front(
    evaluator: Evaluator,
    space: DesignSpace,
    words: WordArray,
    front: Scores | None = None,
    width: int = _WIDTH,
) -> StageArray:
    """Return the best designs made of these subsets, one for each vector of objectives.

    At most `width` chains that end in the same subset are followed. Designs that one of `front`
    beats are left out. All features together are always among the subsets.
    """
    words = _from_small_to_large(words, evaluator.bank.n_features)
    subsets = _subsets(evaluator, words)
    fill_reach(subsets)
    grid, n_rows = evaluator.grid, evaluator.bank.n_rows
    early, last = (np.isin(np.arange(grid.n_levels), own) for own in (grid.early, grid.last))
    rules = LinkRules(
        n_rows=n_rows,
        max_stages=space.max_stages,
        may_stop=space.allow_exclusion,
        evaluation=float(evaluator.units.evaluation),
        most_paid=float(evaluator.most_paid),
        slack=SAME_COST if evaluator.units.features.dtype.kind == "f" else 0.0,
        shift=shift_of(n_rows),
        width=width,
        is_plain=bool((subsets.weights == 1).all()) and not len(subsets.missing),
    )
    none = np.zeros(0, dtype=np.int64)
    counts = none, none, np.zeros(0)
    if front is not None:
        front = front[front.feasible]
        counts = front.accepted, front.accepted - front.correct, front.spent
    known = allowances(n_rows, rules.shift, evaluator.most_spent, *counts)
    chains = _chains(len(words), width, subsets.accepts.shape[2])
    found, spent = np.empty((_ROOM, 4), dtype=np.int64), np.empty(_ROOM)
    scratch = np.empty(subsets.accepts.shape[2], dtype=np.uint64)
    tries = np.array(sorted({grid.last[0], grid.last[-1]}), dtype=np.int64)
    room = scratch, np.zeros((grid.n_levels, 2), dtype=np.int64)
    _, n_found = link_subsets(
        rules, subsets, early, last, tries, known, chains, found, spent, *room
    )
    n_found = min(n_found, _ROOM)
    best = _best(found[:n_found], spent[:n_found], chains, n_rows, bool(rules.slack))
    return _designs(found[best], chains, subsets_of_words(words, space.n_features), grid.n_levels)


def _from_small_to_large(words: WordArray, n_features: int) -> WordArray:
    """Sort distinct subsets by size, with all features at the end."""
    every = np.zeros((1, words.shape[1]), dtype=np.uint64)
    for i in range(n_features):
        every[0, i // 32] |= np.uint64(1) << np.uint64(i % 32)
    distinct = np.unique(np.concatenate([words, every]), axis=0)
    size = np.bitwise_count(distinct).sum(axis=1)
    return np.ascontiguousarray(distinct[np.argsort(size, kind="stable")])


def _subsets(evaluator: Evaluator, words: WordArray) -> Subsets:
    bank = evaluator.bank
    by_level = [bank.bits_of(words, least) for least in evaluator.grid.thresholds]
    accepts = np.stack([accepted for accepted, _ in by_level], axis=1)
    errs = np.stack([accepted & ~correct for accepted, correct in by_level], axis=1)
    units = evaluator.units.features.astype(np.float64)
    missing = bank.missing
    return Subsets(
        members=words,
        cost=subsets_of_words(words, bank.n_features) @ units,
        accepts=accepts,
        errs=errs,
        reach=np.zeros((len(words) + 1, accepts.shape[2]), dtype=np.uint64),
        missing=missing if missing.any() else missing[:0],
        weights=bank.word_weights.astype(np.uint64),
    )


def _chains(n_subsets: int, width: int, n_words: int) -> Chains:
    room = n_subsets * width + (SPARE + 1) * width + 1
    chains = Chains(
        undecided=np.empty((room, n_words), dtype=np.uint64),
        counts=np.zeros((room, 5), dtype=np.int64),
        spent=np.zeros(room),
        behind=np.zeros(room),
        spans=np.zeros((n_subsets, 2), dtype=np.int64),
    )
    chains.counts[0, 3:] = -1
    return chains


def _best(
    found: IntArray, spent: IntArray, chains: Chains, n_rows: int, has_fractions: bool
) -> IntArray:
    """Positions of the non-dominated designs, the one with fewest stages for each vector."""
    if not len(found):
        return np.zeros(0, dtype=np.int64)
    order = np.argsort(chains.counts[found[:, 2], 2], kind="stable")
    accepted, wrong = found[order, 0], found[order, 1]
    cost = spent[order] if has_fractions else spent[order].astype(np.int64)
    scores = Scores(n_rows, accepted[:, None], (accepted - wrong)[:, None], cost)
    kept = np.flatnonzero(front_mask(scores))
    first = np.unique(tie_groups(scores[kept]), return_index=True)[1]
    best: IntArray = order[kept[first]]
    return best


def _designs(found: IntArray, chains: Chains, subsets: BoolArray, n_levels: int) -> StageArray:
    """Follow each design back to its first stage; return their genes."""
    stages = np.full((len(found), subsets.shape[1]), NEVER, dtype=np.int16)
    depth = chains.counts[found[:, 2], 2] + 1
    levels = np.zeros((len(found), int(depth.max(initial=1))), dtype=np.int64)
    for i, (element, label) in enumerate(found[:, [3, 2]].tolist()):
        for stage in range(int(depth[i]) - 1, -1, -1):
            subset, levels[i, stage] = divmod(element, n_levels)
            stages[i, subsets[subset]] = stage
            element, label = chains.counts[label, 4], chains.counts[label, 3]
    return with_levels(stages, levels)
