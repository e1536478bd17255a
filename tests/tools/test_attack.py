"""Attacks on files: nothing escapes a short one, and the harness sees what it should."""

from __future__ import annotations

import os
import sys

import pytest
from attacks.halts import halt_commands
from attacks.kinds import KINDS, NonsenseError, make_samples
from attacks.races import race
from attacks.service import attack_services
from attacks.sources import try_sources
from attacks.tables import try_copies, try_tables
from attacks.trials import Plan, run_apart, try_kind, warm_up

from emsco.errors import FileError

TRIALS = {  # few of those that are slow to use; python tools/attack.py files makes more of all
    "cascade, logistic": 15,
    "front": 6,
    "certificate": 6,
    "monitor": 8,
    "spent rows": 4,
    "run": 5,
    "history": 8,
    "result of a sweep": 30,
    "result of a method": 40,
    "result of a comparison": 6,
    "journal": 8,
    "cases of a service": 8,
    "table, CSV": 10,
    "costs, JSON": 30,
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Valid files of all kinds that are attacked here."""
    folder = tmp_path_factory.mktemp("attacked") / "samples"
    make_samples(folder, dict.fromkeys(KINDS[name].sample for name in TRIALS))
    return folder


@pytest.mark.parametrize("name", TRIALS)
def test_a_damaged_file_is_refused_or_usable(samples, name, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr("emsco.app.explorer.page._library", lambda: "")  # slow to make
    kind = KINDS[name]
    before = kind.path(samples).read_bytes()
    whole = warm_up(kind, samples)
    trials = list(try_kind(name, kind, samples, 0, range(TRIALS[name]), whole))
    assert [one for one in trials if one.end == "escape"] == []
    assert sum(one.end == "refused" for one in trials) > len(trials) / 4
    assert kind.path(samples).read_bytes() == before


def test_no_row_is_lost_or_charged_wrongly_whatever_a_source_does():
    assert [one for one in try_sources(0, range(6)) if one.escape] == []


def test_a_nasty_table_is_used_or_refused_in_one_sentence():
    assert [one for one in try_tables(0, range(60)) if one.escape] == []


def test_copies_of_rows_are_refused_and_fresh_rows_are_not():
    assert [one for one in try_copies(0, range(10)) if one.escape] == []


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets of the service that was killed
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_nothing_that_a_killed_service_acknowledged_is_lost(tmp_path):
    (one,) = attack_services(tmp_path, 0, range(1, 2))
    assert one.escape == ""
    assert "; 0 cases" not in one.what


def test_a_command_that_is_killed_has_happened_or_not(tmp_path):
    assert [one for one in halt_commands(tmp_path, 0, range(1)) if one.escape] == []


@pytest.mark.parametrize("kind", ["open", "give", "monitor", "certify", "choose", "decide"])
def test_nobody_loses_a_race(tmp_path, kind):
    (one,) = race(kind, tmp_path, 0, range(1))
    assert one.escape == ""


class Mishap:
    """A kind of file whose use does what it is told, unless the file is whole."""

    form = "text"

    def __init__(self, happen=None):
        self.happen = happen

    def path(self, folder):
        return folder / "file"

    def use(self, folder):
        if self.path(folder).read_bytes() != b"whole":
            self.happen()
        return "read"


def tried(tmp_path, happen):
    (tmp_path / "file").write_bytes(b"whole")
    kind = Mishap(happen)
    (trial,) = try_kind("mishap", kind, tmp_path, 0, [0], warm_up(kind, tmp_path))
    return trial.end, trial.why


def raising(error):
    def happen():
        raise error

    return happen


@pytest.mark.parametrize(
    ("happen", "end", "why"),
    [
        (lambda: None, "same", ""),
        (raising(FileError("one sentence.")), "refused", "one sentence."),
        (raising(FileError("two\nlines.")), "escape", "two\nlines."),
        (raising(KeyError("target")), "escape", "KeyError: 'target' (test_attack.py:"),
        (raising(NonsenseError("coverage 865.7")), "escape", "NonsenseError: coverage 865.7"),
        (raising(SystemExit("bye")), "escape", "SystemExit: bye"),
    ],
)
def test_what_happens_is_told_apart(tmp_path, happen, end, why):
    trial = tried(tmp_path, happen)
    assert trial[0] == end
    assert trial[1].startswith(why)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of memory")
def test_a_small_file_that_takes_much_memory_escapes(tmp_path):
    end, why = tried(tmp_path, lambda: bytearray(80 * 2**20).count(1))
    assert end == "escape"
    assert " MB for " in why


def test_a_crash_is_an_escape_and_the_next_trials_go_on(tmp_path, monkeypatch):
    script = tmp_path / "worker.py"
    script.write_text(
        "import json, os, sys\n"
        "plan = json.load(sys.stdin)\n"
        "first = plan['first'] if plan['go_on'] is None else plan['go_on']\n"
        "for kind in plan['kinds']:\n"
        "    print('ready', kind, flush=True)\n"
        "    for i in range(first, plan['last']):\n"
        "        if i == 1: os.abort()\n"
        "        print(json.dumps(dict(kind=kind, number=i, end='same', damage='')), flush=True)\n"
        "    first = plan['first']\n"
    )
    monkeypatch.setattr("attacks.trials._COMMAND", script)
    trials = list(run_apart(Plan(("x", "y"), 0, 0, 3), tmp_path))
    facts = [(one.kind, one.number, one.end) for one in trials]
    ends = [(0, "same"), (1, "escape"), (2, "same")]
    assert facts == [(kind, *rest) for kind in "xy" for rest in ends]
    assert trials[1].why.startswith("crashed with code -" if os.name == "posix" else "crashed")
