"""Files of cascades: these come back bit for bit, their models put together when asked for."""

from __future__ import annotations

import copy
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
    PROTOCOL_BODY,
    ROWS,
    TRUTH,
    assert_same_cascade,
    at,
    body_of,
    changed,
    load_body,
    paths_of,
    saved,
)
from support.handmade import (
    assert_same_bits,
    cascades_and_rows,
    make_assessed_front,
    make_cascade,
    make_front,
    make_protocol,
    make_rich_cascade,
    make_rich_rows,
)

from emsco import Cascade, Design, FileError, ParetoFront
from emsco._base.documents import document_text
from emsco.cascade import format as formats
from emsco.cascade.format import OLDEST, StoredModels
from emsco.designs.questions import Question
from emsco.models.stage_models import JoinedModels

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
    def test_come_back_with_classes_groups_and_categories(self, tmp_path, gaps):
        cascade = make_rich_cascade(gaps)
        loaded = saved(cascade, tmp_path)
        assert_same_cascade(loaded, cascade)
        rows = make_rich_rows(50)
        rows = rows.dropna() if gaps == "refuse" else rows
        assert_same_bits(loaded.decide(rows), cascade.decide(rows))
        assert loaded.predict_proba(rows).tolist() == cascade.predict_proba(rows).tolist()

    def test_have_read_only_arrays_after_loading(self, tmp_path):
        loaded = saved(make_cascade(), tmp_path)
        for array in (*loaded.models.arrays[:4], loaded.classes, loaded.costs.costs):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    @pytest.mark.parametrize(
        "classes",
        [
            np.array([1j, 2j]),
            np.array([b"a", b"b"]),
            np.array([(1,), (2,), 0], dtype=object)[:2],
            np.array([1.0, np.inf]),
        ],
    )
    def test_with_labels_that_no_file_can_hold_are_not_saved(self, tmp_path, classes):
        with pytest.raises(FileError):
            make_cascade(classes=classes).save(tmp_path / "c.json")
        assert list(tmp_path.iterdir()) == []

    def test_with_weights_that_no_file_can_hold_are_not_saved(self, tmp_path):
        cascade = make_cascade()
        weights = np.full_like(cascade.models.coefs, np.nan)
        broken = replace(cascade, models=replace(cascade.models, coefs=weights))
        with pytest.raises(FileError):
            broken.save(tmp_path / "c.json")
        assert list(tmp_path.iterdir()) == []


FIRST = ("branches", 0, "questions", 0)
LAST = ("branches", 1, "questions", 1)


class TestDesignsThatBranch:
    @pytest.mark.parametrize("n_models", [1, 3])
    def test_come_back_and_decide_as_before_to_the_last_bit(self, tmp_path, n_models):
        cascade = make_protocol(n_models=n_models)
        loaded = saved(cascade, tmp_path)
        assert_same_cascade(loaded, cascade)
        assert_same_bits(loaded.decide(ROWS), cascade.decide(ROWS))
        assert_same_cascade(saved(loaded, tmp_path), cascade)

    def test_come_back_with_questions_about_categories_and_labels(self, tmp_path):
        whole = make_rich_cascade(gaps="impute")
        names = whole.design.names
        of_parts = (-1, 0, -1, -1), (-1, -1, -1, 0), (-1, -1, -1, -1)
        parts = [Design(stages, names, (0.5,)) for stages in of_parts]
        questions = (Question("ward", among=("A", "ICU")), Question(None, among=("ill",)))
        trunk = Design((0, -1, 0, -1), names, ({"ill": 0.9, "unclear": 1, "well": 0.8},))
        design = Design.branching(trunk, questions, parts)
        reads = design.subsets()[:, whole.encoding.input_feature]
        coefs = np.where(reads[:, None], whole.models.coefs[:1, :, 1:], 0.0)
        coefs = np.concatenate([np.zeros((4, 3, 1)), coefs], axis=2)
        pieces = [
            replace(
                whole.models,
                scaling=replace(whole.models.scaling, mean=whole.models.scaling.mean + j),
                reads=reads[j : j + 1],
                coefs=coefs[j : j + 1],
            )
            for j in range(4)
        ]
        models = JoinedModels(tuple(pieces), (0, 4, 2, 9))
        cascade = replace(whole, design=design, models=models)
        loaded, rows = saved(cascade, tmp_path), make_rich_rows(50)
        assert_same_cascade(loaded, cascade)
        assert_same_bits(loaded.decide(rows), cascade.decide(rows))

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ((*FIRST, "column"), "pulse"),
            ((*FIRST, "column"), "height"),
            (("branches", 1, "questions", 0, "column"), "biopsy"),
            (FIRST, {"column": "age", "among": ["x"]}),
            (LAST, {"column": None, "among": [0, 7]}),
            (LAST, {"column": None, "at_most": 1.5}),
            (("stages", 3, "models"), []),
            (("stages", 3, "models"), [1]),
            (("stages", 2, "bank"), 3),
            (("stages", 2, "bank"), 6),
            (("stages", 2, "bank"), None),
            (("stages", 6, "buys"), ["biopsy"]),
            (("stages", 3, "thresholds"), None),
            (("banks",), []),
            (("banks", 0, "parts"), []),
            (("banks", 0, "parts"), CASCADE_BODY["parts"] * 2),
            (("banks", 4, "parts", 0, "mean"), [0]),
        ],
    )
    def test_that_cannot_be_are_refused_by_name(self, tmp_path, path, value):
        with pytest.raises(FileError):
            load_body(tmp_path, Cascade, changed(PROTOCOL_BODY, path, value))

    @pytest.mark.parametrize(
        "question",
        [
            {"column": "ward", "at_most": 1},
            {"column": "ward", "among": ["A", "B "]},
            {"column": "ward", "among": [1]},
            {"column": "potassium", "at_most": 1},
            {"column": "smokes"},
            {"column": None, "among": ["sick"]},
        ],
    )
    def test_with_questions_that_nothing_answers_are_refused(self, tmp_path, question):
        body = body_of(make_rich_cascade())
        branch = {"after": 0, "questions": [question], "parts": [1, 2], "usual": 0}
        body["stages"].append(body["stages"][1])
        with pytest.raises(FileError):
            load_body(tmp_path, Cascade, {**body, "branches": [branch]})
        branch["questions"] = [{"column": "ward", "among": ["ICU"]}]
        assert load_body(tmp_path, Cascade, {**body, "branches": [branch]}).n_stages == 3

    def test_need_every_field(self, tmp_path):
        for path in paths_of(PROTOCOL_BODY):
            lacking = copy.deepcopy(PROTOCOL_BODY)
            del at(lacking, path[:-1])[path[-1]]
            # Without 'at_most', a question asks whether the value is missing; a path may end early.
            if path[-1] != "at_most" and path != ("stages", 7):
                with pytest.raises(FileError, match=r"body\.json"):
                    load_body(tmp_path, Cascade, lacking)


def test_files_of_chains_are_those_of_format_7(tmp_path):
    assert {"bank", "banks", "branches"}.isdisjoint(CASCADE_BODY)
    assert {*CASCADE_BODY["stages"][0]} == {"buys", "thresholds", "models"}
    text = document_text("cascade", OLDEST, CASCADE_BODY)
    (tmp_path / "old.json").write_text(text)
    assert_same_cascade(Cascade.load(tmp_path / "old.json"), make_cascade())


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
    with pytest.raises(FileError):
        load_body(tmp_path, Cascade, CASCADE_BODY)
    monkeypatch.setattr(formats, "_MOST_TIMES", 2)
    assert load_body(tmp_path, Cascade, CASCADE_BODY).n_stages == 3
