"""The stages of a cascade as what decides rows: one stage after another, by one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from emsco._typing import AnyArray, FloatArray, IntArray
from emsco.checkpoint import fingerprint
from emsco.costs import FeatureCosts
from emsco.design import Design
from emsco.kernels import load
from emsco.subsets.models import Models
from emsco.subsets.scaling import Scaling

__all__ = ["StageModels", "Stages", "locked_copy"]


@dataclass(frozen=True, eq=False)
class Stages:
    """What each stage buys, what a row has cost by then, and how the stage judges it.

    Attributes
    ----------
    names : tuple of str
        All features, in column order.
    buys : tuple of tuple of str
        What each stage buys.
    columns : tuple of tuple of int
        The columns of those features.
    costs : tuple of float
        What a row has cost after each stage.
    classes : ndarray of shape (2,)
    labels : tuple
        The same as plain values.
    """

    names: tuple[str, ...]
    buys: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[int, ...], ...]
    costs: tuple[float, ...]
    classes: AnyArray
    labels: tuple[object, ...]
    min_confidence: float
    mean: FloatArray
    inverse: FloatArray
    models: Models

    @classmethod
    def of(
        cls,
        design: Design,
        costs: FeatureCosts,
        classes: AnyArray,
        min_confidence: float,
        scaling: Scaling,
        coefs: FloatArray,
    ) -> Stages:
        """The stages of a design, with weights of shape (n_stages, n_features + 1)."""
        stages = range(design.n_stages)
        subsets = design.subsets()
        units = costs.in_units()
        paid = subsets @ units.features + np.arange(1, len(subsets) + 1) * units.evaluation
        return cls(
            names=design.names,
            buys=design.buys,
            columns=tuple(tuple(np.flatnonzero(design.stages == j).tolist()) for j in stages),
            costs=tuple((paid / units.per_one).tolist()),
            classes=classes,
            labels=tuple(classes.tolist()),
            min_confidence=min_confidence,
            mean=scaling.mean,
            inverse=scaling.inverse,
            models=Models.of(subsets, coefs),
        )

    def __len__(self) -> int:
        """Number of stages."""
        return len(self.buys)

    def judge(
        self, rows: FloatArray, first: int, end: int
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Send rows through the stages from `first` (from 0) up to `end`, which is left out.

        Gives the stage at which each row leaves, or the number of stages where it does not; and
        the likeliest class and its probability at the last stage that saw the row.
        """
        stage = np.empty(len(rows), dtype=np.int64)
        winner = np.empty(len(rows), dtype=np.int64)
        confidence = np.empty(len(rows))
        models = self.models
        self._kernel(
            rows,
            self.mean,
            self.inverse,
            models.columns,
            models.sizes,
            models.coefs,
            np.full(2, self.min_confidence),
            first,
            end,
            stage,
            winner,
            confidence,
        )
        return stage, winner, confidence

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[int, float]:
        """The likeliest class and its probability for one row at one stage, as plain numbers.

        These are the kernel's very operations in its order, each rounded on its own; for a single
        row they take less time than handing it arrays does.
        """
        logit, terms = self._terms[stage]
        for column, coef, mean, inverse in terms:
            logit += coef * ((row[column] - mean) * inverse)
        return int(logit > 0.0), self._confidence(logit)

    @cached_property
    def _terms(self) -> list[tuple[float, list[tuple[int, float, float, float]]]]:
        """Intercept of each stage; column, weight, mean and inverse deviation of its features."""
        models, mean, inverse = self.models, self.mean.tolist(), self.inverse.tolist()
        terms = []
        for columns, size, coefs in zip(models.columns, models.sizes, models.coefs, strict=True):
            used, weights = (columns[1:size] - 1).tolist(), coefs[:size].tolist()
            scales = [(mean[c], inverse[c]) for c in used]
            terms.append(
                (
                    weights[0],
                    [(c, b, *s) for c, b, s in zip(used, weights[1:], scales, strict=True)],
                )
            )
        return terms

    @cached_property
    def _kernel(self) -> Any:
        return load("deciding").decide_rows

    @cached_property
    def _confidence(self) -> Any:
        return load("deciding").confidence_of

    @cached_property
    def identity(self) -> str:
        """A digest of all that decisions depend on."""
        models = self.models
        words = np.array([*self.names, *(f"{label!r}" for label in self.labels)])
        numbers = np.array([*self.costs, self.min_confidence])
        sizes = np.array([len(bought) for bought in self.buys])
        return fingerprint(
            words, numbers, sizes, models.columns, models.coefs, self.mean, self.inverse
        )


@dataclass(frozen=True, slots=True, eq=False)
class StageModels:
    """Fitted stages of every design of a front.

    Attributes
    ----------
    classes : ndarray of shape (2,)
    scaling : Scaling
    coefs : tuple of ndarray of shape (n_stages, n_features + 1)
        Weights of each design's stages.
    """

    classes: AnyArray
    scaling: Scaling
    coefs: tuple[FloatArray, ...]

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        object.__setattr__(self, "classes", locked_copy(self.classes))
        object.__setattr__(self, "coefs", tuple(map(locked_copy, self.coefs)))


def locked_copy(array: AnyArray) -> AnyArray:
    """A copy that nobody can change."""
    owned = np.array(array)
    owned.setflags(write=False)
    return owned
