"""`emsco front`, `emsco show` and `emsco choose`."""

import json
import re

import pytest
from support.commands import refuses

from emsco.app.runs.run import Run
from emsco.cascade import Cascade
from emsco.front import ParetoFront


def test_front_lists_the_designs_within_limits(typed, run):
    front = ParetoFront.load(run / "front.json")
    everything = json.loads(typed("front", run, "--json").out)
    assert [point["number"] for point in everything["front"]] == list(range(len(front)))
    limit = sorted(point.cost for point in front)[len(front) // 2]
    within = json.loads(typed("front", run, "--max-cost", limit, "--json").out)["front"]
    assert [point["number"] for point in within] == front.within(max_cost=limit)
    assert 0 < len(within) < len(front)
    best = front.points.index(front.select(max_cost=limit))
    assert re.search(rf"✓ +{best} ", typed("front", run, "--max-cost", limit).out)
    shown = typed("front", run, "--max-cost", limit, "--rows", 1).out
    assert sum(bool(re.match(r"\W+\d+ +\d+\.\d%", line)) for line in shown.splitlines()) == 1


def test_front_says_how_many_lines_it_leaves_out_and_shows_all_on_request(typed, run):
    def lines(text):
        return [line for line in text.splitlines() if re.match(r"\W+\d+ +\d+\.\d%", line)]

    front = ParetoFront.load(run / "front.json")
    n_different = len({(p.coverage, p.accuracy, p.cost) for p in front})
    few, every = typed("front", run, "--all", "--rows", 2).out, typed("front", run, "--all").out
    said = f"2 of {n_different} are shown, evenly from cheap to expensive; --all shows all."
    assert said in " ".join(few.split())
    assert len(lines(every)) == n_different
    assert "are shown" not in every


def test_front_has_totals_where_errors_have_costs(typed, run):
    front = ParetoFront.load(run / "front.json")
    costs = ("--error-cost", 100, "--reject-cost", 40)
    text = typed("front", run, *costs).out
    assert "total: features, errors and rejections of a row, with 100 for an error and 40" in text
    assert "✓ has the lowest total." in text
    best = front.select(error_cost=100, reject_cost=40)
    assert re.search(rf"✓≈? +{front.position(best)} .*{best.total(100, 40).value:.2f}", text)
    assert f"{front.references[0].total(100, 40).value:.2f}" in text
    plain = json.loads(typed("front", run, *costs, "--json").out)
    assert [one["total"]["value"] for one in plain["front"]] == [
        total.value for total in front.totals(100, 40)
    ]
    assert "total" not in json.loads(typed("front", run, "--json").out)["front"][0]


def test_show_draws_the_deployed_design_or_another(typed, run):
    front = ParetoFront.load(run / "front.json")
    chosen = json.loads(typed("front", run, "--json").out)["chosen"]
    assert f"Cascade of design {chosen}:" in typed("show", run).out
    other = typed("show", run, 1).out
    assert "Cascade of design 1:" in other
    for stage in front.flow(1).stages:
        assert f"{stage.left} of {stage.reached}" in other
    assert json.loads(typed("show", run, 1, "--json").out)["number"] == 1
    refuses(typed("show", run, 99), 99)


def test_choose_deploys_by_number_or_by_limits(typed, run):
    front = ParetoFront.load(run / "front.json")
    before = Run.open(run).chosen
    result = typed("choose", run, 1)
    said, _, drawing = result.out.partition("\n\n")
    assert said.splitlines() == [
        f"{run} now deploys design 1.",
        f"A row costs {front[1].cost:.4g} on average; with design {before} it was "
        f"{front[before].cost:.4g}.",
    ]
    assert typed("show", run).out.startswith(drawing)
    assert "Cascade of design 1:" in result.out
    assert Cascade.load(run / "cascade.json").design == front[1].design
    point = front.select(min_coverage=0.5)
    said = typed("choose", run, "--min-coverage", 0.5).out
    assert said.partition(", ")[2].startswith("the most accurate within your limits.\n")
    chosen = json.loads(typed("choose", run, "--min-coverage", 0.5, "--json").out)
    assert chosen["chosen"] == front.points.index(point)
    assert chosen["scored"]["coverage"] == point.coverage
    assert json.loads(typed("front", run, "--json").out)["chosen"] == chosen["chosen"]


def test_choose_takes_the_lowest_total_and_the_run_remembers_the_costs(typed, run):
    front = ParetoFront.load(run / "front.json")
    costs = ("--error-cost", 500, "--reject-cost", 40)
    best = front.select(error_cost=500, reject_cost=40)
    result = typed("choose", run, *costs)
    assert result.code == 0
    assert f"{run} now deploys design {front.position(best)}, the lowest expected" in result.out
    said = "; with 500 for an error and 40 for a rejection."
    total = best.total(500, 40)
    assert f"Expected total of a row: {total}{said}" in " ".join(result.out.split())
    assert said in " ".join(typed("show", run).out.split())
    assert "total" in typed("front", run).out
    plain = json.loads(typed("show", run, "--json").out)
    assert plain["total"]["value"] == pytest.approx(total.value)
    *known, rejecting = plain["references"]["scored"]
    for one, reference in zip(known, front.references, strict=True):
        assert one["total"]["value"] == pytest.approx(reference.total(500, 40).value)
    assert (rejecting["title"], rejecting["total"]["value"]) == ("reject everyone", 40)
    for command in ("show", "front"):
        assert re.search(r"reject everyone +0\.0% .* 40\.0", typed(command, run).out)
    assert json.loads(typed("choose", run, 0, "--json").out)["total"]["basis"] == "expected"
    assert "total" not in json.loads(typed("choose", run, 0, "--no-error-cost", "--json").out)
    assert "total" not in typed("front", run).out
    typed("choose", run, *costs)
    alone = typed("choose", run, "--no-error-cost")
    assert f"{run} now deploys design {front.position(best)}." in alone.out
    assert "total" not in typed("front", run).out
    refuses(typed("choose", run, "--no-error-cost", *costs), "--no-error-cost")


def test_choose_deploys_a_cascade_with_the_cheapest_labels(typed, run):
    words = ("--error-cost", "0=1,1=900", "--reject-cost", 40, "--cheapest-label")
    result = typed("choose", run, 1, *words)
    assert "now deploys design 1." in result.out
    assert "Rows get the label of least expected cost" in " ".join(result.out.split())
    cascade = Cascade.load(run / "cascade.json")
    assert cascade.label_costs.tolist() == [[0, 1], [900, 0]]
    assert "least expected cost" not in typed("show", run, 0).out
    assert typed("choose", run, 0, "--cheapest-label").code == 0  # the run has costs by now
    typed("choose", run, 1)
    assert Cascade.load(run / "cascade.json").label_costs is None
