"""The examples run as they are, and what they print is so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from emsco.datasets import load

EXAMPLES = Path(__file__).parent.parent / "examples"
COSTS = load("breast_cancer").costs


def run(script: str, folder: Path) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, EXAMPLES / script],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir())  # what it wrote is gone
    return done.stdout, done.stderr


def numbers(pattern: str, text: str) -> list[int]:
    found = re.search(pattern, text, flags=re.MULTILINE)
    assert found, f"{pattern} is not in:\n{text}"
    return [int(number) for number in found.groups()]


@pytest.fixture(scope="module")
def triage(tmp_path_factory: pytest.TempPathFactory) -> str:
    printed, warned = run("triage_service.py", tmp_path_factory.mktemp("triage"))
    assert warned == ""
    return printed


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> str:
    printed, warned = run("sqlite_source.py", tmp_path_factory.mktemp("queries"))
    assert warned.count("Warning: ") == 1
    assert "could not be acquired" in warned
    return printed


def test_the_triage_service_buys_less_than_half_of_everything(triage):
    sources = [
        numbers(rf"^{name} +\d+ +\d+ +(\d+) +(\d+)$", triage)
        for name in ("bedside", "laboratory", "imaging")
    ]
    bought = [sum(column) for column in zip(*sources, strict=True)]
    everything = [143 * len(COSTS.names), 143 * int(COSTS.total)]
    assert numbers(r"^bought +(\d+) +(\d+)$", triage) == bought
    assert numbers(r"^everything +(\d+) +(\d+)$", triage) == everything
    assert all(0 < few < many / 2 for few, many in zip(bought, everything, strict=True))


def test_refused_requests_are_made_again_and_only_the_lost_one_fails(triage):
    n_accepted, n_all = numbers(r"^accepted: (\d+) of (\d+), \d+", triage)
    (n_unsure,) = numbers(r"^rejected: (\d+), never sure$", triage)
    (n_lost,) = numbers(r"^rejected: (\d+), could not be acquired: no answer within", triage)
    assert numbers(r"^laboratory +\d+ +(\d+)", triage) > [0]
    assert n_lost == 1
    assert n_accepted + n_unsure + n_lost == n_all == 143
    assert numbers(r"(\d+)\.\d% of them rightly$", triage) >= [95]


def test_a_case_that_waits_asks_for_what_its_stages_buy_and_is_decided(triage):
    stages = re.findall(r"^stage \d+ .*: (.*)$", triage, flags=re.MULTILINE)
    waits = re.findall(r"^  waiting for (.*)$", triage, flags=re.MULTILINE)
    assert sorted(", ".join(stages).split(", ")) == sorted(COSTS.names)
    assert len(waits) >= 2
    assert waits == stages[: len(waits)]
    assert re.search(rf"^  (malignant|benign): sure at stage {len(waits)}, ", triage, re.MULTILINE)


def test_each_stage_is_queried_once_for_the_patients_still_undecided(queries):
    rows_of: dict[str, int] = {}  # by the columns of a stage; its chunks follow each other
    for n_rows, columns in re.findall(r"^ *(\d+) rows from .*?: (.*)$", queries, re.MULTILINE):
        rows_of[columns] = rows_of.get(columns, 0) + int(n_rows)
    asked = ", ".join(rows_of).split(", ")
    assert len(set(asked)) == len(asked)
    assert COSTS.cost_of(asked) <= 60
    n_undecided = list(rows_of.values())
    assert n_undecided[0] == 285
    assert n_undecided == sorted(set(n_undecided), reverse=True)


def test_the_database_is_read_in_part_and_every_patient_ends_with_a_reason(queries):
    n_read, n_values = numbers(r"^read: (\d+) of (\d+) values", queries)
    assert 0 < n_read < n_values / 2
    assert n_values == 285 * 20 + (285 - 28) * 10
    n_accepted, n_all = numbers(r"^accepted: (\d+) of (\d+), \d+", queries)
    rejected = re.findall(r"^rejected: (\d+), (.*)$", queries, re.MULTILINE)
    assert n_accepted + sum(int(n) for n, _ in rejected) == n_all == 285
    assert numbers(r"(\d+)\.\d% of them rightly$", queries) >= [95]
    assert any("past the budget of 60" in reason for _, reason in rejected)
    assert any("got no number for 'worst" in reason for _, reason in rejected)
