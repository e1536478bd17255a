"""CSV files: types of columns, reading in chunks, and words for bad cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from emsco._base.documents import PathLike
from emsco._base.text import first_line
from emsco._base.typing import Kind
from emsco.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Kinds",
    "check_texts",
    "csv_batches",
    "csv_schema",
    "csv_types",
    "read_csv",
    "what_is_bad",
    "with_missing",
]

_BLOCK = 2**22  # bytes to read at a time; no row may be longer
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_BAD_VALUE = re.compile(r"In CSV column #(\d+): .*invalid value '(.*)'", re.DOTALL)
_RAGGED = re.compile(r"Expected (\d+) columns, got (\d+)")

Kinds: TypeAlias = Mapping[str, Kind]


def csv_schema(path: PathLike) -> pa.Schema:
    """Return the names of the columns, and types guessed from the first block."""
    from pyarrow import csv as arrow_csv

    with arrow_csv.open_csv(path, **_options()) as reader:
        return reader.schema


def csv_types(
    path: PathLike, columns: Sequence[str], names: Sequence[str], kinds: Kinds | None
) -> dict[str, Any]:
    """Return the type to read each column as: by kind for `names`, text for the others.

    Numbers and truth values may both be written as 1 or as "true"; the first block of the file
    shows the form. It also tells text from numbers if kinds are unknown. If they are known, only
    categories are text.
    """
    import pyarrow as pa

    guessed = csv_schema(path)
    types = dict.fromkeys(columns, pa.string())
    for name in names:
        begins = guessed.field(name).type
        number = pa.types.is_integer(begins) or pa.types.is_floating(begins)
        kind = "number" if kinds is None else kinds.get(name, "number")
        if begins == pa.bool_() or (kind == "truth" and not number):
            types[name] = pa.bool_()
        else:
            types[name] = pa.float64()
        if kind == "category" or (kinds is None and _is_text(begins)):
            types[name] = pa.string()
    return types


def read_csv(path: PathLike, columns: list[str], types: dict[str, Any]) -> pa.Table:
    """Read some columns of a CSV file, each as its type."""
    from pyarrow import csv as arrow_csv

    conversion = arrow_csv.ConvertOptions(
        include_columns=columns, column_types=types, strings_can_be_null=True
    )
    return arrow_csv.read_csv(path, **_options(), convert_options=conversion)


def csv_batches(path: PathLike, columns: list[str], types: dict[str, Any]) -> Iterator[pa.Table]:
    """Read some columns of a CSV file in batches of rows; the first batch is empty."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # Columns to keep must stay unchanged, so `with_missing` finds missing texts in the others.
    conversion = arrow_csv.ConvertOptions(include_columns=columns, column_types=types)
    with arrow_csv.open_csv(path, **_options(), convert_options=conversion) as reader:
        yield reader.schema.empty_table()
        for batch in reader:
            yield pa.Table.from_batches([batch])


def with_missing(table: pa.Table, texts: Sequence[str]) -> pa.Table:
    """Return the table with texts such as "NA" replaced by missing values in columns `texts`."""
    import pyarrow as pa
    from pyarrow import compute
    from pyarrow import csv as arrow_csv

    missing = pa.array(arrow_csv.ConvertOptions().null_values, pa.string())
    for name in texts:
        column = table.column(name)
        found = compute.if_else(compute.is_in(column, value_set=missing), None, column)
        table = table.set_column(table.column_names.index(name), name, found)
    return table


def check_texts(path: PathLike, table: pa.Table) -> None:
    """Refuse columns with both text and numbers: a typo must not turn a column into text."""
    import pyarrow as pa
    from pyarrow import compute

    for name in table.column_names:
        column = table.column(name)
        if not _is_text(column.type):
            continue
        numbers = [
            text for text in column.unique().to_pylist() if text and _NUMBER.fullmatch(text.strip())
        ]
        is_number = compute.is_in(column, value_set=pa.array(numbers, pa.string())).to_numpy()
        is_text = column.is_valid().to_numpy() & ~is_number
        if not is_number.any() or not is_text.any():
            continue
        mostly_text = is_text.sum() > is_number.sum()
        row = int(np.argmax(is_number if mostly_text else is_text))
        rule, got = "text" if mostly_text else "numbers", column[row].as_py().strip()
        raise DataError(
            f"{path} must hold {rule} only, got {got!r} in column {name!r}, row {row + 1}."
        )


def what_is_bad(path: PathLike, error: Exception) -> str:
    """Return a sentence about a file that PyArrow could not read, with column and row if known."""
    if found := _BAD_VALUE.search(str(error)):
        column, value = int(found[1]), found[2].strip()
        name = csv_schema(path).names[column]
        row = _first_row(
            path, lambda cells: [cell.strip() for cell in cells[column : column + 1]] == [value]
        )
        where = f"in column {name!r}" + (f", row {row}" if row else "")
        return f"{path} must hold numbers only, got {value!r} {where}."
    if found := _RAGGED.search(str(error)):
        n_columns = int(found[1])
        row = _first_row(path, lambda cells: len(cells) != n_columns)
        where = f" in row {row}" if row else ""
        return f"{path} must have {n_columns} values in every row, got {found[2]}{where}."
    return f"{path} must be a whole table: {first_line(error)}."


def _first_row(path: PathLike, is_meant: Callable[[list[str]], bool]) -> int | None:
    """Return the number of the first row that `is_meant` accepts; blank lines do not count."""
    import pyarrow as pa

    content = pa.input_stream(path, compression="detect")
    with TextIOWrapper(content, "utf-8-sig", "replace", newline="") as text, suppress(csv.Error):
        rows = (cells for cells in csv.reader(text) if cells)
        next(rows, None)
        for row, cells in enumerate(rows, start=1):
            if is_meant(cells):
                return row
    return None


def _options() -> dict[str, Any]:
    from pyarrow import csv as arrow_csv

    return {
        "read_options": arrow_csv.ReadOptions(block_size=_BLOCK),
        "parse_options": arrow_csv.ParseOptions(newlines_in_values=True),
    }


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
