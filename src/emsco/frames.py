"""Tables out, as whichever data frame the user works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from emsco.errors import EMSCOError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Columns", "to_pandas", "to_polars"]

Columns: TypeAlias = Mapping[str, Any]

_MAY_MISS = {"i": "Int64", "u": "Int64", "f": "Float64", "b": "boolean", "O": "object"}


def to_pandas(columns: Columns) -> pd.DataFrame:
    """A pandas table; masked values are missing."""
    frame: pd.DataFrame = _build(columns, "pandas")
    for name, column in columns.items():
        if np.ma.isMaskedArray(column):  # whole numbers stay whole beside missing ones
            kind: Any = _MAY_MISS.get(column.dtype.kind, "string")
            frame[name] = frame[name].astype(kind)
    return frame


def to_polars(columns: Columns) -> pl.DataFrame:
    """A Polars table; masked values are missing."""
    frame: pl.DataFrame = _build(columns, "polars")
    import polars as pl

    kinds = {"i": pl.Int64, "u": pl.Int64, "f": pl.Float64, "b": pl.Boolean}
    untyped = [name for name in columns if frame.schema[name] == pl.Null]  # all are missing
    types: Any = {
        name: kinds.get(np.asarray(columns[name]).dtype.kind, pl.String) for name in untyped
    }
    return frame.cast(types)


def _build(columns: Columns, backend: Literal["pandas", "polars"]) -> Any:
    import narwhals as nw

    plain = {name: _plain(column) for name, column in columns.items()}
    try:
        return nw.from_dict(plain, backend=backend).to_native()
    except ModuleNotFoundError:
        raise EMSCOError(f"{backend} must be installed for this: pip install {backend}") from None


def _plain(column: Any) -> Any:
    return column.tolist() if hasattr(column, "tolist") else column
