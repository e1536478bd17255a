"""`emsco serve`: a cascade as an HTTP service."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from emsco._base.checks import memory_bytes
from emsco._base.text import counted
from emsco.app.cli.decide import cascade_file
from emsco.app.cli.endings import say
from emsco.app.cli.options import AsJSON, Currency, Trusted
from emsco.app.cli.output import echo, print_json
from emsco.errors import FileError, ParameterError

if TYPE_CHECKING:
    from emsco.app.service.server import Started

_LONGEST_TOKEN = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Options for who may ask, and how much."""

    PANEL: ClassVar[str] = "Access and limits"

    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File whose first line every request must carry: Authorization: Bearer …."
        ),
    ] = None
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let other machines in although there is no token.")
    ] = False
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Tell clients apart by X-Forwarded-For, which a proxy in front sets.",
        ),
    ] = False
    rate: Annotated[float, typer.Option(help="Requests a second that one client may send.")] = 1000
    max_body: Annotated[str, typer.Option(help="Largest body of a request.")] = "1MB"
    max_rows: Annotated[int, typer.Option(help="Most rows or cases of one request.")] = 10_000
    max_open: Annotated[int, typer.Option(help="Most cases that may be open.")] = 1_000_000
    retain: Annotated[
        float, typer.Option(help="Days after which a decided case is deleted; open ones are kept.")
    ] = 30


def serve(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, or a cascade file.")],
    access: Access,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8000,
    database: Annotated[
        Path | None, typer.Option(help="File of the cases; by default cases.sqlite in RUN.")
    ] = None,
    trace: Annotated[
        bool,
        typer.Option("--trace", help="Record a span of OpenTelemetry for each purchase of a case."),
    ] = False,
    require_certificate: Annotated[
        bool,
        typer.Option(
            "--require-certificate",
            help="Serve only if certificate.json in RUN is for the deployed design.",
        ),
    ] = False,
    currency: Currency = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Serve the cascade of a run over HTTP: open cases, give values, get decisions.

    The address itself is a page to play one case by hand. /docs lists every request, and /metrics
    counts cases for Prometheus. An answer is sent once the case is on the disk, so neither a
    restart nor a crash loses what was acknowledged. Ctrl-C ends the service.

    There is no TLS here. Other machines are let in with a token only; put a proxy with TLS in
    front. Install it with: pip install 'emsco[serve]'

    For example:

        emsco serve heart-run --port 8000
    """
    from emsco.app.service.settings import Settings, check_host, check_installed
    from emsco.cascade import Cascade
    from emsco.cascade.telemetry import trace_purchases
    from emsco.plotting.figures import check_currency

    check_installed()
    if trace:
        trace_purchases()
    from emsco.app.service.server import serve as serve_cascade

    settings = Settings(
        max_body=memory_bytes("max_body", access.max_body),
        max_rows=access.max_rows,
        rate=access.rate,
        max_open=access.max_open,
        retain=access.retain,
        token=None if access.token_file is None else _read_token(access.token_file),
        behind_proxy=access.behind_proxy,
        run=run.resolve().name,
        target=_target_of(run),
        unit=check_currency(currency) or None,
    )
    check_host(host, has_token=settings.token is not None, allowed=access.no_token)
    file = cascade_file(run)
    if database is None:
        database = run / "cases.sqlite" if run.is_dir() else file.with_suffix(".sqlite")
    cascade = Cascade.load(file, trusted or ())
    if require_certificate:
        from emsco.app.runs.certify import require_certificate as check_certified

        check_certified(cascade, run)

    def report(started: Started) -> None:
        if as_json:
            print_json({"run": str(run), **asdict(started), "database": str(database)})
        else:
            cases = f"{counted(started.n_open, 'open case')} and {started.n_decided:,} decided"
            echo(
                f"Serving {run} at {started.url} (requests: {started.url}/docs).\n"
                f"Cases are kept in {started.database}: {cases}. Ctrl-C ends."
            )
        sys.stdout.flush()

    service = serve_cascade(cascade, database, settings, host, port, report)
    cases = f"{counted(service.n_open, 'open case')} and {service.n_decided:,} decided"
    say(f"ended; {cases} in {database}.")


def _target_of(run: Path) -> str | None:
    """Return the column that a run decides; None for a cascade without a run."""
    from emsco.app.runs.run import RUN, read_about

    try:
        return str(read_about(run / RUN)["files"]["target"])
    except FileError:
        return None  # only a name for readers: without one, the service works as well


def _read_token(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.readline(_LONGEST_TOKEN).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ParameterError(
            f"token_file must be a file that can be read, got {str(path)!r} ({why})."
        ) from None
