"""Decide the rows of a table, all at once."""

from __future__ import annotations

import numpy as np

from emsco._base.threads import by_parts
from emsco._base.typing import FloatArray
from emsco.cascade.decisions import Decisions
from emsco.cascade.stages import Stages
from emsco.errors import DataError

__all__ = ["decide_rows"]


def decide_rows(stages: Stages, rows: FloatArray, prices: FloatArray | None = None) -> Decisions:
    """Decide encoded rows; `prices` has what each pays for features with prices by row."""
    n_inputs = stages.encoding.n_inputs
    if rows.ndim != 2 or rows.shape[1] != n_inputs:
        raise DataError(f"rows must have {n_inputs} columns, got shape {rows.shape}.")
    n_rows, n_stages = len(rows), len(stages)
    guesses = np.empty(n_rows, dtype=stages.classes.dtype)
    accepted = np.empty(n_rows, dtype=np.bool_)
    confidence, cost = np.empty(n_rows), np.empty(n_rows)
    stage = np.empty(n_rows, dtype=np.int64)
    paid = np.array([*stages.costs, stages.costs[-1]])  # by exit; rejected rows pay all

    def decide_part(p: slice) -> None:
        left, winner, confidence[p] = stages.judge(rows[p], 0, n_stages)
        accepted[p] = left < n_stages
        cost[p] = paid[left]
        guesses[p] = stages.classes[winner]
        np.minimum(left + 1, n_stages, out=stage[p])

    by_parts(n_rows, decide_part)
    if prices is not None and len(stages.prices):
        cost = stages.prices.costs(prices)[np.arange(n_rows), stage - 1]
    delay = np.array(stages.delays)[stage - 1] if stages.delays else None
    return Decisions(guesses, accepted, confidence, stage, cost, delay=delay)
