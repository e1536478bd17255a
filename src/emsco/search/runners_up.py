"""Designs that a search might as well have found: nearly as good as those of its front.

With other rows, one of them would be on the front instead. Whoever wants to know how much luck is
in a front needs them.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import FloatArray, StageArray
from emsco._base.workers import slices
from emsco.designs.chromosomes import (
    NEVER,
    compress,
    design_keys,
    levels_of,
    stage_counts,
    stages_of,
    with_levels,
)
from emsco.designs.grid import ThresholdGrid, inherit_levels
from emsco.designs.space import DesignSpace
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import Scores

__all__ = ["MOST_RUNNERS_UP", "runners_up"]

MOST_RUNNERS_UP = 1000
_NEAR = 2.0  # standard errors
_AT_ONCE = 1024  # designs that are compared with a front together
_MOST_STARTS = 60  # designs of a front whose neighbours are tried
_MOST_TRIED = 5000  # designs that a search has scored


def runners_up(
    front: StageArray,
    scored: StageArray,
    evaluator: Evaluator,
    space: DesignSpace,
    *,
    all_fitted: bool = False,
    most: int = MOST_RUNNERS_UP,
) -> StageArray:
    """Return designs that are near a front in all objectives, in no order.

    They are taken from the designs that a search has scored, and from neighbours of its front: the
    same stages with another threshold and, if `all_fitted`, a feature in another stage. No model
    has to be fitted for them.
    """
    rng = np.random.default_rng(len(front))
    scored = scored[np.lexsort(design_keys(scored).T)]  # in whichever order they were scored
    scored = scored[rng.permutation(len(scored))[:_MOST_TRIED]]
    starts = front[rng.permutation(len(front))[:_MOST_STARTS]]
    tried = [scored, _other_levels(starts, evaluator.grid)]
    if all_fitted:
        tried.append(_other_stages(starts, space, evaluator.grid))
    designs = np.concatenate(tried)
    first = np.unique(design_keys(designs), axis=0, return_index=True)[1]
    designs = designs[np.sort(first)]
    scores = evaluator.score(designs)
    near = _behind(scores, evaluator.score(front), evaluator.costs.total) <= _NEAR
    kept = rng.permutation(np.flatnonzero(near & scores.feasible))[:most]
    found: StageArray = designs[kept]
    if found.size:
        found = found[~evaluator.refused(found)]
    return found


def _behind(scores: Scores, front: Scores, total_cost: float) -> FloatArray:
    """Standard errors by which each design is behind the nearest of a front, in the worst figure.

    They are those of a share of a half of all scored rows, and of a cost that varies like it.
    """
    error = 0.5 / np.sqrt(scores.n_rows)
    scale = np.array([error, error, error * (total_cost or 1.0)])
    of_front, own = _figures(front) / scale, _figures(scores) / scale
    behind = np.empty(len(own))
    for part in slices(len(own), _AT_ONCE):
        apart = (of_front[None] - own[part, None]).max(axis=2)
        behind[part] = apart.min(axis=1)
    return behind


def _figures(scores: Scores) -> FloatArray:
    return np.column_stack([scores.coverage, scores.accuracy, -scores.cost])


def _other_levels(designs: StageArray, grid: ThresholdGrid) -> StageArray:
    """Return designs that differ from these in the threshold of one stage."""
    found = [designs[:0]]
    n_stages, stages = stage_counts(designs), stages_of(designs)
    own = levels_of(designs, int(n_stages.max()))
    for stage in range(own.shape[1]):
        for is_last, levels in ((False, grid.early), (True, grid.last)):
            here = np.flatnonzero((n_stages > stage) & ((n_stages == stage + 1) == is_last))
            for level in levels if here.size else ():
                changed = own[here]
                changed[:, stage] = level
                found.append(with_levels(stages[here], changed))
    return np.concatenate(found)


def _other_stages(designs: StageArray, space: DesignSpace, grid: ThresholdGrid) -> StageArray:
    """Return designs that differ from these in the stage of one feature."""
    found = [designs[:0]]
    lowest = NEVER if space.allow_exclusion else 0
    for design in designs:
        stages = stages_of(design[None])
        moves = np.repeat(stages, len(design) * (int(stages.max()) + 1 - lowest), axis=0)
        places = np.arange(len(moves))
        moves[places, places % len(design)] = lowest + places // len(design)
        moves = compress(moves[(moves >= 0).any(axis=1)])
        moves = moves[space.holds(moves)]
        found.append(inherit_levels(moves, design[None], grid))
    return np.concatenate(found)
