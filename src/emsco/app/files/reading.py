"""How to read a text file: what the user has said about separators, dates and missing values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from emsco._base.checks import check_choice
from emsco._base.documents import Fields
from emsco.errors import ParameterError

DATES = ("days", "day-first", "month-first")
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
_DECIMALS = (".", ",")


@dataclass(frozen=True, slots=True)
class Reading:
    r"""What is known of a text file before it is read; None means that a look at the file decides.

    Attributes
    ----------
    na : tuple of str or None
        Texts that mark a missing value in any column. By default these are "?", "NA", "NaN" and
        "null" and, in columns of numbers, "-", "." and a few more. An empty cell is always
        missing, and so are "NA", "NaN" and "null" among numbers.
    separator : str or None
        What stands between two cells: a character or its name ("tab").
    decimal : {".", ","} or None
        The decimal mark.
    header : bool or None
        Whether the first line has the names of the columns.
    dates : {"days", "day-first", "month-first"} or None
        Turn columns of dates into days since 1970-01-01; the last two say how to read 03/04/2026.
        By default a date is refused.

    Examples
    --------
    >>> Reading(separator="tab", dates="days").separator
    '\t'
    """

    na: tuple[str, ...] | None = None
    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None
    dates: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no file can have."""
        if self.separator is not None:
            separator = NAMED_SEPARATORS.get(self.separator, self.separator)
            if len(separator) != 1 or separator in '"\r\n':
                raise ParameterError(
                    f"separator must be one character, or tab, got {self.separator!r}."
                )
            object.__setattr__(self, "separator", separator)
        if self.na is not None:
            object.__setattr__(self, "na", tuple(dict.fromkeys(self.na)))
        if self.decimal is not None:
            check_choice("decimal", self.decimal, _DECIMALS)
        if self.dates is not None:
            check_choice("dates", self.dates, DATES)
        if self.separator is not None and self.separator == self.decimal:
            raise ParameterError(f"decimal must differ from the separator, got {self.decimal!r}.")

    def over(self, other: Reading) -> Reading:
        """Return what is said here, and otherwise what `other` says.

        Examples
        --------
        >>> Reading(decimal=",").over(Reading(decimal=".", header=False))
        Reading(na=None, separator=None, decimal=',', header=False, dates=None)
        """
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return replace(other, **given)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return {**asdict(self), "na": None if self.na is None else list(self.na)}

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """Create a reading from the fields of a file, and check them."""
        texts = ("separator", "decimal", "dates")
        given: dict[str, Any] = {
            name: fields.text(name) for name in texts if fields.values.get(name) is not None
        }
        if fields.values.get("na") is not None:
            given["na"] = tuple(fields.texts("na") if fields.items("na") else ())
        if fields.values.get("header") is not None:
            given["header"] = fields.flag("header")
        try:
            return cls(**given)
        except ValueError as error:
            fields.refuse("reading", "a way to read files", str(error))


AS_FOUND = Reading()  # a look at the file decides
