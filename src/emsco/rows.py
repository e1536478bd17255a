"""Rows in: from any table to float64, with the checks that name the column at fault."""

from __future__ import annotations

from typing import Any

import numpy as np

from emsco._typing import AnyArray, FloatArray
from emsco.errors import DataError

__all__ = ["check_finite", "table_rows"]

_BLOCK = 65_536


def table_rows(X: Any, names: tuple[str, ...]) -> FloatArray:
    """The columns called `names`, in that order, of a data frame; or a 2-D array as it is."""
    if not hasattr(X, "__array__") or hasattr(X, "columns"):
        X = _frame_columns(X, names)
    try:
        rows = np.ascontiguousarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"X must hold numbers only: {error}.") from None
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise DataError(
            f"X must have {len(names)} columns ({names[0]!r} … {names[-1]!r}), "
            f"got shape {rows.shape}."
        )
    return rows


def check_finite(X: FloatArray, names: tuple[str, ...]) -> None:
    """Refuse NaN and infinity, naming the first row and column that has one."""
    for start in range(0, len(X), _BLOCK):
        block = X[start : start + _BLOCK]
        finite = np.isfinite(block)
        if not finite.all():
            row, column = (int(i) for i in np.argwhere(~finite)[0])
            value = block[row, column]
            raise DataError(
                f"X must be finite, got {'NaN' if np.isnan(value) else f'infinity ({value})'} in "
                f"column {names[column]!r}, row {start + row}."
            )


def _frame_columns(X: Any, names: tuple[str, ...]) -> AnyArray | Any:
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    if missing := [name for name in names if name not in frame.columns]:
        raise DataError(
            f"X must have a column {missing[0]!r}, got {', '.join(map(repr, frame.columns))}."
        )
    return frame.select(names).to_numpy()
