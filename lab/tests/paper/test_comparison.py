from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from emsco_lab import methods, rivals
from emsco_lab.jobs import ResultStore
from emsco_lab.paper import comparison
from emsco_lab.paper.comparison import (
    CONTESTANTS,
    PAPERS,
    Contestant,
    Extent,
    PaperClaim,
    PaperJob,
    draw_paper_comparison,
    known_comparison,
    paper_rival,
    repeat_search,
    reproduce_comparison,
    tune_rival,
)
from emsco_lab.paper.published import MARGINS, SETS, SETTINGS, TABLE
from emsco_lab.parts import SplitBanks, split_parts
from emsco_lab.trials import Answers
from support.comparisons import FirstColumns, small_set
from support.settings import PAPER_SPACE

from emsco import EMSCOClassifier
from emsco.errors import FileError, ParameterError
from emsco.plotting import save_figure
from emsco.search.settings import SearchSettings

SMALL = Extent(
    sets=("pima", "heart"),
    methods=("paper", "exact", "greedy_miser", "cstc", "cact_lasso", "cost_ordered"),
    splits=3,
    runs=2,
    generations=5,
    max_settings=5,
)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The whole comparison on small sets, with two rivals of few lines; and its folder."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        use_small_sets(patch)
        yield reproduce_comparison(folder, SMALL, n_jobs=1), folder
    comparison._data.cache_clear()
    comparison._banks.cache_clear()


def use_small_sets(patch):
    comparison._data.cache_clear()
    comparison._banks.cache_clear()
    patch.setattr(comparison, "load", small_set)
    patch.setattr(rivals, "FirstColumns", FirstColumns, raising=False)
    for method in ("greedy_miser", "cstc"):
        patch.setitem(methods.RIVALS, method, ("FirstColumns", methods.label_of(method)))


def test_every_contestant_stands_on_every_set(small):
    result, _ = small
    assert result.complete
    assert result.sets == ("pima", "heart")
    ran = [one for one in CONTESTANTS if one.method in SMALL.methods]
    assert result.contestants("heart") == ran
    assert all(one.splits == (0, 1, 2) for one in result.standings.values())
    assert result.standings["heart", PAPERS].n_repeats == 2


def test_known_results_are_reported_without_computing(small, monkeypatch):
    result, folder = small
    monkeypatch.setattr(comparison, "_do_job", None)
    known = known_comparison(folder)
    assert known.results == result.results
    assert list(known.results) == list(result.results)
    with pytest.raises(FileError, match="results of a comparison of seed 1, got none"):
        known_comparison(folder, seed=1)


def test_of_two_known_results_the_one_with_more_repeats_counts(small, tmp_path):
    result, _ = small
    job = next(job for job in result.results if job.method == "paper")
    for runs in (3, 1):
        ResultStore(tmp_path).keep(replace(job, runs=runs), result.results[job].to_dict())
    assert [one.runs for one in known_comparison(tmp_path).results] == [3]


def test_a_second_call_computes_nothing_and_finds_the_same(small, monkeypatch):
    result, folder = small
    monkeypatch.setattr(comparison, "_do_job", None)
    again = reproduce_comparison(folder, SMALL, n_jobs=1)
    assert again.results == result.results


def test_more_splits_keep_the_jobs_of_fewer():
    assert set(SMALL.jobs(0)) < set(replace(SMALL, splits=4).jobs(0))


def test_results_of_rivals_do_not_depend_on_repeats():
    few = Extent(methods=("cstc",), runs=2).jobs(0)
    assert few == Extent(methods=("cstc",), runs=50).jobs(0)


def test_repeats_on_synthetic50_are_spread_over_the_splits():
    jobs = Extent(sets=("synthetic50", "heart"), methods=("paper",)).jobs(0)
    assert {job.data: job.runs for job in jobs} == {"synthetic50": 5, "heart": 50}


def test_seen_figures_are_those_of_the_deployed_cascade():
    data = small_set()
    parts = split_parts(data, 0, 0)
    banks = SplitBanks(parts)
    settings = SearchSettings(3, 0.2, generations=10)
    outcome = banks.search("evolution", settings, 0.75, np.random.default_rng(0))
    choice = banks.choose(outcome, "balanced", 0.75)
    space = {**PAPER_SPACE, "max_stages": 3, "search": "exact"}
    space["cv"] = [(parts.train, parts.val)]
    classifier = EMSCOClassifier(data.costs, **space)
    classifier.fit(data.X, data.y)
    tested = classifier.evaluate(*parts.rows("test"))
    assert (choice.seen.coverage, choice.seen.accuracy) == (tested.coverage, tested.accuracy)
    assert choice.seen.cost == pytest.approx(tested.cost)


def test_the_fittest_of_an_exact_front_is_the_papers_and_not_the_best_balanced():
    parts = split_parts(small_set(), 1, 0)
    banks = SplitBanks(parts)
    outcome = banks.search("exact", SearchSettings(3, 0.2), 0.75, np.random.default_rng(0))
    fittest, balanced = (
        banks.choose(outcome, rule, 0.75).scored for rule in ("fittest", "balanced")
    )
    cheapest = outcome.scores.cost.min()
    lengths = np.sqrt(
        outcome.scores.coverage**2
        + outcome.scores.accuracy**2
        + (cheapest / outcome.scores.cost) ** 2
    )
    assert fittest.cost == outcome.scores.cost[np.argmax(lengths)]
    assert balanced.balanced(12.0) >= fittest.balanced(12.0)


def test_an_exact_search_out_of_reach_is_left_out_with_the_reason(small, monkeypatch):
    result, _ = small
    job = next(job for job in result.results if job.method == "exact")
    settings = SearchSettings(2, 0.1, generations=1)
    banks = SplitBanks(split_parts(small_set(), 0, 0))
    monkeypatch.setattr("emsco.search.plan._MOST_FEATURES", 4)
    left = repeat_search(banks, "exact", settings, 0.75, [[0]])
    assert "fit 31 models for 5 features" in left.note
    noted = replace(result, results={**result.results, job: left})
    assert f"- {job.data}, exact: search must be" in noted.to_markdown()


def test_a_rival_is_tuned_on_scored_rows_and_its_curve_is_a_front():
    parts = split_parts(small_set(), 0, 0)
    result = tune_rival(FirstColumns(costs=parts.costs), parts)
    (tuned,), curve = result.by_rule("tuned"), result.by_rule("curve")
    best = max(curve, key=lambda one: one.promised.balanced(parts.costs.total))
    assert (best.setting, best.seen) == (tuned.setting, tuned.seen)
    scored = [one.promised for one in curve]
    assert not any(a.dominates(b) for a in scored for b in scored)
    assert [one.cost for one in scored] == sorted(one.cost for one in scored)


def test_rivals_get_the_threshold_and_the_seed_where_they_have_such_parameters():
    data = small_set()
    assert paper_rival("cact_lasso", data, 0.9, 3).min_confidence == 0.9
    boosting = paper_rival("cost_aware_boosting", data, 0.9, 3)
    assert boosting.min_confidence is None
    assert boosting.random_state == 3


def test_labels_of_test_rows_change_nothing_but_the_seen_figures():
    data = small_set()
    parts = split_parts(data, 0, 0)
    y = data.y.copy()
    y[parts.test] = 1 - y[parts.test]
    turned = replace(parts, y=y)
    tuned = [tune_rival(FirstColumns(costs=data.costs), one) for one in (parts, turned)]
    searches = [
        repeat_search(SplitBanks(one), "paper", SearchSettings(3, 0.2), 0.75, [[0]])
        for one in (parts, turned)
    ]
    for plain, other in (tuned, searches):
        for one, two in zip(plain.offers, other.offers, strict=True):
            assert (one.setting, one.promised) == (two.setting, two.promised)
            assert (one.seen.coverage, one.seen.cost) == (two.seen.coverage, two.seen.cost)
            assert one.seen.accuracy == pytest.approx(1 - two.seen.accuracy)


def test_rivals_draw_with_the_seed_of_the_split_and_of_the_comparison(monkeypatch):
    drawn = []
    monkeypatch.setattr(comparison, "_data", small_set)
    monkeypatch.setattr(comparison, "paper_rival", lambda *given: drawn.append(given[-1]))
    monkeypatch.setattr(comparison, "tune_rival", lambda *_: Answers(()))
    for split, seed in ((0, 0), (7, 0), (7, 2)):
        comparison._do_job(PaperJob("pima", split, "cstc", seed))
    assert drawn == [0, 7, 2007]


def test_at_equal_cost_a_rival_deploys_the_best_that_it_can_afford(small):
    result, _ = small
    rival = Contestant("cstc", "tuned")
    standing = result.affordable["heart", PAPERS][rival]
    for split, seen in zip(standing.splits, standing.by_split.tolist(), strict=True):
        (papers,), (curve,) = (
            [r for job, r in result.results.items() if key == (job.data, job.split, job.method)]
            for key in (("heart", split, "paper"), ("heart", split, "cstc"))
        )
        budget = np.mean([one.promised.cost for one in papers.by_rule("fittest")])
        within = [one for one in curve.by_rule("curve") if one.promised.cost <= budget]
        best = max(within, key=lambda one: one.promised.coverage**2 + one.promised.accuracy**2)
        assert seen == [best.seen.coverage, best.seen.accuracy, best.seen.cost]


def test_at_equal_cost_a_rival_spends_no_more_on_scored_rows(small):
    result, _ = small
    budgets = {
        job.split: np.mean([one.promised.cost for one in res.by_rule("fittest")])
        for job, res in result.results.items()
        if (job.data, job.method) == ("heart", "paper")
    }
    rival = Contestant("cstc", "tuned")
    columns = result.affordable["heart", PAPERS][rival]
    duel = result.duels_at_equal_cost["heart", PAPERS][rival]
    assert duel.n_splits == len(columns.splits)
    for split, (_, _, cost) in zip(columns.splits, columns.by_split, strict=True):
        assert cost <= budgets[split] + 1e-9  # this rival costs the same on all rows


def test_a_gain_in_cost_is_the_difference_of_the_means(small):
    result, _ = small
    duel = result.duels["heart", PAPERS]
    assert [one.method for one in duel] == ["greedy_miser", "cstc", "cact_lasso", "cost_ordered"]
    standings = result.standings
    gain = duel[Contestant("cost_ordered", "tuned")].gains[2]
    theirs = standings["heart", Contestant("cost_ordered", "tuned")].mean.cost
    assert gain == pytest.approx(theirs - standings["heart", PAPERS].mean.cost)


def test_claims_hold_where_the_means_say_so(small):
    report = small[0]
    cheaper = next(one for one in report.claims[PAPERS] if one.text.startswith("cheaper"))
    assert set(cheaper.holds_on) | set(cheaper.fails_on) == {"pima", "heart"}
    assert cheaper.needed == 2
    trees = ("greedy_miser", "cstc")
    for name in ("pima", "heart"):
        gains = [report.duels[name, PAPERS][Contestant(m, "tuned")].gains[2] for m in trees]
        assert (name in cheaper.holds_on) == (min(gains) > 0)


def test_a_claim_that_fails_names_the_sets_and_how_many_it_needs():
    claim = PaperClaim("cheaper", ("pima",), ("heart",), 2)
    assert claim.sentence() == ("cheaper: does not hold (on 1 of 2 sets, not on heart; 2 needed)")
    assert PaperClaim("cheaper", ("pima",), (), 1).sentence().startswith("cheaper: holds")


def test_the_table_stands_beside_the_papers(small):
    result, _ = small
    lines = result.to_markdown().splitlines()
    line_of_papers = next(line for line in lines if line.startswith("| EMSCO paper, fittest"))
    assert line_of_papers.endswith("| 71.1 ± 0.5 | 99.0 ± 0.3 | 242.4 ± 8.2 |")
    lasso = next(line for line in lines if line.startswith("| CaCT LASSO"))
    assert lasso.endswith("| 82.0 | 83.4 | 1100.0 |")


def test_the_record_is_plain_and_complete(small):
    plain = json.loads(json.dumps(small[0].to_dict(), allow_nan=False))
    assert len(plain["standings"]) == 2 * 8
    assert {one["verdict"] for one in plain["duels"]} <= {
        "dominates",
        "is dominated",
        "trades",
        "is ahead",
        "is behind",
        "no difference",
    }
    assert "EMSCO exact, balanced" in plain["claims"]


def test_the_figure_has_a_line_for_each_contestant_of_each_set(small, tmp_path):
    figure = draw_paper_comparison(small[0])
    first = [figure.axes[3 * place] for place in range(2)]
    assert [axes.get_title("left") for axes in first] == ["pima", "heart"]
    named = [[label.get_text() for label in axes.get_yticklabels()] for axes in first]
    assert named[0] == [contestant.label for contestant in small[0].contestants("pima")]
    png, _ = save_figure(figure, tmp_path / "comparison")
    assert png.read_bytes()[:4] == b"\x89PNG"


def test_the_figure_shows_costs_as_they_stand_and_as_the_paper_prints_them(small):
    costs = draw_paper_comparison(small[0]).axes[2]
    shown = {float(line.get_xdata()[0]) for line in costs.lines if len(line.get_xdata())}
    names = small[0].contestants("pima")
    assert {small[0].standings["pima", one].mean.cost for one in names} <= shown
    assert {TABLE["pima"][one][2] for one in ("emsco", "greedy_miser", "cstc")} <= shown


def test_an_interrupt_keeps_complete_results(monkeypatch, tmp_path):
    use_small_sets(monkeypatch)

    def report(done, _total, _what):
        if done == 2:
            raise KeyboardInterrupt

    result = reproduce_comparison(tmp_path, SMALL, n_jobs=1, report=report)
    assert not result.complete
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"sets": ("iris",)}, "sets must be one of \"pima\".*got 'iris'"),
        ({"methods": ("svm",)}, "methods must be one of \"paper\".*got 'svm'"),
        ({"splits": 0}, "splits must be a whole number from 1 to 1000, got 0"),
        ({"runs": 0}, "runs must be a whole number from 1 up, got 0"),
    ],
)
def test_an_impossible_extent_is_refused(values, sentence):
    with pytest.raises(ParameterError, match=sentence):
        Extent(**values)


def test_all_sets_have_the_numbers_of_the_paper():
    assert set(TABLE) == set(MARGINS) == set(SETTINGS) == set(SETS)
    assert all(len(one) == 5 for one in TABLE.values())
