"""Code of one column: a number is one input, a category has an input for each value."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.text import brief, some
from emsco._base.typing import BoolArray, FloatArray, IntArray, Kind
from emsco.data.rows import (
    LARGEST,
    NUMBERS,
    arrow_kind,
    arrow_numbers,
    as_float,
    is_missing,
    text_of,
    what_is_wrong,
    what_it_holds,
)
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
        if column.null_count == len(column):
            raise without_values(name, what)
        kind = arrow_kind(column)
        if kind is None:
            raise DataError(
                f"{what} must hold numbers, text or truth values, got {what_it_holds(column)} in "
                f"column {name!r}."
            )
        if kind != "category":
            return cls(name, kind)
        texts, codes = _coded(column)
        # A dictionary may have categories that no row has.
        used = [texts[code] for code in np.unique(codes[codes >= 0]).tolist()]
        seen = {text for text in used if text is not None}
        if len(seen) > MOST_CATEGORIES:
            raise DataError(
                f"{what} must have at most {MOST_CATEGORIES:,} categories in a column, got "
                f"{len(seen):,} in column {name!r}; if it is an id, drop {name!r}."
            )
        if not seen:
            raise without_values(name, what)
        # Sorted, so that inputs do not depend on the order of rows.
        return cls(name, kind, tuple(sorted(seen)))

    @property
    def n_values(self) -> int:
        """Number of inputs, without the one that marks missing values."""
        return len(self.categories) if self.kind == "category" else 1

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.n_values + self.marks_missing

    @property
    def input_names(self) -> tuple[str, ...]:
        """Name of each input."""
        values = tuple(f"{self.name} = {category}" for category in self.categories)
        marks = (f"{self.name} is missing",) if self.marks_missing else ()
        return (*(values or (self.name,)), *marks)

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

    def fill(
        self, inputs: FloatArray, column: Any, what: str, first_row: int, *, gaps: bool
    ) -> None:
        """Write the inputs of a PyArrow column into `inputs`, shape (n_rows, n_inputs)."""
        import pyarrow as pa

        missing: BoolArray
        if self.kind == "category":
            kind = "category" if pa.types.is_null(column.type) else arrow_kind(column)
            if kind is None or (kind != "category" and not self.takes_numbers):
                got = {"number": "numbers", "truth": "truth values"}.get(str(kind))
                got = got or what_it_holds(column)
                raise DataError(f"{what} must hold text in column {self.name!r}, got {got}.")
            texts, codes = _coded(column)
            # Position -1, a missing value, finds the last entry, which is -1.
            place = np.array([self.places.get(text or "", -1) for text in texts] + [-1])[codes]
            # A row has a single 1, no 1 for a category not seen in training, or NaN.
            values = inputs[:, : self.n_values]
            values[:] = 0
            known = np.flatnonzero(place >= 0)
            values[known, place[known]] = 1
            missing = codes < 0
            values[missing] = np.nan
        else:
            # A column without any value has no type; it can only be read as missing.
            if pa.types.is_null(column.type) and (gaps or not len(column)):
                column = column.cast(pa.float64())
            inputs[:, 0] = arrow_numbers(column, self.name, what)
            missing = np.isnan(inputs[:, 0])
            self.check_truth(inputs[:, 0], what, first_row)
        if self.marks_missing:
            inputs[:, -1] = missing

    def check_truth(self, values: FloatArray, what: str, first_row: int) -> None:
        """If the column holds truth values, refuse numbers other than 0, 1 and NaN."""
        if self.kind != "truth":
            return
        wrong = ~((values == 0) | (values == 1) | np.isnan(values))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(
                f"{what} must hold true or false in column {self.name!r}, got {values[row]:g} in "
                f"row {first_row + row}.",
                row=first_row + row,
            )

    def one(self, value: Any, gaps: bool) -> list[float]:
        """Return the inputs of a single value; with `gaps`, it may be missing."""
        if gaps and is_missing(value):
            # A mark of 1, and no value for the rest to fill in.
            return [math.nan] * self.n_values + [1.0] * self.marks_missing
        marks = [0.0] * self.marks_missing
        if self.kind == "category":
            if not isinstance(value, str):
                if not isinstance(value, NUMBERS) or is_missing(value) or not self.takes_numbers:
                    raise DataError(f"{self.name!r} must be text, got {brief(value)}.")
                if math.isinf(as_float(value)):
                    raise DataError(f"{self.name!r} must be finite, got {brief(value)}.")
                value = text_of(value)
            inputs = [0.0] * self.n_values
            if (place := self.places.get(value)) is not None:
                inputs[place] = 1.0
            return inputs + marks
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
        except ValueError:  # a signalling NaN
            number = math.nan
        if not abs(number) <= LARGEST:  # written so that NaN fails too
            rule, got = what_is_wrong(number)
            raise DataError(f"{self.name!r} must be {rule}, got {got}.")
        if self.kind == "truth" and number not in (0.0, 1.0):
            raise DataError(f"{self.name!r} must be true or false, got {brief(value)}.")
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
    if isinstance(column, pa.ChunkedArray):  # older PyArrow leaves a column without chunks so
        return [], np.zeros(0, dtype=np.int64)
    texts = [text_of(value) for value in column.dictionary.to_pylist()]
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    # A dictionary may hold null itself, beside rows that are null.
    lost = np.array([text is None for text in (*texts, None)])
    return texts, np.where(lost[codes], -1, codes)
