"""Small fits give what they gave when they were recorded; see record.py."""

from __future__ import annotations

import platform

import pytest
from golden.facts import differences, facts_of
from golden.fits import FITS
from golden.record import FOLDER, read

# On another kind of processor sums round otherwise: how much of a section may differ.
ELSEWHERE = {"front": 0.1, "labels": 0.01, "exits": 0.01} | dict.fromkeys(
    ("cases", "chosen", "cost", "delay", "digest", "evaluated", "expected"), 1.0
)


@pytest.mark.usefixtures("all_bags")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_gives_what_was_recorded(name, n_jobs):
    recorded = read(name)
    allowed = {} if recorded["machine"] == platform.machine() else ELSEWHERE
    told = differences(recorded["facts"], facts_of(FITS[name](), n_jobs), allowed)
    lines = "".join(f"\n  {section}: {what}" for section, what in told.items())
    made_with = ", ".join(recorded[name] for name in ("machine", "numpy", "scikit-learn"))
    command = f"python tests/golden/record.py --reason … {name}"
    assert not told, f"{lines}\nRecorded with {made_with}. If a change is meant: {command}"


def test_every_recorded_fit_says_why_and_they_stay_small():
    files = list(FOLDER.glob("*.json"))
    assert {path.stem for path in files} == {*FITS}
    assert all(read(name)["reason"] for name in FITS)
    assert sum(path.stat().st_size for path in files) <= 100_000


@pytest.mark.parametrize(
    ("section", "entries", "words"),
    [
        ("front", ["0.5 a", "0.7 b"], "1 of 3 differ, first 0.6 c → None"),
        ("front", ["0.7 b", "0.5 a", "0.6 c"], "2 of 3 differ, first 0.5 a → 0.7 b"),
        ("labels", "01.0", "1 of 4 differ, first 1 → ."),
        ("labels", "010", "2 of 4 differ, first 1 → 0"),
    ],
)
def test_a_missing_design_another_order_and_another_label_differ(section, entries, words):
    before = {"front": ["0.5 a", "0.7 b", "0.6 c"], "labels": "0110"}
    assert differences(before, before) == {}
    assert differences(before, {section: before[section]})  # a section that is gone
    changed = differences(before, {**before, section: entries})
    assert changed == {section: words}
    assert not differences(before, {**before, section: entries}, {section: 1.0})
