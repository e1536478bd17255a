"""The ratchet: how large each room of the code may be, in tokens of Python.

python tools/size.py            a line for each room; exit code 1 if one grew by more than 2 %
python tools/size.py --lower    lower the numbers in pyproject.toml to what is there now

Comments, docstrings and line breaks are not counted, so neither packing lines nor leaving out a
comment makes code smaller. The numbers stand in pyproject.toml. To raise one, change it by hand, in
a commit of its own that says what it bought. A file or folder that is to go soon stands under
`until`, with what removes it, and is not counted.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
SLACK = 0.02
LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER),
}
WORDS = "words of docs"


def tokens(path: Path) -> int:
    """Count the tokens of a file."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            lines.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    found = depth = 0  # of f-strings, each of which is one token before Python 3.12
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            kind = tokenize.tok_name[token.type]
            found += not depth and token.type not in LAYOUT and token.start[0] not in lines
            depth += (kind == "FSTRING_START") - (kind == "FSTRING_END")
    return found


def files(root: Path) -> Iterator[str]:
    """Files that git has, or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    yield from (name for name in sorted({*listed.stdout.split("\n")}) if (root / name).is_file())


def sizes(root: Path, rooms: set[str], until: set[str]) -> Counter[str]:
    """Tokens of each room, and words of the docs; a file belongs to the deepest room around it."""
    found = Counter[str]()
    for name in files(root):
        path = PurePosixPath(name)
        places = {name, *map(str, path.parents)}
        if path.suffix == ".py" and not places & until:
            room = max(places & rooms, key=len, default=path.parts[0])
            found[room] += tokens(root / name)
        elif path.suffix == ".md" and name != "CHANGELOG.md" and path.parts[0] in ("docs", name):
            found[WORDS] += len((root / name).read_text(encoding="utf-8").split())
    return found


def main() -> int:
    """Print the sizes; 1 if a room is too large or has no number."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lower", action="store_true", help="lower the numbers to what is there")
    asked = parser.parse_args()
    settings = ROOT / "pyproject.toml"
    text = settings.read_text(encoding="utf-8")
    given = tomllib.loads(text)["tool"]["emsco"]["size"]
    until, numbers = given.pop("until", {}), given
    found, failed = sizes(ROOT, {*numbers}, {*until}), []
    print(f"{'room':26}{'now':>10}{'at most':>10}")
    for room in [*numbers, *sorted({*found} - {*numbers})]:
        now, most = found[room], numbers.get(room, 0)
        print(f"{room:26}{now:10,}{most:10,}{f'{now - most:+10,}' if now != most else ''}")
        if now > most * (1 + SLACK):
            failed.append(f"{room} must have at most {most:,} and 2 %, got {now:,}.")
        if now < most:
            text = text.replace(f'"{room}" = {most}', f'"{room}" = {now}')
    package = sum(now for room, now in found.items() if room.startswith("src"))
    print(f"{'the package':26}{package:10,}")
    for name, why in until.items():
        print(f"not counted: {name}, {why}")
    if asked.lower:
        settings.write_text(text, encoding="utf-8")
    print(*failed, sep="\n", end="\n" if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
