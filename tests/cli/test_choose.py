"""`emsco choose`."""

import json

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
    chosen = json.loads(typed("choose", run, "--min-coverage", 0.5, "--json").out)
    assert chosen["chosen"] == found.points.index(point)
    assert chosen["scored"]["coverage"] == point.coverage
    assert json.loads(typed("front", run, "--json").out)["chosen"] == chosen["chosen"]


def test_choose_refuses_what_is_no_choice_and_leaves_the_cascade(typed, run):
    before = (run / "cascade.json").read_bytes()
    n_points = len(ParetoFront.load(run / "front.json"))
    refuses(
        typed("choose", run),
        f"a number N, --prefer or a limit must be given, got none; emsco front {run} shows the "
        "numbers.",
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
