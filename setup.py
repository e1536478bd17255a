"""How emsco is built: setuptools, kernels compiled by Cython, and a C compiler if there is none.

pyproject.toml names this file as the build backend, so pip asks it what a build needs. Where there
is no C compiler, that is one package more: ziglang, which holds one.

python setup.py build_ext --inplace                    compile kernels that have changed
EMSCO_CHECKED=1 python setup.py build_ext --inplace    with bounds of arrays checked
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, setup
from setuptools.build_meta import (  # noqa: F401 - hooks that pip calls
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer

ROOM = Path("src/emsco/_kernels")
IS_X86 = sysconfig.get_platform().endswith("x86_64")  # of 64 bits, and not Windows
# A Python without the GIL has no stable interface. It turns the GIL on when it imports a kernel,
# since none says that it needs none: nobody has tried them there.
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")
CHECKED = bool(os.environ.get("EMSCO_CHECKED"))
BUILD = "build/checked" if CHECKED else "build"  # apart, since no date tells one from the other
DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,
    "boundscheck": CHECKED,
    "initializedcheck": CHECKED,
    "wraparound": False,
    "cdivision": True,
}
# Every product and sum is rounded on its own, in the order written, by whatever compiler. Only exp
# and log are the C library's, whose last bits differ: in boosted trees, and in lengths of steps.
UNIX = "-O3 -g0 -ffp-contract=off -fno-math-errno -fno-trapping-math"
MSVC = "/O2 /fp:precise"
X86 = " -msse4.2 -mpopcnt"  # what all of the last 15 years have
# Kernels that gain from a later x86 are built for it, too; _kernels/__init__.py picks at run time.
# Features are named one by one: what NumPy is asked for there is what these use.
AVX512 = " -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vpopcntdq -mprefer-vector-width=512"
LEVELS = {
    "avx2": (" -mavx2", {"logistic", "judgement", "trees"}),
    "avx512": (
        AVX512,
        {"logistic", "judgement", "trees", "counts", "labels"},
    ),
}
NO_COMPILER = (
    "emsco's kernels need a C compiler, and there is none here: provide one (Debian and Ubuntu: "
    "apt install gcc; macOS: xcode-select --install; Windows: the Build Tools for Visual Studio), "
    "or an index that has the package ziglang, which holds one. A build sees no options of pip: "
    "name the index in PIP_INDEX_URL, or a folder in PIP_FIND_LINKS."
)


def has_compiler() -> bool:
    """Whether a C compiler can be called; on Windows setuptools looks for one itself."""
    named = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return sys.platform == "win32" or shutil.which(shlex.split(named)[0]) is not None


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:  # noqa: ARG001
    """What a build needs besides pyproject.toml's list: a compiler, if there is none."""
    if has_compiler():
        return []
    # Asked here, since pip would only say that it found no such package. An index that stands in
    # pip's command line alone is not asked: the sentence says how to name it. -I: pip's own Python.
    asked = [sys.executable, "-I", "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps"]
    pip = subprocess.run([*asked, "ziglang"], check=False, capture_output=True, text=True)
    if pip.returncode and "No module named pip" not in pip.stderr:
        raise SystemExit(NO_COMPILER)
    return ["ziglang"]


get_requires_for_build_editable = get_requires_for_build_wheel


def kernels() -> list[Extension]:
    """The kernels as they are written."""
    return [kernel(file.stem, str(file)) for file in ROOM.glob("[!_]*.py")]


def kernel(name: str, source: str) -> Extension:
    """A kernel for all versions of Python from 3.11 on."""
    return Extension(
        f"emsco._kernels.{name}",
        [source],
        py_limited_api=LIMITED,
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
        depends=[str(ROOM / "bits.h")],
    )


def in_c(folder: Path) -> list[Extension]:
    """The kernels in C, written to `folder`; those for a later x86 come twice."""
    from Cython.Build import cythonize

    plain = cythonize(
        # Cython writes _memory.c: what all kernels need to read arrays.
        [*kernels(), kernel("_memory", "_memory.c")],
        build_dir=str(folder),
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name="emsco._kernels._memory",
    )
    later = []
    for level, (_, names) in LEVELS.items() if IS_X86 else ():
        for extension in plain:
            name = extension.name.rpartition(".")[2]
            if name in names:
                # The same C, so the same module: emsco._kernels.trees, from whichever folder.
                copy = folder / level / f"{name}.c"
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(extension.sources[0], copy)
                later.append(kernel(f"{level}.{name}", str(copy)))
    return [*plain, *later]


def delete_compiled(folder: Path) -> None:
    """Delete compiled kernels, also those that are no more."""
    for file in [*folder.rglob("*.so"), *folder.rglob("*.pyd")]:
        file.unlink()


class BuildKernels(build_ext):
    """Compile kernels, with all cores."""

    def finalize_options(self) -> None:
        """Write the kernels in C, as far as they have changed."""
        folder = Path(BUILD, "kernels")
        # Cython knows when it wrote a file, and not by which directives.
        is_anew = self.force or newer("setup.py", folder / "_memory.c")
        if is_anew:
            shutil.rmtree(folder, ignore_errors=True)
        self.distribution.ext_modules = in_c(folder)
        super().finalize_options()
        if is_anew:
            delete_compiled(Path(self.build_lib))
        self.parallel = self.parallel or True

    def run(self) -> None:
        """Find a compiler, and compile."""
        if not has_compiler():
            if find_spec("ziglang") is None:
                raise SystemExit(NO_COMPILER)
            # Left alone, it compiles for the processor that it runs on, and for no other.
            os.environ["CC"] = f"{shlex.quote(sys.executable)} -m ziglang cc -mcpu=baseline"
        super().run()

    def copy_extensions_to_source(self) -> None:
        """Put kernels beside their sources, in place of all that are there, older or checked."""
        delete_compiled(ROOM)
        for level in LEVELS if IS_X86 else ():
            Path(ROOM, level).mkdir(exist_ok=True)
        super().copy_extensions_to_source()

    def build_extension(self, ext: Extension) -> None:
        """Compile one kernel, on x86 for what its folder names."""
        flags = UNIX if self.compiler.compiler_type == "unix" else MSVC
        if IS_X86:
            later, _ = LEVELS.get(ext.name.split(".")[2], ("", None))
            flags += X86 + later
        ext.extra_compile_args = flags.split()
        ext.include_dirs = [str(ROOM)]
        super().build_extension(ext)


if __name__ == "__main__":
    wheel = {"py_limited_api": LIMITED and "cp311"}
    options = {"build": {"build_base": BUILD}, "bdist_wheel": wheel}
    setup(ext_modules=kernels(), cmdclass={"build_ext": BuildKernels}, options=options)
