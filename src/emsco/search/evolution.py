"""Evolution, our own search: it varies the best designs of an archive of non-dominated ones."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._kernels.variation import measure_distances
from emsco.designs.chromosomes import NEVER, compress
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.slots import UNBOUNDED, Slots
from emsco.designs.space import DesignSpace
from emsco.scoring.scores import Counts
from emsco.search.archive import Archive
from emsco.search.loop import Stop, StopReason
from emsco.search.operators import (
    initial_population,
    mutate,
    neighbours,
    random_designs,
    random_levels,
    recombine,
    vary_levels,
)
from emsco.search.settings import SearchSettings

MOST_FEATURES = 16  # whose subsets can be listed
_FADE = 0.2  # worth of a subset that differs in one more feature
# Most of all subsets that are proposed or scored, and new ones for each design of the budget. More
# where all chains of fitted subsets are found: then only a subset that is not fitted is missing.
_SOME, _MOST = (0.6, 0.18), (0.9, 0.3)
_SLOPE = 0.1  # weight of the summed shortfalls in a distance, beside the smallest one
_POOL = 4096
_DRAWS = 160
_PARENTS_AT_ONCE = 8
_STAGE_BIAS = 2.0
_DECIMALS = 12  # of accuracies that count as equal
_SMALL = 10**9  # designs; smaller spaces are searched thoroughly
# Most neighbours of a design; share of mutants in a generation; share of these with two parents;
# number of designs that become parents of mutants.
_THOROUGH, _WIDE = (40, 0.3, 0.0, 300), (10, 0.5, 0.8, 100)
_LEVEL_RATE = 0.3  # of children with a threshold that their parent does not have
_FIRST_CHAINS = 10  # generations until chains are first made of fitted subsets
_SMALL_FIRST = 5  # generations until new subsets are sought in small spaces
_MORE = 1.2  # growth of the number of subsets until chains are made again
_MUCH_MORE = 1.5  # the same if thresholds are searched, when chains take longer
# Generations in which the volume under a front must grow so much, where half of the labels of the
# cheapest design are wrong; where fewer are, less is left to gain.
_STEADY, _GROWTH = 15, 1e-3


class NearbySubsets:
    """Keeps the subsets that designs have had, and proposes others near to good ones.

    Subsets are numbers: feature i is in subset s if bit i of s is set.

    Parameters
    ----------
    space : DesignSpace
        Of at most 16 features.
    share : float
        Of all subsets, after which no more are proposed.
    """

    def __init__(self, space: DesignSpace, share: float) -> None:
        self._space = space
        numbers = np.arange(2**space.n_features)
        # Nothing is no subset. Those without the feature that comes first count as known, so that
        # nobody proposes them.
        needed = numbers[-1] if space.first is None else 2**space.first
        self._known: BoolArray = numbers & needed == 0
        self._n_left_out = int(self._known.sum())
        self.most = round(share * (len(numbers) - self._n_left_out))

    @property
    def n_known(self) -> int:
        """Number of subsets that designs have had."""
        return int(self._known.sum()) - self._n_left_out

    def note(self, designs: Designs) -> None:
        """Note the subsets of designs."""
        self._known[_numbers(designs)] = True

    def propose(self, used_by: Designs, n_subsets: int) -> StageArray:
        """Designs with new subsets, one each, near to the subsets of some designs.

        Each subset in use lends its worth to all others: a fifth for each feature in which they
        differ. Those with the largest sums come first. A proposed subset is the first stage, and
        all other features are the second one. If they can be left out, they are.
        """
        worth: FloatArray = np.zeros(len(self._known))
        worth[_numbers(used_by)] = 1.0
        worth[[0, -1]] = 0.0  # near to all or nothing is not near to anything good
        # One pass for each feature lends to the subset with and the one without it at once: after
        # all passes, a subset has lent 0.2ᵈ to each that differs from it in d features.
        for i in range(self._space.n_features):
            pairs = worth.reshape(-1, 2, 2**i)
            pairs[:] = pairs + _FADE * pairs[:, ::-1]
        worth[self._known] = 0.0
        # Stable, so that equal worth goes by number and the same run repeats to the bit.
        best = np.argsort(-worth, kind="stable")[:n_subsets]
        bought = best[worth[best] > 0, None] >> np.arange(self._space.n_features) & 1
        rest = NEVER if self._space.allow_exclusion else 1
        return np.where(bought == 1, 0, rest).astype(np.int16)


def _numbers(designs: Designs) -> IntArray:
    """Numbers of the subsets of designs, stage by stage."""
    return designs.subsets()[:, :, 0].astype(np.int64)


class _Pool:
    """Scored designs that may still become parents, the most promising first.

    Attributes
    ----------
    designs : Designs
    merits : ndarray of shape (n_designs, 4)
        Coverage, accuracy and share of the total cost saved. Then a handicap, added to the distance
        behind the front: for repeated objectives, for costs above a limit, and for each visit as a
        parent.
    """

    def __init__(self, archive: Archive, nothing: Designs) -> None:
        self._archive, self.designs = archive, nothing
        self.merits: FloatArray = np.zeros((0, 4))
        # Objectives that were seen, with coverage, accuracy and cost as three words of a key.
        self._vectors = Slots(UNBOUNDED, n_words=3)

    def take(self, designs: Designs, scores: Counts, row: float) -> None:
        """Add designs; `row` is the share of one row."""
        accuracy = np.round(scores.accuracy, _DECIMALS)
        vectors = np.column_stack([scores.accepted, accuracy, scores.spent])
        repeated = np.full(len(designs), row)
        with self._vectors.claim(vectors.view(np.uint64)) as claim:
            repeated[claim.new_places] = 0.0
        points, handicap = self._archive.points(scores), repeated + scores.excess
        self.designs = Designs.concatenate([self.designs, designs])
        self.merits = np.concatenate([self.merits, np.column_stack([points, handicap])])

    def sort(self, rng: Generator, *, by_turns: bool) -> None:
        """Sort designs by distance behind the front plus handicap, and keep the first.

        With `by_turns`, designs that answer everyone and others take turns. Answering everyone is
        one of many thresholds of a last stage, but what most users choose.
        """
        distances = np.empty(len(self.designs))
        front = self._archive.points(self._archive.front()[1])
        measure_distances(self.merits, front, _SLOPE, distances)
        # Ties in distance go by chance, not by age, so that old designs do not always come first.
        order = np.lexsort((rng.random(len(distances)), distances + self.merits[:, 3]))
        if by_turns:
            answers_all = self.merits[order, 0] == 1
            turn = np.where(answers_all, np.cumsum(answers_all), np.cumsum(~answers_all))
            order = order[np.argsort(turn, kind="stable")]
        self.keep(order[:_POOL])

    def keep(self, which: IntArray | BoolArray) -> None:
        """Keep some of the designs."""
        self.designs, self.merits = self.designs[which], self.merits[which]


class EvolutionSearch:
    """Varies the designs nearest to the front, and never asks for a design twice.

    Designs of a generation come from one of four sources:

    - *relatives*: neighbours and mutants of the best designs so far.
    - *new subsets*, where the features are few enough to list all subsets: once chains have been
      made, the main task is to have subsets fitted that good chains may be made of.
    - *chains*: the best designs made of all subsets that are fitted already. They are made outside,
      between generations, whenever `wants_chains`; `take_chains` takes them.
    - *strangers*: random designs, when nothing near the front is left.

    Parameters
    ----------
    costs : ndarray of shape (n_features,)
    settings : SearchSettings
    rng : numpy.random.Generator
    total_cost : float
        Cost of buying all features in one stage.
    per_row : float
        Units that a scored row of weight 1 counts in `Counts.n_rows`.
    grid : ThresholdGrid, optional
        Thresholds that stages may have; by default all have the same.

    Attributes
    ----------
    generation : int
        Generations after the first designs.
    stop_reason : StopReason or None
        Why the search has ended; None while it goes on.
    archive : Archive
        The non-dominated designs among all scored so far.
    space : DesignSpace
    """

    def __init__(
        self,
        costs: FloatArray,
        settings: SearchSettings,
        rng: Generator,
        total_cost: float,
        per_row: float = 1.0,
        grid: ThresholdGrid | None = None,
    ) -> None:
        self._grid = grid or ThresholdGrid(np.zeros((1, 1)))
        self.generation = -1
        self.stop_reason: StopReason | None = None
        self.archive = Archive(total_cost)
        self.space = settings.space(len(costs), self._grid)
        self._costs, self._settings, self._rng = costs, settings, rng
        self._per_row, self._n_designs = per_row, self.space.size
        # Where all subsets can be listed, and designs have room for one and a rest.
        is_small = 1 < len(costs) <= MOST_FEATURES
        has_room = self.space.max_stages > 1 or self.space.allow_exclusion
        links_all = self._grid.is_single and not self.space.allow_exclusion
        share, self._per_design = _MOST if links_all else _SOME
        self._nearby = NearbySubsets(self.space, share) if is_small and has_room else None
        self._linked_at = 0  # known subsets, or generations, when chains were last made
        # Everything at once: designs without parents have the levels that it passes on.
        at_once = np.zeros((1, len(costs)), dtype=np.int16)
        self._at_once = Designs.of(at_once, [self._grid.last[:1]])
        self._seen = Slots(UNBOUNDED, n_words=self._at_once.keys.shape[1])
        self._asked = self._first_designs()
        self._pool = _Pool(self.archive, self._asked[:0])
        self._same_front = 0
        self._volumes: list[FloatArray] = []

    def ask(self) -> Designs:
        """Propose designs to score next, all of them new."""
        return self._asked

    def tell(self, scores: Counts) -> None:
        """Take the scores of the designs last asked for, and breed the next ones."""
        self._same_front += 1
        self._take(self._asked, scores)
        if self._nearby:
            self._nearby.note(self._asked)
        self.generation += 1
        self.stop_reason = self._reason_to_stop()
        if self.stop_reason is None:
            self._asked = self._new_subsets() or self._relatives() or self._strangers()
            if not self._asked:
                self.stop_reason = StopReason(Stop.EXHAUSTED, n_designs=len(self._seen))

    @property
    def front(self) -> tuple[Designs, Counts]:
        """The simplest design of each non-dominated objective vector, the best balanced first."""
        return self.archive.front()

    def _take(self, designs: Designs, scores: Counts) -> None:
        """Add scored designs to the front and to the pool."""
        if self.archive.add(designs, scores):
            self._same_front = 0
        self._row = self._per_row / scores.n_rows
        self._pool.take(designs, scores, self._row)

    # Where the next designs come from

    def _new_subsets(self) -> Designs:
        """Designs with subsets that none has had, near to those of the front, if any are left."""
        settings, n_subsets = self._settings, 0
        if not self._nearby or not self._linked_at:
            return self._at_once[:0]
        budget = round(self._per_design * settings.population_size * settings.generations)
        left = min(self._nearby.most, budget) - self._nearby.n_known
        # Spread evenly over the generations that are left, rounded up.
        n_subsets = max(0, -(-left // (settings.generations - self.generation)))
        return self._unseen(self._unrelated(self._nearby.propose(self.front[0], n_subsets)))

    def _relatives(self) -> Designs:
        """Mutants and neighbours of the best designs; each visit is a handicap of one row."""
        pool, size = self._pool, self._settings.population_size
        pool.sort(self._rng, by_turns=self._grid.may_answer_all)
        most, share, crossover_rate, n_best = _THOROUGH if self._n_designs <= _SMALL else _WIDE
        # Mutants of promising designs or of pairs, a random number of genes away.
        best = pool.designs[:n_best]
        first, second = self._rng.integers(len(best), size=(2, round(share * size)))
        parents = best[first]
        crossed = recombine(parents.stages, best.stages[second], crossover_rate, self._rng)
        rate = 1 / self.space.n_features
        mutants = mutate(crossed, rate, _STAGE_BIAS, self.space, self._rng)
        children = [self._unseen(self._children(mutants, parents))]
        # Neighbours, a few parents at a time; a parent that has no more of them is left out.
        exhausted = np.zeros(len(pool.designs), dtype=np.bool_)
        for start in range(0, len(exhausted), _PARENTS_AT_ONCE):
            n_wanted = size - sum(map(len, children))
            if not n_wanted:
                break
            here = slice(start, start + _PARENTS_AT_ONCE)
            parents = pool.designs[here]
            stages, parent, gave_all = neighbours(parents.stages, self.space, _DRAWS, self._rng)
            near = self._children(stages, parents[parent])
            new = np.flatnonzero(self._seen.find(near.keys) < 0)
            parent = parent[new]
            # Position of each child among those of its own parent.
            place = np.arange(len(parent)) - np.searchsorted(parent, parent)
            chosen = new[place < most][:n_wanted]
            children.append(self._unseen(near[chosen]))
            exhausted[here] = gave_all & ~np.isin(np.arange(len(parents)), parent)
            pool.merits[here, 3] += self._row
        pool.keep(~exhausted)
        return Designs.concatenate(children)

    def _strangers(self) -> Designs:
        """Random unseen designs, once those near the front are used up; empty if none is left."""
        unseen = self._at_once[:0]
        while not unseen and len(self._seen) < self._n_designs:
            stages = random_designs(self._settings.population_size, self.space, self._rng)
            unseen = self._unseen(random_levels(stages, self._grid, self._rng))
        return unseen

    def _first_designs(self) -> Designs:
        """The one-stage design, prefixes of the features by cost, random two-stage designs."""
        n_features, space = self.space.n_features, self.space
        size = self._settings.population_size
        # The cheapest features first, the others at a second stage or never.
        rank = np.argsort(np.argsort(self._costs, kind="stable"))
        n_prefixes = min(n_features - 1, size // 3 + 1)
        lengths = np.unique(np.linspace(1, max(1, n_features - 1), n_prefixes, dtype=int))
        # A line for each length; True for features that come after the prefix.
        later = rank >= lengths[:, None]
        places = [1] * (space.max_stages > 1) + [NEVER] * space.allow_exclusion
        prefixes = (later * np.int16(place) for place in places)
        stages = np.concatenate([self._at_once.stages, *prefixes])
        if space.first is not None:
            stages[:, space.first] = 0
        n_random = min(max(1, size - len(stages)), 100) * (self._n_designs > 1)
        chance = initial_population(n_random, space, _STAGE_BIAS, self._rng)
        stages = compress(np.concatenate([stages, chance])[:size])
        return self._unseen(self._unrelated(stages))

    def _unrelated(self, stages: StageArray) -> Designs:
        """Designs with the first level of each kind at all their stages."""
        return self._at_once.pass_on(stages, self._grid.early[0])

    def _children(self, stages: StageArray, parents: Designs) -> Designs:
        """Children with the thresholds of their parents, some of them changed."""
        inherited = parents.pass_on(stages, self._grid.early[0])
        return vary_levels(inherited, _LEVEL_RATE, self._grid, self._rng)

    def _unseen(self, designs: Designs) -> Designs:
        """The distinct designs not seen before, which now count as seen."""
        with self._seen.claim(designs.keys) as claim:
            pass
        return designs[claim.new_places]

    # Chains of fitted subsets, made between generations

    @property
    def wants_chains(self) -> bool:
        """Whether it is time to make chains of the subsets fitted so far."""
        if self.stop_reason is not None:
            # At the end once more, unless there is only one design: chains may have been left to
            # find.
            return self._n_designs > 1
        if not self._nearby:
            # Where subsets are too many to list, chains are made each time the generations have
            # doubled.
            return self.generation >= max(_FIRST_CHAINS, 2 * self._linked_at)
        if not self._linked_at:
            return self.generation >= _SMALL_FIRST - 1
        more = _MORE if self._grid.is_single else _MUCH_MORE
        return self._nearby.n_known >= more * self._linked_at

    def promising(self, most_subsets: int) -> WordArray:
        """Subsets of the designs that come nearest to the front, the nearest first."""
        self._pool.sort(self._rng, by_turns=self._grid.may_answer_all)
        words = Designs.concatenate([self.front[0], self._pool.designs]).subsets()
        flat = words.reshape(-1, words.shape[2])
        # Back in the order in which they came, which `unique` loses.
        first = np.sort(np.unique(flat, axis=0, return_index=True)[1])
        return flat[first[:most_subsets]]

    def take_chains(self, designs: Designs, scores: Counts) -> None:
        """Take designs that were made of fitted subsets, and their scores."""
        self._linked_at = self.generation
        if self._nearby:
            self._nearby.note(designs)
            self._linked_at = self._nearby.n_known
        with self._seen.claim(designs.keys) as claim:
            new = claim.new_places
        if len(new):
            self._take(designs[new], scores[new])

    # The end

    def _reason_to_stop(self) -> StopReason | None:
        settings, volumes = self._settings, self._volumes
        if self._n_designs == 1:
            return StopReason(Stop.EXHAUSTED, n_designs=1)
        if self.generation >= settings.generations:
            return StopReason(Stop.GENERATIONS, settings.generations)
        if settings.patience is not None:
            if self._same_front >= settings.patience:
                return StopReason(Stop.SAME_FRONT, settings.patience)
            return None
        scores = self.front[1]
        volumes.append(_volumes(self.archive.points(scores)))
        if len(volumes) > _STEADY:
            # Twice the share of wrong labels of the worst design that answers everyone, at most 1.
            # Where one class has nearly all rows, accuracies lie between its share and 1.
            answering = scores.accuracy[scores.coverage == 1]
            left = min(1.0, 2 * (1 - answering.min())) if len(answering) else 1.0
            if (volumes[-1] - volumes[-1 - _STEADY] <= _GROWTH * left).all():
                return StopReason(Stop.STEADY_FRONT, _STEADY)
        return None


def _volumes(points: FloatArray) -> FloatArray:
    """Volume under a front, and area under those of its points that answer everyone."""
    from moocore import hypervolume

    answering = points[points[:, 0] == 1, 1:]
    area = hypervolume(answering, ref=np.zeros(2), maximise=True) if len(answering) else 0.0
    return np.array([hypervolume(points, ref=np.zeros(3), maximise=True), area])
