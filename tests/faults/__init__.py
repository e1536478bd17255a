"""Faults: damaged files, full disks, kills, races, foreign requests and odd tables.

python -m pytest tests/faults          a few trials of each kind, as in the gate
python -m pytest tests/faults -m ""    the thorough run: thousands, some twenty minutes of a core

A trial is drawn by its number, which a failure tells.
"""

from __future__ import annotations

import re
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import process_time

import pytest

from emsco.app.service.messages import RefusalError
from emsco.errors import EMSCOError

SECONDS = 5  # of processor time that a file may take to be read and used
MEMORY, TIMES = 50 * 2**20, 10  # bytes that it may take, and times its size


def trials(few, many):
    """Mark a test that takes numbers of trials: few in the gate, many in a thorough run."""
    more = pytest.param(range(few, many), marks=pytest.mark.thorough)
    return pytest.mark.parametrize("numbers", [range(few), more], ids=["few", "many"])


@contextmanager
def trial(number):
    """Give what a trial is drawn with; whatever it raises tells its number."""
    try:
        yield Random(number)
    except BaseException as error:
        error.add_note(f"in trial {number}")
        raise


def refusal(use, *given, size=0):
    """Return the sentence by which something is refused; None if it can be used.

    Anything else fails: other errors, and too much of time or memory for something of that size.
    """
    said, start, before = None, process_time(), _memory("VmRSS")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            use(*given)
        except (EMSCOError, RefusalError) as error:
            said = str(error)
    assert said is None or "\n" not in said.strip()
    assert process_time() - start < SECONDS
    assert _memory("VmHWM") - before < MEMORY + TIMES * size
    return said


def _memory(name):
    """Return the memory of this process, or the most so far, in bytes; only Linux tells."""
    if sys.platform != "linux":
        return 0
    if name == "VmRSS":
        Path("/proc/self/clear_refs").write_text("5")  # forget the most so far
    return 1024 * int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])
