"""The cascade: one design with its fitted models, ready to decide rows and to buy features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.arrays import locked_copy
from emsco._base.documents import PathLike, read_document, write_document
from emsco._base.text import listed
from emsco._base.typing import AnyArray, FloatArray
from emsco.cascade import acquiring, formats
from emsco.cascade.acquiring import Acquire, AsyncAcquire, Limits, Retries, RunPrices
from emsco.cascade.case import Case
from emsco.cascade.deciding import decide_rows
from emsco.cascade.decisions import Decisions
from emsco.cascade.evaluation import Evaluation
from emsco.cascade.prices import Prices
from emsco.cascade.stages import Stages
from emsco.cascade.tallying import Tally
from emsco.costs import FeatureCosts
from emsco.data.encoding import Encoding
from emsco.data.frames import shell_of
from emsco.data.keys import Keys
from emsco.data.labels import check_truth
from emsco.data.weights import check_weights
from emsco.designs.design import Design
from emsco.designs.stage_thresholds import (
    StageThresholds,
    answers_all,
    by_stage_and_class,
    differ,
    leaving_in_words,
    rule_in_words,
)
from emsco.designs.thresholds import MinConfidence, in_words
from emsco.models.averaged import parts_of
from emsco.models.stage_models import StageModels
from emsco.pictures.notebook import boxes, fragment, note
from emsco.trust.reliability import Reliability, reliability_of
from emsco.trust.risk import RiskCoverage, risk_coverage_of, spread_thresholds

__all__ = ["Cascade"]

_MOST_NAMES = 30  # of a stage, in a notebook


@dataclass(frozen=True, eq=False)
class Cascade:
    """A design with its fitted models: buys features stage by stage and labels rows.

    Each row leaves at the first stage that is confident enough. The cascade rejects a row that is
    still undecided after the last stage; a last stage with threshold 0 leaves none undecided. The
    cascade needs neither the search nor the training rows.

    Attributes
    ----------
    design : Design
        Features that each stage buys, and thresholds if each stage has its own.
    costs : FeatureCosts
    classes : ndarray of shape (n_classes,)
    min_confidence : float or dict
        Confidence that every stage needs to label a row, unless the design has thresholds; one
        number, or one for each class.
    encoding : Encoding
        Turns columns into the numbers that models read, and handles missing values.
    models : StageModels
        One fitted model per stage.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from emsco import EMSCOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = EMSCOClassifier(max_stages=2, generations=5, cv=1 / 3, random_state=0)
    >>> cascade = clf.fit(X, y).cascade_
    >>> decisions = cascade.decide(X[:3])
    >>> len(decisions), max(decisions.stage) <= cascade.n_stages <= 2
    (3, True)
    """

    design: Design
    costs: FeatureCosts
    classes: AnyArray
    min_confidence: MinConfidence
    encoding: Encoding
    models: StageModels

    def __post_init__(self) -> None:
        """Copy and lock the classes; check that thresholds of the design name them."""
        object.__setattr__(self, "classes", locked_copy(self.classes))
        by_stage_and_class(self.design.thresholds or (), self.classes)

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return self.design.n_stages

    @property
    def thresholds(self) -> StageThresholds:
        """Confidence that each stage needs to label a row: a number, or a dict by class."""
        return self.design.thresholds_or(self.min_confidence)

    @property
    def single_threshold(self) -> float | None:
        """The threshold above 0 that all stages and classes share; None if there is none."""
        first, *others = np.unique(self.stages.thresholds).tolist()
        return None if others or not first else float(first)

    @property
    def n_models(self) -> int:
        """Number of models per stage, whose class probabilities are averaged; often 1."""
        return len(parts_of(self.models))

    @cached_property
    def stages(self) -> Stages:
        """The stages in the form that decides rows."""
        return Stages.from_design(
            self.design,
            self.costs,
            self.classes,
            self.min_confidence,
            self.encoding,
            self.models,
        )

    @cached_property
    def stage_costs(self) -> FloatArray:
        """Cost of a row after each stage."""
        return locked_copy(self.stages.costs)

    @cached_property
    def stage_delays(self) -> FloatArray:
        """Time that a row has waited after each stage; a stage waits for its slowest feature."""
        return locked_copy(self.stages.delays or (0.0,) * self.n_stages)

    def decide(self, X: ArrayLike, prices: Prices = None) -> Decisions:
        """Decide every row of a table.

        Other rows never influence the decision about a row. Tables of 100,000 rows or more use
        all cores.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            An array with the columns in order, or a data frame, whose columns are found by name.
        prices : mapping, optional
            Name of a feature with prices by row → what each row pays: an array, the name of a
            column of X, a function of X, or one number. By default they come from where they came
            from in training.
        """
        rows = self.encoding.rows(X)
        paid = self.row_prices(X, len(rows), prices)
        return replace(self.decide_rows(rows, paid), frame=shell_of(X))

    def evaluate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: Any = None,
        by: Any = None,
        prices: Prices = None,
    ) -> Evaluation:
        """Decide labelled rows and measure coverage, accuracy and cost, with 95 % intervals.

        Intervals are exact, unless rows have weights or belong to groups; see `Intervals`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row.
        groups : array-like of shape (n_rows,) or str, optional
            Group of each row, such as the patient, or the name of a column of X. Rows of a group
            may be alike, so intervals are wider.
        by : array-like of shape (n_rows,) or str, optional
            Subgroup of each row, such as the ward, or the name of a column of X, which need not be
            a feature. `Evaluation.by` then has the same figures for each subgroup.
        prices : mapping, optional
            As for `decide`.

        Examples
        --------
        >>> import numpy as np
        >>> from emsco import EMSCOClassifier
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> y, ward = X[:, 0] + X[:, 1] > 0, np.repeat(["A", "B"], 150)
        >>> clf = EMSCOClassifier(cv=1 / 3, random_state=0).fit(X, y)
        >>> found = clf.cascade_.evaluate(X, y, by=ward)
        >>> list(found.by), bool(found.intervals.accuracy.low > 0.9)
        (['A', 'B'], True)
        """
        decisions = self.decide(X, prices)
        n_rows = len(decisions)
        group_of, subgroup_of = (
            Keys.from_parameter(name, given, X, n_rows)
            for name, given in (("groups", groups), ("by", by))
        )
        if group_of is not None:
            group_of.check_complete("groups")
        stages = self.stages
        about = self.classes, self.design.buys, stages.costs, bool(stages.prices)
        tally = Tally(*about, delays=stages.delays)
        truth = check_truth(y, self.classes, n_rows)
        tally.add(decisions, truth, check_weights(sample_weight, n_rows), group_of, subgroup_of)
        return tally.evaluation()

    def reliability(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 10,
    ) -> tuple[Reliability, ...]:
        """Compare the confidence of each stage with its accuracy, on the rows that reach it.

        Returns one `Reliability` per stage. A stage counts every row that reaches it, whether or
        not the row leaves there.
        """
        rows, records = self.encoding.rows(X), []
        truth = check_truth(y, self.classes, len(rows))
        weights = check_weights(sample_weight, len(rows))
        left = np.arange(len(rows))
        for j in range(self.n_stages):
            stage, winner, confidence = self.stages.judge(rows[left], j, j + 1)
            correct = self.classes[winner] == truth[left]
            records.append(
                reliability_of(
                    confidence,
                    correct,
                    None if weights is None else weights[left],
                    n_bins,
                    lowest=1 / len(self.classes),
                    stage=j + 1,
                )
            )
            left = left[stage != j]
        return tuple(records)

    def risk_coverage(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[RiskCoverage, ...]:
        """Measure risk, coverage and cost on labelled rows at many thresholds.

        Returns a record of the whole cascade, then one of each stage alone. Each threshold applies
        to all classes, and rows go through the stages again: at a higher threshold, a row may move
        on to a later stage. A stage alone buys all its features for every row.
        """
        rows = self.encoding.rows(X)
        truth = check_truth(y, self.classes, len(rows))
        weights = check_weights(sample_weight, len(rows))
        confidence, winner = self.stages.opinions(rows)
        correct = self.classes[winner] == truth
        own = () if self.single_threshold is None else (self.single_threshold,)
        lowest = 1 / len(self.classes)
        stages: list[slice] = [slice(None), *(slice(j, j + 1) for j in range(self.n_stages))]
        return tuple(
            risk_coverage_of(
                confidence[which],
                correct[which],
                self.stage_costs[which],
                np.append(spread_thresholds(confidence[which], lowest), own),
                weights,
                stage,
            )
            for stage, which in zip((None, *range(1, self.n_stages + 1)), stages, strict=True)
        )

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities at the last stage that judged each row, (n_rows, n_classes)."""
        rows = self.encoding.rows(X)
        decisions = self.decide_rows(rows)
        found = np.empty((len(rows), len(self.classes)))
        for j in range(self.n_stages):
            here = decisions.stage == j + 1
            if here.any():
                found[here] = self.stages.probabilities(rows[here], j)
        return found

    def open(self, budget: float | None = None, prices: Mapping[str, float] | None = None) -> Case:
        """Open a case: one row whose features you buy on demand.

        Parameters
        ----------
        budget : float, optional
            Highest cost of the row. The case is rejected before a stage that would exceed it.
        prices : mapping, optional
            What this row pays for features with prices by row. One that you learn only when you
            buy is given to `Case.give` as `spent`; until then, its usual price counts.

        Examples
        --------
        >>> import numpy as np
        >>> from emsco import EMSCOClassifier
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> clf = EMSCOClassifier(cv=1 / 3, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
        >>> bedside = {"x0": 2.0, "x1": 1.5, "x2": 0.1}
        >>> case = clf.cascade_.open()
        >>> while case.needs:
        ...     case = case.give({name: bedside[name] for name in case.needs})
        >>> case.decision.label
        True
        """
        return Case(self.stages, budget, prices)

    def resume(self, text: str | bytes) -> Case:
        """Continue a case from the text that `Case.to_json` returned."""
        return Case.from_json(self.stages, text)

    def run(
        self,
        ids: Sequence[Any],
        acquire: Acquire,
        budget: float | None = None,
        *,
        batch_size: int | None = None,
        retries: int = 2,
        pause: float = 0.1,
        report: Callable[[int, int], None] | None = None,
        prices: RunPrices = None,
    ) -> Decisions:
        """Decide many rows, buying features only for rows that are still undecided.

        Parameters
        ----------
        ids : sequence
            Identify the rows; passed to `acquire` and returned with the decisions.
        acquire : callable
            Called as ``acquire(names, ids)`` at each stage, with the features of the stage and
            the ids of the undecided rows. Must return a table with one row per id: a 2-D array
            with one column per name, a data frame, or a mapping of names to values. A row with a
            missing value (None, NaN) is rejected, unless the cascade was fitted to impute missing
            values or to skip stages.
        budget : float, optional
            Highest cost of a row. A row is rejected before a stage that would exceed it.
        batch_size : int, optional
            Most rows in one call of `acquire`; by default all.
        retries : int
            How often to call `acquire` again after it raises. After the last failure, the rows of
            that call are rejected, with the error as their reason.
        pause : float
            Seconds before the first retry; each further pause is twice as long.
        report : callable, optional
            Called as ``report(done, total)`` after each batch.
        prices : mapping, optional
            Name of a feature with prices by row → what each row pays: an array in the order of
            `ids`, a function of the list of ids, or one number. If a price is only known
            afterwards, `acquire` returns a `Bought` with what was spent.

        Returns
        -------
        Decisions
            With `ids` and `reasons`. Ctrl-C warns, rejects all undecided rows and returns early.
        """
        attempts = Retries(retries, pause)
        limits = Limits(budget, batch_size, prices)
        return acquiring.run(self.stages, ids, acquire, limits, attempts, report)

    async def arun(
        self,
        ids: Sequence[Any],
        acquire: AsyncAcquire,
        budget: float | None = None,
        *,
        batch_size: int | None = 1,
        concurrency: int = 16,
        timeout: float | None = None,
        retries: int = 2,
        pause: float = 0.1,
        report: Callable[[int, int], None] | None = None,
        prices: RunPrices = None,
    ) -> Decisions:
        """Decide many rows with an async `acquire`, many batches at a time.

        Parameters
        ----------
        ids, acquire, budget, retries, pause, report, prices
            As for `run`, except that `acquire` is an async function.
        batch_size : int or None
            Rows that go through the stages together: by default one; None for all.
        concurrency : int
            Most calls of `acquire` at a time.
        timeout : float, optional
            Seconds after which a call of `acquire` counts as failed.

        Returns
        -------
        Decisions
            As for `run`. If the task is cancelled, the `asyncio.CancelledError` carries the
            decisions so far in its attribute `decisions`.
        """
        attempts = Retries(retries, pause)
        limits = Limits(budget, batch_size, prices)
        return await acquiring.run_async(
            self.stages, ids, acquire, limits, concurrency, timeout, attempts, report
        )

    def save(self, path: PathLike) -> None:
        """Write the cascade to a JSON file; a failure leaves no partial file."""
        shared = formats.Shared.from_models(
            self.costs, self.classes, self.min_confidence, self.encoding, [self.models]
        )
        stages = shared.stages_to_dicts(self.design, self.models)
        write_document(path, "cascade", formats.FORMAT, {**shared.to_dict(), "stages": stages})

    @classmethod
    def load(cls, path: PathLike, trusted: Sequence[str] = ()) -> Self:
        """Read a cascade that `save` wrote. Loading never executes code from the file.

        Parameters
        ----------
        path : path
        trusted : sequence of str
            Types outside scikit-learn that the file may use, such as
            ``"mypackage.MyClassifier"``. Reading one runs the code of its package.

        Raises
        ------
        FileError
            If the file is missing, damaged, edited, too new or not a cascade.
        """
        fields = read_document(path, "cascade", formats.FORMAT, formats.FORMAT)
        shared = formats.Shared.from_dict(fields, trusted)
        design, models = formats.stages_from_dicts(fields, shared)
        return cls(
            design,
            shared.costs,
            shared.classes,
            shared.min_confidence,
            shared.encoding,
            models,
        )

    @property
    def untrusted_types(self) -> list[str]:
        """Types that you must pass to `load` as `trusted` to read this cascade from a file."""
        return self.models.untrusted_types

    def __repr__(self) -> str:
        """Show the features and cost of each stage, and the threshold or those of all stages."""
        steps = " → ".join(
            f"{', '.join(bought)} [{cost:g}] {self.design.threshold_in_words(j)}".rstrip()
            for j, (bought, cost) in enumerate(
                zip(self.design.buys, self.stages.costs, strict=True)
            )
        )
        least = self.thresholds[0]
        accepts = "answers all" if answers_all(least) else f"accept at {in_words(least)}"
        shared = "" if differ(self.thresholds) else f"; {accepts}"
        mean = f"; average of {self.n_models} models per stage" if self.n_models > 1 else ""
        return f"Cascade({steps}{shared}{mean})"

    def _repr_html_(self) -> str:
        """Show the stages from left to right, with their features and costs, for notebooks."""
        steps, before, are_own = [], 0.0, differ(self.thresholds)
        known: tuple[str, ...] = ()
        for j, (bought, paid) in enumerate(zip(self.design.buys, self.stages.costs, strict=True)):
            cost = f"cost {paid - before:g}, so far {paid:g}"
            waits = [f"delay so far {self.stages.delays[j]:g}"] if self.stages.delays else []
            buys = f"buys {listed(self.costs.in_words(bought, known), _MOST_NAMES)}"
            known = (*known, *bought)
            rule = [rule_in_words(self.thresholds[j])] if are_own else []
            steps.append((f"stage {j + 1}", [buys, cost, *waits, *rule]))
            before = paid
        steps.append(("rejected", ["rows still undecided", f"cost {before:g}"]))
        never = self.design.left_out
        mean = f"average of {self.n_models} models per stage" if self.n_models > 1 else ""
        return fragment(
            f"Cascade: {leaving_in_words(self.thresholds)}",
            boxes(steps),
            note(f"never bought: {listed(never, _MOST_NAMES)}") if never else "",
            note(mean) if mean else "",
        )

    def decide_rows(self, rows: FloatArray, prices: FloatArray | None = None) -> Decisions:
        """Decide rows that `encoding` has converted to numbers; missing values are NaN.

        `prices` comes from `row_prices`; without it, features with prices by row cost the usual.
        """
        return decide_rows(self.stages, rows, prices)

    def row_prices(
        self, table: Any, n_rows: int, given: Prices = None, first_row: int = 0
    ) -> FloatArray | None:
        """Return what rows pay for features with prices by row; None if there are none.

        Parameters are those of `prices_of_rows`; the features are those that the design buys.
        """
        own = self.stages.prices
        if not len(own) and given is None:
            return None
        return own.of_rows(table, n_rows, given, first_row)
