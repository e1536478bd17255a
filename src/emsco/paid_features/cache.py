"""Answers that were paid for, kept in a file so that nobody pays for them again."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from emsco._base.documents import PathLike
from emsco.errors import FileError
from emsco.paid_features.answers import Answer

FILE = "answers.jsonl"


class AnswerCache:
    """Answers by a digest of what was asked: in memory, and in a file if there is a folder.

    Every answer is one line of ``answers.jsonl``, written at once when it arrives. A line that a
    crash has cut is left out when the file is read. Neither questions nor keys are in the file.
    """

    def __init__(self, folder: PathLike | None) -> None:
        self._answers: dict[str, Answer] = {}
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
        for line in content.splitlines():
            with suppress(KeyError, TypeError, ValueError):  # cut by a crash, or not ours
                record = json.loads(line)
                self._answers[record["key"]] = Answer(**record["answer"])

    def get(self, key: str) -> Answer | None:
        """Return the answer to a question, if it is there."""
        return self._answers.get(key)

    def put(self, key: str, feature: str, answer: Answer) -> None:
        """Remember an answer."""
        with self._lock:
            self._answers[key] = answer
            if self._path is None:
                return
            record = {"key": key, "feature": feature, "answer": asdict(answer)}
            # One write to the end of the file: two processes may share it.
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(handle, f"{json.dumps(record)}\n".encode())
            finally:
                os.close(handle)
