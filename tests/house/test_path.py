"""The four pages for newcomers run from top to bottom, and commands print what the pages show."""

import json
import re
import shlex
import warnings
from pathlib import Path

import pytest
from support.services import serving

from emsco import Cascade
from emsco.app.cli.words import warning_in_words

PAGES = [
    Path(__file__).parents[2] / "docs" / f"{name}.md" for name in ["start", "choose", "sign", "run"]
]
BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
CURL = re.compile(r"^curl --json (.*) localhost:8000(/\S*)$", flags=re.MULTILINE)
ANY = r"\S*( \S+){0,40}?"  # for …, which leaves something out


def not_in(printed, shown):
    """The lines of `shown` that were not printed; lines may be wrapped, and … stands for words."""
    lines = [re.escape(" ".join(line.split())) for line in shown.splitlines() if line.strip()]
    words = " ".join(printed.split())
    return [line for line in lines if not re.search(line.replace("…", ANY), words)]


def run_commands(text, emsco):
    printed = ""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["emsco"] or words[1] == "serve":
            continue
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = emsco(*words[1:])
        printed += "".join(f"emsco: warning: {warning_in_words(one.message)}\n" for one in said)
        assert result.exit_code == (4 if "# exit code 4" in line else 0), (line, result.output)
        printed += result.output
    return printed


def ask(text, folder):
    cascade = Cascade.load("clinic-run/cascade.json")
    with serving(cascade, folder / "asked.sqlite") as service:
        asked = [(path, json.loads(shlex.split(body)[0])) for body, path in CURL.findall(text)]
        answers = [service.post(path, body) for path, body in asked]
    assert all(status < 300 for status, _ in answers), answers
    return answers


@pytest.mark.usefixtures("all_bags")
def test_the_pages_run_and_print_what_they_show(tmp_path, monkeypatch, emsco):
    monkeypatch.chdir(tmp_path)
    namespace, printed, wrong = {}, "", []
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for kind, text in BLOCK.findall(pages):
        if kind == "python":
            exec(compile(text, "docs", "exec"), namespace)
        elif kind == "console" and CURL.search(text):
            answers = ask(text, tmp_path)
            assert [one["needs"] == [] for _, one in answers] == [False, False, True]
            printed = " ".join(json.dumps(one, separators=(",", ":")) for _, one in answers)
        elif kind == "console":
            printed = run_commands(text, emsco)
            if Path("decisions.csv").exists():
                printed += Path("decisions.csv").read_text(encoding="utf-8")
        else:
            wrong += not_in(printed, text)
    assert wrong == []
