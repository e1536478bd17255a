"""Pictures of a run, by kind; some also need labelled rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emsco._base.checks import check_choice, refused
from emsco._base.documents import PathLike
from emsco._base.typing import AnyArray, FloatArray
from emsco.app.runs.run import Run
from emsco.errors import Parameter
from emsco.front.pictures import ON
from emsco.plotting import (
    COLUMN,
    CostClasses,
    check_matplotlib,
    draw_convergence,
    draw_cost_classes,
    draw_reliability,
    draw_risk_coverage,
    entitle,
)
from emsco.plotting.figures import check_currency, unit_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class RunPicture:
    """A request for a picture of a run.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    point : int or None
        Position of a point of the front; None is the deployed one.
    on : str
        "scored", "seen" or, for fronts, "both".
    data : path or None
        Labelled rows, for the kinds that need them.
    width : float
        Inches.
    currency : str or None
        Unit of costs, such as "€".
    """

    kind: str = "front"
    point: int | None = None
    on: str = "scored"
    data: PathLike | None = None
    width: float = COLUMN
    currency: str | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown kind, and rows that are missing or not needed."""
        check_choice("kind", self.kind, tuple(KINDS))
        check_choice("on", self.on, ON)
        check_currency(self.currency)
        if self.kind in _OF_ROWS and self.data is None:
            raise refused(
                "data", ("be given for ", Parameter("kind"), f" {self.kind}"), None, got="none"
            )
        if self.kind not in _OF_ROWS and self.data is not None:
            raise refused(
                "data",
                ("be left out for ", Parameter("kind"), f" {self.kind}"),
                self.data,
                got=repr(str(self.data)),
            )


def draw_run(run: Run, picture: RunPicture) -> Figure:
    """Draw a picture of a run, with a title that names the run."""
    check_matplotlib()
    figure = KINDS[picture.kind](run, picture)
    entitle(figure, _title(run, picture))
    return figure


def _title(run: Run, picture: RunPicture) -> str:
    """Name the run, and the design or the file that the picture shows."""
    words = [run.folder.resolve().name]
    if picture.kind in _OF_DESIGNS:
        words.append(f"design {_point(run, picture)}")
    if picture.data is not None:
        words.append(Path(picture.data).name)
    return ", ".join(words)


def _look(picture: RunPicture) -> dict[str, Any]:
    return {"on": picture.on, "width": picture.width, "currency": picture.currency}


def _draw_front(run: Run, picture: RunPicture, kind: str) -> Figure:
    return run.front.plot(kind, mark=_point(run, picture), **_look(picture))


def _draw_cascade(run: Run, picture: RunPicture) -> Figure:
    return run.front.plot_cascade(_point(run, picture), **_look(picture))


def _draw_costs(run: Run, picture: RunPicture) -> Figure:
    design = run.front[_point(run, picture)].design
    record = CostClasses.from_costs(run.front.costs, design)
    unit = unit_of(check_currency(picture.currency))
    return draw_cost_classes(replace(record, corner=f"{record.corner}{unit}"), picture.width)


def _draw_convergence(run: Run, picture: RunPicture) -> Figure:
    return draw_convergence(run.convergence, picture.width)


def _draw_reliability(run: Run, picture: RunPicture) -> Figure:
    records = run.front.cascade(_point(run, picture)).reliability(*_rows(run, picture))
    return draw_reliability(records, picture.width)


def _draw_risk(run: Run, picture: RunPicture) -> Figure:
    cascade = run.front.cascade(_point(run, picture))
    records = cascade.risk_coverage(*_rows(run, picture))
    return draw_risk_coverage(records, cascade.single_threshold, picture.width)


KINDS: dict[str, Callable[[Run, RunPicture], Figure]] = {
    "front": lambda run, picture: _draw_front(run, picture, "2d"),
    "pairs": lambda run, picture: _draw_front(run, picture, "pairs"),
    "3d": lambda run, picture: _draw_front(run, picture, "3d"),
    "cascade": _draw_cascade,
    "costs": _draw_costs,
    "convergence": _draw_convergence,
    "reliability": _draw_reliability,
    "risk": _draw_risk,
}
_OF_ROWS = ("reliability", "risk")
_OF_DESIGNS = ("cascade", "costs", *_OF_ROWS)


def _point(run: Run, picture: RunPicture) -> int:
    return run.chosen if picture.point is None else run.front.position(picture.point)


def _rows(run: Run, picture: RunPicture) -> tuple[Any, AnyArray, FloatArray | None]:
    """Read the labelled rows of a picture with the run's encoding."""
    assert picture.data is not None  # RunPicture checks it
    return run.labelled(picture.data)
