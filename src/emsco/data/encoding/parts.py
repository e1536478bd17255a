"""The encoding of a table that comes in parts, such as files or partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from emsco.costs import FeatureCosts
from emsco.data.encoding.column_code import ColumnCode
from emsco.data.encoding.encoding import Encoding
from emsco.data.encoding.table_columns import TableColumns
from emsco.errors import DataError

__all__ = ["PartCodes", "codes_of_part", "encoding_of_parts"]

PartCodes: TypeAlias = list[ColumnCode | None]  # of each column; None if a part has no value in it

# As `PartedTable.run`.
RunParts: TypeAlias = Callable[..., Sequence[Any]]


def codes_of_part(table: Any, names: tuple[str, ...], what: str) -> PartCodes:
    """Learn the codes of the columns of one part."""
    columns = TableColumns.from_table(table, names, what)
    if columns.known is not None:
        return list(map(ColumnCode, names, columns.known))
    found: PartCodes = []
    for i, name in enumerate(names):
        column = columns.read(i)
        is_empty = column.null_count == len(column)
        found.append(None if is_empty else ColumnCode.learn(name, column, what))
    return found


def encoding_of_parts(
    codes: Sequence[PartCodes],
    parts: Sequence[str],
    costs: FeatureCosts,
    gaps: str,
    run: RunParts,
    what: str,
    places: Sequence[tuple[int, str]],
) -> Encoding:
    """Join the codes of all parts, which messages call `parts`, to the encoding of the table.

    `places` has the number of each part's first row, and the name of what rows are counted in.
    """
    names = costs.table
    joined = [_joined(name, [one[i] for one in codes], parts, what) for i, name in enumerate(names)]
    features = tuple(costs.column_features(names).tolist())
    encoding = Encoding(tuple(joined), costs.names, features, gaps)
    if gaps == "refuse":
        return encoding
    any_missing, all_missing = zip(*run(_missing_in, encoding, each=places), strict=True)
    return encoding.with_missing(np.any(any_missing, axis=0), np.all(all_missing, axis=0), what)


def _joined(
    name: str, codes: Sequence[ColumnCode | None], parts: Sequence[str], what: str
) -> ColumnCode:
    """Join the codes of one column, which must be of one kind."""
    known = [(code, part) for code, part in zip(codes, parts, strict=True) if code is not None]
    if not known:
        raise DataError(f"{what} must have values in column {name!r}, got only missing ones.")
    first, where = known[0]
    for code, part in known:
        if code.kind != first.kind:
            raise DataError(
                f"{what} must have one kind of value in column {name!r}, got {_KINDS[first.kind]} "
                f"in {where} and {_KINDS[code.kind]} in {part}."
            )
    categories = {text for code, _ in known for text in code.categories}
    return ColumnCode.of_categories(name, first.kind, categories, what)


_KINDS = {"number": "numbers", "truth": "truth values", "category": "text"}


def _missing_in(table: Any, encoding: Encoding, first_row: int, what: str) -> tuple[Any, Any]:
    """Tell which columns have a missing value in a part, and which have nothing else."""
    missing = encoding.missing_by_column(encoding.rows(table, first_row, what))
    return missing.any(axis=0), missing.all(axis=0)
