"""`emsco choose`."""

import json

import pytest
from support.commands import refuses

from emsco.cascade import Cascade
from emsco.front import ParetoFront


def test_choose_deploys_by_number_or_by_limits(typed, run):
    found = ParetoFront.load(run / "front.json")
    result = typed("choose", run, 1)
    said, _, drawing = result.out.partition("\n\n")
    assert said == f"{run} now deploys design 1."
    assert typed("show", run).out.startswith(drawing)
    assert "Cascade of design 1:" in result.out
    assert Cascade.load(run / "cascade.json").design == found[1].design
    point = found.select(min_coverage=0.5)
    said = typed("choose", run, "--min-coverage", 0.5).out
    assert said.partition(", ")[2].startswith(
        "the best balance of coverage, accuracy and cost within your limits (balanced).\n"
    )
    chosen = json.loads(typed("choose", run, "--min-coverage", 0.5, "--json").out)
    assert chosen["chosen"] == found.points.index(point)
    assert chosen["scored"]["coverage"] == point.coverage
    assert json.loads(typed("front", run, "--json").out)["chosen"] == chosen["chosen"]


def test_choose_refuses_what_is_no_choice_and_leaves_the_cascade(typed, run):
    before = (run / "cascade.json").read_bytes()
    n_points = len(ParetoFront.load(run / "front.json"))
    refuses(
        typed("choose", run),
        f"a number N, --prefer, a limit or --error-cost must be given, got none; emsco front {run} "
        "shows the numbers.",
    )
    refuses(
        typed("choose", run, 0, "--max-cost", 9),
        "a number N needs no rule and no limits, got both.",
    )
    refuses(
        typed("choose", run, "--prefer", "cheapest", "--max-cost", 9),
        '--prefer must be one of "economical", "accurate", "balanced", "fittest", "knee", '
        "\"one_standard_error\", got 'cheapest'.",
    )
    refuses(typed("choose", run, 99), f"N must be a whole number from 0 to {n_points - 1}, got 99.")
    assert typed("choose", run, "first").code == 2
    assert (run / "cascade.json").read_bytes() == before


def test_choose_takes_the_lowest_total_and_the_run_remembers_the_costs(typed, run):
    found = ParetoFront.load(run / "front.json")
    costs = ("--error-cost", 500, "--reject-cost", 40)
    best = found.select(error_cost=500, reject_cost=40)
    result = typed("choose", run, *costs)
    assert result.code == 0
    assert f"{run} now deploys design {found.position(best)}, the lowest expected" in result.out
    said = "; with 500 for an error and 40 for a rejection."
    total = best.total(500, 40)
    assert f"Expected total of a row: {total}{said}" in " ".join(result.out.split())
    assert said in " ".join(typed("show", run).out.split())
    assert "total" in typed("front", run).out
    plain = json.loads(typed("show", run, "--json").out)
    assert plain["total"]["value"] == pytest.approx(total.value)
    for one, reference in zip(plain["references"]["scored"], found.references, strict=True):
        assert one["total"]["value"] == pytest.approx(reference.total(500, 40).value)
    assert json.loads(typed("choose", run, 0, "--json").out)["total"]["basis"] == "expected"
    assert "total" not in json.loads(typed("choose", run, 0, "--no-error-cost", "--json").out)
    assert "total" not in typed("front", run).out
    typed("choose", run, *costs)
    alone = typed("choose", run, "--no-error-cost")
    assert f"{run} now deploys design {found.position(best)}." in alone.out
    assert "total" not in typed("front", run).out
    refuses(
        typed("choose", run, "--no-error-cost", *costs),
        "--no-error-cost must be given without --error-cost, --reject-cost and --cheapest-label, "
        "got both.",
    )


def test_choose_takes_costs_by_label_within_limits(typed, run):
    found = ParetoFront.load(run / "front.json")
    limit = sorted(point.cost for point in found)[len(found) // 2]
    words = ("--error-cost", "0:1=20", "--error-cost", "1:0=900", "--reject-cost", "0=1,1=90")
    chosen = json.loads(typed("choose", run, *words, "--max-cost", limit, "--json").out)["chosen"]
    costs = {"error_cost": [[0, 20], [900, 0]], "reject_cost": {0: 1, 1: 90}}
    assert chosen == found.position(found.select(max_cost=limit, **costs))


def test_choose_refuses_costs_that_cannot_be(typed, run):
    before = [(run / name).read_bytes() for name in ("cascade.json", "run.json")]
    costs = ("choose", run, "--reject-cost", 40, "--error-cost")
    refuses(typed(*costs, -1), "--error-cost must be a number in [0, inf), got -1.0.")
    refuses(typed(*costs, "2=5"), "--error-cost must name the classes 0, 1, got '2'.")
    refuses(
        typed(*costs, "0=5"),
        "--error-cost must have a cost for each of the classes 0, 1, got none for 1.",
    )
    refuses(
        typed("choose", run, "--error-cost", 5),
        "--reject-cost must be given beside --error-cost, got None; 0 makes rejections free.",
    )
    refuses(
        typed(*costs, 500, "--prefer", "knee"),
        "--prefer must be left out where --error-cost is given, got 'knee'.",
    )
    assert [(run / name).read_bytes() for name in ("cascade.json", "run.json")] == before


def test_choose_deploys_a_cascade_with_the_cheapest_labels(typed, run):
    words = ("--error-cost", "0=1,1=900", "--reject-cost", 40, "--cheapest-label")
    result = typed("choose", run, 1, *words)
    assert "now deploys design 1." in result.out
    assert "Rows get the label of least expected cost" in " ".join(result.out.split())
    found = Cascade.load(run / "cascade.json")
    assert found.label_costs.tolist() == [[0, 1], [900, 0]]
    assert "least expected cost" not in typed("show", run, 0).out
    assert typed("choose", run, 0, "--cheapest-label").code == 0  # the run has costs by now
    typed("choose", run, 1)
    assert Cascade.load(run / "cascade.json").label_costs is None


def test_the_cheapest_label_needs_costs(typed, run):
    refuses(
        typed("choose", run, 1, "--cheapest-label"),
        "--cheapest-label must be given with --error-cost, got no cost of errors.",
    )
