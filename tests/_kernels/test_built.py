"""What is tested is compiled from what stands there."""

import runpy
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import emsco._kernels

ROOM = Path(emsco._kernels.__file__).parent
SETUP = ROOM.parents[2] / "setup.py"


@pytest.mark.skipif(not SETUP.exists(), reason="emsco is installed")
def test_every_kernel_is_compiled_from_what_stands_there():
    setup = runpy.run_path(str(SETUP))
    folders = {"": {path.stem for path in ROOM.glob("[!_]*.py")}}
    if setup["IS_X86"]:
        folders |= {level: names for level, (_, names) in setup["LEVELS"].items()}
    shared = [SETUP, ROOM / "arrays.pxd", *ROOM.glob("bits.*")]
    for folder, names in folders.items():
        for name in names:
            own = [ROOM / f"{name}.py", *ROOM.glob(f"{name}.pxd")]
            written = max(path.stat().st_mtime for path in (*own, *shared))
            files = [ROOM / folder / f"{name}{ending}" for ending in EXTENSION_SUFFIXES]
            compiled = [path.stat().st_mtime for path in files if path.exists()]
            mend = f"{folder} {name}: run python setup.py -q build_ext --inplace"
            assert compiled, mend
            assert min(compiled) >= written, mend
