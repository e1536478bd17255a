"""`emsco demo`."""

import json
import re

import pytest
from typer.testing import CliRunner

from emsco import cli


@pytest.fixture(scope="module")
def demo_text():
    result = CliRunner().invoke(cli.app, ["demo"], env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    return result.output


def test_demo_shows_the_front_the_cascade_and_the_savings(demo_text):
    for words in ("scored on 142 rows", "stage 1, cost so far", "buys", "rejected"):
        assert words in demo_text
    assert re.search(r"spends \d+% less than buying everything", demo_text)
    assert "▶" in demo_text


def test_demo_as_json_is_the_same_for_the_same_seed():
    runs = [CliRunner().invoke(cli.app, ["demo", "--json", "--seed", "3"]) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    result = json.loads(runs[0].stdout)
    assert result["test"]["cost"] < result["test_buying_everything"]["cost"] == 135
    assert sum(leave["n_rows"] for leave in result["test"]["exits"]) == 143
