"""Build the kernels with sanitizers, and run tests with them.

    python tools/sanitize.py address    # AddressSanitizer and UndefinedBehaviorSanitizer
    python tools/sanitize.py thread     # ThreadSanitizer

Further arguments go to pytest; without any, the parity tests of the kernels and the tests of threads are run. The
first hit ends the process, so that a run that passes has none. Needs GCC or clang, CMake, ninja and nanobind.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLAGS = {
    "address": "-fsanitize=address,undefined -fno-sanitize-recover=all",
    "thread": "-fsanitize=thread",
}
# Races do not depend on the level of the processor: one level compiles in a third of the time.
CMAKE = {"address": [], "thread": ["-DCOUNTWISE_KNOWS_LEVELS=OFF"]}
RUNTIMES = {"address": ["libasan.so", "libubsan.so"], "thread": ["libtsan.so"]}
OPTIONS = {
    # The interpreter does not free all of its memory; a size that no memory holds must be a MemoryError.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:halt_on_error=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": f"halt_on_error=1:exitcode=66:suppressions={ROOT / 'tools' / 'tsan.txt'}",
}
TESTS = {
    # The flags of the sanitizers round two rows at a time otherwise than one, so one test of bits is left out.
    "address": [
        "tests/parity",
        "tests/faults/test_kernel_calls.py",
        "-k",
        "kernel and not memory_that and not its_neighbors",
    ],
    # ThreadSanitizer does not support a fork of a process with threads, and is too slow for a limit of seconds.
    "thread": [
        "tests/faults/test_threads.py",
        "tests/parity/test_kernels_limits.py",
        "-k",
        "not memory_that and not forked and not long_kernels",
    ],
}


def build(kind: str, folder: Path) -> Path:
    """Compile the kernels, and return a source folder that contains them."""
    flags = f"{FLAGS[kind]} -g1 -fno-omit-frame-pointer"
    subprocess.run(
        ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
         f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_CXX_FLAGS={flags}", "-DSKBUILD_SABI_VERSION=",
         *CMAKE[kind]],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    subprocess.run(["cmake", "--build", folder], check=True, stdout=subprocess.DEVNULL)
    source = folder / "python"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "countwise", source / "countwise", ignore=shutil.ignore_patterns("*.so"))
    for module in folder.glob("_native*.so"):
        shutil.copy(module, source / "countwise" / "_kernels")
    return source


def preloaded(kind: str) -> str:
    """Return the libraries that must be loaded before the interpreter."""
    compiler = os.environ.get("CXX", "c++")
    found = [
        subprocess.run([compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout
        for name in RUNTIMES[kind]
    ]
    # The interpreter itself does not use the C++ library, whose exceptions the sanitizers intercept.
    cpp = subprocess.run([compiler, "-print-file-name=libstdc++.so.6"], check=True, capture_output=True, text=True)
    return " ".join(name.strip() for name in [*found, cpp.stdout])


def main() -> int:
    """Build and test by the arguments of the command line."""
    kind, *arguments = sys.argv[1:] or [""]
    if kind not in FLAGS:
        print(__doc__)
        return 2
    source = build(kind, ROOT / "build" / f"sanitize-{kind}")
    environment = os.environ | OPTIONS | {"PYTHONPATH": str(source), "LD_PRELOAD": preloaded(kind)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=1800"]
    return subprocess.run([*command, *(arguments or TESTS[kind])], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
