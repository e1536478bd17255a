"""Limits on requests: who may ask, how often, and how much they may send."""

from __future__ import annotations

import hmac
import math
import time
from collections.abc import Callable
from ipaddress import ip_address

from emsco.app.service.messages import RefusalError
from emsco.app.service.settings import Settings

_MOST_CLIENTS = 10_000
_LONGEST_WAIT = 3600.0


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
        if len(self._left) >= _MOST_CLIENTS and client not in self._left:
            self._forget(now)
        self._left[client] = left - 1, now
        return 0.0

    def _forget(self, now: float) -> None:
        """Forget clients who have all their requests again; if none has, all."""
        full = self._burst / self._rate
        kept = {one: at for one, at in self._left.items() if now - at[1] < full}
        self._left = kept if len(kept) < _MOST_CLIENTS else {}


class Gatekeeper:
    """Lets a request in by its headers, or refuses it."""

    def __init__(self, settings: Settings, own_host: str = "") -> None:
        self._settings, self._own_host = settings, own_host.lower()
        self._limit = RateLimit(settings.rate)
        token = settings.token
        self._wanted = None if token is None else f"Bearer {token}".encode()

    def admit(self, address: str, headers: dict[bytes, bytes], is_public: bool) -> None:
        """Refuse a request whose client, host or token is not allowed."""
        if self._settings.behind_proxy:
            named = headers.get(b"x-forwarded-for", b"").decode("latin-1")
            address = named.rpartition(",")[2].strip() or address
        if (seconds := self._limit.wait(_of_client(address))) > 0:
            wait = str(math.ceil(min(seconds, _LONGEST_WAIT)))
            said = f"a client must send at most {self._settings.rate:g} requests a second, got more"
            raise RefusalError(429, f"{said}; wait {wait} s.", headers={"retry-after": wait})
        if self._wanted is None:
            self._check_host(headers.get(b"host", b"").decode("latin-1"))
        elif not is_public:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
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


def _of_client(address: str) -> str:
    """Return what counts as one client: an address, or the network of an IPv6 address."""
    if ":" not in address:
        return address[:45]
    try:
        return ":".join(ip_address(address).exploded.split(":")[:4])
    except ValueError:
        return address[:45]
