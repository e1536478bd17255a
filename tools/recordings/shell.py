"""The command line as users call it, in a folder of its own."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import emsco
from recordings.plain import parse_json

__all__ = ["Shell", "read_columns"]

# Top-level keys of JSON that describe the call and not its result.
_ABOUT = {"run", "out", "data", "of", "settings", "versions", "files", "experiment"}
_ABOUT |= {"cv", "n_splits"}


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands of emsco in a folder.

    Attributes
    ----------
    folder : Path
        Where the commands run, and where their files are.
    """

    folder: Path

    def run(self, *arguments: object, code: int = 0) -> str:
        """Run a command and return its output; refuse any other exit code."""
        done = self._start(*arguments)
        printed, complaint = done.communicate()
        if done.returncode != code:
            raise RuntimeError(f"emsco {arguments} ended with {done.returncode}: {complaint}")
        return printed

    def json(self, *arguments: object) -> Any:
        """Run a command with --json, and return the result without facts about the call."""
        found = parse_json(self.run(*arguments, "--json"))
        return {key: value for key, value in found.items() if key not in _ABOUT}

    def kill_once_there(self, path: str, *arguments: object, patience: float = 300.0) -> int:
        """Start a command, kill it once a path exists, and return its exit code."""
        started, deadline = self._start(*arguments), time.monotonic() + patience
        while started.poll() is None and time.monotonic() < deadline:
            if (self.folder / path).exists():
                time.sleep(0.2)
                started.kill()
                break
            time.sleep(0.02)
        started.communicate()
        return started.returncode

    def _start(self, *arguments: object) -> subprocess.Popen[str]:
        package = str(Path(emsco.__file__).resolve().parent.parent)  # the very emsco imported here
        return subprocess.Popen(
            [sys.executable, "-m", "emsco", *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": package, "PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )


def read_columns(path: Path) -> dict[str, list[str]]:
    """Read the cells of a CSV file by column, as text, which holds every digit."""
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
