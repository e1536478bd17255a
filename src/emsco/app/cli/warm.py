"""`emsco warm`: compile ahead, so that no later command waits for it."""

from __future__ import annotations

from typing import Annotated

import typer

from emsco.app.cli.output import echo


def warm(
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes; -1: one for each core.")
    ] = -1,
) -> None:
    """Compile emsco for this machine, once, so that later commands start at once.

    Numba compiles what is slow in Python when it is first used, which makes the first fit of a
    fresh installation wait for half a minute. This command does it ahead. What it compiles is kept
    beside the installed package, or where NUMBA_CACHE_DIR says, for all who use it.
    """
    from joblib import effective_n_jobs

    from emsco._base.checks import check_jobs
    from emsco._base.progress import JobProgress
    from emsco.app.cli import warming

    check_jobs(jobs)
    n_jobs = effective_n_jobs(jobs)
    with JobProgress("compiling") as progress:
        warming.warm(n_jobs, progress)
    echo("emsco is compiled for this machine.")
