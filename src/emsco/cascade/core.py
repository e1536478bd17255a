"""Cascades: the fitted stages of one design, ready to decide rows and to buy what they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._typing import AnyArray, BoolArray, FloatArray
from emsco.cascade import acquiring, formats
from emsco.cascade.acquiring import Acquire, AsyncAcquire, Retries
from emsco.cascade.case import Case
from emsco.cascade.decisions import Decisions, Evaluation, ExitReport
from emsco.cascade.stages import Stages, locked_copy
from emsco.costs import FeatureCosts
from emsco.design import Design
from emsco.errors import DataError
from emsco.files import PathLike, read_document, write_document
from emsco.rows import check_finite, table_rows
from emsco.subsets.scaling import Scaling
from emsco.threads import by_parts

__all__ = ["Cascade"]


@dataclass(frozen=True, eq=False)
class Cascade:
    """The fitted stages of one design; independent of the search that found it.

    Attributes
    ----------
    design : Design
    costs : FeatureCosts
    classes : ndarray of shape (2,)
    min_confidence : float
        A row leaves at the first stage that is at least this sure; one that never does is rejected.
    scaling : Scaling
    coefs : ndarray of shape (n_stages, n_features + 1)
        Intercept, then the weight of each standardised feature; 0 where a stage does not know it.
    """

    design: Design
    costs: FeatureCosts
    classes: AnyArray
    min_confidence: float
    scaling: Scaling
    coefs: FloatArray

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        for name, kind in (("classes", None), ("coefs", np.float64)):
            owned = np.array(getattr(self, name), dtype=kind)
            owned.setflags(write=False)
            object.__setattr__(self, name, owned)

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return self.design.n_stages

    @cached_property
    def stages(self) -> Stages:
        """The stages, as what decides rows."""
        return Stages.of(
            self.design, self.costs, self.classes, self.min_confidence, self.scaling, self.coefs
        )

    @cached_property
    def stage_costs(self) -> FloatArray:
        """What a row has cost after each stage."""
        return locked_copy(np.array(self.stages.costs))

    def decide(self, X: ArrayLike) -> Decisions:
        """Decide every row of a table: an array in column order, or a data frame by column names.

        A row's decision never depends on the rows beside it. From 100,000 rows on, all cores
        work on it.
        """
        rows = table_rows(X, self.design.names)
        check_finite(rows, self.design.names)
        return self.decide_rows(rows)

    def evaluate(self, X: ArrayLike, y: ArrayLike) -> Evaluation:
        """The three objectives on labelled rows, and the rows, accuracy and cost of each exit."""
        decisions, truth = self.decide(X), np.asarray(y)
        if truth.shape != decisions.accepted.shape:
            raise DataError(
                f"y must have one label for each of {len(decisions)} rows, got shape {truth.shape}."
            )
        if unknown := [label for label in _different(truth) if label not in self.classes]:
            raise DataError(f"y must hold the classes {self.classes.tolist()}, got {unknown[0]!r}.")
        right = decisions.accepted & (decisions.guesses == truth)
        n_accepted = int(decisions.accepted.sum())
        return Evaluation(
            n_rows=len(decisions),
            coverage=n_accepted / max(len(decisions), 1),
            accuracy=int(right.sum()) / max(n_accepted, 1),
            cost=float(decisions.cost.mean()) if len(decisions) else 0.0,
            exits=self._exits(decisions, right),
        )

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of the last stage that saw each row, shape (n_rows, 2)."""
        decisions = self.decide(X)
        first = np.where(
            decisions.guesses == self.classes[0], decisions.confidence, 1 - decisions.confidence
        )
        return np.column_stack([first, 1 - first])

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
            columns as names, a data frame, or a mapping of names to values. A row without a
            number (None, NaN) is rejected; the others go on.
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
        write_document(path, "cascade", formats.FORMAT, formats.cascade_body(self))

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a cascade that `save` has written; nothing in a file is ever executed.

        Raises
        ------
        FileError
            Where the file is missing, damaged, changed, too new or something else.
        """
        fields = read_document(path, "cascade", formats.FORMAT)
        shared = formats.Shared.read(fields)
        design, coefs = formats.read_stages(fields, shared.costs.names)
        return cls(
            design, shared.costs, shared.classes, shared.min_confidence, shared.scaling, coefs
        )

    def __repr__(self) -> str:
        """The design, its threshold, and the cost at each stage."""
        steps = " → ".join(
            f"{', '.join(self.design.features(j))} [{cost:g}]"
            for j, cost in enumerate(self.stage_costs)
        )
        return f"Cascade({steps}; accept at {self.min_confidence:g})"

    def decide_rows(self, rows: FloatArray) -> Decisions:
        """Decide rows whose values need no check: float64, finite, in the design's order."""
        if rows.ndim != 2 or rows.shape[1] != len(self.design.names):
            raise DataError(
                f"rows must have {len(self.design.names)} columns, got shape {rows.shape}."
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

    def _exits(self, decisions: Decisions, right: BoolArray) -> tuple[ExitReport, ...]:
        reports = []
        for j, cost in enumerate(self.stage_costs.tolist()):
            here = decisions.accepted & (decisions.stage == j + 1)
            reports.append(
                ExitReport(
                    j + 1, self.design.features(j), cost, int(here.sum()), int(right[here].sum())
                )
            )
        n_rejected = int((~decisions.accepted).sum())
        return (*reports, ExitReport(None, (), float(self.stage_costs[-1]), n_rejected, 0))


def _different(labels: AnyArray) -> list[Any]:
    try:
        return list(np.unique(labels).tolist())
    except TypeError:  # None beside text
        return list(dict.fromkeys(labels.tolist()))
