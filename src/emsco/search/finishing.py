"""Refine a search: score the designs near its front again, by better models than it used.

`runners_up` are other designs near a front, which new rows may prefer.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from enum import Enum
from time import perf_counter
from typing import Any

import numpy as np

from emsco._base.text import counted
from emsco._base.typing import BoolArray, FloatArray, IntArray, Report, StageArray
from emsco._base.workers import slices
from emsco.designs.chromosomes import (
    NEVER,
    compress,
    design_keys,
    levels_of,
    nested_subsets,
    stage_counts,
    stages_of,
    with_levels,
    words_of_subsets,
)
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid, inherit_levels
from emsco.errors import InterruptedWarning
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Scores
from emsco.search.archive import Archive
from emsco.search.links import linked_front
from emsco.search.loop import SearchResult, Stop, StopReason

MOST_SUBSETS = 48  # that get models of their own
_ENOUGH = 0.9  # coverage that users are likely to ask for
_FITS_AT_ONCE = 8  # subsets fitted together; with a time limit, as many as there are threads
_MOST_CHAINS = 50_000
_WIDTH, _NARROWEST = 64, 8  # chains that end in the same subset, if thresholds are searched
MOST_RUNNERS_UP = 1000
_NEAR = 2.0  # standard errors
_COMPARED_AT_ONCE = 1024  # designs that are compared with a front together
MAX_STARTS = 60  # designs of a front whose neighbours are tried
MAX_TRIED = 5000  # designs that a search has scored


class RefinementEnd(Enum):
    """How a finish can end."""

    COMPLETE = "complete"
    TIME_LIMIT = "the time limit"
    INTERRUPTED = "Ctrl-C"
    NOTHING_FEASIBLE = "nothing feasible"  # no finished design is within the limits


@dataclass(frozen=True, slots=True)
class Refinement:
    """How the designs of a search were finished.

    Attributes
    ----------
    searched_with, finished_with : str
        Names of the stage models.
    n_subsets : int
        Subsets that were fitted again, each on every split.
    n_designs : int
        Designs that were scored again: chains of these subsets.
    end : RefinementEnd
    n_screened, n_rows : int or None
        Rows that were searched on, and all rows; None if these are the same.

    Examples
    --------
    >>> str(Refinement("splines", "SVC()", 12, 40))
    'searched with splines; then 40 designs of 12 subsets near the front got SVC() of their own'
    >>> print(Refinement("splines", "splines", 12, 40, n_screened=20_000, n_rows=90_000))
    searched with splines on 20,000 of 90,000 rows; then 40 designs ... splines of their own on ...
    """

    searched_with: str
    finished_with: str
    n_subsets: int
    n_designs: int
    end: RefinementEnd = RefinementEnd.COMPLETE
    n_screened: int | None = None
    n_rows: int | None = None

    def __str__(self) -> str:
        """Put it into words, without a full stop."""
        first = f"searched with {self.searched_with}"
        on_all = ""
        if self.n_screened is not None:
            first += f" on {self.n_screened:,} of {self.n_rows:,} rows"
            on_all = " on all rows"
        if self.end is RefinementEnd.NOTHING_FEASIBLE:
            return f"{first}; no design is within the limits with {self.finished_with}{on_all}"
        if not self.n_subsets:
            what = "Ctrl-C came" if self.end is RefinementEnd.INTERRUPTED else "the time was over"
            return f"{first}, whose models are kept: {what} before {self.finished_with}{on_all}"
        done = f"{counted(self.n_designs, 'design')} of {counted(self.n_subsets, 'subset')}"
        early = "" if self.end is RefinementEnd.COMPLETE else f", until {self.end.value}"
        again = f"then {done} near the front got {self.finished_with} of their own{on_all}{early}"
        return f"{first}; {again}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "end": self.end.value}


def finish_search(
    result: SearchResult,
    everything: Scores,
    evaluator: Evaluator,
    space: DesignSpace,
    *,
    searched_with: str,
    finished_with: str,
    time_limit: float | None = None,
    report: Report | None = None,
    most_subsets: int = MOST_SUBSETS,
) -> tuple[SearchResult, Refinement]:
    """Score designs near the front of a search again, and return their front.

    Parameters
    ----------
    result : SearchResult
        Of a search with other stage models.
    everything : Scores
        Of the one design that buys all features at once, by the models of the search.
    evaluator : Evaluator
        Scores designs by the models that count.
    space : DesignSpace
    searched_with, finished_with : str
        Names of the stage models.
    time_limit : float, optional
        Seconds after which no more subsets are fitted.
    report : callable, optional
        Called as ``report(done, total)`` with the number of subsets fitted.
    most_subsets : int
        Designs are picked until they have this many subsets.

    Returns
    -------
    result : SearchResult
        The front of the finished designs. The one given if there was no time for any, or none
        is within the limits.
    finish : Refinement
    """
    spread = spread_order(result.scores, evaluator.costs.total)
    near = order_by_worth(result.scores, everything)
    # What a budget would choose, if everyone is to be answered and if a tenth may be rejected.
    steps = (
        order_by_budget(result.scores, evaluator.costs.total, coverage)
        for coverage in (1.0, _ENOUGH)
    )
    picked = result.designs[np.column_stack([spread, near, *steps]).reshape(-1)]  # by turns
    subsets = wanted_subsets(picked, most_subsets)
    # Fit subsets in their order, as long as there is time.
    started, n_fitted, end = perf_counter(), 0, RefinementEnd.COMPLETE
    # With a time limit, small parts: the clock is looked at between them.
    at_once = _FITS_AT_ONCE if time_limit is None else evaluator.bank.n_jobs
    if report:
        report(0, len(subsets))
    try:
        while n_fitted < len(subsets):
            if time_limit is not None and perf_counter() - started > time_limit:
                end = RefinementEnd.TIME_LIMIT
                break
            part = subsets[n_fitted : n_fitted + at_once]
            evaluator.bank.kept(part)
            n_fitted += len(part)
            if report:
                report(n_fitted, len(subsets))
    except KeyboardInterrupt:
        message = f"Fit interrupted; {n_fitted} of {len(subsets)} subsets are finished."
        warnings.warn(message, InterruptedWarning, stacklevel=5)
        end = RefinementEnd.INTERRUPTED
    # A search that was stopped leaves this step no time, and is named as the reason.
    if not n_fitted and result.stop_reason.cause is Stop.INTERRUPTED:
        end = RefinementEnd.INTERRUPTED  # Ctrl-C in the search leaves no time
    try:
        designs = designs_of_subsets(subsets[:n_fitted], evaluator, space, picked)
        scores = evaluator.score(designs) if len(designs) else None
    except KeyboardInterrupt:
        message = "Fit interrupted; the models of the search are kept."
        warnings.warn(message, InterruptedWarning, stacklevel=5)
        scores, end = None, RefinementEnd.INTERRUPTED
    reason = result.stop_reason
    if end is RefinementEnd.INTERRUPTED:
        generations = result.records[-1].generation if result.records else None
        reason = StopReason(Stop.INTERRUPTED, generations, note=reason.note)
    elif reason.cause is Stop.PROVEN:  # for the models of the search, not for these
        reason = replace(reason, cause=Stop.SETTLED)
    if scores is None or not scores.feasible.any():
        if end is RefinementEnd.COMPLETE:
            end = RefinementEnd.NOTHING_FEASIBLE
        refinement = Refinement(searched_with, finished_with, 0, 0, end)
        return replace(result, stop_reason=reason), refinement
    archive = Archive(designs.shape[1], evaluator.costs.total)
    archive.add(designs, scores)
    refined = SearchResult.from_archive(archive, result.records, reason)
    return refined, Refinement(searched_with, finished_with, n_fitted, len(designs), end)


def designs_of_subsets(
    subsets: BoolArray, evaluator: Evaluator, space: DesignSpace, picked: StageArray
) -> StageArray:
    """Return the designs to score: all chains of these subsets, or the best with thresholds.

    Only accuracy says which are the best. For another metric, chains get the thresholds of the
    design picked first, and picked designs of these subsets keep theirs; so they do with limits on
    delays.
    """
    if evaluator.grid.is_single or not len(subsets):
        return chains_of(subsets, space)
    if evaluator.metric == "accuracy":
        # More subsets, fewer chains for each, so that the work stays about the same.
        width = max(_NARROWEST, _WIDTH * MOST_SUBSETS // max(MOST_SUBSETS, len(subsets)))
        chains = linked_front(evaluator, space, words_of_subsets(subsets), width=width)
        if not evaluator.limits.has_delays:  # which links know nothing of
            return chains
    else:
        chains = inherit_levels(chains_of(subsets, space), picked[:1], evaluator.grid)
    # Designs whose subsets are all fitted keep the thresholds that they were picked with.
    known = {one.tobytes() for one in subsets}
    are_known = [
        all(one.tobytes() in known for one in nested_subsets(stages[None], stages.max() + 1)[0])
        for stages in stages_of(picked)
    ]
    return np.unique(np.concatenate([chains, picked[are_known]]), axis=0)


def order_by_worth(scores: Scores, everything: Scores) -> IntArray:
    """Order designs so that those as good as buying everything come first, at all costs.

    As good means within one standard error in coverage and accuracy. The cheapest of them leads;
    then each is half-way between two earlier ones in the order of costs, because other models may
    not agree with the cheapest. The remaining designs follow, the one that misses this least first.
    """
    behind = scores.errors_behind(everything)
    # The good ones are all alike by this key, so they are sorted by cost.
    order: IntArray = np.lexsort((scores.cost, np.maximum(behind, 1.0)))
    n_good = int((behind <= 1.0).sum())
    place = np.zeros(n_good)
    for bit in range(n_good.bit_length()):
        # Bits in reverse: 0, 1/2, 1/4, 3/4 and so on, each half-way between two before it.
        place += (np.arange(n_good) >> bit & 1) / 2.0 ** (bit + 1)
    half_way = np.floor(place * n_good).astype(np.int64).tolist()
    # Rounding may hit a place twice or miss one; those missed follow in order.
    good = order[list(dict.fromkeys([*half_way, *range(n_good)]))]
    return np.concatenate([good, order[n_good:]])


def order_by_budget(scores: Scores, total_cost: float, coverage: float = _ENOUGH) -> IntArray:
    """Order designs so that those come first that a budget would choose, each unlike those before.

    Such a design has this coverage, and none that is as cheap and has it is more accurate.
    """
    # If no design covers so much, those that cover most.
    enough = scores.coverage >= min(coverage, float(scores.coverage.max()))
    by_cost = np.lexsort((-scores.accuracy, scores.cost, ~enough))
    # Those without the coverage never count as a step.
    accuracy = np.where(enough[by_cost], scores.accuracy[by_cost], -1.0)
    best = np.maximum.accumulate(accuracy)
    is_step = np.concatenate([[True], accuracy[1:] > best[:-1]])
    steps = by_cost[is_step]
    return np.concatenate([steps[spread_order(scores[steps], total_cost)], by_cost[~is_step]])


def spread_order(scores: Scores, total_cost: float) -> IntArray:
    """Order designs so that each is as different as possible from those before it.

    The first stays the first. The root of the cost counts, so that cheap designs are told apart.
    """
    if not len(scores):
        return np.zeros(0, dtype=np.int64)
    root = np.sqrt(scores.cost / (total_cost or 1.0))
    return order_by_distance(np.column_stack([scores.coverage, scores.accuracy, root]))


def order_by_distance(figures: FloatArray, first: int = 0, max_kept: int | None = None) -> IntArray:
    """Order lines of figures so that each is as far as possible from those before it.

    The line `first` leads, and at most `max_kept` are ordered.
    """
    # Each figure from 0 to 1, so that no unit weighs more than another.
    figures = (figures - figures.min(axis=0)) / np.maximum(np.ptp(figures, axis=0), 1e-12)
    n_ordered = len(figures) if max_kept is None else min(max_kept, len(figures))
    order = np.zeros(n_ordered, dtype=np.int64)
    nearest = np.full(len(figures), np.inf)  # distance to those ordered; -1 for these themselves
    for i in range(n_ordered):
        order[i] = nearest.argmax() if i else first
        distances = np.linalg.norm(figures - figures[order[i]], axis=1)
        nearest = np.minimum(nearest, distances)
        nearest[order[i]] = -1.0
    return order


def wanted_subsets(designs: StageArray, max_subsets: int) -> BoolArray:
    """Return the distinct subsets of designs in their order, at least those of the first.

    All features together come first. A design is left out if its subsets would make more than
    `max_subsets`.
    """
    everything = np.ones(designs.shape[1], dtype=np.bool_)
    wanted = {everything.tobytes(): everything}
    for i, design in enumerate(stages_of(designs)):
        chain = nested_subsets(design[None], int(design.max()) + 1)[0]
        new = {one.tobytes(): one for one in chain if one.tobytes() not in wanted}
        # The first design is always whole, however few subsets are allowed.
        if i == 0 or len(wanted) + len(new) <= max_subsets:
            wanted.update(new)
    return np.array(list(wanted.values()))


def chains_of(subsets: BoolArray, space: DesignSpace) -> StageArray:
    """Return every design of a space whose stages know these subsets and no others.

    There are at most 50,000; those of few stages come first.
    """
    # [i, j]: j is no superset of i
    lacks: BoolArray = np.asarray((subsets[:, None] & ~subsets[None]).any(axis=2))
    # Proper supersets: nothing of i is lacking in j, and something of j in i.
    larger = [np.flatnonzero(~lacks[i] & lacks[:, i]).tolist() for i in range(len(subsets))]
    chains: list[tuple[int, ...]] = [(i,) for i in range(len(subsets))]
    designs: list[StageArray] = []
    while chains and len(designs) < _MOST_CHAINS:
        for chain in chains:
            design = np.full(subsets.shape[1], NEVER, dtype=np.int16)
            # From the last stage down, so that the first stage to know a feature wins.
            for stage in reversed(range(len(chain))):
                design[subsets[chain[stage]]] = stage
            designs.append(design)
        grown = chains if len(chains[0]) < space.deepest else []
        chains = [(*chain, i) for chain in grown for i in larger[chain[-1]]]
    genes = np.array(designs[:_MOST_CHAINS], dtype=np.int16).reshape(-1, subsets.shape[1])
    return genes[space.holds(genes)]


def runners_up(
    front: StageArray,
    scored: StageArray,
    evaluator: Evaluator,
    space: DesignSpace,
    *,
    all_fitted: bool = False,
    max_kept: int = MOST_RUNNERS_UP,
    max_tried: int = MAX_TRIED,
    max_starts: int = MAX_STARTS,
) -> StageArray:
    """Return designs that are near a front in all objectives, in no order.

    They are taken from the designs that a search has scored, and from neighbours of its front: the
    same stages with another threshold and, if `all_fitted`, a feature in another stage. No model
    has to be fitted for them. At most `max_tried` scored designs and the neighbours of at most
    `max_starts` of the front are tried.
    """
    # A seed that depends on the front alone: the same front has the same runners-up.
    rng = np.random.default_rng(len(front))
    scored = scored[np.lexsort(design_keys(scored).T)]  # in whichever order they were scored
    scored = scored[rng.permutation(len(scored))[:max_tried]]
    starts = front[rng.permutation(len(front))[:max_starts]]
    tried = [scored, _other_levels(starts, evaluator.grid)]
    if all_fitted:
        tried.append(_other_stages(starts, space, evaluator.grid))
    designs = np.concatenate(tried)
    # In the order in which they came, which `unique` loses.
    first = np.unique(design_keys(designs), axis=0, return_index=True)[1]
    designs = designs[np.sort(first)]
    scores = evaluator.score(designs)
    # How far each is behind the nearest of the front, in the worst figure, in standard errors:
    # those of a share of a half of all scored rows, and of a cost that varies like it.
    error = 0.5 / np.sqrt(scores.n_rows)
    scale = np.array([error, error, error * (evaluator.costs.total or 1.0)])[:, None]
    of_front, of_designs = (
        np.array([one.coverage, one.accuracy, -one.cost]) / scale
        for one in (evaluator.score(front), scores)
    )
    near = np.empty(len(designs), dtype=np.bool_)
    for part in slices(len(designs), _COMPARED_AT_ONCE):
        # Behind the nearest in its worst figure: the smallest over the front of the largest
        # shortfall.
        apart = (of_front[:, None] - of_designs[:, part, None]).max(axis=0)
        near[part] = apart.min(axis=1) <= _NEAR
    # In random order, so that a cut at `max_kept` prefers none.
    kept: StageArray = designs[rng.permutation(np.flatnonzero(near & scores.feasible))[:max_kept]]
    return kept[~evaluator.refused(kept)] if kept.size else kept


def _other_levels(designs: StageArray, grid: ThresholdGrid) -> StageArray:
    """Return designs that differ from these in the threshold of one stage."""
    n_stages, stages = stage_counts(designs), stages_of(designs)
    levels = levels_of(designs, int(n_stages.max()))
    others = [designs[:0]]
    for stage in range(levels.shape[1]):
        for is_last, choices in ((False, grid.early), (True, grid.last)):
            here = np.flatnonzero((n_stages > stage) & ((n_stages == stage + 1) == is_last))
            for level in choices if here.size else ():
                changed = levels[here]
                changed[:, stage] = level
                others.append(with_levels(stages[here], changed))
    return np.concatenate(others)


def _other_stages(designs: StageArray, space: DesignSpace, grid: ThresholdGrid) -> StageArray:
    """Return designs that differ from these in the stage of one feature."""
    others = [designs[:0]]
    lowest = NEVER if space.allow_exclusion else 0
    for design in designs:
        stages = stages_of(design[None])
        moves = np.repeat(stages, len(design) * (int(stages.max()) + 1 - lowest), axis=0)
        places = np.arange(len(moves))
        # Each feature at each place in turn: the remainder is the feature, the quotient the place.
        moves[places, places % len(design)] = lowest + places // len(design)
        moves = compress(moves[(moves >= 0).any(axis=1)])
        moves = moves[space.holds(moves)]
        others.append(inherit_levels(moves, design[None], grid))
    return np.concatenate(others)
