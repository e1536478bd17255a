"""`emsco demo`."""

import json
import re

import pytest
from typer.testing import CliRunner

from emsco.app import cli


@pytest.fixture(scope="module")
def demo_text(short_searches):
    result = CliRunner().invoke(cli.app, ["demo"], env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    return result.output


def test_demo_shows_the_front_the_cascade_and_the_savings(demo_text):
    for words in ("scored on 142 rows", "stage 1, cost so far", "buys", "rejected"):
        assert words in demo_text
    assert re.search(r"spends \d+% less than buying everything", demo_text)
    assert "▶" in demo_text
    assert "The demo asks for a confidence of 95% for every label, so" in demo_text


def test_demo_as_json_is_what_the_demo_shows(demo_text):
    result = json.loads(CliRunner().invoke(cli.app, ["demo", "--json"]).stdout)
    assert f"{result['test']['accuracy']:.1%}" in demo_text
    assert result["test"]["cost"] < result["test_buying_everything"]["cost"] == 135
    assert sum(leave["n_rows"] for leave in result["test"]["exits"]) == 143
