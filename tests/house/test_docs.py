"""Every code block of the README and the docs runs, and every link leads somewhere."""

import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
import typer

import emsco
from emsco import metrics, paid_features, scoring, search
from emsco.app import cli
from emsco_lab import compare, datasets, rivals

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = ("docs/gallery/", "docs/api/generated/", "docs/commands.md")
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "examples" / "README.md"]
    if not path.relative_to(ROOT).as_posix().startswith(GENERATED)
)
PATH = {f"docs/{name}.md" for name in ("start", "choose", "sign", "run")}  # test_path.py runs these
FENCE = re.compile(r"^( *)```(\S*)[^\n`]*\n(.*?)^\1```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page, *languages):
    fenced = [Block(kind, textwrap.dedent(text)) for _, kind, text in FENCE.findall(read(page))]
    return [block for block in fenced if not languages or block.language in languages]


def commands(page):
    """The command lines in the blocks of a page, as words."""
    lines = []
    for block in blocks(page, "console", "bash", "text"):
        joined = block.text.replace("\\\n", " ")
        lines += [line for line in joined.splitlines() if re.match(r"\w", line)]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def mentions(page):
    """The commands that a page names between backticks, perhaps without an option's value."""
    spans = re.findall(r"`((?:emsco|python) [^`]+)`", FENCE.sub("", read(page)))
    return [shlex.split(span) for span in spans]


def prose_of(page):
    """A page without its blocks and without code between backticks."""
    return re.sub(r"`[^`\n]*`", "`code`", FENCE.sub("", read(page)))


@pytest.mark.usefixtures("short_searches")
@pytest.mark.parametrize("page", [p for p in PAGES if p not in PATH and blocks(p, "python")])
def test_the_python_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples write files
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace = {}
    for block in blocks(page, "python"):
        exec(compile(block.text, page, "exec"), namespace)


def test_every_command_that_a_page_names_exists_with_its_options():
    for words in [words for page in PAGES for words in commands(page) if words[0] == "emsco"]:
        parse(words)
    pages = [page for page in PAGES if page != "CHANGELOG.md"]  # it names what is gone
    for words in [words for page in pages for words in mentions(page) if words[0] == "emsco"]:
        command, rest = find(words)
        context = command.context_class(command)
        known = {flag for parameter in command.get_params(context) for flag in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= known, words


APPLICATION = typer.main.get_command(cli.app)


def find(words):
    """The command that a line runs, and the words after its name."""
    command, rest = APPLICATION, words[1:]
    while rest and hasattr(command, "commands"):
        assert rest[0] in command.commands, f"no command {rest[0]}: {' '.join(words)}"
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def parse(words):
    """Parse a line without running it: an unknown command or option raises."""
    command, rest = find(words)
    _, left, _ = command.make_parser(command.context_class(command)).parse_args(list(rest))
    assert not left, f"too many arguments: {' '.join(words)}"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that commands of the docs read, small and seeded."""
    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, size=160)
    table = pd.DataFrame(
        rng.normal(size=(160, 5)) + np.outer(ill, [0.4, 0.8, 1.2, 1.6, 2.0]),
        columns=["age", "pressure", "iron", "glucose", "scan"],
    )
    label = np.where(ill == 1, "yes", "no")
    heart = table.assign(disease=label)
    heart.insert(0, "id", range(160))
    heart.to_csv(tmp_path / "heart.csv", index=False)
    later = heart[:40].assign(**{name: table[name][:40] + 0.01 for name in table})
    later.to_csv(tmp_path / "march.csv", index=False)
    heart[:40].drop(columns="disease").to_csv(tmp_path / "new.csv", index=False)
    heart[:40][["id", "age", "iron"]].mask(table[:40] > 1).to_csv(
        tmp_path / "rows.csv", index=False
    )
    state = np.where(ill == 1, "severe", "mild")
    table.assign(w=1 + ill, state=state).to_csv(tmp_path / "visits.csv", index=False)
    costs = pd.DataFrame({"feature": list(table), "cost": [1, 2, 30, 40, 60]})
    costs.to_csv(tmp_path / "costs.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("short_searches")
@pytest.mark.filterwarnings("default:.*took part in the search")  # its new rows are the old ones
@pytest.mark.parametrize(
    "page",
    [
        "docs/guides/terminal.md",
        "docs/guides/monitoring.md",
        pytest.param("docs/guides/problems.md", marks=pytest.mark.thorough),
    ],
)
def test_the_commands_of_a_page_run_in_order(page, files, emsco):
    lines = [words for words in commands(page) if words[0] == "emsco" and len(words) > 3]
    known = ("fit", "front", "decide", "evaluate", "monitor")
    steps = [words for words in lines if words[1] in known]
    assert len(steps) >= 3
    for words in lines:
        result = emsco(*words[1:])
        assert result.exit_code == 0, f"{' '.join(words)}: {result.output}"


def slug(heading):
    """The anchor of a heading, as GitHub and MyST make it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)}


def source_of(path):
    """The file that a link leads to; a build makes the gallery and the page of commands."""
    if path == DOCS / "commands.md":
        return DOCS / "commands_page.py"
    if path == DOCS / "report.md":
        return ROOT / "lab" / "REPORT.md"  # which the page includes
    if path.suffix == ".rst" and path.is_relative_to(DOCS / "gallery"):
        made_from = ROOT / "examples" / path.relative_to(DOCS / "gallery")
        return (
            made_from.with_suffix(".py")
            if path.stem != "index"
            else made_from.parent / "GALLERY_HEADER.rst"
        )
    return path


def leads_somewhere(page, target):
    """Whether a link of a page leads to a file, a heading or a server."""
    parts = urlsplit(target)
    if parts.scheme:
        return parts.scheme == "https" and re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.netloc)
    path = (ROOT / page).parent / parts.path if parts.path else ROOT / page
    path = source_of(path.resolve())
    return path.exists() and (not parts.fragment or parts.fragment in anchors(path))


def test_every_link_leads_somewhere():
    links = [
        (page, target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(page))
    ]
    assert len(links) > 100
    assert [link for link in links if not leads_somewhere(*link)] == []


def test_the_reference_has_every_public_name():
    page = read("docs/api/index.md")
    listed = set(re.findall(r"^   (\w+)$", page, flags=re.MULTILINE))
    modules = (emsco, compare, datasets, metrics, paid_features, rivals, scoring, search)
    public = {name for module in modules for name in module.__all__}
    constants = {name for name in public if name.isupper() and name not in rivals.__all__}
    assert public - constants <= listed
