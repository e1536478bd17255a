"""JSON documents: written completely or not at all, and checked field by field when read."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
import re
import shutil
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from emsco._base.arrays import locked_copy
from emsco._base.text import brief
from emsco._base.typing import AnyArray, FloatArray
from emsco.errors import FileError, ParameterError

PathLike: TypeAlias = str | os.PathLike[str]
PairsHook: TypeAlias = Callable[[list[tuple[str, Any]]], Any]

UNFINISHED = ".tmp"
_LEFT = 24 * 3600  # seconds after which an unfinished file belongs to a killed process
_LARGEST_FILE = 2**28
_LARGEST_WHOLE = 2**63 - 1
_MOST_DIGITS = 1_000  # of a whole number; Python itself refuses 4,301
_FREE_BYTES, _BYTES_PER_BYTE = 40 * 2**20, 6  # memory that the values of a text may take
# Memory that a sign stands for: an object, a list, the next value, a named one, half a text.
_BYTES_OF_SIGN = {"{": 184, "[": 96, ",": 40, ":": 80, '"': 32}
_ENCODERS = {  # by whether NaN is allowed
    allow: json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=allow)
    for allow in (True, False)
}
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false"}


@contextmanager
def writing_atomically(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` once it is complete.

    The file is written under another name, flushed to the disk and then renamed. A process that is
    killed leaves the old file or the new one, never a part. The file under another name is removed
    a day later, when the same file is written again.
    """
    # Resolved: a link's target is written, and the link stays. `os.fspath` refuses what is no path
    # in the same words on every Python.
    final = Path(os.fspath(path)).resolve()
    writer = f"{os.getpid()}-{threading.get_ident()}"
    unfinished = final.with_name(f"{final.name}.{writer}{UNFINISHED}")
    # Remove what killed processes have left, if nobody has written to it for a day: a process on
    # another machine may be at work.
    left = re.compile(rf"{re.escape(final.name)}\.\d+-\d+{re.escape(UNFINISHED)}")
    with suppress(OSError):
        for other in final.parent.iterdir():
            if left.fullmatch(other.name) and time.time() - other.stat().st_mtime > _LEFT:
                other.unlink()
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if final.exists():
            shutil.copymode(final, unfinished)
        unfinished.replace(final)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # flush the names in the folder, if the system lets it be opened
        handle = os.open(final.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_document(path: PathLike, kind: str, form: int, body: Mapping[str, Any]) -> None:
    """Write a versioned JSON document with a checksum of its body."""
    write_text(path, document_text(kind, form, body, indent=1))


def write_text(path: PathLike, text: str) -> None:
    """Write a text file, completely or not at all."""
    try:
        with writing_atomically(path) as file:
            file.write(text.encode(errors="surrogatepass"))
    except (OSError, TypeError, ValueError) as error:
        raise FileError(
            f"path must be a file that can be written, got {str(path)!r} ({_why(error)})."
        ) from error


def document_text(kind: str, form: int, body: Mapping[str, Any], indent: int | None = None) -> str:
    """Return the JSON text of a document."""
    try:
        text = _canonical(body, allow_nan=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        if indent is None:  # one pass is enough: a service writes a case at every step
            return f'{_start(kind, form)},"sha256":"{digest}","body":{text}}}\n'
        whole = {**_about(kind, form), "sha256": digest, "body": body}
        return json.dumps(whole, indent=indent, allow_nan=False, ensure_ascii=False) + "\n"
    except ValueError:
        raise FileError(f"a {kind} must hold finite numbers only to be written.") from None
    except TypeError as error:
        raise FileError(f"a {kind} must hold plain values to be written: {error}.") from None


def read_document(path: PathLike, kind: str, form: int, oldest: int = 1) -> Fields:
    """Read the body of a document of one kind, in a format from `oldest` to `form`.

    Raises
    ------
    FileError
        If the file is missing, damaged, of another kind, too old or too new.
    """
    where = repr(str(path))
    try:
        with Path(os.fspath(path)).open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, TypeError, ValueError) as error:
        raise FileError(
            f"path must be a file that can be read, got {where} ({_why(error)})."
        ) from error
    if len(content) > _LARGEST_FILE:
        raise FileError(f"{where} must be at most {_LARGEST_FILE:,} bytes, got more.")
    return parse_document(content, kind, form, where, oldest)


def parse_document(
    content: bytes | str, kind: str, form: int, where: str, oldest: int = 1
) -> Fields:
    """Return the body of a document's text; messages call the document `where`."""
    try:
        whole = parse_json(content, distinct_names, parse_constant=_no_constant)
        body_text = _canonical(whole.get("body") if isinstance(whole, dict) else None)
        checksum = hashlib.sha256(body_text.encode()).hexdigest()
    except (RecursionError, TypeError, ValueError) as error:
        raise FileError(f"{where} must be valid JSON, got a damaged file ({error}).") from None
    if not isinstance(whole, dict) or whole.get("emsco") != kind:
        got = whole.get("emsco") if isinstance(whole, dict) else None
        other = f"an emsco {got[:60]}" if isinstance(got, str) else "none"
        raise FileError(f"{where} must hold an emsco {kind}, got {other}.")
    fields = Fields(whole, where)
    if (written := fields.whole("format", 1)) > form:
        raise FileError(
            f"{where} must have format {form} or older, got {written}, written by "
            f"{fields.text('written_by')}; install a newer emsco."
        )
    if written < oldest:
        raise FileError(
            f"{where} must have format {oldest} or newer, got {written}, written by "
            f"{fields.text('written_by')}; fit and save it again."
        )
    body = fields.fields("body")
    if fields.text("sha256") != checksum:
        raise FileError(f"{where} must be unchanged since it was written, got a wrong checksum.")
    return body


def parse_json(content: bytes | str, hook: PairsHook | None = None, **settings: Any) -> Any:
    """Return what a JSON text says; a ValueError says in plain words why it cannot be read.

    `hook` makes an object of its names and values; `settings` are those of `json.loads`.

    Examples
    --------
    >>> parse_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    # Values may take many times the size of their text, such as a million empty lists.
    if len(content) * max(_BYTES_OF_SIGN.values()) > _FREE_BYTES:
        text = content.decode("latin-1") if isinstance(content, bytes) else content
        taken = sum(each * text.count(sign) for sign, each in _BYTES_OF_SIGN.items())
        if taken > _FREE_BYTES + _BYTES_PER_BYTE * len(text):
            many = f"{taken // 2**20:,} MB of memory, for {len(text):,} bytes"
            raise ValueError(f"its values would take {many}")
    try:
        return json.loads(content, object_pairs_hook=hook, parse_int=_parse_whole, **settings)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


class Fields:
    """The fields of a JSON object, each checked as it is read.

    Errors name the field, and call the object `where`.
    """

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self.values = values
        self.where = where

    def fields(self, name: str) -> Fields:
        """Return the fields of an inner object."""
        return Fields(self._typed(name, dict), f"{self.where}, {name!r}")

    def many_fields(self, name: str, most: float = math.inf) -> list[Fields]:
        """Return the fields of each object in a list of at least one."""
        items = self._typed(name, list)
        if len(items) > most:
            self.refuse(name, f"at most {most:,} {name}", len(items))
        if not items or not all(isinstance(item, dict) for item in items):
            self.refuse(name, "a list of objects", items)
        return [Fields(item, f"{self.where}, {name!r} {i}") for i, item in enumerate(items)]

    def text(self, name: str) -> str:
        """Return a text."""
        value: str = self._typed(name, str)
        return value

    def flag(self, name: str) -> bool:
        """Return true or false."""
        value: bool = self._typed(name, bool)
        return value

    def whole(self, name: str, low: int, high: int = _LARGEST_WHOLE) -> int:
        """Return a whole number from `low` to `high`."""
        value = self.get(name)
        if type(value) is not int or not low <= value <= high:
            self.refuse(name, f"a whole number{_bounds(low, high)}", value)
        return int(value)

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a finite number from `low` to `high`."""
        value = self.get(name)
        if not is_finite_number(value) or not low <= value <= high:
            self.refuse(name, f"a finite number{_bounds(low, high)}", value)
        return float(value)

    def amount(self, name: str, high: float = math.inf) -> float:
        """Return a number of rows, or the weight of rows, which need not be whole."""
        value = self.number(name, 0, high)
        return int(value) if type(self.get(name)) is int else value

    def numbers(
        self, name: str, n: int, low: float = -math.inf, high: float = math.inf
    ) -> FloatArray:
        """Return `n` finite numbers from `low` to `high` as a read-only array."""
        values = self._typed(name, list)
        if len(values) != n or not all(is_finite_number(v) and low <= v <= high for v in values):
            self.refuse(name, f"{n} finite numbers{_bounds(low, high)}", values)
        return locked_copy(values, np.float64)

    def wholes(self, name: str, n: int, low: int = 0, high: int = _LARGEST_WHOLE) -> list[int]:
        """Return `n` whole numbers from `low` to `high`."""
        values: list[int] = self._typed(name, list)
        if len(values) != n or not all(type(v) is int and low <= v <= high for v in values):
            self.refuse(name, f"{n} whole numbers{_bounds(low, high)}", values)
        return values

    def texts(self, name: str) -> list[str]:
        """Return a list of at least one text, all different."""
        values: list[str] = self._typed(name, list)
        whole = all(isinstance(value, str) for value in values)
        if not values or not whole or len(set(values)) < len(values):
            self.refuse(name, "a list of different names", values)
        return values

    def items(self, name: str) -> list[Any]:
        """Return a list without a check of its items."""
        values: list[Any] = self._typed(name, list)
        return values

    def get(self, name: str) -> Any:
        """Return a value without a check of its type."""
        if name not in self.values:
            raise FileError(f"{self.where} must have {name!r}, got {brief(sorted(self.values))}.")
        return self.values[name]

    def only(self, *names: str) -> None:
        """Refuse fields other than these."""
        if others := sorted({*self.values} - {*names}):
            self.refuse(others[0], "left out", self.values[others[0]])

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Turn the error of a value that is made from these fields into that of a file."""
        try:
            yield
        except ParameterError as error:
            raise FileError(f"{self.where}: {error}") from None

    def refuse(self, name: str, rule: str, got: Any) -> NoReturn:
        """Raise the error for a field that breaks its rule."""
        raise FileError(f"{self.where}, {name!r} must be {rule}, got {brief(got)}.")

    def _typed(self, name: str, kind: type) -> Any:
        value = self.get(name)
        if not isinstance(value, kind):
            self.refuse(name, _KINDS[kind], value)
        return value


def is_finite_number(value: Any) -> bool:
    """Tell whether a value of a file is a finite number."""
    if type(value) not in (int, float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number past the largest float
        return False


def distinct_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of an object in JSON; a name that it has twice is an error."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("an object has the same name twice")
    return values


def _bounds(low: float, high: float) -> str:
    if math.isinf(low):
        return ""
    return f" from {low} " + ("up" if high in (math.inf, _LARGEST_WHOLE) else f"to {high}")


def _why(error: Exception) -> str:
    """Return the operating system's reason for an error, or else its message."""
    return getattr(error, "strerror", None) or str(error)


def _parse_whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


@cache
def _start(kind: str, form: int) -> str:
    """Return the text of a document up to its checksum."""
    return json.dumps(_about(kind, form), separators=(",", ":"))[:-1]


@cache
def _about(kind: str, form: int) -> dict[str, Any]:
    """Say what a document is; found once, since to ask for the version reads a file."""
    return {"emsco": kind, "format": form, "written_by": f"emsco {version('emsco')}"}


def _canonical(body: Any, *, allow_nan: bool = True) -> str:
    """Return the text of a body that its checksum is of."""
    return _ENCODERS[allow_nan].encode(body)


def pack_array(array: AnyArray) -> str:
    """Return the values of an array as text.

    Examples
    --------
    >>> len(pack_array(np.zeros(1000))) < 100
    True
    """
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(little.tobytes(), 9)).decode("ascii")


def unpack_array(fields: Fields, name: str, n: int, kind: DTypeLike) -> AnyArray:
    """Read an array of `n` values from a text in a file.

    The text is refused if it is too long for so many values, or if more or fewer come out of it.
    """
    text, little = fields.text(name), np.dtype(kind).newbyteorder("<")
    size = n * little.itemsize
    rule = f"{n:,} packed values"
    # Bytes that do not compress take five more for every 16 kB, and base64 a third more.
    if len(text) > 4 * (size + size // 1000 + 64) // 3 + 4:
        fields.refuse(name, rule, "a longer text")
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(base64.b64decode(text, validate=True), size + 1)
    except (binascii.Error, ValueError, zlib.error):
        fields.refuse(name, rule, "a damaged text")
    if len(content) != size or not unpacker.eof or unpacker.unused_data:
        fields.refuse(name, rule, f"{len(content):,} bytes" if len(content) <= size else "more")
    if little == np.bool_ and max(content, default=0) > 1:
        fields.refuse(name, "truth values, 0 or 1", max(content))
    return np.frombuffer(content, dtype=little).astype(kind)
