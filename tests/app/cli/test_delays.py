"""Delays on the command line: given, shown, limited and refused."""

import json

import numpy as np
import pytest
from support.commands import refuses

from emsco.front import ParetoFront

NAMES = ("age", "pulse", "panel", "scan")
QUICK = ("--estimator", "logistic", "--cv", 0.33, "--generations", 2, "--population-size", 12)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow")
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, size=150)
    X = rng.normal(size=(150, 4)) + y[:, None] * np.array([0.4, 0.8, 1.2, 1.6])
    table = np.column_stack([X, y])
    header = ",".join([*NAMES, "ill"])
    np.savetxt(folder / "data.csv", table, delimiter=",", header=header, comments="", fmt="%.5g")
    costs = "feature,cost,delay\nage,1,\npulse,2,\npanel,5,1\nscan,9,9\n"
    (folder / "costs.csv").write_text(costs)
    return folder


@pytest.fixture
def fit(typed, files, tmp_path):
    def call(*words):
        data = ("fit", files / "data.csv", "--target", "ill", "--costs", files / "costs.csv")
        return typed(*data, *QUICK, "--out", tmp_path / "run", *words)

    return call


@pytest.mark.filterwarnings("default:.*took part in the search")
def test_delays_are_given_shown_and_limited(typed, fit, files, tmp_path):
    result = fit("--delay", "scan=3", "--max-worst-delay", 3.5, "--max-mean-delay", 2)
    assert result.code == 0, result.err
    run = tmp_path / "run"
    front = ParetoFront.load(run / "front.json")
    assert front.costs.delays.tolist() == [0, 0, 1, 3]
    assert max(point.worst_delay for point in front) <= 3.5
    assert "delay: the mean time that a row waits" in result.out
    listed = json.loads(typed("front", run, "--max-mean-delay", 1.5, "--json").out)["front"]
    assert [one["number"] for one in listed] == front.within(max_mean_delay=1.5)
    assert max(one["scored"]["mean_delay"] for one in listed) <= 1.5
    chosen = json.loads(typed("choose", run, "--max-worst-delay", 1, "--json").out)
    assert chosen["scored"]["worst_delay"] <= 1
    costs = ("--error-cost", 50, "--reject-cost", 5)
    total = json.loads(typed("choose", run, "--max-worst-delay", 1, *costs, "--json").out)
    best = front.select(max_worst_delay=1, error_cost=50, reject_cost=5)
    assert total["chosen"] == front.position(best)
    assert typed("choose", run, len(front) - 1).code == 0
    assert ", delay so far " in typed("show", run).out
    assert " at worst" in typed("evaluate", run, files / "data.csv").out
    assert typed("decide", run, files / "data.csv", "--out", tmp_path / "d.csv").code == 0
    assert ',"cost","delay"' in (tmp_path / "d.csv").read_text().splitlines()[0]


def test_bad_delays_are_refused_by_their_option(fit):
    refuses(fit("--delay", "scan"), "--delay must be feature=time, as in chol=1, got 'scan'.")
    refuses(
        fit("--delay", "iron=1"),
        "--delay must name features ('age', 'pulse', 'panel', 'scan'), got 'iron'.",
    )
    refuses(
        fit("--delay", "scan=-1"),
        "the delay of 'scan' must be finite and at least 0, got -1.",
    )
    refuses(
        fit("--delay", "scan=0", "--delay", "panel=0", "--max-mean-delay", 1),
        "--max-mean-delay must be left out where no feature has a delay, got 1.0.",
    )
    refuses(
        fit("--max-mean-delay", 1, "--search", "exact"),
        '--search must be "evolution", "paper" or "auto" with limits on delays, got "exact".',
    )
    refuses(
        fit("--max-worst-delay", -1),
        "--max-worst-delay must be a number in [0, inf), got -1.0.",
    )
