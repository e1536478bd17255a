"""Answers of stage models on scored rows, for searches and scores of one's own."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import check_jobs, memory_bytes
from emsco._base.text import brief
from emsco._base.typing import AnyArray, FloatArray
from emsco.costs import CostsLike, FeatureCosts
from emsco.data.labels import check_labelled, check_shape
from emsco.data.rows import as_table, check_table, column_names
from emsco.data.splits import make_splits
from emsco.data.training import TrainingData
from emsco.designs.chromosomes import compress
from emsco.designs.design import Design
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.thresholds import (
    MinConfidence,
    by_class,
    check_min_confidence,
)
from emsco.errors import ParameterError
from emsco.models.recipe import StageRecipe
from emsco.scoring.bits import RowBits
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.outcomes import Outcomes as Outcomes
from emsco.scoring.rows import ScoredRows
from emsco.scoring.scores import Counts as Counts
from emsco.scoring.walk import Walk

__all__ = ["Answers", "Counts", "Outcomes"]


class Answers:
    """Answers of logistic stage models for the scored rows, for any subset of the features.

    The model of a subset is fitted on first use, on the training rows. Searches, scores and
    thresholds share it. Other kinds of models, gaps and prices by row need `EMSCOClassifier`.

    Parameters
    ----------
    X : array-like or data frame
        Without missing values.
    y : array-like of shape (n_rows,)
    costs : mapping, array-like, FeatureCosts or None
        As in `EMSCOClassifier`; every row pays the same.
    split : (train, scored)
        Positions of the training rows and of the scored rows.
    memory_limit : int or str
        Bytes for the models and their answers, also as "512MiB".
    n_jobs : int
        Threads, -1 for all cores; results do not depend on it.

    Attributes
    ----------
    costs : FeatureCosts
    classes : ndarray of shape (n_classes,)
        The labels, sorted; `Outcomes.given` has positions in it.
    n_rows : int
        Number of scored rows.
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        costs: CostsLike,
        split: tuple[ArrayLike, ArrayLike],
        *,
        memory_limit: int | str = 2**30,
        n_jobs: int = 1,
    ) -> None:
        table = as_table(X)
        check_table(table)
        check_labelled(y)
        labels = np.asarray(y)
        check_shape(labels, len(table))
        self.memory_limit = memory_bytes("memory_limit", memory_limit)
        if not isinstance(costs, FeatureCosts):
            names = column_names(table) or [f"x{i}" for i in range(table.shape[1])]
            costs = FeatureCosts.resolve(costs, names)
        if costs.prices:
            raise ParameterError("costs must be the same for all rows here, got prices by row.")
        self._data = TrainingData.from_table(table, labels, None, costs, "refuse")
        self._recipe = StageRecipe(None, None, self.memory_limit, check_jobs(n_jobs), 0)
        self.costs, self.classes = costs, self._data.classes
        self._open("split", split)

    def on(self, rows: ArrayLike) -> Self:
        """Return answers of the same models for other rows, such as test rows."""
        other = copy(self)
        other._open("rows", (self._split[0], rows))
        return other

    def of(self, bought: ArrayLike) -> tuple[AnyArray, FloatArray]:
        """Return the likeliest label of each scored row, and its probability.

        Parameters
        ----------
        bought : array-like of bool, shape (n_subsets, n_features) or (n_features,)
            Features that each model reads, at least one.

        Returns
        -------
        labels, confidences : ndarray of shape (n_subsets, n_scored)
            Also of a single subset.
        """
        given = np.atleast_2d(np.asarray(bought, dtype=object))
        n_features, subsets = len(self.costs.names), given == 1
        # Stages, which also say what is bought, would pass as truth values.
        is_truth = (subsets | (given == 0)).all() and subsets.any(axis=1).all()
        if given.shape[1:] != (n_features,) or not is_truth:
            raise ParameterError(
                f"bought must be True or False for each of the {n_features} features, True for one "
                f"or more, got {brief(bought)}."
            )
        ((label, confidence),) = self._bank.answers(subsets, self._data.rows, [self._split[1]])
        return self.classes[label], confidence

    def score(self, designs: ArrayLike, min_confidence: MinConfidence) -> Counts:
        """Count what designs do with the scored rows.

        Parameters
        ----------
        designs : array-like of int, shape (n_designs, n_features)
            Stage of each feature, from 0; -1 is never.
        min_confidence : float or dict
            A row leaves at the first stage that is so confident; a dict has a number for each
            label.
        """
        for one in designs if isinstance(designs, list | tuple) else [designs]:
            if isinstance(one, Design) and one.thresholds is not None:
                raise ParameterError(
                    f"designs must have no thresholds of their own, got {one!r}; ask `outcomes`."
                )
        chains = self._chains(designs)
        # Room for the deepest design, so that counts of any designs can be joined.
        return self._evaluator(min_confidence, len(self.costs.names)).score(chains)

    def outcomes(
        self, design: Design | ArrayLike, min_confidence: MinConfidence | None = None
    ) -> Outcomes:
        """Say of each scored row what a design does with it.

        Parameters
        ----------
        design : Design or array-like of shape (n_features,)
            A chain, or the stage of each feature, from 0; -1 is never.
        min_confidence : float or dict, optional
            Threshold of every stage; a `Design` may have its own.
        """
        if not isinstance(design, Design):
            design = Design(self._chains(design).stages[0], self.costs.names)
        if not design.is_chain or design.names != self.costs.names:
            raise ParameterError(
                f"design must be a chain of the features {self.costs.names}, got {design!r}."
            )
        if design.thresholds is None:
            min_confidence = check_min_confidence(min_confidence, self.classes)
        elif min_confidence is not None:
            raise ParameterError(
                f"min_confidence must be left out for a design with thresholds, got "
                f"{min_confidence!r}."
            )
        of_stages = design.thresholds_of_stages(min_confidence or 1.0, self.classes)
        thresholds, levels = np.unique(of_stages, axis=0, return_inverse=True)
        leveled = Designs.of(self._chains(design).stages, levels.reshape(1, -1))
        inputs = self._data.rows, [self._split]
        scored, units = self._bits.scored, self._bits.units
        walk = Walk(self._bank, scored, inputs, ThresholdGrid(thresholds), units)
        return next(walk.outcomes(leveled))

    def _chains(self, designs: ArrayLike) -> Designs:
        """Check designs that somebody made."""
        stages = np.atleast_2d(compress(designs))
        if stages.shape[1] != len(self.costs.names) or stages.max(axis=1).min(initial=0) < 0:
            raise ParameterError(
                f"designs must have a stage for each of the {len(self.costs.names)} features and "
                f"buy one or more, got shape {stages.shape}."
            )
        return Designs.of(stages)

    def _evaluator(self, min_confidence: MinConfidence, max_stages: int) -> Evaluator:
        """Score designs, each once; `emsco.search` works on it."""
        checked = check_min_confidence(min_confidence, self.classes)
        grid = ThresholdGrid.single(by_class(checked, self.classes))
        return Evaluator(self._bits, self.costs, grid, max_stages)

    def _open(self, name: str, split: tuple[ArrayLike, ArrayLike]) -> None:
        labels, classes = self._data.labels, self.classes.tolist()
        (self._split,) = make_splits([split], labels, labels, classes, None, 0, name=name)
        recipe, every = self._recipe, np.eye(len(self.costs.names), dtype=np.bool_)
        self._bank = recipe.open_bank(self._data, [self._split])
        scored = ScoredRows.from_splits(self._data, [self._split], every)
        self._bits = RowBits(
            self._bank,
            scored,
            self.costs.in_units(len(scored)),
            memory_limit=self.memory_limit,
            n_jobs=recipe.n_jobs,
        )
        self.n_rows = len(scored)
