"""Brings .venv up to date with the project: run it through scripts/bootstrap, which finds a Python."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "tyrex-stamp.json"
LOG = VENV / "bootstrap.log"

NETWORK_FAILED = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|Connection (?:refused|reset|aborted)|ProxyError|SSLError"
    r"|Max retries exceeded|name resolution|Network is unreachable|timed out|\(from versions: none\)"
)


@dataclass(frozen=True)
class Stamp:
    """What an environment was made from; it is up to date while this does not change."""

    home: str
    python: str
    requirements: str
    kernel: str


class BootstrapError(Exception):
    """The environment could not be made; the message says what to do."""


def main() -> None:
    wanted = current_stamp()
    if recorded_stamp() == wanted:
        return
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another ./test or ./demo may be at it already
        recorded = recorded_stamp()
        if recorded != wanted:
            bring_up_to_date(recorded, wanted)


def current_stamp() -> Stamp:
    kernel = [ROOT / "CMakeLists.txt", *sorted(p for p in (ROOT / "src/kernel").rglob("*") if p.is_file())]
    return Stamp(
        home=str(ROOT),
        python=sys.version,
        requirements=digest([ROOT / "pyproject.toml", Path(__file__)]),
        kernel=digest(kernel),
    )


def digest(files: Iterable[Path]) -> str:
    sha = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        sha.update(f"{file.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return sha.hexdigest()


def recorded_stamp() -> Stamp | None:
    try:
        return Stamp(**json.loads(STAMP.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def bring_up_to_date(recorded: Stamp | None, wanted: Stamp) -> None:
    require_compiler()
    # An environment knows its own place and its Python by absolute path: when one changed, begin anew.
    if recorded is None or (recorded.home, recorded.python) != (wanted.home, wanted.python):
        make_environment()
        recorded = replace(wanted, requirements="", kernel="")
    LOG.write_text("")
    # From here on the stamp tells what is done, so that a kernel that does not compile costs no more
    # than its own rebuild.
    record(replace(recorded, kernel=""))
    if recorded.requirements != wanted.requirements:
        step("installing the build tools", pip("install", *build_requirements()))
        if missing := tools_missing_here():
            step(f"installing {' and '.join(missing)}", pip("install", *missing))
        # Apart from Tyrex, since what has to be built among them (PySpark) needs build tools of its own.
        step("installing what Tyrex and its tests need", pip("install", *requirements("dev")))
    step("building the kernel", pip("install", "--no-build-isolation", "--no-deps", "-e", "."))
    record(wanted)


def record(stamp: Stamp) -> None:
    STAMP.write_text(json.dumps(asdict(stamp)))


def require_compiler() -> None:
    candidates = [os.environ["CXX"].split()[0]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    if not any(map(shutil.which, candidates)):
        raise BootstrapError(
            f"Tyrex needs a C++20 compiler to build its kernel, and {' or '.join(candidates)} was not found. "
            "Install g++ or clang++ (Debian: apt install g++; Fedora: dnf install gcc-c++; "
            "macOS: xcode-select --install)."
        )


def make_environment() -> None:
    base = Path(getattr(sys, "_base_executable", sys.executable))
    print(f"bootstrap: making .venv with Python {sys.version.split()[0]}", flush=True)
    made = subprocess.run(
        [base, "-m", "venv", "--clear", VENV], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        raise BootstrapError(
            f"{made.stdout}{made.stderr}\n"
            "Python could not make a virtual environment (Debian and Ubuntu: apt install python3-venv)."
        )


def build_requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return list(project["build-system"]["requires"])


def requirements(extra: str) -> list[str]:
    """What Tyrex needs with this extra, and with the extras that it names in turn."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = dict.fromkeys(project["dependencies"])
    for requirement in project["optional-dependencies"][extra]:
        if own := re.fullmatch(r"tyrex\[(.+)\]", requirement):
            for name in own[1].split(","):
                found |= dict.fromkeys(requirements(name.strip()))
        else:
            found[requirement] = None
    return list(found)


def tools_missing_here() -> list[str]:
    """CMake and Ninja, as far as this machine lacks them: the build backend knows which versions will do."""
    question = (
        "from scikit_build_core.build import get_requires_for_build_editable as r; print(*r(), sep='\\n')"
    )
    answer = subprocess.run([PYTHON, "-c", question], cwd=ROOT, capture_output=True, text=True, check=True)
    return answer.stdout.split()


def pip(*arguments: str) -> list[str]:
    return [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]


def step(what: str, command: list[str]) -> None:
    print(f"bootstrap: {what} ... ", end="", flush=True)
    started = time.monotonic()
    # Whatever CMake the build finds in .venv/bin is the one that was asked for.
    environment = {**os.environ, "PATH": f"{PYTHON.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    with LOG.open("a") as log:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False
        )
    if done.returncode != 0:
        print("FAILED", flush=True)
        text = LOG.read_text()
        tail = "\n".join(text.splitlines()[-40:])
        reason = (
            "The package registry could not be reached: check the network and try again."
            if NETWORK_FAILED.search(text)
            else "The command failed."
        )
        raise BootstrapError(f"{tail}\n\n{reason} All of the output is in {LOG.relative_to(ROOT)}.")
    print(f"{time.monotonic() - started:.1f} s", flush=True)


if __name__ == "__main__":
    try:
        main()
    except BootstrapError as error:
        sys.exit(f"bootstrap failed\n{error}")
