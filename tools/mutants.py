"""Do the tests carry weight? Change one thing in the code at a time, and see whether a test fails.

python tools/mutants.py costs              draw mutants of a room; exit code 1 if fewer are killed
python tools/mutants.py costs --count 50 --seed 3 --jobs 2
python tools/mutants.py costs --record     write the share found to pyproject.toml

A mutant swaps a comparison, an operator, a number, True and False or min and max, negates or drops
a condition, or drops a statement. It is killed if a test of its room fails, or computes too long.
Only tests that run the changed line are tried. All this happens in copies of the project, in a
temporary folder. Rooms stand in pyproject.toml: their code, their tests, and the share to keep.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

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


def run_tests(copy: Path, words: Sequence[str], limit: int | None = None) -> bool:
    """Whether tests of a copy pass within some processor seconds, with the code of the copy."""
    (copy / ".tmp").mkdir()
    places = {"PYTHONPATH": "src", "TMPDIR": str(copy / ".tmp"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "--hypothesis-seed=0"]
    how: dict[str, Any] = {"cwd": copy, "env": {**os.environ, **places}, "capture_output": True}
    if limit:  # of processor time, since others may keep the machine busy
        how["preexec_fn"] = partial(resource.setrlimit, resource.RLIMIT_CPU, (limit, limit))
        how["timeout"] = 10 * limit
    try:
        subprocess.run([*command, *words], check=True, **how)
    except subprocess.SubprocessError:
        return False
    return True


def seconds() -> float:
    """Processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def try_all(root: Path, room: dict[str, Any], mutants: list[Mutant], jobs: int) -> int:
    """Try mutants, print each with its end, and return how many are killed."""

    def is_killed(mutant: Mutant) -> bool:
        lines = covered.contexts_by_lineno(str(copy / mutant.path))
        span = range(mutant.statement.lineno, mutant.old.end_lineno + 1)
        contexts = {context for line in span for context in lines.get(line, [])}
        tests = {context.rpartition("|")[0] for context in contexts}
        # What a fixture runs may matter to its whole file; an import, which is in no test, to all.
        tests |= {one.split("::")[0] for one in contexts if one.endswith("|setup")}
        with tempfile.TemporaryDirectory() as folder:
            other = Path(shutil.copytree(copy, f"{folder}/copy", ignore=IGNORED))
            file = other / mutant.path
            file.write_bytes(mutant.apply(file.read_bytes()))
            words = room["tests"] if "" in tests else sorted(tests)
            return bool(tests) and not run_tests(other, words, limit)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        copy = Path(shutil.copytree(root, Path(folder).resolve() / "copy", ignore=IGNORED))
        start = seconds()
        covering = ["--cov", "--cov-context=test", "--cov-fail-under=0"]
        if not run_tests(copy, [*covering, *room["tests"]]):
            raise SystemExit(f"{' '.join(room['tests'])} must pass before the code is changed.")
        limit = 60 + 3 * round(seconds() - start)
        covered = CoverageData(str(copy / ".coverage"))
        covered.read()
        n_killed = 0
        for mutant, killed in zip(mutants, pool.map(is_killed, mutants), strict=True):
            print("killed  " if killed else "SURVIVED", mutant, flush=True)
            n_killed += killed
    return n_killed


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Try mutants of a room; 1 if a smaller share is killed than recorded."""
    project = root / "pyproject.toml"
    text = project.read_text("utf-8")
    rooms = tomllib.loads(text)["tool"]["emsco"]["mutants"]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("room", choices=rooms)
    parser.add_argument("--count", type=int, help="of mutants, if not as many as recorded")
    parser.add_argument("--seed", type=int, help="of the draw, if not as recorded")
    parser.add_argument("--jobs", type=int, default=1, help="mutants to try at the same time")
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args(arguments)
    room = rooms[asked.room]
    before, of = map(int, room["killed"].split(" of "))
    seed = room["seed"] if asked.seed is None else asked.seed
    count = of if asked.count is None else asked.count
    if min(count, asked.jobs) < 1:
        parser.error("--count and --jobs must be at least 1.")
    mutants = draw(root, room["code"], count, seed)
    killed = try_all(root, room, mutants, asked.jobs)
    found = f"{killed} of {len(mutants)}"
    print(f"{asked.room}: {found} killed; recorded: {room['killed']}")
    if asked.record:
        facts = '[tool.emsco.mutants.{}]\nkilled = "{}"\nseed = {}\n'.format
        old = facts(asked.room, room["killed"], room["seed"])
        project.write_text(text.replace(old, facts(asked.room, found, seed)), "utf-8")
        return 0
    is_same = (count, seed) == (of, room["seed"])  # shares of others are not compared
    return int(is_same and killed < before)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    raise SystemExit(main())
