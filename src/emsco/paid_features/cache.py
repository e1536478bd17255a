"""Answers that were paid for, kept in a file so that nobody pays for them again."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from emsco._base.checks import is_number
from emsco._base.documents import PathLike
from emsco.errors import FileError

FILE = "answers.jsonl"


@dataclass(frozen=True, slots=True)
class Paid:
    """An answer as columns, and what it took."""

    values: list[float | str]
    price: float
    seconds: float
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""


class AnswerCache:
    """Answers by a digest of what was asked: in memory, and in a file if there is a folder.

    Every answer is one line of ``answers.jsonl``, written at once when it arrives. A line that a
    crash has cut is left out when the file is read. Neither questions nor keys are in the file.
    """

    def __init__(self, folder: PathLike | None) -> None:
        self._answers: dict[str, Paid] = {}
        self._lock = threading.Lock()
        self._path = None if folder is None else Path(folder) / FILE
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab+") as file:
                file.seek(0)
                content = file.read()
                if content and not content.endswith(b"\n"):
                    file.write(b"\n")  # the next answer begins a line of its own
        except OSError as error:
            raise FileError(
                f"cache must be a folder that can be written, got {str(folder)!r} "
                f"({error.strerror or error})."
            ) from None
        self._answers.update(_answers_in(content))

    def get(self, key: str) -> Paid | None:
        """Return the answer to a question, if it is there."""
        return self._answers.get(key)

    def put(self, key: str, feature: str, paid: Paid) -> None:
        """Remember an answer."""
        with self._lock:
            self._answers[key] = paid
            if self._path is None:
                return
            line = json.dumps({"key": key, "feature": feature, **asdict(paid)}) + "\n"
            # One write to the end of the file: two processes may share it.
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(handle, line.encode())
            finally:
                os.close(handle)


def _answers_in(content: bytes) -> Iterator[tuple[str, Paid]]:
    for line in content.splitlines():
        try:
            record: Any = json.loads(line)
            paid = Paid(
                values=list(record["values"]),
                price=float(record["price"]),
                seconds=float(record["seconds"]),
                tokens_in=int(record["tokens_in"]),
                tokens_out=int(record["tokens_out"]),
                model=str(record["model"]),
            )
            key = record["key"]
        except (KeyError, TypeError, ValueError):  # cut by a crash, or not ours
            continue
        if all(isinstance(value, str) or is_number(value) for value in paid.values):
            yield key, paid
