"""The refinement of a fit: designs near the front of a search get models of their own.

`finish_search` picks designs, fits their subsets anew, and returns the front of all designs that
these subsets make. `runners_up` are other designs near a front, which new rows may prefer.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import Enum
from time import perf_counter
from typing import Any

import numpy as np

from emsco._base.text import counted
from emsco._base.typing import BoolArray, IntArray, Report, StageArray
from emsco._base.workers import batched
from emsco.designs.chromosomes import (
    NEVER,
    compress,
    nested_subsets,
    words_of_subsets,
)
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.slots import UNBOUNDED, Slots
from emsco.designs.space import DesignSpace
from emsco.errors import InterruptedWarning
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Counts
from emsco.search.archive import Archive
from emsco.search.linking import linked_front
from emsco.search.loop import SearchResult, Stop, StopReason
from emsco.search.sums import order_by_distance

MOST_SUBSETS = 48  # that get models of their own
MOST_TRIED = 5000  # designs of a search that may be runners-up
MOST_STARTS = 60  # designs of a front whose neighbours may be
_COVERAGES = (1.0, 0.9)  # that users are likely to ask for: nobody is rejected, or a tenth may be
_FITS_AT_ONCE = 8  # subsets fitted together; with a time limit, as many as there are threads
_MOST_CHAINS = 50_000
_WIDTH, _NARROWEST = 64, 8  # chains that end in the same subset, if thresholds are searched
_MOST_RUNNERS_UP = 1000
_NEAR = 2.0  # standard errors


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
        first, on_all = f"searched with {self.searched_with}", ""
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
    everything: Counts,
    evaluator: Evaluator,
    space: DesignSpace,
    *,
    searched_with: str,
    finished_with: str,
    time_limit: float | None = None,
    report: Report | None = None,
    most_subsets: int = MOST_SUBSETS,
) -> tuple[SearchResult, Refinement]:
    """Score designs near the front of a search by better models, and return their front.

    Parameters
    ----------
    result : SearchResult
        Of a search with other stage models.
    everything : Counts
        Of the one design that buys all features at once, by the models of the search.
    evaluator : Evaluator
        Scores designs by the models that count.
    space : DesignSpace
    searched_with, finished_with : str
        Names of the stage models.
    time_limit : float, optional
        Seconds after which no more subsets are fitted. After Ctrl-C in the search, none are.
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
    total, scores = evaluator.costs.total, result.scores
    orders = [spread_order(scores, total), order_by_worth(scores, everything)]
    orders += [order_by_budget(scores, total, coverage) for coverage in _COVERAGES]
    picked = result.designs[np.column_stack(orders).reshape(-1)]  # by turns
    subsets = wanted_subsets(picked, most_subsets)
    # A search that was stopped leaves no time, and is named as the reason.
    was_stopped = result.stop_reason.is_interrupted
    started, n_fitted, end = perf_counter(), 0, RefinementEnd.COMPLETE
    # With a time limit, small parts: the clock is looked at between them.
    at_once = _FITS_AT_ONCE if time_limit is None else evaluator.bits.n_jobs
    try:
        for part in batched(subsets, at_once):
            if report:
                report(n_fitted, len(subsets))
            if time_limit is not None and perf_counter() - started > time_limit:
                end = RefinementEnd.INTERRUPTED if was_stopped else RefinementEnd.TIME_LIMIT
                break
            evaluator.bits.bank.kept(np.array(part))
            n_fitted += len(part)
    except KeyboardInterrupt:
        end = RefinementEnd.INTERRUPTED
    finished = None
    try:
        designs = designs_of_subsets(subsets[:n_fitted], evaluator, space, picked)
        if len(designs):
            finished = evaluator.score(designs)
    except KeyboardInterrupt:
        n_fitted, end = 0, RefinementEnd.INTERRUPTED
    if end is RefinementEnd.INTERRUPTED:
        if not was_stopped:
            message = f"Fit interrupted; {n_fitted} of {len(subsets)} subsets are finished."
            warnings.warn(message, InterruptedWarning, stacklevel=5)
        result = interrupted(result)
    elif result.stop_reason.cause is Stop.PROVEN:  # for the models of the search, not for these
        reason = replace(result.stop_reason, cause=Stop.SETTLED)
        result = replace(result, stop_reason=reason)
    if finished is None or not finished.feasible.any():
        if end is RefinementEnd.COMPLETE:
            end = RefinementEnd.NOTHING_FEASIBLE
        return result, Refinement(searched_with, finished_with, 0, 0, end)
    archive = Archive(total)
    archive.add(designs, finished)
    refined = SearchResult.from_archive(archive, result.records, result.stop_reason)
    return refined, Refinement(searched_with, finished_with, n_fitted, len(designs), end)


def interrupted(result: SearchResult) -> SearchResult:
    """Return a result that counts as interrupted after its last generation."""
    generation = result.records[-1].generation if result.records else None
    reason = StopReason(Stop.INTERRUPTED, generation, note=result.stop_reason.note)
    return replace(result, stop_reason=reason)


def order_by_worth(scores: Counts, everything: Counts) -> IntArray:
    """Order designs so that those as good as buying everything come first, at all costs.

    As good means within one standard error in coverage and accuracy. The cheapest of them leads;
    then each is half-way between two earlier ones in the order of costs, because other models may
    not agree with the cheapest. The remaining designs follow, the one that misses this least first.
    """
    behind = scores.errors_behind(everything)
    # The good ones are all alike by this key, so they are sorted by cost.
    order: IntArray = np.lexsort((scores.cost, np.maximum(behind, 1.0)))
    n_good = int((behind <= 1.0).sum())
    n_bits = n_good.bit_length()
    # Bits in reverse: 0, 1/2, 1/4, 3/4 and so on, each half-way between two before it.
    half_way = (int(f"{i:0{n_bits}b}"[::-1], 2) * n_good >> n_bits for i in range(n_good))
    # Rounding may hit a place twice or miss one; those missed follow in order.
    return order[list(dict.fromkeys([*half_way, *range(len(order))]))]


def order_by_budget(scores: Counts, total_cost: float, coverage: float) -> IntArray:
    """Order designs so that those come first that a budget would choose, each unlike those before.

    Such a design has this coverage, and none that is as cheap and has it is more accurate.
    """
    # If no design covers so much, those that cover most.
    enough = scores.coverage >= min(coverage, scores.coverage.max())
    by_cost = np.lexsort((-scores.accuracy, scores.cost, ~enough))
    # Those without the coverage never count as a step.
    best = np.maximum.accumulate(np.where(enough, scores.accuracy, -1.0)[by_cost])
    is_step = np.diff(best, prepend=-2.0) > 0
    steps = by_cost[is_step]
    return np.concatenate([steps[spread_order(scores[steps], total_cost)], by_cost[~is_step]])


def spread_order(scores: Counts, total_cost: float) -> IntArray:
    """Order designs so that each is as different as possible from those before it.

    The first stays the first. The root of the cost counts, so that cheap designs are told apart.
    """
    root = np.sqrt(scores.cost / (total_cost or 1.0))
    return order_by_distance(np.column_stack([scores.coverage, scores.accuracy, root]))


def wanted_subsets(designs: Designs, max_subsets: int) -> BoolArray:
    """Return the distinct subsets of designs in their order, after all features together.

    A design is left out if its subsets would make more than `max_subsets`.
    """
    everything = np.ones(designs.stages.shape[1], dtype=np.bool_)
    wanted = {everything.tobytes(): everything}
    for chain in _subsets_of(designs):
        more = wanted | chain
        if len(more) <= max_subsets:
            wanted = more
    return np.array(list(wanted.values()))


def _subsets_of(designs: Designs) -> list[dict[bytes, BoolArray]]:
    """Return the features known after each stage of each design, by their bytes."""
    n_stages = int(designs.n_stages.max())
    nested = nested_subsets(designs.stages, n_stages)  # after the last stage they repeat
    return [{subset.tobytes(): subset for subset in chain} for chain in nested]


def designs_of_subsets(
    subsets: BoolArray, evaluator: Evaluator, space: DesignSpace, picked: Designs
) -> Designs:
    """Return the designs to score: all chains of these subsets, or the best with thresholds.

    Only accuracy says which are the best. For another metric, chains get the thresholds of the
    design picked first, and picked designs of these subsets keep theirs; so they do with limits on
    delays.
    """
    if evaluator.grid.is_single or not len(subsets):
        return Designs.of(chains_of(subsets, space))
    if evaluator.metric == "accuracy":
        # More subsets, fewer chains for each, so that the work stays about the same.
        width = max(_NARROWEST, _WIDTH * MOST_SUBSETS // max(MOST_SUBSETS, len(subsets)))
        chains = linked_front(evaluator, space, words_of_subsets(subsets), width=width)
        if not evaluator.limits.has_delays:  # which links know nothing of
            return chains
    else:
        chains = picked[:1].pass_on(chains_of(subsets, space), evaluator.grid.early[0])
    # Designs whose subsets are all fitted keep the thresholds that they were picked with.
    known = {one.tobytes() for one in subsets}
    are_known = [chain.keys() <= known for chain in _subsets_of(picked)]
    return Designs.concatenate([chains, picked[np.array(are_known)]]).sorted()


def chains_of(subsets: BoolArray, space: DesignSpace) -> StageArray:
    """Return every design of a space whose stages know these subsets and no others.

    There are at most 50,000; those of few stages come first.
    """
    lacks: BoolArray = np.any(subsets[:, None] & ~subsets, axis=2)  # [i, j]: j is no superset of i
    is_larger = ~lacks & lacks.T  # nothing of i is lacking in j, and something of j in i
    chains = np.arange(len(subsets))[:, None]
    designs = np.zeros((0, subsets.shape[1]), dtype=np.int16)
    for _ in range(space.deepest):
        # A feature is bought by the first stage to know it: after all those that lack it.
        stages = np.where(subsets[chains[:, -1]], (~subsets[chains]).sum(axis=1), NEVER)
        designs = np.concatenate([designs, stages.astype(np.int16)])[:_MOST_CHAINS]
        if len(designs) == _MOST_CHAINS:
            break
        places, larger = np.nonzero(is_larger[chains[:, -1]])
        chains = np.column_stack([chains[places], larger])
    return designs[space.holds(designs)]


def runners_up(result: SearchResult, evaluator: Evaluator, space: DesignSpace) -> Designs:
    """Return designs that are near the front of a search in all objectives, in no order.

    They are taken from the designs that the search has scored, and from neighbours of its front:
    the same stages with another threshold and, if the front is proven, a feature in another stage.
    No model has to be fitted for them.
    """
    front = result.designs
    scored = front if result.scored is None else result.scored
    # A seed that depends on the front alone: the same front has the same runners-up.
    rng = np.random.default_rng(len(front))
    drawn = rng.permutation(len(scored))[:MOST_TRIED]
    order = scored.order()  # in whichever order they were scored
    starts = front[rng.permutation(len(front))[:MOST_STARTS]]
    tried = [scored[order[drawn]], *_other_levels(starts, evaluator.grid)]
    if result.proven:
        tried += _other_stages(starts, space, evaluator.grid)
    designs = Designs.concatenate(tried)
    keys = designs.keys
    with Slots(UNBOUNDED, keys.shape[1]).claim(keys) as claim:
        designs = designs[claim.new_places]  # each once
    scores = evaluator.score(designs)
    # How far each is behind one of the front, in standard errors: those of a share of a half of
    # all scored rows, and of a cost that varies like it.
    error = 0.5 / np.sqrt(scores.n_rows)
    scale = error * np.array([[1.0], [1.0], [evaluator.costs.total or 1.0]])
    best, figures = (
        np.array([one.coverage, one.accuracy, -one.cost]) / scale
        for one in (evaluator.score(front), scores)
    )
    near = np.zeros(len(designs), dtype=np.bool_)
    for point in best.T:
        near |= (point[:, None] - figures <= _NEAR).all(axis=0)
    # In random order, so that a cut prefers none.
    designs = designs[rng.permutation(np.flatnonzero(near & scores.feasible))[:_MOST_RUNNERS_UP]]
    return designs[~evaluator.refused(designs)] if len(designs) else designs


def _other_levels(designs: Designs, grid: ThresholdGrid) -> Iterator[Designs]:
    """Yield designs that differ from these in the threshold of one stage."""
    n_stages = designs.n_stages
    for stage in range(int(n_stages.max())):
        for which, choices in (
            (n_stages > stage + 1, grid.early),
            (n_stages == stage + 1, grid.last),
        ):
            for level in choices:
                changed = designs[which]
                levels = changed.levels.copy()
                levels[:, stage] = level
                yield replace(changed, levels=levels)


def _other_stages(designs: Designs, space: DesignSpace, grid: ThresholdGrid) -> Iterator[Designs]:
    """Yield designs that differ from these in the stage of one feature."""
    each = np.eye(designs.stages.shape[1], dtype=np.bool_)
    for i, stages in enumerate(designs.stages):
        places = range(NEVER if space.allow_exclusion else 0, int(stages.max()) + 1)
        moved = compress(np.concatenate([np.where(each, place, stages) for place in places]))
        moved = moved[space.holds(moved)]
        yield designs[[i]].pass_on(moved, grid.early[0])
