"""The cascade: one design with its fitted models, ready to decide rows and to buy features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.arrays import locked_copy
from emsco._base.documents import PathLike, read_document, write_document
from emsco._base.text import listed
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco._base.wings import open_wing
from emsco._base.workers import by_parts
from emsco.cascade import acquisition
from emsco.cascade import format as formats
from emsco.cascade.acquisition import Acquire, AsyncAcquire, Retries, batches_of
from emsco.cascade.branching import BranchReader
from emsco.cascade.case import Case
from emsco.cascade.decisions import NEEDS_BETWEEN, WARNINGS_BETWEEN, Decisions
from emsco.cascade.evaluation import Evaluation
from emsco.cascade.stages import Followed, Stages
from emsco.cascade.tally import Tally
from emsco.costs import FeatureCosts, GivenPrices, StagePrices
from emsco.data.encoding import Encoding
from emsco.data.frames import shell_of
from emsco.data.keys import Keys
from emsco.data.labels import check_truth
from emsco.data.weights import check_weights
from emsco.designs.design import Design
from emsco.designs.thresholds import (
    MinConfidence,
    StageThresholds,
    answers_all,
    differ,
    leaving_in_words,
    rule_in_words,
)
from emsco.errors import DataError, ParameterError
from emsco.models.stage_models import StageModels, parts_of
from emsco.plotting.flow import LACKING, LACKING_NOTE
from emsco.plotting.notebook import MOST_NAMES, below_boxes, boxes, fragment, note
from emsco.scoring.error_costs import ErrorCosts
from emsco.stats.reliability import (
    Reliability,
    RiskCoverage,
    reliability_of,
    risk_coverage_of,
    spread_thresholds,
)

_BLOCK = 32768  # rows that are decided together: few enough for a processor's cache

_OF_WEIGHTED_ROWS = "thresholds are for rows weighted by what errors cost"


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
    label_costs : ndarray of shape (n_classes, n_classes) or None
        Cost of each label for a row of each class, if rows get the label of least expected cost
        instead of the likeliest; see `with_error_costs`.
    stakes : ndarray of shape (n_classes,) or None
        What an error about each class costs, if the models were fitted on rows weighted by it.
        Thresholds are for probabilities of such rows; those that users see are for plain ones.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from emsco import EMSCOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = EMSCOClassifier(max_stages=2, generations=5, estimator="logistic", cv=1 / 3)
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
    label_costs: FloatArray | None = None
    stakes: FloatArray | None = None

    def __post_init__(self) -> None:
        """Copy and lock the classes; check that thresholds and costs of labels are for them."""
        object.__setattr__(self, "classes", locked_copy(self.classes))
        if self.stakes is not None:
            object.__setattr__(self, "stakes", locked_copy(self.stakes, np.float64))
        self.design.thresholds_of_stages(self.min_confidence, self.classes)
        if self.label_costs is not None:
            costs = ErrorCosts.from_parameters(
                self.label_costs, None, self.classes.tolist(), may_reject=False
            )
            object.__setattr__(self, "label_costs", costs.of_labels)

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
        if self.stakes is not None and len(set(self.stakes.tolist())) > 1:
            return None  # thresholds are for probabilities of weighted rows
        # A threshold of 0 answers all, and is no threshold to report.
        first, *others = np.unique(self.stages.thresholds).tolist()
        return None if others or not first else float(first)

    @property
    def n_models(self) -> int:
        """Number of models per stage, whose class probabilities are averaged; often 1."""
        return len(parts_of(self.models))

    @cached_property
    def stages(self) -> Stages:
        """The stages in the form that decides rows."""
        design, costs, encoding = self.design, self.costs, self.encoding
        subsets, before = design.subsets(), design.before
        # Without delays there is nothing to sum, and nothing to show.
        waits = costs.waits_after_stages(subsets, before) if costs.has_delays else np.zeros(0)
        labels = tuple(self.classes.tolist())
        branches = {
            stage: BranchReader(
                branch=branch,
                encoding=encoding,
                labels=labels,
            )
            for stage, branch in design.branches.items()
        }
        return Stages(
            buys=design.buys,
            columns=tuple(
                tuple(column for name in bought for column in encoding.needs(name))
                for bought in design.buys
            ),
            inputs=tuple(tuple(encoding.places(bought)) for bought in design.buys),
            costs=tuple(costs.after_stages(subsets, before).tolist()),
            classes=self.classes,
            labels=labels,
            thresholds=design.thresholds_of_stages(self.min_confidence, self.classes),
            encoding=encoding,
            models=self.models,
            prices=StagePrices.from_stages(costs, subsets, before),
            chains=design.chains,
            delays=tuple(waits.tolist()),
            label_costs=self.label_costs,
            stakes=self.stakes,
            before=() if design.is_chain else before,
            branches=branches,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the design buys, stage by stage.

        A table to decide needs no others, but for columns that prices by row are taken from.
        """
        return tuple(dict.fromkeys(name for columns in self.stages.columns for name in columns))

    @cached_property
    def stage_costs(self) -> FloatArray:
        """Cost of a row after each stage."""
        return locked_copy(self.stages.costs)

    @cached_property
    def stage_delays(self) -> FloatArray:
        """Time that a row has waited after each stage; a stage waits for its slowest feature."""
        return locked_copy(self.stages.delays or (0.0,) * self.n_stages)

    def decide(
        self, X: ArrayLike, prices: GivenPrices = None, *, partial: bool = False
    ) -> Decisions:
        """Decide every row of a table.

        Other rows never influence the decision about a row. Tables of 100,000 rows or more use
        all cores.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            A data frame, which needs only the `columns` that the design buys; or an array with all
            columns of the training rows, in order.
        prices : mapping, optional
            Name of a feature with prices by row → what each row pays: an array, the name of a
            column of X, a function of X, or one number. By default they come from where they came
            from in training.
        partial : bool
            Whether rows may lack features. A row then goes as far as it can, and
            `Decisions.needs` has the columns to buy next; `Decisions.warnings` has values that are
            unlike those of the training rows. Columns that a data frame lacks are not bought yet.
            Nor are missing values, unless the cascade was fitted with `gaps`: it takes them as
            values that could not be measured.

        Examples
        --------
        >>> import numpy as np
        >>> from emsco import EMSCOClassifier
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> clf = EMSCOClassifier(cv=1 / 3, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
        >>> nothing = np.full((1, 3), np.nan)
        >>> decisions = clf.cascade_.decide(nothing, partial=True)
        >>> decisions.needs[0].split(";") == list(clf.cascade_.open().needs)
        True
        """
        if partial:
            return replace(self.decide_bought(X, prices), frame=shell_of(X))
        rows = self.rows(X)
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
        prices: GivenPrices = None,
        error_cost: Any = None,
        reject_cost: Any = None,
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
            a feature. `Evaluation.by` then has the same figures for each subgroup. If the cascade
            branches, `Evaluation.by_path` has them for each path.
        prices : mapping, optional
            As for `decide`.
        error_cost, reject_cost : float, mapping or array-like, optional
            Costs of an error and of a rejection in the unit of the feature costs: a number,
            ``{true label: cost}``, or for errors a matrix, true labels down and labels given
            across. `Evaluation.total` then has the mean total of a row.

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
        # Wrong costs are refused before any row is decided.
        costs = self.error_costs(error_cost, reject_cost)
        decisions = self.decide(X, prices)
        n_rows = len(decisions)
        group_of = None if groups is None else Keys.from_parameter("groups", groups, X, n_rows)
        subgroup_of = None if by is None else Keys.from_parameter("by", by, X, n_rows)
        if group_of is not None:
            group_of.check_complete("groups")
        tally = self.tally()
        truth = check_truth(y, self.classes, n_rows)
        tally.add(decisions, truth, check_weights(sample_weight, n_rows), group_of, subgroup_of)
        return tally.evaluation().with_total(costs)

    def tally(self, *, by_text: bool = False) -> Tally:
        """Return an empty tally for decisions of this cascade; see `Tally` for `by_text`."""
        stages = self.stages
        return Tally(
            classes=self.classes,
            buys=self.design.buys,
            # With prices by row, the stage says less than what each row paid.
            costs=None if stages.prices else stages.costs,
            by_text=by_text,
            delays=stages.delays,
            ways_to=stages.ways_to,
        )

    def error_costs(self, error_cost: Any, reject_cost: Any) -> ErrorCosts | None:
        """Check costs of errors and rejections for these classes; None if neither is given."""
        # A last stage with thresholds may reject, and so may one that was skipped for a missing
        # value.
        may_reject = bool(self.stages.thresholds[list(self.design.leaves)].any())
        may_reject = may_reject or self.encoding.gaps == "skip"
        return ErrorCosts.if_given(
            error_cost, reject_cost, self.classes.tolist(), may_reject=may_reject
        )

    def with_error_costs(self, error_cost: Any) -> Self:
        """Return a cascade that gives each row the label of least expected cost.

        Rows leave at the same stages, and the same rows are rejected: both still depend on the
        largest probability. But the label is the one whose cost, averaged with the probabilities
        of that stage, is lowest. The confidence of a decision is the probability of the label
        given, so it may be below the threshold of the stage.

        Parameters
        ----------
        error_cost : mapping, array-like, float or None
            Cost of a wrong label: ``{true label: cost}``, or a matrix with a line per true label
            and a column per label given. With one number, labels stay the likeliest. None goes
            back to the likeliest labels.

        Examples
        --------
        >>> import numpy as np
        >>> from emsco import EMSCOClassifier
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> y = np.where(X[:, 0] + X[:, 1] > 1, "ill", "well")
        >>> clf = EMSCOClassifier(always_answer=True, cv=1 / 3, random_state=0).fit(X, y)
        >>> careful = clf.cascade_.with_error_costs({"ill": 50, "well": 1})
        >>> more = [(one.decide(X).labels == "ill").sum() for one in (careful, clf.cascade_)]
        >>> bool(more[0] > more[1])
        True
        """
        return replace(self, label_costs=error_cost)

    def reliability(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 10,
    ) -> tuple[Reliability, ...]:
        """Compare the confidence of each stage with its accuracy, on the rows that reach it.

        Returns one `Reliability` per stage. A stage counts every row that reaches it, whether or
        not the row leaves there, and its likeliest class, also `with_error_costs` and if the fit
        had costs of errors.
        """
        rows = self.rows(X)
        truth = check_truth(y, self.classes, len(rows))
        weights = check_weights(sample_weight, len(rows))
        coming, records = np.zeros(len(rows), dtype=np.int64), []
        for j in range(self.n_stages):
            reaching = np.flatnonzero(coming == j)
            left, winner, confidence = self.stages.judge(rows[reaching], j, j + 1)
            said, sure = winner, confidence
            if self.stakes is not None:
                said, sure = self.stages.likeliest(rows[reaching], j)
            records.append(
                reliability_of(
                    sure,
                    self.classes[said] == truth[reaching],
                    None if weights is None else weights[reaching],
                    n_bins,
                    lowest=1 / len(self.classes),
                    stage=j + 1,
                )
            )
            # `judge` ran stage j alone: rows that did not leave there go on.
            coming[reaching] = self.n_stages
            on = left != j
            coming[reaching[on]] = self.stages.go_on(
                j, rows[reaching[on]], winner[on], confidence[on]
            )
        return tuple(records)

    def risk_coverage(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[RiskCoverage, ...]:
        """Measure risk, coverage and cost on labelled rows at many thresholds.

        Returns a record of the whole cascade, then one of each stage alone. Each threshold applies
        to all classes, and rows go through the stages again: at a higher threshold, a row may move
        on to a later stage. The first record also has what the cascade does by its own thresholds.
        A stage alone buys all its features for every row; after a branch, for every row of its
        part.
        """
        rows = self.rows(X)
        truth = check_truth(y, self.classes, len(rows))
        weights = check_weights(sample_weight, len(rows))
        # Every stage judges every row, so that rows can be sent through again at each threshold.
        confidence, winner, on_path = self.stages.opinions(rows)
        correct = self.classes[winner] == truth
        # A row that no stage is sure of has paid for the last stage of its path.
        last = self.n_stages - 1 - on_path[::-1].argmax(axis=0)
        deployed = () if self.single_threshold is None else (self.single_threshold,)

        def curve(which: slice, some: IntArray, stage: int | None) -> RiskCoverage:
            levels = spread_thresholds(confidence[which][:, some], 1 / len(self.classes))
            return risk_coverage_of(
                confidence[which][:, some],
                correct[which][:, some],
                self.stage_costs[which],
                # The deployed threshold is always among those shown.
                np.append(levels, deployed),
                None if weights is None else weights[some],
                stage,
                cost_of_rejected=self.stage_costs[last[some]] if stage is None else None,
            )

        of_stages = [
            curve(slice(j, j + 1), np.flatnonzero(on_path[j]), j + 1) for j in range(self.n_stages)
        ]
        whole = curve(slice(None), np.arange(len(rows)), None)
        tally = self.tally()
        tally.add(self.decide_rows(rows), truth, weights)
        return replace(whole, deployed=tally.evaluation().objectives), *of_stages

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities at the last stage that judged each row, (n_rows, n_classes)."""
        rows = self.rows(X)
        decisions = self.decide_rows(rows)
        probabilities = np.empty((len(rows), len(self.classes)))
        for j in range(self.n_stages):
            here = decisions.stage == j + 1
            if here.any():
                probabilities[here] = self.stages.probabilities(rows[here], j)
        return probabilities

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
        prices: GivenPrices = None,
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
        batches = batches_of(self.stages, ids, acquire, budget, batch_size, prices)
        return acquisition.run(batches, acquire, Retries(retries, pause), report)

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
        prices: GivenPrices = None,
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
        batches = batches_of(self.stages, ids, acquire, budget, batch_size, prices)
        return await acquisition.run_async(
            batches, acquire, concurrency, timeout, Retries(retries, pause), report
        )

    def save(self, path: PathLike) -> None:
        """Write the cascade to a JSON file; a failure leaves no partial file."""
        shared = formats.Shared.from_models(
            self.costs, self.classes, self.min_confidence, self.encoding, [self.models]
        )
        body = {**shared.to_dict(), **shared.design_to_dict(self.design, self.models)}
        if self.label_costs is not None:
            body["label_costs"] = self.label_costs.tolist()
        if self.stakes is not None:
            body["stakes"] = self.stakes.tolist()
        write_document(path, "cascade", formats.FORMAT, body)

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
        fields = read_document(path, "cascade", formats.FORMAT, formats.OLDEST)
        shared = formats.Shared.from_dict(fields, trusted)
        design, models = formats.stages_from_dicts(fields, shared)
        label_costs = None
        if fields.values.get("label_costs") is not None:
            # What the parameter's check says about costs is said of the file here.
            try:
                label_costs = ErrorCosts.from_parameters(
                    fields.items("label_costs"), None, shared.classes.tolist(), may_reject=False
                ).of_labels
            except ParameterError as error:
                fields.refuse("label_costs", "costs that can be used", str(error))
        stakes = None
        if "stakes" in fields.values:
            stakes = fields.numbers("stakes", len(shared.classes), 0)
            if not stakes.all():
                fields.refuse("stakes", "above 0 for every class", stakes.tolist())
        return cls(
            design=design,
            costs=shared.costs,
            classes=shared.classes,
            min_confidence=shared.min_confidence,
            encoding=shared.encoding,
            models=models,
            label_costs=label_costs,
            stakes=stakes,
        )

    def to_onnx(self, path: PathLike) -> None:
        """Write the cascade as ONNX graphs, so that a program without emsco can decide.

        A folder gets a graph for each stage and ``manifest.json``, with the columns that each
        graph reads, the labels, thresholds and costs. Probabilities are those of the cascade up to
        rounding.

        Parameters
        ----------
        path : path
            The folder, made if there is none; files of an earlier export are replaced.

        Raises
        ------
        ParameterError
            If a stage model is not logistic, spline or boosted trees, or nothing is bought.
        """
        open_wing("onnx").write_onnx(self, path)

    @property
    def untrusted_types(self) -> list[str]:
        """Types that you must pass to `load` as `trusted` to read this cascade from a file."""
        return self.models.untrusted_types

    def __repr__(self) -> str:
        """Show the features and cost of each stage, and the threshold or those of all stages."""
        nothing = self.design.buys_nothing
        parts = [self.design.arrows() if nothing else self._stages_in_words]
        if not differ(self.thresholds) and not self.design.buys_nothing:
            parts.append(rule_in_words(self.thresholds[0], "accept at"))
        if self.n_models > 1:
            parts.append(self._averaged)
        if self.label_costs is not None:
            parts.append("labels of least expected cost")
        if self.stakes is not None:
            parts.append(_OF_WEIGHTED_ROWS)
        return f"Cascade({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        """Show the stages from left to right, with their features and costs, for notebooks."""
        notes = []
        if self.design.left_out and not self.design.buys_nothing:
            notes.append(f"never bought: {listed(self.design.left_out, MOST_NAMES)}")
        if self.n_models > 1:
            notes.append(self._averaged)
        if self.label_costs is not None:
            notes.append("gives the label of least expected cost")
        if self.stakes is not None:
            notes.append(_OF_WEIGHTED_ROWS)
        if self.design.usual_stages and self.encoding.gaps != "refuse":
            notes.append(LACKING_NOTE)
        nothing = self.design.buys_nothing
        title = f"Cascade: {self.design.arrows() if nothing else leaving_in_words(self.thresholds)}"
        return fragment(title, self._boxes(), *map(note, notes))

    @property
    def _stages_in_words(self) -> str:
        """The features, cost and threshold of each stage, with arrows between stages."""
        stages = []
        for j, names in enumerate(self.design.buys):
            bought = ", ".join(names) or "nothing more"
            rule = self.design.threshold_in_words(j)
            stages.append(f"{bought} [{self._about(j)}{self.stages.costs[j]:g}] {rule}".rstrip())
        return self.design.joined_by_arrows(stages)

    def _boxes(self) -> str:
        """Return the stages as boxes, with the parts of a branch below them."""
        design, costs, below = self.design, self.stages.costs, dict[int, str]()
        lacking = design.usual_stages if self.encoding.gaps != "refuse" else ()
        for chain in reversed(design.chains):  # parts come before the branch that leads to them
            steps = [(f"stage {j + 1}", self._lines(j)) for j in chain]
            branch, last = design.branches.get(chain[-1]), chain[-1]
            if branch is not None:
                parts = [
                    (f"{way}{LACKING if start in lacking else ''}", below[start])
                    for way, start in zip(branch.ways, branch.starts, strict=True)
                ]
                below[chain.start] = boxes(steps) + below_boxes(parts)
                continue
            if design.is_chain or not answers_all(self.thresholds[last]):
                paid = f"{self._about(last)}{costs[last]:g}"
                steps.append(("rejected", ["rows still undecided", f"cost {paid}"]))
            below[chain.start] = boxes(steps)
        return below[0]

    def _lines(self, j: int) -> list[str]:
        """Return what a stage buys and costs, and its rule if stages differ."""
        costs, about, before = self.stages.costs, self._about(j), self.design.before[j]
        known = [name for i in self.design.path(j)[:-1] for name in self.design.buys[i]]
        # A fee that an earlier stage has paid is not named again.
        names = self.costs.in_words(self.design.buys[j], known)
        paid_before = costs[before] if before >= 0 else 0.0
        lines = [f"buys {listed(names, MOST_NAMES) if names else 'nothing'}"]
        lines.append(f"cost {about}{costs[j] - paid_before:g}, so far {about}{costs[j]:g}")
        if self.stages.delays:
            lines.append(f"delay so far {self.stages.delays[j]:g}")
        if differ(self.thresholds):
            lines.append(rule_in_words(self.thresholds[j]))
        return lines

    def _about(self, stage: int) -> str:
        """The word before the cost of a stage, if a feature bought by then has prices by row."""
        return "about " if self.stages.prices.known[stage].any() else ""

    @property
    def _averaged(self) -> str:
        return f"average of {self.n_models} models per stage"

    def rows(self, X: Any, first_row: int = 0, what: str = "X") -> FloatArray:
        """Return the model inputs of a table's rows, as `decide_rows` takes them.

        A data frame needs only the `columns`. Messages call the table `what` and count rows from
        `first_row`.
        """
        # Parts of a branch may buy the same.
        bought = list(dict.fromkeys(name for buys in self.design.buys for name in buys))
        return self.encoding.rows_of(bought, X, first_row, what)

    def decide_rows(self, rows: FloatArray, prices: FloatArray | None = None) -> Decisions:
        """Decide rows that `rows` has converted to numbers; missing values are NaN.

        `prices` comes from `row_prices`; without it, features with prices by row cost the usual.
        """
        n_inputs = self.encoding.n_inputs
        if rows.ndim != 2 or rows.shape[1] != n_inputs:
            raise DataError(f"rows must have {n_inputs} columns, got shape {rows.shape}.")
        return self._decisions(self._follow(rows), prices)

    def _follow(self, rows: FloatArray, lacking: BoolArray | None = None) -> Followed:
        """Send rows through the stages, many at a time."""
        n_rows = len(rows)
        followed = Followed.begin(n_rows, some_may_wait=lacking is not None)

        def follow_part(part: slice) -> None:
            for start in range(part.start, part.stop, _BLOCK):
                block = slice(start, min(start + _BLOCK, part.stop))
                marks = None if lacking is None else lacking[block]
                self.stages.follow(rows[block], followed.part(block), marks)

        by_parts(n_rows, follow_part)
        return followed

    def _decisions(self, followed: Followed, prices: FloatArray | None) -> Decisions:
        """Return what there is to say about rows that have gone as far as they can."""
        stages, stage = self.stages, followed.stage
        cost = np.array([0.0, *stages.costs]).take(stage)
        if prices is not None and len(stages.prices):
            after = stages.prices.after_stages(prices)[np.arange(len(stage)), stage - 1]
            cost = np.where(stage > 0, after, 0.0)
        return Decisions(
            guesses=self.classes.take(followed.winner),
            accepted=followed.accepted,
            confidence=followed.confidence,
            stage=stage,
            cost=cost,
            delay=np.array([0.0, *stages.delays]).take(stage) if stages.delays else None,
            paths_to=stages.paths_to,
        )

    def decide_bought(
        self,
        X: Any,
        prices: GivenPrices = None,
        *,
        not_bought: BoolArray | None = None,
        first_row: int = 0,
        what: str = "X",
    ) -> Decisions:
        """Decide rows as far as their features are bought; see `decide` with `partial`.

        `not_bought`, of shape (n_rows, n_columns) in the order of `columns`, marks further values
        that are not bought yet. Messages call the table `what` and count rows from `first_row`.
        """
        columns, encoding = self.columns, self.encoding
        rows, bought = encoding.rows_bought(columns, X, first_row, what)
        if not_bought is not None:
            bought &= ~not_bought
        paid = self.row_prices(X, len(rows), prices, first_row, may_lack=True)
        # Columns that each stage buys, and those that are known after it.
        buys = np.array(
            [[name in names for name in columns] for names in self.stages.columns],
            dtype=np.bool_,  # also if nothing is bought
        )
        feature_of = dict(zip(encoding.columns, encoding.feature_of, strict=True))
        known = self.design.subsets()[:, [feature_of[name] for name in columns]]
        if bought.all():
            followed = self._follow(rows)
        else:
            rows = rows.copy()
            for column, has in zip(columns, bought.T, strict=True):
                rows[~has, encoding.inputs_of(column)] = 0.0  # NaN would be a gap
            lacking = np.column_stack([(~bought[:, which]).any(axis=1) for which in buys])
            followed = self._follow(rows, lacking)
        last = followed.stage - 1
        if paid is not None:
            self.stages.prices.check_paid(last, paid, first_row)
        waits_for = np.full(len(rows), -1) if followed.waits_for is None else followed.waits_for
        waiting = waits_for >= 0
        needs = np.zeros_like(bought)
        needs[waiting] = ~bought[waiting] & buys[waits_for[waiting]]
        # Values beyond the stage that a row waits for do not count yet.
        reached = np.where(waiting, waits_for, last)
        unlike = encoding.unlike(rows, columns)
        for i in np.flatnonzero(unlike.any(axis=0)):
            place = i % len(columns)  # a column is marked for its values, and for missing ones
            unlike[:, i] &= bought[:, place] & known[reached, place]
        return replace(
            self._decisions(followed, paid),
            needs=_joined_marked(needs, columns, NEEDS_BETWEEN),
            warnings=_joined_marked(unlike, encoding.unlike_in_words(columns), WARNINGS_BETWEEN),
            waits_for=waits_for + 1,
        )

    def row_prices(
        self,
        table: Any,
        n_rows: int,
        given: GivenPrices = None,
        first_row: int = 0,
        *,
        may_lack: bool = False,
    ) -> FloatArray | None:
        """Return what rows pay for features with prices by row; None if there are none.

        `given` prices count instead of those of the table; messages count rows from `first_row`.
        With `may_lack`, a price that is not known yet is NaN.
        """
        prices = self.stages.prices
        if not len(prices) and given is None:
            return None
        return prices.of_rows(
            n_rows,
            given,
            table,
            sources=prices.costs.prices,
            first_row=first_row,
            may_lack=may_lack,
        )


def _joined_marked(marks: BoolArray, words: Sequence[str], between: str) -> AnyArray:
    """Join the words that are marked in each row; `marks` has shape (n_rows, n_words)."""
    joined = np.full(len(marks), "", dtype=object)
    if marks.any():
        some = np.flatnonzero(marks.any(axis=1))
        patterns, which = np.unique(marks[some], axis=0, return_inverse=True)
        texts = [between.join(compress(words, pattern)) for pattern in patterns.tolist()]
        joined[some] = np.array(texts, dtype=object)[which.reshape(-1)]
    return joined
