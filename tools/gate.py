"""The gate: every check that a change must pass, in one command, the same for people and CI.

python tools/gate.py              all checks
python tools/gate.py --fix        let ruff repair layout and simple findings first
python tools/gate.py --coverage   also check that tests cover 95 % of the lines: a minute more
python tools/gate.py --thorough   also run the tests marked so: a few minutes more

Pages are tested in Chromium. If it is missing and you are root on Debian or its kin, the gate
installs it with apt. With the environment variable EMSCO_BROWSER=off, it installs nothing and skips
these tests. Longer checks, of other versions and of the built package, are in noxfile.py.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = (
    ("layout", ["ruff", "format", "--check", "."]),
    ("lint", ["ruff", "check", "."]),
    ("types", ["mypy"]),
    ("layers", ["importlinter.cli"]),
    ("site", ["tools/site.py", "--no-gallery"]),
    # In large shares, so that the files of tests, and what they prepare, stay with a process.
    ("tests", ["pytest", "-n", "auto", "--dist", "worksteal"]),
)
MORE_TESTS = {"--coverage": ["--cov", "--cov-report=term"], "--thorough": ["-m", ""]}
FIXES = (["ruff", "format", "."], ["ruff", "check", "--fix", "."])


def run(module: str, *arguments: str) -> int:
    """Run a Python module or script as a command at the root of the project; return its exit code.

    Libraries have one thread each: a process for each core leaves none to others.
    """
    code = "from importlinter.cli import lint_imports_command as run; run()"
    if module == "importlinter.cli":
        command = ["-c", code]
    elif module.endswith(".py"):
        command = [module, *arguments]
    else:
        command = ["-m", module, *arguments]
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, check=False)
    return done.returncode


def main() -> int:
    """Run all checks, even after one has failed; 0 if all pass."""
    if "--fix" in sys.argv[1:]:
        for fix in FIXES:
            run(*fix)
    subprocess.run([sys.executable, ROOT / "tools" / "browser.py"], cwd=ROOT, check=False)
    failed = []
    for name, command in CHECKS:
        asked = [word for word in sys.argv[1:] if name == "tests" and word in MORE_TESTS]
        more = [option for word in asked for option in MORE_TESTS[word]]
        print(f"== {name}: {' '.join([*command, *more])}", flush=True)
        if run(*command, *more):
            failed.append(name)
    print(f"gate failed: {', '.join(failed)}" if failed else "gate passed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
