"""What rows cost in all on new rows, beside what a design promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emsco.trust.error_costs import ErrorCosts, Total
from emsco.trust.keeping import SeenPromise
from emsco.trust.promises import Promise, Verdict

__all__ = ["SeenTotal"]


@dataclass(frozen=True, slots=True)
class SeenTotal:
    """Mean total of new rows: their features, errors and rejections.

    Attributes
    ----------
    seen : Total
        On the new rows. Its interval is a little too wide: it allows for errors that are
        commonest among the most expensive rows.
    costs : ErrorCosts
        What errors and rejections cost.
    promised : Total or None
        What the design promised with the same costs.

    Examples
    --------
    >>> costs = ErrorCosts.from_parameters(500, 40)
    >>> print(SeenTotal(Total(12.0, 6.0, 2.0, 0.5), costs, Total(11.0, 6.0, 2.0)))
    20 (19.02 to 20.98); expected 19: not kept
    """

    seen: Total
    costs: ErrorCosts
    promised: Total | None = None

    @property
    def value(self) -> float:
        """The mean total of the new rows."""
        return self.seen.value

    @property
    def verdict(self) -> Verdict | None:
        """Whether the promised total was kept; None if nothing was promised."""
        if self.promised is None or self.seen.interval is None:
            return None
        promise = Promise("cost", self.promised.value)
        found = SeenPromise(promise, self.value, self.seen.interval, self.promised.interval)
        return found.verdict

    def lines(self) -> list[tuple[str, str, str, str]]:
        """Return name, seen value, promised value and verdict, for tables: the sum, its parts."""
        promised, verdict = self.promised, self.verdict
        told = "" if promised is None else f"{promised.value:.4g}"
        found = [("total", self.seen.in_words, told, str(verdict or ""))]
        for name in ("features", "errors", "rejections"):
            told = "" if promised is None else f"{getattr(promised, name):.4g}"
            found.append((f"  {name}", f"{getattr(self.seen, name):.4g}", told, ""))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: seen and promised totals, and the verdict."""
        return {
            "seen": self.seen.to_dict(),
            "promised": self.promised and self.promised.to_dict(),
            "verdict": self.verdict and str(self.verdict),
        }

    def __str__(self) -> str:
        """Show the seen total and, if there is one, the promised one with the verdict."""
        if self.promised is None:
            return self.seen.in_words
        told = f"{self.promised.basis} {self.promised.value:.4g}"
        return f"{self.seen.in_words}; {told}: {self.verdict}"
