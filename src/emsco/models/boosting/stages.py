"""Boosted trees as the models of a cascade's stages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emsco._base.typing import AnyArray, FloatArray
from emsco.models.boosting.trees import TreeEnsemble
from emsco.models.calibration import Calibrator
from emsco.models.stage_models import StageModels


@dataclass(frozen=True, eq=False)
class BoostedModels(StageModels):
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

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities at one stage, shape (n_rows, n_classes)."""
        shares = self.ensembles[stage].probabilities(rows)
        return self.calibrators[stage].apply(shares) if self.calibrators else shares

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """Everything that affects judgements, for a digest."""
        maps = np.array([f"{one.to_dict()}" for one in self.calibrators or ()])
        return (maps, *(array for one in self.ensembles for array in one.arrays))
