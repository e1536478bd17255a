"""`emsco sweep`: thresholds × runs on a file of one's own."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from emsco.cli.commands import (
    AsJSON,
    CostsFile,
    Dropped,
    Jobs,
    LabelledFile,
    Seed,
    Target,
    TestFile,
    TrainFile,
    ValFile,
    Weights,
    check_folder,
    claim_folder,
    end,
    interruptible,
    write_results,
)

__all__ = ["sweep"]


def sweep(
    data: LabelledFile = None,
    *,
    target: Target,
    min_confidence: Annotated[
        str,
        typer.Option(
            metavar="P",
            help="Thresholds: a range first:last:step, the last included, or numbers with commas.",
        ),
    ] = ".55:.95:.05",
    runs: Annotated[int, typer.Option(min=1, help="Searches at each threshold.")] = 10,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for results, the table (Markdown, JSON), the picture (PNG, SVG)."
        ),
    ] = Path("sweep"),
    costs: CostsFile = None,
    search: Annotated[
        str,
        typer.Option(
            help="paper, evolution, exact or auto; see docs/how/search.md. Of exact there is one run."
        ),
    ] = "paper",
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Which design of a run is deployed: fittest (by default, as in the paper), "
            "balanced or knee; repeatable, a table each.",
        ),
    ] = None,
    max_stages: Annotated[
        int | None, typer.Option(help="Most stages of a design; half the features by default.")
    ] = None,
    generations: Annotated[int, typer.Option(help="Generations of a search.")] = 150,
    population_size: Annotated[int, typer.Option(help="Designs in a generation.")] = 300,
    train: TrainFile = None,
    val: ValFile = None,
    test: TestFile = None,
    drop: Dropped = None,
    weights: Weights = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: AsJSON = False,
) -> None:
    """What a threshold buys: accuracy, coverage and cost at each, with their spread over runs.

    Every classifier is fitted once and serves all thresholds and runs. Results are kept in the
    folder as they come: killed or interrupted, the same command goes on. A folder that has those of
    other data or settings is refused.

    DATA is split into half the rows to fit on, a quarter to choose on and a quarter to test on.
    Files of your own, such as those of the paper's authors (three CSV files with the header
    f0,f1,…,label, and a line of costs in that order), are taken as they are.

    For example:

        emsco sweep heart.csv --target disease --costs costs.csv

        emsco sweep --train a.csv --val b.csv --test c.csv --target label --costs costs.txt
    """
    from emsco._base.progress import JobProgress
    from emsco.cli.options import parse_range
    from emsco.data.sources import FitFiles
    from emsco.studies.files import sweep_files
    from emsco.studies.sweep_figure import draw_sweep

    thresholds = parse_range("--min-confidence", min_confidence)
    files = FitFiles(target, data, train, val, test, costs, tuple(drop or ()), weights)
    check_folder(out)
    with interruptible("no run was complete"), JobProgress("runs") as progress:
        result = sweep_files(
            files,
            min_confidence=thresholds,
            runs=runs,
            search=search,
            prefer=tuple(prefer or ("fittest",)),
            max_stages=max_stages,
            generations=generations,
            population_size=population_size,
            folder=out / "results",
            seed=seed,
            n_jobs=jobs,
            begin=partial(claim_folder, out, "sweep"),
            report=progress.job,
        )
    text = write_results(out, "sweep", draw_sweep(result), result.to_dict(), result.to_markdown())
    if as_json:
        typer.echo(text)
    else:
        from rich.console import Console

        from emsco.cli.terminal import sweep_table

        console = Console()
        for rule in result.prefer:
            console.print(sweep_table(result, rule, console.width))
    end(out, "sweep", result.seconds, result.complete)
