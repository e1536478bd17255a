"""`emsco reproduce`: the figures and tables of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

import typer

from emsco.cli.commands import Commands
from emsco.cli.endings import interruptible
from emsco.cli.folders import end, make_folder, what_is_left, write_results
from emsco.cli.options import Processes, Threads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from emsco.paper.comparison import Extent

__all__ = ["reproduce"]

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

reproduce = Commands(help="The figures and tables of the paper, computed anew.")


@reproduce.command("global")
def reproduce_global(
    out: Out = Path("reproduce-global"),
    runs: Annotated[
        int, typer.Option(min=1, help="Runs of each search on each landscape; the paper has 50.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and of all runs.")] = 0,
    jobs: Processes = -1,
    as_json: PrintJSON = False,
) -> None:
    """The exact fronts of nine landscapes, and how much of them searches find.

    For Heart, Credit and Pima with at most 2, 3 and 4 stages, all designs are settled (the paper
    took three weeks for it) and the exact front is compared with what the paper's search and ours
    know after each generation. The sets come from the folder that EMSCO_DATA names, else from
    their archives.
    """
    from emsco.paper.figures import draw_global_optima
    from emsco.paper.global_optima import reproduce_global as run

    make_folder(out)
    with _at_work() as report:
        result = run(runs=runs, seed=seed, n_jobs=jobs, report=report)
    _write(out, "global", result, draw_global_optima(result), as_json)
    end(out, "global", result.seconds, result.complete, goes_on=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonExtent:
    """How much of the comparison is run."""

    PANEL: ClassVar[str] = "Extent"

    splits: Annotated[int, typer.Option(min=1, help="Random splits of each set.")] = 10
    runs: Annotated[
        int, typer.Option(min=1, help="Runs of EMSCO on a split; on synthetic50, on all together.")
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
            "--quick", help="A minute or two: two sets and splits, few runs and settings."
        ),
    ] = False

    def extent(self) -> Extent:
        """The same as the library takes it."""
        from dataclasses import replace

        from emsco.paper.comparison import QUICK, Extent

        most = QUICK if self.quick else Extent(splits=self.splits, runs=self.runs)
        sets, methods = tuple(self.sets or most.sets), tuple(self.methods or most.methods)
        return replace(most, sets=sets, methods=methods)


@reproduce.command("comparison")
def reproduce_comparison(
    extent: ComparisonExtent,
    out: Annotated[
        Path, typer.Option(help="Folder for results, tables (Markdown, JSON) and the figure.")
    ] = Path("reproduce-comparison"),
    known: Annotated[
        bool,
        typer.Option("--known", help="Run nothing: report all results of this seed in the folder."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of sets, splits and runs.")] = 0,
    jobs: Processes = -1,
    as_json: PrintJSON = False,
) -> None:
    """EMSCO and its rivals on the paper's five sets, over many random splits.

    Rivals are tuned and designs chosen on validation rows, and all are tested on test rows. Every
    result is kept in the folder as soon as it is there: killed or interrupted, the same command
    goes on. The tables stand beside the paper's, with 95 % margins of error and paired tests.
    """
    from emsco.paper.comparison import known_comparison
    from emsco.paper.comparison import reproduce_comparison as run
    from emsco.paper.comparison_report import ComparisonReport
    from emsco.paper.figures import draw_comparison

    make_folder(out)
    wanted = extent.extent()
    if known:
        result = known_comparison(out / "results", seed)
    else:
        with _at_work() as report:
            result = run(out / "results", wanted, seed, jobs, report)
    _write(out, "comparison", ComparisonReport(result), draw_comparison(result), as_json)
    end(out, "comparison", None if known else result.seconds, result.complete)


@reproduce.command("tuning")
def reproduce_tuning(
    out: Annotated[
        Path, typer.Option(help="Folder for results and tables (Markdown, JSON).")
    ] = Path("reproduce-tuning"),
    splits: Annotated[int, typer.Option(min=1, help="Random splits of each set.")] = 1,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each setting on a split.")] = 3,
    thin: Annotated[
        int, typer.Option(min=1, help="Try one in so many of the 960 settings, and the paper's.")
    ] = 1,
    sets: Sets = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of sets, splits and runs.")] = 0,
    jobs: Processes = -1,
    as_json: PrintJSON = False,
) -> None:
    """The paper's search at many settings: which are best, and how much it matters.

    |G|, m̂, r̂, β and b are varied over a grid that holds what the paper chose, and scored by the
    balanced score of what is deployed. Every result is kept as soon as it is there: the same
    command goes on. Synthetic50 takes a minute a run, so thin its grid.
    """
    from emsco.paper.figures import draw_tuning
    from emsco.paper.published import SETS
    from emsco.paper.tuning import Sweep
    from emsco.paper.tuning import reproduce_tuning as run

    make_folder(out)
    sweep = Sweep(tuple(sets or SETS), splits, runs, thin=thin)
    with _at_work() as report:
        result = run(out / "results", sweep, seed, jobs, report)
    _write(out, "tuning", result, draw_tuning(result), as_json)
    end(out, "tuning", result.seconds, result.complete)


@reproduce.command("sweep")
def reproduce_sweep(
    out: Annotated[
        Path, typer.Option(help="Folder for results, the table (Markdown, JSON) and the picture.")
    ] = Path("reproduce-sweep"),
    name: Annotated[
        str, typer.Option("--set", help="pima, credit, heart, synthetic50 or synthetic15.")
    ] = "synthetic15",
    runs: Annotated[int, typer.Option(min=1, help="Runs at each threshold.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the set, the split and all runs.")] = 0,
    jobs: Processes = -1,
    as_json: PrintJSON = False,
) -> None:
    """The authors' sweep: nine thresholds from .55 to .95, and what the fittest designs do at each.

    The paper's loop at its settings for the set, over 150 generations; every fit serves all
    thresholds. Every result is kept as soon as it is there: the same command goes on. On
    synthetic50 a run takes a minute.
    """
    from emsco.paper.sweep import reproduce_sweep as run
    from emsco.studies.sweep_figure import draw_sweep

    make_folder(out)
    with _at_work("runs", "no run was complete") as report:
        result = run(out / "results", name, runs, seed, jobs, report)
    _write(out, "sweep", result, draw_sweep(result), as_json)
    end(out, "sweep", result.seconds, result.complete)


@reproduce.command("mutation")
def reproduce_mutation(
    out: Out = Path("reproduce-mutation"),
    mutants: Annotated[
        int, typer.Option(min=1, help="Mutants to make at each point that is checked.")
    ] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the mutants.")] = 0,
    as_json: PrintJSON = False,
) -> None:
    """How likely a mutation adds a stage, for values of β: the paper's curves, checked.

    Beside the paper's formula stand the exact probability, which minds stages that are left empty,
    and mutants that the library's own operator has made.
    """
    from emsco.paper.mutation import draw_mutation
    from emsco.paper.mutation import reproduce_mutation as run

    make_folder(out)
    result = run(mutants, seed)
    _write(out, "mutation", result, draw_mutation(result), as_json)
    end(out, "mutation")


@reproduce.command("landscape")
def reproduce_landscape(
    out: Out = Path("reproduce-landscape"),
    name: Annotated[str, typer.Option("--set", help="credit, heart or pima.")] = "credit",
    max_stages: Annotated[int, typer.Option(min=1, max=4, help="Most stages of a design.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split.")] = 0,
    jobs: Threads = -1,
    as_json: PrintJSON = False,
) -> None:
    """Coverage, accuracy and cost of every design of a set: the paper's trade-off figure.

    The paper draws Credit with at most 4 stages: 254,152,083 designs, all of which are scored. The
    sets come from the folder that EMSCO_DATA names, else from their archives.
    """
    from emsco.paper.landscape import draw_trade_offs
    from emsco.paper.landscape import reproduce_landscape as run

    make_folder(out)
    typer.echo("scoring every design; a few seconds on an idle machine", err=True)
    with interruptible(lambda: what_is_left(out)):
        result = run(name, max_stages, seed, jobs)
    _write(out, "landscape", result, draw_trade_offs(result), as_json)
    end(out, "landscape", result.seconds)


@reproduce.command("costs")
def reproduce_costs(out: Out = Path("reproduce-costs"), as_json: PrintJSON = False) -> None:
    """The cost classes of the paper's sets, and how they are known.

    The paper's own table is lost: Heart's classes are recovered from the authors' log, Pima's and
    Credit's chosen by the paper's rules. Synthetic15 has no classes.
    """
    from emsco.paper.cost_classes import cost_table, draw_cost_table

    make_folder(out)
    result = cost_table()
    _write(out, "costs", result, draw_cost_table(result), as_json)
    end(out, "costs")


@contextmanager
def _at_work(
    what: str = "jobs", left: str = "no result was complete"
) -> Iterator[Callable[[int, int, str], None]]:
    """A bar, to be told of every job that is done; what Ctrl-C leaves is said in words."""
    from emsco._base.progress import JobProgress

    with interruptible(left), JobProgress(what) as progress:
        yield progress.job


class _Result(Protocol):
    """What an experiment has found."""

    def to_dict(self) -> dict[str, Any]: ...
    def to_markdown(self) -> str: ...


def _write(out: Path, name: str, result: _Result, figure: Figure, as_json: bool) -> None:
    """Write what was found, and print it."""
    markdown = result.to_markdown()
    text = write_results(out, name, figure, result.to_dict(), markdown)
    typer.echo(text if as_json else markdown)
