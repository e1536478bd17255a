"""Settings of the service, each checked, and what must hold before it starts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from ipaddress import ip_address

from emsco._base.checks import check_number, check_whole
from emsco.errors import ParameterError, not_installed

_SHORTEST_TOKEN = 16
_LARGEST_BODY = 100 * 10**6


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the service, and what it asks of clients.

    Attributes
    ----------
    max_body : int
        Most bytes of a request.
    max_rows : int
        Most rows or cases of a request that has many.
    rate : float
        Requests a second that one client may send on average; as many may come at once.
    max_open : int
        Most cases that may be open; further ones are refused until some are decided.
    retain : float
        Days after which a decided case is deleted.
    token : str or None
        Text that every request for data must carry.
    behind_proxy : bool
        Whether a proxy in front names the client in ``X-Forwarded-For``.
    run, target, unit : str or None
        Names of the run and of the column that it decides, and the unit of costs, for readers.
    """

    max_body: int = 10**6
    max_rows: int = 10_000
    rate: float = 1000.0
    max_open: int = 1_000_000
    retain: float = 30.0
    token: str | None = None
    behind_proxy: bool = False
    run: str | None = None
    target: str | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no service can keep."""
        check_whole("max_body", self.max_body, 1000, _LARGEST_BODY)
        check_whole("max_rows", self.max_rows, 1)
        check_number("rate", self.rate, 0, math.inf, "(]")
        check_whole("max_open", self.max_open, 1)
        check_number("retain", self.retain, 0, math.inf)
        # A token must fit into a header, and be long enough not to be guessed.
        token, safe = self.token, f"[!-~]{{{_SHORTEST_TOKEN},}}"
        if token is not None and not re.fullmatch(safe, token):
            raise ParameterError(
                f"token must have at least {_SHORTEST_TOKEN} characters of ASCII without spaces, "
                f"got {len(token)} characters."
            )


def check_installed() -> None:
    """Raise an error that says how to install what the service needs, if it is missing."""
    try:
        import httptools  # noqa: F401
        import prometheus_client  # noqa: F401
        import pydantic  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise not_installed("Starlette and uvicorn", "'emsco[serve]'") from None


def check_host(host: str, *, has_token: bool, allowed: bool) -> None:
    """Refuse to listen for other machines without a token, unless that is allowed."""
    if has_token or allowed or host == "localhost":
        return
    try:
        is_loopback = ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise ParameterError(
            f"host must be an address of this machine alone without a token, got {host!r}; "
            "token_file names one, and no_token does without."
        )
