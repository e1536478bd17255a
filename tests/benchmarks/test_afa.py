"""Accuracy by number of features: tables of made-up results."""

from __future__ import annotations

from afa import CAPPED, Curves

from emsco._base.objectives import Objectives
from emsco.lab.trials import Answers, Offer, Question, Seen


def answers(accuracy: float) -> Answers:
    """Offers with seven of twenty features, on average and for every row."""
    promised = Objectives(1.0, accuracy, 7.0)
    return Answers(
        tuple(
            Offer(Question(1.0, 7 / 20), "", promised, Seen(1.0, accuracy - lost, 6.5), rule)
            for rule, lost in (("", 0.0), (CAPPED, 0.1))
        )
    )


def test_splits_are_averaged_and_published_figures_stand_in_the_column_of_as_many_features():
    curves = Curves("cube", 20.0, {"emsco": {0: answers(0.8), 1: answers(0.9)}})
    lines = curves.to_markdown().splitlines()
    assert lines[2].startswith("| features | 3 | 5 | 7 | 10 |")
    assert lines[4].startswith("| EMSCO | – | – | 85.0 (6.5) | – |")
    assert lines[5].startswith("| EMSCO, every row at most so many | – | – | 75.0 (6.5) | – |")
    assert "| OL (Schütz et al. 2025, read off a plot) | – | 71.0 (5.5) | – |" in lines[6]
    assert lines[8].count("80.0 (7.6)") == 1
