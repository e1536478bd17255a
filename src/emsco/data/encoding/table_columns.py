"""Columns of any table, read one at a time as PyArrow arrays."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from emsco._base.text import brief
from emsco._base.typing import AnyArray, IntArray, Kind
from emsco.data.rows import (
    NUMBERS,
    as_float,
    check_in_memory,
    check_names,
    check_shape,
    is_frame,
    named_columns,
    not_numbers,
)
from emsco.errors import DataError

__all__ = ["TableColumns", "coded", "is_missing", "text_of", "what_it_holds"]

_UNUSABLE = ("c", "S", "M", "m", "V")  # kinds of arrays that are neither numbers nor text


@dataclass(frozen=True, slots=True, eq=False)
class TableColumns:
    """Columns of a table: by name in a data frame, by position in an array.

    Attributes
    ----------
    table : data frame or ndarray of shape (n_rows, n_columns)
    n_rows : int
    known : tuple of str or None
        Kinds of the columns if their types tell, else None.
    read : callable
        ``read(i)`` returns column `i` as a PyArrow array.
    """

    table: Any
    n_rows: int
    known: tuple[Kind, ...] | None
    read: Callable[[int], Any]

    @classmethod
    def from_table(cls, X: Any, names: tuple[str, ...], what: str) -> Self:
        """Open a data frame, an array or lists; messages call the table `what`."""
        check_in_memory(X, what)
        if is_frame(X):
            return cls._from_frame(named_columns(X, names, what), names, what)
        array = _as_array(X, what)
        check_shape(array, names, what)
        if array.dtype.kind in _UNUSABLE:
            got = not_numbers(array) or str(array.dtype)
            raise DataError(f"{what} must hold numbers, text or truth values, got {got}.")
        number: Kind = "number"
        return cls(
            array,
            len(array),
            (number,) * len(names) if array.dtype.kind in "fiub" else None,
            lambda i: _array_column(array[:, i], names[i], what),
        )

    @classmethod
    def _from_frame(cls, X: Any, names: Sequence[str], what: str) -> Self:
        import narwhals as nw

        check_names(X, names, what)
        frame = nw.from_native(X, eager_only=True)
        kinds = [frame.schema[name] for name in names]
        known: tuple[Kind, ...] | None = None
        if all(kind.is_numeric() or kind == nw.Boolean for kind in kinds):
            known = tuple("number" if kind.is_numeric() else "truth" for kind in kinds)
        return cls(X, len(frame), known, lambda i: _frame_column(frame[names[i]], names[i], what))


def is_missing(value: Any) -> bool:
    """Tell whether a single value stands for a missing one."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, NUMBERS):
        return math.isnan(as_float(value))
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)


def text_of(value: Any) -> str | None:
    """Return a category as text; None if missing. Equal whole numbers of any type are one text."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    if isinstance(value, Real) and not isinstance(value, bool) and float(value).is_integer():
        return str(int(float(value)))
    return str(value)


def coded(column: Any) -> tuple[list[str | None], IntArray]:
    """Return the distinct texts of a PyArrow column and the position of each row's text.

    The position is -1 for a missing value.
    """
    import pyarrow as pa

    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # older PyArrow leaves a column without chunks so
        return [], np.zeros(0, dtype=np.int64)
    texts = [text_of(value) for value in column.dictionary.to_pylist()]
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    lost = np.array([text is None for text in (*texts, None)])
    return texts, np.where(lost[codes], -1, codes)


def what_it_holds(column: Any) -> str:
    """Return a word for the values of a PyArrow column that are neither numbers nor text."""
    from pyarrow import types

    kind = column.type
    called = {
        "nothing": types.is_null(kind),
        "durations": types.is_duration(kind),
        "dates": types.is_temporal(kind),
        "bytes": types.is_binary(kind) or types.is_large_binary(kind),
        "lists": types.is_nested(kind),
    }
    return next((words for words, is_so in called.items() if is_so), str(kind))


def _as_array(X: Any, what: str) -> AnyArray:
    """Return a table as an array; a text in a list leaves the numbers beside it numbers.

    Masked values become NaN among numbers, else None.
    """
    if np.ma.is_masked(X):
        numbers = X.dtype.kind in "fiub"
        filled = np.ma.getdata(X).astype(np.float64 if numbers else object)
        filled[np.ma.getmaskarray(X)] = np.nan if numbers else None
        X = filled
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            array = np.asarray(X, dtype=object)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must be a table: {error}.") from None
    return array


def _array_column(values: AnyArray, name: str, what: str) -> Any:
    import pyarrow as pa

    if values.dtype.kind not in "fiubU":
        values = values.astype(object)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _odd_numbers(values, name, what)


def _frame_column(series: Any, name: str, what: str) -> Any:
    import narwhals as nw
    import pyarrow as pa

    native = series.to_native()
    if nw.dependencies.is_pandas_series(native) and hasattr(native, "cat"):
        # PyArrow cannot turn categories such as intervals into text.
        codes = native.cat.codes.to_numpy()
        texts = pa.array([text_of(value) for value in native.cat.categories], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), texts)
    try:
        return series.to_arrow()
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _odd_numbers(series.to_numpy(), name, what)


def _odd_numbers(values: AnyArray, name: str, what: str) -> Any:
    """Return numbers for which PyArrow has no common type, such as fractions or True beside 2."""
    import pyarrow as pa

    numbers: list[float | None] = []
    for value in values.tolist():
        if is_missing(value):
            numbers.append(None)
        elif isinstance(value, NUMBERS):
            numbers.append(as_float(value))
        else:
            got = f"{type(value).__name__} {brief(value)}"
            both = " beside other values" if isinstance(value, str) else ""
            raise DataError(
                f"{what} must hold only numbers, only text or only truth values in a column, got "
                f"{got}{both} in column {name!r}."
            )
    return pa.array(numbers, pa.float64())
