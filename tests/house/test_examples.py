"""The examples run as they are, and what they print is so."""

import ast
import io
import logging
import os
import re
import runpy
import sys
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
TIERS = sorted({script.split("/")[0] for script in SCRIPTS})
SLOW = ("in_depth/calibration.py", "paper/compare_with_rivals.py", "paper/paper_against_exact.py")
BY_THEMSELVES = ("in_depth/sqlite_source.py", "in_depth/triage_service.py")  # below
TELLS = {
    "quickstart/first_cascade.py": r"Buying everything costs 90 per row, the cascade \d\d?\.\d\.",
    "quickstart/choose_from_the_front.py": r"None of the \d+ designs has cost at most 3",
    "quickstart/save_and_decide.py": r"(?s)needs .*needs .*: sure at stage 2, at cost",
    "in_depth/groups_and_categories.py": r"colour = dark",
    "in_depth/any_estimator.py": r"sure at 0.8: ParetoPoint",
    "in_depth/calibration.py": r"stage 2: \d+ rows leave, [\d.]+% sure, [\d.]+% correct",
    "in_depth/constraints.py": r"(?s)with rules: .*a row costs at most (20|1\d)",
    "in_depth/models_as_features.py": r"(?s)cascade +4[89]\d of 500 .* saves [678]\d% against",
    "in_depth/cascade_of_services.py": r"(?s)the cascade 9\d\.\d% correct, .* saves [678]\d%",
    "in_depth/polars_frames.py": r"species +┆ label",
    "in_depth/thresholds_per_class.py": r"tumours missed: \d+; false alarms: \d+",
    "paper/exact_front_of_heart.py": r"all 15,199,275 designs are settled",
    "paper/paper_against_exact.py": r"(?m)^ +60 +\d+ +73$",
    "paper/compare_with_rivals.py": r"(?s)If every row needs an answer, .*\nUse ",
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


def test_without_polars_its_example_says_so(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(SystemExit, match=r"^$"):
        runpy.run_path(str(EXAMPLES / "in_depth/polars_frames.py"), run_name="__main__")
    assert capsys.readouterr().out.startswith("Skipped: Polars must be installed: pip install")


@pytest.mark.parametrize("script", [name for name in SCRIPTS if name.startswith("paper/")])
def test_without_the_papers_data_a_script_says_so(script, monkeypatch, capsys):
    monkeypatch.delenv("EMSCO_DATA", raising=False)
    with pytest.raises(SystemExit, match=r"^$"):
        runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    name = re.search(r"reads (\w+\.csv)", (EXAMPLES / script).read_text()).group(1)
    said = f"Skipped: EMSCO_DATA must name the folder that holds {name}.\n"
    assert capsys.readouterr().out == said


def test_a_script_says_on_top_what_is_learnt_and_how_to_run_it():
    for script in SCRIPTS:
        lines = (EXAMPLES / script).read_text()
        about = ast.get_docstring(ast.parse(lines))
        assert about.endswith(f"Run it with: python examples/{script}")
        assert f"({script})" in (EXAMPLES / "README.md").read_text()
        assert script in BY_THEMSELVES or ("You learn " in about and lines.count("\n") <= 75), (
            script
        )


def test_a_script_begins_with_a_title_and_leaves_a_figure_in_a_variable():
    figure = re.compile(r"^ *(\w+)(, \w+)? = .*\n(.*\n)*? *\1\.savefig\(", re.MULTILINE)
    for script in SCRIPTS:
        source = (EXAMPLES / script).read_text()
        title, line, *_ = ast.get_docstring(ast.parse(source)).splitlines()
        assert line == "=" * len(title), script
        assert figure.search(source), script


def test_the_gallery_has_a_heading_for_each_tier():
    for folder in [EXAMPLES, *(EXAMPLES / tier for tier in TIERS)]:
        title, line, *_ = (folder / "GALLERY_HEADER.rst").read_text().splitlines()
        assert line in ("=" * len(title), "-" * len(title)), folder


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


def test_refused_requests_are_made_again_and_only_the_lost_one_fails(triage):
    n_accepted, n_all = numbers(r"^accepted: (\d+) of (\d+), \d+", triage)
    (n_unsure,) = numbers(r"^rejected: (\d+), never sure$", triage)
    (n_lost,) = numbers(r"^rejected: (\d+), could not be acquired: no answer within", triage)
    assert numbers(r"^laboratory +\d+ +(\d+)", triage) > [0]
    assert n_lost == 1
    assert n_accepted + n_unsure + n_lost == n_all == 143
    assert numbers(r"(\d+)\.\d% of them correct$", triage) >= [95]


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
    assert numbers(r"(\d+)\.\d% of them correct$", queries) >= [95]
    assert any("past the budget of 60" in reason for _, reason in rejected)
    assert any("got no number for 'worst" in reason for _, reason in rejected)
