"""Messages of the library as the command line words them."""

import re

import numpy as np
import pytest
from typer.main import get_command

from emsco.app import cli
from emsco.app.cli.words import option_of, speaking, warning_in_words
from emsco.errors import EMSCOError, EMSCOWarning, Hint, Parameter, ParameterError, Remedy

COMMANDS = get_command(cli.app).commands


@pytest.mark.parametrize(
    ("command", "parameter", "typed"),
    [
        ("fit", "min_confidence", "--min-confidence"),
        ("fit", "n_jobs", "--jobs"),
        ("fit", "cv", "--cv"),
        ("fit", "sample_weight", "--weights"),
        ("fit", "constraints['first']", "--first"),
        ("fit", "constraints['max_worst_cost']", "--max-worst-cost"),
        ("fit", "data", "DATA"),
        ("fit", "out", "--out"),
        ("plot", "data", "--data"),
        ("plot", "path", "--out"),
        ("plot", "point", "--point"),
        ("choose", "point", "N"),
        ("show", "point", "N"),
        ("front", "folder", "RUN"),
        ("decide", "new", "NEW"),
        ("compare", "methods", "--method"),
        ("front", "trusted", "--trust"),
        ("front", "min_confidence", "min confidence"),  # which it does not take
        ("front", "path", "the file"),
        ("sweep", "cv", "the split into folds"),
    ],
)
def test_a_parameter_is_named_as_the_command_takes_it(command, parameter, typed):
    assert option_of(COMMANDS[command], parameter) == typed


@pytest.mark.parametrize("remedy", Remedy)
def test_every_way_out_is_worded_in_flags_or_commands(remedy):
    with pytest.raises(EMSCOError, match=r"--[a-z]|emsco [a-z]") as caught, speaking(None):
        raise EMSCOError("no; ", Hint(remedy, ("a b", "c")), ".")
    assert not re.search(r"=True|\{|\[|'(impute|skip)'", str(caught.value))


def test_names_in_ways_out_can_be_pasted_into_a_shell():
    words = "^leave them out with --drop 'a b' --drop c$"
    with pytest.raises(EMSCOError, match=words), speaking(None):
        raise EMSCOError(Hint(Remedy.DROP, ("a b", "c")))


def test_an_error_keeps_its_type_and_facts_when_it_is_worded():
    command = COMMANDS["fit"]
    with pytest.raises(ParameterError, match=r"^--jobs must be 1\.$") as caught, speaking(command):
        raise ParameterError(Parameter("n_jobs"), " must be 1.", value=0)
    assert (caught.value.parameter, caught.value.value) == ("n_jobs", 0)


def test_warnings_are_worded_too():
    warning = EMSCOWarning("lower ", Parameter("min_confidence"), ".")
    with speaking(COMMANDS["fit"]):
        assert warning_in_words(warning) == "lower --min-confidence."
    assert warning_in_words(warning) == "lower min confidence."
    assert warning_in_words(UserWarning("as it is")) == "as it is"


# What people type, and the sentence they get


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=80)
    X = rng.normal(size=(80, 3)) + y[:, None]
    lines = [f"{a},{b},{c},{('no', 'yes')[k]}" for (a, b, c), k in zip(X, y, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["a,b,c,ill", *lines, ""]))
    return tmp_path / "data.csv"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--min-confidence", "no=0.9"], "--min-confidence must have a threshold for every class"),
        (
            ["--min-confidence", "no=0.9,yes=2"],
            r"--min-confidence of class 'yes' must be a number in \(0, 1\], got 2.0",
        ),
        (
            ["--min-confidence", "no=0.9,yes=1,x=1"],
            "--min-confidence must name the classes 'no', 'yes', got 'x' too",
        ),
        (["--class-weight", "5"], '--class-weight must be "balanced" or label=number pairs'),
        (["--class-weight", "x=2"], "--class-weight must name the classes 'no', 'yes', got 'x'"),
        (["--jobs", "0"], "--jobs must be a number of threads, or negative to count from all"),
        (["--first", "z"], r"--first must name features \('a', 'b', 'c'\), got 'z'"),
        (["--together", "a,z"], r"--together must name features \('a', 'b', 'c'\), got 'z'"),
        (["--max-mean-cost", "-1"], "--max-mean-cost must be a number in"),
        (
            ["--max-worst-cost", "1", "--buy-all"],
            "--max-worst-cost must be at least 3, .*; --allow-exclusion",
        ),
        (["--max-worst-cost", "0.5"], "--max-worst-cost must be at least 1, "),
        (
            ["--prefer", "best"],
            '--prefer must be "economical", "accurate", "balanced", "fittest", "knee", '
            '"one_standard_error" or be left '
            "out for --max-cost, --min-accuracy, --min-coverage or --min-recall, got 'best'",
        ),
        (
            ["--cache", "kept"],
            "--cache must be left out without a classifier .* as --est",
        ),
        (["--val", "b.csv"], "--val must be given beside --train, got DATA; give .* as --train"),
        (["--weights", "ill"], "--weights must be another column than those of --target and --dr"),
        (["--time-limit", "-1"], "--time-limit must be a number in"),
        (["--memory-limit", "much"], "--memory-limit must be a number of bytes above 0"),
        (["--gaps", "guess"], "--gaps must be one of"),
        (["--calibration", "guess"], "--calibration must be one of"),
    ],
)
def test_no_sentence_of_fit_has_words_of_python(emsco, data, tmp_path, words, sentence):
    with pytest.raises(EMSCOError, match=sentence) as caught:
        emsco("fit", data, "--target", "ill", "--out", tmp_path / "run", *words)
    said = str(caught.value).replace(str(tmp_path), "")
    said = said.replace("one_standard_error", "")  # the name of a rule, here as in Python
    assert not re.search(r"None|True|False|dict|\['|\{|_", said)


def test_plot_names_its_options(emsco, tmp_path):
    with pytest.raises(ParameterError, match=r"^--data must be given for --kind risk, got none"):
        emsco("plot", tmp_path, "--kind", "risk")
