"""The site is built from local files only, and its check finds what would fail from disk."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest
import typer

from emsco.app import cli

ROOT = Path(__file__).parents[2]
CONF = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")


def module_at(path, name, monkeypatch):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(monkeypatch):
    return module_at(ROOT / "tools" / "site.py", "site_tool", monkeypatch)


def setting(name):
    for node in ast.parse(CONF).body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == name for t in node.targets):
            return ast.literal_eval(node.value)
    raise AssertionError(f"docs/conf.py does not set {name}")


def test_no_extension_of_the_site_needs_a_network():
    assert set(setting("extensions")) == {
        "myst_parser",
        "numpydoc",
        "sphinx.ext.autodoc",
        "sphinx.ext.autosummary",
        "sphinx_gallery.gen_gallery",
    }
    assert "http" not in CONF


def test_search_results_are_not_fetched_because_a_page_from_disk_cannot_fetch():
    assert setting("html_show_search_summary") is False


def test_a_page_that_works_from_disk_has_no_problems(site, tmp_path):
    (tmp_path / "style.css").write_text("a { color: red }")
    (tmp_path / "b.html").write_text('<p id="there">x</p>')
    (tmp_path / "a.html").write_text(
        '<link rel="stylesheet" href="style.css?v=1"><link rel="canonical" href="https://x.org/a">'
        '<a href="b.html#there">b</a><a href="#">top</a><a href="https://example.org/">out</a>'
    )
    assert site.problems_of(tmp_path) == []


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<script src="https://cdn.example.org/x.js"></script>', "from another host"),
        ('<script src="//cdn.example.org/x.js"></script>', "from another host"),
        ('<link rel="stylesheet" href="https://fonts.example.org/f">', "from another host"),
        ('<img src="https://example.org/badge.svg">', "from another host"),
        ('<script src="gone.js"></script>', "no such file"),
        ('<a href="gone.html">x</a>', "no such file"),
        ('<a href="#gone">x</a>', "no such place on that page"),
        ('<a href="http://example.org">x</a>', "not an https address"),
    ],
)
def test_a_page_that_would_fail_from_disk_is_named(site, tmp_path, html, said):
    (tmp_path / "page.html").write_text(html)
    (problem,) = site.problems_of(tmp_path)
    assert problem.startswith("page.html ")
    assert said in problem


def test_a_style_that_loads_a_font_from_another_host_is_named(site, tmp_path):
    (tmp_path / "style.css").write_text("@font-face { src: url(https://fonts.example.org/f) }")
    assert site.problems_of(tmp_path) == ["style.css loads from another host."]


def test_the_page_of_commands_has_every_command_and_every_option(monkeypatch):
    page = module_at(ROOT / "docs" / "commands_page.py", "commands_page", monkeypatch).page()
    sections = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
    group = typer.main.get_command(cli.app)
    study = group.commands["reproduce"]
    commands = {f"emsco {name}": one for name, one in group.commands.items()}
    commands |= {f"emsco reproduce {name}": one for name, one in study.commands.items()}
    assert set(sections) == set(commands)
    for name, command in commands.items():
        options = [option for one in command.params for option in one.opts if "--" in option]
        assert [option for option in options if f"`{option}`" not in sections[name]] == [], name
    assert "commands_page.page()" in CONF  # every build of the site writes it anew
