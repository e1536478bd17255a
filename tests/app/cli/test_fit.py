"""`emsco fit`."""

import json
import re
import shutil
import warnings

import numpy as np
import pytest
from support.commands import refuses
from support.settings import PLAIN

from emsco import EMSCOClassifier
from emsco.app.files.sources import FitFiles
from emsco.app.runs.fit import fit_files
from emsco.app.runs.run import Run
from emsco.app.runs.views import explore_run
from emsco.cascade import Cascade
from emsco.errors import DataWarning
from emsco.front import ParetoFront
from emsco.search.progress import SearchProgress

NAMES = ("age", "pulse", "panel", "scan")


@pytest.fixture(scope="module")
def estimated(rows):
    clf = EMSCOClassifier(
        [1, 2, 10, 40], min_confidence=0.8, max_stages=3, random_state=0, **PLAIN | {"cv": 0.33}
    )
    return clf.fit(*rows)


@pytest.mark.parametrize("costs", ["costs.csv", "costs.json", "costs.txt"])
def test_fit_finds_what_the_estimator_finds_with_costs_of_every_format(
    fit, estimated, tmp_path, costs
):
    result = fit("--json", "--jobs", "1", costs=costs)
    assert result.code == 0
    output = json.loads(result.out)
    figures = [point.figures() for point in estimated.front_]
    assert [point["scored"] for point in output["front"]] == figures
    assert output["chosen"] == estimated.front_.points.index(estimated.point_)
    deployed = Cascade.load(tmp_path / "run" / "cascade.json")
    assert np.array_equal(deployed.models.coefs, estimated.cascade_.models.coefs)
    assert output["features"] == list(NAMES)
    assert output["seed"] == 0


def test_fit_shows_progress_on_one_stream_and_the_front_on_the_other(fit, tmp_path):
    result = fit()
    assert "designs settled" in result.err
    assert "Search ended: the front is proven" in result.out
    assert "▶" in result.out
    run = tmp_path / "run"
    assert result.out.endswith(
        f"Written to {run}. Next: emsco show {run}, emsco explore {run}, "
        f"emsco decide {run} NEW.csv\n"
    )


def test_fit_settings_reach_the_search(fit, tmp_path):
    words = ["--search=evolution", "--generations=3", "--population-size=8", "--seed=7"]
    words += ["--cv=0.25", "--prefer=knee", "--memory-limit=64MiB", "--refit=all"]
    about = json.loads(fit("--json", *words).out)
    assert about["stop_reason"] == "all 3 generations have run"
    assert (about["seed"], about["cv"], about["n_splits"]) == (7, 0.25, 1)
    front = ParetoFront.load(tmp_path / "run" / "front.json")
    assert front[about["chosen"]] == front.knee()
    assert front[0].n_rows == 60
    assert about["settings"]["refit"] == "all"


def test_fit_in_folds_averages_their_models_and_says_so(fit, typed, tmp_path):
    words = ["--search=evolution", "--generations=2", "--population-size=8", "--cv=3"]
    about = json.loads(fit("--json", *words).out)
    assert (about["cv"], about["n_splits"], about["settings"]["refit"]) == (3, 3, "average")
    run = tmp_path / "run"
    assert Run.open(run).cascade.n_models == 3
    assert "Each stage averages 3 models." in typed("show", run).out
    assert "all, in 3 splits" in explore_run(Run.open(run))


def test_fit_scores_on_all_rows_by_default(typed, data, tmp_path):
    words = ["--target", "sick", "--search=evolution", "--generations=1", "--population-size=6"]
    result = typed("fit", data / "data.csv", *words, "--out", tmp_path / "run", "--json")
    about = json.loads(result.out)
    assert (about["cv"], about["n_splits"]) == ("auto", 20)


def test_fit_deploys_by_limits_at_once(fit, tmp_path):
    output = json.loads(fit("--json", "--min-coverage", 0.5, "--max-cost", 50).out)
    front = ParetoFront.load(tmp_path / "run" / "front.json")
    assert front[output["chosen"]] == front.select(max_cost=50, min_coverage=0.5)
    assert output["settings"]["prefer"] == {"max_cost": 50, "min_coverage": 0.5}


def test_a_fit_without_a_design_within_limits_keeps_what_it_found(fit, typed, tmp_path):
    result = fit("--max-cost", 0.5)
    assert (result.code, result.out) == (1, "")
    assert re.search(r"cost at most 0\.5; the nearest is design \d+, with cost", result.err)
    assert f"{tmp_path / 'run'} keeps all that was found" in result.err
    assert typed("choose", tmp_path / "run", "--max-cost", 50).code == 0


@pytest.fixture(scope="module")
def priced(data, tmp_path_factory):
    """A run that was searched for the lowest total."""
    folder = tmp_path_factory.mktemp("priced")
    files = FitFiles("sick", data / "data.csv", costs=data / "costs.csv")
    costs = {"error_cost": {"0": {"1": 100.0}, "1": {"0": 900.0}}, "reject_cost": 40.0}
    settings = {"estimator": "logistic", "max_stages": 2, "cv": 0.33, "generations": 3}
    return fit_files(files, folder / "run", **costs, **settings)


@pytest.mark.filterwarnings("default:.*took part in the search")
def test_a_run_that_was_fitted_for_money_shows_totals(typed, priced, data, tmp_path):
    words = "100 for an error about 0, 900 about 1 and 40 for a rejection"
    money, folder = priced.front.money, shutil.copytree(priced.folder, tmp_path / "run")
    assert money.costs.tolist() == [[0, 100, 40], [900, 0, 40]]
    opened = Run.open(folder)
    assert opened.error_costs() == money
    assert opened.point == opened.front.select()
    table = " ".join(typed("front", folder).out.split())
    assert " errors total " in table
    assert f"total: features, errors and rejections of a row, with {words};" in table
    assert "likeliest" not in table
    text = " ".join(typed("show", folder).out.split())
    assert f"; with {words}." in text
    assert "probabilities that weigh each class by what its errors cost." in text
    assert "likeliest" not in text
    plain = json.loads(typed("show", folder, "--json").out)
    assert plain["total"]["value"] == opened.point.total_with(money).value
    new = json.loads(typed("evaluate", folder, data / "data.csv", "--json").out)["new"]
    assert new["total"]["promised"] == opened.point.total_with(money).to_dict()
    assert new["promise"]["accuracy"]["seen"] == new["accuracy"]
    # Other costs may choose another design; forgetting them leaves those of the search.
    typed("choose", folder, "--error-cost", 5, "--reject-cost", 5)
    assert Run.open(folder).given_error_costs == {"error_cost": 5.0, "reject_cost": 5.0}
    typed("choose", folder, "--no-error-cost")
    assert Run.open(folder).error_costs() == money
    limited = " ".join(typed("choose", folder, "--max-cost", 12).out.split())
    assert f"the lowest expected total within your limits with {words}." in limited


def test_fit_takes_files_of_ones_own_and_tests_on_the_last(typed, data, rows, tmp_path):
    header, *lines = (data / "data.csv").read_text().splitlines()
    for name, part in (("a", lines[:120]), ("b", lines[120:200]), ("c", lines[200:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *part, ""]))
    paths = (
        "--train",
        tmp_path / "a.csv",
        "--val",
        tmp_path / "b.csv",
        "--test",
        tmp_path / "c.csv",
    )
    result = typed("fit", *paths, "--target", "sick", "--out", tmp_path / "run", "--json")
    X, y = rows
    split = [(np.arange(120), np.arange(120, 200))]
    by_hand = EMSCOClassifier(random_state=0, cv=split).fit(X[:200], y[:200])  # same defaults
    points = json.loads(result.out)["front"]
    assert [point["scored"] for point in points] == [p.figures() for p in by_hand.front_]
    tests = [by_hand.front_.cascade(i).evaluate(X[200:], y[200:]) for i in range(len(points))]
    assert [point["seen"]["accuracy"] for point in points] == [test.accuracy for test in tests]
    shown = typed("front", tmp_path / "run").out
    assert "scored on 80 rows, seen on 40" in shown


def test_ctrl_c_during_a_fit_keeps_what_was_found_and_resume_goes_on(
    fit, typed, monkeypatch, tmp_path
):
    words = ("--search=evolution", "--generations=5", "--population-size=8")

    def press(self, record):
        if record.generation == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("always")
        patch.setattr(SearchProgress, "generation", press)
        result = fit(*words)
    assert result.code == 130
    assert (
        "emsco: warning: Search interrupted after 3 generations; the best designs so far are kept."
        in result.err
    )
    assert result.err.endswith(f"emsco: interrupted; --resume goes on with {tmp_path / 'run'}.\n")
    assert typed("front", tmp_path / "run").code == 0
    refuses(fit(*words, "--resume", "--seed", 1), "--seed")
    result = fit(*words, "--resume", "--json")
    assert (result.code, json.loads(result.out)["stop_reason"]) == (0, "all 5 generations have run")
    assert not (tmp_path / "run" / "answers.sqlite").exists()


def test_ctrl_c_before_there_is_anything_to_keep_is_exit_code_130_too(fit, monkeypatch, tmp_path):
    def press(path, target, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("emsco.app.files.sources.read_labelled", press)
    result = fit()
    assert (result.code, result.out) == (130, "")
    words = "nothing was found yet, and nothing is written"
    assert result.err == f"emsco: interrupted; {words}.\n"
    assert not (tmp_path / "run").exists()


@pytest.fixture
def numbered(data, tmp_path):
    """The data with an id before it, and a text of its own for each row."""
    heading, *lines = (data / "data.csv").read_text().splitlines()
    rows = [f"{1000 + i},p{i},{line}" for i, line in enumerate(lines)]
    path = tmp_path / "numbered.csv"
    path.write_text("\n".join([f"patient id,note,{heading}", *rows[:80], ""]))
    return path


def test_fit_leaves_out_what_may_be_an_id_where_nobody_named_the_features(
    typed, numbered, tmp_path
):
    words = ["--target", "sick", "--time-limit", 1, "--max-stages", 2, "--drop", "note"]
    words += ["--cv", 0.3, "--min-confidence", 0.75]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = typed("fit", numbered, *words, "--out", tmp_path / "run")
    assert result.err.startswith(
        "emsco: warning: left out: 'patient id' (looks like an id); --keep brings them back.\n"
    )


def test_rows_of_a_patient_stay_in_one_fold(typed, fit, data, tmp_path):
    first, *lines = (data / "data.csv").read_text().splitlines()
    patients = tmp_path / "patients.csv"
    patients.write_text(
        "\n".join([f"who,{first}", *(f"P{i // 4},{x}" for i, x in enumerate(lines))])
    )
    words = ("fit", patients, "--costs", data / "costs.csv", "--target", "sick", "--groups", "who")
    quick = ("--estimator", "logistic", "--max-stages", "2", "--min-confidence", "0.8")
    result = typed(*words, *quick, "--out", tmp_path / "grouped", "--json")
    assert result.code == 0, result.err
    about = json.loads(result.out)
    assert (about["groups"], about["features"]) == ("who", list(NAMES))
    plain = typed(*words[:-2], "--drop", "who", *quick, "--out", tmp_path / "plain", "--json")
    assert json.loads(plain.out)["front"] != about["front"]
    refuses(fit("--groups", "age"), "0.33")


QUICK = ("--search=evolution", "--generations=3", "--population-size=12")


def points_of(folder):
    front = ParetoFront.load(folder / "front.json")
    buying = [point for point in front if not point.design.buys_nothing]
    return [(point, point.design.thresholds_or(front.min_confidence)) for point in buying]


@pytest.mark.parametrize("min_confidence", ["0.8", "auto"])
def test_always_answer_labels_every_row(fit, typed, data, tmp_path, min_confidence):
    result = fit("--always-answer", "--min-confidence", min_confidence, "--json", *QUICK)
    assert result.code == 0
    about, run = json.loads(result.out), tmp_path / "run"
    assert (about["settings"]["always_answer"], about["settings"]["reject_below"]) == (True, None)
    assert all(point.coverage == 1 and thresholds[-1] == 0 for point, thresholds in points_of(run))
    decided = typed("decide", run, data / "data.csv", "--out", tmp_path / "out.csv", "--json")
    counts = json.loads(decided.out)
    assert counts["n_accepted"] == counts["n_rows"] == 240


# Columns that are left out

QUICK = ("--search", "evolution", "--generations", "1", "--population-size", "10")
QUICK += ("--estimator", "logistic", "--cv", "0.3")
warns_of_columns = pytest.mark.filterwarnings("always::emsco.errors.DataWarning")


@pytest.fixture
def odd(tmp_path):
    """A file with an id, a leak and a copy, and its costs in column order."""
    rng = np.random.default_rng(0)
    sick = rng.integers(0, 2, 1200)
    age, pulse = rng.normal(size=(2, 1200)) + sick
    lines = ["code,age,pulse,months,bill,sick"]
    for i, (label, years, beats) in enumerate(zip(sick, age, pulse, strict=True)):
        lines.append(f"p{i},{years},{beats},{12 * years},{label * 90 + i % 7},{label}")
    (tmp_path / "costs.txt").write_text("1 2 3 4 5")
    path = tmp_path / "odd.csv"
    path.write_text("\n".join(lines))
    return path


@warns_of_columns
def test_ids_leaks_and_copies_are_left_out_in_one_line(typed, odd, tmp_path):
    run, words = tmp_path / "run", ("--target", "sick", "--costs", tmp_path / "costs.txt", *QUICK)
    result = typed("fit", odd, *words, "--out", run)
    assert result.code == 0
    assert (
        "warning: left out: 'code' (looks like an id), 'bill' (alone decides the class), 'months' "
        "(tells the same as another); --keep brings them back.\n"
    ) in result.err
    about = json.loads((run / "run.json").read_text())["body"]
    assert about["features"] == ["age", "pulse"]
    assert [one["subject"] for one in about["files"]["left_out"]] == ["code", "bill", "months"]
    assert about["files"]["keep"] == []
    assert Run.open(run).front.costs.costs.tolist() == [2, 3]
    for command in (("decide", run, odd, "--out", tmp_path / "out.csv"), ("evaluate", run, odd)):
        assert typed(*command).code == 0


@warns_of_columns
def test_a_column_is_kept_if_it_is_named(typed, odd, tmp_path):
    run, words = tmp_path / "run", ("--target", "sick", "--drop", "code", *QUICK)
    result = typed("fit", odd, *words, "--keep", "months", "--keep", "bill", "--out", run)
    assert "left out" not in result.err
    assert "column 'bill' alone decides the class" in result.err
    assert Run.open(run).front.costs.names == ("age", "pulse", "months", "bill")
    result = typed("fit", odd, *words, "--keep", "moons", "--out", tmp_path / "other")
    assert "column 'moons', got" in result.err
    refuses(typed("fit", odd, *words, "--keep", "code", "--out", tmp_path / "other"), "'code'")


@warns_of_columns
def test_python_keeps_all_columns_of_a_file_and_warns(odd, tmp_path):
    files = FitFiles("sick", odd, drop=("code",))
    settings = {"generations": 1, "population_size": 10, **PLAIN}
    with pytest.warns(DataWarning, match="'bill'"):
        run = fit_files(files, tmp_path / "run", **settings)
    assert len(run.front.costs.names) == 4


# Delays: given, shown, limited and refused

QUICK = ("--estimator", "logistic", "--cv", 0.33, "--generations", 2, "--population-size", 12)


@pytest.fixture(scope="module")
def delayed_files(tmp_path_factory):
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
def fit_with_delays(typed, delayed_files, tmp_path):
    def call(*words):
        data = (
            "fit",
            delayed_files / "data.csv",
            "--target",
            "ill",
            "--costs",
            delayed_files / "costs.csv",
        )
        return typed(*data, *QUICK, "--out", tmp_path / "run", *words)

    return call


@pytest.mark.filterwarnings("default:.*took part in the search")
def test_delays_are_given_shown_and_limited(typed, fit_with_delays, delayed_files, tmp_path):
    result = fit_with_delays("--delay", "scan=3", "--max-worst-delay", 3.5, "--max-mean-delay", 2)
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
    assert typed("choose", run, len(front) - 2).code == 0  # the last one rejects everyone
    assert ", delay so far " in typed("show", run).out
    assert " at worst" in typed("evaluate", run, delayed_files / "data.csv").out
    assert typed("decide", run, delayed_files / "data.csv", "--out", tmp_path / "d.csv").code == 0
    assert ',"cost","delay"' in (tmp_path / "d.csv").read_text().splitlines()[0]
