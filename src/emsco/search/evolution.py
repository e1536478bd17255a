"""Evolution, our own search: it varies the best designs of an archive of non-dominated ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._kernels.variation import measure_distances
from emsco.designs.chromosomes import (
    NEVER,
    compress,
    design_keys,
    designs_of_keys,
    stage_counts,
    stages_of,
    subset_words,
)
from emsco.designs.slots import UNBOUNDED, Slots
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid, inherit_levels
from emsco.scoring.scores import Scores
from emsco.search.archive import Archive
from emsco.search.loop import Stop, StopReason
from emsco.search.operators import (
    initial_population,
    mutate,
    n_steps,
    neighbours,
    random_designs,
    random_levels,
    recombine,
    vary_levels,
)
from emsco.search.settings import SearchSettings

MOST_FEATURES = 16  # whose subsets can be listed
_FADE = 0.2  # worth of a subset that differs in one more feature
_SHARE = 0.6  # most of all subsets that are proposed or scored
_SLOPE = 0.1  # weight of the summed shortfalls in a distance, beside the smallest one
_POOL = 4096
_DRAWS = 160
_PARENTS_AT_ONCE = 8
_STAGE_BIAS = 2.0
_SIDE_TURN = 3  # the side line has every third generation,
_SIDE_UNTIL = 60  # until this one
_DECIMALS = 12  # of a balanced accuracy
_SMALL = 10**9  # designs; smaller spaces are searched thoroughly
_LEVEL_RATE = 0.3  # of children with a threshold that their parent does not have
_FIRST_CHAINS = 10  # generations until chains are first made of fitted subsets
_SMALL_FIRST = 5  # generations until new subsets are sought in small spaces
_MORE = 1.2  # growth of the number of subsets until chains are made again
_MUCH_MORE = 1.5  # the same if thresholds are searched, when chains take longer
# Generations in which the volume under a front must grow so much, where half of the labels of the
# cheapest design are wrong; where fewer are, less is left to gain.
_STEADY, _GROWTH = 15, 1e-3
_SUBSETS = 0.18  # new subsets for each design of the budget


class NearbySubsets:
    """Keeps the subsets that designs have had, and proposes others near to good ones.

    Each subset in use lends its worth to all others: a fifth for each feature in which they
    differ. Those with the largest sums come first.

    Parameters
    ----------
    space : DesignSpace
        Of at most 16 features.
    """

    def __init__(self, space: DesignSpace) -> None:
        self._space = space
        self._known: BoolArray = np.zeros(2**space.n_features, dtype=np.bool_)
        self._known[0] = True  # nothing is no subset
        if space.first is not None:
            every = np.arange(len(self._known))
            # Subsets without the feature that comes first count as known, so that nobody proposes
            # them.
            self._known[every >> space.first & 1 == 0] = True
        self._n_left_out = int(self._known.sum())

    @property
    def n_known(self) -> int:
        """Number of subsets that designs have had."""
        return int(self._known.sum()) - self._n_left_out

    @property
    def max_subsets(self) -> int:
        """Number of subsets after which no more are proposed."""
        return round(_SHARE * (len(self._known) - self._n_left_out))

    def note(self, designs: StageArray) -> None:
        """Note the subsets of designs."""
        self._known[_numbers(designs)] = True

    def propose(self, used_by: StageArray, n_subsets: int) -> StageArray:
        """Designs with new subsets, one each, near to the subsets of some designs.

        A proposed subset is the first stage, and all other features are the second one. If they
        can be left out, they are.
        """
        best = self.nearest(used_by, n_subsets)
        # Bit i of a subset's number is feature i.
        bought = best[:, None] >> np.arange(self._space.n_features) & 1
        rest = -1 if self._space.allow_exclusion else 1
        return np.where(bought == 1, 0, rest).astype(np.int16)

    def nearest(self, used_by: StageArray, n_subsets: int) -> IntArray:
        """Numbers of new subsets near to the subsets of some designs, the nearest first."""
        worth: FloatArray = np.zeros(len(self._known))
        worth[_numbers(used_by)] = 1.0
        worth[[0, -1]] = 0.0  # near to all or nothing is not near to anything good
        # One pass for each feature lends to the subset with and the one without it at once: after
        # all passes, a subset has lent 0.2ᵈ to each that differs from it in d features.
        for i in range(self._space.n_features):
            pairs = worth.reshape(-1, 2, 2**i)
            pairs[:] = pairs + _FADE * pairs[:, ::-1]
        worth[self._known] = -1.0
        # Stable, so that equal worth goes by number and the same run repeats to the bit.
        best = np.argsort(-worth, kind="stable")[:n_subsets]
        nearest: IntArray = best[worth[best] > 0]
        return nearest


def _numbers(designs: StageArray) -> IntArray:
    """Numbers of the subsets of designs: feature i is in subset s if bit i of s is set."""
    stages = stages_of(designs)
    words = subset_words(stages, int(stage_counts(stages).max(initial=1)))
    numbers: IntArray = np.unique(words[:, :, 0].astype(np.int64))
    return numbers


@dataclass(frozen=True, slots=True)
class _Variation:
    """How to breed a generation."""

    per_parent: int  # most neighbours of a design
    mutants: float  # share of mutants in a generation
    crossed: float  # share of mutants with two parents
    best: int  # number of designs that become parents of mutants


_THOROUGH = _Variation(per_parent=40, mutants=0.3, crossed=0.0, best=300)
_WIDE = _Variation(per_parent=10, mutants=0.5, crossed=0.8, best=100)


class _Line:
    """A line of descent: designs from the same first ones, and the front they have reached.

    Scored designs that may still become parents are its pool.

    Attributes
    ----------
    asked : ndarray of shape (n_designs, n_features)
        Designs to score next, or those being scored.
    archive : Archive
    designs : ndarray of shape (n_pool, n_features)
        The pool.
    points : ndarray of shape (n_pool, 3)
        Coverage, accuracy and share of the total cost saved.
    handicap : ndarray of shape (n_pool,)
        Added to the distance behind the front: for repeated objectives, for costs above a limit,
        and for each visit as a parent.
    by_turns : bool
        Whether designs that answer everyone and others become parents by turns. Answering everyone
        is one of many thresholds of a last stage, but what most users choose.
    """

    def __init__(self, first: StageArray, total_cost: float, *, by_turns: bool) -> None:
        self.by_turns = by_turns
        self.archive = Archive(first.shape[1], total_cost)
        self.asked = first
        self.designs = self.archive.designs
        self.points: FloatArray = np.zeros((0, 3))
        self.handicap: FloatArray = np.zeros(0)
        self._total_cost = total_cost
        # Objectives that were seen, with coverage, accuracy and cost as three words of a key.
        self._vectors = Slots(UNBOUNDED, n_words=3)

    def take(self, designs: StageArray, scores: Scores, row: float) -> None:
        """Add designs to the pool; `row` is the share of one row."""
        # Keys are words, so a float lends its bits.
        spent = np.asarray(scores.spent, dtype=np.float64).view(np.uint64)
        if scores.by_class is None:
            correct = scores.correct.astype(np.uint64)
        else:  # equal means may differ by rounding
            correct = np.round(scores.accuracy, _DECIMALS).view(np.uint64)
        keys = np.column_stack([scores.accepted.astype(np.uint64), correct, spent])
        repeated = np.ones(len(keys))  # 1 for objectives that an earlier design had
        with self._vectors.claim(keys) as claim:
            repeated[claim.new_places] = 0
        self._add(designs, self.points_of(scores), repeated * row + scores.beyond)

    def join(self, other: _Line, archive: Archive) -> None:
        """Take over the pool of another line; `archive` holds the designs of both."""
        self.archive = archive
        self.asked = np.concatenate([self.asked, other.asked])
        self._add(other.designs, other.points, other.handicap)

    def sort(self, rng: Generator) -> None:
        """Sort the pool by distance behind the front plus handicap, and cut it."""
        distances = np.empty(len(self.points))
        front = self.points_of(self.archive.front()[1])
        measure_distances(self.points, front, _SLOPE, distances)
        # Ties in distance go by chance, not by age, so that old designs do not always come first.
        order = np.lexsort((rng.random(len(distances)), distances + self.handicap))
        if self.by_turns:
            answers_all = self.points[order, 0] == 1
            place = np.where(answers_all, np.cumsum(answers_all), np.cumsum(~answers_all))
            order = order[np.argsort(place, kind="stable")]
        self.keep(order[:_POOL])

    def keep(self, which: IntArray | BoolArray) -> None:
        """Keep some designs of the pool."""
        self.designs = self.designs[which]
        self.points = self.points[which]
        self.handicap = self.handicap[which]

    def _add(self, designs: StageArray, points: FloatArray, handicap: FloatArray) -> None:
        self.designs = np.concatenate([self.designs, designs])
        self.points = np.concatenate([self.points, points])
        self.handicap = np.concatenate([self.handicap, handicap])

    def points_of(self, scores: Scores) -> FloatArray:
        """Coverage, accuracy and share of the total cost saved, of each design."""
        saved = 1 - scores.cost / self._total_cost
        return np.column_stack([scores.coverage, scores.accuracy, saved])


class EvolutionSearch:
    """Varies the designs nearest to the front, and never asks for a design twice.

    Designs of a generation come from one of four sources:

    - *relatives*: neighbours and mutants of the best designs of a line of descent. A single line
      may stay in the region where it began. Therefore a side line, with first designs of its own,
      is bred apart every third generation, and joins the main line after 60.
    - *new subsets*, where the features are few enough to list all subsets: once chains have been
      made, the main task is to have subsets fitted that good chains may be made of.
    - *chains*: the best designs made of all subsets that are fitted already. They are made outside,
      between generations, whenever `wants_chains`; `take_chains` takes them.
    - *strangers*: random designs, when nothing near the front is left.

    A gene has the stage of its feature in the low bits and the level of that stage's threshold in
    the high ones. Operators work on the stages alone (`stages_of`); children then inherit levels.

    Parameters
    ----------
    costs : ndarray of shape (n_features,)
    settings : SearchSettings
    rng : numpy.random.Generator
    total_cost : float, optional
        Cost of buying all features in one stage; by default the sum of `costs`.
    per_row : float
        Units that a scored row of weight 1 counts in `Scores.n_rows`.
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
        total_cost: float | None = None,
        per_row: float = 1.0,
        grid: ThresholdGrid | None = None,
    ) -> None:
        if total_cost is None:
            total_cost = float(costs.sum())
        self._grid = grid or ThresholdGrid(np.zeros((1, 1)))
        self.generation = -1
        self.stop_reason: StopReason | None = None
        self.archive = Archive(len(costs), total_cost)
        self._costs = costs
        self._settings = settings
        self._rng = rng
        self._per_row = per_row
        self.space = settings.space(len(costs), self._grid)
        self._n_designs = self.space.size
        # Where all subsets can be listed, and designs have room for one and a rest.
        has_room = self.space.max_stages > 1 or self.space.allow_exclusion
        is_small = has_room and 1 < len(costs) <= MOST_FEATURES
        self._nearby = NearbySubsets(self.space) if is_small else None
        self._linked_at = 0
        self._variation = _THOROUGH if self._n_designs <= _SMALL else _WIDE
        # Four genes of 16 bits make a word.
        self._seen = Slots(UNBOUNDED, n_words=-(-len(costs) // 4))
        # The order counts: designs of the main line are seen before the side line draws its own.
        by_turns = self._grid.may_answer_all
        self._main = _Line(self._first_designs(), total_cost, by_turns=by_turns)
        self._side: _Line | None = _Line(self._first_designs(), total_cost, by_turns=by_turns)
        self._line = self._main
        self._front: tuple[StageArray, Scores] | None = None
        self._same_front = 0
        self._volumes: list[FloatArray] = []

    def ask(self) -> StageArray:
        """Propose designs to score next, all of them new."""
        return self._line.asked

    def tell(self, scores: Scores) -> None:
        """Take the scores of the designs last asked for, and breed the next ones."""
        line, designs = self._line, self._line.asked
        # The side line starts behind the front, so it does not count against patience.
        if line is self._main:
            self._same_front += 1
        self._add(line, designs, scores)
        if self._nearby:
            self._nearby.note(designs)
        self.generation += 1
        if self._settings.patience is None:
            self._volumes.append(_volumes(self._main.points_of(self.front[1])))
        self.stop_reason = self._reason_to_stop()
        if self.stop_reason is not None:
            return
        line.asked = self._next_designs(line, self._per_row / scores.n_rows)
        self._line = self._next_line()
        if not len(self._line.asked):
            self._line.asked = self._strangers()
        if not len(self._line.asked):
            self.stop_reason = StopReason(Stop.EXHAUSTED, n_designs=len(self._seen))

    def _add(self, line: _Line, designs: StageArray, scores: Scores) -> None:
        """Add scored designs to the front and to a line of descent."""
        if self.archive.add(designs, scores):
            self._same_front = 0
        if line.archive is not self.archive:
            line.archive.add(designs, scores)
        line.take(designs, scores, self._per_row / scores.n_rows)
        self._front = self.archive.front()

    def _next_designs(self, line: _Line, row: float) -> StageArray:
        """Designs that a line asks for next; none at the end of the side line."""
        if line is self._side and self.generation >= _SIDE_UNTIL:
            return line.asked[:0]
        if self._nearby and self._linked_at:
            # Subsets that no design has had, near to those of the front, if any are left.
            settings = self._settings
            budget = round(_SUBSETS * settings.population_size * settings.generations)
            left = min(self._nearby.max_subsets, budget) - self._nearby.n_known
            # Spread evenly over the generations that are left, rounded up.
            n_subsets = -(-left // (settings.generations - self.generation))
            if n_subsets > 0:
                near = self._nearby.propose(self.front[0], n_subsets)
                if len(new := self._unseen(self._grid.complete(near))):
                    return new
        return self._breed(line, row)

    @property
    def wants_chains(self) -> bool:
        """Whether it is time to make chains of the subsets fitted so far."""
        if self.stop_reason is not None:
            # At the end once more, unless there is only one design: chains may have been left to
            # find.
            return self._n_designs > 1
        if self._nearby:
            is_first = not self._linked_at and self.generation >= _SMALL_FIRST - 1
            more = _MORE if self._grid.is_single else _MUCH_MORE
            return is_first or self._nearby.n_known >= more * self._linked_at > 0
        # Where subsets are too many to list, chains are made each time the generations have
        # doubled.
        return self.generation >= max(_FIRST_CHAINS, 2 * self._linked_at)

    def promising(self, most_subsets: int) -> WordArray:
        """Subsets of the designs that come nearest to the front, the nearest first."""
        self._main.sort(self._rng)
        stages = stages_of(np.concatenate([self.front[0], self._main.designs]))
        words = subset_words(stages, int(stage_counts(stages).max()))
        flat = words.reshape(-1, words.shape[2])
        # Back in the order in which they came, which `unique` loses.
        first = np.sort(np.unique(flat, axis=0, return_index=True)[1])
        return flat[first[:most_subsets]]

    def nearest(self) -> IntArray:
        """Numbers of subsets that no design has had, the nearest to those of the front first.

        Only the subsets of few features have numbers.
        """
        if self._nearby is None:
            return np.zeros(0, dtype=np.int64)
        return self._nearby.nearest(self.front[0], 2 ** len(self._costs))

    def take_chains(self, designs: StageArray, scores: Scores | None) -> None:
        """Take designs that were made of fitted subsets, and their scores if there are any."""
        self._linked_at = self.generation
        if self._nearby:
            self._nearby.note(designs)
            # In small spaces the count of known subsets says when the next chains are due, not the
            # generation.
            self._linked_at = self._nearby.n_known
            self._join_lines()
        had = {design.tobytes() for design in self.archive.designs}
        new = []
        for i, design in enumerate(designs):
            if design.tobytes() not in had:
                had.add(design.tobytes())
                new.append(i)
        if scores is None or not new:
            return
        # Only to count them as seen: breeding must not ask for them again.
        self._unseen(designs[new])
        self._add(self._main, designs[new], scores[np.array(new)])

    @property
    def front(self) -> tuple[StageArray, Scores]:
        """The simplest design of each non-dominated objective vector, the best balanced first."""
        if self._front is None:
            raise RuntimeError("tell() the scores of the first designs first.")
        return self._front

    def _next_line(self) -> _Line:
        """Line of the next generation. The side line joins when its last designs are scored."""
        if self._side is None:
            return self._main
        if self.generation + 1 < _SIDE_UNTIL:
            turns = [self._main, self._side]
            # The second of each three generations is the side line's, if it has designs to ask for.
            if self.generation % _SIDE_TURN == _SIDE_TURN - 2:
                turns.reverse()
            return turns[0] if len(turns[0].asked) else turns[1]
        if len(self._side.asked):
            return self._side
        self._join_lines()
        return self._main

    def _join_lines(self) -> None:
        """Add what the side line has found to the main line, which goes on alone."""
        if self._side is None:
            return
        self._main.join(self._side, self.archive)
        self._side, self._line = None, self._main

    def _first_designs(self) -> StageArray:
        """The one-stage design, prefixes of the features by cost, random two-stage designs."""
        n_features, space = len(self._costs), self.space
        one_stage = np.zeros((1, n_features), dtype=np.int16)
        if self._n_designs == 1:
            return self._grid.complete(one_stage)
        size = self._settings.population_size
        # The cheapest features first, the others at a second stage or never.
        # The rank of each feature by cost: where it stands in the sorted order.
        rank = np.argsort(np.argsort(self._costs, kind="stable"))
        n_prefixes = min(n_features - 1, size // 3 + 1)
        lengths = np.unique(np.linspace(1, max(1, n_features - 1), n_prefixes, dtype=int))
        # A line for each length; True for features that come after the prefix.
        later = rank[None, :] >= lengths[:, None]
        places = [1] * (space.max_stages > 1) + [NEVER] * space.allow_exclusion
        prefixes = np.concatenate([later * np.int16(place) for place in places])
        if space.first is not None:
            prefixes[:, space.first] = 0
        prefixes = compress(prefixes)
        n_random = min(max(1, size - len(prefixes) - 1), 100)
        chance = initial_population(n_random, space, _STAGE_BIAS, self._rng)
        first = np.concatenate([one_stage, prefixes, chance])[:size]
        return self._unseen(self._grid.complete(first))

    def _strangers(self) -> StageArray:
        """Random unseen designs, once those near the front are used up; empty if none is left."""
        while len(self._seen) < self._n_designs:
            stages = random_designs(self._settings.population_size, self.space, self._rng)
            if len(unseen := self._unseen(random_levels(stages, self._grid, self._rng))):
                return unseen
        return self._line.asked[:0]

    def _breed(self, line: _Line, visit: float) -> StageArray:
        """Unseen relatives of a line's best designs; each visit adds `visit` to the handicap."""
        line.sort(self._rng)
        size, variation = self._settings.population_size, self._variation
        # Mutants of promising designs or of pairs, a random number of genes away.
        best = line.designs[: variation.best]
        n_mutants = round(variation.mutants * size)
        first, second = best[self._rng.integers(len(best), size=(2, n_mutants))]
        # Levels are put back afterwards: a crossed child inherits those of its first parent.
        mutants = recombine(stages_of(first), stages_of(second), variation.crossed, self._rng)
        mutants = mutate(mutants, 1 / len(self._costs), _STAGE_BIAS, self.space, self._rng)
        children = [self._unseen(self._with_levels(mutants, first))]
        # Neighbours, a few parents at a time; a parent that has no more of them is left out.
        exhausted = np.zeros(len(line.designs), dtype=np.bool_)
        for start in range(0, len(exhausted), _PARENTS_AT_ONCE):
            n_wanted = size - sum(map(len, children))
            if not n_wanted:
                break
            here = slice(start, start + _PARENTS_AT_ONCE)
            parents = line.designs[here]
            stages, parent = neighbours(stages_of(parents), self.space, _DRAWS, self._rng)
            near = self._with_levels(stages, parents[parent])
            new = self._seen.find(design_keys(near)) < 0
            near, parent = near[new], parent[new]
            n_new = np.bincount(parent, minlength=len(parents))
            # Position of each child among those of its own parent: its number less that of the
            # first.
            place = np.arange(len(parent)) - np.repeat(np.cumsum(n_new) - n_new, n_new)
            chosen = np.flatnonzero(place < variation.per_parent)[:n_wanted]
            children.append(self._unseen(near[chosen]))
            # No child is new although all steps were drawn: nothing is left to find around this
            # parent.
            all_drawn = n_steps(stages_of(parents), self.space.allow_exclusion) <= _DRAWS
            exhausted[here] = all_drawn & (n_new == 0)
            line.handicap[here] += visit
        line.keep(~exhausted)
        return np.concatenate(children)

    def _with_levels(self, stages: StageArray, parents: StageArray) -> StageArray:
        """Children with the thresholds of their parents, some of them changed."""
        inherited = inherit_levels(stages, parents, self._grid)
        return vary_levels(inherited, _LEVEL_RATE, self._grid, self._rng)

    def _unseen(self, designs: StageArray) -> StageArray:
        """The distinct designs not seen before, which now count as seen."""
        with self._seen.claim(design_keys(designs)) as claim:
            pass
        return designs_of_keys(claim.new_keys, designs.shape[1])

    def _reason_to_stop(self) -> StopReason | None:
        settings = self._settings
        if self._n_designs == 1:
            return StopReason(Stop.EXHAUSTED, n_designs=1)
        if self.generation >= settings.generations:
            return StopReason(Stop.GENERATIONS, settings.generations)
        if settings.patience is not None and self._same_front >= settings.patience:
            return StopReason(Stop.SAME_FRONT, settings.patience)
        if len(self._volumes) > _STEADY:
            growth = self._volumes[-1] - self._volumes[-1 - _STEADY]
            if (growth <= _GROWTH * self._left_to_gain()).all():
                return StopReason(Stop.STEADY_FRONT, _STEADY)
        return None

    def _left_to_gain(self) -> float:
        """Twice the share of wrong labels of the worst design that answers everyone, at most 1.

        Where one class has nearly all rows, accuracies of the front lie between its share and 1.
        """
        _, scores = self.front
        answering = scores.accuracy[scores.coverage == 1]
        return min(1.0, 2 * (1 - float(answering.min()))) if len(answering) else 1.0


def _volumes(points: FloatArray) -> FloatArray:
    """Volume under a front, and area under those of its points that answer everyone."""
    from moocore import hypervolume

    answering = points[points[:, 0] == 1, 1:]
    area = hypervolume(answering, ref=np.zeros(2), maximise=True) if len(answering) else 0.0
    return np.array([hypervolume(points, ref=np.zeros(3), maximise=True), area])
