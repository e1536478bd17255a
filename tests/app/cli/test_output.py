"""What a finished fit says about designs that are cheaper, or better in all three figures."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from emsco.app.cli.output import _beaten, _given_up
from emsco.designs.design import Design
from emsco.front.point import ParetoPoint
from emsco.stats.by_class import ByClass

OWN = ParetoPoint(1.0, 0.9, 9.0, Design([0], ("age",)), 1, 100, (100,), (90,))


def point(well, ill):
    """A design that finds so many of 80 well rows and of 20 ill ones, and rejects none."""
    found = ByClass(("well", "ill"), ((well, 80 - well, 0), (20 - ill, ill, 0)))
    correct = well + ill
    return replace(OWN, accuracy=correct / 100, correct_exits=(correct,), by_class=found)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (point(76, 14), []),
        (point(75, 14), ["about 1.0 points of accuracy"]),
        (point(79, 11), ["15.0 of the share of ill that is found"]),
        (replace(point(76, 14), coverage=0.97), ["3.0 of coverage"]),
    ],
)
def test_what_is_given_up_is_named(other, said):
    assert _given_up(point(76, 14), other) == said


def test_a_design_that_is_better_in_all_three_figures_is_named_with_the_class_it_gives_up():
    deployed = point(70, 14)
    cheaper = [replace(point(*found), cost=5.0) for found in ((80, 4), (80, 8))]
    run = SimpleNamespace(point=deployed, front=[deployed, *cheaper])
    said = "Design 2 beats it in coverage, accuracy and cost, but finds 40.0% of ill."
    assert _beaten(run) == said
    dearer = [replace(one, cost=10.0) for one in cheaper]
    assert not _beaten(SimpleNamespace(point=deployed, front=[deployed, *dearer]))
    as_good = replace(point(75, 14), cost=5.0)
    assert not _beaten(SimpleNamespace(point=deployed, front=[deployed, as_good]))
