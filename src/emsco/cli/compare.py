"""`emsco compare`: all methods on a file of one's own."""

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

__all__ = ["compare"]

_QUICK = 6


def compare(
    data: LabelledFile = None,
    *,
    target: Target,
    out: Annotated[
        Path, typer.Option(help="Folder for the table (Markdown, JSON) and the picture (PNG, SVG).")
    ] = Path("comparison"),
    costs: CostsFile = None,
    min_confidence: Annotated[
        float, typer.Option(help="How sure methods must be that can decline to answer.")
    ] = 0.75,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD",
            help="emsco, greedy_miser, cstc, astc, cact_lasso, cost_ordered or "
            "cost_aware_boosting; repeatable, by default all.",
        ),
    ] = None,
    train: TrainFile = None,
    val: ValFile = None,
    test: TestFile = None,
    drop: Dropped = None,
    weights: Weights = None,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"Try {_QUICK} settings of each method.")
    ] = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: AsJSON = False,
) -> None:
    """EMSCO and its rivals on your data: one table, one picture, and what they say.

    Every method is fitted and tuned on the same rows, by the same score, and tested on the same
    rows kept aside. In the picture each is a curve over its own knob: threshold, penalty or budget.

    For example:

        emsco compare heart.csv --target disease --costs costs.csv
    """
    from emsco._base.progress import JobProgress
    from emsco.data.sources import FitFiles
    from emsco.studies.compare import METHODS
    from emsco.studies.compare_figure import draw_methods
    from emsco.studies.files import compare_files
    from emsco.studies.methods import EVERY

    check_folder(out)
    files = FitFiles(target, data, train, val, test, costs, tuple(drop or ()), weights)
    with interruptible("nothing is written"), JobProgress("methods") as progress:
        result = compare_files(
            files,
            seed=seed,
            min_confidence=min_confidence,
            methods=tuple(method or METHODS),
            most=_QUICK if quick else EVERY,
            n_jobs=jobs,
            begin=partial(claim_folder, out, "comparison"),
            report=progress.job,
        )
    figure = draw_methods(result)
    text = write_results(out, "comparison", figure, result.to_dict(), result.to_markdown())
    if as_json:
        typer.echo(text)
    else:
        from rich.console import Console

        from emsco.cli.terminal import methods_table

        console = Console()
        console.print(methods_table(result))
        for line in result.summary():
            console.print(f"- {line}", highlight=False, markup=False)
    end(out, "comparison")
