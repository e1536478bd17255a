"""A run folder: choosing from its front, and damaged files."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from support.clinic import FILES

from emsco.app.runs.run import Run
from emsco.errors import FileError, ParameterError


@pytest.fixture
def own(fitted, tmp_path):
    """A copy of a run, to be changed."""
    return Run.open(shutil.copytree(fitted.folder, tmp_path / "own"))


def test_another_point_is_deployed_and_found_again(own):
    number = (own.chosen + 1) % len(own.front)
    assert own.choose(number).chosen == number
    again = Run.open(own.folder)
    assert again.chosen == number
    assert again.point == own.front[number]
    wanted = own.front.cascade(number).models.coefs
    assert np.array_equal(again.cascade.models.coefs, wanted)


def test_a_choice_that_cannot_be_written_leaves_the_earlier_one(own, monkeypatch):
    def full(self, target):
        raise OSError(28, "No space left on device")

    before = (own.folder / "cascade.json").read_bytes()
    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(FileError, match=r"cascade\.json' \(No space left on device\)\."):
        own.choose((own.chosen + 1) % len(own.front))
    assert (own.folder / "cascade.json").read_bytes() == before
    assert sorted(path.name for path in own.folder.iterdir()) == FILES


def test_a_position_outside_the_front_is_refused(own):
    with pytest.raises(
        ParameterError, match=rf"a whole number from 0 to {len(own.front) - 1}, got"
    ):
        own.choose(len(own.front))


@pytest.mark.parametrize("name", ["run.json", "front.json", "cascade.json"])
@pytest.mark.parametrize("damage", ["half", "changed", "other"])
def test_a_damaged_file_is_refused_by_its_name(own, name, damage):
    path = own.folder / name
    text = path.read_text()
    changes = {
        "half": text[: len(text) // 2],
        "changed": text.replace('"features": [\n', '"features": [\n"z",\n'),
        "other": "{}",
    }
    path.write_text(changes[damage])
    with pytest.raises(FileError, match=rf"'.*{name}' must (be|hold)"):
        Run.open(own.folder)


def test_a_missing_file_is_refused_by_its_name(own):
    (own.folder / "front.json").unlink()
    with pytest.raises(FileError, match=r"front\.json' \(No such file or directory\)\."):
        Run.open(own.folder)


def test_a_cascade_of_another_run_is_refused(own, tested):
    strangers = [
        i for i, p in enumerate(tested.front) if p.design not in {q.design for q in own.front}
    ]
    tested.front.cascade(strangers[0]).save(own.folder / "cascade.json")
    with pytest.raises(
        FileError, match=r"must be of a design in front\.json, got .*; choose a point"
    ):
        _ = Run.open(own.folder).chosen
    assert Run.open(own.folder).choose(0).chosen == 0
