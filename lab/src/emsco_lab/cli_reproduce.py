"""`emsco reproduce`: the figures and tables of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from emsco.app.cli.commands import Commands
from emsco.app.cli.endings import interruptible
from emsco.app.cli.folders import (
    Result,
    end,
    make_folder,
    what_is_left,
    working,
    write_results,
)
from emsco.app.cli.options import Processes, Seed, Threads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from emsco_lab.paper import Extent

PrintJSON = Annotated[bool, typer.Option("--json", help="Print the JSON instead of the table.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SET",
        help="pima, credit, heart, synthetic50 or synthetic15; repeatable, by default all.",
    ),
]

Out = Annotated[
    Path, typer.Option(help="Folder for the table (Markdown, JSON) and the figure (PNG, SVG).")
]

reproduce = Commands(help="Recompute the figures and tables of the paper.")


@reproduce.command("global")
def reproduce_global(
    out: Out = Path("reproduce-global"),
    runs: Annotated[
        int, typer.Option(min=1, help="Repeats of each search on each landscape; the paper has 50.")
    ] = 50,
    seed: Seed = 0,
    jobs: Processes = -1,
    as_json: PrintJSON = False,
) -> None:
    """Compute the exact fronts of nine landscapes, and measure how much of them searches find.

    Exact search covers all designs of Heart, Credit and Pima with at most 2, 3 and 4 stages, which
    took the paper three weeks. Its front is compared with the designs that the paper's search and
    ours have found after each generation. Data are read from the folder that EMSCO_DATA names, or
    downloaded.
    """
    from emsco_lab import paper

    make_folder(out)
    with working() as report:
        result = paper.reproduce_global(runs=runs, seed=seed, n_jobs=jobs, report=report)
    _write(out, "global", result, paper.draw_global_optima(result), as_json)
    end(out, "global", result.seconds, result.complete, goes_on=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonExtent:
    """Options for the extent of the comparison."""

    PANEL: ClassVar[str] = "Extent"

    splits: Annotated[int, typer.Option(min=1, help="Random splits of each set.")] = 10
    runs: Annotated[
        int,
        typer.Option(
            min=1, help="Repeats of EMSCO on each split; on synthetic50, on all splits together."
        ),
    ] = 50
    sets: Sets = None
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="METHOD",
            help="paper, evolution, exact, excluding (evolution that may leave features out), "
            "greedy_miser, cstc, astc, cact_lasso, cost_ordered or cost_aware_boosting; "
            "repeatable, by default all.",
        ),
    ] = None
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Take a minute or two: two sets and splits, few repeats and settings."
        ),
    ] = False

    def extent(self) -> Extent:
        """Return the options as an `Extent`."""
        from emsco_lab.paper import QUICK, Extent

        extent = QUICK if self.quick else Extent(splits=self.splits, runs=self.runs)
        sets, methods = tuple(self.sets or extent.sets), tuple(self.methods or extent.methods)
        return replace(extent, sets=sets, methods=methods)


@reproduce.command("comparison")
def reproduce_comparison(
    extent: ComparisonExtent,
    out: Annotated[
        Path, typer.Option(help="Folder for results, tables (Markdown, JSON) and the figure.")
    ] = Path("reproduce-comparison"),
    known: Annotated[
        bool,
        typer.Option("--known", help="Run nothing; report all results of this seed in the folder."),
    ] = False,
    seed: Seed = 0,
    jobs: Processes = -1,
    as_json: PrintJSON = False,
) -> None:
    """Compare EMSCO and its rivals on the paper's five sets, over many random splits.

    Rivals are tuned and designs chosen on scored rows, and all are tested on test rows. Results are
    saved as they come: if interrupted, the same command continues. The tables show the paper's
    figures too, with 95 % margins of error and paired tests.
    """
    from emsco_lab import paper

    make_folder(out)
    wanted = extent.extent()
    if known:
        result = paper.known_comparison(out / "results", seed)
    else:
        with working() as report:
            result = paper.reproduce_comparison(out / "results", wanted, seed, jobs, report)
    _write(out, "comparison", result, paper.draw_paper_comparison(result), as_json)
    end(out, "comparison", None if known else result.seconds, result.complete)


@reproduce.command("tuning")
def reproduce_tuning(
    out: Annotated[
        Path, typer.Option(help="Folder for results and tables (Markdown, JSON).")
    ] = Path("reproduce-tuning"),
    splits: Annotated[int, typer.Option(min=1, help="Random splits of each set.")] = 1,
    runs: Annotated[int, typer.Option(min=1, help="Repeats of each setting on a split.")] = 3,
    thin: Annotated[
        int, typer.Option(min=1, help="Try every N-th of the 960 settings, and the paper's.")
    ] = 1,
    sets: Sets = None,
    seed: Seed = 0,
    jobs: Processes = -1,
    as_json: PrintJSON = False,
) -> None:
    """Run the paper's search at many settings, and rank them.

    Varies |G|, m̂, r̂, β and b over a grid that includes the paper's choice. Settings are ranked by
    the balanced score of the deployed design. Results are saved as they come: if interrupted, the
    same command continues. A repeat on synthetic50 takes a minute, so use --thin there.
    """
    from emsco_lab import paper

    make_folder(out)
    extent = paper.TuningExtent(tuple(sets or paper.SETS), splits, runs, thin=thin)
    with working() as report:
        result = paper.reproduce_tuning(out / "results", extent, seed, jobs, report)
    _write(out, "tuning", result, paper.draw_tuning(result), as_json)
    end(out, "tuning", result.seconds, result.complete)


@reproduce.command("sweep")
def reproduce_sweep(
    out: Annotated[
        Path, typer.Option(help="Folder for results, the table (Markdown, JSON) and the picture.")
    ] = Path("reproduce-sweep"),
    name: Annotated[
        str, typer.Option("--set", help="pima, credit, heart, synthetic50 or synthetic15.")
    ] = "synthetic15",
    runs: Annotated[int, typer.Option(min=1, help="Repeats at each threshold.")] = 10,
    seed: Seed = 0,
    jobs: Processes = -1,
    as_json: PrintJSON = False,
) -> None:
    """Repeat the authors' sweep: the fittest designs at nine thresholds from .55 to .95.

    Runs the paper's loop at its settings for the set, over 150 generations. Every stage model is
    fitted once for all thresholds. Results are saved as they come: if interrupted, the same command
    continues. A repeat on synthetic50 takes a minute.
    """
    from emsco_lab import draw_sweep, paper

    make_folder(out)
    with working("repeats", "no repeat was complete") as report:
        result = paper.reproduce_sweep(out / "results", name, runs, seed, jobs, report)
    _write(out, "sweep", result, draw_sweep(result), as_json)
    end(out, "sweep", result.seconds, result.complete)


@reproduce.command("mutation")
def reproduce_mutation(
    out: Out = Path("reproduce-mutation"),
    mutants: Annotated[
        int, typer.Option(min=1, help="Mutants to make at each point of a curve that is checked.")
    ] = 100_000,
    seed: Seed = 0,
    as_json: PrintJSON = False,
) -> None:
    """Check the paper's curves of the probability that a mutation adds a stage, for values of β.

    Shows the paper's formula, the exact probability, which accounts for emptied stages, and the
    share among mutants made by the library's own operator.
    """
    from emsco_lab import paper

    make_folder(out)
    result = paper.reproduce_mutation(mutants, seed)
    _write(out, "mutation", result, paper.draw_mutation(result), as_json)
    end(out, "mutation")


@reproduce.command("landscape")
def reproduce_landscape(
    out: Out = Path("reproduce-landscape"),
    name: Annotated[str, typer.Option("--set", help="credit, heart or pima.")] = "credit",
    max_stages: Annotated[int, typer.Option(min=1, max=4, help="Most stages of a design.")] = 4,
    seed: Seed = 0,
    jobs: Threads = -1,
    as_json: PrintJSON = False,
) -> None:
    """Draw coverage, accuracy and cost of every design of a set: the paper's trade-off figure.

    The paper draws Credit with at most 4 stages: 254,152,083 designs, all of them scored. Data are
    read from the folder that EMSCO_DATA names, or downloaded.
    """
    from emsco_lab import paper

    make_folder(out)
    typer.echo("Scoring every design; this takes a few seconds.", err=True)
    with interruptible(lambda: what_is_left(out)):
        result = paper.reproduce_landscape(name, max_stages, seed, jobs)
    _write(out, "landscape", result, paper.draw_trade_offs(result), as_json)
    end(out, "landscape", result.seconds)


@reproduce.command("costs")
def reproduce_costs(out: Out = Path("reproduce-costs"), as_json: PrintJSON = False) -> None:
    """List the cost classes of the paper's sets and the source of each.

    The paper's own table is lost. Heart's classes are recovered from the authors' log; Pima's and
    Credit's follow the paper's rules. Synthetic15 has no classes.
    """
    from emsco_lab import paper

    make_folder(out)
    result = paper.cost_table()
    _write(out, "costs", result, paper.draw_cost_table(result), as_json)
    end(out, "costs")


def _write(out: Path, name: str, result: Result, figure: Figure, as_json: bool) -> None:
    """Write the results to the folder, and print them."""
    text = write_results(out, name, result, figure)
    typer.echo(text if as_json else result.to_markdown())
