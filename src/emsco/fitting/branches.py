"""Designs that branch: gates, chains for the rows of each part, and the sums of their fronts.

Chains are searched first, on all rows. Then the best gate is found (`emsco.fitting.gates`), and
chains are searched among the rows of each part, with models of their own. Rows that are accepted,
rows that are correct and costs are sums over rows. So what a tree scores is the sum of what its
parts score, and the front of all trees is the sum of the fronts of the parts, thinned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, Report, StageArray
from emsco._base.workers import slices
from emsco.cascade.branching import BranchReader
from emsco.designs.chromosomes import (
    NEVER,
    genes_of_trees,
    levels_of,
    stage_counts,
    stages_of,
    with_levels,
)
from emsco.designs.constraints import Blocks, Constraints
from emsco.designs.design import Branch, Design
from emsco.designs.thresholds import ThresholdGrid
from emsco.fitting.gates import WORTH, Bins, Gate, PricedSubsets, best_gate
from emsco.fitting.refine import designs_of_subsets, order_by_distance, spread_order
from emsco.fitting.workbench import Workbench
from emsco.front.point import NamedDesigns, ParetoPoint
from emsco.models.stage_models import JoinedModels, StageModels, averaged, parts_of
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scored_rows import RowOutcomes, ScoredPart, ScoredRows, ScoredTree
from emsco.scoring.scores import CostLimits, Scores
from emsco.search.loop import SearchResult, Stop
from emsco.search.settings import SearchSettings

_MOST_SUBSETS = 2000  # that gates are tried with
_MOST_COLUMNS, _MOST_PANELS = 40, 20  # that are tried as gates
_MOST_COST = 0.25  # of a gate, as a share of the cost of everything
_POOL = 1000  # subsets of the search that are tried in a part
_STEPS = 16  # blocks that are added one by one
_AT_ONCE = 64  # models that are quick to fit, between looks at the clock
_FINISHED = 24  # subsets of a part that get models of their own
_DESIGNS = 80  # of a part that are added up
_SUMS = 400  # of several parts that are kept
# Trees that are judged row by row: so many that answer everyone, and so many for each coverage.
_TREES = 75
_COVERAGES = (0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.2)
_REJECTING = 40
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
    genes : ndarray of shape (n_designs, n_blocks)
        Chains over its blocks; what the gate buys is in their first stage.
    n_searched : int
        So many of them, the first, are the best that were found. The others are those of them that
        answer everyone, with other thresholds of the last stage.
    designs : tuple of Design
        What they buy after the gate.
    scored : ScoredPart
    """

    bench: Workbench
    genes: StageArray
    n_searched: int
    designs: tuple[Design, ...]
    scored: ScoredPart


def priced_subsets(bench: Workbench, rows: ScoredRows, scored: StageArray) -> PricedSubsets:
    """Price the subsets that a search has looked at; `scored` are its designs."""
    costs = bench.blocks.costs(bench.data.costs)
    subsets = _subsets_of(scored)
    if len(subsets) > _MOST_SUBSETS:
        kept = np.random.default_rng(len(subsets)).permutation(len(subsets))[:_MOST_SUBSETS]
        subsets = subsets[np.sort(kept)]
    units = costs.in_units()
    cost = units.of_subsets(subsets) / units.per_one
    half = np.random.default_rng(len(rows.truth)).random(int(rows.rows.max()) + 1) < 0.5
    return PricedSubsets(
        subsets=subsets,
        costs=cost / (costs.total or 1.0),
        correct=rows.guesses(subsets) == rows.truth,
        weights=rows.weights,
        half=half[rows.rows],
        n_rows=len(half),
    )


def find_gate(
    bench: Workbench, rows: ScoredRows, priced: PricedSubsets, max_ways: int
) -> Gate | None:
    """Return the gate that gains most; None if none gains anything beyond noise."""
    data = bench.data
    inputs_of_rows = data.rows[np.concatenate([scored for _, scored in bench.splits])]
    gates = []
    for column, bought in _columns_to_ask(bench):
        inputs = data.encoding.inputs_of(column)
        code = data.encoding.code_of[column]
        values = inputs_of_rows[:, inputs.start : inputs.start + code.n_values]
        bins = Bins.from_column(code, values)
        if bins is not None and bins.n_bins > 1:
            gates.append(best_gate(priced, column, bought, bins, max_ways))
    panels, names = _panels_to_ask(bench, priced), tuple(data.classes.tolist())
    for panel, guesses in zip(panels, rows.guesses(panels), strict=True):
        bins = Bins(guesses.astype(np.int64), None, names)
        gates.append(best_gate(priced, None, panel, bins, max_ways))
    found = [gate for gate in gates if gate is not None]
    best = max(found, key=lambda one: one.gain, default=None)
    return best if best is not None and best.gain > WORTH * best.error else None


def _most_paid_for_gate(bench: Workbench) -> float:
    """What a gate may cost; nobody may pay more for it than for a whole design."""
    limits, total = bench.limits, bench.blocks.costs(bench.data.costs).total
    return min(_MOST_COST * total, limits.most_paid(), limits.most_spent(1))


def _panels_to_ask(bench: Workbench, priced: PricedSubsets) -> BoolArray:
    """Cheap subsets whose likeliest class may be asked about: the most accurate for their cost."""
    total = bench.blocks.costs(bench.data.costs).total
    cheap = np.flatnonzero(priced.costs * total <= _most_paid_for_gate(bench))
    right = priced.correct[cheap] @ priced.weights
    best = _in_layers(right, priced.costs[cheap], _MOST_PANELS)[:_MOST_PANELS]
    panels: BoolArray = priced.subsets[cheap[best]]
    return panels


def _columns_to_ask(bench: Workbench) -> list[tuple[str, BoolArray]]:
    """Columns of cheap features, and the blocks to buy to ask about each."""
    data, blocks = bench.data, bench.blocks
    costs = blocks.costs(data.costs)
    first = np.zeros(blocks.n_blocks, dtype=np.bool_)
    if blocks.first is not None:
        first[blocks.first] = True
    asked, units, most = [], costs.in_units(), _most_paid_for_gate(bench)
    for i, name in enumerate(data.costs.names):
        bought = first.copy()
        bought[blocks.of_feature[i]] = True
        cost = float(units.of_subsets(bought[None])[0]) / units.per_one
        if cost <= most:
            asked += [(cost, column, bought) for column in data.encoding.needs(name)]
    asked.sort(key=lambda one: one[0])
    return [(column, bought) for _, column, bought in asked[:_MOST_COLUMNS]]


def _subsets_of(designs: StageArray) -> BoolArray:
    """The distinct subsets that stages of designs know."""
    stages = stages_of(designs)
    known = [
        (stages >= 0) & (stages <= j) for j in range(int(stage_counts(designs).max(initial=1)))
    ]
    subsets: BoolArray = np.unique(np.concatenate(known), axis=0)
    return subsets[subsets.any(axis=1)]


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfParts:
    """Where a gate sends rows.

    Attributes
    ----------
    of_row : ndarray of int, shape (n_rows,)
        Part of each row, for the models that are fitted on the rows of a part.
    of_scored : ndarray of int, shape (n_scored,)
        Part of each scored row, split after split.
    usual : int
        Where rows go that lack the value.
    """

    of_row: IntArray
    of_scored: IntArray
    usual: int


def parts_of_rows(gate: Gate, bench: Workbench, rows: ScoredRows) -> RowsOfParts:
    """Ask all rows the questions of a gate, and all scored rows in each split."""
    data, every = bench.data, np.concatenate([scored for _, scored in bench.splits])
    nothing = Design.nothing(data.encoding.features, 0)
    branch = Branch(gate.questions, (nothing,) * (len(gate.questions) + 1))
    reader = BranchReader(branch, (), data.encoding, data.classes.tolist())
    of_row, of_scored = np.zeros(len(data.labels), dtype=np.int64), np.zeros_like(every)
    if gate.questions[0].column is None:
        of_scored = rows.guesses(gate.blocks[None])[0].astype(np.int64)
        of_row = _usual_guesses(gate, bench, of_scored)
    unsure = np.zeros(len(of_row))
    part, lacking = reader.parts(np.asarray(data.rows), of_row, unsure)
    usual = int(np.bincount(part[~lacking], minlength=len(branch.parts)).argmax())
    part[lacking] = usual
    part_of_scored, _ = reader.parts(np.asarray(data.rows[every]), of_scored, unsure[every])
    part_of_scored[lacking[every]] = usual
    return RowsOfParts(part, part_of_scored, usual)


def _usual_guesses(gate: Gate, bench: Workbench, guesses: IntArray) -> IntArray:
    """Likeliest class of each row by the gate, by most models that were not fitted on the row.

    A model is too often right about rows that it was fitted on, so that they would tell the models
    of a part little about the rows that go there by mistake. A row that no split scores has no
    other guess.
    """
    data, every = bench.data, np.concatenate([scored for _, scored in bench.splits])
    votes = np.zeros((len(data.labels), len(data.classes)))
    np.add.at(votes, (every, guesses), 1.0)
    never = np.flatnonzero(votes.sum(axis=1) == 0)
    if never.size:
        (models,) = bench.models_of([gate.blocks[bench.blocks.of_feature][None]], "first")
        votes[never] = models.probabilities(models.filled(np.asarray(data.rows[never])), 0)
    usual: IntArray = votes.argmax(axis=1)
    return usual


def bench_of_part(bench: Workbench, gate: Gate, parts: RowsOfParts, part: int) -> Workbench:
    """Set up the models of one part: on its rows alone, with the gate bought already.

    Limits on single rows leave a part what the gate does not take. Limits on means are for whole
    designs, and say nothing about a part.
    """
    bought = gate.blocks[bench.blocks.of_feature]
    names = [bench.data.costs.names[i] for i in np.flatnonzero(bought)]
    rules, costs = bench.constraints, bench.data.costs
    worst_cost, worst_delay = rules.max_worst_cost, rules.max_worst_delay
    if worst_cost is not None:
        worst_cost = max(0.0, worst_cost - costs.fixed().after_stages(bought[None])[0])
    if worst_delay is not None:
        worst_delay = max(0.0, worst_delay - costs.waits_after_stages(bought[None])[0])
    in_part = parts.of_row == part
    ends = np.cumsum([len(scored) for _, scored in bench.splits])
    are_scored = np.split(parts.of_scored == part, ends[:-1])
    return Workbench(
        data=bench.data.once_bought(names),
        splits=[
            (train[in_part[train]], scored[is_scored])
            for (train, scored), is_scored in zip(bench.splits, are_scored, strict=True)
        ],
        recipe=bench.recipe,
        constraints=Constraints(
            first=tuple(dict.fromkeys([*rules.first, *names])),
            together=rules.together,
            max_worst_cost=worst_cost,
            max_worst_delay=worst_delay,
        ),
        metric=bench.metric,
        rows=np.flatnonzero(in_part),
        stakes=bench.stakes,
    )


@dataclass(frozen=True, slots=True, eq=False)
class PartSearch:
    """Searches chains among the rows of parts.

    Subsets are compared by quick models: those of the search, which were fitted on all rows, or
    those of the part where all models are quick. The best get models of the part's own, which make
    up the chains.

    Attributes
    ----------
    request : SearchSettings
    grid : ThresholdGrid
    priced : PricedSubsets
        Subsets that the search has looked at.
    blocks : Blocks
        That they are made of.
    is_over : callable
        Tells when the time is over.
    """

    request: SearchSettings
    grid: ThresholdGrid
    priced: PricedSubsets
    blocks: Blocks
    is_over: Callable[[], bool]

    def searched(
        self, quick: ScoredRows, weights: FloatArray, final: Workbench, places: IntArray
    ) -> SearchedPart:
        """Search among the rows of a part.

        `quick` sends rows through quick models, and `weights` are those of its rows, 0 outside the
        part. `final` has the models that count, and `places` says where its scored rows stand
        among all.

        Raises
        ------
        TimeoutError
            If the time is over before all models are fitted.
        """
        settings, grid = self.request.over(final.blocks.n_blocks, final.blocks.first), self.grid
        evaluator = final.evaluator(settings.max_stages, grid)
        subsets = self._best_subsets(quick, weights, final)
        for few in slices(len(subsets), _AT_ONCE if final.recipe.is_linear else final.bank.n_jobs):
            if self.is_over():
                raise TimeoutError
            final.bank.kept(subsets[few])
        space = settings.space(final.blocks.n_blocks, grid)
        picked = grid.complete(np.where(subsets, 0, NEVER).astype(np.int16))
        genes = designs_of_subsets(subsets, evaluator, space, picked)
        genes = self._after_gate(genes, final)
        genes = genes[~evaluator.refused(genes)]
        scores = evaluator.score(genes)
        kept = np.flatnonzero(front_mask(scores) & scores.feasible)
        genes, scores = genes[kept], scores[kept]
        # On the scored rows, a last threshold that all of them reach is the same as none.
        answers = scores.coverage == 1
        genes = grid.answering(genes, answers)
        # Those that answer everyone are added up apart, and must not be crowded out.
        order = spread_order(scores, evaluator.costs.total)[:_DESIGNS]
        if answers.any():
            also = spread_order(scores[answers], evaluator.costs.total)[:_DESIGNS]
            order = np.unique(np.concatenate([order, np.flatnonzero(answers)[also]]))
        searched = genes[order]
        genes = np.concatenate([searched, self._rejecting(searched, evaluator)])
        named = NamedDesigns(final.data.costs.names, grid, final.data.classes)
        is_gate = final.blocks.of_feature == final.blocks.first
        designs = tuple(_without(named(one), is_gate) for one in final.blocks.designs(genes))
        scored = ScoredPart(final.scored_rows(grid, staked=True), places)
        return SearchedPart(final, genes, len(searched), designs, scored)

    def _rejecting(self, genes: StageArray, evaluator: Evaluator) -> StageArray:
        """Return the designs that answer everyone, with every other threshold of the last stage."""
        if not self.grid.may_answer_all:
            return genes[:0]
        genes = genes[_last_levels(genes) == self.grid.last[0]]
        stages, last = stages_of(genes), stage_counts(genes) - 1
        levels = levels_of(genes, int(last.max(initial=0)) + 1)
        variants = [genes[:0]]
        for level in self.grid.last[1:]:
            other = levels.copy()
            other[np.arange(len(genes)), last] = level
            variants.append(with_levels(stages, other))
        every = np.concatenate(variants)
        return every[~evaluator.refused(every)] if len(every) else every

    def _best_subsets(self, quick: ScoredRows, weights: FloatArray, final: Workbench) -> BoolArray:
        """Return subsets that are worth models of their own, from cheap to everything."""
        blocks, first = final.blocks, final.blocks.first
        costs = blocks.costs(final.data.costs)
        units = costs.in_units()
        known: dict[bytes, tuple[BoolArray, float]] = {}

        def correct_rows(subsets: BoolArray) -> FloatArray:
            """Rows of the part that quick models of subsets get right, by weight."""
            new = {one.tobytes(): one for one in subsets if one.tobytes() not in known}
            if new:
                asked = np.array(list(new.values()))
                if quick.n_features != blocks.n_blocks:
                    asked = _over(blocks, self.blocks, asked)
                right = (quick.guesses(asked) == quick.truth) @ weights
                known.update(zip(new, zip(new.values(), right.tolist(), strict=True), strict=True))
            return np.array([known[one.tobytes()][1] for one in subsets])

        has = self.priced.subsets
        pool = _over(self.blocks, blocks, has)
        pool[:, first] = True
        pool = np.unique(pool, axis=0)
        if len(pool) > _POOL:
            pool = pool[np.random.default_rng(len(pool)).permutation(len(pool))[:_POOL]]
        correct_rows(pool)
        n_rows = float(weights.sum())
        for price in self.priced.prices[:: max(1, len(self.priced.prices) // 3)].tolist():
            # Step by step, the block that adds most at this price, or takes off least.
            subset = np.zeros(blocks.n_blocks, dtype=np.bool_)
            subset[first] = True
            while not subset.all() and subset.sum() <= _STEPS and not self.is_over():
                more = np.repeat(subset[None], (~subset).sum(), axis=0)
                more[np.arange(len(more)), np.flatnonzero(~subset)] = True
                paid = units.of_subsets(more) / units.per_one
                worth = correct_rows(more) - price * n_rows * paid / costs.total
                subset = more[int(worth.argmax())]
        subsets = np.array([one for one, _ in known.values()])
        right = np.array([correct for _, correct in known.values()])
        paid = units.of_subsets(subsets) / units.per_one
        chosen = _in_layers(right, paid, _FINISHED)[: _FINISHED - 2]
        everything = np.ones((1, blocks.n_blocks), dtype=np.bool_)
        gate = np.zeros((1, blocks.n_blocks), dtype=np.bool_)
        gate[0, first] = True
        wanted: BoolArray = np.unique(np.concatenate([gate, subsets[chosen], everything]), axis=0)
        return wanted

    def _after_gate(self, genes: StageArray, bench: Workbench) -> StageArray:
        """Return designs whose first stage buys more than the gate, or that buy nothing more.

        The stage before the branch has judged rows by the gate alone. A first stage that does so
        again is left out, and what it had bought is bought by the next one.
        """
        first = bench.blocks.first
        assert first is not None
        stages, n_stages = stages_of(genes), stage_counts(genes)
        levels = levels_of(genes, int(n_stages.max(initial=1)))
        is_gate_alone = ((stages == 0).sum(axis=1) == 1) & (n_stages > 1)
        later = np.where(stages > 0, stages - 1, stages).astype(np.int16)
        merged = with_levels(later[is_gate_alone], np.roll(levels[is_gate_alone], -1, axis=1))
        nothing = np.full((1, stages.shape[1]), NEVER, dtype=np.int16)
        nothing[0, first] = 0
        nothing = self.grid.complete(nothing)
        every = np.concatenate([genes[~is_gate_alone], merged, nothing])
        distinct: StageArray = np.unique(every, axis=0)
        return distinct


def _last_levels(genes: StageArray) -> IntArray:
    """Return the level of the last stage of each chain."""
    last = stage_counts(genes) - 1
    levels = levels_of(genes, int(last.max(initial=0)) + 1)
    of_last: IntArray = levels[np.arange(len(genes)), last]
    return of_last


def _in_layers(right: FloatArray, paid: FloatArray, n_wanted: int) -> IntArray:
    """Order subsets: those that none beats come first, then those beaten by these alone, and so on.

    A subset is beaten by one that gets more rows right and costs no more. Within a layer, each is
    as different as possible from those before it.
    """
    left, layers = np.lexsort((-right, paid)), [np.zeros(0, dtype=np.int64)]
    while left.size and sum(map(len, layers)) < n_wanted:
        best = np.maximum.accumulate(right[left])
        is_step = np.append(True, best[1:] > best[:-1])
        steps = left[is_step]
        figures = np.column_stack([np.zeros(len(steps)), right[steps], -paid[steps]])
        layers.append(steps[_spread(figures, min(len(steps), n_wanted))])
        left = left[~is_step]
    return np.concatenate(layers)


def _over(some: Blocks, other: Blocks, subsets: BoolArray) -> BoolArray:
    """Turn subsets of blocks into subsets of other blocks, which they have some feature of."""
    over: BoolArray = subsets[:, some.of_feature] @ other.members().T
    return over


def _without(design: Design, is_gate: BoolArray) -> Design:
    """Return the design of a part without the features that the gate has bought."""
    stages = np.where(is_gate, NEVER, design.stages)
    return Design(stages, design.names, design.thresholds)


@dataclass(frozen=True, slots=True, eq=False)
class Branched:
    """Trees that share a gate, and the parts that they are made of.

    Attributes
    ----------
    bench : Workbench
        The models of all rows, which judge the gate alone.
    parts : tuple of SearchedPart
    trees : tuple of ScoredTree
    scores : Scores
        Of the trees.
    runners_up : tuple of ScoredTree
        Others that might as well have been chosen, for expected figures.
    """

    bench: Workbench
    parts: tuple[SearchedPart, ...]
    trees: tuple[ScoredTree, ...]
    scores: Scores
    runners_up: tuple[ScoredTree, ...]

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
        chains, trees = np.split(kept, [len(result.designs)])
        if not trees.any():
            return None, result
        if not chains.any():  # the rest of a fit needs some
            chains[:] = True
        reason = result.stop_reason
        if reason.cause is Stop.PROVEN:
            reason = replace(reason, cause=Stop.CHAINS_SETTLED)
        left = replace(
            self,
            trees=tuple(self.trees[i] for i in np.flatnonzero(trees).tolist()),
            scores=self.scores[np.flatnonzero(trees)],
        )
        return left, replace(result.take(np.flatnonzero(chains)), stop_reason=reason)

    def points(self) -> list[ParetoPoint]:
        """Return the points of the trees, as they are scored."""
        per_row = self.bench.data.per_row
        return [
            ParetoPoint.from_scores(tree.design, self.scores, i, per_row=per_row)
            for i, tree in enumerate(self.trees)
        ]

    def models(self, designs: Sequence[Design], refit: str) -> list[StageModels]:
        """Fit the stage models of trees: of all rows before the branch, of each part after it."""
        trunks = [one.subsets()[: len(one.path(min(one.branches)))] for one in designs]
        pieces = [self.bench.models_of(trunks, refit)]
        for k, part in enumerate(self.parts):
            known = [
                one.branch.parts[k].subsets() | trunk[-1]
                for one, trunk in zip(designs, trunks, strict=True)
                if one.branch is not None
            ]
            pieces.append(part.bench.models_of(known, refit))
        models = []
        for of_tree in zip(*pieces, strict=True):
            of_splits = zip(*map(parts_of, of_tree), strict=True)
            banks = tuple(range(len(of_tree)))
            models.append(averaged([JoinedModels(of_split, banks) for of_split in of_splits]))
        return models


@dataclass(frozen=True, slots=True, eq=False)
class BranchSearch:
    """Looks for designs that branch, once chains are found.

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
        scored: StageArray,
        bench: Workbench,
        chains: StageArray,
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
        quick = searched.scored_rows(self.grid, staked=True)
        rows = bench.scored_rows(self.grid, staked=True)
        priced = priced_subsets(searched, quick, scored)
        gate = find_gate(searched, quick, priced, self.max_ways)
        if gate is None:
            return None
        of_parts = parts_of_rows(gate, bench, rows)
        of_quick = parts_of_rows(gate, searched, quick).of_scored
        search = PartSearch(self.request, self.grid, priced, searched.blocks, self.is_over)
        parts = []
        for k in range(len(gate.questions) + 1):
            final = bench_of_part(bench, gate, of_parts, k)
            # Models that are quick to fit are fitted on the rows of the part.
            quick_rows, weights = quick, quick.weights * (of_quick == k)
            if bench.recipe.is_linear:
                quick_rows = final.scored_rows(self.grid, staked=True)
                weights = quick_rows.weights
            places = np.flatnonzero(of_parts.of_scored == k)
            part = search.searched(quick_rows, weights, final, places)
            if not len(part.genes):  # the limits leave nothing for what comes after a gate
                return None
            parts.append(part)
            if report:
                report(k + 1, len(gate.questions) + 1)
        trees, beside = grow_trees(bench, rows, self.grid, gate, parts, of_parts.usual)
        plain_rows = rows if bench.stakes is None else bench.scored_rows(self.grid)
        trees = within_limits(bench, plain_rows, trees)
        if not trees:
            return None
        genes = genes_of_trees(np.arange(len(trees)), bench.blocks.n_blocks)
        costs_after = bench.evaluator(int(stage_counts(chains).max()), self.grid).costs_after
        gain, error = earn_their_place(
            rows.with_trees(trees),
            (chains, list(costs_after(chains))),
            (genes, [tree.paid for tree in trees]),
            bench.data.costs.total,
        )
        asked = f"Branches: asking about {gate.questions[0].column or 'the likeliest class'} first"
        if gain <= error:
            self.say(f"{asked} was tried and does not pay")
            return None
        if bench.stakes is None:
            self.say(f"{asked} labels {100 * gain:.1f} more of 100 rows correctly at the same cost")
        else:
            self.say(f"{asked} saves {gain:.1%} of what errors cost, at the same cost of features")
        scores = scores_of_trees(bench, plain_rows, trees)
        return Branched(bench, tuple(parts), trees, scores, beside)


def grow_trees(
    bench: Workbench,
    rows: ScoredRows,
    grid: ThresholdGrid,
    gate: Gate,
    parts: Sequence[SearchedPart],
    usual: int,
) -> tuple[tuple[ScoredTree, ...], tuple[ScoredTree, ...]]:
    """Add up the fronts of the parts; return the most different trees that no other one beats.

    Also returns some of those that might as well have been chosen. `rows` are all scored rows, by
    the models of all rows, which judge the gate alone.
    """
    named = NamedDesigns(bench.data.costs.names, grid, bench.data.classes)
    costs = bench.data.costs.fixed()
    outcomes = [list(part.scored.rows.outcomes(part.genes)) for part in parts]
    stages = np.where(gate.blocks, 0, NEVER).astype(np.int16)[None]
    trunks, figures, chosen = [], [], []
    seen: set[bytes] = set()
    every_level = np.repeat(stages, len(grid.early), axis=0)
    every_level = with_levels(every_level, np.array(grid.early)[:, None])
    # What the models of the splits disagree about cannot be promised.
    refused = bench.evaluator(1, grid).refused(every_level)
    for trunk in every_level[~refused]:
        first = next(rows.outcomes(trunk[None]))
        answered = first.given < rows.n_classes
        # Levels that answer the same rows make the same trees.
        if (key := answered.tobytes()) in seen or answered.all():
            continue
        seen.add(key)
        weights = rows.weights
        wrong = answered & (first.given != rows.truth)
        at_gate = np.array([weights @ answered, -(weights @ wrong), 0.0])
        sums = [
            _sums_of(part, some, np.where(answered, 0.0, weights)[part.scored.places])
            for part, some in zip(parts, outcomes, strict=True)
        ]
        figure, which = _added_up(parts, sums)
        trunks += [trunk] * len(which)
        figures.append(figure + at_gate)
        chosen.append(which)
    if not trunks:
        return (), ()
    figure, every, n_rows = np.concatenate(figures), np.concatenate(chosen), rows.weights.sum()
    # Trees above a limit on the mean cost must not crowd out others.
    gate_paid = costs.after_stages(gate.blocks[bench.blocks.of_feature][None])
    at_gate = rows.weights @ rows.costs(trunks[0], first, gate_paid)
    within = np.flatnonzero(at_gate - figure[:, 2] <= bench.limits.most_spent(n_rows))
    kept = within[_best_trees(figure[within], float(n_rows))]
    others = np.setdiff1d(within, kept)
    others = np.random.default_rng(len(others)).permutation(others)[:_RUNNERS_UP]

    def tree_at(at: int) -> ScoredTree:
        picked = list(zip(parts, every[at].tolist(), strict=True))
        design = Design.branching(
            named(bench.blocks.designs(trunks[at])),
            gate.questions,
            [part.designs[i] for part, i in picked],
            usual,
        )
        return ScoredTree(
            design=design,
            trunk=trunks[at],
            parts=tuple(part.scored for part in parts),
            genes=tuple(part.genes[i] for part, i in picked),
            paid=costs.after_stages(design.subsets(), design.before),
        )

    return tuple(map(tree_at, kept.tolist())), tuple(map(tree_at, others.tolist()))


def _sums_of(
    part: SearchedPart, outcomes: Sequence[RowOutcomes], weights: FloatArray
) -> FloatArray:
    """Rows that each design of a part accepts; wrong labels and costs, negative; all by weight.

    Wrong labels, not correct ones, tell a tree that rejects rows from one that answers them badly:
    a row without a label is neither.
    """
    rows, costs = part.scored.rows, part.bench.data.costs.fixed()
    is_gate = part.bench.blocks.of_feature == part.bench.blocks.first
    sums = np.empty((len(outcomes), 3))
    for i, (design, genes, one) in enumerate(zip(part.designs, part.genes, outcomes, strict=True)):
        paid = costs.after_stages(design.subsets() | is_gate)
        cost = rows.costs(genes, one, paid)
        accepted = one.given < rows.n_classes
        wrong = accepted & (one.given != rows.truth)
        sums[i] = weights @ accepted, -(weights @ wrong), -(weights @ cost)
    return sums


def _added_up(
    parts: Sequence[SearchedPart], sums: Sequence[FloatArray]
) -> tuple[FloatArray, IntArray]:
    """Add up designs of all parts; return what the best sums are, and the designs of each."""
    levels = [_last_levels(part.genes) for part in parts]
    shared = sorted(set.intersection(*(set(one.tolist()) for one in levels)))
    families = [
        [np.arange(part.n_searched) for part in parts],
        # Sums that accept all rows are few among all, and users ask for them most.
        [np.flatnonzero(one[:, 0] >= one[:, 0].max()) for one in sums],
        # Whom to reject is best decided at one confidence for all parts.
        *([np.flatnonzero(one == level) for one in levels] for level in shared),
    ]
    figures, chosen = [], []
    for places in families:
        figure, which = _sum_of([one[some] for one, some in zip(sums, places, strict=True)])
        figures.append(figure)
        chosen.append(np.column_stack([some[which[:, p]] for p, some in enumerate(places)]))
    return np.concatenate(figures), np.concatenate(chosen)


def _sum_of(sums: Sequence[FloatArray]) -> tuple[FloatArray, IntArray]:
    figures, chosen = np.zeros((1, 3)), np.zeros((1, 0), dtype=np.int64)
    for one in sums:
        figures = (figures[:, None] + one[None]).reshape(-1, 3)
        place, design = np.divmod(np.arange(len(figures)), len(one))
        chosen = np.column_stack([chosen[place], design])
        kept = _thinned(figures, _SUMS)
        figures, chosen = figures[kept], chosen[kept]
    return figures, chosen


def _best_trees(figures: FloatArray, n_rows: float) -> IntArray:
    """Return the places of the trees to judge.

    They are the best that accept all rows, and for each of several shares of rows the most accurate
    ones, from cheap to dear, that accept as many.
    """
    from moocore import is_nondominated

    accepted, wrong, cost = figures[:, 0], -figures[:, 1], -figures[:, 2]
    accepts_all = accepted >= n_rows * (1 - 1e-9)
    everyone = np.flatnonzero(accepts_all)
    kept = [everyone[_thinned(figures[everyone], _TREES)]]
    for coverage in _COVERAGES:
        places = np.flatnonzero(~accepts_all & (accepted >= coverage * n_rows))
        if places.size:
            beaten = np.column_stack([wrong[places] / accepted[places], cost[places]])
            places = places[is_nondominated(beaten, keep_weakly=False)]
            kept.append(places[_spread(figures[places], _REJECTING)])
    return np.unique(np.concatenate(kept))


def _thinned(figures: FloatArray, max_kept: int) -> IntArray:
    """Return the places of the most different figures that no others beat."""
    from moocore import is_nondominated

    if not len(figures):
        return np.zeros(0, dtype=np.int64)
    best = np.flatnonzero(is_nondominated(figures, maximise=True, keep_weakly=False))
    return best[_spread(figures[best], max_kept)]


def _spread(figures: FloatArray, max_kept: int) -> IntArray:
    """Return the places of figures that are as different as possible from each other."""
    if len(figures) <= max_kept:
        return np.arange(len(figures))
    # Roots tell those apart that reject few rows, and cheap ones.
    rejected = np.sqrt(figures[:, 0].max() - figures[:, 0])
    cost = np.sqrt(np.maximum(-figures[:, 2], 0.0))
    spread = np.column_stack([rejected, figures[:, 1], cost])
    return np.sort(order_by_distance(spread, int(figures[:, 1].argmax()), max_kept))


def within_limits(
    bench: Workbench, rows: ScoredRows, trees: Sequence[ScoredTree]
) -> tuple[ScoredTree, ...]:
    """Return the trees that keep the limits on costs and delays."""
    limits, prices = bench.limits, bench.prices
    if not trees or limits == CostLimits():
        return tuple(trees)
    scores = scores_of_trees(bench, rows, trees)
    assert scores.rejected_exits is not None
    leaving = scores.exits + scores.rejected_exits
    mean_delay, worst_delay, worst_cost = np.zeros((3, len(trees)))
    for i, tree in enumerate(trees):
        subsets, worst = tree.design.subsets(), tree.paid
        if prices is not None:
            # What each stage knows is all that a design of one stage would buy.
            known = np.where(subsets @ bench.blocks.members().T, 0, NEVER).astype(np.int16)
            worst = worst + prices.worst(known)
        waits = bench.data.costs.waits_after_stages(subsets, tree.design.before)
        mean_delay[i] = waits @ leaving[i, : len(waits)] / scores.n_rows
        worst_delay[i], worst_cost[i] = waits.max(), worst.max()
    are_within = (
        (scores.spent <= limits.most_spent(scores.n_rows))
        & (worst_cost <= limits.most_paid())
        & (limits.beyond_delays(mean_delay, worst_delay) == 0)
    )
    return tuple(trees[i] for i in np.flatnonzero(are_within).tolist())


def scores_of_trees(bench: Workbench, rows: ScoredRows, trees: Sequence[ScoredTree]) -> Scores:
    """Score trees by what they do with each scored row."""
    genes = genes_of_trees(np.arange(len(trees)), bench.blocks.n_blocks)
    paid = [tree.paid for tree in trees]
    return rows.with_trees(trees).scores(genes, paid, by_class=bench.metric != "accuracy")


def earn_their_place(
    rows: ScoredRows,
    chains: tuple[StageArray, Sequence[FloatArray]],
    trees: tuple[StageArray, Sequence[FloatArray]],
    total_cost: float,
) -> tuple[float, float]:
    """Return what trees gain over chains at several budgets, and its standard error.

    Designs are chosen on one half of the rows and measured on the other, and the other way round.
    Each pair has genes and the costs after each stage. The gain is a share of correct rows.
    """
    of_chains, of_trees = rows.shares(*chains), rows.shares(*trees)
    n_rows = of_chains.shape[2]
    weights = np.bincount(rows.rows, rows.weights).astype(np.float32)
    half = np.random.default_rng(_OTHER_HALVES).random(n_rows) < 0.5
    gains = np.zeros(n_rows)
    for here, there in ((half, ~half), (~half, half)):
        inside = [
            one[:, :, here] @ weights[here] / weights[here].sum() for one in (of_chains, of_trees)
        ]
        # Where some design answers everyone, only such designs are compared.
        answers_all = inside[0][0].max() > 1 - 1e-6
        for budget in _BUDGETS:
            best = []
            for answered, correct, cost in inside:
                may = (cost <= budget * total_cost) & ((answered > 1 - 1e-6) | (not answers_all))
                best.append(int(np.where(may, correct, -1.0).argmax()) if may.any() else None)
            if best[0] is None or best[1] is None:
                continue
            chain, tree = of_chains[:, best[0]], of_trees[:, best[1]]
            if inside[1][1][best[1]] > inside[0][1][best[0]]:  # otherwise the chain is chosen
                gains[there] += (tree[1] - chain[1])[there] / len(_BUDGETS)
    gains *= weights / weights.mean()
    return float(gains.mean()), float(gains.std() / np.sqrt(n_rows))
