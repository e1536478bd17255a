"""The facts of a run: a file with a right checksum and wrong values is refused by name."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from support.documents import changed
from support.handmade import make_cascade

from emsco._base.documents import document_text
from emsco.app.runs.run import FORMAT, Run, read_about
from emsco.errors import FileError

UP = "must be a whole number from"


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
    ("path", "value", "said"),
    [
        (("files",), [], "'files' must be an object, got []"),
        (("files", "target"), None, "'files', 'target' must be text, got None"),
        (("files", "weights"), 3, "'files', 'weights' must be text, got 3"),
        (("files", "val"), ["a"], "'files', 'val' must be text, got ['a']"),
        (("files", "drop"), [1], "'files', 'drop' must be a list of different names, got [1]"),
        (("settings",), None, "'settings' must be an object, got None"),
        (("settings", "prefer"), "best", "'settings', 'prefer' must be a rule that deploys"),
        (("settings", "prefer"), {"rule": []}, "'settings', 'prefer' must be a rule that deploys"),
        (("settings", "prefer"), {"max_cost": "9"}, "'prefer' must be a rule that deploys"),
        (("settings", "class_weight"), [1], "'class_weight' must be text, an object of labels and"),
        (("settings", "class_weight"), {"0": "1"}, "'class_weight', '0' must be a finite number"),
        (("data",), 5, "'data' must be text, got 5"),
        (("n_rows",), 0, f"'n_rows' {UP} 1 up, got 0"),
        (("n_splits",), "2", f"'n_splits' {UP} 1 up, got '2'"),
        (("seed",), -1, f"'seed' {UP} 0 up, got -1"),
        (("features",), [], "'features' must be a list of different names, got []"),
        (("cv",), [1], "'cv' must be a number, text or null, got [1]"),
        (("groups",), 3, "'groups' must be text, got 3"),
        (("model_choice",), {}, "'model_choice' must have 'in_words', got []"),
        (("finish",), 1, "'finish' must be an object, got 1"),
        (("stop_reason",), None, "'stop_reason' must be text, got None"),
        (("data_issues",), 0.5, "'data_issues' must be a list, got 0.5"),
        (("data_issues",), [{"message": 1}], "'data_issues' 0, 'message' must be text, got 1"),
        (("versions",), {"numpy": 2}, "'versions', 'numpy' must be text, got 2"),
    ],
)
def test_a_fact_that_breaks_its_rule_is_refused_by_name(tmp_path, body, path, value, said):
    with pytest.raises(FileError, match=f"^'.*run.json', 'body', .*{re.escape(said)}"):
        read(tmp_path, changed(body, path, value))


def test_every_fact_must_be_there(tmp_path, body):
    for name in body:
        lacking = {key: value for key, value in body.items() if key != name}
        with pytest.raises(FileError, match=f"'body' must have '{name}', got"):
            read(tmp_path, lacking)


def test_features_must_be_those_of_the_front(tmp_path, fitted, body):
    own = shutil.copytree(fitted.folder, tmp_path / "own")
    read(own, {**body, "features": ["a", "b"]})
    with pytest.raises(FileError, match=r"run.json', 'features' must be those of front.json, got"):
        Run.open(own)


def test_a_cascade_with_other_classes_than_the_front_is_refused(tmp_path, fitted):
    own = shutil.copytree(fitted.folder, tmp_path / "own")
    make_cascade(classes=("well", "ill")).save(own / "cascade.json")
    with pytest.raises(FileError, match=r"cascade.json' must have the classes of front.json, got"):
        _ = Run.open(own).chosen
