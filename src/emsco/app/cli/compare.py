"""`emsco compare`: all methods on your own data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from emsco.app.cli.folders import check_folder, claim_folder, end, working, write_results
from emsco.app.cli.options import AsJSON, HowToRead, Processes, Seed, StudyFiles
from emsco.app.cli.output import console

if TYPE_CHECKING:
    from emsco.lab import ComparisonReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """Options for the methods to compare and how thoroughly to do it."""

    PANEL: ClassVar[str] = "Methods"

    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD",
            help="emsco, cost_aware_boosting, catboost, fixed_subset, threshold_cascade, aaco, "
            "greedy_miser, astc, cstc, cact_lasso or cost_ordered; repeatable, by default all.",
        ),
    ] = None
    splits: Annotated[
        int | None,
        typer.Option(
            min=1, help="Random splits; by default 3. More splits tell smaller differences."
        ),
    ] = None
    quick: Annotated[
        bool,
        typer.Option("--quick", help="One split, fewer settings of each method, shorter searches."),
    ] = False
    error_cost: Annotated[
        float | None,
        typer.Option(
            help="Cost of an error, for results in money; by default the cost of everything."
        ),
    ] = None
    reject_cost: Annotated[
        float | None,
        typer.Option(help="Cost of a rejection, for results in money; by default nothing."),
    ] = None

    @property
    def has_error_costs(self) -> bool:
        """Whether a cost of errors or rejections was given, so that totals are of interest."""
        return self.error_cost is not None or self.reject_cost is not None

    def settings(self) -> dict[str, Any]:
        """Return the options as keyword arguments of `compare_files`; refuse unknown methods."""
        from emsco.lab import FULL, METHODS, QUICK, SPLITS, check_methods

        return {
            "methods": check_methods(self.method or METHODS),
            "splits": self.splits or (1 if self.quick else SPLITS),
            "effort": QUICK if self.quick else FULL,
            "error_cost": self.error_cost,
            "reject_cost": self.reject_cost,
        }


def compare(
    files: StudyFiles,
    read: HowToRead,
    methods: Methods,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for results, the tables (Markdown, JSON) and the picture (PNG, SVG)."
        ),
    ] = Path("comparison"),
    seed: Seed = 0,
    jobs: Processes = -1,
    as_json: AsJSON = False,
) -> None:
    """Compare EMSCO and its rivals on your data: who is most accurate for how much.

    Every method offers its most accurate design at mean costs of at most 2, 5, 10, 20 and 40 % of
    everything: if every row needs an answer, and if a tenth of the rows may be rejected. It is
    fitted and chosen on three quarters of the rows, and tested on the rest, three times over. A few
    sentences say who wins where, and which method to use.

    Results are saved as they come: if interrupted, the same command continues, and with more splits
    or methods it adds to what is there. A folder with results of other data or settings is
    refused.

    For example:

        emsco compare heart.csv --target disease --costs costs.csv
    """
    from emsco.app.runs.studies import compare_files
    from emsco.lab import ComparisonReport, draw_comparison

    settings = methods.settings()
    check_folder(out)
    with working() as report:
        comparison = compare_files(
            files.files(read),
            **settings,
            seed=seed,
            folder=out / "results",
            n_jobs=jobs,
            begin=partial(claim_folder, out, "comparison"),
            report=report,
        )
    result = ComparisonReport(comparison)
    text = write_results(out, "comparison", result, draw_comparison(comparison))
    if as_json:
        typer.echo(text)
    else:
        _show(result, totals=methods.has_error_costs)
    end(out, "comparison", complete=comparison.complete)


def _show(report: ComparisonReport, *, totals: bool) -> None:
    from emsco.app.cli.study_tables import accuracy_table, seconds_line, totals_table
    from emsco.lab import TASKS, broken_limits

    shown, comparison = console(), report.comparison
    if comparison.methods:
        for task in TASKS:
            shown.print(accuracy_table(comparison, task))
            for line in broken_limits(comparison, task):
                shown.print(line, highlight=False, markup=False)
            if totals:
                shown.print(totals_table(comparison, task))
            shown.print()
        shown.print(seconds_line(comparison), highlight=False)
    for line in report.summary():
        shown.print(f"- {line}", highlight=False, markup=False)
