"""Results by class as tables: cells for a terminal, lines of text, and HTML for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from emsco._base.objectives import Estimate, Interval
from emsco._base.text import add_up, percent_with, shorten, whole
from emsco.plotting.notebook import note, table
from emsco.scoring.by_class import ByClass

MOST_LABELS = 6  # with more, the counts by label would fill a page
MOST_LINES = 20
_SHARES = ("class", "rows", "labelled", "recall", "precision")
_EXPECTED = "expected"  # heading of the recall to expect on new rows
_EVERYTHING = "all bought"  # heading of the recall if everything is bought
_LONGEST, _LONGEST_HEADING = 10, 7
_GAP = 2


class _Intervals(Protocol):
    """Intervals of the shares of each class."""

    @property
    def recall(self) -> Sequence[Interval]: ...
    @property
    def precision(self) -> Sequence[Interval]: ...


@dataclass(frozen=True, slots=True)
class ClassTable:
    """A table of results by class, as text: the first column has names, the others numbers.

    Attributes
    ----------
    headings : tuple of str
    lines : tuple of tuple of str
        One per class, for the first 20 classes.
    """

    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    @property
    def widths(self) -> list[int]:
        """Characters of the widest cell of each column."""
        return [max(map(len, column)) for column in zip(self.headings, *self.lines, strict=True)]

    @property
    def width(self) -> int:
        """Characters of a line."""
        return sum(self.widths) + _GAP * (len(self.headings) - 1)

    def text(self) -> list[str]:
        """Return lines of text with aligned columns."""
        first, *others = self.widths
        return [
            (" " * _GAP).join((cells[0].ljust(first), *map(str.rjust, cells[1:], others)))
            for cells in (self.headings, *self.lines)
        ]


def class_tables(
    by_class: ByClass,
    width: int,
    intervals: _Intervals | None = None,
    everything: ByClass | None = None,
    expected: Sequence[Estimate] = (),
) -> list[ClassTable]:
    """Return tables of results by class that fit into `width` characters.

    With up to 6 classes, they include the rows that got each label: as further columns if there
    is room, otherwise as a second table. `intervals` stand beside the shares. `everything` has the
    results of buying everything for the same rows, whose recall gets a column, and `expected` the
    recall of each class to expect on new rows.
    """
    names = [_name(label) for label in by_class.labels[:MOST_LINES]]
    recall, precision = by_class.recall.tolist(), by_class.precision.tolist()
    recalls = _cells(recall, None if intervals is None else intervals.recall)
    precisions = _cells(precision, None if intervals is None else intervals.precision)
    columns = (by_class.rows, by_class.coverage, by_class.given)
    values = zip(*(column.tolist()[: len(names)] for column in columns), strict=True)
    cells: tuple[tuple[str, ...], ...] = tuple(
        (
            name,
            whole(rows),
            f"{labelled:.1%}" if rows else "",
            recalls[i] if rows else "",
            precisions[i] if given else "",
        )
        for i, (name, (rows, labelled, given)) in enumerate(zip(names, values, strict=True))
    )
    headings: tuple[str, ...] = _SHARES
    beside: dict[str, list[str]] = {}
    if expected:
        limits = [Interval(one.low, one.high) for one in expected]
        beside[_EXPECTED] = _cells([one.value for one in expected], limits)
    if everything is not None:
        beside[_EVERYTHING] = _cells(everything.recall.tolist(), None)
    for heading, column in beside.items():
        headings = (*headings, heading)
        cells = tuple((*line, column[i] if line[1] != "0" else "") for i, line in enumerate(cells))
    shares = ClassTable(headings, cells)
    if len(names) > MOST_LABELS:
        return [shares]
    # Means over rounds of folds are no whole numbers, but the counts of a class must add up.
    counts = [tuple(map(whole, add_up(line))) for line in by_class.counts]
    labels = (*(f"as {name}" for name in names), "rejected")
    lines = tuple((*line, *more) for line, more in zip(shares.lines, counts, strict=True))
    both = ClassTable((*headings, *labels), lines)
    if both.width <= width:
        return [both]
    short = [shorten(name, _LONGEST_HEADING) for name in names]
    lines = tuple((name, *line) for name, line in zip(names, counts, strict=True))
    return [shares, ClassTable(("labelled as", *short, "rejected"), lines)]


def class_text(by_class: ByClass, width: int, intervals: _Intervals | None = None) -> list[str]:
    """Return lines of text with the results by class, without the notes below them."""
    return [line for one in class_tables(by_class, width, intervals) for line in one.text()]


def class_html(by_class: ByClass, intervals: _Intervals | None = None) -> str:
    """Make a table of the results by class, with its notes."""
    (one,) = class_tables(by_class, 10_000, intervals)  # a notebook scrolls
    notes = "".join(map(note, class_notes(by_class)))
    return f"<div>{table(one.headings, one.lines, ('class',))}{notes}</div>"


def class_notes(
    by_class: ByClass, all_in: str = "by_class.to_pandas()", *, brief: bool = False
) -> list[str]:
    """Say how often the commonest class is the correct answer, and if labels are no better.

    If classes are left out of the table, say how many, and that `all_in` has them all; if `brief`,
    only that.
    """
    more = len(by_class.labels) - MOST_LINES
    lines = [f"{more:,} more; {all_in} has all."] if more > 0 else []
    if brief or not by_class.rows.any():
        return lines
    label = by_class.commonest
    name = f'"{_name(label)}"' if isinstance(label, str) else _name(label)
    share = f"{by_class.commonest_share:.1%}"
    lines.append(f"Always answering {name} is correct for {share} of the rows, at no cost.")
    if not by_class.beats_commonest:
        lines.append("The labels given are no better than that.")
    return lines


def _cells(shares: Sequence[float], intervals: Sequence[Interval] | None) -> list[str]:
    """Return shares as text, with their intervals if there are any."""
    if intervals is None:
        return [f"{share:.1%}" for share in shares]
    return [percent_with(share, *at) for share, at in zip(shares, intervals, strict=True)]


def _name(label: object) -> str:
    """Return a label on one line of few characters."""
    return shorten(" ".join(str(label).split()), _LONGEST)
