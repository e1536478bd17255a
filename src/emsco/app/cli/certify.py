"""`emsco certify`: which designs of a run keep promises on fresh rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emsco._base.text import counted
from emsco.app.cli.endings import NOT_CERTIFIED, interruptible
from emsco.app.cli.options import AsJSON, HowToRead, Promises, RunFolder, Seed, Trusted
from emsco.app.cli.output import echo, print_json
from emsco.errors import ParameterError


def certify(
    run: RunFolder,
    promises: Promises,
    read: HowToRead,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA", help="CSV or Parquet file with labelled rows that the fit has not seen."
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="Highest chance of a false certificate.")] = 0.05,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of DATA with the group of a row, such as the patient: one row of each is "
            "drawn.",
        ),
    ] = None,
    max_weight: Annotated[
        float | None,
        typer.Option(help="Largest weight that a row can have, if the run has weights."),
    ] = None,
    point: Annotated[
        list[int] | None,
        typer.Option(
            help="Number of a design to test, instead of all in the order of their scored figures; "
            "repeatable, and tested in this order."
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only say how many rows it takes. Needs no DATA.")
    ] = False,
    deploy: Annotated[
        bool,
        typer.Option(
            "--deploy", help="Deploy the best certified design, unless the deployed one is."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="JSON file for the certificate; by default certificate.json in RUN."),
    ] = None,
    seed: Seed = 0,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Certify which designs keep promises about new rows, with a stated chance of error.

    DATA must hold rows that the fit has not seen, and that came as new rows will come. The deployed
    design is tested first if it is likely to pass on so many rows; otherwise a warning says so
    before the test. The others follow in an order that the scored rows fix, until the first that
    fails. The exit code is 3 if no design is certified; then no certificate is written. Either way
    these rows are spent: a second test of them with other promises is refused.

    For example:

        emsco certify heart-run --min-accuracy 0.95 --min-coverage 0.8 --plan

        emsco certify heart-run fresh.csv --min-accuracy 0.95 --min-coverage 0.8 --deploy

        emsco certify heart-run fresh.csv --max-total 30
    """
    from emsco._base.locks import locked_folder
    from emsco._base.progress import JobProgress
    from emsco.app.runs.certify import certify_run
    from emsco.app.runs.decide import check_other_file
    from emsco.app.runs.run import CERTIFICATE, Run

    if plan:
        opened = Run.open(run, trusted or ())
        planned = opened.front.plan_certificate(
            **promises.limits(opened), delta=delta, order=point or None, deployed=opened.chosen
        )
        if as_json:
            print_json(planned.to_dict())
        else:
            echo(repr(planned))
        return
    if data is None:
        raise ParameterError("data must be given, got none; --plan needs none.")
    check_other_file(out, data, "data")
    path = run / CERTIFICATE if out is None else out
    # Until the certified design is deployed, no other command may deploy or certify another.
    with locked_folder(run):
        opened = Run.open(run, trusted or ())
        limits = promises.limits(opened)
        with interruptible("nothing is written"), JobProgress("designs tested") as progress:

            def begin(order: tuple[int, ...], n_rows: int) -> None:
                deployed = ", the deployed one" if order[0] == opened.chosen else ""
                others = f", then {counted(len(order) - 1, 'other')} in turn" if order[1:] else ""
                rows = counted(n_rows, "row")
                progress.say(f"Testing design {order[0]}{deployed}, on {rows}{others}.")

            certificate = certify_run(
                opened,
                data,
                groups,
                delta=delta,
                max_weight=max_weight,
                order=point or None,
                random_state=seed,
                reading=read.reading(),
                report=lambda done, total: progress.job(done, total, ""),
                begin=begin,
                **limits,
            )
        best = certificate.best_first[0] if certificate.best_first else None
        if best is not None:
            certificate.save(path)
            had_other_labels = not opened.gives_labels_of_front
            if deploy and not certificate.covers(opened.cascade):
                opened = opened.choose(best)
    if as_json:
        print_json({"run": str(run), **certificate.to_dict()})
    else:
        echo(repr(certificate))
    if best is None:
        raise SystemExit(NOT_CERTIFIED)
    if as_json:
        return
    echo(f"Written to {path}.")
    if certificate.covers(opened.cascade):
        echo(f"{run} deploys design {opened.chosen}, which is certified.")
        if had_other_labels:
            echo("Rows get their likeliest labels again, since only these are certified.")
    elif opened.chosen == best:
        echo(
            f"{run} deploys design {best} with labels of least expected cost, and only its "
            f"likeliest labels are certified; emsco choose {run} {best} deploys these."
        )
    else:
        echo(
            f"{run} still deploys design {opened.chosen}, which is not certified; "
            f"emsco choose {run} {best} deploys the certified one."
        )
