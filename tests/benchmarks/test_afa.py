"""Accuracy by number of features: tables of made-up results."""

from __future__ import annotations

from afa import CAPPED, Curves, YardstickJob, curves_of

from emsco._base.objectives import Objectives
from emsco_lab.jobs import ResultStore
from emsco_lab.trials import Answers, Offer, Question, Seen


def answers(accuracy: float) -> Answers:
    """An offer with seven of twenty features."""
    promised, seen = Objectives(1.0, accuracy, 7.0), Seen(1.0, accuracy, 6.5)
    return Answers((Offer(Question(1.0, 7 / 20), "", promised, seen),))


def test_splits_are_averaged_and_published_figures_stand_in_the_column_of_as_many_features():
    by_method = {"emsco": {0: answers(0.8), 1: answers(0.9)}, CAPPED: {0: answers(0.75)}}
    lines = Curves("cube", 20.0, by_method).to_markdown().splitlines()
    assert lines[2].startswith("| features | 3 | 5 | 7 | 10 |")
    assert lines[4].startswith("| EMSCO | – | – | 85.0 (6.5) | – |")
    assert lines[5].startswith("| EMSCO, every row at most so many | – | – | 75.0 (6.5) | – |")
    assert "| OL (Schütz et al. 2025, read off a plot) | – | 71.0 (5.5) | – |" in lines[6]
    assert lines[8].count("80.0 (7.6)") == 1


def test_only_the_splits_asked_for_are_reported_whatever_settings_were_tried(tmp_path):
    store = ResultStore(tmp_path)
    for split in (100, 101):
        store.keep(YardstickJob("cube", split, "emsco", 12), answers(0.8).to_dict())
    asked = [YardstickJob(name, 101, "emsco", 3) for name in ("spam", "cube")]
    (curves,) = curves_of(store, asked)
    assert (curves.name, list(curves.answers["emsco"])) == ("cube", [101])
