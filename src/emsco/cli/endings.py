"""How a command ends that is cut short: by Ctrl-C, or by a reader that has seen enough."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["INTERRUPTED", "PIPE_CLOSED", "ending_quietly", "interruptible", "say"]

INTERRUPTED = 130  # a shell's exit code for a program that Ctrl-C has ended
PIPE_CLOSED = 141  # and for one whose reader has gone, as in `emsco front RUN | head`


def say(sentence: str) -> None:
    """One line on standard error."""
    print(f"emsco: {sentence}", file=sys.stderr)


@contextmanager
def interruptible(left: str | Callable[[], str]) -> Iterator[None]:
    """After Ctrl-C, say what is left, which may have to be looked up, and exit as shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted; {left() if callable(left) else left}.")
        raise SystemExit(INTERRUPTED) from None


@contextmanager
def ending_quietly() -> Iterator[None]:
    """Let Ctrl-C be one line, and a closed pipe none."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here a closed pipe can be caught, at exit it cannot
    except KeyboardInterrupt:
        say("interrupted.")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        _write_nowhere()
        raise SystemExit(PIPE_CLOSED) from None


def _write_nowhere() -> None:
    """Throw away what is still to be written, so that Python says nothing about it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a stream that is no file needs nothing
            os.dup2(nowhere, stream.fileno())
