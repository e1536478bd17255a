"""The examples run as they are, and what they print is so."""

import io
import logging
import os
import re
import runpy
import tempfile
import warnings
from contextlib import chdir, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from emsco_lab.datasets import load

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.py"))
SLOW = ("in_depth/calibration.py", "paper/compare_with_rivals.py", "paper/paper_against_exact.py")
BY_THEMSELVES = ("in_depth/sqlite_source.py", "in_depth/triage_service.py")  # below
TELLS = {
    "quickstart/first_cascade.py": r"Buying everything costs 90 per row, the cascade \d\d?\.\d\.",
    "quickstart/choose_from_the_front.py": r"None of the \d+ designs has cost at most 3",
    "quickstart/save_and_decide.py": r"(?s)needs .*needs .*: sure at stage 2, at cost",
    "in_depth/groups_and_categories.py": r"'colour': 'category'",
    "in_depth/any_estimator.py": r"sure at 0.8: ParetoPoint",
    "in_depth/calibration.py": r"stage 2: \d+ rows leave, [\d.]+% sure, [\d.]+% correct",
    "in_depth/constraints.py": r"(?s)with rules: .*a row costs at most (20|1\d)",
    "in_depth/models_as_features.py": r"(?s)cascade +4[89]\d of 500 .* saves [678]\d% against",
    "in_depth/cascade_of_services.py": r"(?s)the cascade 9\d\.\d% correct, .* saves [678]\d%",
    "in_depth/polars_frames.py": r"species +┆ label",
    "in_depth/thresholds_per_class.py": r"tumours missed: \d+; false alarms: \d+",
    "paper/exact_front_of_heart.py": r"all 15,199,275 designs are settled",
    "paper/paper_against_exact.py": r"(?m)^ +60 +\d+ +73$",
    "paper/compare_with_rivals.py": r"(?s)Most accurate if every row needs an answer, .*\nUse ",
}
COSTS = load("breast_cancer").costs


def run(script: str, folder: Path) -> tuple[str, list[str]]:
    """What a script prints and warns of; its log goes where it says, as without pytest's own."""
    printed = io.StringIO()
    temporary, here = folder / "temporary", folder / "here"
    temporary.mkdir()
    here.mkdir()
    with (
        redirect_stdout(printed),
        chdir(here),
        patch.object(tempfile, "tempdir", str(temporary)),
        patch.object(logging, "root", logging.RootLogger(logging.WARNING)) as root,
        patch.object(logging.Logger, "root", root),
        patch.object(logging.Logger, "manager", logging.Manager(root)),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        for quiet in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", quiet)  # as Python itself has it
        runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    assert not list(temporary.iterdir())  # what it wrote is gone
    assert [path.name for path in here.iterdir()] == ["cascade.png"]
    return printed.getvalue(), [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, marks=pytest.mark.thorough if script in SLOW else ())
        for script in SCRIPTS
        if script not in BY_THEMSELVES
    ],
)
def test_a_script_runs_without_warnings_and_draws_what_it_says(
    script, tmp_path, monkeypatch, capsys
):
    source = (EXAMPLES / script).read_text()
    if script.startswith("paper/") and "EMSCO_DATA" not in os.environ:
        pytest.skip("EMSCO_DATA names no folder with the paper's data sets")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    assert re.search(TELLS[script], capsys.readouterr().out)
    written = sorted(tmp_path.iterdir())
    assert len(written) >= source.count(".savefig(")
    assert all(path.suffix == ".png" and path.stat().st_size > 1000 for path in written)


def numbers(pattern: str, text: str) -> list[int]:
    match = re.search(pattern, text, flags=re.MULTILINE)
    assert match, f"{pattern} is not in:\n{text}"
    return [int(number) for number in match.groups()]


@pytest.fixture(scope="module")
def triage(tmp_path_factory: pytest.TempPathFactory) -> str:
    printed, warned = run("in_depth/triage_service.py", tmp_path_factory.mktemp("triage"))
    assert warned == []
    return printed


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> str:
    printed, warned = run("in_depth/sqlite_source.py", tmp_path_factory.mktemp("queries"))
    (sentence,) = warned
    assert "could not be acquired" in sentence
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


def test_the_database_is_read_in_part_and_every_patient_ends_with_a_reason(queries):
    n_read, n_values = numbers(r"^read: (\d+) of (\d+) values", queries)
    assert 0 < n_read < n_values / 2
    assert n_values == 285 * 20 + (285 - 28) * 10
    n_accepted, n_all = numbers(r"^accepted: (\d+) of (\d+), \d+", queries)
    rejected = re.findall(r"^rejected: (\d+), (.*)$", queries, re.MULTILINE)
    assert n_accepted + sum(int(n) for n, _ in rejected) == n_all == 285
    assert numbers(r"(\d+)\.\d% of them correct$", queries) >= [95]
    assert any("past the budget of 60" in reason for _, reason in rejected)
    assert any("got no number for 'worst" in reason for _, reason in rejected)
