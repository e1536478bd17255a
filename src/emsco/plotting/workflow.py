"""Draw a cascade as the paper's workflow figure: features of each stage and flows of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from emsco._base.text import counted
from emsco.costs import Fee, fees_paid
from emsco.designs.thresholds import answers_all
from emsco.plotting.canvas import Canvas, draw_canvas, lines_height, text_size, wrap_items
from emsco.plotting.figures import COLUMN, check_currency, unit_of
from emsco.plotting.flow import Flow, FlowStage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARGIN = 0.06
_SIZE, _HEAD = 7.0, 7.5
_FULL = 0.40  # thickness of the flow of all rows, in inches
_THIN = 0.012  # thickness of the thinnest flow
_LEAST_BOX = 0.8  # width of a box below which stages stand in a column
_DIAMOND = (0.62, 0.46)
_BESIDE_BOX = _DIAMOND[0] + 0.44  # width of a stage in a row of stages, without its box
_GOING: dict[str, Any] = {"facecolor": "0.82"}
_CORRECT: dict[str, Any] = {"facecolor": "#5b9bd0"}
_WRONG: dict[str, Any] = {"facecolor": "#f2b48a", "hatch": "/////", "edgecolor": "#9c3d00"}
_BOX: dict[str, Any] = {"facecolor": "#e6eff8"}
_REJECT: dict[str, Any] = {"facecolor": "0.93", "linestyle": (0, (3, 2))}
_Bands: TypeAlias = tuple[tuple[float, dict[str, Any]], ...]  # thickness and look of each


@dataclass(frozen=True, slots=True)
class CascadePicture:
    """Contents of a diagram of a cascade.

    Attributes
    ----------
    flow : Flow
        If its stages have different thresholds, the picture has the rule of each.
    costs : mapping of str to float
        Cost of each feature; a feature without one appears without a cost.
    sure : str
        The condition for a row to leave, in words, if all stages share it.
    rows : str
        Kind of rows, such as "scored" or "test".
    total_cost : float or None
        Cost of all features.
    fees : tuple of Fee
        Fees that features share; each stands at the stage that pays it.
    currency : str or None
        Unit of costs, such as "€".
    """

    flow: Flow
    costs: Mapping[str, float]
    sure: str = "sure"
    rows: str = ""
    total_cost: float | None = None
    fees: tuple[Fee, ...] = ()
    currency: str | None = None

    @property
    def unit(self) -> str:
        """What stands after a cost."""
        return unit_of(check_currency(self.currency))

    def heading(self, stage: FlowStage) -> str:
        """Number and cost of a stage."""
        return f"stage {stage.number}, cost {stage.cost:.6g}{self.unit}"

    def features(self, stage: FlowStage) -> list[str]:
        """Features that a stage buys, with their costs and the fees paid with them."""
        named = [
            f"{name} ({self.costs[name]:g})" if name in self.costs else name
            for name in stage.features
        ]
        before = {
            one for earlier in self.flow.stages[: stage.number - 1] for one in earlier.features
        }
        fees = fees_paid(self.fees, stage.features, before)
        return [*named, *(fee.in_words for fee in fees)] or ["nothing"]

    def start(self) -> str:
        """Number of rows at the start."""
        return counted(self.flow.n_rows, f"{self.rows} row".strip())

    def leaving(self, stage: FlowStage) -> list[str]:
        """Number, accuracy, cost and delay of the rows that leave at a stage, and its own rule."""
        lines = [rule] if (rule := self.flow.rule(stage)) else []
        lines.append(f"{counted(stage.left, 'row')} labelled ({self._share(stage.left)})")
        if stage.left:
            lines.append(f"{stage.accuracy:.1%} correct")
        return [*lines, f"cost {stage.cost_so_far:.6g}{self.unit} per row", *self._delay(stage)]

    def question(self, stage: FlowStage) -> str:
        """The word in the diamond: whether the stage is sure, or that it takes all."""
        thresholds = self.flow.thresholds
        if thresholds is not None and answers_all(thresholds[stage.number - 1]):
            return "all"
        return "sure?"

    def conditions(self) -> list[str]:
        """The condition for a row to leave; none if each stage has its own."""
        first = self.flow.stages[0]
        if self.flow.rule(first):
            return []
        return [self.sure if self.question(first) == "all" else f"sure: {self.sure}"]

    def ending(self) -> str:
        """The words for rows that go on after the last stage."""
        # If the last stage answers all, only rows that lack a value of it are left.
        is_last_sure = self.question(self.flow.stages[-1]) == "all"
        return "without a label" if is_last_sure else "never sure"

    def rejected(self) -> list[str]:
        """Number, cost and delay of the rejected rows."""
        last = self.flow.stages[-1]
        rows, share = counted(self.flow.rejected, "row"), self._share(self.flow.rejected)
        return [
            f"{rows} rejected ({share})",
            f"cost {last.cost_so_far:.6g}{self.unit} per row",
            *self._delay(last),
        ]

    def summary(self) -> list[str]:
        """The three objectives, and the mean delay if some value comes later."""
        total = (
            "" if self.total_cost is None else f" (all features: {self.total_cost:.6g}{self.unit})"
        )
        delay = [f"mean delay {self.flow.mean_delay:.4g}"] if self.flow.worst_delay else []
        return [
            f"coverage {self.flow.coverage:.1%}",
            f"accuracy {self.flow.accuracy:.1%}",
            f"mean cost {self.flow.cost:.4g}{self.unit}{total}",
            *delay,
        ]

    def _delay(self, stage: FlowStage) -> list[str]:
        """Time that a row has waited after a stage; nothing if no value comes later."""
        return [f"delay {stage.delay_so_far:.6g}"] if self.flow.worst_delay else []

    def _share(self, rows: float) -> str:
        return f"{self.flow.share(rows):.1%}"


def draw_cascade(picture: CascadePicture, width: float = COLUMN, ax: Axes | None = None) -> Figure:
    """Draw the stages of a cascade and the rows that flow through them.

    The thickness of a flow shows its share of the rows; correct and wrong labels have flows of
    their own. Stages stand side by side if they fit into the width, else one below the other. The
    height depends on the names of the features.

    Parameters
    ----------
    picture : CascadePicture
    width : float
        Width of a new figure in inches.
    ax : Axes, optional
        Existing axes to draw into; the text shrinks until it fits.
    """

    def lay_out(inches: float) -> Canvas:
        """Put the stages side by side if the box of each has room for its heading."""
        stages = picture.flow.stages
        # A row of stages has the number of rows before it, and the rejected rows after it.
        lead = 0.28 + _widest(picture.start().split(" ", 1), _HEAD, "bold")
        tail = 0.16 + _widest(picture.rejected(), _SIZE)
        side = (inches - 2 * _MARGIN - lead - tail) / len(stages)
        heading = _widest([picture.heading(stage) for stage in stages], _HEAD, "bold")
        if side - _BESIDE_BOX >= max(_LEAST_BOX, heading + 0.16):
            return _lay_beside(picture, inches, lead, side)
        return _lay_below(picture, inches)

    return draw_canvas(lay_out, width, ax)


def _widest(lines: Sequence[str], size: float, weight: str = "normal") -> float:
    return max(text_size(line, size, weight)[0] for line in lines)


def _lay_below(picture: CascadePicture, width: float) -> Canvas:
    """Lay out the stages one below the other; rows leave to the right."""
    inner, spine, right = width - 2 * _MARGIN, _MARGIN + 0.36, _MARGIN + 1.1
    stages = picture.flow.stages
    boxes = [wrap_items(picture.features(stage), inner - 0.16, _SIZE) for stage in stages]
    exits = [_wrapped(picture.leaving(stage), width - _MARGIN - right) for stage in stages]
    gates = [max(_DIAMOND[1], lines_height(len(lines), _SIZE)) for lines in exits]
    ending = wrap_items(picture.rejected(), inner - 0.16, _SIZE, between="; ")
    legend = _legend(picture, inner)
    height = 0.75 + 0.42 * len(stages) + sum(map(_box_height, boxes)) + sum(gates)
    height += lines_height(len(ending) + len(legend), _SIZE)
    canvas = Canvas(width, height)
    canvas.text(_MARGIN, _MARGIN, picture.start(), _HEAD, weight="bold")
    y = 0.26  # below the number of rows; each stage is a box, then a gate that rows leave through
    for stage, box, lines, gate in zip(stages, boxes, exits, gates, strict=True):
        y = _stream(canvas, (spine, y), 0.16, _going(stage.reached, picture))
        canvas.box(_MARGIN, y, inner, _box_height(box), **_BOX)
        _describe(canvas, picture.heading(stage), box, _MARGIN + 0.08, y + 0.05)
        y += _box_height(box)
        _stream(canvas, (spine, y), 0.1 + gate / 2, _going(stage.reached, picture), tip=None)
        y += 0.1
        middle = y + gate / 2
        leaving = _leaving(stage, picture)
        _stream(canvas, (spine, middle), right - 0.08 - spine, leaving, down=False, tip=0.04)
        canvas.text(right, middle, lines, _SIZE, va="center")
        going = _going(stage.staying, picture)
        y = _stream(canvas, (spine, middle), gate / 2 + 0.16, going, tip=None)
        canvas.diamond(spine, middle, *_DIAMOND, picture.question(stage))
        word = "goes on" if stage.staying == 1 else "go on"
        word = picture.ending() if stage is stages[-1] else word
        more = f"{counted(stage.staying, 'row')} {word}"
        canvas.text(spine + 0.28, y - 0.1, more, 6.5, va="center", color="0.35")
    y = _stream(canvas, (spine, y), 0.08, _going(picture.flow.rejected, picture))
    canvas.box(_MARGIN, y, inner, lines_height(len(ending), _SIZE) + 0.12, **_REJECT)
    canvas.text(_MARGIN + 0.08, y + 0.05, ending, _SIZE)
    _draw_legend(canvas, legend, y + lines_height(len(ending), _SIZE) + 0.2)
    return canvas


def _lay_beside(picture: CascadePicture, width: float, lead: float, side: float) -> Canvas:
    """Lay out the stages side by side, as in the paper; rows leave downwards."""
    stages = picture.flow.stages
    room = side - _BESIDE_BOX
    boxes = [wrap_items(picture.features(stage), room - 0.16, _SIZE) for stage in stages]
    exits = [_wrapped(picture.leaving(stage), side - 0.1) for stage in stages]
    ending, legend = picture.rejected(), _legend(picture, width - 2 * _MARGIN)
    tallest = max([*map(_box_height, boxes), _DIAMOND[1]])
    leave = tallest / 2 + 0.42
    below = _MARGIN + max(tallest, leave + tallest / 2 + lines_height(max(map(len, exits)), _SIZE))
    canvas = Canvas(width, below + 0.12 + lines_height(len(legend) + 1, _SIZE) + 0.14)
    spine = _MARGIN + tallest / 2
    canvas.text(_MARGIN, spine, picture.start().split(" ", 1), _HEAD, weight="bold", va="center")
    for i, (stage, box, lines) in enumerate(zip(stages, boxes, exits, strict=True)):
        x = _MARGIN + lead + i * side
        gate = x + room + 0.14 + _DIAMOND[0] / 2
        coming, going = _going(stage.reached, picture), _going(stage.staying, picture)
        _stream(canvas, (x - 0.22, spine), 0.22, coming, down=False)
        _stream(canvas, (x + room, spine), gate - x - room, coming, down=False, tip=None)
        canvas.box(x, spine - _box_height(box) / 2, room, _box_height(box), **_BOX)
        _describe(
            canvas, picture.heading(stage), box, x + 0.08, spine - _box_height(box) / 2 + 0.05
        )
        _stream(canvas, (gate, spine), x + side - gate, going, down=False, tip=None)
        _stream(canvas, (gate, spine), leave - 0.06, _leaving(stage, picture), tip=0.03)
        canvas.diamond(gate, spine, *_DIAMOND, picture.question(stage))
        shift = min(gate, width - _MARGIN - _widest(lines, _SIZE) / 2)
        canvas.text(shift, spine + leave, lines, _SIZE, ha="center")
    end = _MARGIN + lead + len(stages) * side
    never_sure = _going(picture.flow.rejected, picture)
    _stream(canvas, (end - 0.22, spine), 0.24, never_sure, down=False)
    room, tall = width - _MARGIN - end - 0.02, lines_height(len(ending), _SIZE) + 0.12
    canvas.box(end + 0.02, spine - tall / 2, room, tall, **_REJECT)
    canvas.text(end + 0.08, spine, ending, _SIZE, va="center")
    _draw_legend(canvas, legend, below + 0.12)
    return canvas


def _describe(canvas: Canvas, heading: str, box: list[str], x: float, y: float) -> None:
    canvas.text(x, y, heading, _HEAD, weight="bold")
    canvas.text(x, y + lines_height(1, _HEAD), box, _SIZE)


def _box_height(lines: list[str]) -> float:
    return lines_height(1, _HEAD) + lines_height(len(lines), _SIZE) + 0.1


def _wrapped(lines: list[str], width: float) -> list[str]:
    return [part for line in lines for part in wrap_items(line.split(), width, _SIZE, between="")]


def _going(rows: float, picture: CascadePicture) -> _Bands:
    """Make the band of the rows that go on."""
    return ((_thick(rows, picture), _GOING),)


def _leaving(stage: FlowStage, picture: CascadePicture) -> _Bands:
    """Make the bands of the rows that leave, with correct and with wrong labels."""
    wrong = stage.left - stage.correct
    return (_thick(stage.correct, picture), _CORRECT), (_thick(wrong, picture), _WRONG)


def _stream(
    canvas: Canvas,
    start: tuple[float, float],
    length: float,
    bands: _Bands,
    *,
    down: bool = True,
    tip: float | None = 0.0,
) -> float:
    """Draw bands side by side, down or to the right, and return where they end.

    `tip` is the distance of the arrow's tip beyond the end; None draws no arrow.
    """
    x, y = start
    thick = sum(one for one, _ in bands)
    across = (x if down else y) - thick / 2
    for one, look in bands:
        if down:
            canvas.band(across, y, one, length, **look)
        else:
            canvas.band(x, across, length, one, **look)
        across += one
    end = (y if down else x) + length
    if tip is not None and thick:
        place = (x, end + tip) if down else (end + tip, y)
        canvas.arrow(*place, right=not down, down=down)
    return end


def _legend(picture: CascadePicture, width: float) -> list[str]:
    """Wrap the objectives and the condition for a row to leave to lines of this width."""
    return wrap_items([*picture.summary(), *picture.conditions()], width, _SIZE, between=";")


def _draw_legend(canvas: Canvas, lines: list[str], y: float) -> None:
    """Draw the meaning of the colours, and the lines below it."""
    x = _MARGIN
    looks = {"undecided": _GOING, "correct": _CORRECT, "wrong": _WRONG}
    for word, look in looks.items():
        canvas.band(x, y, 0.16, 0.09, **look)
        canvas.text(x + 0.2, y + 0.045, word, 6.5, va="center_baseline")
        x += 0.3 + text_size(word, 6.5)[0]
    canvas.text(_MARGIN, y + 0.15, lines, _SIZE)


def _thick(rows: float, picture: CascadePicture) -> float:
    return max(_FULL * picture.flow.share(rows), _THIN) if rows > 0 else 0.0
