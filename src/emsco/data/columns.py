"""Code of one column: a number is one input, a category has an input for each value."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.text import brief, some
from emsco._base.typing import FloatArray, IntArray, Kind
from emsco.data.rows import LARGEST, arrow_kind, as_float, is_missing, text_of, what_it_holds
from emsco.errors import DataError

MOST_CATEGORIES = 1_000
_KINDS: tuple[Kind, ...] = ("number", "truth", "category")
_ROUNDING = 1e-6  # 0.1 in single precision is still 0.1
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d*[1-9])?")


@dataclass(frozen=True)
class ColumnCode:
    """Code that turns one column of a table into inputs.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"number", "truth", "category"}
        A number is one input. A truth value is one input, 0 or 1. A category has one input for
        each category seen in training: 1 for its own, 0 for the others. A category that was not
        seen in training is 0 in all of them.
    categories : tuple of str
        Categories seen in training, sorted.
    marks_missing : bool
        Whether there is one more input, 1 for a missing value and 0 otherwise.
    range : tuple of float or None
        Lowest and highest number of the training rows, if known.
    """

    name: str
    kind: Kind = "number"
    categories: tuple[str, ...] = ()
    marks_missing: bool = False
    range: tuple[float, float] | None = None

    @classmethod
    def learn(cls, name: str, column: Any, what: str) -> Self:
        """Learn the code of a PyArrow column of training rows; messages call the table `what`."""
        kind = arrow_kind(column)
        texts, codes = _coded(column) if kind == "category" else ([], np.zeros(0, dtype=np.int64))
        # A dictionary may have categories that no row has. Sorted, so that inputs do not depend on
        # the order of rows.
        seen = sorted({text for code in np.unique(codes) if (text := texts[code]) is not None})
        if column.null_count == len(column) or (kind == "category" and not seen):
            raise without_values(name, what)
        if kind is None:
            raise DataError(
                f"{what} must hold numbers, text or truth values, got {what_it_holds(column)} in "
                f"column {name!r}."
            )
        if len(seen) > MOST_CATEGORIES:
            raise DataError(
                f"{what} must have at most {MOST_CATEGORIES:,} categories in a column, got "
                f"{len(seen):,} in column {name!r}; if it is an id, drop {name!r}."
            )
        return cls(name, kind, tuple(seen))

    @property
    def n_values(self) -> int:
        """Number of inputs, without the one that marks missing values."""
        return len(self.categories) if self.kind == "category" else 1

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.n_values + self.marks_missing

    @cached_property
    def places(self) -> dict[str, int]:
        """Position of each category's input."""
        return {category: i for i, category in enumerate(self.categories)}

    @cached_property
    def takes_numbers(self) -> bool:
        """Whether a number may stand for a category: all categories are plainly written numbers.

        If a category is "01", the number 1 is refused instead of passing for an unseen category.
        """
        return all(map(_PLAIN_NUMBER.fullmatch, self.categories))

    def fill(self, inputs: FloatArray, column: Any, what: str) -> None:
        """Write the inputs of a PyArrow column of categories, shape (n_rows, n_values)."""
        kind = arrow_kind(column)
        # A column without any value has no type.
        if column.type != "null" and kind != "category" and not (kind and self.takes_numbers):
            raise DataError(
                f"{what} must hold text in column {self.name!r}, got {what_it_holds(column)}."
            )
        texts, codes = _coded(column)
        # A row has a single 1, no 1 for a category not seen in training, or NaN.
        place = np.array([self.places.get(text or "", -1) for text in texts])[codes]
        inputs[:] = 0
        known = np.flatnonzero((place >= 0) & (codes >= 0))
        inputs[known, place[known]] = 1
        inputs[codes < 0] = np.nan

    def one(self, value: Any, gaps: bool) -> list[float]:
        """Return the inputs of a single value; with `gaps`, it may be missing."""
        if gaps and is_missing(value):
            # A mark of 1, and no value for the rest to fill in.
            return [math.nan] * self.n_values + [1.0] * self.marks_missing
        marks, number = [0.0] * self.marks_missing, as_float(value)
        if self.kind == "category":
            is_number = self.takes_numbers and math.isfinite(number)
            if not (is_number or isinstance(value, str)):
                raise DataError(f"{self.name!r} must be text, got {brief(value)}.")
            inputs = [0.0] * self.n_values
            if (place := self.places.get(text_of(value) or "")) is not None:
                inputs[place] = 1.0
            return inputs + marks
        is_truth = self.kind == "truth"
        if not (number in (0.0, 1.0) if is_truth else abs(number) <= LARGEST):
            rule = "a number" if math.isnan(number) else f"at most {LARGEST:g} in size"
            rule = "true or false" if is_truth else rule
            raise DataError(f"{self.name!r} must be {rule}, got {brief(value)}.")
        return [number, *marks]

    def warning(self, value: Any) -> str | None:
        """Say how a valid value is unlike those of the training rows; None if it is not.

        Examples
        --------
        >>> ColumnCode("age", range=(29, 77)).warning(630)
        'age is 630; in training it was 29 to 77.'
        >>> ColumnCode("ward", "category", ("A", "B")).warning("C")
        "ward is 'C'; in training it was one of 'A', 'B'."
        """
        if is_missing(value):
            return None
        if self.kind == "category":
            if (text := text_of(value)) in self.places:
                return None
            known = some(self.categories)
            return f"{self.name} is {brief(text)}; in training it was one of {known}."
        number = float(value)
        lowest, highest = self.limits
        if self.range is None or lowest <= number <= highest:
            return None
        low, high = self.range
        return f"{self.name} is {number:.8g}; in training it was {low:.6g} to {high:.6g}."

    @property
    def short_warning(self) -> str:
        """The warning about any value that is unlike those of the training rows."""
        if self.range is None:
            return f"{self.name} not seen in training"
        low, high = self.range
        return f"{self.name} outside {low:.6g} to {high:.6g}"

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The range of the training rows, with room for rounding; infinite if there is none."""
        low, high = self.range or (-math.inf, math.inf)
        return low - _ROUNDING * abs(low), high + _ROUNDING * abs(high)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        values: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.kind == "category":
            values["categories"] = list(self.categories)
        if self.range is not None:
            values["range"] = list(self.range)
        return {**values, "marks_missing": self.marks_missing}

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """Create a code from the fields of a file, and check them."""
        kind = next((kind for kind in _KINDS if kind == fields.text("kind")), None)
        if kind is None:
            fields.refuse("kind", f"one of {', '.join(_KINDS)}", fields.text("kind"))
        categories = tuple(fields.texts("categories")) if kind == "category" else ()
        # Sorted, as they are written: another order would exchange inputs.
        if list(categories) != sorted(categories) or len(categories) > MOST_CATEGORIES:
            fields.refuse(
                "categories", f"at most {MOST_CATEGORIES:,} names in order", list(categories)
            )
        limits = None
        if kind == "number" and "range" in fields.values:  # files of earlier fits have none
            low, high = fields.numbers("range", 2).tolist()
            if low > high:
                fields.refuse("range", "the lowest number before the highest", [low, high])
            limits = low, high
        return cls(
            name=fields.text("name"),
            kind=kind,
            categories=categories,
            marks_missing=fields.flag("marks_missing"),
            range=limits,
        )


def without_values(name: str, what: str) -> DataError:
    """Return the error of a column without any value."""
    return DataError(f"{what} must have values in column {name!r}, got only missing ones.")


def _coded(column: Any) -> tuple[list[str | None], IntArray]:
    """Return the distinct texts of a PyArrow column and the position of each row's text.

    The position is -1 for a missing value.
    """
    import pyarrow as pa

    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        # Chunks may number the same text differently.
        column = column.unify_dictionaries().combine_chunks()
    # The last is the text of missing values, and a dictionary may hold null itself.
    texts = [*map(text_of, column.dictionary.to_pylist()), None]
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return texts, np.where(np.array([text is None for text in texts])[codes], -1, codes)
