"""Commands that are killed, race or meet a full disk: each has happened or not."""

from __future__ import annotations

import shutil
import time
from functools import partial

import pytest
from support.clinic import front_of, patients, write_rows

from emsco.app.runs.run import Run
from emsco.cascade.monitor import Monitor
from faults import trial, trials
from faults.processes import Command, closed, forked, full, killed

STOPPED = {
    "choose": "{run} 1 --error-cost=9 --reject-cost=1",
    "certify": "{run} {run}/fresh.csv --min-accuracy=0.55 --deploy",
    "monitor": "{run} {run}/fresh.csv --min-accuracy=0.5",
    "decide": "{run} {run}/rows.csv --out={run}/out.csv",
}
RACED = {
    "choose": "{run} {i} --error-cost={i} --reject-cost=1",
    "certify": "{run} {run}/fresh.csv --min-accuracy=0.5{i}",
    "monitor": "{run} {run}/{i}.csv --min-accuracy=0.5",
    "decide": "{run} {run}/{i}.csv --out={run}/out.csv",
}
FIT = "--target=sick --seed=5 --search=evolution --generations=10 --population-size=16 "
FIT += "--max-stages=3 --min-confidence=0.8 --cv=0.33 --jobs=1 --estimator="
N = 4  # racers


def state(folder):
    """What a run says, by parts that belong together."""
    run, monitor, decided = Run.open(folder), folder / "monitor.json", folder / "out.csv"
    sources = Monitor.load(monitor, run.cascade).state.sources if monitor.exists() else ()
    return {
        "choose": (run.chosen, run.given_error_costs),
        "certify": run.certified,
        "monitor": [source.n_rows for source in sources],
        "decide": decided.read_text().count("\n") if decided.exists() else 0,
    }


@pytest.mark.parametrize("name", STOPPED)
@trials(2, 40)
def test_a_command_that_is_stopped_has_happened_or_not(name, numbers, run, tmp_path):
    def carry_out(folder, disturb=None):
        words = STOPPED[name].format(run=folder).split()
        return Command(tmp_path, name, *words, disturb=disturb).end()

    whole = shutil.copytree(run, tmp_path / "whole")
    carry_out(whole)
    before, after = state(run), state(whole)
    assert before != after
    for number in numbers:
        with trial(number) as rng:
            folder = shutil.copytree(run, tmp_path / f"{number}")
            faults = [partial(full, int(2 ** rng.uniform(6, 15))), partial(closed, folder)]
            faults += [partial(killed, folder, rng.randrange(40))] * 2
            code = carry_out(folder, rng.choice(faults))
            now = state(folder)
            assert all(now[part] in (before[part], after[part]) for part in now)
            assert code < 0 or not list(folder.glob("*.tmp"))
            if now != after:
                carry_out(folder)
            assert state(folder) == after


@pytest.mark.parametrize("name", RACED)
@trials(1, 20)
def test_nobody_loses_a_race(name, numbers, run, tmp_path):
    for number in numbers:
        with trial(number):
            folder, barrier = shutil.copytree(run, tmp_path / f"{number}"), forked().Barrier(N)
            racing = []
            for i in range(N):
                write_rows(folder / f"{i}.csv", *patients(20 + i, N * number + i))
                words = RACED[name].format(run=folder, i=i).split()
                racing.append(Command(tmp_path, name, *words, disturb=barrier.wait))
            codes = [one.end() for one in racing]
            now = state(folder)[name]
            match name:
                case "choose":
                    assert now in [(i, {"error_cost": i, "reject_cost": 1}) for i in range(N)]
                case "certify":  # rows are spent once, and the others are told
                    assert sorted(code == 1 for code in codes) == [False, True, True, True]
                case "monitor":
                    assert sorted(now) == [20, 21, 22, 23]
                case "decide":
                    assert now - 1 in range(20, 24)
            assert not [*folder.glob("*.tmp"), *folder.glob("*.lock")]


@pytest.mark.parametrize("estimator", ["boosting", "DecisionTreeClassifier()"])
@trials(1, 30)
def test_a_fit_that_is_stopped_goes_on_to_the_same_front(numbers, estimator, tmp_path):
    data = write_rows(tmp_path / "data.csv", *patients(400))

    def go_on(out, disturb=None):
        words = [*FIT.split(), f"--out={out}"]
        words[-2] += estimator
        words += ["--resume"] if (out / "answers.sqlite").exists() else []
        return Command(tmp_path, "fit", data, *words, disturb=disturb)

    start = time.monotonic()
    go_on(tmp_path / "whole").end()
    seconds = time.monotonic() - start

    def front(out):  # a classifier of one's own is a zip file, with the time of day in it
        return front_of(out) | {"parts": None}

    for number in numbers:
        with trial(number) as rng:
            out = tmp_path / f"{number}"
            disturb = partial(full, int(2 ** rng.uniform(10, 19))) if rng.random() < 0.5 else None
            for fault in (disturb, disturb, None):
                if not (out / "run.json").exists():
                    go_on(out, fault).kill(after=rng.uniform(0, seconds))
            if not (out / "run.json").exists():
                assert go_on(out).end() == 0
            assert front(out) == front(tmp_path / "whole")
