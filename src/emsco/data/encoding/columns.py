"""The columns of any table, one at a time, as PyArrow has them."""

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
from emsco.data.rows import NUMBERS, check_names, check_shape, named_columns, not_numbers
from emsco.errors import DataError

__all__ = ["TableColumns", "coded", "is_missing", "text_of", "what_it_holds"]

_UNUSABLE = ("c", "S", "M", "m", "V")  # kinds of arrays that are neither numbers nor text


@dataclass(frozen=True, slots=True, eq=False)
class TableColumns:
    """A table's columns in the order of `names`: by name for data frames, by position for arrays.

    Attributes
    ----------
    table : data frame or ndarray of shape (n_rows, n_columns)
    n_rows : int
    known : tuple of str or None
        Kinds of the columns, where their types tell; None where values have to be looked at.
    read : callable
        ``read(i)`` is column `i`, as PyArrow has it.
    """

    table: Any
    n_rows: int
    known: tuple[Kind, ...] | None
    read: Callable[[int], Any]

    @classmethod
    def from_table(cls, X: Any, names: tuple[str, ...], table: str) -> Self:
        """Look at a data frame, an array or lists; `table` is what messages call it."""
        if hasattr(type(X), "collect"):  # not X itself: a column may be called so
            raise DataError(f"{table} must be in memory, got a {type(X).__name__}; collect() it.")
        if hasattr(X, "columns"):
            return cls._of_frame(named_columns(X, names, table), names, table)
        array = _as_array(X, table)
        check_shape(array, names, table)
        if array.dtype.kind in _UNUSABLE:
            got = not_numbers(array) or str(array.dtype)
            raise DataError(f"{table} must hold numbers, text or truth values, got {got}.")
        number: Kind = "number"
        return cls(
            array,
            len(array),
            (number,) * len(names) if array.dtype.kind in "fiub" else None,
            lambda i: _array_column(array[:, i], names[i], table),
        )

    @classmethod
    def _of_frame(cls, X: Any, names: Sequence[str], table: str) -> Self:
        import narwhals as nw

        check_names(X, names, table)
        frame = nw.from_native(X, eager_only=True)
        kinds = [frame.schema[name] for name in names]
        known: tuple[Kind, ...] | None = None
        if all(kind.is_numeric() or kind == nw.Boolean for kind in kinds):
            known = tuple("number" if kind.is_numeric() else "truth" for kind in kinds)
        return cls(X, len(frame), known, lambda i: _frame_column(frame[names[i]], names[i], table))


def is_missing(value: Any) -> bool:
    """Whether a single value stands for one that is missing."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, NUMBERS):
        return bool(value != value)  # NaN of any type, and nothing else
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)


def text_of(value: Any) -> str | None:
    """A category as text; None for a gap. Whole numbers are the same text however they are kept."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    if isinstance(value, Real) and not isinstance(value, bool) and float(value).is_integer():
        return str(int(float(value)))
    return str(value)


def coded(column: Any) -> tuple[list[str | None], IntArray]:
    """Different texts of a PyArrow column, and which of them each row has; -1 for a gap."""
    import pyarrow as pa

    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # of no chunks, for older PyArrow
        return [], np.zeros(0, dtype=np.int64)
    texts = [text_of(value) for value in column.dictionary.to_pylist()]
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    lost = np.array([text is None for text in (*texts, None)])
    return texts, np.where(lost[codes], -1, codes)


def what_it_holds(column: Any) -> str:
    """What to call the values of a PyArrow column that are neither numbers nor text."""
    from pyarrow import types

    kind = column.type
    called = {
        "nothing": types.is_null(kind),
        "durations": types.is_duration(kind),
        "dates": types.is_temporal(kind),
        "bytes": types.is_binary(kind) or types.is_large_binary(kind),
        "lists": types.is_nested(kind),
    }
    return next((words for words, fits in called.items() if fits), str(kind))


def _as_array(X: Any, table: str) -> AnyArray:
    """An array as it is; of lists, one in which text beside a number does not make that text.

    Masked values are gaps: NaN among numbers, else None.
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
        raise DataError(f"{table} must be a table: {error}.") from None
    return array


def _array_column(values: AnyArray, name: str, table: str) -> Any:
    import pyarrow as pa

    if values.dtype.kind not in "fiubU":
        values = values.astype(object)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _odd_numbers(values, name, table)


def _frame_column(series: Any, name: str, table: str) -> Any:
    import narwhals as nw
    import pyarrow as pa

    native = series.to_native()
    if nw.dependencies.is_pandas_series(native) and hasattr(native, "cat"):
        # By hand: PyArrow cannot put categories such as intervals into words.
        codes = native.cat.codes.to_numpy()
        texts = pa.array([text_of(value) for value in native.cat.categories], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), texts)
    try:
        return series.to_arrow()
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _odd_numbers(series.to_numpy(), name, table)


def _odd_numbers(values: AnyArray, name: str, table: str) -> Any:
    """Numbers that PyArrow has no common type for, such as fractions, or True beside 2."""
    import pyarrow as pa

    numbers: list[float | None] = []
    for value in values.tolist():
        if is_missing(value):
            numbers.append(None)
        elif isinstance(value, NUMBERS):
            numbers.append(_as_float(value))
        else:
            got = f"{type(value).__name__} {brief(value)}"
            both = " beside other values" if isinstance(value, str) else ""
            raise DataError(
                f"{table} must hold only numbers, only text or only truth values in a column, got "
                f"{got}{both} in column {name!r}."
            )
    return pa.array(numbers, pa.float64())


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
