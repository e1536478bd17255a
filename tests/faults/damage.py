"""Damage at random: to bytes, to values of JSON, to cells and lines of tables, to SQLite."""

from __future__ import annotations

import copy
import json
import re
import sqlite3
import zlib
from contextlib import closing, suppress

from support.documents import at, paths_of

from emsco._base.documents import document_text
from emsco.errors import FileError

ODD = (
    None, True, "", "²", "\ud800", "\0", -1, 0, 2, 0.5, 1e-320, 1e100, 1e308, 2**64, 10**400,
    float("nan"), float("inf"), "9" * 20_000, [], {}, [None], {"x": 0}, [[0, 0], [0, 0]],
    [0] * 20_000, json.loads("[" * 200 + "]" * 200),
)  # fmt: skip
CELLS = (
    "", "?", "inf", "1e999", "-0", "1,5", "1.234,5", "0x10", "\u0661", "31/12/1999", "2026-02-30",
    "=cmd()", "\x1b[31mred", "\0", "\ufeff", "\r", '"', '"a\nb"', "9" * 400, "a" * 5_000,
)  # fmt: skip
BYTES = (b"", b"\0", b"\xff", b'"', b"\n", b"9" * 400, b"nan", b"\xe2\x80\xa8", b"1e999")
STORABLE = ("", "x", -1, 2.5, 2**62, 1e300, b"\0")  # in SQLite


def damage(path, rng):
    """Change a file, most often so that its checksums are right."""
    content = path.read_bytes()
    if rng.random() < 0.2 or content.startswith(b"PAR1"):
        path.write_bytes(damaged_bytes(content, rng))
    elif content.startswith(b"SQLite"):
        damage_cell(path, rng)
    else:
        change = damaged_json if content.startswith(b"{") else damaged_table
        path.write_bytes(change(content.decode(), rng).encode(errors="surrogatepass"))


def damaged_bytes(content, rng):
    """Put other bytes in the place of some."""
    start = rng.randrange(len(content) + 1)
    end = start + rng.choice([0, 1, 1, 10, 1000, len(content)])
    flipped = bytes(one ^ 1 << rng.randrange(8) for one in content[start : start + 1])
    return content[:start] + rng.choice([flipped, *BYTES]) + content[end:]


def damaged_json(text, rng):
    """Change values of a text, and put the checksum right if it has one."""
    tree = json.loads(text)
    change(tree, rng)
    try:
        return document_text(tree["emsco"], tree["format"], tree["body"])
    except (FileError, KeyError, TypeError):  # it has none, or values that are not JSON
        return json.dumps(tree)


def change(tree, rng):
    """Change one to three values of a tree."""
    paths = list(paths_of(tree))
    for path in rng.sample(paths, min(len(paths), rng.choice([1, 1, 2, 3]))):
        with suppress(LookupError, TypeError):  # an earlier change has taken it away
            parent, key = at(tree, path[:-1]), path[-1]
            match rng.choice(["drop", "other", "odd", "odd", "near", "near", "near"]):
                case "drop":
                    del parent[key]
                case "other":
                    parent[key] = copy.deepcopy(at(tree, rng.choice(paths)))
                case "near":
                    parent[key] = near(parent[key], rng)
                case _:
                    parent[key] = copy.deepcopy(rng.choice(ODD))


def near(value, rng):
    """Return another value of the same type, if that is easy."""
    if isinstance(value, (int, float)):
        return rng.choice([-value, value + 1, 1 - value, value // 2, 1000 * value])
    if isinstance(value, (str, list)):
        return rng.choice([value[1:], value[::-1], value * 2, (value * 300)[:20_000]])
    return rng.choice(ODD)


def damaged_table(text, rng):
    """Put other cells, or none, in the place of some; what is between them may go, too."""
    cells = re.split("([;,\n])", text)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at, n_gone = rng.randrange(len(cells)), rng.choice([0, 1, 1, 1, 20])
        cells[at : at + n_gone] = [rng.choice(CELLS)] * rng.choice([0, 1, 1, 1, 300])
    return "".join(cells)


def damage_cell(path, rng):
    """Change one value in a database; its checksum, too, if there is one beside it."""
    # A key may not become everything.
    with suppress(sqlite3.IntegrityError), closing(sqlite3.connect(path)) as file, file:
        file.row_factory = sqlite3.Row
        names = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = [(name, file.execute(f"SELECT * FROM {name}").fetchall()) for (name,) in names]
        table, rows = rng.choice([one for one in tables if one[1]])
        row = dict(rng.choice(rows))
        name = rng.choice(list(row))
        new = rng.choice(STORABLE)
        if isinstance(row[name], bytes) and rng.random() < 0.8:
            new = damaged_bytes(row[name], rng)
        elif str(row[name]).startswith("{") and rng.random() < 0.8:
            new = damaged_json(row[name], rng)
        whole, values = row | {name: new}, {name: new}
        if "crc" in row and isinstance(new, bytes):
            values = {"crc": zlib.crc32(whole["value"], zlib.crc32(whole["key"]))} | values
        key = next(iter(row))
        for one, value in values.items():
            file.execute(f"UPDATE {table} SET {one} = ? WHERE {key} = ?", (value, row[key]))
