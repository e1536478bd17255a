"""What is tested is compiled from what stands there."""

from pathlib import Path

import pytest

import emsco._kernels

ROOM = Path(emsco._kernels.__file__).parent


@pytest.mark.skipif(not (ROOM.parents[2] / "setup.py").exists(), reason="emsco is installed")
def test_no_kernel_is_later_than_its_compiled_file():
    shared = [ROOM / "arrays.pxd", *ROOM.glob("bits.*")]
    for compiled in (*ROOM.rglob("*.so"), *ROOM.rglob("*.pyd")):
        own = ROOM.glob(compiled.name.partition(".")[0] + ".py")
        written = max(file.stat().st_mtime for file in (*own, *shared))
        assert written < compiled.stat().st_mtime, "run: python setup.py -q build_ext --inplace"
