"""Boosted trees as the models of a cascade's stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emsco._base.typing import AnyArray, FloatArray
from emsco.models.boosting.trees import TreeEnsemble
from emsco.models.calibration import Calibrator
from emsco.models.stage_models import (
    Judgement,
    judge_by_probabilities,
    judge_one_by_probabilities,
)

__all__ = ["BoostedModels"]


@dataclass(frozen=True, eq=False)
class BoostedModels:
    """Boosted trees, one ensemble per stage.

    Attributes
    ----------
    ensembles : tuple of TreeEnsemble
        Restricted to the inputs that the stage reads.
    calibrators : tuple of Calibrator or None
        Calibration of each stage, if any.
    """

    ensembles: tuple[TreeEnsemble, ...]
    calibrators: tuple[Calibrator, ...] | None = None

    def __len__(self) -> int:
        """Number of stages."""
        return len(self.ensembles)

    def judge(self, rows: FloatArray, first: int, end: int, thresholds: FloatArray) -> Judgement:
        """Send rows through some of the stages."""
        return judge_by_probabilities(self, rows, first, end, thresholds)

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[int, float]:
        """Likeliest class and its probability, for one row at one stage."""
        return judge_one_by_probabilities(self, row, stage)

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities at one stage, shape (n_rows, n_classes)."""
        found = self.ensembles[stage].probabilities(rows)
        return self.calibrators[stage].apply(found) if self.calibrators else found

    def filled(self, rows: FloatArray) -> FloatArray:
        """Return the rows unchanged: each ensemble fills missing values itself."""
        return rows

    @property
    def untrusted_types(self) -> list[str]:
        """Always empty: trees are plain numbers."""
        return []

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """Everything that affects judgements, for a digest."""
        maps = np.array([f"{one.to_dict()}" for one in self.calibrators or ()])
        return (maps, *(array for one in self.ensembles for array in one.arrays))
