"""The front of the service: limits every request, counts it, and hands it on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

from emsco.app.service.endpoints import Endpoints, answer_of
from emsco.app.service.limits import Gatekeeper
from emsco.app.service.messages import Answer, Call, RefusalError

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_PUBLIC = {"/", "/docs", "/openapi.json", "/health", "/service.css", "/play.js", "/docs.js"}
_METHODS = {"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"}
_MOST_AT_ONCE = 2_000
_PATIENCE = 30.0  # seconds for a body to arrive
_DRAINED = 10  # times the largest body: what is read of a larger one, so that its sender listens
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
_OF_PAGES = [(b"content-security-policy", _POLICY.encode()), (b"referrer-policy", b"no-referrer")]


class Front:
    """An ASGI application around another one.

    Opening a case and giving it values are answered right here: FastAPI's routes, which do the
    same, would take as long as everything else together.

    Parameters
    ----------
    inner : ASGI application
    endpoints : Endpoints
    gatekeeper : Gatekeeper
    shortcut : bool
        Whether to answer the frequent requests right here.
    """

    def __init__(
        self,
        inner: Application,
        endpoints: Endpoints,
        gatekeeper: Gatekeeper,
        *,
        shortcut: bool = True,
    ) -> None:
        self._inner, self._endpoints, self._gatekeeper = inner, endpoints, gatekeeper
        self._max_body = endpoints.desk.settings.max_body
        self._metrics = endpoints.desk.metrics
        self._shortcut = shortcut
        self._n_waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        started = time.perf_counter()
        self._n_waiting += 1
        try:
            status = await self._answer(scope, receive, send)
        finally:
            self._n_waiting -= 1
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = scope.get("emsco_route") or getattr(scope.get("route"), "path", "other")
        self._metrics.note(method, str(route), status, time.perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> int:
        """Answer a request, and return the status."""
        try:
            body = await self._admitted(scope, receive)
        except RefusalError as error:
            return await _send(error.answer(), send)
        if self._shortcut and scope["method"] == "POST":
            path: str = scope["path"]
            if path == "/cases":
                scope["emsco_route"] = path
                return await _send(await answer_of(self._endpoints.open, Call(body)), send)
            case = path[7:-7]
            if path.startswith("/cases/") and path.endswith("/values") and "/" not in case:
                scope["emsco_route"] = "/cases/{id}/values"
                call = Call(body, case)
                return await _send(await answer_of(self._endpoints.give, call), send)
        return await self._handed_on(scope, body, send)

    async def _admitted(self, scope: Scope, receive: Receive) -> bytes:
        """Check the headers, and return the body."""
        if self._n_waiting > _MOST_AT_ONCE:
            said = f"at most {_MOST_AT_ONCE:,} requests may wait, and they do; ask again."
            raise RefusalError(503, said, headers={"retry-after": "1"})
        headers = dict(scope["headers"])
        client = scope.get("client")
        address = client[0] if client else ""
        self._gatekeeper.admit(address, headers, scope["path"] in _PUBLIC)
        length = headers.get(b"content-length", b"0")
        declared = int(length) if length.isdigit() and len(length) < 20 else 0
        if declared > self._max_body:
            await self._drain(receive, declared)
            raise self._too_large(f"{declared:,}")
        message = await receive()
        _check_here(message)
        body: bytes = message.get("body", b"")
        if message.get("more_body"):
            body += await self._rest(receive, len(body))
        if len(body) > self._max_body:
            raise self._too_large("more")
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if (body or scope["method"] == "POST") and kind != b"application/json":
            got = kind.decode("latin-1")[:60] or "none"
            raise RefusalError(415, f"Content-Type must be application/json, got {got}.")
        return body

    async def _rest(self, receive: Receive, n_bytes: int) -> bytes:
        """Read the rest of a body, in limited time; of one that is too large, a part is kept."""
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(_PATIENCE):
                while n_bytes <= _DRAINED * self._max_body:
                    message = await receive()
                    _check_here(message)
                    part: bytes = message.get("body", b"")
                    if n_bytes <= self._max_body:
                        parts.append(part)
                    n_bytes += len(part)
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            said = f"the body must arrive within {_PATIENCE:g} s, got a part of it."
            raise RefusalError(408, said, headers={"connection": "close"}) from None
        return b"".join(parts)

    async def _drain(self, receive: Receive, declared: int) -> None:
        """Read a body that is somewhat too large, so that its sender gets to read the answer."""
        if declared <= _DRAINED * self._max_body:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    while (await receive()).get("more_body"):
                        pass

    def _too_large(self, got: str) -> RefusalError:
        said = f"the body must have at most {self._max_body:,} bytes, got {got}."
        return RefusalError(413, said, headers={"connection": "close"})

    async def _handed_on(self, scope: Scope, body: bytes, send: Send) -> int:
        """Let the inner application answer; it gets the body that was read."""
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])
        status = 500

        async def replay() -> MutableMapping[str, Any]:
            return next(messages, {"type": "http.disconnect"})

        async def noting(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_HEADERS, *_OF_PAGES]
            await send(message)

        await self._inner(scope, replay, noting)
        return status


def _check_here(message: MutableMapping[str, Any]) -> None:
    """Refuse a request whose client has gone before all of it came: it asks for nothing."""
    if message["type"] == "http.disconnect":
        raise RefusalError(400, "the body must be whole, got a part of it.")


async def _send(answer: Answer, send: Send) -> int:
    headers = [
        (b"content-type", answer.media.encode()),
        (b"content-length", str(len(answer.body)).encode()),
        *_HEADERS,
        *((name.encode(), value.encode()) for name, value in answer.headers.items()),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
    return answer.status
