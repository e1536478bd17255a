"""A point of a front, one design and its scored figures, and the designs that tie with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from operator import mul
from typing import Any, Protocol, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.objectives import Estimate, Expected, Interval, Objectives, objectives_from_dict
from emsco._base.text import counted
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco.cascade import Evaluation
from emsco.designs.design import Design
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.thresholds import plain
from emsco.scoring.by_class import ByClass, is_beyond
from emsco.scoring.comparisons import Comparison
from emsco.scoring.error_costs import ErrorCosts, Total
from emsco.scoring.scores import Counts

_OVERCONFIDENT = 0.03  # above the accuracy of a stage
_FEWEST = 10  # rows of an exit that tell whether a stage is too sure
_ONCE = 1.01  # weights round
_STEADIES = 400  # rows: the variance of a count over so many is a bias of two points, squared


class FigureSource(Protocol):
    """Computes figures of points when somebody asks for them."""

    def figure(self, position: int, name: str) -> Any:
        """Return a figure of the point at a position, always the same value."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Stands for a figure of a point until somebody asks for it.

    Attributes
    ----------
    source : FigureSource
    position : int
    name : str
        The attribute of the point.
    """

    source: FigureSource
    position: int
    name: str


class _ReadOnDemand:
    """An attribute of points that computes a `Pending` figure when it is first read."""

    def __init__(self, slot: Any) -> None:
        self.slot = slot

    def __get__(self, point: Any, owner: type | None = None) -> Any:
        if point is None:
            return self
        figure = self.slot.__get__(point, owner)
        if isinstance(figure, Pending):
            figure = figure.source.figure(figure.position, figure.name)
            self.slot.__set__(point, figure)
        return figure

    def __set__(self, point: Any, figure: Any) -> None:
        self.slot.__set__(point, figure)


@dataclass(frozen=True, slots=True)
class ParetoPoint(Objectives):
    """A design and its figures on the scored rows.

    A fit computes results by class and expected figures when they are first read: those of all
    points may take as long as the search.

    Attributes
    ----------
    design : Design
    coverage : float
        Share of rows that get a label.
    accuracy : float
        Share of labels that are correct. If `metric` is "balanced_accuracy", the mean of this
        share over the classes; a class without a labelled row counts as 0.
    cost : float
        Mean cost of a row, rejected rows included.
    n_tied : int
        Designs with exactly these objectives, this one included. A proven front counts all
        designs; other searches count the designs they scored, and the paper's search its front.
    n_rows : int or float
        Number of scored rows; with sample weights, their total weight.
    exits : tuple of int or float
        Rows that leave at each stage.
    correct_exits : tuple of int or float
        Rows that leave at each stage with the correct label.
    metric : str
        The metric that `accuracy` is: "accuracy" or "balanced_accuracy".
    exit_confidence : tuple of float or None
        Mean confidence of the rows that leave at each stage; 0 if none does.
    by_class : ByClass or None
        How the scored rows of each class were labelled; a row scored several times counts once.
    versus_everything : Comparison or None
        Difference on the same rows from buying everything at once, which answers everyone, or
        rejects below the confidence that was given.
    shortlisted : bool
        Whether the point stands for those that the scored rows cannot tell from it.
    is_simplified : bool
        Whether the economical design was simplified to it: it is as good within noise.
    is_economical : bool
        Whether the economical rule of the fit chose it.
    expected : Expected or None
        Coverage, accuracy, cost and the recall of each class to expect on new rows: the scored ones
        less what luck adds to a choice, each with a 95 % interval.
    stage_delays : tuple of float
        Time that a row has waited after each stage, which the front knows from its costs; empty
        if no feature has a delay.
    rejected_exits : tuple of int or float
        Rows that each stage leaves without a label, if the design branches. Empty for a chain:
        there these are the rows without a label after the last stage.
    money : ErrorCosts or None
        What errors and rejections cost, if its front was searched for the lowest total.
    """

    design: Design
    n_tied: int
    n_rows: float
    exits: tuple[float, ...]
    correct_exits: tuple[float, ...]
    metric: str = "accuracy"
    exit_confidence: tuple[float, ...] | None = None
    by_class: ByClass | None = None
    versus_everything: Comparison | None = None
    shortlisted: bool = True
    is_simplified: bool = False
    is_economical: bool = False
    expected: Expected | None = None
    stage_delays: tuple[float, ...] = ()
    rejected_exits: tuple[float, ...] = ()
    money: ErrorCosts | None = field(default=None, compare=False)

    @classmethod
    def from_scores(
        cls, design: Design, scores: Counts, i: int, n_tied: int = 1, per_row: float = 1
    ) -> Self:
        """Build the point of a design from entry `i` of `scores`.

        `per_row` is the count that a row of weight 1 adds to the scores.
        """
        used = slice(design.n_stages)

        def rows(counts: IntArray) -> tuple[float, ...]:
            return tuple((counts if per_row == 1 else counts / per_row).tolist())

        return cls(
            design=design,
            coverage=float(scores.coverage[i]),
            accuracy=float(scores.accuracy[i]),
            cost=float(scores.cost[i]),
            n_tied=n_tied,
            n_rows=scores.n_rows if per_row == 1 else scores.n_rows / per_row,
            exits=rows(scores.exits[i, used]),
            correct_exits=rows(scores.correct_exits[i, used]),
            metric=scores.metric,
            rejected_exits=() if design.is_chain else rows(scores.rejected_exits[i, used]),
        )

    @classmethod
    def from_dict(
        cls,
        figures: Fields,
        design: Design,
        labels: Sequence[object],
        metric: str = "accuracy",
        *,
        is_weighted: bool = False,
    ) -> Self:
        """Read the figures that `scores_to_dict` gave from a file and check them.

        `is_weighted` says that models may have been fitted on rows weighted by what errors cost.
        """
        n_rows = figures.amount("n_rows")
        if not n_rows:
            figures.refuse("n_rows", "above 0", n_rows)
        counts = {}
        for name in ("exits", "correct_exits", "rejected_exits"):
            if name == "rejected_exits" and name not in figures.values:
                continue  # of a chain
            # Checked as numbers, then taken as written: whole numbers of rows stay whole.
            figures.numbers(name, design.n_stages, 0, n_rows)
            counts[name] = tuple(figures.items(name))
        if any(
            correct_exits > exits
            for correct_exits, exits in zip(counts["correct_exits"], counts["exits"], strict=True)
        ):
            figures.refuse("correct_exits", "at most the exits", list(counts["correct_exits"]))
        assessment: dict[
            str, Any
        ] = {}  # what row-by-row assessment added to the point, if anything
        if figures.get("by_class") is not None:
            versus = figures.fields("versus_everything")
            assessment = {
                "versus_everything": Comparison.from_dict(versus, len(labels)),
                "by_class": ByClass.from_dict(figures, "by_class", labels),
            }
            # There is none about rows that were weighted by what errors cost.
            if not is_weighted or figures.get("exit_confidence") is not None:
                confidence = figures.numbers("exit_confidence", design.n_stages, 0, 1)
                assessment["exit_confidence"] = tuple(confidence.tolist())
            if figures.values.get("expected") is not None:
                assessment["expected"] = Expected.from_dict(figures.fields("expected"), len(labels))
        return cls(
            design=design,
            **asdict(objectives_from_dict(figures)),
            n_tied=figures.whole("n_tied", 1),
            n_rows=n_rows,
            exits=counts["exits"],
            correct_exits=counts["correct_exits"],
            rejected_exits=counts.get("rejected_exits", ()),
            metric=metric,
            **assessment,
            shortlisted=figures.flag("shortlisted"),
            is_simplified=figures.flag("is_simplified"),
            # Fronts of earlier versions do not say so.
            is_economical="is_economical" in figures.values and figures.flag("is_economical"),
        )

    def with_figures(self, **changes: Any) -> Self:
        """Return the point with other figures, as `dataclasses.replace` does.

        Figures that nobody has asked for stay `Pending`; `replace` would compute them.
        """
        figures = {}
        for one in fields(self):
            attribute = getattr(type(self), one.name)
            slot = attribute.slot if isinstance(attribute, _ReadOnDemand) else attribute
            figures[one.name] = slot.__get__(self)
        return type(self)(**{**figures, **changes})

    def compute(self) -> None:
        """Compute all figures that nobody has asked for."""
        for name in _ON_DEMAND:
            getattr(self, name)

    @property
    def n_stages(self) -> int:
        """Number of stages of the design."""
        return self.design.n_stages

    @property
    def size(self) -> tuple[int, int, float]:
        """Sort key: fewer stages first, then fewer features, then a lower cost."""
        design = self.design
        return self.n_stages, len(design.names) - len(design.left_out), self.cost

    @property
    def rejected_by_stage(self) -> tuple[float, ...]:
        """Rows that each stage is the last to judge without a label."""
        if self.rejected_exits:
            return self.rejected_exits
        # Weighted counts may add up to a little more than all rows.
        rejected = max(0.0, self.n_rows - sum(self.exits))
        return (*(0.0 for _ in self.exits[1:]), rejected)

    @property
    def mean_delay(self) -> float:
        """Mean time that a row waits, rejected rows included; 0 if no feature has a delay."""
        waited = sum(map(mul, self.exits, self.stage_delays))
        waited += sum(map(mul, self.rejected_by_stage, self.stage_delays))
        return float(waited / self.n_rows)

    @property
    def worst_delay(self) -> float:
        """Longest time that a row can wait: for all stages on its path."""
        return max(self.stage_delays, default=0.0)

    @property
    def is_informative(self) -> bool:
        """Whether its labels tell more than the commonest class, beyond chance.

        See `ByClass.beats_commonest`. True if nobody has counted the classes, unless it buys
        nothing.
        """
        if self.design.buys_nothing:
            return False
        return self.by_class is None or self.by_class.beats_commonest

    @property
    def rejects_everyone(self) -> bool:
        """Whether it buys nothing and labels nobody, which only costs of rejections may choose."""
        return self.design.buys_nothing and not self.coverage

    @property
    def overconfident(self) -> tuple[int, ...]:
        """Stages, from 1, that are surer of the labels they give than those are correct.

        Their mean confidence is above their accuracy by more than 3 percentage points, and by
        more than chance explains. A row that several splits score is no more evidence than one,
        and fewer than 10 rows are none.
        """
        said, often = self.exit_confidence or (), self.times_scored
        counts = zip(said, self.exits, self.correct_exits, strict=False)
        return tuple(
            j
            for j, (confidence, n_rows, n_correct) in enumerate(counts, start=1)
            # Each row counts as often as it was scored, so the bound on rows grows with it.
            if n_rows >= _FEWEST * often
            and confidence - n_correct / n_rows > _OVERCONFIDENT
            and is_beyond(n_correct / n_rows, confidence, n_rows / often)
        )

    @property
    def steadied_accuracy(self) -> float:
        """The accuracy, drawn towards what the stages expect, the more the fewer rows counted.

        The share of correct labels on a few hundred rows varies by more than good designs differ.
        The mean confidence of the labels hardly varies, but may be off by a point or two. So it
        counts like 400 rows.
        """
        labelled = sum(self.exits)
        if not self.exit_confidence or not labelled or self.metric != "accuracy":
            return self.accuracy
        expected = sum(map(mul, self.exits, self.exit_confidence)) / labelled
        n_rows = labelled / self.times_scored
        return float((n_rows * self.accuracy + _STEADIES * expected) / (n_rows + _STEADIES))

    @property
    def times_scored(self) -> float:
        """Number of splits that score a row; `n_rows` counts it as often."""
        distinct = 0.0 if self.by_class is None else float(self.by_class.rows.sum())
        # Weights are sums of floats; a ratio just above 1 is no second scoring.
        often = self.n_rows / distinct if distinct else 1.0
        return often if often > _ONCE else 1.0

    @property
    def rows_in_words(self) -> str:
        """Number of scored rows, and how many times each was scored if more than once."""
        rows = counted(self.n_rows / self.times_scored, "row")
        return f"{rows}, {self.times_scored:.3g} times" if self.times_scored > 1 else rows

    @property
    def promised(self) -> tuple[str, Objectives]:
        """What it promises about new rows, and the basis: "expected" or "scored" figures.

        A point without expected figures, or of a front scored by balanced accuracy, promises its
        scored figures. The accuracy is always the share of labels that are correct.

        Examples
        --------
        >>> point = ParetoPoint(0.8, 0.9, 2.0, Design([0], ("age",)), 1, 50, (40,), (38,))
        >>> point.promised
        ('scored', Objectives(coverage=0.8, accuracy=0.95, cost=2.0))
        """
        # Expected figures have the metric of the front, which may be balanced accuracy.
        if self.expected is not None and self.metric == "accuracy":
            return "expected", self.expected.figures
        labelled = sum(self.exits)
        accuracy = sum(self.correct_exits) / labelled if labelled else 0.0
        return "scored", Objectives(self.coverage, accuracy, self.cost)

    def is_about_labels(self, label_costs: FloatArray | None) -> bool:
        """Whether its figures are those of the labels that a cascade gives.

        `label_costs` are those of the cascade, if it gives labels of least expected cost. Figures
        are of likeliest labels; where errors had a cost in the fit, of rows weighted by it.
        """
        if label_costs is None:
            return True
        return (
            self.money is not None
            and np.array_equal(label_costs, self.money.of_labels)
            and self.money.labels_follow_stakes
        )

    def compared_with(self, seen: Evaluation, label_costs: FloatArray | None = None) -> Evaluation:
        """Add what the point promised to an evaluation on new rows, and to its total if any.

        `label_costs` are those of the cascade, if it gives labels of least expected cost. Unless
        the point `is_about_labels` of this kind, there is no promise about their accuracy, and the
        total is promised for the same costs alone.
        """
        basis, figures = self.promised
        ranges: dict[str, Interval] = {}
        recall: tuple[Estimate, ...] = ()
        if basis == "expected" and self.expected is not None:
            for name in ("coverage", "accuracy", "cost"):
                estimate = getattr(self.expected, name)
                ranges[name] = Interval(estimate.low, estimate.high)
            recall = self.expected.recall
        report = seen.against(figures, basis, ranges, recall)
        cheapest_label = not self.is_about_labels(label_costs)
        if cheapest_label:
            report = replace(report, accuracy=None, recall=())
        compared = replace(seen, promise=report)
        if seen.total is None:
            return compared
        costs = seen.total.costs
        if cheapest_label and not np.array_equal(np.asarray(label_costs), costs.of_labels):
            return compared
        return compared.with_total(costs, self.total_with(costs, cheapest_label=cheapest_label))

    def total(
        self, error_cost: Any, reject_cost: Any = None, *, cheapest_label: bool = False
    ) -> Total:
        """Return what a row costs on average with its features, errors and rejections.

        The shares of wrong and rejected rows are those to expect on new rows, or else the scored
        ones. If costs differ between classes, wrong and rejected rows cost on average what they
        did on the scored rows; the interval takes these means as known.

        Parameters
        ----------
        error_cost : float, mapping or array-like
            Cost of a wrong label: a number, ``{true label: cost}``, or a matrix with a line per
            true label and a column per label given. In the unit of the feature costs.
        reject_cost : float or mapping, optional
            Cost of a rejection: a number, or ``{true label: cost}``. Leave it out only if no row
            is rejected.
        cheapest_label : bool
            Whether labels are those of least expected cost; see `Cascade.with_error_costs`. Then
            the total counts, for the scored rows that got the same label, the label that costs
            least. Each row may get a cheaper one.

        Examples
        --------
        >>> point = ParetoPoint(0.9, 0.8, 5.0, Design([0], ("age",)), 1, 100, (90,), (72,))
        >>> print(point.total(error_cost=50, reject_cost=10))
        15: features 5, errors 9, rejections 1
        """
        labels = None if self.by_class is None else self.by_class.labels
        return self.total_with(
            ErrorCosts.from_parameters(
                error_cost, reject_cost, labels, may_reject=self.coverage < 1
            ),
            cheapest_label=cheapest_label,
        )

    def total_with(self, costs: ErrorCosts, *, cheapest_label: bool = False) -> Total:
        """Return the same for costs that are checked already."""
        basis, figures = self.promised
        expected = self.expected if basis == "expected" else None
        by_class = self.by_class
        cheapest = by_class
        if by_class is not None and cheapest_label:
            cheapest = costs.relabelled(by_class)
        if self.design.buys_nothing and cheapest is not None:
            return costs.total_of_nothing(cheapest, basis)
        if self.money is not None and by_class is not None and costs == self.money:
            return self._searched_total(costs, by_class)
        total = costs.total(figures, by_class, expected, promised=True)
        if by_class is None or cheapest is None or not cheapest_label:
            return total
        saved = costs.mean(by_class) - costs.mean(cheapest)
        return replace(total, errors=max(0.0, total.errors - saved))

    def _searched_total(self, costs: ErrorCosts, by_class: ByClass) -> Total:
        """Return the total that the search was for: as expected, or else as scored."""
        *_, rejected = costs.mean_costs(by_class)
        features, rejections = self.cost, (1 - self.coverage) * rejected
        total, basis, error = features + costs.losses(by_class), "scored", None
        if self.expected is not None and self.expected.total is not None:
            features = self.expected.cost.value
            rejections = (1 - self.expected.coverage.value) * rejected
            total, basis = self.expected.total.value, "expected"
            error = self.expected.total.error
        errors = max(0.0, total - features - rejections)
        return Total(features, errors, rejections, error, basis)

    def scores_to_dict(self) -> dict[str, Any]:
        """Return all fields except the design as plain values, for a file."""
        versus = self.versus_everything
        return {
            "coverage": self.coverage,
            "accuracy": self.accuracy,
            "cost": self.cost,
            "n_tied": self.n_tied,
            "n_rows": self.n_rows,
            "exits": list(self.exits),
            "correct_exits": list(self.correct_exits),
            "exit_confidence": self.exit_confidence and list(self.exit_confidence),
            "by_class": None if self.by_class is None else self.by_class.to_lists(),
            "versus_everything": None if versus is None else versus.to_dict(),
            "shortlisted": self.shortlisted,
            "is_simplified": self.is_simplified,
            "is_economical": self.is_economical,
            "expected": None if self.expected is None else self.expected.to_lists(),
            **({"rejected_exits": list(self.rejected_exits)} if self.rejected_exits else {}),
        }

    def figures(self) -> dict[str, Any]:
        """Return all fields except the design for a reader: results by class have labels."""
        delays = ("mean_delay", "worst_delay", "stage_delays") if self.stage_delays else ()
        return {
            **self.scores_to_dict(),
            "by_class": None if self.by_class is None else self.by_class.to_dict(),
            "expected": None if self.expected is None else self.expected.to_dict(),
            "is_informative": self.is_informative,
            "overconfident": list(self.overconfident),
            **{name: getattr(self, name) for name in delays},
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the objectives, then features and counts of each stage.

        Stages have a threshold if the design has its own. A design that branches has its branches.
        """
        figures = self.figures()
        del figures["exit_confidence"]
        counts = zip(
            self.design.buys, figures.pop("exits"), figures.pop("correct_exits"), strict=True
        )
        stages: list[dict[str, Any]] = [
            {"features": list(bought), "exits": exits, "correct_exits": correct_exits}
            for bought, exits, correct_exits in counts
        ]
        for stage, threshold in zip(stages, self.design.thresholds or (), strict=False):
            stage["threshold"] = plain(threshold)
        branches = [branch.to_dict() for branch in self.design.branches.values()]
        return {
            **figures,
            "metric": self.metric,
            "stages": stages,
            **({"branches": branches} if branches else {}),
        }

    def __repr__(self) -> str:
        """Show the objectives and the total if the search was for it, then the design."""
        money, total = self.money, ""
        if money is not None:
            total = f", total={self.total_with(money).value:.4g}"
        return (
            f"ParetoPoint(coverage={self.coverage:.3f}, {self.metric}={self.accuracy:.3f}, "
            f"cost={self.cost:.6g}{total}, {self.design!r})"
        )


# Results of judging its rows one by one, and figures that depend on all points of its front.
RESULTS = ("exit_confidence", "by_class", "versus_everything")
_ON_DEMAND = (*RESULTS, "shortlisted", "expected")
for _name in _ON_DEMAND:
    setattr(ParetoPoint, _name, _ReadOnDemand(getattr(ParetoPoint, _name)))


@dataclass(frozen=True, slots=True, eq=False)
class NamedDesigns:
    """Turns what a search has found into designs over named features.

    Attributes
    ----------
    names : tuple of str
    grid : ThresholdGrid or None
        Thresholds of the stages; None if all have the same.
    classes : ndarray of shape (n_classes,) or None
    """

    names: tuple[str, ...]
    grid: ThresholdGrid | None = None
    classes: AnyArray | None = None

    def __call__(self, designs: Designs, which: int = 0) -> Design:
        """Return one of some chains over features."""
        stages = designs.stages[which]
        if self.grid is None or self.grid.is_single or self.classes is None:
            return Design(stages, self.names)
        levels = designs.levels[which, : int(stages.max()) + 1].astype(np.int64)
        return Design(stages, self.names, self.grid.of_levels(levels, self.classes))
