"""The cascade: the fitted stages of one design, ready to decide rows and to buy features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.arrays import locked_copy
from emsco._base.documents import PathLike, read_document, write_document
from emsco._base.text import listed
from emsco._base.threads import by_parts
from emsco._base.typing import AnyArray, FloatArray
from emsco.cascade import acquiring, formats
from emsco.cascade.acquiring import Acquire, AsyncAcquire, Retries
from emsco.cascade.case import Case
from emsco.cascade.decisions import Decisions, Evaluation
from emsco.cascade.stages import Stages
from emsco.costs import FeatureCosts
from emsco.data.encoding import Encoding
from emsco.data.frames import shell_of
from emsco.data.labels import check_truth
from emsco.data.weights import check_weights
from emsco.designs.design import Design
from emsco.designs.thresholds import MinConfidence, in_words
from emsco.errors import DataError
from emsco.models.stage_models import StageModels
from emsco.pictures.notebook import boxes, fragment, note
from emsco.trust.reliability import Reliability, reliability_of
from emsco.trust.risk import RiskCoverage, risk_coverage_of, spread_thresholds

__all__ = ["Cascade"]

_MOST_NAMES = 30  # of a stage, in a notebook


@dataclass(frozen=True, eq=False)
class Cascade:
    """The fitted stages of one design; independent of the search that found it.

    Attributes
    ----------
    design : Design
    costs : FeatureCosts
    classes : ndarray of shape (n_classes,)
    min_confidence : float or dict
        A row leaves at the first stage that is at least this sure, or this sure of the class it
        names; one that never does is rejected.
    encoding : Encoding
        How columns become the numbers that classifiers read, and what to do about gaps.
    models : StageModels
        One per stage.
    """

    design: Design
    costs: FeatureCosts
    classes: AnyArray
    min_confidence: MinConfidence
    encoding: Encoding
    models: StageModels

    def __post_init__(self) -> None:
        """Copy and lock the classes."""
        object.__setattr__(self, "classes", locked_copy(self.classes))

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return self.design.n_stages

    @cached_property
    def stages(self) -> Stages:
        """The stages, as what decides rows."""
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
        """What a row has cost after each stage."""
        return locked_copy(self.stages.costs)

    def decide(self, X: ArrayLike) -> Decisions:
        """Decide every row of a table: an array in column order, or a data frame by column names.

        A row's decision never depends on the rows beside it. From 100,000 rows on, all cores
        work on it.
        """
        return replace(self.decide_rows(self.encoding.rows(X)), frame=shell_of(X))

    def evaluate(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Evaluation:
        """The three objectives on labelled rows, and the rows, accuracy and cost of each exit.

        With `sample_weight`, rows count as much as they weigh.
        """
        decisions = self.decide(X)
        return Evaluation.from_decisions(
            decisions,
            check_truth(y, self.classes, len(decisions)),
            check_weights(sample_weight, len(decisions)),
            self.design.buys,
            self.stages.costs,
        )

    def reliability(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 10,
    ) -> tuple[Reliability, ...]:
        """How honest each stage's confidence is, on the labelled rows that reach it.

        Rows are put into bins by their confidence at the stage, whether or not they leave there;
        the share of each bin that is right is set beside its mean confidence.
        """
        rows, records = self.encoding.rows(X), []
        truth = check_truth(y, self.classes, len(rows))
        weights = check_weights(sample_weight, len(rows))
        left = np.arange(len(rows))
        for j in range(self.n_stages):
            stage, winner, confidence = self.stages.judge(rows[left], j, j + 1)
            right = self.classes[winner] == truth[left]
            records.append(
                reliability_of(
                    confidence,
                    right,
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
        """What moving the threshold would do on labelled rows: the cascade, then each stage alone.

        At every threshold, the same for all classes, rows go through the stages anew: one that an
        early stage is no longer sure of is sent on. A stage alone stands for buying all it reads
        for every row.
        """
        rows = self.encoding.rows(X)
        truth = check_truth(y, self.classes, len(rows))
        weights = check_weights(sample_weight, len(rows))
        confidence, winner = self.stages.opinions(rows)
        right = self.classes[winner] == truth
        own = self.stages.thresholds
        own = own[:1] if (own == own[0]).all() else own[:0]
        lowest = 1 / len(self.classes)
        stages: list[slice] = [slice(None), *(slice(j, j + 1) for j in range(self.n_stages))]
        return tuple(
            risk_coverage_of(
                confidence[which],
                right[which],
                self.stage_costs[which],
                np.append(spread_thresholds(confidence[which], lowest), own),
                weights,
                stage,
            )
            for stage, which in zip((None, *range(1, self.n_stages + 1)), stages, strict=True)
        )

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of the last stage that saw each row, shape (n_rows, n_classes)."""
        rows = self.encoding.rows(X)
        decisions = self.decide_rows(rows)
        found = np.empty((len(rows), len(self.classes)))
        for j in range(self.n_stages):
            here = decisions.stage == j + 1
            if here.any():
                found[here] = self.stages.probabilities(rows[here], j)
        return found

    def open(self, budget: float | None = None) -> Case:
        """Begin with one row, of which nothing is known yet.

        Parameters
        ----------
        budget : float, optional
            Most that may be spent; a stage that would pass it is not bought.

        Examples
        --------
        >>> import numpy as np
        >>> from emsco import EMSCOClassifier
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> clf = EMSCOClassifier(random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
        >>> bedside = {"x0": 2.0, "x1": 1.5, "x2": 0.1}
        >>> case = clf.cascade_.open()
        >>> while case.needs:
        ...     case = case.give({name: bedside[name] for name in case.needs})
        >>> case.decision.label
        True
        """
        return Case(self.stages, budget)

    def resume(self, text: str | bytes) -> Case:
        """Go on with a case that `Case.to_json` has put into words."""
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
    ) -> Decisions:
        """Decide many rows, and have only that bought which they need.

        Parameters
        ----------
        ids : sequence
            Which rows; given to `acquire`, and found again in the result.
        acquire : callable
            ``acquire(names, ids)`` is asked, stage by stage, for the stage's features of the rows
            that are still undecided. It returns a table with a row per id: a 2-D array with
            columns as names, a data frame, or a mapping of names to values. A row that lacks a
            value (None, NaN) is rejected, and the others go on, unless the cascade was fitted to
            impute gaps or to skip stages.
        budget : float, optional
            Most that may be spent on a row; a stage that would pass it is not bought.
        batch_size : int, optional
            Most rows to ask for at a time; by default all.
        retries, pause : int, float
            How often `acquire` is asked again where it raises, and the seconds before it is,
            doubled each time. Then its rows are rejected with the reason, the others are not.
        report : callable, optional
            ``report(done, total)`` is called after each batch.

        Returns
        -------
        Decisions
            With `ids` and `reasons`. Ctrl-C ends a run early: what is undecided is rejected,
            and a warning says so.
        """
        again = Retries(retries, pause)
        return acquiring.run(self.stages, ids, acquire, budget, batch_size, again, report)

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
    ) -> Decisions:
        """The same with an async `acquire`, for many batches at once.

        Parameters
        ----------
        ids, acquire, budget, retries, pause, report
            As for `run`; what `acquire` returns is awaited.
        batch_size : int or None
            Rows that go through the stages together, by default each for itself; None is all.
        concurrency : int
            Most calls of `acquire` at a time.
        timeout : float, optional
            Seconds after which a call counts as failed.

        Returns
        -------
        Decisions
            As for `run`. A cancelled call raises `asyncio.CancelledError`, as it must; what was
            decided by then is the exception's attribute `decisions`.
        """
        again = Retries(retries, pause)
        return await acquiring.run_async(
            self.stages, ids, acquire, budget, batch_size, concurrency, timeout, again, report
        )

    def save(self, path: PathLike) -> None:
        """Write the cascade as a JSON file, all of it or nothing."""
        shared = formats.Shared.from_models(
            self.costs, self.classes, self.min_confidence, self.encoding, [self.models]
        )
        stages = shared.stages_to_dicts(self.design, self.models)
        write_document(path, "cascade", formats.FORMAT, {**shared.to_dict(), "stages": stages})

    @classmethod
    def load(cls, path: PathLike, trusted: Sequence[str] = ()) -> Self:
        """Read a cascade that `save` has written; nothing in a file is ever executed.

        Parameters
        ----------
        path : path
        trusted : sequence of str
            Types beyond scikit-learn's own that a file with other classifiers may hold, such as
            ``"mypackage.MyClassifier"``: reading them runs their code.

        Raises
        ------
        FileError
            Where the file is missing, damaged, changed, too new or something else.
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
        """What `load` must be told to trust to read this cascade's file."""
        return self.models.untrusted_types

    def __repr__(self) -> str:
        """The design, its threshold, and the cost at each stage."""
        steps = " → ".join(
            f"{', '.join(bought)} [{cost:g}]"
            for bought, cost in zip(self.design.buys, self.stages.costs, strict=True)
        )
        return f"Cascade({steps}; accept at {in_words(self.min_confidence)})"

    def _repr_html_(self) -> str:
        """Stages from left to right: what each buys, what that costs, who leaves; for notebooks."""
        steps, before = [], 0.0
        for j, (bought, paid) in enumerate(zip(self.design.buys, self.stages.costs, strict=True)):
            cost = f"cost {paid - before:g}, so far {paid:g}"
            buys = f"buys {listed(self.costs.in_words(bought), _MOST_NAMES)}"
            steps.append((f"stage {j + 1}", [buys, cost]))
            before = paid
        steps.append(("rejected", ["rows that no stage is sure of", f"cost {before:g}"]))
        never = self.design.left_out
        return fragment(
            f"Cascade: a row leaves once confidence is at least {in_words(self.min_confidence)}",
            boxes(steps),
            note(f"never bought: {listed(never, _MOST_NAMES)}") if never else "",
        )

    def decide_rows(self, rows: FloatArray) -> Decisions:
        """Decide rows that `encoding` has made: float64, checked, gaps as NaN."""
        if rows.ndim != 2 or rows.shape[1] != self.encoding.n_inputs:
            raise DataError(
                f"rows must have {self.encoding.n_inputs} columns, got shape {rows.shape}."
            )
        n_rows, n_stages = len(rows), self.n_stages
        guesses = np.empty(n_rows, dtype=self.classes.dtype)
        accepted = np.empty(n_rows, dtype=np.bool_)
        confidence, cost = np.empty(n_rows), np.empty(n_rows)
        stage = np.empty(n_rows, dtype=np.int64)
        paid = np.append(self.stage_costs, self.stage_costs[-1])  # by exit; rejected rows pay all

        def decide_part(p: slice) -> None:
            left, winner, confidence[p] = self.stages.judge(rows[p], 0, n_stages)
            accepted[p] = left < n_stages
            cost[p] = paid[left]
            guesses[p] = self.classes[winner]
            np.minimum(left + 1, n_stages, out=stage[p])

        by_parts(n_rows, decide_part)
        return Decisions(guesses, accepted, confidence, stage, cost)
