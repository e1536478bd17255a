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


@pytest.mark.thorough
def test_a_process_after_it_compiles_nothing():
    for part in warm._PARTS:
        warm._run(part)
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0"
