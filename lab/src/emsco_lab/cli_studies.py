"""`emsco compare` and `emsco sweep`: studies on your own data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from emsco._base.text import counted, visible
from emsco.app.cli.folders import check_folder, claiming, end, working, write_results
from emsco.app.cli.options import (
    AsJSON,
    ErrorCost,
    Evolution,
    HowToRead,
    Processes,
    RejectCost,
    ResultsFolder,
    Seed,
    StudyFiles,
    error_costs_given,
)
from emsco.app.cli.output import console
from emsco.app.cli.parsers import parse_range

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from emsco_lab import MethodComparison, Standing, Task, ThresholdSweep


_LABEL_WIDTH = 50  # of all headings of a table of classes


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """Options for the methods to compare and how thoroughly to do it."""

    PANEL: ClassVar[str] = "Methods"

    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD",
            help="emsco, cost_aware_boosting, catboost, optimal_trees, fixed_subset, "
            "threshold_cascade, aaco, dime, greedy_miser, astc, cstc, cact_lasso or cost_ordered; "
            "repeatable, by default all that are installed.",
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
    error_cost: ErrorCost = None
    reject_cost: RejectCost = None

    def settings(self) -> dict[str, Any]:
        """Return the options as keyword arguments of `compare_files`; refuse unknown methods."""
        from emsco_lab import FULL, METHODS, QUICK, SPLITS, check_installed, check_methods

        methods = check_methods(self.method or METHODS)
        if self.method:  # of all methods, those that are not installed are left out and named
            check_installed(methods)
        return {
            "methods": methods,
            "splits": self.splits or (1 if self.quick else SPLITS),
            "effort": QUICK if self.quick else FULL,
            **error_costs_given(self.error_cost, self.reject_cost),
        }


def compare(
    files: StudyFiles,
    read: HowToRead,
    methods: Methods,
    out: ResultsFolder = Path("comparison"),
    seed: Seed = 0,
    jobs: Processes = -1,
    as_json: AsJSON = False,
) -> None:
    """Compare EMSCO and its rivals on your data: who is most accurate for how much.

    Every method offers its most accurate design at mean costs of at most 2, 5, 10, 20 and 40 % of
    everything: if every row needs an answer, and if a tenth of the rows may be rejected. It is
    fitted and chosen on three quarters of the rows, and tested on the rest, three times over. A few
    sentences say who wins where, and which method to use.

    With --error-cost, every method also looks for the lowest mean total of features, errors and
    rejections, with labels of least expected cost, and methods are ranked by it. Without
    --reject-cost, it answers every row.

    Results are saved as they come: if interrupted, the same command continues, and with more splits
    or methods it adds to what is there. A folder with results of other data or settings is
    refused.

    For example:

        emsco compare heart.csv --target disease --costs costs.csv

        emsco compare heart.csv --target disease --costs costs.csv --error-cost 500
    """
    from emsco_lab import TASKS, ComparisonReport, broken_limits, draw_comparison
    from emsco_lab.files import compare_files

    settings = methods.settings()
    check_folder(out)
    with claiming(out, "comparison") as claim:
        with working() as report:
            comparison = compare_files(
                files.files(read),
                **settings,
                seed=seed,
                folder=out / "results",
                n_jobs=jobs,
                begin=claim,
                report=report,
            )
        result = ComparisonReport(comparison)
        text = write_results(out, "comparison", result, draw_comparison(comparison))
    if as_json:
        typer.echo(text)
        end(out, "comparison", complete=comparison.complete)
        return
    shown = console()
    if comparison.lowest_totals:
        shown.print(totals_table(comparison))
        shown.print()
    if comparison.methods:
        for task in TASKS:
            shown.print(accuracy_table(comparison, task))
            for line in broken_limits(comparison, task):
                shown.print(line, highlight=False, markup=False)
            shown.print()
        shown.print(recall_of_classes(comparison))
        shown.print()
        shown.print(seconds_line(comparison), highlight=False)
    for line in result.summary():
        shown.print(f"- {line}", highlight=False, markup=False)
    end(out, "comparison", complete=comparison.complete)


def accuracy_table(comparison: MethodComparison, task: Task) -> Table:
    """Return a table of the accuracy that each method kept, and promised, at each budget."""
    from emsco.app.cli.terminal import plain_table
    from emsco_lab import COMMONEST, TESTED, quick_words

    n_splits, n_test = len(comparison.splits), comparison.n_rows[1]
    title = f"{task.title}: accuracy kept (promised), %"
    table = plain_table(
        title="\n".join(filter(None, [title, quick_words(comparison)])),
        caption=f"On {counted(n_splits, 'split')} with {counted(n_test, 'test row')}. Columns: "
        f"largest mean cost, as a share of everything ({comparison.total_cost:g}).",
    )

    def line(method: str, standings: Iterable[Standing]) -> tuple[str, ...]:
        shares = ((one.mean.accuracy, one.promised[:, 1].mean()) for one in standings)
        return method, *(f"{100 * kept:.1f} ({100 * promised:.1f})" for kept, promised in shares)

    lines = [
        line(method, (comparison.standings[method, question] for question in task.questions))
        for method in comparison.methods
    ]
    lines.append(line(COMMONEST, [comparison.commonest] * len(TESTED)))
    return _filled(table, [f"{100 * budget:g} %" for budget in TESTED], lines)


def totals_table(comparison: MethodComparison) -> Table:
    """Return a table of the lowest mean total of a row that each method found, lowest first."""
    from rich.markup import escape

    from emsco.app.cli.terminal import plain_table
    from emsco_lab import nothing_words, quick_words, total_lines

    n_splits, n_test = len(comparison.splits), comparison.n_rows[1]
    title = "Lowest mean total of a row"
    table = plain_table(
        title="\n".join(filter(None, [title, quick_words(comparison)])),
        caption=escape(
            f"Features, {comparison.error_costs}.\nOn {counted(n_splits, 'split')} with "
            f"{counted(n_test, 'test row')}. Labels of least expected cost. "
            f"{nothing_words(comparison)}"
        ),
    )
    heads, *lines = total_lines(comparison)
    return _filled(table, heads[1:], lines)


def recall_of_classes(comparison: MethodComparison) -> RenderableType:
    """Return a table of the share of each class that gets its correct label."""
    from rich.console import Group
    from rich.text import Text

    from emsco.app.cli.terminal import plain_table
    from emsco_lab import recall_table

    recall = recall_table(comparison, _LABEL_WIDTH)
    # The table may be narrower than its title.
    title, note = Text(recall.title, "table.title"), Text(recall.note, "table.caption")
    if not recall.lines:
        return Group(title, note)
    return Group(title, _filled(plain_table("", ""), recall.classes, recall.lines), note)


def _filled(table: Table, heads: Iterable[str], lines: Iterable[Sequence[str]]) -> Table:
    """Add lines that begin with a method, below headings of their other cells."""
    from rich.text import Text

    from emsco_lab import EMSCO, label_of

    table.add_column("")
    for heading in heads:
        table.add_column(Text(visible(heading)), justify="right", no_wrap=True)
    for method, *cells in lines:
        table.add_row(label_of(method), *cells, style="bold" if method == EMSCO else "")
    return table


def seconds_line(comparison: MethodComparison) -> str:
    """Return the processor time of each method in one sentence."""
    from emsco_lab import label_of

    times = [f"{label_of(one)} {comparison.seconds(one):.1f}" for one in comparison.methods]
    return f"Seconds of processor time for a split: {', '.join(times)}."


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
        return {
            **asdict(self),
            "min_confidence": parse_range("min_confidence", self.min_confidence),
            "prefer": tuple(self.prefer or ("fittest",)),
        }


def sweep(
    files: StudyFiles,
    read: HowToRead,
    search: SweepSearch,
    out: ResultsFolder = Path("sweep"),
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
    from emsco_lab import draw_sweep
    from emsco_lab.files import sweep_files

    settings, study_files = search.settings(), files.files(read)
    check_folder(out)
    with claiming(out, "sweep") as claim:
        with working("repeats", "no repeat was complete") as report:
            result = sweep_files(
                study_files,
                **settings,
                folder=out / "results",
                seed=seed,
                n_jobs=jobs,
                begin=claim,
                report=report,
            )
        text = write_results(out, "sweep", result, draw_sweep(result))
    if as_json:
        typer.echo(text)
    else:
        shown = console()
        for rule in result.prefer:
            shown.print(sweep_table(result, rule, shown.width))
    end(out, "sweep", result.seconds, result.complete)


def sweep_table(sweep: ThresholdSweep, rule: str, width: int = 80) -> Table:
    """Return a table of the designs that a rule deploys at each threshold, scored and seen.

    If the table would be too wide, deviations stand below their means.
    """
    from emsco.app.cli.terminal import plain_table

    _, n_val, n_test = sweep.n_rows
    lines = sweep.lines(rule)
    differ = len({line.n_repeats for line in lines}) > 1
    how = f"{sweep.search}, {sweep.counted_repeats('each')}"
    table = plain_table(
        title=f"The {rule} design at each threshold: {how}",
        caption=f"Scored: {counted(n_val, 'row')} used to choose it; seen: {n_test:,} others. "
        "Accuracy and coverage in %, ± deviation over repeats. Buying everything costs "
        f"{sweep.costs.total:g}.",
    )
    parts = [f"{part} {name}" for part in ("scored", "seen") for name in ("acc.", "cov.", "cost")]
    shown = [("threshold", *(["repeats"] if differ else []), *parts)]
    for line, cells in zip(lines, sweep.cells(rule), strict=True):
        repeats = [str(line.n_repeats)] if differ else []
        shown.append((f"{line.min_confidence:g}", *repeats, *cells))
    room = sum(
        2 + max(len(word) for text in column for word in text.replace(" ± ", "±").split())
        for column in zip(*shown, strict=True)
    )
    below = "\n" if room > width else ""
    for heading in shown[0]:
        table.add_column(heading.replace(" ", "\n"), justify="right", no_wrap=True)
    for row in shown[1:]:
        table.add_row(*(text.replace(" ± ", f"{below}±") for text in row))
    return table
