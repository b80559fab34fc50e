"""The kernel under AddressSanitizer and UBSan: no read or write astray, nothing undefined."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "sanitized"
WHAT = ("tests/semantics", "tests/kernel/test_exact_sum.py", "tests/engine")


def _run(*command: str | Path, **variables: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (
        f"{' '.join(map(str, command))}\n{done.stdout[-8000:]}\n{done.stderr[-8000:]}"
    )
    return done.stdout.strip()


def _build() -> Path:
    """The kernel with both sanitizers; the second time only what has changed is compiled."""
    nanobind = _run(sys.executable, "-m", "nanobind", "--cmake_dir")
    _run(
        "cmake",
        *("-S", ROOT, "-B", BUILD, "-DTYREX_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Release"),
        *(f"-DSKBUILD_PROJECT_VERSION{suffix}={version('tyrex')}" for suffix in ("", "_FULL")),
        *(f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind}"),
    )
    _run("cmake", "--build", BUILD, "--parallel", "2")
    return next(BUILD.glob("_kernel*.so"))


@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers' library is preloaded as on Linux")
def test_the_kernel_does_nothing_that_the_sanitizers_object_to() -> None:
    """All fixtures on the engine, its unit tests and its comparisons with the reference."""
    kernel = _build()
    compiler = os.environ.get("CXX", "c++")
    # libstdc++ as well: what the sanitizer puts in place of `throw` looks for the real one when it is loaded
    libraries = [_run(compiler, f"-print-file-name={name}.so") for name in ("libasan", "libstdc++")]
    _run(
        *(sys.executable, "-m", "pytest", "-q", "-p", "tests.kernel.sanitized", "-n", "0", "-x"),
        *("-s", *WHAT),
        LD_PRELOAD=" ".join(libraries),
        ASAN_OPTIONS="detect_leaks=0",  # Python itself keeps memory to its end
        UBSAN_OPTIONS="print_stacktrace=1",
        TYREX_KERNEL=str(kernel),
        TYREX_EXAMPLES="20",
    )
