"""`emsco compare`: all methods on your own data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from emsco.cli.endings import interruptible
from emsco.cli.folders import check_folder, claim_folder, end, what_is_left, write_results
from emsco.cli.options import AsJSON, Processes, Seed, StudyFiles
from emsco.cli.output import console

if TYPE_CHECKING:
    from emsco.studies.compare_records import OwnComparison

__all__ = ["compare"]

_QUICK = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """Options for the methods to compare and how thoroughly to tune them."""

    PANEL: ClassVar[str] = "Methods"

    min_confidence: Annotated[
        float, typer.Option(help="Confidence required by methods that can reject rows.")
    ] = 0.75
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD",
            help="emsco, greedy_miser, cstc, astc, cact_lasso, cost_ordered or "
            "cost_aware_boosting; repeatable, by default all.",
        ),
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help=f"Try only {_QUICK} settings of each method.")
    ] = False

    def settings(self) -> dict[str, Any]:
        """Return the options as keyword arguments of `compare_files`."""
        from emsco.studies.compare import METHODS
        from emsco.studies.methods import EVERY

        return {
            "min_confidence": self.min_confidence,
            "methods": tuple(self.method or METHODS),
            "most": _QUICK if self.quick else EVERY,
        }


def compare(
    files: StudyFiles,
    methods: Methods,
    out: Annotated[
        Path, typer.Option(help="Folder for the table (Markdown, JSON) and the picture (PNG, SVG).")
    ] = Path("comparison"),
    seed: Seed = 0,
    jobs: Processes = -1,
    as_json: AsJSON = False,
) -> None:
    """Compare EMSCO and its rivals on your data: one table, one picture, and a summary.

    Every method is fitted and tuned on the same rows, by the same score, and tested on the same
    test rows. In the picture each method is a curve over its threshold, penalty or budget.

    For example:

        emsco compare heart.csv --target disease --costs costs.csv
    """
    from emsco._base.progress import JobProgress
    from emsco.studies.compare_figure import draw_methods
    from emsco.studies.files import compare_files

    check_folder(out)
    with interruptible(lambda: what_is_left(out)), JobProgress("methods") as progress:
        result = compare_files(
            files.files(),
            seed=seed,
            **methods.settings(),
            n_jobs=jobs,
            begin=partial(claim_folder, out, "comparison"),
            report=progress.job,
        )
    figure = draw_methods(result)
    text = write_results(out, "comparison", figure, result.to_dict(), result.to_markdown())
    if as_json:
        typer.echo(text)
    else:
        _show(result)
    end(out, "comparison")


def _show(result: OwnComparison) -> None:
    from emsco.cli.terminal import methods_table

    shown = console()
    shown.print(methods_table(result))
    for line in result.summary():
        shown.print(f"- {line}", highlight=False, markup=False)
