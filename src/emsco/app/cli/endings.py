"""Exit codes, and messages after Ctrl-C or a closed pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from emsco._base.text import visible

NOT_CERTIFIED = 3  # a test that was run, and that no design has passed
ALARM = 4  # a monitored promise is broken
INTERRUPTED = 130  # a shell's exit code for a program that Ctrl-C has ended
PIPE_CLOSED = 141  # and for one whose reader has gone, as in `emsco front RUN | head`


def say(sentence: str) -> None:
    """Print one line on standard error."""
    print(f"emsco: {visible(sentence)}", file=sys.stderr)


@contextmanager
def interruptible(left: str | Callable[[], str]) -> Iterator[None]:
    """After Ctrl-C, say what is left and exit with the code that shells expect.

    A callable `left` is asked only after Ctrl-C.
    """
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted; {left() if callable(left) else left}.")
        raise SystemExit(INTERRUPTED) from None


@contextmanager
def ending_quietly() -> Iterator[None]:
    """End after Ctrl-C with one line, and after a closed pipe with none."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here a closed pipe can be caught, at exit it cannot
    except KeyboardInterrupt:
        say("interrupted.")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        # Discard pending output, so that Python does not complain about it at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # a stream that is no file needs nothing
                os.dup2(nowhere, stream.fileno())
        raise SystemExit(PIPE_CLOSED) from None
