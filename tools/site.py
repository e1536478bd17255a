"""Build the documentation site, and check that it works from disk.

python tools/site.py               build into build/site; open build/site/index.html
python tools/site.py --no-gallery  do not run the examples: quicker, no pictures
python tools/site.py --check DIR   only check a site that was built before

It installs nothing and needs no network; first run `pip install '.[all,docs]'`. Warnings are
errors, and so are broken links and pages that load anything from another host. The gate builds the
site without the gallery.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
HARMLESS = {"canonical", "next", "prev", "search", "index", "genindex"}  # of <link>: nothing loads


@dataclass
class Page(HTMLParser):
    """Files that one page loads, its links, and its anchors."""

    text: str
    loads: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Parse the text."""
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect addresses and anchors."""
        values = {name: value for name, value in attrs if value}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        address = values.get(LOADS.get(tag, ""))
        if address and not (tag == "link" and values.get("rel") in HARMLESS):
            self.loads.append(address)


def problems_of(site: Path) -> list[str]:
    """Find everything that would fail on a page opened from disk, one sentence each."""
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    problems = []
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for address in page.loads:
            if urlsplit(address).netloc or urlsplit(address).scheme in ("http", "https"):
                problems.append(f"{name} loads {address} from another host.")
            elif why := _missing(path, address, pages):
                problems.append(f"{name} loads {address}: {why}.")
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if parts.scheme not in ("https", "mailto") or not (parts.netloc or parts.path):
                    problems.append(f"{name} links to {address}: not an https address.")
            elif why := _missing(path, address, pages):
                problems.append(f"{name} links to {address}: {why}.")
    for style in sorted(site.rglob("*.css")):
        text = style.read_text(encoding="utf-8")
        if "url(http" in text or "url(//" in text or "@import url(" in text:
            problems.append(f"{style.relative_to(site).as_posix()} loads from another host.")
    return problems


def _missing(path: Path, address: str, pages: dict[Path, Page]) -> str:
    """Reason why a relative address is broken; empty if it works."""
    parts = urlsplit(address)
    if parts.scheme == "data" or address == "#":
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "no such file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return "no such place on that page"
    return ""


def build(out: Path, gallery: bool) -> int:
    """Run Sphinx with warnings as errors; return its exit code."""
    # Pages of the last build that are gone from the sources would be pages that nothing leads to.
    shutil.rmtree(ROOT / "docs" / "api" / "generated", ignore_errors=True)
    if (out / ".buildinfo").is_file():
        shutil.rmtree(out)
    if not gallery:
        shutil.rmtree(ROOT / "docs" / "gallery", ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-E", "-W", "--keep-going", "-n", "-q"]
    if not gallery:
        command += ["-D", "plot_gallery=0"]
    command += ["-d", str(out.parent / f"{out.name}-doctrees"), str(ROOT / "docs"), str(out)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main(arguments: list[str] | None = None) -> int:
    """Build and check the site; 0 if all is well."""
    parser = argparse.ArgumentParser(description="Build the documentation site and check it.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", metavar="DIR")
    parser.add_argument("--no-gallery", action="store_true", help="do not run the examples")
    parser.add_argument("--check", type=Path, metavar="DIR", help="only check this site")
    asked = parser.parse_args(arguments)
    site = (asked.check or asked.out).resolve()
    if asked.check is None and build(site, gallery=not asked.no_gallery):
        print("The site was not built: Sphinx found problems.", file=sys.stderr)
        return 1
    problems = problems_of(site)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"Problems found: {len(problems)}.", file=sys.stderr)
        return 1
    print(f"Open {site / 'index.html'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
