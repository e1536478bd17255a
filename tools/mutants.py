"""Do the tests carry weight? Change one thing in the code at a time, and see whether a test fails.

python tools/mutants.py                    list the rooms of the code and the shares recorded
python tools/mutants.py costs              draw mutants of a room; exit code 1 if fewer are killed
python tools/mutants.py costs --count 50 --seed 3 --jobs 2
python tools/mutants.py costs --record     write the share found to pyproject.toml

A mutant swaps a comparison, an operator, a number, True and False or min and max, negates or drops
a condition, or drops a statement. It is killed if a test of its room fails, or takes far too long.
Only tests that run the changed line are tried. All this happens in copies of the project, in a
temporary folder. Rooms stand in pyproject.toml: their code, their tests, and the share to keep.
"""

from __future__ import annotations

import argparse
import ast
import json
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData

ROOT = Path(__file__).resolve().parent.parent
SWAPS = {  # operators, statements and names
    "Lt": "LtE",
    "Gt": "GtE",
    "Eq": "NotEq",
    "Is": "IsNot",
    "In": "NotIn",
    "And": "Or",
    "Add": "Sub",
    "Mult": "Div",
    "Break": "Continue",
    "min": "max",
    "minimum": "maximum",
    "any": "all",
}
SWAPS |= {other: one for one, other in SWAPS.items()} | {"FloorDiv": "Div"}
LEFT_ALONE = {"annotation", "returns", "decorator_list"}  # fields of nodes
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SECONDS = Path("seconds.json")  # in a copy
IMPORTED = ["numba", "pyarrow", "rich.console", "scipy.stats", "sklearn.calibration", "typer"]
PROCESSES = multiprocessing.get_context("forkserver")  # that import these once
IGNORED = shutil.ignore_patterns(".*", "build")  # of the project, in a copy
MEMORY = 6 * 2**30  # a mutant that fills memory must not disturb others


@dataclass(frozen=True)
class Mutant:
    """A node of a file, and the node that takes its place."""

    path: str
    old: Any
    new: Any
    statement: Any

    def __str__(self) -> str:
        """Return its place, both texts, and the beginning of the statement."""
        nodes = self.old, self.new, self.statement
        old, new, all_of_it = (ast.unparse(node).partition("\n")[0][:70] for node in nodes)
        place = f"{self.path}:{self.old.lineno}:{self.old.col_offset}"
        return f"{place}  {old} became {new} in: {all_of_it}"

    def apply(self, text: bytes) -> bytes:
        """Return the file with the new text in place of the old one."""
        lines = text.splitlines(keepends=True)
        start = sum(map(len, lines[: self.old.lineno - 1])) + self.old.col_offset
        end = sum(map(len, lines[: self.old.end_lineno - 1])) + self.old.end_col_offset
        new = ast.unparse(self.new)
        new = f"({new})" if isinstance(self.new, ast.expr) else new
        return text[:start] + new.encode() + text[end:]


def swapped(node: Any) -> Any:
    """Return an operator or a statement of the other kind; None if it has no counterpart."""
    other = SWAPS.get(type(node).__name__)
    return other and getattr(ast, other)()


def changed(node: Any, **fields: Any) -> Any:
    """Return a copy of a node with other fields."""
    return type(node)(**vars(node) | fields)


def variants(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what may change in a node, and to what, but not inside the nodes below it."""
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield node, changed(node, ops=[*ops[:i], swapped(op), *ops[i + 1 :]])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if swapped(op):
            yield node, changed(node, op=swapped(op))
        case ast.UnaryOp(op=ast.Not()):
            yield node, node.operand
        case ast.Constant(value=bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)) if value + 1 != value:
            yield node, ast.Constant(value + 1)
        case ast.Name(id=name) if name in SWAPS:
            yield node, ast.Name(SWAPS[name])
        case ast.Attribute(attr=name) if name in SWAPS:
            yield node, changed(node, attr=SWAPS[name])
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, ast.Compare | ast.UnaryOp):  # these change by themselves
                yield test, ast.UnaryOp(ast.Not(), test)
        case ast.comprehension(ifs=tests):
            yield from ((test, ast.Constant(value=True)) for test in tests)
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield node, ast.Pass()
        case ast.Break() | ast.Continue():
            yield node, swapped(node)


def mutants_of(path: str, node: ast.AST, statement: ast.AST) -> Iterator[Mutant]:
    """Yield all mutants of a node and of the nodes below it."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
    statement = node if isinstance(node, ast.stmt) else statement
    yield from (Mutant(path, old, new, statement) for old, new in variants(node))
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in LEFT_ALONE:
                yield from mutants_of(path, child, statement)


def draw(root: Path, code: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants of files and folders, all with the same chance."""
    found: list[Mutant] = []
    for place in code:
        for file in sorted((root / place).rglob("*.py")) or [root / place]:
            tree = ast.parse(file.read_bytes())
            found += mutants_of(file.relative_to(root).as_posix(), tree, tree)
    return random.Random(seed).sample(found, min(count, len(found)))


class Plugin:
    """What pytest does besides: it notes how long each test takes."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)

    def pytest_sessionstart(self) -> None:
        """Let hypothesis stop at the first failure, without making it smaller."""
        from hypothesis import Phase, settings  # pytest must see it imported

        phases = [Phase.explicit, Phase.generate]
        settings.register_profile("mutants", settings(phases=phases, report_multiple_bugs=False))
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what a phase of a test took."""
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write down what all took."""
        SECONDS.write_text(json.dumps(self.seconds), "utf-8")


def run_here(copy: Path, words: Sequence[str]) -> None:
    """Run tests of a copy, with its code, and end this process."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    scratch = copy / ".tmp"
    scratch.mkdir()
    os.chdir(copy)
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
    os.environ["PYTHONPATH"] = str(copy / "src")
    sys.path.insert(0, str(copy / "src"))
    sys.dont_write_bytecode = False  # compile tests once
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    plugins = ["-p", "no:cacheprovider", "-p", "no:randomly"]
    sys.exit(pytest.main([*plugins, "-x", "--hypothesis-seed=0", *words], [Plugin()]))


def run_tests(copy: Path, words: Sequence[str], limit: float | None = None) -> bool:
    """Whether tests of a copy pass in time."""
    process = PROCESSES.Process(target=run_here, args=(copy, words))
    process.start()
    process.join(limit)
    process.kill()
    process.join()
    return process.exitcode == 0


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.split("::")[0]


class Tests:
    """Tests of a room, which of them run a line, and how long they take.

    Parameters
    ----------
    copy : Path
        Of the project, with the code as it is.
    tests : sequence of str
        Files and folders.
    """

    def __init__(self, copy: Path, tests: Sequence[str]) -> None:
        if not run_tests(copy, ["--cov", "--cov-context=test", "--cov-fail-under=0", *tests]):
            raise ValueError(f"{' '.join(tests)} must pass before the code is changed.")
        self.copy = copy
        self.data = CoverageData(str(copy / ".coverage"))
        self.data.read()
        self.seconds: dict[str, float] = json.loads((copy / SECONDS).read_text("utf-8"))

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the line of a mutant, the quickest files and tests first."""
        lines = self.data.contexts_by_lineno(str(self.copy / mutant.path))
        span = range(mutant.statement.lineno, mutant.old.end_lineno + 1)
        contexts = {context for line in span for context in lines.get(line, [])}
        tests = {context.rpartition("|")[0] for context in contexts}
        # What a fixture runs may matter to its whole file, and what an import runs (in no
        # context, so the name of the file is empty) to all.
        files = tuple(file_of(one) for one in contexts if not one or one.endswith("|setup"))
        tests = {test for test in self.seconds if test in tests or test.startswith(files)}
        spent = defaultdict[str, float](float)
        for test in tests:
            spent[file_of(test)] += self.seconds[test]
        return sorted(tests, key=lambda test: (spent[file_of(test)], self.seconds[test]))

    def kill(self, mutant: Mutant) -> bool:
        """Whether a test fails, or takes far too long, in a copy with the mutant."""
        tests = self.of(mutant)
        limit = 60 + 3 * sum(self.seconds[test] for test in tests)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(shutil.copytree(self.copy, f"{folder}/copy", ignore=IGNORED))
            file = copy / mutant.path
            file.write_bytes(mutant.apply(file.read_bytes()))
            return bool(tests) and not run_tests(copy, tests, limit)


def try_all(root: Path, room: dict[str, Any], mutants: list[Mutant], jobs: int) -> list[bool]:
    """Try mutants and return whether each is killed; Ctrl-C leaves the rest out."""
    killed: list[bool] = []
    os.environ |= dict.fromkeys(THREADS, "1")
    PROCESSES.set_forkserver_preload(IMPORTED)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        try:
            copy = Path(shutil.copytree(root, Path(folder).resolve() / "copy", ignore=IGNORED))
            tests = Tests(copy, room["tests"])
            for mutant, is_killed in zip(mutants, pool.map(tests.kill, mutants), strict=True):
                killed.append(is_killed)
                end = "killed  " if is_killed else "SURVIVED"
                print(f"{len(killed)}/{len(mutants)} {end} {mutant}", flush=True)
        except KeyboardInterrupt:
            print("interrupted")
    return killed


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """List rooms, or try mutants of one; 1 if a smaller share is killed than recorded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("room", nargs="?")
    parser.add_argument("--count", type=int, help="mutants to draw (default: as recorded)")
    parser.add_argument("--seed", type=int, help="of the draw (default: as recorded)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants to try at the same time")
    parser.add_argument("--record", action="store_true", help="write the share to pyproject.toml")
    asked = parser.parse_args(arguments)
    project = root / "pyproject.toml"
    rooms = tomllib.loads(project.read_text("utf-8"))["tool"]["emsco"]["mutants"]
    if asked.room is None:
        print(*(f"{name:<12}{room['killed']}" for name, room in rooms.items()), sep="\n")
        return 0
    if asked.room not in rooms:
        parser.error(f"room must be one of {', '.join(rooms)}, got {asked.room!r}.")
    if asked.jobs < 1 or (asked.count is not None and asked.count < 1):
        parser.error("--jobs and --count must be at least 1.")
    room = rooms[asked.room]
    before, of = map(int, room["killed"].split(" of "))
    seed = room["seed"] if asked.seed is None else asked.seed
    mutants = draw(root, room["code"], asked.count or of, seed)
    is_other = (len(mutants), seed) != (of, room["seed"])
    if asked.record and asked.count is not None and len(mutants) < of:
        parser.error(f"--record needs at least the {of} mutants recorded, got {len(mutants)}.")
    try:
        killed = try_all(root, room, mutants, asked.jobs)
    except ValueError as error:
        parser.error(str(error))
    found = f"{sum(killed)} of {len(killed)}"
    survivors = (mutant for mutant, dead in zip(mutants, killed, strict=False) if not dead)
    print("No test kills:", *survivors, sep="\n  ")
    print(f"{asked.room}: {found} killed; recorded: {room['killed']}")
    if asked.record and len(killed) == len(mutants):
        facts = '[tool.emsco.mutants.{}]\nkilled = "{}"\nseed = {}\n'.format
        old = facts(asked.room, room["killed"], room["seed"])
        text = project.read_text("utf-8").replace(old, facts(asked.room, found, seed))
        project.write_text(text, "utf-8")
        return 0
    if is_other:
        print("Other mutants than those recorded: their shares are not compared.")
        return 0
    return int(sum(killed) < before)


if __name__ == "__main__":
    raise SystemExit(main())
