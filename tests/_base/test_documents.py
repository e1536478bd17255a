"""Documents: a failed write leaves the old file, and a damaged file is refused in words."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.documents import ROWS, TRUTH, assert_same_cascade, put, whole
from support.handmade import make_cascade, make_front

from emsco import Cascade, FileError, ParetoFront
from emsco.cascade.format import FORMAT, OLDEST

pytestmark = pytest.mark.usefixtures("without_fsync")

NOWHERE = Path("no such folder")
NUL = (
    "embedded null byte" if sys.version_info < (3, 13) else "lstat: embedded null character in path"
)


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

    def test_removes_what_killed_processes_left_of_the_same_file_a_day_ago(self, path):
        names = ["c.json.1-2.tmp", "c.json.3-4.tmp", "d.json.1-2.tmp", "c.json.mine.tmp"]
        left = [path.with_name(name) for name in names]
        for file in left:
            file.touch()
        for file in (left[0], *left[2:]):
            os.utime(file, (0, time.time() - 90_000))
        make_cascade(seed=1).save(path)
        assert sorted(path.parent.iterdir()) == sorted([path, *left[1:]])

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
            ("a\0b", rf"'a\x00b' ({NUL})"),
            (None, "'None' (expected str, bytes or os.PathLike object, not NoneType)"),
            ("x" * 300, f"{'x' * 300!r} (File name too long)"),
        ],
        ids=["no folder", "folder", "nul", "None", "long"],
    )
    def test_to_a_path_that_cannot_be_a_file_is_refused(self, tmp_path, monkeypatch, name, said):
        monkeypatch.chdir(tmp_path)
        sentence = f"path must be a file that can be written, got {said}."
        with pytest.raises(FileError, match=whole(sentence)):
            make_cascade().save(name)
        assert list(tmp_path.iterdir()) == []


class Bomb:
    """An object that makes a folder when it is unpickled."""

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
        """Return a class, the path of its file, and the content of that file."""
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
            with pytest.raises(FileError, match="must be valid JSON, got a damaged"):
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
        said = "valid.json' must be unchanged since it was written, got a wrong checksum."
        with pytest.raises(FileError, match=f"{re.escape(said)}$"):
            kind.load(path)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "be valid JSON, got a damaged file (Expecting value"),
            (
                b"\x80\x04\x95garbage\xff\xfe\x00",
                "be valid JSON, got a damaged file ('utf-8' codec",
            ),
            (bytes(range(256)) * 20, "be valid JSON, got a damaged file"),
            (nested(100_000).encode(), "be valid JSON, got a damaged file (it is nested too"),
            (b"1" * 5000, "be valid JSON, got a damaged file (a number has 5,000 digits)"),
            (
                b"[" + b"[]," * 600_000,
                "be valid JSON, got a damaged file (its values would take 77 MB",
            ),
            (b'{"emsco": NaN}', "be valid JSON, got a damaged file (NaN is not a JSON number)"),
            (b"[-Infinity]", "be valid JSON, got a damaged file (-Infinity is not a JSON number)"),
            (b'{"a": 1, "a": 1}', "be valid JSON, got a damaged file (an object has the same name"),
            (b"null", "hold an emsco K, got none."),
            (b"[]", "hold an emsco K, got none."),
            (b'"cascade"', "hold an emsco K, got none."),
            (b'{"emsco": ["cascade"]}', "hold an emsco K, got none."),
            (b'{"emsco": "checkpoint"}', "hold an emsco K, got an emsco checkpoint."),
            (b'{"emsco": "' + b"x" * 1000 + b'"}', f"hold an emsco K, got an emsco {'x' * 60}."),
            (b"age,pulse\n1,2\n", "be valid JSON, got a damaged file"),
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
                path,
                f'{{"emsco":"cascade","format":{FORMAT},"sha256":"{digest}","body":{body}}}'.encode(),
            )
            with pytest.raises(FileError, match=r"deep\.json'.* must be (valid|a list of dif)"):
                Cascade.load(path)

    def test_by_a_pickle_is_found_and_nothing_is_executed(self, tmp_path):
        path, made = tmp_path / "bomb.json", tmp_path / "executed"
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            path.write_bytes(pickle.dumps(Bomb(made), protocol))
            for kind in KINDS:
                with pytest.raises(FileError, match=r"bomb\.json' must be valid JSON"):
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
        path.write_bytes(content.replace(_format(FORMAT), _format(FORMAT + 1)))
        said = rf"must have format {FORMAT} or older, got {FORMAT + 1}, .*; install a newer"
        with pytest.raises(FileError, match=said):
            kind.load(path)

    def test_a_file_of_an_older_format_is_refused(self, valid):
        kind, path, content = valid
        path.write_bytes(content.replace(_format(FORMAT), _format(OLDEST - 1)))
        said = rf"must have format {OLDEST} or newer, got {OLDEST - 1}, .*; fit and save"
        with pytest.raises(FileError, match=said):
            kind.load(path)


def _format(number):
    return f'"format": {number}'.encode()
