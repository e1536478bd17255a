"""Limits on requests: who may ask, how often, and how much they may send."""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from emsco.app.service.messages import RefusalError
from emsco.app.service.metrics import Metrics
from emsco.app.service.settings import Settings
from emsco.errors import EMSCOError

PUBLIC = {"/", "/docs", "/openapi.json", "/health", "/service.css", "/play.js", "/docs.js"}
# Keys of a request's scope: its body, and the route that answers it.
BODY, ROUTE = "emsco.body", "emsco.route"

_LOG = logging.getLogger("emsco.app.service")
_METHODS = {"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"}
_MAX_CLIENTS = 10_000
_LONGEST_WAIT = 3600.0
_MAX_QUEUED = 2_000
_MAX_HEAD = 2**16  # bytes of the first line and the headers
_PATIENCE = 30.0  # seconds for a body to arrive
_DRAINED = 10  # times the largest body: what is read of a larger one, so that its sender listens
_HEADERS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class RateLimit:
    """Allows each client a number of requests a second, and as many at once.

    Parameters
    ----------
    rate : float
        Requests a second; infinity allows all.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, max(1.0, rate), clock
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, client: str) -> float:
        """Count a request; return the seconds to wait if it comes too soon, or else 0."""
        if math.isinf(self._rate):
            return 0.0
        now = self._clock()
        left, last = self._left.get(client, (self._burst, now))
        left = min(self._burst, left + (now - last) * self._rate)
        if left < 1:
            self._left[client] = left, now
            return (1 - left) / self._rate
        if len(self._left) >= _MAX_CLIENTS and client not in self._left:
            # Forget clients who have all their requests again; if none has, all.
            full = self._burst / self._rate
            kept = {one: state for one, state in self._left.items() if now - state[1] < full}
            self._left = kept if len(kept) < _MAX_CLIENTS else {}
        self._left[client] = left - 1, now
        return 0.0


class Gatekeeper:
    """Lets a request in by its headers, or refuses it."""

    def __init__(self, settings: Settings, own_host: str = "") -> None:
        self._settings, self._own_host = settings, own_host.lower()
        self._limit = RateLimit(settings.rate)
        token = settings.token
        self._authorization = None if token is None else f"Bearer {token}".encode()

    def admit(self, address: str, headers: dict[bytes, bytes], is_public: bool) -> None:
        """Refuse a request whose client, host or token is not allowed."""
        if self._settings.behind_proxy:
            named = headers.get(b"x-forwarded-for", b"").decode("latin-1")
            address = named.rpartition(",")[2].strip() or address
        if (seconds := self._limit.wait(_client(address))) > 0:
            wait = str(math.ceil(min(seconds, _LONGEST_WAIT)))
            raise RefusalError(
                429,
                f"Too many requests: at most {self._settings.rate:g} a second. Wait {wait} s.",
                headers={"retry-after": wait},
            )
        if self._authorization is None:
            self._check_host(headers.get(b"host", b"").decode("latin-1"))
        elif not is_public:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self._authorization):
                raise RefusalError(
                    401,
                    "the header Authorization must be 'Bearer' and the token of this service, got "
                    f"{'another one' if given else 'none'}.",
                    headers={"www-authenticate": "Bearer"},
                )

    def _check_host(self, host: str) -> None:
        """Refuse names that a web page elsewhere could point at this machine."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        name = name.strip("[]").lower()
        if name in ("", "localhost", self._own_host):
            return
        try:
            ip_address(name)
        except ValueError:
            raise RefusalError(
                421,
                "without a token, the header Host must be an address or localhost, got "
                f"{host[:60]!r}.",
            ) from None


def _client(address: str) -> str:
    """Return what counts as one client: an address, or the network of an IPv6 address.

    Proxies may add a port, or write IPv4 addresses as IPv6.
    """
    if address.count(":") == 1 or address.startswith("["):
        address = address.rpartition(":")[0] if address[-1:].isdigit() else address
        address = address.strip("[]")
    if ":" not in address:
        return address[:45]
    try:
        known = IPv6Address(address)
    except ValueError:
        return address[:45]
    mapped = known.ipv4_mapped
    return str(mapped) if mapped else ":".join(known.exploded.split(":")[:4])


class LimitsMiddleware:
    """Refuses requests past the limits, hands on the others, and counts all of them.

    Whatever goes wrong, the answer is one sentence.

    Parameters
    ----------
    app : ASGI application
    settings : Settings
    metrics : Metrics
    own_host : str
        Name or address that the service listens on.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, metrics: Metrics, own_host: str = ""
    ) -> None:
        self._app, self._max_body, self._metrics = app, settings.max_body, metrics
        self._gatekeeper = Gatekeeper(settings, own_host)
        self._n_queued = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        scope["app"] = self  # so that routes raise what they refuse
        self._n_queued += 1
        try:
            scope[BODY] = await self._admit(scope, receive)
            await self._app(scope, receive, send_noting)
        except Exception as error:
            answer = _refusal(error, scope).response()
            await answer(scope, receive, send_noting)
        finally:
            self._n_queued -= 1
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = scope.get(ROUTE, "other")
        self._metrics.note(method, route, status, time.perf_counter() - started)

    async def _admit(self, scope: Scope, receive: Receive) -> bytes:
        """Check the headers of a request, and return its body."""
        if self._n_queued > _MAX_QUEUED:
            raise RefusalError(
                503,
                f"Server busy: {_MAX_QUEUED:,} requests queued. Retry.",
                headers={"retry-after": "1"},
            )
        headers = dict(scope["headers"])
        client = scope.get("client")
        self._gatekeeper.admit(client[0] if client else "", headers, scope["path"] in PUBLIC)
        body = await self._read(headers, receive)
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        # So that no form of another web page can send a body.
        if (body or scope["method"] == "POST") and kind != b"application/json":
            got = kind.decode("latin-1")[:60] or "none"
            raise RefusalError(415, f"Content-Type must be application/json, got {got}.")
        return body

    async def _read(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """Read a body in limited time, unless it is too large."""
        length = headers.get(b"content-length", b"0")
        declared = int(length) if length.isdigit() and len(length) < 20 else 0
        body = b""
        if declared <= _DRAINED * self._max_body:
            body, has_more = await _next_part(receive)
            if has_more:  # most bodies come whole with their head, and need no timer
                body += await self._rest(receive, len(body))
        if max(declared, len(body)) > self._max_body:
            got = f"{declared:,}" if declared else "more"
            raise RefusalError(
                413,
                f"the body must have at most {self._max_body:,} bytes, got {got}.",
                headers={"connection": "close"},
            )
        return body

    async def _rest(self, receive: Receive, n_bytes: int) -> bytes:
        """Read the rest of a body.

        One that is somewhat too large is read to its end, so that its sender gets to read the
        answer, but only the first part is kept.
        """
        parts, has_more = [], True
        try:
            async with asyncio.timeout(_PATIENCE):
                while has_more and n_bytes <= _DRAINED * self._max_body:
                    part, has_more = await _next_part(receive)
                    if n_bytes <= self._max_body:
                        parts.append(part)
                    n_bytes += len(part)
        except TimeoutError:
            raise RefusalError(
                408,
                f"The body did not arrive within {_PATIENCE:g} s.",
                headers={"connection": "close"},
            ) from None
        return b"".join(parts)


async def _next_part(receive: Receive) -> tuple[bytes, bool]:
    """Return a part of a body, and whether there is more."""
    message = await receive()
    if message["type"] == "http.disconnect":  # its client asks for nothing now
        raise RefusalError(400, "The body is incomplete.")
    return message.get("body", b""), message.get("more_body", False)


def _refusal(error: Exception, scope: Scope) -> RefusalError:
    """Say in one sentence what is wrong."""
    if isinstance(error, RefusalError):
        return error
    if isinstance(error, EMSCOError):
        return RefusalError(422, str(error))
    if isinstance(error, HTTPException):  # of a route that is not there
        path = scope["path"][:60]
        sentence = f"No route {path!r}; see /docs."
        if error.status_code == 405:
            sentence = f"{path!r} does not take {scope['method'][:10]}; see /docs."
        return RefusalError(error.status_code, sentence, headers=error.headers)
    _LOG.error("a request failed", exc_info=error)
    return RefusalError(500, "The service failed; its log says why.")


class LimitedProtocol(HttpToolsProtocol):
    """HTTP as uvicorn reads it, with a limit on heads; what cannot be read is refused in JSON."""

    _n_read: int | None = 0  # bytes of a head that is not complete yet
    _n_taken = 0  # bytes of its first line and headers that are

    def data_received(self, data: bytes) -> None:
        """Read no more of a head than it may have."""
        while data and not self.transport.is_closing():
            part = data
            if self._n_read is not None:
                part = data[: _MAX_HEAD - self._n_read]
                self._n_read += len(part)
            if not part:
                self._n_taken = _MAX_HEAD + 1
                self.send_400_response("")
                return
            super().data_received(part)
            data = data[len(part) :]

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be read; uvicorn's own words would be plain text."""
        msg = "The request is not valid HTTP."
        if self._n_taken > _MAX_HEAD:
            msg = f"The head of a request must have at most {_MAX_HEAD:,} bytes, got more."
        answer = RefusalError(400, msg, headers={"connection": "close"}).response()
        headers = [*answer.raw_headers, *_HEADERS]
        lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in headers)]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self.transport.close()

    def on_message_begin(self) -> None:
        """Start to count; another request may end in the same bytes."""
        self._n_taken = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count the address."""
        self._take(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header."""
        self._take(len(name) + len(value) + len(": \r\n"))
        super().on_header(name, value)

    def _take(self, n_bytes: int) -> None:
        self._n_taken += n_bytes
        if self._n_taken > _MAX_HEAD:
            raise ValueError("a head is too long")  # ends the parser, and so the request

    def on_headers_complete(self) -> None:
        """Note that a body follows."""
        self._n_read = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that another head follows."""
        self._n_read = 0
        super().on_message_complete()
