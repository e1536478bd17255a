"""The classifiers of a cascade's stages: what makes probabilities of rows, and accepts or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco._kernels.deciding import confidence_of
from emsco.models.batches import Models
from emsco.models.calibration import Calibrator
from emsco.models.scaling import Scaling

if TYPE_CHECKING:
    from emsco.models.estimator_model import EstimatorModel

__all__ = ["EstimatorModels", "LinearModels", "StageModels"]

Judgement = tuple[IntArray, IntArray, FloatArray]


class StageModels(Protocol):
    """One classifier per stage of a design."""

    def __len__(self) -> int:
        """Number of stages."""

    def judge(self, rows: FloatArray, first: int, end: int, thresholds: FloatArray) -> Judgement:
        """Send rows through the stages from `first` (from 0) up to `end`, which is left out.

        Gives the stage at which each row leaves, or the number of stages where it does not; and
        the likeliest class and its probability at the last stage that saw the row.
        """

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[int, float]:
        """The likeliest class and its probability for one row at one stage."""

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities at one stage, shape (n_rows, n_classes)."""

    def filled(self, rows: FloatArray) -> FloatArray:
        """Rows as the other methods take them, where some of their inputs are gaps."""

    @property
    def untrusted_types(self) -> list[str]:
        """Types of Python that a file of these makes only where they are trusted."""

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """All that judgements depend on, for a digest."""


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Logistic regressions: weights of standardised inputs.

    Attributes
    ----------
    scaling : Scaling
        What inputs are standardised by.
    reads : ndarray of bool, shape (n_stages, n_inputs)
        Inputs that each stage reads.
    coefs : ndarray of shape (n_stages, n_outputs, n_inputs + 1)
        Intercept, then the weight of each input; 0 where a stage does not read it. Two classes
        have one output, the logit of the second; more have one each.
    calibrators : tuple of Calibrator or None
        What makes a stage's probabilities honest, where weights alone do not.
    """

    scaling: Scaling
    reads: BoolArray
    coefs: FloatArray
    calibrators: tuple[Calibrator, ...] | None = None

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        object.__setattr__(self, "coefs", locked_copy(self.coefs, np.float64))
        object.__setattr__(self, "reads", locked_copy(self.reads))

    def __len__(self) -> int:
        """Number of stages."""
        return len(self.coefs)

    def judge(self, rows: FloatArray, first: int, end: int, thresholds: FloatArray) -> Judgement:
        """Send rows through some of the stages; by one kernel where nothing is calibrated."""
        if self.calibrators:
            return judge_by_probabilities(self, rows, first, end, thresholds)
        mean = self.scaling.mean
        return self._models.decide(rows, mean, self._inverse, thresholds, first, end)

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[int, float]:
        """The likeliest class and its probability for one row at one stage, as plain numbers.

        For two classes these are the kernel's very operations in its order, each rounded on its
        own; for a single row they take less time than handing it arrays does.
        """
        if not self._is_plain:
            found = self.probabilities(self.filled(np.array([row])), stage)[0]
            winner = int(found.argmax())
            return winner, float(found[winner])
        intercept, terms = self._terms[stage]
        logit = intercept
        for i, coef, mean, inverse in terms:
            logit += coef * ((row[i] - mean) * inverse)
        if logit != logit:  # a gap stands at the mean, and adds nothing
            logit = intercept
            for i, coef, mean, inverse in terms:
                logit += coef * ((row[i] - mean) * inverse) if row[i] == row[i] else 0.0
        return int(logit > 0.0), self._confidence(logit)

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities at one stage, shape (n_rows, n_classes)."""
        mean = self.scaling.mean
        found = self._models.probabilities(rows, mean, self._inverse, stage)
        return self.calibrators[stage].apply(found) if self.calibrators else found

    def filled(self, rows: FloatArray) -> FloatArray:
        """Rows with the mean in place of gaps."""
        return self.scaling.filled(rows)

    @property
    def untrusted_types(self) -> list[str]:
        """None: weights are numbers."""
        return []

    @cached_property
    def _is_plain(self) -> bool:
        """Whether a stage is one logit, and no more."""
        return self.coefs.shape[1] == 1 and not self.calibrators

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """All that judgements depend on."""
        maps = np.array([f"{one.to_dict()}" for one in self.calibrators or ()])
        return (self.reads, self.coefs, self.scaling.mean, self.scaling.deviation, maps)

    @cached_property
    def _models(self) -> Models:
        coefs = self.coefs[:, 0] if self.coefs.shape[1] == 1 else self.coefs
        return Models.from_subsets(self.reads, coefs)

    @cached_property
    def _inverse(self) -> FloatArray:
        return self.scaling.inverse

    @cached_property
    def _terms(self) -> list[tuple[float, list[tuple[int, float, float, float]]]]:
        """Intercept of each stage; column, weight, mean and inverse deviation of its inputs."""
        mean, inverse = self.scaling.mean.tolist(), self._inverse.tolist()
        terms = []
        for reads, (coefs,) in zip(self.reads, self.coefs.tolist(), strict=True):
            used = np.flatnonzero(reads).tolist()
            terms.append((coefs[0], [(i, coefs[i + 1], mean[i], inverse[i]) for i in used]))
        return terms

    @cached_property
    def _confidence(self) -> Callable[[float], float]:
        return confidence_of.compiled  # it is called row by row


@dataclass(frozen=True, eq=False)
class EstimatorModels:
    """Any classifiers with `predict_proba`, one per stage."""

    models: tuple[EstimatorModel, ...]

    def __len__(self) -> int:
        """Number of stages."""
        return len(self.models)

    def judge(self, rows: FloatArray, first: int, end: int, thresholds: FloatArray) -> Judgement:
        """Send rows through some of the stages."""
        return judge_by_probabilities(self, rows, first, end, thresholds)

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[int, float]:
        """The likeliest class and its probability for one row at one stage."""
        found = self.probabilities(np.array([row], dtype=np.float64), stage)[0]
        winner = int(found.argmax())
        return winner, float(found[winner])

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities at one stage, shape (n_rows, n_classes)."""
        return self.models[stage].probabilities(rows)

    def filled(self, rows: FloatArray) -> FloatArray:
        """Rows as they are: each classifier fills gaps by itself."""
        return rows

    @property
    def untrusted_types(self) -> list[str]:
        """Types that the classifiers are made of, where skops does not trust them by itself."""
        from emsco.models.estimator_files import untrusted_types

        return sorted({name for model in self.models for name in untrusted_types(model)})

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """All that judgements depend on, as digests."""
        return (np.array([model.identity for model in self.models]),)


def judge_by_probabilities(
    models: StageModels, rows: FloatArray, first: int, end: int, thresholds: FloatArray
) -> Judgement:
    """Stage by stage, each stage the rows that no earlier one was sure about."""
    stage = np.full(len(rows), len(models), dtype=np.int64)
    winner = np.zeros(len(rows), dtype=np.int64)
    confidence = np.full(len(rows), np.nan)
    left = np.arange(len(rows))
    for j in range(first, end):
        if not left.size:
            break
        found = models.probabilities(rows[left], j)
        winner[left] = found.argmax(axis=1)
        confidence[left] = found.max(axis=1)
        sure = confidence[left] >= thresholds[winner[left]]
        stage[left[sure]] = j
        left = left[~sure]
    return stage, winner, confidence
