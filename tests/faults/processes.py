"""Commands in processes of their own, which are killed, or meet a full disk or a closed folder."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import signal
import sys
from functools import cache
from multiprocessing import forkserver

import pytest

PATIENCE = 120  # seconds for any command
REFUSED = ("os.mkdir", "os.remove", "os.rename")  # by a closed folder


@cache
def forked():
    """Return what starts processes: each is forked from one that has made a small fit."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["faults.runs"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()
    return context


class Command:
    """The command `emsco` with some words; `disturb` is called before it begins."""

    def __init__(self, folder, *words, disturb=None):
        self._said = folder / f"said-{id(self)}.txt"
        given = list(map(str, words)), self._said, disturb
        self._process = forked().Process(target=_be, args=given)
        self._process.start()

    def kill(self, after=0.0):
        """Kill it, unless it has ended by then."""
        self._process.join(after)
        self._process.kill()
        self._process.join()

    def end(self):
        """Wait for its end; return the exit code and what it said."""
        self.kill(after=PATIENCE)
        assert "Traceback" not in self.said
        return self._process.exitcode

    @property
    def said(self):
        return self._said.read_text(errors="replace") if self._said.exists() else ""


def _be(words, said, disturb):
    from emsco.app.cli import main
    from emsco.models import checkpoint

    with said.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ["NO_COLOR"] = "1"
    sys.argv = ["emsco", *words]
    checkpoint._SECONDS = 0.0  # every answer is written at once
    if disturb is not None:
        disturb()
    main()


def full(most):
    """Let no file grow beyond so many bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def watch(folder, look):
    """Look at everything that touches a folder."""

    def hear(event, given):
        if event.startswith(("open", "os.")) and any(str(folder) in str(one) for one in given[:2]):
            look(event, given)

    sys.addaudithook(hear)


def killed(folder, moment):
    """Die before a folder is touched for the time that `moment` numbers."""
    left = iter(range(moment))
    watch(folder, lambda *_: next(left, None) is None and os.kill(os.getpid(), signal.SIGKILL))


def closed(folder):
    """Let nothing in a folder be written, renamed or removed."""

    def refuse(event, given):
        if event in REFUSED or (event == "open" and given[2] & (os.O_WRONLY | os.O_RDWR)):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    watch(folder, refuse)
