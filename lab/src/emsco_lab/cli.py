"""The command `emsco-lab`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from emsco.errors import EMSCOError

app = typer.Typer(
    help="Compare EMSCO with its rivals on your data, and recompute the paper's results.\n\n"
    "emsco-lab compare heart.csv --target disease --costs costs.csv\n\n"
    "emsco-lab reproduce global",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@app.command(no_args_is_help=True)
def compare(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    target: Annotated[str, typer.Option(help="Column of the labels.")],
    costs: Annotated[
        Path, typer.Option(help="File of costs: CSV (feature,cost), JSON, or numbers.")
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="emsco, cost_aware_boosting, catboost, optimal_trees, fixed_subset, "
            "threshold_cascade, dime, greedy_miser, cstc, cact_lasso or cost_ordered; repeatable, "
            "by default all that are installed."
        ),
    ] = None,
    splits: Annotated[
        int | None, typer.Option(min=1, help="Random splits; 3 by default. More tell more.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One split and few settings of each rival.")
    ] = False,
    error_cost: Annotated[
        list[str] | None,
        typer.Option(metavar="[LABEL=]E", help="Cost of an error, or of one about a label."),
    ] = None,
    reject_cost: Annotated[
        list[str] | None,
        typer.Option(metavar="[LABEL=]R", help="Cost of a rejection; without it none is made."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path("comparison"),
    seed: Annotated[int, typer.Option(min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1 uses all processors.")] = -1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare EMSCO and its rivals on your data: who is most accurate for how much.

    Every method is fitted and tuned on three quarters of the rows, and tested on the rest. It
    offers its most accurate design at mean costs of at most 2, 5, 10, 20 and 40 % of everything,
    if every row needs an answer and if a tenth may be rejected. With --error-cost, it offers the
    lowest mean total of features, errors and rejections instead.

    Results are saved as they come: after Ctrl-C, the same command continues, and more splits or
    methods add to what is there.
    """
    from emsco_lab._tools import progress
    from emsco_lab.compare import (
        MAX_SETTINGS,
        METHODS,
        QUICK_SETTINGS,
        SPLITS,
        check_installed,
        check_methods,
        compare_methods,
        read_table,
        to_dict,
        to_markdown,
        write,
    )

    methods = check_methods(method or METHODS)
    if method:  # of all methods, those that are not installed are left out and named
        check_installed(methods)
    rows = read_table(data, target, costs)
    with progress("jobs") as report:
        comparison = compare_methods(
            rows,
            data.name,
            methods,
            splits or (1 if quick else SPLITS),
            max_settings=QUICK_SETTINGS if quick else MAX_SETTINGS,
            error_cost=_prices("--error-cost", error_cost),
            reject_cost=_prices("--reject-cost", reject_cost),
            seed=seed,
            path=out / "results.jsonl",
            n_jobs=jobs,
            report=report,
        )
    write(comparison, out)
    typer.echo(json.dumps(to_dict(comparison), indent=1) if as_json else to_markdown(comparison))
    if not comparison.complete:
        print(f"emsco-lab: interrupted; the same command continues in {out}.", file=sys.stderr)
        raise SystemExit(130)


@app.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
def reproduce(words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
    """Recompute the figures and tables of the paper."""
    # Imported here, since it takes seconds.
    from emsco_lab.paper.commands import reproduce as run

    run(words or [], prog_name="emsco-lab reproduce")


def _prices(option: str, texts: list[str] | None) -> float | dict[str, float] | None:
    """Read a cost, or a cost for each label."""
    if not texts:
        return None
    try:
        if len(texts) == 1 and "=" not in texts[0]:
            return float(texts[0])
        pairs = (text.rpartition("=") for text in texts)
        return {label: float(cost) for label, _, cost in pairs}
    except ValueError:
        rule = "must be a number, or LABEL=NUMBER for every label"
        raise typer.BadParameter(f"{option} {rule}, got {' '.join(texts)}.") from None


def main() -> None:
    """Run the command; an error is one line."""
    try:
        app()
    except EMSCOError as error:
        print(f"emsco-lab: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except OSError as error:
        print(f"emsco-lab: {error.filename}: {error.strerror}.", file=sys.stderr)
        raise SystemExit(1) from None
