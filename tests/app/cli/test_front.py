"""`emsco front`."""

import json
import re

from support.commands import refuses

from emsco._base.text import in_short
from emsco.front import ParetoFront
from emsco.front.rules import PointLimits


def test_front_lists_the_designs_within_limits(typed, run):
    found = ParetoFront.load(run / "front.json")
    everything = json.loads(typed("front", run, "--json").out)
    assert [point["number"] for point in everything["front"]] == list(range(len(found)))
    limit = sorted(point.cost for point in found)[len(found) // 2]
    within = json.loads(typed("front", run, "--max-cost", limit, "--json").out)["front"]
    assert [point["number"] for point in within] == found.within(max_cost=limit)
    assert 0 < len(within) < len(found)
    best = found.points.index(found.select(max_cost=limit))
    assert re.search(rf"✓ +{best} ", typed("front", run, "--max-cost", limit).out)
    shown = typed("front", run, "--max-cost", limit, "--rows", 1).out
    assert sum(bool(re.match(r"\W+\d+ +\d+\.\d%", line)) for line in shown.splitlines()) == 1


def test_front_says_how_many_lines_it_leaves_out_and_shows_all_on_request(typed, run):
    def lines(text):
        return [line for line in text.splitlines() if re.match(r"\W+\d+ +\d+\.\d%", line)]

    found = ParetoFront.load(run / "front.json")
    n_different = len({(p.coverage, p.accuracy, p.cost) for p in found})
    few, every = typed("front", run, "--all", "--rows", 2).out, typed("front", run, "--all").out
    said = f"2 of {n_different} are shown, evenly from cheap to expensive; --all shows all."
    assert said in " ".join(few.split())
    assert len(lines(every)) == n_different
    assert "are shown" not in every


def test_front_lists_what_differs_beyond_noise_and_what_there_is_without_a_cascade(typed, run):
    found, text = ParetoFront.load(run / "front.json"), typed("front", run).out
    listed = {int(n) for n in re.findall(r"^[ ▶✓≈]+(\d+) +\d+\.\d%", text, re.MULTILINE)}
    assert listed >= set(found.shortlist())
    assert len(listed - set(found.shortlist())) <= 1  # the deployed one
    assert f"{len(found.shortlist())} designs that differ beyond noise, of " in text
    for title in ("always ", "everything ", "  all answered "):
        assert re.search(rf"^ {title}.*\d%", text, re.MULTILINE)


def test_json_has_what_there_is_without_a_cascade_with_the_names_of_classes(typed, run):
    found = ParetoFront.load(run / "front.json")
    for command in ("front", "show"):
        references = json.loads(typed(command, run, "--json").out)["references"]
        assert references["seen"] == []
        kinds = [one["kind"] for one in references["scored"]]
        assert kinds == ["commonest", "everything", "answered"]
        for one, expected in zip(references["scored"], found.references, strict=True):
            assert (one["title"], one["accuracy"]) == (expected.title, expected.accuracy)
            assert one["by_class"]["labels"] == [0, 1]
    scored = json.loads(typed("front", run, "--json").out)["front"][0]["scored"]
    assert scored["by_class"]["labels"] == [0, 1]
    assert scored["is_informative"] == found[0].is_informative


def test_front_and_choose_say_how_near_the_front_comes_to_limits(typed, run):
    found = ParetoFront.load(run / "front.json")
    cheapest, best = min(p.cost for p in found), max(p.accuracy for p in found)
    words = (
        f"None of the {len(found)} designs has cost at most 0.5 (the cheapest: {cheapest:g}) and "
        f"accuracy at least 0.99 (the best: {best:.4g}). The nearest is design {{}}: "
    )
    near = PointLimits(max_cost=0.5, min_accuracy=0.99).nearest(found.points)
    words = f"{words.format(near)}{in_short(found[near])}. Loosen a limit, or deploy that design "
    words += f"with emsco choose RUN {near}."
    limits = ("--max-cost", 0.5, "--min-accuracy", 0.99)
    for command in ("front", "choose"):
        refuses(typed(command, run, *limits), words)
        refuses(typed(command, run, *limits, "--json"), words)
        limit = "--min-accuracy must be a number in [0, 1], got 90.0; did you mean 0.9?"
        refuses(typed(command, run, "--min-accuracy", 90), limit)


def test_front_has_totals_where_errors_have_costs(typed, run):
    found = ParetoFront.load(run / "front.json")
    costs = ("--error-cost", 100, "--reject-cost", 40)
    text = typed("front", run, *costs).out
    assert "total: features, errors and rejections of a row, with 100 for an error and 40" in text
    assert "✓ has the lowest total." in text
    best = found.select(error_cost=100, reject_cost=40)
    assert re.search(rf"✓≈? +{found.position(best)} .*{best.total(100, 40).value:.2f}", text)
    assert f"{found.references[0].total(100, 40).value:.2f}" in text
    plain = json.loads(typed("front", run, *costs, "--json").out)
    assert [one["total"]["value"] for one in plain["front"]] == [
        total.value for total in found.totals(100, 40)
    ]
    assert "total" not in json.loads(typed("front", run, "--json").out)["front"][0]
