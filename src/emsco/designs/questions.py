"""Questions at a branch: what is asked about a row, to find the stage that comes next."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_number
from emsco._base.documents import Fields
from emsco.errors import ParameterError

MOST_QUESTIONS = 3  # at one branch


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a row at a branch, with yes or no as its answer.

    It is about the value of a column that is bought by then, or about the answer of the stage
    before the branch. Without `at_most` and `among` it asks whether the value is missing.

    Parameters
    ----------
    column : str or None
        The column; None asks about the answer of the stage.
    at_most : float, optional
        Whether the number is at most this, or the confidence of the stage.
    among : tuple, optional
        Whether the value is one of these categories, or the likeliest class one of these labels.

    Examples
    --------
    >>> print(Question("TSH", at_most=6.1))
    TSH ≤ 6.1
    >>> print(Question("referral", among=("GP", "clinic")))
    referral is GP or clinic
    >>> print(Question("TSH"))
    TSH is missing
    >>> print(Question(None, among=("ill",)))
    likeliest class is ill
    """

    column: str | None
    at_most: float | None = None
    among: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        """Check that one thing is asked."""
        if not isinstance(self.column, (str, type(None))):
            raise ParameterError(f"column must be a name or None, got {self.column!r}.")
        if self.at_most is not None and self.among is not None:
            raise ParameterError("question must have at_most or among, got both.")
        if self.at_most is not None:
            at_most = check_number("at_most", self.at_most, -np.inf, np.inf, "()")
            object.__setattr__(self, "at_most", at_most)
        elif self.among is not None:
            # Plain values, so that a question is the same before and after it was saved.
            among = tuple(one.item() if isinstance(one, np.generic) else one for one in self.among)
            are_plain = all(isinstance(one, (str, Real)) for one in among)
            if not among or not are_plain or len({*among}) < len(among):
                raise ParameterError(
                    f"among must have different texts, numbers or truth values, got {among!r}."
                )
            object.__setattr__(self, "among", among)
        elif self.column is None:
            raise ParameterError(
                f"question must name a column, or ask about the stage's answer, got {self!r}."
            )

    @property
    def is_about_missing(self) -> bool:
        """Whether it asks if a value is missing."""
        return self.at_most is None and self.among is None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the column, and what is asked about it if not whether it is missing.

        Examples
        --------
        >>> Question("TSH", at_most=6.1).to_dict(), Question("TSH").to_dict()
        ({'column': 'TSH', 'at_most': 6.1}, {'column': 'TSH'})
        """
        asked: dict[str, Any] = {"column": self.column}
        if self.at_most is not None:
            asked["at_most"] = self.at_most
        if self.among is not None:
            asked["among"] = list(self.among)
        return asked

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """Read what `to_dict` gave from a file and check it."""
        among = tuple(fields.items("among")) if "among" in fields.values else None
        with fields.refusing():
            question = cls(fields.get("column"), fields.values.get("at_most"), among)
        # A name misspelt would make it another question.
        fields.only(*question.to_dict())
        return question

    def __str__(self) -> str:
        """Return the question as words that hold for rows with the answer yes."""
        if self.at_most is not None:
            return f"{self.column or 'confidence'} ≤ {cut_in_words(self.at_most)}"
        if self.among is None:
            return f"{self.column} is missing"
        return f"{self.column or 'likeliest class'} is {' or '.join(map(str, self.among))}"


def cut_in_words(number: float) -> str:
    """Return a number with all its digits: whoever reads a question must decide as the cascade.

    Examples
    --------
    >>> cut_in_words(6.1), cut_in_words(1234567.0), cut_in_words(-0.0)
    ('6.1', '1234567', '0')
    """
    return f"{number + 0.0:.15g}"  # without the sign of zero
