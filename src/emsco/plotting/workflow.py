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
from emsco.plotting.flow import LACKING_NOTE, Flow, FlowStage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARGIN = 0.06
_SIZE, _HEAD = 7.0, 7.5
_FULL = 0.40  # thickness of the flow of all rows, in inches
_THIN = 0.02  # thickness of the thinnest flow
_LEAST_BOX = 0.8  # width of a box below which stages stand in a column
_DIAMOND = (0.62, 0.46)
_BESIDE_BOX = _DIAMOND[0] + 0.44  # width of a stage in a row of stages, without its box
_GOING: dict[str, Any] = {"facecolor": "0.75"}
_CORRECT: dict[str, Any] = {"facecolor": "#5b9bd0"}
_WRONG: dict[str, Any] = {"facecolor": "#f2b48a", "hatch": "/////", "edgecolor": "#9c3d00"}
_BOX: dict[str, Any] = {"facecolor": "#e6eff8"}
_REJECT: dict[str, Any] = {"facecolor": "0.93", "linestyle": (0, (3, 2))}
_LANDSCAPE = (10.9, 7.5)  # inches of a page, without its margins
_LARGEST = 1.4  # scale of a tree that has room on its page
_CARD = 1.9  # least width of a stage in a tree
_BEND, _LEAST_WAY, _WIDEST_WAY = 0.42, 0.75, 1.6  # widths of arrows, and of the words on them
_START, _NEXT, _BETWEEN = 0.36, 0.12, 0.1  # heights before the first stage, and between stages
_WAY_SHARE = 0.15  # of the width of a wide tree, which the words on an arrow may have
_HAIR = 0.01  # thickness of a way that no row went
_INDENT = 0.06  # of words on an arrow
_SPINE, _BESIDE = 0.1, 0.66  # from the left of a card to its flow, and to the words beside it
_LONGEST_LABELS = 30  # letters of all labels, where a picture names them
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
    may_lack : bool
        Whether rows may lack a value that a branch asks about, and still go on.
    labels : tuple of str
        The labels that a row may get, in words.
    """

    flow: Flow
    costs: Mapping[str, float]
    sure: str = "sure"
    rows: str = ""
    total_cost: float | None = None
    fees: tuple[Fee, ...] = ()
    currency: str | None = None
    may_lack: bool = False
    labels: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What stands after a cost."""
        return unit_of(check_currency(self.currency))

    def heading(self, stage: FlowStage) -> str:
        """Number and cost of a stage; in a tree, numbers along its path come first."""
        number = f"stage {stage.number}"
        if not self.flow.is_chain:
            number = f"step {self.flow.step(stage)} (stage {stage.number})"
        return f"{number}, cost {stage.cost:.6g}{self.unit}"

    def features(self, stage: FlowStage) -> list[str]:
        """Features that a stage buys, with their costs and the fees paid with them."""
        named = [
            f"{name} ({self.costs[name]:g})" if name in self.costs else name
            for name in stage.features
        ]
        fees = fees_paid(self.fees, stage.features, {*self.flow.known(stage)})
        nothing = "nothing more" if stage.before else "nothing"
        return [*named, *(fee.in_words for fee in fees)] or [nothing]

    def start(self) -> str:
        """Number of rows at the start, and the labels that they may get if these are few."""
        rows = counted(self.flow.n_rows, f"{self.rows} row".strip())
        named = " or ".join(self.labels)
        return f"{rows}: {named}?" if 0 < len(named) <= _LONGEST_LABELS else rows

    def rows_at(self, stage: FlowStage) -> FlowStage:
        """Return a stage with whole numbers of rows, which add up over the picture."""
        return self.flow.in_whole_rows().stages[stage.number - 1]

    def staying(self, stage: FlowStage) -> str:
        """Say how many rows go on from a stage because it is not sure."""
        rows = self.rows_at(stage).staying
        return f"not sure: {counted(rows, 'row')} {'goes' if rows == 1 else 'go'} on"

    def leaving(self, stage: FlowStage) -> list[str]:
        """Number, accuracy, cost and delay of the rows that leave at a stage, and its own rule."""
        lines = [rule] if (rule := self.flow.rule(stage)) else []
        rows = counted(self.rows_at(stage).left, "row")
        lines.append(f"{rows} labelled ({self._share(stage.left)})")
        if stage.left:
            lines.append(f"{stage.accuracy:.1%} correct")
        return [*lines, f"cost {stage.cost_so_far:.6g}{self.unit} per row", *self._delay(stage)]

    def way(self, stage: FlowStage) -> str:
        """What holds for the rows that come to a stage after a branch."""
        return stage.marked_way(may_lack=self.may_lack)

    def coming(self, stage: FlowStage) -> list[str]:
        """Rows that come to a stage after a branch; if more follow it, how they fare in the end."""
        rows = counted(self.rows_at(stage).reached, "row")
        lines = [f"{rows} ({self._share(stage.reached)})"]
        if self.flow.after(stage) and stage.reached:
            part = self.flow.part(stage)
            lines.append(f"{part.accuracy:.1%} correct,")
            lines.append(f"mean cost {part.cost:.4g}{self.unit}")
        return lines

    def outcome(self, stage: FlowStage) -> list[str]:
        """The rule of a stage in a design that branches, and the rows that leave by it."""
        rule = self.flow.rule(stage) or self.sure
        return [f"{rule}:", *(line for line in self.leaving(stage) if line != rule)]

    def rejected_at(self, stage: FlowStage) -> list[str]:
        """Number, share and cost of the rows that leave at a stage without a label."""
        rows = counted(self.rows_at(stage).rejected, "row")
        share = self._share(stage.rejected)
        why = "without a label" if self.question(stage) == "all" else "not sure"
        return [f"{why}:", f"{rows} rejected ({share})"]

    def note(self) -> list[str]:
        """What becomes of rows that lack a value that a branch asks about."""
        if not self.may_lack or not any(stage.is_usual for stage in self.flow.stages):
            return []
        return [LACKING_NOTE]

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
        rows = counted(self.flow.in_whole_rows().rejected, "row")
        share = self._share(self.flow.rejected)
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


def draw_cascade(
    picture: CascadePicture, width: float | None = None, ax: Axes | None = None
) -> Figure:
    """Draw the stages of a cascade and the rows that flow through them.

    The thickness of a flow shows its share of the rows; correct and wrong labels have flows of
    their own. Stages stand side by side if they fit into the width, else one below the other. The
    height depends on the names of the features. A design that branches is a tree from left to
    right.

    Parameters
    ----------
    picture : CascadePicture
    width : float, optional
        Width of a new figure in inches; by default a column of a paper, or a page of A4 in
        landscape if the design branches.
    ax : Axes, optional
        Existing axes to draw into; the text shrinks until it fits.
    """
    if not picture.flow.is_chain:
        wide, page = _LANDSCAPE
        return draw_canvas(
            lambda inches: _lay_tree(picture, inches),
            wide if width is None else width,
            ax,
            page,
            _LARGEST,
        )

    def lay_out(inches: float) -> Canvas:
        """Put the stages side by side if the box of each has room for its heading."""
        stages = picture.flow.stages
        # A row of stages has the number of rows before it, and the rejected rows after it.
        lead = 0.28 + _widest(_start_lines(picture), _HEAD, "bold")
        tail = 0.16 + _widest(picture.rejected(), _SIZE)
        side = (inches - 2 * _MARGIN - lead - tail) / len(stages)
        heading = _widest([picture.heading(stage) for stage in stages], _HEAD, "bold")
        if side - _BESIDE_BOX >= max(_LEAST_BOX, heading + 0.16):
            return _lay_beside(picture, inches, lead, side)
        return _lay_below(picture, inches)

    return draw_canvas(lay_out, COLUMN if width is None else width, ax)


def _start_lines(picture: CascadePicture) -> list[str]:
    """Break the words at the start into short lines: the number, the rows, the labels."""
    rows, _, labels = picture.start().partition(": ")
    return [*rows.split(" ", 1), *filter(None, [labels])]


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
        more = picture.staying(stage)
        if stage is stages[-1]:
            more = f"{counted(picture.rows_at(stage).staying, 'row')} {picture.ending()}"
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
    canvas.text(_MARGIN, spine, _start_lines(picture), _HEAD, weight="bold", va="center")
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


@dataclass(slots=True)
class _Piece:
    """Stages of a tree without a branch between them, and where they are drawn.

    Attributes
    ----------
    stages : list of FlowStage
    parts : list of _Piece
        What rows go to after the last of these stages.
    room : float
        Height that it takes up together with its parts.
    """

    stages: list[FlowStage]
    parts: list[_Piece]
    room: float = 0.0

    @classmethod
    def from_stage(cls, flow: Flow, stage: FlowStage) -> _Piece:
        """Collect the stages from this one on."""
        stages = flow.chain_from(stage)
        return cls(stages, [cls.from_stage(flow, one) for one in flow.after(stages[-1])])

    @property
    def depth(self) -> int:
        """Number of pieces that a row may go through, this one included."""
        return 1 + max((part.depth for part in self.parts), default=0)


@dataclass(frozen=True, slots=True)
class _TreeLayout:
    """Sizes of a tree that is drawn from left to right, in inches.

    Attributes
    ----------
    picture : CascadePicture
    card : float
        Width of a stage.
    way : float
        Width of the words on an arrow.
    """

    picture: CascadePicture
    card: float
    way: float

    def thick(self, rows: float) -> float:
        """Thickness of a flow; a way that no row went is a hair, but can be gone."""
        return _thick(rows, self.picture) or _HAIR

    def features(self, stage: FlowStage) -> list[str]:
        first, *others = self.picture.features(stage)
        return wrap_items([f"buy {first}", *others], self.card - 0.16, _SIZE)

    def heading(self, stage: FlowStage) -> list[str]:
        return wrap_items(self.picture.heading(stage).split(), self.card - 0.16, _HEAD, "bold", "")

    def card_height(self, stage: FlowStage) -> float:
        heading = lines_height(len(self.heading(stage)), _HEAD)
        return heading + lines_height(len(self.features(stage)), _SIZE) + 0.1

    def outcome(self, stage: FlowStage) -> list[str]:
        return self._beside(self.picture.outcome(stage))

    def rejected(self, stage: FlowStage) -> list[str]:
        if not self.picture.flow.may_reject(stage):
            return []
        return self._beside(self.picture.rejected_at(stage))

    def _beside(self, lines: list[str]) -> list[str]:
        """Wrap words beside a flow: the rule, then figures with commas between them."""
        rule, *figures = lines
        return [rule, *wrap_items(figures, self.card - _BESIDE, _SIZE)]

    def outcome_height(self, stage: FlowStage) -> float:
        thick = _thick(stage.left, self.picture)
        return max(lines_height(len(self.outcome(stage)), _SIZE), thick) + 0.08

    def next_height(self, stage: FlowStage) -> float:
        """Height of the words about rows that go on, if another stage follows."""
        return lines_height(1, _SIZE) + 0.06 if self.picture.flow.after(stage) else 0.0

    def rejected_height(self, stage: FlowStage) -> float:
        lines = self.rejected(stage)
        thick = _thick(stage.rejected, self.picture)
        return max(lines_height(len(lines), _SIZE), thick) + 0.06 if lines else 0.0

    def way_lines(self, stage: FlowStage) -> list[str]:
        room = self.way - _INDENT - 0.1
        return wrap_items(self.picture.way(stage).split(), room, _SIZE, "bold", "")

    def above(self, stage: FlowStage) -> float:
        """Height from the top of a piece to the middle of its first card."""
        middle = self.card_height(stage) / 2
        if not stage.before:
            return middle + _START
        words = lines_height(len(self.way_lines(stage)), _SIZE)
        return max(middle, words + _thick(stage.reached, self.picture) / 2 + 0.03)

    def stage_height(self, stage: FlowStage) -> float:
        height = self.card_height(stage) + self.outcome_height(stage) + self.next_height(stage)
        return height + self.rejected_height(stage)

    def height(self, piece: _Piece) -> float:
        """Height of the stages of a piece, and of the words on the arrow to it."""
        first = piece.stages[0]
        stages = sum(map(self.stage_height, piece.stages)) + _NEXT * (len(piece.stages) - 1)
        words = lines_height(len(self.picture.coming(first)), _SIZE) if first.way else 0.0
        below = _thick(first.reached, self.picture) / 2 + words + 0.04
        return self.above(first) + max(stages - self.card_height(first) / 2, below)

    def measure(self, piece: _Piece) -> float:
        """Set the room of a piece and of its parts."""
        parts = sum(map(self.measure, piece.parts)) + _BETWEEN * max(0, len(piece.parts) - 1)
        piece.room = max(self.height(piece), parts)
        return piece.room

    def draw(self, canvas: Canvas, piece: _Piece, x: float, y: float) -> tuple[float, float]:
        """Draw a piece and its parts, and return the middle of the left edge of its first card."""
        picture, first = self.picture, piece.stages[0]
        top = y + (piece.room - self.height(piece)) / 2
        middle = top + self.above(first)
        at = middle - self.card_height(first) / 2
        if not first.before:
            canvas.text(x, at - _START, picture.start(), _HEAD, weight="bold")
            start = (x + _SPINE + _FULL / 2, at - 0.2)
            _stream(canvas, start, 0.2, _going(first.reached, picture))
        for stage in piece.stages:
            going_on = stage is not piece.stages[-1]
            self.draw_stage(canvas, stage, x, at, going_on=going_on)
            at += self.stage_height(stage) + _NEXT
        last = piece.stages[-1]
        at -= self.stage_height(last) + _NEXT
        port = at + self.card_height(last) / 2 - _thick(last.staying, picture) / 2
        inner = sum(part.room for part in piece.parts) + _BETWEEN * max(0, len(piece.parts) - 1)
        below = y + (piece.room - inner) / 2
        for part in piece.parts:
            stage = part.stages[0]
            thick = self.thick(stage.reached)
            end = self.draw(canvas, part, x + self.card + _BEND + self.way, below)
            turn = (x + self.card + _BEND, end[1])
            canvas.ribbon((x + self.card, port + thick / 2), turn, thick, **_GOING)
            straight = (turn[0] - 0.01, turn[1])  # a little too early: no gap shows between the two
            going = ((thick, _GOING),)
            _stream(canvas, straight, self.way + 0.01, going, down=False)
            words = self.way_lines(stage)
            up = turn[1] - thick / 2 - 0.02
            canvas.text(turn[0] + _INDENT, up, words, _SIZE, weight="bold", va="bottom")
            canvas.text(turn[0] + _INDENT, turn[1] + thick / 2 + 0.02, picture.coming(stage), _SIZE)
            port += thick
            below += part.room + _BETWEEN
        return x, middle

    def draw_stage(
        self, canvas: Canvas, stage: FlowStage, x: float, y: float, *, going_on: bool
    ) -> None:
        """Draw the card of a stage, and below it the rows that leave or go on downwards."""
        picture, spine = self.picture, x + _SPINE  # the left edge of the flow
        leaving, gone = self.outcome_height(stage), self.rejected_height(stage)
        card = self.card_height(stage)
        bottom = y + card
        turn = bottom + leaving / 2 + 0.02
        staying = stage.staying if going_on else stage.rejected

        def down(rows: float, start: float, end: float, tip: float | None = None) -> None:
            thick = self.thick(rows)
            bands = ((thick, _GOING),)
            _stream(canvas, (spine + thick / 2, start), end - start, bands, tip=tip)

        def away(bands: _Bands, at: float, lines: list[str]) -> None:
            _stream(canvas, (spine, at), _BESIDE - 0.08 - _SPINE, bands, down=False, tip=0.04)
            canvas.text(x + _BESIDE, at, lines, _SIZE, va="center")

        down(stage.left + staying, bottom, turn)
        below = bottom + leaving + self.next_height(stage)
        if picture.flow.after(stage):
            middle = (bottom + leaving + below) / 2
            canvas.text(x + _BESIDE, middle, picture.staying(stage), _SIZE, va="center")
        if going_on:
            down(staying, turn, below + _NEXT, tip=0.0)
        elif gone:
            end = below + gone / 2
            down(staying, turn, end)
            away(((self.thick(staying), _GOING),), end, self.rejected(stage))
        labelled = _leaving(stage, picture) if stage.left else ((_HAIR, _GOING),)
        away(labelled, turn, self.outcome(stage))
        canvas.box(x, y, self.card, card, **_BOX)
        heading = self.heading(stage)
        canvas.text(x + 0.08, y + 0.05, heading, _HEAD, weight="bold")
        under = y + 0.05 + lines_height(len(heading), _HEAD)
        canvas.text(x + 0.08, under, self.features(stage), _SIZE)


def _lay_tree(picture: CascadePicture, width: float) -> Canvas:
    """Lay out a design that branches from left to right; rows leave below the stages."""
    first = picture.flow.stages[0]
    tree = _Piece.from_stage(picture.flow, first)
    stages = picture.flow.stages
    words = [picture.way(stage) for stage in stages if stage.way]
    coming = [line for stage in stages if stage.way for line in picture.coming(stage)]
    shares = _widest(coming, _SIZE) + _INDENT + 0.1
    widest = _widest(words, _SIZE, "bold") + _INDENT + 0.1
    way = max(_LEAST_WAY, shares, min(widest, max(_WIDEST_WAY, _WAY_SHARE * width)))
    n_columns = tree.depth
    beside = (n_columns - 1) * (_BEND + way)
    # Cards share the width, but are no wider than their longest line.
    headings = [picture.heading(stage) for stage in stages]
    bought = [f"buy {', '.join(picture.features(stage))}" for stage in stages]
    outcomes = [", ".join(picture.outcome(stage)[1:]) for stage in stages]
    longest = max(
        _widest(headings, _HEAD, "bold") + 0.18,
        _widest(bought, _SIZE) + 0.18,
        _widest(outcomes, _SIZE) + _BESIDE + 0.02,
    )
    card = max(_CARD, min(longest, (width - 2 * _MARGIN - beside) / n_columns))
    width = 2 * _MARGIN + beside + n_columns * card
    layout = _TreeLayout(picture, card, way)
    legend = wrap_items(
        [*picture.summary(), *picture.note()], width - 2 * _MARGIN, _SIZE, between=";"
    )
    height = layout.measure(tree)
    below = _MARGIN + height + 0.15
    canvas = Canvas(width, below + 0.2 + lines_height(len(legend), _SIZE) + 0.06)
    layout.draw(canvas, tree, _MARGIN, _MARGIN)
    _draw_legend(canvas, legend, below)
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
