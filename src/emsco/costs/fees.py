"""Fees that features share: a row pays each once, with the first of its features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.checks import is_number
from emsco._base.text import brief, some, what_was_meant
from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray
from emsco.errors import CostsError

LARGEST_COST = 1e100  # so that no sum over rows and features can overflow
LEAST_LARGEST = 1e-100  # of all costs, so that shares of them are numbers


def check_amount(what: str, value: Any) -> float:
    """Return a cost or a time as a number, if it is one.

    Examples
    --------
    >>> check_amount("the fee 'visit'", 20)
    20.0
    """
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:
        number = math.inf
    if not 0 <= number <= LARGEST_COST:  # written so that NaN fails too
        got = f"{number:g}" if is_number(value) else brief(value)
        raise CostsError(f"{what} must be finite and at least 0, got {got}.")
    return number


def check_known(
    what: str,
    names: Iterable[str],
    features: Sequence[str],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Refuse names that are no features; a column of a group is bought with its group."""
    known = set(features)
    owner = {column: name for name, columns in (groups or {}).items() for column in columns}
    for name in names:
        if name not in known:
            hint = f", a column of group {owner[name]!r}." if name in owner else ""
            hint = hint or what_was_meant(name, features)
            raise CostsError(f"{what} must name features ({some(features)}), got {name!r}{hint}")


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
        object.__setattr__(self, "cost", check_amount(what, self.cost))
        object.__setattr__(self, "features", tuple(map(str, self.features)))
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
            pair = fee
            if isinstance(fee, Mapping) and set(fee) == {"cost", "features"}:
                pair = (fee["cost"], fee["features"])
            is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
            # Text is iterable, too, but its letters are no features.
            if not is_pair or isinstance(pair[1], str) or not isinstance(pair[1], Iterable):
                raise CostsError(
                    f"the fee {str(name)!r} must be a cost and a list of features, got "
                    f"{brief(pair)}."
                )
            made.append(cls(str(name), pair[0], tuple(pair[1])))
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


@dataclass(frozen=True, slots=True, eq=False)
class Fees:
    """Fees as numbers, for sums over many subsets and designs.

    Attributes
    ----------
    amounts : ndarray of shape (n_fees,)
    members : ndarray of bool, shape (n_fees, n_features)
        The features that share each fee.
    """

    amounts: FloatArray | IntArray
    members: BoolArray

    @classmethod
    def from_fees(cls, fees: Sequence[Fee], names: Sequence[str]) -> Self:
        """Return fees of the features `names`."""
        members = [[name in fee.features for name in names] for fee in fees]
        return cls(
            np.array([fee.cost for fee in fees], dtype=np.float64),
            np.array(members, dtype=np.bool_).reshape(len(fees), len(names)),
        )

    def __len__(self) -> int:
        """Number of fees."""
        return len(self.amounts)

    @property
    def alone(self) -> FloatArray | IntArray:
        """Fees that each feature pays if it is the first that is bought."""
        # Each feature pays every fee that it shares, as it is alone.
        paid: FloatArray | IntArray = self.amounts @ self.members
        return paid

    def of_subsets(self, subsets: BoolArray) -> FloatArray | IntArray:
        """Fees that each subset pays; subsets have the shape (…, n_features)."""
        # Of booleans, the product says whether any member is bought, not how many.
        paid: FloatArray | IntArray = (subsets @ self.members.T) @ self.amounts
        return paid

    def by_stage(self, stages: StageArray, n_stages: int) -> FloatArray | IntArray:
        """Fees paid up to each stage of designs, shape (n_designs, n_stages).

        `stages` has the stage of each feature, from 0, and -1 for one that is never bought.
        """
        paid: Any = np.zeros((len(stages), n_stages), dtype=self.amounts.dtype)
        for amount, members in zip(self.amounts, self.members, strict=True):
            of_members = stages[:, members]
            # Features never bought come after the last stage, so that they pay nothing.
            first = np.where(of_members < 0, n_stages, of_members).min(axis=1)
            paid += np.where(np.arange(n_stages) >= first[:, None], amount, 0)
        totals: FloatArray | IntArray = paid
        return totals


@dataclass(frozen=True, slots=True, eq=False)
class CostUnits:
    """Costs as whole numbers of a unit if one fits, else unchanged with `per_one` 1.

    Attributes
    ----------
    features : ndarray of shape (n_features,)
        Cost of each feature, beyond fees.
    evaluation : int or float
        Cost of running a stage.
    per_one : int
        Units that make a cost of 1.
    fees : Fees
    """

    features: IntArray | FloatArray
    evaluation: int | float
    per_one: int
    fees: Fees

    @property
    def are_whole(self) -> bool:
        """Whether a unit fits."""
        return self.features.dtype.kind == "i"

    def of_subsets(self, subsets: BoolArray) -> IntArray | FloatArray:
        """Cost of buying each subset, fees included; subsets have the shape (…, n_features)."""
        paid: IntArray | FloatArray = subsets @ self.features + self.fees.of_subsets(subsets)
        return paid
