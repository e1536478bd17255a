"""Longer checks than the gate, each in an environment of its own.

pip install '.[dev]', or pipx install 'nox[uv]'; then
nox --list             the sessions below, in a line each
nox -s lowest          one of them
nox -s lowest -- -k x  tests take pytest's options after two dashes
nox -s full            all of them: an hour or two

Tests that use the paper's data need EMSCO_DATA (README.md); those of pages need a browser
(tools/browser.py).
"""

import os
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv"
nox.options.error_on_missing_interpreters = False  # skipped, with a message
nox.options.sessions = ["tests"]

ROOT = Path(__file__).resolve().parent
# An old version that meets a new version of what it needs itself may warn, which is no fault here.
OLD_WARNINGS = ["-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning"]

# pyenv's own commands refuse a Python that pyenv has not been told to use; its folders do not.
pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
found = sorted(map(str, pyenv.glob("versions/3.1[1-9]*/bin")))
os.environ["PATH"] = os.pathsep.join([*found, os.environ["PATH"]])

PYTHONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]
NEWEST = max((v for v in PYTHONS if shutil.which(f"python{v}")), default=None)


def run_tests(session: nox.Session, *options: str) -> None:
    """Install the browser that pages are tested in, list the versions and run the tests."""
    session.run("python", "tools/browser.py")
    session.run("uv", "pip", "freeze", external=True)
    session.run("python", "-m", "pytest", "-n", "auto", "-m", "", *options, *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Tests on today's releases of every dependency."""
    session.install("-e", ".[test]", "-e", "./lab")
    run_tests(session)


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Tests on the lowest versions that pyproject.toml allows, on the lowest Python."""
    session.install("--resolution", "lowest-direct", "-e", ".[test]", "-e", "./lab")
    run_tests(session, *OLD_WARNINGS)


@nox.session(python=NEWEST)
def newest(session: nox.Session) -> None:
    """Tests on the newest releases for the newest Python that is here."""
    session.install("--upgrade", "-e", ".[test]", "-e", "./lab")
    run_tests(session)


@nox.session(python=PYTHONS)
def python(session: nox.Session) -> None:
    """Tests on each Python that is here or that uv can install; others are skipped."""
    session.install("-e", ".[test]", "-e", "./lab")
    run_tests(session)


@nox.session
def checked(session: nox.Session) -> None:
    """Tests with kernels that check the bounds of arrays, which the source tree does not get."""
    session.install(".[test]", "./lab", env={"EMSCO_CHECKED": "1"})
    run_tests(session, "tests")


@nox.session
def levels(session: nox.Session) -> None:
    """Recorded fits and tests of kernels on each level of x86 up to what the processor has."""
    session.install("-e", ".[test]", "-e", "./lab")
    for level in ("base", "avx2", "avx512"):
        pytest = ("python", "-m", "pytest", "-n", "auto", "tests/golden", "tests/_kernels")
        session.run(*pytest, env={"EMSCO_CPU": level})


def try_package(session: nox.Session, ending: str) -> None:
    """Build both files; use the one with this ending in an empty environment, away from here."""
    session.install("build", "twine")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        session.run("python", "-m", "build", "--outdir", name, str(ROOT))
        built = [str(file) for file in folder.iterdir()]
        session.run("twine", "check", "--strict", *built)
        session.run("uv", "pip", "uninstall", "build", "twine", external=True)
        check_files(session, next(folder.glob("*.whl")))
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        (file,) = folder.glob(f"*{ending}")
        session.install(str(file))  # without extras
        with session.chdir(next(path for path in folder.iterdir() if path.is_dir())):
            session.run("python", "-c", "import emsco; assert 'site-packages' in emsco.__file__")
            session.run("emsco", "--help", silent=True)
            session.run("emsco", "demo")
            session.install(f"emsco[test] @ {file.as_uri()}", str(ROOT / "lab"))
            run_tests(session, "tests")


def check_files(session: nox.Session, wheel: Path) -> None:
    """Check that the wheel has every file of the package, Python or not."""
    listed = session.run("git", "-C", str(ROOT), "ls-files", "src", external=True, silent=True)
    packed = {f"src/{name}" for name in zipfile.ZipFile(wheel).namelist()}
    forgotten = set(str(listed).split()) - packed
    if forgotten:
        session.error(f"not in the wheel: {', '.join(sorted(forgotten))}")


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel and test it in an empty environment outside the source tree."""
    try_package(session, ".whl")


@nox.session
def sdist(session: nox.Session) -> None:
    """Build the sdist and test it in an empty environment outside the source tree."""
    try_package(session, ".tar.gz")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation."""
    session.install("-e", ".[all,docs]", "-e", "./lab")
    session.run("python", "tools/site.py")


@nox.session
def gate(session: nox.Session) -> None:
    """The gate, and how many of the lines the tests run."""
    session.install("-e", ".[test]", "-e", "./lab")
    session.run("python", "tools/gate.py", "--coverage")


@nox.session(venv_backend="none")
def full(session: nox.Session) -> None:
    """Everything: the gate with coverage, all versions, the built files and the documentation."""
    every_python = [f"python-{version}" for version in PYTHONS]
    first = ["gate", "checked", "levels", "lowest", "newest"]
    for name in (*first, *every_python, "wheel", "sdist", "docs"):
        session.notify(name)
