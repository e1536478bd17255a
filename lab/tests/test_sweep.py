from __future__ import annotations

import io
import json
import pickle
import statistics
import threading
from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pytest
from emsco_lab import sweep as sweep_module
from emsco_lab.cli_studies import sweep_table
from emsco_lab.files import read_parts
from emsco_lab.paper.sweep import reproduce_sweep
from emsco_lab.parts import EVERY_RULE, Choice, Parts, SplitBanks
from emsco_lab.sweep import (
    OBJECTIVES,
    RepeatSpread,
    SweepJob,
    SweepRepeat,
    draw_sweep,
    sweep_thresholds,
)
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from support.comparisons import small_set
from support.documents import changed
from support.settings import PAPER_SPACE

from emsco import EMSCOClassifier
from emsco._base.documents import Fields
from emsco._base.objectives import Objectives
from emsco.app.cli.folders import claiming
from emsco.app.cli.parsers import parse_range
from emsco.app.files.sources import FitFiles
from emsco.costs import FeatureCosts
from emsco.errors import FileError, ParameterError
from emsco.models.engine import LogisticEngine
from emsco.search.settings import SearchSettings

QUICK = {"generations": 3, "population_size": 12}
THRESHOLDS = (0.6, 0.75, 0.9)


def small_parts(n_classes=2):
    data = small_set()
    y = data.y if n_classes == 2 else data.y + (np.arange(160) % 3 == 0)
    rows = np.split(np.arange(160), [80, 120])
    return Parts(data.X, y, data.costs, *rows)


@pytest.fixture(scope="module")
def parts():
    return small_parts()


@pytest.fixture(scope="module")
def result(parts):
    rules = ("fittest", "balanced", "knee")
    return sweep_thresholds(parts, THRESHOLDS, runs=3, prefer=rules, n_jobs=1, **QUICK)


@pytest.fixture
def fitted(monkeypatch):
    """Subsets that any engine was asked to fit."""
    asked = []
    fit = LogisticEngine.fit

    def watched(self, subsets, report=None):
        asked.extend(subsets.tolist())
        return fit(self, subsets, report)

    monkeypatch.setattr(LogisticEngine, "fit", watched)
    return asked


def figures(sweep):
    return [replace(one, seconds=0.0) for one in sweep.repeats]


def fitted_again(parts, sweep, repeat, prefer):
    both = np.concatenate([parts.train, parts.val])
    split = [(np.arange(len(parts.train)), np.arange(len(parts.train), len(both)))]
    classifier = EMSCOClassifier(
        costs=parts.costs,
        search=sweep.search,
        random_state=repeat.random_state,
        **{**PAPER_SPACE, **QUICK, "min_confidence": repeat.min_confidence, "prefer": prefer}
        | {"cv": split},
    )
    return classifier.fit(parts.X[both], parts.y[both])


@pytest.mark.parametrize("rule", ["fittest", "knee"])
@pytest.mark.parametrize("position", [0, 4, 8])
def test_a_repeat_is_what_the_classifier_finds_with_its_seed(parts, result, rule, position):
    repeat = result.repeats[position]
    classifier = fitted_again(parts, result, repeat, rule)
    tested = classifier.evaluate(*parts.rows("test"))
    assert classifier.design_.stages.tolist() == list(repeat.by(rule).design)
    assert repeat.by(rule).seen == tested.objectives
    point = classifier.point_
    assert repeat.by(rule).scored == Objectives(point.coverage, point.accuracy, point.cost)


@pytest.mark.parametrize("search", ["evolution", "exact", "auto"])
def test_our_own_searches_find_the_same_in_a_sweep(parts, search):
    sweep = sweep_thresholds(parts, [0.8], runs=2, search=search, n_jobs=1, **QUICK)
    for repeat in sweep.repeats:
        classifier = fitted_again(parts, sweep, repeat, "balanced")
        assert classifier.design_.stages.tolist() == list(repeat.by("balanced").design)


def test_every_subset_is_fitted_once_for_all_thresholds_and_repeats(parts, fitted):
    sweep_thresholds(parts, THRESHOLDS, runs=3, n_jobs=1, **QUICK)
    assert len(fitted) == 31
    assert len({tuple(subset) for subset in fitted}) == 31


def test_a_short_sweep_fits_only_what_it_asks_for_and_nothing_twice(parts, fitted, monkeypatch):
    monkeypatch.setattr(sweep_module, "_MAX_SUBSETS", 1)
    sweep_thresholds(parts, THRESHOLDS, runs=1, n_jobs=1, generations=1, population_size=3)
    assert 0 < len(fitted) < 31
    assert len({tuple(subset) for subset in fitted}) == len(fitted)


def test_models_fitted_in_advance_change_nothing(parts, result, monkeypatch):
    monkeypatch.setattr(sweep_module, "_MAX_SUBSETS", 1)
    without = sweep_thresholds(parts, THRESHOLDS, runs=3, n_jobs=1, **QUICK)
    assert figures(without) == figures(result)


def test_results_do_not_depend_on_the_processes(parts, result, monkeypatch):
    do_job = sweep_module._do_job

    def elsewhere(bench, job):
        """Do a job as another process would: from bytes, with banks of its own."""
        sweep_module._banks.cache_clear()
        return do_job(*pickle.loads(pickle.dumps((bench, job))))

    monkeypatch.setattr(sweep_module, "_do_job", elsewhere)
    again = sweep_thresholds(parts, THRESHOLDS, runs=3, n_jobs=1, **QUICK)
    assert figures(again) == figures(result)


def test_a_repeat_does_not_depend_on_other_thresholds_and_repeats(parts, result):
    alone = sweep_thresholds(parts, [0.75], runs=1, n_jobs=1, **QUICK)
    assert figures(alone) == [one for one in figures(result) if one.min_confidence == 0.75][:1]


def test_every_threshold_and_repeat_has_a_seed_of_its_own(result):
    seeds = {repeat.random_state for repeat in result.repeats}
    other = SweepJob("", "paper", SearchSettings(2, 0.2), 0.6, 0, seed=1)
    assert len(seeds | {other.random_state}) == 10


def test_what_is_known_is_not_searched_again(parts, tmp_path, monkeypatch):
    first = sweep_thresholds(parts, [0.6], runs=2, folder=tmp_path, n_jobs=1, **QUICK)
    searched = []
    search = SplitBanks.search

    def watched(self, *words):
        searched.append(words)
        return search(self, *words)

    monkeypatch.setattr(SplitBanks, "search", watched)
    more = sweep_thresholds(parts, [0.6, 0.7], runs=3, folder=tmp_path, n_jobs=1, **QUICK)
    assert len(searched) == 4
    assert more.repeats[:2] == first.repeats


def test_other_rows_costs_or_settings_are_other_jobs(parts, tmp_path):
    sweep_thresholds(parts, [0.6], runs=1, folder=tmp_path, n_jobs=1, **QUICK)
    expensive = FeatureCosts.from_array([5.0, 2.0, 1.0, 1.0, 4.0], list("abcde"))
    for other in (replace(parts, costs=expensive), replace(parts, train=parts.train[1:])):
        sweep_thresholds(other, [0.6], runs=1, folder=tmp_path, n_jobs=1, **QUICK)
    sweep_thresholds(parts, [0.6], runs=1, folder=tmp_path, n_jobs=1, **{**QUICK, "generations": 4})
    assert len(list(tmp_path.iterdir())) == 4


def test_ctrl_c_keeps_the_repeats_that_are_complete(parts, tmp_path):
    def report(done, _total, _what):
        if done == 4:
            raise KeyboardInterrupt

    settings = {"runs": 2, "folder": tmp_path, "n_jobs": 1, **QUICK}
    early = sweep_thresholds(parts, THRESHOLDS, report=report, **settings)
    assert not early.complete
    assert [line.n_repeats for line in early.lines("fittest")] == [2, 1]
    assert early.to_markdown().endswith("some repeats are missing; the same command goes on.")
    assert "Search: paper, interrupted after 3 repeats, at most" in early.to_markdown()
    table = sweep_table(early, "fittest")
    assert table.title == "The fittest design at each threshold: paper, interrupted after 3 repeats"
    assert [column.header for column in table.columns][1] == "repeats"
    assert len(list(tmp_path.iterdir())) == 4
    assert sweep_thresholds(parts, THRESHOLDS, **settings).complete


def test_ctrl_c_within_a_search_leaves_no_half_result(parts, tmp_path, monkeypatch):
    def press(*_words, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("emsco.search.paper.recombine", press)
    with pytest.raises(KeyboardInterrupt):
        sweep_thresholds(parts, [0.6], runs=1, folder=tmp_path, n_jobs=1, **QUICK)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("width", [60, 79, 80, 120])
def test_a_narrow_terminal_cuts_no_figure_of_the_table(result, width):
    expensive = replace(result, repeats=tuple(map(with_cost_of_thousands, result.repeats)))
    console = Console(width=width, file=io.StringIO())
    console.print(sweep_table(expensive, "fittest", width))
    shown = console.file.getvalue()
    assert "…" not in shown
    for line in expensive.cells("fittest"):
        for text in line:
            mean, deviation = text.split(" ± ")
            assert mean in shown
            assert f"±{deviation}" in shown


def test_repeats_with_the_same_design_deviate_by_0_despite_rounding():
    same = RepeatSpread.from_objectives([Objectives(1.0, 0.86, 1.12)] * 30)
    assert same.deviation == Objectives(0, 0, 0)
    assert same.cells(2) == ["86.0 ± 0.0", "100.0 ± 0.0", "1.12 ± 0.00"]


def with_cost_of_thousands(one):
    def expensive(seen):
        return replace(seen, cost=1234.5 + 1e-3 * one.repeat + 100 * seen.cost)

    return replace(one, choices=tuple(replace(c, seen=expensive(c.seen)) for c in one.choices))


def test_an_exact_search_runs_once_at_each_threshold(parts):
    sweep = sweep_thresholds(parts, THRESHOLDS, runs=5, search="auto", n_jobs=1, **QUICK)
    assert sweep.search == "exact"
    assert [one.repeat for one in sweep.repeats] == [0, 0, 0]
    assert sweep.lines("fittest")[0].seen.deviation is None
    assert "1 repeat at each threshold" in sweep.to_markdown()


def test_more_than_two_classes_are_swept_from_above_a_third():
    sweep = sweep_thresholds(small_parts(3), [0.4, 0.9], runs=1, n_jobs=1, **QUICK)
    assert sweep.thresholds == (0.4, 0.9)
    with pytest.raises(ParameterError, match=r"min_confidence must be a number in \(0\.333333, 1]"):
        sweep_thresholds(small_parts(3), [0.3], n_jobs=1)


def test_lines_hold_means_and_deviations_over_repeats(result):
    line = result.lines("balanced")[1]
    chosen = [one.by("balanced") for one in result.repeats if one.min_confidence == 0.75]
    costs = [choice.seen.cost for choice in chosen]
    assert line.seen.mean.cost == pytest.approx(np.mean(costs))
    assert line.seen.deviation.cost == pytest.approx(np.std(costs, ddof=1))
    assert line.n_repeats == 3


@given(st.lists(st.builds(Objectives, *3 * [st.floats(0, 1)]), min_size=2, max_size=6))
def test_a_spread_is_the_mean_and_the_deviation_of_each_objective(repeats):
    spread = RepeatSpread.from_objectives(repeats)
    for name in OBJECTIVES:
        values = [getattr(one, name) for one in repeats]
        assert getattr(spread.mean, name) == pytest.approx(statistics.fmean(values))
        plain = pytest.approx(statistics.stdev(values), abs=1e-12)
        assert getattr(spread.deviation, name) == plain
    assert RepeatSpread.from_objectives(repeats[:1]).deviation is None


def test_tables_in_all_forms_hold_the_same_lines(result):
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert list(plain["tables"]) == ["fittest", "balanced", "knee"]
    assert result.to_markdown().count("\n| 0.") == 9
    frame = result.to_pandas()
    assert len(frame) == 18
    line = plain["tables"]["knee"][2]["seen"]["accuracy"]
    last = frame[(frame["rule"] == "knee") & (frame["rows"] == "seen")].iloc[-1]
    assert (last["accuracy"], last["accuracy deviation"]) == (line["mean"], line["deviation"])
    assert sweep_table(result, "knee").row_count == 3


def test_repeats_name_the_features_of_every_stage(result):
    chosen = result.to_dict()["repeats"][0]["choices"][0]
    assert sorted(name for stage in chosen["stages"] for name in stage) == list("abcde")


def test_the_picture_has_scored_and_test_rows_for_each_rule(result):
    rules = ("fittest", "knee")
    figure = draw_sweep(replace(result, prefer=rules))
    titles = [panel.get_title() for panel in figure.axes[:4]]
    parts = ("scored", "test")
    assert titles == [f"{rule} design, {part} rows" for rule in rules for part in parts]
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.6", "0.75", "0.9"]
    with pytest.raises(ParameterError, match="sweep must hold at least one repeat, got none"):
        draw_sweep(replace(result, repeats=()))


def test_the_scale_of_coverage_has_the_range_of_the_repeats(result):
    figure = draw_sweep(result)
    drawn = np.concatenate(
        [
            dots.get_array()
            for panel in figure.axes[:2]
            for dots in panel.collections
            if dots.get_array() is not None
        ]
    )
    low, high = figure.axes[-1].get_ylim()
    assert low <= drawn.min() < low + 0.05
    assert high - 0.05 < drawn.max() <= high
    assert "small dots: repeats" in figure.get_supxlabel()


def test_a_threshold_that_no_row_reaches_is_in_the_table_and_not_in_the_picture(parts):
    sweep = sweep_thresholds(parts, [0.6, 1.0], runs=1, n_jobs=1, **QUICK)
    assert sweep.lines("fittest")[1].seen.mean == Objectives(0.0, 0.0, parts.costs.total)
    assert [text.get_text() for text in draw_sweep(sweep).axes[1].texts] == ["0.6"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_confidence": [0.5]}, r"number in \(0\.5, 1], since guessing .*, got 0\.5"),
        ({"min_confidence": [1.1]}, "min_confidence must be .*got 1.1"),
        ({"min_confidence": []}, "min_confidence must be one threshold or more, got none"),
        ({"runs": 0}, "runs must be a whole number from 1 up, got 0"),
        ({"prefer": ("best",)}, "prefer must be one of .*got 'best'"),
        ({"prefer": ()}, "prefer must be one rule or more, got none"),
        ({"search": "random"}, "search must be one of .*got 'random'"),
        ({"estimator": None}, "settings must be out of search, max_stages, .*got 'estimator'"),
        ({"max_stages": 0}, "max_stages must be a whole number from 1 up, got 0"),
    ],
)
def test_what_cannot_be_swept_is_refused_by_name(parts, given, message):
    with pytest.raises(ParameterError, match=message):
        sweep_thresholds(parts, **{"n_jobs": 1, **QUICK, **given})


def test_more_stages_than_features_are_as_many_as_there_are(parts):
    sweep = sweep_thresholds(parts, [0.8], runs=1, n_jobs=1, max_stages=9, **QUICK)
    assert sweep.settings.max_stages == 5


def test_an_unknown_rule_is_refused(result):
    with pytest.raises(ParameterError, match=r"rule must be one of .*got 'cheapest'"):
        result.lines("cheapest")


def test_ranges_end_where_they_say():
    assert parse_range("p", ".55:.95:.05") == sweep_module.THRESHOLDS
    assert parse_range("p", "0.6:0.7:0.04") == (0.6, 0.64, 0.68)
    assert parse_range("p", " 0.9 ,0.6:0.6:1") == (0.9, 0.6)


@given(st.integers(0, 900), st.integers(1, 99), st.integers(0, 40))
def test_a_range_has_its_last_number_however_it_is_written(first, step, n_steps):
    last = first + n_steps * step
    values = parse_range("p", f"{first / 1000}:{last / 1000}:{step / 1000}")
    assert values == tuple((first + i * step) / 1000 for i in range(n_steps + 1))


def test_a_range_that_goes_down_is_refused_with_the_reason():
    words = "p must be a range first:last:step that goes up, got '.9:.6:.1', whose first is above"
    with pytest.raises(ParameterError, match=words):
        parse_range("p", ".9:.6:.1")


@pytest.mark.parametrize(
    "text", ["", "a", "0.5:0.9", "0.5:0.9:0", "nan", "1:inf:1", "0:1:1e-9", "1,,2"]
)
def test_what_is_no_range_is_one_sentence(text):
    with pytest.raises(ParameterError, match="p must be numbers with commas between, or a range"):
        parse_range("p", text)


@pytest.fixture
def _undrawn(monkeypatch):
    """Pictures are drawn in one test; they take longer than sweeps."""
    monkeypatch.setattr("emsco.plotting.save_figure", lambda *_: None)


@pytest.fixture(scope="module")
def authors(tmp_path_factory):
    """Files in the format of the paper's authors."""
    folder, parts = tmp_path_factory.mktemp("authors"), small_parts()
    heading = "f0,f1,f2,f3,f4,label"
    for name in ("train", "val", "test"):
        X, y = parts.rows(name)
        lines = [
            f"{','.join(map(repr, row))},{label}" for row, label in zip(X.tolist(), y, strict=True)
        ]
        (folder / f"example_{name}.csv").write_text("\n".join([heading, *lines]) + "\n")
    (folder / "commas.txt").write_text("5,2,1,1,3\n")
    (folder / "blanks.txt").write_text("5 2 1 1 3")
    return folder


def options(folder, costs="commas.txt", **more):
    files = {f"--{name}": folder / f"example_{name}.csv" for name in ("train", "val", "test")}
    words = {"--target": "label", "--costs": folder / costs, **files, "--runs": 3, "--jobs": 1}
    words |= {"--generations": 3, "--population-size": 12, "--min-confidence": ".6:.9:.15"}
    return [word for pair in (words | more).items() for word in pair]


@pytest.mark.usefixtures("_undrawn")
def test_the_authors_files_are_taken_as_they_are(emsco, authors, tmp_path, result):
    rules = ["--prefer", "fittest", "--prefer", "knee"]
    done = emsco("sweep", *options(authors), *rules, "--out", tmp_path, "--json")
    assert done.exit_code == 0
    output = json.loads(done.stdout)
    assert output["costs"] == {"f0": 5.0, "f1": 2.0, "f2": 1.0, "f3": 1.0, "f4": 3.0}
    shown = replace(result, prefer=("fittest", "knee")).to_dict()
    assert output["tables"] == shown["tables"]
    assert output == json.loads((tmp_path / "sweep.json").read_text())


def test_costs_may_stand_with_blanks_between(authors):
    files = FitFiles("label", authors / "example_train.csv", costs=authors / "blanks.txt")
    assert read_parts(files).costs.costs.tolist() == [5, 2, 1, 1, 3]


def test_the_command_shows_tables_draws_and_goes_on(emsco, authors, tmp_path, monkeypatch):
    words = [*options(authors), "--out", tmp_path, "--prefer", "knee"]
    first = emsco("sweep", *words)
    assert first.exit_code == 0
    assert "The knee design at each threshold: paper, 3 repeats each" in first.stdout
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"results", "sweep.json", "sweep.md", "sweep.png", "sweep.svg"}
    assert "# Thresholds on example_train.csv (seed 0)" in (tmp_path / "sweep.md").read_text()
    monkeypatch.setattr(sweep_module, "_do_job", pytest.fail)
    monkeypatch.setattr("emsco.plotting.save_figure", lambda *_: None)
    assert emsco("sweep", *words).stdout == first.stdout


@pytest.mark.usefixtures("_undrawn")
def test_one_file_is_split_into_training_scored_and_test_rows(emsco, authors, tmp_path):
    words = ["--target", "label", "--runs", 1, "--jobs", 1, "--generations", 1, "--out", tmp_path]
    few = ["--population-size", 12, "--min-confidence", 0.6]
    done = emsco("sweep", authors / "example_train.csv", *words, *few, "--json")
    assert json.loads(done.stdout)["rows"] == {"train": 40, "scored": 20, "test": 20}


def test_an_interrupted_sweep_is_exit_code_130(emsco, authors, tmp_path, monkeypatch):
    def press(*_words, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("emsco.search.paper.recombine", press)
    done = emsco("sweep", *options(authors), "--out", tmp_path)
    assert done.exit_code == 130
    assert "interrupted; no repeat was complete" in done.stderr


def test_a_threshold_at_chance_is_one_line(emsco, authors, tmp_path):
    words = options(authors, **{"--min-confidence": "0.5,0.6"})
    with pytest.raises(ParameterError, match=r"^--min-confidence must be a number in \(0\.5, 1]"):
        emsco("sweep", *words, "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("_undrawn")
def test_a_folder_with_another_sweep_is_refused_before_anything_is_computed(
    emsco, authors, tmp_path, monkeypatch
):
    few = {"--runs": 1, "--generations": 1, "--min-confidence": 0.6, "--out": tmp_path}
    assert emsco("sweep", *options(authors, **few)).exit_code == 0
    before = (tmp_path / "sweep.json").read_bytes()
    monkeypatch.setattr(sweep_module, "_models", pytest.fail)
    test = authors / "example_val.csv"
    others = {
        "seed": ("--seed", 1),
        "max_stages": ("--max-stages", 2),
        "rows, labels": ("--test", test),
    }
    for differ, (option, value) in others.items():
        with pytest.raises(ParameterError, match=rf"whose sweep\.json differs in {differ};"):
            emsco("sweep", *options(authors, **few | {option: value}))
    assert (tmp_path / "sweep.json").read_bytes() == before


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"of": 3}', "[" * 100_000, "9" * 5_000])
def test_results_that_do_not_say_what_they_are_of_are_never_written_over(tmp_path, text):
    (tmp_path / "sweep.json").write_text(text)
    words = r"one of the same sweep, got .* differs in search, seed; name another\."
    with pytest.raises(ParameterError, match=words), claiming(tmp_path, "sweep") as claim:
        claim({"search": "paper", "seed": 0})


def test_a_folder_takes_one_study_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("emsco._base.locks.SHORT_PATIENCE", 0.1)
    said = []

    def second():
        with claiming(tmp_path, "sweep") as claim:
            try:
                claim({"seed": 1})
            except FileError as error:
                said.append(str(error))

    with claiming(tmp_path, "sweep") as claim:
        claim({"seed": 0})
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(20)
    assert len(said) == 1
    assert said[0].startswith(f"'{tmp_path}' is being changed by another emsco process")
    with claiming(tmp_path, "sweep") as claim:
        claim({"seed": 1})


@pytest.mark.usefixtures("_undrawn")
def test_the_authors_sweep_has_nine_thresholds_at_the_papers_settings(emsco, tmp_path, monkeypatch):
    monkeypatch.setattr("emsco_lab.paper.sweep.load", small_set)
    sweep = reproduce_sweep(tmp_path, "pima", runs=1, n_jobs=1, generations=1)
    assert sweep.thresholds == sweep_module.THRESHOLDS
    assert (sweep.settings.mutation_rate, sweep.settings.population_size) == (0.075, 300)
    quick = partial(sweep_thresholds, generations=1)
    monkeypatch.setattr("emsco_lab.paper.sweep.sweep_thresholds", quick)
    done = emsco(
        "reproduce", "sweep", "--set", "heart", "--runs", 1, "--jobs", 1, "--out", tmp_path
    )
    assert done.exit_code == 0
    assert "# Thresholds on heart (seed 0)" in done.stdout
    assert (tmp_path / "sweep.json").exists()


def kept_repeat():
    """The plain values of a repeat, as a folder keeps them."""
    one = Objectives(0.9, 0.8, 12.0)
    choices = tuple(Choice(rule, one, one, (0, 1, -1)) for rule in EVERY_RULE)
    repeat = asdict(SweepRepeat(0.75, 0, 7, choices, "all generations", 0.5))
    return json.loads(json.dumps(repeat))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("choices", 0, "design"), [], "'design' must be the stage of each feature, from 0"),
        (("choices", 0, "design"), [-1, -1], "'design' must be the stage of each feature, from 0"),
        (("choices", 0, "design"), [0, "1"], "'design' must be 2 whole numbers from -1 to 1, got"),
        (("choices", 0, "design"), [0, 2**40], "'design' must be 2 whole numbers from -1 to 1"),
        (
            ("choices", 1, "rule"),
            "knee",
            "'choices' must be one by each rule, fittest, balanced, k",
        ),
        (("choices",), kept_repeat()["choices"][:2], "'choices' must be one by each rule"),
    ],
)
def test_a_kept_repeat_that_breaks_a_rule_is_refused_by_name(path, value, said):
    values = changed(kept_repeat(), path, value)
    job = SweepJob("data", "paper", SearchSettings(max_stages=2), 0.75, 0, 0)
    with pytest.raises(FileError, match=f"^a file, .*{said}"):
        SweepRepeat.from_dict(job, Fields(values, "a file"))
