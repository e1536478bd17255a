"""A run folder: choosing from its front, damaged files, and facts that break their rules."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from support.documents import changed
from support.handmade import make_cascade

from emsco._base.documents import document_text, write_document
from emsco._base.locks import locked_folder
from emsco.app.runs.run import FORMAT, Run, read_about
from emsco.errors import FileError


@pytest.fixture
def copied(fitted, tmp_path):
    """A copy of a run, to be changed."""
    return Run.open(shutil.copytree(fitted.folder, tmp_path / "own"))


def test_another_point_is_deployed_and_found_again(copied):
    number = (copied.chosen + 1) % len(copied.front)
    assert copied.choose(number).chosen == number
    again = Run.open(copied.folder)
    assert again.chosen == number
    assert again.point == copied.front[number]
    wanted = copied.front.cascade(number).models.coefs
    assert np.array_equal(again.cascade.models.coefs, wanted)


@pytest.mark.parametrize("n_written", [0, 1, 2, 3])
def test_a_choice_that_is_killed_has_happened_or_not(copied, monkeypatch, n_written):
    old, new = {"error_cost": 500.0, "reject_cost": 40.0}, {"error_cost": 7.0, "reject_cost": 1.0}
    run = copied.choose(0, old)
    left = iter(range(n_written))
    replace = Path.replace

    def replace_some(self, target):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr("pathlib.Path.replace", replace_some)
    with nullcontext() if n_written == 3 else pytest.raises(KeyboardInterrupt):
        run.choose(1, new)
    monkeypatch.undo()
    again = Run.open(copied.folder)
    is_new = n_written >= 2
    assert (again.chosen, again.given_error_costs) == ((1, new) if is_new else (0, old))
    # The next choice, too, knows nothing of the costs of the one that was killed.
    assert again.choose(2).given_error_costs == (new if is_new else old)
    assert Run.open(copied.folder).given_error_costs == (new if is_new else old)


def test_a_choice_keeps_what_another_process_made_the_run_remember(copied):
    stale = Run.open(copied.folder)
    copied.choose(0, {"error_cost": 500.0, "reject_cost": 40.0})
    assert stale.choose(1).given_error_costs == {"error_cost": 500.0, "reject_cost": 40.0}
    assert Run.open(copied.folder).chosen == 1


def test_no_design_of_an_earlier_fit_is_deployed(copied):
    about = {**copied.about, "stop_reason": "another"}
    write_document(copied.folder / "run.json", "run", FORMAT, about)
    with pytest.raises(FileError):
        copied.choose(0)


def test_a_choice_waits_for_whoever_changes_the_run(copied):
    with locked_folder(copied.folder):
        waiting = ThreadPoolExecutor().submit(copied.choose, 0)
        with pytest.raises(TimeoutError):
            waiting.result(0.3)
    assert waiting.result(20).chosen == 0


@pytest.mark.parametrize("name", ["run.json", "front.json", "cascade.json"])
@pytest.mark.parametrize("damage", ["half", "changed", "other"])
def test_a_damaged_file_is_refused_by_its_name(copied, name, damage):
    path = copied.folder / name
    text = path.read_text()
    changes = {
        "half": text[: len(text) // 2],
        "changed": text.replace('"features": [\n', '"features": [\n"z",\n'),
        "other": "{}",
    }
    path.write_text(changes[damage])
    with pytest.raises(FileError):
        Run.open(copied.folder)


def test_a_cascade_of_another_run_is_refused(copied, tested):
    strangers = [
        i for i, p in enumerate(tested.front) if p.design not in {q.design for q in copied.front}
    ]
    tested.front.cascade(strangers[0]).save(copied.folder / "cascade.json")
    with pytest.raises(FileError, match=r"front\.json"):
        _ = Run.open(copied.folder).chosen
    assert Run.open(copied.folder).choose(0).chosen == 0


@pytest.fixture(scope="module")
def body(fitted):
    return json.loads((fitted.folder / "run.json").read_bytes())["body"]


def read(folder, body):
    path = folder / "run.json"
    path.write_text(document_text("run", FORMAT, body))
    return read_about(path)


def test_facts_come_back_as_they_were_written(tmp_path, body):
    assert read(tmp_path, body) == body
    weighted = changed(body, ("settings", "class_weight"), {"0": 1.0, "1": 2})
    assert read(tmp_path, weighted) == weighted


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("files",), []),
        (("files", "target"), None),
        (("files", "weights"), 3),
        (("files", "val"), ["a"]),
        (("files", "drop"), [1]),
        (("settings",), None),
        (("settings", "prefer"), "best"),
        (("settings", "prefer"), {"rule": []}),
        (("settings", "prefer"), {"max_cost": "9"}),
        (("settings", "class_weight"), [1]),
        (("settings", "class_weight"), {"0": "1"}),
        (("data",), 5),
        (("n_rows",), 0),
        (("n_splits",), "2"),
        (("seed",), -1),
        (("features",), []),
        (("cv",), [1]),
        (("groups",), 3),
        (("history",), 3),
        (("model_choice",), {}),
        (("finish",), 1),
        (("stop_reason",), None),
        (("data_issues",), 0.5),
        (("data_issues",), [{"message": 1}]),
        (("versions",), {"numpy": 2}),
    ],
)
def test_a_fact_that_breaks_its_rule_is_refused_by_name(tmp_path, body, path, value):
    with pytest.raises(FileError):
        read(tmp_path, changed(body, path, value))


def test_features_must_be_those_of_the_front(tmp_path, fitted, body):
    copied = shutil.copytree(fitted.folder, tmp_path / "own")
    read(copied, {**body, "features": ["a", "b"]})
    with pytest.raises(FileError, match="'features'"):
        Run.open(copied)


def test_a_cascade_with_other_classes_than_the_front_is_refused(tmp_path, fitted):
    copied = shutil.copytree(fitted.folder, tmp_path / "own")
    make_cascade(classes=("well", "ill")).save(copied / "cascade.json")
    with pytest.raises(FileError, match=r"cascade\.json"):
        _ = Run.open(copied).chosen
