"""Every command: help, errors in one line, and folders that are no run."""

import io
import re
import subprocess
import sys
from importlib.metadata import version

import pytest
from support.commands import refuses
from typer.testing import CliRunner

import emsco
from emsco.app import cli
from emsco.errors import EMSCOError

HELPS = ("--help", "--help-all")


def test_help_teaches_and_wrong_usage_is_exit_code_2():
    assert "emsco demo" in CliRunner().invoke(cli.app, ["--help"]).output
    assert CliRunner().invoke(cli.app, ["demo", "--seed", "-1"]).exit_code == 2
    assert CliRunner().invoke(cli.app, ["nothing"]).exit_code == 2


@pytest.mark.parametrize(
    "command",
    [
        [],
        *([name] for name in ("fit", "front", "decide", "compare", "sweep", "reproduce")),
        ["reproduce", "comparison"],
    ],
)
def test_help_shows_flags_without_a_type_and_what_repeats_with_a_word(command):
    shown = CliRunner().invoke(cli.app, [*command, "--help"]).output
    assert "--help" in shown
    assert not re.search(r"<bool>|<list|BOOLEAN", shown)


@pytest.mark.parametrize("command", ["fit", "front", "decide", "compare", "plot"])
def test_help_cuts_no_word_at_eighty_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(cli.app, [command, "--help"]).output
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "fit",
            [
                "Search for cascades on your data",
                "[DATA]",
                "--test",
                "--resume",
                "--help-all",
            ],
        ),
        (
            "front",
            ["List the designs of a run that no other", "RUN", "--max-cost", "--min-accuracy"],
        ),
        ("choose", ["Deploy another design of a run", "[N]", "--min-coverage"]),
        ("decide", ["Label or reject every row of a file", "NEW", "--out", "--keep"]),
    ],
)
def test_help_says_what_a_command_does_and_takes(typed, command, words):
    result = typed(command, "--help")
    assert result.code == 0
    assert [word for word in [*words, "--json"] if word not in result.out] == []
    assert "[[" not in result.out


def test_help_of_a_fit_shows_what_most_need_and_help_all_the_rest():
    short, whole = (CliRunner().invoke(cli.app, ["fit", flag]).output for flag in HELPS)
    rare = {"--population-size", "--separator", "--together", "--min-confidence", "--prefer"}
    assert {option for option in rare if option in short} == set()
    assert {option for option in rare if option not in whole} == set()
    assert len(re.findall(r"^│ [* ] +--", short, flags=re.MULTILINE)) <= 20
    assert CliRunner().invoke(cli.app, ["fit", "--help"]).output == short  # and stays so


def test_version_is_that_of_the_package():
    shown = CliRunner().invoke(cli.app, ["--version"]).output
    assert shown == f"emsco {version('emsco')}\n"


def test_python_m_emsco_is_the_command_line():
    command = [sys.executable, "-m", "emsco", "--version"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout == f"emsco {emsco.__version__}\n" == f"emsco {version('emsco')}\n"


def test_an_error_of_our_own_is_one_line_and_exit_code_1(monkeypatch, capsys):
    def refuse():
        raise EMSCOError("costs.csv must have a column 'cost', got none.")

    monkeypatch.setattr("emsco.app.cli.application.app", refuse)
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert capsys.readouterr().err == "emsco: costs.csv must have a column 'cost', got none.\n"


def test_a_failure_of_the_system_is_one_line_and_exit_code_1(typed, monkeypatch, tmp_path):
    def fail(path, trusted=()):
        raise PermissionError(13, "Permission denied", "run.json")

    monkeypatch.setattr("emsco.app.runs.run.Run.open", fail)
    refuses(typed("front", tmp_path), "[Errno 13] Permission denied: 'run.json'")


def test_import_and_help_wait_for_no_compiler_and_no_plotting():
    code = (
        "import sys, emsco, emsco.app.cli, emsco.metrics; from typer.testing import CliRunner;"
        "CliRunner().invoke(emsco.app.cli.app, ['--help']);"
        "print({'numba', 'llvmlite', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_folder_that_is_no_run_is_refused(typed, data, tmp_path):
    whys = {"none": "does not exist", "data.csv": "is a file", ".": "has no run.json"}
    for name, why in whys.items():
        rule = "RUN must be a folder that emsco fit has made"
        words = f"{rule}, got '{data / name}', which {why}."
        refuses(typed("front", data / name), words)
        refuses(typed("choose", data / name, 0), words)
        refuses(typed("show", data / name), words)
    rule = f"{rule}, or a cascade file"
    for folder, why in {data: "has no cascade.json", data / "none": "does not exist"}.items():
        result = typed("decide", folder, data / "data.csv", "--out", tmp_path / "out.csv")
        refuses(result, f"{rule}, got '{folder}', which {why}.")
    words = "must be valid JSON, got a damaged file (Expecting value: line 1 column 1 (char 0))."
    refuses(typed("decide", data / "data.csv", data / "data.csv"), f"'{data}/data.csv' {words}")


def test_damaged_files_of_a_run_are_refused_by_name(typed, run, data):
    for name in ("front.json", "cascade.json"):
        whole = (run / name).read_bytes()
        (run / name).write_bytes(whole.replace(b"0.8", b"0.7"))
        words = f"'{run / name}' must be unchanged since it was written, got a wrong checksum."
        refuses(typed("front", run), words)
        (run / name).write_bytes(whole)
    (run / "cascade.json").write_text("")
    result = typed("decide", run, data / "data.csv", "--out", run / "out.csv")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert f"'{run}/cascade.json' must be valid JSON, got a damaged file" in result.err


def test_a_log_that_knows_ascii_alone_gets_the_same_words(run, monkeypatch):
    log = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(log, "ascii", write_through=True))
    monkeypatch.setattr("sys.argv", ["emsco", "show", str(run)])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    text = log.getvalue().decode("ascii")
    assert "stage 1, cost so far" in text
    assert re.search(r"scored +\?+ +[\d.]+% of all leave", text)


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["sweep", "--help"]])
def test_help_waits_for_no_library_that_computes(words):
    code = (
        "import sys; from emsco.app import cli; from typer.testing import CliRunner;"
        f"assert CliRunner().invoke(cli.app, {words!r}).exit_code == 0;"
        "print({'numpy', 'scipy', 'sklearn', 'pyarrow', 'joblib', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_module_of_every_command_names_it_in_its_first_line():
    commands = [command.callback for command in cli.app.registered_commands]
    assert len(commands) == 17
    for command in commands:
        first = sys.modules[command.__module__].__doc__.splitlines()[0]
        assert f"`emsco {command.__name__}`" in first
