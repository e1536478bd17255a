"""Designs that branch: a gate, chains for the rows of each part, and the best sums of both.

Chains are searched first, on all rows. Then the best gate is found (`emsco.fitting.gates`), and
chains are searched among the rows of each part, with models of their own. What a tree scores is
the sum of what its parts score (`emsco.search.sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, Report
from emsco._base.workers import slices
from emsco.designs.chromosomes import NEVER
from emsco.designs.constraints import Blocks, Constraints
from emsco.designs.design import Design
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.fitting.gates import distinct, find_gate, parts_of_rows, priced_subsets
from emsco.fitting.refine import designs_of_subsets, spread_order
from emsco.fitting.workbench import Workbench
from emsco.front.point import NamedDesigns, ParetoPoint
from emsco.models.stage_models import JoinedModels, StageModels, averaged, parts_of
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import Counts
from emsco.scoring.walk import Fork, Part, Walk
from emsco.search.gates import Gate, PricedSubsets
from emsco.search.loop import SearchResult, Stop
from emsco.search.settings import SearchSettings
from emsco.search.sums import added_up, best_sums, in_layers

_POOL = 1000  # subsets of the search that are tried in a part
_STEPS = 16  # blocks that are added one by one
_AT_ONCE = 64  # models that are quick to fit, between looks at the clock
_FINISHED = 24  # subsets of a part that get models of their own
_DESIGNS = 80  # of a part that are added up
_RUNNERS_UP = 200  # trees that might as well have been chosen
_OTHER_HALVES = 1  # a seed, so that trees are not measured on the halves that chose the gate
_BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)  # at which branches must earn their place


@dataclass(frozen=True, slots=True, eq=False)
class SearchedPart:
    """Chains that were searched among the rows of one part.

    Attributes
    ----------
    bench : Workbench
        The models of the part.
    chains : Designs
        Chains over its blocks; what the gate buys is in their first stage.
    n_best : int
        So many of them, the first, are the best that were found. The others are those of them that
        answer everyone, with other thresholds of the last stage.
    way : Part
        The rows that go this way.
    """

    bench: Workbench
    chains: Designs
    n_best: int
    way: Part

    def sums(self, weights: FloatArray) -> FloatArray:
        """Figures of each design by each of several weights of the part's rows, to be added up.

        Weights have the shape (n_weights, n_rows), figures (n_weights, n_designs, 3).
        """
        scored = self.way.walk.scored
        sums = np.empty((len(weights), len(self.chains), 3))
        for i, outcomes in enumerate(self.way.walk.outcomes(self.chains)):
            accepted = outcomes.given < scored.n_classes
            wrong = accepted & (outcomes.given != scored.labels)
            sums[:, i] = weights @ np.column_stack([accepted, -1.0 * wrong, -outcomes.paid])
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class Branched:
    """Trees that share a gate, and the parts that they are made of.

    Attributes
    ----------
    bench : Workbench
        The models of all rows, which judge the gate alone.
    parts : tuple of SearchedPart
    trees : Designs
    scores : Counts
        Of the trees.
    runners_up : Designs
        Others that might as well have been chosen, for expected figures.
    """

    bench: Workbench
    parts: tuple[SearchedPart, ...]
    trees: Designs
    scores: Counts
    runners_up: Designs

    @property
    def ways(self) -> tuple[Part, ...]:
        """The rows that go each way after the gate."""
        return tuple(part.way for part in self.parts)

    def unbeaten(self, result: SearchResult) -> tuple[Branched | None, SearchResult]:
        """Keep the trees, and the chains of a search, that none of the others beats.

        The first one is None if no tree is left.
        """
        from moocore import is_nondominated

        figures = [
            np.column_stack([one.coverage, one.accuracy, -one.cost])
            for one in (result.scores, self.scores)
        ]
        kept = is_nondominated(np.concatenate(figures), maximise=True, keep_weakly=True)
        chains, trees = map(np.flatnonzero, np.split(kept, [len(result.designs)]))
        if not trees.size:
            return None, result
        if chains.size:  # the rest of a fit needs some
            result = result.take(chains)
        if result.stop_reason.cause is Stop.PROVEN:
            reason = replace(result.stop_reason, cause=Stop.CHAINS_SETTLED)
            result = replace(result, stop_reason=reason)
        return self.take(trees), result

    def take(self, places: IntArray) -> Branched:
        """Return the trees at these places alone."""
        return replace(self, trees=self.trees[places], scores=self.scores[places])

    def points(self) -> list[ParetoPoint]:
        """Return the points of the trees, as they are scored."""
        per_row = self.bench.data.per_row
        return [
            ParetoPoint.from_scores(fork.design, self.scores, i, per_row=per_row)
            for i, fork in enumerate(self.trees.forks or ())
        ]

    def models(self, designs: Sequence[Design], refit: str) -> list[StageModels]:
        """Fit the stage models of trees: of all rows at the gate, of each part after it."""
        # What each design knows at the gate, and in each part.
        known = [np.split(one.subsets(), one.branches[0].starts) for one in designs]
        benches = [self.bench, *(part.bench for part in self.parts)]
        pieces = [
            bench.models_of(some, refit)
            for bench, some in zip(benches, zip(*known, strict=True), strict=True)
        ]
        banks = tuple(range(len(pieces)))
        return [
            averaged(
                [
                    JoinedModels(of_split, banks)
                    for of_split in zip(*map(parts_of, of_tree), strict=True)
                ]
            )
            for of_tree in zip(*pieces, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class BranchSearch:
    """Looks for designs that branch, once chains are found.

    Subsets of a part are compared by quick models: those of the search, which were fitted on all
    rows, or those of the part where all models are quick. The best get models of the part's own,
    which make up its chains.

    Attributes
    ----------
    request : SearchSettings
        For the stages after a gate.
    grid : ThresholdGrid
    max_ways : int
        Most parts of a branch.
    is_over : callable
        Tells when the time is over.
    say : callable
        Takes a sentence about what was tried.
    """

    request: SearchSettings
    grid: ThresholdGrid
    max_ways: int
    is_over: Callable[[], bool]
    say: Callable[[str], None]

    def branched(
        self,
        searched: Workbench,
        scored: Designs,
        bench: Workbench,
        chains: Designs,
        report: Report | None,
    ) -> Branched | None:
        """Find trees; None if no gate promises anything, or none of its trees earns its place.

        `searched` has the models of the search and `scored` its designs; `bench` has the models
        that count, and `chains` are the best designs by these.

        Raises
        ------
        TimeoutError
            If the time is over before all parts are searched.
        """
        quick = searched.walk(self.grid, staked=True)
        walk = bench.walk(self.grid, staked=True)
        priced = priced_subsets(searched, quick, scored)
        gate = find_gate(searched, quick, priced, self.max_ways)
        if gate is None:
            return None
        of_row, of_scored, usual = parts_of_rows(gate, bench, walk)
        is_linear = bench.recipe.is_linear
        of_quick = of_scored if is_linear else parts_of_rows(gate, searched, quick)[1]
        parts = []
        for k in range(len(gate.questions) + 1):
            final = bench_of_part(bench, gate, of_row == k, of_scored == k)
            # Models that are quick to fit are fitted on the rows of the part.
            quick_bench, is_here = (final, True) if is_linear else (searched, of_quick == k)
            subsets = self._best_subsets(priced, searched.blocks, quick_bench, is_here, final)
            part = self._searched(subsets, final, np.flatnonzero(of_scored == k))
            if part is None:
                return None
            parts.append(part)
            if report:
                report(k + 1, len(gate.questions) + 1)
        trees, beside = grow_trees(bench, walk, self.grid, gate, parts, usual)
        if not len(trees):
            return None
        plain = walk if bench.stakes is None else bench.walk(self.grid)
        plain = plain.through([part.way for part in parts])
        scores = Counts.of_outcomes(plain.outcomes(trees), plain.scored, bench.metric)
        found = Branched(bench, tuple(parts), trees, scores, beside)
        found = found.take(np.flatnonzero(within_limits(bench, trees, scores)))
        pays = len(found.trees) and self._pays(found, walk, chains, gate)
        return found if pays else None

    def _best_subsets(
        self,
        priced: PricedSubsets,
        blocks_of_search: Blocks,
        quick: Workbench,
        is_here: BoolArray | bool,
        final: Workbench,
    ) -> BoolArray:
        """Return subsets that are worth models of their own, from cheap to everything.

        `quick` has the quick models, and `is_here` tells which of its scored rows are in the part;
        `final` has the models that count.
        """
        blocks, first = final.blocks, final.blocks.first
        costs = blocks.costs(final.data.costs)
        walk = quick.walk(self.grid, staked=True)
        weights = walk.scored.weights * is_here
        known: dict[bytes, float] = {}

        def correct_rows(subsets: BoolArray) -> FloatArray:
            """Rows of the part that quick models of subsets get right, by weight."""
            new = subsets[[one.tobytes() not in known for one in subsets]]
            if len(new):
                guesses = walk.guesses(_over(blocks, quick.blocks, new))
                right = (guesses == walk.scored.labels) @ weights
                known.update(zip((one.tobytes() for one in new), right.tolist(), strict=True))
            return np.array([known[one.tobytes()] for one in subsets])

        pool = _over(blocks_of_search, blocks, priced.subsets)
        pool[:, first] = True
        # The gate has judged rows alone already, so the next stage buys more.
        correct_rows(distinct(pool[pool.sum(axis=1) > 1], _POOL))
        gate = np.arange(blocks.n_blocks) == first
        for price in priced.prices[:: max(1, len(priced.prices) // 3)].tolist():
            # Step by step, the block that adds most at this price, or takes off least.
            subset = gate
            while not subset.all() and subset.sum() <= _STEPS and not self.is_over():
                more = subset | np.eye(len(subset), dtype=np.bool_)[~subset]
                paid = costs.paid(more) / costs.total
                subset = more[int((correct_rows(more) - price * weights.sum() * paid).argmax())]
        subsets = np.frombuffer(b"".join(known), dtype=np.bool_).reshape(-1, blocks.n_blocks)
        right, paid = np.array([*known.values()]), costs.paid(subsets)
        chosen = in_layers(right, paid, _FINISHED)[: _FINISHED - 2]
        wanted: BoolArray = np.concatenate([subsets[chosen], np.ones_like(gate)[None]])
        return np.unique(wanted, axis=0)

    def _searched(
        self, subsets: BoolArray, final: Workbench, places: IntArray
    ) -> SearchedPart | None:
        """Search chains of these subsets; None if the limits leave nothing after the gate.

        `places` says where the scored rows of the part stand among all.

        Raises
        ------
        TimeoutError
            If the time is over before all models are fitted.
        """
        grid, n_blocks, first = self.grid, final.blocks.n_blocks, final.blocks.first
        settings = self.request.over(n_blocks, first)
        evaluator = final.evaluator(settings.max_stages, grid)
        for few in slices(len(subsets), _AT_ONCE if final.recipe.is_linear else final.bits.n_jobs):
            if self.is_over():
                raise TimeoutError
            final.bank.kept(subsets[few])
        picked = grid.complete(np.where(subsets, 0, NEVER).astype(np.int16))
        space = settings.space(n_blocks, grid)
        found = designs_of_subsets(subsets, evaluator, space, picked)
        # One of them buys nothing after the gate.
        gate = np.where(np.arange(n_blocks) == first, 0, NEVER).astype(np.int16)
        found = Designs.concatenate([found, grid.complete(gate[None])]).sorted()
        chains = _unrefused(found, evaluator)
        scores = evaluator.score(chains)
        kept = np.flatnonzero(front_mask(scores) & scores.feasible)
        if not kept.size:
            return None
        scores = scores[kept]
        # On the scored rows, a last threshold that all of them reach is the same as none.
        answers = scores.coverage == 1
        chains = grid.answering(chains[kept], answers)
        # Those that answer everyone are added up apart, and must not be crowded out.
        order = spread_order(scores, evaluator.costs.total)[:_DESIGNS]
        if answers.any():
            also = spread_order(scores[answers], evaluator.costs.total)[:_DESIGNS]
            order = np.unique(np.concatenate([order, np.flatnonzero(answers)[also]]))
        best = chains[order]
        chains = Designs.concatenate([best, _unrefused(_rejecting(best, grid), evaluator)])
        way = Part(final.walk(grid, staked=True), places)
        return SearchedPart(final, chains, len(best), way)

    def _pays(self, found: Branched, walk: Walk, chains: Designs, gate: Gate) -> bool:
        """Tell whether trees earn their place beside chains, and say so."""
        bench, scored = found.bench, walk.scored
        both = Designs.concatenate([chains, found.trees])
        shares = walk.through(found.ways).shares(both)
        weights = np.bincount(scored.rows, scored.weights).astype(np.float32)
        gain, error = earn_their_place(shares, len(chains), weights, bench.data.costs.total)
        asked = f"Branches: asking about {gate.questions[0].column or 'the likeliest class'} first"
        if gain <= error:
            self.say(f"{asked} was tried and does not pay")
        elif bench.stakes is None:
            self.say(f"{asked} labels {100 * gain:.1f} more of 100 rows correctly at the same cost")
        else:
            self.say(f"{asked} saves {gain:.1%} of what errors cost, at the same cost of features")
        return gain > error


def bench_of_part(
    bench: Workbench, gate: Gate, is_in: BoolArray, is_scored_in: BoolArray
) -> Workbench:
    """Set up the models of one part: on its rows alone, with the gate bought already.

    `is_in` tells the rows of the part, `is_scored_in` the scored ones, split after split. Limits on
    single rows leave a part what the gate does not take. Limits on means are for whole designs, and
    say nothing about a part.
    """
    bought = gate.blocks[bench.blocks.of_feature]
    names = [bench.data.costs.names[i] for i in np.flatnonzero(bought)]
    rules, costs = bench.constraints, bench.data.costs
    worst_cost, worst_delay = rules.max_worst_cost, rules.max_worst_delay
    if worst_cost is not None:
        worst_cost = max(0.0, worst_cost - costs.after_stages(bought[None], prices=0)[0])
    if worst_delay is not None:
        worst_delay = max(0.0, worst_delay - costs.waits_after_stages(bought[None])[0])
    ends = np.cumsum([len(scored) for _, scored in bench.splits])
    return replace(
        bench,
        data=bench.data.once_bought(names),
        splits=[
            (train[is_in[train]], scored[here])
            for (train, scored), here in zip(
                bench.splits, np.split(is_scored_in, ends[:-1]), strict=True
            )
        ],
        constraints=Constraints(
            first=tuple(dict.fromkeys([*rules.first, *names])),
            together=rules.together,
            max_worst_cost=worst_cost,
            max_worst_delay=worst_delay,
        ),
        rows=np.flatnonzero(is_in),
    )


def _rejecting(chains: Designs, grid: ThresholdGrid) -> Designs:
    """Return the chains that answer everyone, with every other threshold of the last stage."""
    if not grid.may_answer_all:
        return chains[:0]
    chains = chains[chains.last_levels == grid.last[0]]
    return Designs.concatenate([chains.with_last_level(level) for level in grid.last[1:]])


def _unrefused(chains: Designs, evaluator: Evaluator) -> Designs:
    """Leave out chains that promise what the models of the splits disagree about."""
    return chains[~evaluator.refused(chains)] if len(chains) else chains


def _over(some: Blocks, other: Blocks, subsets: BoolArray) -> BoolArray:
    """Turn subsets of blocks into subsets of other blocks, which they have some feature of."""
    over: BoolArray = subsets[:, some.of_feature] @ other.members().T
    return over


def grow_trees(
    bench: Workbench,
    walk: Walk,
    grid: ThresholdGrid,
    gate: Gate,
    parts: Sequence[SearchedPart],
    usual: int,
) -> tuple[Designs, Designs]:
    """Add up the fronts of the parts; return the most different trees that no other one beats.

    Also returns some of those that might as well have been chosen. `walk` has the models of all
    rows, which judge the gate alone. Rows without the value go to the part `usual`.
    """
    stages = np.where(gate.blocks, 0, NEVER).astype(np.int16)
    trunks = Designs.of(np.tile(stages, (len(grid.early), 1)), np.array(grid.early)[:, None])
    trunks = _unrefused(trunks, bench.evaluator(1, grid))
    if not len(trunks):
        return trunks, trunks
    figures, chosen = _sums(walk, trunks, parts)
    # Trees above a limit on the mean cost must not crowd out others.
    costs, bought = bench.data.costs, gate.blocks[bench.blocks.of_feature]
    weights, outcomes = walk.scored.weights, next(walk.outcomes(trunks))
    n_rows, spent = weights.sum(), weights @ outcomes.paid - figures[:, 2]
    within = np.flatnonzero(spent <= bench.limits.most[0] * n_rows)
    kept = within[best_sums(figures[within], float(n_rows))]
    others = np.setdiff1d(within, kept)
    others = np.random.default_rng(len(others)).permutation(others)[:_RUNNERS_UP]
    named = NamedDesigns(bench.data.costs.names, grid, bench.data.classes)

    def fork_of(chosen: IntArray) -> Fork:
        chains = tuple(part.chains[[i]] for part, i in zip(parts, chosen[1:], strict=True))
        after = []
        for part, chain in zip(parts, chains, strict=True):
            design = named(chain.over(part.bench.blocks.of_feature))
            stages = np.where(bought, NEVER, design.stages)
            after.append(Design(stages, design.names, design.thresholds))
        first = named(trunks[[chosen[0]]].over(bench.blocks.of_feature))
        design = Design.branching(first, gate.questions, after, usual)
        return Fork(chains, design, costs.after_stages(design.subsets(), design.before, prices=0))

    def trees_of(chosen: IntArray) -> Designs:
        return replace(trunks[chosen[:, 0]], forks=tuple(map(fork_of, chosen)))

    return trees_of(chosen[kept]), trees_of(chosen[others])


def _sums(
    walk: Walk, trunks: Designs, parts: Sequence[SearchedPart]
) -> tuple[FloatArray, IntArray]:
    """Figures of the best trees, and which of the trunks and of each part's chains they have.

    The cost of the gate is left out, as it is the same for all.
    """
    scored = walk.scored
    given = np.array([one.given for one in walk.outcomes(trunks)])
    answered = given < scored.n_classes
    weights = scored.weights * ~answered
    sums = [part.sums(weights[:, part.way.places]) for part in parts]
    n_best = [part.n_best for part in parts]
    levels = [part.chains.last_levels for part in parts]
    wrong = (answered & (given != scored.labels)) @ scored.weights
    figures, chosen = [np.zeros((0, 3))], [np.zeros((0, len(parts) + 1), dtype=np.int64)]
    # Levels that answer the same rows make the same trees.
    for k in np.sort(np.unique(answered, axis=0, return_index=True)[1]).tolist():
        if not answered[k].all():
            figure, which = added_up([one[k] for one in sums], n_best, levels)
            at_gate = [answered[k] @ scored.weights, -wrong[k], 0.0]
            figures.append(figure + np.array(at_gate))
            chosen.append(np.insert(which, 0, k, axis=1))
    return np.concatenate(figures), np.concatenate(chosen)


def within_limits(bench: Workbench, trees: Designs, scores: Counts) -> BoolArray:
    """Tell which trees keep the limits on costs and delays."""
    units, costs = bench.bits.units, bench.data.costs
    leaving = scores.exits + scores.rejected_exits
    figures = np.zeros((4, len(trees)))
    for i, fork in enumerate(trees.forks or ()):
        subsets = fork.design.subsets()
        # What each stage knows is all that a design of one stage would buy.
        known = subsets @ bench.blocks.members().T
        worst = fork.paid + units.most_by_price(known) / units.per_one
        waits = costs.waits_after_stages(subsets, fork.design.before)
        mean_wait = waits @ leaving[i, : len(waits)] / scores.n_rows
        figures[:, i] = scores.cost[i], worst.max(), mean_wait, waits.max()
    is_within: BoolArray = bench.limits.excess(figures, costs) == 0
    return is_within


def earn_their_place(
    shares: AnyArray, n_chains: int, weights: AnyArray, total_cost: float
) -> tuple[float, float]:
    """Return what trees gain over chains at several budgets, and its standard error.

    `shares` are those of `Walk.shares`, of chains and then of trees. Designs are chosen on
    one half of the rows and measured on the other, and the other way round. The gain is a share of
    correct rows.
    """
    half = np.random.default_rng(_OTHER_HALVES).random(len(weights)) < 0.5
    gains = np.zeros(len(weights))
    for here, there in ((half, ~half), (~half, half)):
        answered, correct, cost = shares[:, :, here] @ weights[here] / weights[here].sum()
        # Where some chain answers everyone, only such designs are compared.
        answers_all = answered > 1 - 1e-6
        may_be = answers_all | ~answers_all[:n_chains].any()
        for budget in _BUDGETS:
            worth = np.where(may_be & (cost <= budget * total_cost), correct, -1.0)
            chain, best = int(worth[:n_chains].argmax()), int(worth.argmax())
            if worth[chain] >= 0:  # otherwise no chain is as cheap
                gains[there] += (shares[1, best] - shares[1, chain])[there] / len(_BUDGETS)
    gains *= weights / weights.mean()
    return float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))
