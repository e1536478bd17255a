"""Answers of sources: whatever table comes back for the features that were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from emsco._base.text import brief, message_of
from emsco._base.typing import AnyArray, FloatArray
from emsco.data.columns import ColumnCode
from emsco.data.encoding import Encoding
from emsco.data.rows import as_float, column_names, has, is_frame
from emsco.errors import DataError


def answer_rows(encoding: Encoding, table: Any, n_rows: int) -> FloatArray:
    """Return the inputs of a source's answer, shape (n_rows, n_inputs).

    A value of the wrong kind counts as missing: it is NaN in all inputs of its column, also if the
    encoding refuses missing values. Infinity and absurd sizes stay, so that the caller can report
    them. A bad value does not affect the other rows.

    Parameters
    ----------
    encoding : Encoding
        Encoding of the features that were asked for; see `Encoding.only`.
    table : 2-D array, data frame or mapping of columns to values
        The answer.
    n_rows : int
        Number of rows asked for.

    Raises
    ------
    DataError
        If the answer as a whole is not a table of the columns and rows asked for.
    """
    names = encoding.columns
    try:
        columns = _columns(table, names)
    except DataError:
        raise
    except Exception as error:  # a source's own type of table may raise anything
        raise DataError(
            f"acquire must return a table, got {brief(table)} ({message_of(error)})."
        ) from error
    for name, column in zip(names, columns, strict=True):
        if column.shape != (n_rows,):
            raise DataError(
                f"acquire must return {n_rows} rows, one per id, got shape {column.shape} for "
                f"{name!r}."
            )
    inputs = [_inputs(code, column) for code, column in zip(encoding.codes, columns, strict=True)]
    return np.column_stack(inputs)


def _columns(table: Any, names: tuple[str, ...]) -> list[AnyArray]:
    if isinstance(table, Mapping) or is_frame(table):
        known = list(table) if isinstance(table, Mapping) else column_names(table)
        if missing := [name for name in names if name not in known]:
            raise DataError(f"acquire must return a column {missing[0]!r}, got {brief(known)}.")
        return [_array(table[name]) for name in names]
    array = _array(table)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise DataError(
            f"acquire must return a table with the columns {', '.join(map(repr, names))}, "
            f"got {f'shape {array.shape}' if array.ndim else brief(table)}."
        )
    return list(array.T)


def _array(values: Any) -> AnyArray:
    """Return values as an array; a text in a list leaves the numbers beside it numbers."""
    if np.ma.isMaskedArray(values):
        values, hidden = np.ma.getdata(values).astype(object), np.ma.getmaskarray(values)
        values[hidden] = None
    if has(values, "to_pylist"):  # PyArrow: NumPy cannot read its categories
        values = values.to_pylist()
    if has(values, "to_numpy"):
        values = values.to_numpy()
    return np.asarray(values, dtype=object if isinstance(values, (list, tuple)) else None)


def _inputs(code: ColumnCode, column: AnyArray) -> FloatArray:
    """Return the inputs of a column, shape (n_rows, code.n_inputs); wrong kinds are missing."""
    if code.kind == "category":
        rows = np.empty((len(column), code.n_inputs))
        for i, value in enumerate(column.tolist()):
            try:
                rows[i] = code.one(value, gaps=True)
            except Exception:  # a value of a source's own type may raise anything
                rows[i] = code.one(None, gaps=True)
        return rows
    if column.dtype.kind in "fiub":
        numbers: FloatArray = column.astype(np.float64)
    else:
        numbers = np.array([as_float(value) for value in column.tolist()], dtype=np.float64)
    if code.kind == "truth":
        numbers = np.where((numbers == 0) | (numbers == 1), numbers, np.nan)
    return np.column_stack([numbers, np.isnan(numbers)]) if code.marks_missing else numbers[:, None]
