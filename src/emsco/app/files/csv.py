"""CSV files: what form they have, what their columns hold, and words for bad cells.

The form is noticed by a few rules of our own. On the files of the tests, `csv.Sniffer`, clevercsv
and DuckDB each miss a separator or take numbers for names, and none of them knows decimal commas,
markers of missing values, or the line of a bad cell.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import TextIOWrapper
from itertools import islice
from typing import Any, Self, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pyarrow import csv as arrow_csv

from emsco._base.documents import PathLike
from emsco._base.separators import first_records, separator_of
from emsco._base.text import brief, counted, some
from emsco._base.typing import Kind
from emsco.app.files.reading import Reading
from emsco.data.dates import are_dates, date_order, days_of, is_date
from emsco.errors import DataError, ReadingWarning

_BLOCK = 2**22  # bytes to read at a time; no row may be longer
DATES = "dates 'days' makes them days since 1970-01-01"  # the end of a sentence
_LOOK = 1_000  # rows that show the form

# PyArrow reads digits of ASCII only.
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_COMMA_NUMBER = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?", re.ASCII)
_POINT_NUMBER = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?", re.ASCII)

# What PyArrow says of a cell and of a row that it cannot read.
_BAD_VALUE = re.compile(r"In CSV column #(\d+): .*invalid value '(.*)'", re.DOTALL)
_RAGGED = re.compile(r"Expected (\d+) columns, got (\d+)")

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

Kinds: TypeAlias = Mapping[str, Kind]


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file and how to read it.

    Attributes
    ----------
    path : path
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
    notes : tuple of str
        Sentences about what was noticed.
    """

    path: PathLike
    names: tuple[str, ...]
    separator: str = ","
    decimal: str = "."
    n_skipped: int = 1
    among_numbers: tuple[str, ...] = (*_USUAL, *_AMONG_NUMBERS)
    in_text: tuple[str, ...] = (*_USUAL, *_IN_TEXT)
    unusual: frozenset[str] = frozenset(_AMONG_NUMBERS)
    dates: str | None = None
    notes: tuple[str, ...] = ()

    # The form of the file

    @classmethod
    def look_at(cls, path: PathLike, reading: Reading) -> Self:
        """Look at the beginning of a file to see how to read it.

        Raises
        ------
        DataError
            If the file is empty, not UTF-8, or has no names of columns.
        """
        head = _head(path)
        is_tabbed = str(path).lower().removesuffix(".gz").endswith(".tsv")
        separator = reading.separator or ("\t" if is_tabbed else separator_of(head))
        raw = first_records(head, separator, _LOOK)
        n_blank = next((i for i, record in enumerate(raw) if record), len(raw))
        records = [[cell.strip() for cell in record] for record in raw if record]
        if not records:
            raise DataError(f"{path} must be a whole table: Empty CSV file.")
        notes: list[str] = []
        if reading.separator is None and separator != "," and not is_tabbed:
            called = "tabs" if separator == "\t" else repr(separator)
            notes.append(f"{path} was read with {called} between columns.")
        first, rows = records[0], records[1:]
        if reading.header is None and _has_values(first, rows):
            raise DataError(
                f"{path} must have the names of its columns in the first line, got values "
                f"({', '.join(map(brief, first[:4]))}); --no-header calls them column1, column2, "
                "…; --header takes them as names."
            )
        if reading.header is False:
            rows = records
            first = [""] * len(first)
        names = tuple(name or f"column{i}" for i, name in enumerate(first, start=1))
        unnamed = [name for name, given in zip(names, first, strict=True) if not given]
        if unnamed and reading.header is not False:
            notes.append(f"{path} has no name for {some(unnamed)}, which counts its columns.")
        file = cls(
            path,
            names,
            separator,
            n_skipped=n_blank + (reading.header is not False),
            dates=reading.dates,
            notes=tuple(notes),
        )
        if reading.na is not None:
            markers = tuple(text.strip() for text in reading.na)
            file = replace(
                file,
                among_numbers=(*_USUAL, *markers),
                in_text=("", *markers),
                unusual=frozenset(),
            )
        if reading.decimal is not None:
            return replace(file, decimal=reading.decimal)
        return file._with_decimal(rows)

    def _with_decimal(self, rows: Sequence[Sequence[str]]) -> Self:
        """Return the file with a decimal comma, if all numbers of these rows have one."""
        comma, has_points = "", False
        for i, name in enumerate(self.names):
            cells = {row[i] for row in rows if i < len(row)}.difference(self.among_numbers)
            has_points |= any(map(_POINT_NUMBER.fullmatch, cells))
            with_comma = next(filter(_COMMA_NUMBER.fullmatch, sorted(cells)), None)
            # A decimal comma must not contradict another number of the column.
            if (
                with_comma
                and not comma
                and all(
                    "." not in cell and (_COMMA_NUMBER.fullmatch(cell) or NUMBER.fullmatch(cell))
                    for cell in cells
                )
            ):
                comma = f"{with_comma!r} in column {name!r}"
        if not comma:
            return self
        if has_points:
            raise DataError(
                f"{self.path} must have one decimal mark, got {comma} beside numbers with a point; "
                "decimal '.' keeps it as text."
            )
        note = f"{self.path} was read with a decimal comma ({comma}); decimal '.' keeps it as text."
        return replace(self, decimal=",", notes=(*self.notes, note))

    def with_marker(self, marker: str) -> Self:
        """Return the file with one more marker of missing values."""
        return replace(
            self,
            among_numbers=(*self.among_numbers, marker),
            in_text=(*self.in_text, marker),
        )

    def with_date_order(self, names: Iterable[str]) -> Self:
        """Return the file with the order of day and month that all dates of some columns have."""
        if self.dates != "days":
            return self
        # None stands for a column that holds something else than dates.
        texts: dict[str, set[str] | None] = {name: set() for name in names}
        for batch in self._batches_of_text(list(texts)):
            for name, known in texts.items():
                new = {text.strip() for text in batch.column(name).unique().to_pylist()}
                new.difference_update(self.among_numbers)
                if known is not None:
                    texts[name] = known | new if are_dates(new) else None
        orders = {name: date_order(known) for name, known in texts.items() if known}
        clear = {order for order in orders.values() if order not in (None, "days")}
        if len(clear) < 2 and (clear or None not in orders.values()):
            return replace(self, dates=clear.pop() if clear else "days")
        name = next(name for name, order in orders.items() if order != "days")
        got = next(text for text in sorted(texts[name] or ()) if date_order([text]) != "days")
        raise DataError(
            f"{self.path} must have dates that can be read in one way only, got {got!r} in column "
            f"{name!r}; dates 'day-first' or 'month-first' says which."
        )

    # Rows as text, and their lines

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line at which each row begins, and its cells; blank lines are no rows."""
        content = pa.input_stream(self.path, compression="detect")
        with (
            TextIOWrapper(content, "utf-8-sig", "replace", newline="") as text,
            suppress(csv.Error),
        ):
            reader, line = csv.reader(text, delimiter=self.separator), 1
            for number, cells in enumerate(reader):
                if cells and number >= self.n_skipped:
                    yield line, cells
                line = reader.line_num + 1

    def line_of(self, row: int) -> int | None:
        """Return the line at which a row begins, both counted from 1; None if there is none."""
        lines = (line for line, _ in self.records())
        return next(islice(lines, max(0, row - 1), None), None)

    def _where(self, name: str, *, row: int | None = None, value: str = "") -> str:
        """Return words for a column and a line: that of a row, or the first with a value there."""
        place = self.names.index(name)
        if row is not None:
            line = self.line_of(row)
        else:
            lines = (
                line
                for line, cells in self.records()
                if len(cells) > place and cells[place].strip() == value
            )
            line = next(lines, None)
        return f"in column {name!r}" + (f", line {line}" if line else "")

    # Columns

    def types(
        self, columns: Sequence[str], names: Sequence[str], kinds: Kinds | None
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the type to read each column as, and the columns of dates among those of text.

        Types go by kind for `names`; other columns are text. Numbers and truth values may both be
        written as 1 or as "true"; the first block of the file shows the form. It also tells text
        from numbers if kinds are unknown. If they are known, only categories are text. Dates are
        text, too, unless they are unwanted.
        """
        with arrow_csv.open_csv(self.path, **self._options()) as reader:
            guessed = reader.schema
        types, dates = dict.fromkeys(columns, pa.string()), []
        for name in names:
            begins = guessed.field(name).type
            is_number = pa.types.is_integer(begins) or pa.types.is_floating(begins)
            kind = "number" if kinds is None else kinds.get(name, "number")
            if kind == "category" or (kinds is None and begins == pa.string()):
                continue
            if kind == "number" and self._begins_with_dates(name, begins):
                dates.append(name)
            elif pa.types.is_boolean(begins) or (kind == "truth" and not is_number):
                types[name] = pa.bool_()
            else:
                types[name] = pa.float64()
        return types, dates

    def _begins_with_dates(self, name: str, begins: Any) -> bool:
        """Tell whether the first value of a column is a date."""
        if begins != pa.string():
            return bool(pa.types.is_temporal(begins))
        place = self.names.index(name)
        for _, cells in self.records():
            cell = cells[place].strip() if place < len(cells) else ""
            if cell not in self.among_numbers:
                return is_date(cell)
        return False

    def read(self, columns: Sequence[str], types: Mapping[str, Any]) -> pa.Table:
        """Read some columns, each as its type; texts stay as they are."""
        return arrow_csv.read_csv(self.path, **self._options(columns, types))

    def read_leniently(self, columns: Sequence[str]) -> pa.Table:
        """Read some columns; one that does not hold what its beginning says is text."""
        types, _ = self.types(columns, columns, None)
        while True:
            try:
                return self.read(columns, types)
            except pa.ArrowInvalid as error:
                bad = _BAD_VALUE.search(str(error))
                name = self.names[int(bad[1])] if bad else ""
                if types.get(name, pa.string()) == pa.string():
                    raise
                types[name] = pa.string()

    def batches(self, columns: Sequence[str], types: Mapping[str, Any]) -> Iterator[pa.Table]:
        """Read some columns in batches of rows; the first batch is empty."""
        # Columns to keep must stay unchanged, so `with_missing` finds missing texts in the others.
        with arrow_csv.open_csv(self.path, **self._options(columns, types)) as reader:
            yield reader.schema.empty_table()
            for batch in reader:
                yield pa.Table.from_batches([batch])

    def _batches_of_text(self, names: Sequence[str]) -> Iterable[pa.Table]:
        return self.batches(names, dict.fromkeys(names, pa.string())) if names else ()

    def _options(
        self, columns: Sequence[str] | None = None, types: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        # PyArrow compares whole cells, so a space before or after a marker makes another one.
        markers = [text for one in self.among_numbers for text in (one, f" {one}", f"{one} ")]
        return {
            "read_options": arrow_csv.ReadOptions(
                block_size=_BLOCK,
                column_names=list(self.names),
                skip_rows_after_names=self.n_skipped,
            ),
            "parse_options": arrow_csv.ParseOptions(
                newlines_in_values=True, delimiter=self.separator
            ),
            "convert_options": arrow_csv.ConvertOptions(
                include_columns=columns,
                column_types=types,
                null_values=list(dict.fromkeys(markers)),
                decimal_point=self.decimal,
            ),
        }

    # Features and labels

    def features_and_target(
        self, names: Sequence[str], target: str, kinds: Kinds | None
    ) -> pa.Table:
        """Read the features and the labels; find out what columns hold if kinds are unknown."""
        columns = [*names, target]
        types, dates = self.types(columns, names, kinds)
        table = self.read(columns, types)
        if kinds is None:
            self.warn_of_what_was_noticed(table, names)
        texts = [name for name in columns if types[name] == pa.string()]
        file = self.with_date_order(name for name in texts if name != target)
        table = file.with_missing(table, [name for name in texts if name not in dates])
        table = file.with_days(table, dates)
        if kinds is not None:
            return table
        features = file.check_texts(table.select(names))
        return features.append_column(target, table.column(target))

    def chunks(
        self,
        columns: Sequence[str],
        keep: Sequence[str],
        kinds: Kinds,
        target: str | None,
    ) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield rows as they are in the file, and the same with missing values and days."""
        labels = [] if target is None else [target]
        wanted = list(dict.fromkeys([*columns, *keep, *labels]))
        texts = [name for name in columns if kinds.get(name) == "category"] + labels
        types, dates = self.types(wanted, columns, kinds)
        file, first_row = self.with_date_order(dates), 1
        for batch in file.batches(wanted, types):
            yield batch, file.with_days(file.with_missing(batch, texts), dates, first_row)
            first_row += batch.num_rows

    def marked(self, columns: Sequence[str], marker: str) -> Iterator[pa.Table]:
        """Yield which cells hold a marker, in the batches of `chunks`."""
        for batch in self._batches_of_text(columns):
            texts = {name: compute.utf8_trim_whitespace(batch.column(name)) for name in columns}
            yield pa.table({name: compute.equal(text, marker) for name, text in texts.items()})

    def with_missing(self, table: pa.Table, names: Iterable[str]) -> pa.Table:
        """Return the table with columns of text trimmed, and markers such as "NA" as missing."""
        missing = pa.array(self.in_text, pa.string())
        for name in names:
            column = compute.utf8_trim_whitespace(table.column(name))
            column = compute.if_else(compute.is_in(column, value_set=missing), None, column)
            table = _with_column(table, name, column)
        return table

    def with_days(self, table: pa.Table, names: Iterable[str], first_row: int = 1) -> pa.Table:
        """Return the table with columns of dates as days since 1970-01-01; refuse other values."""
        for name in names:
            coded = table.column(name).combine_chunks().dictionary_encode()
            texts = [(text or "").strip() for text in coded.dictionary.to_pylist()]
            known = [text not in self.among_numbers for text in texts]
            if any(known) and self.dates is None:
                date = texts[known.index(True)]
                where = self._where(name, value=date)
                raise DataError(
                    f"{self.path} must hold numbers or text, got the date {date!r} {where}; "
                    f"{DATES}."
                )
            order = self.dates or "days"
            days = [
                days_of(text, order) if is_known else None
                for text, is_known in zip(texts, known, strict=True)
            ]
            wrong = [i for i, day in enumerate(days) if day is None and known[i]]
            if wrong:
                places = coded.indices.to_numpy(zero_copy_only=False)
                row = int(np.argmax(np.isin(places, wrong)))
                where = self._where(name, row=row + first_row)
                text = texts[places[row]]
                raise DataError(f"{self.path} must hold dates only, got {text!r} {where}.")
            table = _with_column(table, name, pa.array(days, pa.float64()).take(coded.indices))
        return table

    def check_texts(self, table: pa.Table) -> pa.Table:
        """Refuse columns with both text and numbers: a typo must not turn a column into text.

        Columns of nothing but dates become days, or are refused.
        """
        for name in table.column_names:
            column = table.column(name)
            if column.type != pa.string():
                continue
            different = [text for text in column.unique().to_pylist() if text]
            if different and are_dates(different):
                table = self.with_days(table, [name])
                continue
            numbers = [text for text in different if NUMBER.fullmatch(text)]
            is_number = compute.is_in(column, value_set=pa.array(numbers, pa.string())).to_numpy()
            is_text = column.is_valid().to_numpy() & ~is_number
            if not is_number.any() or not is_text.any():
                continue
            mostly_text = is_text.sum() > is_number.sum()
            row = int(np.argmax(is_number if mostly_text else is_text))
            got, where = column[row].as_py(), self._where(name, row=row + 1)
            if mostly_text:
                raise DataError(f"{self.path} must hold text only, got {got!r} {where}.")
            raise DataError(self._not_a_number(got, where))
        return table

    # Words

    def words_for(self, error: Exception) -> str | None:
        """Return a sentence about a cell or row that PyArrow could not read; None if neither."""
        if bad := _BAD_VALUE.search(str(error)):
            value = bad[2].strip()
            where = self._where(self.names[int(bad[1])], value=value)
            return self._not_a_number(value, where)
        if ragged := _RAGGED.search(str(error)):
            lines = (line for line, cells in self.records() if len(cells) != int(ragged[1]))
            line = next(lines, None)
            where = f" in line {line}" if line else ""
            return f"{self.path} must have {ragged[1]} values in every row, got {ragged[2]}{where}."
        return None

    def _not_a_number(self, value: str, where: str) -> str:
        """Return a sentence about a value among numbers, with the way out."""
        way_out = f"na {value!r} makes it a missing value"
        if is_date(value):
            way_out = DATES
        elif _COMMA_NUMBER.fullmatch(value) and self.decimal == ".":
            way_out = "decimal ',' reads such numbers"
        return f"{self.path} must hold numbers only, got {value!r} {where}; {way_out}."

    def warn_of_what_was_noticed(self, table: pa.Table, names: Sequence[str]) -> None:
        """Warn of what was noticed about the file, and of texts that were read as missing values.

        Parameters
        ----------
        table : pyarrow.Table
            The columns as read, texts as they are in the file.
        names : sequence of str
            Columns to look at.
        """
        for note in self.notes:
            warnings.warn(ReadingWarning(note), stacklevel=4)
        if not self.unusual:
            return
        texts = [name for name in names if table.column(name).type == pa.string()]
        with_gaps = [name for name in names if name not in texts and table.column(name).null_count]
        counts = _count([table], texts, {*self.in_text} - {""})
        among_numbers = _count(
            self._batches_of_text(with_gaps), with_gaps, {*self.among_numbers} - {""}
        )
        if not counts and self.unusual.isdisjoint(text for _, text in among_numbers):
            return
        counts += among_numbers
        columns = list(dict.fromkeys(name for name, _ in counts))
        markers = sorted({text for _, text in counts})
        warnings.warn(
            ReadingWarning(
                f"{self.path}: {some(markers)} {'was' if len(markers) == 1 else 'were'} read as "
                f"missing, {counted(counts.total(), 'value')} in "
                f"column{'s' if len(columns) > 1 else ''} {some(columns)}; na '' keeps them."
            ),
            stacklevel=4,
        )


def _head(path: PathLike) -> str:
    """Return the first block as text, without its last line if that may be cut."""
    with pa.input_stream(path, compression="detect") as stream:
        content: bytes = stream.read(_BLOCK)
    is_whole = len(content) < _BLOCK
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path} must be text in UTF-8, got UTF-16; save it as CSV in UTF-8.")
    if not is_whole:
        content = content[: content.rfind(b"\n") + 1] or content
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not is_whole and error.start > len(content) - 4:  # a character that is cut
            return content[: error.start].decode("utf-8-sig")
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path} must be text in UTF-8, got the byte 0x{content[error.start]:02x} in line "
            f"{line}; save it as CSV in UTF-8."
        ) from None


def _has_values(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first line holds values: numbers, dates, and texts that come again below."""
    cells = [cell for cell in first if cell]
    if any(cells == list(map(str, range(start, start + len(cells)))) for start in (0, 1)):
        return False  # numbers that count the columns are names
    if not any(map(_is_value, cells)):
        return False
    return all(
        not cell or _is_value(cell) or any(cell == row[i] for row in rows if i < len(row))
        for i, cell in enumerate(first)
    )


def _is_value(cell: str) -> bool:
    is_number = NUMBER.fullmatch(cell) or _COMMA_NUMBER.fullmatch(cell)
    return bool(is_number) or cell == "?" or is_date(cell)


def _with_column(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def _count(
    batches: Iterable[pa.Table], names: Sequence[str], markers: set[str]
) -> Counter[tuple[str, str]]:
    """Count how often each marker stands in each column."""
    counts = Counter[tuple[str, str]]()
    for batch in batches:
        for name in names:
            texts: Any = compute.value_counts(compute.utf8_trim_whitespace(batch.column(name)))
            for one in texts.to_pylist():
                if one["values"] in markers:
                    counts[name, one["values"]] += one["counts"]
    return counts
