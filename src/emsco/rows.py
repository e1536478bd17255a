"""Rows in: from any table to float64, with the checks that name the column at fault."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from emsco._typing import AnyArray, FloatArray
from emsco.errors import DataError
from emsco.kernels import load
from emsco.threads import by_parts

__all__ = [
    "LARGEST",
    "NUMBERS",
    "check_columns",
    "check_finite",
    "column_names",
    "table_rows",
    "what_is_wrong",
]

NUMBERS = (float, Real, np.bool_, Decimal)  # what a single value may be
_BLOCK = 65_536
_NOT_NUMBERS = {"U": "text", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "durations"}
LARGEST = 1e100  # so that squares can be summed


def table_rows(X: Any, names: tuple[str, ...]) -> FloatArray:
    """The columns called `names`, in that order, of a data frame; or a 2-D array as it is."""
    if hasattr(X, "columns"):
        X = _frame_columns(X, names)
    if np.ma.is_masked(X):
        raise DataError("X must hold numbers only, got masked values.")
    try:
        given = np.asarray(X)
        kind = _NOT_NUMBERS.get(given.dtype.kind)
        rows = np.ascontiguousarray(given, dtype=None if kind else np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(f"X must hold numbers only: {error}.") from None
    if kind:
        raise DataError(f"X must hold numbers only, got {kind}.")
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise DataError(
            f"X must have {len(names)} columns ({names[0]!r} … {names[-1]!r}), "
            f"got shape {rows.shape}."
        )
    return rows


def column_names(X: Any) -> list[Any]:
    """Names of the columns of a data frame; none for an array."""
    return list(getattr(X, "column_names", getattr(X, "columns", ())))  # PyArrow has both


def check_columns(X: Any, names: Sequence[str] | None = None) -> None:
    """Refuse columns of a data frame that come twice or hold no numbers; arrays pass.

    `names` are the columns that matter, by default all.
    """
    columns = column_names(X)
    wanted = columns if names is None else list(names)
    if twice := [name for name in wanted if columns.count(name) > 1]:
        raise DataError(f"X must have one column {twice[0]!r}, got {columns.count(twice[0])}.")
    if not columns:
        return
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    for name in wanted:
        kind = frame.schema[name]
        text = kind == nw.Object and any(isinstance(value, str) for value in frame[name])
        if text or not (kind.is_numeric() or kind in (nw.Boolean, nw.Object)):
            got = "text" if text or kind == nw.String else kind
            raise DataError(f"X must hold numbers only, got {got} in column {name!r}.")


def check_finite(
    X: FloatArray, names: tuple[str, ...], table: str = "X", first_row: int = 0
) -> None:
    """Refuse NaN, infinity and absurd sizes, naming the first column and row that has one.

    `table` is what the message calls X, and `first_row` the number of its first row.
    """
    count = load("deciding").count_unusable
    flat = np.ascontiguousarray(X).reshape(-1)
    if not any(by_parts(len(flat), lambda part: count(flat[part], LARGEST))):
        return
    for start in range(0, len(X), _BLOCK):
        block = X[start : start + _BLOCK]
        usable = np.abs(block) <= LARGEST
        if not usable.all():
            row, column = (int(i) for i in np.argwhere(~usable)[0])
            rule, got = what_is_wrong(float(block[row, column]))
            where = f"in column {names[column]!r}, row {first_row + start + row}"
            raise DataError(f"{table} must be {rule}, got {got} {where}.")


def _frame_columns(X: Any, names: tuple[str, ...]) -> AnyArray:
    import narwhals as nw

    columns = column_names(X)
    if missing := [name for name in names if name not in columns]:
        listed = ", ".join(map(repr, columns))
        raise DataError(f"X must have a column {missing[0]!r}, got {listed}.")
    check_columns(X, names)
    rows: AnyArray = nw.from_native(X, eager_only=True).select(names).to_numpy()
    return rows


def what_is_wrong(value: float) -> tuple[str, str]:
    """The rule that a value past `LARGEST` breaks, and what to call the value."""
    if math.isnan(value):
        return "finite", "NaN"
    if math.isinf(value):
        return "finite", f"infinity ({value})"
    return f"at most {LARGEST:g} in size", f"{value:g}"
