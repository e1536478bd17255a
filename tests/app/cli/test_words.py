"""Sentences about parameters, with options in their place."""

import pytest
from typer.main import get_command

from emsco.app.cli.application import app
from emsco.app.cli.words import in_options, speak_of

FIT = get_command(app).commands["fit"]


@pytest.fixture(autouse=True)
def fit_runs():
    speak_of(FIT)


@pytest.mark.parametrize(
    ("sentence", "typed"),
    [
        (
            "min_confidence must be a number in (0, 1].",
            "--min-confidence must be a number in (0, 1].",
        ),
        ("n_jobs must be a whole number.", "--jobs must be a whole number."),
        ("random_state must be 0.", "--seed must be 0."),
        (
            "costs must be numbers; gaps 'skip' may help.",
            "--costs must be numbers; --gaps 'skip' may help.",
        ),
        ("data must be given.", "DATA must be given."),
        ("constraints['max_mean_cost'] must be at least 3.", "--max-mean-cost must be at least 3."),
        (
            "cv must be auto beside min_confidence. Or use target.",
            "--cv must be auto beside --min-confidence. Or use target.",
        ),
    ],
)
def test_a_parameter_becomes_the_option_of_the_command(sentence, typed):
    assert in_options(sentence) == typed


@pytest.mark.parametrize(
    "sentence",
    [
        "x.csv must have a column 'max_stages', got \"it's min_confidence\".",
        "random_state.csv must be a file; sample_weight/n_jobs is none, nor is ./max_stages.",
        "the costs of a cv are a row's own.",
        "max_total must be above 0.",  # no option of this command
        "'costs' must be numbers; costs_2 are not.",
    ],
)
def test_values_other_words_and_other_parameters_stay(sentence):
    assert in_options(sentence) == sentence
