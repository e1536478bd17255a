"""Compare decisions with true labels part by part, such as the chunks of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco.cascade.certainty import GroupCells, SeenOutcomes
from emsco.cascade.decisions import Decisions, name_of_path
from emsco.cascade.evaluation import Evaluation, Subgroups
from emsco.data.keys import Keys, check_by, without_text

_MOST_PARTS = 32
_UNNAMED = "subgroup"  # a column without a name


@dataclass(slots=True)
class _Part:
    """Evaluations of parts of the rows, and the outcomes of their groups if they have any."""

    evaluations: list[Evaluation] = field(default_factory=list)
    cells: list[GroupCells] = field(default_factory=list)

    def add(self, evaluation: Evaluation, cells: GroupCells | None) -> None:
        """Keep a part; many parts become one, so that memory does not grow with their number."""
        self.evaluations.append(evaluation)
        if cells is not None:
            self.cells.append(cells)
        if len(self.evaluations) >= _MOST_PARTS:
            self.evaluations = [Evaluation.joined(self.evaluations)]
            self.cells = [GroupCells.joined(self.cells)] if self.cells else []

    def joined(self) -> Evaluation:
        whole = Evaluation.joined(self.evaluations)
        if not self.cells:
            return whole
        costs = np.array([report.cost for report in whole.exits])
        return replace(whole, effective=GroupCells.joined(self.cells).effective(whole.rows, costs))


@dataclass(slots=True, eq=False)
class Tally:
    """Decisions that are compared with true labels part by part.

    A group may have rows in several parts. Memory grows with the number of groups and subgroups,
    not with that of rows.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    buys : sequence of tuple of str
        Features that each stage buys.
    costs : sequence of float or None
        Cost of a row after each stage; None if rows pay prices of their own.
    by_text : bool
        Whether values of subgroups are read from text: numbers then become numbers.
    delays : sequence of float
        Time that a row has waited after each stage; empty if no value comes later.
    ways_to : sequence of tuple of str
        What held at each branch on the way to each stage; empty for a chain.
    """

    classes: AnyArray
    buys: Sequence[tuple[str, ...]]
    costs: Sequence[float] | None
    by_text: bool = False
    delays: Sequence[float] = ()
    ways_to: Sequence[tuple[str, ...]] = ()
    _whole: _Part = field(default_factory=_Part)
    _by: dict[Any, _Part] = field(default_factory=dict)
    _by_path: dict[tuple[str, ...], _Part] = field(default_factory=dict)
    _column: str | None = None
    _groups: dict[Any, int] = field(default_factory=dict)

    def add(
        self,
        decisions: Decisions,
        truth: AnyArray,
        weights: FloatArray | None,
        groups: Keys | None = None,
        by: Keys | None = None,
    ) -> None:
        """Add a part of the rows."""
        numbers = None  # of each row's group, the same in all parts
        if groups is not None:
            known = [self._groups.setdefault(one, len(self._groups)) for one in groups.values]
            numbers = np.array(known, dtype=np.int64)[groups.codes]
        self._add(self._whole, decisions, truth, weights, numbers)
        if self.ways_to:
            paths = list(dict.fromkeys(self.ways_to))
            number_of_path = np.array([paths.index(ways) for ways in self.ways_to])
            codes = number_of_path[decisions.stage - 1]
            self._split(self._by_path, paths, codes, decisions, truth, weights, numbers)
        if by is None:
            return
        self._column = by.name or _UNNAMED
        what = "by" if self._column == _UNNAMED else f"column {self._column!r}"
        check_by(self._values(list(dict.fromkeys([*self._by, *by.values]))), what)
        self._split(self._by, by.values, by.codes, decisions, truth, weights, numbers)

    def evaluation(self) -> Evaluation:
        """Return the evaluation of all rows so far."""
        evaluation = self._whole.joined()
        if self.ways_to:
            # In the order of the stages, those without rows left out.
            paths = [ways for ways in dict.fromkeys(self.ways_to) if ways in self._by_path]
            by_path = Subgroups(
                column="path",
                subgroups=tuple(name_of_path(ways) for ways in paths),
                evaluations=tuple(self._by_path[ways].joined() for ways in paths),
                are_paths=True,
            )
            evaluation = replace(evaluation, by_path=by_path)
        if self._column is None:
            return evaluation
        values = self._values(list(self._by))
        parts = dict(zip(values, self._by.values(), strict=True))
        ordered = sorted(value for value in values if value is not None)
        ordered += [None] if None in parts else []
        evaluations = tuple(parts[value].joined() for value in ordered)
        return replace(evaluation, by=Subgroups(self._column, tuple(ordered), evaluations))

    def _values(self, read: list[Any]) -> list[Any]:
        return without_text(read) if self.by_text else read

    def _split(
        self,
        parts: dict[Any, _Part],
        values: Sequence[Any],
        codes: IntArray,
        decisions: Decisions,
        truth: AnyArray,
        weights: FloatArray | None,
        groups: IntArray | None,
    ) -> None:
        """Add the rows of each value to its part; `codes` has the position of each row's value."""
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(values)))
        for value, which in zip(values, np.split(order, ends[:-1]), strict=True):
            if not len(which):
                continue
            part = parts.setdefault(value, _Part())
            names = ("guesses", "accepted", "confidence", "stage", "cost")
            self._add(
                part,
                Decisions(**{name: getattr(decisions, name)[which] for name in names}),
                truth[which],
                None if weights is None else weights[which],
                None if groups is None else groups[which],
            )

    def _add(
        self,
        part: _Part,
        decisions: Decisions,
        truth: AnyArray,
        weights: FloatArray | None,
        groups: IntArray | None,
    ) -> None:
        cells = None
        if groups is not None:
            outcomes = SeenOutcomes.from_decisions(decisions, truth, self.classes, len(self.buys))
            cells = GroupCells.from_rows(groups, outcomes, weights)
        evaluation = Evaluation.from_decisions(
            decisions, truth, weights, self.classes, self.buys, self.costs, self.delays
        )
        part.add(evaluation, cells)
