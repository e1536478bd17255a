"""CPU seconds until emsco has started, and the megabytes of what it needs.

python benchmarks start                 a minute of a core
python benchmarks start --rounds 1      seconds

Each line is a process of its own, with one thread, that does what it says and ends. `CPU` is its
user and system time, `imports` that of a process that only imports the same modules; both are the
least of some rounds, after one that nobody counts.

The second table has the files of emsco and of every package that it needs at run time, without
extras, as their wheels list them.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pandas as pd
from common import SEED, markdown, options
from packaging.requirements import Requirement

import emsco

ROWS, FEATURES = 300, 6
MADE = f"""
import numpy as np
from emsco import EMSCOClassifier
rng = np.random.default_rng({SEED})
y = rng.integers(0, 2, {ROWS})
X = rng.normal(size=({ROWS}, {FEATURES})) + y[:, None] * np.linspace(0.3, 1.5, {FEATURES})
fitted = EMSCOClassifier(random_state={SEED}).fit(X, y)
"""
IMPORTED = re.compile(r"^import time: .*\| +(\S+)$", re.MULTILINE)
IMPORT_ALL = """
import sys
from importlib import import_module
for name in sys.argv[1].split(","):
    try:
        import_module(name)
    except Exception:  # as what was tried and is not there
        pass
"""


def run(*words: str) -> tuple[float, str]:
    """Run Python in a process of its own; CPU seconds, and what it says on standard error."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *words], env=alone, check=True, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return spent, done.stderr


def imports(*words: str) -> tuple[str, ...]:
    """Return what to run to import what a process does, and nothing else."""
    names = IMPORTED.findall(run("-X", "importtime", *words)[1])
    return "-c", IMPORT_ALL, ",".join(names)


def measure(folder: Path, rounds: int) -> pd.DataFrame:
    """CPU seconds of processes, and of their imports; files are made in a folder."""
    cascade, row = folder / "cascade.json", folder / "row.csv"
    run("-c", f"{MADE}\nfitted.cascade_.save({str(cascade)!r})")
    names = [f"x{i}" for i in range(FEATURES)]
    row.write_text(f"{','.join(names)}\n{','.join(['0.5'] * FEATURES)}\n")
    decide = ("decide", str(cascade), str(row), "--out", str(folder / "decisions.csv"))
    jobs = {
        "python, and nothing": ("-c", ""),
        "import numpy": ("-c", "import numpy"),
        "import sklearn.base": ("-c", "import sklearn.base"),
        "emsco --help": ("-m", "emsco", "--help"),
        "emsco decide, one row": ("-m", "emsco", *decide),
        "from emsco import EMSCOClassifier": ("-c", "from emsco import EMSCOClassifier"),
        f"the same, and a fit of {ROWS} × {FEATURES}": ("-c", MADE),
    }
    lines = {}
    for title, words in jobs.items():
        both = words, imports(*words)
        lines[title] = np.min([[run(*one)[0] for one in both] for _ in range(rounds)], axis=0)
    table = pd.DataFrame.from_dict(lines, orient="index", columns=["CPU", "imports"])
    return table.rename_axis("seconds")


def needed(name: str, known: dict[str, str]) -> dict[str, str]:
    """Add a package, and what it needs in turn, to those known by their names in small letters."""
    found = distribution(name)
    known[name.lower().replace("_", "-")] = found.version
    for line in found.requires or ():
        wanted = Requirement(line)
        there = wanted.name.lower().replace("_", "-") in known
        if not there and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            needed(wanted.name, known)
    return known


def sizes() -> pd.DataFrame:
    """Megabytes of each package that emsco needs, the largest first, and of all."""
    bytes_of = {}
    for name, version in needed("emsco", {}).items():
        files = distribution(name).files or ()
        bytes_of[f"{name} {version}"] = sum(file.size or 0 for file in files)
    own = Path(emsco.__file__).parent  # which an editable installation does not list
    files = (file for file in own.rglob("*.*") if "__pycache__" not in file.parts)
    bytes_of[f"emsco {emsco.__version__}"] = sum(file.stat().st_size for file in files)
    megabytes = pd.Series(bytes_of).sort_values(ascending=False) / 1e6
    megabytes["all"] = megabytes.sum()
    return megabytes.to_frame("megabytes").rename_axis("package")


def main() -> None:
    """Measure what the command line asks for, and print two tables."""
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind (5)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        print(f"\n{markdown(measure(Path(folder), rounds))}\n")
    print(markdown(sizes(), 1))
