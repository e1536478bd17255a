"""The decisions of a cascade about a table of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from emsco._base.text import counted
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.data.frames import Columns, Tabular
from emsco.data.labels import positions_of
from emsco.plotting.notebook import fragment, note, table

NEEDS_BETWEEN, WARNINGS_BETWEEN, PATH_BETWEEN = ";", "; ", " → "
_FIRST_ROWS = 5  # in a notebook
_TEXTS = ("id", "label", "path", "reason", "needs", "warnings")


def name_of_path(ways: Sequence[str]) -> str:
    """Name the rows that went these ways at the branches they came to."""
    return PATH_BETWEEN.join(ways) or "before any branch"


@dataclass(frozen=True, slots=True, eq=False)
class Decisions(Tabular):
    """Labels, rejections, stages and costs of the rows that a cascade decided.

    Attributes
    ----------
    guesses : ndarray of shape (n_rows,)
        Most likely class at the last stage that judged the row, for rejected rows too; or the
        label of least expected cost, see `Cascade.with_error_costs`.
    accepted : ndarray of bool
        Whether the row got a label.
    confidence : ndarray of float
        Probability of the guess.
    stage : ndarray of int
        Last stage that judged the row, from 1. If no stage did, it is 0 and the confidence NaN.
    cost : ndarray of float
        Total cost of the stages that judged the row.
    reasons : ndarray of str, optional
        Why each row was accepted or rejected; given by `Cascade.run` and `Cascade.arun`.
    ids : ndarray, optional
        Ids of the rows; given by `Cascade.run` and `Cascade.arun`.
    frame : data frame, optional
        Empty data frame of the same library as the rows, with their index, for `to_frame`.
    delay : ndarray of float, optional
        Time that the row waited for these stages; None if no feature has a delay.
    needs : ndarray of str, optional
        Columns to buy next, with ";" between; empty for a row that is decided. Given by
        ``Cascade.decide(X, partial=True)``.
    warnings : ndarray of str, optional
        Values of the row that are unlike those of the training rows, in words; empty if there are
        none. Given by ``Cascade.decide(X, partial=True)``.
    waits_for : ndarray of int, optional
        Stage whose features the row lacks, from 1; 0 for a row that is decided. Given by
        ``Cascade.decide(X, partial=True)``.
    paths_to : tuple of str
        The path to each stage in words, for `path`; empty if the cascade has no branch.

    Examples
    --------
    >>> decisions = Decisions(
    ...     guesses=np.array([0, 1, 1]),
    ...     accepted=np.array([True, True, False]),
    ...     confidence=np.array([0.9, 0.8, 0.6]),
    ...     stage=np.array([1, 2, 2]),
    ...     cost=np.array([1.0, 4.0, 4.0]),
    ... )
    >>> decisions
    Decisions(3 rows: 2 accepted, 1 rejected; mean cost 3)
    >>> decisions.labels.tolist()
    [0, 1, None]
    """

    guesses: AnyArray
    accepted: BoolArray
    confidence: FloatArray
    stage: IntArray
    cost: FloatArray
    reasons: AnyArray | None = None
    ids: AnyArray | None = None
    frame: Any = None
    delay: FloatArray | None = None
    needs: AnyArray | None = None
    warnings: AnyArray | None = None
    waits_for: IntArray | None = None
    paths_to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Lock the arrays."""
        for field in fields(self):
            if isinstance(given := getattr(self, field.name), np.ndarray):
                locked = given.view()
                locked.setflags(write=False)
                object.__setattr__(self, field.name, locked)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join decisions in order; either all parts or none have reasons and ids."""
        if len(parts) == 1:
            return parts[0]
        joined: dict[str, Any] = {}
        for field in fields(cls):
            columns = [getattr(part, field.name) for part in parts]
            whole = isinstance(columns[0], np.ndarray)
            joined[field.name] = np.concatenate(columns) if whole else columns[0]
        return cls(**joined)

    @property
    def labels(self) -> np.ma.MaskedArray[Any, Any]:
        """Labels of the rows, masked for rejected and undecided rows."""
        return np.ma.MaskedArray(self.guesses, mask=~self.accepted)

    @property
    def waiting(self) -> BoolArray:
        """Whether the row is undecided until more features are bought; see `needs`."""
        if self.needs is None:
            return np.zeros(len(self), dtype=np.bool_)
        waiting: BoolArray = self.needs != ""
        return waiting

    @property
    def path(self) -> AnyArray | None:
        """Path of each row in words, as in "1 → age ≤ 50 → 2"; None if the cascade has no branch.

        It has the stages that judged the row, and what held at each branch. A row that waits has
        the path to the stage that it waits for.
        """
        if not self.paths_to:
            return None
        through = [
            PATH_BETWEEN.join(filter(None, (way, f"{j}")))
            for j, way in enumerate(self.paths_to, start=1)
        ]
        path: AnyArray = np.array(["", *through], dtype=object).take(self.stage)
        if self.waits_for is not None:
            waiting = self.waits_for > 0
            path[waiting] = np.array(self.paths_to, dtype=object)[self.waits_for[waiting] - 1]
        return path

    def given(self, classes: AnyArray) -> IntArray:
        """Position of each label in `classes`; the number of classes for a rejected row."""
        positions = np.full(len(self), len(classes))
        positions[self.accepted] = positions_of(self.guesses[self.accepted], classes)
        return positions

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.accepted)

    def __repr__(self) -> str:
        """Count the accepted and rejected rows and show their mean cost."""
        if not len(self):
            return "Decisions(0 rows)"
        n_waiting = int(self.waiting.sum())
        waiting = f", {n_waiting:,} waiting" if n_waiting else ""
        return (
            f"Decisions({counted(len(self), 'row')}: {self.accepted.sum():,} accepted, "
            f"{(~self.accepted).sum() - n_waiting:,} rejected{waiting}; "
            f"mean cost {self.cost.mean():.6g})"
        )

    def _repr_html_(self) -> str:
        """Count the rows that left at each stage and show the first rows, for notebooks."""
        n_rows, mean = len(self) or 1, self.cost.mean() if len(self) else 0.0
        title = f"Decisions on {counted(len(self), 'row')}: mean cost {mean:.6g}"
        places = [
            (f"stage {j}", self.accepted & (self.stage == j))
            for j in np.unique(self.stage[self.accepted]).tolist()
        ]
        places.append(("rejected", ~self.accepted & ~self.waiting))
        if self.waiting.any():
            places.append(("waiting", self.waiting))
        counts = [
            (place, f"{here.sum():,}", f"{here.sum() / n_rows:.1%}") for place, here in places
        ]
        shown = {name: column[:_FIRST_ROWS].tolist() for name, column in self.columns().items()}
        rows = [tuple(map(_cell, line)) for line in zip(*shown.values(), strict=True)]
        more = len(self) - len(rows)
        return fragment(
            title,
            table(("left at", "rows", "share"), counts, ("left at",)),
            f"<div>{table(tuple(shown), rows, _TEXTS)}"
            f"{note(f'{more:,} more; to_pandas() has all.') if more else ''}</div>",
        )

    def to_frame(self) -> Any:
        """Return a table of the library that the rows came from: pandas, Polars or PyArrow.

        Rows from an array give a pandas table.
        """
        return self.like(self.frame)

    def columns(self) -> Columns:
        """Return the decisions as columns by name; labels that are not given are masked."""
        columns = {
            "id": self.ids,
            "label": self.labels,
            "accepted": self.accepted,
            "confidence": self.confidence,
            "stage": self.stage,
            "path": self.path,
            "cost": self.cost,
            "delay": self.delay,
            "reason": self.reasons,
            "needs": self.needs,
            "warnings": self.warnings,
        }
        return {name: column for name, column in columns.items() if column is not None}


def _cell(value: Any) -> str:
    """Format a value of the table; the label of a rejected row is empty."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
