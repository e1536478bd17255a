"""Files of cascades: these come back bit for bit, their models put together when asked for."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support.documents import (
    CASCADE_BODY,
    FRONT_BODY,
    LABELS,
    ODD_NAMES,
    ROWS,
    TRUTH,
    assert_same_cascade,
    load_body,
    saved,
    whole,
)
from support.handmade import (
    assert_same_bits,
    cascades_and_rows,
    make_assessed_front,
    make_cascade,
    make_front,
    make_rich_cascade,
    make_rich_rows,
)

from emsco import Cascade, FileError, ParetoFront
from emsco.cascade import format as formats
from emsco.cascade.format import FORMAT, StoredModels

pytestmark = pytest.mark.usefixtures("without_fsync")


class TestCascades:
    @pytest.mark.parametrize("classes", LABELS.values(), ids=LABELS)
    def test_come_back_with_labels_of_every_type(self, tmp_path, classes):
        cascade = make_cascade(classes=classes)
        loaded = saved(cascade, tmp_path)
        assert_same_cascade(loaded, cascade)
        assert_same_bits(loaded.decide(ROWS), cascade.decide(ROWS))

    @pytest.mark.parametrize("names", ODD_NAMES.values(), ids=ODD_NAMES)
    def test_come_back_with_features_of_every_name(self, tmp_path, names):
        cascade = make_cascade(names=names)
        assert_same_cascade(saved(cascade, tmp_path), cascade)

    @pytest.mark.parametrize(
        "costs", [(0.1, 0.2, 0.7, 0), (1 / 3, np.pi, 1e-9, 1e99), (1, 2, 3, 4)]
    )
    def test_come_back_with_costs_to_the_last_bit(self, tmp_path, costs):
        cascade = make_cascade(costs=costs)
        loaded = saved(cascade, tmp_path)
        assert_same_cascade(loaded, cascade)
        assert loaded.stage_costs.tobytes() == cascade.stage_costs.tobytes()

    @given(cascades_and_rows())
    @settings(
        max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    def test_decide_as_before_to_the_last_bit(self, tmp_path, drawn):
        cascade, rows = drawn
        loaded = saved(cascade, tmp_path)
        assert_same_cascade(loaded, cascade)
        assert_same_bits(loaded.decide(rows), cascade.decide(rows))

    @pytest.mark.parametrize("gaps", ["refuse", "impute", "skip"])
    @pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
    def test_come_back_with_classes_groups_categories_and_calibration(self, tmp_path, kind, gaps):
        cascade = make_rich_cascade(kind, gaps)
        loaded = saved(cascade, tmp_path)
        assert_same_cascade(loaded, cascade)
        rows = make_rich_rows(50)
        rows = rows.dropna() if gaps == "refuse" else rows
        assert_same_bits(loaded.decide(rows), cascade.decide(rows))
        assert loaded.predict_proba(rows).tolist() == cascade.predict_proba(rows).tolist()

    def test_are_readable_text_that_names_its_writer(self, tmp_path):
        make_cascade(names=("Größe", "b", "c", "d")).save(tmp_path / "c.json")
        document = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
        assert (document["emsco"], document["format"]) == ("cascade", FORMAT)
        assert document["written_by"].startswith("emsco ")
        assert document["body"]["stages"][0]["buys"] == ["Größe", "b"]
        assert "Größe" in (tmp_path / "c.json").read_text(encoding="utf-8")

    def test_have_read_only_arrays_after_loading(self, tmp_path):
        loaded = saved(make_cascade(), tmp_path)
        for array in (*loaded.models.arrays[:4], loaded.classes, loaded.costs.costs):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    @pytest.mark.parametrize(
        ("classes", "said"),
        [
            (np.array([1j, 2j]), "[1j, 2j]"),
            (np.array([b"a", b"b"]), "[b'a', b'b']"),
            (np.array([(1,), (2,), 0], dtype=object)[:2], "[(1,), (2,)]"),
            (np.array([1.0, np.inf]), "[1.0, inf]"),
        ],
    )
    def test_with_labels_that_no_file_can_hold_are_not_saved(self, tmp_path, classes, said):
        sentence = f"classes must be numbers, text or truth values to be saved, got {said}."
        with pytest.raises(FileError, match=whole(sentence)):
            make_cascade(classes=classes).save(tmp_path / "c.json")
        assert list(tmp_path.iterdir()) == []

    def test_with_weights_that_no_file_can_hold_are_not_saved(self, tmp_path):
        cascade = make_cascade()
        weights = np.full_like(cascade.models.coefs, np.nan)
        broken = replace(cascade, models=replace(cascade.models, coefs=weights))
        sentence = "a cascade must hold finite numbers only to be written."
        with pytest.raises(FileError, match=whole(sentence)):
            broken.save(tmp_path / "c.json")
        assert list(tmp_path.iterdir()) == []


def test_deciding_needs_neither_scikit_learn_nor_its_dependencies(tmp_path):
    cascade, front = make_cascade(), make_front().with_seen(ROWS, TRUTH)
    cascade.save(tmp_path / "cascade.json")
    front.save(tmp_path / "front.json")
    code = dedent("""
        import sys
        for name in ("sklearn", "scipy", "joblib", "pandas", "polars", "moocore"):
            sys.modules[name] = None
        from emsco import Cascade, ParetoFront
        import numpy as np
        cascade, front = Cascade.load("cascade.json"), ParetoFront.load("front.json")
        rows = np.random.default_rng(0).normal(size=(60, 4), scale=1.5)
        same = front.cascade(0).decide(rows)
        case = cascade.open()
        while case.needs:
            case.give(dict.fromkeys(case.needs, 0.5))
        run = cascade.run(range(60), lambda names, ids: {name: [0.5] * len(ids) for name in names})
        print(cascade.decide(rows).confidence.tobytes().hex())
        print(same.confidence.tobytes().hex(), case.decision.stage, run.stage.max())
    """)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second, one, many = done.stdout.split()
    assert first == cascade.decide(ROWS).confidence.tobytes().hex()
    assert second == front.cascade(0).decide(ROWS).confidence.tobytes().hex()
    assert one == many


# Models of a file: put together when asked for, and never much larger than the file


def test_models_of_a_front_are_put_together_when_asked_for(tmp_path):
    front, loaded = make_assessed_front(), load_body(tmp_path, ParetoFront, FRONT_BODY)
    models = loaded.models.of_points
    assert isinstance(models, StoredModels)
    assert len(models) == len(front) == len(models[:])
    for one, other in zip(models, front.models.of_points, strict=True):
        assert np.array_equal(one.coefs, other.coefs)
        assert np.array_equal(one.reads, other.reads)
    assert np.array_equal(models[-1].coefs, models[1].coefs)
    with pytest.raises(IndexError, match="out of range"):
        models[2]


def test_stages_of_far_more_weights_than_the_file_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_FREE_WEIGHTS", 14)
    monkeypatch.setattr(formats, "_MOST_TIMES", 1)
    rule = "must be stages of at most 14 weights, those of inputs not bought included, got '15'"
    with pytest.raises(FileError, match=f"'stages' {rule}"):
        load_body(tmp_path, Cascade, CASCADE_BODY)
    monkeypatch.setattr(formats, "_MOST_TIMES", 2)
    assert load_body(tmp_path, Cascade, CASCADE_BODY).n_stages == 3


def test_more_stages_than_a_design_can_have_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "MOST_STAGES", 2)
    with pytest.raises(FileError, match="'stages' must be at most 2 stages, got '3'"):
        load_body(tmp_path, Cascade, copy.deepcopy(CASCADE_BODY))
