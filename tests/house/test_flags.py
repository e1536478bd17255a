"""Flags are named on the command line's side only."""

import ast
import re
from functools import cache
from pathlib import Path

import emsco

ROOT = Path(emsco.__file__).parent
BELOW = sorted(path for path in ROOT.rglob("*.py") if "cli" not in path.relative_to(ROOT).parts)
FLAG = re.compile(r"(?<![\w-])--(?!no-deps\b)[a-z]")  # that one is pip's


@cache
def nodes(path):
    """The syntax tree of a module, flat."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def texts(path):
    """Every string of a module, docstrings and parts of f-strings included."""
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_text_below_the_command_line_names_a_flag():
    named = [(path.name, text) for path in BELOW for text in texts(path) if FLAG.search(text)]
    assert named == []


def test_flags_would_be_found(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('"""Use --out."""\nx = f"{1} --resume goes on"\ny = "a -- b"\n')
    assert len([text for text in texts(module) if FLAG.search(text)]) == 2


def called(node):
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def is_plain_text(node):
    """Whether a call makes a ParameterError of a sentence alone."""
    names = {keyword.arg for keyword in node.keywords}
    text_alone = len(node.args) == 1 and not isinstance(node.args[0], ast.Starred)
    return text_alone and "parameter" not in names


def test_every_parameter_error_names_its_parameter():
    """By `refused` or by a part of its message; never by the words of a sentence."""
    calls = [
        (path.name, node)
        for path in BELOW
        for node in nodes(path)
        if called(node) == "ParameterError"
    ]
    assert [(name, node.lineno) for name, node in calls if is_plain_text(node)] == []
