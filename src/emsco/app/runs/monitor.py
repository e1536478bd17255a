"""The monitor of a run: open it, and let it count the rows of files."""

from __future__ import annotations

import hashlib
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from emsco._base.digests import DIGEST
from emsco._base.documents import PathLike
from emsco._base.text import counted, listed
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco._base.workers import slices
from emsco.app.files.csv import CsvFile
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.app.files.table_files import Chunk, by_line, column_names, read_chunks
from emsco.app.runs.evaluate import warn_of_searched
from emsco.app.runs.run import CERTIFICATE, Run
from emsco.cascade import Cascade
from emsco.cascade.monitor import LookCounts, Monitor, Source
from emsco.data.labels import as_classes, labels_of, positions_of
from emsco.data.row_prints import Lookup, RowPrints
from emsco.data.rows import arrow_kind
from emsco.errors import DataError, DataWarning, ParameterError
from emsco.front import Certificate

_LOOK = 100  # rows between two looks at a file in order
_MOST_UNLIKE = 3  # columns that are named
# Rows with a value unlike those of training, and their share, from which a file warns.
_FEWEST_UNLIKE, _MANY_UNLIKE = 10, 0.05


def monitor_file(
    monitor: Monitor,
    path: PathLike,
    target: str | None = None,
    *,
    late: bool = False,
    again: bool = False,
    in_order: bool = False,
    report: Callable[[int], None] | None = None,
    reading: Reading = AS_FOUND,
    searched: RowPrints | None = None,
) -> Monitor:
    """Decide the rows of a file, count them, and return the monitor that knows them.

    The file is processed in chunks, so it may be larger than memory. It is one look, whatever its
    size, so the order of its rows does not matter, unless `in_order`.

    Parameters
    ----------
    monitor : Monitor
    path : path
        CSV or Parquet with the columns of the cascade, in any order.
    target : str, optional
        Column with the true labels, empty where one is not known. By default there are no labels.
    late : bool
        The rows were counted before without labels: now count their labels alone.
    again : bool
        Also count rows that were counted before.
    in_order : bool
        The rows are listed in the order in which they came: look after every 100 of them, which
        finds a change sooner. A file that is sorted by something else could raise a false alarm.
    report : callable, optional
        ``report(n_rows)`` receives the number of rows decided so far.
    reading : Reading, optional
        How to read the file, such as ``Run.reading``.
    searched : RowPrints, optional
        Fingerprints of the rows of the search, such as ``Run.front.searched``. A warning says if
        rows of the file are among them.

    Raises
    ------
    DataError
        If the file has no rows, or begins with the rows of a file that was counted before.
    """
    cascade, seen = monitor.cascade, _Seen(monitor, late)
    lookup = None if searched is None else Lookup(searched)
    looks: list[LookCounts] = []
    unlike = np.zeros(2 * len(cascade.columns), dtype=np.int64)
    for rows, inputs, truth in _labelled_rows(cascade, path, target, reading):
        looks += [
            monitor.count(cascade.decide_rows(rows[part]), truth[part], late=late)
            for part in slices(len(rows), _LOOK if in_order else len(rows))
        ]
        if not in_order:
            # One look for the whole file: its chunks are counted together.
            looks = [sum(looks[1:], looks[0])]
        seen.add(inputs, truth)
        unlike += cascade.encoding.unlike(rows, cascade.columns).sum(axis=0)
        if lookup is not None:
            lookup.add(inputs)
        if report:
            report(seen.n_rows)
    if not looks:
        raise DataError(f"{path} must have rows, got none.")
    if late and not any(look.n_labelled for look in looks):
        raise DataError(f"{path} must have labels that came late, got none.")
    if not again:
        # Before the looks count: a file that was counted twice would be evidence twice.
        seen.check(path)
    if lookup is not None:
        warn_of_searched(lookup, seen.n_rows, path)
    _warn_of_unlike(cascade, unlike, seen.n_rows, path)
    for look in looks:
        monitor = monitor.look(look)
    return replace(monitor, state=monitor.state.remember(seen.source(Path(path).name)))


def _warn_of_unlike(cascade: Cascade, unlike: IntArray, n_rows: int, path: PathLike) -> None:
    """Warn of columns in which many rows are unlike the training rows, as after a change of unit.

    That shows at once and without labels; an alarm needs labels, and many of them.
    """
    said = [
        f"{words} in {n_unlike:,} of {n_rows:,} rows"
        for words, n_unlike in zip(
            cascade.encoding.unlike_in_words(cascade.columns), unlike.tolist(), strict=True
        )
        if n_unlike >= max(_FEWEST_UNLIKE, _MANY_UNLIKE * n_rows)
    ]
    if said:
        warnings.warn(
            DataWarning(f"{path} is unlike the training rows: {listed(said, _MOST_UNLIKE)}."),
            stacklevel=3,
        )


def _labelled_rows(
    cascade: Cascade, path: PathLike, target: str | None, reading: Reading
) -> Iterator[tuple[FloatArray, FloatArray, IntArray]]:
    """Yield the rows of a file as numbers, to decide and to recognise, and positions of labels.

    The position of an unknown label is -1.
    """
    bought, kinds = cascade.columns, cascade.encoding.kinds
    there = set(column_names(path, reading)).difference(bought)
    # Columns that the design does not buy help to tell rows apart, if the file has them.
    more = [name for name in kinds if name in there]
    keep = more if target is None else [target, *more]
    for chunk in read_chunks(path, bought, keep, kinds, reading=reading):
        if chunk.table.num_rows:
            with by_line(path, reading):
                rows = cascade.rows(chunk.table, chunk.first + 1, str(path))
                truth = np.full(len(rows), -1)
                if target is not None:
                    truth = _truth(chunk, target, cascade, path)
            yield rows, _to_recognise(rows, chunk, cascade), truth


def _to_recognise(rows: FloatArray, chunk: Chunk, cascade: Cascade) -> FloatArray:
    """Return the inputs of rows, those that the design does not buy as they are in the file.

    They tell rows apart that are decided alike. Columns may be missing, and no value is refused.
    """
    encoding, bought = cascade.encoding, set(cascade.columns)
    values = rows.copy()
    for code, places in zip(encoding.codes, pairwise(encoding.starts), strict=True):
        if code.name in bought:
            continue
        inputs = values[:, slice(*places)]
        inputs[:] = np.nan
        if code.name in chunk.kept:
            column = chunk.with_gaps(code.name)
            # Whatever the file says there, it must be recognised, not understood.
            if code.kind == "category" and arrow_kind(column) == "category":
                code.fill(inputs[:, : code.n_values], column, "")
            else:
                inputs[:, 0] = _numbers(column, chunk)
            if code.marks_missing:
                inputs[:, -1] = np.isnan(inputs[:, 0])
    return values


def _numbers(column: Any, chunk: Chunk) -> FloatArray:
    """Return a column as numbers; values that are none have a number of their own."""
    is_text = pa.types.is_string(column.type)
    if is_text and isinstance(chunk.file, CsvFile) and chunk.file.decimal != ".":
        column = compute.replace_substring(column, chunk.file.decimal, ".")
    try:
        numbers: FloatArray = column.cast(pa.float64()).to_numpy()
    except pa.ArrowException:
        numbers = np.empty(len(column))
        for i, value in enumerate(column.to_pylist()):
            text = "nan" if value is None else str(value).strip().lower()
            text = {"true": "1", "false": "0"}.get(text, text)
            try:
                numbers[i] = float(text)
            except ValueError:
                # Equal texts have equal numbers; which one does not matter.
                numbers[i] = zlib.crc32(text.encode())
    return numbers


def _truth(chunk: Chunk, target: str, cascade: Cascade, path: PathLike) -> IntArray:
    column: Any = chunk.with_gaps(target)
    missing: AnyArray = column.is_null(nan_is_null=True).to_numpy()
    truth = np.full(len(missing), -1)
    if missing.all():
        return truth
    # Rows keep their numbers for messages if a label stands in for those that are missing.
    stand_in = column[int(np.argmin(missing))]
    filled = compute.if_else(pa.array(missing), stand_in, column)
    labels = labels_of(filled, path, chunk.first + 1, cascade.classes)
    same = as_classes(labels, cascade.classes, path, chunk.first + 1)
    truth[~missing] = positions_of(same, cascade.classes)[~missing]
    return truth


class _Seen:
    """Digests of the rows of a file, to recognise files that were counted before."""

    def __init__(self, monitor: Monitor, late: bool) -> None:
        self._late = late
        self._sources = monitor.state.sources
        self._lengths = sorted({source.n_rows for source in self._sources})
        self._rows, self._labels = hashlib.sha256(), hashlib.sha256()
        self._earlier: Source | None = None
        self._is_labelled = False
        self.n_rows = 0

    def add(self, rows: FloatArray, truth: IntArray) -> None:
        """Add rows; also compare the beginning of the file with earlier, shorter files."""
        end = self.n_rows + len(rows)
        # Earlier files may end inside this chunk, and the digest is compared at each such end.
        inside = [n - self.n_rows for n in self._lengths if self.n_rows < n < end]
        for first, last in zip([0, *inside], [*inside, len(rows)], strict=True):
            part, labels = rows[first:last], truth[first:last]
            plain = np.where(np.isnan(part), np.nan, part).astype("<f8")  # NaN has many patterns
            self._rows.update(np.ascontiguousarray(plain).data)
            self._labels.update(labels.astype("<i2").tobytes())
            self._is_labelled |= bool((labels >= 0).any())
            self.n_rows += len(part)
            self._earlier = self._earlier or self._same()

    def source(self, name: str = "") -> Source:
        """Return what is remembered of the rows so far."""
        labels = DIGEST + self._labels.hexdigest() if self._is_labelled else ""
        return Source(name, self.n_rows, DIGEST + self._rows.hexdigest(), labels, self._late)

    def _same(self) -> Source | None:
        """Return an earlier file with these rows that was counted in the same way."""
        now = self.source()
        for source in self._sources:
            # Late labels are compared with labels, new rows with rows that were not late.
            if (source.n_rows, source.rows) == (now.n_rows, now.rows) and (
                source.labels == now.labels != "" if self._late else not source.late
            ):
                return source
        return None

    def check(self, path: PathLike) -> None:
        """Refuse a file that begins with rows, or with late labels, that were counted before."""
        if (earlier := self._earlier) is None:
            return
        waiting = self._is_labelled and not earlier.labels and earlier.n_rows == self.n_rows
        whole = "the" if earlier.n_rows == self.n_rows else "at its beginning the"
        way_out = "late counts their labels alone" if waiting else "again counts them once more"
        raise DataError(
            f"{path} must have new rows, got {whole} {counted(earlier.n_rows, 'row')} of "
            f"{earlier.name!r} again; {way_out}."
        )


def open_monitor(
    run: Run, state: Path, limits: Mapping[str, Any], delta: float | None, reset: bool = False
) -> Monitor:
    """Continue the monitor of a run, or start one with promises such as ``{"min_accuracy": 0.95}``.

    A new monitor without promises has those of the run's certificate, which must be for the
    deployed cascade. One that starts anew without promises keeps those that it had.

    Parameters
    ----------
    run : Run
    state : Path
        File of the monitor; it need not exist.
    limits : mapping
        Promises by parameter, as for `Monitor`. They cannot change while a monitor goes on.
    delta : float or None
        Chance of a false alarm; by default that of the monitor or the certificate, else 0.05.
    reset : bool
        Start anew, even if the file exists.
    """
    if state.exists() and not (reset and limits):
        known = Monitor.load(state, run.cascade)
        chance = known.delta if delta is None else delta
        asked = Monitor(run.cascade, **{**(limits or known.limits), "delta": chance})
        if reset:
            return asked
        # The order of promises does not matter.
        same = {one.promise for one in asked.promises} == {one.promise for one in known.promises}
        if not same or asked.delta != known.delta:
            raise ParameterError(
                f"promises must be those of {str(state)!r} ({_in_words(known)}), got "
                f"{_in_words(asked)}; reset starts a new one."
            )
        return known
    signed = run.folder / CERTIFICATE
    # Promises on the command line come before those of a certificate.
    if limits or not signed.exists():
        return Monitor(run.cascade, **limits, delta=0.05 if delta is None else delta)
    certified = Monitor.from_certificate(Certificate.load(signed), run.cascade)
    return certified if delta is None else Monitor(run.cascade, **certified.limits, delta=delta)


def _in_words(monitor: Monitor) -> str:
    promises = ", ".join(str(one.promise) for one in monitor.promises)
    return f"{promises}, delta {monitor.delta:g}"


def target_of(
    run: Run, path: PathLike, target: str | None, reading: Reading = AS_FOUND
) -> str | None:
    """Return the column with the labels: as asked for, or the run's own if the file has it."""
    usual: str = run.about["files"]["target"]
    return usual if target is None and usual in column_names(path, reading) else target
