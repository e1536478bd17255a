"""Mutants: how they are drawn, and whether a test kills them."""

from __future__ import annotations

import ast

import mutants
import pytest

PROJECT = """
[tool.emsco.mutants.toy]
killed = "4 of 4"
seed = 0
code = ["src"]
tests = ["test_toy.py"]
"""
CODE = """
def is_adult(age):
    return age >= 18

def is_late(day):
    return day > 5
"""
TESTS = """
from toy import is_adult, is_late

def test_age():
    assert is_adult(18)

def test_day():
    assert is_late(9)
"""


@pytest.fixture
def toy(tmp_path):
    """A project whose only room has one function tested well, and one tested badly."""
    (tmp_path / "src").mkdir()
    files = {"pyproject.toml": PROJECT, "src/toy.py": CODE, "test_toy.py": TESTS}
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_a_seed_repeats_its_draw():
    one, same, other = (
        [str(mutant) for mutant in mutants.draw(mutants.ROOT, ["src/emsco/costs"], 20, seed)]
        for seed in (0, 0, 1)
    )
    assert one == same != other


def test_a_mutant_changes_one_line():
    for mutant in mutants.draw(mutants.ROOT, ["src/emsco/costs/paid.py"], 50, 0):
        text = (mutants.ROOT / mutant.path).read_bytes()
        before, after = (
            ast.unparse(ast.parse(code)).splitlines() for code in (text, mutant.apply(text))
        )
        assert sum(old != new for old, new in zip(before, after, strict=True)) == 1


def test_only_tests_that_look_kill(toy, capsys):
    assert mutants.main(["toy", "--jobs", "2"], toy) == 1
    said = capsys.readouterr().out
    assert said.count("killed   src/toy.py:3") == said.count("SURVIVED src/toy.py:6") == 2
    assert mutants.main(["toy", "--record", "--count", "1", "--seed", "2"], toy) == 0
    assert ' of 1"\nseed = 2\n' in (toy / "pyproject.toml").read_text("utf-8")
