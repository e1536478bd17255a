"""Confidence and accuracy of the stages of a cascade on labelled rows, at many thresholds."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import AnyArray, FloatArray
from emsco.cascade.stages import Stages
from emsco.trust.reliability import Reliability, reliability_of
from emsco.trust.risk import RiskCoverage, risk_coverage_of, spread_thresholds

__all__ = ["stage_reliability", "stage_risks"]


def stage_reliability(
    stages: Stages,
    rows: FloatArray,
    truth: AnyArray,
    weights: FloatArray | None,
    n_bins: int,
) -> tuple[Reliability, ...]:
    """Compare the confidence of each stage with its accuracy, on the rows that reach it."""
    left, records = np.arange(len(rows)), []
    for j in range(len(stages)):
        stage, winner, confidence = stages.judge(rows[left], j, j + 1)
        correct = stages.classes[winner] == truth[left]
        records.append(
            reliability_of(
                confidence,
                correct,
                None if weights is None else weights[left],
                n_bins,
                lowest=1 / len(stages.classes),
                stage=j + 1,
            )
        )
        left = left[stage != j]
    return tuple(records)


def stage_risks(
    stages: Stages,
    rows: FloatArray,
    truth: AnyArray,
    weights: FloatArray | None,
    own: tuple[float, ...],
) -> tuple[RiskCoverage, ...]:
    """Measure risk, coverage and cost of the whole cascade, then of each stage alone.

    `own` are thresholds to include among many others.
    """
    confidence, winner = stages.opinions(rows)
    correct = stages.classes[winner] == truth
    lowest, n_stages = 1 / len(stages.classes), len(stages)
    costs = np.array(stages.costs)
    which: list[slice] = [slice(None), *(slice(j, j + 1) for j in range(n_stages))]
    return tuple(
        risk_coverage_of(
            confidence[some],
            correct[some],
            costs[some],
            np.append(spread_thresholds(confidence[some], lowest), own),
            weights,
            stage,
        )
        for stage, some in zip((None, *range(1, n_stages + 1)), which, strict=True)
    )
