"""What a call returns and what it costs: answers become columns, use becomes a price."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from emsco._base.checks import check_number, is_number
from emsco._base.text import brief, some
from emsco.errors import AnswerError

RETURNS = ("probabilities", "log-probabilities", "scores", "score", "label")
OF_LABELS = RETURNS[:3]  # one column for each label

_LEAST = 1e-6  # probabilities are cut here: their logarithms are columns
_NEVER = -1e6  # stands for a log-probability of minus infinity
_OFF = 0.01  # how far from 1 the sum of rounded probabilities may be
_CHARACTERS = 4  # of a token, about, in English


@dataclass(frozen=True, slots=True)
class Answer:
    """Value that a function returns together with what the call used, if the function knows it.

    Attributes
    ----------
    value : object
        As the function returns it without this class.
    tokens_in, tokens_out : int
        Tokens read and written, if the price is by the token.
    price : float or None
        What this call cost, if the price is reported.
    model : str
        Model that answered, if the service says so.
    seconds : float
        How long the call took; emsco measures it.
    """

    value: Any
    tokens_in: int = 0
    tokens_out: int = 0
    price: float | None = None
    model: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Price:
    """What a call costs: the sum of these parts, all in one currency.

    Attributes
    ----------
    per_call : float
    per_million_in, per_million_out : float
        For a million tokens read, and for a million written.
    per_second : float
        For the time that a call takes.
    reported : bool
        Whether the function says what a call cost, in `Answer.price`. The other parts are then
        expectations for a dry run.

    Examples
    --------
    >>> price = Price(per_million_in=0.15, per_million_out=0.60)
    >>> price.of(Answer("yes", tokens_in=2000, tokens_out=1))
    0.0003006
    """

    per_call: float = 0.0
    per_million_in: float = 0.0
    per_million_out: float = 0.0
    per_second: float = 0.0
    reported: bool = False

    def __post_init__(self) -> None:
        """Check every number."""
        for name in ("per_call", "per_million_in", "per_million_out", "per_second"):
            check_number(name, getattr(self, name), 0, math.inf, "[)")

    @property
    def is_fixed(self) -> bool:
        """Whether every call costs the same."""
        return not (self.by_token or self.per_second or self.reported)

    @property
    def by_token(self) -> bool:
        """Whether tokens are counted."""
        return bool(self.per_million_in or self.per_million_out)

    def of(self, answer: Answer) -> float:
        """Return what a call cost."""
        if answer.price is not None:
            return check_number("price", answer.price, 0, math.inf, "[)")
        return self._sum(answer.tokens_in, answer.tokens_out, answer.seconds)

    def expected(self, n_characters: int, max_tokens: int) -> float:
        """Return what a call of about a second should cost, before it is made."""
        return self._sum(n_characters / _CHARACTERS, max_tokens, seconds=1.0)

    def _sum(self, tokens_in: float, tokens_out: float, seconds: float) -> float:
        by_million = self.per_million_in * tokens_in + self.per_million_out * tokens_out
        # Without the last digits of floating-point numbers, sums of prices are exact.
        return round(self.per_call + by_million / 1e6 + self.per_second * seconds, 12)


def values_of(value: Any, returns: str, labels: Sequence[Any]) -> list[float | str]:
    """Return the values of the columns of one answer.

    Probabilities become logarithms, which models of stages read better. Raises an `AnswerError`
    that says what the answer must be, if it is something else.
    """
    if returns == "label":
        return [_label(value, labels)]
    if returns == "score":
        return [_score(value)]
    numbers = _by_label(value, returns, labels)
    if returns == "scores":
        return list(numbers)
    if returns == "probabilities":
        total = math.fsum(numbers)
        if not all(0 <= number <= 1 + _OFF for number in numbers) or abs(total - 1) > _OFF:
            _refuse("be probabilities that add up to 1", numbers)
        return [math.log(max(number / total, _LEAST)) for number in numbers]
    if max(numbers) > _OFF:
        _refuse("be log-probabilities, 0 at most", numbers)
    total = float(np.logaddexp.reduce(numbers))
    return [max(number - total, math.log(_LEAST)) for number in numbers]


def _by_label(value: Any, returns: str, labels: Sequence[Any]) -> list[float]:
    """Return one number for each label, from a mapping or a sequence."""
    names = [str(label) for label in labels]
    listed = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        given = {str(name): number for name, number in value.items()}
        # Of log-probabilities, only the likeliest words are known.
        has_all = returns == "log-probabilities" or len(given) == len(names)
        if not given or not has_all or not given.keys() <= {*names}:
            _refuse(f"be {returns} of the labels {some(names)}", list(given))
    elif isinstance(listed, Sequence) and not isinstance(listed, str) and len(listed) == len(names):
        given = dict(zip(names, listed, strict=True))
    else:
        _refuse(f"be {len(names)} {returns}, one for each label", value)
    numbers = {name: float(one) if is_number(one) else math.nan for name, one in given.items()}
    if returns == "log-probabilities":
        numbers = {name: max(one, _NEVER) if one < 0 else one for name, one in numbers.items()}
    if not all(map(math.isfinite, numbers.values())):
        _refuse(f"be {returns} that are finite numbers", value)
    if len(numbers) == len(names):
        return [numbers[name] for name in names]
    # A word that is not listed is at most as likely as the last one that is, and as the rest.
    rest = 1 - math.fsum(map(math.exp, numbers.values()))
    floor = min(*numbers.values(), math.log(max(rest, _LEAST)))
    return [numbers.get(name, floor) for name in names]


def _score(value: Any) -> float:
    try:
        number = float(value) if is_number(value) else float(str(value).strip())
    except (OverflowError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        _refuse("be one finite number", value)
    return number


def _label(value: Any, labels: Sequence[Any]) -> str:
    """Return the label that an answer is, or the only one that it mentions."""
    names = {str(label).casefold(): str(label) for label in labels}
    said = str(value).strip(" \t\r\n.!\"'`*").casefold()
    if said in names:
        return names[said]
    words = [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said)]
    if len(words) != 1:
        _refuse(f"be one of the labels {some(list(names.values()))}", value)
    return names[words[0]]


def _refuse(rule: str, value: object) -> NoReturn:
    raise AnswerError(f"the answer must {rule}, got {brief(value)}.")
