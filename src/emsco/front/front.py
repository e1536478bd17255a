"""Fronts: points that no other point beats, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import check_whole, refused
from emsco._base.documents import PathLike, read_document, write_document, write_text
from emsco._base.text import shorten
from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco.cascade import Cascade, Evaluation, FrontModels
from emsco.cascade.formats import FORMAT, Shared
from emsco.costs import FeatureCosts
from emsco.data.frames import Columns, to_pandas, to_polars, to_pyarrow
from emsco.designs.design import Design
from emsco.designs.thresholds import MinConfidence
from emsco.errors import FileError, NoSuchDesign, ParameterError
from emsco.front.formats import front_from_dict, points_to_dicts
from emsco.front.notebook import front_html
from emsco.front.point import ParetoPoint
from emsco.front.preferences import check_preference, why_none
from emsco.front.records import cascade_picture, explored_designs, flow_of, front_picture
from emsco.pictures.explorer import Explored, page_of
from emsco.pictures.flow import Flow
from emsco.pictures.plotting.cascade import draw_cascade
from emsco.pictures.plotting.figures import COLUMN
from emsco.pictures.plotting.front import draw_front
from emsco.scoring.pareto import TiedDesigns, balanced_length, fittest_of, knee_of
from emsco.scoring.scores import Scores

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ParetoFront"]

TieSource: TypeAlias = Callable[[int], Iterator[StageArray]]


@dataclass(frozen=True, slots=True, eq=False)
class ParetoFront(Sequence[ParetoPoint]):
    """Points that no other point of the front beats, best first.

    All figures are of the rows held out to score designs: an estimate from the same rows that
    chose the designs, so expect a little less on new ones.

    Attributes
    ----------
    points : tuple of ParetoPoint
    costs : FeatureCosts
    min_confidence : float or dict
        The threshold that the designs were scored at, or one for each class.
    proven : bool
        Whether an exact search has shown that no design at all is better than any of these, and
        that these are all.
    by_fitness : bool
        Whether the paper's search has listed the points, the fittest of its population first.
    models : FrontModels or None
        Fitted stages of every point; None for a front that was put together by hand.
    seen : tuple of Evaluation or None
        What each point does on rows that neither the search nor the fits have seen.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from emsco import EMSCOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> front = EMSCOClassifier(max_stages=2, generations=5, random_state=0).fit(X, y).front_
    >>> point = front.select(max_cost=20, min_accuracy=0.9)
    >>> point.cost <= 20 and point.accuracy >= 0.9
    True
    """

    points: tuple[ParetoPoint, ...]
    costs: FeatureCosts
    min_confidence: MinConfidence
    proven: bool = False
    tied: TieSource | None = field(default=None, repr=False)
    models: FrontModels | None = field(default=None, repr=False)
    seen: tuple[Evaluation, ...] | None = field(default=None, repr=False)
    by_fitness: bool = field(default=False, repr=False)

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
    ) -> ParetoFront:
        """Name the features of designs that a search has scored, in its order.

        Without `n_tied` and `tied`, designs tie with those of the same scores among themselves.
        `per_row` is what the scores count for a row of weight 1.
        """
        if n_tied is None:
            among = TiedDesigns.among(designs, scores)
            n_tied, tied = among.counts, among
        points = [
            ParetoPoint.from_scores(Design(stages, costs.names), scores, i, int(n_tied[i]), per_row)
            for i, stages in enumerate(designs)
        ]
        return cls(tuple(points), costs, min_confidence, proven, tied)

    def ties(self, point: ParetoPoint | int) -> Iterator[Design]:
        """All designs with exactly the objectives of a point, the simplest first, one by one.

        There can be millions (once every row has left, what is bought later is all the same), so
        this is an iterator: ``itertools.islice`` takes some. For a proven front these are all
        there are; else, those that the search has scored.
        """
        position = self.position(point)
        if self.tied is None:  # a front that was put together by hand, or comes from a file
            only = self.points[position]
            if only.n_tied > 1:
                raise NoSuchDesign(
                    f"ties must be asked of the front that a search returned, got one from a file, "
                    f"which holds 1 of the {only.n_tied:,} designs; search again to list them."
                )
            return iter((only.design,))
        return (Design(stages, self.costs.names) for stages in self.tied(position))

    def cascade(self, point: ParetoPoint | int) -> Cascade:
        """The fitted stages of a point, ready to decide rows."""
        position = self.position(point)
        if self.models is None:
            raise ParameterError(
                "a cascade needs fitted stages, got a front without any; take one from "
                "EMSCOClassifier.front_ or ParetoFront.load.",
                parameter="models",
            )
        return Cascade(
            design=self.points[position].design,
            costs=self.costs,
            classes=self.models.classes,
            min_confidence=self.min_confidence,
            encoding=self.models.encoding,
            models=self.models.of_points[position],
        )

    def flow(self, point: ParetoPoint | int) -> Flow:
        """How the scored rows went through the stages of a point."""
        return flow_of(self.points[self.position(point)], self.costs)

    def plot(
        self,
        kind: str = "2d",
        *,
        mark: ParetoPoint | int | None = None,
        on: str = "scored",
        width: float = COLUMN,
        ax: Axes | None = None,
    ) -> Figure:
        """Draw the front with matplotlib: coverage as colour, stages as markers.

        Parameters
        ----------
        kind : str
            "2d" is cost against accuracy, "3d" adds coverage as an axis, "pairs" has a panel for
            each pair of objectives.
        mark : ParetoPoint or int, optional
            A point to put a ring around, such as the one that is deployed.
        on : str
            "scored", "seen" (hollow; see `with_seen`) or "both".
        width : float
            Inches of a new figure; 3.4 is the column of a paper.
        ax : Axes, optional
            Axes to draw into instead; none for "pairs".

        Returns
        -------
        Figure
            ``figure.savefig("front.svg")`` writes it.
        """
        marked = None if mark is None else self.position(mark)
        picture = front_picture(self.points, self.seen, self.costs.total, marked, on)
        return draw_front(picture, kind, width, ax)

    def plot_cascade(
        self,
        point: ParetoPoint | int,
        *,
        on: str = "scored",
        width: float = COLUMN,
        ax: Axes | None = None,
    ) -> Figure:
        """Draw the cascade of a point: what each stage buys, and which rows leave where.

        Parameters
        ----------
        point : ParetoPoint or int
        on : str
            The rows that flow through it: "scored" or "seen".
        width : float
            Inches of a new figure, whose height is what the features need.
        ax : Axes, optional
            Axes to draw into instead, where text is as small as it must be to have room.
        """
        picture = cascade_picture(
            self.points, self.seen, self.costs, self.min_confidence, self.position(point), on
        )
        return draw_cascade(picture, width, ax)

    def with_seen(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        report: Callable[[int, int, str], None] | None = None,
    ) -> ParetoFront:
        """The same front with what every point does on labelled rows kept aside, in `seen`.

        ``report(done, total, "")`` is called after each point.
        """
        seen = []
        for i in range(len(self)):
            seen.append(self.cascade(i).evaluate(X, y, sample_weight))
            if report:
                report(i + 1, len(self), "")
        return replace(self, seen=tuple(seen))

    def save(self, path: PathLike) -> None:
        """Write the front, fitted stages included, as a JSON file, all of it or nothing."""
        if self.models is None:
            raise FileError("a front must have fitted stages to be saved, got one without any.")
        models = self.models
        shared = Shared.from_models(
            self.costs, models.classes, self.min_confidence, models.encoding, models.of_points
        )
        facts = {"proven": self.proven, "by_fitness": self.by_fitness}
        points = points_to_dicts(self.points, self.seen, models, shared)
        write_document(path, "front", FORMAT, {**shared.to_dict(), **facts, "points": points})

    @classmethod
    def load(cls, path: PathLike, trusted: Sequence[str] = ()) -> ParetoFront:
        """Read a front that `save` has written; only its ties beyond one design each are lost.

        Parameters
        ----------
        path : path
        trusted : sequence of str
            As for `Cascade.load`.

        Raises
        ------
        FileError
            Where the file is missing, damaged, changed, too new or something else.
        """
        return cls(**front_from_dict(read_document(path, "front", FORMAT, FORMAT), trusted))

    def position(self, point: ParetoPoint | int) -> int:
        """Where a point stands in the front, from 0."""
        if isinstance(point, Integral):
            return check_whole("point", point, 0, len(self) - 1)
        if not isinstance(point, ParetoPoint) or point not in self.points:
            raise refused("point", "be one of this front, or its position", point)
        return self.points.index(point)

    def __len__(self) -> int:
        """Number of points."""
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> ParetoPoint: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ParetoPoint]: ...
    def __getitem__(self, index: int | slice) -> ParetoPoint | Sequence[ParetoPoint]:
        """The point at a position; 0 is the best."""
        return self.points[index]

    def __iter__(self) -> Iterator[ParetoPoint]:
        """Points, best first."""
        return iter(self.points)

    def __repr__(self) -> str:
        """A table of the first points."""
        shown = 10
        proof = ", proven" if self.proven else ""
        n_rows = f"{self.points[0].n_rows:.10g}"
        lines = [f"ParetoFront of {len(self)} points on {n_rows} scored rows{proof}"]
        lines.append("  #  coverage  accuracy       cost  design")
        for i, point in enumerate(self.points[:shown]):
            objectives = f"{point.coverage:8.3f}  {point.accuracy:8.3f}  {point.cost:9.6g}"
            lines.append(f"{i:>3}  {objectives}  {shorten(point.design.arrows(), 60)}")
        if len(self) > shown:
            lines.append(f"     … and {len(self) - shown} more; to_pandas() has all")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The first points as a table, and all of them as a picture, for notebooks."""
        return front_html(self.points, self.seen, self.proven)

    def balanced_scores(self) -> FloatArray:
        """√(coverage² + accuracy² + (1 - cost / cost of everything)²) of each point."""
        found: FloatArray = balanced_length(*self._objectives(), self.costs.total)
        return found

    def balanced(self) -> ParetoPoint:
        """The point with the best balanced score."""
        return self.points[int(np.argmax(self.balanced_scores()))]

    def knee(self) -> ParetoPoint:
        """The point nearest to the best of each objective, each scaled to 0..1 over the front."""
        return self.points[knee_of(*self._objectives())]

    def fittest(self) -> ParetoPoint:
        """The point that the paper would deploy, whatever search has found the front.

        It has the largest √(coverage² + accuracy² + (lowest cost / cost)²), where the lowest is
        that of the front (of the population for the paper's search, which lists it first); where
        that is 0, the smallest feature cost above 0 is added to both. Ties go to fewer stages.
        """
        if self.by_fitness:
            return self.points[0]
        designs = np.array([point.design.stages for point in self.points])
        return self.points[fittest_of(designs, *self._objectives(), self.costs.smallest)]

    def select(
        self,
        max_cost: float | None = None,
        min_accuracy: float | None = None,
        min_coverage: float | None = None,
    ) -> ParetoPoint:
        """The best balanced point within the limits.

        Raises
        ------
        NoSuchDesign
            Where no point is; the message says how near the front comes to each limit.
        """
        within = self.within(max_cost, min_accuracy, min_coverage)
        if not within:
            raise NoSuchDesign(why_none(self, max_cost, min_accuracy, min_coverage))
        return self.points[max(within, key=self.balanced_scores().__getitem__)]

    def within(
        self,
        max_cost: float | None = None,
        min_accuracy: float | None = None,
        min_coverage: float | None = None,
    ) -> list[int]:
        """Positions of all points within the limits."""
        limits = {
            "max_cost": max_cost,
            "min_accuracy": min_accuracy,
            "min_coverage": min_coverage,
        }
        check_preference({name: limit for name, limit in limits.items() if limit is not None})
        return [
            i
            for i, point in enumerate(self)
            if (max_cost is None or point.cost <= max_cost)
            and (min_accuracy is None or point.accuracy >= min_accuracy)
            and (min_coverage is None or point.coverage >= min_coverage)
        ]

    def prefer(self, rule: str | dict[str, float]) -> ParetoPoint:
        """The point by rule: "balanced", "fittest", "knee", or limits for `select`."""
        check_preference(rule)
        if isinstance(rule, dict):
            return self.select(**rule)
        rules: dict[str, Callable[[], ParetoPoint]] = {
            "balanced": self.balanced,
            "fittest": self.fittest,
            "knee": self.knee,
        }
        return rules[rule]()

    def to_pandas(self) -> pd.DataFrame:
        """A table with a row per point and a column per feature's stage (from 1; 0: never)."""
        return to_pandas(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """The same table for Polars."""
        return to_polars(self._columns())

    def to_pyarrow(self) -> pa.Table:
        """The same table for PyArrow."""
        return to_pyarrow(self._columns())

    def to_dicts(self) -> list[dict[str, Any]]:
        """A plain record per point, with the features and counts of each stage."""
        return [point.to_dict() for point in self.points]

    def to_html(
        self,
        path: PathLike | None = None,
        *,
        title: str = "Designs to choose from",
        deploy: str = "clf.choose(clf.front_[{number}])",
        deployed: ParetoPoint | int | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> str:
        """The front as a web page: one file that needs no network, to look at and to choose from.

        Needs vl-convert: ``pip install 'emsco[explore]'``.

        Parameters
        ----------
        path : path, optional
            Where to write the page, too.
        title : str
        deploy : str
            What the page's button copies; the last ``{number}`` in it is replaced by that of the
            design shown.
        deployed : ParetoPoint or int, optional
            The point that is deployed now, which the page shows first.
        facts : mapping, optional
            More that its readers should know, such as where the rows come from: what → how it is.

        Returns
        -------
        str
            The page.
        """
        explored = Explored(
            designs=explored_designs(self.points, self.seen, self.costs),
            best_first=np.argsort(-self.balanced_scores(), kind="stable").tolist(),
            costs=self.costs,
            min_confidence=self.min_confidence,
            proven=self.proven,
            title=title,
            deploy=deploy,
            deployed=None if deployed is None else self.position(deployed),
            facts=tuple((facts or {}).items()),
        )
        page = page_of(explored)
        if path is not None:
            write_text(path, page)
        return page

    def _columns(self) -> Columns:
        columns: dict[str, Any] = {
            name: [getattr(point, name) for point in self.points]
            for name in ("coverage", "accuracy", "cost", "n_stages", "n_tied")
        }
        if self.seen is not None:
            for name in ("coverage", "accuracy", "cost"):
                columns[f"seen {name}"] = [getattr(one, name) for one in self.seen]
        for i, name in enumerate(self.costs.names):
            columns[f"stage of {name}"] = [int(point.design.stages[i]) + 1 for point in self.points]
        return columns

    def _objectives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        columns = np.array([(p.coverage, p.accuracy, p.cost) for p in self.points]).T.copy()
        return columns[0], columns[1], columns[2]
