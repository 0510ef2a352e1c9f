"""Installation without a compiler that works. `make portability` installs with many compilers for real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FALLBACK = "Countwise is installed with the NumPy kernels"


@pytest.mark.skipif(not shutil.which("cmake"), reason="CMake is absent")
@pytest.mark.parametrize(
    ("compiler", "options"),
    [
        ("/bin/false", []),
        ("/no/such/compiler", []),
        ("", ["-DPython_INCLUDE_DIR=/no/headers"]),
        ("", ["-Dnanobind_ROOT=/no", "-DCMAKE_DISABLE_FIND_PACKAGE_nanobind=ON"]),
    ],
)
def test_cmake_says_that_the_kernels_cannot_be_compiled(tmp_path: Path, compiler: str, options: list[str]) -> None:
    done = subprocess.run(
        ["cmake", "-S", ROOT, "-B", tmp_path, f"-DPython_EXECUTABLE={sys.executable}", *options],
        env=os.environ | ({"CXX": compiler} if compiler else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert FALLBACK in " ".join((done.stdout + done.stderr).split())


def test_a_build_that_fails_is_followed_by_one_without_kernels() -> None:
    """The build backend must read the override that turns a failure into a package of Python only."""
    settings = pytest.importorskip("scikit_build_core.settings.skbuild_read_settings")
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    def cmake_of(*, failed: bool, env: dict[str, str]) -> bool:
        reader = settings.SettingsReader(project, {}, state="wheel", retry=failed, env=env)
        return bool(reader.settings.wheel.cmake)

    assert cmake_of(failed=False, env={})
    assert not cmake_of(failed=True, env={})
    assert cmake_of(failed=True, env={"COUNTWISE_REQUIRE_NATIVE": "1"})
