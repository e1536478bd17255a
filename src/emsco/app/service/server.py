"""Run the service: from a cascade file to a listening socket, until it is told to end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn

from emsco._base.checks import check_whole
from emsco.app.service.application import make_application
from emsco.app.service.cases import CaseService
from emsco.app.service.limits import LimitedProtocol
from emsco.app.service.settings import Settings
from emsco.app.service.store import CaseStore
from emsco.cascade import Cascade
from emsco.errors import ParameterError

_BACKLOG = 1024
_GRACE = 5  # seconds for requests to end


@dataclass(frozen=True, slots=True)
class Started:
    """What a service says once it listens.

    Attributes
    ----------
    url : str
    database : Path
    n_open, n_decided : int
        Cases that the database had.
    """

    url: str
    database: Path
    n_open: int
    n_decided: int


def serve(
    cascade: Cascade,
    database: Path,
    settings: Settings,
    host: str,
    port: int,
    report: Callable[[Started], None],
) -> CaseService:
    """Serve a cascade until a signal ends it; return the service as it was then.

    Parameters
    ----------
    cascade : Cascade
    database : Path
        File of the cases.
    settings : Settings
    host : str
    port : int
        0 takes any that is free.
    report : callable
        ``report(started)`` is called once the service listens.
    """
    check_whole("port", port, 0, 65535)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ParameterError(
            f"port must be one that is free, got {port} at {host!r} ({why})."
        ) from None
    try:
        store = CaseStore(database, cascade.stages.identity)
        service = CaseService(cascade, store, settings)
        server = make_server(service, host)
        # Judge a row at every stage, so that no client waits for the compiler.
        for stage in range(len(cascade.stages)):
            cascade.stages.judge_one([0.0] * cascade.encoding.n_inputs, stage)
        number = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        report(Started(f"http://{shown}:{number}", database, service.n_open, service.n_decided))
        _run(server, listening)
        return service
    finally:
        listening.close()


def make_server(service: CaseService, host: str) -> uvicorn.Server:
    """Return the server of a service; its `run` takes a socket."""
    config = uvicorn.Config(
        make_application(service, host),
        access_log=False,
        backlog=_BACKLOG,
        date_header=False,
        http=LimitedProtocol,
        lifespan="on",
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
        ws="none",
    )
    return uvicorn.Server(config)


def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    """Run until a signal comes; uvicorn raises it again when it is done."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        server.run(sockets=[listening])
    except (KeyboardInterrupt, asyncio.CancelledError):
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
