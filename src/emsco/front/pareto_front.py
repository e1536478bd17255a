"""The Pareto front that a search returns: choose, draw, test and save its designs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import check_whole
from emsco._base.documents import PathLike, read_document, write_document, write_text
from emsco._base.objectives import balanced_length
from emsco._base.typing import FloatArray, IntArray
from emsco._base.wings import open_wing
from emsco.cascade import Cascade, Evaluation, FrontModels
from emsco.cascade.format import FORMAT, OLDEST
from emsco.costs import FeatureCosts
from emsco.data.frames import Columns, Tabular
from emsco.data.row_prints import RowPrints
from emsco.designs.design import Design
from emsco.designs.population import Designs
from emsco.designs.thresholds import MinConfidence
from emsco.errors import FileError, ParameterError
from emsco.front.certificate import (
    Certificate,
    CertificatePlan,
    FreshRows,
    certify,
    plan_certificate,
)
from emsco.front.economical import is_good_enough
from emsco.front.format import front_from_dict, front_to_dict
from emsco.front.pictures import cascade_picture, flow_of, front_picture
from emsco.front.point import NamedDesigns, ParetoPoint
from emsco.front.references import Reference, measure_references
from emsco.front.rules import (
    PointLimits,
    check_preference,
    check_rule,
    choose,
)
from emsco.front.tables import front_columns, front_html, front_text
from emsco.models.stage_models import StageModels
from emsco.plotting.figures import COLUMN
from emsco.plotting.flow import Flow
from emsco.plotting.trade_offs import draw_front
from emsco.plotting.workflow import draw_cascade
from emsco.scoring.error_costs import ErrorCosts, Total
from emsco.scoring.pareto import tie_groups
from emsco.scoring.scores import Counts
from emsco.stats.promises import Promise, promises_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class ParetoFront(Tabular, Sequence[ParetoPoint]):
    """The best trade-offs between coverage, accuracy and cost, the cheapest first.

    To gain in one of the three, you give up some of another. Figures are *scored*: the rows that
    measured them also chose the designs, so they are too good, on few rows by several percentage
    points. `ParetoPoint.expected` corrects them for the choice, and `with_seen` adds figures of
    test rows. `metric` says which accuracy they are scored by.

    Attributes
    ----------
    points : tuple of ParetoPoint
        The cheapest first; those of the paper's search by fitness, the fittest first. A fit adds
        two that buy nothing: one gives everyone the commonest class, and one rejects everyone,
        which comes last and only costs of errors and rejections choose.
    costs : FeatureCosts
    min_confidence : float or dict
        Confidence that a label needs, unless the design of a point has thresholds of its own.
    proven : bool
        Whether exact search has proven that no design beats these points on the scored rows.
    by_fitness : bool
        Whether the paper's search listed the points, the fittest of its population first.
    models : FrontModels or None
        Fitted models of every point; None for a front built by hand.
    seen : tuple of Evaluation or None
        Figures of each point on test rows, which neither chose a design nor fitted a model.
    references : tuple of Reference
        What there is without a cascade, on the scored rows: the commonest class for nothing, and
        everything bought at once, with and without rejection. Empty for a front built by hand.
    seen_references : tuple of Reference
        The same on the test rows.
    searched : RowPrints or None
        Fingerprints of the rows of the search, by which `certify` refuses them.
    money : ErrorCosts or None
        What errors and rejections cost, if the search was for the lowest total.
    deployed : int or None
        Position of the point that is deployed, which tables mark; None if nobody knows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from emsco import EMSCOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = EMSCOClassifier(generations=5, estimator="logistic", cv=1 / 3, random_state=0)
    >>> front = clf.fit(X, y).front_
    >>> point = front.select(max_cost=20, min_accuracy=0.9)
    >>> point.cost <= 20 and point.accuracy >= 0.9
    True
    """

    points: tuple[ParetoPoint, ...]
    costs: FeatureCosts
    min_confidence: MinConfidence
    proven: bool = False
    models: FrontModels | None = None
    seen: tuple[Evaluation, ...] | None = None
    references: tuple[Reference, ...] = ()
    seen_references: tuple[Reference, ...] = ()
    searched: RowPrints | None = None
    by_fitness: bool = field(default=False, kw_only=True)
    money: ErrorCosts | None = field(default=None, kw_only=True)
    deployed: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Tell the points what errors cost, and how long a row has waited after each stage."""
        if any(point.money is not self.money for point in self.points):
            points = [point.with_figures(money=self.money) for point in self.points]
            object.__setattr__(self, "points", tuple(points))
        if self.costs.has_delays:
            points = []
            for point in self.points:
                design = point.design
                waits = self.costs.waits_after_stages(design.subsets(), design.before)
                delays = tuple(waits.tolist())
                # A point that knows its delays stays the same object, so that `is` still finds it.
                is_told = point.stage_delays == delays
                points.append(point if is_told else point.with_figures(stage_delays=delays))
            object.__setattr__(self, "points", tuple(points))

    @classmethod
    def from_scores(
        cls,
        designs: Designs,
        scores: Counts,
        costs: FeatureCosts,
        min_confidence: MinConfidence,
        n_tied: IntArray | None = None,
        proven: bool = False,
        per_row: float = 1,
        named: NamedDesigns | None = None,
    ) -> ParetoFront:
        """Build a front from the designs and scores of a search, in its order.

        Without `n_tied`, only these designs count as ties of each other. A row of weight 1 adds
        `per_row` to the scores. `named` names features and thresholds.
        """
        if n_tied is None:
            groups = tie_groups(scores)
            n_tied = np.bincount(groups)[groups]
        named = named or NamedDesigns(costs.names)
        points = [
            ParetoPoint.from_scores(named(designs, i), scores, i, int(n_tied[i]), per_row)
            for i in range(len(designs))
        ]
        return cls(tuple(points), costs, min_confidence, proven)

    def by_cost(self) -> ParetoFront:
        """Return the front with the cheapest point first; of equals the one that labels most.

        A point that rejects everyone for nothing comes last: hardly anyone looks for it.
        """
        return replace(self, points=tuple(self[i] for i in self.cost_order()))

    def cost_order(self) -> list[int]:
        """Return the positions of the points as `by_cost` sorts them."""

        def key(i: int) -> tuple[bool, float, float, float]:
            point = self[i]
            return point.rejects_everyone, point.cost, -point.coverage, -point.accuracy

        return sorted(range(len(self)), key=key)

    @property
    def metric(self) -> str:
        """The metric that the accuracy of its points is: "accuracy" or "balanced_accuracy"."""
        return self.points[0].metric

    @property
    def labels(self) -> tuple[object, ...] | None:
        """The classes, of its models or as counted by class; None for a front with neither."""
        if self.models is not None:
            return tuple(self.models.classes.tolist())
        counted = self.points[0].by_class
        return None if counted is None else counted.labels

    def __len__(self) -> int:
        """Number of points."""
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> ParetoPoint: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ParetoPoint]: ...
    def __getitem__(self, index: int | slice) -> ParetoPoint | Sequence[ParetoPoint]:
        """Return the point at a position; 0 is the cheapest, or the fittest of the paper's."""
        return self.points[index]

    def __iter__(self) -> Iterator[ParetoPoint]:
        """Iterate over the points, the cheapest first."""
        return iter(self.points)

    def position(self, point: ParetoPoint | int) -> int:
        """Return the position of a point in the front, from 0."""
        if isinstance(point, Integral):
            return check_whole("point", point, 0, len(self) - 1)
        if (position := self._place(point)) is None:
            raise ParameterError(
                f"point must be one of this front, or its position, got {point!r}."
            )
        return position

    def _place(self, point: object) -> int | None:
        """Position of a point of this front, or of its equal; None if there is none."""
        for i, one in enumerate(self.points):
            if one is point:
                return i
        if not isinstance(point, ParetoPoint):
            return None
        # A point of an equal front is found, too. Designs first: other figures may be pending.
        places = (i for i, one in enumerate(self.points) if one.design == point.design)
        return next((i for i in places if self.points[i] == point), None)

    def find(self, which: object) -> ParetoPoint:
        """Return the point that a rule or limits choose, at a position, or one of the front."""
        if isinstance(which, (str, dict)):
            return self.prefer(which)
        if isinstance(which, Integral):
            return self.points[check_whole("point", which, 0, len(self) - 1)]
        if (position := self._place(which)) is None:
            raise ParameterError(
                f"point must be one of this front_, its position or a rule, got {which!r}."
            )
        return self.points[position]

    def balanced_scores(self) -> FloatArray:
        """√(coverage² + accuracy² + (1 - cost / cost of all features)²) of each point."""
        coverage, accuracy, cost = np.array([(p.coverage, p.accuracy, p.cost) for p in self]).T
        scores: FloatArray = balanced_length(coverage, accuracy, cost, self.costs.total)
        return scores

    def shortlist(self) -> list[int]:
        """Return the positions of points that differ from each other in something beyond noise."""
        return [i for i, point in enumerate(self.points) if point.shortlisted]

    def best_first(self, positions: Sequence[int] | None = None) -> list[int]:
        """Sort positions of points by their balanced scores; by default those of all points.

        Points whose labels tell more than the commonest class come first, and those that buy
        nothing last.
        """
        scores = self.balanced_scores()
        # `sorted` is stable: of equal scores, the one that the search lists first stays first.
        known = range(len(self)) if positions is None else positions

        def key(i: int) -> tuple[bool, bool, float]:
            return self[i].design.buys_nothing, not self[i].is_informative, -float(scores[i])

        return sorted(known, key=key)

    def economical(self) -> ParetoPoint:
        """Return the cheapest point that answers everyone as well as buying everything does.

        As well means not behind in accuracy and in the shares of each class that are found and
        mislabelled, by a tolerance of at most half a standard error that `fit` finds. If labels
        need a confidence that you have given, points are compared with everything at that
        confidence, in coverage too. Of the points that cost at most 1 % of everything more than the
        cheapest, it is the one with fewest stages and features. If every point is worse, it is the
        one that loses least. A front built by hand returns its knee. See `emsco.front.economical`.
        """
        return self._chosen("economical")

    def accurate(self) -> ParetoPoint:
        """Return the point with the best `steadied_accuracy`; if equal, the cheapest."""
        return self._chosen("accurate")

    def one_standard_error(self) -> ParetoPoint:
        """Return the simplest point within one standard error of the best expected one.

        Best is the balanced score of the expected figures. Simple means few stages, then few
        features, then a low cost.
        """
        return self._chosen("one_standard_error")

    def balanced(self) -> ParetoPoint:
        """Return the point with the best balanced score."""
        return self._chosen("balanced")

    def knee(self) -> ParetoPoint:
        """Return the point nearest to the best of all objectives, each scaled to 0..1."""
        return self._chosen("knee")

    def fittest(self) -> ParetoPoint:
        """Return the point that the paper would deploy, whichever search found the front.

        It has the largest √(coverage² + accuracy² + (lowest cost / cost)²), with the lowest cost
        of the front; the paper's search uses that of its population and lists the fittest first.
        If it is 0, the smallest feature cost above 0 is added to both. Ties go to fewer stages.
        """
        return self._chosen("fittest")

    def _chosen(self, rule: str) -> ParetoPoint:
        return self.points[self.choose_among(rule, range(len(self)))]

    def choose_among(self, rule: str, positions: Sequence[int]) -> int:
        """Return the one of some positions whose point a rule chooses, such as "knee".

        A point that buys nothing is chosen if there is no other. Also, "economical" prefers it to
        one that is no better than the commonest class, if buying everything is no better either.
        """
        candidates = self._for_rules(positions)
        points = [self.points[i] for i in candidates]
        chosen = candidates[choose(rule, points, self.costs, by_fitness=self.by_fitness)]
        if rule == "economical" and not self[chosen].is_informative:
            nothing = [i for i in positions if self[i].design.buys_nothing and self[i].coverage]
            return next((i for i in nothing if is_good_enough(self[i])), chosen)
        return chosen

    def _for_rules(self, positions: Sequence[int]) -> list[int]:
        """Return positions without points that buy nothing, unless there are no others."""
        buying = [i for i in positions if not self[i].design.buys_nothing]
        return buying or [i for i in positions if self[i].coverage] or list(positions)

    def select(
        self,
        max_cost: float | None = None,
        min_accuracy: float | None = None,
        min_coverage: float | None = None,
        min_recall: Any = None,
        rule: str | None = None,
        *,
        max_mean_delay: float | None = None,
        max_worst_delay: float | None = None,
        error_cost: Any = None,
        reject_cost: Any = None,
        cheapest_label: bool = False,
    ) -> ParetoPoint:
        """Return the point that you mean by some limits.

        With `max_cost` or limits on delays alone, it is the most accurate point that answers
        everyone. With `min_coverage`, it is the most accurate that labels so many rows. With
        `min_accuracy` or `min_recall`, it is the one that labels most rows, and of those the
        cheapest. With both, it is the cheapest. Points whose labels are no better than the
        commonest class come last, and those that buy nothing after these. With `error_cost`, it
        is the point with the lowest `ParetoPoint.total`, which may buy nothing.

        Parameters
        ----------
        max_cost : float, optional
            Highest mean cost of a row.
        min_accuracy, min_coverage : float, optional
            Lowest accuracy, by the `metric` of the front, and coverage, from 0 to 1.
        min_recall : dict, optional
            Lowest share of a class that must get the correct label, such as ``{"ill": 0.9}``.
            Rejected rows count as not found.
        rule : {"economical", "accurate", "balanced", "one_standard_error", "knee", "fittest"}
            Chooses among the points within the limits instead.
        max_mean_delay, max_worst_delay : float, optional
            Longest time that a row waits for its features, on average and at worst.
        error_cost, reject_cost : float, mapping or array-like, optional
            Costs of an error and of a rejection in the unit of the feature costs, as for
            `ParetoPoint.total`; by default those of the fit. They choose instead of a rule. Without
            a `reject_cost`, nobody is rejected for nothing.
        cheapest_label : bool
            Whether the cascade will give labels of least expected cost, as for
            `ParetoPoint.total`.

        Raises
        ------
        NoSuchDesign
            If no point is within the limits; the message says how close the front comes to each.
        """
        limits = PointLimits(
            max_cost, min_accuracy, min_coverage, min_recall, max_mean_delay, max_worst_delay
        )
        costs = self.error_costs(error_cost, reject_cost)
        if rule is None and costs is None:
            costs = self.money  # a front that was searched for the lowest total is chosen by it
        # Of such a front, designs reject only if a rejection has a cost.
        may_reject = reject_cost is not None or (costs is not None and costs is self.money)
        within = limits.required(self.points, may_reject=may_reject)
        rule = check_rule(rule, has_error_costs=costs is not None)
        if costs is not None:
            points = [self[i] for i in within]

            def key(point: ParetoPoint) -> tuple[float, tuple[int, int, float]]:
                # If totals tie, the simpler design.
                return point.total_with(costs, cheapest_label=cheapest_label).value, point.size

            return min(points, key=key)
        within = self._for_rules(within)
        if rule is None:
            return self[limits.best(self.points, within)]
        if rule == "balanced":
            return self[self.best_first(within)[0]]
        return self[self.choose_among(rule, within)]

    def within(
        self,
        max_cost: float | None = None,
        min_accuracy: float | None = None,
        min_coverage: float | None = None,
        min_recall: Any = None,
        *,
        max_mean_delay: float | None = None,
        max_worst_delay: float | None = None,
    ) -> list[int]:
        """Return the positions of all points within the limits."""
        limits = PointLimits(
            max_cost, min_accuracy, min_coverage, min_recall, max_mean_delay, max_worst_delay
        )
        return limits.within(self.points)

    def prefer(self, rule: str | dict[str, Any]) -> ParetoPoint:
        """Return the point that a rule or limits choose.

        Rules are the methods "economical", "one_standard_error", "accurate", "balanced", "fittest"
        and "knee". Limits, and costs of errors and rejections, are a dict of the arguments of
        `select`, such as ``{"error_cost": 500, "reject_cost": 40, "max_cost": 300}``.
        """
        check_preference(rule)
        if isinstance(rule, dict):
            return self.select(**rule)
        return self._chosen(rule)

    def totals(self, error_cost: Any, reject_cost: Any = None) -> list[Total]:
        """Return the total of each point, as `ParetoPoint.total` does."""
        costs = self.error_costs(error_cost, reject_cost)
        if costs is None:
            raise ParameterError("error_cost must be given, got None.")
        return [point.total_with(costs) for point in self.points]

    def error_costs(self, error_cost: Any, reject_cost: Any = None) -> ErrorCosts | None:
        """Check costs of errors and rejections; None if neither is given."""
        # Where no design rejects anyone, the cost of a rejection may be left out.
        may_reject = any(point.coverage < 1 for point in self.points if not point.rejects_everyone)
        return ErrorCosts.if_given(error_cost, reject_cost, self.labels, may_reject=may_reject)

    def cascade(self, point: ParetoPoint | int) -> Cascade:
        """Return the cascade of a point, with its fitted models, ready to decide rows."""
        position = self.position(point)
        if self.models is None:
            raise ParameterError(
                "a cascade needs fitted models, got a front without any; take one from "
                "EMSCOClassifier.front_ or ParetoFront.load."
            )
        design = self.points[position].design
        return self._deployable(self.models, design, self.models.of_points[position])

    def everything(self) -> Cascade:
        """Return the cascade of one stage that buys every feature, for comparison."""
        if self.models is None or self.models.everything is None:
            raise ParameterError(
                "the cascade that buys everything needs its model, got a front without it."
            )
        design = Design.everything(self.costs.names)
        return self._deployable(self.models, design, self.models.everything)

    def _deployable(self, models: FrontModels, design: Design, fitted: StageModels) -> Cascade:
        return Cascade(
            design=design,
            costs=self.costs,
            classes=models.classes,
            min_confidence=self.min_confidence,
            encoding=models.encoding,
            models=fitted,
            label_costs=None if self.money is None else self.money.of_labels,
            stakes=None if self.money is None else self.money.stakes,
        )

    def flow(self, point: ParetoPoint | int) -> Flow:
        """Count the scored rows that reach and leave each stage of a point."""
        return flow_of(self.points[self.position(point)], self.costs)

    def plot(
        self,
        kind: str = "2d",
        *,
        mark: ParetoPoint | int | None = None,
        on: str = "scored",
        width: float = COLUMN,
        ax: Axes | None = None,
        currency: str | None = None,
        every: bool = False,
    ) -> Figure:
        """Draw the front with matplotlib: coverage as colour, stages as markers.

        Crosses show what buying everything and buying nothing give.

        Parameters
        ----------
        kind : str
            "2d": cost against accuracy; "3d": coverage as an axis; "pairs": a panel per pair.
        mark : ParetoPoint or int, optional
            Point to ring; by default the deployed one. Beside scored figures, a line joins it to
            the figures to expect on new rows, if it has any.
        on : str
            "scored", "expected", "seen" (hollow; needs `with_seen`), or "both": scored and seen.
        width : float
            Width of a new figure in inches; 3.4 fits one column of a paper.
        ax : Axes, optional
            Existing axes to draw into; "pairs" accepts none.
        currency : str, optional
            Unit of costs, such as "€".
        every : bool
            Draw all designs, and not only the shortlist: those that differ beyond noise.

        Returns
        -------
        Figure
            Save it with ``figure.savefig("front.svg")``.
        """
        marked = None if mark is None else self.position(mark)
        picture = front_picture(self, marked, on, currency, every=every)
        return draw_front(picture, kind, width, ax)

    def sliders(self, *, currency: str | None = None) -> Any:
        """Return sliders for a notebook: limits and prices, and the design that they choose.

        They choose as `select` does. Needs ipywidgets: ``pip install 'emsco[notebook]'``.

        Parameters
        ----------
        currency : str, optional
            Unit of costs, such as "€".
        """
        from emsco.front.sliders import make_sliders  # for notebooks alone

        return make_sliders(self, currency)

    def plot_cascade(
        self,
        point: ParetoPoint | int,
        *,
        on: str = "scored",
        width: float | None = None,
        ax: Axes | None = None,
        currency: str | None = None,
    ) -> Figure:
        """Draw the cascade of a point: the features each stage buys and the rows that leave.

        A design that branches becomes a flow chart, with the questions on its arrows.

        Parameters
        ----------
        point : ParetoPoint or int
        on : str
            Rows to draw: "scored" or "seen".
        width : float, optional
            Width of a new figure in inches; its height follows from the number of features. By
            default a column of a paper, or a page of A4 in landscape if the design branches.
        ax : Axes, optional
            Existing axes to draw into; the text shrinks until it fits.
        currency : str, optional
            Unit of costs, such as "€".

        Returns
        -------
        Figure
            Save it with ``figure.savefig("cascade.svg")``.
        """
        picture = cascade_picture(self, self.position(point), on, currency)
        return draw_cascade(picture, width, ax)

    def with_seen(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        report: Callable[[int, int, str], None] | None = None,
        prices: Mapping[str, Any] | None = None,
    ) -> ParetoFront:
        """Evaluate every point on test rows and return the front with these figures in `seen`.

        Parameters
        ----------
        X, y : array-like
            Labelled rows that had no part in fitting or choosing the designs.
        sample_weight, prices : optional
            As for `Cascade.evaluate`.
        report : callable, optional
            Called as ``report(done, total, "")`` after each point.
        """
        seen = []
        for i in range(len(self)):
            seen.append(self.cascade(i).evaluate(X, y, sample_weight, prices=prices))
            if report:
                report(i + 1, len(self), "")
        references = self.references_on(X, y, sample_weight, prices)
        return replace(self, seen=tuple(seen), seen_references=references)

    def references_on(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, prices: Any = None
    ) -> tuple[Reference, ...]:
        """Measure the references on labelled rows; empty if the front has none."""
        if not self.references:
            return ()
        # The commonest class of the scored rows, not of these: that is what one would have
        # answered.
        commonest = self.references[0].label
        return measure_references(self.everything(), commonest, X, y, sample_weight, prices)

    def certify(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        min_accuracy: Any = None,
        min_coverage: float | None = None,
        max_cost: float | None = None,
        max_total: float | None = None,
        min_recall: Any = None,
        error_cost: Any = None,
        reject_cost: Any = None,
        delta: float = 0.05,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        max_weight: float | None = None,
        order: Any = None,
        deployed: ParetoPoint | int | None = None,
        prefer: str = "balanced",
        random_state: int = 0,
    ) -> Certificate:
        """Test on fresh rows which designs keep all promises, with a chance of error of `delta`.

        Designs are tested in an order that the scored rows fix, until the first that fails. Then
        these rows are spent: a second test with other promises needs fresh ones.

        Parameters
        ----------
        X, y : array-like
            Labelled rows that had no part in the search, drawn as new rows will come.
        min_accuracy : float or dict, optional
            Lowest share of given labels that are correct. A dict has a share for labels, as in
            ``{"well": 0.99}``: of the rows called well, 99 % are. The key None is for all labels.
        min_coverage : float, optional
            Lowest share of rows that get a label.
        max_cost : float, optional
            Highest mean cost of a row.
        max_total : float, optional
            Highest mean total of a row: features, errors and rejections.
        min_recall : dict, optional
            Lowest share of a class that must get its label, as in ``{"ill": 0.9}``.
        error_cost, reject_cost : float, mapping or array-like, optional
            Costs of an error and of a rejection for `max_total`; by default those of the fit.
        delta : float
            Highest chance that any design is certified although it breaks a promise.
        groups : array-like of shape (n_rows,), optional
            Group of each row, such as the patient. One row is drawn from each.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row; needs `max_weight`.
        max_weight : float, optional
            Largest weight that a row can have. Declare it before you look at these rows.
        order : ParetoPoint, int or sequence of them, optional
            Designs to test, in this order. Do not choose them by these rows.
        deployed : ParetoPoint or int, optional
            The design in use. It is tested first if it is likely to pass on so many rows;
            otherwise a warning says so. If it passes, it is the first of the certified ones.
        prefer : str
            Rule by which the best of the certified designs is `deployed`, as in `prefer`. If the
            search was for the lowest total, that is the rule.
        random_state : int
            Seed that draws rows from groups, and the order of bets on costs.

        Returns
        -------
        Certificate
            Print it to read it.
        """
        promises = self.promises(
            min_accuracy=min_accuracy,
            min_coverage=min_coverage,
            max_cost=max_cost,
            max_total=max_total,
            min_recall=min_recall,
            error_cost=error_cost,
            reject_cost=reject_cost,
        )
        rows = FreshRows.from_table(
            self,
            X,
            y,
            groups=groups,
            sample_weight=sample_weight,
            max_weight=max_weight,
            random_state=random_state,
        )
        return certify(
            self, rows, promises, delta=delta, order=order, deployed=deployed, prefer=prefer
        )

    def plan_certificate(
        self,
        *,
        min_accuracy: Any = None,
        min_coverage: float | None = None,
        max_cost: float | None = None,
        max_total: float | None = None,
        min_recall: Any = None,
        error_cost: Any = None,
        reject_cost: Any = None,
        delta: float = 0.05,
        chances: Sequence[float] = (0.8, 0.9),
        order: Any = None,
        deployed: ParetoPoint | int | None = None,
    ) -> CertificatePlan:
        """Plan how many fresh rows `certify` needs, for each chance of success.

        The other parameters are those of `certify`. The plan assumes that new rows keep the
        expected figures, and by class the scored ones.
        """
        promises = self.promises(
            min_accuracy=min_accuracy,
            min_coverage=min_coverage,
            max_cost=max_cost,
            max_total=max_total,
            min_recall=min_recall,
            error_cost=error_cost,
            reject_cost=reject_cost,
        )
        return plan_certificate(
            self, promises, delta=delta, chances=chances, order=order, deployed=deployed
        )

    def promises(self, **limits: Any) -> tuple[Promise, ...]:
        """Check what is to be certified, such as `min_accuracy`, and return each `Promise`."""
        # A cost without an upper end cannot be certified: one row could outweigh any mean.
        self.costs.check_bounded(limits.get("max_cost"), limits.get("max_total"))
        costs = self.error_costs(limits.get("error_cost"), limits.get("reject_cost")) or self.money
        return promises_of(self.labels or (), limits, costs, to_prove=True)

    def save(self, path: PathLike) -> None:
        """Write the front and its models to a JSON file; a failure leaves no partial file."""
        if self.models is None:
            raise FileError("a front must have fitted models to be saved, got one without any.")
        write_document(path, "front", FORMAT, front_to_dict(self, self.models))

    @classmethod
    def load(cls, path: PathLike, trusted: Sequence[str] = ()) -> ParetoFront:
        """Read a front that `save` wrote.

        Parameters
        ----------
        path : path
        trusted : sequence of str
            As for `Cascade.load`.

        Raises
        ------
        FileError
            If the file is missing, damaged, edited, too new or not a front.
        """
        return cls(**front_from_dict(read_document(path, "front", FORMAT, OLDEST), trusted))

    def __repr__(self) -> str:
        """List the first points of the shortlist as text, then the references."""
        return front_text(self)

    def _repr_html_(self) -> str:
        """Show the first of the shortlist as a table, and all of it as a picture, for notebooks."""
        return front_html(self)

    def columns(self) -> Columns:
        """Return the points as columns by name, for `to_pandas`, `to_polars` and `to_pyarrow`.

        A column per feature holds the stage that buys it, from 1; 0 means never. A column per class
        holds its recall on the scored rows; `thresholds` is there if designs have their own. If
        designs branch, `design` has them as text, and the stage is the first that buys a feature.
        If the search was for the lowest total, `error cost` has what errors and rejections cost on
        average, and `total` that and the cost of features.
        """
        return front_columns(self)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dict of plain values per point, with features and counts of each stage."""
        return [point.to_dict() for point in self.points]

    def to_html(
        self,
        path: PathLike | None = None,
        *,
        title: str = "Designs to choose from",
        deploy: str = "clf.choose(clf.front_[{number}])",
        deployed: ParetoPoint | int | None = None,
        facts: Mapping[str, str] | None = None,
        error_cost: Any = None,
        reject_cost: Any = None,
        currency: str | None = None,
        certificate: Certificate | None = None,
    ) -> str:
        """Build a web page to explore the front: one file that needs no network.

        Install vl-convert first: ``pip install 'emsco[explore]'``.

        Parameters
        ----------
        path : path, optional
            File to write the page to.
        title : str
        deploy : str
            Text that the page's button copies. The number of the shown design replaces the last
            ``{number}`` in it.
        deployed : ParetoPoint or int, optional
            The deployed point, which the page shows first; by default the one that the front knows.
        facts : mapping, optional
            Further facts for readers, such as ``{"Data": "clinic.csv"}``.
        error_cost, reject_cost : float, mapping or array-like, optional
            Costs of an error and of a rejection that the page begins with, as for
            `ParetoPoint.total`; by default those of the fit. Readers can set others.
        currency : str, optional
            Unit of all costs, such as "€" or "minutes".
        certificate : Certificate, optional
            What designs of this front are certified to keep; `certify` makes it.

        Returns
        -------
        str
            The page as HTML.
        """
        page: str = open_wing("explorer").front_page(
            self,
            title=title,
            deploy=deploy,
            deployed=self.deployed if deployed is None else self.position(deployed),
            facts=facts or {},
            error_costs=self.error_costs(error_cost, reject_cost) or self.money,
            currency=currency,
            certificate=certificate,
        )
        # Written last, so that a page that cannot be built leaves no file.
        if path is not None:
            write_text(path, page)
        return page
