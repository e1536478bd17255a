"""What `emsco compare` and `emsco sweep` have in common: folders of results, and bars."""

import io
import re
from contextlib import suppress
from functools import partial

import pytest
from support.commands import refuses

from emsco._base.progress import JobProgress, SafeConsole
from emsco.errors import EMSCOError


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_what_is_refused_before_the_first_job_is_a_sentence_alone(typed, data, command, tmp_path):
    words = ["--target", "ill", "--out", tmp_path / "new"]
    result = typed(command, data / "data.csv", *words)
    assert re.fullmatch(r"emsco: .* must have a column 'ill', got .*\n", result.err)


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_experiments_write_into_no_run(typed, data, run, command):
    refuses(
        typed(command, data / "data.csv", "--target", "sick", "--out", run),
        f"--out must be a folder without a run of emsco fit, got '{run}'; name another.",
    )


@pytest.mark.parametrize("n_jobs", [0, 1])
def test_a_bar_on_a_terminal_is_erased_where_no_job_was_done(monkeypatch, n_jobs):
    drawn = io.StringIO()
    terminal = partial(SafeConsole, file=drawn, force_terminal=True)
    monkeypatch.setattr("emsco._base.progress.SafeConsole", lambda **_: terminal())
    with suppress(EMSCOError), JobProgress("repeats") as progress:
        for _ in range(n_jobs):
            progress.job(1, 2, "a repeat")
        raise EMSCOError("refused")
    last = drawn.getvalue().rpartition("\x1b[2K")[2]
    assert ("repeats" in last) == bool(n_jobs)
