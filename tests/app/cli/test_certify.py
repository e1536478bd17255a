"""`emsco certify`, and `emsco decide --require-certificate`."""

import json

import numpy as np
import pytest
from support.commands import refuses

from emsco import Certificate
from emsco.app.runs.run import Run

NAMES = ("age", "pulse", "panel", "scan")
EASY = ("--min-accuracy", "0.6", "--min-coverage", "0.3")


def write(path, n_rows, seed, patients=None):
    """Labelled rows as those of the run, and perhaps a column of patients."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n_rows)
    X = rng.normal(size=(n_rows, 4)) + y[:, None] * np.array([0.4, 0.8, 1.2, 1.6])
    heading = [*NAMES, "sick", *([] if patients is None else ["patient"])]
    lines = [",".join(heading)]
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        more = [] if patients is None else [patients[i]]
        lines.append(",".join(map(str, [*row, label, *more])))
    path.write_text("\n".join([*lines, ""]))
    return path


@pytest.fixture
def fresh(tmp_path):
    return write(tmp_path / "fresh.csv", 300, seed=9)


def test_a_certified_design_is_written_and_deployed(typed, run, fresh):
    result = typed("certify", run, fresh, *EASY, "--max-cost", "60", "--deploy")
    assert result.code == 0
    certificate = Certificate.load(run / "certificate.json")
    best = certificate.best_first[0]
    passed = len(certificate.best_first)
    assert f"for design {best}, one of {passed} that passed\n" in result.out
    # Before a row is spent, it is said what is tested first.
    assert f"Testing design {certificate.order[0]}" in result.err.splitlines()[0]
    assert "a row costs at most 60 on average" in result.out
    assert result.out.endswith(
        f"Written to {run}/certificate.json.\n{run} deploys design {best}, which is certified.\n"
    )
    assert certificate.covers(Run.open(run).cascade)


def test_decide_refuses_a_cascade_that_is_not_certified(typed, run, fresh, tmp_path):
    words = ("decide", run, fresh, "--out", tmp_path / "out.csv", "--require-certificate")
    refuses(typed(*words), "certificate")
    typed("certify", run, fresh, *EASY, "--deploy")
    assert typed(*words).code == 0
    passed = Certificate.load(run / "certificate.json").best_first
    typed("choose", run, min({*range(len(Run.open(run).front))} - {*passed}))
    result = typed(*words)
    assert (result.code, result.err.count("\n")) == (1, 1)
    named = ("--certificate", run / "certificate.json")
    assert typed("decide", run / "cascade.json", fresh, *named).code == 1
    result = typed("decide", run / "cascade.json", fresh, "--require-certificate")
    refuses(result, run / "cascade.json")


def test_the_monitor_watches_what_the_certificate_promises(typed, run, fresh, tmp_path):
    typed("certify", run, fresh, *EASY, "--min-recall", "1=0.4", "--deploy")
    later = write(tmp_path / "later.csv", 50, seed=10)
    promises = json.loads(typed("monitor", run, later, "--json").out)["promises"]
    limits = [one["limit"] for one in promises]
    assert sorted(limits) == [0.3, 0.4, 0.6]


@pytest.mark.filterwarnings("default:the deployed design")
def test_if_nothing_is_certified_the_exit_code_is_3_and_no_certificate_is_written(
    typed, run, fresh
):
    result = typed("certify", run, fresh, "--min-accuracy", "0.985")
    assert result.code == 3
    assert result.out.startswith("No design is certified (")
    assert "for a chance of 80 %" in result.out or "no number of fresh rows would do" in result.out
    assert not (run / "certificate.json").exists()


def test_the_same_rows_answer_the_same_question_again_and_no_other(typed, run, fresh):
    first = typed("certify", run, fresh, *EASY, "--json")
    assert typed("certify", run, fresh, *EASY, "--json").out == first.out
    result = typed("certify", run, fresh, "--min-accuracy", "0.7")
    assert result.code == 1
    assert "300 rows" in result.err


def test_rows_are_spent_though_one_of_them_is_left_out(typed, run, fresh):
    typed("certify", run, fresh, *EASY)
    lines = fresh.read_text().splitlines(keepends=True)
    fresh.write_text("".join(lines[:-1]))
    result = typed("certify", run, fresh, "--min-accuracy", "0.7")
    assert result.code == 1
    assert "must hold rows that no test has seen, got 299 rows of" in result.err


def test_rows_that_come_twice_are_refused(typed, run, fresh):
    lines = fresh.read_text().splitlines(keepends=True)
    fresh.write_text("".join([*lines, *lines[1:]]))
    result = typed("certify", run, fresh, *EASY)
    assert result.code == 1
    assert "must hold every row once, got 300 rows again (first line 302)" in result.err
    assert not (run / "spent.json").exists()
    alone = json.loads(typed("certify", run, *EASY, "--point", 0, "--plan", "--json").out)
    assert [one["number"] for one in alone["designs"]] == [0]


def test_a_plan_needs_no_rows_and_spends_none(typed, run):
    result = typed("certify", run, *EASY, "--plan")
    assert result.code == 0
    assert result.out.startswith("Plan for a certificate at delta = 0.05:\n")
    plan = json.loads(typed("certify", run, *EASY, "--plan", "--json").out)
    assert plan["designs"][0]["rows"][0] <= plan["designs"][0]["rows"][1]
    assert not (run / "spent.json").exists()


def test_a_deployed_design_that_is_certified_stays(typed, run, fresh):
    numbers = Certificate.load(_certified(typed, run, fresh)).best_first
    typed("choose", run, numbers[-1])
    result = typed("certify", run, fresh, *EASY, "--deploy")
    assert result.out.endswith(f"{run} deploys design {numbers[-1]}, which is certified.\n")


def test_the_digest_printed_is_that_of_the_deployed_cascade(typed, run, fresh):
    numbers = Certificate.load(_certified(typed, run, fresh)).best_first
    typed("choose", run, numbers[-1])
    result = typed("certify", run, fresh, *EASY, "--deploy")
    assert f"for design {numbers[-1]}, one of" in result.out
    assert f"Cascade {Run.open(run).cascade.stages.identity[:20]}" in result.out


def _certified(typed, run, fresh):
    assert typed("certify", run, fresh, *EASY).code == 0
    return run / "certificate.json"
