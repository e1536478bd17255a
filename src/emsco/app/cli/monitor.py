"""`emsco monitor`: does the deployed design still keep what was promised."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emsco._base.text import counted
from emsco.app.cli.endings import ALARM, interruptible
from emsco.app.cli.options import AsJSON, HowToRead, Promises, RunFolder, Trusted
from emsco.app.cli.output import console, print_json

if TYPE_CHECKING:
    from emsco.cascade.monitor import Monitor, MonitoredPromise


def monitor(
    run: RunFolder,
    promises: Promises,
    read: HowToRead,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="CSV or Parquet file with new rows; without it, show how things stand.",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Chance of a false alarm, ever, for all promises together; by default that of the "
            "certificate, or 0.05."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="Column with the true labels, empty where one is not known; by default the one "
            "of the run, if DATA has it."
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="File that keeps what was counted; by default RUN/monitor.json."),
    ] = None,
    late: Annotated[
        bool, typer.Option("--late", help="DATA was counted without labels: count these alone.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Count DATA even if its rows were counted before.")
    ] = False,
    in_order: Annotated[
        bool,
        typer.Option(
            "--in-order",
            help="Rows of DATA are listed as they came: look after every 100, which finds a change "
            "sooner. By default DATA is one look.",
        ),
    ] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Forget all rows and start anew.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="PNG, SVG or PDF file for a picture over time.")
    ] = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Watch whether the deployed design still keeps what was promised.

    The first call says what is promised; by default that is what RUN/certificate.json promises,
    which must be for the deployed design.
    Each further call counts the rows of a file. You may look as often as you like: the chance of
    a false alarm stays below --delta. Coverage and cost need no labels. A total counts rows with a
    known label.

    The exit code is 4 after an alarm, and stays 4 until --reset.

    For example:

        emsco monitor heart-run march.csv --min-accuracy 0.8
    """
    from emsco._base.locks import locked_folder
    from emsco._base.progress import RowProgress
    from emsco.app.runs.monitor import monitor_file, open_monitor, target_of
    from emsco.app.runs.run import MONITOR, Run
    from emsco.plotting import check_matplotlib, check_picture, write_figure

    if plot is not None:
        check_matplotlib()
        check_picture(plot, "plot")
    place = state or run / MONITOR
    # From reading the counts to writing them, so that rows counted elsewhere meanwhile stay.
    with locked_folder(place.parent):
        opened = Run.open(run, trusted or ())
        watching = open_monitor(opened, place, promises.limits(opened), delta, reset)
        if data is not None:
            with interruptible(f"{place} is as it was"), RowProgress() as progress:
                reading = read.reading().over(opened.reading)
                column = target_of(opened, data, target, reading)
                watching = monitor_file(
                    watching,
                    data,
                    column,
                    late=late,
                    again=again,
                    in_order=in_order,
                    report=progress.rows,
                    reading=reading,
                    searched=opened.front.searched,
                )
        if plot is not None:
            write_figure(watching.plot(), plot)
        watching.save(place)
    if as_json:
        files = {"run": str(run), "data": None if data is None else str(data), "state": str(place)}
        print_json({**files, **watching.to_dict()})
    else:
        _print(watching)
    if watching.alarm:
        raise SystemExit(ALARM)


def _print(monitor: Monitor) -> None:
    """Print a table with a line for every promise, and a sentence for each that is broken."""
    from rich.text import Text

    from emsco.app.cli.terminal import plain_table

    share = monitor.promises[0].delta
    rows = f"{counted(monitor.n_rows, 'row')}, {monitor.state.n_labelled:,} with a true label"
    table = plain_table(
        title=f"Promises on {rows}",
        caption=f"Intervals hold at all looks with a confidence of {100 * (1 - share):.4g} %. "
        f"Evidence of {1 / share:.4g} raises an alarm.",
    )
    for heading in ("promise", "rows", "seen", "interval", "evidence", "verdict"):
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
    out = console()
    out.print(table)
    for one in monitor.promises:
        if (alarm := one.alarm) is not None:
            since = f" since row {alarm.since + 1:,}" if alarm.since else ""
            seen = f"{_figure(one, alarm.figure)} of {counted(alarm.n_rows, 'row')}{since}"
            sentence = f"Alarm at row {alarm.row:,}: {one.promise}, seen {seen}."
            out.print(sentence, highlight=False, markup=False)


def _figure(one: MonitoredPromise, value: float | None) -> str:
    """Return a share in per cent, or a cost; nothing without rows."""
    if value is None:
        return ""
    return f"{value:.4g}" if one.promise.is_ceiling else f"{value:.1%}"
