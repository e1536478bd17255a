import io
import json
import re
import subprocess
import sys
import warnings
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from emsco import EMSCOClassifier, cli
from emsco.cascade import Cascade
from emsco.errors import EMSCOError
from emsco.front import ParetoFront
from emsco.progress import JobProgress, RowProgress, SearchProgress

NAMES = ("age", "pulse", "panel", "scan")


@pytest.fixture(scope="module")
def demo_text():
    result = CliRunner().invoke(cli.app, ["demo"], env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    return result.output


def test_demo_shows_the_front_the_cascade_and_the_savings(demo_text):
    for words in ("held-out figures on 142 rows", "stage 1, cost so far", "buys", "rejected"):
        assert words in demo_text
    assert re.search(r"spends \d+% less than buying everything", demo_text)
    assert "▶" in demo_text


def test_demo_as_json_is_the_same_for_the_same_seed():
    runs = [CliRunner().invoke(cli.app, ["demo", "--json", "--seed", "3"]) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    result = json.loads(runs[0].stdout)
    assert result["test"]["cost"] < result["test_buying_everything"]["cost"] == 135
    assert sum(leave["n_rows"] for leave in result["test"]["exits"]) == 143


def test_help_teaches_and_wrong_usage_is_exit_code_2():
    assert "emsco demo" in CliRunner().invoke(cli.app, ["--help"]).output
    assert CliRunner().invoke(cli.app, ["demo", "--seed", "-1"]).exit_code == 2
    assert CliRunner().invoke(cli.app, ["nothing"]).exit_code == 2


@pytest.mark.parametrize(
    "command",
    [
        [],
        *([name] for name in ("fit", "front", "decide", "compare", "sweep", "reproduce")),
        ["reproduce", "comparison"],
    ],
)
def test_help_shows_flags_without_a_type_and_what_repeats_with_a_word(command):
    shown = CliRunner().invoke(cli.app, [*command, "--help"]).output
    assert "--help" in shown
    assert not re.search(r"<bool>|<list|BOOLEAN", shown)


@pytest.mark.parametrize("command", ["fit", "front", "decide", "compare", "plot"])
def test_help_cuts_no_word_at_eighty_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(cli.app, [command, "--help"]).output
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown


def test_version_is_that_of_the_package():
    shown = CliRunner().invoke(cli.app, ["--version"]).output
    assert shown == f"emsco {version('emsco')}\n"


def test_python_m_emsco_is_the_command_line():
    command = [sys.executable, "-m", "emsco", "--version"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("emsco ")


def test_an_error_of_our_own_is_one_line_and_exit_code_1(monkeypatch, capsys):
    def refuse():
        raise EMSCOError("costs.csv must have a column 'cost', got none.")

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert capsys.readouterr().err == "emsco: costs.csv must have a column 'cost', got none.\n"


def test_import_and_help_wait_for_no_compiler_and_no_plotting():
    code = (
        "import sys, emsco, emsco.cli, emsco.metrics; from typer.testing import CliRunner;"
        "CliRunner().invoke(emsco.cli.app, ['--help']);"
        "print({'numba', 'llvmlite', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_reproduce_global_writes_tables_and_figures(paper_set, monkeypatch, tmp_path):
    paper_set("pima")
    monkeypatch.setattr("emsco.experiments.global_optima.SETS", ("pima",))
    monkeypatch.setattr("emsco.experiments.global_optima.STAGES", (2,))
    command = [
        "reproduce",
        "global",
        "--runs",
        "1",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
        "--json",
    ]
    result = CliRunner().invoke(cli.app, command)
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "global.json").read_text())
    assert json.loads(result.stdout) == written
    assert written["landscapes"][0]["front_vectors"] == 24
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".md", ".png", ".svg"]


def test_reproduce_says_which_data_it_lacks(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("EMSCO_DATA", raising=False)
    monkeypatch.setattr(
        "sys.argv", ["emsco", "reproduce", "global", "--out", str(tmp_path / "new")]
    )
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert "EMSCO_DATA must name the folder that holds heart.csv" in capsys.readouterr().err


def test_reproduce_refuses_a_folder_that_cannot_be_before_any_work(monkeypatch, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(
        "sys.argv", ["emsco", "reproduce", "global", "--out", str(tmp_path / "file")]
    )
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert "--out must be a folder, got" in capsys.readouterr().err


# fit, front, choose and decide


@pytest.fixture
def emsco(monkeypatch, capsys):
    """Runs a command as a user does: its exit code, standard output and standard error."""

    def call(*words):
        monkeypatch.setattr("sys.argv", ["emsco", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "120")
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        return SimpleNamespace(code=code, out=captured.out, err=captured.err)

    return call


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, size=240)
    return rng.normal(size=(240, 4)) + y[:, None] * np.array([0.4, 0.8, 1.2, 1.6]), y


@pytest.fixture(scope="module")
def data(rows, tmp_path_factory):
    """A CSV file with features and labels, and costs beside it."""
    folder = tmp_path_factory.mktemp("data")
    lines = [
        f"{','.join(map(repr, row))},{label}"
        for row, label in zip(*map(np.ndarray.tolist, rows), strict=True)
    ]
    (folder / "data.csv").write_text("\n".join([",".join((*NAMES, "sick")), *lines, ""]))
    (folder / "costs.csv").write_text("feature,cost\nage,1\npulse,2\npanel,10\nscan,40\n")
    (folder / "costs.json").write_text('{"scan": 40, "panel": 10, "pulse": 2, "age": 1}')
    (folder / "costs.txt").write_text("1, 2, 10, 40\n")
    return folder


@pytest.fixture
def fit(emsco, data, tmp_path):
    """Fits on the data, to a folder run."""

    def call(*words, costs="costs.csv"):
        paths = (data / "data.csv", "--costs", data / costs, "--out", tmp_path / "run")
        settings = ("--target", "sick", "--min-confidence", "0.8", "--max-stages", "3")
        return emsco("fit", *paths, *settings, *words)

    return call


@pytest.fixture
def run(fit, tmp_path):
    assert fit().code == 0
    return tmp_path / "run"


def refuses(result, words):
    """Exit code 1, the sentence alone on standard error, and nothing on standard output."""
    assert (result.code, result.err, result.out) == (1, f"emsco: {words}\n", "")


@pytest.fixture(scope="module")
def estimated(rows):
    clf = EMSCOClassifier([1, 2, 10, 40], 0.8, max_stages=3, random_state=0)
    return clf.fit(*rows)


@pytest.mark.parametrize("costs", ["costs.csv", "costs.json", "costs.txt"])
def test_fit_finds_what_the_estimator_finds_with_costs_of_every_format(
    fit, estimated, tmp_path, costs
):
    result = fit("--json", "--jobs", "1", costs=costs)
    assert result.code == 0
    found = json.loads(result.out)
    figures = [point.figures() for point in estimated.front_]
    assert [point["validation"] for point in found["front"]] == figures
    assert found["chosen"] == estimated.front_.points.index(estimated.point_)
    deployed = Cascade.load(tmp_path / "run" / "cascade.json")
    assert np.array_equal(deployed.classifiers.coefs, estimated.cascade_.classifiers.coefs)
    assert found["features"] == list(NAMES)
    assert found["seed"] == 0


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


def test_a_log_of_fit_has_no_line_for_each_design_that_is_tested(fit, data):
    result = fit("--test", data / "data.csv")
    assert result.code == 0
    assert not re.search(r"\d+ of \d+", result.err)


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_what_is_refused_before_the_first_job_is_a_sentence_alone(emsco, data, command, tmp_path):
    words = ["--target", "ill", "--out", tmp_path / "new"]
    result = emsco(command, data / "data.csv", *words)
    assert re.fullmatch(r"emsco: .* must have a column 'ill', got .*\n", result.err)


@pytest.mark.parametrize("n_jobs", [0, 1])
def test_a_bar_on_a_terminal_is_erased_where_no_job_was_done(monkeypatch, n_jobs):
    drawn = io.StringIO()
    terminal = partial(Console, file=drawn, force_terminal=True)
    monkeypatch.setattr("rich.console.Console", lambda **_: terminal())
    with suppress(EMSCOError), JobProgress("runs") as progress:
        for _ in range(n_jobs):
            progress.job(1, 2, "a run")
        raise EMSCOError("refused")
    last = drawn.getvalue().rpartition("\x1b[2K")[2]
    assert ("runs" in last) == bool(n_jobs)


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_experiments_write_into_no_run(emsco, data, run, command):
    refuses(
        emsco(command, data / "data.csv", "--target", "sick", "--out", run),
        f"--out must be a folder without a run of emsco fit, got '{run}'; name another.",
    )


def test_fit_settings_reach_the_search(fit, tmp_path):
    words = ["--search=evolution", "--generations=3", "--population-size=8", "--seed=7"]
    words += ["--held-out=0.25", "--prefer=knee", "--memory-limit=64MiB", "--refit"]
    about = json.loads(fit("--json", *words).out)
    assert about["stop_reason"] == "all 3 generations have run"
    assert (about["seed"], about["held_out"]) == (7, 0.25)
    front = ParetoFront.load(tmp_path / "run" / "front.json")
    assert front[about["chosen"]] == front.knee()
    assert front[0].n_rows == 60
    assert about["settings"]["refit"] is True


def test_fit_deploys_by_limits_at_once(fit, tmp_path):
    found = json.loads(fit("--json", "--min-coverage", 0.5, "--max-cost", 50).out)
    front = ParetoFront.load(tmp_path / "run" / "front.json")
    assert front[found["chosen"]] == front.select(max_cost=50, min_coverage=0.5)
    assert found["settings"]["prefer"] == {"max_cost": 50, "min_coverage": 0.5}


def test_a_fit_without_a_design_within_limits_keeps_what_it_found(fit, emsco, tmp_path):
    result = fit("--max-cost", 0.5)
    assert (result.code, result.out) == (1, "")
    words = rf"cost at most 0\.5 \(.*\); loosen a limit\. All that was found is kept in {tmp_path}"
    assert re.search(words, result.err)
    assert emsco("choose", tmp_path / "run", "--max-cost", 50).code == 0


def test_a_rule_and_limits_at_once_are_refused(fit, tmp_path):
    words = "either --prefer or limits must be given, got both (--max-cost)."
    refuses(fit("--prefer", "knee", "--max-cost", 30), words)
    assert not (tmp_path / "run").exists()


def test_fit_takes_files_of_ones_own_and_tests_on_the_last(emsco, data, rows, tmp_path):
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
    result = emsco("fit", *paths, "--target", "sick", "--out", tmp_path / "run", "--json")
    X, y = rows
    split = [(np.arange(120), np.arange(120, 200))]
    by_hand = EMSCOClassifier(random_state=0, cv=split).fit(X[:200], y[:200])
    points = json.loads(result.out)["front"]
    assert [point["validation"] for point in points] == [p.figures() for p in by_hand.front_]
    tests = [by_hand.front_.cascade(i).evaluate(X[200:], y[200:]) for i in range(len(points))]
    assert [point["test"]["accuracy"] for point in points] == [test.accuracy for test in tests]
    shown = emsco("front", tmp_path / "run").out
    assert "held-out figures on 80 rows, tests on 40" in shown


def test_fit_refuses_an_existing_run_and_a_complete_one_to_resume(fit, run):
    which = f"got '{run}', which"
    refuses(
        fit(), f"--out must be a new or empty folder, {which} has 'cascade.json'; name another."
    )
    refuses(fit("--resume"), f"--resume must name a run that has not ended, {which} is complete.")


def test_ctrl_c_during_a_fit_keeps_what_was_found_and_resume_goes_on(
    fit, emsco, monkeypatch, tmp_path
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
        "emsco: warning: Search interrupted after 3 generations; what it has found so far is kept."
        in result.err
    )
    assert result.err.endswith(f"emsco: interrupted; --resume goes on with {tmp_path / 'run'}.\n")
    assert emsco("front", tmp_path / "run").code == 0
    refuses(
        fit(*words, "--resume", "--seed", 1),
        f"checkpoint must be of this problem, got '{tmp_path / 'run' / 'checkpoint'}', which "
        "differs in random_state; give what it was begun with, or name another folder.",
    )
    result = fit(*words, "--resume", "--json")
    assert (result.code, json.loads(result.out)["stop_reason"]) == (0, "all 5 generations have run")
    assert not (tmp_path / "run" / "checkpoint").exists()


def test_ctrl_c_before_there_is_anything_to_keep_is_exit_code_130_too(fit, monkeypatch, tmp_path):
    def press(path, target, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("emsco.sources.read_labelled", press)
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


def test_fit_warns_of_what_may_be_an_id_where_nobody_named_the_features(emsco, numbered, tmp_path):
    words = ["--target", "sick", "--time-limit", 1, "--max-stages", 2, "--drop", "note"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = emsco("fit", numbered, *words, "--out", tmp_path / "run")
    assert result.err.startswith(
        "emsco: warning: column 'patient id' has another value in every row; if it is an id, leave "
        "it out with --drop 'patient id'.\n"
    )


def test_an_id_without_a_cost_is_refused_with_the_way_out(emsco, numbered, data, tmp_path):
    words = ["--target", "sick", "--costs", data / "costs.csv", "--out", tmp_path / "run"]
    refuses(
        emsco("fit", numbered, *words),
        "--costs must have a cost for every feature, got none for 'patient id', 'note'; add them, "
        "or leave out what is no feature, such as an id (emsco fit --drop).",
    )


def test_fit_warns_in_one_line(fit):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = fit("--min-confidence", "1")
    words = "no design accepts any held-out row at min_confidence=1.0; lower it."
    assert (result.code, result.err.splitlines()[-1]) == (0, f"emsco: warning: {words}")


def test_fit_refuses_files_and_options_by_name(emsco, fit, data, tmp_path):
    out = ("--out", tmp_path / "run")
    either = "either DATA or --train must be given, got neither."
    refuses(emsco("fit", "--target", "sick", *out), either)
    missing = f"{tmp_path}/none.csv must be a file that can be read (No such file or directory)."
    refuses(emsco("fit", tmp_path / "none.csv", "--target", "sick", *out), missing)
    names = "'age', 'pulse', 'panel', 'scan', 'sick'"
    column = f"{data}/data.csv must have a column 'ill', got {names}."
    refuses(emsco("fit", data / "data.csv", "--target", "ill", *out), column)
    refuses(fit("--held-out", "2"), "--held-out must be a number in (0, 1), got 2.0.")
    assert not (tmp_path / "run").exists()
    search = '--search must be one of "auto", "exact", "evolution", "paper", got \'best\'.'
    refuses(fit("--search", "best"), search)
    refuses(fit("--max-stages", "9"), "--max-stages must be a whole number from 1 to 4, got 9.")


def test_fit_without_a_target_or_with_text_for_a_number_is_wrong_usage(emsco, data, fit):
    assert emsco("fit", data / "data.csv").code == 2
    assert fit("--max-stages", "many").code == 2
    assert fit("--seed", "-1").code == 2


def test_front_lists_the_designs_within_limits(emsco, run):
    found = ParetoFront.load(run / "front.json")
    everything = json.loads(emsco("front", run, "--json").out)
    assert [point["number"] for point in everything["front"]] == list(range(len(found)))
    limit = sorted(point.cost for point in found)[len(found) // 2]
    within = json.loads(emsco("front", run, "--max-cost", limit, "--json").out)["front"]
    assert [point["number"] for point in within] == found.within(max_cost=limit)
    assert 0 < len(within) < len(found)
    best = found.points.index(found.select(max_cost=limit))
    assert re.search(rf"✓ +{best} ", emsco("front", run, "--max-cost", limit).out)
    shown = emsco("front", run, "--max-cost", limit, "--rows", 1).out
    assert sum(bool(re.match(r"\W+\d+ +\d+\.\d%", line)) for line in shown.splitlines()) == 1


def test_front_says_how_many_lines_it_leaves_out_and_shows_all_on_request(emsco, run):
    def lines(text):
        return [line for line in text.splitlines() if re.match(r"\W+\d+ +\d+\.\d%", line)]

    found = ParetoFront.load(run / "front.json")
    n_different = len({(p.coverage, p.accuracy, p.cost) for p in found})
    few, every = emsco("front", run, "--rows", 2).out, emsco("front", run, "--all").out
    said = f"2 of {n_different} are shown, evenly from cheap to dear; --all shows all."
    assert said in " ".join(few.split())
    assert len(lines(every)) == n_different
    assert "are shown" not in every


def test_show_draws_the_deployed_design_or_another(emsco, run):
    found = ParetoFront.load(run / "front.json")
    chosen = json.loads(emsco("front", run, "--json").out)["chosen"]
    assert f"Cascade of design {chosen}:" in emsco("show", run).out
    other = emsco("show", run, 1).out
    assert "Cascade of design 1:" in other
    for stage in found.flow(1).stages:
        assert f"{stage.left} of {stage.reached}" in other
    assert json.loads(emsco("show", run, 1, "--json").out)["number"] == 1
    refuses(emsco("show", run, 99), f"N must be a whole number from 0 to {len(found) - 1}, got 99.")


def test_a_log_that_knows_ascii_alone_gets_the_same_words(run, monkeypatch):
    log = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(log, "ascii", write_through=True))
    monkeypatch.setattr("sys.argv", ["emsco", "show", str(run)])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    text = log.getvalue().decode("ascii")
    assert "stage 1, cost so far" in text
    assert re.search(r"held out \?+ +[\d.]+% leave", text)


def test_front_and_choose_say_how_near_the_front_comes_to_limits(emsco, run):
    found = ParetoFront.load(run / "front.json")
    cheapest, best = min(p.cost for p in found), max(p.accuracy for p in found)
    words = (
        f"None of the {len(found)} designs has cost at most 0.5 (the cheapest: {cheapest:g}) and "
        f"accuracy at least 0.99 (the best: {best:.4g}); loosen a limit."
    )
    limits = ("--max-cost", 0.5, "--min-accuracy", 0.99)
    for command in ("front", "choose"):
        refuses(emsco(command, run, *limits), words)
        refuses(emsco(command, run, *limits, "--json"), words)
        limit = "--min-accuracy must be a number in [0, 1], got 90.0; did you mean 0.9?"
        refuses(emsco(command, run, "--min-accuracy", 90), limit)


def test_choose_deploys_by_number_or_by_limits(emsco, run):
    found = ParetoFront.load(run / "front.json")
    result = emsco("choose", run, 1)
    assert result.out == f"{run} now deploys design 1.\n\n{emsco('show', run).out}"
    assert "Cascade of design 1:" in result.out
    assert Cascade.load(run / "cascade.json").design == found[1].design
    point = found.select(min_coverage=0.5)
    chosen = json.loads(emsco("choose", run, "--min-coverage", 0.5, "--json").out)
    assert chosen["chosen"] == found.points.index(point)
    assert chosen["validation"]["coverage"] == point.coverage
    assert json.loads(emsco("front", run, "--json").out)["chosen"] == chosen["chosen"]


def test_choose_refuses_what_is_no_choice_and_leaves_the_cascade(emsco, run):
    before = (run / "cascade.json").read_bytes()
    n_points = len(ParetoFront.load(run / "front.json"))
    refuses(
        emsco("choose", run),
        f"a number N or a limit must be given, got none; emsco front {run} shows the numbers.",
    )
    refuses(
        emsco("choose", run, 0, "--max-cost", 9),
        "either a number N or a limit must be given, got both.",
    )
    refuses(
        emsco("choose", run, 99), f"point must be a whole number from 0 to {n_points - 1}, got 99."
    )
    assert emsco("choose", run, "first").code == 2
    assert (run / "cascade.json").read_bytes() == before


def test_a_folder_that_is_no_run_is_refused(emsco, data, tmp_path):
    whys = {"none": "does not exist", "data.csv": "is a file", ".": "has no run.json"}
    for name, why in whys.items():
        rule = "RUN must be a folder that emsco fit has made"
        words = f"{rule}, got '{data / name}', which {why}."
        refuses(emsco("front", data / name), words)
        refuses(emsco("choose", data / name, 0), words)
        refuses(emsco("show", data / name), words)
    rule = f"{rule}, or a cascade file"
    for folder, why in {data: "has no cascade.json", data / "none": "does not exist"}.items():
        result = emsco("decide", folder, data / "data.csv", "--out", tmp_path / "out.csv")
        refuses(result, f"{rule}, got '{folder}', which {why}.")
    whole = "must be whole JSON, got a damaged file (Expecting value: line 1 column 1 (char 0))."
    refuses(emsco("decide", data / "data.csv", data / "data.csv"), f"'{data}/data.csv' {whole}")


def test_damaged_files_of_a_run_are_refused_by_name(emsco, run, data):
    for name in ("front.json", "cascade.json"):
        whole = (run / name).read_bytes()
        (run / name).write_bytes(whole.replace(b"0.8", b"0.7"))
        words = (
            f"'{run / name}' must be as it was written, got a body that does not fit its checksum."
        )
        refuses(emsco("front", run), words)
        (run / name).write_bytes(whole)
    (run / "cascade.json").write_text("")
    result = emsco("decide", run, data / "data.csv", "--out", run / "out.csv")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert f"'{run}/cascade.json' must be whole JSON, got a damaged file" in result.err


def test_decide_takes_a_run_or_a_cascade_file(emsco, run, data, rows, tmp_path):
    expected = Cascade.load(run / "cascade.json").decide(rows[0])
    for source, name in ((run, "one.csv"), (run / "cascade.json", "two.csv")):
        result = emsco("decide", source, data / "data.csv", "--out", tmp_path / name, "--json")
        counts = json.loads(result.out)
        assert counts["out"] == str(tmp_path / name)
        assert (counts["n_rows"], counts["n_accepted"]) == (240, int(expected.accepted.sum()))
        assert "240 rows decided" in result.err
    text = (tmp_path / "one.csv").read_text()
    assert text == (tmp_path / "two.csv").read_text()
    labels = [line.split(",")[0] for line in text.splitlines()[1:]]
    assert labels == ["" if label is None else str(label) for label in expected.labels.tolist()]


def test_decide_shows_where_rows_left_and_keeps_columns(emsco, run, data, tmp_path):
    out = tmp_path / "out.csv"
    words = ("--out", out, "--keep", "sick", "--keep", "age")
    result = emsco("decide", run, data / "data.csv", *words)
    assert "240 rows: " in result.out
    assert "less than buying everything" in result.out
    assert result.out.endswith(f"Written to {out}.\n")
    assert out.read_text().startswith(
        '"sick","age","label","accepted","confidence","stage","cost"\n'
    )


def test_decide_writes_to_decisions_csv_unless_told(emsco, run, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert emsco("decide", run, data / "data.csv").code == 0
    assert len((tmp_path / "decisions.csv").read_text().splitlines()) == 241


def test_decide_refuses_files_by_name_and_writes_nothing(emsco, run, data, tmp_path):
    new, out = tmp_path / "new.csv", tmp_path / "out.csv"
    new.write_text("age,pulse,panel,scan\n1,2,3,4\n1,,3,4\n")
    words = (
        f"{new} must have no missing value (empty cell or NaN), got one in column "
        "'pulse', row 2; emsco fit with --gaps impute or --gaps skip (in Python gaps=) makes a "
        "cascade that takes it."
    )
    refuses(emsco("decide", run, new, "--out", out, "--json"), words)
    words = "must end in .csv, .csv.gz, .parquet, .pq, got '.xls'."
    refuses(
        emsco("decide", run, new, "--out", out.with_suffix(".xls")), f"{tmp_path}/out.xls {words}"
    )
    words = (
        f"{tmp_path}/none/out.csv must be a file that can be written (No such file or directory)."
    )
    refuses(emsco("decide", run, new, "--out", tmp_path / "none" / "out.csv"), words)
    words = f"--out must be another file than NEW, got '{new}' for both."
    refuses(emsco("decide", run, new, "--out", new), words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "run"]


def test_ctrl_c_while_deciding_is_exit_code_130_and_leaves_the_earlier_file(
    emsco, run, data, tmp_path, monkeypatch
):
    def press(self, n_rows):
        raise KeyboardInterrupt

    out = tmp_path / "out.csv"
    out.write_text("earlier")
    monkeypatch.setattr(RowProgress, "rows", press)
    result = emsco("decide", run, data / "data.csv", "--out", out)
    assert (result.code, result.out) == (130, "")
    assert result.err == f"emsco: interrupted; {out} is as it was.\n"
    assert out.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "run"]


def test_a_failure_of_the_system_is_one_line_and_exit_code_1(emsco, monkeypatch, tmp_path):
    def fail(path, trusted=()):
        raise PermissionError(13, "Permission denied", "run.json")

    monkeypatch.setattr("emsco.runs.Run.open", fail)
    refuses(emsco("front", tmp_path), "[Errno 13] Permission denied: 'run.json'")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "fit",
            [
                "Search for cascades on your data",
                "[DATA]",
                "--train",
                "--val",
                "--test",
                "--resume",
            ],
        ),
        ("front", ["What there is to choose from", "RUN", "--max-cost", "--min-accuracy"]),
        ("choose", ["Deploy another design of a run", "[N]", "--min-coverage"]),
        ("decide", ["Label or reject every row of a file", "NEW", "--out", "--keep"]),
    ],
)
def test_help_says_what_a_command_does_and_takes(emsco, command, words):
    result = emsco(command, "--help")
    assert result.code == 0
    assert [word for word in [*words, "--json"] if word not in result.out] == []
    assert "[[" not in result.out
