"""Reference points of a picture: what you would get without a cascade, with a name for each."""

from __future__ import annotations

from dataclasses import dataclass

from emsco._base.checks import refused
from emsco._base.objectives import Objectives


@dataclass(frozen=True, slots=True)
class ReferenceMark(Objectives):
    """Coverage, accuracy and cost without a cascade, and their name.

    The accuracy is by the metric of the figures it stands beside.

    Attributes
    ----------
    title : str
        The reference in a few words, such as "everything".
    """

    title: str


_LONGEST = 12  # characters


def check_currency(currency: str | None) -> str:
    """Return the unit of costs without blanks around it, "" for None.

    Raises
    ------
    ParameterError
        Unless it is a short text that can stand beside a number.
    """
    if currency is None:
        return ""
    is_text = isinstance(currency, str) and currency.isprintable()
    if not is_text or not 0 < len(currency.strip()) <= _LONGEST:
        rule = f"be a text of 1 to {_LONGEST} characters, such as '€' or 'minutes'"
        raise refused("currency", rule, currency)
    return currency.strip()


def unit_of(currency: str) -> str:
    """Return what stands after a cost.

    Examples
    --------
    >>> f"cost 12{unit_of('€')}", f"cost 12{unit_of('')}"
    ('cost 12 €', 'cost 12')
    """
    return f" {currency}" if currency else ""
