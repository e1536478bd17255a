"""`emsco monitor`: does the deployed design still keep what was promised."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from emsco.cli.endings import ALARM, interruptible
from emsco.cli.options import AsJSON, RunFolder, Trusted
from emsco.cli.output import console, print_json

__all__ = ["Promises", "monitor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """Options for what is promised about new rows."""

    PANEL: ClassVar[str] = "Promises"

    min_accuracy: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Promised share of correct labels, as in 0.95; or among rows called by some "
            "label, as in well=0.99.",
        ),
    ] = None
    min_coverage: Annotated[
        float | None, typer.Option(help="Promised share of rows that get a label, as in 0.8.")
    ] = None
    max_cost: Annotated[float | None, typer.Option(help="Promised mean cost of a row.")] = None
    min_recall: Annotated[
        str | None,
        typer.Option(
            metavar="SHARES",
            help="Promised share of a class that gets the correct label, as in ill=0.9.",
        ),
    ] = None
    delta: Annotated[
        float | None,
        typer.Option(
            help="Chance of a false alarm, ever, for all promises together; by default 0.05.",
            show_default=False,
        ),
    ] = None

    def targets(self) -> dict[str, Any]:
        """Return the promises that were given, by name."""
        from emsco.cli.parsing import parse_by_class, parse_shares

        accuracy, recall = self.min_accuracy, self.min_recall
        every = {
            "min_accuracy": None if accuracy is None else parse_by_class("min_accuracy", accuracy),
            "min_coverage": self.min_coverage,
            "max_cost": self.max_cost,
            "min_recall": None if recall is None else parse_shares(recall),
        }
        return {name: target for name, target in every.items() if target is not None}


def monitor(
    run: RunFolder,
    promises: Promises,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="CSV or Parquet file with new rows; without it, show how things stand.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="Column with the true labels, empty where one is not known; by default the one "
            "of the run, if DATA has it.",
            show_default=False,
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps what was counted; by default RUN/monitor.json.",
            show_default=False,
        ),
    ] = None,
    late: Annotated[
        bool, typer.Option("--late", help="DATA was counted without labels: count these alone.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Count DATA even if its rows were counted before.")
    ] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Forget all rows and start anew.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="PNG, SVG or PDF file for a picture over time.")
    ] = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Watch whether the deployed design still keeps what was promised.

    The first call says what is promised; by default that is what RUN/certificate.json promises.
    Each further call counts the rows of a file. You may look as often as you like: the chance of
    a false alarm stays below --delta. Coverage and cost need no labels.

    The exit code is 4 if a promise is broken, and stays 4 until --reset.

    For example:

        emsco monitor heart-run march.csv --min-accuracy 0.8
    """
    from emsco._base.progress import RowProgress
    from emsco.cli.promises import print_monitor
    from emsco.pictures.plotting import check_matplotlib, check_picture, write_figure
    from emsco.runs.layout import MONITOR
    from emsco.runs.monitor import monitor_file, open_monitor, target_of
    from emsco.runs.run import Run

    targets = promises.targets()
    if plot is not None:
        check_matplotlib()
        check_picture(plot, "plot")
    found, place = Run.open(run, trusted or ()), state or run / MONITOR
    watching = open_monitor(found, place, targets, promises.delta, reset)
    if data is not None:
        with interruptible(f"{place} is as it was"), RowProgress() as progress:
            column = target_of(found, data, target)
            watching = monitor_file(
                watching, data, column, late=late, again=again, report=progress.rows
            )
    if plot is not None:
        write_figure(watching.plot(), plot)
    watching.save(place)
    if as_json:
        files = {"run": str(run), "data": None if data is None else str(data), "state": str(place)}
        print_json({**files, **watching.to_dict()})
    else:
        print_monitor(console(), watching)
    if watching.alarm:
        raise SystemExit(ALARM)
