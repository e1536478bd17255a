"""`emsco show`."""

import json
import re

import pytest
from support.commands import refuses

from emsco._base.documents import write_document
from emsco.app.runs.run import FORMAT, Run
from emsco.front import ParetoFront
from emsco.front.doubts import doubts_about


def test_show_draws_the_deployed_design_or_another(typed, run):
    found = ParetoFront.load(run / "front.json")
    chosen = json.loads(typed("front", run, "--json").out)["chosen"]
    assert f"Cascade of design {chosen}:" in typed("show", run).out
    other = typed("show", run, 1).out
    assert "Cascade of design 1:" in other
    for stage in found.flow(1).stages:
        assert f"{stage.left} of {stage.reached}" in other
    assert json.loads(typed("show", run, 1, "--json").out)["number"] == 1
    refuses(typed("show", run, 99), f"N must be a whole number from 0 to {len(found) - 1}, got 99.")


def test_show_has_results_by_class_and_what_there_is_without_a_cascade(typed, run):
    found, text = ParetoFront.load(run / "front.json"), typed("show", run, 1).out
    assert "Scored rows by class" in text
    assert "Seen rows by class" not in text
    words = [line.split() for line in text.splitlines()]
    for line in found[1].by_class.counts:
        assert any(one[-3:] == list(map(str, line)) for one in words)
    first = words.index(next(one for one in words if one[:2] == ["design", "1"]))
    titles = [one[0] for one in words[first : first + 4]]
    assert titles == ["design", "always", "everything", "all"]


def test_show_says_the_doubts_about_a_design_by_its_number(typed, run):
    front = ParetoFront.load(run / "front.json")
    doubted = [i for i, point in enumerate(front) if doubts_about(front, point)]
    text = " ".join(typed("show", run, doubted[0]).out.split())
    assert re.search(rf"(Design {doubted[0]}|Stage \d) (is|finds|labels) ", text)
    for words in (("show", run, doubted[0]), ("choose", run, doubted[0])):
        plain = json.loads(typed(*words, "--json").out)["doubts"]
        assert plain[0][1:] in text
    assert "the deployed design" not in text
    ways_out = ("emsco fit", "emsco choose", "add rows or features")
    assert any(way in text for way in ways_out)


@pytest.mark.parametrize("n_odd", [1, 3])
def test_show_ends_with_what_is_odd_about_the_data(typed, run, n_odd):
    odd = {"kind": "constant", "subject": "[b]", "message": "column '[b]' has one value."}
    about = Run.open(run).about | {"data_issues": [odd] * n_odd}
    write_document(run / "run.json", "run", FORMAT, about)
    last = typed("show", run).out.splitlines()[-1]
    more = " (2 more in run.json)" if n_odd > 1 else ""
    assert last == f"Odd in the data: column '[b]' has one value.{more}"
