"""How one column of a table becomes inputs: as it is, or as an input for each category."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.text import brief
from emsco._base.typing import BoolArray, FloatArray, Kind
from emsco.data.encoding.columns import coded, is_missing, text_of, what_it_holds
from emsco.data.rows import LARGEST, NUMBERS, arrow_kind, arrow_numbers, what_is_wrong
from emsco.errors import DataError

__all__ = ["MOST_CATEGORIES", "ColumnCode"]

MOST_CATEGORIES = 1_000
_KINDS: tuple[Kind, ...] = ("number", "truth", "category")
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d*[1-9])?")


@dataclass(frozen=True)
class ColumnCode:
    """How one column of a table becomes inputs.

    Attributes
    ----------
    name : str
        The column.
    kind : {"number", "truth", "category"}
        A number is one input; a truth value is one, 0 or 1; a category is as many as were seen in
        training, of which one is 1 and the others are 0. All are 0 for a category never seen.
    categories : tuple of str
        Those seen in training, sorted.
    marks_missing : bool
        Whether one more input is 1 where the value is missing, and 0 where it is not.
    """

    name: str
    kind: Kind = "number"
    categories: tuple[str, ...] = ()
    marks_missing: bool = False

    @classmethod
    def learn(cls, name: str, column: Any, table: str) -> Self:
        """What a PyArrow column of training rows holds; `table` is what messages call it."""
        kind = arrow_kind(column)
        if kind is None:
            raise DataError(
                f"{table} must hold numbers, text or truth values, got {what_it_holds(column)} in "
                f"column {name!r}."
            )
        if kind != "category":
            return cls(name, kind)
        texts, codes = coded(column)
        seen = {texts[code] for code in np.unique(codes[codes >= 0]).tolist()}
        categories = tuple(sorted(text for text in seen if text is not None))
        if len(categories) > MOST_CATEGORIES:
            raise DataError(
                f"{table} must have at most {MOST_CATEGORIES:,} categories in a column, got "
                f"{len(categories):,} in column {name!r}; if it is an id, drop it."
            )
        if not categories:
            raise DataError(f"{table} must have values in column {name!r}, got gaps only.")
        return cls(name, kind, categories)

    @property
    def n_values(self) -> int:
        """How many inputs it becomes, the one that marks gaps not counted."""
        return len(self.categories) if self.kind == "category" else 1

    @property
    def n_inputs(self) -> int:
        """How many inputs it becomes."""
        return self.n_values + self.marks_missing

    @property
    def input_names(self) -> tuple[str, ...]:
        """What to call them."""
        values = tuple(f"{self.name} = {category}" for category in self.categories)
        marks = (f"{self.name} is missing",) if self.marks_missing else ()
        return (*(values or (self.name,)), *marks)

    @cached_property
    def places(self) -> dict[str, int]:
        """Which input each category has."""
        return {category: i for i, category in enumerate(self.categories)}

    @cached_property
    def takes_numbers(self) -> bool:
        """Whether numbers stand for categories: those are numbers as people write them.

        Where one is "01", a number 1 is refused rather than taken for another category.
        """
        return all(map(_PLAIN_NUMBER.fullmatch, self.categories))

    def fill(
        self, inputs: FloatArray, column: Any, table: str, first_row: int, *, gaps: bool
    ) -> None:
        """Write what a PyArrow column holds into `inputs`, shape (n_rows, n_inputs)."""
        if self.kind == "category":
            missing = self._fill_categories(inputs, column, table)
        else:
            import pyarrow as pa

            if gaps and pa.types.is_null(column.type):
                column = column.cast(pa.float64())
            inputs[:, 0] = arrow_numbers(column, self.name, table)
            missing = np.isnan(inputs[:, 0])
            self.check_truth(inputs[:, 0], table, first_row)
        if self.marks_missing:
            inputs[:, -1] = missing

    def check_truth(self, values: FloatArray, table: str, first_row: int) -> None:
        """Refuse what is neither 0 nor 1 nor a gap, where truth values were learnt."""
        if self.kind != "truth":
            return
        wrong = ~((values == 0) | (values == 1) | np.isnan(values))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(
                f"{table} must hold true or false in column {self.name!r}, got {values[row]:g} in "
                f"row {first_row + row}."
            )

    def one(self, value: Any, gaps: bool) -> list[float]:
        """The inputs of a single value; where `gaps` is true, it may be missing."""
        if gaps and is_missing(value):
            return [math.nan] * self.n_values + [1.0] * self.marks_missing
        inputs = self._category(value) if self.kind == "category" else [self._number(value)]
        return inputs + [0.0] * self.marks_missing

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.kind == "category":
            values["categories"] = list(self.categories)
        return {**values, "marks_missing": self.marks_missing}

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """The same, read from a file and checked."""
        kind = next((kind for kind in _KINDS if kind == fields.text("kind")), None)
        if kind is None:
            fields.refuse("kind", f"one of {', '.join(_KINDS)}", fields.text("kind"))
        categories = tuple(fields.texts("categories")) if kind == "category" else ()
        if list(categories) != sorted(categories) or len(categories) > MOST_CATEGORIES:
            fields.refuse(
                "categories", f"at most {MOST_CATEGORIES:,} names in order", list(categories)
            )
        return cls(fields.text("name"), kind, categories, fields.flag("marks_missing"))

    def _fill_categories(self, inputs: FloatArray, column: Any, table: str) -> BoolArray:
        """One 1 in a row, none for a category never seen, NaN for a gap; returns the gaps."""
        import pyarrow as pa

        kind = "category" if pa.types.is_null(column.type) else arrow_kind(column)
        if kind is None or (kind != "category" and not self.takes_numbers):
            got = {"number": "numbers", "truth": "truth values"}.get(str(kind))
            got = got or what_it_holds(column)
            raise DataError(f"{table} must hold text in column {self.name!r}, got {got}.")
        texts, codes = coded(column)
        place = np.array([self.places.get(text or "", -1) for text in texts] + [-1])[codes]
        values = inputs[:, : self.n_values]
        values[:] = 0
        known = np.flatnonzero(place >= 0)
        values[known, place[known]] = 1
        missing: BoolArray = codes < 0
        values[missing] = np.nan
        return missing

    def _category(self, value: Any) -> list[float]:
        inputs = [0.0] * self.n_values
        if not isinstance(value, str):
            if not isinstance(value, NUMBERS) or is_missing(value) or not self.takes_numbers:
                raise DataError(f"{self.name!r} must be text, got {brief(value)}.")
            value = text_of(value)
        place = self.places.get(value)
        if place is not None:
            inputs[place] = 1.0
        return inputs

    def _number(self, value: Any) -> float:
        """A single value as a number; messages are those of a session."""
        if not isinstance(value, NUMBERS):
            rule = "a number" if self.kind == "number" else "true or false"
            raise DataError(f"{self.name!r} must be {rule}, got {brief(value)}.")
        try:
            number = float(value)
        except OverflowError:
            raise DataError(
                f"{self.name!r} must be at most {LARGEST:g} in size, got a number past "
                f"{sys.float_info.max:g}."
            ) from None
        if not abs(number) <= LARGEST:  # written so that NaN fails too
            rule, got = what_is_wrong(number)
            raise DataError(f"{self.name!r} must be {rule}, got {got}.")
        if self.kind == "truth" and number not in (0.0, 1.0):
            raise DataError(f"{self.name!r} must be true or false, got {brief(value)}.")
        return number
