"""`emsco fit` with a last stage of its own."""

import json

import pytest
from support.commands import refuses

from emsco.app.runs.run import Run
from emsco.front import ParetoFront

QUICK = ("--search=evolution", "--generations=3", "--population-size=12")


def points_of(folder):
    front = ParetoFront.load(folder / "front.json")
    return [(point, point.design.thresholds_or(front.min_confidence)) for point in front]


@pytest.mark.parametrize("min_confidence", ["0.8", "auto"])
def test_always_answer_labels_every_row(fit, typed, data, tmp_path, min_confidence):
    result = fit("--always-answer", "--min-confidence", min_confidence, "--json", *QUICK)
    assert result.code == 0
    about, run = json.loads(result.out), tmp_path / "run"
    assert (about["settings"]["always_answer"], about["settings"]["reject_below"]) == (True, None)
    assert all(point.coverage == 1 and own[-1] == 0 for point, own in points_of(run))
    found = typed("decide", run, data / "data.csv", "--out", tmp_path / "out.csv", "--json")
    counts = json.loads(found.out)
    assert counts["n_accepted"] == counts["n_rows"] == 240


def test_reject_below_is_the_threshold_of_every_last_stage(fit, tmp_path):
    result = fit("--reject-below", "0.6", "--json", *QUICK)
    assert json.loads(result.out)["settings"]["reject_below"] == 0.6
    assert {own[-1] for _, own in points_of(tmp_path / "run")} == {0.6}


def test_reject_below_may_have_a_number_for_each_class(fit, tmp_path):
    result = fit("--reject-below", "0=0.55,1=0.7", "--json", *QUICK)
    assert json.loads(result.out)["settings"]["reject_below"] == {"0": 0.55, "1": 0.7}
    assert all(own[-1] == {0: 0.55, 1: 0.7} for _, own in points_of(tmp_path / "run"))
    assert Run.open(tmp_path / "run").cascade.thresholds[-1] == {0: 0.55, 1: 0.7}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--reject-below", "low"),
            "--reject-below must be a number or label=number pairs with commas between, got 'low'.",
        ),
        (("--reject-below", "2"), "--reject-below must be a number in [0, 1], got 2.0."),
        (
            ("--reject-below", "0.5", "--always-answer"),
            "--reject-below must be left out where --always-answer is given, got 0.5.",
        ),
    ],
)
def test_a_last_threshold_that_makes_no_sense_is_refused(fit, tmp_path, words, said):
    refuses(fit(*words), said)
