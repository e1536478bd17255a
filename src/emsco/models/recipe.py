"""The recipe for stage models: their kind and the weights of classes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from emsco._base.checks import check_choice, check_number
from emsco._base.digests import fingerprint
from emsco._base.text import some, what_was_meant
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, Report
from emsco._base.workers import Workers
from emsco.data.splits import Split
from emsco.data.training import TrainingData
from emsco.designs.thresholds import plain
from emsco.errors import ParameterError
from emsco.models.bank import ModelBank
from emsco.models.checkpoint import Checkpoint
from emsco.models.choice import ModelChoice, choose_family, choose_penalty, log_losses
from emsco.models.engine import Engine
from emsco.models.estimators import check_estimator_like, describe
from emsco.models.fitter import Answers
from emsco.models.kinds import KINDS
from emsco.models.rows import FitOptions, SplitData
from emsco.models.splines import SplineBasis
from emsco.models.stage_models import StageModels, averaged

AUTO = "auto"
FAMILIES = ("logistic", "spline", "boosting")  # that "auto" chooses from, the simplest first
NAMED = tuple(name for name in KINDS if name != "estimator")
_FEW_SUBSETS = 31  # as many as five features have; boosted trees of their own take seconds
_SHARED = "one boosted model for all subsets"


@dataclass(frozen=True, slots=True)
class StageRecipe:
    """How to fit the model of a stage.

    Attributes
    ----------
    estimator : classifier, "spline", "boosting", "auto" or None
        Any classifier with `predict_proba`. None: L2 logistic regression, fitted in batches.
        "spline": the same on splines of the numeric inputs. "boosting": gradient-boosted trees.
        "auto": one of these, yet to be `chosen`.
    class_weight : dict, "balanced" or None
        Weight of each class in fitting.
    memory_limit, n_jobs : int
    seed : int
        Seed of random estimators.
    checkpoint : Checkpoint or None
        Keeps what models other than logistic ones say about scored rows.
    basis : SplineBasis or None
        Splines of the inputs, once `prepared`.
    penalty : float
        Penalty of logistic regressions.
    shared : bool
        Whether one boosted model answers for all subsets, instead of one for each.
    """

    estimator: Any
    class_weight: Any
    memory_limit: int
    n_jobs: int
    seed: int
    checkpoint: Checkpoint | None = None
    basis: SplineBasis | None = None
    penalty: float = 1.0
    shared: bool = False

    @classmethod
    def from_parameters(
        cls,
        estimator: Any,
        class_weight: Any,
        classes: AnyArray,
        memory_limit: int,
        n_jobs: int,
        seed: int,
    ) -> StageRecipe:
        """Validate the recipe and return it.

        Raises
        ------
        ParameterError
            If a parameter breaks its rule.
        """
        if isinstance(estimator, str):
            check_choice("estimator", estimator, (AUTO, *NAMED))
            # Logistic regression is the default and has no name inside, so that both ways agree.
            estimator = None if estimator == "logistic" else estimator
        elif estimator is not None:
            check_estimator_like(estimator)
        _check_class_weight(class_weight, classes)
        return cls(
            estimator=estimator,
            class_weight=class_weight,
            memory_limit=memory_limit,
            n_jobs=n_jobs,
            seed=seed,
        )

    @property
    def is_linear(self) -> bool:
        """Whether stage models are logistic regressions, of the inputs or of splines."""
        return self.estimator is None or self.estimator == "spline"

    @property
    def _is_named(self) -> bool:
        return self.estimator is None or isinstance(self.estimator, str)

    @property
    def _family(self) -> str:
        return (self.estimator or FAMILIES[0]) if self._is_named else "estimator"

    @property
    def in_words(self) -> str:
        """Name the stage models."""
        if self._is_named:
            return _SHARED if self.shared else KINDS[self._family].in_words
        return " ".join(f"{self.estimator!r}".split())

    def of_family(self, family: str) -> StageRecipe:
        """Return the recipe of one of the `FAMILIES`."""
        return replace(self, estimator=None if family == "logistic" else family)

    def for_search(self, search_with: str | None, n_blocks: int) -> StageRecipe:
        """Return the recipe to search with: itself, unless a quicker one comes first.

        A search with boosted trees uses one model for all subsets, unless there are only a few.
        """
        if search_with is None:
            few = 2**n_blocks - 1 <= _FEW_SUBSETS
            return self if self.estimator != "boosting" or few else replace(self, shared=True)
        quicker = self.of_family(search_with)
        if quicker.estimator == "boosting":
            return replace(quicker, shared=True)
        return self if quicker.estimator == self.estimator else quicker

    def chosen(
        self,
        data: TrainingData,
        splits: list[Split],
        report: Report | None = None,
        families: Sequence[str] = FAMILIES,
        slow: Collection[str] = (),
    ) -> tuple[StageRecipe, ModelChoice]:
        """Replace "auto" by one of the families, as `choose_family` does."""

        def losses_of(family: str, few: list[Split], subsets: BoolArray) -> FloatArray:
            recipe = self.of_family(family).prepared(data, few)
            # A subset of features reads all inputs that they bring.
            reads, losses = subsets[:, data.encoding.input_feature], []
            for split in few:
                (models,) = recipe.stage_models(recipe.open_bank(data, [split]), [reads])
                rows, labels = models.filled(data.rows[split[1]]), data.labels[split[1]]
                losses.append(
                    [log_losses(models.probabilities(rows, j), labels) for j in range(len(subsets))]
                )
            return np.concatenate(losses, axis=1)

        weights = self._class_weights(data, np.arange(len(data.labels)))
        # Rows are weighed as the stage models see them, class weights included.
        choice = choose_family(
            families, data, splits, losses_of, weights, self.seed, report, slow=slow
        )
        return self.of_family(choice.family), choice

    def prepared(self, data: TrainingData, splits: list[Split]) -> StageRecipe:
        """Learn what all stage models share: the knots of splines and their penalty.

        Knots are quantiles of all rows; labels play no part. The penalty is chosen on the
        training rows of the first split.
        """
        if self.estimator != "spline" or self.basis is not None:
            return self
        rows = np.asarray(data.rows)
        basis = SplineBasis.learn(rows, data.weights)
        # Only the first split, so that no label of its scored rows is used.
        (first,) = self._split_data(data, basis.expand(rows), splits[:1])
        penalty = choose_penalty(first)
        return replace(self, basis=basis, penalty=penalty)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that identify the recipe."""
        weight = self.class_weight
        return {
            "estimator": self._family if self._is_named else describe(self.estimator),
            "class_weight": plain(weight) if isinstance(weight, Mapping) else weight,
        }

    def open_bank(
        self,
        data: TrainingData,
        splits: list[Split],
        members: BoolArray | None = None,
    ) -> ModelBank:
        """Open a bank of stage models over blocks of features.

        `members` marks the features of each block, shape (n_blocks, n_features). By default every
        feature is its own block.
        """
        # Which inputs each block brings: those of all its features. Not by a product of truth
        # values, which NumPy takes minutes for if there are thousands.
        if members is None:
            members = np.eye(len(data.costs.names), dtype=np.bool_)
        brings: BoolArray = members[:, data.encoding.input_feature]
        brings = brings if self.basis is None else self.basis.reads(brings)
        columns = data.rows if self.basis is None else self.basis.expand(np.asarray(data.rows))
        options = FitOptions(
            input_feature=data.encoding.input_feature,
            workers=Workers(self.n_jobs),
            estimator=self.estimator,
            shared=self.shared,
            basis=self.basis,
            penalty=self.penalty,
        )
        parts = self._split_data(data, columns, splits)
        fitters = KINDS[self._family].load("fitter").open(parts, options)
        engine = Engine(fitters, len(data.classes), self._recall(data, parts))
        return ModelBank(engine, brings, self.memory_limit // 4)

    def _recall(
        self, data: TrainingData, parts: Sequence[SplitData]
    ) -> Callable[..., Answers] | None:
        """Answer as `Engine` asks, from the checkpoint; None without one."""
        checkpoint = self.checkpoint
        if checkpoint is None or self.is_linear:  # logistic models are fitted quickly
            return None
        # What the problem of the checkpoint leaves open: a sample or a part of the rows, what rows
        # weigh, and the models. The first split has a say in all, so splits belong together.
        arrays: list[AnyArray] = [data.labels, data.encoding.input_feature]
        arrays += [rows for part in parts for rows in (part.train, part.scored)]
        arrays += [] if data.weights is None else [data.weights]
        of = fingerprint(*arrays, np.array([repr(self.to_dict()), str(self.shared)]))

        def recall(
            number: int, subsets: BoolArray, answer: Callable[..., Answers], report: Report | None
        ) -> Answers:
            shape = len(parts[number].scored), len(data.classes)
            key = f"{of} {number} "
            return checkpoint.answers(key, subsets, answer, shape, self.n_jobs, report)

        return recall

    def _split_data(
        self, data: TrainingData, columns: Any, splits: Sequence[Split]
    ) -> list[SplitData]:
        return [
            SplitData(
                X=columns,
                labels=data.labels,
                train=train,
                scored=scored,
                n_classes=len(data.classes),
                weights=data.weights,
                class_weights=self._class_weights(data, train),
                # Of the split's number, not of a shared generator, so that splits can be fitted in
                # any order.
                seed=int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0]),
            )
            for number, (train, scored) in enumerate(splits)
        ]

    def stage_models(
        self,
        bank: ModelBank,
        designs: list[BoolArray],
        average: bool = False,
        report: Report | None = None,
    ) -> tuple[StageModels, ...]:
        """Fit the stage models of designs on the first split of the bank, or on all splits.

        A design is given by the inputs that each of its stages reads. Equal stages share a
        model. With `average`, each stage averages the models of all splits.
        ``report(done, total)`` is called after each fit of a user's classifier.
        """
        if self.basis is not None:
            designs = [self.basis.reads(reads) for reads in designs]
        fitters = bank.engine.fitters if average else bank.engine.fitters[:1]
        numbers: Sequence[FloatArray | None] = [None] * len(fitters)
        if fitters[0].keeps_models:  # the bank has most of them
            # All designs in one array, so that the bank answers once.
            numbers = bank.engine.by_split(bank.kept_of_inputs(np.concatenate(designs)))
        parts = []
        for i, (fitter, kept) in enumerate(zip(fitters, numbers, strict=False)):
            share = None if report is None else partial(_report_share, report, i, len(fitters))
            parts.append(fitter.stage_models(designs, kept, share))
        return tuple(averaged(models) for models in zip(*parts, strict=True))

    def class_shares(self, data: TrainingData) -> FloatArray:
        """Total weight of each class in the eyes of stage models; class weights count."""
        totals = np.bincount(data.labels, data.weights, len(data.classes)).astype(np.float64)
        weights = self._class_weights(data, np.arange(len(data.labels)))
        return totals if weights is None else totals * weights

    def _class_weights(self, data: TrainingData, train: IntArray) -> FloatArray | None:
        """Weight of each class in a fit on these training rows."""
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, Mapping):
            return np.array([self.class_weight.get(c, 1.0) for c in data.classes.tolist()])
        rows = np.ones(len(train)) if data.weights is None else data.weights[train]
        totals = np.bincount(data.labels[train], rows, minlength=len(data.classes))
        balanced: FloatArray = rows.sum() / (len(data.classes) * totals)
        return balanced


def _report_share(report: Report, number: int, n_jobs: int, done: int, total: int) -> None:
    """Report the progress of one of several equal jobs as progress of all."""
    report(number * total + done, n_jobs * total)


def _check_class_weight(given: Any, classes: AnyArray) -> None:
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    if not isinstance(given, Mapping):
        raise ParameterError(
            f'class_weight must be None, "balanced" or a dict of labels and weights, got {given!r}.'
        )
    labels = classes.tolist()
    for label, weight in given.items():
        if label not in labels:
            raise ParameterError(
                f"class_weight must name the classes {some(labels)}, got {label!r}"
                f"{what_was_meant(label, labels)}"
            )
        check_number(f"class_weight of class {label!r}", weight, 0, np.inf, "()")
