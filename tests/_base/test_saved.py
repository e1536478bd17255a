"""Cascades and fronts come back from a file bit for bit."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support.documents import FRONT_BODY, ROWS, TRUTH, assert_same_cascade, load_body, saved, whole
from support.handmade import (
    assert_same_bits,
    cascades_and_rows,
    make_assessed_front,
    make_balanced_front,
    make_cascade,
    make_front,
    make_rich_cascade,
    make_rich_rows,
    make_rows,
)

from emsco import FileError, NoSuchDesign, ParameterError, ParetoFront
from emsco.cascade.format import FORMAT

pytestmark = pytest.mark.usefixtures("without_fsync")

LABELS = {
    "int": np.array([0, 1]),
    "int8": np.array([-1, 1], dtype=np.int8),
    "uint64": np.array([7, 2**64 - 1], dtype=np.uint64),
    "bool": np.array([False, True]),
    "float": np.array([0.1, 2.0]),
    "float32": np.array([0.1, 1 / 3], dtype=np.float32),
    "float16": np.array([0.1, 3], dtype=np.float16),
    "str": np.array(["benign", "bösartig “x”"]),
    "object of str": np.array(["no", "yes"], dtype=object),
    "object of many": np.array([1, "one"], dtype=object),
}
ODD_NAMES = {
    "spaces": ("blood pressure", " ", "", "\t\n"),
    "umlauts": ("Größe", "naïve", "温度", "🩺"),
    "quotes": ('a "b"', "c'd", "e\\f", "{}[],:"),
    "surrogates": ("\ud800", "\udfff", "a\udc80", "\ud83d\ude00"),
    "nothing but look-alikes": ("1", "1.0", "null", "NaN"),
    "nul": ("a\0", "\0", "a", "b\0c"),
}


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
        found = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
        assert (found["emsco"], found["format"]) == ("cascade", FORMAT)
        assert found["written_by"].startswith("emsco ")
        assert found["body"]["stages"][0]["buys"] == ["Größe", "b"]
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


class TestFronts:
    @pytest.mark.parametrize("label", LABELS)
    @pytest.mark.parametrize("tested", [False, True])
    def test_come_back_with_points_cascades_and_tests(self, tmp_path, label, tested):
        front = make_front(LABELS[label])
        if tested and label != "object of many":  # which cannot be sorted
            front = front.with_seen(ROWS, LABELS[label][TRUTH])
        loaded = saved(front, tmp_path)
        assert loaded.points == front.points
        assert loaded.seen == front.seen
        assert (loaded.proven, loaded.min_confidence, loaded.by_fitness) == (True, 0.8, False)
        for i in range(2):
            assert_same_cascade(loaded.cascade(i), front.cascade(i))
            assert_same_bits(loaded.cascade(i).decide(ROWS), front.cascade(i).decide(ROWS))

    def test_of_the_papers_search_keep_their_fittest(self, tmp_path):
        front = replace(make_front(), by_fitness=True)
        assert saved(front, tmp_path).fittest() == front[0]

    def test_come_back_with_their_metric(self, tmp_path):
        front = make_balanced_front()
        loaded = saved(front, tmp_path)
        assert loaded.points == front.points
        assert loaded.metric == "balanced_accuracy"
        assert saved(make_front(), tmp_path).metric == "accuracy"

    def test_without_a_word_on_their_order_are_read_as_ours(self, tmp_path):
        body = {name: value for name, value in FRONT_BODY.items() if name != "by_fitness"}
        assert not load_body(tmp_path, ParetoFront, body).by_fitness

    @pytest.mark.parametrize("names", ODD_NAMES.values(), ids=ODD_NAMES)
    def test_come_back_with_features_of_every_name(self, tmp_path, names):
        front = make_front(names=names).with_seen(ROWS, TRUTH)
        loaded = saved(front, tmp_path)
        assert (loaded.points, loaded.seen) == (front.points, front.seen)

    def test_come_back_with_what_was_found_row_by_row(self, tmp_path):
        front = make_assessed_front().with_seen(ROWS, TRUTH)
        loaded = saved(front, tmp_path)
        assert (loaded.points, loaded.metric) == (front.points, "accuracy")
        assert (loaded.references, loaded.seen_references) == (
            front.references,
            front.seen_references,
        )
        assert len(loaded.seen_references) == 3
        assert_same_cascade(loaded.everything(), front.everything())
        assert (loaded.shortlist(), loaded.economical()) == ([1], front.economical())

    def test_are_tested_by_the_cascade_of_each_point(self):
        front = make_front().with_seen(ROWS, TRUTH)
        assert front.seen == tuple(front.cascade(i).evaluate(ROWS, TRUTH) for i in range(2))
        assert front.seen[0] != front.seen[1]
        assert make_front().seen is None

    @pytest.mark.parametrize("scale", [1, 1000])  # so far out that every stage is certain
    def test_come_back_with_tests_of_weighted_rows(self, tmp_path, scale):
        for seed in range(20):
            rows, front = scale * make_rows(60, seed=seed), make_front()
            weights = np.random.default_rng(seed).random(60) ** 8
            front = front.with_seen(rows, front.cascade(0).decide(rows).guesses, weights)
            assert saved(front, tmp_path).seen == front.seen

    def test_show_scored_and_seen_figures_apart(self, tmp_path):
        front = saved(make_front().with_seen(ROWS, TRUTH), tmp_path)
        table = front.to_pandas()
        assert table["coverage"].tolist() == [0.9, 0.75]
        for name in ("coverage", "accuracy", "cost"):
            assert table[f"seen {name}"].tolist() == [getattr(test, name) for test in front.seen]
        assert front.to_polars().columns == table.columns.tolist()
        assert not [name for name in make_front().to_pandas() if name.startswith("test")]

    def test_from_a_file_tell_the_only_design_of_a_point_and_refuse_to_make_up_more(self, tmp_path):
        front = saved(make_front(n_tied=(1, 12345)), tmp_path)
        assert list(front.ties(0)) == [front[0].design]
        sentence = (
            "ties must be asked of the front that a search returned, got one from a file, which "
            "holds 1 of the 12,345 designs; search again to list them."
        )
        with pytest.raises(NoSuchDesign, match=whole(sentence)):
            front.ties(front[1])

    def test_with_more_ties_than_float64_can_count_come_back(self, tmp_path):
        front = saved(make_front(n_tied=(2**53 + 1, 2**63 - 1)), tmp_path)
        assert [point.n_tied for point in front] == [2**53 + 1, 2**63 - 1]

    def test_choose_and_select_after_loading_as_before(self, tmp_path):
        front = make_front()
        loaded = saved(front, tmp_path)
        assert loaded.balanced() == front.balanced()
        assert loaded.select(max_cost=30) == front.select(max_cost=30) == front[0]
        assert repr(loaded) == repr(front)

    def test_without_fitted_stages_are_neither_saved_nor_deployed(self, tmp_path):
        full = make_front()
        bare = ParetoFront(full.points, full.costs, 0.8)
        sentence = "a front must have fitted models to be saved, got one without any."
        with pytest.raises(FileError, match=whole(sentence)):
            bare.save(tmp_path / "front.json")
        assert list(tmp_path.iterdir()) == []
        sentence = (
            "a cascade needs fitted models, got a front without any; take one from "
            "EMSCOClassifier.front_ or ParetoFront.load."
        )
        with pytest.raises(ParameterError, match=whole(sentence)):
            bare.cascade(0)
        with pytest.raises(ParameterError, match=whole(sentence)):
            bare.with_seen(ROWS, TRUTH)


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
