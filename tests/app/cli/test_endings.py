"""Commands that are cut short: by Ctrl-C at any moment, or by a reader that has seen enough."""

import signal
import subprocess
import sys
from textwrap import dedent

import pytest
from support.settings import ONE_THRESHOLD

from emsco.app.files.sources import FitFiles
from emsco.app.runs.fit import fit_files

INTERRUPTING = """
    import sys

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == {module!r}:
                raise KeyboardInterrupt
            return None

    sys.meta_path.insert(0, Finder())
    sys.argv = ["emsco", *{words!r}]
    from emsco.app.cli import main
    main()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory, small_problem):
    folder = tmp_path_factory.mktemp("cut short")
    X, y = small_problem
    lines = [",".join(map(str, [*x, k])) for x, k in zip(X, y, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["a,b,c,d,e,f,ill", *lines, ""]))
    files = FitFiles("ill", folder / "rows.csv")
    return fit_files(files, folder / "run", max_stages=2, **ONE_THRESHOLD).folder


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("typer", ["--help"]),
        ("emsco.app.cli.application", ["--help"]),
        ("rich.markdown", ["--help"]),
        ("emsco.app.runs.run", ["front", "anywhere"]),
        ("numpy", ["front", "anywhere"]),
    ],
)
def test_ctrl_c_during_an_import_is_one_line_and_exit_code_130(module, words):
    code = dedent(INTERRUPTING.format(module=module, words=words))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "emsco: interrupted.\n")


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="no pipes that break")
@pytest.mark.parametrize(
    "words",
    [
        ["fit", "--help"],
        ["show"],
        *(
            pytest.param(words, marks=pytest.mark.thorough)
            for words in (["--help"], ["--version"], ["front"], ["show", "--json"])
        ),
    ],
)
def test_a_reader_that_has_seen_enough_ends_a_command_quietly(run, words):
    name, *more = words
    command = [name, str(run), *more] if name in ("front", "show") else words
    program = [sys.executable, "-m", "emsco", *command]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(program, **pipes) as started:
        started.stdout.close()  # before a line is written
        assert started.stderr.read() == b""
    assert started.returncode == 141
