"""`emsco front`, `emsco show` and `emsco choose`."""

import json
import re
from unittest import mock

import pytest
from support.commands import refuses

from emsco._base.documents import write_document
from emsco._base.text import in_short
from emsco.app.cli.output import doubts_of
from emsco.app.runs.run import FORMAT, Run
from emsco.cascade import Cascade
from emsco.front import ParetoFront
from emsco.front.doubts import doubts_about
from emsco.front.rules import PointLimits


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


def test_front_lists_what_differs_beyond_noise_and_what_there_is_without_a_cascade(typed, run):
    front, text = ParetoFront.load(run / "front.json"), typed("front", run).out
    listed = {int(n) for n in re.findall(r"^[ ▶✓≈]+(\d+) +\d+\.\d%", text, re.MULTILINE)}
    assert listed >= set(front.shortlist())
    assert len(listed - set(front.shortlist())) <= 1  # the deployed one
    assert f"{len(front.shortlist())} designs that differ beyond noise, of " in text
    for title in ("always ", "everything ", "  all answered "):
        assert re.search(rf"^ {title}.*\d%", text, re.MULTILINE)


def test_json_has_what_there_is_without_a_cascade_with_the_names_of_classes(typed, run):
    front = ParetoFront.load(run / "front.json")
    for command in ("front", "show"):
        references = json.loads(typed(command, run, "--json").out)["references"]
        assert references["seen"] == []
        kinds = [one["kind"] for one in references["scored"]]
        assert kinds == ["commonest", "everything", "answered"]
        for one, expected in zip(references["scored"], front.references, strict=True):
            assert (one["title"], one["accuracy"]) == (expected.title, expected.accuracy)
            assert one["by_class"]["labels"] == [0, 1]
    scored = json.loads(typed("front", run, "--json").out)["front"][0]["scored"]
    assert scored["by_class"]["labels"] == [0, 1]
    assert scored["is_informative"] == front[0].is_informative


def test_front_and_choose_say_how_near_the_front_comes_to_limits(typed, run):
    front = ParetoFront.load(run / "front.json")
    cheapest = min(point.cost for point in front if not point.rejects_everyone)
    best = max(point.accuracy for point in front)
    words = (
        f"None of the {len(front)} designs has cost at most 0.5 (the cheapest: {cheapest:g}) and "
        f"accuracy at least 0.99 (the best: {best:.4g}) at once. The nearest is design {{}}: "
    )
    near = PointLimits(max_cost=0.5, min_accuracy=0.99).nearest(front.points)
    words = f"{words.format(near)}{in_short(front[near])}. Loosen a limit, or deploy that design "
    words += f"with emsco choose {run} {near}."
    limits = ("--max-cost", 0.5, "--min-accuracy", 0.99)
    for command in ("front", "choose"):
        refuses(typed(command, run, *limits), words)
        refuses(typed(command, run, *limits, "--json"), words)
        limit = "--min-accuracy must be a number in [0, 1], got 90.0; did you mean 0.9?"
        refuses(typed(command, run, "--min-accuracy", 90), limit)


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
    refuses(typed("show", run, 99), f"N must be a whole number from 0 to {len(front) - 1}, got 99.")


def test_show_has_results_by_class_and_what_there_is_without_a_cascade(typed, run):
    front, text = ParetoFront.load(run / "front.json"), typed("show", run, 1).out
    assert "Scored rows by class" in text
    assert "Seen rows by class" not in text
    words = [line.split() for line in text.splitlines()]
    for line in front[1].by_class.counts:
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
    refuses(
        typed("choose", run, "--no-error-cost", *costs),
        "--no-error-cost must be given without --error-cost, --reject-cost and --cheapest-label, "
        "got both.",
    )


def test_choose_takes_costs_by_label_within_limits(typed, run):
    front = ParetoFront.load(run / "front.json")
    limit = sorted(point.cost for point in front)[len(front) // 2]
    words = ("--error-cost", "0:1=20", "--error-cost", "1:0=900", "--reject-cost", "0=1,1=90")
    chosen = json.loads(typed("choose", run, *words, "--max-cost", limit, "--json").out)["chosen"]
    costs = {"error_cost": [[0, 20], [900, 0]], "reject_cost": {0: 1, 1: 90}}
    assert chosen == front.position(front.select(max_cost=limit, **costs))


def test_choose_refuses_costs_that_cannot_be(typed, run):
    before = [(run / name).read_bytes() for name in ("cascade.json", "run.json")]
    costs = ("choose", run, "--reject-cost", 40, "--error-cost")
    refuses(typed(*costs, -1), "--error-cost must be a number in [0, 1e+100], got -1.0.")
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
    cascade = Cascade.load(run / "cascade.json")
    assert cascade.label_costs.tolist() == [[0, 1], [900, 0]]
    assert "least expected cost" not in typed("show", run, 0).out
    assert typed("choose", run, 0, "--cheapest-label").code == 0  # the run has costs by now
    typed("choose", run, 1)
    assert Cascade.load(run / "cascade.json").label_costs is None


def test_totals_are_those_of_the_labels_that_are_given(typed, run):
    words = ("--error-cost", "0=1,1=900", "--reject-cost", 40)
    typed("choose", run, *words, "--cheapest-label")
    opened = Run.open(run)
    costs = {"error_cost": {0: 1, 1: 900}, "reject_cost": 40}
    cheapest = [point.total(**costs, cheapest_label=True).value for point in opened.front]
    assert cheapest != [total.value for total in opened.front.totals(**costs)]
    assert min(cheapest) == cheapest[opened.chosen]
    plain = json.loads(typed("front", run, "--json").out)
    assert plain["cheapest_label"]
    assert [one["total"]["value"] for one in plain["front"]] == cheapest
    everything = plain["references"]["scored"][1]["total"]["value"]
    assert everything < opened.front.references[1].total(**costs).value
    text = " ".join(typed("front", run).out.split())
    assert "Rows get the label of least expected cost; other columns are of likeliest." in text
    shown = json.loads(typed("show", run, "--json").out)
    assert shown["total"]["value"] == cheapest[opened.chosen]
    other = (opened.chosen + 1) % len(opened.front)
    shown = json.loads(typed("show", run, other, "--json").out)  # as choose would deploy it
    assert not shown["cheapest_label"]
    assert shown["total"]["value"] == opened.front[other].total(**costs).value


def test_a_design_that_is_not_deployed_has_doubts_about_its_likeliest_labels(typed, run):
    typed("choose", run, 1, "--error-cost", "0=1,1=900", "--reject-cost", 40, "--cheapest-label")
    opened = Run.open(run)
    nothing = [i for i, point in enumerate(opened.front) if point.design.buys_nothing]
    with mock.patch("emsco.front.doubts.doubts_about", return_value=()) as asked:
        for number in (1, nothing[0]):
            doubts_of(opened, number)
    assert [one.kwargs["cheapest_label"] for one in asked.call_args_list] == [True, False]


def test_the_cheapest_label_needs_costs(typed, run):
    refuses(
        typed("choose", run, 1, "--cheapest-label"),
        "--cheapest-label must be given with --error-cost, got no cost of errors.",
    )
