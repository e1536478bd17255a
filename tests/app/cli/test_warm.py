"""`emsco warm` compiles ahead what fits and decisions use."""

import subprocess
import sys

import pytest

from emsco.app.cli import warm

COMPILED = """
import numpy as np
from numba.core import event

compiled = []


class Listener(event.Listener):
    def on_start(self, happening):
        compiled.append(happening.data["dispatcher"].py_func.__qualname__)

    def on_end(self, happening):
        pass


event.register("numba:compile", Listener())
from emsco.app.cli import warm

for part in warm._PARTS:
    warm._run(part)
print(len(compiled))
"""


class Progress:
    def __init__(self):
        self.said = []

    def job(self, done, total, _what):
        self.said.append((done, total))


def test_every_part_runs_and_is_counted(monkeypatch):
    ran = []
    parts = {name: lambda name=name: ran.append(name) for name in "abc"}
    monkeypatch.setattr(warm, "_PARTS", parts)
    progress = Progress()
    warm.compile_parts(1, progress)
    assert ran == ["a", "b", "c"] * 2
    assert progress.said == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.thorough
def test_a_process_after_it_compiles_nothing():
    for part in warm._PARTS:
        warm._run(part)
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0"
