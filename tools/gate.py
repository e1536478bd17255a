"""The gate: every check that a change must pass, in one command, the same for people and CI.

python tools/gate.py              all checks
python tools/gate.py --fix        let ruff repair layout and simple findings first
python tools/gate.py --coverage   also check that tests cover 95 % of the lines: a minute more
python tools/gate.py --thorough   also run the tests marked so: some ten minutes more

Pages are tested in Chromium. If it is missing and you are root on Debian or its kin, the gate
installs it with apt. With the environment variable EMSCO_BROWSER=off, it installs nothing and skips
these tests. Longer checks, of other versions and of the built package, are in noxfile.py.
"""

import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = {  # the longest first, since they run side by side
    "types": "-m mypy",
    "site": "tools/site.py --no-gallery",
    "layout": "-m ruff format --check .",
    "lint": "-m ruff check .",
    "layers": '-c "from importlinter.cli import lint_imports_command as run; run()"',
    "size": "tools/size.py",
}
# In large shares, so that the files of tests, and what they prepare, stay with a process.
TESTS = "-m pytest -n auto --dist worksteal"
MORE_TESTS = {"--coverage": " --cov --cov-report=term", "--thorough": " -m ''"}
FIXES = ("-m ruff format .", "-m ruff check --fix .")


def run(command: str, *, quietly: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command of a check at the root of the project; keep what it prints if `quietly`.

    Libraries have one thread each: a process for each core leaves none to others.
    """
    return subprocess.run(
        [sys.executable, *shlex.split(command)],
        cwd=ROOT,
        env={"OMP_NUM_THREADS": "1", **os.environ},
        check=False,
        text=True,
        stdout=subprocess.PIPE if quietly else None,
        stderr=subprocess.STDOUT if quietly else None,
    )


def main() -> int:
    """Run all checks, even after one has failed; 0 if all pass."""
    if "--fix" in sys.argv[1:]:
        for fix in FIXES:
            run(fix)
    run("tools/browser.py")
    failed = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each of these uses one core
        results = pool.map(lambda command: run(command, quietly=True), CHECKS.values())
        for (name, command), result in zip(CHECKS.items(), results, strict=True):
            print(f"== {name}: python {command}\n{result.stdout}", end="", flush=True)
            if result.returncode:
                failed.append(name)
    tests = TESTS + "".join(MORE_TESTS.get(word, "") for word in sys.argv[1:])
    print(f"== tests: python {tests}", flush=True)
    if run(tests).returncode:
        failed.append("tests")
    print(f"gate failed: {', '.join(failed)}" if failed else "gate passed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
