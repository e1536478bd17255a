"""The ratchet on sizes."""

import subprocess

import pytest
import size

SETTINGS = """[tool.emsco.size]
"src" = {src}
"src/deep" = 5

[tool.emsco.size.until]
"src/old.py" = "until 0.4"
"""


@pytest.fixture
def house(tmp_path, monkeypatch):
    """Two rooms of 5 tokens each, and a file that goes soon."""
    for name in ("src/one.py", "src/deep/two.py", "src/old.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('"""A docstring."""\n\nx = (  # a comment\n    1)\n')
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(size, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["size.py"])
    return tmp_path


@pytest.mark.parametrize(("src", "code"), [(5, 0), (4, 1), (6, 0)])
def test_a_room_that_grew_fails_and_one_that_goes_soon_is_not_counted(house, capsys, src, code):
    (house / "pyproject.toml").write_text(SETTINGS.format(src=src))
    assert size.main() == code
    printed = capsys.readouterr().out
    assert ("src must have at most 4 and 2 %, got 5." in printed) == bool(code)
    assert "not counted: src/old.py, until 0.4" in printed


def test_numbers_are_lowered_and_never_raised(house, monkeypatch):
    (house / "pyproject.toml").write_text(SETTINGS.format(src=9))
    monkeypatch.setattr("sys.argv", ["size.py", "--lower"])
    (house / "src/deep/two.py").write_text("x = 1 + 2\n")
    (house / "src/deep/more.py").write_text("x = 1\n")
    assert size.main() == 1  # 8 tokens in a room of 5
    assert (house / "pyproject.toml").read_text() == SETTINGS.format(src=5)


def test_a_folder_without_a_number_fails(house, capsys):
    (house / "pyproject.toml").write_text(SETTINGS.format(src=5))
    (house / "more").mkdir()
    (house / "more" / "three.py").write_text("x = 1\n")
    assert size.main() == 1
    assert "more must have at most 0" in capsys.readouterr().out
