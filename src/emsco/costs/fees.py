"""Fees that features share: a row pays each once, with the first of its features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from emsco._base.checks import is_number
from emsco._base.text import brief, some
from emsco.costs.checks import check_amounts, check_list
from emsco.errors import CostsError


@dataclass(frozen=True, slots=True)
class Fee:
    """A fee that features share: a row pays it once, with the first of them that it buys.

    Attributes
    ----------
    name : str
    cost : float
        What a row pays once, beyond the costs of the features.
    features : tuple of str
        The features that share it. A feature may share several fees, such as one for a visit and
        one for a blood draw.
    """

    name: str
    cost: float
    features: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check the cost and that features are named once."""
        what = f"the fee {self.name!r}"
        if not is_number(self.cost):  # text may look like one
            raise CostsError(f"{what} must be a number, got {brief(self.cost)}.")
        object.__setattr__(self, "cost", float(check_amounts("fees", [self.cost], [self.name])[0]))
        object.__setattr__(self, "features", check_list(what, self.features))
        if not self.features:
            raise CostsError(f"{what} must be shared by a feature, got none.")
        if len(set(self.features)) < len(self.features):
            raise CostsError(f"{what} must name a feature once, got {some(self.features)}.")

    @classmethod
    def from_any(cls, fees: Any) -> tuple[Self, ...]:
        """Create fees from names → (cost, features), or → ``{"cost": …, "features": […]}``.

        A sequence of fees is returned as it is; None means none.

        Examples
        --------
        >>> Fee.from_any({"blood draw": (2.1, ["chol", "fbs"])})[0].features
        ('chol', 'fbs')
        """
        if fees is None:
            return ()
        if isinstance(fees, (list, tuple)) and all(isinstance(fee, Fee) for fee in fees):
            return tuple(fees)
        if not isinstance(fees, Mapping):
            raise CostsError(
                f"fees must be like {{'blood draw': (2.1, ['iron'])}}, got {brief(fees)}."
            )
        made = []
        for name, fee in fees.items():
            said = (fee.get("cost"), fee.get("features")) if isinstance(fee, Mapping) else fee
            if not isinstance(said, (tuple, list)) or len(said) != 2:
                raise CostsError(
                    f"the fee {str(name)!r} must be a cost and a list of features, got "
                    f"{brief(fee)}."
                )
            made.append(cls(str(name), *said))
        return tuple(made)

    def without(self, features: Iterable[str]) -> Self | None:
        """Return the fee of the features that are left, or None if none is."""
        gone = set(features)
        left = tuple(name for name in self.features if name not in gone)
        return type(self)(self.name, self.cost, left) if left else None

    @property
    def in_words(self) -> str:
        """The fee as tables and pictures show it."""
        return f"fee for {self.name} ({self.cost:g})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"name": self.name, "cost": self.cost, "features": list(self.features)}


def fees_paid(
    fees: Iterable[Fee], features: Iterable[str], known: Iterable[str] = ()
) -> tuple[Fee, ...]:
    """Return the fees that a row pays with these features, if it knows others already.

    Examples
    --------
    >>> draw = Fee("draw", 2.5, ("chol", "iron"))
    >>> fees_paid([draw], ["iron"], known=["age"]) == (draw,), fees_paid([draw], ["iron"], ["chol"])
    (True, ())
    """
    bought, before = set(features), set(known)
    # A fee is paid once: with the first of its features, and never again.
    return tuple(
        fee for fee in fees if bought & set(fee.features) and not before & set(fee.features)
    )
