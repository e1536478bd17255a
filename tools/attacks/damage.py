"""Damage to files: a few random changes, described in words so that a report can name them."""

from __future__ import annotations

import copy
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import numpy as np

from emsco._base.documents import document_text
from emsco.errors import FileError

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
        change = rng.choice(_TABLE_CHANGES)
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


_TABLE_CHANGES: tuple[Callable[[Lines, Random], str], ...] = (
    _cell, _cell, _cell, _cell, _name, _headless, _line, _line, _few, _column, _separator,
)  # fmt: skip


Steps: TypeAlias = tuple[Any, ...]
_LONGEST = 2**21  # bytes that a change may add to a file
_RAW = 0.15  # of the trials change bytes without putting a checksum right
_STRANGE: tuple[Any, ...] = (
    None, True, False, "", "x", "1", "²", "\ud800", "\0", -1, 0, 1, 2, 0.5, -0.5, -0.0, 1e-320,
    1e16, 1e100, 1e101, 1e300, 1.7e308, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**400,
    float("nan"), float("inf"), [], {}, [[]], [None], [0], {"x": 0}, [[0, 0], [0, 0]],
)  # fmt: skip


def damage(path: Path, form: str, rng: Random) -> str:
    """Change a file at random, and say how."""
    if form == "text" or rng.random() < _RAW:
        return _damage_bytes(path, rng)
    if form == "store":
        return _damage_store(path, rng)
    if form == "cases":
        return _damage_cases(path, rng)
    if form == "table":
        return damage_table(path, rng)
    whole, said = _damaged_json(path.read_bytes(), "body" if form == "document" else None, rng)
    if form == "json":
        _put(path, json.dumps(whole))
    else:
        _put(path, _document(whole["emsco"], whole["format"], whole["body"]))
    return said


def _document(kind: str, form: int, body: Any) -> str:
    """Text of a document with a right checksum, if its values can be written at all."""
    try:
        return document_text(kind, form, body)
    except FileError:  # NaN and infinity are not JSON, but a reader meets them all the same
        return json.dumps({"emsco": kind, "format": form, "sha256": "", "body": body})


def _put(path: Path, text: str) -> None:
    path.write_bytes(text.encode(errors="surrogatepass"))


def _damaged_json(content: bytes, inside: str | None, rng: Random) -> tuple[Any, str]:
    """Parse a text, change one to three of its values, and say which; `inside` one field only."""
    whole, said = json.loads(content), []
    paths = _paths(content, inside)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path, change = rng.choice(paths), rng.choice(_CHANGES)
        try:
            parent = _parent(whole, path)
        except (LookupError, TypeError):
            continue  # an earlier change has taken it away
        shown = "/".join(map(str, path))
        said.append(f"{change.__name__[1:]} {shown}: {change(parent, path, rng)}")
    return whole, "; ".join(said)


@lru_cache(maxsize=4)
def _paths(content: bytes, inside: str | None) -> tuple[Steps, ...]:
    """Return the place of every value in a text; found once, since trials damage one file."""
    whole = json.loads(content)
    if inside is None:
        return tuple(_walk(whole, ()))
    return tuple(_walk(whole[inside], (inside,)))


def _walk(tree: Any, path: Steps) -> Iterator[Steps]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, child in inner:
        yield (*path, key)
        if isinstance(child, (dict, list)):
            yield from _walk(child, (*path, key))


def _parent(tree: Any, path: Steps) -> Any:
    """Return the object or list that holds a value which is there."""
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]]
    if not isinstance(tree, (dict, list)):
        raise TypeError("a text holds no values")
    return tree


def _brief(value: Any) -> str:
    return repr(value)[:60]


def _drop(parent: Any, path: Steps, rng: Random) -> str:
    del rng
    return _brief(parent.pop(path[-1]))


def _rename(parent: Any, path: Steps, rng: Random) -> str:
    if not isinstance(parent, dict):
        return _replace(parent, path, rng)
    new: str = rng.choice(("", "x", f"{path[-1]}2", *parent))
    parent[new] = parent.pop(path[-1])
    return new


def _replace(parent: Any, path: Steps, rng: Random) -> str:
    parent[path[-1]] = value = copy.deepcopy(rng.choice(_STRANGE))
    return _brief(value)


def _alter(parent: Any, path: Steps, rng: Random) -> str:
    """Change a value into another of its own type."""
    old = parent[path[-1]]
    new: Any = old
    if isinstance(old, bool):
        new = not old
    elif isinstance(old, int):
        new = rng.choice((old + 1, old - 1, -old, 1000 * old, old // 2, old % 2**53 / 1, str(old)))
    elif isinstance(old, float):
        new = rng.choice((-old, old / 2, 2 * old, 1 - old, old + 1e-7, 1e3 * old, old // 1))
    elif isinstance(old, str) and old:
        place = rng.randrange(len(old))
        new = rng.choice(
            (old[:place] + rng.choice("0aZ+/ é") + old[place + 1 :], old[:place], old + old, "")
        )
    else:
        return _resize(parent, path, rng)
    parent[path[-1]] = new
    return _brief(new)


def _resize(parent: Any, path: Steps, rng: Random) -> str:
    """Make a list longer or shorter; without one, change the value."""
    old = parent[path[-1]]
    if not isinstance(old, list):
        return _replace(parent, path, rng)
    room = max(1, _LONGEST // (len(json.dumps(old)) + 1))
    times = rng.choice((0, 2, 3, min(1000, room)))
    new = rng.choice((old * times, old[1:], old[:-1], [*old, *old[:1]], old[::-1]))
    parent[path[-1]] = copy.deepcopy(new)
    return f"{len(old)} to {len(new)}"


def _swap(parent: Any, path: Steps, rng: Random) -> str:
    """Exchange two values of the same object or list."""
    keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
    other = rng.choice(keys)
    parent[path[-1]], parent[other] = parent[other], parent[path[-1]]
    return str(other)


def _nest(parent: Any, path: Steps, rng: Random) -> str:
    depth = rng.choice((1, 2, 200))
    value = parent[path[-1]]
    for _ in range(depth):
        value = [value]
    parent[path[-1]] = value
    return f"{depth} lists"


def _lengthen(parent: Any, path: Steps, rng: Random) -> str:
    """Put a long text, list or object in the place of a value."""
    n = rng.choice((300, 20_000))
    value = rng.choice(("9" * n, [0] * n, {f"f{i}": i for i in range(n)}, list(map(str, range(n)))))
    parent[path[-1]] = value
    return _brief(value)


_CHANGES: tuple[Callable[[Any, Steps, Random], str], ...] = (
    _drop, _rename, _replace, _replace, _replace, _alter, _alter, _alter, _resize, _swap, _swap,
    _nest, _lengthen,
)  # fmt: skip


def _damage_bytes(path: Path, rng: Random) -> str:
    """Change bytes, without a thought about checksums."""
    content = bytearray(path.read_bytes())
    first = rng.randrange(len(content))
    last = min(len(content), first + rng.choice((1, 2, 10, 1000)))
    how = rng.choice(("flip", "cut", "drop", "repeat", "insert"))
    if how == "flip":
        content[first] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del content[first:]
    elif how == "drop":
        del content[first:last]
    elif how == "repeat":
        content[first:first] = content[first:last] * rng.choice((1, 2, 50))
    else:
        odd = (
            b"\0",
            b"\xff",
            b'"',
            b",",
            b"\n",
            b"-",
            b"9" * 400,
            b"nan",
            b"\xe2\x80\xa8",
            b"1e999",
        )
        content[first:first] = rng.choice(odd)
    path.write_bytes(bytes(content))
    return f"{how} bytes {first} to {last}"


def _damage_store(path: Path, rng: Random) -> str:
    """Change a row of SQLite, with its checksums put right."""
    with closing(sqlite3.connect(path)) as file, file:
        if rng.random() < 0.1:
            (text,) = file.execute("SELECT text FROM about").fetchone()
            tree, said = _damaged_json(text.encode(), None, rng)
            file.execute("UPDATE about SET text = ?", (json.dumps(tree),))
            return f"about: {said}"
        numbers = [number for (number,) in file.execute("SELECT number FROM batches")]
        number = rng.choice(numbers)
        query = "SELECT keys, rows FROM batches WHERE number = ?"
        blobs = dict(zip(("keys", "rows"), file.execute(query, (number,)).fetchone(), strict=True))
        said = _damage_blobs(blobs, rng)
        for name, blob in blobs.items():
            change = f"UPDATE batches SET {name} = ?, {name}_crc = ? WHERE number = ?"
            file.execute(change, (blob, zlib.crc32(blob), number))
        return f"batch {number}: {said}"


def _damage_cases(path: Path, rng: Random) -> str:
    """Change a cell in the database of a service; SQLite takes any type in any column."""
    with closing(sqlite3.connect(path)) as file, file:
        table = rng.choice(("cases", "cases", "cases", "counts", "about"))
        rows = file.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in rows.description]
        row, name = rng.choice(rows.fetchall()), rng.choice(names[1:])
        value: Any = row[names.index(name)]
        if name == "document" and rng.random() < 0.7:
            whole, said = _damaged_json(value.encode(), "body", rng)
            value = _document(whole["emsco"], whole["format"], whole["body"])
            value = value.encode(errors="surrogatepass").decode(errors="replace")
        else:
            value = rng.choice(("", "x", -1, 0, 2.5, 2**62, 1e300, float("inf"), b"\0", b"x" * 999))
            said = _brief(value)
        file.execute(f"UPDATE {table} SET {name} = ? WHERE {names[0]} = ?", (value, row[0]))
        return f"{table}, {row[0]}, {name}: {said}"


def _damage_blobs(blobs: dict[str, bytes], rng: Random) -> str:
    name = rng.choice(("keys", "rows", "rows", "rows"))
    blob = blobs[name]
    kind = "<i2" if name == "keys" else rng.choice(("<i8", "<i8", "<f8", "u1"))
    size = np.dtype(kind).itemsize
    values = np.frombuffer(blob[: len(blob) // size * size], kind).copy()
    rest = blob[len(blob) // size * size :]
    how = rng.choice(("one", "one", "one", "all", "swap", "shorten", "repeat", "empty"))
    with np.errstate(all="ignore"):
        if how == "one" and len(values):
            at = rng.randrange(len(values))
            odd = rng.choice((-1, 0, 1, 2, 7, 255, 1000, 30_000, 2**40, -(2**62)))
            values[at] = np.array(odd).astype(kind)
            how = f"value {at} is {odd}"
        elif how == "all":
            factor = rng.choice((0, -1, 2, 1000))
            values = (values.astype(np.float64) * factor).astype(kind)
            how = f"all times {factor}"
        elif how == "swap" and len(values) > 1:
            a, b = rng.randrange(len(values)), rng.randrange(len(values))
            values[[a, b]] = values[[b, a]]
            how = f"values {a} and {b} swapped"
    damaged = values.tobytes() + rest
    if how == "shorten":
        damaged = damaged[: rng.randrange(len(damaged) + 1)]
    elif how == "repeat":
        damaged *= rng.choice((2, 50))
    elif how == "empty":
        damaged = b""
    blobs[name] = damaged
    if how == "repeat" and rng.random() < 0.5:  # both alike, so that their lengths fit
        for other in blobs:
            blobs[other] = blob * 2 if other == name else blobs[other] * 2
    return f"{name}: {how}"
