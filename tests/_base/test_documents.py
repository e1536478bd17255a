"""Files: what is saved comes back bit by bit, and what is damaged or false is refused in words."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.handmade import (
    NAMES,
    assert_same_bits,
    cascades_and_rows,
    make_cascade,
    make_front,
    make_rich_cascade,
    make_rich_rows,
    make_rows,
)

from emsco import Cascade, FileError, NoSuchDesign, ParameterError, ParetoFront
from emsco._base.documents import document_text

ROWS = make_rows(60)
TRUTH = np.random.default_rng(1).integers(0, 2, size=60)
NOWHERE = Path("no such folder")

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


@pytest.fixture(autouse=True)
def in_memory(monkeypatch):
    """Disks are slow, and these tests pull no plug."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def whole(sentence):
    return f"^{re.escape(sentence)}$"


def put(path, content):
    path.unlink(missing_ok=True)  # some disks take their time to overwrite a file
    path.write_bytes(content)


def assert_same_cascade(some, other):
    assert some.design == other.design
    assert (some.costs.names, some.min_confidence) == (other.costs.names, other.min_confidence)
    assert some.classes.dtype == other.classes.dtype
    assert some.classes.tolist() == other.classes.tolist()
    assert some.encoding.to_dict() == other.encoding.to_dict()
    assert some.costs.evaluation == other.costs.evaluation
    for one, two in (
        (some.costs.costs, other.costs.costs),
        *zip(some.models.arrays, other.models.arrays, strict=True),
    ):
        assert one.dtype == two.dtype
        assert one.tobytes() == two.tobytes()
    assert some.stages.identity == other.stages.identity


def saved(thing, folder):
    """What comes back from a file."""
    path = folder / "saved.json"
    thing.save(path)
    return type(thing).load(path)


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
        max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
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
        assert (found["emsco"], found["format"]) == ("cascade", 3)
        assert found["written_by"].startswith("emsco ")
        assert found["body"]["stages"][0]["buys"] == ["Größe", "b"]
        assert "Größe" in (tmp_path / "c.json").read_text(encoding="utf-8")

    def test_lock_what_was_loaded(self, tmp_path):
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

    def test_without_a_word_on_their_order_are_read_as_ours(self, tmp_path):
        body = {name: value for name, value in FRONT_BODY.items() if name != "by_fitness"}
        assert not load_body(tmp_path, ParetoFront, body).by_fitness

    @pytest.mark.parametrize("names", ODD_NAMES.values(), ids=ODD_NAMES)
    def test_come_back_with_features_of_every_name(self, tmp_path, names):
        front = make_front(names=names).with_seen(ROWS, TRUTH)
        loaded = saved(front, tmp_path)
        assert (loaded.points, loaded.seen) == (front.points, front.seen)

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

    def test_show_validation_and_test_apart(self, tmp_path):
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
        assert loaded.select(max_cost=10) == front.select(max_cost=10) == front[1]
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


class TestWriting:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "c.json"
        make_cascade(seed=0).save(path)
        return path

    @pytest.mark.parametrize("where", ["os.fsync", "pathlib.Path.replace"])
    @pytest.mark.parametrize(
        ("failure", "said"),
        [
            (OSError(28, "No space left on device"), r"No space left on device\)\.$"),
            (KeyboardInterrupt("Ctrl-C"), "^Ctrl-C$"),
        ],
        ids=["full disk", "Ctrl-C"],
    )
    def test_that_fails_leaves_the_old_file_whole_and_nothing_else(
        self, path, monkeypatch, where, failure, said
    ):
        def fail(*_):
            raise failure

        before = path.read_bytes()
        monkeypatch.setattr(where, fail)
        with pytest.raises((FileError, KeyboardInterrupt), match=said):
            make_cascade(seed=1).save(path)
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]

    def test_shows_the_new_file_only_when_it_is_on_the_disk(self, path, monkeypatch):
        before, seen = path.read_bytes(), []
        sync = os.fsync

        def look(handle):
            seen.append(path.read_bytes() == before)
            sync(handle)

        monkeypatch.setattr("os.fsync", look)
        make_cascade(seed=1).save(path)
        assert seen == [True, False]  # the file, then the folder with its new name

    def test_by_many_threads_at_once_leaves_one_of_their_files(self, path):
        cascades = [make_cascade(seed=seed) for seed in range(8)]
        with ThreadPoolExecutor(8) as threads:
            for done in [threads.submit(one.save, path) for one in cascades * 3]:
                done.result()
        loaded = Cascade.load(path)
        identities = {cascade.stages.identity for cascade in cascades}
        assert loaded.stages.identity in identities
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            (NOWHERE / "c.json", "'no such folder/c.json' (No such file or directory)"),
            (".", "'.' (Is a directory)"),
            ("a\0b", r"'a\x00b' (embedded null byte)"),
            (None, "'None' (expected str, bytes or os.PathLike object, not NoneType)"),
            ("x" * 300, f"{'x' * 300!r} (File name too long)"),
        ],
        ids=["no folder", "folder", "nul", "None", "long"],
    )
    def test_to_what_is_no_file_is_refused_in_words(self, tmp_path, monkeypatch, name, said):
        monkeypatch.chdir(tmp_path)
        sentence = f"path must be a file that can be written, got {said}."
        with pytest.raises(FileError, match=whole(sentence)):
            make_cascade().save(name)
        assert list(tmp_path.iterdir()) == []


class Bomb:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def nested(depth):
    return "[" * depth + "]" * depth


KINDS = [Cascade, ParetoFront]


class TestDamage:
    @pytest.fixture(params=KINDS)
    def valid(self, request, tmp_path):
        """A class, the path of a file of it, and what it holds."""
        path = tmp_path / "valid.json"
        one = make_cascade() if request.param is Cascade else make_front().with_seen(ROWS, TRUTH)
        one.save(path)
        return request.param, path, path.read_bytes()

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("name", "said"),
        [
            (NOWHERE / "c.json", "'no such folder/c.json' (No such file or directory)"),
            (".", "'.' (Is a directory)"),
            ("a\0b", r"'a\x00b' (embedded null byte)"),
            (None, "'None' (expected str, bytes or os.PathLike object, not NoneType)"),
        ],
        ids=["missing", "folder", "nul", "None"],
    )
    def test_of_the_path_is_told_in_words(self, kind, name, said):
        sentence = f"path must be a file that can be read, got {said}."
        with pytest.raises(FileError, match=whole(sentence)):
            kind.load(name)

    def test_by_cutting_anywhere_is_found(self, valid):
        kind, path, content = valid
        for n in reversed(range(len(content.rstrip()))):
            os.truncate(path, n)
            with pytest.raises(FileError, match="must be whole JSON, got a damaged"):
                kind.load(path)

    def test_of_a_single_bit_is_found_or_changes_nothing(self, tmp_path):
        path, cascade = tmp_path / "valid.json", make_cascade()
        cascade.save(path)
        content, n_found = path.read_bytes(), 0
        with path.open("r+b", buffering=0) as file:
            for i in range(0, 8 * len(content), 3):
                os.pwrite(file.fileno(), bytes([content[i // 8] ^ 1 << i % 8]), i // 8)
                try:
                    assert_same_cascade(Cascade.load(path), cascade)
                except FileError:
                    n_found += 1
                os.pwrite(file.fileno(), content[i // 8 : i // 8 + 1], i // 8)
        assert n_found > 0.9 * 8 * len(content) / 3

    def test_of_a_value_is_found_by_the_checksum(self, valid):
        kind, path, content = valid
        path.write_bytes(content.replace(b'"min_confidence": 0.8', b'"min_confidence": 0.7'))
        said = "valid.json' must be as it was written, got a body that does not fit its checksum."
        with pytest.raises(FileError, match=f"{re.escape(said)}$"):
            kind.load(path)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "be whole JSON, got a damaged file (Expecting value"),
            (
                b"\x80\x04\x95garbage\xff\xfe\x00",
                "be whole JSON, got a damaged file ('utf-8' codec",
            ),
            (bytes(range(256)) * 20, "be whole JSON, got a damaged file"),
            (nested(100_000).encode(), "be whole JSON, got a damaged file (maximum recursion"),
            (b"1" * 5000, "be whole JSON, got a damaged file (Exceeds the limit"),
            (b'{"emsco": NaN}', "be whole JSON, got a damaged file (NaN is no number of JSON)"),
            (b"[-Infinity]", "be whole JSON, got a damaged file (-Infinity is no number of JSON)"),
            (b'{"a": 1, "a": 1}', "be whole JSON, got a damaged file (a name comes twice"),
            (b"null", "hold an emsco K, got none."),
            (b"[]", "hold an emsco K, got none."),
            (b'"cascade"', "hold an emsco K, got none."),
            (b'{"emsco": ["cascade"]}', "hold an emsco K, got none."),
            (b'{"emsco": "checkpoint"}', "hold an emsco K, got an emsco checkpoint."),
            (b'{"emsco": "' + b"x" * 1000 + b'"}', f"hold an emsco K, got an emsco {'x' * 60}."),
            (b"age,pulse\n1,2\n", "be whole JSON, got a damaged file"),
        ],
        ids=lambda one: "" if isinstance(one, str) else repr(one[:20]),
    )
    @pytest.mark.parametrize("kind", KINDS)
    def test_of_any_kind_is_told_in_words(self, tmp_path, kind, content, said):
        path = tmp_path / "damaged.json"
        path.write_bytes(content)
        said = said.replace(" K,", f" {'cascade' if kind is Cascade else 'front'},")
        with pytest.raises(FileError, match=f"^'.*damaged.json' must {re.escape(said)}"):
            kind.load(path)

    def test_by_nesting_of_any_depth_is_found(self, tmp_path):
        path = tmp_path / "deep.json"
        for depth in range(800, 1000):
            body = f'{{"features":{nested(depth)}}}'
            digest = hashlib.sha256(body.encode()).hexdigest()
            put(
                path, f'{{"emsco":"cascade","format":3,"sha256":"{digest}","body":{body}}}'.encode()
            )
            with pytest.raises(FileError, match=r"deep\.json'.* must be (whole|a list of dif)"):
                Cascade.load(path)

    def test_by_a_pickle_is_found_and_nothing_is_executed(self, tmp_path):
        path, made = tmp_path / "bomb.json", tmp_path / "executed"
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            path.write_bytes(pickle.dumps(Bomb(made), protocol))
            for kind in KINDS:
                with pytest.raises(FileError, match=r"bomb\.json' must be whole JSON"):
                    kind.load(path)
        assert not made.exists()
        pickle.loads(path.read_bytes())
        assert made.exists()

    def test_by_size_is_found_before_it_is_read(self, valid, monkeypatch):
        kind, path, content = valid
        monkeypatch.setattr("emsco._base.documents._LARGEST_FILE", len(content) - 1)
        said = f"valid.json' must be at most {len(content) - 1:,} bytes, got more."
        with pytest.raises(FileError, match=f"{re.escape(said)}$"):
            kind.load(path)

    def test_a_file_of_the_other_kind_is_refused(self, valid):
        kind, path, _ = valid
        other, names = (ParetoFront, "front, got an emsco cascade")
        if kind is ParetoFront:
            other, names = (Cascade, "cascade, got an emsco front")
        with pytest.raises(FileError, match=f"valid.json' must hold an emsco {names}."):
            other.load(path)

    def test_a_file_of_a_newer_format_is_refused(self, valid):
        kind, path, content = valid
        path.write_bytes(content.replace(b'"format": 3', b'"format": 4'))
        said = (
            r"valid.json' must have format 3 or older, got 4, written by emsco .*; install a newer"
        )
        with pytest.raises(FileError, match=said):
            kind.load(path)

    def test_a_file_of_an_older_format_is_refused(self, valid):
        kind, path, content = valid
        path.write_bytes(content.replace(b'"format": 3', b'"format": 2'))
        said = r"valid.json' must have format 3 or newer, got 2, written by emsco .*; fit and save"
        with pytest.raises(FileError, match=said):
            kind.load(path)


def body_of(thing):
    """What a file of it holds, as plain values."""
    with TemporaryDirectory() as folder:
        thing.save(Path(folder) / "one.json")
        return json.loads((Path(folder) / "one.json").read_bytes())["body"]


CASCADE_BODY = body_of(make_cascade())
RICH_BODIES = [body_of(make_rich_cascade("sigmoid")), body_of(make_rich_cascade("isotonic"))]
FRONT_BODY = body_of(make_front().with_seen(ROWS, TRUTH))


def paths_of(value, path=()):
    """Where every value of a tree is, the root left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in inner:
        yield (*path, key)
        if isinstance(child, (dict, list)):
            yield from paths_of(child, (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def changed(tree, path, value):
    tree = copy.deepcopy(tree)
    at(tree, path[:-1])[path[-1]] = value
    return tree


def load_body(folder, kind, body):
    """Load such a body, with a checksum that fits it."""
    text = document_text("cascade" if kind is Cascade else "front", 3, body)
    put(folder / "body.json", text.encode(errors="surrogatepass"))
    return kind.load(folder / "body.json")


N, P, T = ("stages", 1), ("points", 0, "scored"), ("points", 0, "seen")
RANGE = "from -1e+100 to 1e+100"
WRONG_CASCADES = [
    (("features",), list("abcc"), "'features' must be a list of different names"),
    (("features",), [], "'features' must be a list of different names, got []"),
    (("features", 0), 5, "'features' must be a list of different names"),
    (("features",), "abcd", "'features' must be a list, got 'abcd'"),
    (
        ("features", 3),
        "unknown",
        "'features' must be those of the encoding, got ['age', 'pulse', 's",
    ),
    (("costs",), [1, 2, 3], "'costs' must be 4 finite numbers, got [1, 2, 3]"),
    (("costs", 0), -1, "'costs' must be costs that can be used"),
    (("costs",), [0, 0, 0, 0], "'costs' must be costs that can be used"),
    (("costs", 0), 1e101, "'costs' must be costs that can be used"),
    (("costs", 0), "1", "'costs' must be 4 finite numbers"),
    (("costs", 0), True, "'costs' must be 4 finite numbers"),
    (("costs", 0), None, "'costs' must be 4 finite numbers"),
    (("costs", 0), 10**400, "'costs' must be 4 finite numbers"),
    (("mean",), [0] * 5, f"'mean' must be 4 finite numbers {RANGE}, got [0, 0, 0, 0, 0]"),
    (("mean", 1), 1e101, f"'mean' must be 4 finite numbers {RANGE}"),
    (("mean", 1), [0], f"'mean' must be 4 finite numbers {RANGE}"),
    (("deviation", 1), 0, "'deviation' must be 4 finite numbers from 1e-300 to 1e+100"),
    (("deviation", 1), -1.0, "'deviation' must be 4 finite numbers from 1e-300 to 1e+100"),
    (("deviation", 1), 1e-310, "'deviation' must be 4 finite numbers from 1e-300 to 1e+100"),
    (("deviation", 1), 1e101, "'deviation' must be 4 finite numbers from 1e-300 to 1e+100"),
    (("deviation",), {}, "'deviation' must be a list, got {}"),
    (("min_confidence",), 0, "'min_confidence' must be a finite number from 1e-300 to 1, got 0"),
    (("min_confidence",), 1.01, "'min_confidence' must be a finite number from 1e-300 to 1, got"),
    (("min_confidence",), "0.8", "'min_confidence' must be a finite number from 1e-300 to 1, got"),
    (("family",), "forest", "'family' must be 'logistic' or 'estimator', got 'forest'"),
    (("family",), 1, "'family' must be text, got 1"),
    (("classes",), [0, 0], "'classes' must be 2 to 255 different labels, got [0, 0]"),
    (("classes",), [1, True], "'classes' must be 2 to 255 different labels, got [1, True]"),
    (("classes",), [0, 1, 2], "0, 'outputs' must be a list of 3, got '1'"),
    (("classes",), [0], "'classes' must be 2 to 255 different labels, got [0]"),
    (("classes",), [None, 1], "'classes' must be 2 to 255 different labels, got [None, 1]"),
    (("classes",), [[0], [1]], "'classes' must be 2 to 255 different labels, got [[0], [1]]"),
    (("classes",), ["0", "1"], "'classes' must be labels of type int64, got ['0', '1']"),
    (("classes",), [0, 2**63], "'classes' must be labels of type int64, got [0, 9223372036854775"),
    (("classes",), [0, 0.5], "'classes' must be labels of type int64, got [0, 0.5]"),
    (("class_type",), "complex128", "'class_type' must be a type of labels, got 'complex128'"),
    (("class_type",), "U1", "'classes' must be labels of type U1, got [0, 1]"),
    (("class_type",), "O, O", "'class_type' must be a type of labels, got 'O, O'"),
    (("class_type",), 5, "'class_type' must be text, got 5"),
    (("stages",), [], "'stages' must be a list of objects, got []"),
    (("stages",), [1], "'stages' must be a list of objects, got [1]"),
    (("stages",), [{}] * 5, "'stages' must be at most 4 stages, got '5'"),
    (("classes",), list(range(256)), "'classes' must be 2 to 255 different labels, got [0, 1"),
    (("evaluation_cost",), -1, "'evaluation_cost' must be a finite number from 0 up, got -1"),
    (("evaluation_cost",), None, "'evaluation_cost' must be a finite number from 0 up, got None"),
    (("encoding",), [], "'encoding' must be an object, got []"),
    (("encoding", "gaps"), "drop", "'gaps' must be one of refuse, impute, skip, got 'drop'"),
    (("encoding", "features"), ["age"], "1, 'feature' must be one of the features, got 'pulse'"),
    (("encoding", "columns"), [], "'columns' must be a list of objects, got []"),
    (("encoding", "columns", 0, "kind"), "date", "'columns' 0, 'kind' must be"),
    (("encoding", "columns", 0, "feature"), "pulse", "columns of all features, 'age' too"),
    (("encoding", "columns", 0, "name"), "pulse", "'name' must be another one than those before"),
    (("min_confidence",), [0.8], "'min_confidence' must be 2 finite numbers from 1e-300 to 1"),
    (("min_confidence",), [0.8, 0], "'min_confidence' must be 2 finite numbers from 1e-300 to 1"),
    (("stages",), CASCADE_BODY["stages"][1:], "'weights' must be 1 finite numbers"),
    ((*N, "buys"), [], "'stages' 1, 'buys' must be a list of different names, got []"),
    ((*N, "buys"), ["age"], "'stages' 1, 'buys' must be features, each bought once, got 'age'"),
    ((*N, "buys"), ["x"], "'stages' 1, 'buys' must be features, each bought once, got 'x'"),
    (
        (*N, "outputs", 0, "weights"),
        [1, 2],
        f"0, 'weights' must be 3 finite numbers {RANGE}, got [1,",
    ),
    ((*N, "outputs", 0, "weights", 0), 1e308, f"0, 'weights' must be 3 finite numbers {RANGE}"),
    ((*N, "outputs", 0, "weights", 0), False, f"0, 'weights' must be 3 finite numbers {RANGE}"),
    (
        (*N, "outputs", 0, "intercept"),
        [1],
        f"0, 'intercept' must be a finite number {RANGE}, got [1]",
    ),
    (
        (*N, "outputs", 0, "intercept"),
        -1e101,
        f"0, 'intercept' must be a finite number {RANGE}, got -1",
    ),
]
UP = "must be a finite number from 0 up, got"
SHARE = "must be a finite number from 0 to 1, got"
WRONG_FRONTS = [
    (("points",), [], "'points' must be a list of objects, got []"),
    (("points",), {}, "'points' must be a list, got {}"),
    (("points", 1, "seen"), None, "'points' must be evaluated all or none, got '1 evaluations'"),
    (("points", 1, "seen"), [], "'points' 1, 'seen' must be an object, got []"),
    (("proven",), 1, "'proven' must be true or false, got 1"),
    (("by_fitness",), 1, "'by_fitness' must be true or false, got 1"),
    ((*P, "coverage"), 1.5, f"'points' 0, 'scored', 'coverage' {SHARE} 1.5"),
    ((*P, "accuracy"), -0.1, f"'points' 0, 'scored', 'accuracy' {SHARE} -0.1"),
    ((*P, "cost"), -1, f"'points' 0, 'scored', 'cost' {UP} -1"),
    ((*P, "n_tied"), 0, "'n_tied' must be a whole number from 1 up, got 0"),
    ((*P, "n_tied"), 2**63, "'n_tied' must be a whole number from 1 up, got 9223372036854775808"),
    ((*P, "n_tied"), 1.0, "'n_tied' must be a whole number from 1 up, got 1.0"),
    ((*P, "n_rows"), 0, "'scored', 'n_rows' must be above 0, got 0"),
    ((*P, "n_rows"), 30, "'exits' must be 3 finite numbers from 0 to 30, got [40, 30, 20]"),
    ((*P, "exits"), [1, 2], "'exits' must be 3 finite numbers from 0 to 100, got [1, 2]"),
    ((*P, "exits", 0), -1, "'exits' must be 3 finite numbers from 0 to 100, got [-1, 30, 20]"),
    (
        (*P, "correct_exits", 0),
        True,
        "'correct_exits' must be 3 finite numbers from 0 to 100, got [True, 28, 13]",
    ),
    ((*P, "correct_exits", 0), 41, "'correct_exits' must be at most the exits, got [41, 28, 13]"),
    ((*T, "n_rows"), -1, "'points' 0, 'seen', 'n_rows' must be a finite number from 0 up, got -1"),
    ((*T, "coverage"), 2, f"'points' 0, 'seen', 'coverage' {SHARE} 2"),
    ((*T, "accuracy"), "1", f"'points' 0, 'seen', 'accuracy' {SHARE} '1'"),
    ((*T, "cost"), None, f"'points' 0, 'seen', 'cost' {UP} None"),
    (
        (*T, "exits"),
        FRONT_BODY["points"][0]["seen"]["exits"][1:],
        "'exits' must be 4 exits, got '3'",
    ),
    ((*T, "exits", 0, "stage"), 2, "'exits' 0, 'stage' must be 1, as in the design, got 2"),
    ((*T, "exits", 3, "stage"), 4, "'exits' 3, 'stage' must be None, as in the design, got 4"),
    (
        (*T, "exits", 1, "features"),
        ["x"],
        "'features' must be ['scan'], as in the design, got ['x']",
    ),
    ((*T, "exits", 1, "cost"), -1, f"'exits' 1, 'cost' {UP} -1"),
    (
        (*T, "exits", 1, "n_rows"),
        None,
        "'exits' 1, 'n_rows' must be a finite number from 0 up, got N",
    ),
    (
        (*T, "exits", 0, "n_correct"),
        61,
        "'exits' 0, 'n_correct' must be a finite number from 0 to ",
    ),
]


class TestLies:
    """Files whose checksum fits, but whose values no cascade or front can have."""

    @pytest.mark.parametrize(
        ("kind", "path", "value", "said"),
        [
            *[(Cascade, *case) for case in WRONG_CASCADES],
            *[(ParetoFront, *case) for case in WRONG_CASCADES if case[0][0] != "stages"],
            *[(ParetoFront, *case) for case in WRONG_FRONTS],
        ],
        ids=lambda one: "-".join(map(str, one)) if isinstance(one, tuple) else "",
    )
    def test_are_refused_by_name(self, tmp_path, kind, path, value, said):
        body = CASCADE_BODY if kind is Cascade else FRONT_BODY
        with pytest.raises(FileError, match=f"^'.*body.json', .*{re.escape(said)}"):
            load_body(tmp_path, kind, changed(body, path, value))

    @pytest.mark.parametrize("kind", KINDS)
    def test_no_value_may_be_an_object_of_another_make_or_be_left_out(self, tmp_path, kind):
        body = CASCADE_BODY if kind is Cascade else FRONT_BODY
        # One point will do, features may be left out, and older files say nothing of their order.
        optional = {("points", 0), ("points", 1), ("stages", 2), ("by_fitness",)}
        for path in paths_of(body):
            with pytest.raises(FileError, match=r"body\.json'"):
                load_body(tmp_path, kind, changed(body, path, {"some": "thing"}))
            lacking = copy.deepcopy(body)
            del at(lacking, path[:-1])[path[-1]]
            if path not in optional:
                with pytest.raises(FileError, match=r"body\.json'"):
                    load_body(tmp_path, kind, lacking)

    @pytest.mark.parametrize(
        ("kind", "labels"),
        [
            ("float16", [70000.0, 1.0]),
            ("float32", [1e300, 1.0]),
            ("float64", [10**400, 1]),
            ("uint8", [256, 1]),
            ("bool", [2, 0]),
            ("U2", ["abc", "ab"]),
        ],
    )
    def test_labels_that_their_type_cannot_hold_are_refused(self, tmp_path, kind, labels):
        body = CASCADE_BODY | {"classes": labels, "class_type": kind}
        with pytest.raises(FileError, match=f"'classes' must be labels of type {kind}, got "):
            load_body(tmp_path, Cascade, body)

    def test_too_large_numbers_are_found_in_every_place(self, tmp_path):
        content = document_text("cascade", 3, changed(CASCADE_BODY, ("mean", 0), 12345.5))
        (tmp_path / "body.json").write_text(content.replace("12345.5", "1e999"))
        with pytest.raises(FileError, match=r"body.json' must be as it was written"):
            Cascade.load(tmp_path / "body.json")

    def test_an_unknown_field_of_a_friendly_writer_does_no_harm(self, tmp_path):
        loaded = load_body(tmp_path, Cascade, CASCADE_BODY | {"note": "from the ward"})
        assert_same_cascade(loaded, make_cascade())


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([-1, 0, 1, 2**53, 2**63, 10**400, 1e-320, 1e308, -0.0, 0.5])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from([*NAMES, "logistic", "object", "float16", "U3", "\ud800", "\0"])
)
ANY = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def mutated(draw, tree):
    """A tree with some of its values replaced, left out, doubled or swapped."""
    tree = copy.deepcopy(tree)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(paths_of(tree)) or [()]))
        if not path:
            break
        parent, key = at(tree, path[:-1]), path[-1]
        how = draw(st.sampled_from(["replace", "replace", "remove", "double", "copy"]))
        if how == "replace":
            parent[key] = draw(ANY)
        elif how == "remove":
            del parent[key]
        elif how == "double" and isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        else:
            parent[key] = copy.deepcopy(at(tree, draw(st.sampled_from(list(paths_of(tree))))))
    return tree


class TestAnyFile:
    """Whatever stands in a file, it loads into something usable or is refused by a FileError."""

    fuzz = settings(
        max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )

    @given(body=mutated(CASCADE_BODY))
    @fuzz
    def test_of_a_cascade_is_usable_or_refused(self, tmp_path, body):
        try:
            cascade = load_body(tmp_path, Cascade, body)
        except FileError:
            return
        rows = make_rows(5, len(cascade.design.names))
        assert len(cascade.decide(rows)) == 5
        assert cascade.open().needs == cascade.stages.columns[0]
        assert repr(cascade).startswith("Cascade(")
        assert_same_cascade(saved(cascade, tmp_path), cascade)

    @given(body=mutated(RICH_BODIES[0]) | mutated(RICH_BODIES[1]))
    @fuzz
    def test_of_a_cascade_with_everything_is_usable_or_refused(self, tmp_path, body):
        try:
            cascade = load_body(tmp_path, Cascade, body)
        except FileError:
            return
        case = cascade.open()
        while case.needs:
            kinds = [cascade.encoding.kinds[name] for name in case.needs]
            given = [{"number": 1.5, "truth": True, "category": "ICU"}[kind] for kind in kinds]
            case.give(dict(zip(case.needs, given, strict=True)))
        assert repr(cascade).startswith("Cascade(")
        assert_same_cascade(saved(cascade, tmp_path), cascade)

    @given(body=mutated(FRONT_BODY))
    @fuzz
    def test_of_a_front_is_usable_or_refused(self, tmp_path, body):
        try:
            front = load_body(tmp_path, ParetoFront, body)
        except FileError:
            return
        rows = make_rows(5, len(front.costs.names))
        for i in range(len(front)):
            assert len(front.cascade(i).decide(rows)) == 5
        assert front.balanced() in front
        assert front.knee() in front
        assert repr(front).startswith("ParetoFront of ")
        assert saved(front, tmp_path).points == front.points

    @given(
        head=st.dictionaries(
            st.sampled_from(["emsco", "format", "written_by", "sha256", "body"]), ANY, min_size=1
        )
    )
    @fuzz
    def test_with_any_head_is_usable_or_refused(self, tmp_path, head):
        found = json.loads(document_text("cascade", 3, CASCADE_BODY)) | head
        path = tmp_path / "head.json"
        put(path, json.dumps(found).encode())
        try:
            assert_same_cascade(Cascade.load(path), make_cascade())
        except FileError as error:
            assert "head.json" in str(error)  # noqa: PT017

    @given(content=st.binary(max_size=60))
    @fuzz
    def test_of_bytes_is_refused(self, tmp_path, content):
        path = tmp_path / "bytes.json"
        put(path, content)
        for kind in KINDS:
            with pytest.raises(FileError, match=r"bytes\.json' must"):
                kind.load(path)


def test_deciding_needs_neither_scikit_learn_nor_what_comes_with_it(tmp_path):
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
