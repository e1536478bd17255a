"""Damage to tables in text files: cells, lines, names, separators and encodings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TypeAlias

__all__ = ["damage_table"]

Lines: TypeAlias = list[str]
_CELLS = (
    "", " ", "?", "-", ".", "NA", "nan", "NULL", "N/A", "none", "inf", "-inf", "1e999", "1e-999",
    "-0", "1,5", "1.5", "1.234,5", "1,234.5", "1 000", "0x10", "1_000", "\u0661", "+1", "1%", "$1",
    "true", "03/04/2026", "31/12/1999", "12/31/1999", "2026-02-30", "2026-13-01", "0000-00-00",
    "9999-12-31", "2026-01-01T25:61", "1/1/1", "x", "=cmd()", "\x1b[31mred", "\u202e", "\u2028",
    "\x00", "\ufeff", "\r", "\t", '"', '""', '"a\nb"', '"a;b"', "'", "\\", "9" * 400, "a" * 5000,
    "\U0001f600",
)  # fmt: skip
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "latin-1", "utf-32", "cp037")


def damage_table(path: Path, rng: Random) -> str:
    """Change a table with semicolons one to three times, and say how."""
    lines, said = path.read_text(encoding="utf-8").split("\n"), []
    for _ in range(rng.choice((1, 1, 2, 3))):
        change = rng.choice(_CHANGES)
        said.append(f"{change.__name__[1:]}: {change(lines, rng)}")
    encoding = rng.choice(_ENCODINGS) if rng.random() < 0.1 else "utf-8"
    end = rng.choice(("\r\n", "\r")) if rng.random() < 0.1 else "\n"
    path.write_bytes(end.join(lines).encode(encoding, errors="replace"))
    return "; ".join([*said, encoding, repr(end)])


def _cell(lines: Lines, rng: Random) -> str:
    """Change one cell, or a whole column."""
    at, text = rng.randrange(1, max(2, len(lines))), rng.choice(_CELLS)
    column = rng.randrange(lines[0].count(";") + 1)
    rows = range(1, len(lines)) if rng.random() < 0.2 else [min(at, len(lines) - 1)]
    for row in rows:
        cells = lines[row].split(";")
        if column < len(cells):
            cells[column] = text
            lines[row] = ";".join(cells)
    return f"{text[:30]!r} in column {column}, {len(rows)} rows"


def _name(lines: Lines, rng: Random) -> str:
    """Change the name of a column."""
    cells = lines[0].split(";")
    text = rng.choice((*_CELLS, *cells))
    cells[rng.randrange(len(cells))] = text
    lines[0] = ";".join(cells)
    return repr(text[:30])


def _headless(lines: Lines, rng: Random) -> str:
    del rng, lines[0]
    lines[:] = lines or [""]
    return "no names"


def _line(lines: Lines, rng: Random) -> str:
    """Insert a line, drop one, repeat one, or cut one short."""
    at = rng.randrange(len(lines))
    how = rng.choice(("insert", "drop", "repeat", "cut", "lengthen"))
    if how == "insert":
        lines.insert(at, rng.choice(("", ";", "x", "# comment", ";" * 50, lines[0], "\x00" * 9)))
    elif how == "drop" and len(lines) > 1:
        del lines[at]
    elif how == "repeat":
        lines[at:at] = [lines[at]] * rng.choice((1, 500))
    elif how == "cut":
        lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
    else:
        lines[at] += rng.choice((";", ";1", ";" * 300))
    return f"{how} {at}"


def _few(lines: Lines, rng: Random) -> str:
    """Keep the names and at most two rows."""
    del lines[1 + rng.randrange(3) :]
    return f"{len(lines)} lines"


def _column(lines: Lines, rng: Random) -> str:
    """Drop a column, repeat it, or repeat it many times."""
    column, times = rng.randrange(lines[0].count(";") + 1), rng.choice((0, 2, 40))
    for row, line in enumerate(lines):
        cells = line.split(";")
        lines[row] = ";".join(
            [*cells[:column], *cells[column : column + 1] * times, *cells[column + 1 :]]
        )
    return f"{column} times {times}"


def _separator(lines: Lines, rng: Random) -> str:
    """Use another separator or decimal mark, everywhere or in one line."""
    old, new = rng.choice(((";", ","), (";", "\t"), (";", "|"), (",", "."), (";", " "), (",", ";")))
    rows = range(len(lines)) if rng.random() < 0.5 else [rng.randrange(len(lines))]
    for row in rows:
        lines[row] = lines[row].replace(old, new)
    return f"{old!r} to {new!r} in {len(rows)} lines"


_CHANGES: tuple[Callable[[Lines, Random], str], ...] = (
    _cell, _cell, _cell, _cell, _name, _headless, _line, _line, _few, _column, _separator,
)  # fmt: skip
