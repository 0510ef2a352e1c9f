"""Install Countwise with different compilers, and with compilers that fail; every installation must succeed.

    python tools/portability.py [CASE ...]

Without arguments, all cases are tried whose compilers are found. Each case installs a copy of the sources (without
dependencies) into a temporary folder and imports it. `kernels` means that the compiled kernels must be in use,
`numpy` that the installation must fall back to the NumPy kernels, `any` that either may be. The last case compiles
the kernels for another processor.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECK = """
import numpy as np
import warnings
warnings.simplefilter("ignore")
from countwise import NaiveBayesClassifier, _kernels
X = np.arange(40.0).reshape(20, 2)
model = NaiveBayesClassifier().fit(X, X[:, 0] > 19)
assert model.predict(X).tolist() == (X[:, 0] > 19).tolist()
print("numpy" if _kernels.LEVEL == "reference" else "kernels")
"""


def script(folder: Path, name: str, text: str) -> str:
    """Write an executable shell script, and return its path."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def cases(folder: Path) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the expected kernels and the environment variables of each case."""
    found: dict[str, tuple[str, dict[str, str]]] = {}
    for compiler in ["g++", "g++-11", "g++-12", "g++-13", "g++-14", "clang++"]:
        if shutil.which(compiler):
            found[compiler] = (
                "kernels",
                {"CXX": compiler, "CC": compiler.replace("++", "cc").replace("clangcc", "clang")},
            )
    some_file = 'case "$*" in *moments.cpp*-o*|*-o*moments.cpp*) echo "internal compiler error" >&2; exit 4;; esac'
    no_link = 'case "$*" in *_native*.so*) echo "ld: cannot find -lsomething" >&2; exit 1;; esac'
    no_cmake = folder / "no-cmake"
    no_cmake.mkdir()
    script(no_cmake, "cmake", "exit 1")
    old_cmake = folder / "old-cmake"
    old_cmake.mkdir()
    script(old_cmake, "cmake", 'echo "cmake version 3.10.2"; [ "$1" = "--version" ] || exit 1')
    return found | {
        "CXX=/bin/false": ("numpy", {"CXX": "/bin/false"}),
        "no such compiler": ("numpy", {"CXX": "/no/such/compiler"}),
        "a compiler that fails at one file": (
            "numpy",
            {"CXX": script(folder, "some", f'{some_file}\nexec c++ "$@"')},
        ),
        "a compiler that cannot link": ("numpy", {"CXX": script(folder, "no-link", f'{no_link}\nexec c++ "$@"')}),
        "an old compiler": ("numpy", {"CXX": script(folder, "old", 'exec c++ -D__builtin_convertvector=none "$@"')}),
        "no Python headers": ("numpy", {"CMAKE_ARGS": "-DPython_INCLUDE_DIR=/no/headers"}),
        "no nanobind": ("numpy", {"CMAKE_ARGS": "-Dnanobind_ROOT=/no -DCMAKE_DISABLE_FIND_PACKAGE_nanobind=ON"}),
        "a cmake that fails": ("any", {"PATH": f"{no_cmake}{os.pathsep}{os.environ['PATH']}"}),
        "an old cmake": ("any", {"PATH": f"{old_cmake}{os.pathsep}{os.environ['PATH']}"}),
    }


def copy_of_the_sources(to: Path) -> None:
    """Copy the files under version control."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        if name.startswith(("src/", "CMakeLists", "pyproject", "README", "LICENSE")):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)


def attempt(expected: str, variables: dict[str, str], folder: Path) -> str:
    """Install with these variables; return what is wrong, or an empty string."""
    sources, target = folder / "sources", folder / "installed"
    copy_of_the_sources(sources)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-deps", "--no-compile"]
    done = subprocess.run(
        [*pip, "--target", target, "."], cwd=sources, env=os.environ | variables, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        return f"the installation failed\n{done.stdout}{done.stderr}"
    used = subprocess.run(
        [sys.executable, "-c", CHECK], cwd=folder, env=os.environ | {"PYTHONPATH": str(target)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    kernels = used.stdout.strip()
    if used.returncode or kernels not in ("kernels", "numpy"):
        return f"the package does not work\n{used.stdout}{used.stderr}"
    return "" if expected in (kernels, "any") else f"it uses {kernels}, not {expected}"


def compile_for_arm() -> str:
    """Compile every kernel for a 64-bit ARM processor, with warnings as errors; return the messages."""
    flags = ["-std=c++17", "-O1", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
    native = ROOT / "src" / "native"
    messages = ""
    for file in sorted(native.glob("kernels/**/*.cpp")):
        command = ["aarch64-linux-gnu-g++", *flags, "-DCOUNTWISE_LEVEL=baseline", "-I", str(native), str(file)]
        messages += subprocess.run(command, capture_output=True, text=True, check=False).stderr
    return messages


def main() -> int:
    """Try the cases named by the arguments, or all, and print how they ended."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="countwise-") as name:
        folder = Path(name)
        every = cases(folder)
        for i, case in enumerate(sys.argv[1:] or every):
            started = time.monotonic()
            wrong = attempt(*every[case], folder / str(i))
            shutil.rmtree(folder / str(i))
            failed += bool(wrong)
            print(
                f"{case:36} {every[case][0]:8} {time.monotonic() - started:5.0f} s  {wrong or 'as expected'}",
                flush=True,
            )
    if not sys.argv[1:] and shutil.which("aarch64-linux-gnu-g++"):
        wrong = compile_for_arm()
        failed += bool(wrong)
        print(f"{'compile for aarch64':36} {wrong or 'as expected'}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
