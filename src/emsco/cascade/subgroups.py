"""Evaluations of subgroups: the rows of each value of a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from emsco._base.text import aligned, brief, counted, listed, percent_with, shorten
from emsco._base.typing import FloatArray
from emsco.cascade.effective import EffectiveRows
from emsco.cascade.intervals import Intervals
from emsco.data.frames import Columns, to_pandas, to_polars
from emsco.pictures.classes import ClassTable
from emsco.pictures.notebook import fragment, note, table
from emsco.trust.subgroups import CHANCE, p_values_below

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Subgroups"]

MOST_LINES = 20
_LONGEST = 14
_FIGURES = ("coverage", "accuracy", "cost")


class _Evaluated(Protocol):
    """The part of `Evaluation` that subgroups need; `Evaluation` itself imports this module."""

    @property
    def n_rows(self) -> float: ...
    @property
    def coverage(self) -> float: ...
    @property
    def accuracy(self) -> float: ...
    @property
    def cost(self) -> float: ...
    @property
    def rows(self) -> EffectiveRows: ...
    @property
    def intervals(self) -> Intervals: ...
    def to_dict(self) -> dict[str, Any]: ...


E = TypeVar("E", bound=_Evaluated)


@dataclass(frozen=True, slots=True, repr=False)
class Subgroups(Mapping[Any, E], Generic[E]):
    """Evaluation of each subgroup: a mapping from the values of a column to evaluations.

    The value None stands for rows without a value. Subgroups of a few rows have wide intervals.

    Attributes
    ----------
    column : str
        Name of the column, or "subgroup".
    subgroups : tuple
        The values, sorted; None comes last.
    evaluations : tuple of Evaluation
    """

    column: str
    subgroups: tuple[Any, ...]
    evaluations: tuple[E, ...]

    def __getitem__(self, group: Any) -> E:
        """Evaluation of the rows with a value."""
        if group not in self.subgroups:
            raise KeyError(group)
        return self.evaluations[self.subgroups.index(group)]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the values."""
        return iter(self.subgroups)

    def __len__(self) -> int:
        """Number of subgroups."""
        return len(self.subgroups)

    @property
    def p_values(self) -> FloatArray:
        """P-values of the claims that a subgroup is as accurate as all others together.

        By Fisher's exact test, corrected for the number of subgroups by Holm's method. With
        weights or groups of rows, it is approximate.
        """
        rows = np.array([one.rows.accuracy for one in self.evaluations])
        return p_values_below(rows * [one.accuracy for one in self.evaluations], rows)

    @property
    def below(self) -> tuple[Any, ...]:
        """Values of the subgroups whose accuracy is below the others' beyond chance."""
        pairs = zip(self.subgroups, self.p_values.tolist(), strict=True)
        return tuple(group for group, p_value in pairs if p_value < CHANCE)

    @property
    def sentence(self) -> str:
        """Name the subgroups whose accuracy is below the others' beyond chance, or say: none."""
        if len(self) < 2:
            return f"All rows are of one subgroup by {self.column}."
        below = [_named(group) for group in self.below]
        if not below:
            return f"By {self.column}, no subgroup is less accurate than the others beyond chance."
        are = "are" if len(below) > 1 else "is"
        return (
            f"By {self.column}, {listed(below, MOST_LINES)} {are} less accurate than the others "
            "beyond chance."
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas table with one row per subgroup."""
        return to_pandas(self.columns())

    def to_polars(self) -> pl.DataFrame:
        """Return a Polars table with one row per subgroup."""
        return to_polars(self.columns())

    def columns(self) -> Columns:
        """Return one line per subgroup: its rows, its figures and their intervals."""
        missing = np.array([group is None for group in self.subgroups])
        values: Any = list(self.subgroups)
        if missing.any():
            values = np.ma.MaskedArray(_filled(self.subgroups), mask=missing)
        found: dict[str, Any] = {self.column: values, "rows": self._all("n_rows")}
        ends = [one.intervals for one in self.evaluations]
        for name in _FIGURES:
            found[name] = self._all(name)
            for end in ("low", "high"):
                found[f"{name}_{end}"] = [getattr(getattr(one, name), end) for one in ends]
        return {**found, "p_value": self.p_values}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: an evaluation for each value."""
        found = zip(self.subgroups, self.p_values.tolist(), self.evaluations, strict=True)
        return {
            "column": self.column,
            "below": [_plain(group) for group in self.below],
            "sentence": self.sentence,
            "subgroups": [
                {"value": _plain(group), "p_value": p_value, **one.to_dict()}
                for group, p_value, one in found
            ],
        }

    def table(self, width: int) -> ClassTable:
        """Return a table that fits `width` characters, if need be with fewer intervals."""
        for shown in (_FIGURES, _FIGURES[:2], _FIGURES[1:2], ()):
            found = self._table(shown)
            if found.width <= width:
                break
        return found

    def _table(self, with_intervals: Sequence[str]) -> ClassTable:
        some = self.evaluations[:MOST_LINES]
        ends = [one.intervals for one in some]
        costs = aligned([one.cost for one in some])
        lines = []
        for group, one, at, cost in zip(self.subgroups, some, ends, costs, strict=False):
            shares = (
                percent_with(getattr(one, name), *getattr(at, name))
                if name in with_intervals
                else f"{getattr(one, name):.1%}"
                for name in _FIGURES[:2]
            )
            if "cost" in with_intervals:
                decimals = len(cost.partition(".")[2])
                cost = f"{cost} ({at.cost.low:.{decimals}f} to {at.cost.high:.{decimals}f})"
            lines.append((_cell(group), f"{one.n_rows:,.6g}", *shares, cost))
        return ClassTable((shorten(self.column, _LONGEST), "rows", *_FIGURES), tuple(lines))

    def notes(self, all_in: str = "by.to_pandas()") -> list[str]:
        """Say which subgroups are less accurate, and how many are left out of the table."""
        more = len(self) - MOST_LINES
        return [*([f"{more:,} more; {all_in} has all."] if more > 0 else []), self.sentence]

    def text(self, width: int = 78) -> list[str]:
        """Return the table and its notes as lines of text."""
        return [*(f"  {line}" for line in self.table(width).text()), *self.notes()]

    def html(self) -> str:
        """Make a table with its notes."""
        shown = self._table(_FIGURES)
        notes = "".join(map(note, self.notes()))
        return f"<div>{table(shown.headings, shown.lines, shown.headings[:1])}{notes}</div>"

    def __repr__(self) -> str:
        """Show a line per subgroup."""
        return "\n".join([self._title, *self.text()])

    def _repr_html_(self) -> str:
        """Show a line per subgroup, for notebooks."""
        return fragment(self._title, self.html())

    @property
    def _title(self) -> str:
        return f"{counted(len(self), 'subgroup')} by {self.column}, with 95 % intervals"

    def _all(self, name: str) -> list[Any]:
        return [getattr(one, name) for one in self.evaluations]


def _filled(groups: tuple[Any, ...]) -> Any:
    """Return values as an array; missing ones are replaced by another, for a mask to hide."""
    other = next((group for group in groups if group is not None), 0)
    return np.array([other if group is None else group for group in groups])


def _named(group: Any) -> str:
    return "missing" if group is None else brief(group, 30)


def _cell(group: Any) -> str:
    text = "missing" if group is None else str(group)
    return shorten(" ".join(text.split()), _LONGEST)


def _plain(group: Any) -> Any:
    """Return a value that JSON has; dates and such become text."""
    return group if group is None or isinstance(group, (bool, int, float, str)) else str(group)
