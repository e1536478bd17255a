"""Build the documentation site, and check that it works from disk.

python tools/site.py               build into build/site; open build/site/index.html
python tools/site.py --no-gallery  do not run the examples: quicker, no pictures

It installs nothing and needs no network; first run `pip install '.[all,docs]'`. Warnings are
errors, and so are broken links and pages that load anything from another host. The gate builds the
site without the gallery.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
HARMLESS = {"canonical", "next", "prev", "search", "index", "genindex"}  # of <link>: nothing loads


def problems_of(site: Path) -> list[str]:
    """Find everything that would fail on a page opened from disk, one sentence each."""
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    problems = []
    for path, text in texts.items():
        for tag, inside in re.findall(r"<(a|iframe|img|link|script|source)\b([^>]*)>", text):
            values = dict(re.findall(r'(\w+)="([^"]*)"', inside))
            address = unescape(values.get("href") or values.get("src") or "#")
            if values.get("rel") not in HARMLESS and (why := _broken(tag, address, path, texts)):
                what = "links to" if tag == "a" else "loads"
                problems.append(f"{path.relative_to(site).as_posix()} {what} {address}: {why}.")
    return problems


def _broken(tag: str, address: str, path: Path, texts: dict[Path, str]) -> str:
    """Reason why an address on a page is broken; empty if it works."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        if tag == "a":
            works = parts.scheme in ("https", "mailto") and (parts.netloc or parts.path)
            return "" if works else "not an https address"
        return "" if parts.scheme == "data" else "from another host"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "no such file"
    place = unquote(parts.fragment)
    if (
        place
        and target in texts
        and not re.search(rf'\b(id|name)="{re.escape(place)}"', texts[target])
    ):
        return "no such place on that page"
    return ""


def main() -> int:
    """Build and check the site; 0 if all is well."""
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-E", "-W", "--keep-going", "-n", "-q"]
    old = [SITE, ROOT / "docs" / "api" / "generated"]  # whose pages may be gone from the sources
    if "--no-gallery" in sys.argv[1:]:
        old.append(ROOT / "docs" / "gallery")
        command += ["-D", "plot_gallery=0"]
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)
    command += ["-d", f"{SITE}-doctrees", str(ROOT / "docs"), str(SITE)]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        print("The site was not built: Sphinx found problems.", file=sys.stderr)
        return 1
    problems = problems_of(SITE)
    print(*problems, f"Open {SITE / 'index.html'}", sep="\n")
    return int(bool(problems))


if __name__ == "__main__":
    raise SystemExit(main())
