"""CSV files: types of columns, reading in chunks, and words for bad cells."""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import StringIO, TextIOWrapper
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import numpy as np

from emsco._base.documents import PathLike
from emsco._base.text import brief, counted, first_line, some
from emsco._base.typing import Kind
from emsco.app.files.reading import Reading
from emsco.data.dates import are_dates, date_order, days_of, is_date
from emsco.errors import DataError, Hint, Part, ReadingWarning, Remedy

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 2**22  # bytes to read at a time; no row may be longer
# PyArrow reads digits of ASCII only.
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_COMMA_NUMBER = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?", re.ASCII)
_POINT_NUMBER = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?", re.ASCII)

# A missing value in any column. PyArrow has the same list; it is ours, so that it never changes.
_USUAL: tuple[str, ...] = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "<NA>"),
)
# In columns of numbers these can mean nothing else; among texts, only "?" is taken.
_IN_TEXT = ("?",)
_AMONG_NUMBERS: tuple[str, ...] = (
    *("?", "??", "-", "--", "---", ".", "..", "*", "NAN", "Nan", "NaT", "None", "none", "NONE"),
    *("Null", "na", "Na", "N.A.", "n.a.", "nil", "missing", "Missing", "MISSING", "unknown"),
    *("Unknown", "UNKNOWN", "(null)", "#VALUE!", "#DIV/0!"),
)

_OTHERS = (";", "\t", "|")  # separators that are noticed, if there is no comma
_LOOK = 1_000  # rows to look at


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a CSV file is read.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    separator, decimal : str
    n_skipped : int
        Lines before the first row, without those inside of quotes: blank ones and the names.
    among_numbers, in_text : tuple of str
        Texts that mark a missing value in columns of numbers, and in others.
    unusual : frozenset of str
        Markers to tell the user of, if they occur.
    dates : str or None
        As for `Reading`.
    notes : tuple of tuples of parts
        Sentences about what was noticed.
    """

    names: tuple[str, ...]
    separator: str = ","
    decimal: str = "."
    n_skipped: int = 1
    among_numbers: tuple[str, ...] = (*_USUAL, *_AMONG_NUMBERS)
    in_text: tuple[str, ...] = (*_USUAL, *_IN_TEXT)
    unusual: frozenset[str] = frozenset(_AMONG_NUMBERS)
    dates: str | None = None
    notes: tuple[tuple[Part, ...], ...] = ()


def look_at(path: PathLike, reading: Reading) -> CsvForm:
    """Look at the beginning of a CSV file, and return its form.

    Raises
    ------
    DataError
        If the file is empty, not UTF-8, or has no names of columns.
    """
    head = _head(path)
    is_tabbed = str(path).lower().removesuffix(".gz").endswith(".tsv")
    separator = reading.separator or ("\t" if is_tabbed else _separator(head))
    raw = _records(head, separator, _LOOK)
    n_blank = next((i for i, record in enumerate(raw) if record), len(raw))
    records = [[cell.strip() for cell in record] for record in raw if record]
    if not records:
        raise DataError(f"{path} must be a whole table: Empty CSV file.")
    notes: list[tuple[Part, ...]] = []
    if reading.separator is None and separator != "," and not is_tabbed:
        said = (f"{path} was read with {_called(separator)} between columns.",)
        notes.append(said)
    first, rows = records[0], records[1:]
    if reading.header is None and _has_values(first, rows):
        raise DataError(
            f"{path} must have the names of its columns in the first line, got values "
            f"({', '.join(map(brief, first[:4]))}); ",
            Hint(Remedy.HEADER),
            ".",
        )
    if reading.header is False:
        names, rows = _numbered(len(first)), records
    else:
        names = tuple(name or f"column{i}" for i, name in enumerate(first, start=1))
        if unnamed := [name for name, own in zip(names, first, strict=True) if not own]:
            notes.append((f"{path} has no name for {some(unnamed)}, which counts its columns.",))
    form = CsvForm(
        names,
        separator,
        n_skipped=n_blank + (reading.header is not False),
        dates=reading.dates,
        notes=tuple(notes),
    )
    if reading.na is not None:
        told = tuple(text.strip() for text in reading.na)
        among, inside = (*_USUAL, *told), ("", *told)
        form = replace(form, among_numbers=among, in_text=inside, unusual=frozenset())
    return _with_decimal(path, form, reading.decimal, rows)


def _head(path: PathLike) -> str:
    """Return the first block as text, without its last line if that may be cut."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        content: bytes = stream.read(BLOCK)
        is_whole = len(content) < BLOCK
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path} must be text in UTF-8, got UTF-16; save it as CSV in UTF-8.")
    if not is_whole:
        content = content[: content.rfind(b"\n") + 1] or content
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not is_whole and error.start > len(content) - 4:
            return content[: error.start].decode("utf-8-sig")
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path} must be text in UTF-8, got the byte 0x{content[error.start]:02x} in line "
            f"{line}; save it as CSV in UTF-8."
        ) from None


def _records(text: str, separator: str, most: int) -> list[list[str]]:
    """Return the first records; blank lines are empty ones."""
    found: list[list[str]] = []
    with suppress(csv.Error):  # a cell may be too long, or have a line break of its own kind
        found.extend(islice(csv.reader(StringIO(text, newline=""), delimiter=separator), most))
    return found


def _separator(head: str) -> str:
    """Return the separator: a comma, unless the first line has none but one of the others."""

    def n_cells(separator: str) -> int:
        first = next((one for one in _records(head, separator, 50) if one), [])
        return len(first)

    if n_cells(",") > 1:
        return ","
    found = [separator for separator in _OTHERS if n_cells(separator) > 1]
    return found[0] if len(found) == 1 else ","


def _called(separator: str) -> str:
    return "tabs" if separator == "\t" else f"{separator!r}"


def _numbered(n_columns: int) -> tuple[str, ...]:
    return tuple(f"column{i}" for i in range(1, n_columns + 1))


def _has_values(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first line holds values: numbers, dates, and texts that come again below."""
    plain = [cell for cell in first if cell]
    if not plain or plain in (_counting(plain, 0), _counting(plain, 1)):
        return False
    if not any(_is_value(cell) for cell in plain):
        return False
    for i, cell in enumerate(first):
        if cell and not _is_value(cell) and cell not in {row[i] for row in rows if i < len(row)}:
            return False
    return True


def _counting(cells: Sequence[str], start: int) -> list[str]:
    return [str(i) for i in range(start, start + len(cells))]


def _is_value(cell: str) -> bool:
    is_number = NUMBER.fullmatch(cell) or _COMMA_NUMBER.fullmatch(cell)
    return bool(is_number) or cell == "?" or is_date(cell)


def _with_decimal(
    path: PathLike, form: CsvForm, decimal: str | None, rows: Sequence[Sequence[str]]
) -> CsvForm:
    """Return the form with the decimal mark that is told, or that all numbers have."""
    if decimal is not None:
        return replace(form, decimal=decimal)
    markers, commas, points = set(form.among_numbers), "", False
    for i, name in enumerate(form.names):
        cells = {row[i] for row in rows if i < len(row)} - markers
        points |= any(map(_POINT_NUMBER.fullmatch, cells))
        with_comma = next(filter(_COMMA_NUMBER.fullmatch, sorted(cells)), None)
        if with_comma and all(_is_comma_number(cell) for cell in cells):
            commas = commas or f"{with_comma!r} in column {name!r}"
    if not commas:
        return form
    if points:
        raise DataError(
            f"{path} must have one decimal mark, got {commas} beside numbers with a point; ",
            Hint(Remedy.DECIMAL_POINT),
            ".",
        )
    said = (f"{path} was read with a decimal comma ({commas}); ", Hint(Remedy.DECIMAL_POINT), ".")
    return replace(form, decimal=",", notes=(*form.notes, said))


def _is_comma_number(cell: str) -> bool:
    return bool(_COMMA_NUMBER.fullmatch(cell) or NUMBER.fullmatch(cell)) and "." not in cell


@contextmanager
def _text(path: PathLike) -> Iterator[TextIO]:
    import pyarrow as pa

    content = pa.input_stream(path, compression="detect")
    with TextIOWrapper(content, "utf-8-sig", "replace", newline="") as text:
        yield text


def records_of(path: PathLike, form: CsvForm) -> Iterator[tuple[int, list[str]]]:
    """Yield the line at which each row begins, and its cells; blank lines are no rows."""
    with _text(path) as text, suppress(csv.Error):
        reader, line = csv.reader(text, delimiter=form.separator), 1
        for number, cells in enumerate(reader):
            if cells and number >= form.n_skipped:
                yield line, cells
            line = reader.line_num + 1


def line_of(path: PathLike, form: CsvForm, row: int) -> int | None:
    """Return the line of the file at which a row begins, counted from 1; None if there is none."""
    found = next(islice(records_of(path, form), max(0, row - 1), None), None)
    return None if found is None else found[0]


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


def say_what_was_noticed(
    path: PathLike, form: CsvForm, table: pa.Table, names: Sequence[str]
) -> None:
    """Warn of what was noticed about a file, and of texts that were read as missing values.

    Parameters
    ----------
    path : path
    form : CsvForm
    table : pyarrow.Table
        The columns as read, texts as they are in the file.
    names : sequence of str
        Columns to look at.
    """
    for note in form.notes:
        warnings.warn(ReadingWarning(*note), stacklevel=4)
    if not form.unusual:
        return
    texts = [name for name in names if _is_text_of_markers(table.column(name))]
    with_gaps = [name for name in names if name not in texts and table.column(name).null_count]
    found = _count([table], texts, set(form.in_text) - {""})
    among = form.unusual | set(form.among_numbers) - {""}
    in_numbers = _count(_as_text(path, form, with_gaps), with_gaps, among)
    if found or any(text in form.unusual for _, text in in_numbers):
        found += in_numbers
        columns = list(dict.fromkeys(name for name, _ in found))
        markers = sorted({text for _, text in found})
        were = f"{some(markers)} {'was' if len(markers) == 1 else 'were'} read as missing"
        where = f"{counted(found.total(), 'value')} in {_columns(columns)}"
        warnings.warn(
            ReadingWarning(f"{path}: {were}, {where}; ", Hint(Remedy.KEEP_TEXT), "."), stacklevel=4
        )


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {some(names)}"


def _as_text(path: PathLike, form: CsvForm, names: Sequence[str]) -> Iterable[pa.Table]:
    import pyarrow as pa

    if not names:
        return ()
    return csv_batches(path, form, list(names), CsvTypes(dict.fromkeys(names, pa.string())))


def _count(
    batches: Iterable[pa.Table], names: Sequence[str], markers: Iterable[str]
) -> Counter[tuple[str, str]]:
    """Count how often each marker stands in each column."""
    from pyarrow import compute

    wanted, found = set(markers), Counter[tuple[str, str]]()
    for batch in batches:
        for name in names:
            counts: Any = compute.value_counts(compute.utf8_trim_whitespace(batch.column(name)))
            for one in counts.to_pylist() if len(counts) else ():
                if one["values"] in wanted:
                    found[name, one["values"]] += one["counts"]
    return found


def _is_text_of_markers(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))
