"""The gallery: runs the examples and writes a page with their source, output and pictures.

python tools/gallery.py                      all of them, to build/gallery
python tools/gallery.py --out DIR SCRIPT ... some of them, to another folder
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIERS = {"quickstart": "Quickstart", "in_depth": "In depth", "paper": "The paper"}
STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
pre{white-space:pre-wrap;padding:.7rem;border-radius:6px;background:rgba(128,128,128,.12);font-size:13px}
img{max-width:100%;background:white;border-radius:6px;margin:.3rem}
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A script that has run: what it printed, and where its pictures are, below the gallery."""

    script: Path
    code: int
    output: str
    pictures: tuple[Path, ...]

    @property
    def title(self) -> str:
        """Its tier and name."""
        return f"{self.script.parent.name}/{self.script.name}"


def all_scripts() -> list[Path]:
    """Every example, in the order of the list that people read."""
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    return [ROOT / "examples" / name for name in re.findall(r"\((\w+/\w+\.py)\)", listed)]


def show(script: Path, out: Path) -> Shown:
    """Run a script in a folder of its own, where its pictures go."""
    folder = out / script.parent.name / script.stem
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    done = subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    pictures = tuple(path.relative_to(out) for path in sorted(folder.glob("*.png")))
    return Shown(script, done.returncode, done.stdout, pictures)


def page(shown: list[Shown]) -> str:
    """All of it as HTML."""
    parts = []
    for tier, name in TIERS.items():
        inside = [section(one) for one in shown if one.script.parent.name == tier]
        if inside:
            parts.append(f"<h2>{name}</h2>{''.join(inside)}")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>emsco: examples</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style></head><body><h1>Examples</h1>{''.join(parts)}</body></html>\n"
    )


def section(one: Shown) -> str:
    """One script: what the reader learns, what it draws, what it prints, and its source."""
    source = one.script.read_text(encoding="utf-8")
    title, _, about = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    paragraphs = "".join(f"<p>{escape(part)}</p>" for part in about.strip().split("\n\n"))
    pictures = "".join(
        f'<img src="{escape(path.as_posix())}" alt="{escape(path.stem)}">' for path in one.pictures
    )
    return (
        f"<h3>{escape(title)}</h3>{paragraphs}{pictures}<pre>{escape(one.output)}</pre>"
        f"<details><summary>{escape(one.title)}</summary><pre>{escape(source)}</pre></details>"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the scripts asked for; 0 if none has failed."""
    parser = argparse.ArgumentParser(description="Run the examples and write a page of them.")
    parser.add_argument("scripts", nargs="*", type=Path, metavar="SCRIPT")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gallery", metavar="DIR")
    asked = parser.parse_args(arguments)
    shown = []
    for script in [path.resolve() for path in asked.scripts] or all_scripts():
        print(f"{script.parent.name}/{script.name}", flush=True)
        shown.append(show(script, asked.out.resolve()))
    index = asked.out / "index.html"
    index.write_text(page(shown), encoding="utf-8")
    print(f"written to {index}")
    for one in shown:
        if one.code:
            print(f"{one.title} failed:\n{one.output}", file=sys.stderr)
    return 1 if any(one.code for one in shown) else 0


if __name__ == "__main__":
    raise SystemExit(main())
