"""The paper's experiments on a small set: their numbers, files and commands."""

import json
import os
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import betabinom
from typer.testing import CliRunner

from emsco import FeatureCosts
from emsco.errors import ParameterError
from emsco_lab.datasets import Dataset
from emsco_lab.paper import comparison, costs, global_optima, landscape, mutation, sweep, tuning
from emsco_lab.paper import study as shared
from emsco_lab.paper.commands import reproduce
from emsco_lab.paper.published import FRONTS, MARGINS, SETS, SETTINGS, TABLE


def small_set(name="pima", _seed=0):
    """160 rows × 5 features of two noisy classes, under the name of a set of the paper."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, size=160).astype(np.uint8)
    X = rng.normal(size=(160, 5)) + y[:, None] * np.array([1.5, 1.0, 0.5, 0.2, 0.0])
    costs = FeatureCosts.from_array([5.0, 2.0, 1.0, 1.0, 3.0], list("abcde"))
    return Dataset(name, X, y, costs, 0.75, "made up")


@pytest.fixture(autouse=True)
def _small_sets(monkeypatch):
    for module in (shared, comparison, costs):
        monkeypatch.setattr(module, "load", small_set)
    shared.opened.cache_clear()
    yield
    shared.opened.cache_clear()


def run(*words):
    """Run a command; return what it prints and the files' result."""
    done = CliRunner().invoke(reproduce, list(map(str, words)), catch_exceptions=False)
    out = words[words.index("--out") + 1]
    assert done.exit_code == 0
    assert {path.suffix for path in out.glob(f"{words[0]}.*")} == {".md", ".json", ".png", ".svg"}
    return re.sub(" +", " ", done.stdout), json.loads((out / f"{words[0]}.json").read_text())


@pytest.mark.parametrize("design", [[0, 0, 1], [0, 1, 2], [0, 0, 0, 0]])
def test_exact_growth_is_the_sum_over_all_mutants(design):
    rate, n_stages = 0.3, max(design) + 1
    drawn = betabinom.pmf(np.arange(n_stages + 1), n_stages, 1, 1.7)
    total = 0.0
    for genes in product(range(n_stages + 1), repeat=len(design)):
        chances = [
            rate * drawn[gene] + (1 - rate) * (gene == old)
            for gene, old in zip(genes, design, strict=True)
        ]
        total += np.prod(chances) * (len(set(genes)) > n_stages)
    assert mutation.growth_of(np.array(design), rate, 1.7) == pytest.approx(total)


def test_growth_agrees_with_every_point_of_the_papers_figure():
    folder = Path(os.environ.get("EMSCO_DATA", "nowhere"))
    path = folder.parent / "paper" / "mutation_figure.csv"
    if not path.exists():
        pytest.skip("EMSCO_DATA names no folder with the paper beside it")
    bias, *curves = np.loadtxt(path, delimiter=",", skiprows=1).T
    for n_stages, curve in zip(mutation.STAGES, curves, strict=True):
        found = mutation.growth_probability(mutation.RATE, n_stages, bias)
        assert found == pytest.approx(curve, abs=1e-14)


def test_mutants_grow_as_often_as_the_exact_probability_says(tmp_path):
    text, result = run("mutation", "--mutants", 4000, "--seed", 1, "--out", tmp_path)
    assert result["largest_difference_in_standard_errors"] < 4
    for k, curve in zip((2, 3, 4), result["curves"], strict=True):
        formula = mutation.growth_probability(0.1, k, np.array(mutation.CHECKED))
        assert (np.array(curve["exact"]) <= formula + 1e-12).all()
    assert f"| 2 | 1 | 0.3986 | {result['curves'][0]['exact'][0]:.4f} |" in text


def test_costs_are_listed_by_class(tmp_path):
    text, result = run("costs", "--out", tmp_path)
    assert result["classes"]["heart"] == {"1": ["c", "d"], "2": ["b"], "3": ["e"], "5": ["a"]}
    assert "| 1 | c, d |" in text


def test_a_landscape_is_drawn_and_smoothed(tmp_path):
    words = ["landscape", "--set", "pima", "--max-stages", 3, "--jobs", 1, "--out", tmp_path]
    text, result = run(*words)
    assert result["designs"] == sum(result["points"]["designs"]) == 1 + 30 + 150
    assert "Trade-offs of all 181 designs of pima" in text
    values = np.linspace(0.5, 1.0, 9)
    cost = landscape.smoothed(values, values, np.full(9, 3.0))[2]
    assert np.nanmin(cost) == pytest.approx(3.0) == pytest.approx(np.nanmax(cost))
    assert np.isnan(cost[0, -1])


def test_searches_find_a_small_front(tmp_path):
    words = ["global", "--set", "pima", "--stages", 2, "--runs", 2, "--jobs", 1, "--out", tmp_path]
    _, result = run(*words)
    (one,) = result["landscapes"]
    assert one["designs"] == 31
    for search in global_optima.SEARCHES:
        curve = one["searches"][search]
        found = curve["optimal_vectors_by_generation"]
        assert len(found) == 151
        assert found[-1] <= one["front_vectors"]
        assert curve["optimal_designs_by_generation"][-1] <= one["front_designs"]
    assert found[-1] == one["front_vectors"]  # evolution scores all designs of so small a space
    assert curve["designs_scored"] <= 31


def test_tuning_ranks_settings(tmp_path):
    words = ["--thin", 500, "--runs", 2, "--set", "heart", "--jobs", 1, "--out", tmp_path]
    text, result = run("tuning", *words)
    (one,) = result["sets"]
    best = max(one["settings"], key=lambda setting: setting["score"])
    assert [best[name] for name in tuning.GRID] == one["best"]
    assert one["papers_score"] <= best["score"] + 1e-6
    assert r"\|G\| 300, m̂ 0.075, r̂ 0.75, β 2.0, b 0.2" in text


def test_a_sweep_has_the_means_of_its_repeats(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "THRESHOLDS", (0.6, 0.9))
    text, result = run("sweep", "--set", "pima", "--runs", 2, "--jobs", 1, "--out", tmp_path)
    low, high = result["thresholds"]
    repeats = [one["seen cost"] for one in result["repeats"] if one["min_confidence"] == 0.9]
    assert high["seen cost"] == pytest.approx(np.mean(repeats))
    assert high["seen cost deviation"] == pytest.approx(np.std(repeats, ddof=1))
    assert low["seen coverage"] >= high["seen coverage"]
    assert text.count("\n| 0.") == 2


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    for module in (shared, comparison):
        patch.setattr(module, "load", small_set)
    words = ["--splits", 3, "--runs", 2, "--generations", 5, "--settings", 3, "--jobs", 1]
    words += [word for name in ("pima", "heart") for word in ("--set", name)]
    methods = ("paper", "exact", "excluding", "greedy_miser", "cstc", "cact_lasso", "cost_ordered")
    words += [word for name in methods for word in ("--method", name)]
    out = tmp_path_factory.mktemp("comparison")
    yield (*run("comparison", *words, "--out", out), out, words)
    patch.undo()


def test_the_table_stands_beside_the_papers(compared):
    line = next(one for one in compared[0].splitlines() if one.startswith("| EMSCO paper, fittest"))
    assert line.endswith("| 71.1 ± 0.5 | 99.0 ± 0.3 | 242.4 ± 8.2 |")
    lasso = next(one for one in compared[0].splitlines() if one.startswith("| CaCT LASSO"))
    assert lasso.endswith("| 82.0 | 83.4 | 1100.0 |")


def test_the_same_command_computes_nothing_again(compared, monkeypatch):
    monkeypatch.setattr(comparison, "_do", pytest.fail)
    assert run("comparison", *compared[3], "--out", compared[2])[0] == compared[0]


def test_a_gain_is_the_difference_of_the_means(compared):
    for report in compared[1]["sets"].values():
        for label, fought in report["duels"].items():
            mine = report["standings"][label]["mean"]
            for rival, duel in fought.items():
                theirs = report["standings"][rival]["mean"]
                gains = np.subtract(mine, theirs) * [1, 1, -1]
                np.testing.assert_allclose(duel["gains"], gains, atol=1e-9)


def test_at_equal_cost_a_rival_deploys_the_best_that_it_can_afford():
    curves = pd.DataFrame({"split": [0, 0, 0, 1], "label": "CSTC", "scored cost": [9, 5, 1, 1]})
    curves["scored accuracy"], curves["scored coverage"] = [1, 0.8, 0.6, 0.6], 1.0
    best = comparison.affordable(curves, pd.Series({0: 5.0, 1: 0.5, 2: 9.0}))
    assert best["scored cost"].to_dict() == {0: 5}


def test_claims_hold_where_the_means_say_so(compared):
    label, rivals = "EMSCO exact, balanced", ("Greedy Miser", "CSTC")
    text = next(one for one in compared[1]["claims"][label] if "cheaper" in one)
    fought = [report["duels"][label] for report in compared[1]["sets"].values()]
    n_won = sum(all(one[rival]["gains"][2] > 0 for rival in rivals) for one in fought)
    assert f"(on {n_won} of 2 sets" in text
    assert ("does not hold" in text) == (n_won < 2)


def test_labels_of_test_rows_do_not_choose(monkeypatch):
    plain = small_set()
    _, _, test = comparison.paper_split(160, 0)
    turned = Dataset("pima", plain.X, plain.y.copy(), plain.costs, 0.75, "")
    turned.y[test] = 1 - turned.y[test]
    chosen = []
    for data in (plain, turned):
        monkeypatch.setattr(shared, "load", lambda *_, data=data: data)
        shared.opened.cache_clear()
        rival = comparison.rivals.CaCTLasso(data.costs, min_confidence=0.75)
        split = comparison.paper_split(160, 0)
        offers = comparison.search("pima", 0, "paper", 0, 1, 5)["offers"]
        chosen.append([*offers, *comparison.tune_rival(rival, data, split, 4)])
    for one, two in zip(*chosen, strict=True):
        for key in ("setting", *comparison.SCORED, "seen cost"):
            assert one[key] == two[key]
        assert one["seen accuracy"] == pytest.approx(1 - two["seen accuracy"])


def test_unknown_names_are_refused(tmp_path):
    for words in ({"sets": ["iris"]}, {"methods": ["svm"]}):
        with pytest.raises(ParameterError, match="must be one of"):
            comparison.reproduce_comparison(tmp_path, **words)


def test_all_sets_have_the_numbers_of_the_paper():
    assert set(TABLE) == set(MARGINS) == set(SETTINGS) == set(SETS)
    assert all(len(one) == 5 for one in TABLE.values())
    assert all(len(one) == len(global_optima.STAGES) for one in FRONTS.values())
