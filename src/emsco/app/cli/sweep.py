"""`emsco sweep`: repeated searches at many thresholds on your own data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from emsco.app.cli.folders import check_folder, claim_folder, end, working, write_results
from emsco.app.cli.options import AsJSON, Evolution, HowToRead, Processes, Seed, StudyFiles
from emsco.app.cli.output import console


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSearch(Evolution):
    """Options for the thresholds, the searches at each and the designs to deploy."""

    min_confidence: Annotated[
        str,
        typer.Option(
            metavar="P",
            help="Thresholds: a range first:last:step, the last included, or numbers separated by "
            "commas.",
        ),
    ] = ".55:.95:.05"
    runs: Annotated[int, typer.Option(min=1, help="Repeats at each threshold.")] = 10
    search: Annotated[
        str,
        typer.Option(
            help="paper, evolution, exact or auto; see docs/how/search.md. Exact search "
            "needs one repeat."
        ),
    ] = "paper"
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Rule for the design to deploy: fittest (the default, as in the paper), "
            "balanced or knee; repeatable, one table per rule.",
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return the options as keyword arguments of `sweep_files`."""
        from emsco.app.cli.parsers import parse_range

        return {
            "min_confidence": parse_range("min_confidence", self.min_confidence),
            "runs": self.runs,
            "search": self.search,
            "prefer": tuple(self.prefer or ("fittest",)),
            "max_stages": self.max_stages,
            "generations": self.generations,
            "population_size": self.population_size,
        }


def sweep(
    files: StudyFiles,
    read: HowToRead,
    search: SweepSearch,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for results, the table (Markdown, JSON) and the picture (PNG, SVG)."
        ),
    ] = Path("sweep"),
    seed: Seed = 0,
    jobs: Processes = -1,
    as_json: AsJSON = False,
) -> None:
    """Search at many thresholds and compare accuracy, coverage and cost.

    Shows the mean at each threshold and the spread over repeats. Every stage model is fitted once
    for all thresholds and repeats. Results are saved as they come: if interrupted, the same command
    continues. A folder with results of other data or settings is refused.

    DATA is split into half the rows to fit on, a quarter to choose on and a quarter to test on.
    To use your own split, pass three files, such as those of the paper's authors: three CSV files
    with the header f0,f1,…,label, and a line of costs in that order.

    For example:

        emsco sweep heart.csv --target disease --costs costs.csv

        emsco sweep --train a.csv --val b.csv --test c.csv --target label --costs costs.txt
    """
    from emsco.app.runs.studies import sweep_files
    from emsco.lab import draw_sweep

    settings, study_files = search.settings(), files.files(read)
    check_folder(out)
    with working("repeats", "no repeat was complete") as report:
        result = sweep_files(
            study_files,
            **settings,
            folder=out / "results",
            seed=seed,
            n_jobs=jobs,
            begin=partial(claim_folder, out, "sweep"),
            report=report,
        )
    text = write_results(out, "sweep", result, draw_sweep(result))
    if as_json:
        typer.echo(text)
    else:
        from emsco.app.cli.study_tables import sweep_table

        shown = console()
        for rule in result.prefer:
            shown.print(sweep_table(result, rule, shown.width))
    end(out, "sweep", result.seconds, result.complete)
