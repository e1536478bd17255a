"""The lock on a folder: one at a time, whoever ends however, and nothing is left behind."""

import errno
import subprocess
import sys
import threading
import time

import pytest

from emsco._base import locks
from emsco._base.locks import locked_folder
from emsco.errors import FileError

COUNT = """
import sys, time
from pathlib import Path
from emsco._base.locks import locked_folder
file = Path(sys.argv[1]) / "count"
for _ in range(int(sys.argv[2])):
    with locked_folder(file.parent):
        number = int(file.read_text())
        time.sleep(0.001)
        file.write_text(str(number + 1))
"""
HOLD = """
import sys, time
from pathlib import Path
from emsco._base.locks import locked_folder
with locked_folder(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


def python(script, *words, **how):
    return subprocess.Popen([sys.executable, "-c", script, *map(str, words)], **how)


def test_processes_that_count_together_lose_nothing(tmp_path):
    (tmp_path / "count").write_text("0")
    counting = [python(COUNT, tmp_path, 50) for _ in range(4)]
    assert [one.wait(60) for one in counting] == [0] * 4
    assert (tmp_path / "count").read_text() == "200"
    assert [one.name for one in tmp_path.iterdir()] == ["count"]


def test_threads_wait_for_each_other_too(tmp_path):
    (tmp_path / "count").write_text("0")

    def count():
        for _ in range(25):
            with locked_folder(tmp_path):
                number = int((tmp_path / "count").read_text())
                time.sleep(0.0005)
                (tmp_path / "count").write_text(str(number + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (tmp_path / "count").read_text() == "100"


def test_who_waits_too_long_is_told_and_a_killed_owner_owns_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_SAY_AFTER", 0.05)
    with python(HOLD, tmp_path, stdout=subprocess.PIPE) as owner:
        assert owner.stdout.readline() == b"locked\n"
        with (
            pytest.warns(UserWarning, match=r"^waiting for another emsco process that is chan"),
            pytest.raises(FileError),
            locked_folder(tmp_path, patience=0.2),
        ):
            pass
        owner.kill()
    with locked_folder(tmp_path, patience=5):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_block_may_lock_its_folder_again_and_an_error_unlocks_it(tmp_path):
    with pytest.raises(ZeroDivisionError), locked_folder(tmp_path), locked_folder(tmp_path / "."):
        raise ZeroDivisionError
    with locked_folder(tmp_path, patience=0):
        assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has another call")
def test_a_file_system_without_locks_is_used_with_a_warning(tmp_path, monkeypatch):
    def has_none(*_given):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", has_none)
    with (
        pytest.warns(UserWarning, match="has no locks: let one process at a time change that"),
        locked_folder(tmp_path),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    def refuse(*_given):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    monkeypatch.setattr("os.access", lambda *_given: False)
    with (
        pytest.raises(FileError),
        locked_folder(tmp_path),
    ):
        pass


def test_there_is_nothing_to_lock_in_a_folder_that_does_not_exist(tmp_path):
    with locked_folder(tmp_path / "none"):
        assert not (tmp_path / "none").exists()
