"""CSV files: types of columns, reading in chunks, and words for bad cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from emsco._base.documents import PathLike
from emsco._base.text import first_line
from emsco._base.typing import Kind
from emsco.data.csv_forms import BLOCK, NUMBER, CsvForm, line_of, records_of
from emsco.data.dates import are_dates, date_order, days_of, is_date
from emsco.errors import DataError, Hint, Part, Remedy

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "CsvTypes",
    "Kinds",
    "check_texts",
    "csv_batches",
    "csv_types",
    "date_remedy",
    "read_csv",
    "read_leniently",
    "settled",
    "what_is_bad",
    "with_days",
    "with_missing",
]

_BLOCK = BLOCK
_BAD_VALUE = re.compile(r"In CSV column #(\d+): .*invalid value '(.*)'", re.DOTALL)
_RAGGED = re.compile(r"Expected (\d+) columns, got (\d+)")
_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")

Kinds: TypeAlias = Mapping[str, Kind]


@dataclass(frozen=True, slots=True, eq=False)
class CsvTypes:
    """The type to read each column as, and the columns of dates among those of text."""

    types: dict[str, Any]
    dates: tuple[str, ...] = ()


def _schema(path: PathLike, form: CsvForm) -> pa.Schema:
    """Return types of columns, guessed from the first block."""
    from pyarrow import csv as arrow_csv

    conversion = arrow_csv.ConvertOptions(**_marks(form))
    with arrow_csv.open_csv(path, **_options(form), convert_options=conversion) as reader:
        return reader.schema


def csv_types(
    path: PathLike,
    form: CsvForm,
    columns: Sequence[str],
    names: Sequence[str],
    kinds: Kinds | None,
) -> CsvTypes:
    """Return the type to read each column as: by kind for `names`, text for the others.

    Numbers and truth values may both be written as 1 or as "true"; the first block of the file
    shows the form. It also tells text from numbers if kinds are unknown. If they are known, only
    categories are text. Dates are text, too, unless they are unwanted.
    """
    import pyarrow as pa

    guessed = _schema(path, form)
    types, dates = dict.fromkeys(columns, pa.string()), []
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
        elif kind == "number" and _begins_with_dates(path, form, name, begins):
            types[name] = pa.string()
            dates.append(name)
    return CsvTypes(types, tuple(dates))


def _begins_with_dates(path: PathLike, form: CsvForm, name: str, begins: Any) -> bool:
    """Tell whether the first value of a column is a date."""
    import pyarrow as pa

    if pa.types.is_temporal(begins):
        return True
    if not _is_text(begins):
        return False
    place, markers = form.names.index(name), set(form.among_numbers)
    for _, cells in records_of(path, form):
        cell = cells[place].strip() if place < len(cells) else ""
        if cell not in markers:
            return is_date(cell)
    return False


def read_csv(path: PathLike, form: CsvForm, columns: list[str], types: CsvTypes) -> pa.Table:
    """Read some columns of a CSV file, each as its type; texts stay as they are."""
    from pyarrow import csv as arrow_csv

    conversion = arrow_csv.ConvertOptions(
        include_columns=columns, column_types=types.types, **_marks(form)
    )
    return arrow_csv.read_csv(path, **_options(form), convert_options=conversion)


def read_leniently(path: PathLike, form: CsvForm, columns: list[str], types: CsvTypes) -> pa.Table:
    """Read some columns of a CSV file; one that does not hold what its beginning says is text."""
    import pyarrow as pa

    tried = dict(types.types)
    while True:
        try:
            return read_csv(path, form, columns, CsvTypes(tried))
        except pa.ArrowInvalid as error:
            found = _BAD_VALUE.search(str(error))
            if found is None or tried.get(form.names[int(found[1])], pa.string()) == pa.string():
                raise
            tried[form.names[int(found[1])]] = pa.string()


def csv_batches(
    path: PathLike, form: CsvForm, columns: list[str], types: CsvTypes
) -> Iterator[pa.Table]:
    """Read some columns of a CSV file in batches of rows; the first batch is empty."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # Columns to keep must stay unchanged, so `with_missing` finds missing texts in the others.
    conversion = arrow_csv.ConvertOptions(
        include_columns=columns, column_types=types.types, **_marks(form)
    )
    with arrow_csv.open_csv(path, **_options(form), convert_options=conversion) as reader:
        yield reader.schema.empty_table()
        for batch in reader:
            yield pa.Table.from_batches([batch])


def with_missing(table: pa.Table, texts: Sequence[str], form: CsvForm) -> pa.Table:
    """Return the table with columns `texts` trimmed, and markers such as "NA" as missing values."""
    import pyarrow as pa
    from pyarrow import compute

    missing = pa.array(form.in_text, pa.string())
    for name in texts:
        column = compute.utf8_trim_whitespace(table.column(name))
        found = compute.if_else(compute.is_in(column, value_set=missing), None, column)
        table = table.set_column(table.column_names.index(name), name, found)
    return table


def with_days(
    path: PathLike,
    form: CsvForm,
    table: pa.Table,
    names: Sequence[str],
    first_row: int = 1,
    *,
    may_drop: bool = False,
) -> pa.Table:
    """Return the table with columns of dates as days since 1970-01-01; other values are refused.

    With `may_drop`, the column need not be read at all, and a refusal says so.
    """
    import pyarrow as pa

    for name in names:
        coded = table.column(name).combine_chunks().dictionary_encode()
        texts = [text or "" for text in coded.dictionary.to_pylist()]
        missing = {*form.among_numbers}
        told = [text for text in texts if text.strip() not in missing]
        order = _order(path, form, name, told[0], may_drop) if told else "days"
        days = [None if text.strip() in missing else days_of(text, order) for text in texts]
        wrong = [i for i, text in enumerate(texts) if days[i] is None and text in told]
        places = coded.indices.to_numpy(zero_copy_only=False)
        if wrong:
            row = int(np.argmax(np.isin(places, wrong)))
            where = _where(path, form, name, row + first_row)
            raise DataError(f"{path} must hold dates only, got {texts[places[row]]!r} {where}.")
        found = pa.array(days, pa.float64()).take(coded.indices)
        table = table.set_column(table.column_names.index(name), name, found)
    return table


def settled(path: PathLike, form: CsvForm, names: Sequence[str]) -> CsvForm:
    """Return the form with the order of day and month that all dates of some columns have."""
    if form.dates != "days":
        return form
    import pyarrow as pa

    texts: dict[str, set[str] | None] = {name: set() for name in names}
    types, missing = CsvTypes(dict.fromkeys(names, pa.string())), {*form.among_numbers}
    for batch in csv_batches(path, form, list(names), types):
        for name, known in texts.items():
            new = {text.strip() for text in batch.column(name).unique().to_pylist()} - missing
            if known is not None:
                texts[name] = known | new if are_dates(new) else None
    orders = {name: date_order(known) for name, known in texts.items() if known}
    found = {order for order in orders.values() if order not in (None, "days")}
    if len(found) < 2 and (found or None not in orders.values()):
        return replace(form, dates=found.pop() if found else "days")
    name = next(name for name, order in orders.items() if order != "days")
    got = next(text for text in sorted(texts[name] or ()) if date_order([text]) != "days")
    raise DataError(
        f"{path} must have dates that can be read in one way only, got {got!r} in column "
        f"{name!r}; ",
        Hint(Remedy.DATE_ORDER),
        ".",
    )


def _order(path: PathLike, form: CsvForm, name: str, text: str, may_drop: bool) -> str:
    """Return how to read dates; refuse them if nobody has asked for that."""
    if form.dates is not None:
        return form.dates
    where = _where(path, form, name, _row_with(path, form, name, text))
    raise DataError(
        f"{path} must hold numbers or text, got the date {text.strip()!r} {where}; ",
        *date_remedy(name, may_drop=may_drop),
    )


def date_remedy(name: str, *, may_drop: bool) -> tuple[Part, ...]:
    """Return the way out for a column of dates, as the end of a sentence."""
    drop = (", or ", Hint(Remedy.DROP, (name,))) if may_drop else ()
    return Hint(Remedy.DATES), *drop, "."


def check_texts(path: PathLike, form: CsvForm, table: pa.Table) -> pa.Table:
    """Refuse columns with both text and numbers: a typo must not turn a column into text.

    Columns of nothing but dates become days, or are refused.
    """
    import pyarrow as pa
    from pyarrow import compute

    for name in table.column_names:
        column = table.column(name)
        if not _is_text(column.type):
            continue
        different = [text for text in column.unique().to_pylist() if text]
        if different and is_date(different[0]) and are_dates(different):
            table = with_days(path, form, table, [name], may_drop=True)
            continue
        numbers = [text for text in different if NUMBER.fullmatch(text)]
        is_number = compute.is_in(column, value_set=pa.array(numbers, pa.string())).to_numpy()
        is_text = column.is_valid().to_numpy() & ~is_number
        if not is_number.any() or not is_text.any():
            continue
        mostly_text = is_text.sum() > is_number.sum()
        row = int(np.argmax(is_number if mostly_text else is_text))
        got = column[row].as_py().strip()
        if mostly_text:
            where = _where(path, form, name, row + 1)
            raise DataError(f"{path} must hold text only, got {got!r} {where}.")
        raise DataError(*_not_a_number(path, form, name, got, row + 1))
    return table


def what_is_bad(path: PathLike, form: CsvForm | None, error: Exception) -> tuple[Part, ...]:
    """Return a sentence about a file that PyArrow could not read, with column and line if known."""
    if form and (found := _BAD_VALUE.search(str(error))):
        column, value = int(found[1]), found[2].strip()
        row = _first_row(
            path,
            form,
            lambda cells: [cell.strip() for cell in cells[column : column + 1]] == [value],
        )
        return _not_a_number(path, form, form.names[column], value, row)
    if form and (found := _RAGGED.search(str(error))):
        n_columns = int(found[1])
        row = _first_row(path, form, lambda cells: len(cells) != n_columns)
        where = f" in line {line_of(path, form, row)}" if row else ""
        return (f"{path} must have {n_columns} values in every row, got {found[2]}{where}.",)
    return (f"{path} must be a whole table: {first_line(error)}.",)


def _not_a_number(
    path: PathLike, form: CsvForm, name: str, value: str, row: int | None
) -> tuple[Part, ...]:
    """Return a sentence about a value among numbers, and the way out if it is a number or date."""
    said = f"{path} must hold numbers only, got {value!r} {_where(path, form, name, row)}"
    if is_date(value):
        return said, "; ", Hint(Remedy.DATES), "."
    if _COMMA.fullmatch(value) and form.decimal == ".":
        return said, "; ", Hint(Remedy.DECIMAL_COMMA), "."
    hint = Hint(Remedy.NA, (value,))
    return said, "; if it means a missing value, ", hint, "."


def _where(path: PathLike, form: CsvForm, name: str, row: int | None) -> str:
    line = line_of(path, form, row) if row else None
    return f"in column {name!r}" + (f", line {line}" if line else "")


def _row_with(path: PathLike, form: CsvForm, name: str, text: str) -> int | None:
    """Return the first row with a text in a column."""
    place = form.names.index(name)
    return _first_row(
        path, form, lambda cells: len(cells) > place and cells[place].strip() == text.strip()
    )


def _first_row(path: PathLike, form: CsvForm, is_meant: Callable[[list[str]], bool]) -> int | None:
    """Return the number of the first row that `is_meant` accepts; blank lines do not count."""
    for row, (_, cells) in enumerate(records_of(path, form), start=1):
        if is_meant(cells):
            return row
    return None


def _marks(form: CsvForm) -> dict[str, Any]:
    """Return what ends up as missing in columns of numbers, and their decimal mark.

    PyArrow compares whole cells, so a space before or after a marker makes another one.
    """
    markers = [text for one in form.among_numbers for text in (one, f" {one}", f"{one} ")]
    return {"null_values": list(dict.fromkeys(markers)), "decimal_point": form.decimal}


def _options(form: CsvForm) -> dict[str, Any]:
    from pyarrow import csv as arrow_csv

    names = list(form.names)
    return {
        "read_options": arrow_csv.ReadOptions(
            block_size=_BLOCK, column_names=names, skip_rows_after_names=form.n_skipped
        ),
        "parse_options": arrow_csv.ParseOptions(newlines_in_values=True, delimiter=form.separator),
    }


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
