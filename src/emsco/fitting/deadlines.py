"""A time limit, and how its parts are shared out among the steps of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

__all__ = ["Deadline"]


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a fit must end.

    Attributes
    ----------
    limit : float or None
        Seconds from the start; None: as long as it takes.
    started : float
        By `time.perf_counter`.
    """

    limit: float | None
    started: float

    def rest(self, share: float = 1.0) -> float | None:
        """Seconds until this share of the limit is over, at least 0; None without a limit."""
        if self.limit is None:
            return None
        return max(0.0, share * self.limit - (perf_counter() - self.started))

    def is_over(self, share: float = 1.0) -> bool:
        """Whether this share of the limit is over."""
        return self.rest(share) == 0.0
