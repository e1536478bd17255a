"""Files of the project agree with each other, and keep to the house's limits."""

import ast
import io
import re
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOR_DEVELOPERS = {"all", "benchmark", "dev", "docs", "test"}
SOURCE = ROOT / "src" / "emsco"
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_MODULE_LINES, MAX_FUNCTION_LINES = 900, 60
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def code_lines(source):
    """Numbers of the lines that hold more than a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    spans = ((token.start[0], token.end[0]) for token in tokens if token.type not in NOT_CODE)
    return {line for first, last in spans for line in range(first, last + 1)}


def function_lengths(source):
    """Name and code lines of each function, without signature, docstring, comments and blanks."""
    lines = code_lines(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            has_docstring = ast.get_docstring(node) is not None
            body = {
                line
                for statement in node.body[has_docstring:]
                for line in range(statement.lineno, statement.end_lineno + 1)
            }
            yield node.name, len(body & lines)


def test_continuous_integration_runs_the_test_command_of_the_readme():
    commands = re.findall(r"^python3 -m venv .*gate\.py$", (ROOT / "README.md").read_text(), re.M)
    last_line = (ROOT / ".ci" / "run").read_text().splitlines()[-1]
    assert commands == [last_line]


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_extra_all_has_every_extra_that_users_need():
    # PyTorch for GPUs takes gigabytes, so it is asked for by name.
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert everything == f"emsco[{','.join(sorted(extras.keys() - FOR_DEVELOPERS - {'cuda'}))}]"


def test_no_module_has_more_than_500_lines():
    lengths = {
        str(path.relative_to(SOURCE)): len(path.read_text().splitlines()) for path in MODULES
    }
    assert len(lengths) > 100
    assert {name: n for name, n in lengths.items() if n > MAX_MODULE_LINES} == {}


def test_no_function_outside_kernels_has_more_than_40_lines_of_code():
    # Kernels may: in compiled loops, handing many arrays to a helper costs more than its work.
    lengths = {
        f"{path.relative_to(SOURCE)}: {name}": length
        for path in MODULES
        if "_kernels" not in path.parts
        for name, length in function_lengths(path.read_text())
    }
    assert len(lengths) > 1000
    assert {name: n for name, n in lengths.items() if n > MAX_FUNCTION_LINES} == {}


def test_signatures_docstrings_comments_and_blank_lines_are_no_lines_of_code():
    source = '''
def add(
    a,
    b,
):
    """Sum.

    Of two.
    """
    # First the sum.

    total = (
        a + b  # in two lines
    )
    def give():
        return total
    return give()
'''
    assert dict(function_lengths(source)) == {"add": 6, "give": 1}
