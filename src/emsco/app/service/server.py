"""Run the service: from a cascade file to a listening socket, until it is told to end."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from emsco._base.checks import check_whole, refused
from emsco.app.service.cases import Desk
from emsco.app.service.settings import Settings
from emsco.app.service.store import CaseStore
from emsco.cascade import Cascade
from emsco.errors import Hint, Remedy, not_installed

if TYPE_CHECKING:
    import uvicorn

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


def check_installed() -> None:
    """Raise an error that says how to install FastAPI and uvicorn, if one is missing."""
    try:
        import fastapi  # noqa: F401
        import httptools  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise not_installed("FastAPI and uvicorn", "'emsco[serve]'") from None


def check_host(host: str, *, has_token: bool, allowed: bool) -> None:
    """Refuse to listen for other machines without a token, unless that is allowed."""
    if has_token or allowed or host == "localhost":
        return
    try:
        is_own = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if not is_own:
        rule = "be an address of this machine alone without a token"
        raise refused("host", rule, host, hint=Hint(Remedy.TOKEN))


def serve(
    cascade: Cascade,
    database: Path,
    settings: Settings,
    host: str,
    port: int,
    report: Callable[[Started], None],
) -> Desk:
    """Serve a cascade until a signal ends it; return the desk as it was then.

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
    check_installed()
    listening = _listen(host, port)
    try:
        store = CaseStore(database, cascade.stages.identity)
        desk = Desk(cascade, store, settings)
        server = make_server(desk, host)
        _warm_up(cascade)
        number = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        report(Started(f"http://{shown}:{number}", database, desk.n_open, desk.n_decided))
        _run(server, listening)
        return desk
    finally:
        listening.close()


def make_server(desk: Desk, host: str) -> uvicorn.Server:
    """Return the server of a desk; its `run` takes a socket."""
    import uvicorn

    from emsco.app.service.application import make_application
    from emsco.app.service.protocol import LimitedProtocol

    config = uvicorn.Config(
        make_application(desk, host),
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


def _listen(host: str, port: int) -> socket.socket:
    check_whole("port", port, 0, 65535)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        got = f"{port} at {host!r} ({why})"
        raise refused("port", "be one that is free", port, got=got) from None


def _warm_up(cascade: Cascade) -> None:
    """Judge a row at every stage, so that no client waits for the compiler."""
    stages = cascade.stages
    for stage in range(len(stages)):
        stages.label_one([0.0] * stages.encoding.n_inputs, stage)
