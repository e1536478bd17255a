"""Print what a monitor has seen of each promise."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from emsco._base.text import counted
from emsco.app.cli.listing import plain_table
from emsco.cascade.monitor import Monitor, MonitoredPromise


def print_monitor(out: Console, monitor: Monitor) -> None:
    """Print a table of all promises, and a sentence for each that is broken."""
    out.print(promise_table(monitor))
    for one in monitor.promises:
        if one.alarm is not None:
            out.print(_alarm_in_words(one), highlight=False, markup=False)


def promise_table(monitor: Monitor) -> Table:
    """Return a table with a line for every promise: seen figure, interval, evidence, verdict."""
    share = monitor.promises[0].delta
    rows = f"{counted(monitor.n_rows, 'row')}, {monitor.state.n_labelled:,} with a true label"
    table = plain_table(
        title=f"Promises on {rows}",
        caption=f"Intervals hold at all looks with a confidence of {100 * (1 - share):.4g} %. "
        f"Evidence of {1 / share:.4g} raises an alarm.",
    )
    headings = ("promise", "rows", "seen", "interval", "evidence", "verdict")
    for heading in headings:
        is_text = heading in ("promise", "verdict")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=not is_text)
    for one in monitor.promises:
        low, high = (_figure(one, limit) for limit in one.interval)
        table.add_row(
            Text(str(one.promise)),
            f"{one.n_rows:,}",
            _figure(one, one.figure),
            f"{low} to {high}",
            f"{one.evidence:.3g}",
            str(one.verdict),
        )
    return table


def _figure(one: MonitoredPromise, value: float | None) -> str:
    """Return a share in per cent, or a cost; nothing without rows."""
    if value is None:
        return ""
    return f"{value:.4g}" if one.promise.is_ceiling else f"{value:.1%}"


def _alarm_in_words(one: MonitoredPromise) -> str:
    alarm = one.alarm
    if alarm is None:
        return ""
    since = f" since row {alarm.since + 1:,}" if alarm.since else ""
    seen = f"{_figure(one, alarm.figure)} of {counted(alarm.n_rows, 'row')}{since}"
    return f"Alarm at row {alarm.row:,}: {one.promise}, seen {seen}."
