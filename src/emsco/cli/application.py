"""The command line; every command calls one public function and draws what it returns."""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emsco.cli.commands import (
    INTERRUPTED,
    AsJSON,
    Commands,
    Dropped,
    LabelledFile,
    RunFolder,
    Target,
    Trusted,
    Weights,
    interruptible,
    print_json,
)
from emsco.cli.compare import compare
from emsco.cli.evaluate import evaluate
from emsco.cli.explore import explore
from emsco.cli.plot import plot
from emsco.cli.reproduce import reproduce
from emsco.cli.show import draw_design, show
from emsco.cli.sweep import sweep

if TYPE_CHECKING:
    from emsco.front import ParetoPoint
    from emsco.runs.run import Run

__all__ = ["main"]

_LINES, _FEW_MORE = 20, 4

MaxCost = Annotated[float | None, typer.Option(help="Largest mean cost of a row.")]
MinAccuracy = Annotated[
    float | None, typer.Option(help="Least share of right labels among those given, as in 0.9.")
]
MinCoverage = Annotated[float | None, typer.Option(help="Least share of rows with a label.")]

app = Commands(
    add_completion=False,
    pretty_exceptions_enable=False,
    help=(
        "Budgeted, selective classification: classifiers that buy costly features stage by stage, "
        "stop as soon as they are sure, and decline to answer when they never become sure."
    ),
    epilog="Start with: emsco demo",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"emsco {version('emsco')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def _show_run(
    run: Run,
    within: list[int] | None = None,
    most: int | None = None,
    see_all: str = "emsco front --all",
    best: ParetoPoint | None = None,
) -> None:
    from rich.console import Console

    from emsco.cli.terminal import front_table

    console, (least, spare) = Console(), (most or _LINES, 0 if most else _FEW_MORE)
    console.print(f"Search ended: {run.about['stop_reason']}.\n", highlight=False)
    console.print(
        front_table(run.front, run.point, console.width, least, within, see_all, best, spare)
    )


def _next_steps(run: Run) -> str:
    trust = "".join(f" --trust {name}" for name in run.cascade.untrusted_types)
    steps = [f"{name} {run.folder}{trust}" for name in ("emsco show", "emsco explore")]
    return ", ".join([*steps, f"emsco decide {run.folder} NEW.csv{trust}"])


@app.command()
def demo(
    seed: Annotated[
        int,
        typer.Option(min=0, help="Seed of the split and of the search; the same gives the same."),
    ] = 0,
    as_json: AsJSON = False,
) -> None:
    """The whole story on data that comes with scikit-learn, in seconds.

    Takes the breast-cancer data (569 samples, 30 measurements) with a declared cost for each
    measurement, searches for cascades, shows the trade-offs found, and tests the chosen cascade
    on rows kept aside against buying every measurement for everyone.
    """
    from emsco.cli.demonstration import run_demo

    result = run_demo(seed=seed, verbose=1)
    if as_json:
        print_json(result.to_dict())
        return
    from rich.console import Console

    from emsco.cli.terminal import cascade_drawing, comparison_table, front_table, than_everything

    classifier = result.classifier
    console = Console()
    console.print(f"Search ended: {classifier.stop_reason_}.\n")
    console.print(front_table(classifier.front_, classifier.point_, console.width))
    console.print()
    number = classifier.front_.points.index(classifier.point_)
    console.print(cascade_drawing(classifier.front_, number, result.test))
    console.print()
    console.print(comparison_table(result.test, result.everything))
    saved = 1 - result.test.cost / result.everything.cost
    console.print(f"The cascade spends {than_everything(saved)}.")
    if classifier.stop_reason_.is_interrupted:
        raise typer.Exit(INTERRUPTED)


@app.command()
def fit(
    data: LabelledFile = None,
    *,
    target: Target,
    out: Annotated[Path, typer.Option(help="New folder for what is found, the RUN.")],
    costs: Annotated[
        Path | None,
        typer.Option(
            help="Costs: CSV with the columns feature,cost and perhaps group (columns bought "
            "together); JSON; or one line of numbers in column order. Without it every column "
            "costs 1."
        ),
    ] = None,
    min_confidence: Annotated[
        str,
        typer.Option(
            metavar="P",
            help="A row leaves at the first stage that is this sure; or a threshold for each "
            "class, as in ill=0.9,well=0.99.",
        ),
    ] = "0.75",
    max_stages: Annotated[
        int | None, typer.Option(help="Most stages of a design; half the features by default.")
    ] = None,
    search: Annotated[
        str, typer.Option(help="auto, exact, evolution or paper; see docs/how/search.md.")
    ] = "auto",
    prefer: Annotated[
        str | None,
        typer.Option(
            help="Which point to deploy: balanced, knee or fittest (the paper's).",
            show_default="balanced",
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(help="Deploy the best balanced point of at most this mean cost of a row."),
    ] = None,
    min_accuracy: Annotated[
        float | None, typer.Option(help="The same of at least this accuracy, as in 0.9.")
    ] = None,
    min_coverage: Annotated[
        float | None, typer.Option(help="The same of at least this share of rows with a label.")
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="Rows to fit on, instead of DATA; with --val.")
    ] = None,
    val: Annotated[
        Path | None, typer.Option(help="Rows to score designs on, instead of part of DATA.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Rows kept aside, to test every design of the front on.")
    ] = None,
    drop: Dropped = None,
    held_out: Annotated[
        float,
        typer.Option(help="Share of DATA held out to score designs on.", show_default="a third"),
    ] = 1 / 3,
    generations: Annotated[int, typer.Option(help="Generations of an evolution.")] = 150,
    population_size: Annotated[int, typer.Option(help="Designs in a generation.")] = 300,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which the search ends with what it has.")
    ] = None,
    memory_limit: Annotated[str, typer.Option(help="Most memory for fitted subsets.")] = "1GiB",
    refit: Annotated[
        bool, typer.Option("--refit", help="Deploy stages refitted on all rows of DATA.")
    ] = False,
    weights: Weights = None,
    gaps: Annotated[
        str, typer.Option(help="Missing values: refuse, impute, or skip the stage that lacks one.")
    ] = "refuse",
    estimator: Annotated[
        str | None,
        typer.Option(
            help="Classifier of each stage, as in DecisionTreeClassifier(), or a "
            "make_pipeline(...) that ends in one; logistic regression by default."
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps what fits of --estimator say, for later fits."),
    ] = None,
    calibration: Annotated[
        str | None, typer.Option(help="Make confidence honest: sigmoid or isotonic.")
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(help="How much classes count in fits: balanced, or as in ill=5,well=1."),
    ] = None,
    allow_exclusion: Annotated[
        bool, typer.Option("--allow-exclusion", help="Designs may leave features out for good.")
    ] = False,
    evaluation_cost: Annotated[
        float, typer.Option(help="Cost of running a stage, beside what its features cost.")
    ] = 0.0,
    first: Annotated[
        list[str] | None,
        typer.Option(metavar="FEATURE", help="Feature that the first stage must buy; repeatable."),
    ] = None,
    together: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURES", help="Features that one stage must buy, as in a,b; repeatable."
        ),
    ] = None,
    max_mean_cost: Annotated[
        float | None, typer.Option(help="Only designs that cost a row this much on average.")
    ] = None,
    max_worst_cost: Annotated[
        float | None, typer.Option(help="Only designs that never cost a row more.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed; the same gives the same.")] = 0,
    jobs: Annotated[int, typer.Option(help="Threads; -1 is one for each core.")] = -1,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with a run that was killed or interrupted."),
    ] = False,
    as_json: AsJSON = False,
) -> None:
    """Search for cascades on your data, and keep what is found in a folder.

    The folder holds run.json (settings and versions), front.json (every design worth choosing,
    with its fitted stages), cascade.json (the deployed one) and history.csv. While the search
    runs, a checkpoint is there, too: killed at any moment, the same command with --resume goes on.

    For example:

        emsco fit heart.csv --target disease --costs costs.csv --out heart-run

        emsco fit --train a.csv --val b.csv --test c.csv --target disease --out heart-run
    """
    from emsco.cli import options
    from emsco.data.sources import FitFiles
    from emsco.runs.fit import fit_files, what_is_left

    with interruptible(lambda: what_is_left(out)):
        run = fit_files(
            FitFiles(target, data, train, val, test, costs, tuple(drop or ()), weights),
            out,
            seed=seed,
            held_out=held_out,
            resume=resume,
            verbose=1,
            min_confidence=options.parse_by_class("--min-confidence", min_confidence),
            max_stages=max_stages,
            gaps=gaps,
            estimator=options.parse_estimator(estimator) if estimator else None,
            cache=cache,
            calibration=calibration,
            class_weight=options.parse_class_weight(class_weight),
            allow_exclusion=allow_exclusion,
            evaluation_cost=evaluation_cost,
            constraints=options.rules_of_designs(first, together, max_mean_cost, max_worst_cost),
            search=search,
            prefer=options.preference(prefer, max_cost, min_accuracy, min_coverage),
            generations=generations,
            population_size=population_size,
            time_limit=time_limit,
            memory_limit=memory_limit,
            refit=refit,
            n_jobs=jobs,
        )
    if as_json:
        print_json({"run": str(out), **run.about, "chosen": run.chosen, "front": run.figures()})
    else:
        _show_run(run)
        typer.echo(f"Written to {out}. Next: {_next_steps(run)}")
    if run.interrupted:
        typer.echo(f"emsco: interrupted; {what_is_left(out)}.", err=True)
        raise typer.Exit(INTERRUPTED)


@app.command()
def front(
    run: RunFolder,
    max_cost: MaxCost = None,
    min_accuracy: MinAccuracy = None,
    min_coverage: MinCoverage = None,
    most: Annotated[
        int | None,
        typer.Option(
            "--rows",
            min=1,
            help=f"Most lines to show: {_LINES} by default, or all where there are hardly more.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every line, however many.")] = False,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """What there is to choose from: the designs of a run that no other design beats.

    Figures are of the rows held out to score designs, and beside them of the test rows where the
    run has some. Limits apply to the former; what `emsco choose` would take within them is marked.
    `emsco show RUN N` draws one of them.
    """
    from emsco.runs.run import Run

    found = Run.open(run, trusted or ())
    limits = {"max_cost": max_cost, "min_accuracy": min_accuracy, "min_coverage": min_coverage}
    within = found.front.within(**limits)
    best = found.front.select(**limits)  # where none is within, says how near the front comes
    limited = any(limit is not None for limit in limits.values())
    if as_json:
        print_json({"run": str(run), "chosen": found.chosen, "front": found.figures(within)})
    else:
        lines = len(within) if every else most
        _show_run(found, within, lines, "--all", best if limited else None)


@app.command()
def choose(
    run: RunFolder,
    number: Annotated[
        int | None,
        typer.Argument(metavar="N", help="Number of a design, as `emsco front` shows it."),
    ] = None,
    max_cost: MaxCost = None,
    min_accuracy: MinAccuracy = None,
    min_coverage: MinCoverage = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Deploy another design of a run: by its number, or the best balanced one within limits."""
    from emsco.errors import ParameterError
    from emsco.runs.run import Run

    found = Run.open(run, trusted or ())
    limits = {"max_cost": max_cost, "min_accuracy": min_accuracy, "min_coverage": min_coverage}
    limited = any(limit is not None for limit in limits.values())
    if limited and number is not None:
        raise ParameterError("either a number N or a limit must be given, got both.")
    if not limited and number is None:
        raise ParameterError(
            f"a number N or a limit must be given, got none; emsco front {run} shows the numbers."
        )
    chosen = found.choose(number if number is not None else found.front.select(**limits))
    if as_json:
        print_json({"run": str(run), "chosen": chosen.chosen, **chosen.figures([chosen.chosen])[0]})
    else:
        typer.echo(f"{run} now deploys design {chosen.chosen}.\n")
        draw_design(chosen.front, chosen.chosen)


def _cascade_file(run: Path) -> Path:
    """What `decide` is given, which may be a folder."""
    from emsco.errors import FileError

    path = run / "cascade.json" if run.is_dir() else run
    if not path.exists():
        why = "which has no cascade.json" if run.is_dir() else "which does not exist"
        raise FileError(
            f"RUN must be a folder that emsco fit has made, or a cascade file, got {str(run)!r}, "
            f"{why}."
        )
    return path


@app.command()
def decide(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, or a cascade file.")],
    new: Annotated[
        Path, typer.Argument(metavar="NEW", help="CSV or Parquet file with the rows to decide.")
    ],
    out: Annotated[
        Path, typer.Option(help="CSV or Parquet file for the decisions, a row each.")
    ] = Path("decisions.csv"),
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of NEW to put before the decisions, such as an id; repeatable.",
        ),
    ] = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Label or reject every row of a file, with its confidence, exit stage and cost.

    The file may be larger than memory: it is read, decided and written in chunks. The label of a
    rejected row is empty.
    """
    from emsco._base.progress import RowProgress
    from emsco.cascade import Cascade
    from emsco.runs.decide import decide_file

    cascade = Cascade.load(_cascade_file(run), trusted or ())
    with interruptible(f"{out} is as it was"), RowProgress() as progress:
        counts = decide_file(cascade, new, out, tuple(keep or ()), progress.rows)
    if as_json:
        print_json({"out": str(out), **counts.to_dict()})
        return
    from rich.console import Console

    from emsco.cli.terminal import counts_table

    Console().print(counts_table(cascade, counts))
    typer.echo(f"Written to {out}.")


app.command()(evaluate)
app.command()(show)
app.add_typer(reproduce, name="reproduce")
app.command()(compare)
app.command()(sweep)
app.command()(plot)
app.command()(explore)


def _show_warning(message: Warning | str, *_where: Any, **_more: Any) -> None:
    typer.echo(f"emsco: warning: {message}", err=True)


def main() -> None:
    """Run the command line; an error of emsco's own is one line and exit code 1."""
    from emsco.cli.options import as_typed
    from emsco.errors import EMSCOError

    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a log in ASCII gets ? for a bar, not an error
    try:
        app()
    except (EMSCOError, OSError) as error:
        typer.echo(f"emsco: {as_typed(str(error), sys.argv)}", err=True)
        raise SystemExit(1) from None
