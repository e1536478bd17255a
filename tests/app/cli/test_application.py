"""Every command: help, errors in one line, and folders that are no run."""

import subprocess
import sys
from importlib.metadata import version
from textwrap import dedent

import pytest
from support.commands import refuses
from typer.testing import CliRunner

import emsco
from emsco.app import cli


def test_help_teaches_and_wrong_usage_is_exit_code_2():
    assert "emsco demo" in CliRunner().invoke(cli.app, ["--help"]).output
    assert CliRunner().invoke(cli.app, ["demo", "--seed", "-1"]).exit_code == 2
    assert CliRunner().invoke(cli.app, ["nothing"]).exit_code == 2


def test_version_is_that_of_the_package():
    shown = CliRunner().invoke(cli.app, ["--version"]).output
    assert shown == f"emsco {version('emsco')}\n"


def test_python_m_emsco_is_the_command_line():
    command = [sys.executable, "-m", "emsco", "--version"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout == f"emsco {emsco.__version__}\n" == f"emsco {version('emsco')}\n"


def test_a_failure_of_the_system_is_one_line_and_exit_code_1(typed, monkeypatch, tmp_path):
    def fail(path, trusted=()):
        raise PermissionError(13, "Permission denied", "run.json")

    monkeypatch.setattr("emsco.app.runs.run.Run.open", fail)
    result = typed("front", tmp_path)
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert "'run.json'" in result.err


def test_import_and_help_wait_for_no_plotting():
    code = (
        "import sys, emsco, emsco.app.cli, emsco.metrics; from typer.testing import CliRunner;"
        "CliRunner().invoke(emsco.app.cli.app, ['--help']);"
        "print({'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_damaged_files_of_a_run_are_refused_by_name(typed, run, data):
    for name in ("front.json", "cascade.json"):
        whole = (run / name).read_bytes()
        (run / name).write_bytes(whole.replace(b"0.8", b"0.7"))
        refuses(typed("front", run), run / name)
        (run / name).write_bytes(whole)
    (run / "cascade.json").write_text("")
    result = typed("decide", run, data / "data.csv", "--out", run / "out.csv")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert f"'{run}/cascade.json'" in result.err


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"]])
def test_help_waits_for_no_library_that_computes(words):
    code = (
        "import sys; from emsco.app import cli; from typer.testing import CliRunner;"
        f"assert CliRunner().invoke(cli.app, {words!r}).exit_code == 0;"
        "print({'numpy', 'scipy', 'sklearn', 'pyarrow', 'joblib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_deciding_a_row_waits_for_nothing_that_fits(run, data):
    words = ["decide", str(run), str(run / "one.csv"), "--out", str(run / "out.csv")]
    heading, row, *_ = (data / "data.csv").read_text().splitlines()
    (run / "one.csv").write_text(f"{heading}\n{row}\n")
    code = f"""
        import sys
        from emsco.app import cli
        from typer.testing import CliRunner
        assert CliRunner().invoke(cli.app, {words!r}).exit_code == 0
        libraries = {{"sklearn", "scipy", "joblib", "moocore", "cython", "matplotlib"}}
        parts = {{"asyncio", "pyarrow.parquet", "emsco.fitting", "emsco.models.boosting.trainer"}}
        print((libraries | parts) & set(sys.modules))
    """
    command = [sys.executable, "-c", dedent(code)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "set()\n"
