"""How emsco is built: setuptools, kernels compiled by Cython, and a C compiler if there is none.

pyproject.toml names this file as the build backend, so pip asks it what a build needs. Where there
is no C compiler, that is one package more: ziglang, which holds one.

python setup.py build_ext --inplace                       compile kernels that have changed
EMSCO_CHECKED=1 python setup.py build_ext --inplace -f    with bounds of arrays checked, all of them
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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

ROOM = Path("src/emsco/_kernels")
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")  # which has no stable interface
CHECKED = bool(os.environ.get("EMSCO_CHECKED"))
DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,
    "boundscheck": CHECKED,
    "initializedcheck": CHECKED,
    "wraparound": False,
    "cdivision": True,
}
# Every product and sum is rounded on its own, in the order written: the same bits on every machine.
UNIX = ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
MSVC = ["/O2", "/fp:precise"]
# Kernels that gain from a later x86 are built for it, too; _kernels/__init__.py picks at run time.
AVX512 = "-march=x86-64-v4 -mavx512vpopcntdq -mprefer-vector-width=512"
LEVELS = {
    "avx2": ("-march=x86-64-v3", {"logistic", "judgement", "trees"}),
    "avx512": (
        AVX512,
        {"logistic", "judgement", "trees", "counts", "chains", "links", "walk"},
    ),
}
NO_COMPILER = (
    "emsco's kernels need a C compiler, and there is none here: provide one (Debian and Ubuntu: "
    "apt install gcc; macOS: xcode-select --install; Windows: the Build Tools for Visual Studio), "
    "or an index that has the package ziglang, which holds one."
)


def has_compiler() -> bool:
    """Whether a C compiler can be called; on Windows setuptools looks for one itself."""
    named = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return sys.platform == "win32" or shutil.which(named.split()[0]) is not None


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:  # noqa: ARG001
    """What a build needs besides pyproject.toml's list: a compiler, if there is none."""
    if has_compiler():
        return []
    # Asked here, since pip would only say that it found no such package. -I: pip's own Python.
    asked = [sys.executable, "-I", "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps"]
    pip = subprocess.run([*asked, "ziglang"], check=False, capture_output=True, text=True)
    if pip.returncode and "No module named pip" not in pip.stderr:
        raise SystemExit(NO_COMPILER)
    return ["ziglang"]


get_requires_for_build_editable = get_requires_for_build_wheel


def kernels() -> list[Extension]:
    """The kernels as they are written."""
    headers = [str(ROOM / "bits.h")]
    return [kernel(file.stem, str(file), depends=headers) for file in ROOM.glob("[!_]*.py")]


def kernel(name: str, source: str, **settings: Any) -> Extension:
    """A kernel for all versions of Python from 3.11 on."""
    return Extension(
        f"emsco._kernels.{name}",
        [source],
        py_limited_api=LIMITED,
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
        **settings,
    )


def in_c(folder: Path) -> list[Extension]:
    """The kernels in C, written to `folder`; those for a later x86 come twice."""
    from Cython.Build import cythonize

    plain = cythonize(
        [*kernels(), kernel("_memory", "_memory.c")],
        build_dir=str(folder),
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name="emsco._kernels._memory",  # once for all kernels
    )
    later = []
    for level, (_, names) in LEVELS.items() if is_x86() else ():
        for extension in plain:
            name = extension.name.rpartition(".")[2]
            if name in names:
                copy = folder / level / f"{name}.c"
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(extension.sources[0], copy)
                later.append(kernel(f"{level}.{name}", str(copy)))
    return [*plain, *later]


def is_x86() -> bool:
    """Whether kernels are built for x86 of 64 bits, by a compiler that knows its levels."""
    return sysconfig.get_platform().endswith("x86_64")


class BuildKernels(build_ext):
    """Compile kernels, with all cores."""

    def finalize_options(self) -> None:
        """Write the kernels in C, as far as they have changed."""
        self.distribution.ext_modules = in_c(Path("build/kernels"))
        super().finalize_options()
        self.parallel = self.parallel or True

    def run(self) -> None:
        """Find a compiler, and compile."""
        for level in LEVELS if self.inplace else ():
            Path(ROOM, level).mkdir(exist_ok=True)
        if not has_compiler():
            if find_spec("ziglang") is None:
                raise SystemExit(NO_COMPILER)
            os.environ["CC"] = f"{sys.executable} -m ziglang cc"
        super().run()

    def build_extension(self, ext: Extension) -> None:
        """Compile one kernel for the x86 that its folder names, or for all of the last 15 years."""
        level = ext.name.split(".")[2]
        ext.include_dirs = [str(ROOM)]
        ext.extra_compile_args = UNIX if self.compiler.compiler_type == "unix" else MSVC
        if is_x86():
            flags, _ = LEVELS.get(level, ("-march=x86-64-v2", None))
            if "ziglang" in self.compiler.compiler:  # it spells them in its own way
                flags = flags.replace("x86-64-", "x86_64_")
            ext.extra_compile_args = [*UNIX, *flags.split()]
        super().build_extension(ext)


if __name__ == "__main__":
    wheel = {"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {}
    setup(ext_modules=kernels(), cmdclass={"build_ext": BuildKernels}, options=wheel)
