"""Convert the state of a monitor to plain values for files and back, checking every value."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from emsco._base.documents import Fields, is_number
from emsco.cascade.cascade import Cascade
from emsco.trust.monitoring import MOST_LOOKS, MOST_SOURCES, Look, MonitorState, Source
from emsco.trust.promises import Promise, promises_from_fields
from emsco.trust.watching import MOST_STARTS, Alarm, MonitoredPromise, Start

__all__ = ["FORMAT", "promises_and_delta", "state_from_fields", "to_dict"]

FORMAT = 1


def to_dict(cascade: Cascade, delta: float, state: MonitorState) -> dict[str, Any]:
    """Return plain values."""
    return {
        "cascade": cascade.stages.identity,
        "delta": float(delta),
        "n_rows": state.n_rows,
        "n_answered": state.n_answered,
        "n_labelled": state.n_labelled,
        "promises": [_promise_to_dict(promise) for promise in state.promises],
        "looks": [
            [look.n_rows, [list(counts) for counts in look.counts], list(look.log_capital)]
            for look in state.looks
        ],
        "files": [asdict(source) for source in state.sources],
    }


def _promise_to_dict(one: MonitoredPromise) -> dict[str, Any]:
    return {
        **one.promise.to_dict(),
        "counts": list(one.counts),
        "starts": [[start.number, start.row, *start.counts] for start in one.starts],
        "n_restarts": one.n_restarts,
        "log_capital": one.log_capital,
        "log_evidence": one.log_evidence,
        "alarm": None if one.alarm is None else asdict(one.alarm),
    }


def promises_and_delta(fields: Fields, cascade: Cascade) -> tuple[tuple[Promise, ...], float]:
    """Read what is promised, and the chance of a false alarm."""
    delta = fields.number("delta", 0, 1)
    if delta in (0, 1):
        fields.refuse("delta", "a number between 0 and 1", delta)
    return promises_from_fields(fields, cascade.classes.tolist()), delta


def state_from_fields(fields: Fields, blank: MonitorState) -> MonitorState:
    """Read what was counted; `blank` has the promises."""
    n_rows = fields.whole("n_rows", 0)
    promises = [
        _promise_from_fields(one, promise, n_rows)
        for one, promise in zip(fields.many_fields("promises"), blank.promises, strict=True)
    ]
    sizes = [len(promise.counts) for promise in promises]
    looks = fields.items("looks")
    if len(looks) > MOST_LOOKS or not all(_is_look(look, sizes, n_rows) for look in looks):
        fields.refuse("looks", f"at most {MOST_LOOKS} looks of {len(sizes)} promises", looks)
    return MonitorState(
        tuple(promises),
        n_rows,
        fields.whole("n_answered", 0, n_rows),
        fields.whole("n_labelled", 0, n_rows),
        tuple(Look(n, tuple(map(tuple, counts)), tuple(logs)) for n, counts, logs in looks),
        _sources(fields),
    )


def _promise_from_fields(one: Fields, blank: MonitoredPromise, n_rows: int) -> MonitoredPromise:
    n_values = len(blank.counts)
    counts = one.wholes("counts", n_values, 0, n_rows)
    if sum(counts) > n_rows:
        one.refuse("counts", f"of at most {n_rows:,} rows together", counts)
    starts = one.items("starts")
    if not 1 <= len(starts) <= MOST_STARTS or not all(_is_start(s, counts) for s in starts):
        rule = f"1 to {MOST_STARTS} starts of {n_values + 2} whole numbers, none above the counts"
        one.refuse("starts", rule, starts)
    numbers = [start[0] for start in starts]
    if any(starts[0]) or numbers != sorted(set(numbers)):
        one.refuse("starts", "the beginning, then later ones in order", numbers)
    alarm = None if one.get("alarm") is None else _alarm(one.fields("alarm"), n_rows)
    evidence = one.number("log_evidence", 0)
    return replace(
        blank,
        counts=tuple(counts),
        starts=tuple(Start(number, row, tuple(then)) for number, row, *then in starts),
        n_restarts=one.whole("n_restarts", numbers[-1]),
        log_capital=one.number("log_capital", high=evidence),
        log_evidence=evidence,
        alarm=alarm,
    )


def _alarm(fields: Fields, n_rows: int) -> Alarm:
    row = fields.whole("row", 0, n_rows)
    since = fields.whole("since", 0, row)
    return Alarm(row, since, fields.whole("n_rows", 1), fields.number("figure", 0))


def _sources(fields: Fields) -> tuple[Source, ...]:
    if not fields.items("files"):
        return ()
    found = tuple(
        Source(
            one.text("name"),
            one.whole("n_rows", 0),
            one.text("rows"),
            one.text("labels"),
            one.flag("late"),
        )
        for one in fields.many_fields("files")
    )
    if len(found) > MOST_SOURCES:
        fields.refuse("files", f"at most {MOST_SOURCES} files", f"{len(found):,}")
    return found


def _is_start(value: Any, counts: list[int]) -> bool:
    """Tell whether a value is a start: number, row and counts that are not above those now."""
    if not isinstance(value, list) or len(value) != 2 + len(counts):
        return False
    if not all(type(number) is int and number >= 0 for number in value):
        return False
    return all(then <= now for then, now in zip(value[2:], counts, strict=True))


def _is_look(value: Any, sizes: list[int], n_rows: int) -> bool:
    """Tell whether a value is a look: rows, counts by promise and their evidence."""
    if not isinstance(value, list) or [type(one) for one in value] != [int, list, list]:
        return False
    n, counts, logs = value
    are_counts = [len(line) if _are_counts(line, n) else -1 for line in counts] == sizes
    are_logs = len(logs) == len(sizes) and all(map(is_number, logs))
    return 0 <= n <= n_rows and are_counts and are_logs


def _are_counts(line: Any, n_rows: int) -> bool:
    """Tell whether a value is a list of counts, of at most so many rows together."""
    if not isinstance(line, list) or not all(type(n) is int and n >= 0 for n in line):
        return False
    return sum(line) <= n_rows
