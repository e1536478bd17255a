"""Documents: a failed write leaves the old file, and a damaged file is refused in words."""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.documents import ROWS, TRUTH, assert_same_cascade, put
from support.handmade import make_cascade, make_front

from emsco import Cascade, FileError, ParetoFront
from emsco.cascade.format import FORMAT, OLDEST

pytestmark = pytest.mark.usefixtures("without_fsync")


class TestWriting:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "c.json"
        make_cascade(seed=0).save(path)
        return path

    @pytest.mark.parametrize("where", ["os.fsync", "pathlib.Path.replace"])
    @pytest.mark.parametrize(
        "failure",
        [
            OSError(28, "No space left on device"),
            KeyboardInterrupt("Ctrl-C"),
        ],
        ids=["full disk", "Ctrl-C"],
    )
    def test_that_fails_leaves_the_old_file_whole_and_nothing_else(
        self, path, monkeypatch, where, failure
    ):
        def fail(*_):
            raise failure

        before = path.read_bytes()
        monkeypatch.setattr(where, fail)
        with pytest.raises((FileError, KeyboardInterrupt)):
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

    def test_by_cutting_anywhere_is_found(self, valid):
        kind, path, content = valid
        for n in reversed(range(0, len(content.rstrip()), 5)):
            os.truncate(path, n)
            with pytest.raises(FileError):
                kind.load(path)

    def test_of_a_single_bit_is_found_or_changes_nothing(self, tmp_path):
        path, cascade = tmp_path / "valid.json", make_cascade()
        cascade.save(path)
        content, n_found = path.read_bytes(), 0
        with path.open("r+b", buffering=0) as file:
            for i in range(0, 8 * len(content), 19):
                os.pwrite(file.fileno(), bytes([content[i // 8] ^ 1 << i % 8]), i // 8)
                try:
                    assert_same_cascade(Cascade.load(path), cascade)
                except FileError:
                    n_found += 1
                os.pwrite(file.fileno(), content[i // 8 : i // 8 + 1], i // 8)
        assert n_found > 0.9 * 8 * len(content) / 19

    def test_of_a_value_is_found_by_the_checksum(self, valid):
        kind, path, content = valid
        path.write_bytes(content.replace(b'"min_confidence": 0.8', b'"min_confidence": 0.7'))
        with pytest.raises(FileError):
            kind.load(path)

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\x80\x04\x95garbage\xff\xfe\x00",
            nested(100_000).encode(),
            b"1" * 5000,
            b"[" + b"[]," * 600_000,
            b'{"emsco": NaN}',
            b"[-Infinity]",
            b'{"a": 1, "a": 1}',
            b"null",
            b"[]",
            b'"cascade"',
            b'{"emsco": ["cascade"]}',
            b'{"emsco": "checkpoint"}',
            b"age,pulse\n1,2\n",
        ],
        ids=lambda one: repr(one[:20]),
    )
    @pytest.mark.parametrize("kind", KINDS)
    def test_of_any_kind_is_found(self, tmp_path, kind, content):
        path = tmp_path / "damaged.json"
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"damaged\.json"):
            kind.load(path)

    def test_by_nesting_of_any_depth_is_found(self, tmp_path):
        path = tmp_path / "deep.json"
        for depth in range(800, 1000, 10):
            body = f'{{"features":{nested(depth)}}}'
            digest = hashlib.sha256(body.encode()).hexdigest()
            put(
                path,
                f'{{"emsco":"cascade","format":{FORMAT},"sha256":"{digest}","body":{body}}}'.encode(),
            )
            with pytest.raises(FileError, match=r"deep\.json"):
                Cascade.load(path)

    def test_by_a_pickle_is_found_and_nothing_is_executed(self, tmp_path):
        path, made = tmp_path / "bomb.json", tmp_path / "executed"
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            path.write_bytes(pickle.dumps(Bomb(made), protocol))
            for kind in KINDS:
                with pytest.raises(FileError, match=r"bomb\.json"):
                    kind.load(path)
        assert not made.exists()
        pickle.loads(path.read_bytes())
        assert made.exists()

    def test_by_size_is_found_before_it_is_read(self, valid, monkeypatch):
        kind, path, content = valid
        monkeypatch.setattr("emsco._base.documents._LARGEST_FILE", len(content) - 1)
        with pytest.raises(FileError):
            kind.load(path)

    def test_a_file_of_the_other_kind_is_refused(self, valid):
        kind, path, _ = valid
        other = Cascade if kind is ParetoFront else ParetoFront
        with pytest.raises(FileError):
            other.load(path)

    def test_a_file_of_an_older_format_is_refused(self, valid):
        kind, path, content = valid
        path.write_bytes(content.replace(_format(FORMAT), _format(OLDEST - 1)))
        with pytest.raises(FileError):
            kind.load(path)


def _format(number):
    return f'"format": {number}'.encode()
