"""The best chains of subsets that are fitted already, which an evolution is given now and then.

No design is scored one by one for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from emsco._base.typing import BoolArray, FloatArray, IntArray, SingleArray, StageArray, WordArray
from emsco._kernels.judgement import guess_margins
from emsco._kernels.links import SPARE, Chains, LinkRules, Subsets, fill_reach, link_subsets
from emsco.designs.chromosomes import (
    NEVER,
    stage_counts,
    stages_of,
    subset_words,
    subsets_of_words,
    with_levels,
    words_of_subsets,
)
from emsco.designs.space import DesignSpace
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Scores
from emsco.search.allowances import allowances, shift_of, slack_of
from emsco.search.evolution import MOST_FEATURES, EvolutionSearch
from emsco.search.exact.chains import find_front
from emsco.search.exact.proof import first_of_vectors
from emsco.search.exact.spaces import SingleThresholdSpace
from emsco.search.loop import SearchResult, run_search
from emsco.search.problem import Problem
from emsco.search.progress import SearchProgress
from emsco.search.settings import SearchSettings

_WIDTH = 8  # labels of a subset
_WORK = 5e7  # words that a step may look at, if one pair of subsets in seven is nested
_NESTED = 0.15
_MOST_WORDS = 1024  # of the bits of a subset; chains are found on these rows, and scored on all
_ROOM = 2**19  # designs found
_MOST_NEW = 100  # new subsets that one step may have fitted
_MARGIN_BYTES = 2**28
_SQUARES = 16  # squares of neighbours that a guess is the mean of
_EXACT_WORK = 2e7  # subsets times features times words of rows; takes some seconds
_EXACT_BYTES = 2**29  # labels of an exact step


def start_evolution(problem: Problem, settings: SearchSettings, rng: Generator) -> EvolutionSearch:
    """Start an evolution on a problem."""
    evaluator = problem.evaluator
    return EvolutionSearch(
        problem.costs, settings, rng, evaluator.costs.total, evaluator.per_row, evaluator.grid
    )


def evolve(
    search: EvolutionSearch,
    problem: Problem,
    settings: SearchSettings,
    time_limit: float | None,
    progress: SearchProgress,
) -> SearchResult:
    """Run an evolution to its end; chains of its subsets are made between generations."""
    evaluator, between = problem.evaluator, None
    # Links follow accuracy; other metrics have no chains made between generations.
    if evaluator.metric == "accuracy":
        linker = Linker(evaluator, settings.space(problem.n_features, evaluator.grid))
        between = chains_between(search, evaluator, linker)
    return run_search(search, evaluator, time_limit, progress.generation, between)


def chains_between(
    search: EvolutionSearch, evaluator: Evaluator, linker: Linker
) -> Callable[[], None]:
    """Return a function that gives a search the chains it wants, between two generations."""

    def between() -> None:
        if not search.wants_chains:
            return
        subsets, front = search.promising(linker.most_subsets), search.front[1]

        def make() -> StageArray:
            guessed = linker.guess(search.nearest(), front)
            return np.concatenate([linker.link(subsets, front), guessed])

        # Kept in the checkpoint: a search that goes on takes the chains that were made then.
        chains = evaluator.made_after(search.generation, make)
        search.take_chains(chains, evaluator.score(chains) if len(chains) else None)

    return between


class KnownMargins:
    """Keeps the margins of fitted subsets, and guesses those of others from their neighbours.

    Leaving out a feature, or adding one, changes the margins of a row by about as much whether or
    not another feature is there. So the margin of a subset is near to m(i) + m(j) - m(i, j), where
    i and j mark subsets that differ from it in one of two features, and in both.

    Subsets are numbers: feature i is in subset s if bit i of s is set.

    Parameters
    ----------
    n_features : int
    n_rows : int
        Margins of a subset.
    """

    def __init__(self, n_features: int, n_rows: int) -> None:
        self._n_features = n_features
        self._place: IntArray = np.full(2**n_features, -1, dtype=np.int64)
        self._margins: SingleArray = np.zeros((0, n_rows), dtype=np.float32)

    def lacking(self, numbers: IntArray) -> IntArray:
        """Those of some subsets whose margins are not known."""
        lacking: IntArray = numbers[self._place[numbers] < 0]
        return lacking

    def add(self, numbers: IntArray, margins: SingleArray) -> None:
        """Take the margins of subsets that were lacking."""
        self._place[numbers] = len(self._margins) + np.arange(len(numbers))
        self._margins = np.concatenate([self._margins, margins])

    def guess(self, numbers: IntArray) -> tuple[IntArray, SingleArray]:
        """Guess the margins of subsets; return those that have neighbours enough, and theirs."""
        guessed = np.zeros((len(numbers), self._margins.shape[1]), dtype=np.float32)
        squares = np.zeros(len(numbers), dtype=np.int64)
        guess_margins(
            self._margins, self._place, numbers, self._n_features, _SQUARES, guessed, squares
        )
        has_some = squares > 0
        return numbers[has_some], guessed[has_some]


@dataclass(slots=True, eq=False)
class Linker:
    """Finds the best chains of subsets whose models an evaluator has fitted.

    In a small space with one threshold it looks at all chains of all these subsets, by the means
    of exact search. Otherwise it follows a few chains per subset, through as many subsets as the
    number of rows allows.

    Attributes
    ----------
    evaluator : Evaluator
    space : DesignSpace
    """

    evaluator: Evaluator
    space: DesignSpace
    _is_exact: bool = field(init=False)
    _margins: KnownMargins | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Decide how to link subsets."""
        n_features, bank = self.space.n_features, self.evaluator.bank
        is_small = n_features <= MOST_FEATURES
        can_be = is_small and not self.space.allow_exclusion and self.evaluator.grid.is_single
        work = 2**n_features * n_features * bank.n_words
        n_bytes = SingleThresholdSpace.n_bytes(n_features, bank.n_words) if can_be else 0
        self._is_exact = can_be and work <= _EXACT_WORK and n_bytes <= _EXACT_BYTES
        # Margins are floats for each row of each subset, so they have a limit of their own.
        if self._is_exact and 2**n_features * bank.n_words * 64 * 4 <= _MARGIN_BYTES:
            self._margins = KnownMargins(n_features, bank.n_words * 64)

    @property
    def most_subsets(self) -> int:
        """Most subsets that one step can link, chain by chain."""
        levels = len(self.evaluator.grid.early) + len(self.evaluator.grid.last)
        per_pair = _NESTED / 2 * _WIDTH * levels * min(_MOST_WORDS, self.evaluator.bank.n_words)
        # Pairs of subsets are compared, so their number goes with the root of the work.
        return max(64, int(np.sqrt(_WORK / per_pair)))

    def link(self, subsets: WordArray, front: Scores) -> StageArray:
        """Return the best designs made of fitted subsets, of which `subsets` are promising.

        Designs that one of `front` beats are left out.
        """
        designs = self._link_all(front)
        if designs is None:
            designs = linked_front(self.evaluator, self.space, subsets, front)
        return designs

    def guess(self, near: IntArray, front: Scores) -> StageArray:
        """Return designs that promise to be on the front, with subsets that are not fitted.

        `near` has the numbers of such subsets. What their models would say is guessed from
        fitted neighbours.
        """
        if self._margins is None or not len(near):
            return np.zeros((0, self.space.n_features), dtype=np.int16)
        bank = self.evaluator.bank
        # Margins of fitted subsets are asked for once, and kept.
        lacking = self._margins.lacking(self._fitted)
        if len(lacking):
            self._margins.add(lacking, bank.margins(lacking.astype(np.uint64)[:, None]))
        numbers, margins = self._margins.guess(near)
        bits = bank.guessed_bits(margins, self.evaluator.grid.thresholds[0])
        designs = self._link_all(front, numbers, bits)
        if designs is None:
            return np.zeros((0, self.space.n_features), dtype=np.int16)
        return _with_few_new(designs, numbers)

    @property
    def _fitted(self) -> IntArray:
        return self.evaluator.subsets[:, 0].astype(np.int64)

    def _link_all(
        self,
        front: Scores,
        guessed: IntArray | None = None,
        guessed_bits: WordArray | None = None,
    ) -> StageArray | None:
        """Return the front of all chains of all subsets; None if it is too much to look at."""
        if not self._is_exact:
            return None
        subsets = SingleThresholdSpace.of_subsets(
            self.evaluator, self.space, self._fitted, guessed, guessed_bits
        )
        linked = find_front(subsets, front, _EXACT_BYTES)
        # Ctrl-C inside the proof must stop the search, too, not only this step.
        if linked.stopped is not None and linked.stopped.is_interrupted:
            raise KeyboardInterrupt
        return linked.designs if linked.stopped is None else None


def _with_few_new(designs: StageArray, new: IntArray) -> StageArray:
    """Keep designs that have some new subsets, until these are too many."""
    if not len(designs):
        return designs
    stages, wanted, kept = stages_of(designs), set(new.tolist()), []
    words = subset_words(stages, int(stage_counts(stages).max()))[:, :, 0]
    fresh: set[int] = set()
    for i, numbers in enumerate(words.astype(np.int64).tolist()):
        # Designs without a new subset need no guess: linking fitted subsets finds them.
        mine = wanted.intersection(numbers)
        # Each new subset costs a fit, so only so many are tried at a time.
        if mine and len(fresh | mine) <= _MOST_NEW:
            fresh |= mine
            kept.append(i)
    return designs[kept]


def linked_front(
    evaluator: Evaluator,
    space: DesignSpace,
    words: WordArray,
    front: Scores | None = None,
    width: int = _WIDTH,
) -> StageArray:
    """Return the best designs made of these subsets, one for each vector of objectives.

    If the last stage may answer everyone or reject some, designs that answer everyone are linked
    apart as well: chains that serve them would not be among the few that are followed.

    At most `width` chains that end in the same subset are followed. Designs that one of `front`
    beats are left out. All features together are always among the subsets. If there are more than
    65,536 scored rows, this many of them stand for all, and the best designs are those of a sample.
    """
    grid = evaluator.grid
    places, n_rows = evaluator.bank.sampled_words(_MOST_WORDS)
    subsets = _subsets(evaluator, words, places)
    fill_reach(subsets)
    known = _known(evaluator, front, n_rows)
    linked = [_linked(evaluator, space, subsets, known, n_rows, width, grid.last)]
    if grid.may_answer_all:
        linked.append(_linked(evaluator, space, subsets, known, n_rows, width, grid.last[:1]))
    return np.unique(np.concatenate(linked), axis=0) if len(linked) > 1 else linked[0]


def _linked(
    evaluator: Evaluator,
    space: DesignSpace,
    subsets: Subsets,
    known: FloatArray,
    n_rows: int,
    width: int,
    last_levels: tuple[int, ...],
) -> StageArray:
    """Link subsets whose last stage has one of some levels."""
    grid = evaluator.grid
    early = np.isin(np.arange(grid.n_levels), grid.early)
    last = np.isin(np.arange(grid.n_levels), last_levels)
    rules = LinkRules(
        n_rows=n_rows,
        max_stages=space.max_stages,
        may_stop=space.allow_exclusion,
        evaluation=float(evaluator.usual.evaluation),
        most_paid=float(evaluator.most_paid),
        slack=slack_of(evaluator.usual.features),
        shift=shift_of(n_rows),
        width=width,
        # Weights and missing values take the longer way in the kernel.
        is_plain=bool((subsets.weights == 1).all()) and not len(subsets.missing),
    )
    n_words = subsets.accepts.shape[2]
    room = len(subsets.cost) * width + (SPARE + 1) * width + 1
    chains = Chains(
        undecided=np.empty((room, n_words), dtype=np.uint64),
        counts=np.zeros((room, 5), dtype=np.int64),
        spent=np.zeros(room),
        behind=np.zeros(room),
        spans=np.zeros((len(subsets.cost), 2), dtype=np.int64),
    )
    chains.counts[0, 3:] = -1
    ends, spent = np.empty((_ROOM, 4), dtype=np.int64), np.empty(_ROOM)
    _, n_ends = link_subsets(
        rules,
        subsets,
        early,
        last,
        tries=np.array(sorted({*last_levels[:2], last_levels[-1]}), dtype=np.int64),
        known=known.copy(),
        chains=chains,
        ends=ends,
        ends_spent=spent,
        blocked=np.empty(n_words, dtype=np.uint64),
        leaves=np.zeros((grid.n_levels, 2), dtype=np.int64),
    )
    ends, spent = ends[:n_ends], spent[:n_ends]
    # Of designs with the same objectives, one with fewest stages stands for all.
    order = np.argsort(chains.counts[ends[:, 2], 2], kind="stable")
    accepted, wrong = ends[order, 0], ends[order, 1]
    first, _ = first_of_vectors(
        n_rows, accepted, wrong, spent[order], rules.slack, np.ones_like(accepted)
    )
    members = subsets_of_words(subsets.members, space.n_features)
    return _designs(ends[order[first]], chains, members, grid.n_levels)


def _known(evaluator: Evaluator, front: Scores | None, n_rows: int) -> FloatArray:
    """Return the allowances on so many rows that follow from a front and the cost limit."""
    share, none = n_rows / evaluator.bank.n_rows, np.zeros(0, dtype=np.int64)
    most_spent = share * evaluator.most_spent
    if front is None or share == 1:
        return allowances(n_rows, most_spent, none, none, none, front)
    front = front[front.feasible]
    accepted = np.floor(share * front.accepted).astype(np.int64)
    correct = np.floor(share * front.correct).astype(np.int64)
    spent = share * front.spent.astype(np.float64)
    return allowances(n_rows, most_spent, accepted, accepted - correct, spent)


def _subsets(evaluator: Evaluator, words: WordArray, places: IntArray) -> Subsets:
    """Collect some bits of subsets, from small to large, with all features at the end."""
    bank = evaluator.bank
    every = words_of_subsets(np.ones((1, bank.n_features), dtype=np.bool_))
    words = np.unique(np.concatenate([words, every]), axis=0)
    words = words[np.argsort(np.bitwise_count(words).sum(axis=1), kind="stable")]
    grid = evaluator.grid
    by_level = [bank.bits_of(words, grid, level, places) for level in range(grid.n_levels)]
    accepts, correct = np.stack(by_level, axis=2)
    missing = bank.missing.take(places, axis=1)
    return Subsets(
        members=words,
        cost=evaluator.usual.of_subsets(subsets_of_words(words, bank.n_features)).astype(float),
        accepts=accepts,
        errs=accepts & ~correct,
        reach=np.zeros((len(words) + 1, accepts.shape[2]), dtype=np.uint64),
        missing=missing if missing.any() else missing[:0],
        weights=bank.word_weights[places],
    )


def _designs(ends: IntArray, chains: Chains, subsets: BoolArray, n_levels: int) -> StageArray:
    """Follow each design back to its first stage; return their genes."""
    stages = np.full((len(ends), subsets.shape[1]), NEVER, dtype=np.int16)
    depth = chains.counts[ends[:, 2], 2] + 1
    levels = np.zeros((len(ends), int(depth.max(initial=1))), dtype=np.int64)
    for i, (element, label) in enumerate(ends[:, [3, 2]].tolist()):
        for stage in range(int(depth[i]) - 1, -1, -1):
            subset, levels[i, stage] = divmod(element, n_levels)
            stages[i, subsets[subset]] = stage
            element, label = chains.counts[label, 4], chains.counts[label, 3]
    return with_levels(stages, levels)
