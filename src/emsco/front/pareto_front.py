"""The Pareto front that a search returns: choose, draw, test and save its designs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from emsco._base.documents import PathLike, read_document, write_document, write_text
from emsco._base.typing import IntArray, StageArray
from emsco.app.explorer import page_of
from emsco.cascade import Cascade, Evaluation, FrontModels
from emsco.cascade.format import FORMAT
from emsco.costs import FeatureCosts
from emsco.data.frames import to_pandas, to_polars, to_pyarrow
from emsco.data.row_prints import RowPrints
from emsco.designs.design import Design
from emsco.designs.thresholds import MinConfidence
from emsco.errors import FileError, ParameterError
from emsco.front import records
from emsco.front.certificate import Certificate
from emsco.front.certifying import certify, check_delta, is_gapless, wanted_order
from emsco.front.exploring import certified_designs, explored_front
from emsco.front.format import front_from_dict, front_to_dict
from emsco.front.point import ParetoPoint
from emsco.front.points import FrontPoints
from emsco.front.prospects import CertificatePlan, plan_of
from emsco.front.references import Reference, measure_references
from emsco.front.tables import front_columns, front_html, front_text
from emsco.front.ties import NamedDesigns, NamedTies, tied_designs
from emsco.models.stage_models import StageModels
from emsco.plotting.figures import COLUMN
from emsco.plotting.flow import Flow
from emsco.plotting.trade_offs import draw_front
from emsco.plotting.workflow import draw_cascade
from emsco.scoring.pareto import TiedDesigns, TieSource
from emsco.scoring.scores import Scores
from emsco.stats.promises import Promise, promises_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class ParetoFront(FrontPoints):
    """The best trade-offs between coverage, accuracy and cost, best first.

    To gain in one of the three, you give up some of another. Figures are *scored*: the rows that
    measured them also chose the designs, so they are too good, on few rows by several percentage
    points. `ParetoPoint.expected` corrects them for the choice, and `with_seen` adds figures of
    test rows. `metric` says which accuracy they are scored by.

    Attributes
    ----------
    points : tuple of ParetoPoint
        Best first: by fitness for the paper's search, else by the balanced score.
    costs : FeatureCosts
    min_confidence : float or dict
        Confidence that a label needs, unless the design of a point has thresholds of its own.
    proven : bool
        Whether exact search has proven that no design beats these points on the scored rows.
    by_fitness : bool
        Whether the paper's search listed the points, the fittest of its population first.
    tied : callable or None
        Lists the designs that tie with the point at a position; see `ties`.
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

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from emsco import EMSCOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> front = EMSCOClassifier(generations=5, cv=1 / 3, random_state=0).fit(X, y).front_
    >>> point = front.select(max_cost=20, min_accuracy=0.9)
    >>> point.cost <= 20 and point.accuracy >= 0.9
    True
    """

    min_confidence: MinConfidence
    proven: bool = False
    tied: NamedTies | None = field(default=None, repr=False)
    models: FrontModels | None = field(default=None, repr=False)
    seen: tuple[Evaluation, ...] | None = field(default=None, repr=False)
    references: tuple[Reference, ...] = field(default=(), repr=False)
    seen_references: tuple[Reference, ...] = field(default=(), repr=False)
    searched: RowPrints | None = field(default=None, repr=False)

    @classmethod
    def from_scores(
        cls,
        designs: StageArray,
        scores: Scores,
        costs: FeatureCosts,
        min_confidence: MinConfidence,
        n_tied: IntArray | None = None,
        tied: TieSource | None = None,
        proven: bool = False,
        per_row: float = 1,
        named: NamedDesigns | None = None,
    ) -> ParetoFront:
        """Build a front from the designs and scores of a search, in its order.

        Without `n_tied` and `tied`, only these designs count as ties of each other. A row of
        weight 1 adds `per_row` to the scores. `named` turns chromosomes into designs.
        """
        if n_tied is None:
            among = TiedDesigns.among(designs, scores)
            n_tied, tied = among.counts, among
        named = named or NamedDesigns(costs.names)
        points = [
            ParetoPoint.from_scores(named(genes), scores, i, int(n_tied[i]), per_row)
            for i, genes in enumerate(designs)
        ]
        return cls(tuple(points), costs, min_confidence, proven, tied and NamedTies(tied, named))

    @property
    def metric(self) -> str:
        """The metric that the accuracy of its points is: "accuracy" or "balanced_accuracy"."""
        return self.points[0].metric

    def ties(self, point: ParetoPoint | int) -> Iterator[Design]:
        """Iterate over all designs that share a point's objectives, the simplest first.

        There can be millions: once every row has left, later stages make no difference. Use
        ``itertools.islice`` to take some. A proven front yields every tied design; any other
        front yields those that its search scored.
        """
        position = self.position(point)
        return tied_designs(self.points[position], position, self.tied)

    def cascade(self, point: ParetoPoint | int) -> Cascade:
        """Return the cascade of a point, with its fitted models, ready to decide rows."""
        position = self.position(point)
        if self.models is None:
            ways = "take one from EMSCOClassifier.front_ or ParetoFront.load"
            missing = f"a cascade needs fitted models, got a front without any; {ways}."
            raise ParameterError(missing, parameter="models")
        design, fitted = self.points[position].design, self.models.of_points[position]
        return self._deployable(self.models, design, fitted)

    def everything(self) -> Cascade:
        """Return the cascade of one stage that buys every feature, for comparison."""
        if self.models is None or self.models.everything is None:
            missing = "the cascade that buys everything needs its model, got a front without it."
            raise ParameterError(missing, parameter="models")
        design = Design.everything(self.costs.names)
        return self._deployable(self.models, design, self.models.everything)

    def _deployable(self, models: FrontModels, design: Design, fitted: StageModels) -> Cascade:
        encoding, classes = models.encoding, models.classes
        return Cascade(design, self.costs, classes, self.min_confidence, encoding, fitted)

    def flow(self, point: ParetoPoint | int) -> Flow:
        """Count the scored rows that reach and leave each stage of a point."""
        return records.flow_of(self.points[self.position(point)], self.costs)

    def plot(
        self,
        kind: str = "2d",
        *,
        mark: ParetoPoint | int | None = None,
        on: str = "scored",
        width: float = COLUMN,
        ax: Axes | None = None,
        currency: str | None = None,
    ) -> Figure:
        """Draw the front with matplotlib: coverage as colour, stages as markers.

        Parameters
        ----------
        kind : str
            "2d": cost against accuracy; "3d": coverage as an axis; "pairs": a panel per pair.
        mark : ParetoPoint or int, optional
            Point to ring, such as the deployed one. Beside scored figures, a line joins it to the
            figures to expect on new rows, if it has any.
        on : str
            "scored", "expected", "seen" (hollow; needs `with_seen`), or "both": scored and seen.
        width : float
            Width of a new figure in inches; 3.4 fits one column of a paper.
        ax : Axes, optional
            Existing axes to draw into; "pairs" accepts none.
        currency : str, optional
            Unit of costs, such as "€".

        Returns
        -------
        Figure
            Save it with ``figure.savefig("front.svg")``.
        """
        marked = None if mark is None else self.position(mark)
        points, references = (self.points, self.seen), (self.references, self.seen_references)
        picture = records.front_picture(*points, self.costs.total, marked, on, *references)
        return draw_front(replace(picture, currency=currency), kind, width, ax)

    def plot_cascade(
        self,
        point: ParetoPoint | int,
        *,
        on: str = "scored",
        width: float = COLUMN,
        ax: Axes | None = None,
        currency: str | None = None,
    ) -> Figure:
        """Draw the cascade of a point: the features each stage buys and the rows that leave.

        Parameters
        ----------
        point : ParetoPoint or int
        on : str
            Rows to draw: "scored" or "seen".
        width : float
            Width of a new figure in inches; its height follows from the number of features.
        ax : Axes, optional
            Existing axes to draw into; the text shrinks until it fits.
        currency : str, optional
            Unit of costs, such as "€".

        Returns
        -------
        Figure
            Save it with ``figure.savefig("cascade.svg")``.
        """
        shown = self.points, self.seen, self.costs, self.min_confidence
        picture = records.cascade_picture(*shown, self.position(point), on)
        return draw_cascade(replace(picture, currency=currency), width, ax)

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
        rows = X, y, sample_weight, prices
        return measure_references(self.everything(), self.references[0].label, *rows)

    def certify(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        min_accuracy: Any = None,
        min_coverage: float | None = None,
        max_cost: float | None = None,
        min_recall: Any = None,
        delta: float = 0.05,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        max_weight: float | None = None,
        order: Any = None,
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
        min_recall : dict, optional
            Lowest share of a class that must get its label, as in ``{"ill": 0.9}``.
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
        prefer : str
            Rule by which the best of the certified designs is `deployed`, as in `prefer`.
        random_state : int
            Seed that draws rows from groups, and the order of bets on costs.

        Returns
        -------
        Certificate
            Print it to read it.
        """
        return certify(
            self,
            X,
            y,
            self.promises(
                min_accuracy=min_accuracy,
                min_coverage=min_coverage,
                max_cost=max_cost,
                min_recall=min_recall,
            ),
            delta=delta,
            groups=groups,
            sample_weight=sample_weight,
            max_weight=max_weight,
            order=order,
            prefer=prefer,
            random_state=random_state,
        )

    def plan_certificate(
        self,
        *,
        min_accuracy: Any = None,
        min_coverage: float | None = None,
        max_cost: float | None = None,
        min_recall: Any = None,
        delta: float = 0.05,
        chances: Sequence[float] = (0.8, 0.9),
        order: Any = None,
    ) -> CertificatePlan:
        """Plan how many fresh rows `certify` needs, for each chance of success.

        The other parameters are those of `certify`. The plan assumes that new rows keep the
        expected figures, and by class the scored ones.
        """
        promises = self.promises(
            min_accuracy=min_accuracy,
            min_coverage=min_coverage,
            max_cost=max_cost,
            min_recall=min_recall,
        )
        gapless = is_gapless(self)
        wanted = wanted_order(self, order)
        return plan_of(self, promises, check_delta(delta), chances, wanted, is_gapless=gapless)

    def promises(self, **limits: Any) -> tuple[Promise, ...]:
        """Check what is to be certified, such as `min_accuracy`, and return each `Promise`."""
        self.costs.check_bounded(limits.get("max_cost"))
        return promises_of(self.labels or (), limits, to_prove=True)

    @property
    def labels(self) -> tuple[object, ...] | None:
        """The classes, of its models or as counted by class; None for a front with neither."""
        if self.models is not None:
            return tuple(self.models.classes.tolist())
        counted = self.points[0].by_class
        return None if counted is None else counted.labels

    def save(self, path: PathLike) -> None:
        """Write the front and its models to a JSON file; a failure leaves no partial file."""
        if self.models is None:
            raise FileError("a front must have fitted models to be saved, got one without any.")
        write_document(path, "front", FORMAT, front_to_dict(self, self.models))

    @classmethod
    def load(cls, path: PathLike, trusted: Sequence[str] = ()) -> ParetoFront:
        """Read a front that `save` wrote. The list of tied designs is not saved.

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
        return cls(**front_from_dict(read_document(path, "front", FORMAT, FORMAT), trusted))

    def __repr__(self) -> str:
        """List the first points of the shortlist as text, then the references."""
        return front_text(self)

    def _repr_html_(self) -> str:
        """Show the first of the shortlist as a table and all points as a picture, for notebooks."""
        return front_html(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas table with one row per point.

        A column per feature holds the stage that buys it, from 1; 0 means never. A column per class
        holds its recall on the scored rows; `thresholds` is there if designs have their own.
        """
        return to_pandas(front_columns(self))

    def to_polars(self) -> pl.DataFrame:
        """Return a Polars table with one row per point, as `to_pandas` does."""
        return to_polars(front_columns(self))

    def to_pyarrow(self) -> pa.Table:
        """Return a PyArrow table with one row per point, as `to_pandas` does."""
        return to_pyarrow(front_columns(self))

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
            The deployed point, which the page shows first.
        facts : mapping, optional
            Further facts for readers, such as ``{"Data": "clinic.csv"}``.
        error_cost, reject_cost : float, mapping or array-like, optional
            Costs of an error and of a rejection that the page begins with, as for
            `ParetoPoint.total`. Readers can set others.
        currency : str, optional
            Unit of all costs, such as "€" or "minutes".
        certificate : Certificate, optional
            What designs of this front are certified to keep; `certify` makes it.

        Returns
        -------
        str
            The page as HTML.
        """
        explored = explored_front(
            self,
            title=title,
            deploy=deploy,
            deployed=None if deployed is None else self.position(deployed),
            facts=tuple((facts or {}).items()),
            error_costs=self.error_costs(error_cost, reject_cost),
            currency=currency,
            certified=None if certificate is None else certified_designs(self, certificate),
        )
        page = page_of(explored)
        if path is not None:
            write_text(path, page)
        return page
