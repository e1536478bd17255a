"""Keys: columns that put rows into groups, such as patients or wards, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.text import brief, some, what_was_meant
from emsco._base.typing import IntArray
from emsco.data.labels import plain_texts
from emsco.data.rows import column_names
from emsco.errors import DataError, ParameterError

_MOST_VALUES = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The different values of a column, and which of them each row has.

    Attributes
    ----------
    codes : ndarray of int, shape (n_rows,)
        Position in `values`.
    values : list
        The different values; None stands for a missing one.
    name : str or None
        Name of the column.

    Examples
    --------
    >>> keys = Keys.from_column(["B", None, "A", "B"])
    >>> keys.codes.tolist(), keys.values
    ([0, 1, 2, 0], ['B', None, 'A'])
    """

    codes: IntArray
    values: list[Any]
    name: str | None = None

    @classmethod
    def from_parameter(cls, parameter: str, given: Any, X: Any, n_rows: int) -> Keys:
        """Read `given`: one value for each row, or the name of a column of the data frame X."""
        if isinstance(given, str):
            given = column_of(X, given, parameter)
        name = getattr(given, "name", None)
        keys = cls.from_column(given, name if isinstance(name, str) else None, parameter)
        if len(keys.codes) != n_rows:
            raise DataError(
                f"{parameter} must have one value for each of {n_rows} rows, got {len(keys.codes)}."
            )
        return keys

    @classmethod
    def from_column(cls, column: Any, name: str | None = None, what: str = "a column") -> Keys:
        """Read an array, a list, or a column of pandas, Polars or PyArrow.

        Messages call it `what`.
        """
        import narwhals as nw
        import pyarrow as pa
        from pyarrow import compute

        try:
            series = nw.from_native(column, allow_series=True, pass_through=True)
            if isinstance(series, nw.Series):
                array = series.to_arrow()
            else:
                plain = column.tolist() if np.ma.isMaskedArray(column) else column
                array = pa.array(plain, from_pandas=True)
            if pa.types.is_dictionary(array.type):
                array = array.cast(array.type.value_type)
            if pa.types.is_floating(array.type):  # Polars keeps NaN apart from missing values
                array = compute.if_else(compute.is_nan(array), None, array)
            encoded = array.dictionary_encode(null_encoding="encode")
        except (pa.ArrowException, KeyError, OverflowError, TypeError, ValueError):
            raise DataError(
                f"{what} must hold values of one type, one for each row, got {brief(column)}."
            ) from None
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(codes, encoded.dictionary.to_pylist(), name)

    def check_complete(self, parameter: str) -> None:
        """Refuse missing values."""
        if (row := self.missing) is not None:
            raise DataError(f"{parameter} must have a value in every row, got none in row {row}.")

    @property
    def missing(self) -> int | None:
        """First row without a value; None if there is none."""
        if None not in self.values:
            return None
        rows = np.flatnonzero(self.codes == self.values.index(None))
        return int(rows[0]) if rows.size else None


def check_by(values: list[Any], what: str) -> None:
    """Refuse too many different values; `what` names the column that has them."""
    if len(values) > _MOST_VALUES:
        raise DataError(
            f"{what} must have at most {_MOST_VALUES:,} different values, got {len(values):,}; put "
            "numbers into bins, and others into larger groups first."
        )


def without_text(values: list[Any]) -> list[Any]:
    """Return numbers or truth values instead of texts that are all plainly such.

    Examples
    --------
    >>> without_text(["2", None, "10"]), without_text(["2", "A"])
    ([2, None, 10], ['2', 'A'])
    """
    texts = [value for value in values if value is not None]
    if not texts or not all(isinstance(text, str) for text in texts):
        return values
    plain = iter(plain_texts(np.array(texts)).tolist())
    return [None if value is None else next(plain) for value in values]


def column_of(X: Any, name: str, parameter: str) -> Any:
    """Return a column of a data frame; messages name the parameter that asks for it."""
    there = column_names(X)
    if not there:
        raise ParameterError(
            f"{parameter} must have one value for each row, since X has no names of columns, got "
            f"{brief(name)}."
        )
    if name not in there:
        meant = what_was_meant(name, there)
        raise DataError(
            f"{parameter} must be a column of X, got {brief(name)} beside {some(there, 20)}{meant}"
        )
    import narwhals as nw

    return nw.from_native(X, eager_only=True).get_column(name)
