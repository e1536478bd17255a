"""`emsco show`."""

import json

from support.commands import refuses

from emsco.front import ParetoFront


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
